// SPDX-License-Identifier: MIT
//
// Hostile and extreme input through the public functions. Each case must end soon with a status,
// never with a crash; the sanitizers watch the rest. What comes through files and the command line
// is in tests/scripts/limits.py.
#include "test.h"

#include <saltus/saltus.h>

static char* repeat(const char* piece, size_t count) {
  size_t length = strlen(piece);
  char* text = malloc(length * count + 1);
  CHECK(text != NULL, "memory");
  for (size_t i = 0; i < count; i++)
    memcpy(text + i * length, piece, length);
  text[length * count] = '\0';
  return text;
}

static SltStatus drop(void* user, const char* data, size_t length) {
  (void)data;
  *(size_t*)user += length;
  return SLT_OK;
}

// ---- texts --------------------------------------------------------------------------------------

typedef struct Seen {
  uint32_t count;
  bool complete;    // each message has a code, a place and words
  char codes[128];  // of the first messages
} Seen;

static void see(void* user, const SltDiagnostic* d) {
  Seen* seen = user;
  seen->count++;
  size_t used = strlen(seen->codes);
  snprintf(seen->codes + used, sizeof seen->codes - used, "%s ", d->code);
  seen->complete = seen->complete && d->code[0] && d->message[0] && d->line > 0 && d->column > 0 &&
                   strlen(d->rendered) < 10000;
}

static SltStatus compile_bytes(const char* text, size_t length, Seen* seen) {
  SltCompileOptions options = slt_compile_options();
  options.on_diagnostic = see;
  options.user = seen;
  SltModel* model = NULL;
  *seen = (Seen){.complete = true};
  SltStatus status = slt_model_compile("hostile.lisma", text, length, &options, &model);
  slt_model_free(model);
  return status;
}

TEST(texts_are_bytes_with_a_length) {
  static const struct {
    const char* name;
    const char* text;
    size_t length;
  } cases[] = {
      {"NUL inside", "x' = 1;\0y' = 2;", 15},
      {"only NUL", "\0\0\0\0", 4},
      {"overlong encoding", "x\xc0\xaf' = 1;", 9},
      {"surrogate", "x\xed\xa0\x80' = 1;", 10},
      {"beyond Unicode", "x\xf5\x80\x80\x80' = 1;", 11},
      {"cut in a character", "x' = 1; // \xe2\x82", 13},
      {"lone continuation", "\x80", 1},
      {"control characters", "\x01\x02\x03\x7f", 4},
      {"cut in a comment", "x' = 1; /* ", 11},
      {"cut in a text", "stop \"", 6},
      {"cut in a name", "`", 1},
      {"cut in a number", "x' = 1e", 7},
      {"cut in a number", "x' = 1e+", 8},
  };
  FOR_CASES(c, cases) {
    Seen seen;
    SltStatus status = compile_bytes(c->text, c->length, &seen);
    CHECK(status == SLT_ERR_SYNTAX, c->name);
    CHECK(seen.count > 0 && seen.complete, c->name);
  }
}

TEST(every_prefix_of_a_model_is_answered) {
  static const char text[] =
      "const k = 0.8, N = 3;\nmacro e1 = x_[1] ^ 2;\n`a b` = 2;\n"
      "for i = 1:N { x_[i]' = -k * x_[i] + sum(j = 1:N, x_[j]) / N; x_[i](t0) = i; }\n"
      "state low unilateral(eps = 1e-8)[x_1 <= 0.5] && !noEvent[e1 > 2] like high {\n"
      "  lbl: q = 1; delete lbl2; set n = n + 1; invariant [x_1 > -1]; stop \"done\";\n"
      "} from init, high;\nstate high [x_1 >= 1] {} from low;\nlbl2: p = 1;\nn(t0) = 0;\n"
      "if (x_1 > 0) { q = 2; } else if (x_2 < 1) { q = 3; } else { q = 4; }\n"
      "at 1 each 2 repeat * priority -1 { goto high; }\nexperiment { end = 10; out = x_1; }\n";
  for (size_t length = 0; length < sizeof text; length++) {
    Seen seen;
    SltStatus status = compile_bytes(text, length, &seen);
    char name[32];
    snprintf(name, sizeof name, "%zu bytes", length);
    CHECK(status == SLT_OK || status == SLT_ERR_SYNTAX || status == SLT_ERR_SEMANTIC, name);
    CHECK(status == SLT_OK || seen.count > 0, name);
    CHECK(seen.complete, name);
  }
}

