#include "child.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include <ingot/compiler/jit/files.h>
#include <ingot/compiler/jit/process.h>
#include <ingot/ingot.h>
#include <ingot/kernels/core/check.h>

#include "chain8.h"
#include "harness.h"

namespace bench {

using namespace ingot;
namespace fs = std::filesystem;

namespace {

constexpr const char* kFirstCall = "--first-call-child";

int first_call_child(Device device) {
  const Tensor a = randn({64, 64}, device), b = randn({64, 64}, device);
  const auto wait = [&] {
    if (device.is_cuda()) cuda::synchronize(device);
  };
  (void)chain8(a, b);  // the runtime's own first costs are not the compiler's
  wait();
  const auto compiled = compile(chain8, {.name = "chain8"});
  const double us = time_us([&] {
    (void)compiled(a, b);
    wait();
  });
  const Ledger ledger = compiled.ledger();
  std::printf("%.6f %lld %lld\n", us / 1000, static_cast<long long>(ledger.compiles),
              static_cast<long long>(ledger.disk_hits));
  return 0;
}

}  // namespace

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "ingot-bench-XXXXXX").string();
  INGOT_CHECK(mkdtemp(name.data()) != nullptr, "cannot make a folder in {}",
              fs::temp_directory_path().string());
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> all = changes;
  for (char** e = environ; *e != nullptr; ++e) {
    if (!std::string_view(*e).starts_with("INGOT_")) all.emplace_back(*e);
  }
  return all;
}

std::string output_of_child(std::vector<std::string> arguments,
                            std::vector<std::string> environment) {
  const jit::UniqueFd output = jit::memory_file();
  jit::Command command;
  command.program = fs::read_symlink("/proc/self/exe").string();
  command.arguments = std::move(arguments);
  command.environment = std::move(environment);
  command.descriptors = {-1, output.get(), STDERR_FILENO};
  const jit::Ending ending = jit::run_command(command);
  INGOT_CHECK(ending.ok(), "a process of the benchmark {}", ending.text());
  return std::string(jit::as_text(jit::read_all(output.get(), 4096).value_or(jit::Bytes())));
}

FirstCall first_call_in_child(const std::vector<std::string>& variables, Device device) {
  const std::string text = output_of_child({kFirstCall, device.str()}, environment_with(variables));
  FirstCall call;
  long long compiles = 0, disk_hits = 0;
  INGOT_CHECK(std::sscanf(text.c_str(), "%lf %lld %lld", &call.ms, &compiles, &disk_hits) == 3,
              "the process of a first call printed \"{}\"", text);
  call.compiles = compiles;
  call.disk_hits = disk_hits;
  return call;
}

std::optional<int> child_main(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != kFirstCall) return {};
  return first_call_child(Device(argv[2]));
}

}  // namespace bench
