// Products with what follows them, as one kernel or two: against cublasLt alone.
#include <fmt/format.h>

#include <ingot/ingot.h>

#include "limits/cuda/cublas.h"
#include "rows.h"
#include "timing.h"

namespace bench::gpu {

using namespace ingot;

namespace {

struct Operands {
  Tensor x, w, b, out;

  Operands(LinearShape s, DType dtype)
      : x(randn({s.m, s.k}, {dtype, kCUDA})),
        w(randn({s.k, s.n}, {dtype, kCUDA})),
        b(randn({s.n}, {dtype, kCUDA})),
        out(empty({s.m, s.n}, {dtype, kCUDA})) {}
};

Call raw_call(const LtCall& raw, const Operands& o) {
  return [&raw, x = o.x.data_ptr(), w = o.w.data_ptr(), b = o.b.data_ptr(),
          out = o.out.data_ptr()](int) { raw(x, w, b, out); };
}

}  // namespace

std::vector<Row> linear_relu(const std::string& name, LinearShape shape) {
  const Operands o(shape, kFloat);
  const LtCall raw({shape.m, shape.n, shape.k, LtType::f32, LtEpilogue::relu_bias});
  const auto function = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return relu(matmul(x, w) + b);
  };
  // The plan's own graph would be a node of the recorded one.
  const auto compiled = compile(function, {.name = name, .disable = {"cuda_graph"}});
  const std::vector<Series> s = graph_race({
      raw_call(raw, o),
      [&](int) { (void)function(o.x, o.w, o.b); },
      [&](int) { (void)compiled(o.x, o.w, o.b); },
  });
  constexpr double kAllowed = 0.55;
  Row row =
      row_of(name.c_str(), s[2], s[0], "cublasLt RELU_BIAS; GPU time per call inside a graph");
  judge(row, kAllowed);
  const Ledger ledger = compiled.ledger();
  row.note = fmt::format("eager {:.2f} us; {} kernel bodies, eager {}", s[1].median(),
                         ledger.launches_compiled, ledger.launches_eager);
  return {row};
}

namespace {

// TF32 as PyTorch has it: a setting of the process.
class Tf32 {
 public:
  explicit Tf32(bool on) : outer_(cuda::allow_tf32()) { cuda::set_allow_tf32(on); }
  ~Tf32() { cuda::set_allow_tf32(outer_); }
  Tf32(const Tf32&) = delete;

 private:
  bool outer_;
};

Row linear_gelu(const std::string& name, double allowed, LtType type, CompileOptions options) {
  const Tf32 tf32(type == LtType::tf32);
  constexpr i64 kN = 4096;
  const Operands o({kN, kN, kN}, type == LtType::bf16 ? kBFloat16 : kFloat);
  const LtCall plain({kN, kN, kN, type});
  const auto function = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return gelu(matmul(x, w) + b, "tanh");
  };
  options.name = name;
  const auto compiled = compile(function, options);
  const std::vector<Series> s = device_race({
                                                raw_call(plain, o),
                                                [&](int) { (void)function(o.x, o.w, o.b); },
                                                [&](int) { (void)compiled(o.x, o.w, o.b); },
                                            },
                                            {.seconds = 0.8, .rounds = 9});
  Row row = row_of(name.c_str(), s[2], s[0], "the plain product by cublasLt");
  judge(row, allowed);
  const Ledger ledger = compiled.ledger();
  constexpr double kFlops = 2.0 * kN * kN * kN;
  row.note = fmt::format("{:.1f} TFLOP/s; eager {:.1f} us; {} kernel bodies, eager {}; level {}",
                         kFlops / s[2].median() * 1e-6, s[1].median(), ledger.launches_compiled,
                         ledger.launches_eager, ingot::name(ledger.numerics));
  return row;
}

}  // namespace

std::vector<Row> linear_gelu_4096() {
  constexpr double kF32 = 1.015, kTf32 = 1.12, kBf16 = 1.06;
  return {
      linear_gelu("linear_gelu_4096", kF32, LtType::f32, {}),
      linear_gelu("linear_gelu_4096_tf32", kTf32, LtType::tf32, {}),
      linear_gelu("linear_gelu_4096_bf16", kBf16, LtType::bf16, {.numerics = Numerics::library})};
}

}  // namespace bench::gpu
