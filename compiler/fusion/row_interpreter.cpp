#include <ingot/compiler/fusion/row_interpreter.h>
#include <ingot/kernels/cpu/loops.h>
#include <ingot/kernels/cpu/rowops_rows.h>
#include <ingot/kernels/ops/rows.h>

namespace ingot::compiler {

namespace {

class Interpreter {
 public:
  Interpreter(const RowProgram& p, const RowAddresses& row) : p_(p), row_(row) {}

  void elementwise(const RowInstruction& code, LoopFn loop) const {
    const i64 n = code.kind == RowInstruction::once ? 1 : row_.n;
    if (loop == nullptr) return cast(n, code.out[0], code.in[0]);
    const void* in[kMaxRowInputs];
    i64 strides[1 + kMaxRowInputs] = {inner(code.out[0])};
    for (std::size_t k = 0; k < code.in.size(); ++k) {
      in[k] = at(code.in[k]);
      strides[1 + k] = inner(code.in[k]);
    }
    loop(n, at(code.out[0]), in, strides);
  }

  void whole(const RowInstruction& code) const {
    const void* in[kMaxRowInputs] = {};
    void* out[kMaxOutputs] = {};
    for (std::size_t k = 0; k < code.in.size(); ++k) in[k] = at(code.in[k]);
    for (std::size_t k = 0; k < code.out.size(); ++k) out[k] = at(code.out[k]);
    code.row->run({row_loops(code.compute), row_.n, code.compute, in, out,
                   code.scalar < 0 ? nullptr : &row_.scalars[code.scalar]});
  }

 private:
  void* at(const Operand& o) const {
    switch (o.kind) {
      case Operand::memory:
        return row_.data[o.index];
      case Operand::temporary:
        return slot(p_.temporaries[static_cast<std::size_t>(o.index)].slot);
      case Operand::scalar:
        return const_cast<Cell*>(&row_.scalars[o.index]);
      case Operand::none:
        break;
    }
    return nullptr;
  }
  char* slot(int k) const { return row_.scratch + k * row_slot_bytes(row_.n); }
  i64 inner(const Operand& o) const {
    return o.kind == Operand::memory ? row_.strides[o.index] : inner_stride(p_, o);
  }

  // Casts run without gaps: operands with strides are packed first.
  void cast(i64 n, const Operand& out, const Operand& in) const {
    const CopyLoops& copy = *loops().copy;
    const auto move = [&](const Operand& o) { return copy.move[item_log2(item_size(o.dtype))]; };
    const void* from = at(in);
    if (n > 1 && inner(in) != 1) {
      move(in)(n, slot(p_.slots), 1, from, inner(in));
      from = slot(p_.slots);
    }
    if (out.dtype == in.dtype) return move(out)(n, at(out), 1, from, 1);
    copy.cast[static_cast<int>(in.dtype)][static_cast<int>(out.dtype)](n, at(out), from);
  }

  const RowProgram& p_;
  const RowAddresses& row_;
};

}  // namespace

void interpret_row(const RowProgram& program, const std::vector<LoopFn>& loops,
                   const RowAddresses& row) {
  const Interpreter interpreter(program, row);
  for (std::size_t k = 0; k < program.code.size(); ++k) {
    const RowInstruction& code = program.code[k];
    if (code.kind == RowInstruction::whole) {
      interpreter.whole(code);
    } else {
      interpreter.elementwise(code, loops[k]);
    }
  }
}

}  // namespace ingot::compiler
