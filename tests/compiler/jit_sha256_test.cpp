// SHA-256 against the vectors of FIPS 180-4's examples and of NIST's short-message file.
#include <string>

#include <gtest/gtest.h>

#include <ingot/compiler/jit/kernel_source.h>
#include <ingot/compiler/jit/sha256.h>

namespace ingot::jit {
namespace {

std::string hex_of(std::string_view text) { return to_hex(sha256(text)); }

TEST(JitSha256, StandardVectors) {
  EXPECT_EQ(hex_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                   "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hex_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(hex_of("\xd3"), "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1");
}

// Padding changes at 55, 56, 63 and 64 bytes; a split must not matter anywhere.
TEST(JitSha256, PiecesGiveTheDigestOfTheWhole) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>('!' + i % 90);
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::string_view whole = std::string_view(text).substr(0, length);
    const Digest expected = sha256(whole);
    for (std::size_t cut : {std::size_t{0}, std::size_t{1}, length / 2, length}) {
      cut = std::min(cut, length);
      Sha256 pieces;
      pieces.update(whole.substr(0, cut)).update(whole.substr(cut));
      ASSERT_EQ(pieces.digest(), expected) << length << " cut at " << cut;
    }
  }
}

TEST(JitSha256, ACopyKeepsThePrefix) {
  Sha256 prefix;
  prefix.update("ab");
  Sha256 other = prefix;
  prefix.update("c");
  other.update("d");
  EXPECT_EQ(prefix.digest(), sha256("abc"));
  EXPECT_EQ(other.digest(), sha256("abd"));
  EXPECT_EQ(Prelude("abc").digest(), hex_of("abc"));
}

TEST(JitSha256, EmbeddedTextsComeWithTheirs) {
  for (const EmbeddedText& t : {kOpsText, kRowsText, kLoopText}) {
    EXPECT_EQ(t.sha256, hex_of({t.text, t.size}));
  }
}

}  // namespace
}  // namespace ingot::jit
