// SPDX-License-Identifier: MIT
//
// The equations of a product mode (SEMANTICS 1.2).
//
// Bodies nest: around everything are the global equations; automata and top-level `if` blocks edit
// them; an `if` block inside a state edits what that state made of them; a state that is `like`
// another edits what the other one (with its blocks) made. Each body is one *layer*, numbered by a
// clock, and edits what is around it as it was before the layer. Bodies that stand side by side are
// a *group*: they must not see each other, whatever the order they are visited in, and two of them
// must not edit the same thing. So an equation remembers the layers that added and removed it, and
// layers of finished neighbours are invisible until their group is finished.
//
// Cost: linear in the equations and edits of the mode, times the depth of nesting.
#include "ir/internal.h"

/// Who edits a target in one group: members are automata, `equation` is what they write.
typedef struct ModeClaim {
  struct ModeClaim* deeper;  // the same target in the group one level further in
  uint32_t group;
  uint32_t owner, owner_equation;        // replaces the target
  uint32_t guest[2], guest_equation[2];  // replaces one equation of the labelled group
} ModeClaim;

/// A label, or an explicit left side.
typedef struct ModeTarget {
  uint32_t name;           // label or variable
  uint32_t order;          // of the derivative
  uint32_t next;           // target of the same variable, other order
  uint32_t equation;       // labels: first of the equations in the group so far
  uint32_t layer;          // last layer that edited it
  uint32_t claimed_layer;  // last layer that claimed it
  uint32_t replaced;       // left sides: what that layer replaced, or IR_NONE
  uint32_t cleared_group;  // group in which a first layer removed all equations of the label
  ModeClaim* claim;
} ModeTarget;

/// A group being visited: its members are linked through `next_member`.
typedef struct ModeFrame {
  uint32_t group;
  uint32_t automaton, next;            // present member, the one after it
  uint32_t group_begin, member_begin;  // clock; layers in [group_begin, member_begin) are invisible
  uint32_t chain_begin, chain_at;      // bodies of the member, outermost first, in `chain`
} ModeFrame;

typedef struct ModeWork {
  const IrModel* model;
  Arena* arena;
  const uint32_t* mode;
  IrConflict* conflict;
  bool conflicting;
  uint32_t clock, group_count;

  // per equation; layers are 0 for never, 1 for the global equations
  uint32_t* added;
  uint32_t* removed;
  uint32_t* label;         // of the group it belongs to in this mode
  uint32_t* next_label;    // next equation of the same label, + 1
  uint32_t* next_lhs;      // next equation with the same variable on the left, + 1
  uint32_t* lhs_first;     // variable -> equation + 1
  uint32_t* label_target;  // label -> target + 1
  uint32_t* lhs_target;    // variable -> target + 1
  BASE_VEC(ModeTarget) targets;

  uint32_t* first_member;  // body -> automaton standing in it + 1
  uint32_t* next_member;   // automaton -> next one of the same group, + 1
  BASE_VEC(ModeFrame) frames;
  BASE_VEC(uint32_t) chain;
} ModeWork;

// ---------------------------------------------------------------------------------------------
// visibility

/// Whether the present layer sees what another layer did.
static bool layer_visible(const ModeWork* w, uint32_t layer) {
  // the last group that had begun by then
  uint32_t low = 0;
  uint32_t high = w->frames.count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (w->frames.data[middle].group_begin <= layer) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 || layer >= w->frames.data[low - 1].member_begin;
}

/// Whether an equation was there, as the present layer sees it, before the present layer.
static bool present_before(const ModeWork* w, uint32_t equation) {
  uint32_t added = w->added[equation];
  uint32_t removed = w->removed[equation];
  if (added == 0 || added == w->clock || !layer_visible(w, added)) return false;
  return removed == 0 || removed == w->clock || !layer_visible(w, removed);
}

// ---------------------------------------------------------------------------------------------
// targets and conflicts

static uint32_t target_create(ModeWork* w, uint32_t name, uint32_t order) {
  ModeTarget target = {.name = name, .order = order, .next = IR_NONE, .replaced = IR_NONE};
  base_vec_push(w->arena, &w->targets, target);
  return w->targets.count - 1;
}

