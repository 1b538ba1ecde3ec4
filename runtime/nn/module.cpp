#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>

#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/autograd.h>
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/names.h>
#include <ingot/runtime/nn/module.h>
#include <ingot/runtime/ops.h>

namespace ingot::nn {

namespace {

bool is_tail(std::string_view tail, std::string_view path) {
  return path.size() > tail.size() && path.ends_with(tail) &&
         path[path.size() - tail.size() - 1] == '.';
}

// `t` stays the object that optimisers and tied members hold; its bytes become those of `value`.
void take_bytes(TensorImpl& t, const TensorImpl& value) {
  t.storage = value.storage;
  t.meta = value.meta;
  t.offset = value.offset;
  t.tag = value.tag;
  t.base = {};
  t.view_version = value.view_version;
  t.stamp = next_stamp();
}

std::string joined(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

}  // namespace

std::string_view Members::take(std::string_view& names) {
  const std::size_t comma = names.find(',');
  std::string_view name = names.substr(0, comma);
  names.remove_prefix(comma == std::string_view::npos ? names.size() : comma + 1);
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return name;
}

std::string_view Members::inside(std::string_view call) {
  const std::size_t open = call.find('('), close = call.rfind(')');
  std::string_view names = call.substr(open + 1, close - open - 1);
  return take(names);
}

std::string Members::item(std::string_view name, std::size_t i) {
  return fmt::format("{}.{}", name, i);
}

// All that hangs below a module, parents first. Gives the modules their dotted names on the way.
class Walk {
 public:
  struct Found {
    std::string name;
    Tensor tensor;
    bool parameter;
    const Module* lister = nullptr;  // whose INGOT_MODULE names it; none: registered
    std::size_t prefix = 0;          // of the name: the lister's own
  };

  explicit Walk(const Module& root) { enter(const_cast<Module&>(root), ""); }

  std::vector<Found> tensors;
  std::vector<Module*> modules;

 private:
  struct Shown final : Members {
    struct Listed {
      std::string name;
      Tensor tensor;
      bool parameter;
    };
    std::vector<Listed> tensors;
    std::vector<std::pair<std::string, Module*>> modules;
    void tensor(std::string_view name, Tensor& t) override {
      tensors.push_back({std::string(name), t, t.defined() && t.is_floating_point()});
    }
    void buffer(std::string_view name, Tensor& t) override {
      tensors.push_back({std::string(name), t, false});
    }
    void module(std::string_view name, Module& m) override { modules.emplace_back(name, &m); }
  };

  void enter(Module& module, const std::string& path) {
    modules.push_back(&module);
    if (!path.empty()) rename(module, path);
    const std::string prefix = path.empty() ? "" : path + ".";
    Shown shown;
    module.visit_members(shown);
    for (const Shown::Listed& listed : shown.tensors) {
      if (!listed.tensor.defined()) continue;
      tensors.push_back(
          {prefix + listed.name, listed.tensor, listed.parameter, &module, prefix.size()});
    }
    for (const Module::OwnTensor& own : module.tensors_) {
      if (own.tensor->defined()) {
        tensors.push_back({prefix + own.name, *own.tensor, own.parameter});
      }
    }
    for (auto& [name, child] : shown.modules) enter(*child, prefix + name);
    for (const Module::Child& child : module.children_) enter(*child.module, prefix + child.name);
  }

