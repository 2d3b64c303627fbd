// SPDX-License-Identifier: MIT
#include "ir_build.h"
#include "test.h"

#include <time.h>

/// Set the state of an automaton by name.
static void set_mode(const IrModel* m, uint32_t* mode, const char* automaton, const char* state) {
  uint32_t a = find_automaton(m, str_from_c(automaton));
  mode[a] = find_state(m, a, str_from_c(state));
}

/// The equations of a mode as text: "x' = 1; lbl: y = 2"; "conflict ..." when there is one.
static Str mode_text(const IrModel* m, Arena* arena, const uint32_t* mode) {
  uint32_t* out = ARENA_ARRAY(arena, uint32_t, m->equations.count);
  IrConflict conflict = {0, 0, 0, 0};
  uint32_t count = ir_mode_equations(m, arena, mode, out, &conflict);
  TextBuffer text = {.arena = arena};
  if (count == IR_NONE) {
    text_append_c(&text, "conflict ");
    if (conflict.label) {
      text_append(&text, names_get(&m->names, conflict.label));
    } else {
      text_append(&text, ir_var_name(m, conflict.var));
    }
    text_append_c(&text, ": ");
    out[0] = conflict.equation_a;
    out[1] = conflict.equation_b;
    count = 2;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (i) text_append_c(&text, "; ");
    ir_print_term(&text, m, m->equations.data[out[i]].term);
  }
  return text_str(&text);
}

/// A model with automata `a` and `b`, each with states init, one, two with bodies.
typedef struct Sample {
  Arena arena;
  jmp_buf oom;
  IrModel m;
  uint32_t a, b;
  uint32_t a_one, a_two, b_one, b_two;  // bodies
  uint32_t* mode;
} Sample;

static void sample_init(Sample* s) {
  arena_init(&s->arena, NULL, &s->oom);
  ir_model_init(&s->m, &s->arena, NULL);
  IrModel* m = &s->m;
  s->a = add_automaton(m, "a");
  s->b = add_automaton(m, "b");
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t automaton = i ? s->b : s->a;
    add_state(m, automaton, "init");
    add_state(m, automaton, "one");
    add_state(m, automaton, "two");
  }
  s->a_one = add_body(m, s->a, 1, IR_NONE);
  s->a_two = add_body(m, s->a, 2, IR_NONE);
  s->b_one = add_body(m, s->b, 1, IR_NONE);
  s->b_two = add_body(m, s->b, 2, IR_NONE);
}

/// Finish the model; all automata in their first state.
static void sample_finish(Sample* s) {
  ir_canonicalise(&s->m);
  check_valid(&s->m, &s->arena, "sample");
  s->mode = ARENA_ARRAY(&s->arena, uint32_t, s->m.automata.count);
}

static void check_mode(Sample* s, const char* a, const char* b, const char* want) {
  set_mode(&s->m, s->mode, "a", a);
  set_mode(&s->m, s->mode, "b", b);
  CHECK_STR(mode_text(&s->m, &s->arena, s->mode), want, want);
}

TEST(without_edits_the_global_equations_hold) {
  Sample s;
  sample_init(&s);
  add_equation(&s.m, 0, "x' = 1");
  add_equation(&s.m, 0, "l: y = 2");
  sample_finish(&s);
  check_mode(&s, "init", "init", "x' = 1; y = 2");
  check_mode(&s, "one", "two", "x' = 1; y = 2");
  arena_free(&s.arena);
}

TEST(a_label_replaces_the_whole_group) {
  Sample s;
  sample_init(&s);
  add_equation(&s.m, 0, "l: x = 1");
  add_equation(&s.m, 0, "l: y = 1");
  add_equation(&s.m, 0, "k: z = 1");
  add_equation(&s.m, s.a_one, "l: x = 2");
  add_equation(&s.m, s.a_two, "l: x = 3");
  add_equation(&s.m, s.a_two, "l: y = 3");
  add_equation(&s.m, s.a_two, "new: w = 3");
  sample_finish(&s);
  check_mode(&s, "init", "init", "z = 1; x = 1; y = 1");
  check_mode(&s, "one", "init", "z = 1; x = 2");
  check_mode(&s, "two", "init", "z = 1; x = 3; y = 3; w = 3");
  arena_free(&s.arena);
}

