#include <algorithm>
#include <cstdio>

#include <ingot/compiler/build_plan.h>
#include <ingot/compiler/dot.h>
#include <ingot/compiler/entry.h>
#include <ingot/compiler/registry.h>
#include <ingot/kernels/core/check.h>
#include <ingot/runtime/env.h>

namespace ingot::compiler {

void Samples::add(double value) {
  if (values_.size() < kKept) {
    values_.push_back(value);
  } else {
    values_[next_++ % kKept] = value;
  }
}

Spread Samples::spread() const {
  if (values_.empty()) return {};
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  auto at = [&](double q) {
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.95), static_cast<int>(sorted.size())};
}

namespace {

void count_event(std::vector<Ledger::Event>& events, const std::string& what, Loc where) {
  constexpr std::size_t kKept = 64;
  for (Ledger::Event& e : events) {
    if (e.what == what && e.where.line == where.line && e.where.file == where.file) {
      ++e.count;
      return;
    }
  }
  if (events.size() < kKept) events.push_back({what, where});
}

}  // namespace

Entry::Entry(const CompileOptions& options, Loc loc, std::atomic<bool>* warned)
    : options_(options), loc_(loc), warned_(warned) {
  figures_.name = options_.name;
  // With verify nothing but exact is used.
  figures_.numerics = options_.verify ? Numerics::exact : options_.numerics;
}

bool Entry::may_record() const { return !at_limit() && stance() == Stance::standard; }

void Entry::publish(TrieNode* at, std::vector<std::unique_ptr<TrieNode>> chain) {
  std::lock_guard lock(mutex_);
  if (at->kind == TrieNode::root && !tries_.holds(at)) {
    Trie::publish(at, std::move(chain));  // only this call knows it: keep() comes next
  } else {
    add_path(at, std::move(chain));
  }
}

void Entry::keep(const Signature& signature, std::uint64_t hash, std::unique_ptr<Trie> trie) {
  std::lock_guard lock(mutex_);
  std::vector<std::unique_ptr<TrieNode>> chain = trie->take_path();
  if (chain.empty()) return;
  if (Trie* known = tries_.find(signature, hash)) {  // another thread was first
    add_path(known->root(), std::move(chain));
    return;
  }
  add_path(trie->root(), std::move(chain));
  if (trie->root()->first_child.load(std::memory_order_relaxed) == nullptr) return;
  tries_.add(signature, hash, std::move(trie));
}

