// SmallArray: an array whose length is known when it is made, inside the object when short.
// Owns: this type. Must not know: what it holds.
#pragma once

#include <cstddef>

namespace ingot {

template <class T, int kInline>
class SmallArray {
 public:
  explicit SmallArray(int n)
      : data_(n <= kInline ? inline_ : new T[static_cast<std::size_t>(n)]), size_(n) {}
  ~SmallArray() {
    if (data_ != inline_) delete[] data_;
  }
  SmallArray(const SmallArray&) = delete;
  SmallArray& operator=(const SmallArray&) = delete;

  int size() const { return size_; }
  T& operator[](int i) { return data_[i]; }
  const T& operator[](int i) const { return data_[i]; }
  T* data() { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  T inline_[kInline];
  T* data_;
  int size_;
};

}  // namespace ingot
