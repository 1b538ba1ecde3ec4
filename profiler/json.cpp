#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include <ingot/kernels/core/text.h>
#include <ingot/profiler/json.h>

namespace ingot::profiler {
void append_us(std::string& out, std::int64_t ns) {
  if (ns < 0) out += '-';
  std::uint64_t n = ns < 0 ? ~static_cast<std::uint64_t>(ns) + 1 : static_cast<std::uint64_t>(ns);
  fmt::format_to(std::back_inserter(out), "{}.{:03}", n / 1000, n % 1000);
}

void JsonWriter::separate() {
  if (!first_ && !after_key_) out_ += ", ";
  first_ = after_key_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  first_ = after_key_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", number);
  return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", number);
  return *this;
}

JsonWriter& JsonWriter::value(std::uint64_t number) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", number);
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  out_ += "null";
  return *this;
}

JsonWriter& JsonWriter::us(std::int64_t ns) {
  separate();
  append_us(out_, ns);
  return *this;
}

}  // namespace ingot::profiler
