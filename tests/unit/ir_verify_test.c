// SPDX-License-Identifier: MIT
#include "ir_build.h"
#include "test.h"

/// A model with at least one of everything, in canonical order.
static void build_everything(IrModel* m) {
  Arena* arena = m->arena;
  add_param(m, "k", "2.5");
  add_param(m, "k2", "2*k + 3.5");
  add_var(m, "n", IR_VAR_DISCRETE);
  uint32_t hidden = add_var(m, "cell", IR_VAR_DISCRETE);
  m->vars.data[hidden].hidden = true;
  uint32_t x = add_var(m, "x", IR_VAR_UNKNOWN);
  m->vars.data[x].unit = names_intern(&m->names, STR_LIT("m"));
  add_start(m, "x", 0, IR_START_FIXED, "k");
  add_start(m, "x", 1, IR_START_GUESS, "x + 1");
  add_start(m, "cell", 0, IR_START_FIXED, "floor(x)");
  add_data(m, "curve");

  uint32_t main = add_automaton(m, "main");
  add_state(m, main, "init");
  add_state(m, main, "down");
  add_state(m, main, "deep");
  uint32_t other = add_automaton(m, "other");
  add_state(m, other, "init");
  add_switch(m, "if@1:1", IR_NONE, "[x > 0] or @main.down", NULL);
  add_equation(m, 0, "x'' = -k*x + if(@`if@1:1`.true, 1, 0)*sin(time)");
  add_equation(m, 0, "force: F*x = y + cell");
  add_equation(m, 0, "force: y = 2.75");
  m->states.data[1].action_count = 2;
  add_action(m, "x", IR_ACTION_SET, "-pre(x)");
  add_action(m, "n", IR_ACTION_SET, "n + uniform(0, 1)");
  m->states.data[1].invariant = read_term(m, "[x >= -1]");
  m->states.data[1].stop = STR_LIT("text");
  uint32_t down = add_body(m, main, 1, IR_NONE);
  add_delete(m, down, "force");
  add_equation(m, down, "F = 0");
  add_equation(m, add_body(m, main, 2, down), "y = 0");
  uint32_t bodies[2];
  add_switch(m, "if@2:1", down, "[n > 3]", bodies);
  add_equation(m, bodies[1], "y' = 1");
  uint32_t inner[2];
  add_switch(m, "if@3:1", bodies[1], "[n > 4]", inner);
  uint32_t mover = add_automaton(m, "cell");
  m->automata.data[mover].hidden = true;
  add_state(m, mover, "init");
  add_transition(m, main, 0, 1, "unilateral[x <= 0] and not @main.down");
  m->atoms.data[m->atoms.count - 1].eps = read_term(m, "k/1000");
  m->atoms.data[m->atoms.count - 1].gamma = read_term(m, "0.75");
  add_action(m, "n", IR_ACTION_SET, "5");
  m->transitions.data[0].action_count = 1;
  add_transition(m, main, 1, 2, NULL);
  add_transition(m, mover, 0, 0, "[x > cell]");
  add_action(m, "cell", IR_ACTION_SET, "cell + 1");
  m->transitions.data[2].action_count = 1;

  IrSchedule s = {
      .count = -1, .action_begin = m->actions.count, .action_count = 1, .goto_count = 2};
  s.start = read_term(m, "0.5");
  s.period = read_term(m, "k");
  add_action(m, "n", IR_ACTION_SET, "0");
  base_vec_push(arena, &m->gotos, (IrGoto){main, 0, 0});
  base_vec_push(arena, &m->gotos, (IrGoto){other, 0, 0});
  base_vec_push(arena, &m->schedules, s);
  IrMacro macro = {.name = names_intern(&m->names, STR_LIT("kinetic"))};
  macro.value = read_term(m, "k*x'^2/2");
  base_vec_push(arena, &m->macros, macro);
  m->energy = read_term(m, "k*x'^2/2");
  add_equation(m, 0, "z = table(curve, x) + @main.t0");
  ir_canonicalise(m);
}

TEST(a_valid_model_is_valid) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  build_everything(&m);
  check_valid(&m, &arena, "everything");
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// mistakes that must be found

typedef struct Mistake {
  const char* name;
  void (*make)(IrModel* m);
  const char* why;  // part of the message
} Mistake;

#define MISTAKE(name, ...) \
  static void name(IrModel* m) { \
    __VA_ARGS__; \
  }

