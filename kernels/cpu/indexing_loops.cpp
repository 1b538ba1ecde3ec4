// ISA unit: reads and writes through index arrays.
#include <ingot/kernels/cpu/indexing_loops.h>
#include <ingot/kernels/ops/scalar.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace {

INGOT_INLINE Int64 place(const IndexedRun& at, Int64 i) {
  return i * at.step + at.index[i * at.index_step] * at.stride;
}

template <class T>
void gather(Int64 n, void* out, Int64 out_step, const void* in, const IndexedRun& run) {
  T* __restrict y = static_cast<T*>(out);
  const T* __restrict x = static_cast<const T*>(in);
  const IndexedRun at = run;
  for (Int64 i = 0; i < n; ++i) y[i * out_step] = x[place(at, i)];
}

// Equal indices: the last one wins, so the loop stays in order.
template <class T>
void scatter(Int64 n, void* out, const IndexedRun& run, const void* in, Int64 in_step) {
  T* y = static_cast<T*>(out);
  const T* x = static_cast<const T*>(in);
  const IndexedRun at = run;
  for (Int64 i = 0; i < n; ++i) y[place(at, i)] = x[i * in_step];
}

template <class T>
void scatter_add(Int64 n, void* out, const IndexedRun& run, const void* in, Int64 in_step) {
  T* y = static_cast<T*>(out);
  const T* x = static_cast<const T*>(in);
  const IndexedRun at = run;
  for (Int64 i = 0; i < n; ++i) {
    T& sum = y[place(at, i)];
    sum = (Num<T>(sum) + Num<T>(x[i * in_step])).v;
  }
}

}  // namespace

const IndexLoops kIndexLoops = {
    {gather<unsigned char>, gather<unsigned short>, gather<unsigned>,
     gather<unsigned __INT64_TYPE__>},
    {scatter<unsigned char>, scatter<unsigned short>, scatter<unsigned>,
     scatter<unsigned __INT64_TYPE__>},
    {scatter_add<float>, scatter_add<double>, nullptr, nullptr, scatter_add<Int64>,
     scatter_add<int>, scatter_add<unsigned char>, scatter_add<bool>}};

}  // namespace INGOT_ISA
}  // namespace ingot
