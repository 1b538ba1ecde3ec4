// Chooses the tables of reductions and row formulas of isa_level().
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/isa_level.h>
#include <ingot/kernels/cpu/reduce_plan.h>
#include <ingot/kernels/cpu/rowops_rows.h>

namespace ingot {
namespace {

struct Tables {
  const ReduceLoops* reduce[kDTypeCount];  // by compute dtype
  const RowLoops* rows[2];                 // f32, f64
};

}  // namespace

// In the order of DType; the 16-bit types compute in f32.
#define INGOT_LEVEL_TABLES(isa)                                                                  \
  namespace isa {                                                                                \
  extern const ReduceLoops kReduceF32, kReduceF64, kReduceI64, kReduceI32, kReduceU8;            \
  extern const RowLoops kRowsF32, kRowsF64;                                                      \
  }                                                                                              \
  static constexpr Tables tables_##isa{                                                          \
      {&isa::kReduceF32, &isa::kReduceF64, nullptr, nullptr, &isa::kReduceI64, &isa::kReduceI32, \
       &isa::kReduceU8, &isa::kReduceU8},                                                        \
      {&isa::kRowsF32, &isa::kRowsF64}};
#if defined(INGOT_HAVE_ISA_BASE)
INGOT_LEVEL_TABLES(isa_base)
#endif
#if defined(INGOT_HAVE_ISA_V3)
INGOT_LEVEL_TABLES(isa_v3)
#endif
#if defined(INGOT_HAVE_ISA_V4)
INGOT_LEVEL_TABLES(isa_v4)
#endif
#undef INGOT_LEVEL_TABLES

namespace {

const Tables* tables_of(IsaLevel level) {
  switch (level) {
    case IsaLevel::base:
#if defined(INGOT_HAVE_ISA_BASE)
      return &tables_isa_base;
#endif
      break;
    case IsaLevel::v3:
#if defined(INGOT_HAVE_ISA_V3)
      return &tables_isa_v3;
#endif
      break;
    case IsaLevel::v4:
#if defined(INGOT_HAVE_ISA_V4)
      return &tables_isa_v4;
#endif
      break;
  }
  return nullptr;
}

const Tables& tables() {
  static const Tables* const chosen = [] {
    const Tables* level = tables_of(isa_level());
    INGOT_BUG(level != nullptr, "no reductions were built for {}", isa_name(isa_level()));
    return level;
  }();
  return *chosen;
}

}  // namespace

const ReduceLoops* reduce_loops_of(IsaLevel level, DType compute) {
  const Tables* of_level = tables_of(level);
  return of_level == nullptr ? nullptr : of_level->reduce[static_cast<int>(compute)];
}

const ReduceLoops& reduce_loops(DType compute) {
  return *tables().reduce[static_cast<int>(compute)];
}

const RowLoops* row_loops_of(IsaLevel level, DType compute) {
  const Tables* of_level = tables_of(level);
  return of_level == nullptr ? nullptr : of_level->rows[compute == DType::f64 ? 1 : 0];
}

const RowLoops& row_loops(DType compute) { return *tables().rows[compute == DType::f64 ? 1 : 0]; }

}  // namespace ingot
