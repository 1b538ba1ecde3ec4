// The freestanding headers that a generated kernel begins with; cmake/IngotEmbed.cmake writes them
// into the library when it is built.
// Owns: the declarations of those texts. Must not know: what the texts mean.
#pragma once

namespace ingot::jit {

struct EmbeddedText {
  const char* text;
  unsigned long size;  // bytes, without the final zero
  const char* sha256;  // of the text, in hexadecimal: hashing it would cost a process a millisecond
};

extern const EmbeddedText kOpsText, kRowsText, kLoopText;              // for g++
extern const EmbeddedText kCudaText, kCudaProductText, kCudaRowsText;  // for NVRTC

}  // namespace ingot::jit
