#include <fmt/format.h>

#include <ingot/compiler/signature.h>

namespace ingot::compiler {

namespace {

// One argument's part of the words: [begin, end).
struct Item {
  std::size_t begin, end;
};

std::vector<Item> items_of(std::span<const i64> words) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < words.size();) {
    const auto dim = words[i] < 0 ? i64{0} : words[i] >> 32;
    const std::size_t end = i + 1 + 2 * static_cast<std::size_t>(dim);
    items.push_back({i, end});
    i = end;
  }
  return items;
}

bool same(std::span<const i64> a, Item x, std::span<const i64> b, Item y) {
  return std::equal(a.begin() + static_cast<std::ptrdiff_t>(x.begin),
                    a.begin() + static_cast<std::ptrdiff_t>(x.end),
                    b.begin() + static_cast<std::ptrdiff_t>(y.begin),
                    b.begin() + static_cast<std::ptrdiff_t>(y.end));
}

struct Described {
  Meta meta;
  bool requires_grad = false;
};

Described tensor_of(std::span<const i64> words, Item item) {
  const i64 head = words[item.begin];
  Described d;
  d.meta.dtype = static_cast<DType>(head & 255);
  d.meta.device =
      Device(static_cast<DeviceType>(head >> 8 & 255), static_cast<int>(head >> 16 & 255));
  d.requires_grad = (head >> 24 & 1) != 0;
  for (std::size_t i = item.begin + 1; i < item.end; i += 2) {
    d.meta.sizes.push_back(words[i]);
    d.meta.strides.push_back(words[i + 1]);
  }
  return d;
}

std::string text_of(std::span<const i64> words, Item item) {
  switch (words[item.begin]) {
    case -1:
      return "an undefined tensor";
    case -2:
      return "a bool";
    case -3:
      return "an integer";
    case -4:
      return "a floating number";
    default:
      break;
  }
  if (words[item.begin] < 0)
    return fmt::format("a list of {}", Signature::length_of(words[item.begin]));
  return describe(tensor_of(words, item).meta);
}

std::string difference_of(std::span<const i64> known, Item was, std::span<const i64> words,
                          Item is) {
  std::string before = text_of(known, was), now = text_of(words, is);
  if (before != now || words[is.begin] < 0) return fmt::format("{}, recorded {}", now, before);
  const Described a = tensor_of(known, was), b = tensor_of(words, is);
  if (a.requires_grad != b.requires_grad) {
    return fmt::format("{} {} a gradient, recorded {}", now,
                       b.requires_grad ? "that requires" : "without",
                       b.requires_grad ? "without" : "with");
  }
  return fmt::format("{} strides {}, recorded strides {}", now, to_string(b.meta.strides),
                     to_string(a.meta.strides));
}

}  // namespace

std::string difference(const Signature& known, const Signature& now) {
  const std::vector<Item> a = items_of(known.words()), b = items_of(now.words());
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (same(known.words(), a[i], now.words(), b[i])) continue;
    return fmt::format("argument {} is {}", i,
                       difference_of(known.words(), a[i], now.words(), b[i]));
  }
  return "another number of arguments";
}

int count_differences(const Signature& known, const Signature& now) {
  const std::vector<Item> a = items_of(known.words()), b = items_of(now.words());
  int count = std::abs(static_cast<int>(a.size()) - static_cast<int>(b.size()));
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    count += same(known.words(), a[i], now.words(), b[i]) ? 0 : 1;
  }
  return count;
}

}  // namespace ingot::compiler
