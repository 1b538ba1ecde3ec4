#include "cuda_on_host/fibre.h"

#include <new>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define INGOT_FIBRE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define INGOT_FIBRE_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define INGOT_FIBRE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define INGOT_FIBRE_TSAN 1
#endif
#endif

#if defined(INGOT_FIBRE_ASAN)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(INGOT_FIBRE_TSAN)
#include <sanitizer/tsan_interface.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace ingot::emulation {

namespace {
#if defined(INGOT_FIBRE_ASAN)
constexpr std::size_t kStack = 512 << 10;
#else
constexpr std::size_t kStack = 128 << 10;
#endif
constexpr std::size_t kGuard = 4096;
}  // namespace

struct Fibre::State {
  void* memory = nullptr;  // guard page, then the stack; null: the thread's own
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
#if defined(__x86_64__)
  void* top = nullptr;  // of the saved stack
#else
  ucontext_t context;
#endif
#if defined(INGOT_FIBRE_ASAN)
  const void* bottom = nullptr;
  std::size_t size = 0;
  void* fake_stack = nullptr;
#endif
#if defined(INGOT_FIBRE_TSAN)
  void* tsan = nullptr;
#endif

  char* stack() const { return static_cast<char*>(memory) + kGuard; }
};

#if defined(__x86_64__)
extern "C" void ingot_switch_stack(void** from, void* to);
// What the ABI lets a callee keep: rbx, rbp, r12 to r15 and the stack. The rounding modes are never
// changed.
asm(R"(
.text
.p2align 4
.type ingot_switch_stack, @function
ingot_switch_stack:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size ingot_switch_stack, . - ingot_switch_stack
)");
#endif

namespace {

thread_local Fibre::State* t_running = nullptr;
[[maybe_unused]] thread_local Fibre::State* t_left = nullptr;

void arrived() {
#if defined(INGOT_FIBRE_ASAN)
  // The first switch away from the thread's own stack tells where that stack is.
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(t_running->fake_stack, &bottom, &size);
  if (t_left->bottom == nullptr) {
    t_left->bottom = bottom;
    t_left->size = size;
  }
#endif
}

[[noreturn]] void start() {
  arrived();
  t_running->entry(t_running->argument);
  __builtin_trap();
}

}  // namespace

Fibre::Fibre() : state_(std::make_unique<State>()) {
#if defined(INGOT_FIBRE_TSAN)
  state_->tsan = __tsan_get_current_fiber();
#endif
}

Fibre::Fibre(void (*entry)(void*), void* argument) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.entry = entry;
  s.argument = argument;
  s.memory = mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (s.memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(s.memory, kGuard, PROT_NONE);
#if defined(__x86_64__)
  // As if start() had been called: the stack is 8 bytes off a multiple of 16 there, and what it
  // would return to ends every unwinding.
  void** top = reinterpret_cast<void**>(s.stack() + kStack) - 3;
  *top = nullptr;
  *--top = reinterpret_cast<void*>(&start);
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  s.top = top;
#else
  getcontext(&s.context);
  s.context.uc_stack.ss_sp = s.stack();
  s.context.uc_stack.ss_size = kStack;
  s.context.uc_link = nullptr;
  makecontext(&s.context, reinterpret_cast<void (*)()>(&start), 0);
#endif
#if defined(INGOT_FIBRE_ASAN)
  s.bottom = s.stack();
  s.size = kStack;
#endif
#if defined(INGOT_FIBRE_TSAN)
  s.tsan = __tsan_create_fiber(0);
#endif
}

Fibre::~Fibre() {
  if (state_->memory == nullptr) return;
#if defined(INGOT_FIBRE_ASAN)
  __asan_unpoison_memory_region(state_->stack(), kStack);
#endif
#if defined(INGOT_FIBRE_TSAN)
  __tsan_destroy_fiber(state_->tsan);
#endif
  munmap(state_->memory, kGuard + kStack);
}

void Fibre::switch_to(Fibre& to) {
  State &from = *state_, &next = *to.state_;
  t_left = &from;
  t_running = &next;
#if defined(INGOT_FIBRE_ASAN)
  __sanitizer_start_switch_fiber(&from.fake_stack, next.bottom, next.size);
#endif
#if defined(INGOT_FIBRE_TSAN)
  __tsan_switch_to_fiber(next.tsan, 0);
#endif
#if defined(__x86_64__)
  ingot_switch_stack(&from.top, next.top);
#else
  swapcontext(&from.context, &next.context);
#endif
  arrived();
}

}  // namespace ingot::emulation
