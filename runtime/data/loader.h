// DataLoader: a Dataset in batches, `for (auto [x, y] : loader)`.
// Owns: the order of rows and the making of batch tensors. The order is a function of seed and
// epoch alone, on every platform (data/permutation.h). Must not know: files, models.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <vector>

#include <ingot/runtime/data/dataset.h>

namespace ingot::data {

// x f32 [batch, ...] normalised as the dataset says, y [batch, ...] as stored.
struct Batch {
  Tensor x, y;
};

struct LoaderOptions {
  i64 batch_size = 1;
  bool shuffle = false;    // a new order each epoch; else that of the dataset
  bool drop_last = false;  // leave out a last batch that is not full
  std::uint64_t seed = 0;
  Device device = kCPU;
  // Batches are made in page-locked memory: the loader's copy to a GPU, or the caller's
  // to(device, true), does not wait. Without a usable GPU this has no effect.
  bool pin_memory = false;
};

// Each begin() starts the next epoch. Loops of two threads over one loader are the caller's to
// order; batches are the caller's own.
class DataLoader {
 public:
  explicit DataLoader(Dataset dataset, LoaderOptions options = {}, Loc loc = Loc::here());

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Batch;
    Batch operator*() const { return loader_->batch(order_.get(), index_); }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& o) const { return index_ == o.index_; }

   private:
    friend class DataLoader;
    Iterator(const DataLoader* loader, std::shared_ptr<const std::vector<i64>> order, i64 index)
        : loader_(loader), order_(std::move(order)), index_(index) {}
    const DataLoader* loader_;
    std::shared_ptr<const std::vector<i64>> order_;  // none: rows as they are
    i64 index_;
  };
  Iterator begin() const;
  Iterator end() const { return {this, nullptr, size()}; }

  i64 size() const;  // batches in an epoch
  const Dataset& dataset() const { return dataset_; }
  // The epoch that the next begin() starts; to go on where another run stopped.
  i64 epoch() const { return epoch_; }
  void set_epoch(i64 epoch) { epoch_ = epoch; }

 private:
  Batch batch(const std::vector<i64>* order, i64 index) const;
  void gather_x(const i64* rows, i64 n, float* to) const;

  Dataset dataset_;
  LoaderOptions options_;
  Loc loc_;
  std::array<float, 256> pixel_{};  // u8 -> normalised f32
  mutable i64 epoch_ = 0;           // a const loader can be looped over too
};

}  // namespace ingot::data
