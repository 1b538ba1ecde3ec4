#include "cuda_on_host/generated.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ingot::emulation {

namespace {

namespace fs = std::filesystem;

std::string unit_of(const std::vector<std::string>& headers, const std::vector<std::string>& texts,
                    const std::vector<unsigned>& threads) {
  std::string unit;
  for (const std::string& header : headers) unit += fmt::format("#include <ingot/{}>\n", header);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    // extern "C" functions of one name are one function, in whatever namespace.
    std::string text = texts[i];
    const std::string from = "extern \"C\" __global__";
    if (const std::size_t at = text.find(from); at != std::string::npos) {
      text.replace(at, from.size(), "__global__");
    }
    unit += fmt::format(
        "namespace unit{0} {{\n{1}}}\n"
        "extern \"C\" void run{0}(const void* p, std::int64_t blocks) {{\n"
        "  ingot::launch(unit{0}::ingot_run, {{blocks, {2}}}, "
        "*static_cast<const unit{0}::Params*>(p));\n}}\n",
        i, text, threads[i]);
  }
  return unit;
}

}  // namespace

std::vector<GeneratedKernel> compile_for_host(const std::vector<std::string>& headers,
                                              const std::vector<std::string>& texts,
                                              const std::vector<unsigned>& threads) {
  std::string folder = (fs::temp_directory_path() / "ingot-generated-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    ADD_FAILURE() << "mkdtemp " << folder;
    return {};
  }
  std::ofstream(folder + "/unit.cpp") << unit_of(headers, texts, threads);
  const std::string command = fmt::format("{0} {1} -o {2}/unit.so {2}/unit.cpp > {2}/log 2>&1",
                                          INGOT_HOST_COMPILER, INGOT_HOST_FLAGS, folder);
  const int status = std::system(command.c_str());
  std::vector<GeneratedKernel> kernels;
  void* const library =
      status == 0 ? dlopen((folder + "/unit.so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) {
    std::ifstream log(folder + "/log");
    ADD_FAILURE() << command << "\n"
                  << (status == 0 ? std::string(dlerror())
                                  : std::string(std::istreambuf_iterator<char>(log), {}));
  } else {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      kernels.push_back(
          reinterpret_cast<GeneratedKernel>(dlsym(library, fmt::format("run{}", i).c_str())));
    }
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return kernels;
}

}  // namespace ingot::emulation