  // A walk that starts further down sees the tail of a longer name and leaves it.
  static void rename(Module& module, const std::string& path) {
    const char* old = module.name_.load(std::memory_order_relaxed);
    if (old != nullptr && (path == old || is_tail(path, old))) return;
    module.name_.store(intern(path), std::memory_order_relaxed);
  }
};

namespace {

// A listed floating tensor whose requires_grad is off because nobody has said anything: a forgotten
// requires_grad_() as likely as a buffer.
void warn_if_undecided(const Walk::Found& found) {
  const TensorImpl& t = found.tensor.get();
  const bool decided = t.requires_grad || (t.autograd != nullptr && t.autograd->chosen);
  if (found.lister == nullptr || !found.parameter || decided) return;
  const std::string type = found.lister->type_name();
  std::string member = found.name.substr(found.prefix);
  member.resize(std::min(member.size(), member.find('.')));  // of a vector, as it is listed
  static std::mutex mutex;
  static std::set<std::string> named;
  const std::lock_guard lock(mutex);
  if (!named.insert(type + " " + found.name).second) return;
  fmt::print(
      stderr,
      "ingot: {}, {}, is listed as a parameter of {} and does not require grad, so it will "
      "not train: call requires_grad_() on it, or requires_grad_(false) if that is meant, or "
      "list it as buffer({})\n",
      found.name, describe(t.meta), type, member);
}

NamedTensors once(const Module& root, bool parameter) {
  std::set<const TensorImpl*> seen;
  NamedTensors result;
  for (Walk::Found& found : Walk(root).tensors) {
    if (parameter) warn_if_undecided(found);
    if (found.parameter == parameter && seen.insert(found.tensor.impl()).second) {
      result.emplace_back(std::move(found.name), std::move(found.tensor));
    }
  }
  return result;
}

std::vector<Tensor> without_names(NamedTensors named) {
  std::vector<Tensor> tensors;
  tensors.reserve(named.size());
  for (auto& [name, t] : named) tensors.push_back(std::move(t));
  return tensors;
}

}  // namespace

std::vector<Tensor> Module::parameters() const { return without_names(named_parameters()); }
NamedTensors Module::named_parameters() const { return once(*this, true); }
std::vector<Tensor> Module::buffers() const { return without_names(named_buffers()); }
NamedTensors Module::named_buffers() const { return once(*this, false); }

NamedTensors Module::state_dict() const {
  NamedTensors state;
  for (Walk::Found& found : Walk(*this).tensors) {
    state.emplace_back(std::move(found.name), found.tensor.detach());
  }
  return state;
}

void Module::load_state_dict(const NamedTensors& state, bool strict, Loc loc) {
  std::map<std::string_view, const Tensor*> given;
  for (const auto& [name, t] : state) given[name] = &t;

  std::vector<std::pair<Tensor, const Tensor*>> copies;
  std::vector<std::string> missing, unknown;
  for (const Walk::Found& found : Walk(*this).tensors) {
    const auto it = given.find(found.name);
    if (it == given.end()) {
      missing.push_back(found.name);
      continue;
    }
    INGOT_CHECK_AT("load_state_dict", loc, it->second->defined(), "{} is undefined", found.name);
    INGOT_CHECK_AT("load_state_dict", loc, it->second->sizes() == found.tensor.sizes(),
                   "{} has shape {}, the state's has {}", found.name,
                   to_string(found.tensor.sizes()), to_string(it->second->sizes()));
    copies.emplace_back(found.tensor, it->second);
    given.erase(it);
  }
  if (strict) {
    for (const auto& [name, t] : given) unknown.emplace_back(name);
    INGOT_CHECK_AT("load_state_dict", loc, missing.empty(), "the state lacks {}", joined(missing));
    INGOT_CHECK_AT("load_state_dict", loc, unknown.empty(), "the module has no {}",
                   joined(unknown));
  }
  NoGradGuard no_grad;
  for (auto& [to, from] : copies) to.copy_(*from, loc);
}

void Module::train(bool on) {
  for (Module* module : Walk(*this).modules) module->training_ = on;
}

void Module::to(TensorOptions options, Loc loc) {
  INGOT_CHECK_AT("Module::to", loc, !options.has_dtype() || is_floating_point(options.dtype()),
                 "the dtype must be a floating one, got {}", ingot::name(options.dtype()));
  struct Moved {
    Tensor tensor, value, grad;
  };
  std::vector<Moved> moved;
  std::set<const TensorImpl*> seen;
  NoGradGuard no_grad;
  for (const Walk::Found& found : Walk(*this).tensors) {
    const Tensor& t = found.tensor;
    const TensorOptions target(
        options.has_dtype() && t.is_floating_point() ? options.dtype() : t.dtype(),
        options.has_device() ? options.device() : t.device());
    if (target.dtype() == t.dtype() && target.device() == t.device()) continue;
    if (!seen.insert(t.impl()).second) continue;
    moved.push_back(
        {t, t.to(target, loc), t.grad().defined() ? t.grad().to(target, loc) : Tensor()});
  }
  // Everything has been made: from here on nothing can fail half-way.
  for (Moved& m : moved) {
    take_bytes(m.tensor.get(), m.value.get());
    if (m.grad.defined()) m.tensor.mutable_grad() = m.grad;
  }
}

void Module::zero_grad(bool set_to_none, Loc loc) {
  NoGradGuard no_grad;
  for (Walk::Found& found : Walk(*this).tensors) {
    if (!found.parameter || !found.tensor.grad().defined()) continue;
    if (set_to_none) {
      found.tensor.mutable_grad() = Tensor();
    } else {
      found.tensor.mutable_grad().zero_(loc);
    }
  }
}

void Module::check_name(const std::string& name, Loc loc) const {
  INGOT_CHECK_AT("register", loc, !name.empty() && name.find('.') == std::string::npos,
                 "a member's name is not empty and holds no dot, got \"{}\"", name);
  const bool taken = std::any_of(children_.begin(), children_.end(),
                                 [&](const Child& child) { return child.name == name; }) ||
                     std::any_of(tensors_.begin(), tensors_.end(),
                                 [&](const OwnTensor& own) { return own.name == name; });
  INGOT_CHECK_AT("register", loc, !taken, "{} has a member \"{}\" already", type_name(), name);
}

void Module::add_module(std::string name, std::shared_ptr<Module> module, Loc loc) {
  check_name(name, loc);
  INGOT_CHECK_AT("register_module", loc, module != nullptr, "the handle of \"{}\" is empty", name);
  Module* address = module.get();
  children_.push_back({std::move(name), std::move(module), address});
}

void Module::register_module(std::string name, Module& module, Loc loc) {
  check_name(name, loc);
  children_.push_back({std::move(name), nullptr, &module});
}

Tensor& Module::add_tensor(std::string name, Tensor t, bool parameter, Loc loc) {
  check_name(name, loc);
  tensors_.push_back({std::move(name), std::make_unique<Tensor>(std::move(t)), parameter});
  return *tensors_.back().tensor;
}

Tensor& Module::register_parameter(std::string name, Tensor t, bool requires_grad, Loc loc) {
  if (t.defined()) {
    INGOT_CHECK_AT("register_parameter", loc, !requires_grad || t.is_floating_point(),
                   "\"{}\" is {}; only floating tensors have gradients", name,
                   ingot::name(t.dtype()));
    t.requires_grad_(requires_grad);
  }
  return add_tensor(std::move(name), std::move(t), true, loc);
}

Tensor& Module::register_buffer(std::string name, Tensor t, Loc loc) {
  return add_tensor(std::move(name), std::move(t), false, loc);
}

}  // namespace ingot::nn
