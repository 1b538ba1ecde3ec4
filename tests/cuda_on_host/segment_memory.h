// The memory of a segment made by hand, its ops by the emulated CUDA kernels.
// Owns: SegmentMemory, run_on_host(), the comparison. Must not know: generated text.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/compiler/segment.h>
#include <ingot/kernels/ops/half.h>

#include "cuda_on_host/emulated.h"

namespace ingot::testing {

using namespace compiler;

// The buffers of a segment, with the same random bytes in those that are bound.
class SegmentMemory {
 public:
  explicit SegmentMemory(const Segment& s) {
    std::mt19937 random(7);
    for (std::size_t b = 0; b < s.buffers.size(); ++b) {
      i64 elements = 1;
      DType dtype = DType::u8;
      for (const Value& v : s.values) {
        if (v.buffer != static_cast<int>(b)) continue;
        elements = std::max(elements, extent(v.meta));
        dtype = v.meta.dtype;
      }
      blocks_.emplace_back(static_cast<std::size_t>(elements * 8 + 64), char{0x5a});
      if (!s.buffers[b].produced) fill(random, dtype, elements);
      binding.buffers.push_back(data(b));
    }
    binding.offsets.assign(s.values.size(), 0);
    for (const SegmentOp& op : s.ops) binding.attrs.push_back(&op.attrs);
    binding.tickets.resize(s.ops.size());
  }
  SegmentMemory(const SegmentMemory&) = delete;

  const std::vector<char>& block(int b) const { return blocks_[static_cast<std::size_t>(b)]; }
  Binding binding;

 private:
  char* data(std::size_t b) {
    const auto address = reinterpret_cast<std::uintptr_t>(blocks_[b].data());
    return blocks_[b].data() + (16 - address % 16) % 16;
  }
  void fill(std::mt19937& random, DType t, i64 elements) {
    std::uniform_real_distribution<double> draw(-2, 2);
    char* const to = data(blocks_.size() - 1);
    for (i64 i = 0; i < elements; ++i) {
      const double x = draw(random);
      if (t == DType::f32) reinterpret_cast<float*>(to)[i] = static_cast<float>(x);
      if (t == DType::f64) reinterpret_cast<double*>(to)[i] = x;
      if (t == DType::f16) reinterpret_cast<Half*>(to)[i] = to_half(static_cast<float>(x));
      if (t == DType::bf16) {
        reinterpret_cast<BFloat16*>(to)[i] = to_bfloat16(static_cast<float>(x));
      }
      if (t == DType::i64) reinterpret_cast<i64*>(to)[i] = static_cast<i64>(8 * x);
      if (t == DType::boolean) reinterpret_cast<bool*>(to)[i] = x > 0;
    }
  }
  std::vector<std::vector<char>> blocks_;
};

// Each op by its CUDA kernel, as it is built for the host.
inline void run_on_host(const Segment& s, const Binding& binding) {
  for (std::size_t i = 0; i < s.ops.size(); ++i) {
    const SegmentOp& op = s.ops[i];
    std::vector<BufferView> in, out;
    for (int v : op.in) {
      in.push_back(v < 0 ? BufferView{nullptr, nullptr}
                         : BufferView{binding.address(s, v), &s.meta(v)});
    }
    for (int v : op.out) out.push_back({binding.address(s, v), &s.meta(v)});
    isa_emulated::cuda_kernel (*op.op)({*op.op,
                                        in.data(),
                                        static_cast<int>(in.size()),
                                        out.data(),
                                        static_cast<int>(out.size()),
                                        *binding.attrs[i],
                                        {}});
  }
}

// Whether what outlives the segment has the same bytes.
inline void expect_same(const Segment& s, const SegmentMemory& got, const SegmentMemory& want,
                        const std::string& text) {
  for (std::size_t b = 0; b < s.buffers.size(); ++b) {
    if (!s.buffers[b].live) continue;
    const auto place = static_cast<int>(b);
    const std::vector<char>&x = got.block(place), &y = want.block(place);
    std::size_t at = 0;
    while (at < x.size() && x[at] == y[at]) ++at;
    EXPECT_EQ(at, x.size()) << "byte " << at << " of buffer " << b << " of\n" << to_text(s) << text;
  }
}

}  // namespace ingot::testing
