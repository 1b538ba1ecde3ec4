#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ingot/compiler/jit/files.h>
#include <ingot/compiler/jit/kernel_cache.h>
#include <ingot/runtime/observer.h>

namespace ingot::jit {
namespace {

constexpr int kAttempts = 3;  // for failures that are not the source's fault
// Of a unit that kernels share: more gain little and wait longer for the first.
constexpr std::size_t kMostPartsOfAUnit = 32;

// Kernels of one key may share a unit.
std::string sharing_key(const KernelSource& source, const KernelOptions& options) {
  return fmt::format("{}\n{}\n{}", source.names.empty(),
                     source.prelude ? source.prelude->digest() : "none",
                     fmt::join(options.flags, "\n"));
}

void add(KernelPhases& sum, const KernelPhases& ms) {
  sum.lookup += ms.lookup;
  sum.hash += ms.hash;
  sum.disk_read += ms.disk_read;
  sum.compile += ms.compile;
  sum.link += ms.link;
  sum.load += ms.load;
  sum.disk_write += ms.disk_write;
  sum.wait += ms.wait;
}

// Settings that follow from others, filled in once.
KernelCacheOptions completed(KernelCacheOptions options) {
  if (!options.disk.log) options.disk.log = options.log;
  return options;
}

HostCompilerOptions with_dump_folder(HostCompilerOptions options, const DiskCache& disk) {
  if (options.dump_folder.empty() && disk.usable()) options.dump_folder = disk.folder();
  return options;
}

}  // namespace

// Guarded by the cache's mutex; while `running`, by being its owner's.
struct KernelCache::Entry {
  bool running = true;
  pid_t process = getpid();  // a fork's child has no thread that would finish it
  std::shared_ptr<const Module> module;
  std::string error;
  bool transient = false;
  int attempts = 0;
  std::uint64_t last_use = 0;
  std::unordered_map<std::string, std::shared_ptr<const Kernel>> kernels;

  bool settled() const { return !running && (module || !transient || attempts >= kAttempts); }
  bool in_use() const {
    return running || std::any_of(kernels.begin(), kernels.end(),
                                  [](const auto& item) { return item.second.use_count() > 1; });
  }
};

KernelCache::KernelCache(KernelCacheOptions options)
    : options_(completed(std::move(options))),
      disk_(options_.disk),
      compiler_(with_dump_folder(options_.compiler, disk_), &disk_),
      drop_above_(options_.max_modules),
      pool_(options_.compile_threads) {
  if (options_.load.folders.empty()) {
    if (disk_.usable()) options_.load.folders.push_back(disk_.folder());
    options_.load.folders.emplace_back("/tmp");
  }
}

KernelCache::Unit KernelCache::unit_of(const KernelSource& source, const KernelOptions& options) {
  std::call_once(prefix_once_, [this] {
    const CompilerInfo* compiler = compiler_.info();
    key_prefix_ = fmt::format("kernel 1\ngenerator {}\ncompiler {}\n{}\n",
                              options_.generator_version, compiler ? compiler->identity : "none",
                              fmt::join(HostCompiler::base_flags(), " "));
  });
  return {source, options,
          fmt::format("{}flags {}\n{}\nfeatures {}\nprelude {}\n{}", key_prefix_,
                      options.flags.size(), fmt::join(options.flags, "\n"), options.features,
                      source.prelude ? source.prelude->digest() : "none", source.body)};
}

KernelResult KernelCache::get(const KernelSource& source, const std::string& symbol,
                              const KernelOptions& options) {
  KernelResult result;
  const Stopwatch clock;
  const Unit unit = unit_of(source, options);
  result.ms.lookup = clock.ms();
  if (compiler_.info() == nullptr) {
    result.error = compiler_.missing();
    // Somebody asked for this compiler; none at all, or "none", is no fault.
    if (!options_.compiler.cxx.empty() && options_.compiler.cxx != "none") say(result.error);
    return result;
  }
  Claim claimed = claim(unit, symbol, true, result);
  if (claimed.answered) return result;
  Job job{unit, symbol, std::move(claimed.entry), std::move(result)};
  produce({&job, 1});
  return std::move(job.result);
}

KernelCache::Claim KernelCache::claim(const Unit& unit, const std::string& symbol, bool wait,
                                      KernelResult& result) {
  Stopwatch clock;
  result.origin = KernelOrigin::kMemory;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto found = entries_.find(unit.key);
    const std::shared_ptr<Entry> known = found == entries_.end() ? nullptr : found->second;
    if (known && known->settled()) {
      result = answer(*known, symbol, std::move(result));
      return {nullptr, true};
    }
    if (known && known->running && known->process == getpid()) {
      if (!wait) return {};
      clock.lap();
      done_.wait(lock, [&] { return !known->running; });
      result.ms.wait += clock.lap();
      continue;
    }
    auto entry = std::make_shared<Entry>();
    entry->attempts = known ? known->attempts + 1 : 1;
    entries_.insert_or_assign(unit.key, entry);
    return {std::move(entry)};
  }
}

