// Tensors as text: nested brackets, one width for all elements, long axes summarised.
#include <algorithm>
#include <cmath>
#include <ostream>

#include <ingot/kernels/core/check.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/ops.h>

namespace ingot {

namespace {

PrintOptions g_options;

struct Style {
  bool scientific = false, whole = false;
  int precision = 4;
};

std::string format_value(const Style& s, double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  if (s.scientific) return fmt::format("{:.{}e}", v, s.precision);
  if (s.whole) return fmt::format("{:.0f}.", v);
  return fmt::format("{:.{}f}", v, s.precision);
}

// Whole numbers are shown without digits; a range beyond 1e-4 ... 1e8 in powers of ten.
Style choose_style(const std::vector<double>& values) {
  Style s;
  s.precision = g_options.precision;
  double low = INFINITY, high = 0;
  s.whole = true;
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    if (v != std::trunc(v)) s.whole = false;
    if (v != 0) low = std::min(low, std::abs(v));
    high = std::max(high, std::abs(v));
  }
  if (s.whole) {
    s.scientific = high >= 1e8;
  } else {
    s.scientific = high >= 1e8 || low < 1e-4 || high / low > 1e5;
  }
  return s;
}

// One element of the host tensor, `offset` elements after its first.
Tensor element(const Tensor& host, i64 offset) {
  return Tensor(TensorImpl::create(host.get().storage, {host.dtype(), kCPU, {}, {}},
                                   host.get().offset + offset));
}

// Integers keep every digit: they do not pass through double.
std::vector<std::string> format_elements(const Tensor& host, const std::vector<i64>& offsets) {
  std::vector<std::string> texts;
  if (!is_floating_point(host.dtype())) {
    for (i64 offset : offsets) {
      const i64 v = element(host, offset).item<i64>();
      texts.push_back(host.dtype() != DType::boolean ? std::to_string(v)
                      : v != 0                       ? "true"
                                                     : "false");
    }
    return texts;
  }
  std::vector<double> values;
  for (i64 offset : offsets) values.push_back(element(host, offset).item<double>());
  const Style style = choose_style(values);
  for (double v : values) texts.push_back(format_value(style, v));
  return texts;
}

class Printer {
 public:
  Printer(const Tensor& t, bool summarise) : t_(t), summarise_(summarise) {
    std::vector<i64> index(static_cast<std::size_t>(t.dim()), 0);
    collect(0, index);
  }

  std::string text() {
    for (const std::string& s : shown_) width_ = std::max(width_, static_cast<int>(s.size()));
    next_ = 0;
    return t_.dim() == 0 ? shown_[0] : block(0, 7);
  }

  // The elements that are shown, in order, as offsets from the first one.
  const std::vector<i64>& offsets() const { return offsets_; }
  void set_elements(std::vector<std::string> elements) { shown_ = std::move(elements); }

 private:
  bool cut(int axis) const { return summarise_ && t_.sizes()[axis] > 2 * g_options.edgeitems; }
  template <class F>
  void each(int axis, F f) const {
    i64 n = t_.sizes()[axis];
    for (i64 i = 0; i < n; ++i) {
      if (cut(axis) && i == g_options.edgeitems) {
        f(-1);
        i = n - g_options.edgeitems;
      }
      f(i);
    }
  }
  void collect(int axis, std::vector<i64>& index) {
    if (axis == t_.dim()) {
      i64 offset = 0;
      for (int d = 0; d < axis; ++d) offset += index[static_cast<std::size_t>(d)] * t_.strides()[d];
      offsets_.push_back(offset);
      return;
    }
    each(axis, [&](i64 i) {
      if (i < 0) return;
      index[static_cast<std::size_t>(axis)] = i;
      collect(axis + 1, index);
    });
  }
  std::string block(int axis, int indent) {
    std::string out = "[";
    bool first = true;
    if (axis == t_.dim() - 1) {
      int column = indent + axis + 1;
      each(axis, [&](i64 i) {
        if (!first) out += ", ";
        if (!first && column + width_ + 2 > g_options.linewidth) {
          out.back() = '\n';
          out += std::string(static_cast<std::size_t>(indent + axis + 1), ' ');
          column = indent + axis + 1;
        }
        first = false;
        out += i < 0 ? "..." : fmt::format("{:>{}}", shown_[next_++], width_);
        column += width_ + 2;
      });
    } else {
      std::string separator = "," +
                              std::string(static_cast<std::size_t>(t_.dim() - 1 - axis), '\n') +
                              std::string(static_cast<std::size_t>(indent + axis + 1), ' ');
      each(axis, [&](i64 i) {
        if (!first) out += separator;
        first = false;
        out += i < 0 ? "..." : block(axis + 1, indent);
      });
    }
    return out + "]";
  }

  const Tensor& t_;
  bool summarise_;
  std::vector<i64> offsets_;
  std::vector<std::string> shown_;
  std::size_t next_ = 0;
  int width_ = 0;
};

}  // namespace

void set_printoptions(PrintOptions options) { g_options = options; }

std::string to_string(const Tensor& t) {
  if (!t.defined()) return "tensor(undefined)";
  Printer printer(t, t.numel() > g_options.threshold);
  if (t.numel() > 0) {
    // Only what is shown is read: a large tensor prints at once.
    NoGradGuard no_grad;
    Tensor host = t.cpu();
    observe(host, Access::read, "print", Loc::here());
    printer.set_elements(format_elements(host, printer.offsets()));
  }
  std::string extra;
  if (t.dtype() != DType::f32 && t.dtype() != DType::i64 && t.dtype() != DType::boolean) {
    extra += fmt::format(", dtype={}", name(t.dtype()));
  }
  if (t.numel() == 0) extra += fmt::format(", size={}", to_string(t.sizes()));
  if (!t.device().is_cpu()) extra += fmt::format(", device={}", t.device().str());
  if (t.requires_grad()) extra += ", requires_grad=true";
  return fmt::format("tensor({}{})", t.numel() == 0 ? "[]" : printer.text(), extra);
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << to_string(t); }

std::ostream& operator<<(std::ostream& out, const ValuesIndices& v) {
  return out << "values " << v.values << "\nindices " << v.indices;
}

std::ostream& operator<<(std::ostream& out, const Slice& s) {
  if (s.start) out << *s.start;
  out << ':';
  if (s.stop) out << *s.stop;
  return s.step == 1 ? out : out << ':' << s.step;
}

const char* debug(const Tensor& t) noexcept {
  static thread_local std::string text;
  try {
    if (!t.defined()) return "undefined";
    ByteState state = t.get().storage->state.load();
    if (state == ByteState::real) {
      text = to_string(t);
    } else {
      text = fmt::format("{} ({})", describe(t.meta()),
                         state == ByteState::pending ? "pending in a replay" : "poisoned");
    }
  } catch (...) {
    return "unreadable";
  }
  return text.c_str();
}

}  // namespace ingot
