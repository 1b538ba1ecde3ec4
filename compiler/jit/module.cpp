#include <atomic>
#include <cerrno>
#include <cstdint>
#include <dlfcn.h>

#include <fmt/format.h>

#include <ingot/compiler/jit/files.h>
#include <ingot/compiler/jit/module.h>

namespace ingot::jit {
namespace {

// The loader takes a path that it has seen for the object it loaded then, and descriptor numbers
// are used again: without a new spelling for each load, a new kernel would run an old one's code.
// The bits of a counter are spelled as "./" and ".//", which name the same folder.
std::string unseen_path_of(int fd) {
  static std::atomic<std::uint64_t> counter{0};
  std::string path = "/proc/self/fd/";
  for (std::uint64_t n = ++counter; n != 0; n >>= 1) path += (n & 1) != 0 ? ".//" : "./";
  return path + std::to_string(fd);
}

// A handle, or null with the reason appended to `reasons`.
void* try_load(const UniqueFd& file, ByteView object, const std::string& place,
               std::string& reasons) {
  int error = file ? 0 : errno;
  if (error == 0) error = write_all(file.get(), object);
  std::string reason;
  if (error == 0) {
    if (void* handle = dlopen(unseen_path_of(file.get()).c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return handle;
    }
    const char* text = dlerror();
    reason = text != nullptr ? text : "unknown error";
  } else {
    reason = errno_text(error);
  }
  reasons += fmt::format("{}from {}: {}", reasons.empty() ? "" : "; ", place, reason);
  return nullptr;
}

}  // namespace

std::shared_ptr<const Module> Module::load(ByteView object, const LoadOptions& options,
                                           std::string& error) {
  std::string reasons;
  void* handle = nullptr;
  if (options.from_memory) handle = try_load(memory_file(), object, "memory", reasons);
  for (const std::string& folder : options.folders) {
    if (handle == nullptr) handle = try_load(unlinked_file(folder), object, folder, reasons);
  }
  if (handle == nullptr) {
    error = fmt::format("kernel cannot be loaded ({})",
                        reasons.empty() ? "no place is allowed" : reasons);
    return nullptr;
  }
  return std::shared_ptr<const Module>(new Module(handle));
}

Module::~Module() { dlclose(handle_); }

void* Module::find(const std::string& symbol) const { return dlsym(handle_, symbol.c_str()); }

}  // namespace ingot::jit
