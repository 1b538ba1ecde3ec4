#include <cmath>

#include <fmt/format.h>

#include <ingot/profiler/units.h>

namespace ingot::profiler {
namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

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
  std::size_t n = 0;
  for (char c : text) n += starts_character(c);
  return n;
}

std::string one_line(const std::string& text) {
  std::string out = text;
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return out;
}

std::string shorten(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::size_t cut = 0, characters = 0;
  for (; cut < text.size(); ++cut) {
    if (starts_character(text[cut]) && characters++ == width - 3) break;
  }
  return text.substr(0, cut) + "...";
}

}  // namespace ingot::profiler
