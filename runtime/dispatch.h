// The choke point: every op passes through dispatch().
// Owns: Call, the order of things (match, check, observe, run, history), its errors, and the seam
// by which a compiled call takes part (Interceptor). Must not know: the compiler, single ops.
#pragma once

#include <exception>
#include <memory>

#include <ingot/kernels/kernel_table.h>
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/tensor.h>

namespace ingot {

// One op as its caller asks for it.
struct Call {
  const OpInfo& op;
  const Tensor* const* in;  // a null entry: the next scalar of attrs, or an operand left out
  int n_in;
  const Attrs& attrs;
  Loc loc;
  Device device = kCPU;  // where a creation op makes its result
  int writes = -1;       // the input that the op overwrites; out[0] is then that tensor
  // By input, what the write overwrites and a gradient reads: copies made before. Null: nothing.
  const Tensor* overwritten = nullptr;
};

// What a call may do to bytes outside of ops, and in which order a device sees them.
enum class Access : std::uint8_t {
  read,          // item, print, to_vector, equal, save, a pointer to const
  write,         // a pointer, copies from user memory
  device_order,  // synchronise, events, streams, memory statistics
};

// What replay found. related: some operand requires grad, or is a view. done: the op has run, its
// history is written.
enum class Match : std::uint8_t { no, alone, related, done };

// A compiled function in progress on this thread. The compiler implements it.
class Interceptor {
 public:
  // Replay: unless `no`, the call is the recorded one and `out` holds its (pending) results.
  virtual Match match(const Call& call, Tensor* out) = 0;
  // After an op ran eagerly while a call is being recorded.
  virtual void executed(const Call& call, const Tensor* out, Ticket ticket) = 0;
  // The function may catch what an op was refused for and go on. by_data: its kernel refused the
  // bytes; else the check that sees operands' metadata and attributes alone (check_call).
  virtual void refused(const Call&, bool /*by_data*/) {}
  // Before bytes are accessed: what is pending and matters has run when it returns. t: the tensor
  // whose bytes they are; null for device_order.
  virtual void observe(Access access, const TensorImpl* t, const char* what, Loc loc) = 0;

  // Exposed memory: the function holds an address of it and may use that between any two ops, so
  // what writes there, or with Access::write what touches it at all, runs at once, in the order of
  // the program, and is not recorded. Holds until the call ends.
  virtual void expose(Access, const Storage&) {}
  // Whether the call has to run at once for that. If so, what must run before it has run.
  virtual bool runs_at_once(const Call&) { return false; }

  // What is pending runs now, and the rest of the call op by op: nothing is matched or recorded.
  virtual void leave(const char* why, Loc loc) = 0;

  bool exposes = false;  // some memory is exposed: runs_at_once() is to be asked
  // Nothing is matched or recorded any more: ops need not ask.
  bool idle = false;

 protected:
  ~Interceptor() = default;
};
extern constinit thread_local Interceptor* t_interceptor;

// The line that this thread's ops report instead of their own, see LineScope.
extern constinit thread_local const Loc* t_line;

// Adds the call to the history of its results, see autograd.h.
void record_history(const Call& call, Tensor* out);

// Every op that is not a plain replay.
void dispatch_other(const Call& call, Tensor* out);

// Runs one op. out: op.n_out tensors, assigned.
inline void dispatch(const Call& call, Tensor* out) {
  Interceptor* frame = t_interceptor;
  if (frame != nullptr && t_line == nullptr && call.writes < 0 && !frame->exposes) {
    const Match match = frame->match(call, out);
    if (match != Match::no) [[likely]] {
      if ((match == Match::related && grad_enabled()) || call.op.kind == OpKind::view) {
        record_history(call, out);
      }
      return;
    }
  }
  dispatch_other(call, out);
}

// The same for ops of one result.
inline Tensor dispatch(const Call& call) {
  Tensor out;
  dispatch(call, &out);
  return out;
}

// Runs the kernel of an op on given memory, with no checks, history or events but the kernel's own.
// Operands that overlap the result without being it are copied first. Used by eager dispatch and by
// plans, so that both do the same.
void run_kernel(const KernelArgs& args, Loc loc);

// Throws what the call's operands and attributes are refused for, whatever the bytes are.
void check_call(const Call& call);

// Runs a call beside the compiled function in progress: nothing is matched or recorded.
void run_beside(const Call& call, Tensor* out);

// Before bytes of t are read or written by other means than an op; throws what poisoned t.
void observe(const Tensor& t, Access access, const char* what, Loc loc);

// The address of t's bytes for a use that ends before the caller's next op.
void* bytes_of(const Tensor& t, Access access, const char* what, Loc loc);

// The address of t's bytes for the user to keep: Interceptor::expose.
void* exposed_bytes_of(const Tensor& t, Access access, const char* what, Loc loc);

// The error that a storage was poisoned with, kept for everyone who touches it.
void poison(Storage& storage, std::shared_ptr<const std::exception_ptr> error);
[[noreturn]] void rethrow_poison(const Storage& storage);

// While one lives, ops of this thread report `loc` as their line: a gradient rule's ops stand on
// the line of the forward op.
class LineScope {
 public:
  explicit LineScope(Loc loc);
  ~LineScope();
  LineScope(const LineScope&) = delete;

 private:
  Loc loc_;
  const Loc* outer_;
};

}  // namespace ingot
