#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include <ingot/profiler/clock.h>
#include <ingot/profiler/profiler.h>

#ifdef __linux__
#include <sched.h>
#include <sys/mman.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace ingot::profiler {
namespace {

constexpr std::size_t kHugePage = 2 << 20;
constexpr std::size_t kBuffers = 64 << 20;  // of all threads together: beyond most caches
constexpr std::size_t kLeastHalf = 4 << 20;
// Short passes and the best of each thread: what else the machine does matters little.
constexpr int kCopyPasses = 6, kPeakPasses = 20;
constexpr std::int64_t kRounds = 40'000;
constexpr int kChains = 12;  // independent sums: latency 4 times 2 units, and some

// Each runs kRounds * kChains multiply-adds of `lanes` floats and returns a value that depends on
// all of them.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) float multiply_add_512() {
  __m512 sums[kChains];
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1.0f);
  for (auto& s : sums) s = b;
  for (std::int64_t r = 0; r < kRounds; ++r) {
#pragma GCC unroll 12
    for (auto& s : sums) s = _mm512_fmadd_ps(s, a, b);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx2,fma"))) float multiply_add_256() {
  __m256 sums[kChains];
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(1.0f);
  for (auto& s : sums) s = b;
  for (std::int64_t r = 0; r < kRounds; ++r) {
#pragma GCC unroll 12
    for (auto& s : sums) s = _mm256_fmadd_ps(s, a, b);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  return _mm256_cvtss_f32(sums[0]);
}

float multiply_add_128() {
  __m128 sums[kChains];
  const __m128 a = _mm_set1_ps(0.999f), b = _mm_set1_ps(1.0f);
  for (auto& s : sums) s = b;
  for (std::int64_t r = 0; r < kRounds; ++r) {
#pragma GCC unroll 12
    for (auto& s : sums) s = _mm_add_ps(_mm_mul_ps(s, a), b);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = _mm_add_ps(sums[0], sums[i]);
  return _mm_cvtss_f32(sums[0]);
}
#elif defined(__aarch64__)
float multiply_add_neon() {
  float32x4_t sums[kChains];
  const float32x4_t a = vdupq_n_f32(0.999f), b = vdupq_n_f32(1.0f);
  for (auto& s : sums) s = b;
  for (std::int64_t r = 0; r < kRounds; ++r) {
#pragma GCC unroll 12
    for (auto& s : sums) s = vfmaq_f32(b, s, a);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = vaddq_f32(sums[0], sums[i]);
  return vgetq_lane_f32(sums[0], 0);
}
#else
float multiply_add_scalar() {
  float sums[kChains] = {};
  for (std::int64_t r = 0; r < kRounds; ++r) {
#pragma GCC unroll 12
    for (float& s : sums) s = s * 0.999f + 1.0f;
  }
  float total = 0;
  for (float s : sums) total += s;
  return total;
}
#endif

struct PeakLoop {
  float (*run)();
  int lanes;
};

PeakLoop peak_loop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {multiply_add_512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {multiply_add_256, 8};
  return {multiply_add_128, 4};
#elif defined(__aarch64__)
  return {multiply_add_neon, 4};
#else
  return {multiply_add_scalar, 1};
#endif
}

int usable_cores() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Two buffers in one block whose pages exist.
class CopyBlock {
 public:
  explicit CopyBlock(std::size_t bytes)
      : half_(std::max(kLeastHalf, bytes / 2 / kHugePage * kHugePage)),
        block_(static_cast<char*>(std::aligned_alloc(kHugePage, 2 * half_))) {
    if (block_ == nullptr) return;
#ifdef __linux__
    madvise(block_, 2 * half_, MADV_HUGEPAGE);
#endif
    std::memset(block_, 1, 2 * half_);
  }
  ~CopyBlock() { std::free(block_); }
  CopyBlock(const CopyBlock&) = delete;
  CopyBlock& operator=(const CopyBlock&) = delete;

  // Returns the bytes read and written.
  double copy() {
    if (block_ == nullptr) return 0;
    std::memcpy(block_ + half_, block_, half_);
    return 2.0 * static_cast<double>(half_);
  }

 private:
  std::size_t half_;
  char* block_;
};

// The best of several passes, in units per second; f returns the units of one pass.
template <class F>
double best_rate(int passes, F&& f) {
  double best = 0;
  for (int pass = 0; pass < passes; ++pass) {
    std::int64_t start = monotonic_ns();
    double units = f();
    best = std::max(best, units * 1e9 / static_cast<double>(monotonic_ns() - start + 1));
  }
  return best;
}

Roofline measure() {
  const int n = usable_cores();
  const PeakLoop peak = peak_loop();
  std::barrier<> together(n);
  std::mutex mutex;
  Roofline sum;
  auto work = [&] {
    CopyBlock block(kBuffers / static_cast<std::size_t>(n));
    together.arrive_and_wait();
    double bytes = best_rate(kCopyPasses, [&] { return block.copy(); });
    together.arrive_and_wait();
    float sink = 0;
    double flops = best_rate(kPeakPasses, [&] {
      sink += peak.run();
      return 2.0 * static_cast<double>(kRounds) * kChains * peak.lanes;
    });
    std::lock_guard lock(mutex);
    sum.bytes_per_s += bytes;
    sum.flops_per_s += sink != 0 ? flops : 0;
  };
  std::vector<std::thread> others;
  for (int i = 1; i < n; ++i) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  sum.how =
      fmt::format("measured with {} thread{}: memcpy beyond the caches, {}-wide f32 multiply-adds",
                  n, n == 1 ? "" : "s", peak.lanes);
  return sum;
}

}  // namespace

const Roofline& measured_roofline() {
  static const Roofline roofline = measure();
  return roofline;
}

}  // namespace ingot::profiler
