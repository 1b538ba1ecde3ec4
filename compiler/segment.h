// Segment: the straight-line program between two commits, as fusion and plans see it.
// Owns: values, buffers, ops in program order. Made from a trie path; holds no tensor and no
// address. Must not know: frames, tries.
#pragma once

#include <vector>

#include <ingot/kernels/core/attrs.h>
#include <ingot/kernels/core/error.h>
#include <ingot/kernels/core/meta.h>
#include <ingot/kernels/ops/op_info.h>

namespace ingot::compiler {

// Memory that values live in. Views and in-place results share their operand's buffer.
struct Buffer {
  bool produced = false;  // made by an op of this segment; else bound from outside
  bool live = true;       // must hold its bytes after the segment (always, when not produced)
  bool written = false;   // some op of this segment writes it in place
  i64 bytes = 0;          // of a produced buffer
  Device device;
};

// A tensor as an op reads or makes it: geometry over a buffer. The offset is bound per call.
struct Value {
  int buffer = -1;
  Meta meta;
};

struct SegmentOp {
  const OpInfo* op = nullptr;
  Attrs attrs;           // structural part; the scalars are those of the recording and not to use
  std::vector<int> in;   // values; -1: a host scalar, or an operand left out
  std::vector<int> out;  // values
  int writes = -1;       // the input whose memory out[0] is
  int launches = 1;      // when it was recorded: those of a GPU as it starts them
  Loc loc = Loc::here();

  bool is_view() const { return op->kind == OpKind::view; }
};

struct Segment {
  std::vector<Buffer> buffers;
  std::vector<Value> values;
  std::vector<SegmentOp> ops;

  const SegmentOp& op(int i) const { return ops[static_cast<std::size_t>(i)]; }
  const Meta& meta(int value) const { return values[static_cast<std::size_t>(value)].meta; }
  int buffer_of(int value) const { return values[static_cast<std::size_t>(value)].buffer; }
  Buffer& buffer(int b) { return buffers[static_cast<std::size_t>(b)]; }
  const Buffer& buffer(int b) const { return buffers[static_cast<std::size_t>(b)]; }
};

// What one call brings to a segment: addresses, offsets, run-time scalars, tickets.
struct Binding {
  std::vector<void*> buffers;       // by buffer; null: not materialised (yet)
  std::vector<i64> offsets;         // by value, elements from the buffer's start
  std::vector<const Attrs*> attrs;  // by op
  std::vector<Ticket> tickets;      // by op

  void* address(const Segment& s, int value) const {
    auto v = static_cast<std::size_t>(value);
    return static_cast<char*>(buffers[static_cast<std::size_t>(s.values[v].buffer)]) +
           offsets[v] * item_size(s.values[v].meta.dtype);
  }
};

// 16-bit floats: every op computes in f32 and rounds its result.
constexpr bool is_narrow(DType t) { return t == DType::f16 || t == DType::bf16; }

// An op whose kernel may refuse its data (an index out of range): it is never removed as dead.
inline bool may_throw(const OpInfo& op) { return op.reads_indices; }

// "matmul add relu"
std::string names_of(const Segment& s, const std::vector<int>& ops);

// Indented text, one op a line: "%3 = add(%0, %1) f32[64, 64]  ; net.cpp:14".
std::string to_text(const Segment& s);

}  // namespace ingot::compiler
