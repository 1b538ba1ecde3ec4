// Machine code for the GPU that was made at run time: loaded from bytes, found by name.
// Owns: DeviceModule. Must not know: where the code comes from, launches.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct CUlib_st;
struct CUkern_st;

namespace ingot::cuda {

class DeviceModule {
 public:
  // Null with one sentence in `error` when the driver does not take the bytes. The module is of no
  // device yet: code is put on one when it is launched there first.
  static std::shared_ptr<const DeviceModule> load(std::string_view image, std::string& error);
  ~DeviceModule();
  DeviceModule(const DeviceModule&) = delete;

  // The kernel of this (extern "C") name, or null.
  CUkern_st* find(const char* name) const;

 private:
  explicit DeviceModule(CUlib_st* library) : library_(library) {}
  CUlib_st* library_;
};

}  // namespace ingot::cuda
