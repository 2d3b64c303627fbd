// SPDX-License-Identifier: MIT
#include "ir_build.h"
#include "test.h"

static const ExprId none = {0};

TEST(as_few_parentheses_as_possible) {
  static const char* const cases[] = {
      // text that must come out as it went in
      "a + b + c",
      "a + (b + c)",
      "a - b - c",
      "a - (b - c)",
      "a*b*c",
      "a*(b*c)",
      "a/b/c",
      "a/(b*c)",
      "a*(b + c)",
      "(a + b)*c",
      "-a*b",
      "-(a*b)",
      "-a + b",
      "-(a + b)",
      "a + (-b)",
      "a*(-b)",
      "-(-a)",
      "-a^2",
      "(-a)^2",
      "a^(-2)",
      "a^b^c",
      "(a^b)^c",
      "(a*b)^c",
      "a^(b*c)",
      "sin(a + b)*c",
      "min(a, max(b, -c))",
      "if(a < b, a, b) + 1",
      "a < b and c >= a or not a == b",
      "(a < b or c > a) and b != c",
      "a < b and (c > a and b < c)",
      "not (a < b and c > a)",
      "m*v_x' = -T*x/l",
      "x'' = -k*x - 0.25*x'",
      "x''' = pre(x') + post(y)",
      "a < b - 1",
      "a < -b",
      "1e300*x + 1e-6",
      "time + `odd name`'",
      "`if` = `2x`",
  };
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  for (size_t i = 0; i < SLT_COUNT(cases); i++) {
    IrTerm t = read_term(&m, cases[i]);
    CHECK_STR(print_term(&m, &arena, t), cases[i], cases[i]);
  }
  arena_free(&arena);
}

static ExprId random_number(IrTermBuilder* b, uint64_t* seed, uint32_t depth);

static ExprId random_truth(IrTermBuilder* b, uint64_t* seed, uint32_t depth) {
  IrPool* pool = &b->model->pool;
  static const IrOp relations[] = {IR_LT, IR_LE, IR_GT, IR_GE, IR_EQ, IR_NE};
  uint64_t pick = test_random(seed) % 9;
  if (depth == 0 || pick < 4) {
    IrOp op = relations[test_random(seed) % SLT_COUNT(relations)];
    ExprId left = random_number(b, seed, depth ? depth - 1 : 0);
    return ir_node(pool, op, left, random_number(b, seed, depth ? depth - 1 : 0), none);
  }
  ExprId left = random_truth(b, seed, depth - 1);
  if (pick == 4) return ir_node(pool, IR_NOT, left, none, none);
  return ir_node(pool, pick < 7 ? IR_AND : IR_OR, left, random_truth(b, seed, depth - 1), none);
}

static ExprId random_number(IrTermBuilder* b, uint64_t* seed, uint32_t depth) {
  IrPool* pool = &b->model->pool;
  static const IrOp binary[] = {IR_ADD, IR_SUB, IR_MUL, IR_DIV, IR_POW, IR_ADD, IR_SUB, IR_ATAN2};
  uint64_t pick = test_random(seed) % 14;
  if (depth == 0 || pick == 0) {
    if (test_random(seed) % 4 == 0) {
      return ir_term_number(b, (double)(test_random(seed) % 1000) / 8);
    }
    uint32_t order = (uint32_t)(test_random(seed) % 6);
    return ir_term_var(b, (uint32_t)(test_random(seed) % 5), (uint8_t)(order > 3 ? 0 : order),
                       IR_NOW);
  }
  ExprId left = random_number(b, seed, depth - 1);
  if (pick < 3) return ir_node(pool, IR_NEG, left, none, none);
  if (pick == 3) return ir_node(pool, IR_SIN, left, none, none);
  ExprId right = random_number(b, seed, depth - 1);
  if (pick == 4) return ir_node(pool, IR_SELECT, random_truth(b, seed, depth - 1), left, right);
  return ir_node(pool, binary[test_random(seed) % SLT_COUNT(binary)], left, right, none);
}

TEST(printed_expressions_read_back_to_the_same_tree) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  for (const char* name = "abcde"; *name; name++) {
    find_var(&m, (Str){name, 1});
  }
  uint64_t seed = 5;
  for (int i = 0; i < 3000; i++) {
    IrTermBuilder b;
    ir_term_begin(&b, &m);
    ExprId root = i % 3 ? random_number(&b, &seed, 5) : random_truth(&b, &seed, 4);
    IrTerm t = ir_term_end(&b, root);
    Str text = print_term(&m, &arena, t);
    IrTerm again = read_term(&m, text.data);
    CHECK(ir_term_equal(&m, t, again), text.data);
    CHECK_STR(print_term(&m, &arena, again), text.data, "again");
  }
  arena_free(&arena);
}