static ModeTarget* find_label(ModeWork* w, uint32_t label) {
  if (w->label_target[label] == 0) w->label_target[label] = target_create(w, label, 0) + 1;
  return &w->targets.data[w->label_target[label] - 1];
}

static ModeTarget* find_lhs(ModeWork* w, uint32_t var, uint32_t order) {
  uint32_t at = w->lhs_target[var] ? w->lhs_target[var] - 1 : IR_NONE;
  for (; at != IR_NONE; at = w->targets.data[at].next) {
    if (w->targets.data[at].order == order) return &w->targets.data[at];
  }
  at = target_create(w, var, order);
  w->targets.data[at].next = w->lhs_target[var] ? w->lhs_target[var] - 1 : IR_NONE;
  w->lhs_target[var] = at + 1;
  return &w->targets.data[at];
}

static void set_conflict(ModeWork* w, uint32_t label, uint32_t var, uint32_t a, uint32_t b) {
  if (w->conflicting) return;
  w->conflicting = true;
  if (!w->conflict) return;
  *w->conflict = (IrConflict){label, var, a < b ? a : b, a < b ? b : a};
}

static ModeClaim* claim_create(ModeWork* w) {
  ModeClaim* claim = ARENA_NEW(w->arena, ModeClaim);
  claim->group = IR_NONE;
  return claim;
}

/// What another member of the group wrote for the same target, or IR_NONE.
static uint32_t claim_other(const ModeClaim* claim, uint32_t member, bool guest) {
  if (claim->owner != IR_NONE && claim->owner != member) return claim->owner_equation;
  for (uint32_t k = 0; !guest && k < 2; k++) {
    bool strange = claim->guest[k] != IR_NONE && claim->guest[k] != member;
    if (strange) return claim->guest_equation[k];
  }
  return IR_NONE;
}

static void claim_set(ModeClaim* claim, uint32_t member, bool guest, uint32_t equation) {
  if (!guest) {
    claim->owner = member;
    claim->owner_equation = equation;
    return;
  }
  // two different guests are enough: whoever replaces the group is in conflict with one
  uint32_t k = claim->guest[0] == IR_NONE || claim->guest[0] == member ? 0 : 1;
  claim->guest[k] = member;
  claim->guest_equation[k] = equation;
}

/// Note who edits a target, in every group around the present layer.
static void claim_target(ModeWork* w, ModeTarget* target, bool is_label, bool guest,
                         uint32_t equation) {
  ModeClaim** link = &target->claim;
  for (uint32_t d = 0; d < w->frames.count; d++, link = &(*link)->deeper) {
    if (!*link) *link = claim_create(w);
    ModeClaim* claim = *link;
    const ModeFrame* frame = &w->frames.data[d];
    if (claim->group != frame->group) {
      claim->group = frame->group;
      claim->owner = claim->guest[0] = claim->guest[1] = IR_NONE;
    }
    uint32_t other = claim_other(claim, frame->automaton, guest);
    if (other != IR_NONE) {
      uint32_t label = is_label ? target->name : 0;
      set_conflict(w, label, is_label ? IR_NONE : target->name, other, equation);
    }
    claim_set(claim, frame->automaton, guest, equation);
  }
}

// ---------------------------------------------------------------------------------------------
// layers

static void add_equation(ModeWork* w, uint32_t equation, uint32_t label) {
  const IrEquation* e = (IrEquation[]){ir_equation(w->model, equation)};
  w->added[equation] = w->clock;
  w->label[equation] = label;
  if (label) {
    ModeTarget* target = find_label(w, label);
    w->next_label[equation] = target->equation;
    target->equation = equation + 1;
  }
  if (e->lhs_var != IR_NONE) {
    w->next_lhs[equation] = w->lhs_first[e->lhs_var];
    w->lhs_first[e->lhs_var] = equation + 1;
  }
}

