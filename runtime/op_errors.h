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

// `text` with `op` for the name that it begins with, or before it where it begins with none.
std::string renamed(std::string_view text, std::string_view op);

// Null operands were left out, or are numbers.
std::string op_error_text(std::string_view text, const OpInfo& op, const Meta* const* in, int n_in,
                          Loc loc);

// Throws an error that an op's rule or kernel has thrown, of its kind, with the whole sentence.
[[noreturn]] void throw_complete(const Error& error, const OpInfo& op, const Meta* const* in,
                                 int n_in, Loc loc);

}  // namespace ingot
