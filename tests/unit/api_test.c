// SPDX-License-Identifier: MIT
//
// The public functions as a careless caller meets them: wrong arguments, wrong order of calls, and
// memory that runs out at any moment.
#include "test.h"

#include <saltus/saltus.h>

static const char ball[] = "const k = 0.8;\n"
                           "macro height = 2 * y;\n"
                           "y' = v;  y(t0) = 1;\n"
                           "v' = -g; v(t0) = 0;\n"
                           "hits(t0) = 0;\n"
                           "state bounce [y <= 0] && [v < 0] {\n"
                           "  set v = -k * v, hits = hits + 1;\n"
                           "} from init, bounce;\n"
                           "experiment { end = 3; out = y, hits; rtol = 1e-7; method = dp54; }\n";

static SltModel* compile(const char* text) {
  SltModel* model = NULL;
  CHECK(slt_model_compile("test.lisma", text, strlen(text), NULL, &model) == SLT_OK, text);
  return model;
}

static SltSim* create(const SltModel* model) {
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "create");
  return sim;
}

static SltStatus count_bytes(void* user, const char* data, size_t length) {
  (void)data;
  *(size_t*)user += length;
  return SLT_OK;
}

static SltStatus write_nothing(void* user, const char* data, size_t length) {
  (void)user;
  (void)data;
  (void)length;
  return SLT_ERR_IO;
}

// ---- small questions ----------------------------------------------------------------------------

TEST(status_codes_have_texts) {
  static const SltStatus codes[] = {
#define X(name, value, text) name,
      SLT_STATUS_LIST(X)
#undef X
  };
  FOR_CASES(code, codes) CHECK(slt_status_text(*code)[0] != '\0', "status");
  CHECK(slt_status_text((SltStatus)-999)[0] != '\0', "unknown status");
  CHECK(strcmp(slt_version(), SLT_VERSION) == 0, "version");
}

TEST(methods_are_listed) {
  CHECK(slt_method_count() >= 5, "methods");
  for (uint32_t i = 0; i < slt_method_count(); i++) {
    SltMethod method = slt_method_get(i);
    CHECK(method.name[0] && method.description[0] && method.order > 0, method.name);
  }
  CHECK(slt_method_get(slt_method_count()).name[0] == '\0', "behind the last");
  CHECK(slt_method_get(UINT32_MAX).name[0] == '\0', "far behind the last");
}

TEST(free_accepts_null) {
  slt_model_free(NULL);
  slt_sim_free(NULL);
  slt_recorder_free(NULL);
  slt_table_free(NULL);
}

// ---- compiling ----------------------------------------------------------------------------------

typedef struct Seen {
  uint32_t errors, warnings;
  char code[16];
  uint32_t line;
  bool complete;  // every text of every message is there
} Seen;

static void see(void* user, const SltDiagnostic* d) {
  Seen* seen = user;
  if (d->severity == SLT_ERROR && seen->errors++ == 0) {
    snprintf(seen->code, sizeof seen->code, "%s", d->code);
    seen->line = d->line;
  }
  seen->warnings += d->severity == SLT_WARNING;
  seen->complete = d->code && d->file && d->message && d->message[0] && d->rendered &&
                   strstr(d->rendered, d->message) && d->line > 0 && d->column > 0 &&
                   d->begin <= d->end;
}

TEST(compile_checks_its_arguments) {
  SltModel* model = (SltModel*)(uintptr_t)1;
  SltCompileOptions zeroed = {0};
  CHECK(slt_model_compile(NULL, ball, strlen(ball), NULL, &model) == SLT_ERR_ARGUMENT, "name");
  CHECK(model == NULL, "the result is cleared");
  CHECK(slt_model_compile("m", NULL, 5, NULL, &model) == SLT_ERR_ARGUMENT, "text");
  CHECK(slt_model_compile("m", ball, strlen(ball), NULL, NULL) == SLT_ERR_ARGUMENT, "out");
  CHECK(slt_model_compile("m", ball, strlen(ball), &zeroed, &model) == SLT_ERR_ARGUMENT, "cookie");
  // a model of nothing is a model: time passes
  CHECK(slt_model_compile("m", NULL, 0, NULL, &model) == SLT_OK && model, "no text at all");
  slt_model_free(model);

  SltOverride nameless = {NULL, 1.0};
  SltCompileOptions options = slt_compile_options();
  options.overrides = &nameless;
  options.override_count = 1;
  CHECK(slt_model_compile("m", ball, strlen(ball), &options, &model) == SLT_ERR_ARGUMENT,
        "an override without a name");
  options.overrides = NULL;
  CHECK(slt_model_compile("m", ball, strlen(ball), &options, &model) == SLT_ERR_ARGUMENT,
        "overrides that are not there");
}

TEST(compile_file_checks_its_arguments) {
  SltModel* model = NULL;
  SltCompileOptions zeroed = {0};
  CHECK(slt_model_compile_file(NULL, NULL, &model) == SLT_ERR_ARGUMENT, "path");
  CHECK(slt_model_compile_file("m.lisma", NULL, NULL) == SLT_ERR_ARGUMENT, "out");
  CHECK(slt_model_compile_file("m.lisma", &zeroed, &model) == SLT_ERR_ARGUMENT, "cookie");
  CHECK(slt_model_compile_file("no/such/file.lisma", NULL, &model) == SLT_ERR_IO, "missing");
  CHECK(slt_model_compile_file(".", NULL, &model) == SLT_ERR_IO, "a folder");
  CHECK(model == NULL, "the result is cleared");
}

TEST(mistakes_are_reported) {
  static const struct {
    const char* text;
    SltStatus status;
    const char* code;
    uint32_t line;
  } cases[] = {
      {"x' = ;\n", SLT_ERR_SYNTAX, "E0102", 1},
      {"x' = 1;\ny' = speed + x;\n", SLT_ERR_SEMANTIC, "E0203", 2},
      {"x = 2*(1 > 0);\n", SLT_ERR_SEMANTIC, "E0301", 1},
  };
  FOR_CASES(c, cases) {
    Seen seen = {.errors = 0};
    SltCompileOptions options = slt_compile_options();
    options.on_diagnostic = see;
    options.user = &seen;
    SltModel* model = NULL;
    CHECK(slt_model_compile("m", c->text, strlen(c->text), &options, &model) == c->status, c->text);
    CHECK(!model && seen.errors >= 1 && seen.complete, c->text);
    CHECK(strcmp(seen.code, c->code) == 0 && seen.line == c->line, seen.code);
    // the same without a listener
    CHECK(slt_model_compile("m", c->text, strlen(c->text), NULL, &model) == c->status, c->text);
  }
}

