// Literal: a number, or a list of literals, as tensor({{1, 2}, {3, 4}}) is written.
// Owns: the tree that braces become; it lives as long as the expression with the braces. Must not
// know: tensors.
#pragma once

#include <cstddef>
#include <initializer_list>

#include <ingot/kernels/core/dims.h>

namespace ingot {

class Literal {
 public:
  template <Number T>
  Literal(T number) : number_(number) {}
  Literal(Scalar number) : number_(number) {}
  Literal(std::initializer_list<Literal> list) : is_list_(true) {
    begin_ = list.begin();
    size_ = list.size();
  }
  bool is_list() const { return is_list_; }
  Scalar number() const { return number_; }
  std::size_t size() const { return size_; }
  const Literal* begin() const { return begin_; }
  const Literal* end() const { return begin_ + size_; }

 private:
  Scalar number_;
  bool is_list_ = false;
  const Literal* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace ingot
