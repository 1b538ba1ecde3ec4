#include <algorithm>

#include <ingot/compiler/fusion/epilogue.h>
#include <ingot/kernels/ops/elementwise.h>
#include <ingot/kernels/ops/structured/products.h>
#include <ingot/runtime/dispatch.h>

namespace ingot::compiler {

namespace {

bool is_plain_product(const Segment& s, const SegmentOp& op) {
  if (!(*op.op == structured_op<structured::Matmul>)) return false;
  const Meta &a = s.meta(op.in[0]), &b = s.meta(op.in[1]), &y = s.meta(op.out[0]);
  return a.dim() == 2 && b.dim() == 2 && y.device.is_cpu() &&
         (y.dtype == DType::f32 || y.dtype == DType::f64);
}

class EpilogueStep final : public Step {
 public:
  EpilogueStep(const Segment& s, int product, int addition) : ops_{product, addition} {
    const SegmentOp& add = s.op(addition);
    bias_ = add.in[0] == s.op(product).out[0] ? 1 : 0;
    attrs_.add_scalar(1.0);
    attrs_.add_scalar(1.0);
  }

  void run(const Segment& s, const Binding& binding) const override {
    const SegmentOp &product = s.op(ops_[0]), &add = s.op(ops_[1]);
    auto view = [&](int v) { return BufferView{binding.address(s, v), &s.meta(v)}; };
    const BufferView in[] = {view(add.in[bias_]), view(product.in[0]), view(product.in[1])};
    const BufferView out = view(add.out[0]);
    run_kernel({structured_op<structured::Addmm>, in, 3, &out, 1, attrs_, {}}, product.loc);
  }
  const std::vector<int>& ops() const override { return ops_; }
  std::vector<int> touched(const Segment& s) const override {
    const SegmentOp &product = s.op(ops_[0]), &add = s.op(ops_[1]);
    return {s.buffer_of(add.in[bias_]), s.buffer_of(product.in[0]), s.buffer_of(product.in[1]),
            s.buffer_of(add.out[0])};
  }

 private:
  std::vector<int> ops_;
  std::size_t bias_;
  Attrs attrs_;
};

}  // namespace

int only_reader(const Segment& s, int buffer, int from) {
  int reader = -1;
  for (int i = from; i < static_cast<int>(s.ops.size()); ++i) {
    for (int v : s.op(i).in) {
      if (v < 0 || s.buffer_of(v) != buffer) continue;
      if (reader >= 0) return -1;
      reader = i;
    }
  }
  return reader;
}

bool inputs_change(const Segment& s, const std::vector<int>& ops, int first, int last) {
  for (int i = first + 1; i < last; ++i) {
    if (s.op(i).is_view() || std::find(ops.begin(), ops.end(), i) != ops.end()) continue;
    for (int out : s.op(i).out) {
      for (int op : ops) {
        for (int v : s.op(op).in) {
          if (v >= 0 && s.buffer_of(out) == s.buffer_of(v)) return true;
        }
      }
    }
  }
  return false;
}

std::vector<int> find_epilogues(const Segment& s, const std::vector<bool>& needed) {
  std::vector<int> product_of(s.ops.size(), -1);
  for (int i = 0; i < static_cast<int>(s.ops.size()); ++i) {
    const SegmentOp& product = s.op(i);
    if (!needed[static_cast<std::size_t>(i)] || !is_plain_product(s, product)) continue;
    int y = product.out[0];
    if (s.buffer(s.buffer_of(y)).live) continue;
    int j = only_reader(s, s.buffer_of(y), i + 1);
    if (j < 0 || !needed[static_cast<std::size_t>(j)]) continue;
    const SegmentOp& add = s.op(j);
    if (!(*add.op == elementwise_op<rows::Add>) || add.writes >= 0) continue;
    int bias = add.in[0] == y ? add.in[1] : add.in[0];
    bool reads_whole = add.in[0] == y || add.in[1] == y;
    // A result that is not row-major would change the layout that eager chose.
    if (bias < 0 || !reads_whole || !(s.meta(add.out[0]) == s.meta(y))) continue;
    if (inputs_change(s, {i}, i, j)) continue;
    product_of[static_cast<std::size_t>(j)] = i;
  }
  return product_of;
}

std::unique_ptr<Step> make_epilogue_step(const Segment& segment, int product, int addition) {
  return std::make_unique<EpilogueStep>(segment, product, addition);
}

}  // namespace ingot::compiler
