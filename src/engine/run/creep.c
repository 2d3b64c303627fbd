// SPDX-License-Identifier: MIT
//
// Runs that creep: time goes on ever more slowly and would not come to its end. Windows of steps,
// each twice as long as the one before, are compared by the time they have covered; the run itself
// is not changed by it.
#include "engine/run/run.h"

#include <stdio.h>

#define FIRST_WINDOW 1024  // steps
#define GAIN         1.3   // at a steady pace twice the steps cover twice the time
#define FALLS        5     // windows in a row that cover hardly more than the one before

/// Why, as far as it can be seen from outside: events that crowd, or a state that asks for short
/// steps.
static void warn(EngSim* sim, uint64_t steps, double covered, uint64_t instants) {
  const EngCore* core = &sim->core;
  const ModelMode* mode = core->mode;
  char cause[200] = "";
  Span span = {0, 0};
  // the last crossing stands there still; another mode may have fewer relations
  uint32_t crossing = sim->model->atom_count ? sim->detect.crossings[0].index : 0;
  if (instants > steps / 8 && crossing < mode->atom_count) {
    const ModelAtomText* written = sim->model->atoms[mode->atoms[crossing]].written;
    Str text = written->text;
    span = written->span;
    snprintf(cause, sizeof cause, "; events crowd, the last one at '%.*s'",
             (int)(text.length < 100 ? text.length : 100), text.data);
  } else if (mode->state_count) {
    uint32_t order = 0;
    const ModelVar* var = eng_var_at(sim, eng_fastest_state(sim), &order);
    if (var) span = var->span;
    if (var) {
      snprintf(cause, sizeof cause, "; '%.*s' moves fastest",
               (int)(var->name.length < 100 ? var->name.length : 100), var->name.data);
    }
  }
  eng_warn(sim, DIAG_W0811, span,
           "the run creeps: at t = %s the last %llu steps cover a time of %s%s",
           eng_short(core->t).text, (unsigned long long)steps, eng_short(covered).text, cause);
}

void eng_creep_look(EngSim* sim) {
  EngCreep* c = &sim->report.creep;
  uint64_t steps = c->next - c->begin;
  double covered = sim->core.t - c->t;
  c->falls = c->begin && covered < GAIN * c->covered ? c->falls + 1 : 0;
  if (c->falls == FALLS && sim->report.to.on_warning) {
    warn(sim, steps, covered, sim->core.counts.instants - c->instants);
  }
  *c = (EngCreep){.count = c->count,
                  .begin = c->next,
                  .next = c->next + (c->begin ? 2 * steps : FIRST_WINDOW),
                  .t = sim->core.t,
                  .covered = covered,
                  .instants = sim->core.counts.instants,
                  .falls = c->falls};
}
