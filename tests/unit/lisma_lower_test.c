// SPDX-License-Identifier: MIT
#include "lisma/lisma.h"
#include "test.h"

/// A compiled text and what was said about it.
typedef struct Compiled {
  Source source;
  DiagList diags;
  IrModel m;
  bool fine;
} Compiled;

static SltStatus load_table(void* user, Str name, Arena* arena, Str* content) {
  (void)user;
  if (!str_equal(name, STR_LIT("wind.csv"))) return SLT_ERR_IO;
  *content = str_copy(arena, STR_LIT("t;speed\n0;1\n1;3\n3;0\n6;6\n"));
  return SLT_OK;
}

static void compile_with(Compiled* c, Arena* arena, const char* text, LismaOptions options) {
  options.load_file = load_table;
  source_init(&c->source, arena, STR_LIT("test"), str_from_c(text));
  diag_init(&c->diags, arena, &c->source);
  c->fine = lisma_compile(&c->m, arena, &c->source, &options, &c->diags);
}

static void compile(Compiled* c, Arena* arena, const char* text) {
  compile_with(c, arena, text, (LismaOptions){0});
}

/// Compile a text that must be right; the messages are shown if it is not.
static void compile_fine(Compiled* c, Arena* arena, const char* text) {
  compile(c, arena, text);
  for (uint32_t i = 0; !c->fine && i < c->diags.items.count; i++) {
    Str message = diag_render(arena, &c->source, &c->diags.items.data[i], false);
    print_error("%.*s", STR_ARGS(message));
  }
  CHECK(c->fine, text);
}

static Str printed(Arena* arena, const IrModel* m) {
  TextBuffer out = {.arena = arena};
  ir_print_model(&out, m);
  return text_str(&out);
}

static bool contains(Str text, const char* part) {
  return strstr(text.data, part) != NULL;
}

/// Every part stands in the printed model.
static void check_printed(const char* text, const char* const* parts, size_t count) {
  TEST_ARENA(arena);
  Compiled c;
  compile_fine(&c, &arena, text);
  Str out = printed(&arena, &c.m);
  for (size_t i = 0; i < count; i++) {
    if (!contains(out, parts[i])) print_error("%.*s", STR_ARGS(out));
    CHECK(contains(out, parts[i]), parts[i]);
  }
  arena_free(&arena);
}

#define CHECK_PRINTED(text, ...) \
  do { \
    const char* const parts[] = {__VA_ARGS__}; \
    check_printed((text), parts, SLT_COUNT(parts)); \
  } while (0)

static const IrVar* find_var(const IrModel* m, const char* name) {
  for (uint32_t i = 0; i < m->vars.count; i++) {
    if (str_equal(names_get(&m->names, m->vars.data[i].name), str_from_c(name))) {
      return &m->vars.data[i];
    }
  }
  return NULL;
}

static const IrParam* find_param(const IrModel* m, const char* name) {
  for (uint32_t i = 0; i < m->params.count; i++) {
    if (str_equal(names_get(&m->names, m->params.data[i].name), str_from_c(name))) {
      return &m->params.data[i];
    }
  }
  return NULL;
}

static uint32_t count_kind(const IrModel* m, IrAutomatonKind kind, bool hidden) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < m->automata.count; i++) {
    const IrAutomaton* automaton = &m->automata.data[i];
    count += automaton->kind == kind && automaton->hidden == hidden;
  }
  return count;
}

static bool has_code(const Compiled* c, DiagCode code) {
  for (uint32_t i = 0; i < c->diags.items.count; i++) {
    if (c->diags.items.data[i].code == code) return true;
  }
  return false;
}

// ---------------------------------------------------------------------------------------------
// the published listings