TEST(overrides_set_constants) {
  Seen seen = {.errors = 0};
  SltOverride overrides[] = {{"k", 0.5}, {"kk", 1.0}};
  SltCompileOptions options = slt_compile_options();
  options.overrides = overrides;
  options.override_count = 1;
  options.on_diagnostic = see;
  options.user = &seen;
  SltModel* model = NULL;
  CHECK(slt_model_compile("m", ball, strlen(ball), &options, &model) == SLT_OK, "known");
  SltSim* sim = create(model);
  SltQuantity k;
  CHECK(slt_sim_start(sim) == SLT_OK && slt_sim_find(sim, "k", &k) == SLT_OK, "find");
  CHECK(slt_sim_get(sim, k) == 0.5, "value");
  slt_sim_free(sim);
  slt_model_free(model);

  options.override_count = 2;
  CHECK(slt_model_compile("m", ball, strlen(ball), &options, &model) == SLT_ERR_NOT_FOUND, "typo");
  CHECK(!model && seen.errors == 1 && strcmp(seen.code, "E0290") == 0, "typo");
}

/// A short table, and a long one whose file has thousands of lines.
static SltStatus load_table(void* user, const char* name, const SltAllocator* allocator,
                            char** content, size_t* length) {
  static const char head[] = "time,speed\n0,0\n1,2\n3,1\n";
  static const char line[] = "123456,7\n";
  bool is_long = strcmp(name, "long.csv") == 0;
  if (!is_long && strcmp(name, "speed.csv") != 0) return SLT_ERR_IO;
  ++*(uint32_t*)user;
  size_t lines = is_long ? 20000 : 0;
  size_t size = strlen(head) + lines * strlen(line);
  char* copy = allocator->realloc_fn(allocator->user, NULL, 0, size);
  if (!copy) return SLT_ERR_NOMEM;
  memcpy(copy, head, strlen(head));
  for (size_t i = 0; i < lines; i++) {
    char* at = copy + strlen(head) + i * strlen(line);
    char number[16];
    snprintf(number, sizeof number, "%06zu", i + 4);
    memcpy(at, line, strlen(line));
    memcpy(at, number, 6);
  }
  *content = copy;
  *length = size;
  return SLT_OK;
}

TEST(files_of_a_model_come_from_the_caller) {
  static const char text[] = "data road = \"speed.csv\", speed;\ns' = table(road, time);\n";
  static const char wrong[] = "data road = \"other.csv\", speed;\ns' = table(road, time);\n";
  uint32_t loads = 0;
  SltCompileOptions options = slt_compile_options();
  options.load = load_table;
  options.load_user = &loads;
  SltModel* model = NULL;
  CHECK(slt_model_compile("m", text, strlen(text), &options, &model) == SLT_OK, "loads");
  CHECK(loads == 1, "once");
  slt_model_free(model);
  CHECK(slt_model_compile("m", wrong, strlen(wrong), &options, &model) == SLT_ERR_SEMANTIC, "io");
  CHECK(slt_model_compile("m", text, strlen(text), NULL, &model) == SLT_ERR_SEMANTIC, "no loader");
}

TEST(experiment_and_explain) {
  SltModel* model = compile(ball);
  SltExperiment e = slt_model_experiment(model);
  CHECK(e.end == 3.0 && e.rtol == 1e-7 && strcmp(e.method, "dp54") == 0, "given");
  CHECK(isnan(e.start) && isnan(e.every) && isnan(e.gamma), "not given");
  CHECK(e.out_count == 2 && strcmp(e.out[0], "y") == 0 && strcmp(e.out[1], "hits") == 0, "out");
  CHECK(isnan(slt_model_experiment(NULL).end), "no model");

  for (int format = SLT_EXPLAIN_TEXT; format <= SLT_EXPLAIN_IR; format++) {
    size_t bytes = 0;
    SltWriter writer = {count_bytes, &bytes};
    CHECK(slt_model_explain(model, (SltExplainFormat)format, writer) == SLT_OK, "explain");
    CHECK(bytes > 50, "explain says something");
    SltWriter broken = {write_nothing, NULL};
    CHECK(slt_model_explain(model, (SltExplainFormat)format, broken) == SLT_ERR_IO, "writer");
    CHECK(slt_model_explain(NULL, (SltExplainFormat)format, writer) == SLT_ERR_ARGUMENT, "model");
    CHECK(slt_model_explain(model, (SltExplainFormat)format, (SltWriter){NULL, NULL}) ==
              SLT_ERR_ARGUMENT,
          "no writer");
  }
  slt_model_free(model);
}

// ---- runs ---------------------------------------------------------------------------------------

TEST(create_checks_its_options) {
  SltModel* model = compile(ball);
  SltSim* sim = (SltSim*)(uintptr_t)1;
  SltSimOptions good = slt_sim_options();
  SltSimOptions zeroed = {.rtol = 1e-6};
  CHECK(slt_sim_create(NULL, &good, &sim) == SLT_ERR_ARGUMENT && !sim, "model");
  CHECK(slt_sim_create(model, NULL, &sim) == SLT_ERR_ARGUMENT, "options");
  CHECK(slt_sim_create(model, &good, NULL) == SLT_ERR_ARGUMENT, "out");
  CHECK(slt_sim_create(model, &zeroed, &sim) == SLT_ERR_ARGUMENT, "cookie");
  CHECK(slt_sim_options_check(NULL, &good, NULL) == SLT_ERR_ARGUMENT, "check: model");
  CHECK(slt_sim_options_check(model, NULL, NULL) == SLT_ERR_ARGUMENT, "check: options");
  CHECK(slt_sim_options_check(model, &zeroed, NULL) == SLT_ERR_ARGUMENT, "check: cookie");
  CHECK(slt_sim_options_check(model, &good, NULL) == SLT_OK, "good");

  enum { FIELDS = 15 };
  for (int field = 0; field < FIELDS; field++) {
    SltSimOptions bad = slt_sim_options();
    switch (field) {
    case 0: bad.rtol = -1e-6; break;
    case 1: bad.rtol = 1.0; break;
    case 2: bad.atol = -1.0; break;
    case 3: bad.h0 = -1.0; break;
    case 4: bad.h_min = -1.0; break;
    case 5: bad.h_max = -1.0; break;
    case 6: bad.gamma = 0.0; break;
    case 7: bad.gamma = 1.0; break;
    case 8: bad.event_eps = -1.0; break;
    case 9: bad.method = "no such method"; break;
    case 10: bad.method = "rk4"; break;  // without a step
    case 11: bad.t_start = (double)INFINITY; break;
    case 12: bad.h_min = 2.0, bad.h_max = 1.0; break;
    case 13: bad.detection = (SltDetection)17; break;
    default: bad.rtol = 0.0, bad.atol = 0.0; break;
    }
    char name[32];
    snprintf(name, sizeof name, "field %d", field);
    const char* problem = NULL;
    CHECK(slt_sim_options_check(model, &bad, &problem) == SLT_ERR_ARGUMENT, name);
    CHECK(problem && problem[0], name);
    CHECK(slt_sim_create(model, &bad, &sim) == SLT_ERR_ARGUMENT && !sim, name);
  }
  const char* problem = "old";
  CHECK(slt_sim_options_check(model, &good, &problem) == SLT_OK && !problem, "nothing is wrong");
  slt_model_free(model);
}