TEST(other_leaves_and_nodes) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  uint32_t automaton = add_automaton(&m, "main");
  add_state(&m, automaton, "init");
  add_state(&m, automaton, "odd name");
  m.automata.data[automaton].state_begin = 0;
  m.automata.data[automaton].state_count = 2;
  static const double points[] = {0, 1};
  IrData data = {
      .name = names_intern(&m.names, STR_LIT("curve")), .x = points, .y = points, .count = 2};
  base_vec_push(&arena, &m.data, data);
  CHECK_STR(print_term(&m, &arena, read_term(&m, "@main.`odd name`")), "main.`odd name`", "mode");
  CHECK_STR(print_term(&m, &arena, read_term(&m, "x + random()")), "x + random()", "random");

  IrTermBuilder b;
  ir_term_begin(&b, &m);
  ExprId entry = ir_term_leaf(&b, (IrLeaf){.id = automaton, .kind = IR_LEAF_ENTRY});
  ExprId start = ir_term_leaf(&b, (IrLeaf){.id = IR_NONE, .kind = IR_LEAF_ENTRY});
  ExprId sum = ir_node(&m.pool, IR_ADD, ir_table(&m.pool, 0, entry), start, none);
  ExprId high = ir_term_var(&b, find_var(&m, STR_LIT("x")), 5, IR_NOW);
  sum = ir_node(&m.pool, IR_ADD, sum, high, none);
  sum = ir_node(&m.pool, IR_SUB, sum, ir_term_number(&b, -7.5), none);
  sum = ir_node(&m.pool, IR_MUL, ir_const(&m.pool, -2), sum, none);
  IrTerm t = ir_term_end(&b, sum);
  CHECK_STR(print_term(&m, &arena, t), "-2*(table(curve, main.t0) + t0 + der(x, 5) - (-7.5))",
            "leaves");

  TextBuffer out = {.arena = &arena};
  ir_print_expr(&out, &m, t.shape, NULL);
  CHECK_STR(text_str(&out), "-2*(table(curve, $0) + $1 + $2 - $3)", "without a row");
  CHECK_STR(print_term(&m, &arena, (IrTerm){none, 0, 0}), "nil", "absent");
  arena_free(&arena);
}

TEST(atoms_in_conditions) {
  TEST_ARENA(arena);
  Source source;
  source_init(&source, &arena, STR_LIT("m"), STR_LIT("state a [ x\n >=  y ] from b;"));
  IrModel m;
  ir_model_init(&m, &arena, &source);
  IrTerm t = read_term(&m, "unilateral[x < 1] and not [a == b] or noEvent[x' >= 2*y]");
  CHECK_STR(print_term(&m, &arena, t),
            "unilateral[1 - x > 0] and not [a - b == 0] or noEvent[x' - 2*y >= 0]", "oriented");
  m.atoms.data[1].eps = read_term(&m, "1e-8");
  m.atoms.data[1].gamma = read_term(&m, "0.75");
  m.atoms.data[0].gamma = read_term(&m, "0.75");
  m.atoms.data[2].span = (Span){9, 18};
  CHECK_STR(print_term(&m, &arena, t),
            "unilateral(gamma = 0.75)[1 - x > 0] and not ordinary(eps = 1e-8, gamma = 0.75)[a - b "
            "== 0] or noEvent[x >= y]",
            "options and source");
  m.atoms.data[2].span = (Span){9, 11};
  CHECK(strstr(print_term(&m, &arena, t).data, "noEvent[x' - 2*y >= 0]") != NULL, "no relation");
  m.atoms.data[2].span = (Span){8, 18};
  CHECK(strstr(print_term(&m, &arena, t).data, "noEvent[x' - 2*y >= 0]") != NULL, "an index");
  m.atoms.data[2].span = (Span){9, 1000};
  Str text = print_term(&m, &arena, t);
  CHECK(text.length > 0, "a place outside the text is not read");
  arena_free(&arena);
}

