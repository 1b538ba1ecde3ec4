// Processes of this program's own, for what only a new process can show.
// Owns: their command lines, environment and answers; folders for the length of a scope. Must not
// know: rows.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ingot/kernels/core/dims.h>
#include <ingot/kernels/core/dtype.h>

namespace bench {

// A new folder that is removed with its contents.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// This process's environment without Ingot's variables, and these.
std::vector<std::string> environment_with(const std::vector<std::string>& changes);

// The first compiled call of a process, of chain8 on 64 x 64.
struct FirstCall {
  double ms = 0;
  ingot::i64 compiles = 0, disk_hits = 0;
};
FirstCall first_call_in_child(const std::vector<std::string>& variables,
                              ingot::Device device = ingot::kCPU);

// What this program prints when it is started with these arguments.
std::string output_of_child(std::vector<std::string> arguments,
                            std::vector<std::string> environment);

// The exit code when these are the arguments of such a process; on CUDA, of those that only CUDA
// needs.
std::optional<int> child_main(int argc, char** argv);
std::optional<int> cuda_child_main(int argc, char** argv);

}  // namespace bench
