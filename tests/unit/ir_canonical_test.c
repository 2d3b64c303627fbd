// SPDX-License-Identifier: MIT
#include "ir_build.h"
#include "test.h"

#include <time.h>

static const ExprId none = {0};

// ---------------------------------------------------------------------------------------------
// a model as a list of declarations that can be made in any order

static const char* const params[][2] = {
    {"k", "2.5"}, {"k_2", "k + 1"}, {"k_10", "2*k_2"}, {"alpha", "9.81"}, {"Z", "k_10 - alpha"}};

static const char* const equations[] = {
    "x_1' = x_2",
    "x_2' = -k*x_1",
    "x_10' = -k*x_3",
    "x_3' = x_10 + 3.5",
    "lbl_2: x_4 + x_5 = 1",
    "lbl_2: x_5*x_6 = x_4",
    "lbl_10: x_6 = k*x_5",
    "a*b = c",
    "a*d = c",
    "b*d = 7.25",
    "c + d = 8.5",
    "y' = if(@s1.true, y, -y) + if(@s2.true, 1, 2)",
    "z' = if(@s3.true, z, -z)",
    "w' = if(@s4.true, w, if(@s5.true, 1, 0))",
    "u = hidden_1 + hidden_2",
    "v' = if(@s6.true, v, 0) + if(@s7.true, v, 0)",
    "p*q' = 4.5",
    "p*q' = 4.5",  // two equal ones
    "o = table(curve_10, x_1) + @main.t0",
    "o_2 = table(curve_2, x_1) + @other_2.t0",
};

// switches of expressions: equal ones in pairs, nested ones, one that differs in the type of atom
static const char* const switches[][2] = {
    {"s1", "[y < 0]"},
    {"s2", "[y < 0]"},
    {"s3", "[z < 0]"},
    {"s4", "[if(@s1.true, y, -y) > 1]"},
    {"s5", "[if(@s2.true, y, -y) > 1] and [z < 0]"},
    {"s6", "unilateral[v < 0]"},
    {"s7", "[v < 0] or @main.down"},
};

typedef struct Block {
  const char* name;
  const char* body;  // automaton.state around it, or NULL
  const char* condition;
  const char* edits[2];
} Block;

static const Block blocks[] = {
    {"b1", NULL, "[x_1 > 5]", {"f = 1", "f = 2"}},
    {"b2", NULL, "[x_1 > 5]", {"g = 1", "g = 2"}},  // the same condition, other contents
    {"b7", NULL, "[x_6 > 5]", {"i = 1", "i = 2"}},
    {"b8", NULL, "[x_5 > 5]", {"i = 1", "i = 2"}},  // the same contents, other condition
    {"b3", NULL, "[x_2 > 5]", {"g2 = 1", "h: x_1 = x_2"}},
    {"b4", "main.down", "[x_1 > 5]", {"x_3' = 1", "x_3' = 2"}},
    {"b5", "b4.true", "[x_2 > 5]", {"x_10' = 1", "x_10' = 2"}},
    {"b6", "b4.true", "[x_2 > 5]", {"x_10' = 1", "x_10' = 3"}},
};

static const struct {
  const char *start, *period, *action;
  int32_t priority;
} schedules[] = {{"1", "k", "n", 0},   {"1", "k", "n_2", 0}, {"0", NULL, "n", 0},
                 {"1", "k_2", "n", 0}, {"1", "k", "n", 1},   {"1", NULL, "n", 0}};

static const char* const floors[][2] = {{"hidden_1", "floor(x_1)"},
                                        {"hidden_2", "floor(x_2 + k)"},
                                        {"hidden_3", "floor(hidden_1/2)"},
                                        {"hidden_4", "floor(if(@s1.true, 1, 0))"}};

static void shuffle(uint32_t* items, uint32_t count, uint64_t* seed) {
  for (uint32_t i = 0; i < count; i++) {
    items[i] = i;
  }
  for (uint32_t i = count; *seed && i > 1; i--) {
    uint32_t k = (uint32_t)(test_random(seed) % i);
    uint32_t swap = items[i - 1];
    items[i - 1] = items[k];
    items[k] = swap;
  }
}