std::optional<KernelResult> KernelCache::get_from_memory(const KernelSource& source,
                                                         const std::string& symbol,
                                                         const KernelOptions& options) {
  KernelResult result;
  const Stopwatch clock;
  const Unit unit = unit_of(source, options);
  result.origin = KernelOrigin::kMemory;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(unit.key);
  if (found == entries_.end() || !found->second->settled()) return {};
  result.ms.lookup = clock.ms();
  return answer(*found->second, symbol, std::move(result));
}

// Called with the mutex held, for a settled entry or by its owner.
KernelResult KernelCache::answer(Entry& entry, const std::string& symbol, KernelResult result) {
  entry.last_use = ++uses_;
  add(statistics_.ms, result.ms);
  if (entry.module) {
    statistics_.memory_hits += result.origin == KernelOrigin::kMemory;
    statistics_.disk_hits += result.origin == KernelOrigin::kDisk;
    statistics_.compiles += result.origin == KernelOrigin::kCompiled;
    std::shared_ptr<const Kernel>& kernel = entry.kernels[symbol];
    void* address = kernel ? kernel->address() : entry.module->find(symbol);
    if (!kernel && address) kernel = std::make_shared<Kernel>(entry.module, address);
    result.kernel = kernel;
    if (!kernel) {
      entry.kernels.erase(symbol);
      result.error = fmt::format("kernel cache: the unit defines no function '{}'", symbol);
    }
  } else {
    result.error = entry.error;
  }
  if (!result.kernel) result.origin = KernelOrigin::kFailed;
  return result;
}

void KernelCache::produce(std::span<Job> jobs) {
  try {
    std::vector<Job*> missing;
    for (Job& job : jobs) {
      const Stopwatch clock;
      job.key.emplace(job.unit.key, options_.hasher);
      job.result.ms.hash = clock.ms();
      keep_source(*job.key, job.unit.source);
      if (!take_from_disk(job)) missing.push_back(&job);
    }
    if (!missing.empty()) compile(missing);
  } catch (const std::exception& failure) {
    for (Job& job : jobs) {
      if (job.entry->module || !job.entry->error.empty()) continue;
      job.entry->error = fmt::format("kernel cache: {}", failure.what());
      job.entry->transient = true;
    }
  }
  const std::lock_guard lock(mutex_);
  for (Job& job : jobs) {
    job.entry->running = false;
    if (!job.entry->module) ++statistics_.failures;
    job.result = answer(*job.entry, job.symbol, std::move(job.result));
  }
  done_.notify_all();
  drop_unused();
}

bool KernelCache::take_from_disk(Job& job) {
  Stopwatch clock;
  const std::optional<Bytes> object = disk_.load(*job.key);
  job.result.ms.disk_read = clock.lap();
  if (!object) return false;
  std::string error;
  job.entry->module = Module::load(*object, options_.load, error);
  job.result.ms.load = clock.lap();
  if (job.entry->module) {
    job.result.origin = KernelOrigin::kDisk;
    return true;
  }
  disk_.remove(*job.key);
  say(fmt::format("kernel cache: a stored {}; it is compiled again", error));
  return false;
}

void KernelCache::compile(std::span<Job* const> jobs) {
  const Unit& first = jobs[0]->unit;
  const std::string_view prelude = first.source.prelude_text();
  const auto alone = [&](const Job& job) {
    return compiler_.compile(prelude, job.unit.source.body, first.options.flags);
  };
  std::vector<CompileResult> results;
  {
    ScopedEvent event({.kind = EventKind::compile, .name = "compile"});
    if (jobs.size() == 1) {
      results.push_back(alone(*jobs[0]));
    } else {
      std::vector<UnitPart> parts;
      for (const Job* job : jobs) parts.push_back({job->unit.source.body, job->unit.source.names});
      results = compiler_.compile_together(prelude, parts, first.options.flags);
      // One source that does not compile takes no other's kernel.
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (!results[i].error.empty() && !results[i].transient) results[i] = alone(*jobs[i]);
      }
    }
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) take_compiled(*jobs[i], results[i]);
}

void KernelCache::take_compiled(Job& job, CompileResult& compiled) {
  job.result.ms.compile = compiled.compile_ms;
  job.result.ms.link = compiled.link_ms;
  if (!compiled.error.empty()) {
    job.entry->error = std::move(compiled.error);
    job.entry->transient = compiled.transient;
    return;
  }
  Stopwatch clock;
  job.entry->module = Module::load(compiled.object, options_.load, job.entry->error);
  job.result.ms.load += clock.lap();
  if (!job.entry->module) return;
  job.result.origin = KernelOrigin::kCompiled;
  disk_.store(*job.key, compiled.object);
  job.result.ms.disk_write = clock.lap();
}

