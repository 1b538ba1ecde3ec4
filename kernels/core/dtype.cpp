#include <ostream>
#include <string_view>

#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/core/dtype.h>

namespace ingot {

std::ostream& operator<<(std::ostream& out, DType t) { return out << name(t); }
std::ostream& operator<<(std::ostream& out, DeviceType t) {
  return out << (t == DeviceType::cpu ? "cpu" : "cuda");
}
std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }

Device::Device(const char* text, Loc loc) {
  std::string_view s = text == nullptr ? "" : text;
  if (s == "cpu") return;
  bool ok =
      s.substr(0, 4) == "cuda" && (s.size() == 4 || (s.size() > 5 && s.size() < 8 && s[4] == ':'));
  int index = 0;
  for (std::size_t i = 5; ok && i < s.size(); ++i) {
    ok = s[i] >= '0' && s[i] <= '9';
    index = index * 10 + (s[i] - '0');
  }
  INGOT_CHECK_AT("Device", loc, ok, "\"{}\" is not a device; write \"cpu\", \"cuda\" or \"cuda:1\"",
                 s);
  type_ = DeviceType::cuda;
  index_ = static_cast<std::int8_t>(index);
}

void Device::refuse(DeviceType type, int index, Loc loc) {
  const bool cuda = type == DeviceType::cuda;
  detail::fail_at<Error>("Device", loc, "{}:{} is not a device; {}", cuda ? "cuda" : "cpu", index,
                         cuda ? "GPUs are numbered from 0 to 99" : "the CPU has the index 0");
}

std::string Device::str() const {
  return is_cpu() ? "cpu" : "cuda:" + std::to_string(static_cast<int>(index_));
}

}  // namespace ingot
