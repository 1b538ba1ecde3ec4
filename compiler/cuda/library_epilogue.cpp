#include <algorithm>

#include <fmt/format.h>

#include <ingot/compiler/cuda/library_epilogue.h>
#include <ingot/compiler/cuda/small_products.h>
#include <ingot/compiler/fusion/epilogue.h>
#include <ingot/compiler/fusion/group.h>
#include <ingot/compiler/fusion/row_space.h>
#include <ingot/compiler/fusion/run_apart.h>
#include <ingot/compiler/step_note.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/kernels/cuda/kernels.h>
#include <ingot/kernels/cuda/product_view.h>
#include <ingot/kernels/ops/elementwise.h>
#include <ingot/runtime/observer.h>

namespace ingot::compiler {

namespace {

using Activation = ProductEpilogue::Activation;

// The operand that a row of y's columns is in this addition to y; else -1.
int row_of(const Segment& s, const SegmentOp& add, int y, i64 columns) {
  if (!(*add.op == elementwise_op<rows::Add>) || add.in.size() != 2) return -1;
  const int row = add.in[0] == y ? add.in[1] : add.in[0];
  if (row < 0 || row == y || s.meta(row).dtype != s.meta(y).dtype) return -1;
  const Dims& sizes = s.meta(y).sizes;
  if (sizes.size() == 0 || sizes.back() != columns) return -1;
  const Dims strides = broadcast_strides(s.meta(row), sizes);
  for (int d = 0; d + 1 < sizes.size(); ++d) {
    if (sizes[d] != 1 && strides[d] != 0) return -1;
  }
  return columns == 1 || strides.back() == 1 ? row : -1;
}

Activation activation_of(const SegmentOp& op, DType t) {
  if (*op.op == elementwise_op<rows::Relu>) return Activation::relu;
  if (*op.op == elementwise_op<rows::GeluTanh> && is_narrow(t)) return Activation::gelu;
  return Activation::none;
}

// The op that alone reads the result of op i and makes one of the same kind of it; else -1.
int follower(const Segment& s, const std::vector<bool>& needed, int i) {
  const int y = s.op(i).out[0];
  if (s.buffer(s.buffer_of(y)).live) return -1;
  const int j = only_reader(s, s.buffer_of(y), i + 1);
  if (j < 0 || !needed[static_cast<std::size_t>(j)]) return -1;
  const SegmentOp& op = s.op(j);
  const bool reads_whole = op.in[0] == y || (op.in.size() > 1 && op.in[1] == y);
  return reads_whole && op.writes < 0 && op.out.size() == 1 && s.meta(op.out[0]) == s.meta(y) ? j
                                                                                              : -1;
}

// Whether a kernel with what follows computes the last op as well: then nothing is spared.
bool is_read_by_a_group(const Segment& s, int last) {
  const SegmentOp& op = s.op(last);
  const int buffer = s.buffer_of(op.out[0]);
  for (int k = last + 1; k < static_cast<int>(s.ops.size()); ++k) {
    const SegmentOp& reader = s.op(k);
    if (reader.is_view()) continue;
    bool reads = false;
    for (int v : reader.in) reads = reads || (v >= 0 && s.buffer_of(v) == buffer);
    const bool groups =
        (is_pointwise(s, reader) && s.meta(reader.out[0]).sizes == s.meta(op.out[0]).sizes) ||
        row_space(s, reader).has_value();
    // What it needs of ops in between keeps it from moving up.
    if (reads && groups && !inputs_change(s, {k}, last, k)) return true;
  }
  return false;
}

ProductView view_of(const Segment& s, const SegmentOp& op) {
  return segment_product(s, op, nullptr, op.attrs);
}

bool is_product(const Segment& s, const SegmentOp& op) {
  const Meta& y = s.meta(op.out[0]);
  return op.op->kind == OpKind::product && y.device.is_cuda() && is_floating_point(y.dtype) &&
         takes_epilogue(view_of(s, op));
}

class LibraryStep final : public Step {
 public:
  LibraryStep(const Segment& s, std::vector<int> ops) : ops_(std::move(ops)) {
    const SegmentOp& product = s.op(ops_[0]);
    const DType dtype = s.meta(product.out[0]).dtype;
    const i64 columns = view_of(s, product).n;
    for (std::size_t k = 1; k < ops_.size(); ++k) {
      const SegmentOp& op = s.op(ops_[k]);
      activation_ = activation_of(op, dtype);
      if (activation_ == Activation::none) row_ = row_of(s, op, product.out[0], columns);
    }
    exact_ = library_epilogue_is_exact(s, ops_);
    note_ = note_of(*this, s);
  }

