// SPDX-License-Identifier: MIT
#include "test.h"

#include "ir_build.h"

#include <time.h>

static const ExprId none = {0};

// ---------------------------------------------------------------------------------------------
// a model as a list of declarations that can be made in any order

static const char* const params[][2] = {
    {"k", "2.5"}, {"k_2", "k + 1"}, {"k_10", "2*k_2"}, {"alpha", "9.81"}, {"Z", "k_10 - alpha"}};

static const char* const equations[] = {
    "x_1' = x_2", "x_2' = -k*x_1", "x_10' = -k*x_3", "x_3' = x_10 + 3.5",
    "lbl_2: x_4 + x_5 = 1", "lbl_2: x_5*x_6 = x_4", "lbl_10: x_6 = k*x_5",
    "a*b = c", "a*d = c", "b*d = 7.25", "c + d = 8.5",
    "y' = if(@s1.true, y, -y) + if(@s2.true, 1, 2)",
    "z' = if(@s3.true, z, -z)", "w' = if(@s4.true, w, if(@s5.true, 1, 0))",
    "u = hidden_1 + hidden_2", "v' = if(@s6.true, v, 0) + if(@s7.true, v, 0)",
    "p*q' = 4.5", "p*q' = 4.5",  // two equal ones
};

// switches of expressions: equal ones in pairs, nested ones, one that differs in the type of atom
static const char* const switches[][2] = {
    {"s1", "[y < 0]"}, {"s2", "[y < 0]"}, {"s3", "[z < 0]"},
    {"s4", "[if(@s1.true, y, -y) > 1]"}, {"s5", "[if(@s2.true, y, -y) > 1] and [z < 0]"},
    {"s6", "unilateral[v < 0]"}, {"s7", "[v < 0] or @main.down"},
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
    {"b3", NULL, "[x_2 > 5]", {"g2 = 1", "h: x_1 = x_2"}},
    {"b4", "main.down", "[x_1 > 5]", {"x_3' = 1", "x_3' = 2"}},
    {"b5", "b4.true", "[x_2 > 5]", {"x_10' = 1", "x_10' = 2"}},
    {"b6", "b4.true", "[x_2 > 5]", {"x_10' = 1", "x_10' = 3"}},
};

static const struct {
  const char *start, *period, *action;
  int32_t priority;
} schedules[] = {{"1", "k", "n", 0}, {"1", "k", "n_2", 0}, {"0", NULL, "n", 0},
                 {"1", "k_2", "n", 0}, {"1", "k", "n", 1}, {"1", NULL, "n", 0}};

static const char* const floors[][2] = {{"hidden_1", "floor(x_1)"}, {"hidden_2", "floor(x_2 + k)"},
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
    base_vec_push(m->arena, &m->gotos, (IrGoto){a, 1});
    base_vec_push(m->arena, &m->gotos, (IrGoto){b, 1});
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
    if (order[i] >= 16) m->equations.data[e].span = (Span){99, 100};
  }
}

static void build_shuffled(IrModel* m, uint64_t seed) {
  declare_params(m, &seed);
  add_var(m, "n", IR_VAR_DISCRETE);
  add_var(m, "n_2", IR_VAR_DISCRETE);
  add_var(m, "m", IR_VAR_DISCRETE);
  if (seed % 2) declare_hidden(m, &(uint64_t){0});
  m->vars.count = seed % 2 ? m->vars.count : m->vars.count;
  (void)none;
}
