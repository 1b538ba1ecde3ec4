#include <bit>
#include <limits>
#include <ostream>

#include <fmt/ranges.h>

#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/core/dims.h>

namespace ingot {

void Dims::too_many() { detail::fail<Error>("more than {} dims", kMaxDims); }
void Dims::too_many(Loc loc) { detail::fail_at<Error>("Dims", loc, "more than {} dims", kMaxDims); }

std::string to_string(const Dims& dims) {
  return fmt::format("[{}]", fmt::join(dims.begin(), dims.end(), ", "));
}

std::ostream& operator<<(std::ostream& out, const Dims& dims) { return out << to_string(dims); }

Dims contiguous_strides(const Dims& sizes) {
  // Unsigned, since the sizes of a tensor that will be refused may overflow here.
  Dims strides = sizes;
  std::uint64_t step = 1;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    strides[i] = static_cast<i64>(step);
    step *= sizes[i] > 1 ? static_cast<std::uint64_t>(sizes[i]) : 1;
  }
  return strides;
}

i64 Scalar::to_int() const {
  if (above_i64_) return std::numeric_limits<i64>::max();
  if (!is_floating()) return i_;
  if (d_ != d_) return 0;
  if (d_ >= 9223372036854775808.0) return std::numeric_limits<i64>::max();
  if (d_ < -9223372036854775808.0) return std::numeric_limits<i64>::min();
  return static_cast<i64>(d_);
}

std::uint64_t Scalar::to_unsigned() const {
  if (above_i64_) return static_cast<std::uint64_t>(i_);
  if (!is_floating()) return i_ < 0 ? 0 : static_cast<std::uint64_t>(i_);
  if (!(d_ > 0)) return 0;  // NaN too
  if (d_ >= 18446744073709551616.0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(d_);
}

std::string Scalar::str() const {
  if (kind_ == Kind::boolean) return i_ != 0 ? "true" : "false";
  if (above_i64_) return std::to_string(static_cast<std::uint64_t>(i_));
  return is_floating() ? fmt::format("{}", d_) : std::to_string(i_);
}

bool Scalar::operator==(const Scalar& o) const {
  if (kind_ != o.kind_) return false;
  if (is_floating()) return std::bit_cast<i64>(d_) == std::bit_cast<i64>(o.d_);
  return i_ == o.i_ && above_i64_ == o.above_i64_;
}

std::ostream& operator<<(std::ostream& out, const Scalar& s) { return out << s.str(); }

}  // namespace ingot
