// SPDX-License-Identifier: MIT
//
// Analysis of a mode: unknowns, order of solution, and the messages when there is none.
#include "ir_text.h"
#include "symbolic/symbolic.h"

typedef struct Analysed {
  IrText text;
  Sym sym;
  const SymMode* mode;
} Analysed;

/// Analyse the mode in which the named automata (NULL-terminated pairs) are in the named states.
static void analyse(Analysed* a, Arena* arena, const char* text, const char* const* states) {
  const IrModel* ir = ir_text(&a->text, arena, text);
  sym_init(&a->sym, arena, ir);
  uint32_t* mode = ARENA_ARRAY(arena, uint32_t, ir->automata.count);
  for (; states && *states; states += 2) {
    for (uint32_t i = 0; i < ir->automata.count; i++) {
      const IrAutomaton* automaton = &ir->automata.data[i];
      if (!str_equal(names_get(&ir->names, automaton->name), str_from_c(states[0]))) continue;
      for (uint32_t s = 0; s < automaton->state_count; s++) {
        uint32_t name = ir->states.data[automaton->state_begin + s].name;
        if (str_equal(names_get(&ir->names, name), str_from_c(states[1]))) mode[i] = s;
      }
    }
  }
  uint32_t* equations = ARENA_ARRAY(arena, uint32_t, ir->equations.count);
  IrConflict conflict = {0};
  uint32_t count = ir_mode_equations(ir, arena, mode, equations, &conflict);
  CHECK(count != IR_NONE, "no conflict");
  a->mode = sym_analyse(&a->sym, arena, arena, equations, count, mode);
}

/// "a = 1; x' = a*2": the assignments in order.
static Str solution(const Analysed* a, Arena* arena) {
  TextBuffer out = {.arena = arena};
  if (a->mode->failure) return a->mode->failure->message;
  for (uint32_t i = 0; i < a->mode->assign_count; i++) {
    const SymAssign* assign = &a->mode->assigns[i];
    if (i) text_append_c(&out, "; ");
    sym_unknown_text(&out, a->sym.ir, assign->var, assign->order);
    text_append_c(&out, assign->kind == SYM_EXPLICIT ? " = " : " := ");
    ir_print_expr(&out, &a->sym.view, assign->value.shape, assign->value.row);
  }
  return text_str(&out);
}

/// Every assignment reads states and what was assigned before only.
static void check_order(const Analysed* a, const char* name) {
  const SymMode* mode = a->mode;
  for (uint32_t i = 0; i < mode->assign_count; i++) {
    SymTerm value = mode->assigns[i].value;
    const SymShape* shape = sym_shape((Sym*)&a->sym, value.shape);
    for (uint32_t k = 0; k < shape->count; k++) {
      if (shape->steps[k].op != IR_SLOT) continue;
      IrLeaf leaf = value.row[shape->steps[k].arg[0]];
      if (leaf.kind != IR_LEAF_VAR) continue;
      const SymVar* var = &mode->vars[leaf.id];
      if (var->role == SYM_DISCRETE || var->role == SYM_UNDETERMINED) continue;
      CHECK(leaf.order < var->order || var->assign < i, name);
    }
  }
}

TEST(orders_of_solution) {
  static const struct {
    const char* name;
    const char* text;
    const char* want;
  } cases[] = {
      {"explicit", "param k = 2\nx' = v\nv' = -k*x", "v' = -k*x; x' = v"},
      {"algebraic first", "x' = a + b\nb = a*2\na = 2*x", "a = 2*x; b = a*2; x' = a + b"},
      {"second order", "x'' = -x - x'", "x'' = -x - x'"},
      {"linear", "param m = 1\nm*v' = -x\n0 = x' - v", "v' := -x/m; x' := v"},
      {"long form", "2*x'' - 4*x' + 10*t*x - 3*t^2 = 0",
       "x'' := (3*time^2 - (10*time*x - 4*x'))/2"},
      {"chain through implicit", "a + b = 1\nb = x\nx' = a", "b = x; a := 1 - b; x' = a"},
      {"right side alone", "2*x = y\nx' = -y", "y = 2*x; x' = -y"},
      {"derivative as input", "y = x'\nx' = -x", "x' = -x; y = x'"},
      {"static model", "a = 2\nb = a + t", "a = 2; b = a + time"},
      {"nothing", "", ""},
      {"discrete", "discrete n\nx' = n*x", "x' = n*x"},
      {"only on the left", "x' - x' + y = 1\nx' = 0", "x' = 0; y := 1 - (x' - x')"},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    Analysed a;
    analyse(&a, &arena, c->text, NULL);
    CHECK_STR(solution(&a, &arena), c->want, c->name);
    check_order(&a, c->name);
  }
  arena_free(&arena);
}

