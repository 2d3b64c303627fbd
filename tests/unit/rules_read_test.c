// SPDX-License-Identifier: MIT
//
// Rule tables: reading them, what they mean, writing them again.
#include "rules/rules.h"
#include "test.h"

typedef struct Files {
  const char* names[4];
  const char* texts[4];
} Files;

static SltStatus load(void* user, Str name, Arena* arena, Str* content) {
  const Files* files = user;
  for (uint32_t i = 0; files && i < 4 && files->names[i]; i++) {
    if (!str_equal(name, str_from_c(files->names[i]))) continue;
    *content = str_copy(arena, str_from_c(files->texts[i]));
    return SLT_OK;
  }
  return SLT_ERR_NOT_FOUND;
}

typedef struct Reading {
  Arena arena;
  Source source;
  DiagList diags;
  RulesModel model;
  bool good;
} Reading;

static void read_text(Reading* r, const char* text, const Files* files, bool folder) {
  arena_init(&r->arena, NULL, &test_oom);
  diag_init(&r->diags, &r->arena, &r->source);
  RulesOptions options = {.load_file = load, .user = (void*)(uintptr_t)files};
  r->good = rules_read(&r->model, &r->arena, &r->source, STR_LIT("m.rules.md"), str_from_c(text),
                       folder, &options, &r->diags);
}

static void check_good(const Reading* r, const char* name) {
  if (!r->good && r->diags.items.count) {
    print_error("%s: %.*s\n", name, STR_ARGS(r->diags.items.data[0].message));
  }
  CHECK(r->good, name);
}

static const char small[] =
    "prose | that is | no table\n\n"
    "## Constants\n\n| name | value |\n|---|---|\n| a \\| b | 2 |\n| c | 3*`a \\| b` + -1 |\n"
    "\n## States\n\n| name | initial | kind |\n|:--|--:|---|\n| x.y (z) | c | |\n| q | yes | "
    "logical |\n"
    "\n### Predicates: all\n\n| name | relation |\n|---|---|\n"
    "| p | 0 <= `x.y (z)` < c and c > 1 |\n"
    "\n## Situations\n\n| situation | when | then |\n|---|---|---|\n"
    "| s | p, not q | not q |\n| s | `p` and ! q | |\n"
    "\n## Rules of thumb\n\n| variable |\n|---|\n| nonsense |\n"
    "\n## Rules\n\n| variable | procedure | argument 1 | situation |\n|---|---|---|---|\n"
    "| x.y (z) | Integral | 1.5 | s, p |\n";

TEST(names_and_sections) {
  Reading r;
  read_text(&r, small, NULL, false);
  check_good(&r, "small");
  CHECK(r.model.constants.count == 2, "constants");
  CHECK_STR(r.model.constants.data[0].name, "a | b", "bar in a name");
  CHECK_NEAR(r.model.constants.data[1].number, 5.0, 0, 0);
  CHECK_NEAR(r.model.states.data[0].number, 5.0, 0, 0);
  CHECK(r.model.states.data[1].logical && r.model.states.data[1].number == 1.0, "logical");
  CHECK(r.model.situations.count == 1 && r.model.rows.count == 2, "disjunction");
  CHECK(r.model.rows.data[0].first && !r.model.rows.data[1].first, "first row");
  CHECK(r.model.rows.data[0].then.count == 1 && !r.model.rows.data[0].then.data[0].value, "then");
  CHECK(r.model.rules.count == 1 && r.model.rules.data[0].when.literals.count == 2, "conjunction");
  CHECK_STR(r.model.rules.data[0].label, "1", "number of a row without one");
  arena_free(&r.arena);
}

static const char base[] =
    "## Constants\n\n| name | value |\n|---|---|\n| k | 1 |\n| u | 7 |\n"
    "## States\n\n| name | initial |\n|---|---|\n| x | 1 |\n| y | 2 |\n"
    "## Rules\n\n| # | variable | procedure | coefficient | argument 1 |\n|---|---|---|---|---|\n"
    "| 1 | x | integral | k | y |\n| 2 | y | integral | -1 | x |\n";

