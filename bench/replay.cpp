// What proves on every call that a recording still holds, per op; and what the profiler adds to
// one.
#include <algorithm>

#include <fmt/format.h>

#include <ingot/ingot.h>
#include <ingot/runtime/observer.h>

#include "benchmarks.h"

namespace bench {

using namespace ingot;

namespace {

constexpr int kSamples = 15;  // of what the profiler costs

// Ops that a recorded path holds: a line of its graph each.
i64 ops_in(const std::string& graph) {
  return std::count(graph.begin(), graph.end(), '\n') - (graph.ends_with("\n\n") ? 1 : 0);
}

Row bound_row(const char* name, double bound, const std::string& target) {
  Row row{.name = name, .unit = "ns"};
  row.limit = row.limit_least = bound;
  row.limit_name = "the target itself";
  row.target = target;
  return row;
}

// Nanoseconds of matching per op, from the ledger; several batches of calls give the spread.
template <class F, class Call>
Row replay_row(const char* name, double bound, const F& compiled, const Call& call) {
  constexpr int kBatches = 40, kKept = 512;
  Row row = bound_row(name, bound, fmt::format("<= {:.0f} ns", bound));
  call();
  const double ops = static_cast<double>(ops_in(compiled.graph()));
  for (int i = 0; i < kBatches; ++i) {
    for (int k = 0; k < kKept; ++k) call();  // the ledger's figure is that of the last 512
    row.ours.add(compiled.ledger().replay_ns.median / ops);
  }
  const Ledger ledger = compiled.ledger();
  row.met = row.ours.median() <= bound;
  row.note = fmt::format("{:.0f} ops; of {} calls {} hits", ops, ledger.calls, ledger.hits);
  return row;
}

}  // namespace

std::vector<Row> guard_replay() {
  constexpr int kOps = 64;
  constexpr double kPlain = 20, kGrad = 40;
  const Tensor scale = full({1}, 0.5);
  const auto chain = [&](Tensor t) {
    for (int i = 0; i < kOps / 2; ++i) t = tanh(t) * scale;
    return t;
  };
  const Tensor x = randn({kOps});
  const auto plain = compile([&](const Tensor& a) { return chain(a); }, {.name = "replay"});
  Row without = replay_row("guard_replay", kPlain, plain, [&] { (void)plain(x); });
  // The whole call, matching and release of its results included: with no elements no kernel runs.
  const Tensor none = empty({0});
  const std::vector<Series> whole = race({[&] { (void)plain(none); }});
  without.note += fmt::format("; a whole call without elements {:.1f} ns an op",
                              whole[0].median() * 1000 / kOps);

  Tensor leaf = randn({kOps}).requires_grad_();
  const auto step = compile(
      [&](Tensor& a) {
        a.mutable_grad() = Tensor();
        Tensor loss = chain(a).sum();
        loss.backward();
        return loss;
      },
      {.name = "replay_grad"});
  return {without, replay_row("guard_replay_grad", kGrad, step, [&] { (void)step(leaf); })};
}

Row profiler_off() {
  constexpr double kOff_ns = 5;
  // What an op checks while nobody records: the op's event, the kernel's, one allocation, one free.
  constexpr int kRepeat = 1000, kChecks = 3;
  std::uint64_t seen = 0;
  const std::function<void()> without = [&] {
    for (int i = 0; i < kRepeat; ++i) keep(&seen);
  };
  const std::function<void()> with = [&] {
    for (int i = 0; i < kRepeat; ++i) {
      const ScopedEvent event({.kind = EventKind::op, .name = "add"});
      keep(&seen);
      for (int k = 0; k < kChecks; ++k) {
        if (observer() != nullptr) [[unlikely]]
          ++seen;
        keep(&seen);
      }
    }
  };
  // A sample is a difference of medians: one interrupted batch would spoil a plain difference.
  Row off = bound_row("profiler_off", kOff_ns, "<= 5 ns an op");
  for (int i = 0; i < kSamples; ++i) {
    const std::vector<Series> s = race({without, with}, {.seconds = 0.05});
    off.ours.add((s[1].median() - s[0].median()) * 1000 / kRepeat);
  }
  off.met = off.ours.median() <= kOff_ns;
  return off;
}

std::vector<Row> profiler_cost() {
  constexpr double kOn_ns = 300;
  const Tensor a = randn({16}), b = randn({16});
  const auto op = [&] { (void)(a + b); };
  const Series before = race({op})[0];
  Row off = profiler_off();

  constexpr int kSessions = 20, kCalls = 1000;
  const auto calls_us = [&] {
    return time_us([&] {
      for (int i = 0; i < kCalls; ++i) op();
    });
  };
  Row on = bound_row("profiler_on", kOn_ns, "<= 300 ns an op");
  for (int i = 0; i < kSamples; ++i) {
    Series unobserved, observed;
    for (int k = 0; k < kSessions; ++k) {
      unobserved.add(calls_us());
      profiler::Session session;
      observed.add(calls_us());
      session.stop();
    }
    on.ours.add((observed.median() - unobserved.median()) * 1000 / kCalls);
  }
  on.met = on.ours.median() <= kOn_ns;
  const Series after = race({op})[0];
  on.note = fmt::format("left after {} sessions: {:+.1f} ns an op (medians), {:+.1f} (least)",
                        kSamples * kSessions, (after.median() - before.median()) * 1000,
                        (after.least() - before.least()) * 1000);
  return {off, on};
}

}  // namespace bench
