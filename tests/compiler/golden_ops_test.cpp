// Every case of tests/golden/ops.txt (made by ops.py with PyTorch), eager and compiled, and a check
// that no op lacks one.
#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>

#include <ingot/kernels/ops/registry.h>
#include <ingot/runtime/observer.h>

#include "support/eager_and_compiled.h"
#include "support/golden_cases.h"

namespace ingot {
namespace {

using namespace testing_support;
using Tensors = std::vector<Tensor>;
using Unary = Tensor (*)(const Tensor&, Loc);
using Binary = Tensor (*)(const Arg&, const Arg&);
using Run = std::function<Tensors(const GoldenCase&)>;

const std::map<std::string, Unary> kUnary = {{"neg", neg},
                                             {"abs", abs},
                                             {"sign", sign},
                                             {"exp", exp},
                                             {"expm1", expm1},
                                             {"log", log},
                                             {"log1p", log1p},
                                             {"sqrt", sqrt},
                                             {"rsqrt", rsqrt},
                                             {"square", square},
                                             {"reciprocal", reciprocal},
                                             {"tanh", tanh},
                                             {"sigmoid", sigmoid},
                                             {"erf", erf},
                                             {"relu", relu},
                                             {"silu", silu},
                                             {"softplus", softplus},
                                             {"sin", sin},
                                             {"cos", cos},
                                             {"floor", floor},
                                             {"ceil", ceil},
                                             {"trunc", trunc},
                                             {"round", round},
                                             {"logical_not", logical_not},
                                             {"isnan", isnan}};
const std::map<std::string, Binary> kBinary = {{"add", add},
                                               {"sub", sub},
                                               {"mul", mul},
                                               {"div", div},
                                               {"pow", pow},
                                               {"maximum", maximum},
                                               {"minimum", minimum},
                                               {"floor_divide", floor_divide},
                                               {"remainder", remainder},
                                               {"fmod", fmod},
                                               {"eq", eq},
                                               {"ne", ne},
                                               {"lt", lt},
                                               {"le", le},
                                               {"gt", gt},
                                               {"ge", ge},
                                               {"logical_and", logical_and},
                                               {"logical_or", logical_or}};

Tensors elementwise(const GoldenCase& c, Binary f) {
  if (c.order == "tt") return {f(c.in[0], c.in[1])};
  return {c.order == "nt" ? f(c.numbers[0], c.in[0]) : f(c.in[0], c.numbers[0])};
}

std::optional<Scalar> bound(const GoldenCase& c, const std::string& name) {
  if (!c.has(name)) return {};
  return Scalar(c.real(name, 0));
}

std::optional<i64> place(const GoldenCase& c, const std::string& name) {
  if (!c.has(name)) return {};
  return c.integer(name);
}

// One reduction over the case's axes, or over all of them.
template <class All, class Some>
Run reduction(All all, Some some) {
  return [=](const GoldenCase& c) -> Tensors {
    if (!c.has("axes")) return {all(c.in[0])};
    return {some(c.in[0], c.dims("axes"), c.integer("keepdim") != 0)};
  };
}
#define INGOT_REDUCTION(op)                                                                       \
  {                                                                                               \
#op, reduction([](const Tensor& x) { return x.op(); },                                        \
                   [](const Tensor& x, const Dims& axes, bool keep) { return x.op(axes, keep); }) \
  }
#define INGOT_ONE(op, expression)                                   \
  {                                                                 \
    op, [](const GoldenCase& c) -> Tensors { return {expression}; } \
  }

Tensors arg_of(const GoldenCase& c, bool largest) {
  const Tensor& x = c.in[0];
  if (!c.has("axis")) return {largest ? argmax(x) : argmin(x)};
  const int axis = c.integer("axis");
  const bool keep = c.integer("keepdim") != 0;
  return {largest ? argmax(x, axis, keep) : argmin(x, axis, keep)};
}

Tensors extreme(const ValuesIndices& r) { return {r.values, r.indices}; }

Tensor loss(const GoldenCase& c) {
  static constexpr std::string_view kReductions[] = {"mean", "none", "sum"};
  return cross_entropy(c.in[0], c.in[1],
                       {.weight = c.in.size() > 2 ? c.in[2] : Tensor(),
                        .reduction = kReductions[c.integer("reduction")],
                        .ignore_index = c.integer("ignore"),
                        .label_smoothing = c.real("smoothing", 0)});
}

Tensor range(const GoldenCase& c) {
  if (c.numbers.size() == 1) return arange(c.numbers[0]);
  return arange(c.numbers[0], c.numbers[1], c.numbers[2]);
}

const std::map<std::string, Run> kOthers = {
    INGOT_ONE("gelu", gelu(c.in[0])),
    INGOT_ONE("gelu_tanh", gelu(c.in[0], "tanh")),
    INGOT_ONE("where", where(c.in[0], c.in[1], c.in[2])),
    INGOT_ONE("clamp", clamp(c.in[0], bound(c, "min"), bound(c, "max"))),
    INGOT_ONE("lerp", c.in.size() > 2 ? lerp(c.in[0], c.in[1], c.in[2])
                                      : lerp(c.in[0], c.in[1], c.numbers[0])),
    INGOT_ONE("addcmul", addcmul(c.in[0], c.in[1], c.in[2], c.real("value", 1))),
    INGOT_ONE("addcdiv", addcdiv(c.in[0], c.in[1], c.in[2], c.real("value", 1))),
    INGOT_ONE("view", view(c.in[0], c.dims("sizes"))),
    INGOT_ONE("narrow",
              narrow(c.in[0], c.integer("axis"), c.integer("start"), c.integer("length"))),
    INGOT_ONE("flatten", flatten(c.in[0], c.integer("start", 0), c.integer("end", -1))),
    INGOT_ONE("zeros_like", zeros_like(c.in[0])),
    INGOT_ONE("ones_like", ones_like(c.in[0])),
    INGOT_ONE("full_like", full_like(c.in[0], c.numbers[0])),
    INGOT_ONE("empty_like", empty_like(c.in[0])),
    INGOT_ONE("empty", empty(c.dims("sizes"))),
    INGOT_ONE("scalar_tensor", scalar_tensor(c.numbers[0])),
    INGOT_ONE("tensor", tensor({c.attrs.at("values")[0], c.attrs.at("values")[1],
                                c.attrs.at("values")[2]})),
    INGOT_ONE("equal", scalar_tensor(equal(c.in[0], c.in[1]))),
    INGOT_ONE("allclose", scalar_tensor(allclose(c.in[0], c.in[1], c.real("relative", 1e-5),
                                                 c.real("absolute", 1e-8), c.integer("nan") != 0))),
    INGOT_ONE("reshape", reshape(c.in[0], c.dims("sizes"))),
    INGOT_ONE("permute", permute(c.in[0], c.dims("axes"))),
    INGOT_ONE("transpose", transpose(c.in[0], static_cast<int>(c.dims("axes")[0]),
                                     static_cast<int>(c.dims("axes")[1]))),
    INGOT_ONE("slice", slice(c.in[0], c.integer("axis"), place(c, "start"), place(c, "stop"),
                             c.integer("step", 1))),
    INGOT_ONE("select", select(c.in[0], c.integer("axis"), c.integer("index"))),
    INGOT_ONE("unsqueeze", unsqueeze(c.in[0], c.integer("axis"))),
    INGOT_ONE("squeeze", c.has("axis") ? squeeze(c.in[0], c.integer("axis")) : squeeze(c.in[0])),
    INGOT_ONE("expand", expand(c.in[0], c.dims("sizes"))),
    INGOT_ONE("detach", detach(c.in[0])),
    INGOT_ONE("flip", flip(c.in[0], c.dims("axes"))),
    INGOT_ONE("clone", clone(c.in[0])),
    INGOT_ONE("contiguous", contiguous(c.in[0])),
    INGOT_ONE("cat", cat(c.in, c.integer("axis"))),
    INGOT_ONE("stack", stack(c.in, c.integer("axis"))),
    INGOT_ONE("index_select", index_select(c.in[0], c.integer("axis"), c.in[1])),
    INGOT_ONE("index_add", index_add(c.in[0], c.integer("axis"), c.in[1], c.in[2])),
    INGOT_ONE("gather", gather(c.in[0], c.integer("axis"), c.in[1])),
    INGOT_ONE("scatter_add", scatter_add(c.in[0], c.integer("axis"), c.in[1], c.in[2])),
    INGOT_ONE("embedding", embedding(c.in[0], c.in[1])),
    INGOT_ONE("index", c.in[0].index({c.in[1]})),
    INGOT_ONE("nonzero", nonzero(c.in[0])),
    INGOT_ONE("masked_select", masked_select(c.in[0], c.in[1])),
    INGOT_ONE("one_hot", one_hot(c.in[0], c.integer("classes"))),
    INGOT_ONE("copy_", c.in[0].clone().copy_(c.in[1])),
    INGOT_ONE("fill_", c.in[0].clone().fill_(c.numbers[0])),
    INGOT_ONE("index_put_",
              c.in[0].clone().index_put_({c.in[1]}, c.in[2], c.integer("accumulate") != 0)),
    INGOT_ONE("to_i64", c.in[0].to(kInt64)),
    INGOT_ONE("to_f64", c.in[0].to(kFloat64)),
    INGOT_ONE("to_bool", c.in[0].to(kBool)),
    INGOT_ONE("to_f32", c.in[0].to(DType::f32)),
    INGOT_ONE("zeros", zeros(c.dims("sizes"))),
    INGOT_ONE("ones", ones(c.dims("sizes"))),
    INGOT_ONE("full", full(c.dims("sizes"), c.numbers[0])),
    INGOT_ONE("eye", eye(c.integer("n"))),
    INGOT_ONE("arange", range(c)),
    INGOT_REDUCTION(sum),
    INGOT_REDUCTION(mean),
    INGOT_REDUCTION(prod),
    INGOT_REDUCTION(amax),
    INGOT_REDUCTION(amin),
    INGOT_REDUCTION(any),
    INGOT_REDUCTION(all),
    INGOT_ONE("var",
              var(c.in[0], c.dims("axes"), c.integer("correction", 1), c.integer("keepdim") != 0)),
    INGOT_ONE("std", c.in[0].std(c.dims("axes"), c.integer("correction", 1),
                                 c.integer("keepdim") != 0)),
    {"topk",
     [](const GoldenCase& c) {
       return extreme(topk(c.in[0], c.integer("k"), c.integer("axis"), c.integer("largest") != 0));
     }},
    {"max_dim", [](const GoldenCase& c) { return extreme(max(c.in[0], c.integer("axis"))); }},
    {"min_dim", [](const GoldenCase& c) { return extreme(min(c.in[0], c.integer("axis"))); }},
    {"argmax", [](const GoldenCase& c) { return arg_of(c, true); }},
    {"argmin", [](const GoldenCase& c) { return arg_of(c, false); }},
    INGOT_ONE("softmax", softmax(c.in[0], c.integer("axis"))),
    INGOT_ONE("log_softmax", log_softmax(c.in[0], c.integer("axis"))),
    INGOT_ONE("logsumexp", logsumexp(c.in[0], c.integer("axis"))),
    INGOT_ONE("matmul", matmul(c.in[0], c.in[1])),
    INGOT_ONE("addmm", addmm(c.in[0], c.in[1], c.in[2], c.real("beta", 1), c.real("alpha", 1))),
    INGOT_ONE("linear", linear(c.in[0], c.in[1], c.in.size() > 2 ? c.in[2] : Tensor())),
    INGOT_ONE("layer_norm",
              layer_norm(c.in[0], c.dims("normalized"), c.in.size() > 1 ? c.in[1] : Tensor(),
                         c.in.size() > 2 ? c.in[2] : Tensor(), c.real("eps", 1e-5))),
    INGOT_ONE("cross_entropy", loss(c)),
    INGOT_ONE("mse_loss", mse_loss(c.in[0], c.in[1])),
};
#undef INGOT_REDUCTION
#undef INGOT_ONE

Tensors run(const GoldenCase& c) {
  if (auto it = kUnary.find(c.op); it != kUnary.end()) return {it->second(c.in[0], Loc::here())};
  if (auto it = kBinary.find(c.op); it != kBinary.end()) return elementwise(c, it->second);
  auto it = kOthers.find(c.op);
  if (it == kOthers.end()) throw std::runtime_error("nothing runs the cases of " + c.op);
  return it->second(c);
}

const std::vector<GoldenCase>& all_cases() {
  static const std::vector<GoldenCase> cases =
      read_golden_cases(INGOT_SOURCE_DIR "/tests/golden/ops.txt");
  return cases;
}

void expect_close(const Tensor& got, const Tensor& wanted, const GoldenCase& c) {
  if (c.rtol == 0 || !got.is_floating_point()) {
    EXPECT_TRUE(same_bits(got, wanted));
    return;
  }
  ASSERT_TRUE(got.sizes() == wanted.sizes()) << to_string(got) << to_string(wanted);
  ASSERT_EQ(got.dtype(), wanted.dtype());
  EXPECT_TRUE(allclose(got, wanted, c.rtol, c.atol, true)) << to_string(got) << to_string(wanted);
}

TEST(GoldenOps, GivePyTorchsResults) {
  EXPECT_GT(all_cases().size(), 700u);
  for (const GoldenCase& c : all_cases()) {
    SCOPED_TRACE(c.op + ", ops.txt:" + std::to_string(c.line));
    try {
      const Tensors got = run(c);
      ASSERT_EQ(got.size(), c.out.size());
      for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], c.out[i], c);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

// Recorded, then replayed twice, with and without verification and fusion. In parts, which run side
// by side: what watches each access to memory makes this test hundreds of times as slow.
constexpr int kGoldenParts = 8;
class GoldenOpsPart : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Of8, GoldenOpsPart, testing::Range(0, kGoldenParts));

TEST_P(GoldenOpsPart, CompiledGiveEagersBits) {
  const std::vector<GoldenCase>& cases = all_cases();
  for (auto at = static_cast<std::size_t>(GetParam()); at < cases.size(); at += kGoldenParts) {
    const GoldenCase& c = cases[at];
    SCOPED_TRACE(c.op + ", ops.txt:" + std::to_string(c.line));
    try {
      const Tensors eager = run(c);
      for (const CompileOptions& options :
           {verified(), CompileOptions{.disable = {"fusion"}}, interpreted()}) {
        auto compiled = compile([&c] { return run(c); }, options);
        for (int call = 0; call < 3; ++call) {
          const Tensors got = compiled();
          ASSERT_EQ(got.size(), eager.size());
          for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(eager[i], got[i]));
        }
        EXPECT_EQ(compiled.ledger().hits, 2) << compiled.ledger().table();
      }
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

using UnaryWrite = Tensor& (Tensor::*)(Loc) &;
using BinaryWrite = Tensor& (Tensor::*)(const Arg&)&;
const std::map<std::string, UnaryWrite> kUnaryWrites = {
    {"neg", &Tensor::neg_},       {"abs", &Tensor::abs_},
    {"exp", &Tensor::exp_},       {"log", &Tensor::log_},
    {"sqrt", &Tensor::sqrt_},     {"rsqrt", &Tensor::rsqrt_},
    {"square", &Tensor::square_}, {"reciprocal", &Tensor::reciprocal_},
    {"tanh", &Tensor::tanh_},     {"sigmoid", &Tensor::sigmoid_},
    {"relu", &Tensor::relu_},     {"floor", &Tensor::floor_},
    {"ceil", &Tensor::ceil_},     {"round", &Tensor::round_}};
const std::map<std::string, BinaryWrite> kBinaryWrites = {{"add", &Tensor::add_},
                                                          {"sub", &Tensor::sub_},
                                                          {"mul", &Tensor::mul_},
                                                          {"div", &Tensor::div_},
                                                          {"pow", &Tensor::pow_}};

// The case through the method that writes its first operand, or nothing where there is none.
std::optional<Tensor> written(const GoldenCase& c) {
  if (c.order.empty() || c.order[0] != 't' || c.out.size() != 1) return {};
  Tensor x = c.in[0].clone();
  if (!(x.sizes() == c.out[0].sizes()) || x.dtype() != c.out[0].dtype()) return {};
  if (auto it = kUnaryWrites.find(c.op); it != kUnaryWrites.end())
    return (x.*it->second)(Loc::here());
  if (auto it = kBinaryWrites.find(c.op); it != kBinaryWrites.end()) {
    return c.in.size() > 1 ? (x.*it->second)(c.in[1]) : (x.*it->second)(c.numbers[0]);
  }
  if (c.op == "clamp") return x.clamp_(bound(c, "min"), bound(c, "max"));
  if (c.op == "lerp" && c.in.size() > 2) return x.lerp_(c.in[1], c.in[2]);
  if (c.op == "lerp") return x.lerp_(c.in[1], c.numbers[0]);
  if (c.op == "addcmul") return x.addcmul_(c.in[1], c.in[2], c.real("value", 1));
  if (c.op == "addcdiv") return x.addcdiv_(c.in[1], c.in[2], c.real("value", 1));
  return {};
}

TEST(GoldenOps, MethodsThatWriteGiveThemToo) {
  std::set<std::string> ops;
  for (const GoldenCase& c : all_cases()) {
    SCOPED_TRACE(c.op + ", ops.txt:" + std::to_string(c.line));
    try {
      const std::optional<Tensor> got = written(c);
      if (!got) continue;
      ops.insert(c.op);
      expect_close(*got, c.out[0], c);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
  EXPECT_EQ(ops.size(), kUnaryWrites.size() + kBinaryWrites.size() + 4);
}

struct OpNames : Observer {
  void begin(const Event& event) override {
    if (event.op != nullptr) seen.insert(event.op->name);
  }
  void end() override {}
  void memory(const MemoryEvent&) override {}
  std::set<std::string> seen;
};

// Ops without golden values of their own, each for a reason. Gradient rows and backward ops: the
// tests of gradients hold them against differences. Random ops: their numbers are Philox's, not
// PyTorch's. as_strided: no public function gives it.
bool is_exempt(const OpInfo& op) {
  static const std::set<std::string> kExempt = {
      "rand", "randn", "randint", "uniform_", "normal_", "native_dropout", "as_strided"};
  const std::string name = op.name;
  return name.find("backward") != std::string::npos || kExempt.count(name) != 0 ||
         (op.id >= rows::ValueRows::size && op.id < structured::kFirstId);
}

TEST(GoldenOps, NoOpIsWithoutACase) {
  OpNames names;
  g_observer.store(&names);
  for (const GoldenCase& c : all_cases()) (void)error_of([&] { (void)run(c); });
  g_observer.store(nullptr);
  for (const OpInfo* op : all_ops()) {
    if (is_exempt(*op)) continue;
    EXPECT_EQ(names.seen.count(op->name), 1u) << op->name;
  }
}

// Public functions and methods without golden values, by reason. What reads or shows a tensor is
// tested where it belongs.
const std::map<std::string, std::string> kWithoutCases = {{"rand", "random"},
                                                          {"randn", "random"},
                                                          {"rand_like", "random"},
                                                          {"randn_like", "random"},
                                                          {"randint", "random"},
                                                          {"randperm", "random"},
                                                          {"dropout", "random"},
                                                          {"uniform_", "random"},
                                                          {"normal_", "random"},
                                                          {"from_vector", "how cases are read"},
                                                          {"from_numbers", "from_vector's"},
                                                          {"from_blob", "borrows"},
                                                          {"cpu", "one device"},
                                                          {"cuda", "one device"},
                                                          {"grad", "autograd"},
                                                          {"mutable_grad", "autograd"},
                                                          {"requires_grad_", "autograd"},
                                                          {"pin_memory", "moves nothing"},
                                                          {"is_pinned", "no result"},
                                                          {"debug", "for debuggers"}};
// Names in the code and in ops.txt that differ.
const std::map<std::string, std::string> kCaseNames = {{"to", "to_i64"},
                                                       {"t", "transpose"},
                                                       {"zero_", "fill_"},
                                                       {"max", "max_dim"},
                                                       {"min", "min_dim"}};

TEST(GoldenOps, NoPublicFunctionIsWithoutACase) {
  std::set<std::string> tested;
  for (const GoldenCase& c : all_cases()) tested.insert(c.op);
  for (const auto& [op, write] : kUnaryWrites) tested.insert(op + "_");
  for (const auto& [op, write] : kBinaryWrites) tested.insert(op + "_");
  for (const char* op : {"clamp_", "lerp_", "addcmul_", "addcdiv_"}) tested.insert(op);
  std::set<std::string> found;
  const std::regex declaration(
      R"(^\s*(?:const )?(?:struct )?(?:Tensor&?|ValuesIndices|bool) (\w+)\(.*)");
  for (const char* header : {"/runtime/ops.h", "/runtime/tensor.h"}) {
    std::ifstream file(std::string(INGOT_SOURCE_DIR) + header);
    ASSERT_TRUE(file);
    std::smatch match;
    bool in_tensor = std::string(header) == "/runtime/ops.h";
    for (std::string line; std::getline(file, line);) {
      in_tensor |= line.find("  // Ops as methods") == 0;  // before it: what is no op
      if (in_tensor && std::regex_match(line, match, declaration)) found.insert(match[1]);
      if (line.find("  TensorImpl* impl()") == 0) in_tensor = false;
    }
  }
  EXPECT_GT(found.size(), 130u);
  for (const std::string& name : found) {
    if (kWithoutCases.count(name) != 0) continue;
    const auto other = kCaseNames.find(name);
    EXPECT_EQ(tested.count(other == kCaseNames.end() ? name : other->second), 1u) << name;
  }
  for (const auto& [name, reason] : kWithoutCases) EXPECT_EQ(tested.count(name), 0u) << name;
}

// What holds for every randperm: its numbers are Philox's, not PyTorch's.
TEST(GoldenOps, RandpermIsAPermutation) {
  for (const i64 n : {0, 1, 2, 7, 1000}) {
    manual_seed(5);
    const Tensor a = randperm(n), b = randperm(n);
    EXPECT_EQ(a.dtype(), DType::i64);
    for (const Tensor& p : {a, b}) {
      std::vector<i64> values = p.to_vector<i64>();
      std::sort(values.begin(), values.end());
      EXPECT_EQ(values, arange(n).to_vector<i64>());
    }
    if (n > 10) {
      EXPECT_FALSE(equal(a, b));
      EXPECT_FALSE(equal(a, arange(n)));
    }
    manual_seed(5);
    EXPECT_TRUE(equal(a, randperm(n)));
  }
  // Every place is about equally likely to get every number.
  int counts[4][4] = {};
  for (int i = 0; i < 1000; ++i) {
    const std::vector<i64> p = randperm(4).to_vector<i64>();
    for (std::size_t k = 0; k < 4; ++k) ++counts[k][p[k]];
  }
  for (const auto& row : counts) {
    for (int count : row) EXPECT_NEAR(count, 250, 70);
  }
  EXPECT_TRUE(contains(error_of([] { (void)randperm(-1); }), "randperm"));
}

}  // namespace
}  // namespace ingot
