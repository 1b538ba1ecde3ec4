// SignatureTable: the tries of recorded paths by signature.
// Owns: the tries; finding one in constant time and without a lock while others are added. Must not
// know: what is recorded.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <ingot/compiler/signature.h>
#include <ingot/compiler/trie.h>

namespace ingot::compiler {

class SignatureTable {
 public:
  // Null: not known. `hash` is the signature's.
  Trie* find(const Signature& signature, std::uint64_t hash) const;
  // By one thread at a time, of a signature that is not known.
  void add(const Signature& signature, std::uint64_t hash, std::unique_ptr<Trie> trie);
  // Whether this is the root of one of the tries; not while another thread adds one.
  bool holds(const TrieNode* root) const;
  // From the known signature that differs in the fewest arguments; the latest of several. Empty:
  // none is known. Not while another thread adds one.
  std::string nearest_difference(const Signature& signature) const;

 private:
  struct Known {
    Signature signature;
    std::uint64_t hash;
    std::unique_ptr<Trie> trie;
  };
  // A power of two of places, at most half of them taken.
  using Places = std::vector<std::atomic<const Known*>>;
  static void put(Places& places, const Known* known);

  std::atomic<const Places*> places_{nullptr};
  // Superseded ones too, since another thread may be reading them: together they are no larger
  // than the last.
  std::vector<std::unique_ptr<Places>> all_places_;
  std::vector<std::unique_ptr<Known>> known_;
};

}  // namespace ingot::compiler