static uint32_t find_op(const IrModel* m, IrOp op) {
  for (uint32_t i = 1; i < m->pool.nodes.count; i++) {
    if (m->pool.nodes.data[i].op == op) return i;
  }
  return 0;
}

MISTAKE(bad_op, m->pool.nodes.data[2].op = IR_OP_COUNT)
MISTAKE(bad_nil, m->pool.nodes.data[2].op = IR_NIL)
MISTAKE(bad_flags, m->pool.nodes.data[2].flags = 1)
MISTAKE(bad_arg, m->pool.nodes.data[find_op(m, IR_NEG)].arg[0] = find_op(m, IR_NEG))
MISTAKE(bad_unused, m->pool.nodes.data[find_op(m, IR_NEG)].arg[1] = 1)
MISTAKE(bad_value, m->pool.nodes.data[find_op(m, IR_NEG)].value = 1)
MISTAKE(bad_table, m->pool.nodes.data[find_op(m, IR_TABLE)].arg[0] = 1)
MISTAKE(bad_type, m->pool.nodes.data[find_op(m, IR_NOT)].op = IR_NEG)
MISTAKE(bad_first, m->pool.nodes.data[0].op = IR_CONST)
MISTAKE(bad_hashes, m->pool.hashes.count--)
MISTAKE(bad_count, m->leaves.count = m->leaves.capacity + 1)
MISTAKE(bad_data_pointer, m->params.data = NULL)
MISTAKE(bad_leaf_kind, m->leaves.data[0].kind = 99)
MISTAKE(bad_leaf_id, m->leaves.data[0].id = 1000)
MISTAKE(bad_leaf_when, m->leaves.data[0].when = 3)
MISTAKE(bad_leaf_order, m->leaves.data[0].order = 3)
MISTAKE(bad_leaf_type, m->leaves.data[m->automata.data[2].condition.leaf_begin].kind = IR_LEAF_VAR)
MISTAKE(bad_param_leaf, m->leaves.data[m->params.data[1].value.leaf_begin].kind = IR_LEAF_VAR)
MISTAKE(bad_row, m->equations.data[0].term.leaf_begin = m->leaves.count)
MISTAKE(bad_row_length, m->equations.data[0].term.leaf_count--)
MISTAKE(bad_shape, m->equations.data[0].term.shape.index = m->pool.nodes.count)
MISTAKE(bad_root, m->equations.data[0].term = m->params.data[0].value)
MISTAKE(missing_term, m->equations.data[0].term.shape.index = 0)
MISTAKE(missing_start, m->schedules.data[0].start = (IrTerm){{0}, 0, 0})
MISTAKE(bad_order_of_vars, IrVar t = m->vars.data[0]; m->vars.data[0] = m->vars.data[1];
        m->vars.data[1] = t)
MISTAKE(bad_hidden_first, m->vars.data[0].hidden = true)
MISTAKE(bad_var_kind, m->vars.data[0].kind = 7)
MISTAKE(bad_var_name, m->vars.data[0].name = 0)
MISTAKE(bad_unit, m->vars.data[0].unit = 100000)
MISTAKE(bad_nominal, m->vars.data[0].nominal = -1)
MISTAKE(bad_nominal_nan, m->vars.data[0].nominal = (double)NAN)
MISTAKE(bad_select, m->vars.data[0].select = 50)
MISTAKE(bad_max_order, m->vars.data[0].max_order = 7)
MISTAKE(bad_start_range, m->vars.data[1].start_count = 1)
MISTAKE(bad_start_kind, m->starts.data[0].kind = 9)
MISTAKE(bad_start_var, m->starts.data[0].var = 0)
MISTAKE(param_cycle, IrLeaf* l = &m->leaves.data[m->params.data[1].value.leaf_begin]; l->id = 1)
MISTAKE(bad_lhs, m->equations.data[0].lhs_var = 0)
MISTAKE(bad_lhs_order, m->equations.data[1].lhs_order = 5)
MISTAKE(bad_label, m->equations.data[0].label = 100000)
MISTAKE(bad_body, m->equations.data[0].body = 1)
MISTAKE(bad_body_range, m->bodies.data[0].equation_count--)
MISTAKE(bad_owner, m->bodies.data[1].automaton = 77)
MISTAKE(bad_owner_state, m->bodies.data[1].state = 2)
MISTAKE(bad_like, m->bodies.data[2].parent = 77)
MISTAKE(like_cycle, m->bodies.data[1].parent = 2)
MISTAKE(like_global, m->bodies.data[2].parent = 0)
MISTAKE(bad_global, m->bodies.data[0].automaton = 0)
MISTAKE(no_bodies, m->bodies.count = 0)
MISTAKE(bad_atom_type, m->atoms.data[0].type = 9)
MISTAKE(bad_relation, m->atoms.data[0].relation = 9)
MISTAKE(bad_continuous, m->atoms.data[0].continuous = !m->atoms.data[0].continuous)
MISTAKE(bad_automaton_kind, m->automata.data[0].kind = 9)
MISTAKE(bad_automaton_order, uint32_t t = m->automata.data[0].name;
        m->automata.data[0].name = m->automata.data[1].name; m->automata.data[1].name = t)
