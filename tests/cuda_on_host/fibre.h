// Stacks that one thread switches between by hand.
// Owns: Fibre, the switch (a few instructions on x86-64, ucontext elsewhere), what the sanitizers
// must be told. A fibre stays on the thread that made it. Must not know: grids, blocks, kernels.
#pragma once

#include <cstddef>
#include <memory>

namespace ingot::emulation {

class Fibre {
 public:
  // The thread's own stack, from where the first switch starts.
  Fibre();
  // Runs entry(argument) at the first switch to it; entry must never return.
  Fibre(void (*entry)(void*), void* argument);
  ~Fibre();
  Fibre(const Fibre&) = delete;

  // Leaves `this`, which must be running, for `to`; returns when something switches back.
  void switch_to(Fibre& to);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace ingot::emulation
