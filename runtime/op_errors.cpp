#include <algorithm>
#include <cctype>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cuda/fault.h>
#include <ingot/runtime/op_errors.h>

namespace ingot {

namespace {

// The length of "softmax" in "softmax: ..."; 0 where no name stands in front.
std::size_t name_length(std::string_view text) {
  const std::size_t n = text.find(": ");
  if (n == std::string_view::npos) return 0;
  const std::string_view name = text.substr(0, n);
  const bool is_name = std::all_of(
      name.begin(), name.end(), [](unsigned char c) { return c == '_' || std::isalnum(c) != 0; });
  return is_name ? n : 0;
}

// `text` with `op` for the name that it begins with, or before it where it begins with none.
std::string renamed(std::string_view text, std::string_view op) {
  const std::size_t n = name_length(text);
  if (n > 0) text.remove_prefix(n + 2);
  return fmt::format("{}: {}", op, text);
}

void pass_on_fault(const Error& error) {
  if (dynamic_cast<const cuda::Fault*>(&error) != nullptr) throw;
}

}  // namespace

void throw_as(const char* op, const Error& error) {
  pass_on_fault(error);
  throw_like(error, renamed(error.what(), op), op, error.where());
}

void throw_at(const char* op, Loc loc, const Error& error) {
  pass_on_fault(error);
  throw_like(error, renamed(error.what(), op) + "; at " + to_string(loc), op, loc);
}

std::string op_error_text(std::string_view text, const OpInfo& op, const Meta* const* in, int n_in,
                          Loc loc) {
  std::string operands;
  for (int i = 0; i < n_in; ++i) {
    if (in[i] != nullptr) operands += (operands.empty() ? "" : ", ") + describe(*in[i]);
  }
  return fmt::format("{}{}{}; at {}", name_length(text) > 0 ? "" : std::string(op.name) + ": ",
                     text, operands.empty() ? "" : " (" + operands + ")", to_string(loc));
}

void throw_complete(const Error& error, const OpInfo& op, const Meta* const* in, int n_in,
                    Loc loc) {
  pass_on_fault(error);
  throw_like(error, op_error_text(error.what(), op, in, n_in, loc), op.name, loc);
}

}  // namespace ingot
