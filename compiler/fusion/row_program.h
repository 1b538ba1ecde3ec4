// RowProgram: a fused group over the rows of one space, as straight-line code for one row: loops
// along it, reductions and composites of it, steps once a row between them. Owns: instructions,
// temporaries, operands with their walks; made once from a group. The interpreter and the code
// generator both read it. Must not know: addresses.
#pragma once

#include <string>
#include <vector>

#include <ingot/compiler/fusion/pointwise.h>
#include <ingot/compiler/fusion/row_ops.h>
#include <ingot/compiler/fusion/row_space.h>

namespace ingot::compiler {

struct RowInstruction {
  enum Kind : std::uint8_t {
    along,  // an elementwise op for each element of the row; op == nullptr: a cast or copy
    once,   // an elementwise op on one value a row
    whole   // a reduction or composite: whole rows in, rows or values out
  };
  Kind kind;
  const OpInfo* op;
  DType compute;
  std::vector<Operand> in = {};   // an operand left out: Operand::none
  std::vector<Operand> out = {};  // one but for composites with several results
  const RowOp* row = nullptr;     // whole: its entry in the table
  int scalar = -1;                // whole: its place in scalars, if it has a number
};

struct RowMemory {
  int value;
  RowWalk walk;
  DType dtype;
};

struct RowTemporary {
  DType dtype;
  bool row;      // a row; else one value
  int slot = 0;  // of the scratch memory
};

// Bytes of a slot of scratch memory: a row of n elements of any dtype.
constexpr i64 row_slot_bytes(i64 n) { return (8 * n + 63) / 64 * 64; }

struct RowProgram {
  std::vector<int> ops;
  RowSpace space;
  bool blocks = false;  // rows are taken in blocks, their partial results are reduced again
  std::vector<RowMemory> memory;  // written ones first
  int written = 0;
  std::vector<RowInstruction> code;
  std::vector<ScalarUse> scalars;
  std::vector<RowTemporary> temporaries;
  int slots = 0;
  // A value that the group makes, and another view of the same memory that it reads: the offsets
  // must agree when it runs.
  std::vector<std::pair<int, int>> same_offset;

  std::string names() const;  // "mul softmax"
};

// What a reduction over rows of `length` elements divides by.
double row_divisor(const ScalarUse& use, const Segment& segment, i64 length);

// Elements between neighbours of a row: 0 for one value.
i64 inner_stride(const RowProgram& p, const Operand& o);

// Why these ops cannot be one program over `space`; nullptr: they can.
const char* row_refusal(const Segment& segment, const RowSpace& space, const std::vector<int>& ops);

RowProgram make_row_program(const Segment& segment, const RowSpace& space,
                            const std::vector<int>& ops);

}  // namespace ingot::compiler