TEST(messages_are_limited) {
  char* text = repeat("x' = ;\n", 20000);
  Seen seen;
  CHECK(compile_bytes(text, strlen(text), &seen) == SLT_ERR_SYNTAX, "mistakes");
  CHECK(seen.count > 0 && seen.count <= 101 && seen.complete, "a hundred are enough");
  free(text);
}

TEST(nesting_is_limited) {
  static const struct {
    const char* name;
    const char* head;
    const char* piece;
    const char* code;
  } cases[] = {
      {"parentheses", "x' = ", "(", "E0701"},
      {"signs", "x' = ", "-", "E0701"},
      {"negations", "state s ", "!", "E0701"},
      {"powers", "x' = ", "2 ^ ", "E0701"},
      {"calls", "x' = ", "sin(", "E0701"},
      {"conditions", "x' = ", "if(x > 0, ", "E0701"},
      {"indices", "", "x[", "E0701"},
      {"blocks", "", "for i = 1:2 { ", "E0702"},
      {"branches", "", "if (x > 0) { ", "E0702"},
  };
  FOR_CASES(c, cases) {
    char* nest = repeat(c->piece, 10000);
    size_t size = strlen(c->head) + strlen(nest) + 1;
    char* text = malloc(size);
    CHECK(text != NULL, "memory");
    snprintf(text, size, "%s%s", c->head, nest);
    Seen seen;
    CHECK(compile_bytes(text, strlen(text), &seen) < 0, c->name);
    CHECK(seen.count > 0 && seen.count <= 101 && seen.complete, c->name);
    CHECK(strstr(seen.codes, c->code) != NULL, seen.codes);
    free(text);
    free(nest);
  }
}

// ---- names --------------------------------------------------------------------------------------

TEST(long_names_are_not_found) {
  static const char text[] = "const k = 1; x' = k;\n";
  SltModel* model = NULL;
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  CHECK(slt_model_compile("m", text, strlen(text), NULL, &model) == SLT_OK, "compile");
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "create");
  char* pieces[] = {repeat("x", 1000000), repeat("'", 1000000), repeat("`", 1000000),
                    repeat(".state", 200000), repeat("\xff", 1000000)};
  for (size_t i = 0; i < SLT_COUNT(pieces); i++) {
    SltQuantity quantity;
    CHECK(slt_sim_find(sim, pieces[i], &quantity) == SLT_ERR_NOT_FOUND, "find");
    CHECK(slt_sim_set_constant(sim, pieces[i], 1.0) == SLT_ERR_NOT_FOUND, "set_constant");
    SltOverride override = {pieces[i], 1.0};
    SltCompileOptions compile_options = slt_compile_options();
    compile_options.overrides = &override;
    compile_options.override_count = 1;
    SltModel* other = NULL;
    SltStatus status = slt_model_compile("m", text, strlen(text), &compile_options, &other);
    CHECK(status == SLT_ERR_NOT_FOUND && !other, "override");
    free(pieces[i]);
  }
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(many_columns) {
  enum { COUNT = 20000 };
  static const char text[] = "x' = 1;\n";
  static const char* names[COUNT];
  for (int i = 0; i < COUNT; i++)
    names[i] = i % 2 ? "x" : "time";
  SltModel* model = NULL;
  SltSim* sim = NULL;
  SltRecorder* recorder = NULL;
  SltSimOptions options = slt_sim_options();
  size_t bytes = 0;
  SltRecorderOptions record = slt_recorder_options();
  record.names = names;
  record.name_count = COUNT;
  record.samples = 10;
  record.rows = (SltWriter){drop, &bytes};
  record.keep = true;
  CHECK(slt_model_compile("m", text, strlen(text), NULL, &model) == SLT_OK, "compile");
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "create");
  CHECK(slt_recorder_create(sim, &record, &recorder, NULL) == SLT_OK, "recorder");
  CHECK(slt_recorder_run(recorder, 1.0) == SLT_OK, "run");
  CHECK(bytes > COUNT && slt_table_row_count(slt_recorder_table(recorder)) == 11, "rows");
  slt_recorder_free(recorder);
  slt_sim_free(sim);
  slt_model_free(model);
}

