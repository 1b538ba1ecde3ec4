// Rows of the user's own: values, gradients, fusion, bits, names, errors.
#include <cmath>
#include <functional>
#include <thread>

#include <ingot/compiler/codegen/codegen.h>
#include <ingot/ingot.h>
#include <ingot/runtime/env.h>

#include "support/eager_and_compiled.h"
#include "user_rows_unit.h"

namespace ingot {
namespace {

using namespace testing_support;

INGOT_ROW(Squareplus, {
  static constexpr const char* name = "squareplus";
  template <class S>
  static S value(S x) {
    return (x + sqrt(x * x + S(4))) * S(0.5);
  }
  template <class S>
  static S grad(S x, S, S dy) {
    return dy * (S(1) + x / sqrt(x * x + S(4))) * S(0.5);
  }
});

INGOT_ROW(WrongGrad, {
  static constexpr const char* name = "wrong_grad";
  template <class S>
  static S value(S x) {
    return x * x;
  }
  template <class S>
  static S grad(S x, S, S dy) {
    return dy * x;
  }
});

INGOT_ROW(NoGrad, {
  static constexpr const char* name = "no_grad_row";
  template <class S>
  static S value(S x) {
    return x * x;
  }
});

INGOT_ROW(Hypot, {
  static constexpr const char* name = "hypot_row";
  template <class S>
  static constexpr S value(S a, S b) {
    return sqrt(a * a + b * b);
  }
  template <class S>
  static constexpr S grad_a(S a, S, S y, S dy) {
    return dy * a / y;
  }
  template <class S>
  static constexpr S grad_b(S, S b, S y, S dy) {
    return dy * b / y;
  }
});

INGOT_ROW(Blend, {
  static constexpr const char* name = "blend";
  static constexpr int values[3] = {1, 2, 3};  // commas in the text
  template <class S>
  static S value(S a, S b, S t) {
    return a + (b - a) * t * S(values[0]);
  }
  template <class S>
  static S grad_a(S, S, S t, S, S dy) {
    return dy * (S(1) - t);
  }
  template <class S>
  static S grad_b(S, S, S t, S, S dy) {
    return dy * t;
  }
  template <class S>
  static S grad_c(S a, S b, S, S, S dy) {
    return dy * (b - a);
  }
});

INGOT_ROW(Doubled, {
  static constexpr const char* name = "doubled";
  static constexpr auto rule = ingot::DTypeRule::same;
  static constexpr auto dtypes = ingot::DTypeSet::numbers;
  template <class S>
  static S value(S x) {
    return x + x;
  }
});

INGOT_ROW(Near, {
  static constexpr const char* name = "near_row";
  static constexpr auto rule = ingot::DTypeRule::boolean;
  template <class S>
  static auto value(S a, S b) {
    return abs(a - b) < S(0.5);
  }
});

INGOT_ROW(Clash, {
  static constexpr const char* name = "tanh";
  template <class S>
  static S value(S x) {
    return x;
  }
});

INGOT_ROW(Twin, {
  static constexpr const char* name = "squareplus";
  template <class S>
  static S value(S x) {
    return x;
  }
});

INGOT_ROW(BadName, {
  static constexpr const char* name = "bad name";
  template <class S>
  static S value(S x) {
    return x;
  }
});

// Names that mean something to a compiler or to CUDA.
#define ROW_NAMED(Type, text)                   \
  INGOT_ROW(Type, {                             \
    static constexpr const char* name = text;   \
    template <class S>                          \
    static S value(S x) {                       \
      return min(sqrt(abs(x)), S(3)) + exp(-x); \
    }                                           \
  })
ROW_NAMED(NamedInt, "int");
ROW_NAMED(NamedFor, "for");
ROW_NAMED(NamedGlobal, "__global__");
ROW_NAMED(NamedFloat4, "float4");
ROW_NAMED(NamedThread, "threadIdx");
ROW_NAMED(half, "half");

// Its text needs what generated source does not have.
constexpr double kThird = 1.0 / 3;
INGOT_ROW(Outside, {
  static constexpr const char* name = "outside";
  template <class S>
  static S value(S x) {
    return x * S(kThird) + x;
  }
});

double squareplus(double x) { return (x + std::sqrt(x * x + 4)) / 2; }

TEST(UserRows, Values) {
  const Tensor x = noise({3, 50}, 1, kDouble);
  const Tensor y = op<Squareplus>(x);
  const std::vector<double> in = x.to_vector<double>(), out = y.to_vector<double>();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_DOUBLE_EQ(out[i], squareplus(in[i]));
  EXPECT_EQ(op<Squareplus>(noise({4})).dtype(), kFloat);
  EXPECT_EQ(op<Squareplus>(iota({4}, kInt64)).dtype(), kFloat);
  EXPECT_FLOAT_EQ(op<Squareplus>(3).item<float>(), static_cast<float>(squareplus(3)));
  EXPECT_EQ(op<Squareplus>(noise({4}).to(kHalf)).dtype(), kHalf);
}

TEST(UserRows, ShapesAndStrides) {
  const auto expect_rows = [](const Tensor& x) {
    EXPECT_TRUE(same_bits(op<Squareplus>(x), op<Squareplus>(x.clone().contiguous())));
  };
  expect_rows(noise({40, 70}).t());
  expect_rows(noise({1000}).slice(0, 1, {}, 3));
  expect_rows(noise({5, 1}).expand({5, 300}));
  EXPECT_EQ(op<Squareplus>(empty({0, 3})).sizes(), Dims({0, 3}));
  EXPECT_EQ(op<Squareplus>(scalar_tensor(1.0)).dim(), 0);
  const Tensor a = noise({300, 1}, 1, kDouble), b = noise({7}, 2, kDouble);
  EXPECT_TRUE(same_bits(op<Hypot>(a, b), sqrt(a * a + b * b)));
  EXPECT_TRUE(same_bits(op<Hypot>(a, 2.0), sqrt(a * a + 4.0)));
  EXPECT_TRUE(same_bits(op<Hypot>(2.0, b), sqrt(b * b + 4.0)));
}

TEST(UserRows, DTypes) {
  EXPECT_TRUE(has_values(op<Doubled>(iota({3}, kInt64)), {0, 2, 4}));
  EXPECT_EQ(op<Doubled>(iota({3}, kInt32)).dtype(), kInt32);
  const Tensor near = op<Near>(tensor({0, 1, 2}), 1.2);
  EXPECT_EQ(near.dtype(), kBool);
  EXPECT_TRUE(has_values(near, {0, 1, 0}));
  EXPECT_TRUE(contains(error_of([] { (void)op<Doubled>(iota({2}, kBool)); }),
                       "doubled: not defined for bool (bool[2]); at user_rows_test.cpp:"));
}

TEST(UserRows, EagerAndCompiledHaveTheSameBits) {
  for (DType t : {kFloat, kDouble}) {
    const Tensor a = noise({130, 7}, 1, t), b = noise({7}, 2, t);
    const auto f = [](const Tensor& x, const Tensor& y) {
      return op<Blend>(op<Hypot>(x * 2 + 1, y), op<Squareplus>(x - y), 0.3) * 0.7;
    };
    const Tensor eager = f(a, b);
    auto compiled = compile(f);
    for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(eager, compiled(a, b)));
    const std::string source = compiled.source();
    for (const char* row : {"struct Squareplus", "struct Hypot", "struct Blend"}) {
      EXPECT_TRUE(contains(source, row));
    }
    EXPECT_TRUE(contains(compiled.graph(), "squareplus"));
    (void)in_both_modes(f, a, b);
  }
}

TEST(UserRows, FusesWithRowsOfReductions) {
  const auto f = [](const Tensor& x) { return softmax(op<Squareplus>(x * 3), 1); };
  const Tensor x = noise({20, 600});
  const Tensor eager = f(x);
  auto compiled = compile(f);
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(eager, compiled(x)));
  EXPECT_TRUE(contains(compiled.source(), "struct Squareplus"));
}

