// SPDX-License-Identifier: MIT
//
// The programs of a product mode.
//
// Every program comes about in the same way: from the terms that it has to compute, the unknowns
// they need are collected (through the solved assignments, which need others), and then emitted in
// the order of solution into one graph of values. An unknown differentiated more often than the
// equations have it is the total derivative of its assignment; such an item of level j reads items
// of level j that come earlier, and items of lower levels.
//
// Product modes with the same equations differ in their atoms only. While there are few of them
// each gets programs for exactly its atoms; from SHARE_FROM on all of them are one mode with all
// atoms of the model, and the engine looks which of them matter: N automata side by side have 2^N
// product modes. An atom's value has the same bits either way.
#include "model/build_scope.h"

#include <string.h>

#define SHARE_FROM 16

/// Whether a leaf is the rate of a state, and these are given.
static bool is_given_rate(const ModeScope* scope, IrLeaf leaf) {
  const SymVar* var = &scope->set->sym->vars[leaf.id];
  return scope->rates_given && var->role == SYM_STATE && leaf.order == var->order &&
         leaf.order <= scope->build->layout.var_order[leaf.id];
}

/// Whether a leaf stands for something the mode computes; if so, of which variable and order.
static bool is_item(const ModeScope* scope, IrLeaf leaf) {
  if (leaf.kind != IR_LEAF_VAR) return false;
  if (leaf.when == IR_PRE && !scope->pre_is_now) return false;
  if (is_given_rate(scope, leaf)) return false;
  const SymVar* var = &scope->set->sym->vars[leaf.id];
  return (var->role == SYM_STATE || var->role == SYM_ALGEBRAIC) && leaf.order >= var->order;
}

/// A derivative of something that keeps its value.
static bool stands_still(const ModeScope* scope, IrLeaf leaf) {
  return leaf.order > 0 && scope->set->sym->vars[leaf.id].role == SYM_UNDETERMINED;
}

/// Value of a variable in this mode: a state, an item that is emitted already, or something that
/// stands still.
static uint32_t mode_variable(const BuildScope* base, TapeGraph* graph, IrLeaf leaf) {
  const ModeScope* scope = (const ModeScope*)base;
  const BuildLayout* layout = &scope->build->layout;
  uint32_t env = layout->var_env[leaf.id] + leaf.order;
  if (leaf.when == IR_PRE && !scope->pre_is_now) {
    return tape_input(graph, layout->env_count + env);
  }
  uint32_t* place = scope_item(scope, leaf.id, leaf.order);
  if (is_item(scope, leaf)) return scope->items.data[*place - 1].value;
  if (*place) return *place - 1;
  uint32_t value = 0;
  // NOLINTNEXTLINE(bugprone-branch-clone): the order of the questions is what matters
  if (is_given_rate(scope, leaf)) {
    value = tape_input(graph, env);
  } else if (scope->set->sym->vars[leaf.id].role == SYM_STATE) {
    value = tape_state(graph, scope->set->state_of_var[leaf.id] + leaf.order);
  } else if (leaf.order > layout->var_order[leaf.id] || stands_still(scope, leaf)) {
    value = tape_const(graph, 0.0);
  } else {
    value = tape_input(graph, env);
  }
  *place = value + 1;
  return value;
}

static void scope_init(ModeScope* scope, ModelBuild* build, const BuildSet* set) {
  *scope = (ModeScope){.base = {.variable = mode_variable}, .build = build, .set = set};
  tape_init(&scope->graph, &build->scratch);
  scope->item_of = ARENA_ARRAY(&build->scratch, uint32_t, build->layout.quantity_count);
}

/// The term of an unknown; beyond the order of its assignment by differentiation.
static SymTerm item_term(ModeScope* scope, uint32_t var, uint32_t order) {
  const SymMode* sym = scope->set->sym;
  SymTerm term = sym->assigns[sym->vars[var].assign].value;
  for (uint32_t k = sym->vars[var].order; k < order; k++) {
    term = sym_total_derivative(&scope->build->sym, &scope->build->scratch, term, sym->vars);
  }
  return term;
}

static void add_item(ModeScope* scope, uint32_t var, uint32_t order) {
  uint32_t* place = scope_item(scope, var, order);
  if (*place) return;
  ScopeItem item = {.term = item_term(scope, var, order)};
  base_vec_push(&scope->build->scratch, &scope->items, item);
  *place = scope->items.count;
}