// ---- tables and pictures ------------------------------------------------------------------------

TEST(hostile_tables) {
  static const struct {
    const char* name;
    const char* text;
    size_t length;
  } cases[] = {
      {"nothing", "", 0},
      {"NUL", "\0", 1},
      {"open quote", "\"", 1},
      {"quote in a cell", "a\"b\n1\n", 6},
      {"bytes", "\xff\xfe\xfd\n1\n", 6},
      {"header only", "time,x\n", 7},
      {"empty names", ",,\n1,2,3\n", 9},
      {"huge numbers", "t,x\n1e999,-1e999\n1e-999,1e308\n", 30},
      {"words", "t,x\nnan,inf\n-,+\n", 16},
      {"carriage returns", "t,x\r1,2\r", 8},
      {"blank lines", "\n\n\n", 3},
  };
  FOR_CASES(c, cases) {
    SltTable* table = NULL;
    uint32_t line = 0;
    SltStatus status = slt_table_read_csv(c->text, c->length, &table, &line);
    CHECK(status == SLT_OK || (status == SLT_ERR_SYNTAX && !table), c->name);
    if (table) {
      for (int format = SLT_PLOT_SVG; format <= SLT_PLOT_TERMINAL; format++) {
        size_t bytes = 0;
        SltPlotOptions options = slt_plot_options();
        options.format = (SltPlotFormat)format;
        status = slt_table_plot(table, &options, (SltWriter){drop, &bytes}, NULL);
        CHECK(status == SLT_OK || status == SLT_ERR_ARGUMENT, c->name);
      }
    }
    slt_table_free(table);
  }
}

TEST(wide_and_long_tables) {
  char* columns = repeat("x,", 200000);
  SltTable* table = NULL;
  uint32_t line = 0;
  SltStatus status = slt_table_read_csv(columns, strlen(columns), &table, &line);
  CHECK(status == SLT_OK || status == SLT_ERR_SYNTAX, "columns");
  slt_table_free(table);
  free(columns);

  char* rows = repeat("1,2\n", 1000000);
  rows[0] = 't';
  rows[2] = 'x';
  CHECK(slt_table_read_csv(rows, strlen(rows), &table, &line) == SLT_OK, "rows");
  CHECK(slt_table_row_count(table) == 999999, "rows");
  size_t bytes = 0;
  SltPlotOptions options = slt_plot_options();
  CHECK(slt_table_plot(table, &options, (SltWriter){drop, &bytes}, NULL) == SLT_OK, "picture");
  CHECK(bytes < 10000000, "a picture does not grow with its rows for ever");
  slt_table_free(table);
  free(rows);
}

TEST(pictures_of_extreme_values) {
  static const char* const tables[] = {
      "t,x\n0,1\n",
      "t,x\n0,1\n0,1\n",
      "t,x\n0,0\n1,0\n",
      "t,x\n0,\n1,\n",
      "t,x\n-1e308,-1e308\n1e308,1e308\n",
      "t,x\n0,1e-320\n5e-324,2e-320\n",
      "t,x\n1e17,1\n1e17,2\n100000000000000016,3\n",
      "t,x\n0,1\n1,1.0000000000000002\n",
      "t,x\n5,1\n4,2\n3,3\n",
      "t,mode\n0,a\n1,b\n",
  };
  static const uint32_t sizes[][2] = {{0, 0}, {1, 1}, {20, 8}, {3, 1000}, {100000, 100000}};
  FOR_CASES(text, tables) {
    SltTable* table = NULL;
    CHECK(slt_table_read_csv(*text, strlen(*text), &table, NULL) == SLT_OK, *text);
    FOR_CASES(size, sizes) {
      for (int format = SLT_PLOT_SVG; format <= SLT_PLOT_TERMINAL; format++) {
        size_t bytes = 0;
        SltPlotOptions options = slt_plot_options();
        options.format = (SltPlotFormat)format;
        options.width = (*size)[0];
        options.height = (*size)[1];
        SltStatus status = slt_table_plot(table, &options, (SltWriter){drop, &bytes}, NULL);
        CHECK(status == SLT_OK || status == SLT_ERR_ARGUMENT, *text);
        CHECK(bytes < 50000000, *text);
      }
    }
    slt_table_free(table);
  }
}