MISTAKE(bad_parent, m->automata.data[3].parent_body = 77)
MISTAKE(inner_first, m->automata.data[3].parent_body = m->automata.data[4].parent_body + 2)
MISTAKE(bad_state_range, m->automata.data[0].state_count = 1000)
MISTAKE(bad_state_owner, m->states.data[0].automaton = 1)
MISTAKE(bad_state_body, m->states.data[0].body = 1)
MISTAKE(bad_target, m->transitions.data[0].to = 3)
MISTAKE(bad_source, m->from_states.data[0] = 3)
MISTAKE(bad_source_range, m->transitions.data[0].from_count = 0)
MISTAKE(bad_action_range, m->states.data[1].action_count = 1)
MISTAKE(bad_action_var, m->actions.data[0].var = 77)
MISTAKE(bad_action_kind, m->actions.data[0].kind = 7)
MISTAKE(bad_goto, m->gotos.data[0].state = 9)
MISTAKE(bad_goto_order, m->gotos.data[0].automaton = 1)
MISTAKE(bad_schedule_count, m->schedules.data[0].count = -2)
MISTAKE(bad_mode_test, m->mode_tests.data[0].state = 3)
MISTAKE(bad_interpolation, m->data.data[0].interpolation = 3)
MISTAKE(bad_data_count, m->data.data[0].count = 0)
MISTAKE(bad_macro_name, m->macros.data[0].name = 0)
MISTAKE(bad_span, m->equations.data[0].span = (Span){5, 4})
MISTAKE(random_in_equation, m->energy = m->actions.data[0].value)

static const Mistake mistakes[] = {
    {"operator", bad_op, "operator"},
    {"nil", bad_nil, "operator"},
    {"flags", bad_flags, "flags"},
    {"argument", bad_arg, "earlier"},
    {"unused argument", bad_unused, "unused"},
    {"value", bad_value, "constant"},
    {"table", bad_table, "data"},
    {"type of argument", bad_type, "type"},
    {"first node", bad_first, "nil"},
    {"hashes", bad_hashes, "hash"},
    {"count", bad_count, "array"},
    {"null", bad_data_pointer, "array"},
    {"kind of leaf", bad_leaf_kind, "kind"},
    {"leaf", bad_leaf_id, "range"},
    {"when", bad_leaf_when, ""},
    {"order", bad_leaf_order, ""},
    {"type of leaf", bad_leaf_type, ""},
    {"parameter", bad_param_leaf, "stand here"},
    {"row", bad_row, "range"},
    {"length of row", bad_row_length, "slots"},
    {"shape", bad_shape, "shape"},
    {"root", bad_root, "type"},
    {"missing term", missing_term, "missing"},
    {"missing start", missing_start, "missing"},
    {"order of variables", bad_order_of_vars, "natural order"},
    {"hidden first", bad_hidden_first, "sorted"},
    {"kind of variable", bad_var_kind, "kind"},
    {"name", bad_var_name, "name"},
    {"unit", bad_unit, "name"},
    {"nominal", bad_nominal, "nominal"},
    {"nominal nan", bad_nominal_nan, "nominal"},
    {"select", bad_select, "wish"},
    {"max order", bad_max_order, "order"},
    {"start range", bad_start_range, ""},
    {"start kind", bad_start_kind, "kind"},
    {"start var", bad_start_var, "sorted"},
    {"cycle of parameters", param_cycle, "itself"},
    {"left side", bad_lhs, "left side"},
    {"order of left side", bad_lhs_order, "left side"},
    {"label", bad_label, "name"},
    {"body", bad_body, "sorted"},
    {"body range", bad_body_range, ""},
    {"owner", bad_owner, ""},
    {"owner state", bad_owner_state, ""},
    {"like", bad_like, "like"},
    {"like cycle", like_cycle, "like itself"},
    {"like global", like_global, "like"},
    {"global", bad_global, "global"},
    {"no bodies", no_bodies, ""},
    {"atom type", bad_atom_type, "type"},
    {"relation", bad_relation, "relation"},
    {"continuous", bad_continuous, "reads"},
    {"automaton kind", bad_automaton_kind, ""},
    {"automaton order", bad_automaton_order, "order"},
    {"parent", bad_parent, "body"},
    {"inner first", inner_first, ""},
    {"state range", bad_state_range, "range"},
    {"state owner", bad_state_owner, "automaton"},
    {"state body", bad_state_body, "body"},
    {"target", bad_target, "target"},
    {"source", bad_source, "source"},
    {"source range", bad_source_range, ""},
    {"action range", bad_action_range, "range"},
    {"action var", bad_action_var, "variable"},
    {"action kind", bad_action_kind, "kind"},
    {"goto", bad_goto, "state"},
    {"goto order", bad_goto_order, ""},
    {"schedule count", bad_schedule_count, "firings"},
    {"mode test", bad_mode_test, "state"},
    {"interpolation", bad_interpolation, "interpolation"},
    {"data count", bad_data_count, "points"},
    {"macro name", bad_macro_name, "name"},
    {"span", bad_span, "outside"},
    {"random", random_in_equation, ""},
};

