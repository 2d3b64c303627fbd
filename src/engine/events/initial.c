// SPDX-License-Identifier: MIT
//
// The start: switches take the positions that the initial values ask for.
#include "engine/run/run.h"

#include <math.h>
#include <string.h>

/// The equations with the switches in their present positions, from the given values. `side`: what
/// is solved for begins as it was given (0), or on one of the two sides of zero.
static SltStatus enter_from_start(EngSim* sim, int side) {
  const Model* model = sim->model;
  for (uint32_t v = 0; v < model->var_count; v++) {
    double* value = sim->env + model->vars[v].env;
    for (uint32_t order = 0; order < model->vars[v].slots; order++) {
      if (!isfinite(value[order])) value[order] = 0.0;  // what a failed attempt has left
    }
    // eng_start_values puts the fixed ones back
    bool solved = sim->core.mode->vars[v].role == MODEL_ROLE_ALGEBRAIC;
    if (side && solved) *value = copysign(fmax(fabs(*value), model->vars[v].nominal), side);
  }
  SLT_TRY(eng_start_values(sim, false));
  for (uint32_t i = 0; side && i < model->start_count; i++) {
    const ModelStart* start = &model->starts[i];
    double* value = sim->env + model->vars[start->var].env;
    if (start->fixed || start->order) continue;
    if (sim->core.mode->vars[start->var].role == MODEL_ROLE_ALGEBRAIC) {
      *value = copysign(fmax(fabs(*value), model->vars[start->var].nominal), side);
    }
  }
  SLT_TRY(eng_enter_mode(sim));
  SLT_TRY(eng_dae_follow_starts(sim));
  eng_atoms_update(sim);
  return SLT_OK;
}

static bool is_settled(EngSim* sim) {
  if (sim->dae.failed != MODEL_NONE || sim->dae.contradicts) return false;
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    if (sim->model->automata[a].kind != MODEL_AUTOMATON_SWITCH) continue;
    if (eng_automaton_active(sim, a) && eng_switch_flips(sim, a)) return false;
  }
  return true;
}

static void turn_switches(EngSim* sim, const uint32_t* switches, uint32_t count, uint32_t mask) {
  for (uint32_t i = 0; i < count; i++) {
    if (!(mask >> i & 1u)) continue;
    events_set_state(sim, switches[i], 1 - sim->state[switches[i]]);
  }
}

#define POSITIONS_MAX 6u  // switches whose positions are tried in all combinations

/// Equations that have no solution with the switches as the guesses put them (`q*abs(q) = p` from q
/// = 0 with p < 0) may have one with others: a few are tried, the fewest turned first. All is as it
/// was when none fits.
static SltStatus try_positions(EngSim* sim) {
  uint32_t switches[POSITIONS_MAX];
  uint32_t count = 0;
  for (uint32_t a = 0; a < sim->model->automaton_count && count < POSITIONS_MAX; a++) {
    bool turns = sim->model->automata[a].kind == MODEL_AUTOMATON_SWITCH;
    if (turns && eng_automaton_active(sim, a)) switches[count++] = a;
  }
  uint32_t now = 0;  // those that are turned
  for (uint32_t turned = 1; turned <= count; turned++) {
    for (uint32_t mask = 1; mask < 1u << count; mask++) {
      if ((uint32_t)__builtin_popcount(mask) != turned) continue;
      turn_switches(sim, switches, count, now ^ mask);
      now = mask;
      for (int attempt = 0; attempt < 3; attempt++) {
        static const int sides[] = {0, -1, 1};
        SltStatus status = enter_from_start(sim, sides[attempt]);
        sim->error = (EngError){0};
        if (status == SLT_ERR_NOMEM) return status;
        if (status >= 0 && is_settled(sim)) return SLT_OK;
      }
    }
  }
  turn_switches(sim, switches, count, now);
  return enter_from_start(sim, 0);
}

/// Switches take the position that the initial values ask for, without records.
static SltStatus follow_initial_switches(EngSim* sim) {
  base_keys_clear(&sim->events.tried);
  events_forget_assigned(sim);
  for (;;) {
    bool flipped = false;
    for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
      if (sim->model->automata[a].kind != MODEL_AUTOMATON_SWITCH) continue;
      if (!eng_automaton_active(sim, a) || !eng_switch_flips(sim, a)) continue;
      events_set_state(sim, a, 1 - sim->state[a]);
      flipped = true;
    }
    if (!flipped) return SLT_OK;
    // a position that comes back is one between two flows: that is decided later
    const BaseKey* again = NULL;
    SLT_TRY(eng_keys_add(sim, &sim->events.tried, sim->events.mode_key, 0, &again));
    if (again) return SLT_OK;
    // the mode tried first may have computed what is a state in this one
    SLT_TRY(enter_from_start(sim, 0));
  }
}

SltStatus eng_settle_initial_switches(EngSim* sim) {
  SLT_TRY(follow_initial_switches(sim));
  bool fails = sim->dae.failed != MODEL_NONE || sim->dae.contradicts;
  if (fails) return try_positions(sim);
  sim->error = (EngError){0};  // of positions that were tried before
  return SLT_OK;
}

/// Whether a variable moves from a 0 that nobody wrote. `given`: per entry of the environment,
/// whether its variable has an initial value.
static bool begins_unset(const EngSim* sim, uint32_t v, const uint8_t* given) {
  const ModelVar* var = &sim->model->vars[v];
  if (sim->core.mode->vars[v].role != MODEL_ROLE_STATE || var->hidden) return false;
  return !given[var->env] && sim->env[var->env] == 0.0;
}

void events_warn_of_absent_starts(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  EngNames absent = {.count = 0};
  // where there are constraints, the values follow from them
  if (!sim->report.to.on_warning || mode->implicit) return;
  memset(sim->values.given, 0, sim->model->env_count);
  for (uint32_t i = 0; i < sim->model->start_count; i++) {
    sim->values.given[sim->model->vars[sim->model->starts[i].var].env] = 1;
  }
  // what an `at` of the start has set is given too
  for (uint32_t i = 0; i < sim->model->schedule_count; i++) {
    const ModelSchedule* schedule = &sim->model->schedules[i];
    for (uint32_t k = 0; k < schedule->action_count; k++) {
      if (sim->instant.schedules[i].start != sim->core.t) break;
      sim->values.given[sim->model->actions[schedule->action_begin + k].env] = 1;
    }
  }
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    if (!begins_unset(sim, v, sim->values.given)) continue;
    eng_names_add(&absent, &sim->model->vars[v]);
  }
  memset(sim->values.given, 0, sim->model->env_count);
  if (absent.count == 0) return;
  char names[ENG_NAMES_LENGTH];
  eng_names_text(&absent, names);
  eng_warn(sim, DIAG_W0809, absent.first[0]->span, "no initial value is given for %s: %s at 0",
           names, absent.count > 1 ? "they begin" : "it begins");
}
