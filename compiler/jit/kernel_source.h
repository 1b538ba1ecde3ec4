// The text of one compile unit: a prelude that many units share (the embedded rows) and a body.
// Owns: the prelude's hash, known or computed once, so that a lookup costs what the body costs.
// Must not know: what the text means.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ingot/compiler/jit/embedded_text.h>
#include <ingot/compiler/jit/sha256.h>

namespace ingot::jit {

class Prelude {
 public:
  explicit Prelude(std::string text) : text_(std::move(text)), digest_(to_hex(sha256(text_))) {}
  explicit Prelude(const EmbeddedText& embedded)
      : text_(embedded.text, embedded.size), digest_(embedded.sha256) {}
  const std::string& text() const { return text_; }
  const std::string& digest() const { return digest_; }  // SHA-256, in hexadecimal

 private:
  std::string text_;
  std::string digest_;
};

struct KernelSource {
  std::shared_ptr<const Prelude> prelude;  // may be null
  std::string body;
  // All names that the body defines at namespace scope, its function first: what lets it share a
  // compile unit with others. Empty: it is compiled alone.
  std::vector<std::string> names = {};

  std::string_view prelude_text() const {
    return prelude ? std::string_view(prelude->text()) : std::string_view();
  }
};

}  // namespace ingot::jit
