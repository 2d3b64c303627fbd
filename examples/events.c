// SPDX-License-Identifier: MIT
//
// Compile a model from text, run it to its end, and tell what happened.
//
//   cc events.c $(pkg-config --cflags --libs saltus) -o events
#include <saltus/saltus.h>

#include <stdio.h>
#include <string.h>

static const char model_text[] =
    "// a pump fills a tank, a timer draws from it\n"
    "level' = inflow - demand;  level(t0) = 1;\n"
    "inflow = 0;\n"
    "demand(t0) = 0.1;\n"
    "state filling [level <= 0.5] { inflow = 0.4; } from init, idle;\n"
    "state idle [level >= 2] {} from filling;\n"
    "at 10 each 10 repeat 3 { set demand = 2 * demand; }\n"
    "state empty [level <= 0] { stop \"the tank is empty\"; } from filling;\n"
    "experiment { end = 60; }\n";

/// Mistakes in the model: the whole message, with the line and the place in it.
static void on_diagnostic(void* user, const SltDiagnostic* diagnostic) {
  (void)user;
  fputs(diagnostic->rendered, stderr);
}

/// One line per record. Its pointers are valid during this call only.
static void on_event(void* user, const SltEvent* event) {
  uint32_t* count = user;
  ++*count;
  printf("%8.4f  ", event->t);
  switch (event->kind) {
  case SLT_EVENT_INITIAL: printf("the run begins"); break;
  case SLT_EVENT_STATE:
    printf("%s -> %s", event->from, event->to);
    if (event->atom_count > 0) printf(" because %s", event->atoms[0]);
    break;
  case SLT_EVENT_TIME: printf("a time event"); break;
  case SLT_EVENT_STOP: printf("the run ends: %s", event->text); break;
  case SLT_EVENT_SLIDE_IN:
  case SLT_EVENT_SLIDE_OUT:
  case SLT_EVENT_ZENO:
  case SLT_EVENT_REINIT:
  case SLT_EVENT_CHATTER:
  case SLT_EVENT_LIMIT:
  default: printf("something else"); break;
  }
  for (uint32_t i = 0; i < event->change_count; i++) {
    const SltChange* change = &event->changes[i];
    printf(", %s %g -> %g", change->name, change->before, change->after);
  }
  printf("\n");
}

static int run(const SltModel* model) {
  SltSimOptions options = slt_sim_options();
  SltSim* sim = NULL;
  if (slt_sim_create(model, &options, &sim) < 0) return 1;
  uint32_t records = 0;
  slt_sim_on_event(sim, on_event, &records);

  // to the end of the experiment, through all events
  double end = slt_model_experiment(model).end;
  SltStatus status = slt_sim_start(sim);
  while (status == SLT_OK || status == SLT_EVENT) {
    status = slt_sim_advance(sim, end, NULL);
    if (status == SLT_OK) break;
  }

  if (status < 0) {
    fputs(slt_sim_error(sim).rendered, stderr);
  } else {
    SltQuantity demand;
    SltStatistics statistics = slt_sim_statistics(sim);
    slt_sim_find(sim, "demand", &demand);
    printf("at t = %g the demand is %g, the tank is %s\n", slt_sim_time(sim),
           slt_sim_get(sim, demand), slt_sim_automaton_state(sim, 0));
    printf("%u records, %s with certainty\n", records,
           statistics.not_certified == 0 ? "all located" : "not all located");
  }
  slt_sim_free(sim);
  return status < 0;
}

int main(void) {
  SltCompileOptions options = slt_compile_options();
  options.on_diagnostic = on_diagnostic;
  SltModel* model = NULL;
  SltStatus status = slt_model_compile("tank", model_text, strlen(model_text), &options, &model);
  if (status < 0) return 1;
  int failed = run(model);
  slt_model_free(model);
  return failed;
}
