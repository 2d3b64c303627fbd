// SPDX-License-Identifier: MIT
//
// Names that look misspelt. A new name on a left side makes a new variable, so a slip there is no
// error: the model runs, and something else keeps a value it should not have. Told is only what is
// hardly ever meant: nothing reads the variable, and it is left over in one of three ways.
#include "lisma/lower.h"

#define STRAY_TOLD_MAX 10u

/// What the model says about a variable.
enum {
  USE_READ = 1,    // anywhere but as the left side of its own equation
  USE_GLOBAL = 2,  // an equation outside of states determines it, or several of states do
  USE_STATE = 4,   // an equation of a state does
  USE_SET = 8,
  USE_START = 16
};

static void mark_equations(const IrModel* m, uint8_t* uses, bool* is_side) {
  for (uint32_t i = 0; i < m->equations.count; i++) {
    const IrEquation* equation = &m->equations.data[i];
    if (equation->lhs_var == IR_NONE) continue;
    uint8_t* use = &uses[equation->lhs_var];
    // what two states or branches compute is hardly misspelt
    *use |= equation->body == 0 || *use & USE_STATE ? USE_GLOBAL : USE_STATE;
    for (uint32_t k = 0; k < equation->term.leaf_count; k++) {
      IrLeaf leaf = ir_leaf(m, equation->term, k);
      bool side = leaf.kind == IR_LEAF_VAR && leaf.id == equation->lhs_var &&
                  leaf.order == equation->lhs_order;
      if (side) is_side[equation->term.leaf_begin + k] = true;
    }
  }
}

static void mark_outputs(Lower* l, uint8_t* uses) {
  const IrModel* m = l->m;
  for (uint32_t i = 0; i < m->vars.count; i++) {
    Str name = lower_name(l, m->vars.data[i].name);
    for (uint32_t k = 0; k < m->experiment.out.count; k++) {
      if (str_equal(name, m->experiment.out.data[k])) uses[i] |= USE_READ;
    }
  }
}

static uint8_t* find_uses(Lower* l) {
  const IrModel* m = l->m;
  uint8_t* uses = ARENA_ARRAY(l->scratch, uint8_t, m->vars.count);
  bool* is_side = ARENA_ARRAY(l->scratch, bool, m->leaves.count);
  mark_equations(m, uses, is_side);
  for (uint32_t i = 0; i < m->leaves.count; i++) {
    IrLeaf leaf = m->leaves.data[i];
    if (leaf.kind == IR_LEAF_VAR && !is_side[i]) uses[leaf.id] |= USE_READ;
  }
  for (uint32_t i = 0; i < m->actions.count; i++) {
    uses[m->actions.data[i].var] |= USE_SET;
  }
  for (uint32_t i = 0; i < m->starts.count; i++) {
    uses[m->starts.data[i].var] |= USE_START;
  }
  for (uint32_t i = 0; i < m->data.count; i++) {
    if (!m->data.data[i].history) continue;
    uses[m->data.data[i].var] |= USE_READ;
    if (m->data.data[i].lag != IR_NONE) uses[m->data.data[i].lag] |= USE_READ;
  }
  mark_outputs(l, uses);
  return uses;
}

/// Whether some variable is read and begins somewhere, but has no equation.
static bool any_waits(const IrModel* m, const uint8_t* uses) {
  for (uint32_t i = 0; i < m->vars.count; i++) {
    if (uses[i] == (USE_READ | USE_START)) return true;
  }
  return false;
}

/// Why a variable that nothing reads should not be there; NULL when it may.
static const char* what_is_odd(Lower* l, const uint8_t* uses, uint32_t var, Str near) {
  uint8_t own = uses[var];
  if (own == USE_START) return "has an initial value, but nothing computes, sets or reads it";
  if (own == USE_SET) return "is set here, but nothing reads it, and it has no initial value";
  if (near.length == 0) return NULL;
  if (own == USE_STATE) return "is computed in this state only, and nothing reads it";
  // an equation for a name nobody knows, beside a name without an equation
  const Symbol* other = resolve_symbol(l, names_find(&l->m->names, near));
  bool waits = other->kind == SYM_VAR && uses[other->index] == (USE_READ | USE_START);
  return own == USE_GLOBAL && waits ? "is computed, but nothing reads it" : NULL;
}

void lower_warn_of_strays(Lower* l) {
  const IrModel* m = l->m;
  if (m->vars.count > LOWER_STRAY_VARS_MAX) return;
  if (l->scale && l->scale->size > LOWER_STRAY_VARS_MAX) return;  // of a larger model
  const uint8_t* uses = find_uses(l);
  bool waits = any_waits(m, uses);
  uint32_t told = 0;
  for (uint32_t i = 0; i < m->vars.count && told < STRAY_TOLD_MAX; i++) {
    if (uses[i] & USE_READ || m->vars.data[i].hidden) continue;
    if (l->names.vars.data[i].flags & VAR_HELPER) continue;
    // looking for a name like this one takes time, and there may be thousands
    if (uses[i] != USE_START && uses[i] != USE_SET && uses[i] != USE_STATE && !waits) continue;
    Str name = lower_name(l, m->vars.data[i].name);
    Str near = resolve_near_value(l, name);
    const char* odd = what_is_odd(l, uses, i, near);
    if (!odd) continue;
    told++;
    Diag* diag =
        lower_report(l, DIAG_W0222, m->vars.data[i].span, "'%.*s' %s", STR_ARGS(name), odd);
    if (near.length) diag_hint(l->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  }
}
