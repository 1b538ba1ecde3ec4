// Random programs over tensors for the differential fuzzer.
// A program is a pure function of its seed; what changes from call to call (values, scalars, slice
// starts, branches, throws) is a function of seed and call number. It acts on a World, so that one
// copy of the world can be driven eagerly and another through compile().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ingot/ingot.h>

namespace ingot::fuzz {

// A small deterministic generator (SplitMix64: Steele, Lea, Flood, 2014).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// Everything a program can reach: what it is given, what it captures, what it lets escape.
struct World {
  std::vector<Tensor> args;
  std::vector<Tensor> captures;
  std::vector<Tensor> escaped;
  std::vector<float> staging;
  std::vector<double> host_log;  // host-visible facts: values read, versions, grad flags
};

struct Features {
  bool grad = true, in_place = true, observe = true, random = true, throws = true, nested = true;
  // Sizes of the tensors that everything is made from. Long rows are what reductions and composites
  // fuse along; `rowwise` draws those more often.
  i64 rows = 3, cols = 4;
  bool rowwise = false;
};
World make_world(std::uint64_t seed, const Features& features);

class Program {
 public:
  Program(std::uint64_t seed, Features features) : seed_(seed), features_(features) {}

  // Runs the program on the world for call number `call`; returns what a user's function would.
  std::vector<Tensor> run(World& world, int call) const;
  // Changes between calls: captures swapped, re-aligned, aliased, frozen.
  void between_calls(World& world, int call) const;

 private:
  std::uint64_t seed_;
  Features features_;
};

// Empty when equal, bit for bit (NaNs are equal); else a sentence.
std::string difference(const Tensor& a, const Tensor& b);
std::string difference(const World& a, const World& b);

}  // namespace ingot::fuzz
