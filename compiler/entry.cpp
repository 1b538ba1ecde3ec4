#include <algorithm>
#include <limits>

#include <ingot/compiler/build_plan.h>
#include <ingot/compiler/dot.h>
#include <ingot/compiler/entry.h>
#include <ingot/compiler/frame.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/check_at.h>
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

Entry::Entry(CompileOptions options, Loc loc) : options_(std::move(options)), loc_(loc) {
  if (options_.name.empty()) options_.name = to_string(loc);
  for (const std::string& d : options_.disable) {
    INGOT_CHECK_AT(
        "compile", loc,
        std::find(std::begin(kDisableNames), std::end(kDisableNames), d) != std::end(kDisableNames),
        "disable has no \"{}\"; it knows \"{}\"", d, fmt::join(kDisableNames, "\", \""));
  }
  options_.verify |= env().verify;
  if (!env().compile) {  // nothing is recorded, every call is eager
    options_.max_variants = 0;
    options_.at_limit = AtLimit::eager;
  }
  INGOT_CHECK_AT("compile", loc, options_.max_variants >= 0, "max_variants is {}",
                 options_.max_variants);
  figures_ = no_figures();
}

// What the ledger says before the first call. With verify nothing but exact is used.
Ledger Entry::no_figures() const {
  Ledger figures;
  figures.name = options_.name;
  figures.numerics = options_.verify ? Numerics::exact : options_.numerics;
  return figures;
}

// From the known signature that differs in the fewest arguments; the latest of several.
std::string Entry::nearest_difference(const Table& table, const Signature& signature) {
  std::string nearest;
  int least = std::numeric_limits<int>::max();
  for (auto known = table.rbegin(); known != table.rend(); ++known) {
    int count = 0;
    std::string text = difference(known->first, signature, &count);
    if (count >= least) continue;
    least = count;
    nearest = std::move(text);
  }
  return nearest;
}

Trie& Entry::trie_for(const Signature& signature, std::unique_ptr<Trie>* own) {
  auto find = [&](const Table* table) -> Trie* {
    if (table == nullptr) return nullptr;
    for (const auto& [known, trie] : *table) {
      if (known == signature) return trie;
    }
    return nullptr;
  };
  if (Trie* trie = find(table_.load(std::memory_order_acquire))) return *trie;
  std::lock_guard lock(mutex_);
  const Table* table = table_.load(std::memory_order_relaxed);
  if (Trie* trie = find(table)) return *trie;
  auto trie = std::make_unique<Trie>();
  std::string miss =
      table == nullptr ? "nothing is recorded" : nearest_difference(*table, signature);
  if (!may_record()) {  // an endless row of signatures is not kept
    trie->miss = std::move(miss);
    *own = std::move(trie);
    return **own;
  }
  if (table != nullptr) count_event(figures_.misses, miss, loc_);
  auto next = std::make_unique<Table>(table == nullptr ? Table{} : *table);
  next->emplace_back(signature, trie.get());
  tries_.push_back(std::move(trie));
  tables_.push_back(std::move(next));
  table_.store(tables_.back().get(), std::memory_order_release);
  return *tries_.back();
}

bool Entry::may_record() const {
  return variants_.load(std::memory_order_relaxed) < options_.max_variants &&
         stance() == Stance::standard;
}

void Entry::publish(TrieNode* at, std::vector<std::unique_ptr<TrieNode>> chain) {
  std::lock_guard lock(mutex_);
  figures_.launches_eager = 0;
  last_path_.clear();
  figures_.bytes_saved = figures_.arena_bytes = 0;
  for (const auto& node : chain) {
    if (node->kind != TrieNode::cut && node->kind != TrieNode::end) continue;
    const Plan& plan = *node->plan.plan;
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
    dots_.push_back(to_dot(plan, static_cast<int>(dots_.size())));
    texts_.push_back(to_text(plan.segment()));
  }
  Trie::publish(at, std::move(chain));
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
  for (const std::string& s : report.sources) sources_.push_back(s);
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

void Entry::count_no_hit() { not_hits_.fetch_add(1, std::memory_order_relaxed); }

void Entry::add_times(double replay_ns, double total_us) {
  std::lock_guard lock(mutex_);
  replay_ns_.add(replay_ns);
  compiled_us_.add(total_us);
}

void Entry::note_eager(const std::string& reason, Loc where) {
  std::lock_guard lock(mutex_);
  count_event(figures_.misses, reason, where);
}

void Entry::count_miss(const std::string& reason, Loc where, bool at_limit) {
  note_eager(reason, where);
  if (at_limit && stance() == Stance::fail_on_miss) {
    throw Error(fmt::format("{}: the call matches no recorded path, which the stance fail_on_miss "
                            "refuses ({}); at {}",
                            options_.name, reason, to_string(where)),
                "compile", where);
  }
  if (at_limit && options_.at_limit == AtLimit::error) {
    throw Error(fmt::format("{}: the call matches none of the {} recorded paths that max_variants "
                            "allows ({}); at {}",
                            options_.name, options_.max_variants, reason, to_string(where)),
                "compile", where);
  }
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

void Entry::reset() {
  std::lock_guard lock(mutex_);
  table_.store(nullptr, std::memory_order_release);
  variants_.store(0);
  calls_.store(0);
  not_hits_.store(0);
  figures_ = no_figures();
  replay_ns_ = compiled_us_ = eager_us_ = {};
  memory_ = {};
  plans_.clear();
  last_path_.clear();
  texts_.clear();
  dots_.clear();
  sources_.clear();
}

Ledger Entry::ledger() const {
  std::lock_guard lock(mutex_);
  Ledger l = figures_;
  const i64 not_hits = not_hits_.load();
  l.calls = calls_.load();
  l.hits = l.calls - not_hits;
  for (const Plan* plan : last_path_) l.launches_compiled += plan->launches();
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
  for (const std::string& t : texts_) all += t + "\n";
  return all;
}

std::string Entry::dot() const {
  std::lock_guard lock(mutex_);
  std::string all;
  for (const std::string& d : dots_) all += d;
  return dot_graph(options_.name, all);
}

MemoryUse Entry::memory() const {
  std::lock_guard lock(mutex_);
  return memory_;
}

std::string Entry::source() const {
  std::lock_guard lock(mutex_);
  std::string all;
  for (const std::string& s : sources_) all += s + "\n";
  return all;
}

}  // namespace ingot::compiler
