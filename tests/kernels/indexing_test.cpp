// Reading and writing by index tensors, against loops over logical indices in the documented order.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/parallel.h>
#include <ingot/kernels/cpu/threads.h>
#include <ingot/kernels/ops/structured/data.h>
#include <ingot/kernels/ops/structured/indexing.h>

#include "strided_buffer.h"

namespace ingot::testing {
namespace {

using namespace structured;

Attrs axis_attrs(i64 axis) {
  Attrs attrs;
  attrs.a = axis;
  return attrs;
}

Dims coordinates(i64 i, const Dims& sizes) {
  Dims at = sizes;
  for (int d = sizes.size() - 1; d >= 0; --d) {
    at[d] = i % sizes[d];
    i /= sizes[d];
  }
  return at;
}
i64 logical(const Dims& at, const Dims& sizes) {
  i64 i = 0;
  for (int d = 0; d < sizes.size(); ++d) i = i * sizes[d] + at[d];
  return i;
}

// Indices in [least, size), some repeated.
Buffer random_index(const Dims& sizes, i64 size, Rng& rng, i64 least = 0) {
  Buffer index(DType::i64, sizes, rng);
  for (i64 i = 0; i < index.numel(); ++i) index.set_raw<i64>(i, draw(rng, least, size - 1));
  return index;
}
// What an index of Index or IndexPut means.
i64 wrapped(Buffer& index, i64 i, i64 size) {
  const i64 v = index.raw<i64>(i);
  return v < 0 ? v + size : v;
}

// A running sum as the kernels define it: in the dtype; in f32 for 16-bit floats, rounded at the
// end.
class Sums {
 public:
  Sums(Buffer& start) : dtype_(start.dtype()) {
    for (i64 i = 0; i < start.numel(); ++i) {
      reals_.push_back(start.real(i));
      wholes_.push_back(is_floating_point(dtype_) ? 0 : start.integer(i));
    }
  }
  void add(i64 i, Buffer& from, i64 j) {
    const auto at = static_cast<std::size_t>(i);
    if (dtype_ == DType::f64) {
      reals_[at] += from.real(j);
    } else if (is_floating_point(dtype_)) {
      reals_[at] = static_cast<float>(reals_[at]) + static_cast<float>(from.real(j));
    } else {
      wholes_[at] = static_cast<i64>(static_cast<std::uint64_t>(wholes_[at]) +
                                     static_cast<std::uint64_t>(from.integer(j)));
    }
  }
  void put(i64 i, Buffer& from, i64 j) {
    reals_[static_cast<std::size_t>(i)] = from.real(j);
    wholes_[static_cast<std::size_t>(i)] = is_floating_point(dtype_) ? 0 : from.integer(j);
  }
  void check(Buffer& got, const char* what) {
    for (i64 i = 0; i < got.numel(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      Buffer expected(dtype_, {});
      if (dtype_ == DType::i64) {
        expected.set_raw(0, wholes_[at]);
      } else if (is_floating_point(dtype_)) {
        expected.set(0, reals_[at]);
      } else if (dtype_ == DType::boolean) {
        expected.set(0, wholes_[at] != 0);
      } else {
        std::memcpy(expected.data(), &wholes_[at], static_cast<std::size_t>(got.item()));
      }
      ASSERT_TRUE(got.same_bits(i, expected.data()))
          << what << " " << describe(got.meta()) << " element " << i << ": " << got.real(i)
          << ", not " << expected.real(0);
    }
    ASSERT_TRUE(got.margins_intact()) << what;
  }

 private:
  DType dtype_;
  std::vector<double> reals_;
  std::vector<i64> wholes_;
};

// Sizes with at least one axis and no empty one, so that indices exist.
Dims indexable(Rng& rng, i64 max_size) {
  Dims sizes = random_sizes(rng, 4, max_size);
  if (sizes.empty()) sizes = {4};
  return sizes;
}

TEST(IndexSelect, EveryDTypeAxisAndLayout) {
  Rng rng(1);
  for (int round = 0; round < 160; ++round) {
    const DType t = kAllDTypes[round % 8];
    Buffer x(t, indexable(rng, round % 5 == 0 ? 40 : 7), rng);
    x.fill_random(rng, -50, 50);
    const int axis = static_cast<int>(draw(rng, 0, x.meta().dim() - 1));
    const i64 size = x.meta().sizes[axis];
    const bool is_0d = round % 7 == 0;
    Buffer index = random_index(is_0d ? Dims() : Dims{draw(rng, 0, 60)}, size, rng);
    const Attrs attrs = axis_attrs(axis);
    Buffer y(inferred(structured_op<IndexSelect>, {x.view(), index.view()}, attrs)[0]);
    run_kernel(structured_op<IndexSelect>, {x.view(), index.view()}, {y.view()}, attrs);
    for (i64 i = 0; i < y.numel(); ++i) {
      Dims at = coordinates(i, y.meta().sizes);
      at[axis] = index.raw<i64>(at[axis]);
      ASSERT_TRUE(y.same_bits(i, x.at(logical(at, x.meta().sizes)))) << describe(x.meta());
    }
    ASSERT_TRUE(y.margins_intact());
  }
}

TEST(IndexAdd, AddsInIndexOrder) {
  Rng rng(2);
  for (int round = 0; round < 160; ++round) {
    const DType t = kAllDTypes[round % 8];
    Buffer x(t, indexable(rng, 9), rng);
    const int axis = static_cast<int>(draw(rng, 0, x.meta().dim() - 1));
    const i64 size = x.meta().sizes[axis], count = draw(rng, 0, 30);
    Dims source_sizes = x.meta().sizes;
    source_sizes[axis] = count;
    Buffer index = random_index({count}, size, rng), source(t, source_sizes, rng);
    // Values whose float sum depends on the order.
    x.fill_random(rng, -1e4, 1e4);
    source.fill_random(rng, -1e4, 1e4);
    Sums sums(x);
    for (i64 i = 0; i < source.numel(); ++i) {
      Dims at = coordinates(i, source_sizes);
      at[axis] = index.raw<i64>(at[axis]);
      sums.add(logical(at, x.meta().sizes), source, i);
    }
    const Attrs attrs = axis_attrs(axis);
    const std::vector<BufferView> in{x.view(), index.view(), source.view()};
    Buffer y(inferred(structured_op<IndexAdd>, in, attrs)[0]);
    run_kernel(structured_op<IndexAdd>, in, {y.view()}, attrs);
    sums.check(y, "index_add");
    if (HasFatalFailure()) return;
  }
}

TEST(Gather, ReadsAlongTheAxis) {
  Rng rng(3);
  for (int round = 0; round < 160; ++round) {
    const DType t = kAllDTypes[round % 8];
    Buffer x(t, indexable(rng, 8), rng);
    x.fill_random(rng, -50, 50);
    const int axis = static_cast<int>(draw(rng, 0, x.meta().dim() - 1));
    const i64 size = x.meta().sizes[axis];
    Dims index_sizes = x.meta().sizes;
    for (i64& s : index_sizes) s = draw(rng, 1, s);
    index_sizes[axis] = draw(rng, 0, 12);
    Buffer index = random_index(index_sizes, size, rng);
    const Attrs attrs = axis_attrs(axis);
    Buffer y(inferred(structured_op<Gather>, {x.view(), index.view()}, attrs)[0]);
    run_kernel(structured_op<Gather>, {x.view(), index.view()}, {y.view()}, attrs);
    for (i64 i = 0; i < y.numel(); ++i) {
      Dims at = coordinates(i, index_sizes);
      at[axis] = index.raw<i64>(i);
      ASSERT_TRUE(y.same_bits(i, x.at(logical(at, x.meta().sizes)))) << describe(x.meta());
    }
    ASSERT_TRUE(y.margins_intact());
  }
}

TEST(ScatterAdd, AddsInIndexOrder) {
  Rng rng(4);
  for (int round = 0; round < 160; ++round) {
    const DType t = kAllDTypes[round % 8];
    Buffer x(t, indexable(rng, 8), rng);
    const int axis = static_cast<int>(draw(rng, 0, x.meta().dim() - 1));
    const i64 size = x.meta().sizes[axis];
    Dims index_sizes = x.meta().sizes;
    for (i64& s : index_sizes) s = draw(rng, 1, s);
    index_sizes[axis] = draw(rng, 0, 25);
    Buffer index = random_index(index_sizes, size, rng), source(t, index_sizes, rng);
    x.fill_random(rng, -1e4, 1e4);
    source.fill_random(rng, -1e4, 1e4);
    Sums sums(x);
    for (i64 i = 0; i < source.numel(); ++i) {
      Dims at = coordinates(i, index_sizes);
      at[axis] = index.raw<i64>(i);
      sums.add(logical(at, x.meta().sizes), source, i);
    }
    const Attrs attrs = axis_attrs(axis);
    const std::vector<BufferView> in{x.view(), index.view(), source.view()};
    Buffer y(inferred(structured_op<ScatterAdd>, in, attrs)[0]);
    run_kernel(structured_op<ScatterAdd>, in, {y.view()}, attrs);
    sums.check(y, "scatter_add");
    if (HasFatalFailure()) return;
  }
}

TEST(Embedding, RowsOfAnyIndexShape) {
  Rng rng(5);
  for (int round = 0; round < 80; ++round) {
    const DType t = kAllDTypes[round % 8];
    const i64 rows = draw(rng, 1, 20), width = draw(rng, 0, 40);
    Buffer weight(t, {rows, width}, rng);
    weight.fill_random(rng, -50, 50);
    Buffer index = random_index(random_sizes(rng, 3, 6), rows, rng);
    Buffer y(inferred(structured_op<Embedding>, {weight.view(), index.view()}, {})[0]);
    run_kernel(structured_op<Embedding>, {weight.view(), index.view()}, {y.view()});
    for (i64 i = 0; i < y.numel(); ++i) {
      const i64 from = index.raw<i64>(i / width) * width + i % width;
      ASSERT_TRUE(y.same_bits(i, weight.at(from)));
    }
    ASSERT_TRUE(y.margins_intact());
  }
}

TEST(EmbeddingBackward, AddsRowsInIndexOrder) {
  Rng rng(6);
  for (int round = 0; round < 80; ++round) {
    const DType t = kAllDTypes[round % 8];
    const i64 rows = draw(rng, 1, 20), width = draw(rng, 1, 40);
    Buffer index = random_index(random_sizes(rng, 3, 6), rows, rng);
    Dims sizes = index.meta().sizes;
    sizes.push_back(width);
    Buffer dy(t, sizes, rng), zero(t, {rows, width});
    dy.fill_random(rng, -1e4, 1e4);
    for (i64 i = 0; i < zero.numel(); ++i) zero.set(i, 0);
    Sums sums(zero);
    for (i64 i = 0; i < dy.numel(); ++i) {
      sums.add(index.raw<i64>(i / width) * width + i % width, dy, i);
    }
    const Attrs attrs = axis_attrs(rows);
    const std::vector<BufferView> in{dy.view(), index.view()};
    Buffer y(inferred(structured_op<EmbeddingBackward>, in, attrs)[0]);
    run_kernel(structured_op<EmbeddingBackward>, in, {y.view()}, attrs);
    sums.check(y, "embedding_dense_backward");
    if (HasFatalFailure()) return;
  }
}

// A call of index or index_put_: x, adjacent indexed axes, one index each.
struct IndexCall {
  Buffer x;
  int axis, n;
  std::vector<Buffer> indices;
  Dims target;
  Attrs attrs;

