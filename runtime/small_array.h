// SmallArray: an array whose length is known when it is made, inside the object when short.
// Owns: this type. Must not know: what it holds.
#pragma once

#include <memory>

namespace ingot {

template <class T, int kInline>
class SmallArray {
 public:
  explicit SmallArray(int n)
      : data_(n <= kInline ? reinterpret_cast<T*>(inline_)
                           : std::allocator<T>().allocate(count(n))),
        size_(n) {
    std::uninitialized_default_construct_n(data_, n);
  }
  ~SmallArray() {
    std::destroy_n(data_, size_);
    if (size_ > kInline) std::allocator<T>().deallocate(data_, count(size_));
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
  static std::size_t count(int n) { return static_cast<std::size_t>(n); }
  alignas(T) unsigned char inline_[kInline * sizeof(T)];
  T* data_;
  int size_;
};

}  // namespace ingot