TEST(delete_removes_the_group) {
  Sample s;
  sample_init(&s);
  add_equation(&s.m, 0, "l: x = 1");
  add_equation(&s.m, 0, "l: y = 1");
  add_equation(&s.m, 0, "z = 1");
  add_delete(&s.m, s.a_one, "l");
  add_delete(&s.m, s.a_two, "l");  // and gives it anew
  add_equation(&s.m, s.a_two, "l: x = 2");
  add_delete(&s.m, s.b_one, "l");
  add_delete(&s.m, s.b_two, "unknown");
  sample_finish(&s);
  check_mode(&s, "one", "init", "z = 1");
  check_mode(&s, "two", "init", "z = 1; x = 2");
  check_mode(&s, "one", "one", "z = 1");         // both delete: they agree
  check_mode(&s, "two", "one", "z = 1; x = 2");  // the replacing one wins
  check_mode(&s, "init", "two", "z = 1; x = 1; y = 1");
  arena_free(&s.arena);
}

TEST(an_explicit_equation_replaces_its_left_side) {
  Sample s;
  sample_init(&s);
  add_equation(&s.m, 0, "x' = 1");
  add_equation(&s.m, 0, "l: y = 1");
  add_equation(&s.m, 0, "l: z = 1");
  add_equation(&s.m, 0, "w = 1");
  add_equation(&s.m, 0, "w = v");
  add_equation(&s.m, s.a_one, "x' = 2");
  add_equation(&s.m, s.a_one, "y = 2");
  add_equation(&s.m, s.a_one, "w = 2");    // two such: it is added
  add_equation(&s.m, s.a_one, "x = 2");    // another order: it is added
  add_equation(&s.m, s.a_one, "x*y = 2");  // implicit: it is added
  sample_finish(&s);
  check_mode(&s, "one", "init", "w = 1; w = v; z = 1; w = 2; x = 2; x' = 2; y = 2; x*y = 2");
  arena_free(&s.arena);
}

TEST(edits_of_one_body_do_not_see_each_other) {
  Sample s;
  sample_init(&s);
  add_equation(&s.m, 0, "l: x' = 1");
  add_equation(&s.m, 0, "l: y' = 1");
  add_equation(&s.m, s.a_one, "x' = 2");
  add_equation(&s.m, s.a_one, "l: y' = 2");
  add_delete(&s.m, s.a_two, "l");
  add_equation(&s.m, s.a_two, "x' = 2");
  add_equation(&s.m, s.a_two, "x' = 3");
  sample_finish(&s);
  check_mode(&s, "one", "init", "x' = 2; y' = 2");
  check_mode(&s, "two", "init", "x' = 2; x' = 3");
  arena_free(&s.arena);
}

TEST(two_automata_editing_the_same_thing_are_in_conflict) {
  static const struct {
    const char *global, *a, *b, *want;
  } cases[] = {
      {"l: x = 1", "l: x = 2", "l: x = 3", "conflict l: x = 2; x = 3"},
      {"x = 1", "x = 2", "x = 3", "conflict x: x = 2; x = 3"},
      {"y = 1", "x = 2", "x = 3", "conflict x: x = 2; x = 3"},
      {"y = 1", "l: x = 2", "l: z = 3", "conflict l: x = 2; z = 3"},
      {"l: x = 1", "l: y = 2", "x = 3", "conflict l: y = 2; x = 3"},
      {"l: x = 1", "x = 2", "l: y = 3", "conflict l: x = 2; y = 3"},
      {"x = 1", "x = 2", "x' = 3", "x = 2; x' = 3"},
      {"l: x = 1", "k: x = 2", "x = 3", "x = 2; x = 3"},
      {"l: x = 1", "l: x = 2", "y = 3", "x = 2; y = 3"},
      {"x = 1", "x*y = 2", "x*y = 3", "x = 1; x*y = 2; x*y = 3"},
  };
  FOR_CASES(c, cases) {
    Sample s;
    sample_init(&s);
    add_equation(&s.m, 0, c->global);
    add_equation(&s.m, s.a_one, c->a);
    add_equation(&s.m, s.b_one, c->b);
    sample_finish(&s);
    check_mode(&s, "one", "one", c->want);
    CHECK(ir_mode_equations(&s.m, &s.arena, s.mode, ARENA_ARRAY(&s.arena, uint32_t, 3), NULL) ==
              (strncmp(c->want, "conflict", 8) == 0
                   ? IR_NONE
                   : s.m.equations.count - (strstr(c->want, "= 1") ? 0 : 1)),
          "a place for the conflict is not needed");
    arena_free(&s.arena);
  }
}

