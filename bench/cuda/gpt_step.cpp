// A whole training step of a small transformer on a GPU: 6 layers, 384 wide, 6 heads, 64 x 256
// tokens, AdamW; attention as two products and a softmax. TF32 products, and bf16 ones with f32
// parameters. The limit is the step's products alone; the peers are other programs.
#include <memory>
#include <string>

#include <fmt/format.h>

#include <ingot/ingot.h>

#include "gpt.h"
#include "limits/cuda/cublas.h"
#include "rows.h"
#include "timing.h"

namespace bench::gpu {

using namespace ingot;

namespace {

constexpr double kMiB = 1 << 20;

// The step's products, by cublasLt alone: operands of their sizes, each contiguous.
class Products {
 public:
  Products(const gpt::Sizes& s, LtType type) {
    const long rows = s.rows(), d = s.wide, t = s.length, h = s.head(), heads = s.batch * s.heads;
    for (i64 layer = 0; layer < s.layers; ++layer) {
      for (const auto& [n, k] : {std::pair{3 * d, d}, {d, d}, {4 * d, d}, {d, 4 * d}}) {
        linear(rows, n, k, type);
      }
      // Scores and what they weigh; backward the gradients of weights and values, of q and k.
      for (int i = 0; i < 2; ++i) add({t, t, h, type, LtEpilogue::none, heads});
      for (int i = 0; i < 4; ++i) add({t, h, t, type, LtEpilogue::none, heads});
    }
    linear(rows, s.vocabulary, d, type);
    const DType dtype = type == LtType::bf16 ? kBFloat16 : kFloat;
    a_ = randn({most_a_}, {dtype, kCUDA});
    b_ = randn({most_b_}, {dtype, kCUDA});
    d_ = empty({most_d_}, {dtype, kCUDA});
  }

  std::size_t count() const { return calls_.size(); }
  void operator()() const {
    for (const auto& call : calls_) (*call)(a_.data_ptr(), b_.data_ptr(), nullptr, d_.data_ptr());
  }

 private:
  // Forward, and backward into the input and into the weight.
  void linear(long rows, long n, long k, LtType type) {
    add({rows, n, k, type});
    add({rows, k, n, type});
    add({n, k, rows, type});
  }
  void add(const LtShape& s) {
    calls_.push_back(std::make_unique<LtCall>(s));
    most_a_ = std::max(most_a_, i64{s.batch} * s.m * s.k);
    most_b_ = std::max(most_b_, i64{s.batch} * s.k * s.n);
    most_d_ = std::max(most_d_, i64{s.batch} * s.m * s.n);
  }

  std::vector<std::unique_ptr<LtCall>> calls_;
  i64 most_a_ = 0, most_b_ = 0, most_d_ = 0;
  Tensor a_, b_, d_;
};

// Bytes that tensors hold at the most during a call, once it has been made a few times.
double peak_of(const std::function<void()>& call) {
  constexpr int kBefore = 4;
  for (int i = 0; i < kBefore; ++i) call();
  cuda::synchronize();
  reset_peak_memory(kCUDA);
  call();
  cuda::synchronize();
  return static_cast<double>(memory_stats(kCUDA).peak_allocated);
}

Row single(std::string name, const char* unit, double ours, double limit, const char* limit_name) {
  Row row{.name = std::move(name), .unit = unit};
  row.ours.add(ours);
  row.limit = row.limit_least = limit;
  row.limit_name = limit_name;
  row.target = "<= 1 x";
  row.met = ours <= limit;
  return row;
}

}  // namespace

std::vector<Row> gpt_step(const std::string& name, Elements type) {
  const bool bf16 = type == Elements::bf16;
  const gpt::Sizes sizes;
  const DType precision = bf16 ? kBFloat16 : kFloat;
  const bool allowed = cuda::allow_tf32();
  cuda::set_allow_tf32(!bf16);
  // Put back however this ends.
  const std::shared_ptr<void> restore(nullptr, [=](void*) { cuda::set_allow_tf32(allowed); });

  // Each peak while nothing but that training is there.
  double eager_peak = 0, compiled_peak = 0, first_peak = 0;
  {
    gpt::Training t(sizes, precision, kCUDA);
    eager_peak = peak_of([&] { (void)t.step(t.index, t.target); });
  }
  empty_cache(kCUDA);
  gpt::Training trained(sizes, precision, kCUDA);
  const auto compiled = compile(
      [&trained](const Tensor& x, const Tensor& y) { return trained.step(x, y); }, {.name = name});
  reset_peak_memory(kCUDA);
  const double first_ms = time_us([&] {
                            (void)compiled(trained.index, trained.target);
                            cuda::synchronize();
                          }) /
                          1000;
  first_peak = static_cast<double>(memory_stats(kCUDA).peak_allocated);
  compiled_peak = peak_of([&] { (void)compiled(trained.index, trained.target); });

  gpt::Training eager(sizes, precision, kCUDA);
  const Products products(sizes, bf16 ? LtType::bf16 : LtType::tf32);
  const std::vector<Call> calls = {
      [&](int) { products(); },
      [&](int) { (void)eager.step(eager.index, eager.target); },
      [&](int) { (void)compiled(trained.index, trained.target); },
  };
  const std::vector<Series> wall = wall_race(calls, {.seconds = 3, .rounds = 15}),
                            host = host_race(calls);
  const Ledger ledger = compiled.ledger();
  Row row = row_of(name.c_str(), wall[2], wall[0], "its products alone, by cublasLt");
  row.limit_name += fmt::format(" ({} calls)", products.count());
  row.target = "<= 0.9 x best peer";
  row.note = fmt::format(
      "wall; host {:.0f} us; eager wall {:.0f}, host {:.0f} us; first call {:.0f} ms, its peak "
      "{:.0f} MiB; {} of {} calls were one graph launch, {} of them updates; arena {:.0f} MiB; the "
      "best peer was {} on another such machine (compiled, in a CUDA graph)",
      host[2].median(), wall[1].median(), host[1].median(), first_ms, first_peak / kMiB,
      ledger.graphs.launches, ledger.calls, ledger.graphs.updates,
      static_cast<double>(ledger.arena_bytes) / kMiB, bf16 ? "4.93 ms" : "11.1 ms");
  Row against = row_of((name + "_to_eager").c_str(), wall[2], wall[1], "the same step, eager");
  judge(against, 1);
  return {
      row,
      against,
      single(name + "_peak", "MiB", compiled_peak / kMiB, eager_peak / kMiB, "eager's peak"),
      single(name + "_launches", "", static_cast<double>(ledger.launches_compiled),
             static_cast<double>(ledger.launches_eager), "eager's kernel bodies"),
  };
}

}  // namespace bench::gpu
