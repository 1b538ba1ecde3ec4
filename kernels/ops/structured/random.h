// ROWS: random numbers. Counter-based Philox4x32-10 (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011): element i of the logical order uses word i % 4 of the block at
// counter ticket.offset + i / 4. 64-bit draws (f64, i64) use two words: word pair i % 2 of block
// ticket.offset + i / 2. Layout, threads and launch shape never matter.
#pragma once

#include <ingot/kernels/ops/op_info.h>

namespace ingot::structured {

struct RandomRow {  // creation: dims the sizes, a the DType; s[0], s[1] as the row says
  static constexpr OpKind kind = OpKind::random;
  static constexpr int n_in = 0;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
};

struct Rand : RandomRow {  // uniform in [s0, s1)
  static constexpr const char* name = "rand";
};

// Box-Muller on words (2j, 2j + 1), cosine first: mean s0, standard deviation s1.
struct Randn : RandomRow {
  static constexpr const char* name = "randn";
};

struct Randint : RandomRow {  // integers in [s0, s1)
  static constexpr const char* name = "randint";
};

struct RandomFillRow {  // writes in[0]; s[0], s[1] as above
  static constexpr OpKind kind = OpKind::random;
  static constexpr int n_in = 1;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 0;
  template <class T>
  static void vjp(Vjp<T>& v) {
    v.set(0, zeros_like(v.dy()));
  }
};

struct UniformFill : RandomFillRow {
  static constexpr const char* name = "uniform_";
};

struct NormalFill : RandomFillRow {
  static constexpr const char* name = "normal_";
};

// in: x; s[0]: p in [0, 1], s[1]: the scale of what is kept, 1 / (1 - p), or 0 for p = 1.
// Element i is kept when its 32-bit uniform draw is >= p. Results: y and the bool mask.
struct Dropout {
  static constexpr const char* name = "native_dropout";
  static constexpr OpKind kind = OpKind::random;
  static constexpr int n_in = 1;
  static constexpr int n_out = 2;
  static void infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
  static constexpr SaveMask saves = 1u << (kOut0 + 1);
  template <class T>
  static void vjp(Vjp<T>& v) {
    if (v.has_dy(0)) v.set(0, mul(to_meta(v.out(1), v.in_meta(0)), mul(v.dy(0), v.attrs.s[1])));
  }
};

// How many Philox blocks a random op of this result draws.
i64 blocks_drawn(const Meta& out);

}  // namespace ingot::structured