TEST(switches_are_shown_as_their_conditions) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  add_switch(&m, "if@1:2", IR_NONE, "[x >= 0] and [y > 1]", NULL);
  CHECK_STR(print_term(&m, &arena, read_term(&m, "if(@`if@1:2`.true, x, -x)")),
            "if([x - 0 >= 0] and [y - 1 > 0], x, -x)", "true");
  CHECK_STR(print_term(&m, &arena, read_term(&m, "not @`if@1:2`.true or @`if@1:2`.false")),
            "not ([x - 0 >= 0] and [y - 1 > 0]) or not ([x - 0 >= 0] and [y - 1 > 0])", "not");
  arena_free(&arena);
}

TEST(names_are_quoted_where_needed) {
  static const struct {
    const char* name;
    bool plain;
  } cases[] = {
      {"x", true},          {"v_x", true},      {"x12", true},
      {"_", true},          {"2x", false},      {"a b", false},
      {"if", false},        {"iff", true},      {"T[3,4]", true},
      {"T[3,-4]", true},    {"T[3]", false},    {"T[3,4]a", true},
      {"T[3,", false},      {"T[,]", false},    {"[1,2]", false},
      {"a.b", true},        {"\xd0\xb0", true}, {"\xc3\xa9t\xc3\xa9", true},
      {"a\xc2\xb2", false}, {"a\xff", false},   {"not", false},
      {"a-b", false},       {"x'", false},      {"row[3].h", true},
      {"a.2b", false},      {"a.", false},      {".a", false},
      {"a[3].b[2]", false}, {"a..b", false},    {"a[1].b[2].c", true},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    IrModel m;
    ir_model_init(&m, &arena, NULL);
    uint32_t var = find_var(&m, str_from_c(c->name));
    Str want = c->plain ? str_from_c(c->name) : str_format(&arena, "`%s`", c->name);
    CHECK(str_equal(ir_var_name(&m, var), want), c->name);
  }
  arena_free(&arena);
}

TEST(deep_and_shared_expressions_are_printed) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  uint32_t x = find_var(&m, STR_LIT("x"));
  IrTermBuilder b;
  ir_term_begin(&b, &m);
  ExprId sum = ir_term_var(&b, x, 0, IR_NOW);
  ExprId right = sum;
  ExprId minus = sum;
  for (uint32_t i = 1; i < 100000; i++) {
    sum = ir_node(&m.pool, IR_ADD, sum, ir_term_var(&b, x, 0, IR_NOW), none);
    right = ir_node(&m.pool, IR_POW, ir_term_var(&b, x, 0, IR_NOW), right, none);
    minus = ir_node(&m.pool, IR_NEG, minus, none, none);
  }
  const IrLeaf row = b.row.data[0];
  TextBuffer out = {.arena = &arena};
  ir_print_expr(&out, &m, sum, &row);
  CHECK(out.length == 4 * 99999 + 1, "a long sum");
  out.length = 0;
  ir_print_expr(&out, &m, right, &row);
  CHECK(out.length == 2 * 99999 + 1, "a tower of powers");
  out.length = 0;
  ir_print_expr(&out, &m, minus, &row);
  CHECK(out.length == 3 * 99999 - 1, "many signs");

  // 2^200 terms: cut
  ExprId twice = ir_term_var(&b, x, 0, IR_NOW);
  for (uint32_t i = 0; i < 200; i++) {
    twice = ir_node(&m.pool, IR_ADD, twice, twice, none);
  }
  out.length = 0;
  ir_print_expr(&out, &m, twice, &row);
  CHECK(strstr(text_str(&out).data, "...") != NULL, "cut");
  CHECK(out.length < 20000000, "not too long");
  arena_free(&arena);
}

