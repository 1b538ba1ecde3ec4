// Strict JSON text (RFC 8259), whatever bytes a name holds.
// Owns: separators, numbers. Numbers that JSON cannot hold become null. One space follows each
// colon: trace readers search for `"rank": 0`. Must not know: files, traces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::profiler {

// Nanoseconds as microseconds with three decimals, "12.345": no double in between.
void append_us(std::string& out, std::int64_t ns);

// Writes values in order; keys inside objects. The caller balances open and close.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& open_object() { return open('{'); }
  JsonWriter& close_object() { return close('}'); }
  JsonWriter& open_array() { return open('['); }
  JsonWriter& close_array() { return close(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(int number) { return value(std::int64_t{number}); }
  JsonWriter& value(std::uint64_t number);
  JsonWriter& null();
  JsonWriter& us(std::int64_t ns);  // append_us as a number
  template <class T>
  JsonWriter& member(std::string_view name, const T& v) {
    return key(name).value(v);
  }
  void line_break() { out_ += '\n'; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string& out_;
  bool first_ = true;  // of the innermost array or object
  bool after_key_ = false;
};

}  // namespace ingot::profiler
