#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cpu/iterate.h>
#include <ingot/kernels/cuda/elementwise.h>
#include <ingot/kernels/cuda/elementwise_tables.h>
#include <ingot/kernels/ops/all_rows.h>
#include <ingot/kernels/ops/elementwise.h>

namespace ingot {
inline namespace INGOT_ISA {

bool vectors_fit(const ElementwiseTask& task, int width) {
  if (task.dim > 0 && task.sizes[0] % static_cast<unsigned>(width) != 0) return false;
  const auto fits = [&](const ElementwiseTask::Operand& o) {
    const auto item = static_cast<std::uintptr_t>(item_size(static_cast<DType>(o.dtype)));
    if (reinterpret_cast<std::uintptr_t>(o.data) % (item * static_cast<unsigned>(width)) != 0) {
      return false;
    }
    for (int d = 1; d < task.dim; ++d) {
      if (o.strides[d] % width != 0) return false;
    }
    return true;
  };
  if (!fits(task.out)) return false;
  for (int k = 0; k < task.n_in; ++k) {
    if (!task.in[k].repeated && !fits(task.in[k])) return false;
  }
  return true;
}

namespace {

const ElementwiseKernels* find_kernels(int row, DType compute) {
  const bool gradient = row >= rows::ValueRows::size;
  const int place = gradient ? row - rows::ValueRows::size : row;
  switch (compute) {
    case DType::f32:
      return (gradient ? gradients_f32() : values_f32()) + place;
    case DType::f64:
      return (gradient ? gradients_f64() : values_f64()) + place;
    case DType::i64:
      return gradient ? nullptr : values_i64() + place;
    case DType::i32:
      return gradient ? nullptr : values_i32() + place;
    case DType::u8:
      return gradient ? nullptr : values_u8() + place;
    case DType::boolean:
      return gradient ? nullptr : values_bool() + place;
    case DType::f16:
    case DType::bf16:
      break;
  }
  INGOT_BUG(false, "elementwise kernels do not compute in {}", name(compute));
}

// Operands with what the kernel's operand expects: the compute type, but bool for the mask of
// where(); results are the compute type or bool.
struct Call {
  ElementwiseTask task{};
  const Meta* meta[kTaskInputs];  // nullptr: a scalar
  DType stored = DType::f32;      // of operands and result, where they agree and need no cast
  bool uniform = true;

  Call(const KernelArgs& args, DType compute) {
    INGOT_BUG(args.n_in <= kTaskInputs, "{}: {} operands", args.op.name, args.n_in);
    task.n_in = args.n_in;
    int next_scalar = 0, last = -1;
    for (int k = 0; k < args.n_in; ++k) {
      ElementwiseTask::Operand& in = task.in[k];
      meta[k] = args.in[k].meta;
      in.data = args.in[k].data;
      in.dtype = static_cast<int>(compute);
      if (meta[k] == nullptr) {
        in.data = nullptr;
        store_scalar(args.attrs.s[next_scalar++], compute, in.scalar);
        continue;
      }
      in.dtype = static_cast<int>(meta[k]->dtype);
      last = k;
    }
    const Meta& out = *args.out[0].meta;
    const DType main = last >= 0 ? meta[last]->dtype : out.dtype;
    stored = main;
    for (int k = 0; k < args.n_in; ++k) {
      if (meta[k] == nullptr) continue;
      const bool mask = k == 0 && last > 0 && meta[k]->dtype == DType::boolean;
      uniform = uniform && (mask || meta[k]->dtype == main);
    }
    uniform = uniform && compute_type(main) == compute;
    task.out.data = args.out[0].data;
    task.out.dtype = static_cast<int>(out.dtype);
    uniform = uniform && out.dtype == (args.op.result_is_bool ? DType::boolean : main);
    task.n = out.numel();
  }

  // Whether every operand is one value, or lies in memory as the dense result does.
  bool make_dense(const Meta& out) {
    const bool contiguous = is_contiguous(out);
    if (!contiguous && !is_dense(out)) return false;
    for (int k = 0; k < task.n_in; ++k) {
      const Meta* m = meta[k];
      task.in[k].repeated = m == nullptr || !(m->sizes == out.sizes);
      if (m == nullptr) continue;
      if (task.in[k].repeated) {
        if (m->numel() != 1) return false;
      } else if (!(m->strides == out.strides) && !(contiguous && is_contiguous(*m))) {
        return false;
      }
    }
    return true;
  }
};

// Whether the innermost axis is a run or one value for every operand; then `repeated` is set.
bool make_runs(ElementwiseTask* task) {
  if (task->out.strides[0] != 1) return false;
  for (int k = 0; k < task->n_in; ++k) {
    ElementwiseTask::Operand& in = task->in[k];
    in.repeated = in.data == nullptr || in.strides[0] == 0;
    if (!in.repeated && in.strides[0] != 1) return false;
  }
  return true;
}

// Launches a nest, cut along its outermost axes until sizes and offsets fit 32 bits. `vector` is
// null, or a kernel for operands of the stored type of `item` bytes.
void launch_nest(const Nest& nest, ElementwiseTask task, ElementwiseLaunch strided,
                 ElementwiseLaunch vector, int item) {
  constexpr i64 kMost = (i64{1} << 31) - 1;
  bool fits = nest.numel() <= kMost;
  for (int k = 0; k < nest.operands() && fits; ++k) {
    i64 reach = 0;
    for (int d = 0; d < nest.dim(); ++d) {
      reach +=
          (nest.size(d) - 1) * (nest.stride(d, k) < 0 ? -nest.stride(d, k) : nest.stride(d, k));
    }
    fits = reach <= kMost;
  }
  if (!fits) {
    int axis = nest.dim() - 1;
    while (axis > 0 && nest.size(axis) == 1) --axis;
    const i64 half = nest.size(axis) / 2;
    launch_nest(nest.part(axis, 0, half), task, strided, vector, item);
    launch_nest(nest.part(axis, half, nest.size(axis)), task, strided, vector, item);
    return;
  }
  task.n = nest.numel();
  task.dim = nest.dim();
  int operand = 0;
  const auto place = [&](ElementwiseTask::Operand* o) {
    if (o->data == nullptr) return;
    o->data = nest.data(operand);
    for (int d = 0; d < nest.dim(); ++d) o->strides[d] = nest.stride(d, operand);
    ++operand;
  };
  for (int d = 0; d < nest.dim(); ++d) task.sizes[d] = static_cast<unsigned>(nest.size(d));
  place(&task.out);
  for (int k = 0; k < task.n_in; ++k) place(&task.in[k]);
  const bool by_vectors = vector != nullptr && make_runs(&task) && vectors_fit(task, 16 / item);
  (by_vectors ? vector : strided)(task);
}

}  // namespace

void run_cuda_elementwise(const KernelArgs& args, const ElementwiseKernels& kernels,
                          DType compute) {
  Call call(args, compute);
  const Meta& out = *args.out[0].meta;
  ElementwiseLaunch vector = nullptr;
  if (call.uniform) {
    vector = kernels.vector[call.stored == DType::f16 ? 1 : call.stored == DType::bf16 ? 2 : 0];
    if (vector != nullptr && call.make_dense(out)) return vector(call.task);
  }
  Nest nest(out.sizes);
  nest.add(args.out[0].data, out.strides, item_size(out.dtype));
  for (int k = 0; k < args.n_in; ++k) {
    if (call.meta[k] == nullptr) continue;
    nest.add(args.in[k].data, broadcast_strides(*call.meta[k], out.sizes),
             item_size(call.meta[k]->dtype));
  }
  nest.collapse();
  launch_nest(nest, call.task, kernels.strided, vector, item_size(call.stored));
}

void cuda_elementwise(const KernelArgs& args) {
  const DType compute = elementwise_dtype(args.op, args.in, args.n_in);
  const ElementwiseKernels* kernels = find_kernels(args.op.id, compute);
  INGOT_CHECK(kernels != nullptr && kernels->strided != nullptr, "{}: not defined for {}",
              args.op.name, name(compute));
  run_cuda_elementwise(args, *kernels, compute);
}

}  // namespace INGOT_ISA
}  // namespace ingot
