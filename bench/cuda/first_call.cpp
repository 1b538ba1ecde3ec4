// The first compiled call of a process on a GPU, with an empty kernel cache and with a warm one;
// each sample is a process of its own. NVRTC's own cache is off.
#include <cstdio>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include <ingot/compiler/cuda/nvrtc.h>
#include <ingot/ingot.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/device.h>

#include "child.h"
#include "limits/cuda/cubin.h"
#include "rows.h"
#include "timing.h"

namespace bench::gpu {

using namespace ingot;
namespace fs = std::filesystem;

namespace {

constexpr const char* kNvrtcCacheOff = "CUDA_CACHE_DISABLE=1";

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

compiler::NvrtcResult compile_alone(const std::string& source, int architecture) {
  compiler::NvrtcResult made = compiler::nvrtc_compile("", source, architecture);
  INGOT_CHECK(made.error.empty(), "{}", made.error);
  return made;
}

struct Alone {
  double first_ms = 0, next_ms = 0;
};

Alone nvrtc_in_child(const fs::path& source, int architecture) {
  const std::string text =
      output_of_child({kNvrtcChild, source.string(), std::to_string(architecture)},
                      environment_with({kNvrtcCacheOff}));
  Alone alone;
  INGOT_CHECK(std::sscanf(text.c_str(), "%lf %lf", &alone.first_ms, &alone.next_ms) == 2,
              "the process of NVRTC alone printed \"{}\"", text);
  return alone;
}

}  // namespace

int nvrtc_child(const char* source, int architecture) {
  const std::string text = text_of(source);
  // The time of opening the library belongs to the first compile: a program pays it too.
  const double first = time_us([&] { (void)compile_alone(text, architecture); });
  const double next = time_us([&] { (void)compile_alone(text, architecture); });
  std::printf("%.6f %.6f\n", first / 1000, next / 1000);
  return 0;
}

std::vector<Row> first_call() {
  constexpr int kRounds = 5, kLoads = 15;
  constexpr double kAllowed = 1.2, kWarm_ms = 3;
  const cuda::DeviceProperties& gpu = cuda::properties();
  const int architecture = gpu.major * 10 + gpu.minor;
  const Folder dump;
  {
    const Folder cache;
    (void)first_call_in_child({"INGOT_CACHE_DIR=" + cache.path().string(),
                               "INGOT_DUMP=" + dump.path().string(), kNvrtcCacheOff},
                              kCUDA);
  }
  fs::path source;
  for (const auto& file : fs::directory_iterator(dump.path())) {
    if (file.path().extension() == ".cu") source = file.path();
  }
  INGOT_CHECK(!source.empty(), "first_call_chain8: the first call compiled nothing");

  Row empty{.name = "first_call_chain8", .unit = "ms"},
      warm{.name = "disk_call_chain8", .unit = "ms"};
  Series alone, again;
  for (int i = 0; i < kRounds; ++i) {
    const Folder cache;
    const std::vector<std::string> variables = {"INGOT_CACHE_DIR=" + cache.path().string(),
                                                kNvrtcCacheOff};
    const Alone nvrtc = nvrtc_in_child(source, architecture);
    alone.add(nvrtc.first_ms);
    again.add(nvrtc.next_ms);
    const FirstCall first = first_call_in_child(variables, kCUDA),
                    second = first_call_in_child(variables, kCUDA);
    INGOT_CHECK(first.compiles > 0 && first.disk_hits == 0, "the cache was not empty");
    INGOT_CHECK(second.compiles == 0 && second.disk_hits > 0, "the cache was not warm");
    empty.ours.add(first.ms);
    warm.ours.add(second.ms);
  }
  empty.limit = alone.median();
  empty.limit_least = alone.least();
  empty.limit_name = "NVRTC alone on the kernel's source, opened in a new process as well";
  judge(empty, kAllowed);
  empty.note = fmt::format("NVRTC's next compile in the same process: {:.1f} ms", again.median());

  const std::string cubin = compile_alone(text_of(source), architecture).cubin;
  Series loads;
  for (int i = 0; i < kLoads; ++i) loads.add(load_ms(cubin, "ingot_run"));
  warm.limit = loads.median();
  warm.limit_least = loads.least();
  warm.limit_name = "the driver loads the kernel's machine code";
  warm.target = "<= 3 ms";
  warm.met = warm.ours.median() <= kWarm_ms;
  return {empty, warm};
}

}  // namespace bench::gpu