static const char billiard[] =
    "const R_O = 5; const R_I = 1; const x0 = -1.1; const y0 = -1.0; const vx0 = 1.5;\n"
    "const vy0 = 2.5;\n"
    "macro dotProduct = x * vx + y * vy;\n"
    "x' = vx; x(t0) = x0; y' = vy; y(t0) = y0;\n"
    "vx' = 0; vx(t0) = vx0; vy' = 0; vy(t0) = vy0;\n"
    "r * r = x * x + y * y; r(t0) ~= sqrt(x0 * x0 + y0 * y0);\n"
    "state motion ([r >= R_O] && noEvent[dotProduct >= 0])\n"
    "  || (shortliving[r <= R_I] && noEvent[-dotProduct >= 0])\n"
    "{ vx(t0) = vx - 2 * dotProduct / r / r * x; vy(t0) = vy - 2 * dotProduct / r / r * y; }\n"
    "from init, motion;\n";

static const char fragile_pendulum[] =
    "const l = 5.0; const m = 1.0; const h = 0.0;\n"
    "x' = v_x; x(t0) = 4.0; eqs: v_x = 0.0; y' = v_y; eqs: v_y = 0.0; cst: T = 0.0;\n"
    "y(t0) = -3.0;\n"
    "state Pendulum ordinary[y < h] {\n"
    "  eqs: m * v_x' = -T * x / l; v_x(t0) = -5.0;\n"
    "  eqs: m * v_y' = -T * y / l - m * g; v_y(t0) ~ 0.0; cst: x * x + y * y = l * l;\n"
    "} from init;\n"
    "state Falling ordinary[y >= h] {\n"
    "  v_x(t0) = -v_x; v_y(t0) = -v_y; delete cst; eqs: v_x' = 0.0; eqs: v_y' = -g;\n"
    "} from Pendulum;\n";

static const char implicit_pendulum[] =
    "const l = 5.0; const m = 1.0; const x_0 = 4.0; const y_0 = -3.0;\n"
    "x' = v_x; x(t0) = x_0; m * v_x' = -T * x / l; v_x(t0) = 0.0;\n"
    "m * v_y' = -T * y / l - m * g; v_y(t0) = 0.0; y' = v_y; y(t0) = y_0;\n"
    "x * x + y * y = l * l; r * r = x * x + y * y;\n"
    "r(t0) = sqrt(x_0 * x_0 + y_0 * y_0);\n";

TEST(billiard_listing) {
  CHECK_PRINTED(billiard, "r*r = x*x + y*y", "r: unknown, r(t0) ~ sqrt(x0*x0 + y0*y0)",
                "from init, motion to motion when [r >= R_O] and noEvent[dotProduct >= 0] or "
                "shortliving[r <= R_I] and noEvent[-dotProduct >= 0]",
                "vx := vx - 2*(x*vx + y*vy)/r/r*x", "R_I - r >= 0, shortliving",
                "dotProduct = x*vx + y*vy");
}

TEST(pendulum_listings) {
  CHECK_PRINTED(fragile_pendulum, "eqs: m*v_y' = -T*y/l - m*9.80665", "delete cst", "v_y :~ 0",
                "T: unknown", "h - y > 0, critical");
  CHECK_PRINTED(implicit_pendulum, "T: unknown", "r: unknown, r(t0) = sqrt(x_0*x_0 + y_0*y_0)");
}

TEST(loop_and_pulse_listings) {
  CHECK_PRINTED("for i = 1:4 { x_[i]' = x_[i+1]; x_[i](t0) = i; } x_5' = x_1; x_5(t0) = 5;",
                "x_4' = x_5", "x_3: unknown, order 1, x_3(t0) = 3");
  CHECK_PRINTED("pulse' = 1; at 0 each 1 repeat * { pulse(t0) = 0; }", "at 0 each 1 repeat *",
                "pulse := 0");
}

// ---------------------------------------------------------------------------------------------
// names

TEST(constants_in_any_order) {
  CHECK_PRINTED("const b = 2*a, c = d = a + 1; const a = 3; x' = a*b*c*d;", "b = 2*a", "c = a + 1",
                "d = a + 1", "x' = a*b*c*d");
}