// ---- runs ---------------------------------------------------------------------------------------

TEST(runs_end_with_a_status) {
  static const struct {
    const char* name;
    const char* text;
    SltStatus status;
  } cases[] = {
      {"not a number at once", "x' = 0 / 0;\n", SLT_ERR_NOT_FINITE},
      {"root of a negative number", "x' = -sqrt(x) - 1; y = ln(x - 2); x(t0) = 3;\n",
       SLT_ERR_NOT_FINITE},
      {"pole", "x' = x ^ 2; x(t0) = 1;\n", SLT_ERR_STEP},
      {"modes that repeat", "x' = 1; state a [x > 0] {} from init, b; state b [x > 0] {} from a;\n",
       SLT_ERR_MODE_LOOP},
      {"events without end", "n(t0) = 0; at 0 each 1e-300 repeat * { set n = n + 1; }\n",
       SLT_ERR_ZENO},
      {"a number that overflows", "n(t0) = 1; at 1 each 1e-3 repeat * { set n = n * 10; }\n",
       SLT_ERR_NOT_FINITE},
      {"growth without bound", "x' = x * 1e3; x(t0) = 1;\n", SLT_ERR_NOT_FINITE},
  };
  FOR_CASES(c, cases) {
    SltModel* model = NULL;
    SltSim* sim = NULL;
    SltSimOptions options = slt_sim_options();
    CHECK(slt_model_compile("m", c->text, strlen(c->text), NULL, &model) == SLT_OK, c->name);
    CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, c->name);
    SltStatus status = slt_sim_start(sim);
    while (status == SLT_OK || status == SLT_EVENT) {
      status = slt_sim_advance(sim, 10.0, NULL);
      if (status == SLT_OK) break;
    }
    CHECK(status < 0, c->name);
    SltRunError error = slt_sim_error(sim);
    // a way out, or at least the place in the model
    CHECK(error.status == status && error.message[0] && (error.hint || error.line), c->name);
    // which of two honest descriptions of the same trouble it is may depend on the method
    bool same = status == c->status || (status <= SLT_ERR_NOT_FINITE && status >= SLT_ERR_STEP);
    CHECK(same, c->name);
    slt_sim_free(sim);
    slt_model_free(model);
  }
}

TEST(limits_of_a_run) {
  static const char text[] = "x' = 1; n(t0) = 0; at 0 each 0.001 repeat * { set n = n + 1; }\n";
  SltModel* model = NULL;
  CHECK(slt_model_compile("m", text, strlen(text), NULL, &model) == SLT_OK, "compile");
  for (int kind = 0; kind < 2; kind++) {
    SltSim* sim = NULL;
    SltSimOptions options = slt_sim_options();
    if (kind == 0) options.max_events = 100;
    if (kind == 1) options.max_steps = 50;
    CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "create");
    SltStatus status = slt_sim_start(sim);
    while (status == SLT_OK || status == SLT_EVENT) {
      status = slt_sim_advance(sim, 10.0, NULL);
      if (status == SLT_OK) break;
    }
    CHECK(status == SLT_ERR_LIMIT, kind ? "steps" : "events");
    CHECK(slt_sim_time(sim) < 1.0, kind ? "steps" : "events");
    CHECK(slt_sim_error(sim).message[0] != '\0', kind ? "steps" : "events");
    slt_sim_free(sim);
  }
  slt_model_free(model);
}
