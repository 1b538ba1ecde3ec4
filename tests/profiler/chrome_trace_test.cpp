#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/profiler/chrome_trace.h>

#include "fake_events.h"
#include "fake_timeline.h"
#include "support/strict_json.h"

namespace ingot::profiler {
namespace {

using ingot::testing::Json;

const OpInfo kMatmul{.name = "matmul", .kind = OpKind::product, .n_in = 2};

std::string trace_text(const Timeline& t, TraceInfo info = {}) {
  TempFolder folder;
  info.process = "prog";
  info.pid = 4711;
  write_chrome_trace(TimelineSource(t), info, folder / "t.json");
  return read_text(folder / "t.json");
}

std::vector<Json> events_named(const Json& trace, std::string_view name) {
  std::vector<Json> found;
  for (const Json& e : trace["traceEvents"].items) {
    if (e["name"].text == name) found.push_back(e);
  }
  return found;
}

// The stack algorithm of trace viewers, over the file's order: the name of each slice's parent.
// Fails on slices that overlap without nesting.
std::multimap<std::string, std::string> parents_in(const Json& trace) {
  struct Open {
    std::string name;
    double end;
  };
  std::map<std::string, std::vector<Open>> lanes;
  std::multimap<std::string, std::string> parents;
  std::map<std::string, double> last;
  for (const Json& e : trace["traceEvents"].items) {
    if (e["ph"].text != "X" || e["cat"].text == "Trace") continue;
    double begin = e["ts"].value, end = begin + e["dur"].value;
    EXPECT_GE(e["dur"].value, 0);
    std::vector<Open>& open = lanes[e["tid"].text];
    EXPECT_GE(begin, last[e["tid"].text]) << "out of order";
    last[e["tid"].text] = begin;
    while (!open.empty() && open.back().end < end - 1e-6) {
      EXPECT_LE(open.back().end, begin + 1e-6)
          << e["name"].text << " overlaps " << open.back().name;
      open.pop_back();
    }
    while (!open.empty() && open.back().end <= begin && end > begin) open.pop_back();
    parents.emplace(e["name"].text, open.empty() ? "" : open.back().name);
    open.push_back({e["name"].text, end});
  }
  return parents;
}

TEST(ChromeTrace, FieldsOfACpuOp) {
  FakeLane f(99);
  f.wait(1.234);
  f.op(kMatmul, 2, 10.001, {.flops = 5e5, .bytes = 5e4});
  f.lane().shapes = {
      {{DType::f32, false, {64, 32}}, {DType::f32, true, {}}, {DType::bf16, false, {}}}};
  f.lane().slices[0].shapes = 0;
  f.lane().slices[0].file = "/home/me/net.cpp";
  f.lane().slices[0].line = 14;
  Timeline t = timeline_of({f.take()});
  t.first_id = 1000;
  t.unix_ns = 1'700'000'000'123'456'789;
  Json trace = Json::parse(trace_text(t, {.record_shapes = true, .with_stack = true}));
  EXPECT_EQ(trace["schemaVersion"].value, 1);
  EXPECT_EQ(trace["displayTimeUnit"].text, "ms");
  EXPECT_EQ(trace["baseTimeNanoseconds"].text, "1700000000123456789");
  EXPECT_EQ(trace["record_shapes"].value, 1);
  Json op = events_named(trace, "aten::matmul").at(0);
  EXPECT_EQ(op["ph"].text, "X");
  EXPECT_EQ(op["cat"].text, "cpu_op");
  EXPECT_EQ(op["pid"].value, 4711);
  EXPECT_EQ(op["tid"].value, 99);
  EXPECT_EQ(op["ts"].text, "1.234");
  EXPECT_EQ(op["dur"].text, "12.001");
  const Json& args = op["args"];
  EXPECT_EQ(args["External id"].value, 1000);
  EXPECT_EQ(args["Ev Idx"].value, 0);
  EXPECT_EQ(args["Input Dims"].size(), 3u);
  EXPECT_EQ(args["Input Dims"][0][1].value, 32);
  EXPECT_EQ(args["Input Dims"][1].size(), 0u);
  EXPECT_EQ(args["Input type"][0].text, "float");
  EXPECT_EQ(args["Input type"][1].text, "Scalar");
  EXPECT_EQ(args["Input type"][2].text, "c10::BFloat16");
  EXPECT_EQ(args["Call stack"].text, "net.cpp:14");
  Json kernel = events_named(trace, "matmul").at(0);
  EXPECT_EQ(kernel["cat"].text, "cpu_kernel");
  EXPECT_EQ(kernel["args"]["External id"].value, 1000);
  EXPECT_EQ(kernel["args"]["flops"].value, 5e5);
  EXPECT_FALSE(kernel["args"].has("stream"));
}

TEST(ChromeTrace, WhatReadersLookFor) {
  FakeLane f;
  f.op(kMatmul, 1, 1);
  std::string text = trace_text(timeline_of({f.take()}, {{0, 0, from_us(2)}}));
  EXPECT_TRUE(std::regex_search(text, std::regex("\"rank\":\\s+(\\d+)")));
  Json trace = Json::parse(text);
  EXPECT_EQ(events_named(trace, "process_name").at(0)["args"]["name"].text, "prog");
  EXPECT_EQ(events_named(trace, "thread_name").at(0)["args"]["name"].text, "thread 1 (fake)");
  EXPECT_EQ(events_named(trace, "ProfilerStep#0").at(0)["cat"].text, "user_annotation");
  const Json& end = trace["traceEvents"].items.back();
  EXPECT_EQ(end["name"].text, "Record Window End");
  EXPECT_EQ(end["ts"].text, "2.000");
  EXPECT_EQ(end["s"].text, "g");
  for (const Json& e : trace["traceEvents"].items) {
    EXPECT_TRUE(e.has("ph") && e.has("name") && e.has("pid") && e.has("tid") && e.has("ts"));
  }
}

// jlfwong/speedscope#480: a reader that groups by pid and tid refuses a file with an event whose
// are no numbers.
TEST(ChromeTrace, ProcessesAndThreadsAreNumbers) {
  FakeLane f;
  f.op(kMatmul, 1, 1);
  f.slice(SliceKind::range, "over the edge of a step", [&] { f.wait(10); });
  Slice beside;
  beside.kind = SliceKind::range;
  beside.name = "beside";
  beside.end = 500;
  f.lane().across.push_back(beside);
  f.lane().memory.push_back({1500, kCPU, 1, 256, 256, 256});
  Json trace = Json::parse(
      trace_text(timeline_of({f.take()}, {{0, 0, from_us(5)}}), {.profile_memory = true}));
  for (const Json& e : trace["traceEvents"].items) {
    EXPECT_EQ(e["pid"].type, Json::number) << e["name"].text;
    EXPECT_EQ(e["tid"].type, Json::number) << e["name"].text;
    EXPECT_EQ(e["ts"].type, Json::number) << e["name"].text;
  }
}

// pytorch/kineto#1459, google/perfetto#598.
TEST(ChromeTrace, AwkwardNames) {
  const std::vector<std::string> names = {"say \"hi\"",
                                          "{\"device\": \"cpu\"}",
                                          "\"",
                                          "",
                                          "back\\slash",
                                          "new\nline\ttab\x01\x08\x1F\x7F",
                                          std::string("nul\0inside", 10),
                                          "\xF0\x9F\x98\x80",
                                          std::string(100'000, 'n')};
  FakeLane f;
  for (const std::string& n : names) f.slice(SliceKind::range, n, [&] { f.wait(1); });
  f.slice(SliceKind::range, "broken \xFF\xC3", [&] { f.wait(1); });
  f.kernel("k\"", 1);
  f.lane().slices.back().fused_from = "a\"b\x02\xFF";
  f.lane().slices.back().file = "we\"ird\n.cpp";
  f.lane().slices.back().line = 1;
  f.lane().name = "thread \"\x03\xFE";
  Json trace = Json::parse(trace_text(timeline_of({f.take()}), {.with_stack = true}));
  for (const std::string& n : names) EXPECT_EQ(events_named(trace, n).size(), 1u) << n;
  EXPECT_EQ(events_named(trace, "broken \xEF\xBF\xBD\xEF\xBF\xBD").size(), 1u);
  Json args = events_named(trace, "k\"").at(0)["args"];
  EXPECT_EQ(args["Fused from"].text, "a\"b\x02\xEF\xBF\xBD");
  EXPECT_EQ(args["Call stack"].text, "we\"ird\n.cpp:1");
}

// facebookresearch/HolisticTraceAnalysis#342.
TEST(ChromeTrace, ShortSlicesKeepTheirLength) {
  FakeLane f;
  f.wait(100.7);
  for (int i = 0; i < 1000; ++i) f.kernel("short", 0.2).wait(0.1);
  Json trace = Json::parse(trace_text(timeline_of({f.take()})));
  double sum = 0;
  for (const Json& e : events_named(trace, "short")) sum += e["dur"].value;
  EXPECT_NEAR(sum / 1000, 0.2, 0.0015);
}

// google/trace-viewer#82, google/perfetto#371.
TEST(ChromeTrace, ReadersFindTheParents) {
  FakeLane f;
  f.wait(10);
  f.slice(SliceKind::range, "parent", [&] {
    f.slice(
        SliceKind::op, "same start", [&] { f.wait(5); }, &kMatmul);
    f.wait(15);
    f.slice(
        SliceKind::op, "zero at end", [&] {}, &kMatmul);
  });
  f.slice(SliceKind::range, "next", [&] { f.wait(1); });
  auto parents = parents_in(Json::parse(trace_text(timeline_of({f.take()}))));
  EXPECT_EQ(parents.find("aten::same start")->second, "parent");
  EXPECT_EQ(parents.find("aten::zero at end")->second, "parent");
  EXPECT_EQ(parents.find("parent")->second, "");
  EXPECT_EQ(parents.find("next")->second, "");
}

TEST(ChromeTrace, StepsBesideHaveTheirOwnLane) {
  FakeLane f;
  f.wait(5);
  f.slice(SliceKind::range, "epoch", [&] { f.wait(10); });
  Json trace = Json::parse(
      trace_text(timeline_of({f.take()}, {{0, 0, from_us(10)}, {1, from_us(10), from_us(20)}})));
  std::vector<Json> steps = events_named(trace, "ProfilerStep#1");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_NE(steps[0]["tid"].value, 1);
  parents_in(trace);
}

TEST(ChromeTrace, RangesAcrossThreadsAreAsynchronous) {
  FakeLane f;
  f.op(kMatmul, 1, 1);
  Slice s;
  s.kind = SliceKind::range;
  s.name = "across";
  s.begin = 500;
  s.end = 2500;
  f.lane().across.push_back(s);
  Json trace = Json::parse(trace_text(timeline_of({f.take()})));
  std::vector<Json> both = events_named(trace, "across");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0]["ph"].text, "b");
  EXPECT_EQ(both[1]["ph"].text, "e");
  EXPECT_EQ(both[1]["ts"].text, "2.500");
  EXPECT_EQ(both[0]["id"].text, both[1]["id"].text);
}

TEST(ChromeTrace, MemoryAsInstants) {
  FakeLane f;
  f.op(kMatmul, 1, 1);
  f.lane().memory.push_back({1500, kCPU, 0xFFFFFFFFFFFFFF00u, -256, 1024, 4096});
  Json trace = Json::parse(trace_text(timeline_of({f.take()}), {.profile_memory = true}));
  Json m = events_named(trace, "[memory]").at(0);
  EXPECT_EQ(m["cat"].text, "cpu_instant_event");
  EXPECT_EQ(m["ph"].text, "i");
  EXPECT_EQ(m["args"]["Bytes"].value, -256);
  EXPECT_EQ(m["args"]["Addr"].text, "18446744073709551360");
  EXPECT_EQ(m["args"]["Total Allocated"].value, 1024);
  EXPECT_EQ(m["args"]["Total Reserved"].value, 4096);
}

TEST(ChromeTrace, NothingRecorded) {
  Json trace = Json::parse(trace_text(timeline_of({})));
  EXPECT_EQ(events_named(trace, "Record Window End").size(), 1u);
}

TEST(ChromeTrace, LargeTracesAreWritten) {
  FakeLane f;
  for (int i = 0; i < 20'000; ++i) f.op(kMatmul, 0.5, 0.5);
  std::string text = trace_text(timeline_of({f.take()}));
  EXPECT_GT(text.size(), 4'000'000u);
  EXPECT_EQ(events_named(Json::parse(text), "aten::matmul").size(), 20'000u);
}

TEST(Stacks, FoldedLines) {
  FakeLane f;
  f.slice(SliceKind::range, "a;b", [&] {
    f.wait(1);
    f.op(kMatmul, 2, 10);
    f.op(kMatmul, 3, 20);
  });
  Timeline t = timeline_of({f.take()});
  TempFolder folder;
  write_stacks(TimelineSource(t), false, false, folder / "host");
  EXPECT_EQ(read_text(folder / "host"), "thread 1;a,b 1000\nthread 1;a,b;aten::matmul 5000\n");
  write_stacks(TimelineSource(t), true, false, folder / "device");
  EXPECT_EQ(read_text(folder / "device"), "thread 1;a,b;aten::matmul;matmul 30000\n");
}

}  // namespace
}  // namespace ingot::profiler
