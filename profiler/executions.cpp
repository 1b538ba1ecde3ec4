#include <algorithm>
#include <initializer_list>

#include <ingot/profiler/executions.h>

namespace ingot::profiler {
namespace {

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

// Names of the kernels that cuBLAS brings.
bool is_library_product(std::string_view kernel) {
  return has_any(kernel, {"gemm", "nvjet", "xmma", "cutlass"});
}

std::uint64_t key_of(const GpuWork& w, std::size_t index) {
  if (w.graph_op >= 0) {
    return std::uint64_t{1} << 62 | static_cast<std::uint64_t>(w.correlation) << 24 |
           static_cast<std::uint64_t>(w.graph_op);
  }
  if (w.slice >= 0) {
    return std::uint64_t{1} << 63 | static_cast<std::uint64_t>(w.lane) << 32 |
           static_cast<std::uint64_t>(w.slice);
  }
  return index;
}

void describe(const Timeline& t, const GpuWork& w, Execution& e) {
  DType dtype = DType::f32;
  bool is_product = false;
  if (w.slice >= 0) {
    const Slice& s =
        t.lanes[static_cast<std::size_t>(w.lane)].slices[static_cast<std::size_t>(w.slice)];
    dtype = s.dtype;
    is_product = s.is_product;
    if (s.has_cost) e.cost = &s.cost;
    if (w.graph_op >= 0) {
      e.op = &t.graphs.at(s.graph)[static_cast<std::size_t>(w.graph_op)];
      e.cost = e.op->cost.bytes + e.op->cost.flops > 0 ? &e.op->cost : nullptr;
    }
  }
  e.peak = peak_of(dtype, is_product, w.name);
}

}  // namespace

std::vector<Execution> executions(const Timeline& t) {
  std::vector<Execution> list;
  std::unordered_map<std::uint64_t, std::size_t> places;
  for (std::size_t i = 0; i < t.gpu.work.size(); ++i) {
    const GpuWork& w = t.gpu.work[i];
    auto [found, is_new] = places.emplace(key_of(w, i), list.size());
    if (is_new) {
      Execution& e = list.emplace_back();
      e.lane = w.lane;
      e.slice = w.slice;
      e.call_lane = w.call_lane;
      e.call = w.call;
      e.first = &w;
      describe(t, w, e);
    }
    Execution& e = list[found->second];
    e.device += w.end - w.begin;
    ++e.pieces;
  }
  return list;
}

double flops_per_s(const Roofline& r, Peak peak) {
  const double own = peak == Peak::f64    ? r.f64_flops_per_s
                     : peak == Peak::tf32 ? r.tf32_flops_per_s
                     : peak == Peak::half ? r.half_flops_per_s
                                          : 0;
  return own > 0 ? own : r.flops_per_s;
}

Peak peak_of(DType dtype, bool is_product, std::string_view kernel) {
  if (dtype == DType::f64) return Peak::f64;
  if (!is_product && !is_library_product(kernel)) return Peak::f32;
  if (kernel.find("tf32") != std::string_view::npos) return Peak::tf32;
  const bool half = dtype == DType::f16 || dtype == DType::bf16;
  // A graph's op has no dtype, but the library's kernels name theirs.
  return half || (is_library_product(kernel) && has_any(kernel, {"bf16", "f16"})) ? Peak::half
                                                                                  : Peak::f32;
}

}  // namespace ingot::profiler
