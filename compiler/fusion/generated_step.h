// GeneratedStep: a fused group that runs by a compiled kernel once it has one, by interpretation
// before. Must not know: how kernels are compiled.
#pragma once

#include <memory>
#include <string>

#include <ingot/compiler/plan.h>
#include <ingot/kernels/kernel_table.h>

namespace ingot::compiler {

class GeneratedStep : public Step {
 public:
  // The body of a unit whose prelude is the embedded rows; its function is extern "C" ingot_run.
  virtual std::string source(const Segment& segment) const = 0;
  // Whether that text calls the reductions and formulas of kernels/ops/row_formulas.h.
  virtual bool needs_row_formulas() const { return false; }
  // Why no kernel may replace the interpreter: empty, or a row of the user's whose eager loop is
  // not of generated code, so that a kernel's bits could differ.
  const std::string& refusal() const { return refusal_; }
  // The ops' names: "mul add tanh".
  const std::string& names() const { return names_; }
  // The line of the group's first op.
  Loc loc() const { return loc_; }
  void set_loc(Loc loc) { loc_ = loc; }

  using Function = void (*)();
  // The kernel to use from now on; `owner` keeps it loaded.
  void set_kernel(Function function, std::shared_ptr<const void> owner) {
    function_ = function;
    owner_ = std::move(owner);
  }

 protected:
  explicit GeneratedStep(std::string names) : names_(std::move(names)) {}
  // The eager loop of an elementwise row.
  LoopFn eager_loop(const OpInfo& op, DType compute);
  // Null before set_kernel.
  template <class F>
  F kernel() const {
    return reinterpret_cast<F>(function_);
  }

 private:
  std::string names_, refusal_;
  Loc loc_ = Loc::here();
  Function function_ = nullptr;
  std::shared_ptr<const void> owner_;
};

}  // namespace ingot::compiler
