#include <cstdlib>
#include <new>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/dtype.h>
#include <ingot/kernels/cpu/gemm.h>
#include <ingot/kernels/cpu/isa_level.h>

namespace ingot {

#if defined(INGOT_HAVE_ISA_BASE)
namespace isa_base {
extern const GemmTable kGemmTable;
}
#endif
#if defined(INGOT_HAVE_ISA_V3)
namespace isa_v3 {
extern const GemmTable kGemmTable;
}
#endif
#if defined(INGOT_HAVE_ISA_V4)
namespace isa_v4 {
extern const GemmTable kGemmTable;
}
#endif

namespace {

// One per thread: tiles of different threads are packed side by side.
struct PackScratch {
  void* data = nullptr;
  ~PackScratch() { std::free(data); }
};
thread_local PackScratch t_scratch;

}  // namespace

const GemmTable* gemm_table(IsaLevel level) {
  switch (level) {
#if defined(INGOT_HAVE_ISA_BASE)
    case IsaLevel::base:
      return &isa_base::kGemmTable;
#endif
#if defined(INGOT_HAVE_ISA_V3)
    case IsaLevel::v3:
      return &isa_v3::kGemmTable;
#endif
#if defined(INGOT_HAVE_ISA_V4)
    case IsaLevel::v4:
      return &isa_v4::kGemmTable;
#endif
    default:
      return nullptr;
  }
}

const GemmTable& gemm_table() {
  static const GemmTable* const table = [] {
    const GemmTable* found = gemm_table(isa_level());
    INGOT_BUG(found, "no products were built for {}", isa_name(isa_level()));
    return found;
  }();
  return *table;
}

void gemm(DType dtype, const GemmArgs& args) {
  const GemmTable& table = gemm_table();
  switch (dtype) {
    case DType::f32:
      return table.f32(args);
    case DType::f64:
      return table.f64(args);
    case DType::i64:
      return table.i64(args);
    case DType::i32:
      return table.i32(args);
    case DType::u8:
      return table.u8(args);
    default:
      INGOT_BUG(false, "gemm: no kernel for {}", name(dtype));
  }
}

void gemm_batch(DType dtype, const GemmArgs& args, const GemmBatch& batch) {
  const GemmTable& table = gemm_table();
  switch (dtype) {
    case DType::f32:
      return table.f32_batch(args, batch);
    case DType::f64:
      return table.f64_batch(args, batch);
    case DType::i64:
      return table.i64_batch(args, batch);
    case DType::i32:
      return table.i32_batch(args, batch);
    case DType::u8:
      return table.u8_batch(args, batch);
    default:
      INGOT_BUG(false, "gemm_batch: no kernel for {}", name(dtype));
  }
}

void* gemm_scratch() {
  if (!t_scratch.data) {
    t_scratch.data = std::aligned_alloc(64, kGemmScratchBytes);
    if (!t_scratch.data) throw std::bad_alloc();
  }
  return t_scratch.data;
}

}  // namespace ingot
