// SPDX-License-Identifier: MIT
#include "lisma/ast_print.h"
#include "lisma/parser.h"
#include "test.h"

typedef struct Parsed {
  Source source;
  DiagList diags;
  const AstModel* model;
} Parsed;

static Parsed* parse(Arena* arena, Str text) {
  Parsed* p = ARENA_NEW(arena, Parsed);
  source_init(&p->source, arena, STR_LIT("test"), text);
  diag_init(&p->diags, arena, &p->source);
  p->model = lisma_parse(arena, &p->source, &p->diags);
  return p;
}

/// The canonical text; after errors their codes and places.
static Str outcome(Arena* arena, Str text) {
  Parsed* p = parse(arena, text);
  TextBuffer out = {.arena = arena};
  if (p->diags.error_count == 0) ast_print_model(&out, p->model);
  for (uint32_t i = 0; i < p->diags.items.count && p->diags.error_count; i++) {
    uint32_t line = 0;
    uint32_t column = 0;
    source_place(&p->source, p->diags.items.data[i].span.begin, &line, &column);
    text_append_format(&out, "%s%s@%u:%u", i ? " " : "",
                       diag_code_text(p->diags.items.data[i].code), line, column);
  }
  return text_str(&out);
}

typedef struct ParseCase {
  const char* text;
  const char* want;  // canonical text, or codes and places
} ParseCase;

static void check_cases(const ParseCase* cases, size_t count) {
  TEST_ARENA(arena);
  for (size_t i = 0; i < count; i++) {
    Str got = outcome(&arena, str_from_c(cases[i].text));
    CHECK_STR(got, cases[i].want, cases[i].text);
    bool codes = got.length > 5 && got.data[0] == 'E' && got.data[5] == '@';
    if (!codes) CHECK_STR(outcome(&arena, got), cases[i].want, "fixed point");
  }
  arena_free(&arena);
}

// Every listing of the seminar on ISMA 2021, as printed.

TEST(listing_closed_space) {
  static const ParseCase cases[] = {{
      "const R_O = 5;\n"
      "const R_I = 1;\n"
      "const x0 = -1.1;\n"
      "const y0 = -1.0;\n"
      "const vx0 = 1.5;\n"
      "const vy0 = 2.5;\n"
      "\n"
      "macro dotProduct = x * vx + y * vy;\n"
      "\n"
      "x' = vx; x(t0) = x0;\n"
      "y' = vy; y(t0) = y0;\n"
      "vx' = 0; vx(t0) = vx0;\n"
      "vy' = 0; vy(t0) = vy0;\n"
      "r * r = x * x + y * y; r(t0) ~= sqrt(x0 * x0 + y0 * y0);\n"
      "\n"
      "state motion ([r >= R_O] && noEvent[dotProduct >= 0]) || (shortliving[r <= R_I] && "
      "noEvent[-dotProduct >= 0])\n"
      "{\n"
      "    vx(t0) = vx - 2 * dotProduct / r / r * x;\n"
      "    vy(t0) = vy - 2 * dotProduct / r / r * y;\n"
      "}\n"
      "from init, motion;\n",
      "const R_O = 5;\n"
      "const R_I = 1;\n"
      "const x0 = -1.1;\n"
      "const y0 = -1;\n"
      "const vx0 = 1.5;\n"
      "const vy0 = 2.5;\n"
      "macro dotProduct = x * vx + y * vy;\n"
      "x' = vx;\n"
      "x(t0) = x0;\n"
      "y' = vy;\n"
      "y(t0) = y0;\n"
      "vx' = 0;\n"
      "vx(t0) = vx0;\n"
      "vy' = 0;\n"
      "vy(t0) = vy0;\n"
      "r * r = x * x + y * y;\n"
      "r(t0) ~= sqrt(x0 * x0 + y0 * y0);\n"
      "state motion [r >= R_O] && noEvent[dotProduct >= 0] || shortliving[r <= R_I] && "
      "noEvent[-dotProduct >= 0] {\n"
      "  vx(t0) = vx - 2 * dotProduct / r / r * x;\n"
      "  vy(t0) = vy - 2 * dotProduct / r / r * y;\n"
      "} from init, motion;\n",
  }};
  check_cases(cases, SLT_COUNT(cases));
}

