// The GPU's lanes of a trace, from records made by hand.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include <ingot/profiler/chrome_trace.h>

#include "fake_events.h"
#include "fake_gpu.h"
#include "support/strict_json.h"

namespace ingot::profiler {
namespace {

using ingot::testing::Json;

const OpInfo kMatmul{.name = "matmul", .kind = OpKind::product, .n_in = 2};
const OpInfo kAdd{.name = "add", .kind = OpKind::elementwise, .n_in = 2};

Json trace_of(const Timeline& t) {
  TempFolder folder;
  write_chrome_trace(TimelineSource(t), {.process = "prog", .pid = 4711}, folder / "t.json");
  return Json::parse(read_text(folder / "t.json"));
}

std::vector<Json> with(const Json& trace, const char* key, std::string_view value) {
  std::vector<Json> found;
  for (const Json& e : trace["traceEvents"].items) {
    if (e.has(key) && e[key].text == value) found.push_back(e);
  }
  return found;
}

TEST(GpuTrace, RecordsWithoutTimesAreCountedInTheFile) {
  FakeGpu gpu;
  gpu.op(kMatmul, 20, 50);
  gpu.work(80, 5, 7).end = 0;
  const Json trace = trace_of(gpu.take());
  EXPECT_EQ(with(trace, "cat", "kernel").size(), 1u);
  EXPECT_EQ(trace["ingot"]["gpu_dropped"].value, 1);
  EXPECT_EQ(trace["ingot"]["gpu_records_without_times"].value, 1);
}

TEST(GpuTrace, AKernelHasKinetosFields) {
  FakeGpu gpu;
  gpu.op(kMatmul, 20, 50);
  GpuWork& w = gpu.records().work[0];
  w.context = 1;
  w.grid[0] = 256;
  w.grid[1] = w.grid[2] = 1;
  w.block[0] = 128;
  w.block[1] = w.block[2] = 1;
  w.registers = 64;
  w.shared_bytes = 16384;
  gpu.records().devices = {{0, "GPU X", 1 << 30, 9, 0, 128, 2048, 65536, 233472}};
  const Json trace = trace_of(gpu.take());
  const Json kernel = with(trace, "cat", "kernel").at(0);
  EXPECT_EQ(kernel["name"].text, "void kernel<float>(float*)");
  EXPECT_EQ(kernel["pid"].value, 0);
  EXPECT_EQ(kernel["tid"].value, 7);
  EXPECT_EQ(kernel["ts"].text, "20.000");
  EXPECT_EQ(kernel["dur"].text, "50.000");
  const Json& args = kernel["args"];
  EXPECT_EQ(args["device"].value, 0);
  EXPECT_EQ(args["context"].value, 1);
  EXPECT_EQ(args["stream"].value, 7);
  EXPECT_EQ(args["correlation"].value, 1);
  EXPECT_EQ(args["registers per thread"].value, 64);
  EXPECT_EQ(args["shared memory"].value, 16384);
  EXPECT_EQ(args["grid"][0].value, 256);
  EXPECT_EQ(args["block"].size(), 3u);
  EXPECT_EQ(args["blocks per SM"].value, 2);
  EXPECT_EQ(args["warps per SM"].value, 8);
  EXPECT_EQ(args["est. achieved occupancy %"].value, 13);  // 8 of 64 warps
  // The op, its call and the kernel have one external id.
  const Json op = with(trace, "name", "aten::matmul").at(0);
  const Json call = with(trace, "cat", "cuda_runtime").at(0);
  EXPECT_EQ(args["External id"].value, op["args"]["External id"].value);
  EXPECT_EQ(call["args"]["External id"].value, op["args"]["External id"].value);
  EXPECT_EQ(call["args"]["correlation"].value, 1);
  EXPECT_EQ(call["name"].text, "cudaLaunchKernelExC");
  EXPECT_FALSE(call["args"].has("stream"));
  EXPECT_EQ(trace["deviceProperties"][0]["name"].text, "GPU X");
  EXPECT_EQ(trace["deviceProperties"][0]["numSms"].value, 128);
}

TEST(GpuTrace, FlowsLeadFromCallsToWork) {
  FakeGpu gpu;
  gpu.op(kMatmul, 20, 5).op(kAdd, 30, 5).graph(3, 40, {1, 2});
  const Json trace = trace_of(gpu.take());
  std::map<double, Json> starts;
  std::set<double> ends;
  for (const Json& e : with(trace, "cat", "ac2g")) {
    if (e["ph"].text == "s") {
      EXPECT_EQ(e["pid"].value, 4711);
      EXPECT_TRUE(starts.emplace(e["id"].value, e).second);
    } else {
      EXPECT_EQ(e["ph"].text, "f");
      EXPECT_EQ(e["bp"].text, "e");
      EXPECT_EQ(e["pid"].value, 0);
      EXPECT_EQ(e["tid"].value, 7);
      ends.insert(e["id"].value);
    }
  }
  EXPECT_EQ(starts.size(), 3u);
  EXPECT_EQ(ends.size(), 3u);
  for (const Json& call : with(trace, "cat", "cuda_runtime")) {
    const Json& start = starts.at(call["args"]["correlation"].value);
    EXPECT_EQ(start["ts"].text, call["ts"].text);
    EXPECT_EQ(start["tid"].value, call["tid"].value);
  }
}

TEST(GpuTrace, CopiesAndSetsHaveTheirBandwidth) {
  FakeGpu gpu;
  gpu.call("cudaMemcpyAsync", 5);
  GpuWork& w = gpu.work(10, 2, 7);
  w.kind = WorkKind::copy;
  w.name = "Memcpy HtoD (Pinned -> Device)";
  w.bytes = 50000;
  gpu.call("cudaMemsetAsync", 5);
  GpuWork& s = gpu.work(20, 1, 7);
  s.kind = WorkKind::set;
  s.name = "Memset (Device)";
  s.bytes = 4096;
  const Json trace = trace_of(gpu.take());
  const Json copy = with(trace, "cat", "gpu_memcpy").at(0);
  EXPECT_EQ(copy["name"].text, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(copy["args"]["bytes"].value, 50000);
  EXPECT_EQ(copy["args"]["memory bandwidth (GB/s)"].value, 25);
  EXPECT_FALSE(copy["args"].has("External id"));  // of no op
  EXPECT_EQ(with(trace, "cat", "gpu_memset").at(0)["args"]["bytes"].value, 4096);
}

TEST(GpuTrace, SlicesOfALaneDoNotOverlap) {
  FakeGpu gpu;
  // With early starts a kernel begins before the one ahead of it in its stream has ended.
  gpu.op(kAdd, 20, 10).op(kAdd, 28, 10).op(kAdd, 37, 4).op(kAdd, 60, 1, {}, 3, 13);
  const Json trace = trace_of(gpu.take());
  std::map<double, double> ends;
  for (const Json& e : with(trace, "cat", "kernel")) {
    double& end = ends[e["tid"].value];
    EXPECT_GE(e["ts"].value, end);
    end = e["ts"].value + e["dur"].value;
  }
  EXPECT_EQ(ends.size(), 3u);
  std::set<std::string> names;
  for (const Json& e : with(trace, "name", "thread_name")) {
    if (e["pid"].text == "0") names.insert(e["args"]["name"].text);
  }
  EXPECT_EQ(names, (std::set<std::string>{"stream 7", "stream 7 (overlapping)", "stream 13"}));
}

TEST(GpuTrace, NodesOfAGraphNameTheirOp) {
  FakeGpu gpu;
  gpu.graph(3, 10, {2, 1});
  GraphOps ops;
  ops[3] = {{"matmul", {}, "", 0, 1, {}}, {"fused", "add relu", "", 0, 1, {}}};
  const Json trace = trace_of(gpu.take({}, ops));
  const std::vector<Json> nodes = with(trace, "cat", "kernel");
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0]["args"]["Op"].text, "matmul");
  EXPECT_EQ(nodes[1]["args"]["Fused from"].text, "add relu");
  EXPECT_EQ(nodes[1]["args"]["graph id"].value, 103);
  EXPECT_EQ(nodes[1]["args"]["graph node id"].value, 2);
}

TEST(GpuTrace, WaitsAndOverheadsHaveLanes) {
  FakeGpu gpu;
  gpu.op(kAdd, 20, 10);
  gpu.records().waits.push_back({"Stream Synchronize", from_us(15), from_us(30), 7, 9});
  gpu.records().waits.push_back({"Context Synchronize", from_us(31), from_us(32), -1, 10});
  gpu.records().overheads.push_back({"Lazy Function Loading", from_us(3), from_us(9), 42});
  const Json trace = trace_of(gpu.take());
  const std::vector<Json> waits = with(trace, "cat", "cuda_sync");
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0]["tid"].value, 1'000'007);
  EXPECT_EQ(waits[0]["dur"].text, "15.000");
  const Json loading = with(trace, "name", "Lazy Function Loading").at(0);
  EXPECT_EQ(loading["pid"].value, -1);
  EXPECT_EQ(loading["tid"].value, 42);
}

