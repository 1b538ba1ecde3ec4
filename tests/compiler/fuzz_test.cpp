// Differential fuzzing: fuzz_differential.h says what is compared. FUZZ_PROGRAMS sets how many
// programs each test runs, FUZZ_SEED the first one.
#include <gtest/gtest.h>

#include "compiler/fuzz_differential.h"

namespace ingot {
namespace {

const CompileOptions kInterpreted = {.disable = {"codegen"}};
const CompileOptions kVerified = {.disable = {"codegen"}, .verify = true};
// Kernels stay in memory: the folder of a cache is not for thousands of them.
const CompileOptions kCompiled = {.disable = {"disk_cache"}};

TEST(Fuzz, Forward) {
  fuzz::run({.features = {.grad = false}, .options = kInterpreted, .count = 500});
}

TEST(Fuzz, PointwiseOnly) {
  fuzz::run({.features = {.grad = false,
                          .in_place = false,
                          .observe = false,
                          .random = false,
                          .throws = false,
                          .errors = false},
             .options = kVerified,
             .count = 200});
}

TEST(Fuzz, Everything) { fuzz::run({.options = kVerified, .count = 1000}); }

TEST(Fuzz, WithoutFusion) { fuzz::run({.options = {.disable = {"fusion"}}, .count = 200}); }

// A bound of one path: most calls of restless programs fall back to eager execution in the middle.
TEST(Fuzz, AtTheLimit) {
  fuzz::run({.features = {.restless = 100},
             .options = {.disable = {"codegen"}, .max_variants = 1},
             .count = 200,
             .least_replayed = 5});
}

// Rows that the interpreter takes as one group, and with other numbers generated code.
TEST(Fuzz, AlongRows) {
  fuzz::run({.features = {.nested = false, .rows = 2, .cols = 520, .rowwise = true},
             .options = kVerified,
             .count = 100});
}

TEST(Fuzz, AlongRowsGenerated) {
  fuzz::run({.features = {.nested = false, .rows = 5, .cols = 40, .rowwise = true},
             .options = kCompiled,
             .count = 20});
}

TEST(Fuzz, GeneratedCode) { fuzz::run({.options = kCompiled, .count = 100}); }

// What a function does to bytes behind the ops' backs, by pointers that it takes itself.
TEST(Fuzz, Pointers) {
  if (default_device().is_cuda()) GTEST_SKIP() << "the host reads no device memory";
  fuzz::run({.features = {.pointers = true}, .options = kVerified, .count = 200});
}

TEST(Fuzz, Hooks) { fuzz::run({.features = {.hooks = true}, .options = kVerified, .count = 200}); }

}  // namespace
}  // namespace ingot
