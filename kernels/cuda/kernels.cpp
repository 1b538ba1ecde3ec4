#include <array>

#include <ingot/kernels/cuda/data.h>
#include <ingot/kernels/cuda/elementwise.h>
#include <ingot/kernels/cuda/kernels.h>
#include <ingot/kernels/cuda/products.h>
#include <ingot/kernels/ops/structured/list.h>

namespace ingot {
inline namespace INGOT_ISA {

namespace {

using namespace structured;

struct Table {
  std::array<Kernel, Rows::size> kernels{};

  template <class... Row>
  constexpr void set(Kernel kernel) {
    ((kernels[static_cast<std::size_t>(id_of<Row>() - kFirstId)] = kernel), ...);
  }

  constexpr Table() {
    set<Clone, ToCopy>(cuda_clone);
    set<Copy>(cuda_copy);
    set<Full, Fill>(cuda_full);
    set<Arange>(cuda_arange);
    set<Cat>(cuda_cat);
    set<Flip>(cuda_flip);
    set<SliceBackward>(cuda_slice_backward);

    set<Matmul>(cuda_matmul);
    set<Addmm>(cuda_addmm);
    set<Linear>(cuda_linear);
  }
};

constexpr Table kTable;

}  // namespace

Kernel cuda_kernel(const OpInfo& op) {
  if (op.user != nullptr || op.id < 0) return nullptr;
  if (op.id < kFirstId) return cuda_elementwise;
  return kTable.kernels[static_cast<std::size_t>(op.id - kFirstId)];
}

}  // namespace INGOT_ISA
}  // namespace ingot
