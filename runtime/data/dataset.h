// Dataset: rows of inputs with their targets, in memory.
// Owns: the pair of tensors and how stored inputs become f32: u8 pixels count 1/255 each, then
// mean and standard deviation are taken out. Must not know: files, batches, models.
#pragma once

#include <ingot/runtime/tensor.h>

namespace ingot::data {

struct MeanStd {
  double mean = 0, std = 1;
};

class Dataset {
 public:
  Dataset() = default;  // no rows
  // x: u8 or f32 [rows, ...], y: i64 or f32 [rows, ...]; both on the CPU. Copied only where they
  // are not contiguous. Throws Error when the rows differ or a dtype is another.
  Dataset(Tensor x, Tensor y, Loc loc = Loc::here());

  i64 size() const { return x_.defined() ? x_.size(0) : 0; }
  const Tensor& x() const { return x_; }  // as stored
  const Tensor& y() const { return y_; }

  // Over all elements of x, before normalize(); u8 counted in [0, 1]; the population's deviation.
  MeanStd mean_std(Loc loc = Loc::here()) const;
  // Batches then hold (x - mean) / std, rounded once to f32. For a test set pass the training
  // set's figures. Throws Error unless std > 0 and both are finite.
  void normalize(MeanStd by, Loc loc = Loc::here());
  MeanStd normalization() const { return by_; }

 private:
  Tensor x_, y_;
  MeanStd by_;
};

}  // namespace ingot::data
