#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include <ingot/kernels/core/text.h>
#include <ingot/profiler/units.h>

namespace ingot::profiler {
namespace {

struct Span {
  char32_t first, last;
};

// The blocks of Unicode 15 whose characters combine with the one before or are not seen (general
// categories Mn, Me, Cf), scripts of right-to-left and Indic text by their commonest marks.
constexpr Span kNoWidth[] = {
    {0x300, 0x36F},     {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},   {0x64B, 0x65F},
    {0x6D6, 0x6DC},     {0x900, 0x902},   {0x93C, 0x93C},   {0x941, 0x948},   {0x94D, 0x94D},
    {0xE31, 0xE31},     {0xE34, 0xE3A},   {0xE47, 0xE4E},   {0x1160, 0x11FF}, {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF},   {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064}, {0x20D0, 0x20F0},
    {0x302A, 0x302D},   {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF},
    {0xE0001, 0xE01EF},
};
// Those of East Asian Width W and F (Unicode Standard Annex 11).
constexpr Span kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
    {0x23F0, 0x23F0},   {0x23F3, 0x23F3},   {0x25FD, 0x25FE},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},
    {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},   {0x26CE, 0x26CE},
    {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},
    {0x26FA, 0x26FA},   {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},
    {0x2728, 0x2728},   {0x274C, 0x274C},   {0x274E, 0x274E},   {0x2753, 0x2755},
    {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27B0, 0x27B0},   {0x27BF, 0x27BF},
    {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},   {0x2E80, 0x303E},
    {0x3041, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x16FE0, 0x18AFF}, {0x1AFF0, 0x1B2FF}, {0x1F004, 0x1F004},
    {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A}, {0x1F200, 0x1F320},
    {0x1F32D, 0x1F335}, {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393}, {0x1F3A0, 0x1F3CA},
    {0x1F3CF, 0x1F3D3}, {0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3F4}, {0x1F3F8, 0x1F43E},
    {0x1F440, 0x1F440}, {0x1F442, 0x1F4FC}, {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F54E},
    {0x1F550, 0x1F567}, {0x1F57A, 0x1F57A}, {0x1F595, 0x1F596}, {0x1F5A4, 0x1F5A4},
    {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6CC}, {0x1F6D0, 0x1F6D2},
    {0x1F6D5, 0x1F6DF}, {0x1F6EB, 0x1F6EC}, {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7EB},
    {0x1F7F0, 0x1F7F0}, {0x1F90C, 0x1F93A}, {0x1F93C, 0x1F945}, {0x1F947, 0x1F9FF},
    {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

template <std::size_t N>
bool is_any_of(const Span (&spans)[N], char32_t c) {
  const Span* after = std::upper_bound(std::begin(spans), std::end(spans), c,
                                       [](char32_t at, const Span& s) { return at < s.first; });
  return after != std::begin(spans) && c <= std::prev(after)->last;
}

char32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  char32_t code = first & (0x7Fu >> character.size());
  for (char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  return code;
}

// The first character of a text that is not empty. A byte that is none takes one cell.
struct Character {
  std::size_t bytes, width;
};
Character first_character(std::string_view text) {
  const std::size_t bytes = utf8_character(text);
  if (bytes == 0) return {1, 1};
  const char32_t code = code_point(text.substr(0, bytes));
  if (code < 0x300) return {bytes, 1};
  return {bytes, is_any_of(kNoWidth, code) ? std::size_t{0} : is_any_of(kWide, code) ? 2u : 1u};
}

}  // namespace

std::string format_us(double us) {
  if (std::abs(us) >= 1e6) return fmt::format("{:.3f}s", us / 1e6);
  if (std::abs(us) >= 1e3) return fmt::format("{:.3f}ms", us / 1e3);
  return fmt::format("{:.3f}us", us);
}

std::string format_bytes(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes) / 1024;
  if (std::abs(value) < 1) return fmt::format("{} B", bytes);
  int unit = 0;
  while (std::abs(value) >= 1024 && unit < 3) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, kUnits[unit]);
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.2f}%", 100 * part / whole) : "-";
}

std::string number_or_dash(std::optional<double> number) {
  return number ? fmt::format("{:.2f}", *number) : "-";
}

std::size_t display_width(const std::string& text) {
  std::size_t width = 0;
  for (std::string_view left = text; !left.empty();) {
    const Character c = first_character(left);
    width += c.width;
    left.remove_prefix(c.bytes);
  }
  return width;
}

std::string one_line(const std::string& text) {
  std::string out = valid_utf8(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return out;
}

std::string shorten(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::size_t cut = 0, taken = 0;
  while (cut < text.size()) {
    const Character c = first_character(std::string_view(text).substr(cut));
    if (taken + c.width > width - 3) break;
    cut += c.bytes;
    taken += c.width;
  }
  return text.substr(0, cut) + "...";
}

}  // namespace ingot::profiler
