#include <ingot/kernels/ops/registry.h>

namespace ingot {

static_assert(rows::AllRows::size <= structured::kFirstId);

namespace {

template <class... R, class... S>
std::vector<const OpInfo*> collect(RowList<R...>, structured::List<S...>) {
  return {&elementwise_op<R>..., &structured_op<S>...};
}

}  // namespace

const std::vector<const OpInfo*>& all_ops() {
  static const std::vector<const OpInfo*> ops = collect(rows::AllRows{}, structured::Rows{});
  return ops;
}

const OpInfo* find_op(std::string_view op_name) {
  for (const OpInfo* op : all_ops()) {
    if (op_name == op->name) return op;
  }
  return nullptr;
}

}  // namespace ingot