TEST(two_explicit_edits_in_one_group_are_no_conflict) {
  Sample s;
  sample_init(&s);
  add_equation(&s.m, 0, "l: x = 1");
  add_equation(&s.m, 0, "l: y = 1");
  add_equation(&s.m, s.a_one, "x = 2");
  add_equation(&s.m, s.b_one, "y = 3");
  add_delete(&s.m, s.b_two, "l");
  sample_finish(&s);
  check_mode(&s, "one", "one", "x = 2; y = 3");
  check_mode(&s, "one", "two", "x = 2");  // the replacing one wins
  arena_free(&s.arena);
}

TEST(like_takes_over_the_edits_of_another_state) {
  Sample s;
  sample_init(&s);
  IrModel* m = &s.m;
  add_equation(m, 0, "l: x = 1");
  add_equation(m, 0, "y = 1");
  add_equation(m, 0, "z = 1");
  // declared before what it is like
  m->bodies.data[s.a_one].parent = s.a_two;
  add_equation(m, s.a_one, "y = 2");
  add_equation(m, s.a_two, "l: x = 3");
  add_equation(m, s.a_two, "y = 3");
  add_equation(m, s.a_two, "w = 3");
  m->bodies.data[s.b_two].parent = s.b_one;
  add_delete(m, s.b_two, "l");
  add_equation(m, s.b_one, "l: x = 4");
  sample_finish(&s);
  check_mode(&s, "two", "init", "z = 1; w = 3; y = 3; x = 3");
  check_mode(&s, "one", "init", "z = 1; y = 2; w = 3; x = 3");
  check_mode(&s, "init", "two", "y = 1; z = 1");
  check_mode(&s, "init", "one", "y = 1; z = 1; x = 4");
  // the parent's edits count as those of the state
  check_mode(&s, "one", "one", "conflict l: x = 3; x = 4");
  arena_free(&s.arena);
}

TEST(blocks_edit_what_is_around_them) {
  Sample s;
  sample_init(&s);
  IrModel* m = &s.m;
  add_equation(m, 0, "x = 1");
  add_equation(m, 0, "l: y = 1");
  add_equation(m, s.a_one, "x = 2");
  add_equation(m, s.a_one, "l: y = 2");
  uint32_t inner[2];
  add_switch(m, "inner", s.a_one, "[x > 0]", inner);
  add_equation(m, inner[1], "x = 3");
  add_delete(m, inner[0], "l");
  uint32_t innermost[2];
  add_switch(m, "innermost", inner[1], "[x > 1]", innermost);
  add_equation(m, innermost[1], "x = 4");
  uint32_t top[2];
  add_switch(m, "top", 0, "[x > 2]", top);
  add_equation(m, top[1], "z = 5");
  sample_finish(&s);
  check_mode(&s, "init", "init", "x = 1; y = 1");
  CHECK(!ir_automaton_is_active(m, find_automaton(m, STR_LIT("inner")), s.mode), "dormant");
  CHECK(ir_automaton_is_active(m, find_automaton(m, STR_LIT("top")), s.mode), "active");
  CHECK(ir_automaton_is_active(m, find_automaton(m, STR_LIT("a")), s.mode), "active");
  set_mode(m, s.mode, "innermost", "true");
  check_mode(&s, "one", "init", "x = 2");
  CHECK(!ir_automaton_is_active(m, find_automaton(m, STR_LIT("innermost")), s.mode), "dormant");
  set_mode(m, s.mode, "inner", "true");
  check_mode(&s, "one", "init", "y = 2; x = 4");
  CHECK(ir_automaton_is_active(m, find_automaton(m, STR_LIT("innermost")), s.mode), "active");
  set_mode(m, s.mode, "innermost", "false");
  set_mode(m, s.mode, "top", "true");
  check_mode(&s, "one", "init", "y = 2; z = 5; x = 3");
  check_mode(&s, "init", "init", "x = 1; y = 1; z = 5");
  arena_free(&s.arena);
}