TEST(constants_are_overridden) {
  TEST_ARENA(arena);
  Compiled c;
  static const LismaOverride overrides[] = {
      {{"N", 1}, 2.0}, {{"nothing", 7}, 1.0}, {{"k", 1}, 9.0}};
  bool applied[3];
  LismaOptions options = {.overrides = overrides, .override_count = 3, .applied = applied};
  compile_with(&c, &arena, "const k = 1/0, M = 5, N = M - 1; for i = 1:N { x_[i]' = k; }", options);
  CHECK(c.fine, "the value of k that makes no sense is not needed");
  CHECK(applied[0] && !applied[1] && applied[2], "applied");
  CHECK(c.m.vars.count == 2, "loop over N = 2");
  CHECK(find_param(&c.m, "N")->structural, "N is structural");
  CHECK(!find_param(&c.m, "M")->structural, "M is not read any more");
  CHECK(!find_param(&c.m, "k")->structural, "k is free");
  arena_free(&arena);
}

TEST(structural_constants) {
  TEST_ARENA(arena);
  Compiled c;
  compile_fine(&c, &arena,
               "const a = 1, b = a + 1, n = 3, p = 2, q = 1, z = 5;\n"
               "for i = 1:b { x_[i]' = z*i; } x_[n+2]' = 1; at 0 each 1 repeat p { set x_1 = 0; }\n"
               "for i = 1:2 { y_[i] = if(i == q, 1, x_1); }");
  const char* const names[] = {"a", "b", "n", "p", "q"};
  for (size_t i = 0; i < SLT_COUNT(names); i++) {
    CHECK(find_param(&c.m, names[i])->structural, names[i]);
  }
  CHECK(!find_param(&c.m, "z")->structural, "z");
  arena_free(&arena);
}

TEST(pasted_names) {
  CHECK_PRINTED(
      "for i = 1:2 { x[i]a' = 1; T[i,i+1]' = 2; y_[2*i]' = x[i]a; } y_2(t0) = 3; z = y_4;",
      "x1a' = 1", "x2a' = 1", "y_4' = x2a", "y_2(t0) = 3", "z = y_4", "T[1,2]: unknown",
      "T[2,3]' = 2");
}

TEST(indexed_constants_and_macros) {
  CHECK_PRINTED("for i = 1:3 { const c_[i] = 10*i; macro m_[i] = c_[i]*x; } x' = m_2 + c_3;",
                "c_3 = 10*3", "x' = c_2*x + c_3", "m_1 = c_1*x");
}

TEST(ends_of_a_chain_are_decided_by_the_index) {
  TEST_ARENA(arena);
  Compiled c;
  compile_fine(&c, &arena,
               "const N = 3; for i = 1:N {\n"
               "  if (i == 1) { x_[i]' = 0; } else if (i == N) { x_[i]' = x_[i-1]; }\n"
               "  else { x_[i]' = x_[i-1] - x_[i+1]; }\n"
               "  y_[i] = if(i > 1 && x_[i] > 0, x_[i], 0) + if(i == 1, x_1, y_[i-1]); }");
  CHECK(!find_var(&c.m, "x_0") && !find_var(&c.m, "x_4") && !find_var(&c.m, "y_0"), "no strays");
  CHECK(count_kind(&c.m, IR_AUTOMATON_SWITCH, false) == 2, "one switch for each i > 1");
  arena_free(&arena);
}

TEST(decided_branches_edit_like_states) {
  CHECK_PRINTED(
      "for i = 1:2 { l: x_[i]' = 1; y_[i] = 5; if (i == 2) { l: x_[i]' = 7; y_[i] = 6; } }",
      "l: x_2' = 7", "y_1 = 5", "y_2 = 6");
  TEST_ARENA(arena);
  Compiled c;
  compile_fine(&c, &arena, "l_1: x' = 1; y' = 2; for i = 1:1 { if (i == 1) { x' = 3; y' = 4; } }");
  CHECK(c.m.equations.count == 2, "both are replaced");
  arena_free(&arena);
}

