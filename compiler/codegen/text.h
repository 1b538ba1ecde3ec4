// The pieces of text that generated functions share: names of types and rows, host numbers as
// constants, an instruction as an expression. Must not know: loops, how a function is launched.
#pragma once

#include <string>
#include <vector>

#include <ingot/compiler/fusion/pointwise.h>

namespace ingot::compiler {

// "float".
const char* c_type(DType t);
// What the CPU's functions read and write it as. A bool is a byte of 0 or 1: g++ leaves loops
// over bool scalar, and an element becomes a Num<bool> as any byte does.
const char* memory_type(DType t);
// Of a memory operand "const float*", or "float*" when it is written.
std::string pointer_type(DType t, bool written);
// What a GPU's kernel stores it as: "BFloat16".
const char* stored_type(DType t);

// The structs of users' rows among these ops (null entries: casts), each once.
std::string user_rows_text(const std::vector<const OpInfo*>& ops);

// What stands before a function that calls these ops: the structs of users' rows, and the
// linkage with an attribute that inlines them.
std::string function_head(const std::vector<const OpInfo*>& ops);

// Host numbers c0, c1, ... and the stride s<k> of a memory operand, from the function's arguments.
std::string scalar_constants(const std::vector<ScalarUse>& scalars);
std::string stride_constant(std::size_t k);

// An operand as a value, given the text of its element in memory.
std::string operand_value(const Operand& o, const std::string& element);

// What is written to memory of a value, given its text: of a bool the byte, by a choice, since g++
// leaves a loop scalar that stores a bool and uses it too.
std::string memory_value(DType t, const std::string& value);

// The op applied to values, "ingot::rows::Tanh::value(t1)" (a row's struct has not ATen's name); a
// null op is a cast to `result`.
std::string call_text(const OpInfo* op, DType result, const std::vector<std::string>& values);
// ATen's name of it, for a comment.
const char* op_name(const OpInfo* op);
// "ingot::rows::Tanh".
std::string row_type(const OpInfo& op);

}  // namespace ingot::compiler
