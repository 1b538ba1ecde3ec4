// compile(): a callable over tensors becomes one that records its first call and replays it.
// Owns: the public templates. docs/compile.md says what a compiled call guarantees and costs.
// Must not know: plans, kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ingot/compiler/entry_pin.h>
#include <ingot/compiler/ledger.h>
#include <ingot/compiler/options.h>
#include <ingot/compiler/signature.h>

namespace ingot {

class Observer;
enum class EventKind : std::uint8_t;

namespace compiler {

class Entry;
class Frame;
class FunctionState;
class Trie;

std::shared_ptr<FunctionState> make_function(CompileOptions options, Loc loc);
// Records eager timings of f for the ledger of `function` and compiled ones through `compiled`.
void time_pair(FunctionState& function, const std::function<void()>& eager,
               const std::function<void()>& compiled);
Ledger ledger_of(const FunctionState& function);
std::string graph_of(const FunctionState& function);
std::string dot_of(const FunctionState& function);
std::string source_of(const FunctionState& function);
MemoryUse memory_of(const FunctionState& function);
void reset(FunctionState& function);
Signature& scratch_signature();
[[noreturn]] void refuse_moved_from();

// One call of a compiled function. Inside another compiled call it does nothing: that one's frame
// sees the ops.
class CallScope {
 public:
  explicit CallScope(FunctionState& function);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  bool outermost() const { return outermost_; }
  // The signature stays as it is until the call has ended.
  void start(const Signature& signature);
  void finish();

 private:
  void start_at(Entry& entry, const Signature& signature);
  void begin_event(EventKind kind, const char* name, Loc loc);
  void end_event();
  alignas(8) unsigned char frame_memory_[192];
  FunctionState& function_;
  EntryPin pin_;
  // These two are set while there is a frame.
  Entry* entry_ = nullptr;
  Frame* frame_ = nullptr;
  std::unique_ptr<Trie> own_trie_;  // of a call whose signature is new
  const Signature* signature_ = nullptr;
  std::uint64_t hash_ = 0;
  std::uint64_t started_ = 0;     // 0: this call is not timed
  Observer* observer_ = nullptr;  // that was told of this call's begin
  bool records_ = false;          // it began without a path
  bool missed_ = false;           // it left its path, and the rest was not recorded
  bool outermost_;
};

// f(x, loc): a module's handle or an op, whose errors name the line that they are given. A generic
// lambda is not asked: its body may not compile for a Loc.
template <class F>
concept TakesLoc = (std::is_pointer_v<F> || requires { typename F::ImplType; }) &&
                   std::is_invocable_v<F&, const Tensor&, Loc>;
template <class... A>
inline constexpr bool kOneTensor = false;
template <class X>
inline constexpr bool kOneTensor<X> = std::is_same_v<std::remove_cvref_t<X>, Tensor>;

}  // namespace compiler

// A compiled function. Copies share what was recorded; calls may come from several threads. One
// that was moved from throws Error. It must live until its calls have returned.
template <class F>
class Compiled {
 public:
  Compiled(F fn, CompileOptions options, Loc loc)
      : fn_(std::make_shared<F>(std::move(fn))),
        state_(compiler::make_function(std::move(options), loc)) {}

  // Gives eager's result: bits, host state and errors. fn runs exactly once.
  template <class... A>
  requires(!(compiler::TakesLoc<F> && compiler::kOneTensor<A...>)) auto operator()(
      A&&... args) const -> std::invoke_result_t<F&, A...> {
    using Result = std::invoke_result_t<F&, A...>;
    compiler::CallScope scope(held());
    if (scope.outermost()) {
      compiler::Signature& signature = compiler::scratch_signature();
      signature.clear();
      (signature.add_argument(args), ...);
      scope.start(signature);
    }
    if constexpr (std::is_void_v<Result>) {
      std::invoke(*fn_, std::forward<A>(args)...);
      scope.finish();
    } else {
      Result result = std::invoke(*fn_, std::forward<A>(args)...);
      scope.finish();  // parameters are dead, the result is held here
      return result;
    }
  }

  auto operator()(const Tensor& x, Loc loc = Loc::here()) const requires compiler::TakesLoc<F> {
    return operator()<const Tensor&, Loc>(x, std::move(loc));
  }

  // Records the path of these arguments now; the call is a real one.
  template <class... A>
  void prepare(const A&... args) const {
    (void)(*this)(args...);
  }
  // Forgets what was recorded and gives its memory back: at once, or when the calls that are
  // running on other threads have ended.
  void reset() const { compiler::reset(held()); }
  Ledger ledger() const { return compiler::ledger_of(held()); }
  // The recorded paths: as text, one op a line; for Graphviz, each kernel a cluster.
  std::string graph() const { return compiler::graph_of(held()); }
  std::string dot() const { return compiler::dot_of(held()); }
  std::string source() const { return compiler::source_of(held()); }
  MemoryUse memory() const { return compiler::memory_of(held()); }

  compiler::FunctionState& state() const { return held(); }
  F& function() const {
    (void)held();
    return *fn_;
  }

 private:
  compiler::FunctionState& held() const {
    if (state_ == nullptr) [[unlikely]]
      compiler::refuse_moved_from();
    return *state_;
  }

  std::shared_ptr<F> fn_;
  std::shared_ptr<compiler::FunctionState> state_;
};

// An lvalue that cannot be copied (a Module) is held by reference; other callables by value.
template <class F>
auto compile(F&& fn, CompileOptions options = {}, Loc loc = Loc::here()) {
  using D = std::decay_t<F>;
  if constexpr (std::is_lvalue_reference_v<F> && !std::is_copy_constructible_v<D>) {
    return Compiled<std::reference_wrapper<D>>(std::ref(fn), std::move(options), loc);
  } else {
    return Compiled<D>(std::forward<F>(fn), std::move(options), loc);
  }
}

// Times fn on these arguments, eager and compiled, in turn, and returns the ledger. fn runs many
// times. A function that is compiled already is taken as it is, with the ledger it has.
template <class F, class... A>
Ledger compare(F&& fn, const A&... args) {
  if constexpr (requires { fn.state(); }) {
    compiler::time_pair(
        fn.state(), [&] { (void)std::invoke(fn.function(), args...); }, [&] { (void)fn(args...); });
    return fn.ledger();
  } else {
    return compare(compile(fn, {.name = "compare"}), args...);
  }
}

// The ledgers of all compiled functions that exist, in the order of compile().
std::vector<Ledger> ledgers();

}  // namespace ingot
