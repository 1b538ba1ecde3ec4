#include <algorithm>
#include <exception>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ingot/compiler/jit/files.h>
#include <ingot/compiler/jit/kernel_cache.h>
#include <ingot/runtime/observer.h>

namespace ingot::jit {
namespace {

constexpr int kAttempts = 3;  // for failures that are not the source's fault

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
  Stopwatch clock;
  const Unit unit = unit_of(source, options);
  if (compiler_.info() == nullptr) {
    result.error = compiler_.missing();
    // Somebody asked for this compiler; none at all, or "none", is no fault.
    if (!options_.compiler.cxx.empty() && options_.compiler.cxx != "none") say(result.error);
    return result;
  }
  result.origin = KernelOrigin::kMemory;
  std::shared_ptr<Entry> entry;
  std::unique_lock lock(mutex_);
  result.ms.lookup = clock.lap();
  for (;;) {
    const auto found = entries_.find(unit.key);
    const std::shared_ptr<Entry> known = found == entries_.end() ? nullptr : found->second;
    if (known && known->settled()) return answer(*known, symbol, std::move(result));
    if (known && known->running && known->process == getpid()) {
      done_.wait(lock, [&] { return !known->running; });
      result.ms.wait += clock.lap();
      continue;
    }
    entry = std::make_shared<Entry>();
    entry->attempts = known ? known->attempts + 1 : 1;
    entries_.insert_or_assign(unit.key, entry);
    break;
  }
  lock.unlock();
  try {
    produce(*entry, unit, result);
  } catch (const std::exception& failure) {
    entry->error = fmt::format("kernel cache: {}", failure.what());
    entry->transient = true;
  }
  lock.lock();
  entry->running = false;
  if (!entry->module) ++statistics_.failures;
  done_.notify_all();
  result = answer(*entry, symbol, std::move(result));
  drop_unused();
  return result;
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

void KernelCache::produce(Entry& entry, const Unit& unit, KernelResult& result) {
  const Stopwatch clock;
  const Key key(unit.key, options_.hasher);
  result.ms.hash = clock.ms();
  keep_source(key, unit.source);
  if (!take_from_disk(entry, key, result)) compile(entry, key, unit, result);
}

bool KernelCache::take_from_disk(Entry& entry, const Key& key, KernelResult& result) {
  Stopwatch clock;
  const std::optional<Bytes> object = disk_.load(key);
  result.ms.disk_read = clock.lap();
  if (!object) return false;
  std::string error;
  entry.module = Module::load(*object, options_.load, error);
  result.ms.load = clock.lap();
  if (entry.module) {
    result.origin = KernelOrigin::kDisk;
    return true;
  }
  disk_.remove(key);
  say(fmt::format("kernel cache: a stored {}; it is compiled again", error));
  return false;
}

void KernelCache::compile(Entry& entry, const Key& key, const Unit& unit, KernelResult& result) {
  CompileResult compiled;
  {
    ScopedEvent event({.kind = EventKind::compile, .name = "compile"});
    compiled = compiler_.compile(unit.source.prelude_text(), unit.source.body, unit.options.flags);
  }
  result.ms.compile = compiled.compile_ms;
  result.ms.link = compiled.link_ms;
  if (!compiled.error.empty()) {
    entry.error = std::move(compiled.error);
    entry.transient = compiled.transient;
    return;
  }
  Stopwatch clock;
  entry.module = Module::load(compiled.object, options_.load, entry.error);
  result.ms.load += clock.lap();
  if (!entry.module) return;
  result.origin = KernelOrigin::kCompiled;
  disk_.store(key, compiled.object);
  result.ms.disk_write = clock.lap();
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
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const KernelRequest& request = requests[i];
    if (auto known = get_from_memory(request.source, request.symbol, request.options)) {
      results[i] = std::move(*known);
    } else {
      missing.push_back(i);
    }
  }
  std::vector<std::future<KernelResult>> futures;
  for (std::size_t n = 1; n < missing.size(); ++n) {
    futures.push_back(get_async(std::move(requests[missing[n]])));
  }
  if (!missing.empty()) {
    const KernelRequest& first = requests[missing[0]];
    results[missing[0]] = get(first.source, first.symbol, first.options);
  }
  for (std::size_t n = 1; n < missing.size(); ++n) results[missing[n]] = futures[n - 1].get();
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
  if (error != 0) say(fmt::format("kernel cache: cannot write {} ({})", path, errno_text(error)));
}

void KernelCache::say(const std::string& sentence) {
  const std::lock_guard lock(log_mutex_);
  if (options_.log) options_.log(sentence);
}

}  // namespace ingot::jit
