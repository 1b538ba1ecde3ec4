// Reader of tests/golden/ops.txt, whose format its maker ops.py describes.
// Owns: GoldenCase, read_golden_cases. Must not know: what the ops do.
#pragma once

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <ingot/runtime/ops.h>

namespace ingot::testing_support {

struct GoldenCase {
  std::string op;
  int line = 0;  // of its "end"
  double rtol = 0, atol = 0;
  std::string order;  // of the operands: 't' a tensor, 'n' a number
  std::vector<Tensor> in, out;
  std::vector<Scalar> numbers;
  std::map<std::string, std::vector<double>> attrs;

  bool has(const std::string& name) const { return attrs.count(name) != 0; }
  double real(const std::string& name, double otherwise) const {
    return has(name) ? attrs.at(name).at(0) : otherwise;
  }
  int integer(const std::string& name, int otherwise = 0) const {
    return static_cast<int>(real(name, otherwise));
  }
  Dims dims(const std::string& name) const {
    Dims result;
    for (double v : attrs.at(name)) result.push_back(static_cast<i64>(v));
    return result;
  }
};

// A line "dtype layout sizes : values".
inline Tensor read_golden_tensor(std::istringstream& in) {
  static const std::map<std::string, DType> kTypes = {
      {"f32", DType::f32}, {"f64", DType::f64}, {"i64", DType::i64}, {"bool", DType::boolean}};
  std::string type, layout, word;
  in >> type >> layout;
  const DType t = kTypes.at(type);
  Dims sizes;
  while (in >> word && word != ":") sizes.push_back(std::strtoll(word.c_str(), nullptr, 10));
  std::vector<double> reals;
  std::vector<i64> integers;
  while (in >> word) {
    reals.push_back(std::strtod(word.c_str(), nullptr));
    integers.push_back(std::strtoll(word.c_str(), nullptr, 10));
  }
  Tensor x = is_floating_point(t) ? from_vector(reals, sizes, t) : from_vector(integers, sizes, t);
  if (layout == "t") return x.dim() < 2 ? x : x.transpose(0, -1).contiguous().transpose(0, -1);
  if (layout == "s") return stack({x, x}, x.dim()).select(-1, 1);
  if (layout == "e") return x[{Slice(0, 1)}].expand(sizes);
  return x;
}

inline std::vector<GoldenCase> read_golden_cases(const std::string& path) {
  std::ifstream file(path);
  std::vector<GoldenCase> cases;
  GoldenCase current;
  std::string text, word, name;
  for (int line = 1; std::getline(file, text); ++line) {
    std::istringstream words(text);
    words >> word;
    if (word == "case") {
      current = {};
      words >> current.op >> current.rtol >> current.atol;
    } else if (word == "in") {
      current.in.push_back(read_golden_tensor(words));
      current.order += 't';
    } else if (word == "out") {
      current.out.push_back(read_golden_tensor(words));
    } else if (word == "number") {
      words >> word >> name;
      current.numbers.push_back(word == "f64" ? Scalar(std::strtod(name.c_str(), nullptr))
                                              : Scalar(std::strtoll(name.c_str(), nullptr, 10)));
      current.order += 'n';
    } else if (word == "attr") {
      words >> name;
      std::vector<double>& values = current.attrs[name];
      while (words >> word) values.push_back(std::strtod(word.c_str(), nullptr));
    } else if (word == "end") {
      current.line = line;
      cases.push_back(current);
    } else if (word != "#") {
      throw std::runtime_error(path + ":" + std::to_string(line) + ": unknown line");
    }
  }
  return cases;
}

}  // namespace ingot::testing_support