static uint32_t find_body(IrModel* m, const char* name) {
  const char* dot = strchr(name, '.');
  uint32_t a = find_automaton(m, (Str){name, (uint32_t)(dot - name)});
  uint32_t s = find_state(m, a, str_from_c(dot + 1));
  return m->states.data[state_index(m, a, s)].body;
}

static void declare_params(IrModel* m, uint64_t* seed) {
  uint32_t order[SLT_COUNT(params)];
  shuffle(order, SLT_COUNT(params), seed);
  for (uint32_t i = 0; i < SLT_COUNT(params); i++) {
    IrParam p = {.name = names_intern(&m->names, str_from_c(params[order[i]][0]))};
    base_vec_push(m->arena, &m->params, p);
  }
  for (uint32_t i = 0; i < SLT_COUNT(params); i++) {
    m->params.data[i].value = read_term(m, params[order[i]][1]);
  }
}

static void declare_data(IrModel* m, uint64_t* seed) {
  static const char* const names[] = {"curve", "curve_2", "curve_10"};
  uint32_t order[3];
  shuffle(order, 3, seed);
  for (uint32_t i = 0; i < 3; i++) {
    add_data(m, names[order[i]]);
  }
}

static void declare_automata(IrModel* m, uint64_t* seed) {
  static const char* const names[] = {"main", "other_10", "other_2"};
  uint32_t order[3];
  shuffle(order, 3, seed);
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t a = add_automaton(m, names[order[i]]);
    add_state(m, a, "init");
    add_state(m, a, "down");
    add_state(m, a, "up");
    uint32_t down = add_body(m, a, 1, IR_NONE);
    uint32_t up = add_body(m, a, 2, down);
    if (order[i] == 0) {
      add_delete(m, up, "lbl_2");
      add_delete(m, up, "lbl_10");
      add_equation(m, down, "x_1' = 0");
      add_equation(m, down, "lbl_2: x_4 = 2");
    } else {
      add_equation(m, up, order[i] == 1 ? "r = 1" : "r_2 = 1");
    }
    for (uint32_t s = 0; s < 3; s++) {
      IrState* state = &m->states.data[state_index(m, a, s)];
      state->action_begin = m->actions.count;
      state->action_count = s;
      add_action(m, "n", IR_ACTION_SET, "pre(n) + 1");
      if (s > 1) add_action(m, "n_2", IR_ACTION_SET, "pre(n)*k");
      if (s < 1) m->actions.count--;
    }
  }
}

static void declare_switches(IrModel* m, uint64_t* seed) {
  uint32_t order[SLT_COUNT(switches)];
  shuffle(order, SLT_COUNT(switches), seed);
  for (uint32_t i = 0; i < SLT_COUNT(switches); i++) {
    uint32_t a = add_automaton(m, switches[order[i]][0]);
    m->automata.data[a].kind = IR_AUTOMATON_SWITCH;
    add_state(m, a, "false");
    add_state(m, a, "true");
  }
  uint32_t first = m->automata.count - (uint32_t)SLT_COUNT(switches);
  for (uint32_t i = 0; i < SLT_COUNT(switches); i++) {
    IrTerm condition = read_term(m, switches[order[i]][1]);
    m->automata.data[first + i].condition = condition;
  }
}

/// Outer blocks before inner ones; otherwise in any order.
static void declare_blocks(IrModel* m, uint64_t* seed) {
  uint32_t order[SLT_COUNT(blocks)];
  shuffle(order, SLT_COUNT(blocks), seed);
  for (uint32_t depth = 0; depth < 3; depth++) {
    for (uint32_t i = 0; i < SLT_COUNT(blocks); i++) {
      const Block* block = &blocks[order[i]];
      uint32_t own = !block->body ? 0 : strcmp(block->body, "main.down") == 0 ? 1 : 2;
      if (own != depth) continue;
      uint32_t bodies[2];
      uint32_t around = block->body ? find_body(m, block->body) : 0;
      add_switch(m, block->name, around, block->condition, bodies);
      add_equation(m, bodies[0], block->edits[0]);
      add_equation(m, bodies[1], block->edits[1]);
      add_delete(m, bodies[1], block->body ? "lbl_10" : "lbl_2");
    }
  }
}

