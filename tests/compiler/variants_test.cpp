// How many paths a compiled function keeps, and what happens beyond: the limit's two policies,
// reset, scalars that never add a path.
#include <ingot/compiler/compile.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;

Tensor power(const Tensor& t, int n) {
  Tensor y = t;
  for (int i = 0; i < n; ++i) y = y * t;
  return y;
}

TEST(Variants, BeyondTheLimitCallsRunEagerly) {
  auto f = compile(power, {.disable = {"codegen"}, .max_variants = 2, .verify = true});
  Tensor x = noise({4}, 1);
  for (int round = 0; round < 3; ++round) {
    for (int n = 1; n < 6; ++n) EXPECT_TRUE(same_bits(f(x, n), power(x, n))) << n;
  }
  Ledger ledger = f.ledger();
  EXPECT_EQ(ledger.variants, 2);
  EXPECT_EQ(ledger.hits, 4);  // n = 1 and n = 2 in the later rounds
  EXPECT_EQ(ledger.calls, 15);
}

TEST(Variants, TheErrorPolicyThrowsAndNamesTheLimit) {
  auto f = compile(
      power,
      {.name = "power", .disable = {"codegen"}, .max_variants = 1, .at_limit = AtLimit::error});
  Tensor x = noise({4}, 2);
  (void)f(x, 2);
  for (int round = 0; round < 2; ++round) {
    std::string error = error_of([&] { (void)f(x, 3); });
    EXPECT_TRUE(contains(error, "power: "));
    EXPECT_TRUE(contains(error, "1 recorded paths that max_variants allows"));
    EXPECT_TRUE(contains(error, "variants_test.cpp:"));
    EXPECT_TRUE(same_bits(f(x, 2), power(x, 2)));
  }
}

// The policy holds for a new signature as for a new path.
TEST(Variants, TheErrorPolicyHoldsForANewShape) {
  auto f = compile(power, {.disable = {"codegen"}, .max_variants = 1, .at_limit = AtLimit::error});
  (void)f(noise({4}, 3), 2);
  const std::string error = error_of([&] { (void)f(noise({5}, 4), 2); });
  EXPECT_TRUE(contains(error, "max_variants"));
  EXPECT_TRUE(contains(error, "argument 0 is f32[5], recorded f32[4]"));
  EXPECT_EQ(error_of([&] { (void)f(noise({4}, 5), 2); }), "");
}

// At the limit a miss says what differs, as below it.
TEST(Variants, MissesAtTheLimitSayWhichArgumentDiffers) {
  auto f = compile(power, {.disable = {"codegen"}, .max_variants = 1});
  for (int call = 0; call < 2; ++call) {
    for (i64 n : {4, 5, 6}) (void)f(noise({n}, 3), 2);
  }
  const std::vector<Ledger::Event> misses = f.ledger().misses;
  ASSERT_EQ(misses.size(), 2u) << f.ledger().table();
  EXPECT_EQ(misses[0].what, "argument 0 is f32[5], recorded f32[4]");
  EXPECT_EQ(misses[1].what, "argument 0 is f32[6], recorded f32[4]");
  EXPECT_EQ(misses[1].count, 2);
}

TEST(Variants, NoneAllowedMeansEager) {
  auto f = compile(power, {.max_variants = 0});
  Tensor x = noise({4}, 6);
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(f(x, 3), power(x, 3)));
  EXPECT_EQ(f.ledger().hits, 0);
  EXPECT_EQ(f.ledger().variants, 0);
}

TEST(Variants, ANewShapeIsAVariantAndTheOldOneStays) {
  auto f = compile([](const Tensor& t) { return exp(t).sum({-1}); }, verified());
  for (int round = 0; round < 3; ++round) {
    for (i64 n : {3, 1, 8}) {
      Tensor x = noise({2, n}, static_cast<std::uint64_t>(n));
      EXPECT_TRUE(same_bits(f(x), exp(x).sum({-1})));
    }
  }
  EXPECT_EQ(f.ledger().variants, 3);
  EXPECT_EQ(f.ledger().hits, 6);
}

TEST(Variants, ResetForgetsPathsAndFigures) {
  auto f = compile(power, interpreted());
  Tensor x = noise({4}, 7);
  for (int call = 0; call < 3; ++call) (void)f(x, 2);
  EXPECT_FALSE(f.graph().empty());
  f.reset();
  EXPECT_EQ(f.ledger().calls, 0);
  EXPECT_EQ(f.ledger().variants, 0);
  EXPECT_TRUE(f.graph().empty());
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(f(x, 2), power(x, 2)));
  EXPECT_EQ(f.ledger().variants, 1);
  EXPECT_EQ(f.ledger().hits, 2);
}

TEST(Variants, PrepareRecords) {
  auto f = compile(power, interpreted());
  Tensor x = noise({4}, 8);
  f.prepare(x, 2);
  (void)f(x, 2);
  EXPECT_EQ(f.ledger().hits, 1);
}

TEST(Variants, CopiesShareWhatWasRecorded) {
  auto f = compile(power, interpreted());
  auto g = f;
  Tensor x = noise({4}, 9);
  (void)f(x, 2), (void)g(x, 2);
  EXPECT_EQ(f.ledger().hits, 1);
}

// gd-07: a host scalar that changes in every call.
TEST(Variants, AChangingScalarAddsNoPath) {
  auto f = compile([](const Tensor& p, double a, double b) { return p * (a * b); }, verified());
  Tensor p = ones({10});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(same_bits(f(p, i * 0.01, 1.0), p * (i * 0.01)));
  EXPECT_EQ(f.ledger().variants, 1);
}

