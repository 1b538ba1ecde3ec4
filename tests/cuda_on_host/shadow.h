// Every op that runs on the CPU runs once more as its CUDA kernel on the host, and gives the same.
// Owns: Shadow, installed where the compiler's frames are; its tally. Must not know: single ops.
#pragma once

#include <map>
#include <string>

#include <ingot/runtime/dispatch.h>

#include "cuda_on_host/images.h"

namespace ingot::emulation {

// While one lives, it shadows the ops of this thread. Each kernel runs on copies, twice: threads
// and blocks once in ascending and once in descending order, products once as cublasLt's and once
// by the plain kernel.
class Shadow final : public Interceptor {
 public:
  // `find` gives the kernel of an op, nullptr where there is none.
  explicit Shadow(Kernel (*find)(const OpInfo& op));
  Shadow();
  ~Shadow();
  Shadow(const Shadow&) = delete;

  Match match(const Call& call, Tensor* out) override;
  void executed(const Call& call, const Tensor* out, Ticket ticket) override;
  void observe(Access, const TensorImpl*, const char*, Loc) override {}
  void leave(const char*, Loc) override {}

  struct Tally {
    std::map<std::string, i64> compared;  // ops by name
    std::map<std::string, i64> missing;   // had no CUDA kernel
    // Of ops whose bits may differ: the largest part of the allowed difference that was met.
    std::map<std::string, double> used;
    i64 failures = 0;
  };
  // Of all shadows of this process.
  static Tally& tally();

 private:
  // Empty when the kernel gives what the CPU gave.
  std::string difference(const Call& call, const Tensor* out, Ticket ticket, Kernel kernel);
  std::string run_once(const Call& call, const Tensor* out, Ticket ticket, Kernel kernel);

  Kernel (*find_)(const OpInfo& op);
  const Storage* written_ = nullptr;  // by the call that is running
  Snapshot before_;
  Interceptor* outer_;
};

}  // namespace ingot::emulation
