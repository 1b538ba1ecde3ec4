// The first compiled call of a process, with an empty kernel cache and with a warm one. Each sample
// is a process of its own.
#include <filesystem>

#include <fmt/format.h>

#include <ingot/compiler/codegen/codegen.h>
#include <ingot/compiler/jit/host_compiler.h>
#include <ingot/compiler/jit/process.h>
#include <ingot/ingot.h>
#include <ingot/kernels/core/check.h>
#include <ingot/runtime/env.h>

#include "benchmarks.h"
#include "child.h"

namespace bench {

using namespace ingot;
namespace fs = std::filesystem;

namespace {

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

std::vector<Row> first_call() {
  constexpr int kRounds = 9;
  constexpr double kAllowed = 1.4, kWarm_ms = 3;
  const Folder dump;
  {
    const Folder cache;
    (void)first_call_in_child(
        {"INGOT_CACHE_DIR=" + cache.path().string(), "INGOT_DUMP=" + dump.path().string()});
  }
  fs::path source;
  for (const auto& file : fs::directory_iterator(dump.path())) {
    if (file.path().extension() == ".cpp") source = file.path();
  }
  jit::HostCompilerOptions options;
  options.cxx = kernel_env().cxx;
  options.search_path = kernel_env().path;
  jit::HostCompiler compiler(options);
  INGOT_CHECK(compiler.info() != nullptr, "first_call_chain8: {}", compiler.missing());
  INGOT_CHECK(!source.empty(), "first_call_chain8: the first call compiled nothing");

  Row empty{.name = "first_call_chain8", .unit = "ms"},
      warm{.name = "disk_call_chain8", .unit = "ms"};
  Series alone;
  for (int i = 0; i < kRounds; ++i) {
    const Folder cache;
    const std::vector<std::string> variables = {"INGOT_CACHE_DIR=" + cache.path().string()};
    alone.add(compiler_ms(*compiler.info(), source));
    const FirstCall first = first_call_in_child(variables), second = first_call_in_child(variables);
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
