// SPDX-License-Identifier: MIT
//
// Checks of everything but automata (verify_automata.c) and expressions (verify_term.c).
#include "ir/verify.h"

#include <math.h>

#define LEAF_BIT(kind) (1u << (kind))
#define LEAVES_FIXED   (LEAF_BIT(IR_LEAF_NUMBER) | LEAF_BIT(IR_LEAF_PARAM))
#define LEAVES_ALL     (LEAF_BIT(IR_LEAF_ENTRY + 1) - 1)

static const VerifyRule param_rule = {
    .what = "parameter", .type = VERIFY_NUMBER, .leaves = LEAVES_FIXED};
static const VerifyRule history_rule = {
    .what = "data", .type = VERIFY_NUMBER, .leaves = LEAVES_FIXED};
static const VerifyRule start_rule = {
    .what = "start", .type = VERIFY_NUMBER, .leaves = LEAVES_ALL, .time = true, .random = true};
static const VerifyRule equation_rule = {
    .what = "equation", .type = VERIFY_EQUATION, .leaves = LEAVES_ALL, .time = true};
static const VerifyRule atom_rule = {
    .what = "atom", .type = VERIFY_NUMBER, .leaves = LEAVES_ALL, .when = true, .time = true};
static const VerifyRule atom_option_rule = {
    .what = "option of atom", .type = VERIFY_NUMBER, .leaves = LEAVES_FIXED, .optional = true};
static const VerifyRule action_rule = {.what = "action",
                                       .type = VERIFY_NUMBER,
                                       .leaves = LEAVES_ALL,
                                       .when = true,
                                       .time = true,
                                       .random = true};
static const VerifyRule schedule_rule = {
    .what = "schedule", .type = VERIFY_NUMBER, .leaves = LEAVES_FIXED | LEAF_BIT(IR_LEAF_ENTRY)};
static const VerifyRule period_rule = {.what = "period of schedule",
                                       .type = VERIFY_NUMBER,
                                       .leaves = LEAVES_FIXED | LEAF_BIT(IR_LEAF_ENTRY),
                                       .optional = true};
static const VerifyRule macro_rule = {
    .what = "macro", .type = VERIFY_NUMBER, .leaves = LEAVES_ALL, .when = true, .time = true};
static const VerifyRule energy_rule = {
    .what = "energy", .type = VERIFY_NUMBER, .leaves = LEAVES_ALL, .optional = true, .time = true};

bool verify_fail(Verify* v, const char* format, ...) {
  va_list args;
  va_start(args, format);
  v->why = str_format_va(v->arena, format, args);
  va_end(args);
  return false;
}

bool verify_span(Verify* v, const char* what, uint32_t index, Span span) {
  const Source* source = v->model->source;
  bool valid = span.begin <= span.end && (!source || span.end <= source->text.length);
  return valid ? true : verify_fail(v, "%s %u: its place is outside the text", what, index);
}

bool verify_range(Verify* v, const char* what, uint32_t index, uint32_t begin, uint32_t count,
                  uint32_t* next, uint32_t total) {
  if (begin != *next) return verify_fail(v, "%s %u: range does not follow the last", what, index);
  if (count > total - *next) return verify_fail(v, "%s %u: range is too long", what, index);
  *next += count;
  return true;
}

// ---------------------------------------------------------------------------------------------
// arrays and names

static bool verify_array(Verify* v, const char* what, const void* data, uint32_t count,
                         uint32_t capacity) {
  bool valid = count <= capacity && (data || count == 0);
  return valid ? true : verify_fail(v, "array of %s is broken", what);
}

#define VERIFY_ARRAY(v, vec, what) \
  verify_array((v), (what), (vec).data, (vec).count, (vec).capacity)