TEST(include_replaces_rows) {
  static const Files files = {{"base.rules.md"}, {base}};
  Reading r;
  read_text(
      &r,
      "## Settings\n\n| name | value |\n|---|---|\n| include | base.rules.md |\n"
      "## Constants\n\n| name | value |\n|---|---|\n| k | 5 |\n"
      "## States\n\n| name | initial |\n|---|---|\n| u | 3 |\n"
      "## Rules\n\n| # | variable | procedure | coefficient | argument 1 |\n|---|---|---|---|---|\n"
      "| 2 | y | integral | -2 | x |\n| 1.5 | u | integral | 1 | x |\n| 3 | x | integral | 1 | u "
      "|\n",
      &files, false);
  check_good(&r, "include");
  CHECK_NEAR(r.model.constants.data[0].number, 5.0, 0, 0);
  CHECK(r.model.constants.count == 1, "a constant became a state");
  CHECK(r.model.states.count == 3, "states");
  const char* order[] = {"1", "1.5", "2", "3"};
  for (uint32_t i = 0; i < 4; i++)
    CHECK_STR(r.model.rules.data[i].label, order[i], "order of rules");
  CHECK_NEAR(rules_constant_value(&r.model, r.model.rules.data[2].coefficient), -2.0, 0, 0);

  // places in an included file are counted in that file
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t at = r.model.rules.data[0].span.begin;
  source_place(&r.source, at, &line, &column);
  CHECK_STR(source_name(&r.source, at), "base.rules.md", "name of the part");
  CHECK(line == 17 && column == 1, "line inside the part");
  arena_free(&r.arena);
}

TEST(include_can_remove) {
  static const Files files = {{"base.rules.md"}, {base}};
  Reading r;
  read_text(&r,
            "## Settings\n\n| name | value |\n|---|---|\n| include | base.rules.md |\n"
            "## Rules\n\n| # | procedure |\n|---|---|\n| 2 | remove |\n",
            &files, false);
  check_good(&r, "remove");
  CHECK(r.model.rules.count == 1, "one rule is left");
  arena_free(&r.arena);
}

TEST(range_predicates) {
  Reading r;
  read_text(
      &r,
      "## Constants\n\n| name | value |\n|---|---|\n| lo | 1 |\n"
      "## States\n\n| name | initial |\n|---|---|\n| x | 0 |\n| z | 0 |\n"
      "## Predicates\n\n| name | x1 | a | x2 | x3 | b | x4 | strict |\n"
      "|---|---|---|---|---|---|---|---|\n"
      "| both | x | lo | z | x | 5 | | |\n| below | | | | x | 0 | | yes |\n| above | x | 2 | | | | "
      "| a |\n"
      "## Rules\n\n| variable | procedure | argument 1 |\n|---|---|---|\n| x | integral | z |\n",
      NULL, false);
  check_good(&r, "range");
  CHECK(r.model.predicates.data[0].relation->op == RULES_OP_AND, "two halves");
  CHECK(r.model.predicates.data[0].relation->a->op == RULES_OP_GE, "not strict");
  CHECK(r.model.predicates.data[1].relation->op == RULES_OP_LT, "strict upper half");
  CHECK(r.model.predicates.data[2].relation->op == RULES_OP_GT, "strict lower half");
  arena_free(&r.arena);
}

TEST(csv_folder) {
  static const Files files = {{"states.csv", "rules.csv"},
                              {"name;initial\r\n\"x; \"\"1\"\"\";2\r\n",
                               "variable,procedure,argument 1\n\"x; \"\"1\"\"\",integral,1\n"}};
  Reading r;
  read_text(&r, "", &files, true);
  check_good(&r, "folder");
  CHECK_STR(r.model.states.data[0].name, "x; \"1\"", "quoted cell");
  arena_free(&r.arena);
}

/// Code of the only message.
static void check_code(const char* text, const Files* files, bool folder, const char* code) {
  Reading r;
  read_text(&r, text, files, folder);
  CHECK(!r.good && r.diags.items.count == 1, code);
  CHECK(strcmp(diag_code_text(r.diags.items.data[0].code), code) == 0, code);
  arena_free(&r.arena);
}