TEST(declaration_order_has_no_influence) {
  static const char* const lines[] = {"x' = v",          "m*v' = f - c*v", "f = -k*x",
                                      "m + 0*x = 2 + n", "k = 3*m",        "c = k/10"};
  TEST_ARENA(arena);
  Str first = {0};
  uint64_t seed = 3;
  for (int round = 0; round < 20; round++) {
    size_t order[SLT_COUNT(lines)];
    TextBuffer text = {.arena = &arena};
    text_append_c(&text, "discrete n\n");
    for (size_t i = 0; i < SLT_COUNT(lines); i++) {
      order[i] = i;
    }
    for (size_t i = SLT_COUNT(lines); i > 1; i--) {
      size_t j = test_random(&seed) % i;
      size_t swap = order[i - 1];
      order[i - 1] = order[j];
      order[j] = swap;
    }
    for (size_t i = 0; i < SLT_COUNT(lines); i++) {
      text_append_format(&text, "%s\n", lines[order[i]]);
    }
    Analysed a;
    analyse(&a, &arena, text_str(&text).data, NULL);
    CHECK(a.mode->failure == NULL, "solved");
    Str got = solution(&a, &arena);
    if (round == 0) first = got;
    CHECK_STR(got, first.data, "same solution");
  }
  arena_free(&arena);
}

TEST(roles) {
  TEST_ARENA(arena);
  Analysed a;
  analyse(&a, &arena,
          "discrete n\nx'' = f*n\nf = -x\ncst: q = x*x\nautomaton main\nstate free\ndelete cst",
          NULL);
  const SymVar* vars = a.mode->vars;
  const IrModel* ir = a.sym.ir;
  CHECK(vars[ir_text_var(ir, "x")].role == SYM_STATE && vars[ir_text_var(ir, "x")].order == 2, "x");
  CHECK(vars[ir_text_var(ir, "f")].role == SYM_ALGEBRAIC, "f");
  CHECK(vars[ir_text_var(ir, "n")].role == SYM_DISCRETE, "n");
  CHECK(vars[ir_text_var(ir, "q")].role == SYM_ALGEBRAIC, "q");
  // where the equation is deleted nothing says anything about q: it holds its value
  static const char* const free_state[] = {"main", "free", NULL};
  analyse(&a, &arena,
          "discrete n\nx'' = f*n\nf = -x\ncst: q = x*x\nautomaton main\nstate free\ndelete cst",
          free_state);
  CHECK(a.mode->failure == NULL, "still solved");
  CHECK(a.mode->vars[ir_text_var(a.sym.ir, "q")].role == SYM_UNDETERMINED, "q");
  CHECK(a.mode->vars[ir_text_var(a.sym.ir, "q")].assign == IR_NONE, "not assigned");
  arena_free(&arena);
}

