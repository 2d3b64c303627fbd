// SPDX-License-Identifier: MIT
//
// Cyclic execution through the public header: the scan as it is defined, inputs and outputs,
// memory.
#include "test.h"

#include <saltus/saltus_rules.h>

static SltRules* compile(const char* text) {
  SltRules* rules = NULL;
  CHECK(slt_rules_compile("m.rules.md", text, strlen(text), NULL, &rules) == SLT_OK, text);
  return rules;
}

static uint32_t place(const SltCyclic* c, const char* name) {
  uint32_t found = 0;
  CHECK(slt_cyclic_find(c, name, &found) == SLT_OK, name);
  return found;
}

static double get(const SltCyclic* c, const char* name) {
  return slt_cyclic_get(c, place(c, name));
}

static const char fall[] =
    "## Constants\n\n| name | value |\n|---|---|\n| g | 9.81 |\n"
    "## States\n\n| name | initial |\n|---|---|\n| h | 10 |\n| v | 0 |\n| late | 0 |\n"
    "## Rules\n\n| # | variable | procedure | coefficient | argument 1 |\n|---|---|---|---|---|\n"
    "| 1 | late | proportional | 1 | v |\n| 2 | v | integral | -1 | g |\n| 3 | h | integral | 1 | "
    "v |\n";

TEST(order_of_the_list_counts) {
  SltRules* rules = compile(fall);
  SltCyclic* c = NULL;
  CHECK(slt_cyclic_create(rules, 0.1, NULL, &c) == SLT_OK, "create");
  double v = 0.0;
  double h = 10.0;
  for (int i = 0; i < 50; i++) {
    double before = v;
    v = v + -1.0 * 9.81 * 0.1;
    h = h + 1.0 * v * 0.1;
    CHECK(slt_cyclic_cycle(c) == SLT_OK, "cycle");
    CHECK(get(c, "v") == v && get(c, "h") == h, "velocity before height, bit for bit");
    CHECK(get(c, "late") == before, "computed before its argument: one cycle old");
  }
  CHECK(slt_cyclic_time(c) == 50 * 0.1, "time is computed, not accumulated");
  slt_cyclic_reset(c);
  CHECK(get(c, "h") == 10.0 && slt_cyclic_time(c) == 0.0, "reset");
  slt_cyclic_free(c);
  slt_rules_free(rules);
}

static const char logic[] =
    "## States\n\n| name | initial | kind |\n|---|---|---|\n| x | 0 | |\n| y | 7 | |\n| z | 7 | |\n"
    "| on | false | logical |\n| n | 0 | |\n"
    "## Predicates\n\n| name | relation |\n|---|---|\n| high | x >= 2 |\n| low | x <= -2 |\n"
    "## Situations\n\n| situation | when | then |\n|---|---|---|\n"
    "| far | high | on |\n| far | low | |\n| | low | not on |\n"
    "## Rules\n\n| # | variable | procedure | coefficient | argument 1 | situation |\n"
    "|---|---|---|---|---|---|\n"
    "| 1 | y | proportional | 1 | x | far |\n| 2 | z | integral | 1 | x | not far |\n"
    "| 3 | n | counter | 1 | | on |\n";

TEST(logic_of_a_cycle) {
  SltRules* rules = compile(logic);
  SltCyclic* c = NULL;
  CHECK(slt_cyclic_create(rules, 1.0, NULL, &c) == SLT_OK, "create");
  static const struct {
    const char* name;
    double x;
    double far, on, y, z, n;
  } cases[] = {
      {"nothing holds: the function is 0, the integral goes on", 0, 0, 0, 0, 7, 0},
      {"first row of the disjunction, latch set", 3, 1, 1, 3, 7, 1},
      {"latched: stays on without its row", 1, 0, 1, 0, 8, 1},
      {"second row of the disjunction, latch reset", -2, 1, 0, -2, 8, 1},
      {"set again: a rising edge is counted", 2, 1, 1, 2, 8, 2},
  };
  FOR_CASES(k, cases) {
    slt_cyclic_set(c, place(c, "x"), k->x);
    slt_cyclic_cycle(c);
    CHECK(get(c, "far") == k->far, k->name);
    CHECK(get(c, "on") == k->on, k->name);
    CHECK(get(c, "y") == k->y, k->name);
    CHECK(get(c, "z") == k->z, k->name);
    CHECK(get(c, "n") == k->n, k->name);
  }
  slt_cyclic_free(c);
  slt_rules_free(rules);
}

static const char trouble[] =
    "## States\n\n| name | initial |\n|---|---|\n| x | 4 |\n| zero | 0 |\n| y | 3 |\n| l | 1 |\n"
    "## Rules\n\n| # | variable | procedure | argument 1 | argument 2 |\n|---|---|---|---|---|\n"
    "| 1 | y | division | x | zero |\n| 2b | l | logarithm | zero | |\n";

TEST(what_is_not_finite) {
  SltRules* rules = compile(trouble);
  SltCyclic* c = NULL;
  CHECK(slt_cyclic_create(rules, 1.0, NULL, &c) == SLT_OK, "create");
  CHECK(slt_cyclic_cycle(c) == SLT_ERR_NOT_FINITE, "logarithm of 0");
  CHECK(get(c, "y") == 3.0 && get(c, "l") == 1.0, "values are kept");
  SltCyclicProblem problem = slt_cyclic_problem(c);
  CHECK(problem.divisions == 1, "division by zero is counted");
  CHECK(strcmp(problem.rule, "2b") == 0 && strcmp(problem.variable, "l") == 0, "rule is named");
  CHECK(problem.line == 14 && strcmp(problem.file, "m.rules.md") == 0, "and its place");
  slt_cyclic_free(c);
  slt_rules_free(rules);
}