  IndexCall(DType t, Rng& rng) : x(t, indexable(rng, 6), rng) {
    const int dim = x.meta().dim();
    axis = static_cast<int>(draw(rng, 0, dim - 1));
    n = static_cast<int>(draw(rng, 1, dim - axis));
    const Dims index_sizes = random_sizes(rng, 2, 6);
    for (int k = 0; k < n; ++k) {
      const i64 size = x.meta().sizes[axis + k];
      indices.push_back(random_index(index_sizes, size, rng, -size));
      attrs.dims.push_back(axis + k);
    }
    for (int d = 0; d < axis; ++d) target.push_back(x.meta().sizes[d]);
    for (i64 s : index_sizes) target.push_back(s);
    for (int d = axis + n; d < dim; ++d) target.push_back(x.meta().sizes[d]);
  }
  // The element of x that element i of the target names.
  i64 place(i64 i) {
    const Dims at = coordinates(i, target);
    Dims in_index, in_x;
    const int index_dims = indices[0].meta().dim();
    for (int d = 0; d < index_dims; ++d) in_index.push_back(at[axis + d]);
    const i64 p = logical(in_index, indices[0].meta().sizes);
    for (int d = 0; d < axis; ++d) in_x.push_back(at[d]);
    for (int k = 0; k < n; ++k) {
      in_x.push_back(wrapped(indices[static_cast<std::size_t>(k)], p, x.meta().sizes[axis + k]));
    }
    for (int d = axis + index_dims; d < target.size(); ++d) in_x.push_back(at[d]);
    return logical(in_x, x.meta().sizes);
  }
};

TEST(Index, SeveralIndicesOnAdjacentAxes) {
  Rng rng(7);
  for (int round = 0; round < 160; ++round) {
    IndexCall call(kAllDTypes[round % 8], rng);
    call.x.fill_random(rng, -50, 50);
    std::vector<BufferView> in{call.x.view()};
    for (Buffer& index : call.indices) in.push_back(index.view());
    Buffer y(inferred(structured_op<Index>, in, call.attrs)[0]);
    ASSERT_EQ(y.meta().sizes, call.target);
    run_kernel(structured_op<Index>, in, {y.view()}, call.attrs);
    for (i64 i = 0; i < y.numel(); ++i) ASSERT_TRUE(y.same_bits(i, call.x.at(call.place(i))));
    ASSERT_TRUE(y.margins_intact());
  }
}

TEST(IndexPut, OverwritesAndAccumulatesInIndexOrder) {
  Rng rng(8);
  for (int round = 0; round < 320; ++round) {
    const DType t = kAllDTypes[round % 8];
    IndexCall call(t, rng);
    call.x.fill_random(rng, -1e4, 1e4);
    Dims value_sizes = call.target;
    if (round % 3 == 0) {
      for (i64& s : value_sizes) s = draw(rng, 0, 1) == 0 ? 1 : s;
      while (!value_sizes.empty() && draw(rng, 0, 2) == 0) value_sizes.erase(0);
    }
    Buffer values(t, value_sizes, rng);
    values.fill_random(rng, -1e4, 1e4);
    call.attrs.a = round / 8 % 2;
    Sums sums(call.x);
    // The order is that of the index positions; equal targets differ in nothing else.
    i64 n = 1;
    for (i64 s : call.target) n *= s;
    for (i64 i = 0; i < n; ++i) {
      const i64 from = broadcast_index(i, call.target, value_sizes);
      if (call.attrs.a != 0) {
        sums.add(call.place(i), values, from);
      } else {
        sums.put(call.place(i), values, from);
      }
    }
    std::vector<BufferView> in{call.x.view(), values.view()};
    for (Buffer& index : call.indices) in.push_back(index.view());
    run_kernel(structured_op<IndexPut>, in, {call.x.view()}, call.attrs);
    sums.check(call.x, "index_put_");
    if (HasFatalFailure()) return;
  }
}

TEST(IndexPut, ValuesMayLieInTheTargetItself) {
  Buffer x(DType::f32, {6}), index(DType::i64, {5});
  for (i64 i = 0; i < 6; ++i) x.set(i, static_cast<double>(i));
  for (i64 i = 0; i < 5; ++i) index.set_raw<i64>(i, i + 1);
  Meta first = x.meta();
  first.sizes = {5};
  Attrs attrs;
  attrs.dims = {0};
  run_kernel(structured_op<IndexPut>, {x.view(), {x.data(), &first}, index.view()}, {x.view()},
             attrs);
  for (i64 i = 0; i < 6; ++i) EXPECT_EQ(x.real(i), i == 0 ? 0 : static_cast<double>(i - 1));
}

Attrs zero_attrs() {
  Attrs attrs;
  attrs.add_scalar(0);
  return attrs;
}

TEST(Indexing, LargeCallsDoNotDependOnThreads) {
  Rng rng(9);
  const int before = num_threads();
  const i64 rows = 300, width = 96, count = 4000;
  Buffer index = random_index({count}, rows, rng);
  Buffer dy(DType::f32, {count, width}), flat(DType::f32, {count});
  Buffer x(DType::f32, {rows, width}), bins(DType::f32, {rows});
  Buffer full(DType::i64, {count, width}), source(DType::f32, {count, width});
  for (Buffer* b : {&dy, &flat, &x, &bins, &source}) b->fill_random(rng, -1, 1);
  for (i64 i = 0; i < full.numel(); ++i) full.set_raw<i64>(i, draw(rng, 0, rows - 1));
  struct Call {
    const OpInfo* op;
    std::vector<BufferView> in;
    Attrs attrs;
  };
  const std::vector<Call> calls = {
      {&structured_op<EmbeddingBackward>, {dy.view(), index.view()}, axis_attrs(rows)},
      {&structured_op<Embedding>, {x.view(), index.view()}, {}},
      {&structured_op<IndexAdd>, {bins.view(), index.view(), flat.view()}, axis_attrs(0)},
      {&structured_op<ScatterAdd>, {x.view(), full.view(), source.view()}, axis_attrs(0)},
      {&structured_op<Gather>, {x.view(), full.view()}, axis_attrs(0)},
      {&structured_op<IndexSelect>, {bins.view(), index.view()}, axis_attrs(0)},
  };
  // What the first and the third must give.
  Buffer zeros(DType::f32, {rows, width});
  run_kernel(structured_op<Fill>, {zeros.view()}, {zeros.view()}, zero_attrs());
  Sums embedded(zeros), binned(bins);
  for (i64 i = 0; i < dy.numel(); ++i) {
    embedded.add(index.raw<i64>(i / width) * width + i % width, dy, i);
  }
  for (i64 i = 0; i < count; ++i) binned.add(index.raw<i64>(i), flat, i);
  for (const Call& call : calls) {
    const Meta meta = inferred(*call.op, call.in, call.attrs)[0];
    Buffer alone(meta), many(meta);
    set_num_threads(1);
    run_kernel(*call.op, call.in, {alone.view()}, call.attrs);
    set_num_threads(4);
    run_kernel(*call.op, call.in, {many.view()}, call.attrs);
    for (i64 i = 0; i < alone.numel(); ++i) {
      ASSERT_TRUE(many.same_bits(i, alone.at(i))) << call.op->name << " element " << i;
    }
    EXPECT_TRUE(many.margins_intact()) << call.op->name;
    if (&call == &calls[0]) embedded.check(many, "embedding_dense_backward");
    if (&call == &calls[2]) binned.check(many, "index_add");
  }
  set_num_threads(before);
}

// The sentence of the IndexError; "" when none was thrown.
std::string index_error(const OpInfo& op, const std::vector<BufferView>& in, BufferView out,
                        const Attrs& attrs) {
  try {
    run_kernel(op, in, {out}, attrs);
  } catch (const IndexError& e) {
    return e.what();
  }
  return "";
}

TEST(Indexing, ABadIndexIsFoundBeforeTheFirstWrite) {
  Buffer x(DType::f32, {5, 3}), index(DType::i64, {2}), source(DType::f32, {2, 3});
  Buffer full(DType::i64, {2, 3}), classes(DType::i64, {5, 1});
  for (Buffer* b : {&x, &source}) b->fill_random(*std::make_unique<Rng>(10), 1, 2);
  for (i64 bad : {7, 5, -6, -1}) {
    index.set_raw<i64>(0, 1);
    index.set_raw<i64>(1, bad);
    for (i64 i = 0; i < 6; ++i) full.set_raw<i64>(i, i == 5 ? bad : 0);
    const std::string start = "index " + std::to_string(bad) + " is out of range for ";
    const std::string end = bad == -1 ? " and does not count from the end" : "";
    Buffer y(DType::f32, {2, 3}), same(DType::f32, {5, 3}), hot(DType::i64, {2, 1});
    const Attrs first = axis_attrs(0), rows = axis_attrs(5);
    Attrs put;
    put.dims = {0};
    EXPECT_EQ(index_error(structured_op<Embedding>, {x.view(), index.view()}, y.view(), {}),
              "embedding: " + start + "5 rows" + end);
    EXPECT_EQ(index_error(structured_op<IndexSelect>, {x.view(), index.view()}, y.view(), first),
              "index_select: " + start + "dim 0 of size 5" + end);
    EXPECT_EQ(index_error(structured_op<Gather>, {x.view(), full.view()}, y.view(), first),
              "gather: " + start + "dim 0 of size 5" + end);
    if (bad != -1) {
      EXPECT_EQ(index_error(structured_op<Index>, {x.view(), index.view()}, y.view(), put),
                "index: " + start + "dim 0 of size 5");
    }
    EXPECT_EQ(index_error(structured_op<EmbeddingBackward>, {source.view(), index.view()},
                          same.view(), rows),
              "embedding_dense_backward: " + start + "5 rows" + end);
    EXPECT_EQ(index_error(structured_op<IndexAdd>, {x.view(), index.view(), source.view()},
                          same.view(), first),
              "index_add: " + start + "dim 0 of size 5" + end);
    EXPECT_EQ(index_error(structured_op<ScatterAdd>, {x.view(), full.view(), source.view()},
                          same.view(), first),
              "scatter_add: " + start + "dim 0 of size 5" + end);
    EXPECT_EQ(index_error(structured_op<OneHot>, {classes.view(), index.view()}, hot.view(), {}),
              "one_hot: " + start + "5 classes" + end);
    // Nothing was written: every byte is still the canary, and x is as it was.
    Buffer fresh_y(DType::f32, {2, 3}), fresh_same(DType::f32, {5, 3});
    for (i64 i = 0; i < 6; ++i) EXPECT_TRUE(y.same_bits(i, fresh_y.at(i)));
    for (i64 i = 0; i < 15; ++i) EXPECT_TRUE(same.same_bits(i, fresh_same.at(i)));
    if (bad == -1) continue;
    std::vector<double> was;
    for (i64 i = 0; i < 15; ++i) was.push_back(x.real(i));
    EXPECT_EQ(index_error(structured_op<IndexPut>, {x.view(), source.view(), index.view()},
                          x.view(), put),
              "index_put_: " + start + "dim 0 of size 5");
    for (i64 i = 0; i < 15; ++i) EXPECT_EQ(x.real(i), was[static_cast<std::size_t>(i)]);
  }
}

}  // namespace
}  // namespace ingot::testing
