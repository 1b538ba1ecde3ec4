#include <dlfcn.h>
#include <link.h>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/library.h>

namespace ingot::cuda {

Library::Library(std::initializer_list<const char*> names, const char* package) {
  for (const char* folder : {"", "/usr/local/cuda/lib64/", "/opt/cuda/lib64/"}) {
    for (const char* name : names) {
      handle_ = dlopen((std::string(folder) + name).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) {
        name_ = name;
        return;
      }
    }
  }
  name_ = *names.begin();
  reason_ = fmt::format(
      "{} was not found by the loader nor in /usr/local/cuda/lib64; install {} of the CUDA "
      "toolkit, "
      "or add its folder to LD_LIBRARY_PATH",
      name_, package);
}

std::string Library::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) return name_;
  return map->l_name;
}

void* Library::find(const char* function) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, function);
}

void* Library::require(const char* function) const {
  INGOT_CHECK_AS(DeviceError, found(), "cuda: {}", reason_);
  void* address = find(function);
  INGOT_CHECK_AS(DeviceError, address != nullptr, "cuda: {} has no {}; its version does not fit",
                 name_, function);
  return address;
}

}  // namespace ingot::cuda
