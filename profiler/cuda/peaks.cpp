// The roofline of a GPU.
#include <algorithm>

#include <fmt/format.h>

#include <ingot/kernels/cuda/device.h>
#include <ingot/profiler/clock.h>
#include <ingot/profiler/gpu_observer.h>

namespace ingot::profiler {
namespace {

// Operations per clock and multiprocessor, multiply-adds counting two: the tables of NVIDIA's CUDA
// programming guide ("arithmetic instructions") and, for products, of its architecture papers,
// dense, sums in f32.
struct Rates {
  int major, minor;
  double f32, f64, tf32, half;
};
constexpr Rates kRates[] = {
    {7, 5, 128, 4, 0, 512},     {8, 0, 128, 128, 1024, 2048}, {8, 6, 256, 4, 256, 512},
    {8, 9, 256, 4, 256, 512},   {9, 0, 256, 256, 2048, 4096}, {10, 0, 256, 128, 4096, 8192},
    {12, 0, 256, 4, 256, 1024},
};

const Rates* rates_of(const cuda::DeviceProperties& p) {
  const Rates* best = nullptr;
  for (const Rates& r : kRates) {
    if (r.major == p.major && r.minor <= p.minor) best = &r;
  }
  return best;
}

// Bytes read and written per second by copies on the current device, beyond its caches; 0 when
// there is no memory for that.
double copy_rate(const cuda::DeviceProperties& p) {
  constexpr int kCopies = 8, kRounds = 4;
  std::size_t bytes = std::size_t{256} << 20;
  const auto least = static_cast<std::size_t>(p.l2) * 2;
  void *from = nullptr, *to = nullptr;
  for (; bytes >= least && to == nullptr; bytes /= 2) {
    from = cuda::allocate_raw(bytes);
    to = from == nullptr ? nullptr : cuda::allocate_raw(bytes);
    if (to != nullptr) break;
    cuda::free_raw(from);
    from = nullptr;
  }
  double best = 0;
  for (int round = 0; round <= kRounds && to != nullptr; ++round) {
    cuda::synchronize_stream();
    const std::int64_t start = monotonic_ns();
    for (int i = 0; i < kCopies; ++i) cuda::copy(to, from, bytes);
    cuda::synchronize_stream();
    const auto ns = static_cast<double>(monotonic_ns() - start);
    if (round > 0) best = std::max(best, 2.0 * kCopies * static_cast<double>(bytes) / ns * 1e9);
  }
  cuda::free_raw(from);
  cuda::free_raw(to);
  return best;
}

Roofline measure_gpu() {
  const cuda::DeviceGuard guard(0);
  const cuda::DeviceProperties& p = cuda::properties(0);
  Roofline r;
  r.bytes_per_s = copy_rate(p);
  r.how = fmt::format("{}: bytes by copies on the device", p.name);
  const Rates* rates = rates_of(p);
  if (rates == nullptr) {
    r.how += fmt::format(", operations unknown for compute capability {}.{}", p.major, p.minor);
    return r;
  }
  const double clocks = static_cast<double>(p.clock_khz) * 1e3 * p.multiprocessors;
  r.flops_per_s = rates->f32 * clocks;
  r.f64_flops_per_s = rates->f64 * clocks;
  r.tf32_flops_per_s = rates->tf32 * clocks;
  r.half_flops_per_s = rates->half * clocks;
  r.how += fmt::format(", f32 operations by {} multiprocessors x {:.0f} x {:.2f} GHz",
                       p.multiprocessors, rates->f32, p.clock_khz / 1e6);
  return r;
}

}  // namespace

const Roofline& gpu_roofline() {
  static const Roofline roofline = measure_gpu();
  return roofline;
}

}  // namespace ingot::profiler
