#include <cstdlib>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/reduce_scratch.h>

namespace ingot {
namespace {

constexpr i64 kKept = i64{8} << 20;  // larger buffers are not kept: they are rare, and idle memory
constexpr int kDepth = 16;

struct Buffer {
  char* data = nullptr;
  i64 size = 0;
  void clear() {
    std::free(data);
    data = nullptr;
    size = 0;
  }
};

struct Stack {
  Buffer buffer[kDepth];
  int depth = 0;
  ~Stack() {
    for (Buffer& b : buffer) b.clear();
  }
};
thread_local Stack t_stack;

}  // namespace

Scratch::Scratch(i64 bytes) {
  INGOT_BUG(t_stack.depth < kDepth, "scratch buffers nest deeper than {}", kDepth);
  Buffer& b = t_stack.buffer[t_stack.depth];
  if (b.size < bytes || b.data == nullptr) {
    b.clear();
    const i64 size = (bytes + 4096) / 4096 * 4096;
    b.data = static_cast<char*>(std::aligned_alloc(64, static_cast<std::size_t>(size)));
    INGOT_CHECK_AS(OutOfMemoryError, b.data != nullptr, "no memory for a work buffer of {} bytes",
                   bytes);
    b.size = size;
  }
  ++t_stack.depth;
  data_ = b.data;
}

Scratch::~Scratch() {
  Buffer& b = t_stack.buffer[--t_stack.depth];
  if (b.size > kKept) b.clear();
}

}  // namespace ingot
