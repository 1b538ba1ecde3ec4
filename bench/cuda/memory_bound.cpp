// Work that a GPU does as fast as its memory: against a plain copy of as many bytes, or a kernel
// that only reads.
#include <array>

#include <fmt/format.h>

#include <ingot/ingot.h>

#include "chain8.h"
#include "limits/cuda/launches.h"
#include "rows.h"
#include "timing.h"

namespace bench::gpu {

using namespace ingot;

namespace {

// Calls take these in turn: each is far larger than the GPU's cache, and so is what lies between
// two calls that use the same one.
constexpr int kBuffers = 3;
using Buffers = std::array<Tensor, kBuffers>;

Buffers buffers(Dims sizes, TensorOptions options) {
  Buffers all;
  for (Tensor& t : all) t = randn(sizes, options);
  return all;
}

std::size_t slot(int call) { return static_cast<std::size_t>(call % kBuffers); }

// A call whose result takes the place of the one from kBuffers calls before.
template <class F>
Call into(Buffers& results, const F& function) {
  return [&results, &function](int i) {
    Tensor& result = results[slot(i)];
    result = Tensor();  // its memory is free for the new one
    result = function(i);
  };
}

// A copy that reads and writes as many bytes in all as were given.
class CopyOf {
 public:
  explicit CopyOf(i64 bytes)
      : half_(bytes / 2),
        from_(buffers({half_ / item_size(kFloat)}, kCUDA)),
        to_(buffers({half_ / item_size(kFloat)}, kCUDA)) {}
  Call call() {
    return [this](int i) {
      copy(to_[slot(i)].data_ptr(), from_[slot(i)].data_ptr(), static_cast<std::size_t>(half_));
    };
  }

 private:
  i64 half_;
  Buffers from_, to_;
};

std::string tera_bytes(i64 bytes, double us) {
  return fmt::format("{:.2f} TB/s", static_cast<double>(bytes) / us * 1e-6);
}

// ours: the compiled function; the limit: a copy of the bytes that it has to move.
template <class Eager, class Compiled>
Row against_copy(const std::string& name, double of_copy, i64 bytes, const Eager& eager,
                 const Compiled& compiled) {
  Buffers results;
  CopyOf raw(bytes);
  const std::vector<Series> s = device_race(
      {raw.call(), into(results, eager), into(results, compiled)}, {.seconds = 0.6, .rounds = 15});
  Row row = row_of(name.c_str(), s[2], s[0], "a copy that moves as many bytes");
  judge(row, 1 / of_copy);
  row.note = fmt::format("{:.3f} of the copy's speed (target {}); {}, copy {}; eager {:.1f} us",
                         1 / row.ratio(), of_copy, tera_bytes(bytes, s[2].median()),
                         tera_bytes(bytes, s[0].median()), s[1].median());
  return row;
}

std::vector<Row> chain_of(const std::string& name, double of_copy, DType dtype) {
  constexpr i64 kElements = i64{1} << 26;
  const Buffers a = buffers({kElements}, {dtype, kCUDA}), b = buffers({kElements}, {dtype, kCUDA});
  const auto compiled = compile(chain8, {.name = name});
  return {against_copy(
      name, of_copy, 3 * kElements * item_size(dtype),
      [&](int i) { return chain8(a[slot(i)], b[slot(i)]); },
      [&](int i) { return compiled(a[slot(i)], b[slot(i)]); })};
}

// ours: sums along an axis; the limit: a kernel that reads as many bytes.
Row against_reading(const char* name, double of_reading, const Buffers& x, i64 axis) {
  const Tensor sink = zeros({1}, kCUDA);
  const i64 bytes = x[0].numel() * item_size(x[0].dtype());
  const std::vector<Series> s =
      device_race({
                      [&](int i) {
                        read_only(static_cast<const float*>(x[slot(i)].data_ptr()), bytes / 4,
                                  sink.data_ptr<float>());
                      },
                      [&](int i) { (void)x[slot(i)].sum({axis}); },
                  },
                  {.seconds = 0.6, .rounds = 15});
  Row row = row_of(name, s[1], s[0], "a kernel that reads as many bytes");
  judge(row, 1 / of_reading);
  row.note = fmt::format("{:.3f} of the reading kernel's speed (target {}); {}, reading {}",
                         1 / row.ratio(), of_reading, tera_bytes(bytes, s[1].median()),
                         tera_bytes(bytes, s[0].median()));
  return row;
}

constexpr i64 kRowElements = i64{1} << 25;  // 8192 x 4096

DType dtype_of(Elements type) { return type == Elements::f32 ? kFloat : kBFloat16; }

}  // namespace

std::vector<Row> chain() { return chain_of("chain8_64m", 0.98, kFloat); }
std::vector<Row> chain_bf16() { return chain_of("chain8_64m_bf16", 0.95, kBFloat16); }

std::vector<Row> softmax_rows(const std::string& name, long length, Elements type) {
  constexpr double kOfCopy = 0.97;
  const i64 rows = kRowElements / length;
  const DType dtype = dtype_of(type);
  const Buffers x = buffers({rows, length}, {dtype, kCUDA});
  const auto function = [](const Tensor& t) { return softmax(t, 1); };
  const auto compiled = compile(function, {.name = name});
  return {against_copy(
      name, kOfCopy, 2 * rows * length * item_size(dtype),
      [&](int i) { return function(x[slot(i)]); }, [&](int i) { return compiled(x[slot(i)]); })};
}

std::vector<Row> ln_gelu_rows(const std::string& name, long length, Elements type) {
  constexpr double kOfCopy = 0.94;
  const i64 rows = kRowElements / length;
  const DType dtype = dtype_of(type);
  const Buffers x = buffers({rows, length}, {dtype, kCUDA});
  const Tensor gamma = randn({length}, {dtype, kCUDA}), beta = randn({length}, {dtype, kCUDA});
  const auto function = [&](const Tensor& t) {
    return t + gelu(layer_norm(t, {length}, gamma, beta), "tanh");
  };
  const auto compiled = compile(function, {.name = name});
  std::vector<Row> list = {against_copy(
      name, kOfCopy, 2 * rows * length * item_size(dtype),
      [&](int i) { return function(x[slot(i)]); }, [&](int i) { return compiled(x[slot(i)]); })};
  const Ledger ledger = compiled.ledger();
  list[0].note +=
      fmt::format("; {} kernel bodies, eager {}", ledger.launches_compiled, ledger.launches_eager);
  return list;
}

std::vector<Row> row_sums(const std::string& name, long length, Elements type) {
  const i64 rows = kRowElements / length;
  return {against_reading(name.c_str(), 0.9, buffers({rows, length}, {dtype_of(type), kCUDA}), 1)};
}

std::vector<Row> column_sum() {
  return {against_reading("colsum_32kx1k", 0.93, buffers({32768, 1024}, kCUDA), 0)};
}

}  // namespace bench::gpu