// Streams of two GPUs may have one number. A wait in a context where nothing ran is nobody's.
TEST(GpuTrace, WaitsAreOnTheirOwnGpu) {
  FakeGpu gpu;
  gpu.op(kAdd, 20, 10).op(kAdd, 40, 10);
  GpuRecords& r = gpu.records();
  r.devices = {{.index = 0, .name = "A"}, {.index = 1, .name = "B"}};
  r.work[0].context = 1;
  r.work[1].context = 2;
  r.work[1].device = 1;
  r.waits.push_back({"Stream Synchronize", from_us(15), from_us(30), 7, 9, 1});
  r.waits.push_back({"Stream Synchronize", from_us(20), from_us(50), 7, 10, 2});
  r.waits.push_back({"Stream Synchronize", from_us(60), from_us(70), 7, 11, 3});
  const std::vector<Json> waits = with(trace_of(gpu.take()), "cat", "cuda_sync");
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0]["pid"].value, 0);
  EXPECT_EQ(waits[1]["pid"].value, 1);
  EXPECT_EQ(waits[1]["args"]["device"].value, 1);
  EXPECT_EQ(waits[1]["args"]["context"].value, 2);
}

TEST(GpuTrace, NamesOfAnySortAreStrictJson) {
  FakeGpu gpu;
  gpu.op(kAdd, 20, 10);
  gpu.records().work[0].name = "a \"b\"\\ \n\x01 \xff<c, d>";
  const Json kernel = with(trace_of(gpu.take()), "cat", "kernel").at(0);
  EXPECT_EQ(kernel["name"].text, "a \"b\"\\ \n\x01 \xEF\xBF\xBD<c, d>");
}

}  // namespace
}  // namespace ingot::profiler