TEST(blocks_of_a_state_hold_in_states_like_it) {
  Sample s;
  sample_init(&s);
  IrModel* m = &s.m;
  add_equation(m, 0, "x = 1");
  add_equation(m, 0, "y = 1");
  uint32_t inner[2];
  add_switch(m, "inner", s.a_one, "[x > 0]", inner);
  add_equation(m, inner[1], "x = 2");
  add_equation(m, inner[1], "y = 2");
  m->bodies.data[s.a_two].parent = s.a_one;
  add_equation(m, s.a_two, "x = 3");
  sample_finish(&s);
  set_mode(m, s.mode, "inner", "true");
  check_mode(&s, "one", "init", "x = 2; y = 2");
  check_mode(&s, "two", "init", "x = 3; y = 2");  // its own edits come last
  CHECK(ir_automaton_is_active(m, find_automaton(m, STR_LIT("inner")), s.mode), "active");
  arena_free(&s.arena);
}

TEST(neighbouring_blocks_are_in_conflict_but_not_with_what_is_around) {
  Sample s;
  sample_init(&s);
  IrModel* m = &s.m;
  add_equation(m, 0, "x = 1");
  uint32_t first[2];
  uint32_t second[2];
  add_equation(m, s.a_one, "x = 2");
  add_switch(m, "first", s.a_one, "[x > 0]", first);
  add_switch(m, "second", s.a_one, "[x > 1]", second);
  add_equation(m, first[1], "x = 3");
  add_equation(m, second[1], "x = 4");
  add_equation(m, s.b_one, "x = 5");
  sample_finish(&s);
  set_mode(m, s.mode, "first", "true");
  check_mode(&s, "one", "init", "x = 3");
  set_mode(m, s.mode, "second", "true");
  check_mode(&s, "one", "init", "conflict x: x = 3; x = 4");
  check_mode(&s, "two", "init", "x = 1");
  set_mode(m, s.mode, "first", "false");
  check_mode(&s, "one", "one", "conflict x: x = 5; x = 4");  // the innermost counts
  arena_free(&s.arena);
}

TEST(inner_edits_are_seen_by_other_automata) {
  // the block edits, the state around it does not
  Sample s;
  sample_init(&s);
  IrModel* m = &s.m;
  add_equation(m, 0, "x = 1");
  uint32_t inner[2];
  add_switch(m, "inner", s.a_one, "[x > 0]", inner);
  add_equation(m, inner[1], "x = 3");
  add_equation(m, s.b_one, "x = 5");
  sample_finish(&s);
  check_mode(&s, "one", "one", "x = 5");
  set_mode(m, s.mode, "inner", "true");
  check_mode(&s, "one", "one", "conflict x: x = 5; x = 3");
  arena_free(&s.arena);
}

// ---------------------------------------------------------------------------------------------
// random models against a plain reading of the rules

enum { MAX_EQUATIONS = 160, MAX_LABELS = 8, MAX_LHS = 16 };

typedef struct Set {
  bool in[MAX_EQUATIONS];
  uint32_t label[MAX_EQUATIONS];  // of the group, by name id
} Set;

typedef struct Edits {
  bool label[64], guest[64], lhs[64];
} Edits;

typedef struct Plain {
  const IrModel* m;
  const uint32_t* mode;
  bool conflict;
} Plain;

static uint32_t lhs_key(const IrEquation* e) {
  return e->lhs_var * 2 + e->lhs_order;
}