TEST(kinds_of_variables) {
  static const struct {
    const char* text;
    const char* name;
    bool discrete;
  } cases[] = {
      {"x' = u; u(t0) = 1;", "u", true},
      {"x' = u; at 1 { set u = 2; }", "u", true},
      {"x' = 1; n(t0) = 0; state A [x > 1] { n(t0) = n + 1; x(t0) = 0; } from init, A;", "n", true},
      {"r*r = x; x' = 1; r(t0) ~ 1;", "r", false},
      {"r*r = x; x' = 1; r(t0) = 1;", "r", false},
      {"r*r = u; u(t0) = 2; r(t0) ~ 1;", "u", true},
      {"r*r = u; u(t0) = 2; r(t0) ~ 1;", "r", false},
      {"a: x' = 0; state A [x > 1] { a: x'*T = 3; b: T*T = 2; } from init;", "T", false},
      {"F = k*x; F = m*w; x' = w; const k = 1, m = 2;", "w", false},
      {"if (x > 1) { 0 = y - 2*x; } else { 0 = y; } x' = 1;", "y", false},
  };
  FOR_CASES(k, cases) {
    TEST_ARENA(arena);
    Compiled c;
    compile_fine(&c, &arena, k->text);
    const IrVar* var = find_var(&c.m, k->name);
    CHECK(var && (var->kind == IR_VAR_DISCRETE) == k->discrete, k->text);
    arena_free(&arena);
  }
}

TEST(builtin_names) {
  CHECK_PRINTED("x' = g + pi; y = t + TIME - time;", "9.80665", "3.14159",
                "y = time + time - time");
  CHECK_PRINTED("const g = 1; t' = g; y = t;", "t' = g", "y = t", "g = 1");
}

TEST(order_of_declarations_does_not_matter) {
  static const char* const permuted[] = {
      "const a = b; const b = 1; macro m = abs(x); x' = m + a; y' = abs(x) - floor(y); x(t0) = 1;",
      "y' = abs(x) - floor(y); x(t0) = 1; macro m = abs(x); const b = 1; x' = m + a; const a = b;",
  };
  TEST_ARENA(arena);
  Str first = {0};
  FOR_CASES(text, permuted) {
    Compiled c;
    compile_fine(&c, &arena, *text);
    // the names of switches and cells tell where they stand
    TextBuffer out = {.arena = &arena};
    for (uint32_t i = 0; i < c.m.equations.count; i++) {
      for (uint32_t k = 0; k < c.m.equations.data[i].term.leaf_count; k++) {
        IrLeaf leaf = ir_leaf(&c.m, c.m.equations.data[i].term, k);
        text_append_format(&out, "%u:%u ", (unsigned)leaf.kind, leaf.id);
      }
      text_append_format(&out, "%u\n", c.m.equations.data[i].term.shape.index);
    }
    if (!first.data) first = text_str(&out);
    CHECK(str_equal(first, text_str(&out)), "same numbers");
  }
  arena_free(&arena);
}

TEST(sums_over_all_elements_have_one_shape) {
  static const char* const texts[] = {
      "for i = 1:4 { x[i]' = -x[i] + sum(j = 1:4, sin(x[j] - x[i])); }",
      "for i = 1:4 { x[i]' = sum(j = 1:4, j*x[j]*x[i]) + prod(j = 1:4, x[j] + x[i]); }",
      "function pull(a, b) = (a - b)^2; for i = 1:4 { x[i]' = sum(j = 1:4, pull(x[j], x[i])); }",
  };
  FOR_CASES(text, texts) {
    TEST_ARENA(arena);
    Compiled c;
    compile_fine(&c, &arena, *text);
    for (uint32_t i = 1; i < c.m.equations.count; i++) {
      uint32_t shape = c.m.equations.data[i].term.shape.index;
      CHECK(shape == c.m.equations.data[0].term.shape.index, *text);
    }
    arena_free(&arena);
  }
}

// ---------------------------------------------------------------------------------------------
// piecewise functions

