// PointwiseProgram: a fused group of elementwise ops as straight-line code over elements.
// Owns: instructions, temporaries, the walk's operands; made once from a group. The tile
// interpreter and the code generator both read it. Must not know: addresses.
#pragma once

#include <string>
#include <vector>

#include <ingot/compiler/fusion/group.h>
#include <ingot/compiler/fusion/step_scalars.h>
#include <ingot/kernels/cpu/iterate.h>

namespace ingot::compiler {

struct Operand {
  enum Kind : std::uint8_t { memory, temporary, scalar, none };
  Kind kind = memory;
  int index = 0;  // memory: operand of the walk; temporary: its number; scalar: place in scalars
  DType dtype = DType::f32;
};

struct Instruction {
  const OpInfo* op;  // an elementwise row; nullptr: a cast or copy of in[0]
  DType compute;     // dtype of the row's loop
  std::vector<Operand> in;
  Operand out;
};

struct PointwiseProgram {
  std::vector<int> ops;
  Dims space;
  std::vector<int> memory;  // values, by operand of the walk; written ones first
  std::vector<DType> memory_dtype;
  int written = 0;  // how many of them are written
  std::vector<Instruction> code;
  std::vector<ScalarUse> scalars;
  int temporaries = 0;
  std::vector<DType> temporary_dtype;
  bool shares_written_buffers = false;  // offsets must agree when it runs
  // The small product among the ops, if there is one: it has no instruction, its result is there.
  int product = -1;
  const char* product_name = "";
  Operand product_out;

  std::string names() const;  // "mul add tanh"
};

// Whether an instruction reads the operand `k` of the walk.
bool reads_operand(const PointwiseProgram& program, int k);

PointwiseProgram make_program(const Segment& segment, const Group& group);

// Whether values that share a written buffer lie at the same place in it in this call, as they did
// when the group was made; else the ops have to run apart.
bool offsets_agree(const PointwiseProgram& program, const Segment& segment, const Binding& binding);

// The group's loop nest over the recorded strides, collapsed; addresses are those of `binding`.
Nest make_nest(const PointwiseProgram& p, const Segment& segment, const Binding& binding);

// The same without addresses.
Nest make_nest(const PointwiseProgram& p, const Segment& segment);

// What that walk looks like, for the code generator.
struct RunPattern {
  std::vector<int> stride;  // by operand: 0, 1, or 2 for anything else
};
RunPattern run_pattern(const PointwiseProgram& p, const Segment& segment);

}  // namespace ingot::compiler
