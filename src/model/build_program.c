// SPDX-License-Identifier: MIT
//
// Terms into programs.
#include "model/build_internal.h"

static uint32_t variable_env(const ModelBuild* build, IrLeaf leaf) {
  uint32_t env = build->layout.var_env[leaf.id] + leaf.order;
  return leaf.when == IR_PRE ? build->layout.env_count + env : env;
}

static uint32_t leaf_value(const ModelBuild* build, TapeGraph* graph, const BuildScope* scope,
                           IrLeaf leaf) {
  const BuildLayout* layout = &build->layout;
  switch ((IrLeafKind)leaf.kind) {
  case IR_LEAF_NUMBER: return tape_const(graph, build->ir->numbers.data[leaf.id]);
  case IR_LEAF_PARAM: return tape_input(graph, layout->param_begin + leaf.id);
  case IR_LEAF_VAR:
    if (scope) return scope->variable(scope, graph, leaf);
    return tape_input(graph, variable_env(build, leaf));
  case IR_LEAF_ATOM: return tape_input(graph, layout->atom_begin + leaf.id);
  case IR_LEAF_MODE: {
    IrModeTest test = build->ir->mode_tests.data[leaf.id];
    uint32_t state = build->ir->automata.data[test.automaton].state_begin + test.state;
    return tape_input(graph, layout->test_env[state]);
  }
  case IR_LEAF_ENTRY:
    if (leaf.id == IR_NONE) return tape_input(graph, layout->start_time_env);
    return tape_input(graph, layout->entry_env[leaf.id]);
  }
  return tape_const(graph, 0.0);
}

uint32_t build_emit(ModelBuild* build, TapeGraph* graph, const BuildScope* scope, SymTerm term) {
  const SymShape* shape = sym_shape(&build->sym, term.shape);
  build->step_values.count = 0;
  base_vec_reserve(&build->arena, &build->step_values, shape->count);
  uint32_t* values = build->step_values.data;
  for (uint32_t i = 0; i < shape->count; i++) {
    const SymStep* step = &shape->steps[i];
    IrOp op = (IrOp)step->op;
    if (op == IR_SLOT) {
      values[i] = leaf_value(build, graph, scope, term.row[step->arg[0]]);
    } else if (op == IR_CONST) {
      values[i] = tape_const(graph, step->value);
    } else if (op == IR_TIME) {
      values[i] = tape_time(graph);
    } else if (op == IR_TABLE) {
      values[i] = tape_table(graph, step->arg[0], values[step->arg[1]]);
    } else {
      uint32_t arity = ir_op_arity(op);
      uint32_t a = arity > 0 ? values[step->arg[0]] : 0;
      uint32_t b = arity > 1 ? values[step->arg[1]] : 0;
      uint32_t c = arity > 2 ? values[step->arg[2]] : 0;
      values[i] = tape_op(graph, op, a, b, c);
    }
  }
  return values[shape->count - 1];
}

ModelProgram build_program(ModelBuild* build, IrTerm term) {
  tape_reset(&build->graph);
  uint32_t value = ir_term_present(term)
                       ? build_emit(build, &build->graph, NULL, sym_term(&build->sym, term))
                       : tape_const(&build->graph, 0.0);
  ModelProgram program = tape_finish(&build->graph, &build->arena, 0, &value, 1);
  if (program.reg_count > build->model.scratch_regs) build->model.scratch_regs = program.reg_count;
  return program;
}

const uint32_t* build_row_atoms(Arena* arena, const IrLeaf* row, uint32_t count, uint32_t* found) {
  *found = 0;
  for (uint32_t k = 0; k < count; k++) {
    *found += row[k].kind == IR_LEAF_ATOM;
  }
  if (*found == 0) return NULL;
  uint32_t* atoms = ARENA_ARRAY(arena, uint32_t, *found);
  // rows of guards are short, and their leaves nearly in order: insertion
  uint32_t kept = 0;
  for (uint32_t k = 0; k < count; k++) {
    if (row[k].kind != IR_LEAF_ATOM) continue;
    uint32_t at = kept;
    while (at > 0 && atoms[at - 1] > row[k].id) {
      at--;
    }
    if (at > 0 && atoms[at - 1] == row[k].id) continue;
    for (uint32_t move = kept; move > at; move--) {
      atoms[move] = atoms[move - 1];
    }
    atoms[at] = row[k].id;
    kept++;
  }
  *found = kept;
  return atoms;
}

uint32_t build_line(const ModelBuild* build, Span span) {
  if (!build->ir->source || build->ir->source->line_count == 0) return 0;
  return source_line_number(build->ir->source, span.begin);
}
