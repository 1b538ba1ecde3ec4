#include <ingot/profiler/record.h>

namespace ingot::profiler {
namespace {

std::size_t kept_length(std::string_view text) {
  if (text.size() <= kMaxText) return text.size();
  std::size_t kept = kMaxText;
  // A byte 10xxxxxx continues a character.
  while (kept > kMaxText - 3 && (static_cast<unsigned char>(text[kept]) & 0xC0) == 0x80) --kept;
  return kept;
}

}  // namespace

std::string recorded_text(std::string_view text) {
  const std::size_t kept = kept_length(text);
  return std::string(text.substr(0, kept)) + (kept < text.size() ? "..." : "");
}

std::byte* write_text(std::byte* at, std::string_view text) {
  const std::size_t kept = kept_length(text);
  std::uint64_t length = kept + (kept < text.size() ? 3 : 0);
  std::memcpy(at, &length, sizeof length);
  std::memcpy(at + sizeof length, text.data(), kept);
  if (length > kept) std::memcpy(at + sizeof length + kept, "...", 3);
  return at + text_room(text.size());
}

std::string_view take_text(const std::byte*& at) {
  auto length = static_cast<std::size_t>(take<std::uint64_t>(at));
  std::string_view text(reinterpret_cast<const char*>(at), length);
  at += padded(length);
  return text;
}

}  // namespace ingot::profiler