TEST(costs_have_names) {
  SltModel* model = compile("x' = 50*cos(50*time); x(t0) = 0; slow' = 1e-3; slow(t0) = 0;\n"
                            "state up [x >= 0.5] { } from init;\n");
  SltSim* sim = create(model);
  CHECK(slt_sim_note_costs(sim) == SLT_OK, "counting begins");
  CHECK(slt_sim_start(sim) >= 0, "it starts");
  while (slt_sim_advance(sim, 2.0, NULL) == SLT_EVENT) {
  }
  CHECK(slt_sim_cost_count(sim, SLT_COST_OF_RELATION) == 1, "one relation");
  SltCost relation = slt_sim_cost(sim, SLT_COST_OF_RELATION, 0);
  CHECK(strcmp(relation.name, "x >= 0.5") == 0 && relation.line == 2, "it has its text and line");
  CHECK(relation.steps > 0, "it was followed");
  uint64_t fast = 0;
  uint64_t slow = 0;
  for (uint32_t i = 0; i < slt_sim_cost_count(sim, SLT_COST_OF_VARIABLE); i++) {
    SltCost cost = slt_sim_cost(sim, SLT_COST_OF_VARIABLE, i);
    if (strcmp(cost.name, "x") == 0) fast = cost.steps;
    if (strcmp(cost.name, "slow") == 0) slow = cost.steps;
  }
  CHECK(fast > slow, "the fast equation decides about the steps");
  CHECK(slt_sim_cost(sim, SLT_COST_OF_RELATION, 7).steps == 0, "there is no such relation");
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(calls_without_a_run) {
  SltQuantity q = {SLT_KIND_VARIABLE, 0, 0};
  char buffer[8];
  double reached = 0.0;
  CHECK(slt_sim_start(NULL) == SLT_ERR_ARGUMENT, "start");
  CHECK(slt_sim_advance(NULL, 1.0, &reached) == SLT_ERR_ARGUMENT, "advance");
  CHECK(slt_sim_advance_step(NULL, 1.0, NULL) == SLT_ERR_ARGUMENT, "advance_step");
  CHECK(slt_sim_set_constant(NULL, "k", 1.0) == SLT_ERR_ARGUMENT, "set_constant");
  CHECK(slt_sim_find(NULL, "y", &q) == SLT_ERR_ARGUMENT, "find");
  CHECK(slt_sim_set(NULL, q, 1.0) == SLT_ERR_ARGUMENT, "set");
  CHECK(isnan(slt_sim_get(NULL, q)) && isnan(slt_sim_get_before(NULL, q)), "get");
  CHECK(isnan(slt_sim_time(NULL)), "time");
  CHECK(!slt_sim_is_determined(NULL, q), "is_determined");
  CHECK(!slt_sim_mode_name(NULL, q) && !slt_sim_mode_name_before(NULL, q), "mode_name");
  CHECK(slt_sim_automaton_count(NULL) == 0 && !slt_sim_automaton_name(NULL, 0), "automata");
  CHECK(!slt_sim_automaton_state(NULL, 0), "automaton_state");
  CHECK(slt_sim_column_count(NULL) == 0 && !slt_sim_column_name(NULL, 0), "columns");
  CHECK(slt_sim_snapshot_size(NULL) == 0, "snapshot_size");
  CHECK(slt_sim_snapshot_save(NULL, buffer, sizeof buffer) == SLT_ERR_ARGUMENT, "save");
  CHECK(slt_sim_snapshot_restore(NULL, buffer, sizeof buffer) == SLT_ERR_ARGUMENT, "restore");
  CHECK(slt_sim_error(NULL).status == SLT_OK, "error");
  CHECK(slt_sim_statistics(NULL).steps == 0, "statistics");
  CHECK(slt_sim_note_costs(NULL) == SLT_ERR_ARGUMENT, "note_costs");
  CHECK(slt_sim_cost_count(NULL, SLT_COST_OF_RELATION) == 0, "cost_count");
  CHECK(slt_sim_cost(NULL, SLT_COST_OF_VARIABLE, 0).steps == 0, "cost");
  slt_sim_on_event(NULL, NULL, NULL);
  slt_sim_on_step(NULL, NULL, NULL);
  slt_sim_on_round(NULL, NULL, NULL);
  slt_sim_on_warning(NULL, NULL, NULL);
  slt_sim_conclude(NULL);
}

static void list_symbol(void* user, const SltSymbol* symbol) {
  char* list = user;
  size_t used = strlen(list);
  snprintf(list + used, 400 - used, "%d:%s:%s:%zu-%zu ", (int)symbol->kind, symbol->name,
           symbol->container ? symbol->container : "", symbol->begin, symbol->end);
}

TEST(a_text_is_outlined_with_its_mistakes) {
  static const char text[] = "const a = 1; x_[1]' = -a; x_[1](t0) = ; lbl: y = 2; macro m = y;\n"
                             "automaton A { state s [y > m] {} from init; }\n"
                             "state s [y < 0] {} from init; contact c { gap = x_1; force = N; }";
  char list[400] = "";
  CHECK(slt_outline(text, sizeof text - 1, list_symbol, list) == SLT_OK, "outline");
  CHECK(strcmp(list, "0:a::6-7 2:x_::13-18 4:lbl::40-43 2:y::45-46 1:m::58-59 6:A::75-76 "
                     "5:s:A:85-86 5:s::117-118 7:c::149-150 2:N::172-173 ") == 0,
        list);
  CHECK(slt_outline(text, sizeof text - 1, NULL, list) == SLT_ERR_ARGUMENT, "no visitor");
  CHECK(slt_outline(NULL, 1, list_symbol, list) == SLT_ERR_ARGUMENT, "no text");
  CHECK(slt_outline(NULL, 0, list_symbol, list) == SLT_OK, "an empty text");
}

TEST(indices_are_written_as_in_the_text) {
  SltModel* model =
      compile("for i = 8:12 { x[i]' = i; x[i](t0) = 0; v[i]a = 2 * i; }\nA[1,2] = 3;");
  SltSim* sim = create(model);
  SltQuantity pasted;
  SltQuantity written;
  static const char* const names[][2] = {{"x11", "x[11]"}, {"x8'", "x[8]'"}, {"v9a", "`v[9]a`"}};
  for (size_t i = 0; i < SLT_COUNT(names); i++) {
    CHECK(slt_sim_find(sim, names[i][0], &pasted) == SLT_OK, names[i][0]);
    CHECK(slt_sim_find(sim, names[i][1], &written) == SLT_OK, names[i][1]);
    CHECK(pasted.kind == written.kind && pasted.index == written.index &&
              pasted.order == written.order,
          "the same");
  }
  CHECK(slt_sim_find(sim, "A[1,2]", &written) == SLT_OK, "several indices keep their brackets");
  static const char* const none[] = {"x[13]", "x[]",    "x[8", "[8]",
                                     "x[08]", "x[1][1", "[",   "x[1]1x"};
  for (size_t i = 0; i < SLT_COUNT(none); i++) {
    CHECK(slt_sim_find(sim, none[i], &written) == SLT_ERR_NOT_FOUND, none[i]);
  }
  slt_sim_free(sim);
  slt_model_free(model);
}

typedef struct Listing {
  char text[400];
  uint32_t limit;
} Listing;

static SltStatus list_name(void* user, const SltName* name) {
  Listing* listing = user;
  size_t used = strlen(listing->text);
  snprintf(listing->text + used, sizeof listing->text - used, "%s:%d%s%s%s%s ", name->name,
           (int)name->quantity.kind, name->discrete ? "d" : "", name->input ? "i" : "",
           name->fixed ? "f" : "", name->states ? "s" : "");
  return listing->limit && --listing->limit == 0 ? SLT_ERR_LIMIT : SLT_OK;
}

TEST(names_are_listed) {
  SltModel* model = compile("const k = 1, N = 2; macro m = 2 * x;\n"
                            "for i = 1:N { z[i]' = -k * u; z[i](t0) = 0; }\n"
                            "x' = u; x(t0) = 0; u(t0) = 1; n(t0) = 0;\n"
                            "state on [x > k] { set n = n + 1; } from init;\n");
  Listing listing = {.limit = 0};
  CHECK(slt_model_names(model, list_name, &listing) == SLT_OK, "names");
  assert_string_equal(listing.text, "x:0 z1:0 z2:0 u:0di n:0d N:2f k:2 m:3 main:4s ");
  listing = (Listing){.limit = 2};
  CHECK(slt_model_names(model, list_name, &listing) == SLT_ERR_LIMIT, "ended by the visitor");
  assert_string_equal(listing.text, "x:0 z1:0 ");
  CHECK(slt_model_names(NULL, list_name, &listing) == SLT_ERR_ARGUMENT, "no model");
  CHECK(slt_model_names(model, NULL, &listing) == SLT_ERR_ARGUMENT, "no visitor");
  SltQuantity main = {SLT_KIND_MODE, 0, 0};
  assert_string_equal(slt_model_state_name(model, main, 1), "on");
  CHECK(!slt_model_state_name(model, main, 2), "no such state");
  CHECK(!slt_model_state_name(model, (SltQuantity){SLT_KIND_MODE, 99, 0}, 0), "no automaton");
  CHECK(!slt_model_state_name(model, (SltQuantity){SLT_KIND_VARIABLE, 0, 0}, 0), "a variable");
  slt_model_free(model);
}

TEST(rows_outlive_their_run) {
  SltModel* model = compile(ball);
  SltSim* sim = create(model);
  SltRecorderOptions options = slt_recorder_options();
  options.keep = true;
  options.bands = false;
  options.samples = 10;
  SltRecorder* recorder = NULL;
  CHECK(slt_recorder_create(sim, &options, &recorder, NULL) == SLT_OK, "create");
  CHECK(slt_recorder_run(recorder, 1.0) == SLT_OK, "run");
  uint32_t rows = (uint32_t)slt_recorder_row_count(recorder);
  SltTable* table = slt_recorder_take_table(recorder);
  CHECK(!slt_recorder_take_table(recorder) && !slt_recorder_table(recorder), "taken once");
  slt_recorder_free(recorder);
  slt_sim_free(sim);
  slt_model_free(model);
  CHECK(slt_table_column_count(table) == 4 && slt_table_row_count(table) == rows, "no bands");
  const double* y = slt_table_column(table, 1);
  for (uint32_t i = 0; i < rows; i++)
    CHECK(y[i] == slt_table_value(table, i, 1), "the same numbers");
  CHECK(!slt_table_column(table, 4) && !slt_table_column(NULL, 0), "no such column");
  slt_table_free(table);
  CHECK(!slt_recorder_take_table(NULL), "no recorder");
}

static void write_event(void* user, const SltEvent* event) {
  CHECK(slt_event_write(event, (SltWriter){count_bytes, user}) == SLT_OK, "write");
  CHECK(slt_event_write(event, (SltWriter){write_nothing, NULL}) == SLT_ERR_IO, "full");
  CHECK(slt_event_write(NULL, (SltWriter){count_bytes, user}) == SLT_ERR_ARGUMENT, "no event");
}

TEST(records_are_written_one_by_one) {
  SltModel* model = compile(ball);
  SltSim* sim = create(model);
  size_t bytes = 0;
  slt_sim_on_event(sim, write_event, &bytes);
  CHECK(slt_sim_start(sim) == SLT_OK && bytes > 100, "initial");
  size_t before = bytes;
  CHECK(slt_sim_advance(sim, 1.0, NULL) == SLT_EVENT && bytes > before + 100, "bounce");
  slt_sim_free(sim);
  slt_model_free(model);
}

static const char rooms[] =
    "const N = 60, phi = 0.6180339887498949;\n"
    "To = 5 + 5 * sin(2 * pi * time / 86400);\n"
    "s' = (1 - 0.2 * Non / N - s) / 60; s(t0) = 1; sp(t0) = 0; Non(t0) = 0;\n"
    "for i = 1:N {\n"
    "  const tau_[i] = 5000 + 5000 * mod(i * phi, 1), d_[i] = 0.6 * mod(3 * i * phi, 1) - 0.3;\n"
    "  const q_[i] = (27 + 8 * mod(2 * i * phi, 1)) / tau_[i];\n"
    "  T_[i]' = (To - T_[i]) / tau_[i] + q_[i] * s * u_[i]; u_[i](t0) = 0;\n"
    "  T_[i](t0) = 19.5 + d_[i] + mod(5 * i * phi, 1);\n"
    "  automaton room_[i] {\n"
    "    state off [T_[i] >= 20.5 + d_[i] + sp] { set u_[i] = 0, Non = Non - 1; } from on;\n"
    "    state on [T_[i] <= 19.5 + d_[i] + sp] { set u_[i] = 1, Non = Non + 1; } from init, off;\n"
    "  }\n"
    "}\n"
    "at 60 each 60 repeat * { set sp = max(-0.4, min(0.4, 0.5 - Non / N)); }\n";

typedef struct Asking {
  SltSim* sim;
  SltQuantity what[2];
  double sum;
} Asking;

static void ask(void* user, const SltEvent* event) {
  Asking* asking = user;
  (void)event;
  for (int i = 0; i < 2; i++) {
    asking->sum += slt_sim_get(asking->sim, asking->what[i]);
    asking->sum += slt_sim_get_before(asking->sim, asking->what[i]);
  }
}

/// s at the end; `asks`: whoever is told of an event asks for values.
static double end_of_rooms(const SltModel* model, bool asks) {
  Asking asking = {.sim = create(model)};
  SltSim* sim = asking.sim;
  SltQuantity s;
  CHECK(slt_sim_find(sim, "s", &s) == SLT_OK, "s");
  CHECK(slt_sim_find(sim, "To", &asking.what[0]) == SLT_OK, "computed");
  CHECK(slt_sim_find(sim, "T_3", &asking.what[1]) == SLT_OK, "a state");
  if (asks) slt_sim_on_event(sim, ask, &asking);
  SltStatus status = slt_sim_start(sim);
  while (status >= 0 && slt_sim_time(sim) < 1800.0) {
    status = slt_sim_advance(sim, 1800.0, NULL);
  }
  CHECK(status >= 0 && (asking.sum > 0.0) == asks, "done");
  double end = slt_sim_get(sim, s);
  slt_sim_free(sim);
  return end;
}

TEST(asking_changes_nothing) {
  SltModel* model = compile(rooms);
  CHECK(end_of_rooms(model, true) == end_of_rooms(model, false), "the same bits");
  slt_model_free(model);
}

TEST(calls_in_the_wrong_order) {
  SltModel* model = compile(ball);
  SltSim* sim = create(model);
  SltQuantity y;
  CHECK(slt_sim_find(sim, "y", &y) == SLT_OK, "names are known before the start");
  CHECK(isnan(slt_sim_get(sim, y)), "values are not");
  CHECK(slt_sim_advance(sim, 1.0, NULL) == SLT_ERR_ARGUMENT, "advance before the start");
  CHECK(slt_sim_set(sim, y, 1.0) == SLT_ERR_ARGUMENT, "set before the start");
  size_t size = slt_sim_snapshot_size(sim);
  void* buffer = malloc(size);
  CHECK(slt_sim_snapshot_save(sim, buffer, size) == SLT_ERR_ARGUMENT, "save before the start");
  CHECK(slt_sim_set_constant(sim, "k", 0.5) == SLT_OK, "constants are set before the start");
  CHECK(slt_sim_start(sim) == SLT_OK, "start");
  CHECK(slt_sim_start(sim) == SLT_ERR_ARGUMENT, "start twice");
  CHECK(slt_sim_set_constant(sim, "k", 0.5) == SLT_OK, "constants during the run");
  CHECK(slt_sim_snapshot_save(sim, buffer, size - 1) == SLT_ERR_ARGUMENT, "small buffer");
  CHECK(slt_sim_snapshot_save(sim, NULL, size) == SLT_ERR_ARGUMENT, "no buffer");
  CHECK(slt_sim_snapshot_save(sim, buffer, size) == SLT_OK, "save");
  CHECK(slt_sim_snapshot_restore(sim, buffer, size - 1) == SLT_ERR_ARGUMENT, "small buffer");
  CHECK(slt_sim_snapshot_restore(sim, NULL, size) == SLT_ERR_ARGUMENT, "no buffer");
  double reached = 0.0;
  CHECK(slt_sim_advance(sim, 0.25, &reached) == SLT_OK && reached == 0.25, "advance");
  CHECK(slt_sim_advance(sim, 0.125, &reached) == SLT_ERR_ARGUMENT, "time goes on");
  CHECK(reached == 0.25 && slt_sim_time(sim) == 0.25, "nothing happened");
  CHECK(slt_sim_advance(sim, (double)NAN, NULL) == SLT_ERR_ARGUMENT, "not a time");
  CHECK(slt_sim_advance(sim, 0.25, NULL) == SLT_OK, "no way to go is no mistake");
  CHECK(slt_sim_error(sim).status == SLT_OK, "a wrong argument is no failure of the run");
  CHECK(slt_sim_advance(sim, 0.375, NULL) == SLT_OK, "the run goes on");
  free(buffer);
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(names_and_values) {
  static const struct {
    const char* name;
    SltStatus status;
    SltKind kind;
    double value;
  } cases[] = {
      {"y", SLT_OK, SLT_KIND_VARIABLE, 1.0},
      {"`y`", SLT_OK, SLT_KIND_VARIABLE, 1.0},
      {"hits", SLT_OK, SLT_KIND_VARIABLE, 0.0},
      {"v'", SLT_OK, SLT_KIND_DERIVATIVE, -9.80665},
      {"k", SLT_OK, SLT_KIND_CONSTANT, 0.8},
      {"height", SLT_OK, SLT_KIND_MACRO, 2.0},
      {"main.state", SLT_OK, SLT_KIND_MODE, 0.0},
      {"time", SLT_OK, SLT_KIND_TIME, 0.0},
      {"", SLT_ERR_NOT_FOUND, SLT_KIND_TIME, 0.0},
      {"'", SLT_ERR_NOT_FOUND, SLT_KIND_TIME, 0.0},
      {"`", SLT_ERR_NOT_FOUND, SLT_KIND_TIME, 0.0},
      {"``", SLT_ERR_NOT_FOUND, SLT_KIND_TIME, 0.0},
      {"Y", SLT_ERR_NOT_FOUND, SLT_KIND_TIME, 0.0},
      {"y''''", SLT_ERR_NOT_FOUND, SLT_KIND_TIME, 0.0},
      {".state", SLT_ERR_NOT_FOUND, SLT_KIND_TIME, 0.0},
      {"other.state", SLT_ERR_NOT_FOUND, SLT_KIND_TIME, 0.0},
  };
  SltModel* model = compile(ball);
  SltSim* sim = create(model);
  SltQuantity q = {SLT_KIND_TIME, 0, 0};
  CHECK(slt_sim_start(sim) == SLT_OK, "start");
  CHECK(slt_sim_find(sim, NULL, &q) == SLT_ERR_ARGUMENT, "no name");
  CHECK(slt_sim_find(sim, "y", NULL) == SLT_ERR_ARGUMENT, "no result");
  FOR_CASES(c, cases) {
    CHECK(slt_sim_find(sim, c->name, &q) == c->status, c->name);
    if (c->status < 0) continue;
    CHECK(q.kind == c->kind && slt_sim_get(sim, q) == c->value, c->name);
    CHECK(slt_sim_is_determined(sim, q), c->name);
    CHECK((slt_sim_mode_name(sim, q) != NULL) == (c->kind == SLT_KIND_MODE), c->name);
    bool writable = c->kind == SLT_KIND_VARIABLE;
    CHECK((slt_sim_set(sim, q, c->value) == SLT_OK) == writable, c->name);
  }
  static const SltQuantity nonsense[] = {
      {SLT_KIND_VARIABLE, 99, 0},   {SLT_KIND_VARIABLE, UINT32_MAX, 0},
      {SLT_KIND_DERIVATIVE, 0, 99}, {SLT_KIND_CONSTANT, 99, 0},
      {SLT_KIND_MACRO, 99, 0},      {SLT_KIND_MODE, 99, 0},
      {(SltKind)42, 0, 0},
  };
  FOR_CASES(n, nonsense) {
    CHECK(isnan(slt_sim_get(sim, *n)) && isnan(slt_sim_get_before(sim, *n)), "nonsense");
    CHECK(!slt_sim_is_determined(sim, *n) && !slt_sim_mode_name(sim, *n), "nonsense");
    CHECK(slt_sim_set(sim, *n, 0.0) == SLT_ERR_ARGUMENT, "nonsense");
  }
  CHECK(slt_sim_find(sim, "y", &q) == SLT_OK, "y");
  CHECK(slt_sim_set(sim, q, (double)NAN) == SLT_ERR_ARGUMENT, "only finite values are written");
  CHECK(slt_sim_set(sim, q, (double)INFINITY) == SLT_ERR_ARGUMENT, "only finite values");
  CHECK(slt_sim_column_count(sim) == 3, "columns");
  CHECK(strcmp(slt_sim_column_name(sim, 0), "y") == 0, "first column");
  CHECK(!slt_sim_column_name(sim, 3), "behind the last column");
  CHECK(slt_sim_automaton_count(sim) == 1, "automata");
  CHECK(strcmp(slt_sim_automaton_name(sim, 0), "main") == 0, "automaton");
  CHECK(strcmp(slt_sim_automaton_state(sim, 0), "init") == 0, "state");
  CHECK(!slt_sim_automaton_name(sim, 1) && !slt_sim_automaton_state(sim, 1), "behind the last");
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(constants_before_the_start) {
  static const char text[] = "const N = 3, a = 2, b = 2 * a;\n"
                             "for i = 1:N { x[i]' = b; }\n";
  SltModel* model = compile(text);
  SltSim* sim = create(model);
  CHECK(slt_sim_set_constant(sim, NULL, 1.0) == SLT_ERR_ARGUMENT, "no name");
  CHECK(slt_sim_set_constant(sim, "c", 1.0) == SLT_ERR_NOT_FOUND, "unknown");
  CHECK(slt_sim_set_constant(sim, "x1", 1.0) == SLT_ERR_NOT_FOUND, "a variable");
  CHECK(slt_sim_set_constant(sim, "N", 4.0) == SLT_ERR_ARGUMENT, "shapes the model");
  CHECK(slt_sim_set_constant(sim, "a", (double)NAN) == SLT_ERR_ARGUMENT, "not a number");
  CHECK(slt_sim_set_constant(sim, "a", 5.0) == SLT_OK, "good");
  CHECK(slt_sim_start(sim) == SLT_OK, "start");
  SltQuantity b;
  CHECK(slt_sim_find(sim, "b", &b) == SLT_OK && slt_sim_get(sim, b) == 10.0, "others follow");
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(a_failed_run_explains_itself_and_stays_readable) {
  SltModel* model = compile("x' = x * x; x(t0) = 1;\n");
  SltSim* sim = create(model);
  SltQuantity x;
  CHECK(slt_sim_start(sim) == SLT_OK && slt_sim_find(sim, "x", &x) == SLT_OK, "start");
  double reached = 0.0;
  SltStatus status = slt_sim_advance(sim, 2.0, &reached);
  CHECK(status < 0 && reached > 0.99 && reached < 1.01, "a pole at 1");
  SltRunError error = slt_sim_error(sim);
  CHECK(error.status == status && error.code[0] == 'E' && error.message[0], "error");
  CHECK(error.rendered[0] && error.t > 0.99, "error");
  CHECK(isfinite(slt_sim_get(sim, x)) && slt_sim_get(sim, x) > 100.0, "the last good point");
  CHECK(slt_sim_advance(sim, 2.0, &reached) < 0, "it does not go on");
  CHECK(slt_sim_error(sim).status == status, "the error stays");
  slt_sim_free(sim);
  slt_model_free(model);
}

static bool cancel_after(void* user, double t) {
  (void)t;
  uint32_t* left = user;
  return *left == 0 || --*left == 0;
}

TEST(a_stopped_run_stays_stopped) {
  SltModel* model = compile("x' = 1; state done [x >= 1] { stop \"far enough\"; } from init;\n");
  SltSim* sim = create(model);
  double reached = 0.0;
  CHECK(slt_sim_start(sim) == SLT_OK, "start");
  CHECK(slt_sim_advance(sim, 5.0, &reached) == SLT_END, "stop");
  CHECK_NEAR(reached, 1.0, 1e-9, 0.0);
  CHECK(slt_sim_advance(sim, 5.0, &reached) == SLT_END, "and no further");
  CHECK_NEAR(reached, 1.0, 1e-9, 0.0);
  CHECK(slt_sim_error(sim).status == SLT_OK, "this is no failure");
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(time_without_end) {
  // the next event, however far it is; and nothing at all
  SltModel* model = compile("x' = 1; x(t0) = 0; state far [x >= 1e4] {} from init;\n");
  SltSim* sim = create(model);
  double reached = 0.0;
  CHECK(slt_sim_start(sim) == SLT_OK, "start");
  CHECK(slt_sim_advance(sim, (double)INFINITY, &reached) == SLT_EVENT, "an event");
  CHECK_NEAR(reached, 1e4, 0.0, 1e-9);
  uint32_t left = 100;
  slt_sim_on_step(sim, cancel_after, &left);
  CHECK(slt_sim_advance(sim, (double)INFINITY, &reached) == SLT_ERR_CANCELLED, "cancelled");
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(cancelling_within_an_instant) {
  // it has not happened, and there is no way on from its middle
  SltModel* model = compile("x' = 1; x(t0) = 0; k(t0) = 0;\n"
                            "state up [x >= 1] && k < 100 { set k = k + 1; } from init, down;\n"
                            "state down [x >= 1] && k < 100 { set k = k + 1; } from up;\n");
  for (uint32_t rounds = 0; rounds < 100; rounds += 33) {
    SltSim* sim = create(model);
    SltQuantity k;
    SltQuantity mode;
    uint32_t left = rounds;
    CHECK(slt_sim_find(sim, "k", &k) == SLT_OK && slt_sim_find(sim, "main.state", &mode) == SLT_OK,
          "");
    CHECK(slt_sim_start(sim) == SLT_OK, "start");
    slt_sim_on_round(sim, cancel_after, &left);
    CHECK(slt_sim_advance(sim, 2.0, NULL) == SLT_ERR_CANCELLED, "cancelled");
    CHECK_NEAR(slt_sim_time(sim), 1.0, 0.0, 1e-12);
    CHECK(slt_sim_get(sim, k) == 0.0, "nothing was counted");
    CHECK(strcmp(slt_sim_mode_name(sim, mode), "init") == 0, "the mode before");
    CHECK(slt_sim_advance(sim, 2.0, NULL) == SLT_ERR_ARGUMENT, "it is over");
    slt_sim_free(sim);
  }
  slt_model_free(model);
}

TEST(cancelling_leaves_the_run_intact) {
  SltModel* model = compile(ball);
  SltSim* whole = create(model);
  SltSim* parts = create(model);
  SltQuantity y;
  CHECK(slt_sim_find(whole, "y", &y) == SLT_OK, "find");
  CHECK(slt_sim_start(whole) == SLT_OK && slt_sim_start(parts) == SLT_OK, "start");
  while (slt_sim_advance(whole, 3.0, NULL) == SLT_EVENT) {
  }
  uint32_t left = 0;
  uint32_t cancelled = 0;
  slt_sim_on_step(parts, cancel_after, &left);
  for (;;) {
    left = 2;
    SltStatus status = slt_sim_advance(parts, 3.0, NULL);
    if (status == SLT_OK) break;
    CHECK(status == SLT_ERR_CANCELLED || status == SLT_EVENT, "status");
    cancelled += status == SLT_ERR_CANCELLED;
    CHECK(cancelled < 10000, "it comes to an end");
  }
  CHECK(cancelled > 0, "it was cancelled");
  CHECK(slt_sim_get(whole, y) == slt_sim_get(parts, y), "same bits");
  slt_sim_free(whole);
  slt_sim_free(parts);
  slt_model_free(model);
}

// ---- recording and pictures ---------------------------------------------------------------------

TEST(recorder_checks_its_arguments) {
  SltModel* model = compile(ball);
  SltSim* sim = create(model);
  SltRecorder* recorder = NULL;
  const char* bad = NULL;
  const char* names[] = {"y", "nothing"};
  const char* holes[] = {"y", NULL};
  SltRecorderOptions good = slt_recorder_options();
  SltRecorderOptions zeroed = {.samples = 5};
  CHECK(slt_recorder_create(NULL, &good, &recorder, &bad) == SLT_ERR_ARGUMENT, "sim");
  CHECK(slt_recorder_create(sim, NULL, &recorder, &bad) == SLT_ERR_ARGUMENT, "options");
  CHECK(slt_recorder_create(sim, &good, NULL, &bad) == SLT_ERR_ARGUMENT, "out");
  CHECK(slt_recorder_create(sim, &zeroed, &recorder, NULL) == SLT_ERR_ARGUMENT, "cookie");
  SltRecorderOptions options = slt_recorder_options();
  options.every = 0.0;
  CHECK(slt_recorder_create(sim, &options, &recorder, NULL) == SLT_ERR_ARGUMENT, "every");
  options.every = -1.0;
  CHECK(slt_recorder_create(sim, &options, &recorder, NULL) == SLT_ERR_ARGUMENT, "every");
  options = slt_recorder_options();
  options.samples = 0;
  CHECK(slt_recorder_create(sim, &options, &recorder, NULL) == SLT_ERR_ARGUMENT, "samples");
  options = slt_recorder_options();
  options.name_count = 2;
  CHECK(slt_recorder_create(sim, &options, &recorder, NULL) == SLT_ERR_ARGUMENT, "no names");
  options.names = names;
  CHECK(slt_recorder_create(sim, &options, &recorder, &bad) == SLT_ERR_NOT_FOUND, "name");
  CHECK(bad == names[1] && !recorder, "it says which");
  options.names = holes;
  CHECK(slt_recorder_create(sim, &options, &recorder, &bad) == SLT_ERR_ARGUMENT, "name");
  CHECK(slt_recorder_run(NULL, 1.0) == SLT_ERR_ARGUMENT, "run");
  CHECK(slt_recorder_table(NULL) == NULL, "table");
  slt_recorder_on_event(NULL, NULL, NULL);
  CHECK(slt_recorder_create(sim, &good, &recorder, NULL) == SLT_OK, "good");
  CHECK(slt_recorder_table(recorder) == NULL, "nothing is kept");
  CHECK(slt_recorder_run(recorder, (double)NAN) == SLT_ERR_ARGUMENT, "not a time");
  CHECK(slt_recorder_run(recorder, 1.0) == SLT_OK, "run");
  CHECK(slt_recorder_run(recorder, 0.5) == SLT_ERR_ARGUMENT, "time goes on");
  slt_recorder_free(recorder);
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(a_broken_output_ends_the_recording) {
  SltModel* model = compile(ball);
  SltSim* sim = create(model);
  SltRecorder* recorder = NULL;
  SltRecorderOptions options = slt_recorder_options();
  options.rows = (SltWriter){write_nothing, NULL};
  options.samples = 100000;
  SltStatus status = slt_recorder_create(sim, &options, &recorder, NULL);
  if (status >= 0) status = slt_recorder_run(recorder, 3.0);
  CHECK(status == SLT_ERR_IO, "the writer's error comes out");
  slt_recorder_free(recorder);
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(tables_and_pictures_check_their_arguments) {
  static const char csv[] = "time,x,mode\n0,1,a\n1,,a\n2,3,b\n";
  SltTable* table = NULL;
  uint32_t line = 7;
  size_t bytes = 0;
  SltWriter writer = {count_bytes, &bytes};
  CHECK(slt_table_read_csv(csv, strlen(csv), NULL, NULL) == SLT_ERR_ARGUMENT, "out");
  CHECK(slt_table_read_csv(NULL, 5, &table, NULL) == SLT_ERR_ARGUMENT, "text");
  CHECK(slt_table_read_csv("a,b\n1\n", 6, &table, &line) == SLT_ERR_SYNTAX && line == 2, "ragged");
  CHECK(!table, "the result is cleared");
  CHECK(slt_table_read_csv(csv, strlen(csv), &table, &line) == SLT_OK, "good");
  CHECK(slt_table_column_count(table) == 3 && slt_table_row_count(table) == 3, "size");
  CHECK(strcmp(slt_table_column_name(table, 2), "mode") == 0, "name");
  CHECK(slt_table_value(table, 2, 1) == 3.0 && isnan(slt_table_value(table, 1, 1)), "value");
  CHECK(strcmp(slt_table_text(table, 2, 2), "b") == 0 && !slt_table_text(table, 0, 0), "text");
  CHECK(!slt_table_column_name(table, 3), "column");
  CHECK(isnan(slt_table_value(table, 3, 0)) && isnan(slt_table_value(table, 0, 3)), "outside");
  CHECK(!slt_table_text(table, 3, 2) && !slt_table_text(table, 0, 3), "outside");
  CHECK(slt_table_column_count(NULL) == 0 && slt_table_row_count(NULL) == 0, "no table");
  CHECK(!slt_table_column_name(NULL, 0) && !slt_table_text(NULL, 0, 0), "no table");
  CHECK(isnan(slt_table_value(NULL, 0, 0)), "no table");

  SltPlotOptions zeroed = {.width = 5};
  SltPlotOptions options = slt_plot_options();
  const char* names[] = {"y"};
  const char* bad = NULL;
  CHECK(slt_table_plot(NULL, &options, writer, &bad) == SLT_ERR_ARGUMENT, "table");
  CHECK(slt_table_plot(table, NULL, writer, &bad) == SLT_ERR_ARGUMENT, "options");
  CHECK(slt_table_plot(table, &zeroed, writer, &bad) == SLT_ERR_ARGUMENT, "cookie");
  CHECK(slt_table_plot(table, &options, (SltWriter){NULL, NULL}, &bad) == SLT_ERR_ARGUMENT,
        "writer");
  CHECK(slt_table_plot(table, &options, (SltWriter){write_nothing, NULL}, NULL) == SLT_ERR_IO,
        "io");
  options.format = (SltPlotFormat)9;
  CHECK(slt_table_plot(table, &options, writer, NULL) == SLT_ERR_ARGUMENT, "format");
  options.format = SLT_PLOT_SVG;
  options.names = names;
  options.name_count = 1;
  CHECK(slt_table_plot(table, &options, writer, &bad) == SLT_ERR_NOT_FOUND, "name");
  CHECK(bad && strcmp(bad, "y") == 0, "it says which");
  options.names = NULL;
  CHECK(slt_table_plot(table, &options, writer, &bad) == SLT_ERR_ARGUMENT, "no names");
  options.name_count = 0;
  CHECK(bytes == 0 && slt_table_plot(table, &options, writer, NULL) == SLT_OK && bytes > 100, "ok");
  slt_table_free(table);
}

// ---- memory that runs out -----------------------------------------------------------------------

typedef struct Hungry {
  const char* name;
  const char* text;
  double t_end;
  SltStatus status;  // of the whole when there is memory enough
  const char* method;
} Hungry;

static const Hungry hungry[] = {
    {"ball", ball, 2.0, SLT_OK, NULL},
    {"loop",
     "const N = 40;\nfor i = 1:N { T[i](t0) = i; T[i]' = abs(T[i]) - T[i] ^ 2; }\n"
     "total = sum(i = 1:N, T[i]);\n",
     0.5, SLT_OK, NULL},
    {"automata",
     "x' = u; x(t0) = 0; u = 1;\n"
     "automaton up { state a [x >= 1] { u = -1; } from init, b; state b [x <= 0] {} from a; }\n"
     "automaton lamp { state on up.a {} from init, off; state off !up.a {} from on; }\n"
     "at 0.3 each 0.4 repeat 5 { set n = n + normal(0, 1); }\nn(t0) = 0;\n"
     "if (x > 0.5) { z = 1; } else { z = min(x, 0.2); }\n",
     5.0, SLT_OK, NULL},
    {"tables", "data road = \"speed.csv\", speed;\ns' = table(road, time);\n", 4.0, SLT_OK, NULL},
    {"long table", "data road = \"long.csv\", speed;\ns' = table(road, time);\n", 4.0, SLT_OK,
     NULL},
    {"second order", "2 * x'' - 4 * x' + 10 * t * x = 0; x(t0) = 1; x'(t0) = 0;\n", 1.0, SLT_OK,
     NULL},
    {"stiff", "x' = -1e3 * (x - y); x(t0) = 1; y + y ^ 3 = cos(time); y(t0) ~ 0.6;\n", 1.0, SLT_OK,
     "rodas"},
    {"stiff at times", "x' = -1e4 * (x - cos(time)); x(t0) = 1;\n", 1.0, SLT_OK, NULL},
    {"pole", "x' = x * x; x(t0) = 1;\n", 2.0, SLT_ERR_STEP, NULL},
    {"mistakes", "x' = y +;\nstate s [x > ] {} from nowhere;\n", 1.0, SLT_ERR_SYNTAX, NULL},
    {"unknown", "x' = spede; speed = 1;\n", 1.0, SLT_ERR_SEMANTIC, NULL},
    {"structure", "x' = 1; x = 2; y' = z;\n z = y + z ^ 3;\n", 1.0, SLT_ERR_SEMANTIC, NULL},
};

static void ignore_event(void* user, const SltEvent* event) {
  *(uint64_t*)user += event->change_count + 1;
}

static void ignore_diagnostic(void* user, const SltDiagnostic* diagnostic) {
  *(uint64_t*)user += strlen(diagnostic->rendered);
}

/// Compile, run and explain with the given allocators; the first error, or the last status.
static SltStatus live(const Hungry* h, SltAllocator compile_memory, SltAllocator run_memory) {
  uint64_t seen = 0;
  uint32_t loads = 0;
  SltCompileOptions compile_options = slt_compile_options();
  compile_options.allocator = compile_memory;
  compile_options.on_diagnostic = ignore_diagnostic;
  compile_options.user = &seen;
  compile_options.load = load_table;
  compile_options.load_user = &loads;
  SltModel* model = NULL;
  SltSim* sim = NULL;
  SltStatus status =
      slt_model_compile("hungry.lisma", h->text, strlen(h->text), &compile_options, &model);
  CHECK((status >= 0) == (model != NULL), h->name);
  if (status >= 0) {
    size_t bytes = 0;
    status = slt_model_explain(model, SLT_EXPLAIN_JSON, (SltWriter){count_bytes, &bytes});
  }
  if (status >= 0) {
    SltSimOptions options = slt_sim_options();
    options.allocator = run_memory;
    options.method = h->method;
    status = slt_sim_create(model, &options, &sim);
    CHECK((status >= 0) == (sim != NULL), h->name);
  }
  if (status >= 0) {
    slt_sim_on_event(sim, ignore_event, &seen);
    status = slt_sim_start(sim);
    while (status >= 0) {
      status = slt_sim_advance(sim, h->t_end, NULL);
      if (status == SLT_OK || status == SLT_END) break;
    }
    // an error can be told even then
    if (status < 0) CHECK(slt_sim_error(sim).rendered != NULL, h->name);
  }
  slt_sim_free(sim);
  slt_model_free(model);
  return status;
}

TEST(every_allocation_may_fail) {
  FOR_CASES(h, hungry) {
    TestAllocator plenty = {0};
    CHECK(live(h, test_allocator(&plenty), test_allocator(&plenty)) == h->status, h->name);
    CHECK(plenty.live_blocks == 0 && plenty.live_bytes == 0, h->name);
    CHECK(plenty.requests > 0, h->name);
    for (int rest = 0; rest < 2; rest++) {
      for (size_t n = 1; n <= plenty.requests; n++) {
        TestAllocator t = {.fail_at = n, .fail_rest = rest};
        SltStatus status = live(h, test_allocator(&t), test_allocator(&t));
        char name[64];
        snprintf(name, sizeof name, "%s, request %zu%s", h->name, n, rest ? " and all others" : "");
        CHECK(status == SLT_ERR_NOMEM || status == h->status, name);
        CHECK(t.live_blocks == 0, name);
        CHECK(t.live_bytes == 0, name);
      }
    }
  }
}

TEST(a_model_survives_a_mode_that_found_no_memory) {
  // modes are compiled when they are entered, with the model's memory
  static const char text[] = "x' = u; x(t0) = 0; u = 1;\n"
                             "state a [x >= 1] { u = -1 / (1 + x ^ 2); } from init;\n"
                             "state b [x <= 0.5] { u = sin(x); } from a;\n";
  TestAllocator memory = {0};
  SltCompileOptions compile_options = slt_compile_options();
  compile_options.allocator = test_allocator(&memory);
  compile_options.structure = false;  // no mode is looked at before it is entered
  SltModel* model = NULL;
  CHECK(slt_model_compile("m", text, strlen(text), &compile_options, &model) == SLT_OK, "compile");
  double x_end[2] = {0.0, 0.0};
  for (size_t n = 1; n < 200; n++) {
    SltSim* sim = create(model);
    memory.fail_at = memory.requests + n;
    memory.fail_rest = true;
    SltStatus status = slt_sim_start(sim);
    while (status >= 0 && (status = slt_sim_advance(sim, 5.0, NULL)) == SLT_EVENT) {
    }
    CHECK(status == SLT_ERR_NOMEM || status == SLT_OK, "status");
    memory.fail_at = 0;
    slt_sim_free(sim);
    if (status == SLT_OK) break;
  }
  SltModel* fresh = compile(text);
  for (int i = 0; i < 2; i++) {
    SltSim* sim = create(i ? model : fresh);
    SltQuantity x;
    CHECK(slt_sim_start(sim) == SLT_OK && slt_sim_find(sim, "x", &x) == SLT_OK, "start");
    while (slt_sim_advance(sim, 5.0, NULL) == SLT_EVENT) {
    }
    CHECK(slt_sim_time(sim) == 5.0, "to the end");
    x_end[i] = slt_sim_get(sim, x);
    slt_sim_free(sim);
  }
  CHECK(x_end[0] == x_end[1], "as if nothing had happened");
  slt_model_free(fresh);
  slt_model_free(model);
  CHECK(memory.live_blocks == 0, "no leak");
}
