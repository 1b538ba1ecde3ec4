// Signature: the structure of a call's arguments, which selects the trie of recorded paths.
// Owns: how arguments become words. Tensors contribute dtype, device, sizes, stride order and
// requires_grad; numbers their kind; containers their length. Anything else is a capture: its
// tensors are checked where they are used. Must not know: frames.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ingot/runtime/tensor.h>

namespace ingot::compiler {

class Signature {
 public:
  void clear() { size_ = 0; }
  void add(i64 word) { *grow(1) = word; }
  std::span<const i64> words() const { return {words_.data(), size_}; }
  bool operator==(const Signature& o) const {
    return size_ == o.size_ && std::equal(words_.begin(), words_.begin() + end(), o.words_.begin());
  }
  // A sum, so that the processor multiplies several words at a time.
  std::uint64_t hash() const {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
    std::uint64_t sum = size_, factor = kOdd;
    for (const i64 word : words()) {
      sum += (static_cast<std::uint64_t>(word) ^ factor >> 7) * factor;
      factor += 2 * kOdd;
    }
    sum ^= sum >> 32;
    sum *= kOdd;
    return sum ^ sum >> 29;
  }
  // The length of a container, from its (negative) word.
  static constexpr i64 length_of(i64 word) { return kNoLength - word; }

  void add_tensor(const Tensor& t) {
    if (!t.defined()) {
      add(-1);
      return;
    }
    const TensorImpl& x = *t.impl();
    const int dim = x.meta.dim();
    i64* word = grow(1 + 2 * static_cast<std::size_t>(dim));
    *word++ = static_cast<i64>(x.meta.dtype) | static_cast<i64>(x.meta.device.type()) << 8 |
              static_cast<i64>(x.meta.device.index()) << 16 | i64{x.requires_grad} << 24 |
              static_cast<i64>(dim) << 32;
    for (int d = 0; d < dim; ++d) {
      *word++ = x.meta.sizes[d];
      *word++ = x.meta.strides[d];
    }
  }

  template <class T>
  void add_argument(const T& value) {
    if constexpr (std::is_convertible_v<const T&, const Tensor&>) {
      add_tensor(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      add(-2);
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      add(-3);
    } else if constexpr (std::is_floating_point_v<T>) {
      add(-4);
    } else if constexpr (requires { std::tuple_size<T>::value; }) {
      std::apply([this](const auto&... items) { (add_argument(items), ...); }, value);
    } else if constexpr (requires {
                           value.begin() != value.end();
                           value.size();
                         }) {
      add(kNoLength - static_cast<i64>(value.size()));
      if constexpr (!std::is_same_v<T, std::string>) {
        for (const auto& item : value) add_argument(item);
      }
    }
  }

 private:
  static constexpr i64 kNoLength = -16;  // below the words of numbers
  std::ptrdiff_t end() const { return static_cast<std::ptrdiff_t>(size_); }
  // Room for n more words.
  i64* grow(std::size_t n) {
    const std::size_t at = size_;
    size_ += n;
    if (size_ > words_.size()) [[unlikely]]
      words_.resize(2 * size_);
    return words_.data() + at;
  }
  std::vector<i64> words_;  // the first size_ of them: it never shrinks
  std::size_t size_ = 0;
};

// The first argument in which `now` differs from `known`, as a sentence: "argument 0 is f32
// [10, 32], recorded f32 [64, 32]". Arguments count from 0; a container counts once for itself and
// once for each item.
std::string difference(const Signature& known, const Signature& now);
// In how many arguments they differ.
int count_differences(const Signature& known, const Signature& now);

}  // namespace ingot::compiler
