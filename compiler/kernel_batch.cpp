#include <algorithm>
#include <iterator>
#include <utility>

#include <ingot/compiler/cuda/attach.h>
#include <ingot/compiler/kernel_batch.h>
#include <ingot/compiler/kernels.h>

namespace ingot::compiler {

namespace {
thread_local KernelBatch* innermost = nullptr;

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}
}  // namespace

KernelBatch::KernelBatch() : outer_(std::exchange(innermost, this)) {}
KernelBatch::~KernelBatch() { innermost = outer_; }
KernelBatch* KernelBatch::current() { return innermost; }

void KernelBatch::add(std::vector<jit::KernelRequest> requests, bool disk_cache) {
  append(gathered_[disk_cache ? 1 : 0].host, std::move(requests));
}

void KernelBatch::add_cuda(std::vector<jit::KernelSource> units, int architecture,
                           bool disk_cache) {
  append(gathered_[disk_cache ? 1 : 0].cuda[architecture], std::move(units));
}

std::size_t KernelBatch::compile() {
  std::size_t count = 0;
  for (const bool disk_cache : {false, true}) {
    Gathered all = std::exchange(gathered_[disk_cache ? 1 : 0], {});
    count += all.host.size();
    compile_kernels(std::move(all.host), disk_cache);
    for (auto& [architecture, units] : all.cuda) {
      count += units.size();
      compile_cuda_kernels(units, architecture, disk_cache);
    }
  }
  return count;
}

}  // namespace ingot::compiler