static void plain_layer(const Plain* p, Set* set, uint32_t body_id, Edits* edits) {
  const IrModel* m = p->m;
  const IrBody* body = &m->bodies.data[body_id];
  Set before = *set;
  for (uint32_t i = 0; i < body->delete_count; i++) {
    uint32_t label = m->deletes.data[body->delete_begin + i].label;
    for (uint32_t e = 0; e < m->equations.count; e++) {
      if (before.in[e] && before.label[e] == label) set->in[e] = false;
    }
  }
  for (uint32_t i = 0; i < body->equation_count; i++) {
    uint32_t own = body->equation_begin + i;
    const IrEquation* e = &m->equations.data[own];
    uint32_t label = e->label;
    uint32_t found = IR_NONE;
    uint32_t count = 0;
    for (uint32_t k = 0; k < m->equations.count; k++) {
      if (!before.in[k]) continue;
      const IrEquation* other = &m->equations.data[k];
      if (label && before.label[k] == label) set->in[k] = false;
      bool same =
          e->lhs_var != IR_NONE && other->lhs_var == e->lhs_var && other->lhs_order == e->lhs_order;
      if (!label && same) {
        found = k;
        count++;
      }
    }
    if (label) edits->label[label] = true;
    if (!label && e->lhs_var != IR_NONE) edits->lhs[lhs_key(e)] = true;
    if (count == 1) {
      set->in[found] = false;
      label = before.label[found];
      if (label) edits->guest[label] = true;
    }
    set->in[own] = true;
    set->label[own] = label;
  }
}

static void plain_group(Plain* p, Set* set, uint32_t around, Edits* edits);

static void plain_chain(Plain* p, Set* set, uint32_t body, Edits* edits) {
  if (body == IR_NONE) return;
  plain_chain(p, set, p->m->bodies.data[body].parent, edits);
  plain_layer(p, set, body, edits);
  plain_group(p, set, body, edits);
}

static bool edits_conflict(const Edits* a, const Edits* b) {
  for (uint32_t i = 0; i < 64; i++) {
    if (a->label[i] && b->label[i]) return true;
    if (a->guest[i] && b->label[i]) return true;
    if (a->label[i] && b->guest[i]) return true;
    if (a->lhs[i] && b->lhs[i]) return true;
  }
  return false;
}

static void plain_group(Plain* p, Set* set, uint32_t around, Edits* edits) {
  const IrModel* m = p->m;
  Set before = *set;
  Edits all[16];
  uint32_t count = 0;
  for (uint32_t a = 0; a < m->automata.count; a++) {
    uint32_t parent = m->automata.data[a].parent_body;
    if ((parent == IR_NONE ? 0 : parent) != around) continue;
    Set own = before;
    all[count] = (Edits){0};
    uint32_t state = m->automata.data[a].state_begin + p->mode[a];
    plain_chain(p, &own, m->states.data[state].body, &all[count]);
    for (uint32_t e = 0; e < m->equations.count; e++) {
      if (before.in[e] && !own.in[e]) set->in[e] = false;
      if (!before.in[e] && own.in[e]) {
        set->in[e] = true;
        set->label[e] = own.label[e];
      }
    }
    for (uint32_t k = 0; k < count; k++) {
      if (edits_conflict(&all[k], &all[count])) p->conflict = true;
    }
    for (uint32_t k = 0; k < 64; k++) {
      edits->label[k] |= all[count].label[k];
      edits->guest[k] |= all[count].guest[k];
      edits->lhs[k] |= all[count].lhs[k];
    }
    count++;
  }
}

static void random_edits(IrModel* m, uint32_t body, uint64_t* seed, uint32_t most) {
  static const char* const labels[] = {"", "", "", "l:", "k:", "j:"};
  static const char* const lefts[] = {"x", "y", "z", "x'", "y'", "x*y", "w"};
  uint32_t count = (uint32_t)(test_random(seed) % (most + 1));
  for (uint32_t i = 0; i < count; i++) {
    if (body && test_random(seed) % 5 == 0) {
      static const char* const deleted[] = {"l", "k", "j"};
      add_delete(m, body, deleted[test_random(seed) % 3]);
      continue;
    }
    char text[64];
    snprintf(text, sizeof text, "%s%s = %u", labels[test_random(seed) % SLT_COUNT(labels)],
             lefts[test_random(seed) % SLT_COUNT(lefts)], 10 + m->equations.count);
    add_equation(m, body, text);
  }
}

