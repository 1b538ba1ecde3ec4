// IDX files (the format of http://yann.lecun.com/exdb/mnist, section "File formats"), plain or
// gzip-compressed, and the MNIST-like data sets that consist of four of them.
// Owns: the format and its checks. A file is read whole or not at all. Must not know: batches.
#pragma once

#include <string>

#include <ingot/runtime/data/dataset.h>

namespace ingot::data {

// The file's array as u8, of `dims` axes (0: as many as it says, at most 8). Throws FileError, one
// sentence with the path, when the file is missing, truncated, longer than its header says,
// damaged, of another element type, or no IDX file.
Tensor read_idx(const std::string& path, int dims = 0, Loc loc = Loc::here());

// The training (or test) part of an MNIST-format folder: train-images-idx3-ubyte and
// train-labels-idx1-ubyte (t10k-...), with or without .gz. x u8 [rows, height, width], y i64
// [rows]. Also a FileError: other counts of images and labels, a label >= classes, only zero
// pixels.
Dataset idx(const std::string& dir, Flag train, i64 classes = 10, Loc loc = Loc::here());

}  // namespace ingot::data
