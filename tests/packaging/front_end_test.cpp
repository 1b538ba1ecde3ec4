// What including <ingot/ingot.h> costs a user's compiler.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <sys/resource.h>

#include <gtest/gtest.h>

namespace {

// Processor seconds, own and the kernel's, of all children that have ended.
double children_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The best of three runs of the compiler's front end over a file of this folder; below 0 on an
// error.
double front_end_seconds(const std::string& file) {
  const std::string command = std::string(INGOT_TEST_CXX) + " -std=c++20 -fsyntax-only -I" +
                              INGOT_BINARY_DIR + "/include " + INGOT_SOURCE_DIR +
                              "/tests/packaging/" + file;
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const double before = children_seconds();
    if (std::system(command.c_str()) != 0) return -1;
    best = std::min(best, children_seconds() - before);
  }
  return best;
}

TEST(FrontEnd, UserProgramIsReadQuickly) {
  // The same program without Ingot: what the standard library alone costs on this machine now.
  const double standard = front_end_seconds("standard_program.cpp");
  ASSERT_GT(standard, 0);
  const double user = front_end_seconds("user_program.cpp");
  ASSERT_GT(user, 0);
  std::cout << "front end of a 40-line user program: " << user
            << " s (target 0.6 s); of <iostream> "
            << "and <vector> alone: " << standard << " s\n";
  RecordProperty("seconds", std::to_string(user));
  // A busy machine slows both alike (their ratio was 2.2 on one), so a slow one is judged by the
  // ratio.
  EXPECT_LT(user, std::max(1.2, 4 * standard));
}

// The refusal of -ffast-math in a unit with a row: the same unit is fine without it.
TEST(FrontEnd, FastMathIsRefusedWhereARowIsDefined) {
  const std::string log = std::string(INGOT_BINARY_DIR) + "/fast_math.log";
  const auto compile = [&](const std::string& flag) {
    const std::string command = std::string(INGOT_TEST_CXX) + " -std=c++20 -fsyntax-only " + flag +
                                " -I" + INGOT_BINARY_DIR + "/include " + INGOT_SOURCE_DIR +
                                "/examples/add_a_row.cpp 2>" + log;
    return std::system(command.c_str());
  };
  EXPECT_EQ(compile("-O2"), 0);
  EXPECT_NE(compile("-ffast-math"), 0);
  std::ifstream in(log);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  EXPECT_NE(text.find("compile this unit without -ffast-math"), std::string::npos) << text;
}

}  // namespace