static const char thermostat[] =
    "## States\n\n| name | initial | kind |\n|---|---|---|\n| T | 20 | |\n| heat | false | logical "
    "|\n"
    "## Predicates\n\n| name | relation |\n|---|---|\n| cold | T < 18 |\n"
    "## Situations\n\n| situation | when | then |\n|---|---|---|\n| work | cold | heat |\n"
    "## Rules\n\n| # | variable | procedure | argument 1 |\n|---|---|---|---|\n| 1 | T | integral "
    "| -1 |\n";

TEST(conditions) {
  SltRules* rules = compile(thermostat);
  SltCyclic* c = NULL;
  CHECK(slt_cyclic_create(rules, 3.0, NULL, &c) == SLT_OK, "create");
  CHECK(slt_cyclic_condition_count(c) == 3 && slt_cyclic_condition_count(NULL) == 0, "count");
  static const struct {
    SltConditionKind kind;
    const char *name, *text;
    uint32_t line;
  } wanted[] = {{SLT_CONDITION_PREDICATE, "cold", "T < 18", 11},
                {SLT_CONDITION_SITUATION, "work", "cold", 16},
                {SLT_CONDITION_STATE, "heat", "", 6}};
  for (uint32_t i = 0; i < 3; i++) {
    SltCondition found = slt_cyclic_condition(c, i);
    CHECK(found.kind == wanted[i].kind && strcmp(found.name, wanted[i].name) == 0, wanted[i].name);
    CHECK(strcmp(found.text, wanted[i].text) == 0 && found.line == wanted[i].line, found.text);
    CHECK(found.place == place(c, wanted[i].name), "place");
  }
  CHECK(slt_cyclic_condition(c, 3).name == NULL, "beyond the last one");
  slt_cyclic_cycle(c);
  CHECK(slt_cyclic_get(c, slt_cyclic_condition(c, 0).place) == 0.0, "not yet");
  slt_cyclic_cycle(c);
  CHECK(slt_cyclic_get(c, slt_cyclic_condition(c, 2).place) == 1.0, "heat");
  slt_cyclic_free(c);
  slt_rules_free(rules);
}

TEST(no_memory_is_taken_in_a_cycle) {
  SltRules* rules = compile(fall);
  TestAllocator counter = {0};
  SltAllocator allocator = test_allocator(&counter);
  SltCyclic* c = NULL;
  CHECK(slt_cyclic_create(rules, 0.1, &allocator, &c) == SLT_OK, "create");
  size_t requests = counter.requests;
  for (int i = 0; i < 1000; i++)
    slt_cyclic_cycle(c);
  CHECK(counter.requests == requests, "requests");
  slt_cyclic_free(c);
  CHECK(counter.live_blocks == 0, "all given back");
  for (size_t fail = 1; fail <= requests; fail++) {
    counter = (TestAllocator){.fail_at = fail};
    CHECK(slt_cyclic_create(rules, 0.1, &allocator, &c) == SLT_ERR_NOMEM, "no memory");
    CHECK(c == NULL && counter.live_blocks == 0, "nothing is left");
  }
  slt_rules_free(rules);
}

TEST(arguments_are_checked) {
  SltRules* rules = compile(fall);
  SltCyclic* c = NULL;
  uint32_t found = 0;
  CHECK(slt_cyclic_create(rules, 0.0, NULL, &c) == SLT_ERR_ARGUMENT, "dt of 0");
  CHECK(slt_cyclic_create(rules, (double)NAN, NULL, &c) == SLT_ERR_ARGUMENT,
        "dt that is no number");
  CHECK(slt_cyclic_create(NULL, 1.0, NULL, &c) == SLT_ERR_ARGUMENT, "no rules");
  CHECK(slt_cyclic_create(rules, 0.1, NULL, &c) == SLT_OK, "create");
  CHECK(slt_cyclic_find(c, "nobody", &found) == SLT_ERR_NOT_FOUND, "unknown name");
  CHECK(slt_cyclic_set(c, place(c, "h"), (double)NAN) == SLT_ERR_ARGUMENT, "NaN");
  CHECK(slt_cyclic_set(c, 99999, 1.0) == SLT_ERR_ARGUMENT, "no such place");
  CHECK(isnan(slt_cyclic_get(c, 99999)), "no such place");
  CHECK(slt_cyclic_column_count(c) == 3, "columns");
  CHECK(strcmp(slt_cyclic_column_name(c, 1), "v") == 0, "name of a column");
  CHECK(slt_cyclic_column_name(c, 3) == NULL, "behind the last column");
  CHECK(slt_cyclic_cycle(NULL) == SLT_ERR_ARGUMENT, "NULL");
  slt_cyclic_free(NULL);
  slt_cyclic_free(c);
  slt_rules_free(NULL);
  slt_rules_free(rules);
}

TEST(overrides_set_constants) {
  SltOverride override = {"g", 1.0};
  SltCompileOptions options = slt_compile_options();
  options.overrides = &override;
  options.override_count = 1;
  SltRules* rules = NULL;
  CHECK(slt_rules_compile("m", fall, strlen(fall), &options, &rules) == SLT_OK, "compile");
  SltCyclic* c = NULL;
  CHECK(slt_cyclic_create(rules, 1.0, NULL, &c) == SLT_OK, "create");
  slt_cyclic_cycle(c);
  CHECK(get(c, "v") == -1.0, "the new value");
  slt_cyclic_free(c);
  slt_rules_free(rules);
  override.name = "nobody";
  CHECK(slt_rules_compile("m", fall, strlen(fall), &options, &rules) == SLT_ERR_NOT_FOUND,
        "unknown");
}
