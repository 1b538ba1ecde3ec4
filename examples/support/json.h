// JSON as the examples write it.
// Owns: objects in the order in which keys were added, numbers whose bits survive (9 significant
// digits for float, 17 for double; NaN and infinities are null). Must not know: what is written.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdio>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ingot/kernels/core/text.h>

namespace examples {

class JsonObject;
std::string json(const JsonObject& object);

inline std::string json(bool value) { return value ? "true" : "false"; }
template <std::integral I>
requires(!std::same_as<I, bool>) std::string json(I value) { return std::to_string(value); }
template <std::floating_point F>
std::string json(F value) {
  if (!std::isfinite(value)) return "null";
  char text[40];
  std::snprintf(text, sizeof text, sizeof(F) == sizeof(float) ? "%.9g" : "%.17g",
                static_cast<double>(value));
  return text;
}
inline std::string json(std::string_view value) {
  std::string text;
  ingot::append_json_string(text, value);
  return text;
}
inline std::string json(const std::string& value) { return json(std::string_view(value)); }
inline std::string json(const char* value) { return json(std::string_view(value)); }
template <class T>
std::string json(const std::optional<T>& value) {
  return value.has_value() ? json(*value) : "null";
}
template <class T>
std::string json(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text += (text.size() > 1 ? ", " : "") + json(value);
  return text + "]";
}

class JsonObject {
 public:
  template <class T>
  JsonObject& add(std::string_view key, const T& value) {
    body_ += (body_.empty() ? "" : ", ") + json(key) + ": " + json(value);
    return *this;
  }
  std::string str() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};
inline std::string json(const JsonObject& object) { return object.str(); }

// Throws std::runtime_error, one sentence, when the file cannot be written.
inline void write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace examples
