#include "source_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

namespace ingot::architecture {
namespace {

constexpr int kMaxLines = 500;

bool has_suffix(const std::string& path, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return path.ends_with(suffix); });
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string at(const SourceFile& file, std::size_t line) {
  return file.path + ":" + std::to_string(line) + ": ";
}

// Folders that a file of the layer may include, by prefix of the name after "ingot/".
const std::map<std::string, std::vector<std::string>>& allowed_prefixes() {
  static const std::map<std::string, std::vector<std::string>> allowed = {
      {"kernels", {"kernels/"}},
      {"runtime", {"kernels/", "runtime/"}},
      {"compiler", {"kernels/", "runtime/", "compiler/"}},
      {"profiler",
       {"kernels/core/", "kernels/ops/", "kernels/cuda/device.h", "kernels/cuda/graph.h",
        "kernels/cuda/library.h", "kernels/cuda/timing.h", "runtime/observer.h", "profiler/"}},
  };
  return allowed;
}

bool on_top_of_runtime(const std::string& path) {
  return path.starts_with("runtime/nn/") || path.starts_with("runtime/optim/") ||
         path.starts_with("runtime/data/");
}

// One sentence per line that matches, outside of nothing: comments count too.
Findings find_pattern(const SourceFile& file, const std::regex& pattern, const char* sentence) {
  Findings findings;
  const auto lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::regex_search(lines[i], pattern)) findings.push_back(at(file, i + 1) + sentence);
  }
  return findings;
}

}  // namespace

bool is_header(const SourceFile& file) { return has_suffix(file.path, {".h", ".cuh"}); }

bool is_code(const SourceFile& file) {
  return is_header(file) || has_suffix(file.path, {".cpp", ".cu"});
}

std::string layer_of(const std::string& path) { return path.substr(0, path.find('/')); }

std::vector<Include> includes_of(const SourceFile& file) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  const auto lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (std::regex_search(lines[i], match, pattern)) {
      includes.push_back({match[2].str(), match[1].str() == "\"", static_cast<int>(i + 1)});
    }
  }
  return includes;
}

Findings check_direction(const SourceFile& file) {
  Findings findings;
  const auto layer = allowed_prefixes().find(layer_of(file.path));
  if (layer == allowed_prefixes().end()) return findings;
  for (const Include& include : includes_of(file)) {
    if (!include.name.starts_with("ingot/")) continue;
    const std::string name = include.name.substr(6);
    const bool allowed =
        std::any_of(layer->second.begin(), layer->second.end(),
                    [&](const std::string& prefix) { return name.starts_with(prefix); });
    if (!allowed) {
      findings.push_back(at(file, include.line) + layer->first + " must not include <ingot/" +
                         name + ">");
    } else if (on_top_of_runtime(name) && layer->first == "runtime" &&
               !on_top_of_runtime(file.path)) {
      findings.push_back(at(file, include.line) + "the base of runtime must not include <ingot/" +
                         name + ">");
    }
  }
  return findings;
}

Findings check_spelling(const SourceFile& file) {
  static constexpr std::array<std::string_view, 4> kLayers = {"kernels/", "runtime/", "compiler/",
                                                              "profiler/"};
  const bool has_own_headers = file.path.starts_with("tests/") ||
                               file.path.starts_with("examples/") ||
                               file.path.starts_with("bench/");
  Findings findings;
  for (const Include& include : includes_of(file)) {
    const bool from_root = std::any_of(kLayers.begin(), kLayers.end(), [&](std::string_view layer) {
      return include.name.starts_with(layer);
    });
    const bool upwards = include.name.starts_with(".");
    if (include.quoted ? (!has_own_headers || upwards) : (from_root || upwards)) {
      findings.push_back(at(file, include.line) + "spell the include of " + include.name +
                         " as <ingot/...>");
    }
  }
  return findings;
}

Findings check_length(const SourceFile& file) {
  const auto n = lines_of(file.text).size();
  if (n <= kMaxLines) return {};
  return {at(file, n) + "a file holds one thing; this one has " + std::to_string(n) +
          " lines, the limit is " + std::to_string(kMaxLines)};
}

Findings check_head(const SourceFile& file) {
  if (!is_header(file)) return {};
  Findings findings;
  const auto lines = lines_of(file.text);
  std::size_t first = 0;
  while (first < lines.size() && (lines[first].empty() || lines[first] == "#pragma once")) ++first;
  std::size_t head = 0;
  while (first + head < lines.size() && lines[first + head].starts_with("// ")) ++head;
  if (head < 2 || head > 8) {
    findings.push_back(at(file, first + 1) +
                       "a header opens with a comment of 2 to 8 lines on what it owns and must not "
                       "know; found " +
                       std::to_string(head));
  }
  if (std::find(lines.begin(), lines.end(), "#pragma once") == lines.end()) {
    findings.push_back(at(file, 1) + "the header has no #pragma once");
  }
  return findings;
}

