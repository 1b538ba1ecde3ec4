// SHA-256 as FIPS 180-4 defines it: the identity of sources, options and cache entries.
// Owns: the running state; a hasher can be copied, which keeps the state after a prefix.
// Must not know: what is hashed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <ingot/compiler/jit/bytes.h>

namespace ingot::jit {

using Digest = std::array<unsigned char, 32>;

class Sha256 {
 public:
  Sha256& update(ByteView bytes);
  Sha256& update(std::string_view text) { return update(as_bytes(text)); }
  // The digest of everything so far; the hasher itself stays usable.
  Digest digest() const;

 private:
  void block(const unsigned char* p);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};
  std::uint64_t length_ = 0;  // bytes
};

Digest sha256(std::string_view text);
// Lower-case hexadecimal, 64 characters.
std::string to_hex(const Digest& digest);

}  // namespace ingot::jit
