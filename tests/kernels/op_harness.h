// What the tests of reductions and row composites share: one op on buffers, values in and out.
// Results have the metas that the op infers, and nothing outside of them may change.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/kernels/ops/op_info.h>

#include "strided_buffer.h"

namespace ingot::testing {

using Values = std::vector<double>;
inline const double kNaN = std::nan(""), kInf = std::numeric_limits<double>::infinity();
inline constexpr DType kFloating[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

// Null operands are left out.
inline std::vector<Buffer> run_op(const OpInfo& op, Kernel kernel, const std::vector<Buffer*>& in,
                                  const Attrs& attrs) {
  std::vector<BufferView> views, results;
  std::vector<const Meta*> metas;
  for (Buffer* b : in) {
    views.push_back(b ? b->view() : BufferView{nullptr, nullptr});
    metas.push_back(views.back().meta);
  }
  std::vector<Meta> inferred_metas(static_cast<std::size_t>(op.n_out));
  i64 offset = 0;
  op.infer(op, {metas.data(), static_cast<int>(metas.size()), attrs, Device()},
           inferred_metas.data(), &offset);
  std::vector<Buffer> out;
  for (const Meta& meta : inferred_metas) out.emplace_back(meta);
  for (Buffer& b : out) results.push_back(b.view());
  kernel({op, views.data(), static_cast<int>(views.size()), results.data(),
          static_cast<int>(results.size()), attrs, Ticket{}});
  for (Buffer& b : out) EXPECT_TRUE(b.margins_intact());
  return out;
}

inline Buffer buffer_of(const Dims& sizes, const Values& values, DType dtype = DType::f32) {
  Buffer b(dtype, sizes);
  for (i64 i = 0; i < b.numel(); ++i) b.set(i, values[static_cast<std::size_t>(i)]);
  return b;
}

inline Values values_of(Buffer& b) {
  Values values;
  for (i64 i = 0; i < b.numel(); ++i) values.push_back(b.real(i));
  return values;
}

// The distance from 1 to the next value.
inline double last_bit(DType t) {
  switch (t) {
    case DType::f64:
      return 0x1p-52;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

// The same of the type that it is computed in.
inline double last_bit_of_compute(DType t) { return last_bit(compute_type(t)); }

}  // namespace ingot::testing
