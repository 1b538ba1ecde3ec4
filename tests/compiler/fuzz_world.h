// What a random program can reach, and what changes of it between calls.
// There are two equal worlds for each program: one is driven eagerly, the other through compile().
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <ingot/ingot.h>

#include "compiler/fuzz_dice.h"

namespace ingot::fuzz {

// What programs may do.
struct Features {
  bool grad = true, in_place = true, observe = true, random = true, throws = true, nested = true;
  bool dtypes = true;     // f64, 16-bit and integer tensors, masks
  bool errors = true;     // ops that refuse their operands, caught inside the function
  bool sizes = true;      // sizes that change between calls; 0, 1 and long rows among them
  bool pointers = false;  // data pointers and accessors taken inside, staging by from_blob
  bool hooks = false;     // hooks that write, retain_grad, writes to .grad
  // Programs that change their path from call to call, a percentage of all: a branch on data, late
  // escapes, throws, captures that are frozen or aliased. The others settle.
  int restless = 20;
  // The usual sizes of what everything is made from. Long rows are what reductions and composites
  // fuse along; `rowwise` draws those more often.
  i64 rows = 3, cols = 4;
  bool rowwise = false;
};

// The tensors of one set of sizes.
struct Givens {
  i64 rows = 0, cols = 0;
  std::vector<Tensor> args;
  // [0] [cols, cols], [1] [rows, cols], [2] [cols], then others.
  std::vector<Tensor> captures;
};

struct World {
  World() = default;
  World(const World&) = delete;  // hooks hold its address
  // A NaN has no value of its own.
  void log(double value) { host_log.push_back(std::isnan(value) ? -1 : value); }

  Givens now;
  std::vector<Givens> others;  // of the other sets of sizes, in turn
  std::vector<Tensor> escaped;
  std::vector<float> staging;
  std::deque<std::vector<float>> borrowed;  // what tensors of from_blob lie in
  std::vector<double> host_log;             // host-visible facts: values read, versions, errors
  // A function of the user's that is compiled where the program is; calls itself n times.
  std::function<Tensor(const Tensor&, int n)> helper;
};

// Whether the program of this seed changes its path from call to call.
bool is_restless(std::uint64_t seed, const Features& features);
// Calls that a program gets: enough that what it records is the minority, if it settles.
int calls_of(std::uint64_t seed, const Features& features);

void fill_world(World& world, std::uint64_t seed, const Features& features);
// Changes between calls: new values, captures swapped, re-aligned, aliased, frozen; other sizes.
void between_calls(World& world, std::uint64_t seed, const Features& features, int call);

// Hooks on the leaves among the captures of all sets; some write their argument.
void add_leaf_hooks(World& world, std::uint64_t seed);

// Numbers in [-2, 2).
Tensor noise(Dims sizes, Dice& dice, DType dtype = kFloat32);

// Empty when equal, bit for bit (NaNs are equal); else a sentence.
std::string difference(const Tensor& a, const Tensor& b);
std::string difference(const World& a, const World& b);

}  // namespace ingot::fuzz