static void declare_schedules(IrModel* m, uint64_t* seed) {
  uint32_t order[SLT_COUNT(schedules)];
  shuffle(order, SLT_COUNT(schedules), seed);
  for (uint32_t i = 0; i < SLT_COUNT(schedules); i++) {
    uint32_t which = order[i];
    IrSchedule s = {.count = which, .priority = schedules[which].priority};
    s.start = read_term(m, schedules[which].start);
    if (schedules[which].period) s.period = read_term(m, schedules[which].period);
    s.count = s.period.shape.index ? -1 : 1;
    s.action_begin = m->actions.count;
    s.action_count = 2;
    bool turned = *seed && test_random(seed) % 2;
    if (turned) add_action(m, "m", IR_ACTION_SET, "uniform(0, k)");
    add_action(m, schedules[which].action, IR_ACTION_SET, "0");
    if (!turned) add_action(m, "m", IR_ACTION_SET, "uniform(0, k)");
    s.goto_begin = m->gotos.count;
    s.goto_count = 2;
    uint32_t a = find_automaton(m, turned ? STR_LIT("main") : STR_LIT("other_2"));
    uint32_t b = find_automaton(m, turned ? STR_LIT("other_2") : STR_LIT("main"));
    base_vec_push(m->arena, &m->gotos, (IrGoto){a, 1, 0});
    base_vec_push(m->arena, &m->gotos, (IrGoto){b, 1, 0});
    base_vec_push(m->arena, &m->schedules, s);
  }
}

static void declare_transitions(IrModel* m, uint64_t* seed) {
  static const char* const names[] = {"main", "other_2", "other_10"};
  uint32_t order[3];
  shuffle(order, 3, seed);
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t a = find_automaton(m, str_from_c(names[order[i]]));
    add_transition(m, a, 0, 1, "[x_1 > 5] and not @other_2.up");
    m->transitions.data[m->transitions.count - 1].from_count = 3;
    base_vec_push(m->arena, &m->from_states, 2);
    base_vec_push(m->arena, &m->from_states, 0);  // twice
    add_transition(m, a, 1, 2, order[i] ? "[x_2 > 5]" : "[n == 3] or @main.down");
  }
}

/// Hidden variables with the automata that move them; their names tell nothing.
static void declare_hidden(IrModel* m, uint64_t* seed) {
  uint32_t order[SLT_COUNT(floors)];
  shuffle(order, SLT_COUNT(floors), seed);
  for (uint32_t i = 0; i < SLT_COUNT(floors); i++) {
    const char* name = floors[order[i]][0];
    uint32_t var = add_var(m, name, IR_VAR_DISCRETE);
    m->vars.data[var].hidden = true;
    add_start(m, name, 0, IR_START_FIXED, floors[order[i]][1]);
    uint32_t a = add_automaton(m, name);
    m->automata.data[a].hidden = true;
    add_state(m, a, "init");
    add_transition(m, a, 0, 0, "[x_1 > 5]");
    add_action(m, name, IR_ACTION_SET, "0");
    m->transitions.data[m->transitions.count - 1].action_count = 1;
  }
}

static void declare_equations(IrModel* m, uint64_t* seed) {
  uint32_t order[SLT_COUNT(equations)];
  shuffle(order, SLT_COUNT(equations), seed);
  for (uint32_t i = 0; i < SLT_COUNT(equations); i++) {
    uint32_t e = add_equation(m, 0, equations[order[i]]);
    m->equations.data[e].span = (Span){order[i], order[i] + 1};
    if (order[i] == 16 || order[i] == 17) m->equations.data[e].span = (Span){99, 100};
  }
}

static void (*const groups[])(IrModel* m, uint64_t* seed) = {
    declare_hidden, declare_equations, declare_blocks, declare_schedules, declare_transitions};

static uint32_t place_name(IrModel* m, const char* prefix, uint32_t number) {
  return names_intern(&m->names, str_format(m->arena, "%s@%u:1", prefix, number));
}

/// Names that tell only the place in the arrays, as those made by a front end tell that in the
/// text.
static void name_by_place(IrModel* m) {
  for (uint32_t i = 0; i < m->automata.count; i++) {
    IrAutomaton* a = &m->automata.data[i];
    if (a->kind == IR_AUTOMATON_SWITCH) a->name = place_name(m, "if", i);
    if (a->kind == IR_AUTOMATON_USER && a->hidden) a->name = place_name(m, "floor", i);
  }
  for (uint32_t i = 0; i < m->vars.count; i++) {
    if (m->vars.data[i].hidden) m->vars.data[i].name = place_name(m, "floor", i);
  }
}

