#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/kernels/core/text.h>
#include <ingot/profiler/aggregate.h>
#include <ingot/profiler/units.h>

#include "fake_timeline.h"
#include "support/strict_json.h"

namespace ingot::profiler {
namespace {

const OpInfo kMatmul{.name = "matmul", .kind = OpKind::product, .n_in = 2};
const OpInfo kAdd{.name = "add", .kind = OpKind::elementwise, .n_in = 2};
const Roofline kRoofline{10e9, 100e9};  // 10 bytes and 100 flops a nanosecond

Averages averages_of(const Timeline& t, const AggregateOptions& options = {}) {
  return aggregate(t, options, kRoofline);
}

Timeline small_timeline() {
  FakeLane f;
  f.slice(SliceKind::range, "forward", [&] {
    f.wait(1);
    f.op(kMatmul, 2, 10, {.flops = 500e3, .bytes = 50e3});
    f.op(kMatmul, 2, 30, {.flops = 500e3, .bytes = 50e3});
    f.op(kAdd, 3, 4, {.flops = 4e3, .transcendentals = 1e3, .bytes = 20e3});
  });
  f.slice(SliceKind::replay, "plan", [&] {
    f.wait(1);
    f.kernel("fused_mul_add_tanh", 8, {.flops = 1e3, .bytes = 40e3});
  });
  f.lane().slices.back().fused_from = "mul add tanh";
  return timeline_of({f.take()});
}

Row row(const Averages& a, const std::string& name) {
  std::optional<Row> found = a.find(name);
  if (!found) throw std::out_of_range(name);
  return *found;
}

TEST(Averages, RowsOfOpsHoldTheirKernels) {
  Averages a = averages_of(small_timeline());
  const Row matmul = row(a, "aten::matmul");
  EXPECT_EQ(matmul.calls, 2);
  EXPECT_DOUBLE_EQ(matmul.self_cpu_us, 4);
  EXPECT_DOUBLE_EQ(matmul.cpu_total_us, 44);
  EXPECT_DOUBLE_EQ(matmul.self_device_us, 40);
  EXPECT_DOUBLE_EQ(matmul.device_total_us, 40);
  EXPECT_DOUBLE_EQ(matmul.median_us, 22);
  EXPECT_DOUBLE_EQ(matmul.p95_us, 32);
  EXPECT_DOUBLE_EQ(matmul.flops, 1e6);
  EXPECT_DOUBLE_EQ(matmul.bytes, 100e3);
  EXPECT_DOUBLE_EQ(matmul.roofline_us, 10);  // each: 5 us for the bytes, 5 us for the flops
  const Row add = row(a, "aten::add");
  EXPECT_DOUBLE_EQ(add.flops, 5e3);
  EXPECT_DOUBLE_EQ(add.roofline_us, 2);  // bytes; operations (4 + 16 * 1) * 1e3 take 0.2 us
  const Row forward = row(a, "forward");
  EXPECT_DOUBLE_EQ(forward.self_cpu_us, 1);
  EXPECT_DOUBLE_EQ(forward.cpu_total_us, 52);
  EXPECT_DOUBLE_EQ(forward.self_device_us, 0);
  EXPECT_DOUBLE_EQ(forward.device_total_us, 44);
  EXPECT_FALSE(a.find("matmul"));
}

TEST(Averages, FusedKernelsHaveTheirOwnRow) {
  Averages a = averages_of(small_timeline());
  const Row fused = row(a, "fused_mul_add_tanh");
  EXPECT_EQ(fused.fused_from, "mul add tanh");
  EXPECT_DOUBLE_EQ(fused.self_cpu_us, 0);
  EXPECT_DOUBLE_EQ(fused.cpu_total_us, 0);
  EXPECT_DOUBLE_EQ(fused.self_device_us, 8);
  EXPECT_DOUBLE_EQ(row(a, "replay: plan").self_cpu_us, 1);
  EXPECT_DOUBLE_EQ(row(a, "replay: plan").device_total_us, 8);
  EXPECT_NE(a.table().find("mul add tanh"), std::string::npos);
}

TEST(Averages, SelfTimesAddUpToTheFooter) {
  Timeline t = small_timeline();
  Averages a = averages_of(t);
  double cpu = 0, device = 0;
  for (const Row& r : a.rows()) {
    cpu += r.self_cpu_us;
    device += r.self_device_us;
  }
  EXPECT_DOUBLE_EQ(cpu, a.self_cpu_us());
  EXPECT_DOUBLE_EQ(device, a.self_device_us());
  EXPECT_DOUBLE_EQ(cpu + device, static_cast<double>(t.end) / 1e3);
  EXPECT_DOUBLE_EQ(a.device_busy(), 52.0 / 61);
}

// pytorch/pytorch#94972.
TEST(Averages, PercentColumnsSumToOneHundred) {
  std::istringstream table(averages_of(small_timeline()).table());
  double self_cpu = 0, self_device = 0;
  int rows = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream cells(line);
    std::vector<double> percents;
    for (std::string cell; cells >> cell;) {
      if (cell.size() > 1 && cell.back() == '%') percents.push_back(std::stod(cell));
    }
    if (percents.size() != 3) continue;
    EXPECT_LE(percents[1], 100.0);
    self_cpu += percents[0];
    self_device += percents[2];
    ++rows;
  }
  EXPECT_EQ(rows, 5);
  EXPECT_NEAR(self_cpu, 100, 0.05);
  EXPECT_NEAR(self_device, 100, 0.05);
}

TEST(Averages, NothingRecorded) {
  Averages a = averages_of(timeline_of({}));
  std::string table = a.table();
  EXPECT_NE(table.find("Self CPU time total: 0.000us"), std::string::npos);
  EXPECT_NE(table.find("Self CPU / Self device: -"), std::string::npos);
  EXPECT_EQ(table.find("nan"), std::string::npos);
  EXPECT_EQ(table.find("inf"), std::string::npos);
  EXPECT_TRUE(a.rows().empty());
}

TEST(Averages, NoDeviceTime) {
  FakeLane f;
  f.slice(SliceKind::op, "view", [&] { f.wait(1); });
  std::string table = averages_of(timeline_of({f.take()})).table();
  EXPECT_EQ(table.find("nan"), std::string::npos);
  EXPECT_EQ(table.find("GB/s"), std::string::npos);
}

TEST(Averages, RecursionCountsOnce) {
  FakeLane f;
  f.slice(SliceKind::range, "block", [&] {
    f.wait(1);
    f.slice(SliceKind::range, "block", [&] { f.op(kAdd, 1, 2); });
  });
  const Averages a = averages_of(timeline_of({f.take()}));
  const Row block = row(a, "block");
  EXPECT_EQ(block.calls, 2);
  EXPECT_DOUBLE_EQ(block.cpu_total_us, 4);
  EXPECT_DOUBLE_EQ(block.device_total_us, 2);
  EXPECT_DOUBLE_EQ(block.self_cpu_us, 1);
}

TEST(Averages, AnOpIsNoRangeOfItsName) {
  FakeLane f;
  f.slice(SliceKind::range, "aten::add", [&] { f.op(kAdd, 1, 2); });
  EXPECT_EQ(averages_of(timeline_of({f.take()})).rows().size(), 2u);
}

TEST(Averages, StepsShareARow) {
  FakeLane f;
  f.op(kAdd, 1, 4).op(kAdd, 1, 4).wait(2);
  Averages a =
      averages_of(timeline_of({f.take()}, {{0, 0, from_us(5)}, {1, from_us(5), from_us(12)}}));
  EXPECT_EQ(row(a, "ProfilerStep*").calls, 2);
  EXPECT_DOUBLE_EQ(row(a, "ProfilerStep*").cpu_total_us, 12);
  EXPECT_DOUBLE_EQ(row(a, "ProfilerStep*").self_cpu_us, 2);
  EXPECT_NE(a.table().find("of 12.000us, 2 steps"), std::string::npos);
}

// pytorch/pytorch#130730: a range over kernels is listed and not summed.
TEST(Averages, RangesDoNotCountAsDeviceWork) {
  FakeLane f;
  f.slice(SliceKind::range, "two", [&] { f.kernel("a", 100).wait(30).kernel("b", 50); });
  Averages a = averages_of(timeline_of({f.take()}));
  EXPECT_DOUBLE_EQ(a.self_device_us(), 150);
  EXPECT_DOUBLE_EQ(row(a, "two").cpu_total_us, 180);
  EXPECT_DOUBLE_EQ(row(a, "two").self_device_us, 0);
}

TEST(Averages, QuantilesOfManyCalls) {
  FakeLane f;
  for (int i = 1; i <= 100; ++i) f.slice(SliceKind::op, "op", [&] { f.wait(i); });
  const Averages a = averages_of(timeline_of({f.take()}));
  EXPECT_DOUBLE_EQ(row(a, "aten::op").median_us, 50.5);
  EXPECT_DOUBLE_EQ(row(a, "aten::op").p95_us, 95);
}

std::string first_cell(const std::string& table) {
  std::istringstream in(table);
  std::string line;
  for (int i = 0; i < 4; ++i) std::getline(in, line);
  return line.substr(0, line.find(' '));
}

TEST(Averages, SortKeys) {
  Averages a = averages_of(small_timeline());
  EXPECT_EQ(first_cell(a.table()), "aten::matmul");
  EXPECT_EQ(first_cell(a.table({.sort_by = "cpu_time_total"})), "forward");
  EXPECT_EQ(first_cell(a.table({.sort_by = "self_cuda_time_total"})), "aten::matmul");
  EXPECT_EQ(first_cell(a.table({.sort_by = "cuda_time_total"})), "forward");
  EXPECT_EQ(first_cell(a.table({.sort_by = "device_time"})), "forward");
  EXPECT_EQ(first_cell(a.table({.sort_by = "cpu_time"})), "forward");
  EXPECT_EQ(first_cell(a.table({.sort_by = "count"})), "aten::matmul");
  EXPECT_EQ(first_cell(a.table({.sort_by = "flops"})), "aten::matmul");
  EXPECT_EQ(first_cell(a.table({.sort_by = "cpu_time_p95"})), "forward");
  EXPECT_EQ(first_cell(a.table({.sort_by = "name"})), "aten::add");
  try {
    (void)a.table({.sort_by = "speed"});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("cannot sort by 'speed'; the keys are name, self_cpu"),
              std::string::npos);
  }
}