/// Remove all equations of a label, once per layer. `alone`: nothing is visited inside this member.
static void clear_label(ModeWork* w, uint32_t label, bool alone) {
  const ModeFrame* frame = &w->frames.data[w->frames.count - 1];
  bool first = frame->chain_at == frame->chain_begin + 1;
  ModeTarget* target = find_label(w, label);
  if (target->layer == w->clock) return;
  target->layer = w->clock;
  // a neighbour has removed them all, and nobody will ask whether this member has too
  if (alone && first && target->cleared_group == frame->group) return;
  for (uint32_t e = target->equation; e != 0; e = w->next_label[e - 1]) {
    if (present_before(w, e - 1)) w->removed[e - 1] = w->clock;
  }
  if (first) target->cleared_group = frame->group;
}

/// What an explicit equation replaces: the only one with the same left side, if there is one.
static uint32_t replace_lhs(ModeWork* w, uint32_t equation) {
  const IrEquation* e = (IrEquation[]){ir_equation(w->model, equation)};
  ModeTarget* target = find_lhs(w, e->lhs_var, e->lhs_order);
  if (target->layer == w->clock) return target->replaced;

  uint32_t found = IR_NONE;
  uint32_t count = 0;
  for (uint32_t i = w->lhs_first[e->lhs_var]; i != 0; i = w->next_lhs[i - 1]) {
    bool same = ir_equation(w->model, i - 1).lhs_order == e->lhs_order;
    if (!same || !present_before(w, i - 1)) continue;
    found = i - 1;
    count++;
  }
  target->layer = w->clock;
  target->replaced = count == 1 ? found : IR_NONE;
  claim_target(w, target, false, false, equation);
  if (count != 1) return IR_NONE;
  w->removed[found] = w->clock;
  if (w->label[found]) claim_target(w, find_label(w, w->label[found]), true, true, equation);
  return found;
}

static void apply_body(ModeWork* w, uint32_t body_id, bool alone) {
  const IrBody* body = &w->model->bodies.data[body_id];
  w->clock++;
  for (uint32_t i = 0; i < body->delete_count; i++) {
    clear_label(w, w->model->deletes.data[body->delete_begin + i].label, alone);
  }
  for (uint32_t i = 0; i < body->equation_count && !w->conflicting; i++) {
    uint32_t equation = body->equation_begin + i;
    const IrEquation* e = (IrEquation[]){ir_equation(w->model, equation)};
    uint32_t label = e->label;
    if (label) {
      clear_label(w, label, alone);
      ModeTarget* target = find_label(w, label);
      if (target->claimed_layer != w->clock) claim_target(w, target, true, false, equation);
      target->claimed_layer = w->clock;
    } else if (e->lhs_var != IR_NONE) {
      uint32_t replaced = replace_lhs(w, equation);
      if (replaced != IR_NONE) label = w->label[replaced];
    }
    add_equation(w, equation, label);
  }
}

// ---------------------------------------------------------------------------------------------
// visiting

static uint32_t active_body(const IrModel* model, uint32_t automaton, const uint32_t* mode) {
  return ir_state(model, ir_automaton(model, automaton).state_begin + mode[automaton]).body;
}

/// Link every automaton with an active body to the body that it stands in (0 at the top level).
static bool link_members(ModeWork* w) {
  const IrModel* model = w->model;
  bool any = false;
  for (uint32_t i = model->automata.count; i-- > 0;) {
    if (active_body(model, i, w->mode) == IR_NONE) continue;
    uint32_t around = ir_automaton(model, i).parent_body;
    if (around == IR_NONE) around = 0;
    w->next_member[i] = w->first_member[around];
    w->first_member[around] = i + 1;
    any = any || around == 0;
  }
  return any;
}

static void begin_group(ModeWork* w, uint32_t body) {
  ModeFrame frame = {.group = ++w->group_count,
                     .automaton = IR_NONE,
                     .next = w->first_member[body],
                     .group_begin = w->clock + 1,
                     .member_begin = w->clock + 1,
                     .chain_begin = w->chain.count,
                     .chain_at = w->chain.count};
  base_vec_push(w->arena, &w->frames, frame);
}

