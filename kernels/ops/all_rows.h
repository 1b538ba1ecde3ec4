#pragma once
// Owns rows::AllRows, the list of all built-in elementwise rows: values first, then the gradient
// row of each differentiable operand. A row's place in it is its OpInfo::id. Must not know: dtypes,
// kernels. Freestanding.
#include <ingot/kernels/ops/rows.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace rows {

template <class... Lists>
struct JoinLists;
template <class... A>
struct JoinLists<RowList<A...>> {
  using type = RowList<A...>;
};
template <class... A, class... B, class... Rest>
struct JoinLists<RowList<A...>, RowList<B...>, Rest...> {
  using type = typename JoinLists<RowList<A..., B...>, Rest...>::type;
};

template <class Row, int K, bool = (K < arity_of<Row>)>
struct GradRowsFrom {
  using type = RowList<>;
};
template <class Row, int K, bool = is_differentiable_in<Row, K>>
struct GradRowAt {
  using type = RowList<>;
};
template <class Row, int K>
struct GradRowAt<Row, K, true> {
  using type = RowList<GradRow<Row, K>>;
};
template <class Row, int K>
struct GradRowsFrom<Row, K, true> {
  using type = typename JoinLists<typename GradRowAt<Row, K>::type,
                                  typename GradRowsFrom<Row, K + 1>::type>::type;
};

template <class List>
struct GradRowsOf;
template <class... R>
struct GradRowsOf<RowList<R...>> {
  using type = typename JoinLists<RowList<>, typename GradRowsFrom<R, 0>::type...>::type;
};

using ValueRows = typename JoinLists<UnaryRows, BinaryRows, TernaryRows>::type;
using GradRows = typename GradRowsOf<ValueRows>::type;
using AllRows = typename JoinLists<ValueRows, GradRows>::type;

// The place of Row in a list; -1 when it is not there (a user's row).
template <class Row, class List>
inline constexpr int index_in = -1;
template <class Row, class... R>
inline constexpr int index_in<Row, RowList<R...>> = [] {
  int at = -1, i = 0;
  ((is_same_type<Row, R> ? void(at = i) : void(), ++i), ...);
  return at;
}();

}  // namespace rows
}  // namespace INGOT_ISA
}  // namespace ingot