TEST(UserRows, BitsDoNotDependOnTheUnitsFlags) {
  const Tensor x = noise({4099}, 5);
  const std::vector<Tensor> expected = user_rows::kPlain.eager(x);
  for (const user_rows::Unit* unit : {&user_rows::kPlain, &user_rows::kNative}) {
    for (int call = 0; call < 3; ++call) {
      const std::vector<Tensor> eager = unit->eager(x), compiled = unit->compiled(x);
      for (std::size_t i = 0; i < eager.size(); ++i) {
        EXPECT_TRUE(same_bits(eager[i], compiled[i])) << "result " << i;
        EXPECT_TRUE(same_bits(eager[i], expected[i])) << "result " << i;
      }
    }
  }
}

// The text uses what only its unit knows: it still runs, and fused groups agree with it.
TEST(UserRows, TextThatDoesNotStandAloneRunsInItsUnit) {
  const auto f = [](const Tensor& x) { return op<Outside>(x * 1.3) * 0.9 + 0.1; };
  const Tensor x = noise({1001});
  const Tensor eager = f(x);
  auto compiled = compile(f);
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(eager, compiled(x)));
  EXPECT_TRUE(contains(compiled.ledger().table(), "outside runs as its unit was compiled"));
}

// Registered as a test of its own with INGOT_CXX=none: no process is started, the unit's loop runs
// in eager ops and in groups, and says so.
TEST(UserRows, WithoutACompilerTheUnitsLoopRuns) {
  if (kernel_env().cxx != "none") GTEST_SKIP() << "needs INGOT_CXX=none";
  for (DType t : {kFloat, kDouble}) {
    const Tensor a = noise({130, 7}, 1, t), b = noise({7}, 2, t);
    const auto f = [](const Tensor& x, const Tensor& y) {
      Tensor leaf = x.detach().requires_grad_();
      Tensor z = op<Blend>(op<Hypot>(leaf * 2 + 1, y), op<Squareplus>(leaf - y), 0.3) * 0.7;
      z.sum().backward();
      return stack({z.detach(), leaf.grad()});
    };
    // The same formulas from built-in ops.
    const auto built_in = [](const Tensor& x, const Tensor& y) {
      const auto bend = [](const Tensor& v) { return (v + sqrt(v * v + 4)) * 0.5; };
      Tensor leaf = x.detach().requires_grad_();
      const Tensor p = leaf * 2 + 1, h = sqrt(p * p + y * y), s = bend(leaf - y);
      Tensor z = (h + (s - h) * 0.3) * 0.7;
      z.sum().backward();
      return stack({z.detach(), leaf.grad()});
    };
    const Tensor eager = f(a, b);
    EXPECT_TRUE(allclose(eager, built_in(a, b), t == kFloat ? 1e-5 : 1e-13, 1e-6));
    EXPECT_TRUE(same_bits(f(a.t().contiguous().t(), b), eager));
    const auto compiled = compile(f);
    for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(eager, compiled(a, b)));
    const Ledger ledger = compiled.ledger();
    EXPECT_EQ(ledger.hits, 2);
    EXPECT_EQ(ledger.compiles, 0);
    EXPECT_LT(ledger.launches_compiled, ledger.launches_eager);  // groups, tile by tile
    EXPECT_EQ(compiled.source(), "");
    (void)in_both_modes(f, a, b);
  }
}

