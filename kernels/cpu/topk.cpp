#include <algorithm>
#include <vector>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/data_copy.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/topk.h>

namespace ingot {

namespace {

// The elements along one axis of a row-major operand: `size` of them, `inner` apart.
struct Lines {
  i64 count, size, inner;
};

template <class T>
struct Before {
  const T* line;
  i64 step;
  bool largest;

  bool operator()(i64 a, i64 b) const {
    const T x = line[a * step], y = line[b * step];
    const bool x_nan = x != x, y_nan = y != y;
    if (x_nan != y_nan) return x_nan == largest;
    if (x == y || x_nan) return a < b;
    return (x > y) == largest;
  }
};

template <class T>
void select_lines(const Lines& lines, i64 k, bool largest, const T* x, T* values, i64* indices) {
  constexpr i64 kGrain = 1 << 14;  // elements below which one thread does it
  parallel_for(lines.count, 1 + kGrain / (lines.size + 1), [&](i64 begin, i64 end) {
    std::vector<i64> order(static_cast<std::size_t>(lines.size));
    for (i64 n = begin; n < end; ++n) {
      const i64 outer = n / lines.inner, place = n % lines.inner;
      const Before<T> before{x + outer * lines.size * lines.inner + place, lines.inner, largest};
      for (i64 i = 0; i < lines.size; ++i) order[static_cast<std::size_t>(i)] = i;
      std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
      for (i64 i = 0; i < k; ++i) {
        const i64 to = (outer * k + i) * lines.inner + place,
                  from = order[static_cast<std::size_t>(i)];
        values[to] = before.line[from * lines.inner];
        indices[to] = from;
      }
    }
  });
}

}  // namespace

void cpu_topk(const KernelArgs& args) {
  const Meta& m = *args.in[0].meta;
  const DType storage = m.dtype, compute = compute_type(storage);
  const auto axis = static_cast<int>(args.attrs.a);
  const i64 k = args.attrs.b, size = m.dim() == 0 ? 1 : m.sizes[axis];
  if (k == 0 || m.numel() == 0) return;
  Lines lines{m.numel() / size, size, 1};
  for (int d = axis + 1; d < m.dim(); ++d) lines.inner *= m.sizes[d];
  const Contiguous x(args.in[0], compute, m.sizes);
  const BufferView& out = args.out[0];
  const bool in_place = storage == compute;
  Meta wide = *out.meta;
  wide.dtype = compute;
  const Scratch memory(in_place ? 0 : out.meta->numel() * item_size(compute));
  void* const values = in_place ? out.data : memory.data();
  const auto run = [&]<class T>(T) {
    select_lines(lines, k, args.attrs.c != 0, static_cast<const T*>(x.data()),
                 static_cast<T*>(values), static_cast<i64*>(args.out[1].data));
  };
  switch (compute) {
    case DType::f32:
      run(float{});
      break;
    case DType::f64:
      run(double{});
      break;
    case DType::i64:
      run(i64{});
      break;
    case DType::i32:
      run(std::int32_t{});
      break;
    default:  // u8 and bool
      run(std::uint8_t{});
      break;
  }
  if (!in_place) copy_elements(out, {values, &wide});
}

}  // namespace ingot