TEST(messages) {
  static const char* const fly[] = {"main", "fly", NULL};
  static const struct {
    const char* name;
    const char* text;
    const char* const* states;
    const char* want;
  } cases[] = {
      {"over", "x + y = 1\nx - y = 2\nx = 3\nz' = x", NULL,
       "test.lisma:1:1: error[E0520]: too many equations: 3 for 2 unknowns, x and y\n"
       "    1 | x + y = 1\n"
       "      | ^^^^^^^^^\n"
       "  = hint: remove one of these equations, or give it an unknown of its own to determine\n"
       "  test.lisma:1:1: note: `x + y = 1`\n"
       "    1 | x + y = 1\n"
       "      | ^^^^^^^^^\n"
       "  test.lisma:2:1: note: `x - y = 2`\n"
       "    2 | x - y = 2\n"
       "      | ^^^^^^^^^\n"
       "  test.lisma:3:1: note: `x = 3`\n"
       "    3 | x = 3\n"
       "      | ^^^^^\n"},
      {"no unknown", "param a = 1\nx' = 1\na = 2", NULL,
       "test.lisma:3:1: error[E0520]: there is nothing that this equation could determine\n"
       "    3 | a = 2\n"
       "      | ^^^^^\n"
       "  test.lisma:3:1: note: `a = 2` has no unknown\n"
       "    3 | a = 2\n"
       "      | ^^^^^\n"},
      {"under", "x' = a + b\na = 2*c", NULL,
       "test.lisma:1:1: error[E0521]: not enough equations: 2 for 4 unknowns, a, b, c and x\n"},
      {"over in a mode", "automaton main\nx' = v\nv' = -x\nstate fly\nx + v = 1\nx - v = 2", fly,
       "test.lisma:5:1: error[E0520]: too many equations in mode main=fly: 4 for 2 unknowns, v and "
       "x\n"},
      {"cancels", "a + x = x + a\nx' = a", NULL,
       "test.lisma:1:1: error[E0522]: the model cannot be solved: a cancels out of "
       "`a + x = x + a`\n"},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    Analysed a;
    analyse(&a, &arena, c->text, c->states);
    CHECK(a.mode->failure != NULL, c->name);
    Str got = diag_render(&arena, &a.text.source, a.mode->failure, false);
    // short expectations compare the first line only
    if (strchr(c->want, '\n')[1] == '\0') got.length = (uint32_t)strlen(c->want);
    CHECK_STR(got, c->want, c->name);
  }
  arena_free(&arena);
}

TEST(large_parts_are_cut_short) {
  TEST_ARENA(arena);
  TextBuffer text = {.arena = &arena};
  for (int i = 0; i < 40; i++) {
    text_append_format(&text, "x_%d = x_%d + 1\n", i, (i + 1) % 40);
  }
  text_append_c(&text, "x_0 = 5\n");
  Analysed a;
  analyse(&a, &arena, text_str(&text).data, NULL);
  const Diag* failure = a.mode->failure;
  CHECK_STR(failure->message,
            "too many equations: 41 for 40 unknowns, x_0, x_1, x_2, x_3, x_4, x_5, x_6 and 33 more",
            "message");
  CHECK(failure->notes.count == 8, "seven and the rest");
  CHECK_STR(failure->notes.data[7].text, "and 34 equations more, from here on", "rest");
  arena_free(&arena);
}

/// Offsets in ascending order, freedom, index, sizes of the blocks (n: nonlinear).
static Str implicit_text(Arena* arena, const Analysed* a) {
  TextBuffer out = {.arena = arena};
  const SymMode* mode = a->mode;
  text_append_c(&out, "c");
  for (uint32_t c = 0; c < 10; c++) {
    for (uint32_t i = 0; i < mode->equation_count; i++) {
      if (mode->offsets[i] == c) text_append_format(&out, " %u", c);
    }
  }
  text_append_format(&out, "; freedom %u, index %u;", mode->freedom, mode->index);
  for (uint32_t b = 0; b < mode->block_count; b++) {
    text_append_format(&out, " %u%s", mode->blocks[b].count, mode->blocks[b].linear ? "" : "n");
  }
  return text_str(&out);
}

TEST(implicit_modes) {
  static const struct {
    const char* name;
    const char* text;
    const char* want;
  } cases[] = {
      {"pendulum", "param l = 1\nx' = u\ny' = v\nu' = -f*x\nv' = -f*y - 9.81\nx*x + y*y = l*l",
       "c 0 0 1 1 2; freedom 2, index 3; 5"},
      {"pendulum of second order", "x'' = -f*x\ny'' = -f*y - 9.81\nx*x + y*y = 1",
       "c 0 0 2; freedom 2, index 3; 3"},
      {"pendulum, index 2", "x' = u\ny' = v\nu' = -f*x\nv' = -f*y - 9.81\nx*u + y*v = 0",
       "c 0 0 0 0 1; freedom 3, index 2; 3"},
      {"loop", "x' = a\na = 2*b + x\nb = 3*a - 1", "c 0 0 0; freedom 1, index 1; 2"},
      {"nonlinear", "x' = a\na + sin(a) = x", "c 0 0; freedom 1, index 1; 1n"},
      {"capacitor", "param k = 1\nu = k\ni = 2*u'", "c 0 1; freedom 0, index 2;"},
      {"chain", "param k = 1\na = k\nb = a'\nc = b'\nd = c'", "c 0 1 2 3; freedom 0, index 4;"},
      {"two for one", "a = 1 + x\na = 2*y\nx' = b\ny' = 3*b", "c 0 0 1 1; freedom 1, index 2; 4"},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    Analysed a;
    analyse(&a, &arena, c->text, NULL);
    CHECK(a.mode->failure == NULL && a.mode->offsets, c->name);
    CHECK_STR(implicit_text(&arena, &a), c->want, c->name);
  }
  arena_free(&arena);
}

