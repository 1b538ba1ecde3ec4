#include <algorithm>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/meta.h>

namespace ingot {

bool is_contiguous(const Meta& m) {
  i64 step = 1;
  for (int i = m.dim() - 1; i >= 0; --i) {
    if (m.sizes[i] == 0) return true;
    if (m.sizes[i] == 1) continue;
    if (m.strides[i] != step) return false;
    step *= m.sizes[i];
  }
  return true;
}

namespace {

// Axes of size > 1, innermost (smallest stride) first; ties keep the later axis inside.
int by_stride(const Meta& m, int* axes) {
  int n = 0;
  for (int i = m.dim() - 1; i >= 0; --i) {
    if (m.sizes[i] > 1) axes[n++] = i;
  }
  std::stable_sort(axes, axes + n, [&](int a, int b) { return m.strides[a] < m.strides[b]; });
  return n;
}

}  // namespace

bool is_dense(const Meta& m) {
  if (is_contiguous(m)) return true;
  int axes[kMaxDims];
  int n = by_stride(m, axes);
  i64 step = 1;
  for (int k = 0; k < n; ++k) {
    if (m.strides[axes[k]] != step) return false;
    step *= m.sizes[axes[k]];
  }
  return true;
}

i64 extent(const Meta& m) {
  i64 last = 0;
  for (int i = 0; i < m.dim(); ++i) {
    if (m.sizes[i] == 0) return 0;
    last += (m.sizes[i] - 1) * m.strides[i];
  }
  return last + 1;
}

bool overlaps_itself(const Meta& m) {
  int axes[kMaxDims];
  if (m.numel() <= 1) return false;
  int n = by_stride(m, axes);
  i64 reach = 1;  // elements covered by the axes so far
  for (int k = 0; k < n; ++k) {
    if (m.strides[axes[k]] < reach) return true;
    reach += (m.sizes[axes[k]] - 1) * m.strides[axes[k]];
  }
  return false;
}

Dims broadcast(const Dims& a, const Dims& b, const char* op) {
  if (a == b) return a;
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  int shift = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    i64 s = shorter[i];
    i64& o = out[i + shift];
    INGOT_CHECK(s == o || s == 1 || o == 1, "{}: shapes {} and {} do not broadcast", op,
                to_string(a), to_string(b));
    if (o == 1) o = s;
  }
  return out;
}

Dims broadcast_strides(const Meta& m, const Dims& sizes) {
  Dims out = Dims::filled(sizes.size(), 0);
  int shift = sizes.size() - m.dim();
  for (int i = 0; i < m.dim(); ++i) {
    out[i + shift] = m.sizes[i] == 1 ? 0 : m.strides[i];
  }
  return out;
}

Dims strides_like(const Dims& sizes, const Meta* const* operands, int n) {
  for (int k = 0; k < n; ++k) {
    const Meta* m = operands[k];
    if (m == nullptr || !(m->sizes == sizes)) continue;
    if (is_contiguous(*m)) break;
    if (overlaps_itself(*m)) continue;
    if (is_dense(*m)) {
      Dims strides = m->strides;
      for (int i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == 1) strides[i] = 1;
      }
      return strides;
    }
    int axes[kMaxDims];
    int count = by_stride(*m, axes);
    Dims strides = Dims::filled(sizes.size(), 1);
    i64 step = 1;
    for (int i = 0; i < count; ++i) {
      strides[axes[i]] = step;
      step *= sizes[axes[i]];
    }
    return strides;
  }
  return contiguous_strides(sizes);
}

int wrap_axis(i64 d, int dim, const char* op) {
  int n = dim == 0 ? 1 : dim;
  INGOT_CHECK_AS(IndexError, d >= -n && d < n, "{}: dim {} is out of range [{}, {}]", op, d, -n,
                 n - 1);
  return static_cast<int>(d < 0 ? d + n : d);
}

std::string describe(const Meta& m) {
  std::string text = std::string(name(m.dtype)) + to_string(m.sizes);
  return m.device.is_cpu() ? text : m.device.str() + " " + text;
}

}  // namespace ingot
