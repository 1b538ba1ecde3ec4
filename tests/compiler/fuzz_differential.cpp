#include "compiler/fuzz_differential.h"

#include <cstdlib>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <ingot/compiler/kernel_batch.h>

namespace ingot::fuzz {

namespace {

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

// Calls itself n times through `self`.
Tensor helper(const Tensor& x, int n, const std::function<Tensor(const Tensor&, int)>& self) {
  const Tensor y = sigmoid(x * 0.5) + n;
  return n == 0 ? y : self(y, n - 1);
}

std::string after_call(const World& eager, const World& compiled, const std::vector<Tensor>& a,
                       const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return "the number of results differs";
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string d = difference(a[i], b[i]);
    if (!d.empty()) return fmt::format("result {}: {}", i, d);
  }
  return difference(eager, compiled);
}

// Whether fused groups become compiled kernels.
bool generates(const CompileOptions& options) {
  for (const std::string& name : options.disable) {
    if (name == "codegen" || name == "fusion") return false;
  }
  return true;
}

// Statements are left out, many at a time, then one by one, as long as a difference remains.
Program shrunk(Program program, const CompileOptions& options) {
  Tally ignored;
  for (std::size_t part = program.size() / 2; part > 0; part /= 2) {
    for (std::size_t at = 0; at + part <= program.size();) {
      Program smaller = program.without(at, part);
      if (difference(smaller, options, &ignored).empty()) {
        at += part;
      } else {
        program = smaller;
      }
    }
  }
  return program;
}

void report(const Program& program, const std::string& problem, const CompileOptions& options) {
  Tally ignored;
  const Program smallest = shrunk(program, options);
  std::vector<std::string> listing;
  const std::string left = difference(smallest, options, &ignored, &listing);
  ADD_FAILURE() << fmt::format(
      "seed {}: {}\nThe smallest program of it that fails: {}\n  {}\n", program.seed(), problem,
      left.empty() ? "(it does not fail again)" : left, fmt::join(listing, "\n  "));
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

}  // namespace

std::string difference(const Program& program, const CompileOptions& options, Tally* tally,
                       std::vector<std::string>* listing) {
  const std::uint64_t seed = program.seed();
  const Features& features = program.features();
  manual_seed(seed);
  World eager, compiled;
  fill_world(eager, seed, features);
  fill_world(compiled, seed, features);
  eager.helper = [&](const Tensor& x, int n) { return helper(x, n, eager.helper); };
  const auto inner =
      compile([&](const Tensor& x, int n) { return helper(x, n, compiled.helper); }, options);
  compiled.helper = [&](const Tensor& x, int n) { return inner(x, n); };
  int call = 0;
  const auto f =
      compile([&](const std::vector<Tensor>&) { return program.run(compiled, call); }, options);
  const int calls = calls_of(seed, features);
  for (call = 0; call < calls; ++call) {
    if (listing != nullptr) listing->clear();
    const Ticket start = generator_state(default_device());
    std::vector<Tensor> a, b;
    const std::string eager_error = outcome([&] { return program.run(eager, call, listing); }, &a);
    const Ticket eager_end = generator_state(default_device());
    set_generator_state(start, default_device());
    const std::string compiled_error = outcome([&] { return f(compiled.now.args); }, &b);
    const Ticket compiled_end = generator_state(default_device());
    tally->errors += eager_error.empty() ? 0 : 1;
    std::string d;
    if (eager_error != compiled_error) {
      d = fmt::format("eager threw \"{}\", compiled \"{}\"", eager_error, compiled_error);
    } else if (eager_end.seed != compiled_end.seed || eager_end.offset != compiled_end.offset) {
      d = "the random states differ";
    } else {
      // What follows a poisoned result throws: then the sentence is the difference.
      try {
        d = after_call(eager, compiled, a, b);
      } catch (const std::exception& e) {
        d = std::string("reading what the call left threw: ") + e.what();
      }
    }
    if (!d.empty()) return fmt::format("call {}: {}", call, d);
    between_calls(eager, seed, features, call);
    between_calls(compiled, seed, features, call);
  }
  const Ledger ledger = f.ledger();
  ++tally->programs;
  tally->calls += ledger.calls;
  tally->hits += ledger.hits;
  for (const Ledger::Event& e : ledger.cuts) tally->cuts += e.count;
  tally->fused += static_cast<i64>(ledger.fused.size());
  tally->kernels += ledger.compiles + ledger.memory_hits + ledger.disk_hits;
  tally->late += ledger.compiles;
  return "";
}

void run(const Suite& suite) {
  const bool compiles = generates(suite.options);
  // Before their kernels are there, programs run by the interpreter; that is no part of the tally.
  constexpr std::uint64_t kBatch = 250;
  const std::uint64_t first = setting("FUZZ_SEED", 1);
  const std::uint64_t count = setting("FUZZ_PROGRAMS", suite.count);
  int failures = 0;
  Tally tally, before;
  for (std::uint64_t begin = first; begin < first + count && failures < 3; begin += kBatch) {
    const std::uint64_t end = std::min(begin + kBatch, first + count);
    const auto run_all = [&](Tally* into) {
      for (std::uint64_t seed = begin; seed < end && failures < 3; ++seed) {
        const Program program(seed, suite.features);
        const std::string problem = difference(program, suite.options, into);
        if (problem.empty()) continue;
        ++failures;
        report(program, problem, suite.options);
      }
    };
    if (compiles) {
      compiler::KernelBatch batch;
      run_all(&before);
      batch.compile();
    }
    run_all(&tally);
  }
  const double share =
      tally.calls == 0 ? 0
                       : 100.0 * static_cast<double>(tally.hits) / static_cast<double>(tally.calls);
  std::cout << fmt::format(
      "{}: {} programs from seed {}, {} calls, {} ({:.1f} %) replayed from start to end, {} fused "
      "groups, {} kernels, {} cuts, {} calls threw\n",
      compiles ? "compiled" : "interpreted", tally.programs, first, tally.calls, tally.hits, share,
      tally.fused, tally.kernels, tally.cuts, tally.errors);
  // Each would have cost a run of the compiler: a batch plans what its programs plan later.
  EXPECT_EQ(tally.late, 0);
  // Programs that all threw, or never matched, would prove nothing.
  if (count < 100) return;
  EXPECT_LT(tally.errors * 10, tally.calls);
  EXPECT_GE(share, suite.least_replayed);
}

}  // namespace ingot::fuzz