/// "s | v' = 0, x'' = 1": torn unknowns, then the inner ones in order with the line of the equation
/// that gives each.
static Str torn_text(Arena* arena, const Analysed* a, const SymBlock* block) {
  TextBuffer out = {.arena = arena};
  uint32_t inner = block->count - block->torn_count;
  for (uint32_t k = inner; k < block->count && block->columns; k++) {
    const SymAssign* unknown = &a->mode->assigns[block->begin + block->columns[k]];
    if (k > inner) text_append_c(&out, " ");
    sym_unknown_text(&out, a->sym.ir, unknown->var, unknown->order);
  }
  text_append_c(&out, " |");
  for (uint32_t k = 0; k < inner; k++) {
    const SymAssign* unknown = &a->mode->assigns[block->begin + block->columns[k]];
    text_append_c(&out, " ");
    sym_unknown_text(&out, a->sym.ir, unknown->var, unknown->order);
  }
  return text_str(&out);
}

TEST(torn_unknowns) {
  static const struct {
    const char* name;
    const char* text;
    const char* want;
  } cases[] = {
      {"one force for two speeds",
       "param l = 1\nx' = u\ny' = v\nu' = -f*x\nv' = -f*y - 9.81\nx*x + y*y = l*l",
       "f | u' v' x'' y''"},
      {"loop", "x' = a\na = 2*b + x\nb = 3*a - 1", "a | b"},
      // only a moving coefficient to divide by: better than solving for both
      {"moving", "x' = 1\nx*a + sin(b) = 1\nx*b*b + a = 2", "b | a"},
      {"nothing to divide by", "x' = 1\na*b = x\nsin(a) + exp(b) = 2", " |"},
      {"ladder", "x' = 0\ni_1 = x - u_1\ni_1 = u_1 + i_2\ni_2 = u_1 - u_2\ni_2 = u_2", ""},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    Analysed a;
    analyse(&a, &arena, c->text, NULL);
    CHECK(a.mode->failure == NULL && a.mode->block_count == 1, c->name);
    const SymBlock* block = &a.mode->blocks[0];
    if (c->want[0]) {
      CHECK_STR(torn_text(&arena, &a, block), c->want, c->name);
    } else {
      CHECK(block->torn_count == 1, c->name);
    }
    // every equation once, every unknown once, each inner one from what comes before it
    uint64_t rows = 0;
    uint64_t columns = 0;
    for (uint32_t k = 0; k < block->count && block->rows; k++) {
      rows |= UINT64_C(1) << block->rows[k];
      columns |= UINT64_C(1) << block->columns[k];
    }
    CHECK(!block->rows || rows == (UINT64_C(1) << block->count) - 1, c->name);
    CHECK(rows == columns, c->name);
  }
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// offsets against brute force and Pantelides

typedef struct Signature {
  int n;
  int order[6][6];  // -1: does not occur
} Signature;

/// Best total order of all transversals; -1 when there is none.
static int best_transversal(const Signature* s) {
  int permutation[6] = {0, 1, 2, 3, 4, 5};
  int best = -1;
  int used[6];
  // all permutations by counting in the factorial system
  int total = 1;
  for (int i = 2; i <= s->n; i++) {
    total *= i;
  }
  for (int code = 0; code < total; code++) {
    for (int i = 0; i < s->n; i++) {
      used[i] = 0;
    }
    int rest = code;
    int sum = 0;
    for (int i = 0; i < s->n && sum >= 0; i++) {
      int pick = rest % (s->n - i);
      rest /= s->n - i;
      int j = 0;
      for (;; j++) {
        if (used[j]) continue;
        if (pick-- == 0) break;
      }
      used[j] = 1;
      permutation[i] = j;
      sum = s->order[i][j] < 0 ? -1 : sum + s->order[i][j];
    }
    if (sum > best) best = sum;
  }
  (void)permutation;
  return best;
}

/// Pantelides: pair each equation with a highest derivative, differentiating what cannot be paired.
static bool augment(const Signature* s, const int* c, const int* d, int row, int* seen_row,
                    int* seen_column, int* row_of) {
  seen_row[row] = 1;
  for (int j = 0; j < s->n; j++) {
    if (s->order[row][j] < 0 || s->order[row][j] + c[row] != d[j] || seen_column[j]) continue;
    seen_column[j] = 1;
    if (row_of[j] < 0 || augment(s, c, d, row_of[j], seen_row, seen_column, row_of)) {
      row_of[j] = row;
      return true;
    }
  }
  return false;
}

static void pantelides(const Signature* s, int* c) {
  int d[6] = {0};
  int row_of[6];
  for (int j = 0; j < s->n; j++) {
    row_of[j] = -1;
    c[j] = 0;
    for (int i = 0; i < s->n; i++) {
      if (s->order[i][j] > d[j]) d[j] = s->order[i][j];
    }
  }
  for (int row = 0; row < s->n; row++) {
    for (;;) {
      int seen_row[6] = {0};
      int seen_column[6] = {0};
      if (augment(s, c, d, row, seen_row, seen_column, row_of)) break;
      for (int k = 0; k < s->n; k++) {
        c[k] += seen_row[k];
        d[k] += seen_column[k];
      }
    }
  }
}

TEST(offsets_agree_with_brute_force_and_pantelides) {
  TEST_ARENA(arena);
  uint64_t seed = 4;
  int solvable = 0;
  for (int trial = 0; trial < 20000; trial++) {
    Signature s = {.n = 1 + (int)test_uniform(&seed, 0.0, 5.999)};
    int begin[7] = {0};
    int columns[36];
    int orders[36];
    int at = 0;
    for (int i = 0; i < s.n; i++) {
      for (int j = 0; j < s.n; j++) {
        bool there = test_uniform(&seed, 0.0, 1.0) < 0.5;
        s.order[i][j] = there ? (int)test_uniform(&seed, 0.0, 2.999) : -1;
        if (!there) continue;
        columns[at] = j;
        orders[at++] = s.order[i][j];
      }
      begin[i + 1] = at;
    }
    SymSignature signature = {s.n, s.n, begin, columns, orders};
    int c[6];
    int d[6];
    int row_of_column[6];
    int best = best_transversal(&s);
    bool found = sym_offsets(&arena, &signature, c, d, row_of_column);
    CHECK(found == (best >= 0), "a transversal or none");
    if (!found) continue;
    solvable++;
    int sum = 0;
    int dual = 0;
    int smallest = 1000;
    for (int j = 0; j < s.n; j++) {
      sum += s.order[row_of_column[j]][j];
      dual += d[j] - c[j];
      if (c[j] < smallest) smallest = c[j];
      for (int i = 0; i < s.n; i++) {
        CHECK(s.order[i][j] < 0 || d[j] - c[i] >= s.order[i][j], "offsets are feasible");
      }
    }
    CHECK(sum == best && dual == best, "the transversal is a best one");
    CHECK(smallest == 0, "nothing is differentiated without need");
    int want[6];
    pantelides(&s, want);
    for (int i = 0; i < s.n; i++) {
      CHECK(c[i] == want[i], "as Pantelides differentiates");
    }
  }
  CHECK(solvable > 5000, "enough cases");
  arena_free(&arena);
}

TEST(names_of_modes) {
  TEST_ARENA(arena);
  IrText text;
  const IrModel* ir = ir_text(&text, &arena,
                              "x' = 1\nautomaton b\nstate on\nx' = 2\nglobal\nautomaton idle\n"
                              "atom p = x - 1\nswitch w = p\nin w true\nx' = 3");
  uint32_t mode[3] = {1, 0, 1};
  TextBuffer out = {.arena = &arena};
  CHECK(sym_mode_text(&out, ir, mode), "named");
  CHECK_STR(text_str(&out), "b=on, w=true", "names");
  ir = ir_text(&text, &arena, "x' = 1\nautomaton idle");
  CHECK(!sym_mode_text(&out, ir, mode), "one mode only");

  TextBuffer many = {.arena = &arena};
  text_append_c(&many, "x' = 1\n");
  for (int i = 0; i < 30; i++) {
    text_append_format(&many, "automaton a%d\nstate s\nx' = %d\n", i, i);
  }
  ir = ir_text(&text, &arena, text_str(&many).data);
  uint32_t states[30] = {0};
  out.length = 0;
  CHECK(sym_mode_text(&out, ir, states), "named");
  CHECK_STR(text_str(&out), "with every automaton in its first state", "none has moved");
  states[7] = 1;
  out.length = 0;
  sym_mode_text(&out, ir, states);
  CHECK_STR(text_str(&out), "a7=s", "those that have moved");
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// sparse structure

static SymIncidence random_incidence(Arena* arena, uint64_t* seed, int rows, int columns,
                                     double density) {
  SymIncidence a = {.row_count = rows, .column_count = columns};
  a.begin = ARENA_ARRAY(arena, int, (size_t)rows + 1);
  a.columns = ARENA_ARRAY(arena, int, (size_t)(rows * columns) + 1);
  int at = 0;
  for (int r = 0; r < rows; r++) {
    for (int c = 0; c < columns; c++) {
      if (test_uniform(seed, 0.0, 1.0) < density) a.columns[at++] = c;
    }
    a.begin[r + 1] = at;
  }
  return a;
}

static bool has_entry(const SymIncidence* a, int row, int column) {
  for (int k = a->begin[row]; k < a->begin[row + 1]; k++) {
    if (a->columns[k] == column) return true;
  }
  return false;
}

static bool is_listed(const uint32_t* list, uint32_t count, int item) {
  for (uint32_t i = 0; i < count; i++) {
    if ((int)list[i] == item) return true;
  }
  return false;
}

static void check_parts(Arena* arena, const SymIncidence* a, const int* row_of_column) {
  uint8_t matched[16] = {0};
  for (int c = 0; c < a->column_count; c++) {
    if (row_of_column[c] < 0) continue;
    CHECK(has_entry(a, row_of_column[c], c), "matched on an entry");
    CHECK(!matched[row_of_column[c]], "matched once");
    matched[row_of_column[c]] = 1;
  }
  int rows_left = 0;
  int columns_left = 0;
  for (int r = 0; r < a->row_count; r++) {
    rows_left += !matched[r];
  }
  for (int c = 0; c < a->column_count; c++) {
    columns_left += row_of_column[c] < 0;
  }
  SymPart over = sym_over_part(arena, a, row_of_column);
  CHECK((rows_left > 0) == (over.row_count > over.column_count), "more rows");
  CHECK(rows_left > 0 || over.row_count + over.column_count == 0, "none");
  // Hall: these rows have no other columns than these
  for (uint32_t i = 0; i < over.row_count; i++) {
    for (int k = a->begin[over.rows[i]]; k < a->begin[over.rows[i] + 1]; k++) {
      CHECK(is_listed(over.columns, over.column_count, a->columns[k]), "closed");
    }
  }
  SymPart under = sym_under_part(arena, a, row_of_column);
  CHECK((columns_left > 0) == (under.column_count > under.row_count), "more columns");
  for (int r = 0; r < a->row_count; r++) {
    if (is_listed(under.rows, under.row_count, r)) continue;
    for (uint32_t j = 0; j < under.column_count; j++) {
      CHECK(!has_entry(a, r, (int)under.columns[j]), "closed");
    }
  }
}

TEST(random_structures) {
  uint64_t seed = 99;
  for (int round = 0; round < 3000; round++) {
    TEST_ARENA(arena);
    int rows = (int)(test_random(&seed) % 10);
    int columns = round % 2 ? rows : (int)(test_random(&seed) % 10);
    SymIncidence a = random_incidence(&arena, &seed, rows, columns, test_uniform(&seed, 0.05, 0.5));
    int* row_of_column = ARENA_ARRAY(&arena, int, (size_t)columns);
    int size = sym_match(&arena, &a, row_of_column);
    check_parts(&arena, &a, row_of_column);
    if (size == rows && rows == columns) {
      SymBlocks blocks = sym_blocks(&arena, &a, row_of_column);
      int place[16] = {0};
      int block_of[16] = {0};
      for (uint32_t b = 0; b < blocks.count; b++) {
        for (int k = blocks.begin[b]; k < blocks.begin[b + 1]; k++) {
          CHECK(has_entry(&a, blocks.rows[k], blocks.columns[k]), "diagonal");
          place[blocks.columns[k]] = k;
          block_of[k] = (int)b;
        }
      }
      for (int k = 0; k < rows; k++) {
        int row = blocks.rows[k];
        for (int e = a.begin[row]; e < a.begin[row + 1]; e++) {
          CHECK(block_of[place[a.columns[e]]] <= block_of[k], "block triangular");
        }
      }
    }
    arena_free(&arena);
  }
}
