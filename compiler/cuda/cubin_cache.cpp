#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include <ingot/compiler/cuda/cubin_cache.h>
#include <ingot/compiler/cuda/nvrtc.h>
#include <ingot/runtime/observer.h>

namespace ingot::compiler {

// One unit: whoever comes first produces it, the others wait.
struct CubinCache::Entry {
  std::optional<CubinResult> result;
};

struct CubinCache::Shared {
  std::mutex mutex;
  std::condition_variable done;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries;
};

CubinCache::CubinCache(jit::DiskCacheOptions disk, int generator_version, std::string dump_folder,
                       std::string library_path)
    : generator_version_(generator_version),
      dump_folder_(std::move(dump_folder)),
      library_path_(std::move(library_path)),
      log_(disk.log),
      disk_(std::move(disk)),
      shared_(std::make_shared<Shared>()),
      pool_(0) {}

CubinResult CubinCache::produce(const jit::KernelSource& unit, int architecture,
                                const std::string& key) {
  CubinResult result;
  const jit::Key disk_key(key);
  if (disk_.usable()) {
    if (const std::optional<jit::Bytes> kept = disk_.load(disk_key)) {
      result.module = cuda::DeviceModule::load(jit::as_text(*kept), result.error);
      if (result.module != nullptr) {
        result.origin = jit::KernelOrigin::kDisk;
        return result;
      }
      disk_.remove(disk_key);  // of another driver, or damaged in a way that its hash does not show
    }
  }
  NvrtcResult compiled;
  {
    ScopedEvent event({.kind = EventKind::compile, .name = "compile"});
    compiled = nvrtc_compile(unit.prelude_text(), unit.body, architecture);
  }
  result.compile_ms = compiled.ms;
  if (!compiled.error.empty()) {
    result.error = std::move(compiled.error);
    return result;
  }
  if (!dump_folder_.empty()) {
    const std::string path =
        fmt::format("{}/{}.cu", dump_folder_, jit::to_hex(disk_key.hash).substr(0, 16));
    std::error_code ignored;  // what is wrong with the folder shows when the file is written
    std::filesystem::create_directories(dump_folder_, ignored);
    const int error =
        jit::write_file(path, {jit::as_bytes(unit.prelude_text()), jit::as_bytes(unit.body)});
    if (error != 0 && log_) {
      log_(fmt::format("INGOT_DUMP: cannot write {} ({}); the source is not kept", path,
                       jit::errno_text(error)));
    }
  }
  result.module = cuda::DeviceModule::load(compiled.cubin, result.error);
  if (result.module == nullptr) return result;
  result.origin = jit::KernelOrigin::kCompiled;
  if (disk_.usable()) {
    (void)disk_.store(disk_key, jit::as_bytes(compiled.cubin));
  }
  return result;
}

// The version of NVRTC. Opening that library takes longer than loading a kernel from disk, so what
// it said is kept, with the file that said it and all that decides which file the loader takes.
const std::string& CubinCache::version() {
  std::call_once(version_once_, [&] {
    const jit::Key key(fmt::format("nvrtc version 1\n{}\n{}\n{}", library_path_,
                                   jit::stamp_of("/etc/ld.so.cache"),
                                   jit::stamp_of("/proc/self/exe")));
    if (const auto record = disk_.usable() ? disk_.load(key) : std::nullopt) {
      const std::string_view text = jit::as_text(*record);
      const auto at = text.find('\n');
      const std::string path(text.substr(0, at));
      const auto version_at = text.rfind('\n');
      if (at != text.npos && jit::stamp_of(path) == text.substr(at + 1, version_at - at - 1)) {
        version_ = text.substr(version_at + 1);
        return;
      }
    }
    version_ = nvrtc_version();
    if (!version_.empty() && disk_.usable()) {
      const std::string text = nvrtc_path() + "\n" + jit::stamp_of(nvrtc_path()) + "\n" + version_;
      (void)disk_.store(key, jit::as_bytes(text));
    }
  });
  return version_;
}

CubinResult CubinCache::get(const jit::KernelSource& unit, int architecture) {
  const std::string key =
      fmt::format("ingot cuda {} nvrtc {} sm_{} prelude {}\n{}", generator_version_, version(),
                  architecture, unit.prelude ? unit.prelude->digest() : "-", unit.body);
  std::shared_ptr<Entry> entry;
  {
    std::unique_lock lock(shared_->mutex);
    auto [at, fresh] = shared_->entries.try_emplace(key);
    if (!fresh) {
      entry = at->second;
      shared_->done.wait(lock, [&] { return entry->result.has_value(); });
      CubinResult result = *entry->result;
      result.compile_ms = 0;
      if (result.module != nullptr) result.origin = jit::KernelOrigin::kMemory;
      return result;
    }
    at->second = entry = std::make_shared<Entry>();
  }
  CubinResult result;
  try {
    result = produce(unit, architecture, key);
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  const std::lock_guard lock(shared_->mutex);
  entry->result = result;
  shared_->done.notify_all();
  return result;
}

std::vector<CubinResult> CubinCache::get_many(const std::vector<jit::KernelSource>& units,
                                              int architecture) {
  std::vector<CubinResult> results(units.size());
  std::mutex mutex;
  std::condition_variable finished;
  std::size_t left = units.empty() ? 0 : units.size() - 1;
  for (std::size_t i = 1; i < units.size(); ++i) {
    pool_.submit([&, i] {
      CubinResult result = get(units[i], architecture);
      const std::lock_guard lock(mutex);
      results[i] = std::move(result);
      if (--left == 0) finished.notify_all();
    });
  }
  if (!units.empty()) results[0] = get(units[0], architecture);
  std::unique_lock lock(mutex);
  finished.wait(lock, [&] { return left == 0; });
  return results;
}

}  // namespace ingot::compiler
