// Random programs over tensors. A program is a list of statements, each a pure function of its
// seed; what changes from call to call (values, scalars, slice starts, and in restless programs
// branches and throws) is a function of that seed and the number of the call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/fuzz_world.h"

namespace ingot::fuzz {

enum class Kind {
  unary,
  binary,
  with_scalar,
  cast,
  view,
  reduction,
  product,
  composite,
  along_rows,
  indexing,
  write,
  observe,
  random,
  drop,
  escape,
  host,
  backward,
  error,
  guard,
  nested,
  throws,
  pointer,
  hook,
};

struct Statement {
  Kind kind;
  std::uint64_t seed;
};

class Program {
 public:
  Program(std::uint64_t seed, const Features& features);

  // Runs the program on the world for call number `call`; returns what a user's function would.
  // With a listing, a line is added for each statement: what it did to which tensors.
  std::vector<Tensor> run(World& world, int call,
                          std::vector<std::string>* listing = nullptr) const;

  std::size_t size() const { return statements_.size(); }
  Program without(std::size_t begin, std::size_t count) const;
  std::uint64_t seed() const { return seed_; }
  const Features& features() const { return features_; }

 private:
  std::uint64_t seed_;
  Features features_;
  bool restless_;
  std::vector<Statement> statements_;
};

}  // namespace ingot::fuzz