TEST(UserRows, TrainingInsideCompile) {
  const auto make = [] {
    Tensor w = noise({8}, 3);
    w.requires_grad_();
    return [w](int call) mutable {
      Tensor loss = op<Blend>(op<Squareplus>(w * noise({5, 8}, 7 + std::uint64_t(call))), w, 0.25)
                        .square()
                        .sum();
      loss.backward();
      return std::vector<Tensor>{loss.detach(), w.grad().clone()};
    };
  };
  (void)same_as_eager(make);
  (void)same_as_eager(make, 3, {});
}

INGOT_ROW(HalfGrad, {
  static constexpr const char* name = "half_grad";
  template <class S>
  static S value(S a, S b) {
    return a * b;
  }
  template <class S>
  static S grad_a(S, S b, S, S dy) {
    return dy * b;
  }
});

// Eager and compiled: the row, its line and the missing function; nothing else is differentiated.
TEST(UserRows, BackwardThroughARowWithoutGradientIsRefused) {
  Tensor w = noise({4}, 1).requires_grad_();
  int line = 0;
  const auto f = [&](const Tensor& x) {
    line = __LINE__ + 1;
    Tensor y = op<NoGrad>(x * w);
    y.sum().backward();
    return y;
  };
  const auto compiled = compile(f, interpreted());
  const std::string error = error_of([&] { (void)f(ones({4})); });
  EXPECT_TRUE(contains(error, "backward: no_grad_row has no gradient"));
  EXPECT_TRUE(contains(error, "its row lacks a grad function"));
  EXPECT_TRUE(contains(error, "user_rows_test.cpp:" + std::to_string(line)));
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(error_of([&] { (void)compiled(ones({4})); }), error);
  }
  EXPECT_FALSE(w.grad().defined());
  Tensor a = noise({4}, 2).requires_grad_(), b = noise({4}, 3);
  op<HalfGrad>(a, b).sum().backward();
  EXPECT_TRUE(same_bits(a.grad(), b));
  EXPECT_TRUE(contains(error_of([&] { op<HalfGrad>(b, a).sum().backward(); }), "half_grad"));
  EXPECT_FALSE(op<NoGrad>(b).requires_grad());
}

