// Where a library's kernels keep addresses, learned from its own calls: what is known is right, and
// what cannot be known is not claimed.
#include <gtest/gtest.h>

#include <ingot/kernels/cuda/learned_places.h>

namespace ingot::cuda {
namespace {

using Addresses = LearnedPlaces::Addresses;
using Words = LearnedPlaces::Words;

// A kernel's parameters: sizes between addresses, one with flags in its low bits, one beyond the
// operand's start.
Words parameters(const Addresses& a) {
  return {a[0], 100, a[1], 784, a[0] + 4096, a[2] | 3, 7, a[4], 0xffffffff00000000u};
}

const Addresses kFirst = {0x7f0000001000, 0x7f0000200000, 0x7f0000300000, 0, 0x7f00fff00000};

Addresses moved(Addresses a, std::initializer_list<int> which, std::uint64_t by) {
  std::uint64_t k = 0;
  for (int i : which) a[static_cast<std::size_t>(i)] += by + 16 * k++;
  return a;
}

TEST(LearnedPlaces, AreUsedAfterAThirdCallThatAgrees) {
  LearnedPlaces places;
  const Addresses second = moved(kFirst, {0}, 313600), third = moved(second, {0}, 313600),
                  fourth = moved(third, {0}, 0x10000000000);
  EXPECT_FALSE(places.know(kFirst, second));
  places.teach(parameters(kFirst), kFirst, parameters(second), second);
  EXPECT_FALSE(places.know(second, third));
  places.teach(parameters(second), second, parameters(third), third);
  EXPECT_TRUE(places.know(third, fourth));
  Words words = parameters(third);
  places.move(words, third, fourth);
  EXPECT_EQ(words, parameters(fourth));
  // Of the others nothing is known.
  EXPECT_FALSE(places.know(third, moved(third, {1}, 16)));
  EXPECT_FALSE(places.know(third, moved(fourth, {2}, 16)));
}

TEST(LearnedPlaces, OfEachAddressAreLearnedWheneverItMoves) {
  LearnedPlaces places;
  Addresses at = kFirst;
  const auto teach = [&](std::initializer_list<int> which) {
    const Addresses to = moved(at, which, 512);
    places.teach(parameters(at), at, parameters(to), to);
    at = to;
  };
  teach({0});
  teach({0, 2});
  EXPECT_TRUE(places.know(at, moved(at, {0}, 16)));
  EXPECT_FALSE(places.know(at, moved(at, {0, 2}, 16)));
  teach({0, 2});
  const Addresses to = moved(at, {2, 0}, 1 << 20);
  ASSERT_TRUE(places.know(at, to));
  Words words = parameters(at);
  places.move(words, at, to);
  EXPECT_EQ(words, parameters(to));
}

// Operands in one block of memory move by one distance; plain addresses tell them apart.
TEST(LearnedPlaces, OperandsThatMoveTogetherAreToldApartByTheirAddresses) {
  const auto plain = [](const Addresses& a) { return Words{a[0], a[1], a[2]}; };
  LearnedPlaces places;
  Addresses at = kFirst;
  for (int i = 0; i < 2; ++i) {
    Addresses to = at;
    for (int k = 0; k < 3; ++k) to[static_cast<std::size_t>(k)] += 8192;
    places.teach(plain(at), at, plain(to), to);
    at = to;
  }
  const Addresses to = moved(at, {1}, 64);
  ASSERT_TRUE(places.know(at, to));
  Words words = plain(at);
  places.move(words, at, to);
  EXPECT_EQ(words, plain(to));
}

TEST(LearnedPlaces, TheSameAddressTwiceIsNotToldApart) {
  const auto plain = [](const Addresses& a) { return Words{a[0], a[1]}; };
  LearnedPlaces places;
  Addresses at = kFirst;
  at[1] = at[0];
  for (int i = 0; i < 4; ++i) {
    Addresses to = at;
    to[0] += 256, to[1] += 256;
    EXPECT_FALSE(places.know(at, to));
    places.teach(plain(at), at, plain(to), to);
    at = to;
  }
}

TEST(LearnedPlaces, AreGivenUpWhereParametersDependOnAddressesOtherwise) {
  const auto odd = [](const Addresses& a) { return Words{a[0], a[0] % 4096 == 0 ? 1u : 2u}; };
  LearnedPlaces places;
  Addresses at = kFirst;
  for (const std::uint64_t by : {4096, 4096, 16, 4096, 4096, 4096}) {
    const Addresses to = moved(at, {0}, by);
    places.teach(odd(at), at, odd(to), to);
    at = to;
  }
  EXPECT_FALSE(places.know(at, moved(at, {0}, 4096)));
}

TEST(LearnedPlaces, ParametersOfAnotherSizeTeachNothing) {
  LearnedPlaces places;
  const Addresses second = moved(kFirst, {0}, 64);
  Words longer = parameters(second);
  longer.push_back(0);
  places.teach(parameters(kFirst), kFirst, longer, second);
  for (int i = 0; i < 3; ++i) places.teach(parameters(kFirst), kFirst, parameters(second), second);
  EXPECT_FALSE(places.know(kFirst, second));
}

}  // namespace
}  // namespace ingot::cuda
