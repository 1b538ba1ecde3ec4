#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/data/byte_stream.h>
#include <ingot/runtime/data/csv.h>
#include <ingot/runtime/ops.h>

namespace ingot::data {

namespace {

std::string read_text(const std::string& file, Loc loc) {
  ByteStream stream("csv", file, loc);
  std::string text;
  constexpr std::size_t kStep = 1 << 16;
  for (std::size_t got = kStep; got == kStep;) {
    const std::size_t before = text.size();
    text.resize(before + kStep);
    got = stream.read(text.data() + before, kStep);
    text.resize(before + got);
  }
  return text;
}

std::string trimmed(std::string_view cell) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!cell.empty() && space(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && space(cell.back())) cell.remove_suffix(1);
  return std::string(cell);
}

// Cuts one record off the front of `text`; counts the lines it spans. False: a quote stays open.
bool take_record(std::string_view& text, std::vector<std::string>& cells, i64& line) {
  cells.clear();
  std::string cell;
  bool quoted = false, was_quoted = false;
  const auto finish = [&] {
    cells.push_back(was_quoted ? cell : trimmed(cell));
    cell.clear();
    was_quoted = false;
  };
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"' && trimmed(cell).empty()) {
      cell.clear();
      quoted = was_quoted = true;
    } else if (c == ',') {
      finish();
    } else if (c == '\n') {
      break;
    } else if (!was_quoted || (c != ' ' && c != '\t' && c != '\r')) {
      cell += c;
    }
  }
  finish();
  text.remove_prefix(std::min(i + 1, text.size()));
  return !quoted;
}

// As it stands in a sentence.
std::string shown(std::string cell) {
  constexpr std::size_t kShown = 40;
  if (cell.size() > kShown) cell = cell.substr(0, kShown) + "...";
  std::replace_if(
      cell.begin(), cell.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return cell;
}

template <class T>
std::optional<T> number(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || cell.empty()) return {};
  return value;
}

}  // namespace

Dataset csv(const std::string& file, const std::string& target_column, Loc loc) {
  const std::string content = read_text(file, loc);
  std::string_view text = content;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  const auto fail = [&]<class... A>(fmt::format_string<A...> sentence, A&&... args) {
    detail::fail_at<FileError>("csv", loc, "{} {}", file,
                               fmt::format(sentence, std::forward<A>(args)...));
  };

  i64 line = 1;
  std::vector<std::string> header, cells;
  if (text.empty()) fail("is empty");
  if (!take_record(text, header, line)) fail("has a quote in line 1 that is never closed");
  const auto n_target = std::count(header.begin(), header.end(), target_column);
  if (n_target != 1) {
    fail("has {} \"{}\"", n_target == 0 ? "no column" : "several columns", target_column);
  }
  const std::size_t target = static_cast<std::size_t>(
      std::find(header.begin(), header.end(), target_column) - header.begin());

  std::vector<float> x, y_f32;
  std::vector<i64> y_i64;
  i64 rows = 0;
  bool integers = true;
  while (!text.empty()) {
    const i64 at = line;
    if (!take_record(text, cells, line)) fail("has a quote in line {} that is never closed", at);
    if (cells.size() == 1 && cells[0].empty()) continue;
    if (cells.size() != header.size()) {
      fail("has {} cell{} in line {}, but {} column{}", cells.size(), cells.size() == 1 ? "" : "s",
           at, header.size(), header.size() == 1 ? "" : "s");
    }
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::optional<float> value = number<float>(cells[c]);
      if (!value.has_value() || !std::isfinite(*value)) {
        fail("has \"{}\" in line {}, column \"{}\", which is not a finite number", shown(cells[c]),
             at, shown(header[c]));
      }
      if (c != target) {
        x.push_back(*value);
        continue;
      }
      const std::optional<i64> whole = number<i64>(cells[c]);
      integers = integers && whole.has_value();
      y_f32.push_back(*value);
      y_i64.push_back(whole.value_or(0));
    }
    ++rows;
  }
  Tensor xs = from_vector(x, {rows, static_cast<i64>(header.size()) - 1},
                          TensorOptions(kFloat32, kCPU), loc);
  Tensor ys = integers ? from_vector(y_i64, {rows}, TensorOptions(kInt64, kCPU), loc)
                       : from_vector(y_f32, {rows}, TensorOptions(kFloat32, kCPU), loc);
  return Dataset(std::move(xs), std::move(ys), loc);
}

}  // namespace ingot::data
