// Generated CUDA kernels as one unit for NVRTC.
// Owns: Unit. Needs no GPU. Must not know: what kernels do.
#pragma once

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ingot/compiler/cuda/nvrtc.h>
#include <ingot/compiler/jit/embedded_text.h>

namespace ingot::compiler {

// Several kernels as one unit: NVRTC takes 40 ms for each unit, whatever is in it.
class Unit {
 public:
  explicit Unit(const jit::EmbeddedText& prelude) : prelude_(prelude.text, prelude.size) {}
  void add(std::string text) {
    const std::string name = fmt::format("ingot_run{}", count_);
    for (std::size_t at = 0; (at = text.find("ingot_run", at)) != std::string::npos;
         at += name.size()) {
      text.replace(at, 9, name);
    }
    body_ += fmt::format("namespace unit{} {{\n{}}}\n", count_++, text);
  }
  void compile(int architecture = 90) const {
    const NvrtcResult result = nvrtc_compile(prelude_, body_, architecture);
    EXPECT_EQ(result.error, "") << body_;
    EXPECT_GT(result.cubin.size(), 0u);
  }
  int count() const { return count_; }

 private:
  std::string prelude_;
  std::string body_;
  int count_ = 0;
};

}  // namespace ingot::compiler