static bool verify_arrays(Verify* v) {
  const IrModel* m = v->model;
  return VERIFY_ARRAY(v, m->names.names, "names") && VERIFY_ARRAY(v, m->pool.nodes, "nodes") &&
         VERIFY_ARRAY(v, m->pool.hashes, "hashes") && VERIFY_ARRAY(v, m->leaves, "leaves") &&
         VERIFY_ARRAY(v, m->numbers, "numbers") && VERIFY_ARRAY(v, m->params, "parameters") &&
         VERIFY_ARRAY(v, m->vars, "variables") && VERIFY_ARRAY(v, m->starts, "starts") &&
         VERIFY_ARRAY(v, m->equations, "equations") && VERIFY_ARRAY(v, m->deletes, "deletes") &&
         VERIFY_ARRAY(v, m->bodies, "bodies") && VERIFY_ARRAY(v, m->atoms, "atoms") &&
         VERIFY_ARRAY(v, m->mode_tests, "mode tests") && VERIFY_ARRAY(v, m->automata, "automata") &&
         VERIFY_ARRAY(v, m->states, "states") && VERIFY_ARRAY(v, m->transitions, "transitions") &&
         VERIFY_ARRAY(v, m->from_states, "from states") && VERIFY_ARRAY(v, m->actions, "actions") &&
         VERIFY_ARRAY(v, m->gotos, "gotos") && VERIFY_ARRAY(v, m->schedules, "schedules") &&
         VERIFY_ARRAY(v, m->data, "data") && VERIFY_ARRAY(v, m->macros, "macros");
}

/// A name that comes behind `*last` in natural order, or any name when `last` is NULL.
static bool verify_name(Verify* v, const char* what, uint32_t index, uint32_t name,
                        const uint32_t* last) {
  const NameTable* names = &v->model->names;
  if (name == 0 || name >= names->names.count) {
    return verify_fail(v, "%s %u: no such name", what, index);
  }
  if (last && str_compare_natural(names_get(names, *last), names_get(names, name)) >= 0) {
    return verify_fail(v, "%s %u: not in the natural order of names", what, index);
  }
  return true;
}

/// A name that may be absent.
static bool verify_optional_name(Verify* v, const char* what, uint32_t index, uint32_t name) {
  return name == 0 || verify_name(v, what, index, name, NULL);
}

// ---------------------------------------------------------------------------------------------
// parameters

/// Parameters that a parameter reads must not lead back to it.
static bool verify_param_cycles(Verify* v) {
  const IrModel* model = v->model;
  uint32_t count = model->params.count;
  uint32_t* next = ARENA_ARRAY(v->arena, uint32_t, count);  // leaf to look at, + 1; 0 not begun
  bool* done = ARENA_ARRAY(v->arena, bool, count);
  for (uint32_t i = 0; i < count; i++) {
    if (next[i] == 0) base_vec_push(v->arena, &v->stack, i);
    while (v->stack.count) {
      uint32_t at = v->stack.data[v->stack.count - 1];
      IrTerm term = model->params.data[at].value;
      uint32_t k = next[at]++;
      if (k >= term.leaf_count + 1) {
        done[at] = true;
        v->stack.count--;
        continue;
      }
      if (k == 0) continue;
      IrLeaf leaf = ir_leaf(model, term, k - 1);
      if (leaf.kind != IR_LEAF_PARAM || done[leaf.id]) continue;
      if (next[leaf.id] != 0) return verify_fail(v, "parameter %u: it depends on itself", at);
      base_vec_push(v->arena, &v->stack, leaf.id);
    }
  }
  return true;
}

static bool verify_params(Verify* v) {
  const IrModel* model = v->model;
  for (uint32_t i = 0; i < model->params.count; i++) {
    const IrParam* p = &model->params.data[i];
    const uint32_t* last = i ? &model->params.data[i - 1].name : NULL;
    bool valid = verify_name(v, "parameter", i, p->name, last) &&
                 verify_term(v, &param_rule, i, p->value) &&
                 verify_span(v, "parameter", i, p->span);
    if (!valid) return false;
  }
  return verify_param_cycles(v);
}

static bool verify_history(Verify* v, uint32_t i, const IrData* d) {
  if (d->var >= v->model->vars.count) return verify_fail(v, "data %u: no such variable", i);
  bool lag = d->lag == IR_NONE || d->lag < v->model->vars.count;
  if (!lag) return verify_fail(v, "data %u: no such lag", i);
  if (!verify_term(v, &history_rule, i, d->delay)) return false;
  return !ir_term_present(d->before) || verify_term(v, &history_rule, i, d->before);
}

