// What a GPU's records become: attribution by id, counts, clocks. No GPU is needed.
#include <gtest/gtest.h>

#include <ingot/profiler/aggregate.h>
#include <ingot/profiler/executions.h>

#include "fake_gpu.h"

namespace ingot::profiler {
namespace {

const OpInfo kMatmul{.name = "matmul", .kind = OpKind::product, .n_in = 2};
const OpInfo kAdd{.name = "add", .kind = OpKind::elementwise, .n_in = 2};
const Roofline kRoofline{1e12, 50e12, "given", 25e12, 400e12, 800e12};

Averages averages_of(const Timeline& t) { return aggregate(t, {}, kRoofline); }

Row row(const Averages& a, const std::string& name) {
  const auto found = a.find(name);
  EXPECT_TRUE(found.has_value()) << name;
  return found.value_or(Row{});
}

const Slice& slice_named(const Timeline& t, std::string_view name) {
  for (const Slice& s : t.lanes[0].slices) {
    if (s.name == name) return s;
  }
  ADD_FAILURE() << "no slice " << name;
  return t.lanes[0].slices[0];
}

TEST(GpuTimeline, WorkBelongsToTheOpThatLaunchedIt) {
  FakeGpu gpu;
  // The second op's kernel runs while the host is long past it.
  gpu.op(kMatmul, 20, 50).op(kAdd, 70, 10);
  gpu.host().wait(3);
  const Timeline t = gpu.take();
  ASSERT_TRUE(t.on_gpu());
  const Averages a = averages_of(t);
  EXPECT_TRUE(a.on_gpu());
  EXPECT_DOUBLE_EQ(row(a, "aten::matmul").self_device_us, 50);
  EXPECT_DOUBLE_EQ(row(a, "aten::matmul").device_total_us, 50);
  EXPECT_DOUBLE_EQ(row(a, "aten::add").self_device_us, 10);
  EXPECT_EQ(row(a, "aten::add").gpu_work, 1);
  // The op took 4 us of the host, 2.7 of which the API call did.
  EXPECT_NEAR(row(a, "aten::add").self_cpu_us, 1.3, 1e-9);
  EXPECT_DOUBLE_EQ(row(a, "aten::add").cpu_total_us, 4);
  EXPECT_NEAR(row(a, "cudaLaunchKernelExC").self_cpu_us, 5.4, 1e-9);
  EXPECT_EQ(row(a, "cudaLaunchKernelExC").calls, 2);
  EXPECT_DOUBLE_EQ(a.self_device_us(), 60);
  EXPECT_DOUBLE_EQ(a.self_cpu_us(), 8);
  // matmul's call begins at 1.2, its kernel at 20.
  EXPECT_NEAR(row(a, "aten::matmul").launch_delay_us, 18.8, 1e-9);
  EXPECT_EQ(t.gpu.count.unlinked, 0u);
}

TEST(GpuTimeline, RowsAddUpToTheTotals) {
  FakeGpu gpu;
  for (int i = 0; i < 5; ++i) gpu.op(kMatmul, 20 + 9 * i, 5).op(kAdd, 26 + 9 * i, 2);
  gpu.call("cudaMemcpyAsync", 10);
  gpu.work(80, 4, 7).name = "Memcpy DtoH (Device -> Pageable)";
  gpu.records().work.back().kind = WorkKind::copy;
  const Averages a = averages_of(gpu.take());
  double host = 0, device = 0;
  for (const Row& r : a.rows()) {
    host += r.self_cpu_us;
    device += r.self_device_us;
  }
  EXPECT_NEAR(host, a.self_cpu_us(), 1e-9);
  EXPECT_NEAR(device, a.self_device_us(), 1e-9);
  // No op launched the copy, so it has a row of its own.
  EXPECT_DOUBLE_EQ(row(a, "Memcpy DtoH (Device -> Pageable)").self_device_us, 4);
}

TEST(GpuTimeline, RangesHoldTheWorkOfWhatRanInThem) {
  FakeGpu gpu;
  gpu.host().slice(SliceKind::range, "forward", [&] {
    gpu.op(kMatmul, 100, 50);
    gpu.call("cudaMemcpyAsync", 2);
    gpu.work(160, 5, 7).name = "Memcpy HtoD (Pinned -> Device)";
  });
  gpu.op(kAdd, 170, 7);
  const Averages a = averages_of(gpu.take());
  EXPECT_DOUBLE_EQ(row(a, "forward").device_total_us, 55);
  EXPECT_DOUBLE_EQ(row(a, "forward").self_device_us, 0);
}

TEST(GpuTimeline, IdsDecideAndNotTime) {
  FakeGpu gpu;
  gpu.op(kMatmul, 20, 5).op(kAdd, 26, 5);
  // Records arrive in any order, and the second kernel seems to run before the first.
  std::swap(gpu.records().work[0].begin, gpu.records().work[1].begin);
  std::swap(gpu.records().work[0].end, gpu.records().work[1].end);
  gpu.records().work[0].end += 1000;
  std::swap(gpu.records().calls[0], gpu.records().calls[1]);
  const Averages a = averages_of(gpu.take());
  EXPECT_DOUBLE_EQ(row(a, "aten::matmul").self_device_us, 6);
  EXPECT_DOUBLE_EQ(row(a, "aten::add").self_device_us, 5);
}

TEST(GpuTimeline, IdsOfOtherWindowsAreNobodys) {
  FakeGpu gpu;
  gpu.op(kMatmul, 20, 5);
  gpu.call("cuLaunchKernelEx", 3, launch_id(kFakeWindow - 1, 1, 0));
  gpu.work(30, 9, 7).name = "stale";
  const Timeline t = gpu.take();
  const Averages a = averages_of(t);
  EXPECT_DOUBLE_EQ(row(a, "aten::matmul").self_device_us, 5);
  EXPECT_DOUBLE_EQ(row(a, "stale").self_device_us, 9);
  EXPECT_EQ(t.gpu.count.unlinked, 1u);
}

TEST(GpuTimeline, TheCallNestsInItsLaunchAndDriverCallsInTheRuntimes) {
  FakeGpu gpu;
  gpu.op(kAdd, 20, 5);
  // The runtime's call made one of the driver, under another number that the kernel carries.
  ApiCall inner = gpu.records().calls[0];
  inner.driver = true;
  inner.name = "cuLaunchKernelEx";
  inner.begin += 100;
  inner.end -= 100;
  inner.correlation = 77;
  gpu.records().calls.push_back(inner);
  gpu.records().work[0].correlation = 77;
  const Timeline t = gpu.take();
  ASSERT_EQ(t.lanes[0].slices.size(), 3u);
  const Slice& call = slice_named(t, "cudaLaunchKernelExC");
  EXPECT_EQ(t.lanes[0].slices[static_cast<std::size_t>(call.parent)].kind, SliceKind::launch);
  EXPECT_EQ(t.gpu.count.launched, 1u);
  EXPECT_EQ(t.gpu.count.missing(), 0);
  EXPECT_EQ(t.gpu.count.unlinked, 0u);
  EXPECT_DOUBLE_EQ(row(averages_of(t), "aten::add").self_device_us, 5);
}

TEST(GpuTimeline, CallsThatStickOutAreCut) {
  FakeGpu gpu;
  gpu.op(kAdd, 20, 5);
  gpu.records().calls[0].end += from_us(50);  // clocks that do not fit
  gpu.op(kMatmul, 30, 5);
  gpu.call("cudaDeviceSynchronize", 9);
  const Timeline t = gpu.take();
  const Slice& call = slice_named(t, "cudaLaunchKernelExC");
  EXPECT_EQ(call.end, slice_named(t, "add").end);
  EXPECT_EQ(slice_named(t, "cudaDeviceSynchronize").parent, -1);
}

TEST(GpuTimeline, CallsOfThreadsWithoutEventsHaveALane) {
  FakeGpu gpu;
  gpu.op(kAdd, 20, 5);
  ApiCall other = gpu.records().calls[0];
  other.tid = 99;
  other.correlation = 50;
  other.name = "cudaMalloc";
  gpu.records().calls.push_back(other);
  const Timeline t = gpu.take();
  ASSERT_EQ(t.lanes.size(), 2u);
  EXPECT_EQ(t.lanes[1].tid, 99);
  EXPECT_EQ(t.lanes[1].slices.at(0).name, "cudaMalloc");
}

TEST(GpuTimeline, ClocksAreMappedByBothPairs) {
  FakeGpu gpu;
  gpu.clock(1.7e9, 1.001);  // ahead by half an hour, and fast
  gpu.op(kMatmul, 20, 50);
  gpu.host().wait(1000);
  gpu.op(kAdd, 1100, 10);
  const Timeline t = gpu.take();
  EXPECT_NEAR(static_cast<double>(t.gpu.work[0].begin), 20e3, 2);
  EXPECT_NEAR(static_cast<double>(t.gpu.work[0].end), 70e3, 2);
  EXPECT_NEAR(static_cast<double>(t.gpu.work[1].begin), 1100e3, 3);
  EXPECT_NEAR(static_cast<double>(t.gpu.drift), 1108, 2);  // 0.1 % of 1.108 ms
  EXPECT_EQ(t.gpu.pair_width, 70);
  const std::string table = averages_of(t).table();
  EXPECT_NE(table.find("compared to 70 ns"), std::string::npos) << table;
}

TEST(GpuTimeline, KernelsBeforeTheirLaunchAreCounted) {
  FakeGpu gpu;
  gpu.host().wait(10);
  gpu.op(kAdd, 10.5, 5).op(kAdd, 30, 5);
  const Timeline t = gpu.take();
  EXPECT_EQ(t.gpu.count.too_early, 1u);
  EXPECT_NEAR(row(averages_of(t), "aten::add").launch_delay_us, (0 + 14.8) / 2, 1e-6);
}

TEST(GpuTimeline, LaunchedIsRecordedAndDropped) {
  FakeGpu gpu;
  for (int i = 0; i < 4; ++i) gpu.op(kAdd, 20 + 6 * i, 5);
  gpu.records().work.pop_back();
  gpu.records().dropped_work = 1;
  const Timeline t = gpu.take();
  EXPECT_EQ(t.gpu.count.launched, 4u);
  EXPECT_EQ(t.gpu.count.recorded, 3u);
  EXPECT_EQ(t.gpu.count.missing(), 0);
  const std::string table = averages_of(t).table();
  EXPECT_NE(table.find("Launched 4: 3 recorded, 1 dropped"), std::string::npos) << table;
  EXPECT_EQ(table.find("DIFFER"), std::string::npos) << table;
}

TEST(GpuTimeline, CallsMayBeDroppedToo) {
  FakeGpu gpu;
  gpu.op(kAdd, 20, 5);
  gpu.records().dropped_work = gpu.records().dropped_launches = 7;
  Timeline t = gpu.take();
  EXPECT_EQ(t.gpu.count.launched, 8u);
  EXPECT_EQ(t.gpu.count.missing(), 0);
  // How many nodes a dropped graph launch had nobody knows.
  FakeGpu graphs;
  graphs.op(kAdd, 20, 5);
  graphs.records().dropped_work = 30;
  graphs.records().dropped_graphs = 10;
  t = graphs.take();
  EXPECT_EQ(t.gpu.count.dropped_graphs, 10u);
  const std::string table = averages_of(t).table();
  EXPECT_NE(table.find("Launched 1 and the nodes of 10 dropped graph launches: 1 recorded, 30 "
                       "dropped"),
            std::string::npos)
      << table;
  EXPECT_EQ(table.find("DIFFER"), std::string::npos) << table;
}

TEST(GpuTimeline, WorkThatIsMissingWithoutADropIsSaid) {
  FakeGpu gpu;
  gpu.op(kAdd, 20, 5).op(kAdd, 30, 5);
  gpu.records().work.pop_back();
  const Timeline t = gpu.take();
  EXPECT_EQ(t.gpu.count.missing(), 1);
  EXPECT_NE(averages_of(t).table().find("THE COUNTS DIFFER by 1"), std::string::npos);
}

TEST(GpuTimeline, LaunchesIntoAGraphThatIsMadeAreNoWork) {
  FakeGpu gpu;
  gpu.op(kAdd, 20, 5);
  gpu.call("cudaStreamBeginCapture_v10000", 1);
  gpu.op(kAdd, 30, 5);
  gpu.records().work.pop_back();
  gpu.call("cudaStreamEndCapture", 1);
  gpu.op(kAdd, 50, 5);
  const Timeline t = gpu.take();
  EXPECT_EQ(t.gpu.count.launched, 2u);
  EXPECT_EQ(t.gpu.count.missing(), 0);
}

GraphOps graph_ops(int fused_nodes = 1) {
  GraphOps ops;
  ops[3] = {{"matmul", {}, "net.cpp", 4, 2, {.flops = 2e6, .bytes = 1e6}},
            {"fused", "add relu", "net.cpp", 5, fused_nodes, {.flops = 1e4, .bytes = 1e6}}};
  return ops;
}

TEST(GpuTimeline, NodesOfAGraphAreItsOps) {
  FakeGpu gpu;
  gpu.graph(3, 10, {2, 1, 4}).graph(3, 30, {2, 1, 5});
  // Nodes are known by their numbers, in whatever order they ran or were recorded.
  std::swap(gpu.records().work[0], gpu.records().work[2]);
  const Timeline t = gpu.take({}, graph_ops());
  const Averages a = averages_of(t);
  EXPECT_DOUBLE_EQ(row(a, "matmul").self_device_us, 6);
  EXPECT_EQ(row(a, "matmul").calls, 2);
  EXPECT_EQ(row(a, "matmul").gpu_work, 4);
  EXPECT_DOUBLE_EQ(row(a, "fused").self_device_us, 9);
  EXPECT_EQ(row(a, "fused").fused_from, "add relu");
  EXPECT_DOUBLE_EQ(row(a, "fused").cost_us, 9);
  EXPECT_DOUBLE_EQ(row(a, "fused").bytes, 2e6);
  EXPECT_DOUBLE_EQ(row(a, "cuda_graph").self_device_us, 0);
  EXPECT_DOUBLE_EQ(row(a, "cuda_graph").device_total_us, 15);
  EXPECT_EQ(t.gpu.count.launched, 6u);
  EXPECT_EQ(t.gpu.count.graphs, 2u);
  EXPECT_EQ(t.gpu.count.misfits, 0u);
  // Only a launch's first node waits for it: call at 0.2, node at 10.
  EXPECT_NEAR(row(a, "matmul").launch_delay_us, (9.8 + 27.8) / 2, 1e-6);
  EXPECT_DOUBLE_EQ(row(a, "fused").launch_delay_us, 0);
}

TEST(GpuTimeline, NodesThatDoNotFitStayWithTheirGraph) {
  FakeGpu gpu;
  gpu.graph(3, 10, {2, 1, 4});
  const Timeline t = gpu.take({}, graph_ops(2));
  EXPECT_EQ(t.gpu.count.misfits, 1u);
  EXPECT_EQ(t.gpu.count.launched, 4u);
  const Averages a = averages_of(t);
  EXPECT_FALSE(a.find("matmul").has_value());
  EXPECT_DOUBLE_EQ(row(a, "cuda_graph").self_device_us, 7);
  EXPECT_NE(a.table().find("1 of them with other nodes"), std::string::npos) << a.table();
}

// As wrong correlation ids would do it: the number of nodes is right, but not what they are.
TEST(GpuTimeline, NodesOfAnotherGraphAreNotNamed) {
  FakeGpu gpu;
  gpu.graph(3, 10, {2, 1, 4}).graph(3, 30, {2, 1, 5}).graph(3, 50, {2, 1, 6});
  for (std::size_t i = 3; i < 6; ++i) {
    std::uint64_t& node = gpu.records().work[i].graph_node;
    node = 200ull << 32 | (node & 0xFFFFFFFF);
  }
  Timeline t = gpu.take({}, graph_ops());
  EXPECT_EQ(t.gpu.count.misfits, 1u);
  EXPECT_EQ(t.gpu.count.missing(), 0);
  EXPECT_DOUBLE_EQ(row(averages_of(t), "fused").self_device_us, 10);
  EXPECT_DOUBLE_EQ(row(averages_of(t), "cuda_graph").self_device_us, 8);

  FakeGpu twice;
  twice.graph(3, 10, {2, 1, 4});
  twice.records().work[2].graph_node = twice.records().work[1].graph_node;
  t = twice.take({}, graph_ops());
  EXPECT_EQ(t.gpu.count.misfits, 1u);
  EXPECT_FALSE(averages_of(t).find("fused").has_value());
}

TEST(GpuTimeline, TwoStreamsAtATimeAreBusyOnce) {
  FakeGpu gpu;
  gpu.op(kMatmul, 20, 40, {}, 3, 7).op(kAdd, 30, 40, {}, 3, 13);
  const Timeline t = gpu.take();
  EXPECT_EQ(t.self_device, from_us(80));
  EXPECT_EQ(BusyTime(t).all(), from_us(50));
  // The window ends with the GPU's work.
  EXPECT_NEAR(averages_of(t).device_busy(), 50.0 / 70, 1e-9);
}

TEST(GpuTimeline, KernelBodiesOnTheHostAreTheHostsTime) {
  FakeGpu gpu;
  gpu.host().op(kAdd, 1, 30);
  gpu.op(kMatmul, 60, 5);
  const Timeline t = gpu.take();
  EXPECT_EQ(t.self_device, from_us(5));
  EXPECT_DOUBLE_EQ(row(averages_of(t), "aten::add").self_cpu_us, 31);
  EXPECT_DOUBLE_EQ(row(averages_of(t), "aten::add").self_device_us, 0);
}

TEST(GpuTimeline, FusedKernelsHaveARowWithCost) {
  FakeGpu gpu;
  gpu.launch("fused", 10, 4, {.flops = 1e6, .bytes = 2e6}, 3, 7, nullptr, "mul add tanh");
  const Averages a = averages_of(gpu.take());
  const Row r = row(a, "fused");
  EXPECT_EQ(r.fused_from, "mul add tanh");
  EXPECT_DOUBLE_EQ(r.self_device_us, 4);
  EXPECT_DOUBLE_EQ(r.cost_us, 4);
  EXPECT_DOUBLE_EQ(r.roofline_us, 2);  // 2 MB at 1 TB/s
}

TEST(GpuTimeline, ProductsAreMeasuredByTheUnitsOfTheirDtype) {
  EXPECT_EQ(peak_of(DType::f32, true, "sm80_xmma_gemm_f32f32_f32f32_f32_tn"), Peak::f32);
  EXPECT_EQ(peak_of(DType::f32, true, "sm90_xmma_gemm_f32f32_tf32f32_f32_tn"), Peak::tf32);
  EXPECT_EQ(peak_of(DType::bf16, true, "nvjet_hsh_128x256_64x4"), Peak::half);
  EXPECT_EQ(peak_of(DType::bf16, false, "fused_kernel"), Peak::f32);
  EXPECT_EQ(peak_of(DType::f32, false, "sm90_xmma_gemm_bf16bf16_bf16f32"), Peak::half);
  EXPECT_EQ(peak_of(DType::f64, true, "gemm"), Peak::f64);
  EXPECT_DOUBLE_EQ(flops_per_s(kRoofline, Peak::tf32), 400e12);
  EXPECT_DOUBLE_EQ(flops_per_s({1e12, 50e12}, Peak::tf32), 50e12);
}

// pytorch/kineto#109: what a lost buffer leaves.
TEST(GpuTimeline, RecordsWithoutTimesAreDroppedAndCounted) {
  FakeGpu good;
  good.op(kMatmul, 20, 50).op(kAdd, 70, 10);
  const Timeline wanted = good.take();
  const auto zero = [](auto& r) { r.begin = r.end = 0; };
  const auto backwards = [](auto& r) { r.end = r.begin - 1; };
  const auto no_end = [](auto& r) { r.end = 0; };
  const auto no_begin = [](auto& r) { r.begin = 0; };
  FakeGpu gpu;
  gpu.op(kMatmul, 20, 50).op(kAdd, 70, 10);
  gpu.call("cudaLaunchKernelExC", 3);
  zero(gpu.work(80, 5, 7));
  backwards(gpu.work(80, 5, 7));
  no_end(gpu.work(80, 5, 7));
  no_begin(gpu.work(80, 5, 7));
  GpuWork& copy = gpu.work(80, 5, 7);
  copy.kind = WorkKind::copy;
  zero(copy);
  GpuRecords& r = gpu.records();
  r.waits.push_back({.name = "Stream Synchronize", .begin = 0, .end = 0});
  r.overheads.push_back({.name = "Overhead", .begin = 50, .end = 20});
  ApiCall call = r.calls[0];
  no_begin(call);
  r.calls.push_back(call);
  const Timeline t = gpu.take();
  ASSERT_EQ(t.gpu.work.size(), 2u);
  EXPECT_EQ(t.self_device, wanted.self_device);
  EXPECT_EQ(t.gpu.work[0].begin, wanted.gpu.work[0].begin);
  EXPECT_EQ(t.gpu.count.recorded, 2u);
  EXPECT_EQ(t.gpu.count.dropped, 4u);
  EXPECT_EQ(t.gpu.without_times, 8u);
  EXPECT_TRUE(t.gpu.waits.empty() && t.gpu.overheads.empty());
  const Averages a = averages_of(t);
  EXPECT_DOUBLE_EQ(row(a, "aten::matmul").self_device_us, 50);
  EXPECT_DOUBLE_EQ(row(a, "aten::add").self_device_us, 10);
  EXPECT_NE(a.table().find("8 records without times dropped"), std::string::npos) << a.table();
}

TEST(GpuTimeline, EventsInsteadOfCuptiSayWhy) {
  FakeGpu gpu;
  gpu.op(kAdd, 20, 5);
  GpuRecords& r = gpu.records();
  r.source = "CUDA events";
  r.reason = "libcupti.so.13 was not found; install it";
  r.calls.clear();
  r.links.clear();
  r.work[0].name = {};
  r.work[0].correlation = 0;
  r.work[0].link = launch_id(kFakeWindow, 1, 0);
  const Averages a = averages_of(gpu.take());
  EXPECT_DOUBLE_EQ(row(a, "aten::add").self_device_us, 5);
  const std::string table = a.table();
  EXPECT_NE(table.find("GPU: CUDA events; no CUPTI: libcupti.so.13 was not found; install it"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("Recorded 1 launches, dropped 0"), std::string::npos) << table;
}

TEST(GpuTimeline, TheTableHasPyTorchsColumns) {
  FakeGpu gpu;
  gpu.op(kMatmul, 20, 50).op(kAdd, 70, 10);
  gpu.call("cudaMalloc", 200);
  const std::string table = averages_of(gpu.take()).table({.sort_by = "cuda_time_total"});
  for (const char* text : {"Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg",
                           "launch delay", "Self CUDA time total: 60.000us",
                           "Self CPU / Self CUDA:", "First steps: cudaMalloc 0.200 ms",
                           "void kernel<float>(float*)"}) {
    EXPECT_NE(table.find(text), std::string::npos) << text << "\n" << table;
  }
  EXPECT_LT(table.find("aten::matmul"), table.find("aten::add"));
}

}  // namespace
}  // namespace ingot::profiler
