#include <memory>

#include <ingot/compiler/fusion/run_apart.h>
#include <ingot/compiler/plan.h>
#include <ingot/runtime/allocator.h>

namespace ingot::compiler {

void run_apart(const std::vector<int>& ops, const Segment& segment, const Binding& binding) {
  struct Free {
    std::size_t bytes;
    Device device;
    void operator()(void* data) const { deallocate(data, bytes, device); }
  };
  std::vector<std::unique_ptr<void, Free>> owned;
  Binding whole = binding;
  for (int i : ops) {
    for (int v : segment.ops[static_cast<std::size_t>(i)].out) {
      const auto b = static_cast<std::size_t>(segment.buffer_of(v));
      if (whole.buffers[b] != nullptr) continue;
      const auto bytes = static_cast<std::size_t>(segment.buffers[b].bytes);
      const Device device = segment.buffers[b].device;
      owned.emplace_back(allocate(bytes, device), Free{bytes, device});
      whole.buffers[b] = owned.back().get();
    }
  }
  for (int i : ops) make_op_step(segment, i)->run(segment, whole);
}

}  // namespace ingot::compiler