static void build_example(IrModel* m) {
  Arena* arena = m->arena;
  add_param(m, "m", "1");
  uint32_t n = add_param(m, "N", "2*m");
  m->params.data[n].structural = true;
  uint32_t x = add_var(m, "x", IR_VAR_UNKNOWN);
  m->vars.data[x].unit = names_intern(&m->names, STR_LIT("cm"));
  m->vars.data[x].nominal = 10;
  m->vars.data[x].select = IR_SELECT_PREFER;
  m->vars.data[x].inactive_zero = true;
  add_var(m, "n", IR_VAR_DISCRETE);
  add_start(m, "x", 1, IR_START_GUESS, "-m");
  add_start(m, "x", 0, IR_START_FIXED, "10");
  add_start(m, "n", 0, IR_START_FIXED, "0");
  add_equation(m, 0, "m*x'' = F");
  add_equation(m, 0, "force: F = -m*9.81");
  uint32_t main = add_automaton(m, "main");
  add_state(m, main, "init");
  add_state(m, main, "down");
  add_state(m, main, "deep");
  m->states.data[1].action_begin = 0;
  add_action(m, "x", IR_ACTION_GUESS, "pre(x)");
  add_action(m, "n", IR_ACTION_SET, "n + 1");
  m->states.data[1].action_count = 2;
  m->states.data[1].invariant = read_term(m, "[x >= -1]");
  m->states.data[1].stop = STR_LIT("too deep");
  uint32_t down = add_body(m, main, 1, IR_NONE);
  add_delete(m, down, "force");
  add_equation(m, down, "F = 0");
  add_body(m, main, 2, down);
  add_transition(m, main, 0, 1, "unilateral[x <= 0] and not @main.down");
  m->transitions.data[0].action_begin = m->actions.count;
  add_action(m, "n", IR_ACTION_SET, "5");
  m->transitions.data[0].action_count = 1;
  add_transition(m, main, 1, 2, NULL);
  uint32_t bodies[2];
  add_switch(m, "if@9:1", down, "[n > 3]", bodies);
  add_equation(m, bodies[1], "x' = 0");
  add_switch(m, "if@9:9", IR_NONE, "[x > 3]", NULL);
  IrSchedule s = {.count = -1,
                  .priority = -1,
                  .action_begin = m->actions.count,
                  .action_count = 1,
                  .goto_count = 1,
                  .stop = {NULL, 0}};
  s.start = read_term(m, "0.5");
  s.period = read_term(m, "m");
  add_action(m, "n", IR_ACTION_SET, "0");
  base_vec_push(arena, &m->gotos, (IrGoto){main, 0, 0});
  base_vec_push(arena, &m->schedules, s);
  IrMacro macro = {.name = names_intern(&m->names, STR_LIT("kinetic"))};
  macro.value = read_term(m, "m*x'^2/2");
  base_vec_push(arena, &m->macros, macro);
  m->energy = read_term(m, "m*x'^2/2 + m*9.81*x");
  m->experiment.end = 10;
  m->experiment.method = STR_LIT("merson");
  base_vec_push(arena, &m->experiment.out, STR_LIT("x"));
  base_vec_push(arena, &m->experiment.out, STR_LIT("n"));
}

TEST(a_whole_model) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  build_example(&m);
  ir_canonicalise(&m);
  check_valid(&m, &arena, "example");
  CHECK_STR(print_model(&m, &arena),
            "parameters\n"
            "  N = 2*m, structural\n"
            "  m = 1\n"
            "variables\n"
            "  F: unknown\n"
            "  n: discrete, n(t0) = 0\n"
            "  x: unknown, order 2, x(t0) = 10, x'(t0) ~ -m, unit \"cm\", nominal 10, select "
            "prefer, inactive zero\n"
            "equations\n"
            "  global\n"
            "    m*x'' = F\n"
            "    force: F = -m*9.81\n"
            "  main.down\n"
            "    delete force\n"
            "    F = 0\n"
            "  main.deep like main.down\n"
            "  if@9:1.true\n"
            "    x' = 0\n"
            "automata\n"
            "  main\n"
            "    state init\n"
            "    state down\n"
            "      n := n + 1\n"
            "      x :~ pre(x)\n"
            "      invariant [x - (-1) >= 0]\n"
            "      stop \"too deep\"\n"
            "    state deep\n"
            "    from init to down when unilateral[0 - x >= 0] and not main.down\n"
            "      n := 5\n"
            "    from down to deep\n"
            "  if@9:9: [x - 3 > 0]\n"
            "  if@9:1 in main.down: [n - 3 > 0]\n"
            "atoms\n"
            "  n - 3 > 0, critical\n"
            "  x - 3 > 0, critical, continuous\n"
            "  x - (-1) >= 0, critical, continuous\n"
            "  0 - x >= 0, unilateral, continuous\n"
            "schedules\n"
            "  at 0.5 each m repeat * priority -1\n"
            "      n := 0\n"
            "      goto main.init\n"
            "macros\n"
            "  kinetic = m*x'^2/2\n"
            "energy\n"
            "  m*x'^2/2 + m*9.81*x\n"
            "experiment\n"
            "  end = 10\n"
            "  method = merson\n"
            "  out = x, n\n",
            "example");
  arena_free(&arena);
}

TEST(an_empty_model) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  ir_canonicalise(&m);
  check_valid(&m, &arena, "empty");
  CHECK_STR(print_model(&m, &arena), "", "empty");
  arena_free(&arena);
}
