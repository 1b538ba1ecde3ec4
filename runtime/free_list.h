// Free lists: a thread's released objects of one type, to be taken again without the system.
// Owns: the lists and their end with the thread. Must not know: what the objects are.
#pragma once

#include <new>
#include <utility>

namespace ingot {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
template <class T>
void* take_object() {
  return ::operator new(sizeof(T));
}
template <class T>
void give_object(void* memory) noexcept {
  ::operator delete(memory);
}
#else
// Objects may be freed by another thread than made them; past the cap they go back to the system.
// Trivial, so that it outlives every thread_local destructor: after the drain nothing is kept.
template <class T>
struct FreeList {
  struct Node {
    Node* next;
  };
  Node* head = nullptr;
  int room = 0;  // how many more it may hold
  bool opened = false;
};
template <class T>
inline constinit thread_local FreeList<T> t_free_list;

// Gives a thread's list back to the system when the thread ends.
template <class T>
struct FreeListDrain {
  FreeListDrain() {
    constexpr int kCap = 4096;
    t_free_list<T>.room = kCap;
    t_free_list<T>.opened = true;
  }
  ~FreeListDrain() {
    FreeList<T>& list = t_free_list<T>;
    while (list.head != nullptr) ::operator delete(std::exchange(list.head, list.head->next));
    list.room = 0;
  }
};

template <class T>
[[gnu::noinline]] void give_to_full_list(void* memory) noexcept {
  if (!t_free_list<T>.opened) {
    thread_local FreeListDrain<T> drain;
    (void)drain;
  }
  ::operator delete(memory);
}

template <class T>
void* take_object() {
  FreeList<T>& list = t_free_list<T>;
  if (list.head == nullptr) [[unlikely]]
    return ::operator new(sizeof(T));
  ++list.room;
  return std::exchange(list.head, list.head->next);
}

template <class T>
void give_object(void* memory) noexcept {
  FreeList<T>& list = t_free_list<T>;
  if (list.room == 0) [[unlikely]] {
    give_to_full_list<T>(memory);
    return;
  }
  --list.room;
  list.head = new (memory) typename FreeList<T>::Node{list.head};
}
#endif

}  // namespace ingot
