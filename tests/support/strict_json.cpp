#include "support/strict_json.h"

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace ingot::testing {
namespace {

constexpr int kDeepest = 200;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Json document() {
    Json value = read(0);
    skip_space();
    if (at_ != text_.size()) fail("text after the value");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("JSON: " + what + " at byte " + std::to_string(at_) + ": ..." +
                             std::string(text_.substr(at_ < 20 ? 0 : at_ - 20, 40)));
  }

  bool end() const { return at_ >= text_.size(); }
  char peek() const { return end() ? '\0' : text_[at_]; }
  char next() {
    if (end()) fail("unexpected end");
    return text_[at_++];
  }
  void expect(char c) {
    if (next() != c) {
      --at_;
      fail(std::string("expected ") + c);
    }
  }
  void skip_space() {
    while (!end() && (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r')) ++at_;
  }

  Json read(int depth) {
    if (depth > kDeepest) fail("too deep");
    skip_space();
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"': {
        Json v;
        v.type = Json::string;
        v.text = string();
        return v;
      }
      case 't':
        return word("true", Json::boolean, true);
      case 'f':
        return word("false", Json::boolean, false);
      case 'n':
        return word("null", Json::null, false);
      default:
        return number();
    }
  }

  Json word(std::string_view w, Json::Type type, bool truth) {
    if (text_.substr(at_, w.size()) != w) fail("unknown word");
    at_ += w.size();
    Json v;
    v.type = type;
    v.truth = truth;
    return v;
  }

  void digits() {
    if (peek() < '0' || peek() > '9') fail("expected a digit");
    while (peek() >= '0' && peek() <= '9') ++at_;
  }

  Json number() {
    std::size_t start = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else {
      digits();
    }
    if (peek() == '.') {
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    Json v;
    v.type = Json::number;
    v.text = std::string(text_.substr(start, at_ - start));
    v.value = std::strtod(v.text.c_str(), nullptr);
    return v;
  }

  unsigned hex4() {
    unsigned v = 0;
    for (int i = 0; i < 4; ++i) {
      char c = next();
      unsigned d = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                   : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                   : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                          : 16;
      if (d == 16) fail("bad \\u escape");
      v = v * 16 + d;
    }
    return v;
  }

  static void append_utf8(std::string& out, std::uint32_t c) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xC0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      out += static_cast<char>(0xE0 | c >> 12);
      out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
      out += static_cast<char>(0x80 | (c & 0x3F));
    } else {
      out += static_cast<char>(0xF0 | c >> 18);
      out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
      out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
      out += static_cast<char>(0x80 | (c & 0x3F));
    }
  }

  void escape(std::string& out) {
    switch (char c = next()) {
      case '"':
      case '\\':
      case '/':
        out += c;
        return;
      case 'b':
        out += '\b';
        return;
      case 'f':
        out += '\f';
        return;
      case 'n':
        out += '\n';
        return;
      case 'r':
        out += '\r';
        return;
      case 't':
        out += '\t';
        return;
      case 'u': {
        std::uint32_t code = hex4();
        if (code >= 0xDC00 && code < 0xE000) fail("lone surrogate");
        if (code >= 0xD800 && code < 0xDC00) {
          expect('\\');
          expect('u');
          std::uint32_t low = hex4();
          if (low < 0xDC00 || low >= 0xE000) fail("lone surrogate");
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        append_utf8(out, code);
        return;
      }
      default:
        fail("unknown escape");
    }
  }

  // A character of two to four bytes: its value must need that many and be no surrogate.
  void multi_byte(std::string& out, unsigned char first) {
    int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC0 || first > 0xF7) fail("bytes that are no UTF-8");
    std::uint32_t code = first & (0x3Fu >> more);
    for (int i = 0; i < more; ++i) {
      auto c = static_cast<unsigned char>(next());
      if ((c & 0xC0) != 0x80) fail("bytes that are no UTF-8");
      code = code << 6 | (c & 0x3Fu);
    }
    static constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (code < kLeast[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      fail("bytes that are no UTF-8");
    }
    append_utf8(out, code);
  }

  std::string string() {
    expect('"');
    std::string out;
    for (;;) {
      auto c = static_cast<unsigned char>(next());
      if (c == '"') return out;
      if (c < 0x20) fail("raw control character");
      if (c == '\\') {
        escape(out);
      } else if (c < 0x80) {
        out += static_cast<char>(c);
      } else {
        multi_byte(out, c);
      }
    }
  }

  Json array(int depth) {
    Json v;
    v.type = Json::array;
    expect('[');
    skip_space();
    if (peek() == ']') {
      ++at_;
      return v;
    }
    for (;;) {
      v.items.push_back(read(depth + 1));
      skip_space();
      if (peek() == ']') break;
      expect(',');
    }
    ++at_;
    return v;
  }

  Json object(int depth) {
    Json v;
    v.type = Json::object;
    expect('{');
    skip_space();
    if (peek() == '}') {
      ++at_;
      return v;
    }
    for (;;) {
      skip_space();
      std::string key = string();
      if (v.has(key)) fail("the name \"" + key + "\" twice");
      skip_space();
      expect(':');
      Json member = read(depth + 1);
      v.members.push_back({std::move(key), std::move(member)});
      skip_space();
      if (peek() == '}') break;
      expect(',');
    }
    ++at_;
    return v;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Json Json::parse(std::string_view text) { return Reader(text).document(); }

std::size_t Json::size() const { return type == object ? members.size() : items.size(); }

bool Json::has(std::string_view key) const {
  for (const Member& member : members) {
    if (member.name == key) return true;
  }
  return false;
}

const Json& Json::operator[](std::string_view key) const {
  for (const Member& member : members) {
    if (member.name == key) return member.value;
  }
  throw std::out_of_range("JSON: no member " + std::string(key));
}

}  // namespace ingot::testing
