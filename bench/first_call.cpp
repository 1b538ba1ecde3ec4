// The first compiled call of a process, with an empty kernel cache and with a warm one. Each sample
// is a process of its own.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include <ingot/compiler/codegen/codegen.h>
#include <ingot/compiler/jit/files.h>
#include <ingot/compiler/jit/host_compiler.h>
#include <ingot/compiler/jit/process.h>
#include <ingot/ingot.h>
#include <ingot/kernels/core/check.h>
#include <ingot/runtime/env.h>

#include "benchmarks.h"
#include "chain8.h"

namespace bench {

using namespace ingot;
namespace fs = std::filesystem;

namespace {

// A folder that is removed with its contents.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "ingot-bench-XXXXXX").string();
    INGOT_CHECK(mkdtemp(name.data()) != nullptr, "cannot make a folder in {}",
                fs::temp_directory_path().string());
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> all = changes;
  for (char** e = environ; *e != nullptr; ++e) {
    if (!std::string_view(*e).starts_with("INGOT_")) all.emplace_back(*e);
  }
  return all;
}

struct Child {
  double ms = 0;
  i64 compiles = 0, disk_hits = 0;
};

Child run_child(const std::vector<std::string>& variables) {
  const jit::UniqueFd output = jit::memory_file();
  jit::Command command;
  command.program = fs::read_symlink("/proc/self/exe").string();
  command.arguments = {kFirstCallChild};
  command.environment = environment_with(variables);
  command.descriptors = {-1, output.get(), STDERR_FILENO};
  const jit::Ending ending = jit::run_command(command);
  INGOT_CHECK(ending.ok(), "the process of a first call {}", ending.text());
  const std::string text(jit::as_text(jit::read_all(output.get(), 4096).value_or(jit::Bytes())));
  Child child;
  long long compiles = 0, disk_hits = 0;
  INGOT_CHECK(std::sscanf(text.c_str(), "%lf %lld %lld", &child.ms, &compiles, &disk_hits) == 3,
              "the process of a first call printed \"{}\"", text);
  child.compiles = compiles;
  child.disk_hits = disk_hits;
  return child;
}

// The compiler's process on the kernel's source, with the flags that kernels get; no link.
double compiler_ms(const jit::CompilerInfo& compiler, const fs::path& source) {
  jit::Command command;
  command.program = compiler.program;
  command.arguments = compiler.leading;
  const std::vector<std::string> level = compiler::level_flags();
  for (const auto* list : {&jit::HostCompiler::base_flags(), &level}) {
    command.arguments.insert(command.arguments.end(), list->begin(), list->end());
  }
  for (const std::string& word : {std::string("-c"), source.string(), std::string("-o"),
                                  (source.parent_path() / "alone.o").string()}) {
    command.arguments.push_back(word);
  }
  command.environment = environment_with({});
  command.descriptors = {-1, -1, -1};
  jit::Ending ending;
  const double us = time_us([&] { ending = jit::run_command(command); });
  INGOT_CHECK(ending.ok(), "{} alone {}", compiler.program, ending.text());
  return us / 1000;
}

}  // namespace

int first_call_child() {
  const Tensor a = randn({64, 64}), b = randn({64, 64});
  (void)chain8(a, b);  // the runtime's own first costs are not the compiler's
  const auto compiled = compile(chain8, {.name = "chain8"});
  const double us = time_us([&] { (void)compiled(a, b); });
  const Ledger ledger = compiled.ledger();
  std::printf("%.6f %lld %lld\n", us / 1000, static_cast<long long>(ledger.compiles),
              static_cast<long long>(ledger.disk_hits));
  return 0;
}

std::vector<Row> first_call() {
  constexpr int kRounds = 9;
  constexpr double kAllowed = 1.4, kWarm_ms = 3;
  Folder dump;
  {
    Folder cache;
    (void)run_child(
        {"INGOT_CACHE_DIR=" + cache.path().string(), "INGOT_DUMP=" + dump.path().string()});
  }
  fs::path source;
  for (const auto& file : fs::directory_iterator(dump.path())) {
    if (file.path().extension() == ".cpp") source = file.path();
  }
  jit::HostCompilerOptions options;
  options.cxx = env().cxx;
  options.search_path = env().path;
  jit::HostCompiler compiler(options);
  INGOT_CHECK(compiler.info() != nullptr, "first_call_chain8: {}", compiler.missing());
  INGOT_CHECK(!source.empty(), "first_call_chain8: the first call compiled nothing");

  Row empty{.name = "first_call_chain8", .unit = "ms"},
      warm{.name = "disk_call_chain8", .unit = "ms"};
  Series alone;
  for (int i = 0; i < kRounds; ++i) {
    Folder cache;
    const std::vector<std::string> variables = {"INGOT_CACHE_DIR=" + cache.path().string()};
    alone.add(compiler_ms(*compiler.info(), source));
    const Child first = run_child(variables), second = run_child(variables);
    INGOT_CHECK(first.compiles > 0 && first.disk_hits == 0, "the cache was not empty");
    INGOT_CHECK(second.compiles == 0 && second.disk_hits > 0, "the cache was not warm");
    empty.ours.add(first.ms);
    warm.ours.add(second.ms);
  }
  empty.limit = alone.median();
  empty.limit_least = alone.least();
  empty.limit_name = fmt::format("{} alone on the kernel's source", compiler.info()->program);
  empty.target = "<= 1.4 x";
  empty.met = empty.ratio() <= kAllowed;
  warm.limit = warm.limit_least = kWarm_ms;
  warm.limit_name = "the target itself; a new process";
  warm.target = "<= 3 ms";
  warm.met = warm.ours.median() <= kWarm_ms;
  return {empty, warm};
}

}  // namespace bench
