// Numbers and names as cells of a table.
// Owns: units, shortening, widths.
// Must not know: what a cell means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ingot::profiler {

std::string format_us(double us);                // "12.345us", "1.234ms", "2.001s", as PyTorch
std::string format_bytes(std::int64_t bytes);    // "-1.50 KB", "16 B"
std::string percent(double part, double whole);  // "12.34%"; "-" of nothing
std::string number_or_dash(std::optional<double> number);

// Cells of a terminal: two for wide characters (Chinese, Japanese, Korean, emoji), none for those
// that combine with the one before.
std::size_t display_width(const std::string& text);
// UTF-8, control characters as spaces.
std::string one_line(const std::string& text);
std::string shorten(const std::string& text, std::size_t width);  // ends in "..."

}  // namespace ingot::profiler
