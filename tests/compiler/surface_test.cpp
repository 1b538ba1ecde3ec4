// What a compiled function tells about itself and can be told: ledgers of the process, the graph
// for Graphviz, memory, the stance, anomalies inside.
#include <algorithm>

#include <ingot/ingot.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;

int count_of(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Ledger& l : ledgers()) all.push_back(l.name);
  return all;
}

TEST(Ledgers, AreThoseOfTheFunctionsThatExist) {
  const auto listed = [](const char* name) {
    const std::vector<std::string> all = names();
    return std::count(all.begin(), all.end(), name);
  };
  const auto f = compile([](const Tensor& t) { return t + 1; }, {.name = "ledgers: first"});
  {
    const auto copy = f;
    const auto g = compile([](const Tensor& t) { return t + 2; }, {.name = "ledgers: second"});
    (void)f(ones({2})), (void)g(ones({2})), (void)g(ones({2})), (void)copy(ones({2}));
    EXPECT_EQ(listed("ledgers: first"), 1);
    EXPECT_EQ(listed("ledgers: second"), 1);
    for (const Ledger& l : ledgers()) {
      if (l.name.find("ledgers: ") != 0) continue;
      EXPECT_EQ(l.calls, 2);
      EXPECT_EQ(l.hits, 1);
    }
  }
  EXPECT_EQ(listed("ledgers: first"), 1);
  EXPECT_EQ(listed("ledgers: second"), 0);
}

TEST(Dot, HasEachKernelAsACluster) {
  CompileOptions options = interpreted();
  options.name = "a \"quoted\" name";
  const auto f = compile(
      [](const Tensor& x, const Tensor& w) {
        Tensor h = matmul(x * 2 + 1, w);
        Tensor unused = exp(h);
        return tanh(h).t() - 1;
      },
      options);
  EXPECT_EQ(count_of(f.dot(), "->"), 0);
  (void)f(noise({4, 4}, 1), noise({4, 4}, 2));
  const std::string dot = f.dot();
  EXPECT_EQ(dot.find("digraph \"a \\\"quoted\\\" name\" {"), 0u) << dot;
  EXPECT_EQ(count_of(dot, "{"), count_of(dot, "}"));
  for (const char* op : {"mul", "add", "matmul", "tanh", "permute", "sub"}) {
    EXPECT_EQ(count_of(dot, "label=\"" + std::string(op) + " (surface_test.cpp:"), 1) << op;
  }
  EXPECT_EQ(count_of(dot, "subgraph cluster_0_"), f.ledger().launches_compiled) << dot;
  // Ops of one kernel stand in its cluster, between its braces.
  const auto begin = dot.find("subgraph cluster_0_0 {");
  const std::string first = dot.substr(begin, dot.find("}", begin) - begin);
  EXPECT_TRUE(contains(first, "mul"));
  EXPECT_TRUE(contains(first, "add"));
  EXPECT_FALSE(contains(first, "tanh"));
  // Values from outside: x, w; each op has an arrow for each tensor operand.
  EXPECT_EQ(count_of(dot, "shape=ellipse"), 2);
  EXPECT_EQ(count_of(dot, "->"), 8);
  EXPECT_TRUE(contains(dot, "[label=\"f32[4, 4]\"]"));
  EXPECT_TRUE(contains(dot, "style=dashed"));  // exp: nobody reads it; permute: a view
  f.reset();
  EXPECT_EQ(count_of(f.dot(), "cluster"), 0);
}

TEST(Memory, IsThatOfThePlan) {
  // Four temporaries of products, each dead after the next one.
  const auto chain = [](const Tensor& x) {
    Tensor t = x;
    for (int i = 0; i < 5; ++i) t = matmul(t, x);
    return t;
  };
  const auto f = compile(chain, interpreted());
  EXPECT_EQ(f.memory().arena, 0);
  (void)f(noise({64, 64}, 1));
  const MemoryUse use = f.memory();
  constexpr i64 kOne = 64 * 64 * 4;
  EXPECT_EQ(use.unplanned, 4 * kOne);
  EXPECT_EQ(use.arena, 2 * kOne);
  EXPECT_EQ(use.inside_kernels, 0);
  EXPECT_EQ(use.arena, f.ledger().arena_bytes);
  const auto fused = compile([](const Tensor& x) { return tanh(x * 2 + 1) - x; }, interpreted());
  (void)fused(noise({64, 64}, 1));
  EXPECT_EQ(fused.memory().arena, 0);
  EXPECT_EQ(fused.memory().unplanned, 0);
  EXPECT_EQ(fused.memory().inside_kernels, 3 * kOne);
}

struct StanceScope {
  explicit StanceScope(Stance s) { set_stance(s); }
  ~StanceScope() { set_stance(Stance::standard); }
};

TEST(Stances, ForceEagerNeitherMatchesNorRecords) {
  const auto f = compile([](const Tensor& t) { return tanh(t) * 2; }, interpreted());
  const Tensor x = noise({8}, 1), right = tanh(x) * 2;
  {
    const StanceScope scope(Stance::force_eager);
    EXPECT_EQ(stance(), Stance::force_eager);
    for (int call = 0; call < 2; ++call) EXPECT_TRUE(same_bits(f(x), right));
  }
  EXPECT_EQ(f.ledger().calls, 2);
  EXPECT_EQ(f.ledger().variants, 0);
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(same_bits(f(x), right));
  EXPECT_EQ(f.ledger().hits, 1);
  const StanceScope scope(Stance::force_eager);
  EXPECT_TRUE(same_bits(f(x), right));
  EXPECT_EQ(f.ledger().hits, 1);
}

TEST(Stances, EagerOnMissReplaysWhatIsKnown) {
  const auto f =
      compile([](const Tensor& t, bool more) { return more ? exp(t * 2) : t * 2; }, interpreted());
  const Tensor x = noise({8}, 1), y = noise({9}, 2);
  (void)f(x, false);
  const StanceScope scope(Stance::eager_on_miss);
  for (int call = 0; call < 3; ++call) {
    EXPECT_TRUE(same_bits(f(x, false), x * 2));
    EXPECT_TRUE(same_bits(f(x, true), exp(x * 2)));  // leaves the path in the middle
    EXPECT_TRUE(same_bits(f(y, false), y * 2));      // a new signature
  }
  EXPECT_EQ(f.ledger().variants, 1);
  EXPECT_EQ(f.ledger().hits, 3);
}

TEST(Stances, FailOnMissSaysWhatDiffers) {
  CompileOptions options = interpreted();
  options.name = "strict";
  const auto f = compile([](const Tensor& t, bool more) { return more ? exp(t) : t * 2; }, options);
  const Tensor x = noise({8}, 1);
  (void)f(x, false);
  const StanceScope scope(Stance::fail_on_miss);
  EXPECT_TRUE(same_bits(f(x, false), x * 2));
  std::string error = error_of([&] { (void)f(x, true); });
  EXPECT_TRUE(contains(error, "strict: "));
  EXPECT_TRUE(contains(error, "fail_on_miss"));
  EXPECT_TRUE(contains(error, "exp where the recorded call did mul"));
  error = error_of([&] { (void)f(noise({9}, 2), false); });
  EXPECT_TRUE(contains(error, "argument 0 is f32[9], recorded f32[8]"));
  EXPECT_TRUE(same_bits(f(x, false), x * 2));
  EXPECT_EQ(f.ledger().variants, 1);
  EXPECT_EQ(f.ledger().hits, 2);
}

}  // namespace
}  // namespace ingot
