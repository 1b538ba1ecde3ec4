// OpInfo: one op as the layers above see it: name, shapes, dtypes, cost. The address of an OpInfo
// is the op's identity. Owns: the description and how a row becomes one. Must not know: tensors,
// devices, kernels.
#pragma once

#include <ingot/kernels/core/attrs.h>
#include <ingot/kernels/core/meta.h>
#include <ingot/kernels/ops/structured/list.h>

namespace ingot {

enum class OpKind : std::uint8_t {
  elementwise,  // one row of kernels/ops/{unary,binary,ternary}.h, or a user's row
  view,         // shares the storage of its first input
  reduction,
  product,
  composite,  // softmax, layer_norm, ...: one op with a formula of its own along an axis
  data,       // copies, casts, indexing, creation
  random      // draws from a generator: has a Ticket
};

struct OpInfo;
struct UserRow;  // kernels/ops/user_row.h

// The operands of one call as metadata. A null entry is a host scalar (elementwise ops: the next
// attrs.s) or an operand that was left out (bias, weight).
struct OpArgs {
  const Meta* const* in;
  int n_in;
  const Attrs& attrs;
  Device device;  // where a creation op makes its result

  bool has(int i) const { return i < n_in && in[i] != nullptr; }
  const Meta& operator[](int i) const { return *in[i]; }
};

struct Cost {
  double flops = 0;
  double transcendentals = 0;
  double bytes = 0;  // each operand and result once
};

inline constexpr int kMaxOutputs = 3;

// How an elementwise row is differentiated in one operand: a row again.
struct GradientRow {
  const OpInfo* op = nullptr;  // null: not differentiable in this operand
  unsigned uses = 0;           // bit i: operand i, bit n: the result, bit n + 1: the gradient
  bool passes = false;         // the gradient unchanged
};

struct OpInfo {
  const char* name;  // ATen's
  OpKind kind;
  std::int8_t n_in;  // -1: any number
  std::int8_t n_out = 1;
  // Place in rows::AllRows (elementwise), or structured::kFirstId plus the place in
  // structured::Rows; -1 for a user's row.
  std::int16_t id = -1;
  // Fills n_out metas (and, for views, the offset from the input's first element); throws Error
  // with a sentence that starts with the name when the operands do not fit.
  void (*infer)(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset) = nullptr;
  Cost (*cost)(const OpInfo& op, const OpArgs& args, const Meta* out) = nullptr;

  // Bad indices are an IndexError that only the kernel finds: it runs also where the result has no
  // elements.
  bool reads_indices = false;

  // Elementwise rows only.
  std::uint8_t dtypes = 7;  // DTypeSet: what it computes in
  bool result_is_bool = false;
  bool needs_floating = false;                  // integers are converted to f32 before
  std::int16_t flops = 0, transcendentals = 0;  // of one element
  const GradientRow* gradients = nullptr;       // one for each operand; null: no gradient
  const UserRow* user = nullptr;                // a row of the user's own

  bool operator==(const OpInfo& o) const { return this == &o; }
};

// Elementwise rows, built-in and users': shapes broadcast, dtypes follow the row's rule.
void infer_elementwise(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset);
Cost elementwise_cost(const OpInfo& op, const OpArgs& args, const Meta* out);

// Bytes of the operands and results, each once.
double bytes_touched(const OpArgs& args, const Meta* out, int n_out);

// Bit i: the gradient rule reads input i; kOut0 + i: it reads result i.
using SaveMask = unsigned;
inline constexpr int kOut0 = 8;

// What the gradient rule of a structured row sees. T is a tensor-like type whose ops are found by
// ADL: Tensor in runtime/autograd, so that rules sit with their rows and this layer stays below.
template <class T>
class Vjp {
 public:
  virtual T in(int i) const = 0;       // saved input
  virtual T out(int i = 0) const = 0;  // saved result
  virtual bool has_dy(int i) const = 0;
  virtual T dy(int i = 0) const = 0;  // gradient of result i
  virtual bool needs(int i) const = 0;
  virtual const Meta& in_meta(int i) const = 0;
  virtual int n_in() const = 0;
  virtual void set(int i, T grad) = 0;

  const Attrs& attrs;

 protected:
  explicit Vjp(const Attrs& a) : attrs(a) {}
  ~Vjp() = default;
};

// A structured row has: name, kind, n_in, [n_out], static infer(op, args, out, offset),
// [static cost], [reads_indices], [saves and template vjp]. This makes the OpInfo of a row.
template <class Row>
constexpr OpInfo structured_info() {
  OpInfo info{.name = Row::name, .kind = Row::kind, .n_in = Row::n_in};
  info.id = structured::id_of<Row>();
  if constexpr (requires { Row::n_out; }) info.n_out = Row::n_out;
  info.infer = &Row::infer;
  if constexpr (requires { Row::reads_indices; }) info.reads_indices = Row::reads_indices;
  if constexpr (requires { &Row::cost; }) info.cost = &Row::cost;
  return info;
}

template <class Row>
inline constexpr OpInfo structured_op = structured_info<Row>();

}  // namespace ingot
