// Code generation for CUDA: the text of a group's kernel, and the parameter it takes.
// Owns: the layout of that parameter, shared by the text and the host. Must not know: steps,
// caches, compilers.
#pragma once

#include <string>

#include <ingot/compiler/fusion/pointwise.h>
#include <ingot/compiler/fusion/row_program.h>
#include <ingot/kernels/cuda/row_shape.h>
#include <ingot/kernels/cuda/small_shape.h>

namespace ingot::compiler {

// Raised when generated text changes for the same program: it is part of every kernel's key.
inline constexpr int kCudaGeneratorVersion = 5;
inline constexpr unsigned kCudaThreads = 256;
inline constexpr int kCudaAxes = 8;

// What one kernel is generated for: how each operand walks along the innermost axis.
struct CudaPattern {
  std::vector<int> stride;  // by operand: 0, 1, or 2 for anything else
  int width = 4;            // elements a thread computes: 16 bytes of the widest operand
  bool outer = false;       // whether there are axes around the innermost one
};

// The pattern of a program over its nest (make_nest).
CudaPattern cuda_pattern(const PointwiseProgram& program, const Nest& nest);

// extern "C" ingot_run over one parameter, in this order: for each operand its address and its
// innermost stride in elements (8 bytes each); elements (8 bytes); whether whole vectors are used,
// outer axes (4 bytes each); with outer axes also FastDivisor of the vectors of a run,
// kCudaAxes FastDivisors of the axes, and kCudaAxes times the operands' strides (4 bytes each), the
// whole rounded up to 8; the host numbers as 8-byte cells.
std::string generate_cuda_run(const PointwiseProgram& program, const CudaPattern& pattern);

// Of a group with a small product: extern "C" ingot_run over one parameter: SmallProduct, rounded
// up to 8 bytes; for each operand its address and its strides over the batch, the rows and the
// columns (8 bytes each); the host numbers as 8-byte cells.
std::string generate_cuda_product(const PointwiseProgram& program, const SmallShape& shape);

// How the rows of a program lie on blocks. Part of the text are all but the numbers of lanes and
// rows; of the lanes, row_lanes() and whether rows share a block, and the number where they are
// part of a warp and hold several vectors, which lie that far apart.
struct CudaRows {
  int width = 4;  // elements of a vector
  int slots = 1, lanes = 1;
  int together = 1;    // rows of a block
  int held = 1;        // rows in registers at once, at most
  bool whole = true;   // rows are whole vectors
  bool full = false;   // that fill all slots of a block with one row
  bool outer = false;  // rows along more than one axis

  bool knows_lanes() const { return slots > 1 && row_lanes(lanes) == RowLanes::part; }
  int threads() const { return lanes * together; }
  int most_threads() const {
    return row_lanes(lanes) == RowLanes::many_warps ? kMostRowLanes : kFewLanes;
  }
};
// rows: the program's memory operands over RowSpace::leading(), collapsed.
CudaRows cuda_rows(const RowProgram& program, const Nest& rows);
// Elements a thread may hold in registers.
inline constexpr int kMostHeldElements = 96;

// Of a group of rows: extern "C" ingot_run over one parameter: for each memory operand its address
// and its strides between rows and along one (8 bytes each); rows (8 bytes); elements of a row,
// axes of the rows, log2 of the lanes where rows share a block (4 bytes each); with outer axes
// also kCudaAxes FastDivisors of the axes and kCudaAxes times the operands' strides (8 bytes each);
// the whole rounded up to 8; the host numbers as 8-byte cells.
std::string generate_cuda_rows(const RowProgram& program, const CudaRows& rows);

}  // namespace ingot::compiler