static void random_model(IrModel* m, uint64_t* seed) {
  random_edits(m, 0, seed, 8);
  uint32_t automata = 1 + (uint32_t)(test_random(seed) % 3);
  for (uint32_t a = 0; a < automata; a++) {
    char name[8] = {(char)('a' + a), 0};
    uint32_t automaton = add_automaton(m, name);
    add_state(m, automaton, "init");
    add_state(m, automaton, "one");
    add_state(m, automaton, "two");
    uint32_t one = add_body(m, automaton, 1, IR_NONE);
    uint32_t two = add_body(m, automaton, 2, test_random(seed) % 2 ? one : IR_NONE);
    random_edits(m, one, seed, 3);
    random_edits(m, two, seed, 3);
  }
  uint32_t blocks = (uint32_t)(test_random(seed) % 5);
  for (uint32_t i = 0; i < blocks; i++) {
    uint32_t bodies[2];
    char name[8] = {'i', 'f', (char)('0' + i), 0};
    add_switch(m, name, (uint32_t)(test_random(seed) % m->bodies.count), "[x > 0]", bodies);
    random_edits(m, bodies[0], seed, 2);
    random_edits(m, bodies[1], seed, 2);
  }
  ir_canonicalise(m);
}

static void check_against_rules(const IrModel* m, Arena* arena, const uint32_t* mode,
                                uint32_t* conflicts) {
  Plain p = {m, mode, false};
  Set set = {.in = {false}};
  for (uint32_t e = 0; e < m->bodies.data[0].equation_count; e++) {
    set.in[e] = true;
    set.label[e] = m->equations.data[e].label;
  }
  Edits edits = {.label = {false}};
  plain_group(&p, &set, 0, &edits);
  uint32_t* out = ARENA_ARRAY(arena, uint32_t, m->equations.count);
  IrConflict conflict = {0, 0, 0, 0};
  uint32_t count = ir_mode_equations(m, arena, mode, out, &conflict);
  if (p.conflict) {
    (*conflicts)++;
    CHECK(count == IR_NONE, "conflict");
    CHECK(conflict.equation_a < conflict.equation_b, "two different equations");
    CHECK(conflict.equation_b < m->equations.count, "that exist");
    return;
  }
  uint32_t k = 0;
  for (uint32_t e = 0; e < m->equations.count; e++) {
    if (!set.in[e]) continue;
    CHECK(k < count && out[k] == e, "equation");
    k++;
  }
  CHECK(k == count, "no others");
}

TEST(random_models_follow_the_rules) {
  uint64_t seed = 21;
  uint32_t conflicts = 0;
  uint32_t modes = 0;
  for (uint32_t round = 0; round < 1500; round++) {
    TEST_ARENA(arena);
    IrModel* m = ARENA_NEW(&arena, IrModel);
    ir_model_init(m, &arena, NULL);
    random_model(m, &seed);
    check_valid(m, &arena, "random model");
    uint32_t* mode = ARENA_ARRAY(&arena, uint32_t, m->automata.count);
    for (uint32_t k = 0; k < 20; k++, modes++) {
      for (uint32_t a = 0; a < m->automata.count; a++) {
        mode[a] = (uint32_t)(test_random(&seed) % m->automata.data[a].state_count);
      }
      check_against_rules(m, &arena, mode, &conflicts);
    }
    arena_free(&arena);
  }
  CHECK(conflicts > modes / 20 && conflicts < modes / 2, "a mixture");
}