/// Seed 0 keeps the order of the lists above.
static void build_shuffled(IrModel* m, uint64_t seed) {
  declare_params(m, &seed);
  add_var(m, "n", IR_VAR_DISCRETE);
  add_var(m, "n_2", IR_VAR_DISCRETE);
  add_var(m, "m", IR_VAR_DISCRETE);
  declare_data(m, &seed);
  declare_automata(m, &seed);
  declare_switches(m, &seed);
  uint32_t order[SLT_COUNT(groups)];
  shuffle(order, SLT_COUNT(groups), &seed);
  for (uint32_t i = 0; i < SLT_COUNT(groups); i++) {
    groups[order[i]](m, &seed);
  }
  for (uint32_t i = 0; i < m->vars.count; i++) {
    m->vars.data[i].appearance = 0;
  }
  name_by_place(m);
}

#define SAME_ARRAY(a, b, vec) \
  ((a)->vec.count == (b)->vec.count && \
   ((a)->vec.count == 0 || \
    memcmp((a)->vec.data, (b)->vec.data, (a)->vec.count * sizeof *(a)->vec.data) == 0))

TEST(declaration_order_has_no_influence) {
  TEST_ARENA(arena);
  IrModel first;
  ir_model_init(&first, &arena, NULL);
  build_shuffled(&first, 0);
  ir_canonicalise(&first);
  check_valid(&first, &arena, "first");
  name_by_place(&first);
  Str want = print_model(&first, &arena);
  for (uint64_t seed = 1; seed <= 300; seed++) {
    IrModel m;
    ir_model_init(&m, &arena, NULL);
    build_shuffled(&m, seed);
    ir_canonicalise(&m);
    check_valid(&m, &arena, "shuffled");
    name_by_place(&m);
    CHECK_STR(print_model(&m, &arena), want.data, "text");
    CHECK(SAME_ARRAY(&m, &first, pool.nodes), "nodes");
    CHECK(SAME_ARRAY(&m, &first, leaves), "leaves");
    CHECK(SAME_ARRAY(&m, &first, numbers), "numbers");
    CHECK(SAME_ARRAY(&m, &first, mode_tests), "mode tests");
    CHECK(SAME_ARRAY(&m, &first, from_states), "sources");
    CHECK(SAME_ARRAY(&m, &first, actions), "actions");
    CHECK(SAME_ARRAY(&m, &first, gotos), "gotos");
    CHECK(SAME_ARRAY(&m, &first, atoms), "atoms");
    CHECK(SAME_ARRAY(&m, &first, bodies), "bodies");
    CHECK(SAME_ARRAY(&m, &first, starts), "starts");
  }
  arena_free(&arena);
}

TEST(doing_it_twice_changes_nothing) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  build_shuffled(&m, 7);
  ir_canonicalise(&m);
  name_by_place(&m);
  Str want = print_model(&m, &arena);
  ir_canonicalise(&m);
  check_valid(&m, &arena, "twice");
  CHECK_STR(print_model(&m, &arena), want.data, "text");

  // and terms can still be built
  IrTerm a = read_term(&m, "x_1 + 2.5*k");
  IrTerm b = read_term(&m, "x_1 + 2.5*k");
  CHECK(ir_term_equal(&m, a, b), "terms");
  CHECK_STR(print_term(&m, &arena, a), "x_1 + 2.5*k", "text of a term");
  arena_free(&arena);
}

