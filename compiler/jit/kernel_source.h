// The text of one compile unit: a prelude that many units share (the embedded rows) and a body.
// Owns: the prelude's hash, computed once, so that a lookup costs what the body costs.
// Must not know: what the text means.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <ingot/compiler/jit/sha256.h>

namespace ingot::jit {

class Prelude {
 public:
  explicit Prelude(std::string text) : text_(std::move(text)), digest_(sha256(text_)) {}
  const std::string& text() const { return text_; }
  const Digest& digest() const { return digest_; }

 private:
  std::string text_;
  Digest digest_;
};

struct KernelSource {
  std::shared_ptr<const Prelude> prelude;  // may be null
  std::string body;

  std::string_view prelude_text() const {
    return prelude ? std::string_view(prelude->text()) : std::string_view();
  }
};

}  // namespace ingot::jit
