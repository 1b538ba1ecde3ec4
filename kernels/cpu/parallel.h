// The one way in which kernels use several threads: parallel_for over a pool of our own.
// Owns: the pool, the cut of a range. Must not know: tensors, the environment. Kernel units may
// call it: nothing here is emitted into them but what their own lambda types name.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace ingot {

using Body = void (*)(void* context, std::int64_t begin, std::int64_t end);

// The least work of a thread. Waking one costs some microseconds and comes into effect after some
// tens of them: less work than twice this stays on the calling thread, and more gets as many
// threads as it is worth, so that small work never pays for many cores.
inline constexpr double kThreadNanoseconds = 30000;

// The grain of items that take one core so long each with their operands in its caches.
constexpr std::int64_t grain_for(double nanoseconds_per_item) {
  const double items = kThreadNanoseconds / nanoseconds_per_item;
  return items < 1 ? 1 : static_cast<std::int64_t>(items);
}

// Calls body(context, begin, end) on disjoint ranges that cover [0, n); every range begins at a
// multiple of `grain` (>= 1), which states the cost: a thread gets that many items at least. How
// many ranges there are and which thread gets one is left open, so results must not depend on it: a
// caller whose sums are cut into pieces makes the pieces by shape and passes their count as n. n <
// 2 grain, one thread, or a call from inside a body: body(0, n) on the calling thread. While one
// thread has the pool, calls of other threads run on their own. After the first exception of a body
// no new range begins; it is rethrown here.
void parallel_for(std::int64_t n, std::int64_t grain, Body body, void* context);

// The same for a callable f(begin, end).
template <class F>
requires std::is_invocable_v<F&, std::int64_t, std::int64_t>
void parallel_for(std::int64_t n, std::int64_t grain, F&& f) {
  if (n < 2 * grain) {
    if (n > 0) f(std::int64_t{0}, n);
    return;
  }
  using Callable = std::remove_reference_t<F>;
  const Body body = [](void* context, std::int64_t begin, std::int64_t end) {
    (*static_cast<Callable*>(context))(begin, end);
  };
  parallel_for(n, grain, body,
               const_cast<void*>(static_cast<const volatile void*>(std::addressof(f))));
}

// Threads that a region uses, the caller included: threads.h.
int num_threads();
// What they are until set_num_threads(): the environment's wish, read at the first op, must not
// overrule what the program has said before.
void set_default_num_threads(int n);

// Whether the calling thread is inside a region that uses the pool.
bool in_parallel();

// Cores by affinity, hardware siblings once, and at least 1.
int available_cores();

}  // namespace ingot
