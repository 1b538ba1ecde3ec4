// The element types: names, sizes, categories and the promotion table.
// Owns: DType, Device. Promotion follows PyTorch's "Tensor attributes: type promotion" page:
// bool < u8 < i32 < i64 < floating; f16 with bf16 gives f32. Must not know: tensors, kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

#include <ingot/kernels/core/error.h>

namespace ingot {

enum class DType : std::uint8_t { f32, f64, f16, bf16, i64, i32, u8, boolean };
inline constexpr int kDTypeCount = 8;

inline constexpr DType kFloat32 = DType::f32, kFloat = kFloat32;
inline constexpr DType kFloat64 = DType::f64, kDouble = kFloat64;
inline constexpr DType kFloat16 = DType::f16, kHalf = kFloat16;
inline constexpr DType kBFloat16 = DType::bf16;
inline constexpr DType kInt64 = DType::i64, kLong = kInt64;
inline constexpr DType kInt32 = DType::i32, kInt = kInt32;
inline constexpr DType kUInt8 = DType::u8, kByte = kUInt8;
inline constexpr DType kBool = DType::boolean;

constexpr int item_size(DType t) {
  constexpr int size[kDTypeCount] = {4, 8, 2, 2, 8, 4, 1, 1};
  return size[static_cast<int>(t)];
}
constexpr bool is_floating_point(DType t) { return t <= DType::bf16; }
constexpr bool is_integral(DType t) { return t >= DType::i64 && t <= DType::u8; }  // not bool

// "f32", "i64", "bool": the short names that errors, ledgers and printed tensors use.
constexpr const char* name(DType t) {
  constexpr const char* names[kDTypeCount] = {"f32", "f64", "f16", "bf16",
                                              "i64", "i32", "u8",  "bool"};
  return names[static_cast<int>(t)];
}

std::ostream& operator<<(std::ostream& out, DType t);  // its name

// 0 bool, 1 integer, 2 floating: what promotion compares first.
constexpr int category(DType t) { return is_floating_point(t) ? 2 : is_integral(t) ? 1 : 0; }

// The smallest type that holds both, as PyTorch's promote_types.
constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (is_floating_point(a)) {
    if (a == DType::f64 || b == DType::f64) return DType::f64;
    return DType::f32;  // f16 with bf16, or either with f32
  }
  if (a == DType::i64 || b == DType::i64) return DType::i64;
  return DType::i32;  // u8 with i32
}

// The type a kernel computes in: 16-bit floats compute in f32 and round once at the store.
constexpr DType compute_type(DType t) {
  return t == DType::f16 || t == DType::bf16 ? DType::f32 : t;
}

enum class DeviceType : std::uint8_t { cpu, cuda };
inline constexpr DeviceType kCPU = DeviceType::cpu, kCUDA = DeviceType::cuda;
std::ostream& operator<<(std::ostream& out, DeviceType t);  // "cpu" or "cuda"

// Where bytes live. Text form: "cpu", "cuda" (= "cuda:0"), "cuda:1"; anything else is an Error, and
// so is an index below 0 or above 99, or another than 0 of the CPU.
class Device {
 public:
  constexpr Device() = default;
  constexpr Device(DeviceType type, int index = 0, Loc loc = Loc::here())
      : type_(type), index_(static_cast<std::int8_t>(index)) {
    if (index < 0 || index > (type == DeviceType::cuda ? 99 : 0)) refuse(type, index, loc);
  }
  Device(const char* text, Loc loc = Loc::here());
  Device(const std::string& text, Loc loc = Loc::here()) : Device(text.c_str(), loc) {}
  constexpr DeviceType type() const { return type_; }
  constexpr int index() const { return index_; }
  constexpr bool is_cuda() const { return type_ == DeviceType::cuda; }
  constexpr bool is_cpu() const { return type_ == DeviceType::cpu; }
  std::string str() const;
  constexpr bool operator==(const Device&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Device& d);  // its str()

 private:
  [[noreturn]] static void refuse(DeviceType type, int index, Loc loc);

  DeviceType type_ = DeviceType::cpu;
  std::int8_t index_ = 0;
};

}  // namespace ingot
