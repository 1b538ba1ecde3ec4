#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cpu/iterate_tiles.h>
#include <ingot/kernels/cpu/loops.h>
#include <ingot/kernels/cpu/loops_elementwise.h>

namespace ingot {

namespace {

constexpr int kMaxInputs = kMaxOperands - 1;
constexpr i64 kTile = 512;  // elements of a cast tile: all operands' tiles fit the L1 cache

// One call: the operands with their scalars in memory, and the dtypes that the loop expects.
struct Call {
  alignas(8) char scalars[kMaxInputs][8];
  const void* data[kMaxInputs];
  const Meta* meta[kMaxInputs];  // nullptr: a scalar
  DType from[kMaxInputs], expected[kMaxInputs];
  DType out_dtype, out_expected;
  int n;
  bool casts = false;

  Call(const KernelArgs& args, DType compute) : n(args.n_in) {
    INGOT_BUG(n <= kMaxInputs, "{}: {} operands", args.op.name, n);
    int next_scalar = 0;
    DType last = compute;  // of the tensors
    for (int k = 0; k < n; ++k) {
      meta[k] = args.in[k].meta;
      expected[k] = from[k] = compute;
      if (meta[k] == nullptr) {
        store_scalar(args.attrs.s[next_scalar++], compute, scalars[k]);
        data[k] = scalars[k];
        continue;
      }
      data[k] = args.in[k].data;
      last = from[k] = meta[k]->dtype;
    }
    for (int k = 0; k < n; ++k) {
      // The mask of where() is bool before operands of another dtype, and stays so.
      const bool mask = k == 0 && from[k] == DType::boolean && last != DType::boolean;
      if (mask) expected[k] = DType::boolean;
      casts |= from[k] != expected[k];
    }
    out_dtype = args.out[0].meta->dtype;
    out_expected = args.op.result_is_bool ? DType::boolean : compute;
    casts |= out_dtype != out_expected;
  }

  // Whether operand k is one value (stride 0) or lies in memory as `out`, which is dense, does.
  bool walks_with(int k, const Meta& out, bool out_contiguous, i64* stride) const {
    const Meta* m = meta[k];
    if (m != nullptr && m->sizes == out.sizes) {
      *stride = 1;
      return m->strides == out.strides || (out_contiguous && is_contiguous(*m));
    }
    *stride = 0;
    return m == nullptr || m->numel() == 1;
  }
};

// Runs the loop over one run whose operands need casts, tile by tile.
void run_cast(const Call& call, LoopFn loop, i64 n, char* const* at, const i64* strides) {
  alignas(64) char tiles[kMaxOperands][kTile * 8];
  alignas(64) char packed[kTile * 8];
  const CopyLoops& copy = *loops().copy;
  for (i64 begin = 0; begin < n; begin += kTile) {
    const i64 count = n - begin < kTile ? n - begin : kTile;
    const void* in[kMaxInputs];
    i64 steps[kMaxOperands];
    for (int k = 0; k < call.n; ++k) {
      const int item = item_size(call.from[k]);
      const char* from = at[1 + k] + begin * strides[1 + k] * item;
      in[k] = from;
      steps[1 + k] = strides[1 + k];
      if (call.from[k] == call.expected[k]) continue;
      const i64 distinct = strides[1 + k] == 0 ? 1 : count;
      if (strides[1 + k] > 1 || strides[1 + k] < 0) {
        copy.move[item_log2(item)](count, packed, 1, from, strides[1 + k]);
        from = packed;
      }
      copy.cast[static_cast<int>(call.from[k])][static_cast<int>(call.expected[k])](
          distinct, tiles[1 + k], from);
      in[k] = tiles[1 + k];
      steps[1 + k] = distinct == 1 ? 0 : 1;
    }
    const int out_item = item_size(call.out_dtype);
    char* to = at[0] + begin * strides[0] * out_item;
    steps[0] = strides[0];
    if (call.out_dtype == call.out_expected) {
      loop(count, to, in, steps);
      continue;
    }
    steps[0] = 1;
    loop(count, tiles[0], in, steps);
    const auto cast =
        copy.cast[static_cast<int>(call.out_expected)][static_cast<int>(call.out_dtype)];
    if (strides[0] == 1) {
      cast(count, to, tiles[0]);
    } else {
      cast(count, packed, tiles[0]);
      copy.move[item_log2(out_item)](count, to, strides[0], packed, 1);
    }
  }
}

i64 grain_of(const OpInfo& op) {
  return grain_for(elementwise_nanoseconds(op.n_in + 1, op.flops, op.transcendentals));
}

// All operands in the order of one dense result: no nest is needed.
bool run_dense(const Call& call, const KernelArgs& args, LoopFn loop) {
  const Meta& out = *args.out[0].meta;
  const bool contiguous = is_contiguous(out);
  if (!contiguous && !is_dense(out)) return false;
  i64 strides[kMaxOperands];
  strides[0] = 1;
  for (int k = 0; k < call.n; ++k) {
    if (!call.walks_with(k, out, contiguous, &strides[1 + k])) return false;
  }
  const i64 n = out.numel();
  const auto piece = [&](i64 begin, i64 end) {
    const void* in[kMaxInputs];
    char* at[kMaxOperands];
    at[0] = static_cast<char*>(args.out[0].data) + begin * item_size(call.out_dtype);
    for (int k = 0; k < call.n; ++k) {
      in[k] =
          static_cast<const char*>(call.data[k]) + begin * strides[1 + k] * item_size(call.from[k]);
      at[1 + k] = static_cast<char*>(const_cast<void*>(in[k]));
    }
    if (call.casts) {
      run_cast(call, loop, end - begin, at, strides);
    } else {
      loop(end - begin, at[0], in, strides);
    }
  };
  parallel_for(n, grain_of(args.op), piece);
  return true;
}

}  // namespace

void run_elementwise(const KernelArgs& args, LoopFn loop, DType compute) {
  const Call call(args, compute);
  if (run_dense(call, args, loop)) return;
  const Meta& out = *args.out[0].meta;
  Nest nest(out.sizes);
  nest.add(args.out[0].data, out.strides, item_size(call.out_dtype));
  for (int k = 0; k < call.n; ++k) {
    if (call.meta[k] == nullptr) {
      nest.add_value(call.data[k]);
    } else {
      nest.add(call.data[k], broadcast_strides(*call.meta[k], out.sizes), item_size(call.from[k]));
    }
  }
  nest.collapse();
  const i64 grain = grain_of(args.op);
  const auto run = [&](i64 n, char* const* at, const i64* strides) {
    if (call.casts) return run_cast(call, loop, n, at, strides);
    loop(n, at[0], reinterpret_cast<const void* const*>(at + 1), strides);
  };
  if (const RepeatedRows rows(nest); rows.applies()) return rows.for_each_run(run, grain);
  if (const Transposed blocks(nest); blocks.applies()) return blocks.for_each_run(run, grain);
  nest.lengthen_runs();
  const i64* strides = nest.run_strides();
  nest.for_each_run([&](i64 n, char* const* at) { run(n, at, strides); }, grain);
}

void cpu_elementwise(const KernelArgs& args) {
  const DType compute = elementwise_dtype(args.op, args.in, args.n_in);
  const LoopFn loop = loop_for(args.op, compute);
  INGOT_CHECK(loop != nullptr, "{}: not defined for {}", args.op.name, name(compute));
  run_elementwise(args, loop, compute);
}

}  // namespace ingot