TEST(UserRows, Names) {
  const Tensor x = ones({2});
  (void)op<Squareplus>(x);
  EXPECT_TRUE(contains(error_of([&] { (void)op<Clash>(x); }),
                       "op<Clash>: the name \"tanh\" is that of a built-in op"));
  for (int call = 0; call < 2; ++call) {
    EXPECT_TRUE(
        contains(error_of([&] { (void)op<Twin>(x); }),
                 "op<Twin>: the name \"squareplus\" is taken by another row, struct Squareplus"));
  }
  EXPECT_TRUE(contains(error_of([&] { (void)op<BadName>(x); }), "is no identifier"));
}

TEST(UserRows, NamesOfTheLanguageAreNamesLikeOthers) {
  const Tensor x = noise({1000}, 4);
  const Tensor expected = (minimum(sqrt(abs(x)), 3) + exp(-x)) * 2;
  const auto check = [&](const std::function<Tensor(const Tensor&)>& row) {
    const auto f = compile([&] { return row(x) * 2; });
    for (int call = 0; call < 3; ++call) EXPECT_TRUE(same_bits(f(), expected));
    EXPECT_TRUE(f.ledger().not_fused.empty());
  };
  check([](const Tensor& t) { return op<NamedInt>(t); });
  check([](const Tensor& t) { return op<NamedFor>(t); });
  check([](const Tensor& t) { return op<NamedGlobal>(t); });
  check([](const Tensor& t) { return op<NamedFloat4>(t); });
  check([](const Tensor& t) { return op<NamedThread>(t); });
  check([](const Tensor& t) { return op<half>(t); });
}

TEST(UserRows, ErrorsNameTheOpAndTheLine) {
  const std::string text = error_of([] { (void)op<Hypot>(ones({2, 3}), ones({4}, kFloat)); });
  EXPECT_TRUE(contains(text, "hypot_row"));
  EXPECT_TRUE(contains(text, "(f32[2, 3], f32[4]); at user_rows_test.cpp:"));
}

