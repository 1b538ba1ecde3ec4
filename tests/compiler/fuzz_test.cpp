// Differential fuzzing: each random program runs on two equal worlds, eagerly and compiled, call
// after call; results, arguments, captures, gradients, escaped tensors, host facts and the random
// state must stay equal, bit for bit. FUZZ_PROGRAMS sets how many, FUZZ_SEED the first one.
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "compiler/fuzz_program.h"

namespace ingot {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// The outcome of a call: its results, or what it threw.
template <class F>
std::string outcome(F f, std::vector<Tensor>* results) {
  try {
    *results = f();
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

// How much of what was generated says anything.
struct Tally {
  i64 calls = 0, hits = 0, cuts = 0, errors = 0, fused = 0;
};

std::string run_program(std::uint64_t seed, fuzz::Features features, CompileOptions options,
                        Tally* tally) {
  fuzz::Program program(seed, features);
  manual_seed(seed);
  fuzz::World eager = fuzz::make_world(seed, features), compiled = fuzz::make_world(seed, features);
  int call = 0;
  auto f = compile([&](const std::vector<Tensor>&) { return program.run(compiled, call); },
                   std::move(options));
  for (call = 0; call < 5; ++call) {
    Ticket start = generator_state(default_device());
    std::vector<Tensor> a, b;
    std::string eager_error = outcome([&] { return program.run(eager, call); }, &a);
    Ticket eager_end = generator_state(default_device());
    set_generator_state(start, default_device());
    std::string compiled_error = outcome([&] { return f(compiled.args); }, &b);
    Ticket compiled_end = generator_state(default_device());
    tally->errors += eager_error.empty() ? 0 : 1;
    std::string at = "call " + std::to_string(call) + ": ";
    if (eager_error != compiled_error) {
      return at + "eager threw \"" + eager_error + "\", compiled \"" + compiled_error + "\"";
    }
    if (eager_end.offset != compiled_end.offset) return at + "the random states differ";
    if (a.size() != b.size()) return at + "the number of results differs";
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::string d = fuzz::difference(a[i], b[i]);
      if (!d.empty()) return at + "result " + std::to_string(i) + ": " + d;
    }
    std::string d = fuzz::difference(eager, compiled);
    if (!d.empty()) return at + d;
    program.between_calls(eager, call);
    program.between_calls(compiled, call);
  }
  Ledger ledger = f.ledger();
  tally->calls += ledger.calls;
  tally->hits += ledger.hits;
  for (const Ledger::Event& e : ledger.cuts) tally->cuts += e.count;
  tally->fused += static_cast<i64>(ledger.fused.size());
  return "";
}

void run_many(fuzz::Features features, CompileOptions options, std::uint64_t count) {
  std::uint64_t first = setting("FUZZ_SEED", 1);
  count = setting("FUZZ_PROGRAMS", count);
  int failures = 0;
  Tally tally;
  for (std::uint64_t seed = first; seed < first + count && failures < 5; ++seed) {
    std::string problem = run_program(seed, features, options, &tally);
    if (problem.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << problem;
  }
  std::cout << tally.calls << " calls: " << tally.hits << " replayed, " << tally.cuts << " cuts, "
            << tally.fused << " fused groups, " << tally.errors << " threw\n";
  // Programs that all threw, or never matched, would prove nothing.
  if (count >= 100) {
    EXPECT_LT(tally.errors * 4, tally.calls);
    EXPECT_GT(tally.hits * 20, tally.calls);
  }
}

TEST(Fuzz, Forward) { run_many({.grad = false}, {.disable = {"codegen"}}, 500); }

TEST(Fuzz, PointwiseOnly) {
  run_many({.grad = false, .in_place = false, .observe = false, .random = false, .throws = false},
           {.disable = {"codegen"}, .verify = true}, 200);
}

TEST(Fuzz, Everything) { run_many({}, {.disable = {"codegen"}, .verify = true}, 500); }

TEST(Fuzz, WithoutFusion) { run_many({}, {.disable = {"fusion"}}, 200); }

// A bound of one path: most calls fall back to eager execution in the middle.
TEST(Fuzz, AtTheLimit) { run_many({}, {.disable = {"codegen"}, .max_variants = 1}, 200); }

// Rows that the interpreter takes as one group, and with other numbers generated code.
TEST(Fuzz, AlongRows) {
  run_many({.nested = false, .rows = 2, .cols = 520, .rowwise = true},
           {.disable = {"codegen"}, .verify = true}, 60);
}

TEST(Fuzz, AlongRowsGenerated) {
  run_many({.grad = false, .nested = false, .rows = 5, .cols = 40, .rowwise = true}, {}, 10);
}

// Each new kernel costs a run of the host compiler, so these are few.
TEST(Fuzz, GeneratedCode) { run_many({}, {}, 15); }

}  // namespace
}  // namespace ingot