TEST(equal_atoms_and_switches_are_merged) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  add_switch(&m, "if@4:1", IR_NONE, "[x < 0] and [y < 0]", NULL);
  add_switch(&m, "if@3:1", IR_NONE, "[x < 0] and [y < 0]", NULL);
  add_switch(&m, "if@5:1", IR_NONE, "[if(@`if@3:1`.true, 1, 2) > y]", NULL);
  add_switch(&m, "if@6:1", IR_NONE, "[if(@`if@4:1`.true, 1, 2) > y]", NULL);
  add_switch(&m, "if@7:1", IR_NONE, "[if(@`if@4:1`.false, 1, 2) > y]", NULL);
  m.automata.data[0].span = (Span){40, 41};
  m.automata.data[1].span = (Span){30, 31};
  m.automata.data[0].hidden = true;
  m.atoms.data[0].bipolar = true;
  m.atoms.data[0].span = (Span){41, 44};
  m.atoms.data[2].span = (Span){31, 34};
  add_equation(&m, 0, "x = if(@`if@5:1`.true, 1, 2) + if(@`if@6:1`.true, 1, 2)");
  ir_canonicalise(&m);
  check_valid(&m, &arena, "merged");
  CHECK(m.automata.count == 3 && m.states.count == 6, "three switches are left");
  CHECK_STR(names_get(&m.names, m.automata.data[0].name), "if@3:1", "the first in the text");
  CHECK(m.automata.data[0].span.begin == 30 && !m.automata.data[0].hidden, "shown");
  CHECK(m.atoms.count == 4, "x, y, and two nested ones");
  for (uint32_t i = 0; i < m.atoms.count; i++) {
    bool first = m.atoms.data[i].span.begin == 31;
    CHECK(m.atoms.data[i].bipolar == first, "bipolar once is bipolar");
  }
  CHECK(m.equations.data[0].term.leaf_count == 3, "the row keeps its length");
  IrLeaf a = ir_leaf(&m, m.equations.data[0].term, 1);
  IrLeaf b = ir_leaf(&m, m.equations.data[0].term, 2);
  CHECK(a.kind == IR_LEAF_MODE && a.id == b.id, "both read one switch");
  arena_free(&arena);
}

TEST(what_differs_is_not_merged) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  add_switch(&m, "if@1:1", IR_NONE, "[x < 0]", NULL);
  add_switch(&m, "if@2:1", IR_NONE, "bilateral[x < 0]", NULL);
  add_switch(&m, "if@3:1", IR_NONE, "[x <= 0]", NULL);
  add_switch(&m, "if@4:1", IR_NONE, "[x < 0]", NULL);
  add_switch(&m, "if@5:1", IR_NONE, "[x < 0]", NULL);
  m.atoms.data[3].eps = read_term(&m, "1e-3");
  m.atoms.data[4].gamma = read_term(&m, "1e-3");
  uint32_t bodies[2];
  add_switch(&m, "if@6:1", 0, "[x < 0]", bodies);
  add_switch(&m, "if@7:1", 0, "[x < 0]", bodies);
  ir_canonicalise(&m);
  check_valid(&m, &arena, "not merged");
  CHECK(m.atoms.count == 5, "atoms");
  CHECK(m.automata.count == 7, "switches, two of them with bodies");
  arena_free(&arena);
}

TEST(derived_fields) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  add_param(&m, "k", "1");
  add_var(&m, "n", IR_VAR_DISCRETE);
  add_equation(&m, 0, "x''' + y = x'");
  add_equation(&m, 0, "y' = 1");
  add_start(&m, "y", 0, IR_START_FIXED, "1");
  add_start(&m, "x", 2, IR_START_FIXED, "1");
  add_start(&m, "x", 0, IR_START_FIXED, "k");
  add_switch(&m, "if@1:1", IR_NONE, "[n > k] and [x > 0] and [sin(time) > 0] and [k > 3]", NULL);
  ir_canonicalise(&m);
  check_valid(&m, &arena, "derived");
  uint32_t x = find_var(&m, STR_LIT("x"));
  uint32_t y = find_var(&m, STR_LIT("y"));
  CHECK(m.vars.data[x].max_order == 3 && m.vars.data[y].max_order == 1, "orders");
  CHECK(m.vars.data[x].start_count == 2 && m.vars.data[y].start_count == 1, "starts");
  CHECK(m.starts.data[m.vars.data[x].start_begin].order == 0, "lower orders first");
  for (uint32_t i = 0; i < m.atoms.count; i++) {
    Str g = print_term(&m, &arena, m.atoms.data[i].g);
    bool continuous = g.data[0] == 'x' || g.data[0] == 's';
    CHECK(m.atoms.data[i].continuous == continuous, g.data);
  }
  arena_free(&arena);
}