TEST(Averages, RowLimit) {
  Averages a = averages_of(small_timeline());
  EXPECT_NE(a.table({.row_limit = 2}).find("(3 more rows)"), std::string::npos);
  EXPECT_EQ(a.table({.row_limit = -1}).find("more rows"), std::string::npos);
}

TEST(Averages, ColumnsAreNamedAsInPyTorch) {
  std::string table = averages_of(small_timeline(), {.with_memory = true}).table();
  for (const char* head :
       {"Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "CPU Mem",
        "Self CPU Mem", "# of Calls", "median", "p95", "Self device", "GFLOP/s", "GB/s",
        "% roofline", "Self CPU time total: ", "Self device time total: ", "Dropped: 0 events",
        "Roofline: 10.0 GB/s"}) {
    EXPECT_NE(table.find(head), std::string::npos) << head;
  }
}

TEST(Averages, AwkwardNamesKeepTheTableAndTheCsvInShape) {
  FakeLane f;
  f.slice(SliceKind::range, "a \"quoted\", name\nin two lines", [&] { f.wait(1); });
  std::string longest(300, 'n');
  f.slice(SliceKind::range, longest, [&] { f.wait(1); });
  f.slice(SliceKind::range,
          "gr\xC3\xB6\xC3\x9F"
          "e",
          [&] { f.wait(1); });
  f.slice(SliceKind::range, "\xE9\x96\xA2\xE6\x95\xB0 \xF0\x9F\x98\x80", [&] { f.wait(1); });
  f.slice(SliceKind::range, "e\xCC\x81 accent", [&] { f.wait(1); });
  f.slice(SliceKind::range, "broken \xFF\xC3", [&] { f.wait(1); });
  Averages a = averages_of(timeline_of({f.take()}));
  std::istringstream table(a.table());
  std::size_t width = 0;
  int lines = 0;
  for (std::string line; std::getline(table, line) && lines < 10; ++lines) {
    if (width == 0) width = display_width(line);
    EXPECT_EQ(display_width(line), width) << line;
  }
  EXPECT_NE(a.csv().find("\"a \"\"quoted\"\", name\nin two lines\",1,1.000"), std::string::npos);
  auto parsed = ingot::testing::Json::parse(a.json());
  EXPECT_EQ(parsed["rows"].size(), 6u);
  for (const std::string& text : {a.table(), a.csv()}) {
    EXPECT_EQ(text, valid_utf8(text));
    EXPECT_NE(text.find("broken \xEF\xBF\xBD\xEF\xBF\xBD"), std::string::npos);
  }
}