TEST(mistakes_are_found) {
  FOR_CASES(c, mistakes) {
    TEST_ARENA(arena);
    IrModel* m = ARENA_NEW(&arena, IrModel);
    ir_model_init(m, &arena, NULL);
    build_everything(m);
    c->make(m);
    Str why = {NULL, 0};
    CHECK(!ir_verify(m, &arena, &why), c->name);
    CHECK(why.length > 0 && strstr(why.data, c->why), why.length ? why.data : c->name);
    arena_free(&arena);
  }
}

// ---------------------------------------------------------------------------------------------
// random damage

/// A number somewhere in the model. Pointers and their lengths are left alone, and truth values,
/// which the compiler takes for granted.
typedef struct Field {
  void* at;
  size_t size;
} Field;

typedef struct Fields {
  Arena* arena;
  BASE_VEC(Field) list;
} Fields;

static void add_field(Fields* f, void* at, size_t size) {
  base_vec_push(f->arena, &f->list, (Field){at, size});
}

#define FIELD(f, lvalue) add_field((f), &(lvalue), sizeof(lvalue))
#define EACH(m, vec)     for (uint32_t i = 0; i < (m)->vec.count; i++)

static void term_fields(Fields* f, IrTerm* term) {
  FIELD(f, term->shape.index);
  FIELD(f, term->leaf_begin);
  FIELD(f, term->leaf_count);
}

static void expression_fields(Fields* f, IrModel* m) {
  EACH(m, pool.nodes) {
    IrNode* n = &m->pool.nodes.data[i];
    FIELD(f, n->op);
    FIELD(f, n->flags);
    FIELD(f, n->arg[0]);
    FIELD(f, n->arg[1]);
    FIELD(f, n->arg[2]);
    FIELD(f, n->value);
  }
  EACH(m, leaves) {
    IrLeaf* l = &m->leaves.data[i];
    FIELD(f, l->id);
    FIELD(f, l->kind);
    FIELD(f, l->order);
    FIELD(f, l->when);
    FIELD(f, l->pad);
  }
  EACH(m, params) {
    FIELD(f, m->params.data[i].name);
    term_fields(f, &m->params.data[i].value);
  }
  EACH(m, macros) {
    FIELD(f, m->macros.data[i].name);
    term_fields(f, &m->macros.data[i].value);
  }
  term_fields(f, &m->energy);
}

