#include <ingot/kernels/core/text.h>

namespace ingot {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool continues(unsigned char c) { return (c & 0xC0) == 0x80; }

void append_escaped(std::string& out, unsigned char c) {
  constexpr const char* kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
  }
}

}  // namespace

// Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
std::size_t utf8_character(std::string_view text) {
  auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char c = at(0);
  if (c < 0x80) return 1;
  const std::size_t length = c >= 0xC2 && c <= 0xDF   ? 2
                             : c >= 0xE0 && c <= 0xEF ? 3
                             : c >= 0xF0 && c <= 0xF4 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  const unsigned char low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
  if (at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!continues(at(i))) return 0;
  }
  return length;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    out += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    std::size_t length = utf8_character(text);
    if (length == 0) {
      out += kReplacement;
      length = 1;
    } else if (c < 0x20 || c == '"' || c == '\\' || c == 0x7F) {
      append_escaped(out, c);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

}  // namespace ingot