TEST(unused_numbers_and_nodes_disappear) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  read_term(&m, "7.5 + sin(x) + 8.5*y");
  add_equation(&m, 0, "x = 3.5");
  ir_canonicalise(&m);
  CHECK(m.numbers.count == 1 && m.leaves.count == 2, "numbers and leaves");
  CHECK(m.pool.nodes.count == 4, "nil, two slots, equals");
  CHECK(m.pool.hashes.count == 4, "hashes");
  arena_free(&arena);
}

TEST(cycles_do_not_hang) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  // a switch whose condition reads itself, and two blocks that stand in each other
  uint32_t a = add_switch(&m, "if@1:1", IR_NONE, "[x > 0]", NULL);
  IrTerm self = read_term(&m, "[if(@`if@1:1`.true, 1, 2) > x]");
  m.automata.data[a].condition = self;
  ir_canonicalise(&m);
  Str why;
  CHECK(!ir_verify(&m, &arena, &why), "found");
  CHECK_STR(why, "a relation or condition reads itself", "why");

  IrModel n;
  ir_model_init(&n, &arena, NULL);
  uint32_t outer[2];
  uint32_t inner[2];
  uint32_t o = add_switch(&n, "if@1:1", 0, "[x > 0]", outer);
  add_switch(&n, "if@2:1", outer[0], "[x > 1]", inner);
  n.automata.data[o].parent_body = inner[0];
  ir_canonicalise(&n);
  CHECK(!ir_verify(&n, &arena, &why), "found");
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// size

static double seconds(void) {
  return (double)clock() / CLOCKS_PER_SEC;
}

static void add_cell_vars(IrModel* m, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    char text[32];
    int length = snprintf(text, sizeof text, "u_%u", count - i);
    uint32_t name = names_intern(&m->names, (Str){text, (uint32_t)length});
    base_vec_push(m->arena, &m->vars, (IrVar){.name = name});
    text[0] = 'v';
    name = names_intern(&m->names, (Str){text, (uint32_t)length});
    base_vec_push(m->arena, &m->vars, (IrVar){.name = name});
  }
}

/// Switch number i, true while variable `var` is above i.
static void add_cell_switch(IrModel* m, uint32_t i, uint32_t var) {
  IrTermBuilder b;
  ir_term_begin(&b, m);
  ExprId value = ir_term_var(&b, var, 0, IR_NOW);
  ExprId g = ir_node(&m->pool, IR_SUB, value, ir_term_number_leaf(&b, i), none);
  base_vec_push(m->arena, &m->atoms, (IrAtom){.g = ir_term_end(&b, g)});
  ir_term_begin(&b, m);
  IrAutomaton a = {.name = names_intern(&m->names, STR_LIT("if@1:1")),
                   .kind = IR_AUTOMATON_SWITCH,
                   .parent_body = IR_NONE};
  a.condition = ir_term_end(&b, ir_term_leaf(&b, (IrLeaf){.id = i, .kind = IR_LEAF_ATOM}));
  base_vec_push(m->arena, &m->automata, a);
  IrState state = {.name = a.name, .automaton = i, .body = IR_NONE};
  base_vec_push(m->arena, &m->states, state);
  base_vec_push(m->arena, &m->states, state);
  base_vec_push(m->arena, &m->mode_tests, (IrModeTest){i, 1});
}

/// Cells u_i, v_i: explicit and implicit equations, an atom and a switch each, declared backwards.
static void build_cells(IrModel* m, uint32_t count, bool events) {
  Arena* arena = m->arena;
  IrPool* pool = &m->pool;
  add_cell_vars(m, count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t u = 2 * i;
    uint32_t v = 2 * i + 1;
    IrTermBuilder b;
    ir_term_begin(&b, m);
    ExprId left = ir_term_var(&b, u, 1, IR_NOW);
    ExprId near = ir_term_var(&b, i ? u - 2 : u, 0, IR_NOW);
    ExprId right = ir_node(pool, IR_SUB, ir_term_var(&b, v, 0, IR_NOW), near, none);
    if (events) {
      add_cell_switch(m, i, u);
      ExprId on = ir_term_leaf(&b, (IrLeaf){.id = i, .kind = IR_LEAF_MODE});
      right = ir_node(pool, IR_SELECT, on, right, left);
    }
    IrEquation e = {.lhs_var = u, .lhs_order = 1};
    e.term = ir_term_end(&b, ir_node(pool, IR_EQUALS, left, right, none));
    base_vec_push(arena, &m->equations, e);

    ir_term_begin(&b, m);
    left =
        ir_node(pool, IR_MUL, ir_term_var(&b, u, 0, IR_NOW), ir_term_var(&b, v, 0, IR_NOW), none);
    IrEquation f = {.lhs_var = IR_NONE};
    f.term = ir_term_end(&b, ir_node(pool, IR_EQUALS, left, ir_term_number(&b, 7 + 0.1 * i), none));
    base_vec_push(arena, &m->equations, f);
  }
}

