// Storage and TensorImpl: what a Tensor handle points to.
// Owns: reference counts, lifetime, the states of bytes (real, pending, poisoned) and identity
// (stamps, frame tags). Must not know: ops, autograd's rules, the compiler.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ingot/kernels/core/meta.h>
#include <ingot/runtime/free_list.h>

namespace ingot {

class TensorImpl;
struct AutogradMeta;
void destroy(AutogradMeta* meta) noexcept;

// An intrusive pointer: T has retain() and release().
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* p) : p_(p) {
    if (p_ != nullptr) p_->retain();
  }
  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  Ref(const Ref& o) : Ref(o.p_) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(const Ref& o) {
    Ref copy(o);
    std::swap(p_, copy.p_);
    return *this;
  }
  Ref& operator=(Ref&& o) noexcept {
    Ref old(std::move(*this));
    p_ = std::exchange(o.p_, nullptr);
    return *this;
  }
  ~Ref() {
    if (p_ != nullptr) p_->release();
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& o) const { return p_ == o.p_; }
  T* leak() { return std::exchange(p_, nullptr); }

 private:
  T* p_ = nullptr;
};

// A count that frees without an atomic read-modify-write when it is the last one.
class RefCount {
 public:
  void retain() { n_.fetch_add(1, std::memory_order_relaxed); }
  // True when the caller held the last reference.
  bool release() {
    if (n_.load(std::memory_order_acquire) == 1) return true;
    return n_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  std::uint32_t count() const { return n_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint32_t> n_{1};
};

enum class ByteState : std::uint8_t {
  real,      // `data` holds the bytes
  pending,   // a compiled call will compute them when its function returns or they are observed
  poisoned,  // the compiled call that should have computed them failed
};

// Numbers that no other call in the process gets, dealt to threads in blocks.
class Numbers {
 public:
  std::uint64_t next() {
    if (next_ == end_) [[unlikely]]
      take_block();
    return next_++;
  }

 private:
  void take_block();
  std::uint64_t next_ = 0, end_ = 0;
};
extern constinit thread_local Numbers t_stamps;
inline std::uint64_t next_stamp() { return t_stamps.next(); }

// The reference count of a storage. Beside the handles there may be one holder, a frame that its
// own thread runs: while it holds, the last handle to go leaves the object there, without its
// bytes, and costs that thread no atomic read-modify-write. Handles may come and go on any thread;
// holding is done on one.
class HeldCount {
 public:
  enum class Left : std::uint8_t { some, holder, none };

  void retain() { n_.fetch_add(1, std::memory_order_relaxed); }
  // Who is left. holder: no handle, and the caller's thread is the holder's.
  Left release() {
    const std::uint32_t n = n_.load(std::memory_order_acquire);
    if (n == 1) return Left::none;
    if (n == (kHeld | 1) && holder_ == this_thread()) {
      // The only handle is this one, and the holder is not at work: nobody else changes the count.
      n_.store(kHeld, std::memory_order_relaxed);
      return Left::holder;
    }
    return n_.fetch_sub(1, std::memory_order_acq_rel) == 1 ? Left::none : Left::some;
  }
  // While no other thread can know the object.
  void retain_private() {
    n_.store(n_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::uint32_t handles() const { return n_.load(std::memory_order_acquire) & ~kHeld; }

  // For the thread that made the object, before another one can know it.
  void hold() {
    holder_ = this_thread();
    n_.store(n_.load(std::memory_order_relaxed) | kHeld, std::memory_order_relaxed);
  }
  // True when no handle is left.
  bool let_go() {
    if (n_.load(std::memory_order_acquire) == kHeld) return true;
    return n_.fetch_and(~kHeld, std::memory_order_acq_rel) == kHeld;
  }

 private:
  static constexpr std::uint32_t kHeld = 1u << 31;
  static const void* this_thread() { return &t_stamps; }
  std::atomic<std::uint32_t> n_{1};
  const void* holder_ = nullptr;
};

class Storage {
 public:
  // Bytes from the allocator; 0 bytes need none.
  static Ref<Storage> create(std::size_t bytes, Device device);
  // Page-locked memory of the host.
  static Ref<Storage> create_pinned(std::size_t bytes);
  // Memory of the caller's, or none yet (data == nullptr, state pending).
  static Ref<Storage> borrow(void* data, std::size_t bytes, Device device);
  static Ref<Storage> pending(std::size_t bytes, Device device) {
    auto* s = new (take_object<Storage>()) Storage(nullptr, bytes, device);
    s->state.store(ByteState::pending, std::memory_order_relaxed);
    return Ref<Storage>::adopt(s);
  }

  void retain() { refs_.retain(); }
  void release() {
    const HeldCount::Left left = refs_.release();
    if (left == HeldCount::Left::none) {
      destroy();
    } else if (left == HeldCount::Left::holder && data != nullptr && !needed) {
      drop_bytes();
    }
  }
  // One more reference before another thread can know the object: no atomic read-modify-write.
  Ref<Storage> share_private() {
    refs_.retain_private();
    return Ref<Storage>::adopt(this);
  }
  // A frame's hold on what its call makes: see HeldCount.
  void hold() { refs_.hold(); }
  void let_go() {
    if (refs_.let_go()) destroy();
  }
  std::uint32_t use_count() const { return refs_.handles(); }  // handles; the holder is none

  // Gives a pending storage its bytes; the state stays as it is.
  void materialize();
  // Gives the bytes back, of a storage that nobody can read any more.
  void drop_bytes() noexcept;

  void* data;
  std::size_t bytes;
  const std::uint64_t stamp;  // identity: no other storage of the process has it, ever
  void* poison = nullptr;     // poisoned: the shared error, see dispatch.h
  std::uint32_t version = 0;  // bumped by each in-place write through the API
  Device device;
  std::atomic<ByteState> state{ByteState::real};
  bool borrowed = false;
  bool pinned = false;  // page-locked, from allocate_pinned()
  bool needed = false;  // for its holder: the bytes stay although the last handle goes

 private:
  Storage(void* d, std::size_t n, Device where)
      : data(d), bytes(n), stamp(next_stamp()), device(where) {}
  void destroy() noexcept {
    if (data != nullptr || state.load(std::memory_order_relaxed) == ByteState::poisoned) end();
    give_object<Storage>(this);
  }
  void end() noexcept;  // what an object without bytes and error does not need
  void free_bytes() noexcept;
  HeldCount refs_;
};
static_assert(std::is_trivially_destructible_v<Storage>);

// Which result of which compiled call a tensor is; epoch 0: none.
struct FrameTag {
  std::uint64_t epoch = 0;
  std::int32_t result = -1;
  bool operator==(const FrameTag&) const = default;
};

class TensorImpl {
 public:
  static Ref<TensorImpl> create(Ref<Storage> storage, const Meta& meta, i64 offset) {
    return Ref<TensorImpl>::adopt(new (take_object<TensorImpl>())
                                      TensorImpl(std::move(storage), meta, offset));
  }

  void retain() { refs_.retain(); }
  void release() {
    if (refs_.release()) destroy();
  }
  std::uint32_t use_count() const { return refs_.count(); }

  void* data() const { return static_cast<char*>(storage->data) + offset * item_size(meta.dtype); }

 private:
  RefCount refs_;

 public:
  std::uint32_t view_version = 0;  // of the storage when this view's history was last right
  Ref<Storage> storage;
  i64 offset;           // elements from the start of the storage
  std::uint64_t stamp;  // identity: unique among tensors, renewed when metadata change
  FrameTag tag;
  Ref<TensorImpl> base;  // the tensor that this is a view of, itself no view
  AutogradMeta* autograd = nullptr;
  bool requires_grad = false;  // a leaf that asks for it, or a result of one that does
  Meta meta;

 private:
  TensorImpl(Ref<Storage> s, const Meta& m, i64 at)
      : storage(std::move(s)), offset(at), stamp(next_stamp()), meta(m) {}
  void destroy() noexcept {
    if (autograd != nullptr) ingot::destroy(autograd);
    this->~TensorImpl();
    give_object<TensorImpl>(this);
  }
};

}  // namespace ingot
