// Compiled kernels by source and options: from this process, from the disk, or from the compiler.
// Owns: the key, single flight among threads, parallel compiles, the memory of failures, the
// statistics. A caller keeps the Kernel it got; no call of a kernel comes back here.
// Must not know: graphs, signatures of kernels, the environment.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <ingot/compiler/jit/compile_pool.h>
#include <ingot/compiler/jit/disk_cache.h>
#include <ingot/compiler/jit/host_compiler.h>
#include <ingot/compiler/jit/kernel_source.h>
#include <ingot/compiler/jit/module.h>

namespace ingot::jit {

struct KernelCacheOptions {
  DiskCacheOptions disk;           // an empty folder: memory only
  HostCompilerOptions compiler;    // an empty dump_folder becomes the disk cache's folder
  int generator_version = 0;       // of the code generator; part of every key
  int compile_threads = 0;         // for get_async and get_many; 0: one for each processor
  std::size_t max_modules = 4096;  // kept in memory while nobody uses them
  std::string dump_folder;         // INGOT_DUMP: sources of all kernels in use; empty: none
  LoadOptions load{true, {}};      // no folders: the disk cache's, then /tmp
  Digest (*hasher)(std::string_view) = sha256;  // tests put a weak one here
  Log log = {};
};

struct KernelOptions {
  std::vector<std::string> flags;  // the ISA level's
  std::string features;            // the resolved feature list of the level, never "native"
};

// A function in a loaded module; the module stays as long as the Kernel.
class Kernel {
 public:
  Kernel(std::shared_ptr<const Module> module, void* address)
      : module_(std::move(module)), address_(address) {}
  void* address() const { return address_; }
  template <class Function>
  Function* as() const {
    return reinterpret_cast<Function*>(address_);
  }

 private:
  std::shared_ptr<const Module> module_;
  void* address_;
};

// Milliseconds by phase.
struct KernelPhases {
  double lookup = 0;  // making the key and finding it in memory
  double hash = 0;    // SHA-256 of the key
  double disk_read = 0;
  double compile = 0;
  double link = 0;
  double load = 0;
  double disk_write = 0;
  double wait = 0;  // for another thread that compiles the same

  double total() const {
    return lookup + hash + disk_read + compile + link + load + disk_write + wait;
  }
};

enum class KernelOrigin { kMemory, kDisk, kCompiled, kFailed };

struct KernelResult {
  std::shared_ptr<const Kernel> kernel;  // null: the caller runs the group without compiling
  std::string error;                     // why; one sentence, then the compiler's lines
  KernelOrigin origin = KernelOrigin::kFailed;
  KernelPhases ms;
};

struct KernelRequest {
  KernelSource source;
  std::string symbol;
  KernelOptions options;
};

struct KernelCacheStatistics {
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t compiles = 0;
  std::uint64_t failures =
      0;                      // compiles or loads that failed, not the repeats answered from memory
  std::uint64_t modules = 0;  // in memory now
  KernelPhases ms;            // sums over all calls
};

class KernelCache {
 public:
  explicit KernelCache(KernelCacheOptions options);
  // Ends its threads; jobs of get_async that have not begun are dropped (their futures say so).
  ~KernelCache() = default;

  // The function `symbol` (extern "C") of the unit. Never throws for a compiler's sake: without a
  // compiler, or for a source that does not compile, every later call gets the same error at once.
  // Waits while another thread gets the same unit. Thread-safe, like all of this class.
  KernelResult get(const KernelSource& source, const std::string& symbol,
                   const KernelOptions& options);
  // Only from this process's memory: nothing if that needs the disk, the compiler or a wait.
  std::optional<KernelResult> get_from_memory(const KernelSource& source, const std::string& symbol,
                                              const KernelOptions& options);
  // On a thread of the cache's own.
  std::future<KernelResult> get_async(KernelRequest request);
  // All of them; results in the order of the requests. Those to compile share units (where their
  // sources have names), as few as keep all threads busy; the units compile in parallel. The time
  // of a shared run of the compiler is in the first result of its unit.
  std::vector<KernelResult> get_many(std::vector<KernelRequest> requests);

  KernelCacheStatistics statistics() const;
  // Forgets what is in memory, failures too; kernels in use stay loaded.
  void clear();
  DiskCache& disk() { return disk_; }
  HostCompiler& compiler() { return compiler_; }

 private:
  struct Entry;
  struct Unit {
    const KernelSource& source;
    const KernelOptions& options;
    std::string key;
  };
  struct Claim {
    std::shared_ptr<Entry> entry;  // this thread has to fill it; or null
    bool answered = false;         // it was settled; else another thread is filling it
  };
  struct Job {
    const Unit& unit;
    const std::string& symbol;
    std::shared_ptr<Entry> entry;
    KernelResult result;
    std::optional<Key> key = {};
  };

  Unit unit_of(const KernelSource& source, const KernelOptions& options);
  // Looks the unit up and takes it if nobody has; waits for another thread's if `wait`.
  Claim claim(const Unit& unit, const std::string& symbol, bool wait, KernelResult& result);
  // Fills the entries of these jobs, which share prelude and options: from the disk, or else from
  // the compiler, together.
  void produce(std::span<Job> jobs);
  void compile(std::span<Job* const> jobs);
  bool take_from_disk(Job& job);
  void take_compiled(Job& job, CompileResult& compiled);
  KernelResult answer(Entry& entry, const std::string& symbol, KernelResult result);
  void drop_unused();
  void keep_source(const Key& key, const KernelSource& source);
  void say(const std::string& sentence);

  KernelCacheOptions options_;
  std::once_flag prefix_once_;
  std::string key_prefix_;  // what all keys of this process share
  DiskCache disk_;
  HostCompiler compiler_;
  std::mutex log_mutex_;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;
  std::uint64_t uses_ = 0;
  std::size_t drop_above_;
  KernelCacheStatistics statistics_;
  CompilePool pool_;  // last: its threads use all of the above
};

}  // namespace ingot::jit
