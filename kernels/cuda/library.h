// Libraries that are opened at run time: the driver, cublasLt, NVRTC, CUPTI.
// Owns: where they are looked for, and the sentence that says what to install. Must not know: what
// is in them.
#pragma once

#include <initializer_list>
#include <string>

namespace ingot::cuda {

class Library {
 public:
  // Tries each name as the loader does, then in the toolkit's folders. `package` is what has to be
  // installed when none is found.
  Library(std::initializer_list<const char*> names, const char* package);
  Library(const Library&) = delete;

  bool found() const { return handle_ != nullptr; }
  // "libcublasLt.so.13 was not found (...); install ..."; empty when it was.
  const std::string& reason() const { return reason_; }
  // Where it was found.
  std::string path() const;
  // nullptr when the library has no such function.
  void* find(const char* function) const;
  // Throws DeviceError when the library or the function is missing.
  void* require(const char* function) const;

 private:
  void* handle_ = nullptr;  // never closed: its threads and caches live on
  std::string name_, reason_;
};

}  // namespace ingot::cuda
