#include <new>

#include <ingot/compiler/compile.h>
#include <ingot/compiler/entry.h>
#include <ingot/compiler/frame.h>
#include <ingot/compiler/registry.h>
#include <ingot/kernels/core/check.h>
#include <ingot/runtime/anomaly.h>
#include <ingot/runtime/env.h>
#include <ingot/runtime/observer.h>

namespace ingot::compiler {

static_assert(sizeof(Frame) <= 192 && alignof(Frame) <= 8);

std::shared_ptr<Entry> make_entry(CompileOptions options, Loc loc) {
  auto entry = std::make_shared<Entry>(std::move(options), loc);
  enlist(entry);
  return entry;
}

Ledger ledger_of(const Entry& entry) { return entry.ledger(); }
std::string graph_of(const Entry& entry) { return entry.text(); }
std::string dot_of(const Entry& entry) { return entry.dot(); }
MemoryUse memory_of(const Entry& entry) { return entry.memory(); }
std::string source_of(const Entry& entry) { return entry.source(); }
void reset(Entry& entry) { entry.reset(); }

void refuse_moved_from() {
  throw Error("compile: this compiled function was moved from; call the one that it was moved to");
}

Signature& scratch_signature() {
  thread_local Signature signature;
  return signature;
}

CallScope::CallScope(Entry& entry) : entry_(entry), outermost_(t_interceptor == nullptr) {}

void CallScope::start(const Signature& signature) {
  bool timed = entry_.count_call();
  if (stance() == Stance::force_eager) [[unlikely]] {
    entry_.count_no_hit();
    return;
  }
  if (t_anomaly != Anomaly::off && anomaly_mode() != Anomaly::off) [[unlikely]] {
    entry_.count_no_hit();
    entry_.note_eager(
        env().detect_anomaly.empty() ? "an AnomalyGuard lives" : "INGOT_DETECT_ANOMALY is set",
        entry_.loc());
    return;
  }
  if (timed) started_ = clock_ns();
  try {
    frame_ = new (frame_memory_) Frame(entry_, entry_.trie_for(signature, &own_trie_), timed);
  } catch (...) {
    entry_.count_no_hit();
    throw;
  }
  observer_ = observer();
  if (observer_ != nullptr) [[unlikely]] {
    const bool records = frame_->state() == Frame::State::record;
    observer_->begin({.kind = records ? EventKind::compile : EventKind::replay,
                      .name = records ? "record" : "guard",
                      .loc = entry_.loc()});
  }
}

void CallScope::end_event() {
  if (observer_ != nullptr) [[unlikely]]
    std::exchange(observer_, nullptr)->end();
}

void CallScope::finish() {
  if (frame_ == nullptr) return;
  frame_->finish();
  if (!frame_->hit()) {
    entry_.count_no_hit();
  } else if (started_ != 0) {
    entry_.add_times(static_cast<double>(frame_->replay_ns()),
                     static_cast<double>(clock_ns() - started_) / 1000);
  }
  std::exchange(frame_, nullptr)->~Frame();
  end_event();
}

CallScope::~CallScope() {
  if (frame_ == nullptr) return;
  entry_.count_no_hit();
  frame_->abort();
  frame_->~Frame();
  end_event();
}

void time_pair(Entry& entry, const std::function<void()>& eager,
               const std::function<void()>& compiled) {
  // Interleaved, so that a drift of the machine meets both; half a second at the most.
  constexpr int kRounds = 200, kLeast = 10;
  constexpr std::uint64_t kBudget = 500'000'000;
  compiled();
  compiled();
  eager();
  std::uint64_t start = clock_ns();
  for (int i = 0; i < kRounds && (i < kLeast || clock_ns() - start < kBudget); ++i) {
    std::uint64_t t = clock_ns();
    eager();
    entry.add_eager_us(static_cast<double>(clock_ns() - t) / 1000);
    compiled();
  }
}

}  // namespace ingot::compiler
