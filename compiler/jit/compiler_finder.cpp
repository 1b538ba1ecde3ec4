#include <algorithm>
#include <array>
#include <fcntl.h>
#include <filesystem>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ingot/compiler/jit/compiler_finder.h>
#include <ingot/compiler/jit/elf.h>
#include <ingot/compiler/jit/files.h>
#include <ingot/compiler/jit/process.h>

namespace ingot::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kVersionTimeout{20000};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Programs that stand in front of a compiler under its name, through links on the search path.
bool is_wrapper(const std::string& path) {
  constexpr std::array<std::string_view, 5> wrappers = {"ccache", "sccache", "distcc", "icecc",
                                                        "buildcache"};
  const std::string name = fs::path(real_path(path)).filename().string();
  return std::find(wrappers.begin(), wrappers.end(), name) != wrappers.end();
}

bool is_binary(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  unsigned char start[4] = {};
  return fd && read(fd.get(), start, sizeof(start)) == 4 && is_elf(start);
}

// Variables that change what a compiler writes, or its language, or load code into it.
std::vector<std::string> clean(const std::vector<std::string>& environment,
                               const std::string& search_path) {
  constexpr std::array<std::string_view, 7> dropped = {"LC_ALL=",
                                                       "LANGUAGE=",
                                                       "LD_PRELOAD=",
                                                       "GCC_COMPARE_DEBUG=",
                                                       "DEPENDENCIES_OUTPUT=",
                                                       "SUNPRO_DEPENDENCIES=",
                                                       "PATH="};
  std::vector<std::string> kept;
  for (const std::string& entry : environment) {
    const bool drop = std::any_of(dropped.begin(), dropped.end(),
                                  [&](std::string_view name) { return entry.starts_with(name); });
    if (!drop) kept.push_back(entry);
  }
  kept.push_back("LC_ALL=C");
  kept.push_back("PATH=" + search_path);
  return kept;
}

}  // namespace

CompilerFinder::CompilerFinder(const HostCompilerOptions& options, DiskCache* records)
    : cxx_(options.cxx),
      search_path_(options.search_path),
      environment_(clean(options.environment, options.search_path)),
      records_(records) {}

const CompilerInfo* CompilerFinder::info() {
  std::call_once(once_, [this] { find(); });
  return info_ ? &*info_ : nullptr;
}

const std::string& CompilerFinder::missing() {
  info();
  return missing_;
}

void CompilerFinder::find() {
  if (cxx_ == "none") {
    missing_ = "no host compiler: INGOT_CXX is 'none'";
    return;
  }
  if (!has_fd_paths()) {
    missing_ = "no host compiler: compiling at run time needs /proc, which is not mounted";
    return;
  }
  if (!cxx_.empty()) {
    std::vector<std::string> words = {cxx_};
    if (resolve(cxx_, false).empty()) words = words_of(cxx_);
    const std::string program = words.empty() ? "" : resolve(words[0], false);
    if (!program.empty()) info_ = probe(program, {words.begin() + 1, words.end()});
    if (!info_) {
      missing_ = fmt::format(
          "no host compiler: INGOT_CXX names '{}', which {}", cxx_,
          program.empty() ? "is no program that can be run" : "does not answer --version");
    }
    return;
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    const std::string program = resolve(name, true);
    if (!program.empty()) info_ = probe(program, {});
    if (info_) return;
  }
  missing_ = "no host compiler: none of c++, g++, clang++ on PATH works (INGOT_CXX names another)";
}

std::string CompilerFinder::resolve(const std::string& name, bool skip_wrappers) const {
  if (name.find('/') != std::string::npos) {
    std::error_code error;
    const std::string path = fs::absolute(name, error).string();
    return is_program(path) ? path : std::string();
  }
  std::istringstream folders(search_path_);
  for (std::string folder; std::getline(folders, folder, ':');) {
    // A relative folder would make the choice depend on where the program was started.
    if (!folder.starts_with('/')) continue;
    const std::string path = folder + "/" + name;
    if (is_program(path) && !(skip_wrappers && is_wrapper(path))) return path;
  }
  return {};
}

std::optional<CompilerInfo> CompilerFinder::probe(const std::string& program,
                                                  std::vector<std::string> leading) {
  const std::string stamp = stamp_of(program);
  // A script or a wrapper can stand for another compiler tomorrow: it is asked in each process.
  const bool recordable =
      records_ != nullptr && leading.empty() && !is_wrapper(program) && is_binary(program);
  const Key key("host compiler version 1\n" + stamp);
  std::string version;
  if (const auto record = recordable ? records_->load(key) : std::nullopt) {
    version = as_text(*record);
  } else {
    version = ask_version(program, leading);
    if (recordable && !version.empty()) records_->store(key, as_bytes(version));
  }
  if (version.empty()) return {};
  CompilerInfo info;
  info.identity = fmt::format("{}\n{}\n{}", stamp, fmt::join(leading, " "), version);
  info.version = version.substr(0, version.find('\n'));
  info.is_clang = version.find("clang") != std::string::npos;
  info.program = program;
  info.leading = std::move(leading);
#if !defined(__APPLE__)
  info.linker = resolve("ld", false);
#endif
  return info;
}

std::string CompilerFinder::ask_version(const std::string& program,
                                        std::vector<std::string> arguments) const {
  const UniqueFd output = anonymous_file({});
  if (!output) return {};
  arguments.emplace_back("--version");
  Command command;
  command.program = program;
  command.arguments = std::move(arguments);
  command.environment = environment_;
  command.descriptors = {-1, output.get(), -1};
  command.timeout = kVersionTimeout;
  const Ending ending = run_command(command);
  if (!ending.ok() && ending.kind != Ending::kUnknown) return {};
  const std::optional<Bytes> bytes = read_all(output.get(), std::size_t{1} << 20);
  return bytes ? std::string(as_text(*bytes)) : std::string();
}

}  // namespace ingot::jit
