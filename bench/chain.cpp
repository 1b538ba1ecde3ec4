// A chain of eight elementwise ops: what fusion gains over memory, and what the first call costs.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <ingot/ingot.h>
#include <ingot/kernels/cpu/parallel.h>

#include "benchmarks.h"
#include "chain8.h"
#include "limits/limits.h"

namespace bench {

using namespace ingot;

Tensor chain8(const Tensor& a, const Tensor& b) {
  Tensor t = a * b + 1;
  t = t * sigmoid(t);
  return tanh(t) * 0.5 + a;
}

std::vector<Row> chain() {
  constexpr i64 kElements = i64{1} << 22, kGrain = i64{1} << 16;
  const Tensor a = randn({kElements}), b = randn({kElements});
  Tensor out = empty({kElements});
  const float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>();
  float* po = out.data_ptr<float>();
  // As many bytes as the chain moves: two inputs read, one result written.
  constexpr std::size_t kHalf = 3 * kElements * sizeof(float) / 2;
  std::vector<char> from(kHalf, 1), to(kHalf, 2);

  const auto compiled = compile(chain8, {.name = "chain8_4m"});
  const Limits& raw = limits();
  const std::vector<Series> s =
      race({
               [&] {
                 parallel_for(kElements, kGrain, [&](i64 begin, i64 end) {
                   raw.chain8(pa + begin, pb + begin, po + begin, end - begin);
                 });
                 keep(po);
               },
               [&] {
                 parallel_for(static_cast<i64>(kHalf), kGrain, [&](i64 begin, i64 end) {
                   std::memcpy(to.data() + begin, from.data() + begin,
                               static_cast<std::size_t>(end - begin));
                 });
                 keep(to.data());
               },
               [&] { (void)chain8(a, b); },
               [&] { (void)compiled(a, b); },
           },
           {.seconds = 6, .rounds = 25});
  const Series &loop = s[0], &copy = s[1];
  const bool loop_is_limit = loop.median() >= copy.median();
  const Series& limit = loop_is_limit ? loop : copy;
  constexpr double kAllowed = 1.15;
  Row row{.name = "chain8_4m", .unit = "us"};
  row.ours = s[3];
  row.limit = limit.median();
  row.limit_least = limit.least();
  row.limit_name =
      fmt::format("the slower of a hand-written loop (this: {}) and a copy, {} threads",
                  loop_is_limit ? "loop" : "copy", num_threads());
  row.target = "<= 1.15 x";
  row.met = row.ratio() <= kAllowed;
  row.note = fmt::format("loop {:.0f}, copy {:.0f}, eager {:.0f} us (least {:.0f}, {:.0f}, {:.0f})",
                         loop.median(), copy.median(), s[2].median(), loop.least(), copy.least(),
                         s[2].least());
  return {row};
}

}  // namespace bench
