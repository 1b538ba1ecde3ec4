// One or two small ops per call: what is left beside the arithmetic is the host's work.
#include <fmt/format.h>

#include <ingot/ingot.h>

#include "benchmarks.h"
#include "limits/limits.h"

namespace bench {

namespace {

using namespace ingot;

constexpr i64 kN = 64;

Row row_of(const char* name, const Series& ours, const Series& limit, const char* limit_name) {
  Row row{.name = name, .unit = "us"};
  row.ours = ours;
  row.limit = limit.median();
  row.limit_least = limit.least();
  row.limit_name = limit_name;
  return row;
}

}  // namespace

std::vector<Row> eager_add() {
  const Tensor a = randn({kN, kN}), b = randn({kN, kN});
  Tensor out = empty({kN, kN});
  const float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>();
  float* po = out.data_ptr<float>();
  const Limits& raw = limits();
  const std::vector<Series> s = race({
      [&] {
        raw.add(pa, pb, po, kN * kN);
        keep(po);
      },
      [&] { (void)(a + b); },
  });
  constexpr double kAllowed_us = 0.3;
  Row row = row_of("eager_add_64", s[1], s[0], "raw loop over 64 x 64 f32");
  row.target = "<= limit + 0.3 us";
  row.met = row.ours.median() <= row.limit + kAllowed_us;
  row.note = fmt::format("{:.3f} us above the limit", row.ours.median() - row.limit);
  return {row};
}

std::vector<Row> linear() {
  const Tensor x = randn({kN, kN}), w = randn({kN, kN}), b = randn({kN});
  Tensor out = empty({kN, kN});
  const float *px = x.data_ptr<float>(), *pw = w.data_ptr<float>(), *pb = b.data_ptr<float>();
  float* po = out.data_ptr<float>();
  const auto function = [](const Tensor& t, const Tensor& weight, const Tensor& bias) {
    return matmul(t, weight) + bias;
  };
  const auto compiled = compile(function, {.name = "linear_64"});
  const Limits& raw = limits();
  const std::vector<Series> s = race({
      [&] {
        raw.product({kN, kN, kN}, px, pw, po);
        raw.add_row(po, pb, kN, kN);
        keep(po);
      },
      [&] { (void)function(x, w, b); },
      [&] { (void)compiled(x, w, b); },
  });
  constexpr double kAllowed = 1.15;
  constexpr const char* kLimit = "Eigen's product + a raw loop that adds the row";
  Row eager = row_of("eager_linear_64", s[1], s[0], kLimit);
  eager.target = "<= 1.15 x";
  eager.met = eager.ratio() <= kAllowed;
  Row replayed = row_of("compiled_linear_64", s[2], s[0], kLimit);
  replayed.target = "<= 1.15 x, eager";
  replayed.met = replayed.ratio() <= kAllowed && replayed.ours.median() <= eager.ours.median();
  const Ledger ledger = compiled.ledger();
  replayed.note =
      fmt::format("{:.3f} of eager's time; matching {:.0f} ns of it; {} kernel bodies, eager {}",
                  replayed.ours.median() / eager.ours.median(), ledger.replay_ns.median,
                  ledger.launches_compiled, ledger.launches_eager);
  return {eager, replayed};
}

}  // namespace bench
