// Code of one instruction set level must not be merged with another's by the linker: an AVX-512
// copy of a shared weak function would then run on an AVX2 machine. Reads the object files with nm.
#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

std::string output_of(const std::string& command, int& status) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) {
    status = -1;
    return text;
  }
  std::array<char, 4096> buffer;
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), n);
  }
  status = pclose(pipe);
  return text;
}

// nm's letters for symbols that the linker keeps one copy of.
bool is_mergeable(char type) { return type == 'W' || type == 'V' || type == 'u'; }

TEST(IsaSymbols, LevelsShareNoWeakSymbol) {
  std::ifstream list(INGOT_BINARY_DIR "/tests/architecture/isa_objects.txt");
  ASSERT_TRUE(list) << "the build writes tests/architecture/isa_objects.txt";
  std::map<std::string, std::vector<std::string>> objects;
  for (std::string level, path; list >> level >> path;) objects[level].push_back(path);
  if (objects.size() < 2) GTEST_SKIP() << "one instruction set level in this build";

  std::size_t symbols = 0;
  for (const auto& [level, paths] : objects) {
    for (const std::string& path : paths) {
      int status = 0;
      std::istringstream table(
          output_of("nm --defined-only --format=posix '" + path + "'", status));
      ASSERT_EQ(status, 0) << "nm failed on " << path;
      for (std::string line; std::getline(table, line);) {
        std::istringstream fields(line);
        std::string name;
        char type = 0;
        fields >> name >> type;
        ++symbols;
        if (!is_mergeable(type) || name == "DW.ref.__gxx_personality_v0") continue;
        EXPECT_NE(name.find("isa_" + level), std::string::npos)
            << path << ": weak symbol " << name << " is not of level " << level;
      }
    }
  }
  EXPECT_GT(symbols, 0u);
}

}  // namespace