/// Time of ir_canonicalise() for a number of cells.
static double time_cells(uint32_t count, bool events) {
  TEST_ARENA(arena);
  IrModel* m = ARENA_NEW(&arena, IrModel);
  ir_model_init(m, &arena, NULL);
  double begin = seconds();
  build_cells(m, count, events);
  double built = seconds();
  ir_canonicalise(m);
  double done = seconds();
  Str why = {NULL, 0};
  CHECK(ir_verify(m, &arena, &why), why.data);
  print_message("%u equations: built in %.2f s, ordered in %.2f s, verified in %.2f s\n",
                m->equations.count, built - begin, done - built, seconds() - done);
  CHECK(m->pool.nodes.count < 40, "few shapes");
  CHECK(m->equations.count == 2 * count, "all equations");
  CHECK(m->equations.data[0].lhs_var == 0 && m->equations.data[count].lhs_var == IR_NONE, "order");
  CHECK_STR(names_get(&m->names, m->vars.data[1].name), "u_2", "natural order");
  arena_free(&arena);
  return done - built;
}

TEST(a_million_equations) {
#ifdef SLT_CHECK_INVARIANTS
  const uint32_t cells = 100000;  // builds for finding mistakes are slow
#else
  const uint32_t cells = 500000;
#endif
  double small = time_cells(cells / 10, false);
  // a wide margin: what must not happen is a quadratic loop
  CHECK(time_cells(cells, false) < 50 * small + 2, "grows like n log n");
  CHECK(time_cells(cells, true) < 100 * small + 4, "events too");
}

TEST(many_equal_things_and_deep_nesting) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  enum { COUNT = 20000 };
  // equal equations, equal blocks side by side, and blocks inside each other
  uint32_t around = 0;
  for (uint32_t i = 0; i < COUNT; i++) {
    add_equation(&m, 0, "x*y = 1");
    uint32_t bodies[2];
    IrAutomaton a = {.name = names_intern(&m.names, STR_LIT("if@1:1")),
                     .kind = IR_AUTOMATON_SWITCH,
                     .parent_body = i % 2 ? 0 : around};
    a.condition = read_term(&m, "[x > 0]");
    base_vec_push(&arena, &m.automata, a);
    for (uint32_t s = 0; s < 2; s++) {
      IrState state = {.name = a.name, .automaton = i, .body = m.bodies.count};
      base_vec_push(&arena, &m.states, state);
      bodies[s] = m.bodies.count;
      base_vec_push(&arena, &m.bodies, (IrBody){.automaton = i, .state = s, .parent = IR_NONE});
    }
    add_equation(&m, bodies[1], "x = 1");
    if (i % 2 == 0) around = bodies[1];
  }
  ir_canonicalise(&m);
  check_valid(&m, &arena, "nested");
  CHECK(m.atoms.count == 1 && m.automata.count == COUNT, "one atom, all blocks");
  arena_free(&arena);
}

static void build_and_canonicalise(IrModel* m) {
  build_shuffled(m, 3);
  ir_canonicalise(m);
}

TEST(running_out_of_memory_leaves_no_leak) {
  check_every_failure(build_and_canonicalise);
}

/// Large enough for the scratch memory of ir_canonicalise() to fail.
static void build_large(IrModel* m) {
  build_cells(m, 3000, true);
  ir_canonicalise(m);
}

TEST(running_out_of_memory_in_a_large_model) {
  check_every_failure(build_large);
}