TEST(UserRows, TextIsPartOfTheSource) {
  const OpInfo* op = nullptr;
  UserRow row;
  OpInfo info{.name = "shape", .kind = OpKind::elementwise, .n_in = 1};
  info.user = &row;
  op = &info;
  row.row_name = "shape";
  row.text = {"Shape", "{ int a; }"};
  const std::string first = compiler::generate_loop(*op, kFloat);
  row.text = {"Shape", "{ int b; }"};
  EXPECT_NE(first, compiler::generate_loop(*op, kFloat));
  EXPECT_TRUE(contains(first, "namespace ingot::user::row_shape {\nstruct Shape { int a; };\n}"));
}

TEST(UserRows, ManyThreadsMeetANewRow) {
  std::vector<std::thread> threads;
  std::vector<Tensor> results(8);
  const Tensor x = noise({100}, 9);
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = op<NoGrad>(x); });
  }
  for (std::thread& t : threads) t.join();
  for (const Tensor& r : results) EXPECT_TRUE(same_bits(r, x * x));
}

TEST(UserRows, ProfilerSeesTheName) {
  std::string table;
  {
    profiler::Session session;
    (void)op<Squareplus>(ones({100}));
    session.stop();
    table = session.key_averages().table();
  }
  EXPECT_TRUE(contains(table, "squareplus"));
}

TEST(Gradcheck, PassesForRightGradients) {
  const Tensor x = noise({16}, 1, kDouble), y = noise({16}, 2, kDouble);
  const GradcheckResult one = gradcheck([](const Tensor& a) { return op<Squareplus>(a); }, x);
  EXPECT_TRUE(one) << one.text;
  EXPECT_LT(one.largest_error, 1e-9);
  EXPECT_TRUE(contains(one.text, "passed, 1 input along 4 directions"));
  const GradcheckResult two =
      gradcheck([](const Tensor& a, const Tensor& b) { return op<Hypot>(a, b); }, x + 4, y);
  EXPECT_TRUE(two) << two.text;
  const GradcheckResult three = gradcheck(
      [](const std::vector<Tensor>& in) { return op<Blend>(in[0], in[1], in[2]); }, {x, y, x * y});
  EXPECT_TRUE(three) << three.text;
  auto compiled = compile([](const Tensor& a) { return op<Squareplus>(a * 2).sum(); });
  const GradcheckResult of_compiled = gradcheck(compiled, noise({8}, 3));
  EXPECT_TRUE(of_compiled) << of_compiled.text;
}

TEST(Gradcheck, NamesInputAndDirectionOfAWrongGradient) {
  const GradcheckResult r =
      gradcheck([](const Tensor& a, const Tensor& b) { return a * 2 + op<WrongGrad>(b); },
                noise({4}, 1, kDouble), noise({4}, 2, kDouble));
  EXPECT_FALSE(r);
  for (const char* part : {"failed for input 1", "direction 0", "numeric derivative", "analytic",
                           "at user_rows_test.cpp:"}) {
    EXPECT_TRUE(contains(r.text, part));
  }
}

TEST(Gradcheck, SaysWhenThereIsNothingToCheck) {
  const Tensor x = noise({4}, 1, kDouble);
  EXPECT_TRUE(
      contains(error_of([&] { (void)gradcheck([](const Tensor& a) { return op<NoGrad>(a); }, x); }),
               "backward: no_grad_row has no gradient"));
  EXPECT_TRUE(
      contains(error_of([&] { (void)gradcheck([](const Tensor& a) { return a.detach(); }, x); }),
               "the result has no history"));
  EXPECT_TRUE(contains(
      error_of([&] { (void)gradcheck([](const Tensor& a) { return a; }, iota({3}, kInt64)); }),
      "no floating input"));
  EXPECT_TRUE(
      contains(error_of([&] { (void)gradcheck([](const Tensor& a) { return a * rand({4}); }, x); }),
               "another result for the same inputs"));
}

}  // namespace
}  // namespace ingot
