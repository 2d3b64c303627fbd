// SPDX-License-Identifier: MIT
//
// Foreign blocks: a host in C in the place of FMUs, so that everything about it is known.
#include "test.h"

#include <saltus/saltus.h>

#include <math.h>
#include <stdio.h>

/// A block with one state, x' = -k x + u, whose event at x <= 0.5 doubles x; memory is the number n
/// of events. Items: 0 rate, 1 value after the event, 2 number after it, 3 something that only
/// jumps.
typedef struct Host {
  int opened, closed, asked, slopes, steps;
  double t_start, rtol;
  bool refuses, fails, wants;
  char path[100];
} Host;

static SltStatus describe(void* user, const char* name, const char* path, SltWriter text,
                          char* problem, size_t size) {
  (void)user;
  char part[1000];
  if (strstr(path, "broken")) {
    snprintf(problem, size, "it is broken");
    return SLT_ERR_ARGUMENT;
  }
  snprintf(part, sizeof part,
           "part `%s`(k = 1) {\n"
           "data `:block` = \"%s\", foreign;\n"
           "x(t0) = 1; `:n`(t0) = 0; `:want`(t0) = 0; u(t0) ~= 0; `:in u`(t0) = 0;\n"
           "x' = table(`:block`, 0, k, u, x, `:n`);\n"
           "automaton block { state event [x <= 0.5] || [`:want` > 0] {\n"
           "set x = table(`:block`, 1, k, u, x, `:n`), `:n` = table(`:block`, 2, k, u, x, `:n`);\n"
           "set `:want` = 0; } from init, event; }\n"
           "n = `:n`;\n}\n",
           name, name);
  return text.write(text.user, part, strlen(part));
}

static SltStatus open_block(void* user, const char* path, double t_start, double rtol, void** block,
                            char* problem, size_t size) {
  Host* host = user;
  if (host->refuses) {
    snprintf(problem, size, "not today");
    return SLT_ERR_UNSUPPORTED;
  }
  host->opened++;
  host->t_start = t_start;
  host->rtol = rtol;
  snprintf(host->path, sizeof host->path, "%s", path);
  *block = host;
  return SLT_OK;
}

static double value(void* block, const double* args, uint32_t count, int order) {
  Host* host = block;
  host->asked++;
  CHECK(count == (order ? 6u : 5u), "four arguments, what is asked for, and by which");
  double k = args[0];
  double u = args[1];
  double x = args[2];
  int item = (int)args[4];
  if (host->fails) return (double)NAN;
  if (order) {
    host->slopes++;
    int by = (int)args[5];
    return item != 0 ? 0.0 : by == 0 ? -x : by == 1 ? 1.0 : by == 2 ? -k : 0.0;
  }
  return item == 0 ? -k * x + u : item == 1 ? 2.0 * x : args[3] + 1.0;
}

static bool step(void* block) {
  Host* host = block;
  host->steps++;
  bool wants = host->wants;
  host->wants = false;
  return wants;
}

static const char* problem_of(void* block) {
  return ((Host*)block)->fails ? "it has burst" : NULL;
}

static void close_block(void* block) {
  ((Host*)block)->closed++;
}

static SltModel* compile(Host* host, const char* text, SltStatus wanted) {
  SltForeign foreign = {describe, open_block, value, step, problem_of, close_block, host};
  SltCompileOptions options = slt_compile_options();
  options.foreign = &foreign;  // is copied
  SltModel* model = NULL;
  SltStatus status = slt_model_compile("somewhere/m.lisma", text, strlen(text), &options, &model);
  CHECK(status == wanted, text);
  return model;
}

static SltSim* start(const SltModel* model, const char* method) {
  SltSimOptions options = slt_sim_options();
  options.rtol = 1e-9;
  options.method = method;
  SltSim* sim = NULL;
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "create");
  CHECK(slt_sim_start(sim) == SLT_OK, "start");
  return sim;
}

static double get(SltSim* sim, const char* name) {
  SltQuantity quantity;
  CHECK(slt_sim_find(sim, name, &quantity) == SLT_OK, name);
  return slt_sim_get(sim, quantity);
}

static uint32_t run_to(SltSim* sim, double t) {
  uint32_t events = 0;
  while (slt_sim_advance(sim, t, NULL) == SLT_EVENT)
    events++;
  return events;
}