static bool verify_data(Verify* v) {
  const IrModel* model = v->model;
  for (uint32_t i = 0; i < model->data.count; i++) {
    const IrData* d = &model->data.data[i];
    const uint32_t* last = i ? &model->data.data[i - 1].name : NULL;
    if (!verify_name(v, "data", i, d->name, last) || !verify_span(v, "data", i, d->span)) {
      return false;
    }
    if (d->count == 0 || !d->x || !d->y) return verify_fail(v, "data %u: no points", i);
    if (d->interpolation > IR_CUBIC) return verify_fail(v, "data %u: no such interpolation", i);
    if (d->history && !verify_history(v, i, d)) return false;
    for (uint32_t k = 1; k < d->count; k++) {
      if (!(d->x[k - 1] < d->x[k])) return verify_fail(v, "data %u: points not ascending", i);
    }
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// variables and equations

static bool verify_vars(Verify* v) {
  const IrModel* model = v->model;
  for (uint32_t i = 0; i < model->vars.count; i++) {
    const IrVar* x = &model->vars.data[i];
    // hidden ones come behind the others, in an order of their own
    const IrVar* before = i ? &model->vars.data[i - 1] : NULL;
    if (before && before->hidden && !x->hidden) return verify_fail(v, "variable %u: not sorted", i);
    const uint32_t* last = before && !x->hidden ? &before->name : NULL;
    bool valid = verify_name(v, "variable", i, x->name, last) &&
                 verify_optional_name(v, "unit of variable", i, x->unit) &&
                 verify_span(v, "variable", i, x->span);
    if (!valid) return false;
    if (x->kind > IR_VAR_DISCRETE) return verify_fail(v, "variable %u: no such kind", i);
    if (x->select > IR_SELECT_ALWAYS) return verify_fail(v, "variable %u: no such wish", i);
    bool sized = isfinite(x->nominal) && x->nominal >= 0;
    if (!sized) return verify_fail(v, "variable %u: its nominal value is negative or no number", i);
  }
  return true;
}

static bool verify_starts(Verify* v) {
  const IrModel* model = v->model;
  uint32_t next = 0;
  for (uint32_t i = 0; i < model->vars.count; i++) {
    const IrVar* x = &model->vars.data[i];
    uint32_t begin = x->start_count ? x->start_begin : next;
    if (!verify_range(v, "starts of variable", i, begin, x->start_count, &next,
                      model->starts.count)) {
      return false;
    }
    for (uint32_t k = next - x->start_count; k < next; k++) {
      const IrStart* s = &model->starts.data[k];
      if (s->var != i) return verify_fail(v, "start %u: not sorted by variable", k);
      if (s->kind > IR_START_GUESS) return verify_fail(v, "start %u: no such kind", k);
      if (!verify_term(v, &start_rule, k, s->value) || !verify_span(v, "start", k, s->span)) {
        return false;
      }
    }
  }
  return next == model->starts.count || verify_fail(v, "a start belongs to no variable");
}

static bool verify_equation(Verify* v, uint32_t index) {
  const IrModel* model = v->model;
  const IrEquation* e = &model->equations.data[index];
  bool valid = verify_term(v, &equation_rule, index, e->term) &&
               verify_optional_name(v, "label of equation", index, e->label) &&
               verify_span(v, "equation", index, e->span);
  if (!valid || e->lhs_var == IR_NONE) return valid;
  const IrNode* root = &model->pool.nodes.data[e->term.shape.index];
  const IrNode* left = &model->pool.nodes.data[root->arg[0]];
  if (left->op != IR_SLOT) return verify_fail(v, "equation %u: left side is no variable", index);
  IrLeaf leaf = ir_leaf(model, e->term, left->arg[0]);
  bool same = leaf.kind == IR_LEAF_VAR && leaf.id == e->lhs_var && leaf.order == e->lhs_order;
  if (!same) return verify_fail(v, "equation %u: left side is another variable", index);
  if (model->vars.data[leaf.id].kind != IR_VAR_UNKNOWN) {
    return verify_fail(v, "equation %u: left side is a discrete variable", index);
  }
  return true;
}

static bool verify_body_equations(Verify* v, uint32_t body, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; i++) {
    if (v->model->equations.data[i].body != body) {
      return verify_fail(v, "equation %u: not sorted by body", i);
    }
    if (!verify_equation(v, i)) return false;
  }
  return true;
}

static bool verify_body_deletes(Verify* v, uint32_t body, uint32_t begin, uint32_t end) {
  if (body == 0 && begin != end) return verify_fail(v, "the global body deletes");
  for (uint32_t i = begin; i < end; i++) {
    const IrDelete* d = &v->model->deletes.data[i];
    if (d->body != body) return verify_fail(v, "deletion %u: not sorted by body", i);
    bool valid =
        verify_name(v, "deletion", i, d->label, NULL) && verify_span(v, "deletion", i, d->span);
    if (!valid) return false;
  }
  return true;
}

/// Equations and deletions, body by body.
static bool verify_bodies(Verify* v) {
  const IrModel* model = v->model;
  uint32_t equation = 0;
  uint32_t deletion = 0;
  for (uint32_t i = 0; i < model->bodies.count; i++) {
    const IrBody* b = &model->bodies.data[i];
    uint32_t equations = b->equation_count ? b->equation_begin : equation;
    uint32_t deletes = b->delete_count ? b->delete_begin : deletion;
    bool valid = verify_range(v, "equations of body", i, equations, b->equation_count, &equation,
                              model->equations.count) &&
                 verify_range(v, "deletions of body", i, deletes, b->delete_count, &deletion,
                              model->deletes.count) &&
                 verify_body_equations(v, i, equations, equation) &&
                 verify_body_deletes(v, i, deletes, deletion);
    if (!valid) return false;
  }
  if (equation != model->equations.count) return verify_fail(v, "an equation has no body");
  return deletion == model->deletes.count || verify_fail(v, "a deletion has no body");
}

static bool verify_orders(Verify* v) {
  const IrModel* model = v->model;
  uint8_t* order = ARENA_ARRAY(v->arena, uint8_t, model->vars.count);
  for (uint32_t i = 0; i < model->equations.count; i++) {
    IrTerm term = model->equations.data[i].term;
    for (uint32_t k = 0; k < term.leaf_count; k++) {
      IrLeaf leaf = ir_leaf(model, term, k);
      if (leaf.kind == IR_LEAF_VAR && leaf.order > order[leaf.id]) order[leaf.id] = leaf.order;
    }
  }
  for (uint32_t i = 0; i < model->vars.count; i++) {
    if (order[i] != model->vars.data[i].max_order) {
      return verify_fail(v, "variable %u: its highest order is %u", i, order[i]);
    }
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// events

static bool verify_atoms(Verify* v) {
  const IrModel* model = v->model;
  for (uint32_t i = 0; i < model->atoms.count; i++) {
    const IrAtom* a = &model->atoms.data[i];
    bool valid =
        verify_term(v, &atom_rule, i, a->g) && verify_term(v, &atom_option_rule, i, a->eps) &&
        verify_term(v, &atom_option_rule, i, a->gamma) && verify_span(v, "atom", i, a->span);
    if (!valid) return false;
    if (a->type > IR_ATOM_STRUCK) return verify_fail(v, "atom %u: no such type", i);
    if (a->relation > IR_REL_EQ) return verify_fail(v, "atom %u: no such relation", i);
  }
  const bool* continuous = ir_continuous_atoms(model, v->arena);
  for (uint32_t i = 0; i < model->atoms.count; i++) {
    if (model->atoms.data[i].continuous != continuous[i]) {
      return verify_fail(v, "atom %u: wrong about what it reads", i);
    }
  }
  return true;
}

/// Actions belong to their owners one group after the other.
static bool verify_actions(Verify* v) {
  const IrModel* model = v->model;
  uint32_t total = model->actions.count;
  uint32_t next = 0;
  for (uint32_t i = 0; i < model->states.count; i++) {
    const IrState* s = &model->states.data[i];
    if (!verify_range(v, "actions of state", i, s->action_begin, s->action_count, &next, total)) {
      return false;
    }
  }
  for (uint32_t i = 0; i < model->transitions.count; i++) {
    const IrTransition* t = &model->transitions.data[i];
    if (!verify_range(v, "actions of transition", i, t->action_begin, t->action_count, &next,
                      total)) {
      return false;
    }
  }
  for (uint32_t i = 0; i < model->schedules.count; i++) {
    const IrSchedule* s = &model->schedules.data[i];
    if (!verify_range(v, "actions of schedule", i, s->action_begin, s->action_count, &next,
                      total)) {
      return false;
    }
  }
  if (next != total) return verify_fail(v, "an action belongs to nothing");
  for (uint32_t i = 0; i < total; i++) {
    const IrAction* a = &model->actions.data[i];
    if (a->var >= model->vars.count) return verify_fail(v, "action %u: no such variable", i);
    if (a->kind > IR_ACTION_GUESS) return verify_fail(v, "action %u: no such kind", i);
    if (a->order != 0 && model->vars.data[a->var].kind == IR_VAR_DISCRETE) {
      return verify_fail(v, "action %u: derivative of a discrete variable", i);
    }
    if (!verify_term(v, &action_rule, i, a->value) || !verify_span(v, "action", i, a->span)) {
      return false;
    }
  }
  return true;
}

static bool verify_schedules(Verify* v) {
  const IrModel* model = v->model;
  uint32_t next = 0;
  for (uint32_t i = 0; i < model->schedules.count; i++) {
    const IrSchedule* s = &model->schedules.data[i];
    bool valid = verify_term(v, &schedule_rule, i, s->start) &&
                 verify_term(v, &period_rule, i, s->period) &&
                 verify_span(v, "schedule", i, s->span) &&
                 verify_range(v, "gotos of schedule", i, s->goto_begin, s->goto_count, &next,
                              model->gotos.count);
    if (!valid) return false;
    if (s->count < -1) return verify_fail(v, "schedule %u: negative number of firings", i);
    for (uint32_t k = next - s->goto_count; k < next; k++) {
      IrGoto to = model->gotos.data[k];
      bool known = to.automaton < model->automata.count &&
                   to.state < model->automata.data[to.automaton].state_count;
      if (!known) return verify_fail(v, "goto %u: no such state", k);
      bool first = k == next - s->goto_count;
      if (!first && model->gotos.data[k - 1].automaton >= to.automaton) {
        return verify_fail(v, "goto %u: two for one automaton, or not sorted", k);
      }
    }
  }
  return next == model->gotos.count || verify_fail(v, "a goto belongs to no schedule");
}

static bool verify_macros(Verify* v) {
  const IrModel* model = v->model;
  for (uint32_t i = 0; i < model->macros.count; i++) {
    const IrMacro* m = &model->macros.data[i];
    bool valid = verify_name(v, "macro", i, m->name, NULL) &&
                 verify_term(v, &macro_rule, i, m->value) && verify_span(v, "macro", i, m->span);
    if (!valid) return false;
  }
  return true;
}

bool ir_verify(const IrModel* model, Arena* arena, Str* why) {
  Verify* v = ARENA_NEW(arena, Verify);
  v->model = model;
  v->arena = arena;
  bool valid = verify_arrays(v) && verify_pool(v) && verify_vars(v) && verify_params(v) &&
               verify_data(v) && verify_automata(v) && verify_starts(v) && verify_bodies(v) &&
               verify_orders(v) && verify_atoms(v) && verify_actions(v) && verify_schedules(v) &&
               verify_macros(v) && verify_term(v, &energy_rule, 0, model->energy);
  if (valid) {
    uint32_t* level = ARENA_ARRAY(
        arena, uint32_t, (size_t)model->atoms.count + model->automata.count + model->vars.count);
    valid = ir_find_levels(model, arena, level) ||
            verify_fail(v, "a relation or condition reads itself");
  }
  *why = v->why;
  return valid;
}