// The kind of a number is structural: an integer and a float promote differently.
TEST(Variants, TheKindOfAScalarIsAPath) {
  Tensor x = tensor({1, 2}, kInt64);
  auto f = compile([](const Tensor& t, auto s) { return t * s; }, interpreted());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(f(x, 2).dtype(), DType::i64);
    EXPECT_EQ(f(x, 2.0).dtype(), DType::f32);
    EXPECT_EQ(f(x, true).dtype(), DType::i64);
  }
  EXPECT_EQ(f.ledger().variants, 3);
}

// gd-05: a helper that is replaced between calls.
TEST(Variants, AReplacedHelperIsSeen) {
  std::function<Tensor(const Tensor&)> h = [](const Tensor& x) { return x + 20; };
  auto f = compile([&h](const Tensor& x) { return h(x) * 2; }, verified());
  Tensor one = ones({1});
  for (int round = 0; round < 3; ++round) {
    h = [](const Tensor& x) { return x + 20; };
    EXPECT_TRUE(has_values(f(one), {42}));
    h = [](const Tensor& x) { return x - 1; };
    EXPECT_TRUE(has_values(f(one), {0}));
  }
  EXPECT_EQ(f.ledger().variants, 2);
}

TEST(Variants, AnUnknownNameInDisableIsRefused) {
  std::string error = error_of([] { (void)compile(power, {.disable = {"fuson"}}); });
  EXPECT_TRUE(contains(error, "fuson"));
  EXPECT_TRUE(contains(error, "\"fusion\""));
}

// Past the limit: one line on stderr for a function, a sentence and a count in the ledger.
TEST(Limit, IsSaidOnceWithWhatDiffered) {
  ::testing::internal::CaptureStderr();
  auto f = compile([](const Tensor& t) { return t * 2 + 1; },
                   {.name = "f", .disable = {"codegen"}, .max_variants = 16});
  for (int n = 1; n <= 59; ++n) EXPECT_TRUE(same_bits(f(ones({n})), ones({n}) * 2 + 1));
  const Ledger ledger = f.ledger();
  EXPECT_EQ(ledger.calls, 59);
  EXPECT_EQ(ledger.hits, 0);
  EXPECT_EQ(ledger.variants, 16);
  EXPECT_EQ(ledger.unrecorded, 43);
  const std::string sentence =
      "f: 16 paths are recorded (max_variants); this and later calls that match none run op by op";
  EXPECT_TRUE(contains(ledger.limit, sentence + " (argument 0 is f32[17], recorded f32[16]"));
  EXPECT_TRUE(contains(ledger.table(), sentence));
  EXPECT_TRUE(contains(ledger.json(), sentence));
  (void)f(ones({3}));  // a known signature still hits
  EXPECT_EQ(f.ledger().hits, 1);
  f.reset();
  EXPECT_EQ(f.ledger().limit, "");
  for (int n = 1; n <= 20; ++n) (void)f(ones({n}));
  EXPECT_TRUE(contains(f.ledger().limit, sentence));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "ingot: " + ledger.limit + "\n");
}

// The path may differ in its middle, too.
TEST(Limit, OfAPathSaysWhereItDiffered) {
  ::testing::internal::CaptureStderr();
  auto f = compile(power, {.name = "power", .disable = {"codegen"}, .max_variants = 1});
  Tensor x = noise({4}, 2);
  for (int n : {1, 2, 3, 1}) EXPECT_TRUE(same_bits(f(x, n), power(x, n)));
  EXPECT_EQ(f.ledger().hits, 1);
  EXPECT_EQ(f.ledger().unrecorded, 2);
  EXPECT_TRUE(contains(f.ledger().limit, "power: 1 path is recorded (max_variants)"));
  EXPECT_TRUE(contains(f.ledger().limit, "mul where the recorded call returned"));
  EXPECT_TRUE(contains(f.ledger().limit, "variants_test.cpp:"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "ingot: " + f.ledger().limit + "\n");
}

// What was asked for is no news.
TEST(Limit, IsNotSaidWhereAStanceOrZeroForbidsRecording) {
  ::testing::internal::CaptureStderr();
  auto none = compile(power, {.max_variants = 0});
  auto one = compile(power, {.disable = {"codegen"}, .max_variants = 2});
  (void)one(noise({4}, 1), 1);
  set_stance(Stance::eager_on_miss);
  for (i64 n : {5, 6, 7}) {
    (void)none(noise({n}, 1), 2);
    (void)one(noise({n}, 1), 2);
    (void)one(noise({4}, 1), 3);
  }
  set_stance(Stance::standard);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(none.ledger().limit + one.ledger().limit, "");
  EXPECT_EQ(none.ledger().unrecorded, 3);
  EXPECT_EQ(one.ledger().unrecorded, 6);
}

// More kinds of misses than are kept are counted nevertheless.
TEST(Limit, CountsEveryMiss) {
  ::testing::internal::CaptureStderr();
  auto f = compile(power, {.disable = {"codegen"}, .max_variants = 1});
  for (i64 n = 1; n <= 300; ++n) (void)f(noise({n}, 3), 1);
  (void)::testing::internal::GetCapturedStderr();
  const Ledger ledger = f.ledger();
  i64 counted = 0;
  for (const Ledger::Event& miss : ledger.misses) counted += miss.count;
  EXPECT_EQ(counted, 299);
  EXPECT_EQ(ledger.unrecorded, 299);
  EXPECT_LE(ledger.misses.size(), 64u);
}

}  // namespace
}  // namespace ingot