std::future<KernelResult> KernelCache::get_async(KernelRequest request) {
  const auto task =
      std::make_shared<std::packaged_task<KernelResult()>>([this, asked = std::move(request)] {
        return get(asked.source, asked.symbol, asked.options);
      });
  std::future<KernelResult> future = task->get_future();
  pool_.submit([task] { (*task)(); });
  return future;
}

std::vector<KernelResult> KernelCache::get_many(std::vector<KernelRequest> requests) {
  std::vector<KernelResult> results(requests.size());
  if (compiler_.info() == nullptr) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      results[i] = get(requests[i].source, requests[i].symbol, requests[i].options);
    }
    return results;
  }
  std::vector<Unit> units;
  for (const KernelRequest& r : requests) units.push_back(unit_of(r.source, r.options));
  std::map<std::string, std::vector<std::size_t>> groups;  // of what may share a compile unit
  std::vector<Claim> claims(requests.size());
  std::vector<std::size_t> elsewhere;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    claims[i] = claim(units[i], requests[i].symbol, false, results[i]);
    if (claims[i].entry) {
      groups[sharing_key(units[i].source, units[i].options)].push_back(i);
    } else if (!claims[i].answered) {
      elsewhere.push_back(i);
    }
  }
  std::vector<std::vector<Job>> batches;
  std::vector<std::vector<std::size_t>> places;
  for (const auto& [key, members] : groups) {
    const bool share = !requests[members[0]].source.names.empty();
    const std::size_t even = (members.size() + pool_.threads() - 1) / pool_.threads();
    const std::size_t size = share ? std::min(even, kMostPartsOfAUnit) : 1;
    for (std::size_t n = 0; n < members.size(); ++n) {
      if (n % size == 0) {
        batches.emplace_back();
        places.emplace_back();
      }
      const std::size_t i = members[n];
      batches.back().push_back(
          {units[i], requests[i].symbol, std::move(claims[i].entry), std::move(results[i])});
      places.back().push_back(i);
    }
  }
  std::vector<std::future<void>> futures;
  for (std::size_t b = 1; b < batches.size(); ++b) {
    const auto task =
        std::make_shared<std::packaged_task<void()>>([this, &jobs = batches[b]] { produce(jobs); });
    futures.push_back(task->get_future());
    pool_.submit([task] { (*task)(); });
  }
  if (!batches.empty()) produce(batches[0]);
  for (std::future<void>& future : futures) future.get();
  for (std::size_t b = 0; b < batches.size(); ++b) {
    for (std::size_t n = 0; n < batches[b].size(); ++n) {
      results[places[b][n]] = std::move(batches[b][n].result);
    }
  }
  for (const std::size_t i : elsewhere) {
    results[i] = get(requests[i].source, requests[i].symbol, requests[i].options);
  }
  return results;
}

KernelCacheStatistics KernelCache::statistics() const {
  const std::lock_guard lock(mutex_);
  KernelCacheStatistics statistics = statistics_;
  for (const auto& item : entries_) {
    statistics.modules += !item.second->running && item.second->module;
  }
  return statistics;
}

void KernelCache::clear() {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const auto& item) { return !item.second->running; });
}

// Called with the mutex held. The least recently used quarter of what nobody holds goes at once.
void KernelCache::drop_unused() {
  if (entries_.size() <= drop_above_) return;
  std::vector<std::pair<std::uint64_t, const std::string*>> unused;
  for (const auto& item : entries_) {
    if (!item.second->in_use()) unused.emplace_back(item.second->last_use, &item.first);
  }
  std::sort(unused.begin(), unused.end());
  const std::size_t goal = options_.max_modules / 4 * 3;
  for (const auto& item : unused) {
    if (entries_.size() <= goal) break;
    entries_.erase(*item.second);
  }
  // If all are held, the next search waits until the number has grown by a quarter.
  drop_above_ = std::max(options_.max_modules, entries_.size() / 4 * 5);
}

void KernelCache::keep_source(const Key& key, const KernelSource& source) {
  if (options_.dump_folder.empty()) return;
  const std::string path =
      fmt::format("{}/kernel-{}.cpp", options_.dump_folder, to_hex(key.hash).substr(0, 16));
  std::error_code ignored;  // what is wrong with the folder shows when the file is written
  std::filesystem::create_directories(options_.dump_folder, ignored);
  const int error = write_file(path, {as_bytes(source.prelude_text()), as_bytes(source.body)});
  if (error != 0) {
    say(fmt::format("INGOT_DUMP: cannot write {} ({}); the source is not kept", path,
                    errno_text(error)));
  }
}

void KernelCache::say(const std::string& sentence) {
  const std::lock_guard lock(log_mutex_);
  if (options_.log) options_.log(sentence);
}

}  // namespace ingot::jit
