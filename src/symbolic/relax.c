// SPDX-License-Identifier: MIT
//
// Equations that stand in for each other in the states of an automaton: v = 0 while a diode
// conducts, i = 0 while it does not. In a mode whose equations say some things twice and leave
// others open, these are what a small part of the other one is added to (model/solve_relax.c), and
// that says which equations and unknowns are coupled.
#include "symbolic/internal.h"

#include <limits.h>

/// Equations of the global body by what they are replaced by, and rows of the active equations.
typedef struct Places {
  const IrModel* ir;
  uint32_t* row;         // equation -> row + 1; 0: not active
  uint32_t* base_label;  // name -> first global equation with this label + 1
  uint32_t* next_label;  // ... the next one
  uint32_t* base_lhs;    // variable -> global equation with it alone on the left + 1
  bool all;
} Places;

static Places find_places(Arena* scratch, const IrModel* ir, const uint32_t* equations,
                          uint32_t count) {
  Places p = {.ir = ir,
              .row = ARENA_ARRAY(scratch, uint32_t, ir->equations.count),
              .base_label = ARENA_ARRAY(scratch, uint32_t, (size_t)ir->names.names.count + 1),
              .next_label = ARENA_ARRAY(scratch, uint32_t, ir->equations.count),
              .base_lhs = ARENA_ARRAY(scratch, uint32_t, ir->vars.count)};
  for (uint32_t i = 0; i < count; i++) {
    p.row[equations[i]] = i + 1;
  }
  for (uint32_t e = ir->bodies.data[0].equation_count; e-- > 0;) {
    IrEquation equation = ir_equation(ir, e);
    if (equation.label) {
      p.next_label[e] = p.base_label[equation.label];
      p.base_label[equation.label] = e + 1;
    }
    if (equation.lhs_var != IR_NONE) p.base_lhs[equation.lhs_var] = e + 1;
  }
  return p;
}

static bool same_place(const IrEquation* a, const IrEquation* b) {
  if (a->label || b->label) return a->label == b->label;
  return a->lhs_var != IR_NONE && a->lhs_var == b->lhs_var && a->lhs_order == b->lhs_order;
}

/// The equation of a state's body that stands in the n-th place like this one; IR_NONE for none.
static uint32_t in_body(const IrModel* ir, uint32_t body, const IrEquation* like, uint32_t n) {
  if (body == IR_NONE) return IR_NONE;
  const IrBody* edits = &ir->bodies.data[body];
  for (uint32_t k = 0; k < edits->equation_count; k++) {
    uint32_t e = edits->equation_begin + k;
    IrEquation equation = ir_equation(ir, e);
    if (same_place(&equation, like) && n-- == 0) return e;
  }
  return IR_NONE;
}

/// The same among the global equations.
static uint32_t in_base(const Places* p, const IrEquation* like, uint32_t n) {
  if (!like->label) {
    if (like->lhs_var == IR_NONE || n > 0 || !p->base_lhs[like->lhs_var]) return IR_NONE;
    uint32_t e = p->base_lhs[like->lhs_var] - 1;
    IrEquation equation = ir_equation(p->ir, e);
    return equation.lhs_order == like->lhs_order ? e : IR_NONE;
  }
  uint32_t at = p->base_label[like->label];
  while (at && n-- > 0) {
    at = p->next_label[at - 1];
  }
  return at ? at - 1 : IR_NONE;
}

/// How many equations of a body before this one stand in the same place.
static uint32_t ordinal(const IrModel* ir, const IrBody* body, uint32_t equation) {
  IrEquation like = ir_equation(ir, equation);
  uint32_t n = 0;
  for (uint32_t e = body->equation_begin; e < equation; e++) {
    IrEquation other = ir_equation(ir, e);
    n += same_place(&other, &like);
  }
  return n;
}

static uint32_t first_atom(const IrModel* ir, const IrTerm* term) {
  for (uint32_t i = 0; i < term->leaf_count; i++) {
    IrLeaf leaf = ir->leaves.data[term->leaf_begin + i];
    if (leaf.kind == IR_LEAF_ATOM) return leaf.id;
  }
  return IR_NONE;
}

