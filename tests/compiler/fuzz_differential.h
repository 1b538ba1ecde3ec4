// Runs random programs on two equal worlds, eagerly and compiled, call after call: results,
// arguments, captures, gradients, escaped tensors, host facts, errors and the random state must
// stay equal, bit for bit.
#pragma once

#include <string>

#include "compiler/fuzz_program.h"

namespace ingot::fuzz {

// How much of what was generated says anything.
struct Tally {
  i64 programs = 0, calls = 0, hits = 0, cuts = 0, errors = 0, fused = 0;
  i64 kernels = 0;  // that groups of compiled programs ran by
  i64 late = 0;     // of these, those that their batch did not bring
};

// The first difference, or empty. With a listing: what the last call did, one statement a line.
std::string difference(const Program& program, const CompileOptions& options, Tally* tally,
                       std::vector<std::string>* listing = nullptr);

struct Suite {
  Features features = {};
  CompileOptions options = {};
  std::uint64_t count = 0;  // FUZZ_PROGRAMS replaces it
  int least_replayed = 60;  // per cent of the calls, from start to end; asserted of 100 programs
};
// Programs of the seeds from FUZZ_SEED (1) on. Of the first that fail, the smallest program that
// still fails is printed. With code generation the kernels of many programs compile together.
void run(const Suite& suite);

}  // namespace ingot::fuzz
