// Errors and source locations as a user meets them.
// Owns: Loc (the user's line), Error and its kinds. Every error is one sentence that ends in
// "; at file:line". Must not know: tensors, formatting libraries.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace ingot {

// The line of the user's call. Tagged, so that braces never convert to a Loc: `sum({0, 1})`.
class Loc {
  struct Key {};
  constexpr Loc(Key, const char* f, int l) : file(f), line(l) {}

 public:
  const char* file;
  int line;
  static constexpr Loc here(const char* f = __builtin_FILE(), int l = __builtin_LINE()) {
    return {Key{}, f, l};
  }
};

// "net.cpp:14": the file's last path component and the line.
std::string to_string(const Loc& loc);

// A mistake of the caller: op() names the op ("matmul"; empty outside an op), where() the line.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message), where_(Loc::here()) {}
  Error(const std::string& message, std::string op, Loc where)
      : std::runtime_error(message), op_(std::move(op)), where_(where) {}
  std::string_view op() const { return op_; }
  Loc where() const { return where_; }

 private:
  std::string op_;
  Loc where_;
};

struct OutOfMemoryError : Error {
  using Error::Error;
};
struct DeviceError : Error {
  using Error::Error;
};
struct IndexError : Error {
  using Error::Error;
};
struct FileError : Error {
  using Error::Error;
};

// Throws an error of the same kind as `error` with another text, op and line.
[[noreturn]] void throw_like(const Error& error, const std::string& message, std::string op,
                             Loc where);

}  // namespace ingot
