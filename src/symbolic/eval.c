// SPDX-License-Identifier: MIT
//
// Literal evaluation of shapes.
#include "symbolic/internal.h"

#include <math.h>

typedef struct Evaluated {
  double value;
  bool known;  // when the model is compiled: numbers and what is computed from them alone
} Evaluated;

static Evaluated leaf_value(const SymStep* step, const IrLeaf* row, const double* slots,
                            double time) {
  switch ((int)step->op) {
  case IR_CONST: return (Evaluated){step->value, true};
  case IR_SLOT:
    return (Evaluated){slots[step->arg[0]], row && row[step->arg[0]].kind == IR_LEAF_NUMBER};
  case IR_TIME: return (Evaluated){time, false};
  case IR_TRUE:
  case IR_FALSE: return (Evaluated){ir_apply((IrOp)step->op, 0.0, 0.0, 0.0), true};
  default: return (Evaluated){(double)NAN, false};
  }
}

static Evaluated apply_known(IrOp op, Evaluated a, Evaluated b, Evaluated c) {
  if (op == IR_SELECT && a.known) return a.value != 0.0 ? b : c;
  // only a power whose exponent is known then becomes a product
  bool literal = op == IR_POW && !b.known;
  double value = literal ? base_pow(a.value, b.value) : ir_apply(op, a.value, b.value, c.value);
  return (Evaluated){value, a.known && b.known && c.known};
}

double sym_eval(Sym* sym, Arena* scratch, ExprId shape, const IrLeaf* row, const double* slots,
                double time) {
  const SymShape* laid = sym_shape(sym, shape);
  Evaluated* values = ARENA_ARRAY(scratch, Evaluated, laid->count);
  const Evaluated none = {0.0, true};
  for (uint32_t i = 0; i < laid->count; i++) {
    const SymStep* step = &laid->steps[i];
    uint32_t arity = ir_op_arity((IrOp)step->op);
    if (arity == 0 || step->op == IR_TABLE || step->op == IR_SLOT) {
      values[i] = leaf_value(step, row, slots, time);
      continue;
    }
    Evaluated b = arity > 1 ? values[step->arg[1]] : none;
    Evaluated c = arity > 2 ? values[step->arg[2]] : none;
    values[i] = apply_known((IrOp)step->op, values[step->arg[0]], b, c);
  }
  return values[laid->count - 1].value;
}
