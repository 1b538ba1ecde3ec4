#include <vector>

#include <ingot/compiler/dot.h>
#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/text.h>

namespace ingot::compiler {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

class DotWriter {
 public:
  DotWriter(const Plan& plan, int number) : s_(plan.segment()), number_(number) {
    made_by_.assign(s_.values.size(), -1);
    kernel_.assign(s_.ops.size(), -1);
    for (std::size_t k = 0; k < plan.steps().size(); ++k) {
      for (int i : plan.steps()[k]->ops()) kernel_[at(i)] = static_cast<int>(k);
    }
    kernels_ = static_cast<int>(plan.steps().size());
  }

  std::string write() {
    out_ = fmt::format("  subgraph cluster_{} {{\n    label=\"segment {}\";\n", number_, number_);
    for (int k = 0; k < kernels_; ++k) {
      out_ +=
          fmt::format("    subgraph cluster_{}_{} {{\n      label=\"kernel {}\";\n", number_, k, k);
      for (std::size_t i = 0; i < s_.ops.size(); ++i) {
        if (kernel_[i] == k) out_ += "  " + box(i);
      }
      out_ += "    }\n";
    }
    for (std::size_t i = 0; i < s_.ops.size(); ++i) {
      if (kernel_[i] < 0) out_ += box(i);
    }
    for (std::size_t i = 0; i < s_.ops.size(); ++i) arrows(i);
    return out_ + "  }\n";
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  // Dashed: no kernel runs it (a view, or nobody reads the result).
  std::string box(std::size_t i) const {
    const SegmentOp& op = s_.ops[i];
    return fmt::format("    o{}_{} [shape=box{}, label={}];\n", number_, i,
                       kernel_[i] < 0 ? ", style=dashed" : "",
                       quoted(fmt::format("{}{} ({})", op.op->name,
                                          op.writes >= 0 ? " in place" : "", to_string(op.loc))));
  }

  void arrows(std::size_t i) {
    for (int v : s_.ops[i].in) {
      if (v < 0) continue;
      const std::string label = quoted(describe(s_.meta(v)));
      if (made_by_[at(v)] >= 0) {
        out_ += fmt::format("    o{}_{} -> o{}_{} [label={}];\n", number_, made_by_[at(v)], number_,
                            i, label);
        continue;
      }
      if (made_by_[at(v)] == -1) {
        out_ += fmt::format("    v{}_{} [shape=ellipse, label={}];\n", number_, v, label);
        made_by_[at(v)] = -2;
      }
      out_ += fmt::format("    v{}_{} -> o{}_{};\n", number_, v, number_, i);
    }
    for (int v : s_.ops[i].out) made_by_[at(v)] = static_cast<int>(i);
  }

  const Segment& s_;
  int number_, kernels_ = 0;
  std::vector<int> made_by_;  // by value: the op; -1: outside and not drawn yet, -2: drawn
  std::vector<int> kernel_;   // by op
  std::string out_;
};

}  // namespace

std::string to_dot(const Plan& plan, int number) { return DotWriter(plan, number).write(); }

std::string dot_graph(const std::string& name, const std::string& statements) {
  return fmt::format("digraph {} {{\n  rankdir=TB;\n{}}}\n", quoted(name), statements);
}

}  // namespace ingot::compiler