/// Go on to the next member: its bodies are those its state is like, then its own.
static void begin_member(ModeWork* w, ModeFrame* frame) {
  const IrModel* model = w->model;
  frame->automaton = frame->next - 1;
  frame->next = w->next_member[frame->automaton];
  frame->member_begin = w->clock + 1;
  frame->chain_at = frame->chain_begin;
  w->chain.count = frame->chain_begin;
  for (uint32_t b = active_body(model, frame->automaton, w->mode); b != IR_NONE;) {
    base_vec_push(w->arena, &w->chain, b);
    b = model->bodies.data[b].parent;
  }
  uint32_t* chain = w->chain.data;
  for (uint32_t i = frame->chain_begin, k = w->chain.count - 1; i < k; i++, k--) {
    uint32_t swap = chain[i];
    chain[i] = chain[k];
    chain[k] = swap;
  }
}

static void apply_members(ModeWork* w) {
  begin_group(w, 0);
  while (w->frames.count && !w->conflicting) {
    ModeFrame* frame = &w->frames.data[w->frames.count - 1];
    if (frame->chain_at < w->chain.count) {
      uint32_t body = w->chain.data[frame->chain_at++];
      bool alone = w->chain.count == frame->chain_begin + 1 && w->first_member[body] == 0;
      apply_body(w, body, alone);
      if (w->first_member[body]) begin_group(w, body);
    } else if (frame->next) {
      begin_member(w, frame);
    } else {
      w->chain.count = frame->chain_begin;
      w->frames.count--;
    }
  }
}

static void init_work(ModeWork* w) {
  const IrModel* model = w->model;
  uint32_t equations = model->equations.count;
  w->added = ARENA_ARRAY(w->arena, uint32_t, equations);
  w->removed = ARENA_ARRAY(w->arena, uint32_t, equations);
  w->label = ARENA_ARRAY(w->arena, uint32_t, equations);
  w->next_label = ARENA_ARRAY(w->arena, uint32_t, equations);
  w->next_lhs = ARENA_ARRAY(w->arena, uint32_t, equations);
  w->lhs_first = ARENA_ARRAY(w->arena, uint32_t, model->vars.count);
  w->lhs_target = ARENA_ARRAY(w->arena, uint32_t, model->vars.count);
  w->label_target = ARENA_ARRAY(w->arena, uint32_t, model->names.names.count);
}

uint32_t ir_mode_equations(const IrModel* model, Arena* scratch, const uint32_t* mode,
                           uint32_t* out, IrConflict* conflict) {
  ModeWork work = {.model = model, .arena = scratch, .mode = mode, .conflict = conflict};
  const IrBody* global = &model->bodies.data[0];
  work.first_member = ARENA_ARRAY(scratch, uint32_t, model->bodies.count);
  work.next_member = ARENA_ARRAY(scratch, uint32_t, model->automata.count);
  if (!link_members(&work)) {
    for (uint32_t i = 0; i < global->equation_count; i++) {
      out[i] = global->equation_begin + i;
    }
    return global->equation_count;
  }

  init_work(&work);
  work.clock = 1;
  for (uint32_t i = 0; i < global->equation_count; i++) {
    uint32_t equation = global->equation_begin + i;
    add_equation(&work, equation, ir_equation(model, equation).label);
  }
  apply_members(&work);
  if (work.conflicting) return IR_NONE;
  uint32_t count = 0;
  for (uint32_t i = 0; i < model->equations.count; i++) {
    if (work.added[i] && !work.removed[i]) out[count++] = i;
  }
  return count;
}

bool ir_automaton_is_active(const IrModel* model, uint32_t automaton, const uint32_t* mode) {
  for (;;) {
    uint32_t around = ir_automaton(model, automaton).parent_body;
    if (around == IR_NONE || around == 0) return true;
    automaton = model->bodies.data[around].automaton;
    // the state that is active is the one around it, or like it
    uint32_t body = active_body(model, automaton, mode);
    while (body != IR_NONE && body != around) {
      body = model->bodies.data[body].parent;
    }
    if (body == IR_NONE) return false;
  }
}
