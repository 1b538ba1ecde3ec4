// What a profiler sees of compiled functions: phases of compiling, matching, plans.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <ingot/compiler/compile.h>
#include <ingot/profiler/profiler.h>

#include "support/eager_and_compiled.h"
#include "support/strict_json.h"

namespace ingot {
namespace {

using namespace testing_support;
using ::ingot::testing::Json;
using Tensors = std::vector<Tensor>;

Tensor chain(const Tensor& t) { return tanh(t * 2 + 1) * 0.5; }

struct Span {
  std::string name, category;
  double begin, end;
  bool holds(const Span& other) const { return begin <= other.begin && other.end <= end; }
};

std::vector<Span> spans_of(const profiler::Session& session, const std::string& name) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("ingot-profiled-" + name + std::to_string(getpid()) + ".json"))
                               .string();
  session.export_chrome_trace(path);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  const Json trace = Json::parse(text.str());
  std::vector<Span> spans;
  for (const Json& e : trace["traceEvents"].items) {
    if (e["ph"].text != "X") continue;
    spans.push_back({e["name"].text, e["cat"].text, e["ts"].value, e["ts"].value + e["dur"].value});
  }
  return spans;
}

const Span* find(const std::vector<Span>& spans, const std::string& name) {
  for (const Span& s : spans) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

TEST(Profiled, AFirstCallShowsItsPhases) {
  auto f = compile(chain, {.disable = {"disk_cache"}});
  Tensor x = noise({64}, 1);
  profiler::Session session;
  (void)f(x);
  session.stop();
  const std::vector<Span> spans = spans_of(session, "first");
  const Span* record = find(spans, "compile: record");
  ASSERT_NE(record, nullptr);
  for (const char* phase : {"passes", "codegen", "load"}) {
    SCOPED_TRACE(phase);
    const Span* span = find(spans, std::string("compile: ") + phase);
    ASSERT_NE(span, nullptr);
    EXPECT_TRUE(record->holds(*span));
  }
  EXPECT_TRUE(record->holds(*find(spans, "aten::tanh")));
  if (f.ledger().compiles > 0) {
    const Span *load = find(spans, "compile: load"), *compiler = find(spans, "compile: compile");
    ASSERT_NE(compiler, nullptr);
    EXPECT_TRUE(load->holds(*compiler));
  }
  EXPECT_EQ(find(spans, "replay: guard"), nullptr);
  EXPECT_TRUE(contains(session.key_averages().table(), "compile: passes"));
}

TEST(Profiled, AReplayedCallIsMatchingAndPlan) {
  auto f = compile(chain, interpreted());
  Tensor x = noise({64}, 1);
  (void)f(x);
  profiler::Session session;
  (void)f(x);
  (void)f(x);
  session.stop();
  const std::vector<Span> spans = spans_of(session, "replay");
  const Span *guard = find(spans, "replay: guard"), *plan = find(spans, "replay: plan");
  ASSERT_NE(guard, nullptr);
  ASSERT_NE(plan, nullptr);
  EXPECT_TRUE(guard->holds(*plan));
  EXPECT_EQ(find(spans, "compile: record"), nullptr);
  const auto averages = session.key_averages();
  ASSERT_TRUE(averages.find("replay: guard"));
  EXPECT_EQ(averages.find("replay: guard")->calls, 2);
  EXPECT_EQ(averages.find("replay: plan")->calls, 2);
}

// A call that throws, or that leaves its path, ends its events too.
TEST(Profiled, EventsEndHoweverTheCallEnds) {
  int mode = 0;
  auto f = compile(
      [&](const Tensor& t) {
        profiler::record_function range("inside");
        Tensor y = t * 2;
        if (mode == 1) y = exp(y);
        if (mode == 2) throw std::runtime_error("no");
        return y + 1;
      },
      interpreted());
  Tensor x = noise({4}, 1);
  profiler::Session session;
  for (int m : {0, 0, 1, 2, 0}) {
    mode = m;
    error_of([&] { (void)f(x); });
    profiler::record_function between("between");
  }
  session.stop();
  const std::vector<Span> spans = spans_of(session, "ends");
  int calls = 0;
  for (const Span& call : spans) {
    if (call.name != "replay: guard" && call.name != "compile: record") continue;
    ++calls;
    for (const Span& other : spans) {
      if (other.name != "between") continue;
      EXPECT_FALSE(call.holds(other));
    }
  }
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(session.key_averages().find("inside")->calls, 5);
}

// A call that matches no path and adds none is no "guard": not when its arguments are new, and not
// when it leaves its path.
TEST(Profiled, ACallPastTheLimitIsAMiss) {
  int more = 0;
  auto f = compile(
      [&](const Tensor& t) {
        profiler::record_function range("inside");
        Tensor y = chain(t);
        for (int i = 0; i < more; ++i) y = y + 1;
        return y;
      },
      {.disable = {"codegen"}, .max_variants = 1});
  Tensor x = noise({64}, 1);
  (void)f(x);
  profiler::Session session;
  (void)f(noise({65}, 2));
  more = 1;
  (void)f(x);
  more = 0;
  (void)f(x);
  session.stop();
  const auto averages = session.key_averages();
  ASSERT_TRUE(averages.find("replay: miss")) << averages.table();
  EXPECT_EQ(averages.find("replay: miss")->calls, 2);
  EXPECT_EQ(averages.find("replay: guard")->calls, 1);
  const std::vector<Span> spans = spans_of(session, "limit");
  int misses = 0, inside = 0;
  for (const Span& span : spans) {
    if (span.name != "replay: miss") continue;
    ++misses;
    for (const Span& other : spans) inside += other.name == "inside" && span.holds(other) ? 1 : 0;
  }
  EXPECT_EQ(misses, 2);
  EXPECT_EQ(inside, 2);
}

// Steps that compile are left out of a verdict about the steady state.
TEST(Profiled, AStepThatRecordsIsCold) {
  auto f = compile(chain, interpreted());
  Tensor x = noise({64}, 1), y = noise({65}, 2);
  profiler::Session session;
  for (int step = 0; step < 12; ++step) {
    (void)f(step == 6 ? y : x);
    session.step();
  }
  session.stop();
  EXPECT_EQ(session.verdict().cold, 2);
}

// The ledger's line of a call whose arguments are new.
TEST(Misses, ANewSignatureSaysWhatDiffers) {
  auto f = compile([](const Tensor& a, const Tensor& b) { return a * b; }, interpreted());
  Tensor w = noise({32}, 1);
  (void)f(noise({64, 32}, 2), w);
  EXPECT_TRUE(f.ledger().misses.empty());
  (void)f(noise({10, 32}, 3), w);
  (void)f(noise({64, 32}, 4).to(kDouble), w.to(kDouble));
  (void)f(noise({32, 64}, 5).t(), w);  // not contiguous
  (void)f(noise({64, 32}, 6).requires_grad_(), w);
  const std::vector<Ledger::Event> misses = f.ledger().misses;
  ASSERT_EQ(misses.size(), 4u);
  EXPECT_TRUE(contains(misses[0].what, "argument 0 is "));
  EXPECT_TRUE(contains(misses[0].what, "[10, 32]"));
  EXPECT_TRUE(contains(misses[0].what, "recorded "));
  EXPECT_TRUE(contains(misses[0].what, "[64, 32]"));
  EXPECT_TRUE(contains(misses[1].what, "f64"));
  EXPECT_TRUE(contains(misses[2].what, "recorded"));
  EXPECT_TRUE(contains(misses[3].what, "gradient"));
  for (const Ledger::Event& miss : misses) {
    EXPECT_TRUE(contains(miss.where.file, "profiled_test.cpp"));
  }
  EXPECT_TRUE(contains(f.ledger().table(), "[10, 32]"));
}

TEST(Misses, TheNearestSignatureIsNamed) {
  auto f = compile([](const Tensors& ts, int) { return ts[0] + ts[1]; }, interpreted());
  (void)f(Tensors{zeros({2}), zeros({2})}, 1);
  (void)f(Tensors{zeros({3}), zeros({3})}, 1);
  (void)f(Tensors{zeros({2}), zeros({1})}, 1);
  const std::vector<Ledger::Event> misses = f.ledger().misses;
  ASSERT_EQ(misses.size(), 2u);
  // The list is argument 0, its tensors 1 and 2.
  EXPECT_TRUE(contains(misses[1].what, "argument 2 is "));
  EXPECT_TRUE(contains(misses[1].what, "recorded f32[2]")) << misses[1].what;
}

}  // namespace
}  // namespace ingot