static void variable_fields(Fields* f, IrModel* m) {
  EACH(m, vars) {
    IrVar* v = &m->vars.data[i];
    FIELD(f, v->name);
    FIELD(f, v->kind);
    FIELD(f, v->select);
    FIELD(f, v->max_order);
    FIELD(f, v->unit);
    FIELD(f, v->nominal);
    FIELD(f, v->start_begin);
    FIELD(f, v->start_count);
    FIELD(f, v->span.begin);
  }
  EACH(m, starts) {
    IrStart* s = &m->starts.data[i];
    FIELD(f, s->var);
    FIELD(f, s->order);
    FIELD(f, s->kind);
    term_fields(f, &s->value);
  }
  EACH(m, equations) {
    IrEquation* e = &m->equations.data[i];
    term_fields(f, &e->term);
    FIELD(f, e->body);
    FIELD(f, e->label);
    FIELD(f, e->lhs_var);
    FIELD(f, e->lhs_order);
  }
  EACH(m, deletes) {
    FIELD(f, m->deletes.data[i].body);
    FIELD(f, m->deletes.data[i].label);
  }
  EACH(m, bodies) {
    IrBody* b = &m->bodies.data[i];
    FIELD(f, b->automaton);
    FIELD(f, b->state);
    FIELD(f, b->parent);
    FIELD(f, b->equation_begin);
    FIELD(f, b->equation_count);
    FIELD(f, b->delete_begin);
    FIELD(f, b->delete_count);
  }
}

static void event_fields(Fields* f, IrModel* m) {
  EACH(m, atoms) {
    IrAtom* a = &m->atoms.data[i];
    term_fields(f, &a->g);
    term_fields(f, &a->eps);
    term_fields(f, &a->gamma);
    FIELD(f, a->type);
    FIELD(f, a->relation);
  }
  EACH(m, mode_tests) {
    FIELD(f, m->mode_tests.data[i].automaton);
    FIELD(f, m->mode_tests.data[i].state);
  }
  EACH(m, automata) {
    IrAutomaton* a = &m->automata.data[i];
    FIELD(f, a->name);
    FIELD(f, a->kind);
    term_fields(f, &a->condition);
    FIELD(f, a->parent_body);
    FIELD(f, a->state_begin);
    FIELD(f, a->state_count);
    FIELD(f, a->transition_begin);
    FIELD(f, a->transition_count);
  }
  EACH(m, states) {
    IrState* s = &m->states.data[i];
    FIELD(f, s->name);
    FIELD(f, s->automaton);
    FIELD(f, s->body);
    FIELD(f, s->action_begin);
    FIELD(f, s->action_count);
    term_fields(f, &s->invariant);
  }
  EACH(m, transitions) {
    IrTransition* t = &m->transitions.data[i];
    FIELD(f, t->automaton);
    FIELD(f, t->from_begin);
    FIELD(f, t->from_count);
    FIELD(f, t->to);
    FIELD(f, t->action_begin);
    FIELD(f, t->action_count);
    term_fields(f, &t->guard);
  }
  EACH(m, from_states) FIELD(f, m->from_states.data[i]);
  EACH(m, actions) {
    IrAction* a = &m->actions.data[i];
    FIELD(f, a->var);
    FIELD(f, a->order);
    FIELD(f, a->kind);
    term_fields(f, &a->value);
  }
  EACH(m, gotos) {
    FIELD(f, m->gotos.data[i].automaton);
    FIELD(f, m->gotos.data[i].state);
  }
  EACH(m, schedules) {
    IrSchedule* s = &m->schedules.data[i];
    term_fields(f, &s->start);
    term_fields(f, &s->period);
    FIELD(f, s->count);
    FIELD(f, s->action_begin);
    FIELD(f, s->action_count);
    FIELD(f, s->goto_begin);
    FIELD(f, s->goto_count);
  }
}

static void count_fields(Fields* f, IrModel* m) {
  FIELD(f, m->pool.nodes.count);
  FIELD(f, m->pool.hashes.count);
  FIELD(f, m->leaves.count);
  FIELD(f, m->numbers.count);
  FIELD(f, m->params.count);
  FIELD(f, m->vars.count);
  FIELD(f, m->starts.count);
  FIELD(f, m->equations.count);
  FIELD(f, m->deletes.count);
  FIELD(f, m->bodies.count);
  FIELD(f, m->atoms.count);
  FIELD(f, m->mode_tests.count);
  FIELD(f, m->automata.count);
  FIELD(f, m->states.count);
  FIELD(f, m->transitions.count);
  FIELD(f, m->from_states.count);
  FIELD(f, m->actions.count);
  FIELD(f, m->gotos.count);
  FIELD(f, m->schedules.count);
  FIELD(f, m->macros.count);
  FIELD(f, m->names.names.count);
}

