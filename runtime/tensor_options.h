// TensorOptions: what a creation op makes.
// Owns: the options, the default device. Must not know: tensors.
#pragma once

#include <concepts>
#include <cstddef>
#include <iosfwd>
#include <optional>

#include <ingot/kernels/core/dtype.h>

namespace ingot {

// dtype (default f32), device (default: set_default_device, else INGOT_DEVICE, else cpu),
// requires_grad. Written {kHalf, kCUDA}, "cuda:1", dtype(kDouble).device(kCPU).requires_grad().
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(DType t) : dtype_(t) {}
  TensorOptions(DeviceType d) : device_(Device(d)) {}
  TensorOptions(Device d) : device_(d) {}
  // A template, so that a literal 0 is no text: arange(-3, 0).
  template <std::convertible_to<const char*> S>
  requires(!std::same_as<S, std::nullptr_t>) TensorOptions(const S& d, Loc loc = Loc::here())
      : device_(Device(d, loc)) {}
  TensorOptions(DType t, Device d) : dtype_(t), device_(d) {}

  TensorOptions dtype(DType t) const;
  TensorOptions device(Device d) const;
  TensorOptions requires_grad(bool on = true) const;

  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  DType dtype() const { return dtype_.value_or(DType::f32); }
  Device device() const;
  bool requires_grad_set() const { return requires_grad_; }

  friend std::ostream& operator<<(std::ostream& out, const TensorOptions& o);  // "f32 on cpu"

 private:
  std::optional<DType> dtype_;
  std::optional<Device> device_;
  bool requires_grad_ = false;
};
TensorOptions dtype(DType t);
TensorOptions device(Device d);
TensorOptions requires_grad(bool on = true);
void set_default_device(Device d);
Device default_device();

}  // namespace ingot
