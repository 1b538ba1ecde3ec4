#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/structured/indexing.h>

namespace ingot::structured {

namespace {

void check_index(const OpInfo& op, const Meta& index) {
  INGOT_CHECK(index.dtype == DType::i64, "{}: the index must be i64 or i32, got {}", op.name,
              describe(index));
}

void set_dense(Meta* out, const Meta& like, const Dims& sizes) {
  out->dtype = like.dtype;
  out->device = like.device;
  out->sizes = sizes;
  out->strides = contiguous_strides(sizes);
}

// x's sizes with the axes in attrs.dims replaced by the index shape.
Dims indexed_sizes(const OpInfo& op, const OpArgs& args, int first_index) {
  const Dims& axes = args.attrs.dims;
  INGOT_CHECK(args.n_in - first_index == axes.size() && axes.size() > 0,
              "{}: {} indices for {} axes", op.name, args.n_in - first_index, axes.size());
  INGOT_CHECK(args.n_in <= kOut0, "{}: more than {} indices", op.name, kOut0 - first_index);
  const Meta& index = args[first_index];
  for (int i = first_index; i < args.n_in; ++i) {
    check_index(op, args[i]);
    INGOT_CHECK(args[i].sizes == index.sizes, "{}: indices {} and {} differ in shape", op.name,
                describe(index), describe(args[i]));
  }
  Dims sizes;
  for (int d = 0; d < args[0].dim(); ++d) {
    if (d == axes[0]) {
      for (i64 s : index.sizes) sizes.push_back(s);
    }
    if (d < axes[0] || d > axes.back()) sizes.push_back(args[0].sizes[d]);
  }
  return sizes;
}

}  // namespace

void IndexSelect::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_index(op, args[1]);
  INGOT_CHECK(args[1].dim() <= 1 && args[0].dim() > 0,
              "index_select: needs a tensor of at least one dim and a 1-d index, got {} and {}",
              describe(args[0]), describe(args[1]));
  Dims sizes = args[0].sizes;
  sizes[static_cast<int>(args.attrs.a)] = args[1].numel();
  set_dense(out, args[0], sizes);
}

void IndexAdd::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_index(op, args[1]);
  Dims expected = args[0].sizes;
  expected[static_cast<int>(args.attrs.a)] = args[1].numel();
  INGOT_CHECK(args[1].dim() <= 1, "index_add: the index must be 1-d, got {}", describe(args[1]));
  INGOT_CHECK(args[2].sizes == expected && args[2].dtype == args[0].dtype,
              "index_add: the source must be {}{}, got {}", ingot::name(args[0].dtype),
              to_string(expected), describe(args[2]));
  set_dense(out, args[0], args[0].sizes);
}

void Gather::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_index(op, args[1]);
  INGOT_CHECK(args[0].dim() == args[1].dim(), "gather: {} and index {} differ in dims",
              describe(args[0]), describe(args[1]));
  for (int d = 0; d < args[0].dim(); ++d) {
    INGOT_CHECK(d == args.attrs.a || args[1].sizes[d] <= args[0].sizes[d],
                "gather: index {} is larger than {} in dim {}", describe(args[1]),
                describe(args[0]), d);
  }
  set_dense(out, args[0], args[1].sizes);
}

void ScatterAdd::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_index(op, args[1]);
  INGOT_CHECK(args[1].sizes == args[2].sizes && args[2].dtype == args[0].dtype &&
                  args[0].dim() == args[1].dim(),
              "scatter_add: index {} and source {} do not fit {}", describe(args[1]),
              describe(args[2]), describe(args[0]));
  for (int d = 0; d < args[0].dim(); ++d) {
    INGOT_CHECK(d == args.attrs.a || args[1].sizes[d] <= args[0].sizes[d],
                "scatter_add: index {} is larger than {} in dim {}", describe(args[1]),
                describe(args[0]), d);
  }
  set_dense(out, args[0], args[0].sizes);
}

void Embedding::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_index(op, args[1]);
  INGOT_CHECK(args[0].dim() == 2, "embedding: the weight must be [rows, width], got {}",
              describe(args[0]));
  Dims sizes = args[1].sizes;
  sizes.push_back(args[0].sizes[1]);
  set_dense(out, args[0], sizes);
}

void EmbeddingBackward::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  check_index(op, args[1]);
  set_dense(out, args[0], {args.attrs.a, args[0].sizes.back()});
}

void OneHot::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64* offset) {
  Embedding::infer(op, args, out, offset);
}

void Index::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  set_dense(out, args[0], indexed_sizes(op, args, 1));
}

void IndexPut::infer(const OpInfo& op, const OpArgs& args, Meta* out, i64*) {
  Dims target = indexed_sizes(op, args, 2);
  INGOT_CHECK(
      broadcast(args[1].sizes, target, "index_put_") == target && args[1].dtype == args[0].dtype,
      "index_put_: values {} do not fit the indexed shape {} of {}", describe(args[1]),
      to_string(target), describe(args[0]));
  *out = args[0];
}

}  // namespace ingot::structured
