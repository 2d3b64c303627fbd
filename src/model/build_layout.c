// SPDX-License-Identifier: MIT
//
// Where everything lives in the environment: parameters, variables with their derivatives, truths
// of atoms, mode tests, entry times, start of the run. Only what somebody reads gets a place.
#include "model/build_internal.h"

#define SMALL_MODEL 4096  // variables

static void raise(uint8_t* orders, uint32_t var, uint8_t order) {
  if (order > orders[var]) orders[var] = order;
}

/// Highest order of each variable that occurs anywhere.
static const uint8_t* find_orders(Arena* arena, const IrModel* ir) {
  uint8_t* orders = ARENA_ARRAY(arena, uint8_t, ir->vars.count);
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    orders[v] = ir_var(ir, v).max_order;
  }
  for (uint32_t i = 0; i < ir->leaves.count; i++) {
    IrLeaf leaf = ir->leaves.data[i];
    if (leaf.kind == IR_LEAF_VAR) raise(orders, leaf.id, leaf.order);
  }
  for (uint32_t i = 0; i < ir->starts.count; i++) {
    IrStart start = ir_start(ir, i);
    raise(orders, start.var, start.order);
  }
  for (uint32_t i = 0; i < ir->actions.count; i++) {
    IrAction action = ir_action(ir, i);
    raise(orders, action.var, action.order);
  }
  return orders;
}

static uint32_t* filled(Arena* arena, uint32_t count) {
  uint32_t* array = ARENA_ARRAY(arena, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    array[i] = MODEL_NONE;
  }
  return array;
}

static void take(uint32_t* place, uint32_t* next) {
  if (*place == MODEL_NONE) *place = (*next)++;
}

/// Places for mode tests and entry times, in the order of automata and states.
static void place_asked(BuildLayout* layout, Arena* arena, const IrModel* ir, uint32_t* next) {
  uint32_t* tests = filled(arena, ir->states.count);
  uint32_t* entries = filled(arena, ir->automata.count);
  layout->start_time_env = MODEL_NONE;
  for (uint32_t i = 0; i < ir->leaves.count; i++) {
    IrLeaf leaf = ir->leaves.data[i];
    if (leaf.kind == IR_LEAF_MODE) {
      IrModeTest test = ir->mode_tests.data[leaf.id];
      tests[ir_automaton(ir, test.automaton).state_begin + test.state] = 0;
    } else if (leaf.kind == IR_LEAF_ENTRY && leaf.id != IR_NONE) {
      entries[leaf.id] = 0;
    } else if (leaf.kind == IR_LEAF_ENTRY) {
      take(&layout->start_time_env, next);
    }
  }
  for (uint32_t i = 0; i < ir->states.count; i++) {
    if (tests[i] != MODEL_NONE) tests[i] = (*next)++;
  }
  for (uint32_t i = 0; i < ir->automata.count; i++) {
    if (entries[i] != MODEL_NONE) entries[i] = (*next)++;
  }
  layout->test_env = tests;
  layout->entry_env = entries;
}

/// Differentiated equations have derivatives as states that stand in no equation. How many cannot
/// be known before the modes are analysed; small models get room for all that is likely, and large
/// ones where contacts will close.
static uint32_t hidden_orders(const IrModel* ir) {
  if (ir->vars.count <= SMALL_MODEL) return 3;
  for (uint32_t i = 0; i < ir->equations.count; i++) {
    if (ir_equation(ir, i).element) return 3;
  }
  return 0;
}

void build_layout(BuildLayout* layout, Arena* arena, const IrModel* ir) {
  *layout = (BuildLayout){.var_order = find_orders(arena, ir)};
  uint32_t hidden = hidden_orders(ir);
  uint8_t* slots = ARENA_ARRAY(arena, uint8_t, ir->vars.count);
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    uint32_t more = ir_var(ir, v).kind == IR_VAR_UNKNOWN ? hidden : 0;
    uint32_t count = layout->var_order[v] + 1u + more;
    slots[v] = (uint8_t)(count > 255 ? 255 : count);
  }
  layout->var_slots = slots;
  // An item is at most max(order) + 1 levels above its assignment: one level for each order that
  // is read beyond it, and one for the derivative of an atom. What it reads is at that level, too.
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    uint32_t levels = layout->var_order[v] + 1u;
    if (levels > layout->extra_orders) layout->extra_orders = levels;
  }
  layout->extra_orders += hidden + 1;
  uint64_t room =
      (uint64_t)ir->params.count + ir->atoms.count + ir->states.count + ir->automata.count + 1;
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    room += layout->var_slots[v] + (uint64_t)layout->extra_orders + 1;
  }
  if (room > UINT32_MAX / 4) longjmp(*arena->on_oom, 1);  // twice this many are addressed

  uint32_t next = ir->params.count;
  uint32_t quantity = 0;
  uint32_t* var_env = ARENA_ARRAY(arena, uint32_t, ir->vars.count);
  uint32_t* var_quantity = ARENA_ARRAY(arena, uint32_t, ir->vars.count);
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    var_env[v] = next;
    var_quantity[v] = quantity;
    next += layout->var_slots[v];
    quantity += layout->var_order[v] + layout->extra_orders + 1;
  }
  layout->var_env = var_env;
  layout->var_quantity = var_quantity;
  layout->quantity_count = quantity;
  layout->atom_begin = next;
  next += ir->atoms.count;
  place_asked(layout, arena, ir, &next);
  layout->env_count = next;
}