static void damage(Field field, uint64_t* seed) {
  uint64_t value = 0;
  memcpy(&value, field.at, field.size);
  switch (test_random(seed) % 5) {
  case 0: value = test_random(seed) % 8; break;
  case 1: value = test_random(seed); break;
  case 2: value++; break;
  case 3: value--; break;
  default: value = test_random(seed) % 2 ? UINT64_MAX : test_random(seed) % 64; break;
  }
  memcpy(field.at, &value, field.size);
}

/// The verifier must never crash; and what it accepts, the others must accept too.
static void use_accepted(IrModel* m, Arena* arena) {
  print_model(m, arena);
  uint32_t* mode = ARENA_ARRAY(arena, uint32_t, m->automata.count);
  uint32_t* out = ARENA_ARRAY(arena, uint32_t, m->equations.count);
  IrConflict conflict;
  for (uint32_t state = 0; state < 3; state++) {
    for (uint32_t i = 0; i < m->automata.count; i++) {
      mode[i] = state % m->automata.data[i].state_count;
    }
    ir_mode_equations(m, arena, mode, out, &conflict);
    for (uint32_t i = 0; i < m->automata.count; i++) {
      ir_automaton_is_active(m, i, mode);
    }
  }
  ir_canonicalise(m);
  Str why = {NULL, 0};
  CHECK(ir_verify(m, arena, &why), why.length ? why.data : "after canonical order");
}

TEST(random_damage_never_crashes) {
  TEST_ARENA(arena);
  IrModel* m = ARENA_NEW(&arena, IrModel);
  ir_model_init(m, &arena, NULL);
  build_everything(m);
  Fields fields = {.arena = &arena};
  expression_fields(&fields, m);
  variable_fields(&fields, m);
  event_fields(&fields, m);
  count_fields(&fields, m);
  uint64_t seed = 11;
  uint32_t accepted = 0;
  for (uint32_t round = 0; round < 40000; round++) {
    uint64_t before[3];
    Field hit[3];
    uint32_t hits = 1 + (uint32_t)(test_random(&seed) % 3);
    for (uint32_t k = 0; k < hits; k++) {
      hit[k] = fields.list.data[test_random(&seed) % fields.list.count];
      memcpy(&before[k], hit[k].at, hit[k].size);
      damage(hit[k], &seed);
    }
    jmp_buf oom;
    Arena scratch;
    arena_init(&scratch, NULL, &oom);
    Str why = {NULL, 0};
    bool valid = ir_verify(m, &scratch, &why);
    CHECK(valid || why.length > 0, "a reason is given");
    accepted += valid;
    arena_free(&scratch);
    for (uint32_t k = hits; k-- > 0;) {
      memcpy(hit[k].at, &before[k], hit[k].size);
    }
  }
  check_valid(m, &arena, "repaired");
  CHECK(accepted < 10000, "most damage is found");
  arena_free(&arena);
}

TEST(what_is_accepted_can_be_used) {
  uint64_t seed = 12;
  uint32_t used = 0;
  for (uint32_t round = 0; round < 1500; round++) {
    TEST_ARENA(arena);
    IrModel* m = ARENA_NEW(&arena, IrModel);
    ir_model_init(m, &arena, NULL);
    build_everything(m);
    Fields fields = {.arena = &arena};
    expression_fields(&fields, m);
    variable_fields(&fields, m);
    event_fields(&fields, m);
    damage(fields.list.data[test_random(&seed) % fields.list.count], &seed);
    Str why = {NULL, 0};
    if (ir_verify(m, &arena, &why)) {
      used++;
      use_accepted(m, &arena);
    }
    arena_free(&arena);
  }
  CHECK(used > 10, "some damage does no harm");
}

TEST(deep_chains_are_verified) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  uint32_t x = find_var(&m, STR_LIT("x"));
  IrTermBuilder b;
  ir_term_begin(&b, &m);
  ExprId sum = ir_term_var(&b, x, 0, IR_NOW);
  for (uint32_t i = 1; i < 200000; i++) {
    sum = ir_node(&m.pool, IR_ADD, sum, ir_term_number_leaf(&b, i), (ExprId){0});
  }
  IrEquation e = {.lhs_var = x};
  ExprId left = ir_term_var(&b, x, 0, IR_NOW);
  e.term = ir_term_end(&b, ir_node(&m.pool, IR_EQUALS, left, sum, (ExprId){0}));
  base_vec_push(&arena, &m.equations, e);
  ir_canonicalise(&m);
  check_valid(&m, &arena, "deep");
  arena_free(&arena);
}
