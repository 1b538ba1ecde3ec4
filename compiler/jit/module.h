// A shared object in this process: loaded from bytes, unloaded with its last owner.
// Unloading is safe because a kernel has no constructors, no thread-local data and starts nothing;
// it keeps a process that meets new shapes for days from growing.
// Must not know: where the bytes come from, signatures of functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ingot/compiler/jit/bytes.h>

namespace ingot::jit {

struct LoadOptions {
  // Code is mapped from memory first. Where the system forbids that, from an unlinked file in the
  // first of these folders that allows it (a folder may be mounted noexec).
  bool from_memory = true;
  std::vector<std::string> folders;
};

class Module {
 public:
  // Null with one sentence in `error` if the bytes are no shared object for this machine, need a
  // symbol that nobody has, or may not be executed anywhere.
  static std::shared_ptr<const Module> load(ByteView object, const LoadOptions& options,
                                            std::string& error);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // The address of a symbol of the object, or null.
  void* find(const std::string& symbol) const;

 private:
  explicit Module(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace ingot::jit