static void need_row(ModeScope* scope, SymTerm term) {
  const SymMode* sym = scope->set->sym;
  for (uint32_t k = 0; k < term.count; k++) {
    IrLeaf leaf = term.row[k];
    if (!is_item(scope, leaf) || *scope_item(scope, leaf.id, leaf.order)) continue;
    uint32_t level = leaf.order - (uint32_t)sym->vars[leaf.id].order;
    if (level > scope->top_level) scope->top_level = level;
    const SymAssign* assign = &sym->assigns[sym->vars[leaf.id].assign];
    if (assign->kind != SYM_IN_BLOCK) {
      add_item(scope, leaf.id, leaf.order);
      continue;
    }
    // what is solved together is needed together
    const SymBlock* block = &sym->blocks[assign->block];
    for (uint32_t i = 0; i < block->count; i++) {
      const SymAssign* member = &sym->assigns[block->begin + i];
      add_item(scope, member->var, member->order + level);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// the order of emission

#define GROUP_MIN       256  // terms: few are left in the order they have
#define GROUP_INSTANCES 16   // terms of each shape, on average
#define GROUP_DEPTH     64   // longest chain of terms that read each other

/// Terms to be emitted, those of one shape side by side. Each reads terms of smaller depth only.
typedef struct Grouping {
  const uint32_t* shapes;  // per term: node of its shape
  uint32_t* depths;        // per term
  uint32_t count;
} Grouping;

/// Numbers of terms by depth, then by shape as they come, then as they were. NULL when there is
/// little to group. What repeats is executed over blocks of instances (build_roll.c), whatever the
/// names of the variables are.
static uint32_t* group_terms(ModelBuild* build, const Grouping* g) {
  if (g->count < GROUP_MIN) return NULL;
  Arena* scratch = &build->work;
  uint32_t* number = ARENA_ARRAY(scratch, uint32_t, build->sym.view.pool.nodes.count);
  uint32_t shapes = 0;
  uint32_t deepest = 0;
  for (uint32_t i = 0; i < g->count; i++) {
    uint32_t* seen = &number[g->shapes[i]];
    if (*seen == 0) *seen = ++shapes;
    if (g->depths[i] > deepest) deepest = g->depths[i];
  }
  if (deepest >= GROUP_DEPTH || shapes > g->count / GROUP_INSTANCES) return NULL;
  uint32_t* begin = ARENA_ARRAY(scratch, uint32_t, (size_t)(deepest + 1) * shapes + 1);
  for (uint32_t i = 0; i < g->count; i++) {
    begin[(size_t)g->depths[i] * shapes + number[g->shapes[i]]]++;
  }
  for (size_t k = 1; k <= (size_t)(deepest + 1) * shapes; k++) {
    begin[k] += begin[k - 1];
  }
  uint32_t* order = ARENA_ARRAY(scratch, uint32_t, g->count);
  for (uint32_t i = 0; i < g->count; i++) {
    order[begin[(size_t)g->depths[i] * shapes + number[g->shapes[i]] - 1]++] = i;
  }
  return order;
}

/// Emit the items behind `first` by shape. False, and nothing done, where their order is left.
static bool emit_grouped(ModeScope* scope, uint32_t first, const uint32_t* list, uint32_t count) {
  ModelBuild* build = scope->build;
  if (count < GROUP_MIN || scope->set->sym->block_count > 0) return false;
  uint32_t* shapes = ARENA_ARRAY(&build->work, uint32_t, count);
  uint32_t* depths = ARENA_ARRAY(&build->work, uint32_t, count);
  uint32_t* depth_of = ARENA_ARRAY(&build->work, uint32_t, scope->items.count - first);
  for (uint32_t i = 0; i < count; i++) {
    SymTerm term = scope->items.data[list[i]].term;
    for (uint32_t k = 0; k < term.count; k++) {
      if (!is_item(scope, term.row[k])) continue;
      uint32_t read = *scope_item(scope, term.row[k].id, term.row[k].order);
      if (read <= first) continue;
      uint32_t depth = depth_of[read - 1 - first] + 1;
      if (depth > depths[i]) depths[i] = depth;
    }
    depth_of[list[i] - first] = depths[i];
    shapes[i] = term.shape.index;
  }
  Grouping grouping = {.shapes = shapes, .depths = depths, .count = count};
  const uint32_t* order = group_terms(build, &grouping);
  for (uint32_t i = 0; order && i < count; i++) {
    ScopeItem* item = &scope->items.data[list[order[i]]];
    item->value = build_emit(build, &scope->graph, &scope->base, item->term);
  }
  arena_free(&build->work);
  return order != NULL;
}

static void emit_items(ModeScope* scope, uint32_t first, const uint32_t* list, uint32_t count) {
  if (emit_grouped(scope, first, list, count)) return;
  for (uint32_t i = 0; i < count; i++) {
    ScopeItem* item = &scope->items.data[list[i]];
    item->value = build_emit(scope->build, &scope->graph, &scope->base, item->term);
  }
}

static void emit_targets(ModeScope* scope, const SymTerm* targets, uint32_t count,
                         uint32_t* values) {
  ModelBuild* build = scope->build;
  Grouping grouping = {.count = count};
  if (count >= GROUP_MIN) {
    uint32_t* shapes = ARENA_ARRAY(&build->work, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
      shapes[i] = targets[i].shape.index;
    }
    grouping.shapes = shapes;
    grouping.depths = ARENA_ARRAY(&build->work, uint32_t, count);
  }
  const uint32_t* order = group_terms(build, &grouping);
  for (uint32_t k = 0; k < count; k++) {
    uint32_t i = order ? order[k] : k;
    values[i] = build_emit(build, &scope->graph, &scope->base, targets[i]);
  }
  arena_free(&build->work);
}

/// Values of terms in this mode. May be called again: what is there already is used.
static void scope_values(ModeScope* scope, const SymTerm* targets, uint32_t count,
                         uint32_t* values) {
  const SymMode* sym = scope->set->sym;
  const BuildLayout* layout = &scope->build->layout;
  uint32_t first = scope->items.count;
  for (uint32_t i = 0; i < count; i++) {
    need_row(scope, targets[i]);
  }
  uint64_t steps = count;
  for (uint32_t i = first; i < scope->items.count; i++) {
    need_row(scope, scope->items.data[i].term);
    steps += sym_shape(&scope->build->sym, scope->items.data[i].term.shape)->count;
  }
  tape_reserve(&scope->graph, steps);
  BASE_VEC(uint32_t) list = {0};  // items in order of solution
  for (uint32_t level = 0; level <= scope->top_level && first < scope->items.count; level++) {
    for (uint32_t i = 0; i < sym->assign_count; i++) {
      const SymAssign* assign = &sym->assigns[i];
      uint32_t order = assign->order + level;
      if (order > layout->var_order[assign->var] + layout->extra_orders) continue;
      uint32_t index = *scope_item(scope, assign->var, order);
      if (index <= first) continue;
      if (assign->kind == SYM_IN_BLOCK) {
        const SymBlock* block = &sym->blocks[assign->block];
        if (scope->direct && level == 0) {
          scope_emit_direct(scope, block, assign->block);
        } else {
          scope_emit_block(scope, block, assign->block, level);
        }
        i = block->begin + block->count - 1;
        continue;
      }
      if (sym->block_count == 0) {
        base_vec_push(&scope->build->scratch, &list, index - 1);
        continue;
      }
      ScopeItem* item = &scope->items.data[index - 1];
      item->value = build_emit(scope->build, &scope->graph, &scope->base, item->term);
    }
  }
  emit_items(scope, first, list.data, list.count);
  emit_targets(scope, targets, count, values);
}

// ---------------------------------------------------------------------------------------------
// the equations

static ModelRole role_of(SymRole role) {
  switch (role) {
  case SYM_DISCRETE: return MODEL_ROLE_DISCRETE;
  case SYM_STATE: return MODEL_ROLE_STATE;
  case SYM_ALGEBRAIC: return MODEL_ROLE_ALGEBRAIC;
  case SYM_UNDETERMINED: break;
  }
  return MODEL_ROLE_UNDETERMINED;
}

/// Number the states: by variable, then by order.
static void place_states(ModelBuild* build, BuildSet* set) {
  uint32_t var_count = build->ir->vars.count;
  uint32_t* state_of_var = ARENA_ARRAY(&build->arena, uint32_t, var_count);
  ModelVarMode* vars = ARENA_ARRAY(&build->arena, ModelVarMode, var_count);
  for (uint32_t v = 0; v < var_count; v++) {
    const SymVar* var = &set->sym->vars[v];
    bool has_states = var->role == SYM_STATE;
    vars[v].role = (uint8_t)role_of((SymRole)var->role);
    vars[v].state_order = has_states ? var->order : 0;
    vars[v].loose = var->loose;
    if (var->loose && var->role == SYM_UNDETERMINED && set->held_count++ == 0) set->first_held = v;
    state_of_var[v] = set->state_count;
    set->state_count += vars[v].state_order;
  }
  uint32_t* state_env = ARENA_ARRAY(&build->arena, uint32_t, set->state_count);
  for (uint32_t v = 0; v < var_count; v++) {
    for (uint32_t k = 0; k < vars[v].state_order; k++) {
      state_env[state_of_var[v] + k] = build->layout.var_env[v] + k;
    }
  }
  set->vars = vars;
  set->state_of_var = state_of_var;
  set->state_env = state_env;
}

static uint32_t count_full(const ModelBuild* build, const BuildSet* set) {
  uint32_t count = 0;
  for (uint32_t v = 0; v < build->ir->vars.count; v++) {
    const SymVar* var = &set->sym->vars[v];
    bool computed = var->role == SYM_STATE || var->role == SYM_ALGEBRAIC;
    bool shown = computed && build->layout.var_order[v] >= var->order;
    if (shown) count += build->layout.var_order[v] + 1u - var->order;
  }
  return count;
}

/// Everything the mode computes, and where it goes.
static SymTerm* full_targets(ModelBuild* build, BuildSet* set, uint32_t count) {
  Arena* scratch = &build->scratch;
  ExprId slot = ir_slot(&build->sym.view.pool, 0);
  SymTerm* targets = ARENA_ARRAY(scratch, SymTerm, count);
  IrLeaf* leaves = ARENA_ARRAY(scratch, IrLeaf, count);
  uint32_t* env = ARENA_ARRAY(&build->arena, uint32_t, count);
  uint32_t at = 0;
  for (uint32_t v = 0; v < build->ir->vars.count; v++) {
    const SymVar* var = &set->sym->vars[v];
    bool computed = var->role == SYM_STATE || var->role == SYM_ALGEBRAIC;
    for (uint32_t k = var->order; computed && k <= build->layout.var_order[v]; k++) {
      leaves[at] = (IrLeaf){.id = v, .kind = IR_LEAF_VAR, .order = (uint8_t)k};
      env[at] = build->layout.var_env[v] + k;
      targets[at] = (SymTerm){.shape = slot, .row = &leaves[at], .count = 1};
      at++;
    }
  }
  set->full_env = env;
  return targets;
}

/// What is solved for beyond the orders that anything reads.
static void need_hidden(ModelBuild* build, const BuildSet* set, ModeScope* scope) {
  ExprId slot = ir_slot(&build->sym.view.pool, 0);
  for (uint32_t v = 0; v < build->ir->vars.count; v++) {
    const SymVar* var = &set->sym->vars[v];
    if (var->role != SYM_STATE || var->order <= build->layout.var_order[v]) continue;
    IrLeaf* leaf = ARENA_NEW(&build->scratch, IrLeaf);
    *leaf = (IrLeaf){.id = v, .kind = IR_LEAF_VAR, .order = var->order};
    SymTerm target = {.shape = slot, .row = leaf, .count = 1};
    uint32_t value = 0;
    scope_values(scope, &target, 1, &value);
  }
}

/// Values of the derivatives of the states: the next state, or the unknown itself.
static uint32_t* rhs_values(ModelBuild* build, const BuildSet* set, ModeScope* scope) {
  uint32_t* values = ARENA_ARRAY(&build->scratch, uint32_t, set->state_count);
  for (uint32_t v = 0; v < build->ir->vars.count; v++) {
    for (uint32_t k = 0; k < set->vars[v].state_order; k++) {
      IrLeaf next = {.id = v, .kind = IR_LEAF_VAR, .order = (uint8_t)(k + 1)};
      values[set->state_of_var[v] + k] = mode_variable(&scope->base, &scope->graph, next);
    }
  }
  return values;
}

/// Atoms that the equations themselves read.
static void find_set_atoms(ModelBuild* build, BuildSet* set) {
  const IrModel* ir = build->ir;
  uint8_t* seen = ARENA_ARRAY(&build->scratch, uint8_t, ir->atoms.count);
  for (uint32_t i = 0; i < set->sym->equation_count; i++) {
    SymTerm term = sym_term(&build->sym, ir_equation(ir, set->sym->equations[i]).term);
    for (uint32_t k = 0; k < term.count; k++) {
      IrLeaf leaf = term.row[k];
      if (leaf.kind != IR_LEAF_ATOM || seen[leaf.id]) continue;
      seen[leaf.id] = 1;
      set->atom_count++;
    }
  }
  uint32_t* atoms = ARENA_ARRAY(&build->arena, uint32_t, set->atom_count);
  uint32_t at = 0;
  for (uint32_t i = 0; i < ir->atoms.count && at < set->atom_count; i++) {
    if (seen[i]) atoms[at++] = i;
  }
  set->atoms = atoms;
}

/// Repetitions as loops.
static void roll(ModelBuild* build, ModelProgram* program) {
  tape_roll(&build->arena, &build->work, program);
  arena_free(&build->work);
}

/// ... of the equations. Where both programs give the same, they have the same loops.
static void roll_equations(ModelBuild* build, BuildSet* set) {
  const ModelProgram full = set->full;
  ModelProgram* rhs = &set->rhs;
  roll(build, rhs);
  bool same = full.code == rhs->code && full.output_count == rhs->output_count &&
              (full.output_count == 0 ||
               memcmp(full.outputs, rhs->outputs, full.output_count * sizeof *full.outputs) == 0);
  if (same) {
    set->full.roll = rhs->roll;
    set->full.reg_count = rhs->reg_count;
  } else {
    roll(build, &set->full);
  }
}

// ---------------------------------------------------------------------------------------------
// relations beside the equations

static bool atom_reads_pre(const ModelBuild* build, uint32_t atom) {
  IrTerm g = ir_atom(build->ir, atom).g;
  for (uint32_t k = 0; k < g.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(build->ir, g, k);
    if (leaf.kind == IR_LEAF_VAR && leaf.when == IR_PRE) return true;
  }
  return false;
}

/// Values of g (`derivative` false) or its total time derivative; `atoms` NULL: of all of the
/// model.
static const uint32_t* atom_values(ModeScope* scope, const uint32_t* atoms, uint32_t count,
                                   bool derivative) {
  ModelBuild* build = scope->build;
  Arena* scratch = &build->scratch;
  ExprId zero = sym_number(&build->sym, 0.0);
  SymTerm* targets = ARENA_ARRAY(scratch, SymTerm, count);
  for (uint32_t i = 0; i < count; i++) {
    const IrAtom* atom = (IrAtom[]){ir_atom(build->ir, atoms ? atoms[i] : i)};
    targets[i] = sym_term(&build->sym, atom->g);
    if (derivative && (!atom->continuous || atom->type >= IR_ATOM_PULSE)) {
      targets[i] = (SymTerm){.shape = zero};
    } else if (derivative) {
      targets[i] = sym_total_derivative(&build->sym, scratch, targets[i], scope->set->sym->vars);
    }
  }
  uint32_t* values = ARENA_ARRAY(scratch, uint32_t, count);
  scope_values(scope, targets, count, values);
  return values;
}

/// Whether pre(x) is read: the equations have it as it was, relations between events as x.
static bool anything_reads_pre(const ModelBuild* build, const BuildSet* set) {
  for (uint32_t i = 0; i < build->ir->atoms.count; i++) {
    if (atom_reads_pre(build, i)) return true;
  }
  for (uint32_t i = 0; i < set->sym->assign_count; i++) {
    SymTerm term = set->sym->assigns[i].value;
    for (uint32_t k = 0; k < term.count; k++) {
      if (term.row[k].kind == IR_LEAF_VAR && term.row[k].when == IR_PRE) return true;
    }
  }
  return false;
}

/// Events in models of many automata and time events are local: few equations are computed at a
/// time.
static bool has_local_events(const ModelBuild* build) {
  return build->ir->automata.count > SHARE_FROM || build->ir->schedules.count > SHARE_FROM;
}

/// In models of many automata all relations are in one mode, and what their slopes are made of has
/// just been computed for the equations. Slopes that are nothing but the derivatives of the states,
/// one after the other, are the same program.
static void share_with_atoms(ModeScope* scope, const uint32_t* rhs, BuildSet* set) {
  ModelBuild* build = scope->build;
  uint32_t count = build->ir->atoms.count;
  if (!has_local_events(build) || set->implicit || set->sym->block_count > 0 || set->sym->offsets ||
      anything_reads_pre(build, set)) {
    return;
  }
  AtomPrograms* programs = ARENA_NEW(&build->arena, AtomPrograms);
  const uint32_t* values = atom_values(scope, NULL, count, false);
  programs->g = tape_finish(&scope->graph, &build->arena, set->state_count, values, count);
  values = atom_values(scope, NULL, count, true);
  bool same = count > 0 && count == set->state_count && set->rhs.slices &&
              memcmp(values, rhs, count * sizeof *values) == 0;
  if (same) {
    programs->gdot = set->rhs;
  } else {
    programs->gdot = tape_finish(&scope->graph, &build->arena, set->state_count, values, count);
  }
  arena_free(&build->scratch);
  roll(build, &programs->g);
  programs->g.native = ARENA_NEW(&build->arena, ModelCode);
  programs->g_flow = programs->g;
  programs->g_flow.slices = build_output_slices(build, &programs->g_flow);
  programs->gdot.native = ARENA_NEW(&build->arena, ModelCode);
  if (!same) {
    roll(build, &programs->gdot);
    programs->gdot.slices = build_output_slices(build, &programs->gdot);
  }
  set->programs = programs;
}

void build_compile_set(ModelBuild* build, BuildSet* set) {
  if (set->compiled || set->failure) return;
  // everything goes into a copy first: out of memory must not leave a half-filled set
  BuildSet done = *set;
  place_states(build, &done);
  find_set_atoms(build, &done);
  ModeScope scope;
  scope_init(&scope, build, &done);
  uint32_t count = count_full(build, &done);
  SymTerm* targets = full_targets(build, &done, count);
  uint32_t* values = ARENA_ARRAY(&build->scratch, uint32_t, count);
  scope_values(&scope, targets, count, values);
  if (done.sym->offsets) need_hidden(build, &done, &scope);
  const uint32_t* rhs = rhs_values(build, &done, &scope);

  // where everything is needed for the derivatives anyway, both programs are one
  uint32_t all = tape_count(&scope.graph, values, count);
  bool same = tape_count(&scope.graph, rhs, done.state_count) == all;
  if (!same) {
    done.rhs = tape_finish(&scope.graph, &build->arena, done.state_count, rhs, done.state_count);
  }
  if (same) {
    // states that are derivatives of states are outputs too, so that they have registers
    uint32_t* both = ARENA_ARRAY(&build->scratch, uint32_t, (size_t)count + done.state_count);
    for (uint32_t i = 0; i < count + done.state_count; i++) {
      both[i] = i < count ? values[i] : rhs[i - count];
    }
    done.full =
        tape_finish(&scope.graph, &build->arena, done.state_count, both, count + done.state_count);
    done.rhs = done.full;
    done.rhs.outputs = done.full.outputs + count;
    done.rhs.output_count = done.state_count;
    done.full.output_count = count;
  } else {
    done.full = tape_finish(&scope.graph, &build->arena, done.state_count, values, count);
  }
  roll_equations(build, &done);
  done.implicit = build_implicit(build, &done);
  if (!done.implicit && has_local_events(build)) {
    done.rhs.slices = build_output_slices(build, &done.rhs);
  }
  share_with_atoms(&scope, rhs, &done);
  done.rhs.native = ARENA_NEW(&build->arena, ModelCode);
  done.full.native = ARENA_NEW(&build->arena, ModelCode);
  done.compiled = true;
  *set = done;
}

// ---------------------------------------------------------------------------------------------
// what is computed from rates

/// Whether a place of the environment is the rate of a state.
static bool is_rate(const BuildSet* set, uint32_t env) {
  for (uint32_t i = 0; i < set->state_count; i++) {
    if (set->state_env[i] + 1 == env) return true;
  }
  return false;
}

const ModelRates* build_rates(ModelBuild* build, const BuildSet* set) {
  if (set->sym->block_count > 0 || set->sym->offsets) return NULL;
  Arena* scratch = &build->scratch;
  uint32_t var_count = build->ir->vars.count;
  ExprId slot = ir_slot(&build->sym.view.pool, 0);
  SymTerm* targets = ARENA_ARRAY(scratch, SymTerm, var_count);
  IrLeaf* leaves = ARENA_ARRAY(scratch, IrLeaf, var_count);
  uint32_t* values = ARENA_ARRAY(scratch, uint32_t, var_count);
  uint32_t* env = ARENA_ARRAY(&build->arena, uint32_t, var_count);
  ModelRates* out = ARENA_NEW(&build->arena, ModelRates);
  ModeScope scope;
  scope_init(&scope, build, set);
  scope.rates_given = true;
  uint32_t count = 0;
  for (uint32_t v = 0; v < var_count; v++) {
    if (set->sym->vars[v].role != SYM_ALGEBRAIC || set->sym->vars[v].order != 0) continue;
    leaves[count] = (IrLeaf){.id = v, .kind = IR_LEAF_VAR};
    targets[count] = (SymTerm){.shape = slot, .row = &leaves[count], .count = 1};
    env[count++] = build->layout.var_env[v];
  }
  out->algebraic_count = count;
  for (uint32_t v = 0; v < var_count; v++) {
    uint32_t order = set->sym->vars[v].order;
    if (set->sym->vars[v].role != SYM_STATE || order > build->layout.var_order[v]) continue;
    targets[count] = item_term(&scope, v, order);
    env[count++] = build->layout.var_env[v] + order;
  }
  scope_values(&scope, targets, count, values);
  out->program = tape_finish(&scope.graph, &build->arena, set->state_count, values, count);
  out->env = env;
  bool reads = false;
  for (uint32_t i = 0; i < out->program.input_count; i++) {
    reads |= is_rate(set, out->program.inputs[i].env);
  }
  return reads ? out : NULL;
}

// ---------------------------------------------------------------------------------------------
// the Jacobian

#define STIFF_VISITS_MAX  UINT64_C(50000000)  // work that a Jacobian may cost
#define STIFF_ENTRIES_MAX 20000000u

/// The derivatives that are not states.
static void need_derivatives(ModelBuild* build, const BuildSet* set, ModeScope* scope) {
  Arena* scratch = &build->scratch;
  ExprId slot = ir_slot(&build->sym.view.pool, 0);
  uint32_t var_count = build->ir->vars.count;
  SymTerm* targets = ARENA_ARRAY(scratch, SymTerm, var_count);
  IrLeaf* leaves = ARENA_ARRAY(scratch, IrLeaf, var_count);
  uint32_t* values = ARENA_ARRAY(scratch, uint32_t, var_count);
  uint32_t count = 0;
  for (uint32_t v = 0; v < var_count; v++) {
    const SymVar* var = &set->sym->vars[v];
    if (var->role != SYM_STATE) continue;
    leaves[count] = (IrLeaf){.id = v, .kind = IR_LEAF_VAR, .order = var->order};
    targets[count] = (SymTerm){.shape = slot, .row = &leaves[count], .count = 1};
    count++;
  }
  scope_values(scope, targets, count, values);
}

/// Registers of `rhs` that hold the unknowns: the first solution of a block has the order of the
/// equations, later ones are derivatives.
static const uint32_t* unknown_registers(ModelBuild* build, const BuildSet* set,
                                         const ModeScope* scope) {
  uint32_t count = scope->direct_unknowns.count;
  uint32_t* regs = ARENA_ARRAY(&build->arena, uint32_t, count);
  for (uint32_t k = 0; k < count; k++) {
    const DirectUnknown* unknown = &scope->direct_unknowns.data[k];
    for (uint32_t i = 0; i < set->rhs.solve_count; i++) {
      if (set->rhs.solves[i].id != unknown->block || set->rhs.solves[i].tries) continue;
      regs[k] = set->rhs.solves[i].unknowns[unknown->index];
      break;
    }
  }
  return regs;
}

/// Numbers of rows by the place of their values, which are below `bound`.
static const uint32_t* order_of_values(Arena* scratch, const uint32_t* rows, uint32_t count,
                                       uint32_t bound) {
  uint32_t* begin = ARENA_ARRAY(scratch, uint32_t, (size_t)bound + 1);
  uint32_t* order = ARENA_ARRAY(scratch, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    begin[rows[i] + 1]++;
  }
  for (uint32_t v = 0; v < bound; v++) {
    begin[v + 1] += begin[v];
  }
  for (uint32_t i = 0; i < count; i++) {
    order[begin[rows[i]]++] = i;
  }
  return order;
}

/// Pattern and outputs of the Jacobian's program; false when it grows too large. The last rows are
/// those of auxiliary unknowns, which `cut` names among the values.
static bool emit_slopes(ModelBuild* build, ModeScope* scope, const uint32_t* rows, uint32_t count,
                        const uint32_t* cut, ModelStiff* out) {
  Arena* scratch = &build->scratch;
  TapeSlopes slopes;
  tape_slopes_init(&slopes, scratch, count);
  slopes.cut = cut;
  slopes.cut_count = cut ? scope->graph.values.count : 0;
  const uint32_t minus_one = tape_const(&scope->graph, -1.0);
  BASE_VEC(uint32_t) values = {0};
  BASE_VEC(uint32_t) times = {0};
  BASE_VEC(uint32_t) columns = {0};
  BASE_VEC(uint32_t) time_rows = {0};
  uint32_t* begin = ARENA_ARRAY(&build->arena, uint32_t, (size_t)count + 1);
  // equations of one shape stand together in the graph: rows in its order repeat as they do
  BASE_VEC(TapeSlope) all = {0};
  uint32_t* from = ARENA_ARRAY(scratch, uint32_t, count);
  uint32_t* length = ARENA_ARRAY(scratch, uint32_t, count);
  const uint32_t* order = order_of_values(scratch, rows, count, scope->graph.values.count);
  for (uint32_t k = 0; k < count; k++) {
    uint32_t row = order[k];
    tape_slopes(&slopes, &scope->graph, rows[row]);
    if (slopes.visited > STIFF_VISITS_MAX || all.count > STIFF_ENTRIES_MAX) return false;
    from[row] = all.count;
    length[row] = slopes.found.count;
    for (uint32_t i = 0; i < slopes.found.count; i++) {
      base_vec_push(scratch, &all, slopes.found.data[i]);
    }
    if (row + out->auxiliary >= count) {  // an auxiliary unknown reads earlier ones only
      TapeSlope own = {.column = row, .value = minus_one};
      base_vec_push(scratch, &all, own);
      length[row]++;
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < length[i]; k++) {
      TapeSlope slope = all.data[from[i] + k];
      if (slope.column == TAPE_TIME_COLUMN) {
        base_vec_push(scratch, &times, slope.value);
        base_vec_push(&build->arena, &time_rows, i);
      } else {
        base_vec_push(scratch, &values, slope.value);
        base_vec_push(&build->arena, &columns, slope.column);
      }
    }
    begin[i + 1] = values.count;
  }
  out->begin = begin;
  out->columns = columns.data;
  out->entry_count = values.count;
  out->time_rows = time_rows.data;
  out->time_count = times.count;
  for (uint32_t i = 0; i < times.count; i++) {
    base_vec_push(scratch, &values, times.data[i]);
  }
  out->jacobian =
      tape_finish(&scope->graph, &build->arena, count - out->auxiliary, values.data, values.count);
  roll(build, &out->jacobian);
  out->jacobian.native = ARENA_NEW(&build->arena, ModelCode);
  return true;
}

/// Per value of the graph: the number of its row + 1 if it is an auxiliary unknown. NULL: there are
/// none. Their rows come behind `count` others.
static const uint32_t* cut_wide_values(ModelBuild* build, const ModeScope* scope, uint32_t count,
                                       const uint32_t** wide, uint32_t* wide_count) {
  *wide_count = tape_wide_values(&scope->graph, &build->scratch, wide);
  if (*wide_count == 0) return NULL;
  uint32_t* cut = ARENA_ARRAY(&build->scratch, uint32_t, scope->graph.values.count);
  for (uint32_t i = 0; i < *wide_count; i++) {
    cut[(*wide)[i]] = count + i + 1;
  }
  return cut;
}

const ModelStiff* build_stiff(ModelBuild* build, const BuildSet* set) {
  Arena* scratch = &build->scratch;
  ModeScope scope;
  scope_init(&scope, build, set);
  scope.direct = true;
  need_derivatives(build, set, &scope);
  const uint32_t* rhs = rhs_values(build, set, &scope);
  ModelStiff* out = ARENA_NEW(&build->arena, ModelStiff);
  out->algebraic = scope.residuals.count;
  const uint32_t count = set->state_count + out->algebraic;
  const uint32_t* wide = NULL;
  const uint32_t* cut = cut_wide_values(build, &scope, count, &wide, &out->auxiliary);
  uint32_t* rows = ARENA_ARRAY(scratch, uint32_t, (size_t)count + out->auxiliary);
  for (uint32_t i = 0; i < count; i++) {
    rows[i] = i < set->state_count ? rhs[i] : scope.residuals.data[i - set->state_count];
  }
  for (uint32_t i = 0; i < out->auxiliary; i++) {
    rows[count + i] = wide[i];
  }
  out->unknowns = unknown_registers(build, set, &scope);
  if (out->algebraic) {
    out->stage = tape_finish(&scope.graph, &build->arena, count, rows, count);
    roll(build, &out->stage);
    out->stage.native = ARENA_NEW(&build->arena, ModelCode);
  }
  bool good = emit_slopes(build, &scope, rows, count + out->auxiliary, cut, out);
  return good ? out : NULL;
}

// ---------------------------------------------------------------------------------------------
// the atoms

static void mark_row(const ModelBuild* build, uint8_t* seen, IrTerm term) {
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(build->ir, term, k);
    if (leaf.kind == IR_LEAF_ATOM) seen[leaf.id] = 1;
  }
}

/// Atoms that can change something while the mode is in force: in guards of transitions that leave
/// the present states, in their invariants, in conditions of switches that are not dormant, and in
/// the equations.
static uint32_t* relevant_atoms(ModelBuild* build, const BuildSet* set, const uint32_t* mode,
                                uint32_t* count) {
  const IrModel* ir = build->ir;
  uint8_t* seen = ARENA_ARRAY(&build->scratch, uint8_t, ir->atoms.count);
  for (uint32_t i = 0; i < set->atom_count; i++) {
    seen[set->atoms[i]] = 1;
  }
  for (uint32_t a = 0; a < ir->automata.count; a++) {
    const IrAutomaton* automaton = (IrAutomaton[]){ir_automaton(ir, a)};
    uint32_t state = automaton->state_begin + mode[a];
    const ModelState* present = &build->model.automata[a].states[mode[a]];
    for (uint32_t i = 0; i < present->outgoing_count; i++) {
      mark_row(build, seen, ir_transition(ir, present->outgoing[i]).guard);
    }
    mark_row(build, seen, ir_state(ir, state).invariant);
    bool follows = automaton->kind == IR_AUTOMATON_SWITCH && ir_automaton_is_active(ir, a, mode);
    if (follows) mark_row(build, seen, automaton->condition);
  }
  *count = 0;
  for (uint32_t i = 0; i < ir->atoms.count; i++) {
    *count += seen[i];
  }
  uint32_t* atoms = ARENA_ARRAY(&build->arena, uint32_t, *count);
  for (uint32_t i = 0, at = 0; at < *count; i++) {
    if (seen[i]) atoms[at++] = i;
  }
  return atoms;
}

static ModelProgram atom_program(ModelBuild* build, const BuildSet* set, const uint32_t* atoms,
                                 uint32_t count, bool flow, bool derivative) {
  ModeScope scope;
  scope_init(&scope, build, set);
  scope.pre_is_now = flow;
  const uint32_t* values = atom_values(&scope, atoms, count, derivative);
  ModelProgram program = tape_finish(&scope.graph, &build->arena, set->state_count, values, count);
  roll(build, &program);
  return program;
}

static bool reads_pre(const ModelBuild* build, const uint32_t* atoms, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (atom_reads_pre(build, atoms[i])) return true;
  }
  return false;
}

static AtomPrograms atom_programs(ModelBuild* build, const BuildSet* set, const uint32_t* atoms,
                                  uint32_t count) {
  if (set->programs) return *set->programs;
  AtomPrograms programs = {.g = atom_program(build, set, atoms, count, false, false)};
  arena_free(&build->scratch);
  programs.g.native = ARENA_NEW(&build->arena, ModelCode);
  programs.g_flow = programs.g;
  if (reads_pre(build, atoms, count)) {
    programs.g_flow = atom_program(build, set, atoms, count, true, false);
    programs.g_flow.native = ARENA_NEW(&build->arena, ModelCode);
  }
  programs.gdot = atom_program(build, set, atoms, count, true, true);
  arena_free(&build->scratch);
  programs.gdot.native = ARENA_NEW(&build->arena, ModelCode);
  programs.g_flow.slices = build_output_slices(build, &programs.g_flow);
  programs.gdot.slices = build_output_slices(build, &programs.gdot);
  return programs;
}

bool build_is_shared(const ModelBuild* build, const BuildSet* set) {
  return set->mode_count >= SHARE_FROM || has_local_events(build);
}

/// The relations that lead from equations to those in their place, and back.
static void list_complementary(ModelBuild* build, const SymMode* sym, ModelMode* mode) {
  uint32_t* atoms = ARENA_ARRAY(&build->arena, uint32_t, 2 * (size_t)sym->equation_count);
  for (uint32_t i = 0; i < sym->equation_count; i++) {
    const SymPartner* partner = &sym->partners[i];
    if (partner->equation == IR_NONE) continue;
    if (partner->leave != IR_NONE) atoms[mode->complementary_count++] = partner->leave;
    if (partner->back != IR_NONE) atoms[mode->complementary_count++] = partner->back;
  }
  mode->complementary = atoms;
}

static ModelMode* mode_of_atoms(ModelBuild* build, BuildSet* set, const uint32_t* atoms,
                                uint32_t count) {
  ModelMode* result = ARENA_NEW(&build->arena, ModelMode);
  AtomPrograms programs = atom_programs(build, set, atoms, count);
  *result = (ModelMode){.id = set->id,
                        .state_count = set->state_count,
                        .state_env = set->state_env,
                        .vars = set->vars,
                        .held_count = set->held_count,
                        .first_held = set->first_held,
                        .rhs = set->rhs,
                        .full = set->full,
                        .full_env = set->full_env,
                        .atoms = atoms,
                        .atom_count = count,
                        .equation_atoms = set->atoms,
                        .equation_atom_count = set->atom_count,
                        .atom_slice = build_slices(build, set, atoms, count),
                        .provenance = build_provenance(build, set),
                        .atom_class = build_classes(build, &programs.g_flow),
                        .slope_class = build_classes(build, &programs.gdot),
                        .g = programs.g,
                        .g_flow = programs.g_flow,
                        .gdot = programs.gdot,
                        .implicit = set->implicit,
                        .relaxed = set->sym->partners != NULL,
                        .impulse = build_impulse(build, set, atoms, count)};
  if (result->relaxed) list_complementary(build, set->sym, result);
  result->forms = build_forms(build, &result->g_flow, result->atom_class);
  result->atom_states = build_states_read(build, &result->g_flow);
  return result;
}

/// The mode of all atoms of the model.
static const ModelMode* shared_mode(ModelBuild* build, BuildSet* set) {
  if (set->shared) return set->shared;
  uint32_t count = build->ir->atoms.count;
  uint32_t* atoms = ARENA_ARRAY(&build->arena, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    atoms[i] = i;
  }
  ModelMode* mode = mode_of_atoms(build, set, atoms, count);
  mode->shared = true;
  set->shared = mode;
  return mode;
}

const ModelMode* build_mode(ModelBuild* build, BuildSet* set, const uint32_t* mode) {
  build_compile_set(build, set);
  arena_free(&build->scratch);  // what the equations needed is not needed for the atoms
  if (build_is_shared(build, set)) return shared_mode(build, set);
  uint32_t count = 0;
  const uint32_t* atoms = relevant_atoms(build, set, mode, &count);
  return mode_of_atoms(build, set, atoms, count);
}
