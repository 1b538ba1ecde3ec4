// From a user's row to its OpInfos: the row's own and those of its gradients, made at run time.
// Owns: what is known of such a row beside its OpInfo (text, loops), the check of names.
// Must not know: tensors, how generated code is compiled.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include <ingot/kernels/ops/op_info.h>
#include <ingot/kernels/ops/row_loop.h>
#include <ingot/kernels/ops/rows.h>

namespace ingot {

// LoopFn of kernels/kernel_table.h.
using RowLoop = void (*)(i64 n, void* out, const void* const* in, const i64* strides);

// The loop that a row runs with for one dtype, in eager ops and in the tile interpreter.
struct ChosenLoop {
  RowLoop loop = nullptr;
  // From the row's text, with the flags of all generated code; false: the loop of the unit that
  // defines the row, whose bits are those of that unit's flags. Fused kernels exist for the former
  // only, so that fused and eager bits agree.
  bool generated = false;
  std::string reason;  // why it is not generated
};

// How the struct is spelled in generated source: INGOT_ROW's #Name and #__VA_ARGS__.
struct RowText {
  const char* type;
  std::string_view body;
};

struct KernelArgs;  // kernels/kernel_table.h

// Runs a row on a GPU: by a kernel that is compiled from the row's text at its first use there.
using RowOnCuda = void (*)(const KernelArgs& args);

struct UserRow {
  RowText text;
  const char* row_name = nullptr;  // the value row's op name
  int gradient = -1;               // K of GradRow<type, K>; -1: the row itself
  bool condition_first = false;
  RowLoop unit_loops[8] = {};  // by DType: the defining unit's; null where the row does not exist
  // Makes the choice for one dtype; called once or, by racing threads, a few times.
  const ChosenLoop* (*choose)(const OpInfo& op, DType compute) = nullptr;
  mutable std::atomic<const ChosenLoop*> chosen[8] = {};
  RowOnCuda on_cuda = nullptr;
};

// The loop of a user's row for a compute dtype, the same for the whole life of the process; null
// when the row does not exist for it. Thread-safe.
const ChosenLoop* chosen_loop(const OpInfo& op, DType compute);

// Takes a row's name for it. Throws Error when it is no identifier, a built-in op's, or that of
// another row with another text. Thread-safe.
void register_user_row(const OpInfo& op);

namespace detail {

template <class Row, class T>
constexpr RowLoop unit_loop() {
  if constexpr (contains(dtypes_of<Row>, kind_of<T>)) {
    return &TiledLoop<Row, T>::run;
  } else {
    return nullptr;
  }
}

template <class Row>
void fill_user_row(UserRow& row, OpInfo& info) {
  info = {.name = Row::name, .kind = OpKind::elementwise, .n_in = arity_of<Row>};
  info.dtypes = static_cast<std::uint8_t>(dtypes_of<Row>);
  info.result_is_bool = rule_of<Row> == DTypeRule::boolean;
  info.needs_floating = rule_of<Row> == DTypeRule::floating;
  const Count cost = flops<Row>();
  info.flops = static_cast<std::int16_t>(cost.flops);
  info.transcendentals = static_cast<std::int16_t>(cost.transcendentals);
  info.infer = &infer_elementwise;
  info.cost = &elementwise_cost;
  info.user = &row;
  row.condition_first = has_condition<Row>;
  const auto set = [&](DType t, RowLoop loop) { row.unit_loops[static_cast<int>(t)] = loop; };
  set(DType::f32, unit_loop<Row, float>());
  set(DType::f64, unit_loop<Row, double>());
  set(DType::i64, unit_loop<Row, Int64>());
  set(DType::i32, unit_loop<Row, int>());
  set(DType::u8, unit_loop<Row, unsigned char>());
  set(DType::boolean, unit_loop<Row, bool>());
}

}  // namespace detail

// All that belongs to one row. Lives as long as the process, in one place: addresses are identity.
template <class Row>
class UserOps {
 public:
  UserOps(RowText text, decltype(UserRow::choose) choose, RowOnCuda on_cuda = nullptr) {
    detail::fill_user_row<Row>(row_, info_);
    finish(row_, text, choose, -1);
    if constexpr (is_differentiable<Row>) {
      add_gradients(text, choose, row_detail::IndicesTo<arity_of<Row>>{});
      info_.gradients = gradients_;
    }
    row_.on_cuda = on_cuda;
    for (UserRow& gradient : gradient_rows_) gradient.on_cuda = on_cuda;
    register_user_row(info_);
  }
  UserOps(const UserOps&) = delete;
  const OpInfo& info() const { return info_; }

 private:
  static void finish(UserRow& row, RowText text, decltype(UserRow::choose) choose, int gradient) {
    row.text = text;
    row.row_name = Row::name;
    row.choose = choose;
    row.gradient = gradient;
  }
  template <int K>
  void add_gradient(RowText text, decltype(UserRow::choose) choose) {
    if constexpr (is_differentiable_in<Row, K>) {
      detail::fill_user_row<GradRow<Row, K>>(gradient_rows_[K], gradient_infos_[K]);
      finish(gradient_rows_[K], text, choose, K);
      gradients_[K] = {&gradient_infos_[K], GradRow<Row, K>::uses, false};
    }
  }
  template <int... K>
  void add_gradients(RowText text, decltype(UserRow::choose) choose, row_detail::Indices<K...>) {
    (add_gradient<K>(text, choose), ...);
  }

  UserRow row_, gradient_rows_[kMaxRowInputs];
  OpInfo info_{}, gradient_infos_[kMaxRowInputs]{};
  GradientRow gradients_[kMaxRowInputs];
};

}  // namespace ingot
