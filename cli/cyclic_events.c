// SPDX-License-Identifier: MIT
//
// What changes at once in cyclic execution: predicates, situations and logical states. A scan
// locates nothing; a change belongs to the cycle in which it was seen.
#include "cyclic.h"

#include <math.h>
#include <stdlib.h>

#define TOLD 200u  // instants that are told unless all are wanted

bool cyclic_watch_begin(CyclicWatch* watch, const SltCyclic* plant, double dt) {
  watch->plant = plant;
  watch->dt = dt;
  watch->count = slt_cyclic_condition_count(plant);
  watch->held = calloc(watch->count + 1, sizeof *watch->held);
  watch->conditions = calloc(watch->count + 1, sizeof *watch->conditions);
  if (!watch->held || !watch->conditions) return false;
  for (uint32_t i = 0; i < watch->count; i++) {
    watch->conditions[i] = slt_cyclic_condition(plant, i);
    watch->held[i] = slt_cyclic_get(plant, watch->conditions[i].place) != 0.0;
  }
  double t = slt_cyclic_time(plant);
  SltEvent start = {.t = t,
                    .kind = SLT_EVENT_INITIAL,
                    .type = SLT_ATOM_NONE,
                    .bracket = {t, t},
                    .slope = (double)NAN};
  if (watch->on_event) watch->on_event(watch->user, &start);
  return true;
}

void cyclic_watch_clear(CyclicWatch* watch) {
  free(watch->held);
  free(watch->conditions);
  watch->held = NULL;
  watch->conditions = NULL;
}

static void tell(FILE* out, const SltCondition* condition, bool holds) {
  const char* because = !condition->text[0] ? "" : holds ? ": " : ": no longer ";
  cli_print(out, "  %s becomes %s%s%s (line %u)\n", condition->name, holds ? "true" : "false",
            because, condition->text, condition->line);
}

static void send(CyclicWatch* watch, const SltCondition* condition, bool holds, uint32_t n) {
  double t = slt_cyclic_time(watch->plant);
  bool state = condition->kind == SLT_CONDITION_STATE;
  SltChange change = {condition->name, holds ? 0.0 : 1.0, holds ? 1.0 : 0.0};
  SltEvent event = {.t = t,
                    .n = n,
                    .kind = SLT_EVENT_STATE,
                    .cause = SLT_CAUSE_LEVEL,
                    .automaton = condition->name,
                    .from = holds ? "false" : "true",
                    .to = holds ? "true" : "false",
                    .atoms = &condition->text,
                    .atom_count = condition->text[0] && holds ? 1 : 0,
                    .type = SLT_ATOM_NONE,
                    .line = condition->line,
                    .bracket = {t - watch->dt, t},
                    .slope = (double)NAN,
                    .changes = state ? &change : NULL,
                    .change_count = state ? 1 : 0};
  if (watch->on_event) watch->on_event(watch->user, &event);
}

static bool is_told(const CyclicWatch* watch) {
  return watch->story && (watch->all || watch->instants <= TOLD);
}

void cyclic_watch_cycle(CyclicWatch* watch) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < watch->count; i++) {
    const SltCondition* condition = &watch->conditions[i];
    bool holds = slt_cyclic_get(watch->plant, condition->place) != 0.0;
    if (holds == watch->held[i]) continue;
    watch->held[i] = holds;
    if (n == 0) watch->instants++;
    if (n == 0 && is_told(watch)) {
      char t[32];
      fprintf(watch->story, "\nt = %s\n", cli_number_text(slt_cyclic_time(watch->plant), t));
    }
    if (is_told(watch)) tell(watch->story, condition, holds);
    send(watch, condition, holds, n++);
  }
}

void cyclic_watch_end(CyclicWatch* watch) {
  if (!watch->story) return;
  if (!watch->all && watch->instants > TOLD) {
    fprintf(watch->story, "\nand %llu instants more; --all tells them\n",
            (unsigned long long)(watch->instants - TOLD));
  }
  char t[32];
  fprintf(watch->story, "\nend at t = %s: %llu instant%s\n",
          cli_number_text(slt_cyclic_time(watch->plant), t), (unsigned long long)watch->instants,
          watch->instants == 1 ? "" : "s");
}