/// The relation that leads from one state of an automaton to another.
static uint32_t atom_between(const IrModel* ir, const IrAutomaton* automaton, uint32_t from,
                             uint32_t to) {
  if (automaton->kind == IR_AUTOMATON_SWITCH) return first_atom(ir, &automaton->condition);
  for (uint32_t k = 0; k < automaton->transition_count; k++) {
    IrTransition transition = ir_transition(ir, automaton->transition_begin + k);
    if (transition.to != to) continue;
    for (uint32_t i = 0; i < transition.from_count; i++) {
      if (ir->from_states.data[transition.from_begin + i] != from) continue;
      return first_atom(ir, &transition.guard);
    }
  }
  return IR_NONE;
}

/// Of the equations of a state that nothing in the other one stands for, the n-th in the text.
static uint32_t nth_alone(const Places* p, uint32_t body, uint32_t there, uint32_t n) {
  const IrModel* ir = p->ir;
  if (body == IR_NONE) return IR_NONE;
  const IrBody* own = &ir->bodies.data[body];
  uint32_t last = 0;
  for (uint32_t turn = 0;; turn++) {
    uint32_t best = IR_NONE;
    uint32_t best_begin = UINT32_MAX;
    for (uint32_t k = 0; k < own->equation_count; k++) {
      IrEquation e = ir_equation(ir, own->equation_begin + k);
      bool later = turn == 0 || e.span.begin > last;
      if (!later || e.span.begin >= best_begin) continue;
      if (in_body(ir, there, &e, 0) != IR_NONE || in_base(p, &e, 0) != IR_NONE) continue;
      best = own->equation_begin + k;
      best_begin = e.span.begin;
    }
    if (best == IR_NONE || turn == n) return best;
    last = best_begin;
  }
}

/// Whether an equation reads a variable that the other one does not.
static bool reads_more(const IrModel* ir, const IrEquation* a, const IrEquation* b) {
  for (uint32_t i = 0; i < a->term.leaf_count; i++) {
    IrLeaf leaf = ir_leaf(ir, a->term, i);
    bool found = leaf.kind != IR_LEAF_VAR || ir_var(ir, leaf.id).kind == IR_VAR_DISCRETE;
    for (uint32_t k = 0; k < b->term.leaf_count && !found; k++) {
      IrLeaf other = ir_leaf(ir, b->term, k);
      found = other.kind == IR_LEAF_VAR && other.id == leaf.id;
    }
    if (!found) return true;
  }
  return false;
}

static void pair(const Places* p, SymPartner* partners, uint32_t active, uint32_t other,
                 const SymPartner* how, bool* any) {
  if (active == IR_NONE || other == IR_NONE || !p->row[active]) return;
  SymPartner* partner = &partners[p->row[active] - 1];
  if (partner->equation != IR_NONE) return;
  IrEquation a = ir_equation(p->ir, active);
  IrEquation b = ir_equation(p->ir, other);
  bool same_side = a.lhs_var != IR_NONE && a.lhs_var == b.lhs_var && a.lhs_order == b.lhs_order;
  // contacts and friction have rules of their own
  if (a.element || b.element) return;
  bool value =
      same_side && (a.lhs_order > 0 || !(reads_more(p->ir, &a, &b) || reads_more(p->ir, &b, &a)));
  if (value && !p->all) return;
  *partner = *how;
  partner->equation = other;
  partner->same_side = same_side;
  *any = true;
}

/// Pairs of what one state has with what another one would have.
static void pair_states(const Places* p, const IrAutomaton* automaton, uint32_t now, uint32_t other,
                        SymPartner* partners, bool* any) {
  const IrModel* ir = p->ir;
  uint32_t body = ir_state(ir, automaton->state_begin + now).body;
  uint32_t there = ir_state(ir, automaton->state_begin + other).body;
  SymPartner how = {.leave = atom_between(ir, automaton, now, other),
                    .back = atom_between(ir, automaton, other, now),
                    .leave_falls = automaton->kind == IR_AUTOMATON_SWITCH && now == 1,
                    .back_falls = automaton->kind == IR_AUTOMATON_SWITCH && now == 0};
  if (!p->all && (how.leave == IR_NONE || how.back == IR_NONE)) return;
  for (uint32_t k = 0; body != IR_NONE && k < ir->bodies.data[body].equation_count; k++) {
    uint32_t e = ir->bodies.data[body].equation_begin + k;
    IrEquation equation = ir_equation(ir, e);
    uint32_t n = ordinal(ir, &ir->bodies.data[body], e);
    uint32_t found = in_body(ir, there, &equation, n);
    pair(p, partners, e, found != IR_NONE ? found : in_base(p, &equation, n), &how, any);
  }
  for (uint32_t k = 0; there != IR_NONE && k < ir->bodies.data[there].equation_count; k++) {
    uint32_t e = ir->bodies.data[there].equation_begin + k;
    IrEquation equation = ir_equation(ir, e);
    if (in_body(ir, body, &equation, 0) != IR_NONE) continue;
    pair(p, partners, in_base(p, &equation, ordinal(ir, &ir->bodies.data[there], e)), e, &how, any);
  }
  for (uint32_t n = 0;; n++) {
    uint32_t own = nth_alone(p, body, there, n);
    uint32_t beside = nth_alone(p, there, body, n);
    if (own == IR_NONE || beside == IR_NONE) break;
    pair(p, partners, own, beside, &how, any);
  }
}

