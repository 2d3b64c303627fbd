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
    uint32_t state = ir_automaton(build->ir, test.automaton).state_begin + test.state;
    return tape_input(graph, layout->test_env[state]);
  }
  case IR_LEAF_ENTRY:
    if (leaf.id == IR_NONE) return tape_input(graph, layout->start_time_env);
    return tape_input(graph, layout->entry_env[leaf.id]);
  }
  return tape_const(graph, 0.0);
}

/// The operations of a term. With `slots` the leaves are these values already.
static uint32_t emit_steps(ModelBuild* build, TapeGraph* graph, const BuildScope* scope,
                           SymTerm term, const uint32_t* slots) {
  const SymShape* shape = sym_shape(&build->sym, term.shape);
  build->step_values.count = 0;
  base_vec_reserve(&build->arena, &build->step_values, shape->count);
  uint32_t* values = build->step_values.data;
  for (uint32_t i = 0; i < shape->count; i++) {
    const SymStep* step = &shape->steps[i];
    IrOp op = (IrOp)step->op;
    if (op == IR_SLOT) {
      uint32_t slot = step->arg[0];
      // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): terms without slots have a row
      values[i] = slots ? slots[slot] : leaf_value(build, graph, scope, term.row[slot]);
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

uint32_t build_emit(ModelBuild* build, TapeGraph* graph, const BuildScope* scope, SymTerm term) {
  return emit_steps(build, graph, scope, term, NULL);
}

// ---------------------------------------------------------------------------------------------
// terms over the environment

#define TABLE_INPUTS 6  // a table of 64 truths
#define TABLE_REGS   64

/// Truths of all combinations of a few inputs, by the program itself.
static void tabulate(ModelShape* shape) {
  const ModelProgram* program = &shape->program;
  if (program->input_count > TABLE_INPUTS || program->reg_count > TABLE_REGS) return;
  for (uint32_t i = 0; i < program->code_count; i++) {
    const ModelInstr* pc = &program->code[i];
    bool logical = pc->op == MODEL_OP_AND || pc->op == MODEL_OP_OR || pc->op == MODEL_OP_NOT ||
                   pc->op == MODEL_OP_MOVE || pc->op == MODEL_OP_END;
    if (!logical) return;
  }
  double regs[TABLE_REGS] = {0.0};
  ModelContext context = {.tables = NULL};
  for (uint32_t truths = 0; truths < 1u << program->input_count; truths++) {
    double env[TABLE_INPUTS] = {0.0};
    ModelInput inputs[TABLE_INPUTS];
    for (uint32_t k = 0; k < program->input_count; k++) {
      env[k] = truths >> k & 1 ? 1.0 : 0.0;
      inputs[k] = (ModelInput){program->inputs[k].reg, k};
    }
    ModelProgram local = *program;
    local.inputs = inputs;
    local.native = NULL;
    double truth = 0.0;
    model_program_bind(&local, env, regs);
    model_program_run(&local, &context, regs, 0.0, NULL, &truth);
    if (truth != 0.0) shape->table |= (uint64_t)1 << truths;
  }
  shape->tabled = true;
}

/// Where the value of a leaf stands in the environment.
static uint32_t leaf_env(const ModelBuild* build, IrLeaf leaf) {
  const BuildLayout* layout = &build->layout;
  switch ((IrLeafKind)leaf.kind) {
  case IR_LEAF_NUMBER: return MODEL_ARG_NUMBER | leaf.id;
  case IR_LEAF_PARAM: return layout->param_begin + leaf.id;
  case IR_LEAF_VAR: return variable_env(build, leaf);
  case IR_LEAF_ATOM: return layout->atom_begin + leaf.id;
  case IR_LEAF_MODE: {
    IrModeTest test = build->ir->mode_tests.data[leaf.id];
    return layout->test_env[ir_automaton(build->ir, test.automaton).state_begin + test.state];
  }
  case IR_LEAF_ENTRY:
    return leaf.id == IR_NONE ? layout->start_time_env : layout->entry_env[leaf.id];
  }
  return 0;
}

/// Whether the program depends on the value of a number: x^2 is a square.
static bool powers_by_slot(const SymShape* shape) {
  for (uint32_t i = 0; i < shape->count; i++) {
    const SymStep* step = &shape->steps[i];
    if (step->op == IR_POW && shape->steps[step->arg[1]].op == IR_SLOT) return true;
  }
  return false;
}

static ModelShape* compile_shape(ModelBuild* build, SymTerm term) {
  TapeGraph* graph = &build->graph;
  tape_reset(graph);
  bool own_numbers = powers_by_slot(sym_shape(&build->sym, term.shape));
  uint32_t* slots = ARENA_ARRAY(&build->scratch, uint32_t, term.count);
  for (uint32_t k = 0; k < term.count; k++) {
    bool number = own_numbers && term.row[k].kind == IR_LEAF_NUMBER;
    slots[k] =
        number ? tape_const(graph, build->ir->numbers.data[term.row[k].id]) : tape_input(graph, k);
  }
  uint32_t value = emit_steps(build, graph, NULL, term, slots);
  ModelShape* shape = ARENA_NEW(&build->arena, ModelShape);
  shape->program = tape_finish(graph, &build->arena, 0, &value, 1);
  shape->steps = model_program_steps(&shape->program);
  tabulate(shape);
  if (shape->program.reg_count > build->model.scratch_regs) {
    build->model.scratch_regs = shape->program.reg_count;
  }
  // programs with numbers of their own serve this term alone
  if (!own_numbers) {
    uint32_t index = term.shape.index;
    if (index >= build->shapes.count) {
      // NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are meant
      base_vec_reserve(&build->arena, &build->shapes, index + 1 - build->shapes.count);
      build->shapes.count = index + 1;
    }
    build->shapes.data[index] = shape;
  }
  return shape;
}

ModelTerm build_term(ModelBuild* build, IrTerm given) {
  ExprId zero = sym_number(&build->sym, 0.0);
  SymTerm term = ir_term_present(given) ? sym_term(&build->sym, given) : (SymTerm){.shape = zero};
  uint32_t index = term.shape.index;
  const ModelShape* shape = index < build->shapes.count ? build->shapes.data[index] : NULL;
  if (!shape) shape = compile_shape(build, term);
  uint32_t* args = ARENA_ARRAY(&build->arena, uint32_t, term.count);
  for (uint32_t k = 0; k < term.count; k++) {
    args[k] = leaf_env(build, term.row[k]);
  }
  return (ModelTerm){.shape = shape, .args = args};
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

Str build_place(const ModelBuild* build, Arena* arena, Span span) {
  const Source* source = build->ir->source;
  const SourcePart* part = source ? source_part(source, source_shown(source, span).begin) : NULL;
  Str file = part ? part->asked : (Str){0};
  return str_format(arena, "line %u%s%.*s", build_line(build, span), part ? " of " : "",
                    STR_ARGS(file));
}

uint32_t build_line(const ModelBuild* build, Span span) {
  if (!build->ir->source || build->ir->source->line_count == 0) return 0;
  return source_line_number(build->ir->source, span.begin);
}
