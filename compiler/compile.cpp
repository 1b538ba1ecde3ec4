#include <new>

#include <ingot/compiler/compile.h>
#include <ingot/compiler/frame.h>
#include <ingot/compiler/function_state.h>
#include <ingot/compiler/registry.h>
#include <ingot/kernels/core/check.h>
#include <ingot/runtime/anomaly.h>
#include <ingot/runtime/env.h>
#include <ingot/runtime/observer.h>

namespace ingot::compiler {

static_assert(sizeof(Frame) <= 192 && alignof(Frame) <= 8);

std::shared_ptr<FunctionState> make_function(CompileOptions options, Loc loc) {
  auto function = std::make_shared<FunctionState>(std::move(options), loc);
  enlist(function);
  return function;
}

Ledger ledger_of(const FunctionState& function) {
  return function.with_entry([](const Entry& e) { return e.ledger(); });
}
std::string graph_of(const FunctionState& function) {
  return function.with_entry([](const Entry& e) { return e.text(); });
}
std::string dot_of(const FunctionState& function) {
  return function.with_entry([](const Entry& e) { return e.dot(); });
}
std::string source_of(const FunctionState& function) {
  return function.with_entry([](const Entry& e) { return e.source(); });
}
MemoryUse memory_of(const FunctionState& function) {
  return function.with_entry([](const Entry& e) { return e.memory(); });
}
void reset(FunctionState& function) { function.reset(); }

void refuse_moved_from() {
  throw Error("compile: this compiled function was moved from; call the one that it was moved to");
}

Signature& scratch_signature() {
  thread_local Signature signature;
  return signature;
}

CallScope::CallScope(FunctionState& function)
    : function_(function), outermost_(t_interceptor == nullptr) {}

void CallScope::start(const Signature& signature) {
  start_at(pin_.take(function_), signature);
  if (frame_ == nullptr) pin_.release();
}

// Without a frame the call is eager: nothing sees its ops, as if it were not compiled.
void CallScope::start_at(Entry& entry, const Signature& signature) {
  if (stance() == Stance::force_eager) [[unlikely]] {
    entry.count_eager_call();
    return;
  }
  if (t_anomaly != Anomaly::off && anomaly_mode() != Anomaly::off) [[unlikely]] {
    entry.count_eager_call();
    entry.note_eager(
        env().detect_anomaly.empty() ? "an AnomalyGuard lives" : "INGOT_DETECT_ANOMALY is set",
        entry.loc());
    return;
  }
  signature_ = &signature;
  hash_ = signature.hash();
  Trie* trie = entry.find(signature, hash_);
  if (trie == nullptr) {
    if (!entry.may_record()) {
      entry.count_refused_signature(signature, hash_);
      begin_event(EventKind::replay, "miss", entry.loc());
      return;
    }
    entry.count_new_signature(signature, hash_);
    own_trie_ = std::make_unique<Trie>();
    trie = own_trie_.get();
  }
  const bool timed = entry.count_call();
  if (timed) started_ = clock_ns();
  entry_ = &entry;
  frame_ = new (frame_memory_) Frame(entry, *trie, timed);
  records_ = frame_->state() == Frame::State::record;
  begin_event(records_ ? EventKind::compile : EventKind::replay, records_ ? "record" : "guard",
              entry.loc());
}

void CallScope::begin_event(EventKind kind, const char* name, Loc loc) {
  observer_ = observer();
  if (observer_ != nullptr) [[unlikely]]
    observer_->begin({.kind = kind, .name = name, .loc = loc});
}

void CallScope::end_event() {
  if (observer_ == nullptr) [[likely]]
    return;
  missed_ && !records_ ? observer_->end_missed() : observer_->end();
}

void CallScope::finish() {
  if (frame_ == nullptr) return;
  frame_->finish();
  if (!frame_->hit()) {
    entry_->count_no_hit();
  } else if (started_ != 0) {
    entry_->add_times(static_cast<double>(frame_->replay_ns()),
                      static_cast<double>(clock_ns() - started_) / 1000);
  }
  missed_ = frame_->state() == Frame::State::eager;
  std::exchange(frame_, nullptr)->~Frame();
  if (own_trie_ != nullptr) entry_->keep(*signature_, hash_, std::move(own_trie_));
}

CallScope::~CallScope() {
  if (frame_ != nullptr) {
    entry_->count_no_hit();
    missed_ = frame_->state() == Frame::State::eager;
    frame_->abort();
    frame_->~Frame();
  }
  end_event();
}

void time_pair(FunctionState& function, const std::function<void()>& eager,
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
    const double us = static_cast<double>(clock_ns() - t) / 1000;
    function.with_entry([&](Entry& e) { e.add_eager_us(us); });
    compiled();
  }
}

}  // namespace ingot::compiler