TEST(values_and_events_of_a_block) {
  Host host = {0};
  SltModel* model = compile(&host, "fmu b = \"sub/b.fmu\" (k = 2); y = 3 * b.x;", SLT_OK);
  SltSim* sim = start(model, NULL);
  CHECK(host.opened == 1 && host.rtol == 1e-9 && host.t_start == 0.0, "opened when it starts");
  CHECK(strcmp(host.path, "somewhere/sub/b.fmu") == 0, host.path);
  run_to(sim, 1.0);
  // x halves every ln(2)/2 and is doubled there
  double period = log(2.0) / 2.0;
  double want = exp(-2.0 * (1.0 - 2.0 * period));
  CHECK(fabs(get(sim, "b.x") - want) < 1e-7, "x");
  CHECK(fabs(get(sim, "y") - 3.0 * want) < 3e-7 && get(sim, "b.n") == 2.0, "y, n");
  CHECK(host.steps > 0, "steps are told");
  slt_sim_free(sim);
  CHECK(host.closed == 1, "closed with its run");
  slt_model_free(model);
}

TEST(stiff_methods_ask_for_derivatives) {
  Host host = {0};
  SltModel* model = compile(&host, "fmu b = \"b.fmu\"; b.u = 2 * time;", SLT_OK);
  SltSim* sim = start(model, "rodas");
  run_to(sim, 0.4);
  // x' = 2 t - x from 1: x = 2 t - 2 + 3 exp(-t)
  CHECK(fabs(get(sim, "b.x") - (0.8 - 2.0 + 3.0 * exp(-0.4))) < 1e-6, "x");
  CHECK(host.slopes > 0, "derivatives");
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(jumps_of_inputs_and_wishes_are_events_of_the_block) {
  Host host = {0};
  SltModel* model =
      compile(&host, "fmu b = \"b.fmu\"; b.u = s; s(t0) = 1; at 0.25 { set s = 3; }", SLT_OK);
  SltSim* sim = start(model, NULL);
  run_to(sim, 0.2);
  CHECK(get(sim, "b.n") == 0.0, "nothing yet");
  run_to(sim, 0.3);
  CHECK(get(sim, "b.n") == 1.0, "the jump");
  host.wants = true;
  run_to(sim, 5.0);
  CHECK(get(sim, "b.n") == 2.0, "the wish");
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(blocks_that_fail) {
  Host host = {0};
  CHECK(!compile(&host, "fmu b = \"broken.fmu\";", SLT_ERR_SEMANTIC), "cannot be described");
  SltModel* model = compile(&host, "fmu b = \"b.fmu\";", SLT_OK);
  SltSimOptions options = slt_sim_options();
  SltSim* sim = NULL;
  host.refuses = true;
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "create");
  CHECK(slt_sim_start(sim) == SLT_ERR_UNSUPPORTED, "cannot be opened");
  SltRunError error = slt_sim_error(sim);
  CHECK(strcmp(error.code, "E0813") == 0 && strstr(error.message, "not today"), error.message);
  slt_sim_free(sim);
  host.refuses = false;
  sim = start(model, NULL);
  run_to(sim, 0.1);
  host.fails = true;
  CHECK(slt_sim_advance(sim, 5.0, NULL) < 0, "fails in the midst");
  error = slt_sim_error(sim);
  CHECK(strcmp(error.code, "E0813") == 0 && strstr(error.message, "'b'") &&
            strstr(error.message, "it has burst"),
        error.message);
  slt_sim_free(sim);
  slt_model_free(model);
  SltModel* none = NULL;
  static const char text[] = "fmu b = \"b.fmu\";";
  CHECK(slt_model_compile("m", text, strlen(text), NULL, &none) == SLT_ERR_SEMANTIC, "no host");
}

TEST(two_runs_have_two_blocks) {
  Host host = {0};
  SltModel* model = compile(&host, "fmu a = \"b.fmu\" (k = 2); fmu b = \"b.fmu\";", SLT_OK);
  SltSim* sims[2] = {start(model, NULL), start(model, NULL)};
  CHECK(host.opened == 4, "one per block and run");
  run_to(sims[0], 1.0);
  run_to(sims[1], 1.0);
  CHECK(get(sims[0], "a.x") == get(sims[1], "a.x") && get(sims[0], "a.n") == 2.0, "the same bits");
  slt_sim_free(sims[0]);
  slt_sim_free(sims[1]);
  CHECK(host.closed == 4, "all closed");
  slt_model_free(model);
}