TEST(a_mode_does_not_depend_on_its_history) {
  uint64_t seed = 22;
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  random_model(&m, &seed);
  uint32_t* mode = ARENA_ARRAY(&arena, uint32_t, m.automata.count);
  BASE_VEC(Str) known = {NULL, 0, 0};
  // a walk in which every mode is met several times, one state changing at a time
  for (uint32_t step = 0; step < 3000; step++) {
    uint32_t a = (uint32_t)(test_random(&seed) % m.automata.count);
    mode[a] = (uint32_t)(test_random(&seed) % m.automata.data[a].state_count);
    uint32_t number = 0;
    for (uint32_t i = 0; i < m.automata.count; i++) {
      number = number * 3 + mode[i];
    }
    while (known.count <= number) {
      base_vec_push(&arena, &known, (Str){NULL, 0});
    }
    Str text = mode_text(&m, &arena, mode);
    if (known.data[number].data) CHECK(str_equal(known.data[number], text), "same as last time");
    known.data[number] = text;
  }
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// size

static double time_large(uint32_t count) {
  TEST_ARENA(arena);
  IrModel* m = ARENA_NEW(&arena, IrModel);
  ir_model_init(m, &arena, NULL);
  uint32_t label = names_intern(&m->names, STR_LIT("group"));
  uint32_t word = names_intern(&m->names, STR_LIT("if@1:1"));
  for (uint32_t i = 0; i < count; i++) {
    char text[32];
    int length = snprintf(text, sizeof text, "x_%u", i);
    uint32_t name = names_intern(&m->names, (Str){text, (uint32_t)length});
    base_vec_push(&arena, &m->vars, (IrVar){.name = name});
    IrAutomaton a = {.name = word, .kind = IR_AUTOMATON_SWITCH, .parent_body = 0};
    if (i == 0) read_term(m, "[x_0 > 0]");
    IrTermBuilder b;
    ir_term_begin(&b, m);
    a.condition = ir_term_end(&b, ir_term_leaf(&b, (IrLeaf){.id = 0, .kind = IR_LEAF_ATOM}));
    base_vec_push(&arena, &m->automata, a);
    for (uint32_t s = 0; s < 2; s++) {
      uint32_t body = m->bodies.count;
      base_vec_push(&arena, &m->states, (IrState){.name = word, .automaton = i, .body = body});
      base_vec_push(&arena, &m->bodies, (IrBody){.automaton = i, .state = s, .parent = IR_NONE});
      // every block deletes one large group and replaces an equation of its own
      base_vec_push(&arena, &m->deletes, (IrDelete){.body = body, .label = label});
    }
    for (uint32_t k = 0; k < 3; k++) {
      ir_term_begin(&b, m);
      ExprId left = ir_term_var(&b, i, 0, IR_NOW);
      IrEquation e = {.lhs_var = i, .body = k == 2 ? 0 : m->bodies.count - 1 - k};
      e.label = k == 2 && i % 2 ? label : 0;
      e.term =
          ir_term_end(&b, ir_node(&m->pool, IR_EQUALS, left, ir_const(&m->pool, k), (ExprId){0}));
      base_vec_push(&arena, &m->equations, e);
    }
  }
  ir_canonicalise(m);
  uint32_t* mode = ARENA_ARRAY(&arena, uint32_t, m->automata.count);
  uint32_t* out = ARENA_ARRAY(&arena, uint32_t, m->equations.count);
  double begin = (double)clock() / CLOCKS_PER_SEC;
  uint32_t found = ir_mode_equations(m, &arena, mode, out, NULL);
  double spent = (double)clock() / CLOCKS_PER_SEC - begin;
  CHECK(found == count, "one equation each");
  arena_free(&arena);
  return spent;
}

TEST(large_modes_take_linear_time) {
  double small = time_large(10000);
  double large = time_large(100000);
  print_message("a mode with 1e5 active blocks: %.3f s\n", large);
  CHECK(large < 40 * small + 0.5, "linear");
}

static void build_mode(IrModel* m) {
  uint64_t seed = 5;
  random_model(m, &seed);
  uint32_t* mode = ARENA_ARRAY(m->arena, uint32_t, m->automata.count);
  uint32_t* out = ARENA_ARRAY(m->arena, uint32_t, m->equations.count);
  for (uint32_t i = 0; i < 200; i++) {
    mode[0] = i % 3;
    ir_mode_equations(m, m->arena, mode, out, NULL);
  }
}

TEST(running_out_of_memory_leaves_no_leak) {
  check_every_failure(build_mode);
}