  void run(const Segment& s, const Binding& binding) const override {
    const SegmentOp& product = s.op(ops_[0]);
    const int result = s.op(ops_.back()).out[0];
    std::vector<BufferView> in;
    for (int v : product.in) {
      in.push_back(v < 0 ? BufferView{nullptr, nullptr}
                         : BufferView{binding.address(s, v), &s.meta(v)});
    }
    const BufferView out{binding.address(s, result), &s.meta(result)};
    const ProductEpilogue epilogue{row_ < 0 ? nullptr : binding.address(s, row_), activation_,
                                   exact_};
    const Attrs& attrs = *binding.attrs[static_cast<std::size_t>(ops_[0])];
    const KernelArgs args{*product.op, in.data(), static_cast<int>(in.size()), &out, 1, attrs, {}};
    // Kernels of ops run apart are events of their own.
    if (!run_joined(args, epilogue)) run_apart(ops_, s, binding);
  }
  const std::vector<int>& ops() const override { return ops_; }
  std::vector<int> touched(const Segment& s) const override {
    std::vector<int> buffers{s.buffer_of(s.op(ops_.back()).out[0])};
    for (int v : s.op(ops_[0]).in) {
      if (v >= 0) buffers.push_back(s.buffer_of(v));
    }
    if (row_ >= 0) buffers.push_back(s.buffer_of(row_));
    return buffers;
  }

 private:
  bool run_joined(const KernelArgs& args, const ProductEpilogue& epilogue) const {
    const Device device = args.out[0].meta->device;
    const cuda::DeviceGuard guard(device);
    const ScopedEvent event({.kind = EventKind::kernel,
                             .name = note_.name,
                             .loc = note_.loc,
                             .out = args.out[0].meta,
                             .n_out = 1,
                             .device = device,
                             .cost = &note_.cost,
                             .fused_from = note_.fused_from.c_str()});
    return isa_cuda::cuda_product_with(args, epilogue);
  }

  std::vector<int> ops_;
  int row_ = -1;
  Activation activation_ = Activation::none;
  bool exact_ = true;
  StepNote note_{"", "", Loc::here(), {}};
};

}  // namespace

bool library_epilogue_is_exact(const Segment& s, const std::vector<int>& ops) {
  const DType dtype = s.meta(s.op(ops[0]).out[0]).dtype;
  if (activation_of(s.op(ops.back()), dtype) != Activation::none) return false;
  return ops.size() == 1 || !is_narrow(dtype);
}

void find_library_epilogues(const Segment& s, const std::vector<bool>& needed,
                            const char* why_exact, std::vector<int>* before,
                            std::vector<Ledger::Event>* refusals) {
  for (int i = 0; i < static_cast<int>(s.ops.size()); ++i) {
    const SegmentOp& product = s.op(i);
    if (!needed[static_cast<std::size_t>(i)] || !is_product(s, product)) continue;
    const ProductView view = view_of(s, product);
    std::vector<int> ops{i};
    int next = follower(s, needed, i);
    if (next >= 0 && view.bias == nullptr && row_of(s, s.op(next), product.out[0], view.n) >= 0) {
      ops.push_back(next);
      next = follower(s, needed, next);
    }
    if (next >= 0 && activation_of(s.op(next), view.dtype) != Activation::none) {
      ops.push_back(next);
    }
    // All runs at the last op's place, where a row that is made after the product is there.
    const auto changes = [&](int op) { return inputs_change(s, {op}, op, ops.back()); };
    const auto fits = [&] {
      return ops.size() > 1 && std::none_of(ops.begin(), ops.end(), changes) &&
             !is_read_by_a_group(s, ops.back());
    };
    if (!fits()) continue;
    if (why_exact != nullptr && !library_epilogue_is_exact(s, ops)) {
      const SegmentOp& last = s.op(ops.back());
      refusals->push_back(
          {fmt::format("{} in one launch of the library: {}", names_of(s, ops), why_exact),
           last.loc});
      while (!library_epilogue_is_exact(s, ops)) ops.pop_back();
      if (!fits()) continue;
    }
    for (std::size_t k = 1; k < ops.size(); ++k) {
      (*before)[static_cast<std::size_t>(ops[k])] = ops[k - 1];
    }
  }
}

std::unique_ptr<Step> make_library_step(const Segment& segment, std::vector<int> ops) {
  return std::make_unique<LibraryStep>(segment, std::move(ops));
}

}  // namespace ingot::compiler
