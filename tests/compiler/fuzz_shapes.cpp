// Statements of random programs: views, reductions, products, composites, indexing.
#include "compiler/fuzz_run.h"

namespace ingot::fuzz {

void Run::view() {
  const Tensor x = any();
  const i64 last = x.dim() == 0 ? 0 : x.size(-1);
  switch (choose(12)) {
    case 0:
      name(" transpose");
      return push(x.dim() == 0 ? x : x.transpose(0, -1));
    case 1:
      name(" reshape");
      return push(x.reshape({x.numel()}));
    case 2:
      if (x.dim() == 0 || x.size(0) < 2) return;
      name(" select");
      return push(x[value_.below(static_cast<int>(x.size(0)))]);  // a start that changes
    case 3: {
      if (last < 3) return;
      name(" narrow");
      const i64 length = 2;
      return push(x.narrow(-1, value_.below(static_cast<int>(last - length + 1)), length));
    }
    case 4:
      name(" unsqueeze");
      return push(x.unsqueeze(shape_.below(x.dim() + 1)));
    case 5: {
      if (x.dim() > 6) return;
      name(" expand");
      Dims sizes = x.sizes();
      sizes.insert(0, 2);
      return push(x.unsqueeze(0).expand(sizes));
    }
    case 6: {
      if (last < 2) return;
      name(" slice with a step");
      const i64 start = value_.below(2);
      return push(x.slice(-1, start, start + last - 1, 2));
    }
    case 7:
      name(" squeeze");
      return push(x.squeeze());
    case 8: {
      if (x.dim() < 2) return;
      name(" permute");
      Dims axes;
      for (int d = 0; d < x.dim(); ++d) axes.push_back((d + 1) % x.dim());
      return push(x.permute(axes));
    }
    case 9:
      name(" flatten");
      return push(x.flatten());
    case 10: {
      if (x.dim() == 0 || x.size(0) < 2) return;
      name(" the same rows twice, one later");  // views that overlap
      const i64 n = x.size(0) - 1;
      return push(x.narrow(0, 0, n) + x.narrow(0, 1, n));
    }
    default:
      name(" detach");
      return push(x.detach());
  }
}

void Run::reduction() {
  const Tensor x = features_.dtypes && shape_.chance(30) ? any() : floating();
  const Dims axes = axes_of(x);
  const int axis = axis_of(x);
  const bool keep = shape_.chance(60);
  switch (choose(15)) {
    case 0:
      name(" sum of all");
      return push(x.sum());
    case 1:
      name(" mean");
      return push(x.to(kFloat32).mean(axes, keep));
    case 2:
      name(" amax");
      return push(x.amax(axes, keep));
    case 3:
      name(" argmax");
      return push(x.argmax(axis, keep));
    case 4:
      name(" var");
      return push(x.to(kFloat32).var(axes, shape_.below(2), keep));
    case 5:
      name(" prod");
      return push(x.prod(axes, keep));
    case 6:
      name(" amin");
      return push(x.amin(axes, keep));
    case 7:
      name(" any");
      return push(ingot::any(x, axes, keep));
    case 8:
      name(" all");
      return push(all(x, axes, keep));
    case 9:
      name(" logsumexp");
      return push(logsumexp(x.to(kFloat32), axis, keep));
    case 10: {
      name(" max with indices");
      ValuesIndices both = x.max(axis, keep);
      push(both.values);
      return push(both.indices);
    }
    case 11:
      if (x.dim() == 0 || x.size(axis) < 2) return;
      name(" topk");
      return push(x.topk(2, axis).values);
    case 12:
      name(" std");
      return push(x.to(kFloat32).std(axes, 0, keep));
    default:
      name(" sum");
      return push(x.sum(axes, keep));
  }
}

void Run::product() {
  const Tensor x = full_precision().to(kFloat32);
  if (x.dim() == 0 || x.dim() > 3) return;
  // From the captures when one fits, so that weights are captures as in real programs.
  const Tensor& w0 = world_.now.captures[0];
  // Else of numbers of both signs, whose roundings do not add up.
  const i64 in = x.size(-1), out = world_.now.cols;
  const Tensor w = w0.size(0) == in ? w0 : cos(arange(in * out, kFloat32)).view({in, out});
  switch (choose(5)) {
    case 0:
      name(" linear");
      return push(linear(x, w.t(), world_.now.captures[2]));
    case 1:
      name(" relu of linear");
      return push(relu(linear(x, w.t().contiguous())));
    case 2:
      if (x.dim() != 2) return;
      name(" addmm");
      return push(addmm(world_.now.captures[2], x, w, 0.5, scalar()));
    case 3:
      if (x.dim() < 2) return;
      name(" matmul with its own transpose");
      return push(matmul(x, x.transpose(-1, -2)));
    default:
      name(" matmul");
      return push(matmul(x, w));
  }
}

void Run::composite() {
  const Tensor x = shape_.chance(20) ? floating() : full_precision();
  if (x.dim() == 0) return;
  const int axis = axis_of(x);
  switch (choose(9)) {
    case 0:
      name(" softmax");
      return push(softmax(x, axis));
    case 1:
      name(" log_softmax");
      return push(log_softmax(x, axis));
    case 2:
      name(" layer_norm with weight and bias");
      if (x.size(-1) != world_.now.cols) return;
      return push(
          layer_norm(x.to(kFloat32), {x.size(-1)}, world_.now.captures[2], world_.now.args[1]));
    case 3:
      if (x.dim() < 2) return;
      name(" layer_norm over two axes");
      return push(layer_norm(x, {x.size(-2), x.size(-1)}));
    case 4: {
      if (x.dim() != 2 || x.size(-1) == 0) return;
      name(" cross_entropy");
      const Tensor target = index_below(x.size(-1), x.size(0));
      CrossEntropyOptions options;
      if (shape_.chance(30)) options.reduction = "none";
      if (shape_.chance(30)) options.label_smoothing = 0.1;
      return push(cross_entropy(x, target, options));
    }
    case 5: {
      const Tensor y = partner(x);
      if (!(x.sizes() == y.sizes())) return;
      name(" mse_loss");
      return push(mse_loss(x, y.to(x.dtype())));
    }
    case 6:
      name(" normalised along an axis");
      return push(x / (x.abs().sum({axis}, true) + 1));
    default:
      name(" layer_norm");
      return push(layer_norm(x, {x.size(-1)}));
  }
}

// What a program along rows is made of: a value a row, broadcast back to the rows it came from.
void Run::along_rows() {
  const Tensor x = full_precision();
  if (x.dim() == 0) return;
  switch (choose(10)) {
    case 0:
      name(" centred");
      return push(x - x.mean(-1, true));
    case 1:
      name(" of absolute sum 1");
      return push(x / (x.abs().sum(-1, true) + 1));
    case 2:
      name(" exp from the maximum");
      return push(exp(clamp(x - x.amax(-1, true), -8, 8)));
    case 3:
      name(" rms norm");
      return push(x * rsqrt(square(x).mean(-1, true) + 0.5));
    case 4:
      name(" softmax of half");
      return push(softmax(x * 0.5, -1));
    case 5:
      name(" log_softmax added");
      return push(log_softmax(x, -1) + x);
    case 6:
      name(" layer_norm of one more");
      return push(layer_norm(x + 1, {x.size(-1)}) * 0.5);
    case 7:
      name(" logsumexp");
      return push(logsumexp(x, -1, true));
    case 8:
      name(" sum of tanh");
      return push(tanh(x).sum());
    default:
      name(" var and amin");
      return push(x.var(-1, 1, true) + x.amin(-1, true));
  }
}

void Run::indexing() {
  const Tensor x = shape_.chance(50) ? any() : floating();
  if (x.dim() == 0) return;
  const int axis = axis_of(x);
  const i64 size = x.size(axis);
  switch (choose(11)) {
    case 0:
      if (size == 0) return;
      name(" index_select");
      return push(index_select(x, axis, index_below(size, 3)));
    case 1: {
      if (size == 0) return;
      name(" gather");
      const Tensor index = remainder(abs(x.to(kInt64)), size);  // computed here
      return push(gather(x, axis, index));
    }
    case 2:
      name(" cat");
      return push(cat({x, x.detach() * 2}, axis));
    case 3:
      name(" stack");
      return push(x.dim() > 4 ? x : stack({x, x}, axis));
    case 4:
      name(" flip");
      return push(x.flip({axis}));
    case 5: {
      if (size == 0) return;
      name(" index_add");
      Dims sizes = x.sizes();
      sizes[axis] = 2;
      return push(index_add(x, axis, index_below(size, 2), ones(sizes, x.dtype())));
    }
    case 6: {
      if (size == 0) return;
      name(" scatter_add");
      return push(scatter_add(x, axis, remainder(abs(x.to(kInt64)), size), x * 1));
    }
    case 7:
      if (x.dim() != 2 || size == 0 || refuses_later(x)) return;
      name(" embedding");
      return push(embedding(x, index_below(x.size(0) == 0 ? 1 : x.size(0), 2)));
    case 8: {
      if (x.dim() > 4) return;
      name(" one_hot");
      return push(one_hot(remainder(abs(x.to(kInt64)), 3), 3));
    }
    case 9:
      if (!features_.observe || !restless_) return;
      name(" masked_select");  // sizes that follow data
      return push(x[x > 0.5]);
    default:
      if (size == 0 || refuses_later(x)) return;
      name(" by an index tensor");
      return push(x[index_below(x.size(0) == 0 ? 1 : x.size(0), 2)]);
  }
}

}  // namespace ingot::fuzz
