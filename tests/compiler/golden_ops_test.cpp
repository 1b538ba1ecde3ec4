// Elementwise cases of tests/golden/ops.txt (made by ops.py with PyTorch), eager and compiled.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "support/eager_and_compiled.h"

namespace ingot {
namespace {

using namespace testing_support;
using Unary = Tensor (*)(const Tensor&, Loc);
using Binary = Tensor (*)(const Arg&, const Arg&);

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

// A line "in|out dtype layout sizes : values".
Tensor read_tensor(std::istringstream& in) {
  std::string type, layout, word;
  in >> type >> layout;
  Dims sizes;
  while (in >> word && word != ":") sizes.push_back(std::strtoll(word.c_str(), nullptr, 10));
  std::vector<double> reals;
  std::vector<i64> integers;
  while (in >> word) {
    reals.push_back(std::strtod(word.c_str(), nullptr));
    integers.push_back(std::strtoll(word.c_str(), nullptr, 10));
  }
  DType t = type == "f32"   ? DType::f32
            : type == "f64" ? DType::f64
            : type == "i64" ? DType::i64
                            : DType::boolean;
  Tensor x = is_floating_point(t) ? from_vector(reals, sizes, t) : from_vector(integers, sizes, t);
  if (layout == "t") return x.dim() < 2 ? x : x.transpose(0, -1).contiguous().transpose(0, -1);
  if (layout == "s") return stack({x, x}, x.dim()).select(-1, 1);
  if (layout == "e") return x[{Slice(0, 1)}].expand(sizes);
  return x;
}

void expect_close(const Tensor& got, const Tensor& wanted, double rtol, double atol) {
  if (rtol == 0) {
    EXPECT_TRUE(same_bits(got, wanted));
    return;
  }
  ASSERT_TRUE(got.sizes() == wanted.sizes());
  ASSERT_EQ(got.dtype(), wanted.dtype());
  EXPECT_TRUE(allclose(got, wanted, rtol, atol, true)) << to_string(got) << to_string(wanted);
}

TEST(GoldenOps, ElementwiseGivesPyTorchsResults) {
  std::ifstream file(INGOT_SOURCE_DIR "/tests/golden/ops.txt");
  ASSERT_TRUE(file.good());
  std::string text, op, word;
  double rtol = 0, atol = 0;
  std::vector<Tensor> in, out;
  std::vector<Scalar> numbers;
  std::string order;
  int line = 0, checked = 0;
  while (std::getline(file, text)) {
    ++line;
    std::istringstream words(text);
    words >> word;
    if (word == "case") {
      words >> op >> rtol >> atol;
      in.clear(), out.clear(), numbers.clear(), order.clear();
    } else if (word == "in") {
      in.push_back(read_tensor(words)), order += 't';
    } else if (word == "out") {
      out.push_back(read_tensor(words));
    } else if (word == "number") {
      std::string kind, value;
      words >> kind >> value;
      numbers.push_back(kind == "f64" ? Scalar(std::strtod(value.c_str(), nullptr))
                                      : Scalar(std::strtoll(value.c_str(), nullptr, 10)));
      order += 'n';
    } else if (word == "end") {
      SCOPED_TRACE(op + ", ops.txt:" + std::to_string(line));
      auto unary = kUnary.find(op);
      auto binary = kBinary.find(op);
      Tensor got;
      if (unary != kUnary.end()) {
        got = in_both_modes([f = unary->second](const Tensor& x) { return f(x, Loc::here()); },
                            in.at(0));
      } else if (binary == kBinary.end()) {
        continue;
      } else if (order == "tt") {
        got = in_both_modes(
            [f = binary->second](const Tensor& a, const Tensor& b) { return f(a, b); }, in[0],
            in[1]);
      } else {
        got = in_both_modes([f = binary->second, n = numbers.at(0), left = order == "nt"](
                                const Tensor& x) { return left ? f(n, x) : f(x, n); },
                            in.at(0));
      }
      expect_close(got, out.at(0), rtol, atol);
      ++checked;
    }
  }
  EXPECT_GT(checked, 400);
}

}  // namespace
}  // namespace ingot