// Threads that record at once may bring what is known by now, or more than max_variants allows.
void Entry::add_path(TrieNode* at, std::vector<std::unique_ptr<TrieNode>> chain) {
  if (at_limit()) return;
  std::vector<const Plan*> plans;  // by node; null: it has none
  for (const auto& node : chain) plans.push_back(node->plan.plan.get());
  const std::size_t known = Trie::publish(at, std::move(chain));
  if (known == plans.size()) return;
  figures_.launches_eager = 0;
  last_path_.clear();
  figures_.bytes_saved = figures_.arena_bytes = 0;
  for (std::size_t i = known; i < plans.size(); ++i) {
    if (plans[i] == nullptr) continue;
    const Plan& plan = *plans[i];
    for (const SegmentOp& op : plan.segment().ops) {
      figures_.launches_eager += op.is_view() ? 0 : op.launches;
    }
    last_path_.push_back(&plan);
    figures_.bytes_saved += plan.bytes_saved();
    figures_.arena_bytes = std::max(figures_.arena_bytes, plan.arena_bytes());
    memory_.arena = std::max(memory_.arena, plan.arena_bytes());
    memory_.unplanned = std::max(memory_.unplanned, plan.unplanned_bytes());
    memory_.inside_kernels = std::max(memory_.inside_kernels, plan.inside_kernels_bytes());
    plans_.push_back(&plan);
  }
  figures_.variants = variants_.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::unique_ptr<Plan> Entry::build_plan(Segment segment) {
  PlanReport report;
  std::unique_ptr<Plan> plan = compiler::build_plan(std::move(segment), options_, &report);
  std::lock_guard lock(mutex_);
  figures_.compiles += report.compiles;
  figures_.memory_hits += report.memory_hits;
  figures_.disk_hits += report.disk_hits;
  for (const auto& e : report.fused) count_event(figures_.fused, e.what, e.where);
  for (const auto& e : report.not_fused) count_event(figures_.not_fused, e.what, e.where);
  for (const auto& e : report.relaxed) count_event(figures_.relaxed, e.what, e.where);
  if (variants_.load(std::memory_order_relaxed) == 0) {
    for (const Ledger::Phase& p : report.phases) {
      auto known = std::find_if(figures_.first_call.begin(), figures_.first_call.end(),
                                [&](const Ledger::Phase& q) { return q.name == p.name; });
      if (known == figures_.first_call.end()) {
        figures_.first_call.push_back(p);
      } else {
        known->ms += p.ms;
      }
    }
  }
  return plan;
}

bool Entry::count_call() {
  constexpr i64 kAllOfTheFirst = 256, kThenOneIn = 16;
  i64 n = calls_.fetch_add(1, std::memory_order_relaxed);
  return n < kAllOfTheFirst || n % kThenOneIn == 0;
}

void Entry::count_eager_call() { eager_calls_.fetch_add(1, std::memory_order_relaxed); }

void Entry::count_no_hit() { not_hits_.fetch_add(1, std::memory_order_relaxed); }

void Entry::add_times(double replay_ns, double total_us) {
  std::lock_guard lock(mutex_);
  replay_ns_.add(replay_ns);
  compiled_us_.add(total_us);
}

void Entry::note_eager(const char* reason, Loc where) {
  const std::size_t key = std::hash<std::string_view>()(reason);
  if (misses_.count(key)) return;
  std::lock_guard lock(mutex_);
  misses_.add(key, reason, where);
}

void Entry::count_miss(std::uint64_t key, const Reason& reason, Loc where, bool at_limit) {
  Misses& misses = at_limit ? left_ : misses_;
  if (!misses.count(key)) {
    std::string text = reason();
    std::lock_guard lock(mutex_);
    misses.add(key, std::move(text), where);
  }
  if (at_limit) end_miss(reason, where);
}

std::string Entry::text_of_new(const Signature& signature) const {
  if (!env().compile) return "INGOT_COMPILE=0: the call was eager";
  std::lock_guard lock(mutex_);
  const std::string text = tries_.nearest_difference(signature);
  return text.empty() ? "nothing is recorded" : text;
}

void Entry::count_new_signature(const Signature& signature, std::uint64_t hash) {
  if (variants_.load(std::memory_order_relaxed) == 0) return;  // the first path is no miss
  if (misses_.count(hash)) return;
  std::string text = text_of_new(signature);
  std::lock_guard lock(mutex_);
  misses_.add(hash, std::move(text), loc_);
}

void Entry::add_refused_signature(const Signature& signature, std::uint64_t hash) {
  std::string text = text_of_new(signature);
  std::lock_guard lock(mutex_);
  refused_.add(hash, std::move(text), loc_);
}

void Entry::end_miss(const Reason& reason, Loc where) {
  if (stance() == Stance::fail_on_miss) {
    throw Error(fmt::format("{}: the call matches no recorded path, which the stance fail_on_miss "
                            "refuses ({}); at {}",
                            options_.name, reason(), to_string(where)),
                "compile", where);
  }
  if (!at_limit()) return;  // the stance forbids recording
  if (options_.at_limit == AtLimit::error) {
    throw Error(fmt::format("{}: the call matches none of the {} recorded paths that max_variants "
                            "allows ({}); at {}",
                            options_.name, options_.max_variants, reason(), to_string(where)),
                "compile", where);
  }
  if (!limit_noted_.load(std::memory_order_relaxed)) note_limit(reason, where);
}

// Said once, by the first call that is not recorded because max_variants paths are.
void Entry::note_limit(const Reason& reason, Loc where) {
  const i64 n = variants_.load(std::memory_order_relaxed);
  const std::string text = fmt::format(
      "{}: {} {} recorded (max_variants); this and later calls that match none run op by op ({}; "
      "at {})",
      options_.name, n, n == 1 ? "path is" : "paths are", reason(), to_string(where));
  {
    std::lock_guard lock(mutex_);
    if (limit_noted_.exchange(true)) return;
    if (n == 0) return;  // as it was asked for
    figures_.limit = text;
  }
  if (!warned_->exchange(true)) std::fprintf(stderr, "ingot: %s\n", text.c_str());
}

void Entry::count_cut(const std::string& what, Loc where) {
  std::lock_guard lock(mutex_);
  count_event(figures_.cuts, what, where);
}

void Entry::note_at_once(const std::string& op, Loc where) {
  std::lock_guard lock(mutex_);
  count_event(figures_.not_fused, op + ": the address of its memory was handed out", where);
}

void Entry::refuse_cut(const std::string& what, Loc where) const {
  throw Error(fmt::format("{}: {} reads a value inside a function compiled with fullgraph; at {}",
                          options_.name, what, to_string(where)),
              "compile", where);
}

void Entry::add_eager_us(double us) {
  std::lock_guard lock(mutex_);
  eager_us_.add(us);
}

Ledger Entry::ledger() const {
  std::lock_guard lock(mutex_);
  Ledger l = figures_;
  const i64 without_frame = refused_.total() + eager_calls_.load();
  l.calls = calls_.load() + without_frame;
  l.hits = calls_.load() - not_hits_.load();
  l.unrecorded = refused_.total() + left_.total();
  i64 others = 0;
  for (const Plan* plan : last_path_) l.launches_compiled += plan->launches();
  for (const Misses* misses : {&misses_, &refused_, &left_}) others += misses->append_to(&l.misses);
  if (others > 0) l.misses.push_back({"for further reasons", loc_, 0, others});
  for (const Plan* plan : plans_) {
    const GraphUse use = plan->graph_use();
    l.graphs.recorded += use.recorded;
    l.graphs.launches += use.launches;
    l.graphs.updates += use.updates;
    l.graphs.dropped += use.dropped;
  }
  l.replay_ns = replay_ns_.spread();
  l.compiled_us = compiled_us_.spread();
  l.eager_us = eager_us_.spread();
  if (l.eager_us.n == 0 || l.compiled_us.n == 0) return l;
  double saved_us = l.eager_us.median - l.compiled_us.median;
  l.speedup = l.eager_us.median / l.compiled_us.median;
  if (saved_us <= 0) return l;
  double total_ms = 0, compile_ms = 0;
  for (const Ledger::Phase& p : l.first_call) {
    total_ms += p.ms;
    if (p.name == "compile") compile_ms += p.ms;
  }
  if (l.compiles > 0) l.break_even_calls.empty_cache = total_ms * 1000 / saved_us;
  l.break_even_calls.disk_cache = (total_ms - compile_ms) * 1000 / saved_us;
  l.break_even_calls.kernel_known = (total_ms - compile_ms) * 1000 / saved_us;
  return l;
}

std::string Entry::text() const {
  std::lock_guard lock(mutex_);
  std::string all;
  for (const Plan* plan : plans_) all += to_text(plan->segment()) + "\n";
  return all;
}

std::string Entry::dot() const {
  std::lock_guard lock(mutex_);
  std::string all;
  for (std::size_t i = 0; i < plans_.size(); ++i) all += to_dot(*plans_[i], static_cast<int>(i));
  return dot_graph(options_.name, all);
}

std::string Entry::source() const {
  std::lock_guard lock(mutex_);
  std::string all;
  for (const Plan* plan : plans_) {
    for (const std::string& text : plan->sources()) all += text + "\n";
  }
  return all;
}

MemoryUse Entry::memory() const {
  std::lock_guard lock(mutex_);
  return memory_;
}

}  // namespace ingot::compiler
