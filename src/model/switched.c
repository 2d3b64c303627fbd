// SPDX-License-Identifier: MIT
//
// How values depend on switches whose positions are known.
#include "model/model.h"

static bool is_fixed(ModelSwitched kind) {
  return kind == MODEL_SWITCHED_FIXED || kind == MODEL_SWITCHED_KNOWN;
}

static bool adds_up(ModelSwitched kind) {
  return kind != MODEL_SWITCHED_OTHER;
}

ModelSwitched model_switched_by(const ModelInstr* pc, uint32_t operands, ModelSwitched a,
                                ModelSwitched b, ModelSwitched c, bool depends) {
  switch (pc->op) {
  // what they give is not told by their operands
  case MODEL_OP_TABLE:
  case MODEL_OP_TABLE_SLOPE:
  case MODEL_OP_TABLE_CURVE:
  case MODEL_OP_RANDOM:
  case MODEL_OP_UNIFORM:
  case MODEL_OP_NORMAL:
  case MODEL_OP_NOISE:
  case MODEL_OP_PACK:
  case MODEL_OP_EXPONENTIAL: return depends ? MODEL_SWITCHED_OTHER : MODEL_SWITCHED_FREE;
  default: break;
  }
  bool fixed = is_fixed(c) && (operands < 1 || is_fixed(a)) && (operands < 2 || is_fixed(b));
  if (fixed) return depends ? MODEL_SWITCHED_KNOWN : MODEL_SWITCHED_FIXED;
  if (!depends) return MODEL_SWITCHED_FREE;
  switch (pc->op) {
  case MODEL_OP_MOVE:
  case MODEL_OP_NEG: return a;
  case MODEL_OP_ADD:
  case MODEL_OP_SUB: return adds_up(a) && adds_up(b) ? MODEL_SWITCHED_SHIFT : MODEL_SWITCHED_OTHER;
  case MODEL_OP_MUL:
    return (a == MODEL_SWITCHED_FIXED && b == MODEL_SWITCHED_SHIFT) ||
                   (b == MODEL_SWITCHED_FIXED && a == MODEL_SWITCHED_SHIFT)
               ? MODEL_SWITCHED_SHIFT
               : MODEL_SWITCHED_OTHER;
  case MODEL_OP_DIV:
    return a == MODEL_SWITCHED_SHIFT && b == MODEL_SWITCHED_FIXED ? MODEL_SWITCHED_SHIFT
                                                                  : MODEL_SWITCHED_OTHER;
  default: return MODEL_SWITCHED_OTHER;
  }
}
