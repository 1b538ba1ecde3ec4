#include <chrono>
#include <nvrtc.h>

#include <ingot/compiler/cuda/nvrtc.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/library.h>

namespace ingot::compiler {

namespace {

struct Api {
  const cuda::Library library{{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, "libnvrtc"};
#define INGOT_NVRTC(name)         \
  decltype(&::nvrtc##name) name = \
      reinterpret_cast<decltype(&::nvrtc##name)>(library.find("nvrtc" #name));
  INGOT_NVRTC(Version)
  INGOT_NVRTC(CreateProgram)
  INGOT_NVRTC(DestroyProgram)
  INGOT_NVRTC(CompileProgram)
  INGOT_NVRTC(GetCUBINSize)
  INGOT_NVRTC(GetCUBIN)
  INGOT_NVRTC(GetProgramLogSize)
  INGOT_NVRTC(GetProgramLog)
  INGOT_NVRTC(GetErrorString)
#undef INGOT_NVRTC
  std::string missing, version, path;

  Api() {
    if (!library.found()) {
      missing = library.reason();
      return;
    }
    int major = 0, minor = 0;
    if (Version == nullptr || GetCUBIN == nullptr || Version(&major, &minor) != NVRTC_SUCCESS) {
      missing = "libnvrtc was found, but it is too old; install that of CUDA 12.4 or newer";
      return;
    }
    version = fmt::format("{}.{}", major, minor);
    path = library.path();
  }
};

const Api& api() {
  static const Api loaded;
  return loaded;
}

// Destroys what was created.
class Program {
 public:
  explicit Program(const std::string& source) {
    status = api().CreateProgram(&handle, source.c_str(), "ingot.cu", 0, nullptr, nullptr);
  }
  ~Program() {
    if (handle != nullptr) (void)api().DestroyProgram(&handle);
  }
  Program(const Program&) = delete;
  nvrtcProgram handle = nullptr;
  nvrtcResult status;
};

std::string log_of(nvrtcProgram program) {
  std::size_t size = 0;
  if (api().GetProgramLogSize(program, &size) != NVRTC_SUCCESS || size < 2) return {};
  std::string log(size, '\0');
  if (api().GetProgramLog(program, log.data()) != NVRTC_SUCCESS) return {};
  log.resize(size - 1);
  return log;
}

}  // namespace

const std::string& nvrtc_missing() { return api().missing; }
const std::string& nvrtc_version() { return api().version; }
const std::string& nvrtc_path() { return api().path; }

NvrtcResult nvrtc_compile(std::string_view prelude, std::string_view body, int architecture) {
  const auto start = std::chrono::steady_clock::now();
  NvrtcResult result;
  if (!nvrtc_missing().empty()) {
    result.error = nvrtc_missing();
    return result;
  }
  std::string source;
  source.reserve(prelude.size() + body.size());
  source.append(prelude).append(body);
  Program program(source);
  nvrtcResult status = program.status;
  if (status == NVRTC_SUCCESS) {
    const std::string target = fmt::format("--gpu-architecture=sm_{}", architecture);
    // No contraction: the bits of an op do not depend on what it is compiled with. The stack limit
    // is the process's, not the compiler's to change.
    const char* options[] = {target.c_str(),           "--std=c++20",
                             "--fmad=false",           "--minimal",
                             "-default-device",        "--modify-stack-limit=false",
                             "--diag-suppress=177,186"};
    status = api().CompileProgram(program.handle, std::size(options), options);
  }
  std::size_t size = 0;
  if (status == NVRTC_SUCCESS) status = api().GetCUBINSize(program.handle, &size);
  if (status == NVRTC_SUCCESS) {
    result.cubin.resize(size);
    status = api().GetCUBIN(program.handle, result.cubin.data());
  }
  if (status != NVRTC_SUCCESS) {
    result.cubin.clear();
    result.error = fmt::format("NVRTC: {}\n{}", api().GetErrorString(status),
                               program.handle == nullptr ? "" : log_of(program.handle));
  }
  const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
  result.ms = ms.count();
  return result;
}

}  // namespace ingot::compiler
