// One run of a random program: the tensors in reach, the choices, and what each statement does.
// Must not know: how runs are compared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/fuzz_program.h"

namespace ingot::fuzz {

class Run {
 public:
  Run(World& world, const Features& features, bool restless, int call,
      std::vector<std::string>* listing);

  void step(const Statement& statement);
  std::vector<Tensor> results(std::uint64_t seed);

 private:
  struct Named {
    Tensor tensor;
    int id;
  };

  void execute(Kind kind);

  // --- what statements are made of (fuzz_run.cpp) ---
  const Tensor& any();                      // a tensor in reach
  Tensor floating();                        // one of a floating dtype
  Tensor full_precision();                  // of f32 or f64
  Tensor partner(const Tensor& t);          // whose shape broadcasts with t's
  Tensor index_below(i64 size, i64 count);  // [count], i64
  // Any index into no rows is a data error, which a GPU finds where the host waits.
  static bool refuses_later(const Tensor& x) {
    return default_device().is_cuda() && x.size(0) == 0;
  }
  Dims axes_of(const Tensor& t);  // any of its axes
  int axis_of(const Tensor& t);
  double scalar();
  i64 whole();
  void push(Tensor t);
  void name(std::string_view what) { line_ += what; }
  int choose(int n) { return shape_.below(n); }
  void log(double value) { world_.log(value); }
  void log_error(const std::exception& error);

  // --- fuzz_elementwise.cpp ---
  void unary();
  void binary();
  void with_scalar();
  void cast();
  // --- fuzz_shapes.cpp ---
  void view();
  void reduction();
  void product();
  void composite();
  void along_rows();
  void indexing();
  // --- fuzz_effects.cpp ---
  void write();
  void observe();
  void random();
  void drop();
  void escape();
  void host();
  void error();
  void guard();
  void nested();
  void throws();
  // --- fuzz_gradients.cpp ---
  void backward();
  void hook();
  // --- fuzz_pointers.cpp ---
  void pointer();

  World& world_;
  const Features& features_;
  bool restless_;
  int call_;
  std::vector<std::string>* listing_;
  std::string line_;
  Dice shape_{0};  // the same in every call
  Dice value_{0};  // another in every call
  std::vector<Named> pool_;
  int next_id_ = 0;
  std::vector<Tensor> retained_;  // that retain_grad was called on
  struct Pointer {
    Tensor keep;
    float* data;
    i64 n;
  };
  std::vector<Pointer> pointers_;
};

}  // namespace ingot::fuzz
