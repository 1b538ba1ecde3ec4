// Generated CUDA kernels as one unit for NVRTC.
// Owns: Unit. Needs no GPU. Must not know: what kernels do.
#pragma once

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ingot/compiler/cuda/nvrtc.h>

namespace ingot::compiler {

// Several kernels as one unit: NVRTC takes 40 ms for each unit, whatever is in it.
class Unit {
 public:
  Unit(const char* text, unsigned long size) : text_(text), size_(size) {}
  void add(std::string text) {
    const std::string name = fmt::format("ingot_run{}", count_);
    for (std::size_t at = 0; (at = text.find("ingot_run", at)) != std::string::npos;
         at += name.size()) {
      text.replace(at, 9, name);
    }
    body_ += fmt::format("namespace unit{} {{\n{}}}\n", count_++, text);
  }
  void compile(int architecture = 90) const {
    const std::string prelude =
        "#define INGOT_ISA isa_jit\n" + std::string(text_, static_cast<std::size_t>(size_));
    const NvrtcResult result = nvrtc_compile(prelude, body_, architecture);
    EXPECT_EQ(result.error, "") << body_;
    EXPECT_GT(result.cubin.size(), 0u);
  }
  int count() const { return count_; }

 private:
  const char* text_;
  unsigned long size_;
  std::string body_;
  int count_ = 0;
};

}  // namespace ingot::compiler