TEST(switches_are_shared) {
  static const struct {
    const char* text;
    uint32_t switches;
  } cases[] = {
      {"x' = -abs(v); v' = abs(v) + x;", 1},
      {"x' = abs(v); v' = sign(v);", 2},
      {"x' = min(x, v); v' = max(x, v);", 1},
      {"macro d = abs(x - v); x' = d; v' = d*d; w = 2*d;", 1},
      {"x' = if(x > 1 && v < 2, 1, 2); v' = if(x > 1 && v < 2, 3, 4);", 1},
      {"x' = noEvent(abs(x) + sign(x)); v' = 1;", 0},
      {"x' = if(noEvent[x > 1], 1, 2);", 0},
      {"const k = -1; x' = abs(k) + floor(k);", 0},
      {"x' = 1; state A [abs(x) > min(x, 2)] { } from init;", 0},
      {"x' = 1; x(t0) = abs(-1); at 1 { set x = abs(x); }", 0},
      {"x' = if(sign(x) > 0, 1, 2);", 3},
  };
  FOR_CASES(k, cases) {
    TEST_ARENA(arena);
    Compiled c;
    compile_fine(&c, &arena, k->text);
    CHECK(count_kind(&c.m, IR_AUTOMATON_SWITCH, false) == k->switches, k->text);
    arena_free(&arena);
  }
}

TEST(cells_of_floor) {
  TEST_ARENA(arena);
  Compiled c;
  compile_fine(&c, &arena, "x' = floor(2*x) + ceil(-2*x); y = mod(x, 3) + x % 3;");
  CHECK(count_kind(&c.m, IR_AUTOMATON_USER, true) == 3, "2*x, -(-2*x), x/3");
  CHECK(c.m.transitions.count == 6, "two transitions each");
  for (uint32_t i = 0; i < c.m.vars.count; i++) {
    const IrVar* var = &c.m.vars.data[i];
    CHECK(var->hidden == (var->kind == IR_VAR_DISCRETE), "cells are hidden and discrete");
  }
  Str out = printed(&arena, &c.m);
  CHECK(contains(out, "(t0) = floor(2*x + 0.5)"), "first cell");
  CHECK(contains(out, ":= floor(2*x + 0.5)"), "moves to the nearest");
  arena_free(&arena);
}

