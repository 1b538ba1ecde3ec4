// Where the addresses of a library's operands lie among the parameters of its kernels, learned from
// what the library itself made of calls with other addresses.
// Owns: the rule. An address is known after two such calls and used after a third whose parameters
// were, byte for byte, what the rule says. Must not know: graphs, nodes, libraries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::cuda {

class LearnedPlaces {
 public:
  static constexpr int kAddresses = 5;
  using Addresses = std::array<std::uint64_t, kAddresses>;
  using Words = std::vector<std::uint64_t>;  // the parameters, each from the start of a word

  // The parameters `before` belong to the addresses `from`, `after` to `to`. Of one kind of call.
  void teach(const Words& before, const Addresses& from, const Words& after, const Addresses& to);

  // Whether the parameters for other addresses are known.
  bool know(const Addresses& from, const Addresses& to) const;
  // Makes the parameters for `from` those for `to`.
  void move(Words& words, const Addresses& from, const Addresses& to) const;

 private:
  enum class State : std::uint8_t { unknown, found, confirmed };
  struct Place {
    std::size_t word;
    int address;
  };
  // The one address not known so far whose move explains how a word changed; -1: none or several.
  int explain(std::uint64_t before, std::uint64_t after, const Addresses& from,
              const Addresses& to) const;

  std::array<State, kAddresses> states_{};
  std::vector<Place> places_;
  bool hopeless_ = false;  // the parameters depend on addresses in another way
};

}  // namespace ingot::cuda
