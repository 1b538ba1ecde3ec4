#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/loops.h>
#include <ingot/kernels/ops/all_rows.h>
#include <ingot/kernels/ops/user_row.h>

namespace ingot {

#define INGOT_LEVEL(isa)                                                                           \
  namespace isa {                                                                                  \
  extern const CopyLoops kCopyLoops;                                                               \
  extern const IndexLoops kIndexLoops;                                                             \
  extern const RandomLoops kRandomLoops;                                                           \
  LoopFn elementwise_loop(int row, int dtype);                                                     \
  }                                                                                                \
  static constexpr LevelLoops loops_##isa{&isa::kCopyLoops, &isa::kIndexLoops, &isa::kRandomLoops, \
                                          &isa::elementwise_loop};
#if defined(INGOT_HAVE_ISA_BASE)
INGOT_LEVEL(isa_base)
#endif
#if defined(INGOT_HAVE_ISA_V3)
INGOT_LEVEL(isa_v3)
#endif
#if defined(INGOT_HAVE_ISA_V4)
INGOT_LEVEL(isa_v4)
#endif
#undef INGOT_LEVEL

const LevelLoops* loops_of(IsaLevel level) {
  switch (level) {
    case IsaLevel::base:
#if defined(INGOT_HAVE_ISA_BASE)
      return &loops_isa_base;
#endif
      break;
    case IsaLevel::v3:
#if defined(INGOT_HAVE_ISA_V3)
      return &loops_isa_v3;
#endif
      break;
    case IsaLevel::v4:
#if defined(INGOT_HAVE_ISA_V4)
      return &loops_isa_v4;
#endif
      break;
  }
  return nullptr;
}

const LevelLoops& loops() {
  static const LevelLoops* const chosen = [] {
    const LevelLoops* level = loops_of(isa_level());
    INGOT_BUG(level != nullptr, "no kernels were built for {}", isa_name(isa_level()));
    return level;
  }();
  return *chosen;
}

LoopFn loop_for(const OpInfo& op, DType compute) {
  if (op.user != nullptr) {
    const ChosenLoop* chosen = chosen_loop(op, compute);
    return chosen == nullptr ? nullptr : chosen->loop;
  }
  if (op.id < 0 || op.id >= rows::AllRows::size) return nullptr;
  return loops().elementwise(op.id, static_cast<int>(compute));
}

DType elementwise_dtype(const OpInfo& op, const BufferView* in, int n_in) {
  DType dtype = DType::f32;
  for (int i = 0; i < n_in; ++i) {
    if (in[i].meta != nullptr) dtype = in[i].meta->dtype;
  }
  return op.needs_floating && !is_floating_point(dtype) ? DType::f32 : compute_type(dtype);
}

}  // namespace ingot
