#include <cstdint>
#include <cstring>
#include <string_view>

#include <ingot/compiler/jit/elf.h>

namespace ingot::jit {
namespace {

// Field offsets and values of the System V ABI, chapters 4 and 5 (ELF-64), so that no system
// header is needed.
constexpr std::size_t kElfHeaderSize = 64, kSectionSize = 64, kSymbolSize = 24;
constexpr std::size_t kSectionTable = 40, kSectionEntrySize = 58, kSectionCount = 60;
constexpr std::size_t kType = 4, kOffset = 24, kSize = 32, kLink = 40;
constexpr std::uint32_t kSymbolTable = 2;
constexpr std::uint16_t kUndefined = 0;

template <class T>
T read(ByteView bytes, std::size_t at) {
  T value{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof(T)) {
    std::memcpy(&value, bytes.data() + at, sizeof(T));
  }
  return value;
}

ByteView part(ByteView bytes, std::uint64_t at, std::uint64_t size) {
  if (at > bytes.size() || size > bytes.size() - at) return {};
  return bytes.subspan(at, size);
}

}  // namespace

bool is_elf(ByteView bytes) {
  return as_text(bytes).starts_with(
      "\x7f"
      "ELF");
}

std::vector<std::string> undefined_symbols(ByteView object) {
  std::vector<std::string> names;
  constexpr unsigned char k64Bit = 2, kLittleEndian = 1;
  if (!is_elf(object) || object.size() < kElfHeaderSize) return names;
  if (object[4] != k64Bit || object[5] != kLittleEndian) return names;
  if (read<std::uint16_t>(object, kSectionEntrySize) != kSectionSize) return names;
  const std::uint16_t count = read<std::uint16_t>(object, kSectionCount);
  const ByteView sections =
      part(object, read<std::uint64_t>(object, kSectionTable), std::uint64_t{count} * kSectionSize);
  const auto contents = [&](std::uint32_t index) -> ByteView {
    const ByteView section = part(sections, std::uint64_t{index} * kSectionSize, kSectionSize);
    if (section.empty()) return {};
    return part(object, read<std::uint64_t>(section, kOffset), read<std::uint64_t>(section, kSize));
  };
  for (std::uint32_t i = 0; i < count && !sections.empty(); ++i) {
    const ByteView section = sections.subspan(i * kSectionSize, kSectionSize);
    if (read<std::uint32_t>(section, kType) != kSymbolTable) continue;
    const ByteView symbols = contents(i);
    const std::string_view strings = as_text(contents(read<std::uint32_t>(section, kLink)));
    // Entry 0 is the reserved empty symbol.
    for (std::size_t at = kSymbolSize; at + kSymbolSize <= symbols.size(); at += kSymbolSize) {
      if (read<std::uint16_t>(symbols, at + 6) != kUndefined) continue;
      const std::uint32_t name = read<std::uint32_t>(symbols, at);
      if (name == 0 || name >= strings.size()) continue;
      const std::string_view rest = strings.substr(name);
      names.emplace_back(rest.substr(0, rest.find('\0')));
    }
  }
  return names;
}

}  // namespace ingot::jit
