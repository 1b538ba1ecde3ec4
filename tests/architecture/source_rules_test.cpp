// Each rule is shown a text that breaks it and one that does not.
#include "source_rules.h"

#include <gtest/gtest.h>

namespace ingot::architecture {
namespace {

std::string lines(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += "int x;\n";
  return text;
}

TEST(SourceRules, DirectionUpwardsIsFound) {
  const std::string up = "#include <ingot/runtime/tensor.h>\n";
  EXPECT_EQ(check_direction({"kernels/a.cpp", up}).size(), 1u);
  EXPECT_EQ(check_direction({"profiler/a.cpp", up}).size(), 1u);
  EXPECT_EQ(check_direction({"compiler/a.cpp", up}).size(), 0u);
  EXPECT_EQ(check_direction({"profiler/a.cpp", "#include <ingot/runtime/observer.h>\n"}).size(),
            0u);
  EXPECT_EQ(check_direction({"runtime/a.cpp", "# include <ingot/profiler/session.h>\n"}).size(),
            1u);
}

TEST(SourceRules, RuntimeKnowsNoModules) {
  const std::string nn = "#include <ingot/runtime/nn/module.h>\n";
  EXPECT_EQ(check_direction({"runtime/tensor.cpp", nn}).size(), 1u);
  EXPECT_EQ(check_direction({"runtime/nn/linear.cpp", nn}).size(), 0u);
}

TEST(SourceRules, OtherSpellingsAreFound) {
  EXPECT_EQ(check_spelling({"runtime/a.cpp", "#include \"tensor.h\"\n"}).size(), 1u);
  EXPECT_EQ(check_spelling({"runtime/a.cpp", "#include <kernels/core/dims.h>\n"}).size(), 1u);
  EXPECT_EQ(check_spelling({"tests/runtime/a.cpp", "#include \"../b.h\"\n"}).size(), 1u);
  EXPECT_EQ(check_spelling({"tests/runtime/a.cpp", "#include \"support/b.h\"\n"}).size(), 0u);
  EXPECT_EQ(check_spelling({"tests/runtime/a.cpp", "#include <runtime/b.h>\n"}).size(), 1u);
  EXPECT_EQ(check_spelling({"runtime/a.cpp", "#include <ingot/runtime/b.h>\n"}).size(), 0u);
}

TEST(SourceRules, LongFilesAreFound) {
  EXPECT_EQ(check_length({"runtime/a.cpp", lines(501)}).size(), 1u);
  EXPECT_EQ(check_length({"runtime/a.cpp", lines(500)}).size(), 0u);
}

TEST(SourceRules, BareHeadersAreFound) {
  EXPECT_EQ(check_head({"runtime/a.h", "int x;\n"}).size(), 2u);
  EXPECT_EQ(check_head({"runtime/a.h", "// a\n// b\n// c\n#pragma once\n"}).size(), 0u);
  EXPECT_EQ(check_head({"runtime/a.h", "// a\n#pragma once\n"}).size(), 1u);
  EXPECT_EQ(check_head({"runtime/a.cpp", "int x;\n"}).size(), 0u);
}

TEST(SourceRules, OtherReadersOfTheEnvironmentAreFound) {
  const std::string text = "auto* p = std::getenv(\"HOME\");\n";
  EXPECT_EQ(check_environment({"compiler/a.cpp", text}).size(), 1u);
  EXPECT_EQ(check_environment({"runtime/env.cpp", text}).size(), 0u);
}

TEST(SourceRules, KernelsThatDoNotWaitAreFound) {
  const std::string head = "__global__ void f(int* x) {\n";
  EXPECT_EQ(check_kernels_wait({"kernels/cuda/a.cu", head + "  *x = 1;\n}\n"}).size(), 1u);
  EXPECT_EQ(check_kernels_wait({"compiler/a.cpp", "text = \"__global__ void f() {\";"}).size(), 1u);
  EXPECT_EQ(
      check_kernels_wait({"kernels/cuda/a.cu", head + "  wait_for_previous();\n  *x = 1;\n}\n"})
          .size(),
      0u);
}

TEST(SourceRules, MarkersAreFound) {
  EXPECT_EQ(check_words({"runtime/a.cpp",
                         "// TO"
                         "DO: later\n"})
                .size(),
            1u);
  EXPECT_EQ(check_words({"runtime/a.cpp", "// to do: nothing\n"}).size(), 0u);
}

TEST(SourceRules, LeaksOfPublicHeadersAreFound) {
  const SourceFile top = {"ingot.h", "#include <ingot/runtime/a.h>\n#include <vector>\n"};
  EXPECT_EQ(check_public_headers({top, {"runtime/a.h", "#include <string>\n"}}).size(), 0u);
  EXPECT_EQ(check_public_headers({top, {"runtime/a.h", "#include <fmt/core.h>\n"}}).size(), 1u);
  EXPECT_EQ(check_public_headers({top, {"runtime/a.h", "#include <iostream>\n"}}).size(), 1u);
  EXPECT_EQ(check_public_headers({top}).size(), 1u);
}

TEST(SourceRules, UnlistedUnitsAreFound) {
  const SourceFile list = {"runtime/CMakeLists.txt", "ingot_add_layer(runtime SOURCES nn/a.cpp)"};
  const SourceFile a = {"runtime/nn/a.cpp", ""}, b = {"runtime/b.cpp", ""};
  EXPECT_EQ(check_source_lists({list, a}).size(), 0u);
  EXPECT_EQ(check_source_lists({list, a, b}).size(), 1u);
  EXPECT_EQ(check_source_lists({list}).size(), 1u);
  const SourceFile generated = {"runtime/CMakeLists.txt", "SOURCES nn/a.cpp \"${dir}/made.cpp\""};
  EXPECT_EQ(check_source_lists({generated, a}).size(), 0u);
}

TEST(SourceRules, MisplacedIsaUnitsAreFound) {
  const SourceFile list = {"kernels/CMakeLists.txt", "ingot_isa_sources(cpu/a.cpp\n  cpu/b.cpp)"};
  const SourceFile a = {"kernels/cpu/a.cpp", "// ISA unit: a\n"};
  EXPECT_EQ(check_isa_units({list, a, {"kernels/cpu/b.cpp", "// ISA unit\n"}}).size(), 0u);
  EXPECT_EQ(check_isa_units({list, a, {"kernels/cpu/b.cpp", "// b\n"}}).size(), 1u);
  EXPECT_EQ(check_isa_units({list, a, {"kernels/cpu/c.cpp", "// ISA unit\n"}}).size(), 1u);
}

}  // namespace
}  // namespace ingot::architecture