TEST(Averages, CsvHasOneLineARow) {
  std::istringstream csv(averages_of(small_timeline()).csv());
  std::vector<std::string> lines;
  for (std::string line; std::getline(csv, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 6u);
  auto commas = [](const std::string& s) { return std::count(s.begin(), s.end(), ','); };
  for (const std::string& line : lines) EXPECT_EQ(commas(line), commas(lines[0])) << line;
  EXPECT_TRUE(lines[1].starts_with("aten::matmul,2,4.000,44.000,40.000,40.000,22.000,32.000,"))
      << lines[1];
}

TEST(Averages, CompilePhasesAreNamed) {
  FakeLane f;
  f.slice(SliceKind::compile, "codegen", [&] { f.wait(1500); });
  f.slice(SliceKind::compile, "load", [&] { f.wait(250); });
  Averages a = averages_of(timeline_of({f.take()}));
  EXPECT_NE(a.table().find("Compile phases: codegen 1.500 ms, load 0.250 ms"), std::string::npos);
  EXPECT_DOUBLE_EQ(row(a, "compile: codegen").self_cpu_us, 1500);
}

TEST(Units, WidthIsThatOfATerminal) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("gr\xC3\xB6\xC3\x9F"), 4u);
  EXPECT_EQ(display_width("\xE9\x96\xA2\xE6\x95\xB0"), 4u);  // 関数
  EXPECT_EQ(display_width("\xEA\xB0\x80\xEF\xBC\xA1"), 4u);  // 가Ａ
  EXPECT_EQ(display_width("\xEF\xBD\xB1\xE2\x80\xA6"), 2u);  // half-width ｱ, …
  EXPECT_EQ(display_width("\xF0\x9F\x98\x80"), 2u);          // an emoji
  EXPECT_EQ(display_width("e\xCC\x81\xE2\x80\x8B"), 1u);     // e with an accent, no-width space
  EXPECT_EQ(display_width("\xE3\x81\x8B\xE3\x82\x99"), 2u);  // か with its mark
  EXPECT_EQ(display_width("\xFF\xC3"), 2u);
  for (std::size_t width = 4; width < 20; ++width) {
    std::string text;
    for (int i = 0; i < 10; ++i) text += "\xE9\x96\xA2";
    EXPECT_LE(display_width(shorten(text, width)), width);
    EXPECT_GE(display_width(shorten(text, width)) + 1, std::min<std::size_t>(width, 20));
    EXPECT_EQ(shorten(text, width), valid_utf8(shorten(text, width)));
  }
  EXPECT_EQ(shorten("e\xCC\x81wxyz", 4), "e\xCC\x81...");
}

TEST(Units, AsPyTorchWritesThem) {
  EXPECT_EQ(format_us(0.2), "0.200us");
  EXPECT_EQ(format_us(2314), "2.314ms");
  EXPECT_EQ(format_us(2.5e6), "2.500s");
  EXPECT_EQ(format_bytes(-1536), "-1.50 KB");
  EXPECT_EQ(format_bytes(16), "16 B");
  EXPECT_EQ(format_bytes(i64{3} << 30), "3.00 GB");
  EXPECT_EQ(percent(1, 0), "-");
  EXPECT_EQ(shorten("abcdefgh", 6), "abc...");
  EXPECT_EQ(shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(shorten("\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6", 6),
            "\xC3\xB6\xC3\xB6\xC3\xB6...");
}

}  // namespace
}  // namespace ingot::profiler
