// Reads the source tree and holds every file to the rules of source_rules.h.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "source_rules.h"

namespace ingot::architecture {
namespace {

namespace fs = std::filesystem;

bool is_read(const fs::path& path) {
  static const std::vector<std::string> extensions = {".h",  ".cuh",   ".cpp", ".cu",
                                                      ".py", ".cmake", ".txt", ".in"};
  return std::find(extensions.begin(), extensions.end(), path.extension()) != extensions.end();
}

const std::vector<SourceFile>& tree() {
  static const std::vector<SourceFile> files = [] {
    const fs::path root = INGOT_SOURCE_DIR;
    std::vector<SourceFile> read;
    const auto add = [&](const fs::path& path) {
      std::ifstream in(path, std::ios::binary);
      read.push_back({fs::relative(path, root).generic_string(),
                      std::string(std::istreambuf_iterator<char>(in), {})});
    };
    for (const char* file : {"ingot.h", "CMakeLists.txt"}) {
      if (fs::exists(root / file)) add(root / file);
    }
    for (const char* folder : {"kernels", "runtime", "compiler", "profiler", "examples", "tests",
                               "bench", "cmake", "scripts"}) {
      if (!fs::exists(root / folder)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        if (entry.is_regular_file() &&
            (is_read(entry.path()) || folder == std::string("scripts"))) {
          add(entry.path());
        }
      }
    }
    return read;
  }();
  return files;
}

std::string joined(const Findings& findings) {
  std::string text;
  for (const std::string& finding : findings) text += "  " + finding + "\n";
  return text;
}

Findings over_code(Findings (*rule)(const SourceFile&)) {
  Findings all;
  for (const SourceFile& file : tree()) {
    if (!is_code(file)) continue;
    const Findings found = rule(file);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

TEST(Layers, TreeIsRead) {
  std::size_t code = 0;
  for (const SourceFile& file : tree()) code += is_code(file);
  EXPECT_GT(code, 20u);
}

TEST(Layers, IncludesPointDownwards) {
  const Findings found = over_code(check_direction);
  EXPECT_TRUE(found.empty()) << joined(found);
}

TEST(Layers, IncludesAreSpelledFromTheRoot) {
  const Findings found = over_code(check_spelling);
  EXPECT_TRUE(found.empty()) << joined(found);
}

TEST(Layers, FilesAreShort) {
  const Findings found = over_code(check_length);
  EXPECT_TRUE(found.empty()) << joined(found);
}

TEST(Layers, HeadersSayWhatTheyOwn) {
  const Findings found = over_code(check_head);
  EXPECT_TRUE(found.empty()) << joined(found);
}

TEST(Layers, OneReaderOfTheEnvironment) {
  const Findings found = over_code(check_environment);
  EXPECT_TRUE(found.empty()) << joined(found);
}

TEST(Layers, KernelsWaitForThoseBefore) {
  const Findings found = over_code(check_kernels_wait);
  EXPECT_TRUE(found.empty()) << joined(found);
}

TEST(Layers, NoUnfinishedWork) {
  Findings all;
  for (const SourceFile& file : tree()) {
    const Findings found = check_words(file);
    all.insert(all.end(), found.begin(), found.end());
  }
  EXPECT_TRUE(all.empty()) << joined(all);
}

TEST(Layers, PublicHeadersUseTheStandardLibraryOnly) {
  const Findings found = check_public_headers(tree());
  EXPECT_TRUE(found.empty()) << joined(found);
}

TEST(Layers, SourceListsAreComplete) {
  const Findings found = check_source_lists(tree());
  EXPECT_TRUE(found.empty()) << joined(found);
}

TEST(Layers, IsaUnitsAreBuiltPerLevel) {
  const Findings found = check_isa_units(tree());
  EXPECT_TRUE(found.empty()) << joined(found);
}

}  // namespace
}  // namespace ingot::architecture
