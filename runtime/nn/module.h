// Module: a tree of named parameters, buffers and modules.
// Owns: the walk over that tree (names, state, devices, training flag) and INGOT_MODULE, which
// shows a walk the members as they are at that moment: a layer that was replaced is seen. Must not
// know: single layers, optimisers, kernels.
#pragma once

#include <atomic>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ingot/runtime/nn/call.h>
#include <ingot/runtime/tensor.h>

namespace ingot::nn {

class Module;

// buffer(t) in INGOT_MODULE's list: t is state that does not train.
template <class T>
struct BufferMember {
  T& member;
};

// Handle, and whatever else points to a module.
template <class H>
concept ModuleHandle = requires(const H& h) {
  { *h.ptr() } -> std::convertible_to<Module&>;
};

// What a module shows of itself: its members under their names. Names are those of the source text.
class Members {
 public:
  virtual void tensor(std::string_view name, Tensor& t) = 0;
  virtual void buffer(std::string_view name, Tensor& t) = 0;
  virtual void module(std::string_view name, Module& m) = 0;

  // list("fc1, fc2", fc1, fc2): tensors, modules, handles, buffers, and vectors of these ("fc1.0").
  template <class... T>
  void list([[maybe_unused]] std::string_view names, T&&... members) {
    (one(take(names), members), ...);
  }

 protected:
  ~Members() = default;

 private:
  static std::string_view take(std::string_view& names);
  static std::string item(std::string_view name, std::size_t i);
  static std::string_view inside(std::string_view call);  // of "buffer(name)"
  void one(std::string_view name, Tensor& t) { tensor(name, t); }
  void one(std::string_view name, BufferMember<Tensor> b) { buffer(inside(name), b.member); }
  void one(std::string_view name, BufferMember<std::vector<Tensor>> b) {
    const std::string_view list = inside(name);
    for (std::size_t i = 0; i < b.member.size(); ++i) buffer(item(list, i), b.member[i]);
  }
  void one(std::string_view name, Module& m) { module(name, m); }
  template <ModuleHandle H>
  void one(std::string_view name, H& handle) {
    if (handle.ptr()) module(name, *handle.ptr());
  }
  template <class T>
  void one(std::string_view name, std::vector<T>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) one(item(name, i), list[i]);
  }
};

// Tensors by their dotted names ("encoder.fc1.weight"): a module's own tensors in the order of
// INGOT_MODULE and of registration, then those of the modules in it.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;  // a copy would share the parameters
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  // Each tensor once, also where two modules share it. Frozen ones (requires_grad off) included; of
  // a listed one that nobody has called requires_grad_() on, a line on stderr says once that it
  // will not train.
  std::vector<Tensor> parameters() const;
  NamedTensors named_parameters() const;
  std::vector<Tensor> buffers() const;
  NamedTensors named_buffers() const;

  // Parameters and buffers under every name they have. The tensors share the module's bytes:
  // clone() what must outlive the next step.
  NamedTensors state_dict() const;
  // Copies values in, casting and moving as needed. Throws Error, with the module unchanged, when a
  // shape differs and, if strict, when a name is missing or unknown.
  void load_state_dict(const NamedTensors& state, bool strict = true, Loc loc = Loc::here());

  // The flag that dropout reads; for this module and all in it.
  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }

  // Moves every tensor to the options' device and casts the floating ones to its dtype, gradients
  // too. The tensors stay the same objects, so an optimiser that holds them goes on working.
  void to(TensorOptions options, Loc loc = Loc::here());

  void zero_grad(bool set_to_none = true, Loc loc = Loc::here());

  // For members that INGOT_MODULE does not list. A handle or tensor is shared and returned; a
  // module is held by reference and must live as long as this one. Error when the name is taken,
  // empty, or holds a dot.
  template <ModuleHandle H>
  H register_module(std::string name, H handle, Loc loc = Loc::here()) {
    add_module(std::move(name), handle.ptr(), loc);
    return handle;
  }
  void register_module(std::string name, Module& module, Loc loc = Loc::here());
  Tensor& register_parameter(std::string name, Tensor t, bool requires_grad = true,
                             Loc loc = Loc::here());
  Tensor& register_buffer(std::string name, Tensor t, Loc loc = Loc::here());

  // The dotted name below the root of the last walk (parameters(), to(), train() ... are walks);
  // before any walk, and for a root, the type's name. Lives as long as the process.
  const char* name() const {
    const char* name = name_.load(std::memory_order_relaxed);
    return name != nullptr ? name : type_name();
  }
  virtual const char* type_name() const { return "Module"; }

  // net(x), of a class that has no INGOT_MODULE.
  template <class... A>
  void operator()(const A&...) const {
    static_assert(sizeof...(A) < 0,
                  "write net.forward(x), or INGOT_MODULE(Net, members...) in the "
                  "class; then net(x) is a call of forward()");
  }

 protected:
  virtual void visit_members(Members&) {}

  // For INGOT_MODULE's list: a tensor, or several, that do not train.
  static BufferMember<Tensor> buffer(Tensor& t) { return {t}; }
  static BufferMember<std::vector<Tensor>> buffer(std::vector<Tensor>& list) { return {list}; }

 private:
  friend class Walk;
  struct Child {
    std::string name;
    std::shared_ptr<Module> owner;  // none for a module held by reference
    Module* module;
  };
  struct OwnTensor {
    std::string name;
    std::unique_ptr<Tensor> tensor;  // an address that stays
    bool parameter;
  };
  void add_module(std::string name, std::shared_ptr<Module> module, Loc loc);
  Tensor& add_tensor(std::string name, Tensor t, bool parameter, Loc loc);
  void check_name(const std::string& name, Loc loc) const;

  std::vector<Child> children_;
  std::vector<OwnTensor> tensors_;
  bool training_ = true;
  std::atomic<const char*> name_{nullptr};
};

}  // namespace ingot::nn

// INGOT_MODULE(Net, fc1, scale, buffer(mean)) inside `struct Net : nn::Module` lists the members
// that hold state: Tensors, modules, handles, vectors of them. A floating tensor is a parameter; it
// trains if it was made with requires_grad_(). buffer(...) says that one is a buffer: part of
// state_dict() and to(), but not of parameters(). Tensors of other dtypes are buffers anyway.
// Members may be declared before or after it. A derived class lists its base's members again.
// net(x) is then net.forward(x) as a call of a handle is, and net(x, y) forward(x, y): no
// templates, which classes inside of functions cannot have. An operator() of the class's own wins.
#define INGOT_MODULE(Type, ...)                                               \
  const char* type_name() const override { return #Type; }                    \
  void visit_members(::ingot::nn::Members& members) override {                \
    members.list(#__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__);                    \
  }                                                                           \
  decltype(auto) operator()(::ingot::TensorAt x) const {                      \
    return ::ingot::nn::call_if_possible(*this, x.loc, x.tensor);             \
  }                                                                           \
  decltype(auto) operator()(::ingot::TensorAt x, ::ingot::TensorAt y) const { \
    return ::ingot::nn::call_if_possible(*this, x.loc, x.tensor, y.tensor);   \
  }
