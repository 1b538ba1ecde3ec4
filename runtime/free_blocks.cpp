#include <algorithm>
#include <cstdint>
#include <tuple>

#include <ingot/runtime/free_blocks.h>

namespace ingot {

std::size_t block_alignment(std::size_t block_bytes) {
  return block_bytes >= (1u << 20) ? 4096 : kStorageAlignment;
}

int FreeBlocks::larger_class(int c) const {
  for (int larger = c + 1; larger < kSizeClasses; ++larger) {
    if (class_bytes(larger) > 8 * class_bytes(c)) break;
    const bool near = 2 * class_bytes(larger) <= 3 * class_bytes(c);
    if (of_[larger].size() > (near ? 0 : 1)) return larger;
  }
  return kSizeClasses;
}

void* FreeBlocks::cut(int c, const Segments& segments) {
  const std::size_t bytes = class_bytes(c), align = block_alignment(bytes);
  const auto start_in = [&](char* at) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    return at + ((address + align - 1) / align * align - address);
  };
  auto piece = pieces_.lower_bound({bytes, nullptr});
  while (piece != pieces_.end() && piece->first <= 8 * bytes &&
         start_in(piece->second) + bytes > piece->second + piece->first) {
    ++piece;
  }
  const bool has_piece = piece != pieces_.end() && piece->first <= 8 * bytes;
  const int larger = larger_class(c);
  if (!has_piece && larger == kSizeClasses) return nullptr;
  char* from = nullptr;
  std::size_t size = 0;
  if (has_piece && (larger == kSizeClasses || piece->first <= class_bytes(larger))) {
    std::tie(size, from) = *piece;
    pieces_.erase(piece);
    bytes_ -= size;
  } else {
    size = class_bytes(larger);
    from = static_cast<char*>(take(larger));
    if (segments.contains(from)) cut_.insert(from);
  }
  char* const block = start_in(from);
  char* const end = block + bytes;
  if (block != from) put_part(from, static_cast<std::size_t>(block - from));
  if (end != from + size) put_part(end, static_cast<std::size_t>(from + size - end));
  return block;
}

std::size_t FreeBlocks::join(const Segments& segments) {
  if (joined_ || cut_.empty()) return 0;
  std::vector<std::pair<char*, std::size_t>> all;
  for (int c = 0; c < kSizeClasses; ++c) {
    for (void* block : of_[c]) all.emplace_back(static_cast<char*>(block), class_bytes(c));
    of_[c].clear();
  }
  for (const auto& [bytes, at] : pieces_) all.emplace_back(at, bytes);
  pieces_.clear();
  bytes_ = 0;
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size();) {
    auto [at, bytes] = all[i++];
    for (; i < all.size() && all[i].first == at + bytes && !segments.contains(all[i].first); ++i) {
      bytes += all[i].second;
    }
    const auto segment = segments.find(at);
    if (segment != segments.end() && segment->second == bytes) {
      put(size_class(bytes), at);
      cut_.erase(at);
    } else {
      put_part(at, bytes);
    }
  }
  joined_ = true;
  return all.size();
}

std::vector<std::pair<char*, std::size_t>> FreeBlocks::take_segments(const Segments& segments,
                                                                     int c, std::size_t enough) {
  join(segments);
  std::vector<std::pair<char*, std::size_t>> taken;
  // A segment has the size of a class.
  const auto take_of = [&](int k) {
    std::vector<void*>& blocks = of_[k];
    for (std::size_t i = blocks.size(); i-- > 0 && enough > 0;) {
      char* const at = static_cast<char*>(blocks[i]);
      const auto segment = segments.find(at);
      if (segment == segments.end() || segment->second != class_bytes(k)) continue;
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
      bytes_ -= class_bytes(k);
      taken.emplace_back(at, class_bytes(k));
      enough -= std::min(enough, class_bytes(k));
    }
  };
  for (int k = c; k-- > 0 && enough > 0;) take_of(k);
  for (int k = c; k < kSizeClasses && enough > 0; ++k) take_of(k);
  return taken;
}

void FreeBlocks::put_part(char* at, std::size_t bytes) {
  // Where the size is that of a class the next request of it finds the block at once.
  const int c = size_class(bytes);
  if (class_bytes(c) == bytes &&
      reinterpret_cast<std::uintptr_t>(at) % block_alignment(bytes) == 0) {
    put(c, at);
  } else {
    pieces_.emplace(bytes, at);
    bytes_ += bytes;
    joined_ = false;
  }
}

}  // namespace ingot
