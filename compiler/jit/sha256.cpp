#include <algorithm>
#include <bit>
#include <cstring>

#include <ingot/compiler/jit/sha256.h>

namespace ingot::jit {
namespace {

// FIPS 180-4, section 4.2.2: first 32 bits of the fractional parts of the cube roots of the first
// 64 primes.
constexpr std::uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t load_big_endian(const unsigned char* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

void store_big_endian(std::uint32_t x, unsigned char* p) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<unsigned char>(x >> (24 - 8 * i));
}

}  // namespace

void Sha256::block(const unsigned char* p) {
  std::uint32_t w[64];
  for (int t = 0; t < 16; ++t) w[t] = load_big_endian(p + 4 * t);
  for (int t = 16; t < 64; ++t) {
    const std::uint32_t x = w[t - 15], y = w[t - 2];
    const std::uint32_t s0 = std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3);
    const std::uint32_t s1 = std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int t = 0; t < 64; ++t) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::uint32_t sum[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state_[i] += sum[i];
}

Sha256& Sha256::update(ByteView bytes) {
  const std::size_t used = length_ % 64;
  length_ += bytes.size();
  if (used != 0) {
    const std::size_t n = std::min(bytes.size(), 64 - used);
    if (n != 0) std::memcpy(pending_.data() + used, bytes.data(), n);
    bytes = bytes.subspan(n);
    if (used + n < 64) return *this;
    block(pending_.data());
  }
  for (; bytes.size() >= 64; bytes = bytes.subspan(64)) block(bytes.data());
  if (!bytes.empty()) std::memcpy(pending_.data(), bytes.data(), bytes.size());
  return *this;
}

Digest Sha256::digest() const {
  Sha256 last = *this;
  const std::uint64_t bits = length_ * 8;
  unsigned char tail[72] = {0x80};  // padding: a one bit, zeros up to 56 mod 64, the bit length
  const std::size_t zeros = (length_ % 64 < 56 ? 56 : 120) - length_ % 64;
  store_big_endian(static_cast<std::uint32_t>(bits >> 32), tail + zeros);
  store_big_endian(static_cast<std::uint32_t>(bits), tail + zeros + 4);
  last.update(ByteView(tail, zeros + 8));
  Digest out;
  for (int i = 0; i < 8; ++i) store_big_endian(last.state_[i], out.data() + 4 * i);
  return out;
}

Digest sha256(std::string_view text) { return Sha256().update(text).digest(); }

std::string to_hex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned char byte : digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace ingot::jit