TEST(tables) {
  TEST_ARENA(arena);
  Compiled c;
  compile_fine(&c, &arena,
               "data wind = \"wind.csv\", speed; x' = table(wind, x) + table(wind, x);");
  CHECK(count_kind(&c.m, IR_AUTOMATON_USER, true) == 1, "one cell for both");
  CHECK(c.m.data.count == 5, "the table and what its cells read");
  compile_fine(&c, &arena, "data wind = \"wind.csv\", 2, cubic; x' = table(wind, x);");
  CHECK(c.m.data.count == 1 && c.m.data.data[0].interpolation == IR_CUBIC, "cubic is smooth");
  CHECK(c.m.data.data[0].count == 4 && c.m.data.data[0].y[1] == 3.0, "contents");
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// events

TEST(atoms) {
  static const struct {
    const char* guard;
    const char* g;
  } cases[] = {
      {"[x >= 2]", "x - 2 >= 0, critical, continuous, written x >= 2"},
      {"x < 2", "2 - x > 0, critical, continuous, written x < 2"},
      {"unilateral[(x) <= 0]", "-x >= 0, unilateral, continuous, written (x) <= 0"},
      {"bilateral[0 < x]", "x > 0, bilateral"},
      {"x == 3", "x - 3 == 0, critical, bipolar, continuous"},
      {"x != 3", "x - 3 == 0, critical, bipolar, continuous"},
      {"!(x > 3)", "3 - x >= 0, critical, continuous, called not (x > 3)"},
      {"!(x > 3 || n < 2)", "3 - x >= 0, critical, continuous, called not (x > 3)"},
      {"!unilateral[x > 3]", "x - 3 > 0, unilateral, bipolar"},
      {"n > 3", "n - 3 > 0, critical, written n > 3"},
      {"k > 3", "k - 3 > 0, critical, written k > 3"},
      {"shortliving(eps = k/100, gamma = 0.8)[x > 1]", "shortliving"},
      {"time > t0 + 1", "main.t0"},
      {"pre(x) > post(n)", "pre(x) - post(n) > 0"},
  };
  FOR_CASES(k, cases) {
    TEST_ARENA(arena);
    Compiled c;
    Str text =
        str_format(&arena, "const k = 1; n(t0) = 0; x' = n; state A %s { } from init;", k->guard);
    compile_fine(&c, &arena, text.data);
    Str out = printed(&arena, &c.m);
    if (!contains(out, k->g)) print_error("%.*s", STR_ARGS(out));
    CHECK(contains(out, k->g), k->guard);
    arena_free(&arena);
  }
}

TEST(states) {
  CHECK_PRINTED("a: x' = 1; b: y' = 2;\n"
                "state A [x > 1] { a: x' = 3; } from init, B;\n"
                "state B [x > 2] like A { delete b; } from A;\n"
                "state A [y > 9] from B;\n"
                "state C { invariant [x > 0]; invariant [y > 0]; stop \"end\"; x(t0) = t0; }\n"
                "at 5 { goto C; stop; }\n",
                "from init, B to A when [x > 1]", "from B to A when [y > 9]", "like main.A",
                "x := time", "invariant [x > 0] and [y > 0]", "goto main.C", "stop \"end\"");
}

TEST(parallel_automata) {
  CHECK_PRINTED("x' = if(V.open && !(main.A), 1, 0);\n"
                "automaton V { state open [x > 1] from init; state shut [main.A] from open; }\n"
                "state A [V.open] from init; state init [V.shut] { set n = n + 1; } from A;",
                "from init to open when [x > 1]", "from open to shut when main.A",
                "from A to init when V.shut", "n := n + 1", "V.open and not main.A");
}

TEST(if_blocks_nest) {
  CHECK_PRINTED(
      "x' = 1; y = 0; if (x > 1) { y = 1; if (x > 2) { y = 2; } } else if (x < 0) { y = 3; }",
      "if@1:16 in global: [x > 1]", "if@1:36 in if@1:16.true: [x > 2]",
      "in if@1:16.false: [x < 0]");
}

TEST(experiment_and_attributes) {
  TEST_ARENA(arena);
  Compiled c;
  compile_fine(
      &c, &arena,
      "const T = 4; x' = 1; x { nominal = 10*T; unit = \"m\"; select = avoid; inactive = zero; }\n"
      "experiment { start = 1; end = T; method = merson; out = x, x', T, \"main.state\"; }\n"
      "energy = x^2;");
  const IrVar* x = find_var(&c.m, "x");
  CHECK(x->nominal == 40.0 && x->select == IR_SELECT_AVOID && x->inactive_zero, "attributes");
  CHECK_STR(names_get(&c.m.names, x->unit), "m", "unit");
  CHECK(c.m.experiment.end == 4.0 && isnan(c.m.experiment.rtol), "numbers");
  CHECK_STR(c.m.experiment.method, "merson", "method");
  CHECK(c.m.experiment.out.count == 4, "out");
  CHECK_STR(c.m.experiment.out.data[1], "x'", "derivative");
  CHECK(ir_term_present(c.m.energy), "energy");
  arena_free(&arena);
}

TEST(macros_that_can_be_recorded) {
  TEST_ARENA(arena);
  Compiled c;
  compile_fine(
      &c, &arena,
      "macro a = abs(x); macro cond = x > 1; macro alias = cond; macro r = uniform(0, 1);\n"
      "macro s = 2*r; macro t1 = a + 1; x' = 1; at 1 { set x = s; }\n"
      "state A alias { } from init;");
  CHECK(c.m.macros.count == 2, "a and t1");
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// order of columns

TEST(variables_appear_as_written) {
  TEST_ARENA(arena);
  Compiled c;
  compile_fine(&c, &arena,
               "macro m = b + a; z' = m; for i = 1:2 { q_[i]' = p_[i]; p_[i]' = z; }\n"
               "a' = 1; b' = 2;");
  const char* const order[] = {"b", "a", "z", "q_1", "q_2", "p_1", "p_2"};
  for (uint32_t i = 0; i < SLT_COUNT(order); i++) {
    CHECK(find_var(&c.m, order[i])->appearance == i, order[i]);
  }
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// limits and recovery

TEST(one_message_per_mistake_in_a_loop) {
  TEST_ARENA(arena);
  Compiled c;
  compile(&c, &arena, "for i = 1:1000 { x_[i]' = x_[i] + sinn(i) + (i > 2); }");
  CHECK(!c.fine && c.diags.error_count == 2, "two mistakes");
  arena_free(&arena);
}

TEST(size_limits) {
  static const struct {
    const char* text;
    DiagCode code;
  } cases[] = {
      {"for i = 1:1000000000 { x_[i]' = 1; }", DIAG_E0720},
      {"for i = 1:100000 { for j = 1:i { x_[i]' = j; } }", DIAG_E0720},
      {"for i = 1:10000 { x_[i]' = sum(j = 1:10000, j); }", DIAG_E0721},
      {"x' = sum(i = 1:1000000000, x);", DIAG_E0721},
      {"macro a = x + x; macro b = a*time + a; const c = sum(i = 1:1000000000, i); x' = b;",
       DIAG_E0721},
  };
  FOR_CASES(k, cases) {
    TEST_ARENA(arena);
    Compiled c;
    compile_with(&c, &arena, k->text,
                 (LismaOptions){.max_leaves = 1000000, .max_instances = 100000});
    CHECK(!c.fine && has_code(&c, k->code), k->text);
    arena_free(&arena);
  }
}

TEST(macros_do_not_explode) {
  TEST_ARENA(arena);
  TextBuffer text = {.arena = &arena};
  text_append_c(&text, "macro m0 = x + time; x' = m60;");
  for (uint32_t i = 1; i <= 60; i++) {
    text_append_format(&text, "macro m%u = m%u*m%u + m%u;", i, i - 1, i - 1, i - 1);
  }
  Compiled c;
  compile_fine(&c, &arena, text_str(&text).data);
  CHECK(c.m.pool.nodes.count < 1000, "shared");
  arena_free(&arena);
}

TEST(million_instances) {
  TEST_ARENA(arena);
  Compiled c;
  compile_fine(&c, &arena,
               "const N = 1000000; x_0 = 0; x_[N+1] = 1;\n"
               "for i = 1:N { x_[i]' = 3*(x_[i-1] - 2*x_[i] + x_[i+1]); }");
  CHECK(c.m.equations.count == 1000002, "equations");
  CHECK(c.m.pool.nodes.count < 50, "a handful of nodes");
  arena_free(&arena);
}

/// Fails when its counter reaches zero, and keeps count of what is in use.
typedef struct Failing {
  long left;
  size_t used;
} Failing;

static void* failing_realloc(void* user, void* pointer, size_t old_size, size_t size) {
  Failing* f = user;
  if (size == 0) {
    f->used -= old_size;
    free(pointer);
    return NULL;
  }
  if (f->left-- == 0) return NULL;
  void* moved = realloc(pointer, size);
  if (moved) f->used += size - (pointer ? old_size : 0);
  return moved;
}

/// Compile with `allowed` allocations; true when they were enough.
static bool compile_within(long allowed, const char* text) {
  Failing failing = {.left = allowed};
  SltAllocator allocator = {failing_realloc, &failing};
  Arena arena;
  jmp_buf oom;
  arena_init(&arena, &allocator, &oom);
  if (setjmp(oom)) {
    arena_free(&arena);
    CHECK(failing.used == 0, "nothing is lost");
    return false;
  }
  Compiled c;
  compile(&c, &arena, text);
  CHECK(c.diags.error_count == 1, "one unknown name");
  arena_free(&arena);
  return true;
}

TEST(every_allocation_may_fail) {
  const char text[] =
      "const N = 30; for i = 1:N { x_[i]' = abs(x_[i]) + floor(x_[i]) + k_[i]; const k_[i] = i;\n"
      "automaton A_[i] { state on [x_[i] > 1] { x_[i](t0) = 0; } from init; } }\n"
      "if (x_1 > 2) { y = 1; } else { y = 2*z; } z*z = 3; z(t0) ~ 1; unknown = nothing;\n";
  long n = 0;
  while (n < 10000 && !compile_within(n, text)) {
    n++;
  }
  CHECK(n > 10 && n < 10000, "it works in the end");
}