SymPartner* sym_partners(Sym* sym, Arena* out, Arena* scratch, const uint32_t* equations,
                         uint32_t count, const uint32_t* mode, bool all) {
  const IrModel* ir = sym->ir;
  if (ir->automata.count == 0 || !mode) return NULL;
  Places places = find_places(scratch, ir, equations, count);
  places.all = all;
  SymPartner* partners = ARENA_ARRAY(out, SymPartner, count);
  for (uint32_t i = 0; i < count; i++) {
    partners[i].equation = IR_NONE;
  }
  bool any = false;
  for (uint32_t a = 0; a < ir->automata.count; a++) {
    if (!sym_edits_equations(ir, a) || !ir_automaton_is_active(ir, a, mode)) continue;
    IrAutomaton automaton = ir_automaton(ir, a);
    for (uint32_t s = 0; s < automaton.state_count; s++) {
      if (s != mode[a]) pair_states(&places, &automaton, mode[a], s, partners, &any);
    }
  }
  return any ? partners : NULL;
}

SymIncidence sym_join_partners(Sym* sym, Arena* scratch, const SymIncidence* tight,
                               const SymPartner* partners, const SymVar* vars,
                               const uint32_t* column_of_var) {
  size_t entries = (size_t)tight->begin[tight->row_count];
  for (int row = 0; row < tight->row_count; row++) {
    if (partners[row].equation == IR_NONE) continue;
    entries += ir_equation(sym->ir, partners[row].equation).term.leaf_count;
  }
  if (entries >= INT_MAX) longjmp(*scratch->on_oom, 1);
  SymIncidence joined = {.row_count = tight->row_count,
                         .column_count = tight->column_count,
                         .begin = ARENA_ARRAY(scratch, int, (size_t)tight->row_count + 1),
                         .columns = ARENA_ARRAY(scratch, int, entries)};
  int* seen = ARENA_ARRAY(scratch, int, (size_t)tight->column_count);
  int at = 0;
  for (int row = 0; row < tight->row_count; row++) {
    for (int k = tight->begin[row]; k < tight->begin[row + 1]; k++) {
      joined.columns[at++] = tight->columns[k];
      seen[tight->columns[k]] = row + 1;
    }
    bool paired = partners[row].equation != IR_NONE;
    IrTerm term = paired ? ir_equation(sym->ir, partners[row].equation).term : (IrTerm){0};
    for (uint32_t k = 0; paired && k < term.leaf_count; k++) {
      IrLeaf leaf = sym->ir->leaves.data[term.leaf_begin + k];
      if (leaf.kind != IR_LEAF_VAR || vars[leaf.id].role == SYM_DISCRETE ||
          vars[leaf.id].role == SYM_UNDETERMINED) {
        continue;
      }
      int column = (int)column_of_var[leaf.id];
      if (seen[column] == row + 1) continue;
      seen[column] = row + 1;
      joined.columns[at++] = column;
    }
    joined.begin[row + 1] = at;
  }
  return joined;
}

bool sym_partners_meet(Arena* scratch, const SymIncidence* joined, const int* row_of_column,
                       const uint8_t* redundant, SymPartner* partners) {
  SymBlocks blocks = sym_blocks(scratch, joined, row_of_column);
  bool any = false;
  for (uint32_t b = 0; b < blocks.count; b++) {
    uint32_t found = 0;
    bool lacks = false;
    for (int at = blocks.begin[b]; at < blocks.begin[b + 1]; at++) {
      found += partners[blocks.rows[at]].equation != IR_NONE;
      lacks |= redundant && redundant[blocks.rows[at]];
    }
    bool meet = found > 1 || (found > 0 && lacks);
    any |= meet;
    for (int at = blocks.begin[b]; !meet && at < blocks.begin[b + 1]; at++) {
      partners[blocks.rows[at]].equation = IR_NONE;
    }
  }
  return any;
}
