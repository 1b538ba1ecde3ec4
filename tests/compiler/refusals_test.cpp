// Invariant 9 of compiled calls where the call is refused: nothing is pending afterwards.
#include <ingot/compiler/compile.h>
#include <ingot/runtime/dispatch.h>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;

ByteState state_of(const Tensor& t) { return t.get().storage->state.load(); }

// Leaving through a refused cut (fullgraph) or a refused path (AtLimit::error), whether the
// function lets the error through or catches it and goes on.
TEST(Refusals, NothingIsPendingAfterARefusal) {
  CompileOptions fullgraph = interpreted(), limit = interpreted();
  fullgraph.fullgraph = true;
  limit.max_variants = 1;
  limit.at_limit = AtLimit::error;
  for (const bool cut : {true, false}) {
    for (const bool caught : {false, true}) {
      SCOPED_TRACE(std::string(cut ? "fullgraph" : "at the limit") + (caught ? ", caught" : ""));
      Tensors kept;
      Tensor log = zeros({3});
      const auto body = [&](const Tensor& t, int mode, bool catches) {
        kept.clear();
        kept.push_back(t * 2);
        log.add_(1);
        kept.push_back(kept.back()[1]);
        const auto refused = [&] {
          if (mode == 0) return;
          if (cut) {
            (void)kept[0].to_vector<float>();
          } else {
            kept.push_back(exp(t));
          }
        };
        if (catches) {
          error_of(refused);
        } else {
          refused();
        }
        kept.push_back(tanh(kept[0]));
        log.add_(10);
      };
      const auto f = compile(body, cut ? fullgraph : limit);
      Tensor x = noise({3}, 9);
      f(x, 0, caught), f(x, 0, caught);
      EXPECT_EQ(f.ledger().hits, 1);
      double expected = 22;
      for (int round = 0; round < 3; ++round) {
        for (int mode : {1, 0, 1}) {
          const std::string error = error_of([&] { f(x, mode, caught); });
          EXPECT_EQ(error.empty(), mode == 0 || caught) << error;
          if (!error.empty()) {
            EXPECT_TRUE(contains(error, cut ? "fullgraph" : "max_variants"));
          }
          EXPECT_EQ(t_interceptor, nullptr);
          expected += error.empty() ? 11 : 1;
          EXPECT_TRUE(has_values(log, {expected, expected, expected}));
          for (const Tensor& t : kept) EXPECT_EQ(state_of(t), ByteState::real);
          EXPECT_TRUE(same_bits(kept[0], x * 2));
          EXPECT_TRUE(same_bits(kept[1], (x * 2)[1]));
          if (error.empty()) {
            EXPECT_TRUE(same_bits(kept.back(), tanh(x * 2)));
          }
        }
      }
      EXPECT_EQ(f.ledger().variants, 1);
    }
  }
}

}  // namespace
}  // namespace ingot