TEST(listing_dae) {
  static const ParseCase cases[] = {{
      "m * v_x' = -T * x / l;\n"
      "v_x(t0) = 0;\n"
      "x' = v_x;\n"
      "x(t0) = 4;\n"
      "m * v_y' = -T * y / l - m * g;\n"
      "v_y(t0) ~= 0;\n"
      "y(t0) = -3;\n"
      "x * x + y * y = l * l;\n",
      "m * v_x' = -T * x / l;\n"
      "v_x(t0) = 0;\n"
      "x' = v_x;\n"
      "x(t0) = 4;\n"
      "m * v_y' = -T * y / l - m * g;\n"
      "v_y(t0) ~= 0;\n"
      "y(t0) = -3;\n"
      "x * x + y * y = l * l;\n",
  }};
  check_cases(cases, SLT_COUNT(cases));
}

TEST(listing_components) {
  static const ParseCase cases[] = {
      {"state st1 unilateral[y <= 0] {  \n    lbl: y' = 1;\n} from init;\n",
       "state st1 unilateral[y <= 0] {\n  lbl: y' = 1;\n} from init;\n"},
      {"pulse' = 1;\nat 0 each 1 repeat * {\n    pulse(t0) = 0;\n}\n",
       "pulse' = 1;\nat 0 each 1 repeat * {\n  pulse(t0) = 0;\n}\n"},
      {"for i = 1:4\n{\n    x_[i]' = x_[i+1];\n    x_[i](t0) = i;\n}\nx_5' = x_1;\nx_5(t0) = 5;\n",
       "for i = 1:4 {\n  x_[i]' = x_[i + 1];\n  x_[i](t0) = i;\n}\nx_5' = x_1;\nx_5(t0) = 5;\n"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(listing_breaking_pendulum) {
  static const ParseCase cases[] = {{
      "const l = 5.0; // длина стержня\n"
      "const m = 1.0; // масса маятника\n"
      "const h = 0.0; // высота препятствия\n"
      "\n"
      "x' = v_x;\n"
      "x(t0) = 4.0;\n"
      "eqs: v_x = 0.0;\n"
      "y' = v_y;\n"
      "eqs: v_y = 0.0;\n"
      "cst: T = 0.0;\n"
      "y(t0) = -3.0;\n"
      "\n"
      "state Pendulum ordinary[y < h]\n"
      "{\n"
      "eqs: m * v_x' = -T * x / l;\n"
      "    v_x(t0) = -5.0;\n"
      "eqs: m * v_y' = -T * y / l - m * g;\n"
      "    v_y(t0) ~ 0.0;\n"
      "cst: x * x + y * y = l * l;\n"
      "}\n"
      "from init;\n"
      "\n"
      "state Falling ordinary[y >= h]\n"
      "{\n"
      "    v_x(t0) = -v_x;\n"
      "    v_y(t0) = -v_y;\n"
      "\n"
      "    delete cst;\n"
      "    eqs: v_x' = 0.0;\n"
      "    eqs: v_y' = -g;\n"
      "}\n"
      "from Pendulum;\n",
      "const l = 5;\n"
      "const m = 1;\n"
      "const h = 0;\n"
      "x' = v_x;\n"
      "x(t0) = 4;\n"
      "eqs: v_x = 0;\n"
      "y' = v_y;\n"
      "eqs: v_y = 0;\n"
      "cst: T = 0;\n"
      "y(t0) = -3;\n"
      "state Pendulum ordinary[y < h] {\n"
      "  eqs: m * v_x' = -T * x / l;\n"
      "  v_x(t0) = -5;\n"
      "  eqs: m * v_y' = -T * y / l - m * g;\n"
      "  v_y(t0) ~= 0;\n"
      "  cst: x * x + y * y = l * l;\n"
      "} from init;\n"
      "state Falling ordinary[y >= h] {\n"
      "  v_x(t0) = -v_x;\n"
      "  v_y(t0) = -v_y;\n"
      "  delete cst;\n"
      "  eqs: v_x' = 0;\n"
      "  eqs: v_y' = -g;\n"
      "} from Pendulum;\n",
  }};
  check_cases(cases, SLT_COUNT(cases));
}

TEST(listing_comparison) {
  static const ParseCase cases[] = {
      {"x' = v_x; x(t0) = 4.0;\n"
       "v_x' = -T * x / l / m; v_x(t0) = 0.0;\n"
       "T = l * m * (v_x * v_x + v_y * v_y - g * y) / r / r;\n"
       "r = sqrt(x * x + y * y);\n",
       "x' = v_x;\n"
       "x(t0) = 4;\n"
       "v_x' = -T * x / l / m;\n"
       "v_x(t0) = 0;\n"
       "T = l * m * (v_x * v_x + v_y * v_y - g * y) / r / r;\n"
       "r = sqrt(x * x + y * y);\n"},
      {"const x_0 = 4.0;\nx' = v_x; x(t0) = x_0;\nr(t0) = sqrt(x_0 * x_0 + y_0 * y_0);\n",
       "const x_0 = 4;\nx' = v_x;\nx(t0) = x_0;\nr(t0) = sqrt(x_0 * x_0 + y_0 * y_0);\n"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(forms_of_2015) {
  static const ParseCase cases[] = {
      {"const a = b = 1, c = 2*a;", "const a = b = 1, c = 2 * a;\n"},
      {"x(0) = 1; ic x = 1, y = 2; ic z ~ 3;", "x(0) = 1;\nic x = 1, y = 2;\nic z ~= 3;\n"},
      {"state up (y <= 0 and v < 0) { set v = -0.8*v; } from init, up;",
       "state up y <= 0 && v < 0 {\n  set v = -0.8 * v;\n} from init, up;\n"},
      {"if (x > 0) { y' = 1; } else if (x < -1) { y' = 2; } else { y' = 3; }",
       "if (x > 0) {\n  y' = 1;\n} else if (x < -1) {\n  y' = 2;\n} else {\n  y' = 3;\n}\n"},
      {"for i = 1:N, 7 { x[i]a' = -x[i]a; }", "for i = 1:N, 7 {\n  x[i]a' = -x[i]a;\n}\n"},
      {"x = a or b and not c; y = a mod b;", "x = a || b && !c;\ny = a % b;\n"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(precedence) {
  static const ParseCase cases[] = {
      {"x = a + b * c - d / e % f;", "x = a + b * c - d / e % f;\n"},
      {"x = (a + b) + c; x = a + (b + c); x = a - (b - c);",
       "x = (a + b) + c;\nx = a + (b + c);\nx = a - (b - c);\n"},
      {"x = -a^2; x = (-a)^2; x = a^-b^c; x = (a^b)^c; x = 2^(a + b);",
       "x = -a^2;\nx = (-a)^2;\nx = a^-b^c;\nx = (a^b)^c;\nx = 2^(a + b);\n"},
      {"x = a < b == c > d && e != f || g;", "x = a < b == c > d && e != f || g;\n"},
      {"x = (a || b) && c; x = !(a && b); x = !a && b;",
       "x = (a || b) && c;\nx = !(a && b);\nx = !a && b;\n"},
      {"x = - - a; x = -(a * b); x = (a) * (b);", "x = --a;\nx = -(a * b);\nx = a * b;\n"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(expressions) {
  static const ParseCase cases[] = {
      {"x = T[i,j] + y_[2*i]_[j+1] + `a b`[1]c;", "x = T[i, j] + y_[2 * i]_[j + 1] + `a b`[1]c;\n"},
      {"x = y'' + der(y, 2) + pre(y) + random();", "x = y'' + der(y, 2) + pre(y) + random();\n"},
      {"x = sum(i = 1:N, y_[i]) * prod(i = 1:2, j = 3, T[i,j]);",
       "x = sum(i = 1:N, y_[i]) * prod(i = 1:2, j = 3, T[i, j]);\n"},
      {"x = sum(a, b);", "x = sum(a, b);\n"},
      {"x = if(a > b, 1, 2) + noEvent(abs(y));", "x = if(a > b, 1, 2) + noEvent(abs(y));\n"},
      {"if(a > b, x, y) + 1 = 2;", "if(a > b, x, y) + 1 = 2;\n"},
      {"if (A.on || !B.off && [x > 1]) { y = 1; }",
       "if (A.on || !B.off && [x > 1]) {\n  y = 1;\n}\n"},
      {"state S unilateral(gamma = 0.8, eps = 1e-8)[x > 0] or bilateral[y > 0]and[z > 0] { } from "
       "S;",
       "state S unilateral(eps = 1e-8, gamma = 0.8)[x > 0] || bilateral[y > 0] && [z > 0] {} from "
       "S;\n"},
      {"x = 0.1 + 1e-6 + 1e300 + 123456789;", "x = 0.1 + 1e-6 + 1e300 + 123456789;\n"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(statements) {
  static const ParseCase cases[] = {
      {"data T = \"file.csv\", column; data U = \"a\", \"b c\", 3;",
       "data T = \"file.csv\", column;\ndata U = \"a\", \"b c\", 3;\n"},
      {"x { nominal = 10; unit = \"m\"; select = always; } y { }",
       "x { nominal = 10; unit = \"m\"; select = always; }\ny { }\n"},
      {"experiment { end = 10; out = x, y', A.state; }",
       "experiment {\n  end = 10;\n  out = x, y', A.state;\n}\n"},
      {"energy = m*v^2/2; `energy` = 1; (energy) = 2; l: energy = 3;",
       "energy = m * v^2 / 2;\n`energy` = 1;\nenergy = 2;\nl: energy = 3;\n"},
      {"automaton A { state B [x > 1] like C { invariant [x > 0]; stop \"t\"; } from init, C; "
       "state C "
       "[y > 2] from B; state D { stop; } }",
       "automaton A {\n  state B [x > 1] like C {\n    invariant [x > 0];\n    stop \"t\";\n  } "
       "from "
       "init, C;\n  state C [y > 2] from B;\n  state D {\n    stop;\n  }\n}\n"},
      {"at T priority -1 each P repeat N { set x = 1, y' = 2; goto S; goto A.init; z(t0) ~ 1; }",
       "at T each P repeat N priority -1 {\n  set x = 1, y' = 2;\n  goto S;\n  goto A.init;\n  "
       "z(t0) "
       "~= 1;\n}\n"},
      {"x'(t0) = 1; x_[2]''(t0) ~= 2;", "x'(t0) = 1;\nx_[2]''(t0) ~= 2;\n"},
      {";;x = 1;;", "x = 1;\n"},
      {"", ""},
      {"for i = 1:2 { automaton A_[i] { state on { } from init; } eq_[i]: x_[i] = 1; }",
       "for i = 1:2 {\n  automaton A_[i] {\n    state on {} from init;\n  }\n  eq_[i]: x_[i] = "
       "1;\n}\n"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(words_are_contextual) {
  static const ParseCase cases[] = {
      {"set = 1; set' = 2; set(t0) = 3; set set = 4; set { nominal = 1; } set: x = 1;",
       "set = 1;\nset' = 2;\nset(t0) = 3;\nset set = 4;\nset { nominal = 1; }\nset: x = 1;\n"},
      {"stop = each + data * ic; stop + 1 = 2; delete + goto = priority;",
       "stop = each + data * ic;\nstop + 1 = 2;\ndelete + goto = priority;\n"},
      {"unilateral = noEvent; unilateral(t0) = 1; ordinary' = bilateral(x);",
       "unilateral = noEvent;\nunilateral(t0) = 1;\nordinary' = bilateral(x);\n"},
      {"mod = mod(mod, mod) mod mod;", "mod = mod(mod, mod) % mod;\n"},
      {"and = or && and;", "and = or && and;\n"},
      {"invariant = 1; invariant(t0) = 2; state S [x > 1] { invariant invariant > 0; } from init;",
       "invariant = 1;\ninvariant(t0) = 2;\nstate S [x > 1] {\n  invariant invariant > 0;\n} from "
       "init;\n"},
      {"state like like > 1 like like_ { } from like;",
       "state like like > 1 like like_ {} from like;\n"},
      {"at each each repeat repeat priority priority priority { }",
       "at each each repeat repeat priority priority priority {}\n"},
      {"at each each repeat repeat repeat priority priority { }",
       "at each each repeat repeat repeat priority priority {}\n"},
      {"data data = \"a\"; data = 1; goto = delete;",
       "data data = \"a\";\ndata = 1;\ngoto = delete;\n"},
      {"set and 3 = x;", "set && 3 = x;\n"},
      {"experiment = 1; energy' = 2;", "experiment = 1;\nenergy' = 2;\n"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(one_mistake_one_message) {
  static const ParseCase cases[] = {
      {"x' = v\ny' = 1;", "E0101@1:7"},
      {"x' = v\ny' = w\nz' = 1;", "E0101@1:7 E0101@2:7"},
      {"x = a b c + if(d, 1, 2) [ e;\ny = 1 +;", "E0101@1:6 E0102@2:8"},
      {"x = ((a;\ny = 1;", "E0107@1:8"},
      {"state S [x > { x = 1; y = ; } from init;\nz = ;", "E0102@1:14 E0102@1:27 E0102@2:5"},
      {"const a = , b = 2;\nx = 1;", "E0102@1:11"},
      {"const\nstate S { } from init;", "E0101@1:6"},
      {"x = 1 }\ny = 2;", "E0101@1:6 E0107@1:7"},
      {"for i = 1:3 x = 1;\ny = 2;", "E0101@1:12"},
      {"x = @;\ny = 1;", "E0103@1:5"},
      {"x == 1;", "E0109@1:3"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(quotient_of_differentials) {
  static const ParseCase cases[] = {
      {"dx/dt = v;", "E0121@1:1"},
      {"const dt = 1; dx/dt = v;", "const dt = 1;\ndx / dt = v;\n"},
      {"dx/dt*2 = v; x/dt = 2;", "dx / dt * 2 = v;\nx / dt = 2;\n"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

// ---------------------------------------------------------------------------------------------
// The tree

TEST(nodes_have_places) {
  TEST_ARENA(arena);
  const char* text = "lbl: (a + b) * x_[i]' = sin(y);";
  Parsed* p = parse(&arena, str_from_c(text));
  CHECK(p->model->body.statements.count == 1, "one statement");
  const AstStatement* s = &p->model->body.statements.data[0];
  CHECK(s->kind == AST_EQUATION && s->span.begin == 0 && s->span.end == strlen(text), "statement");
  CHECK(s->as.equation.label && s->as.equation.label->span.end == 3, "label");
  const AstExpr* lhs = s->as.equation.lhs;
  CHECK(lhs->kind == AST_CHAIN && lhs->as.chain.level == AST_LEVEL_MULTIPLY, "product");
  CHECK(lhs->span.begin == 5 && lhs->span.end == 21 && lhs->depth == 3, "left side");
  const AstLink* links = lhs->as.chain.links.data;
  CHECK(links[0].operand->span.begin == 5 && links[0].operand->span.end == 12, "with parentheses");
  CHECK(links[1].op == AST_OP_MUL && links[1].op_span.begin == 13, "operator");
  const AstExpr* x = links[1].operand;
  CHECK(x->kind == AST_NAME && x->order == 1, "derivative");
  CHECK(x->as.name.name.span.end == 20 && x->span.end == 21, "name and mark");
  CHECK(x->as.name.name.indices.count == 1, "index");
  CHECK(x->as.name.name.indices.data[0].span.begin == 17, "place of the index");
  CHECK(s->as.equation.rhs->span.begin == 24 && s->as.equation.rhs->span.end == 30, "right side");
  arena_free(&arena);
}

TEST(a_loop_is_one_node) {
  TEST_ARENA(arena);
  Parsed* p = parse(&arena, STR_LIT("for i = 1:1000000 { x_[i]' = -x_[i]; }"));
  CHECK(p->diags.error_count == 0 && p->model->body.statements.count == 1, "one node");
  const AstStatement* s = &p->model->body.statements.data[0];
  CHECK(s->kind == AST_FOR && s->as.loop.body.statements.count == 1, "its body once");
  CHECK(s->as.loop.ranges.data[0].last->as.number == 1e6, "its range");
  CHECK(arena.total < 64 << 10, "memory follows the text");
  arena_free(&arena);
}

/// "x = " then `unit` `count` times, then `end`.
static Str repeated(Arena* arena, const char* unit, uint32_t count, const char* end) {
  TextBuffer out = {.arena = arena};
  text_append_c(&out, "x = ");
  for (uint32_t i = 0; i < count; i++) {
    text_append_c(&out, unit);
  }
  text_append_c(&out, end);
  return text_str(&out);
}

TEST(long_chains_are_flat) {
  TEST_ARENA(arena);
  static const char* const units[] = {"a + ",  "a - ",  "a * ",  "a / ",
                                      "a || ", "a && ", "a == ", "a < "};
  FOR_CASES(unit, units) {
    Parsed* p = parse(&arena, repeated(&arena, *unit, 100000, "a;"));
    CHECK(p->diags.error_count == 0, *unit);
    const AstExpr* rhs = p->model->body.statements.data[0].as.equation.rhs;
    CHECK(rhs->kind == AST_CHAIN && rhs->as.chain.links.count == 100001, *unit);
    CHECK(rhs->depth == 2, *unit);
  }
  arena_free(&arena);
}

TEST(nesting_has_a_limit) {
  TEST_ARENA(arena);
  static const char* const units[] = {"(",   "-",         "f(", "[",         "a^",
                                      "x_[", "if(a, b, ", "!",  "a + b * (", "sum(i = 1:2, "};
  FOR_CASES(unit, units) {
    Parsed* p = parse(&arena, repeated(&arena, *unit, 100000, "a;"));
    CHECK(p->diags.error_count >= 1, *unit);
    CHECK(p->diags.items.data[0].code == DIAG_E0701, *unit);
    Str hundred = repeated(&arena, *unit, 300, "a;");
    p = parse(&arena, hundred);
    CHECK(p->diags.error_count == 0 || p->diags.items.data[0].code != DIAG_E0701, *unit);
  }
  TextBuffer blocks = {.arena = &arena};
  for (uint32_t i = 0; i < 100000; i++) {
    text_append_c(&blocks, "if (a) {");
  }
  Parsed* p = parse(&arena, text_str(&blocks));
  CHECK(p->diags.error_count == 1 && p->diags.items.data[0].code == DIAG_E0702, "blocks");
  arena_free(&arena);
}

TEST(errors_stop_at_the_limit) {
  TEST_ARENA(arena);
  TextBuffer out = {.arena = &arena};
  for (uint32_t i = 0; i < 1000; i++) {
    text_append_c(&out, "x = ;\n");
  }
  Parsed* p = parse(&arena, text_str(&out));
  CHECK(p->diags.items.count == DIAG_LIMIT, "kept");
  uint32_t line = 0;
  uint32_t column = 0;
  source_place(&p->source, p->diags.items.data[99].span.begin, &line, &column);
  CHECK(line == 100, "the first hundred");
  arena_free(&arena);
}

TEST(size_follows_the_text) {
  TEST_ARENA(arena);
  TextBuffer out = {.arena = &arena};
  for (uint32_t i = 0; i < 20000; i++) {
    text_append_format(&out, "x_%u' = -k*x_%u + %u;\n", i, i + 1, i);
  }
  Str text = text_str(&out);
  size_t before = arena.total;
  Parsed* p = parse(&arena, text);
  CHECK(p->diags.error_count == 0 && p->model->body.statements.count == 20000, "model");
  CHECK(arena.total - before < (size_t)text.length * 40, "at most 40 bytes a byte");
  arena_free(&arena);
}

static const char oom_model[] =
    "const a = b = 1; macro k = a; data D = \"f\", c; x' = sin(a) + [b > 1]; x(t0) = 2; y { unit = "
    "\"m\"; }\nfor i = 1:3, 4 { x_[i] = sum(j = 1:2, T[i,j]); }\nstate S unilateral(eps = 1)[x > "
    "0] "
    "like P { delete l; invariant [x > 1]; stop \"t\"; } from init;\nat 1 each 2 { goto A.B; }\nif "
    "(x "
    "> 1) { l: z = if(a, b, c); }\nautomaton A { state B { } }\nz = ;\nw 3;\n";

static void parse_oom_model(Arena* arena) {
  parse(arena, STR_LIT(oom_model));
}

/// One parse with an allocator that fails from the n-th request on; true when it had enough.
static bool parse_with_failure(size_t n) {
  TestAllocator failing = {.fail_at = n, .fail_rest = true};
  SltAllocator allocator = test_allocator(&failing);
  jmp_buf oom;
  Arena arena;
  arena_init(&arena, &allocator, &oom);
  volatile bool done = false;
  if (setjmp(oom) == 0) {
    parse_oom_model(&arena);
    done = true;
  }
  arena_free(&arena);
  CHECK(failing.live_blocks == 0, "no leak");
  return done;
}

TEST(every_allocation_may_fail) {
  for (size_t n = 1; n < 1000; n++) {
    if (parse_with_failure(n)) return;
  }
  CHECK(false, "never enough memory");
}

TEST(texts_need_no_end) {
  TEST_ARENA(arena);
  // every prefix, in a block of its own size: AddressSanitizer sees a read behind it
  for (uint32_t n = 0; n < sizeof oom_model - 1; n++) {
    char* copy = malloc(n ? n : 1);
    memcpy(copy, oom_model, n);
    Parsed* p = parse(&arena, (Str){copy, n});
    for (uint32_t i = 0; i < p->diags.items.count; i++) {
      CHECK(p->diags.items.data[i].span.end <= n, "place inside the text");
    }
    free(copy);
  }
  arena_free(&arena);
}