Findings check_environment(const SourceFile& file) {
  static const std::regex pattern(R"(\b(secure_)?getenv\s*\()");
  if (file.path == "runtime/env.cpp" || file.path.starts_with("tests/")) return {};
  return find_pattern(file, pattern, "only runtime/env.cpp reads the environment");
}

Findings check_kernels_wait(const SourceFile& file) {
  Findings findings;
  if (!file.path.starts_with("kernels/") && !file.path.starts_with("compiler/")) return findings;
  constexpr std::string_view kMark = "__global__", kWait = "wait_for_previous()";
  constexpr std::size_t kNear = 80;  // of generated text, some is quotes and line ends
  for (auto place = file.text.find(kMark); place != std::string::npos;
       place = file.text.find(kMark, place + 1)) {
    const auto body = file.text.find('{', place), wait = file.text.find(kWait, place);
    if (body != std::string::npos && wait != std::string::npos && wait > body &&
        wait - body < kNear) {
      continue;
    }
    const auto line = 1 + std::count(file.text.begin(),
                                     file.text.begin() + static_cast<std::ptrdiff_t>(place), '\n');
    findings.push_back(at(file, static_cast<int>(line)) +
                       "a kernel that does not begin with wait_for_previous()");
  }
  return findings;
}

Findings check_words(const SourceFile& file) {
  // Spelled in pieces, so that this file obeys its own rule.
  static const std::regex pattern(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X)\\b|not imple"
      "mented");
  return find_pattern(file, pattern, "a marker of unfinished work");
}

Findings check_public_headers(const std::vector<SourceFile>& files) {
  static const std::regex standard("[a-z0-9_]+");
  std::map<std::string, const SourceFile*> by_path;
  for (const SourceFile& file : files) by_path[file.path] = &file;

  Findings findings;
  std::set<std::string> seen = {"ingot.h"};
  std::vector<std::string> open = {"ingot.h"};
  while (!open.empty()) {
    const auto found = by_path.find(open.back());
    if (found == by_path.end()) {
      findings.push_back(open.back() + ":1: a public header includes it, but it does not exist");
      open.pop_back();
      continue;
    }
    open.pop_back();
    const SourceFile& file = *found->second;
    for (const Include& include : includes_of(file)) {
      if (include.name.starts_with("ingot/")) {
        const std::string path = include.name.substr(6);
        if (seen.insert(path).second) open.push_back(path);
      } else if (!std::regex_match(include.name, standard) || include.name == "iostream") {
        findings.push_back(at(file, include.line) +
                           "a public header includes the standard library only, not <" +
                           include.name + ">");
      }
    }
  }
  return findings;
}

Findings check_source_lists(const std::vector<SourceFile>& files) {
  // A generated unit stands after a variable, not after a space.
  static const std::regex unit(R"((^|[\s(])([A-Za-z0-9_][A-Za-z0-9_/]*\.cpp))");
  Findings findings;
  for (const auto& [layer, prefixes] : allowed_prefixes()) {
    const std::string list = layer + "/CMakeLists.txt";
    std::set<std::string> listed, present;
    for (const SourceFile& file : files) {
      if (file.path == list) {
        for (std::sregex_iterator it(file.text.begin(), file.text.end(), unit), end; it != end;
             ++it) {
          listed.insert(layer + "/" + (*it)[2].str());
        }
      } else if (file.path.starts_with(layer + "/") && file.path.ends_with(".cpp")) {
        present.insert(file.path);
      }
    }
    for (const std::string& path : present) {
      if (!listed.contains(path)) findings.push_back(path + ":1: not named in " + list);
    }
    for (const std::string& path : listed) {
      if (!present.contains(path))
        findings.push_back(list + ":1: names " + path + ", which is not there");
    }
  }
  return findings;
}

Findings check_isa_units(const std::vector<SourceFile>& files) {
  std::string listed;
  for (const SourceFile& file : files) {
    if (file.path != "kernels/CMakeLists.txt") continue;
    const auto open = file.text.find("ingot_isa_sources(");
    if (open != std::string::npos) {
      listed = file.text.substr(open, file.text.find(')', open) - open);
      std::replace_if(
          listed.begin(), listed.end(), [](char c) { return c == '(' || c == '\n'; }, ' ');
      listed += ' ';
    }
  }
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.path.starts_with("kernels/") || !file.path.ends_with(".cpp")) continue;
    const bool marked = file.text.starts_with("// ISA unit");
    const bool in_list = listed.find(" " + file.path.substr(8) + " ") != std::string::npos;
    if (marked && !in_list) {
      findings.push_back(file.path + ":1: an ISA unit that ingot_isa_sources does not name");
    } else if (!marked && in_list) {
      findings.push_back(file.path + ":1: named in ingot_isa_sources, but not headed // ISA unit");
    }
  }
  return findings;
}

}  // namespace ingot::architecture
