// The sentence of an op's error: "matmul: inner sizes differ: [2, 3] x [4, 5] (f32[2, 3], f32[4,
// 5]); at net.cpp:14".
// Owns: what stands around the words of a rule or kernel. Internal. Must not know: tensors, single
// ops.
#pragma once

#include <string>
#include <string_view>

#include <ingot/kernels/core/error.h>
#include <ingot/kernels/ops/op_info.h>

namespace ingot {

// Null operands were left out, or are numbers.
std::string op_error_text(std::string_view text, const OpInfo& op, const Meta* const* in, int n_in,
                          Loc loc);

// To be called where an Error was caught; each throws one of the same kind. A fault that an earlier
// op left (kernels/cuda/fault.h) is thrown as it is.
// `op` is made of the op that has failed: names it in that one's place.
[[noreturn]] void throw_as(const char* op, const Error& error);
// The error has no line yet.
[[noreturn]] void throw_at(const char* op, Loc loc, const Error& error);
// The error is what a rule or kernel of the op has thrown: makes the whole sentence of it.
[[noreturn]] void throw_complete(const Error& error, const OpInfo& op, const Meta* const* in,
                                 int n_in, Loc loc);

}  // namespace ingot