TEST(csv_errors) {
  static const Files open = {{"rules.csv"}, {"variable,procedure\nx,\"integral\n"}};
  check_code("", &open, true, "E1006");
  static const Files empty = {{NULL}, {NULL}};
  check_code("", &empty, true, "E1007");
}

TEST(limits) {
  Arena arena;
  arena_init(&arena, NULL, &test_oom);
  TextBuffer wide = {.arena = &arena};
  text_append_c(&wide, "## Rules\n\n");
  for (uint32_t i = 0; i < 80; i++)
    text_append_c(&wide, "| comment ");
  text_append_c(&wide, "|\n|---|\n");
  check_code(text_str(&wide).data, NULL, false, "E1010");
  TextBuffer deep = {.arena = &arena};
  text_append_c(&deep, "## Constants\n\n| name | value |\n|---|---|\n| a | ");
  for (uint32_t i = 0; i < 100; i++)
    text_append_char(&deep, '(');
  text_append_c(&deep, " |\n");
  check_code(text_str(&deep).data, NULL, false, "E1020");
  TextBuffer lengthy = {.arena = &arena};
  text_append_c(&lengthy, "## Constants\n\n| name | value |\n|---|---|\n| a | 1");
  for (uint32_t i = 0; i < 2000; i++)
    text_append_c(&lengthy, "+1");
  text_append_c(&lengthy, " |\n");
  check_code(text_str(&lengthy).data, NULL, false, "E1020");
  arena_free(&arena);
}

TEST(written_tables_read_back) {
  Reading r;
  read_text(&r, small, NULL, false);
  Str text = rules_write_markdown(&r.model, &r.arena);
  Reading again;
  read_text(&again, text.data, NULL, false);
  check_good(&again, "again");
  Str second = rules_write_markdown(&again.model, &again.arena);
  CHECK(str_equal(text, second), "the same text");
  arena_free(&r.arena);
  arena_free(&again.arena);
}

TEST(equations) {
  Reading r;
  read_text(&r, base, NULL, false);
  CHECK_STR(rules_write_lisma(&r.model, &r.arena, NULL),
            "const k = 1;\nconst u = 7;\n\nx(t0) ~ 1;\ny(t0) ~ 2;\n\n\nx' = k*y;\ny' = (-1)*x;\n",
            "equations");
  arena_free(&r.arena);
}

/// Read and lower with the n-th request for memory failing; whether it was done before that.
static bool read_with_failure(size_t n) {
  TestAllocator counter = {.fail_at = n, .fail_rest = true};
  SltAllocator allocator = test_allocator(&counter);
  jmp_buf oom;
  Arena arena;
  volatile bool finished = false;
  arena_init(&arena, &allocator, &oom);
  if (setjmp(oom) == 0) {
    Source source;
    DiagList diags;
    RulesModel model;
    IrModel ir;
    diag_init(&diags, &arena, &source);
    rules_read(&model, &arena, &source, STR_LIT("m"), str_from_c(base), false, NULL, &diags);
    rules_lower(&model, &ir, &arena, &source, NULL, &diags);
    finished = true;
  }
  arena_free(&arena);
  CHECK(counter.live_blocks == 0, "leak");
  return finished;
}

TEST(memory_runs_out) {
  size_t n = 1;
  while (n < 1000 && !read_with_failure(n))
    n++;
  CHECK(n > 3 && n < 1000, "it is done in the end");
}

TEST(large_tables_are_quick_and_limited) {
  Arena arena;
  arena_init(&arena, NULL, &test_oom);
  TextBuffer out = {.arena = &arena};
  text_append_c(&out, "## States\n\n| name | initial |\n|---|---|\n| x | 1 |\n"
                      "## Rules\n\n| variable | procedure | argument 1 |\n|---|---|---|\n");
  for (uint32_t i = 0; i < 20001; i++)
    text_append_c(&out, "| x | integral | 1 |\n");
  check_code(text_str(&out).data, NULL, false, "E1010");
  arena_free(&arena);
}
