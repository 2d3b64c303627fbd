// SPDX-License-Identifier: MIT
//
// Configurations that come back. A chain of rounds may be of any finite length; one in which modes
// and values repeat to the last bit has no end. Keys of what was passed through are remembered, and
// where one comes back the whole configuration is kept and compared with later ones.
#include "base/keys.h"
#include "engine/run/run.h"

#include <string.h>

SltStatus eng_keys_add(EngSim* sim, BaseKeys* keys, uint64_t key, uint64_t note,
                       const BaseKey** again) {
  if (base_keys_quick(keys, key, note, again)) return SLT_OK;
  *again = base_keys_find(keys, key);
  if (*again || base_keys_add(keys, &sim->options.allocator, key, note)) return SLT_OK;
  return eng_fail(sim, SLT_ERR_NOMEM, DIAG_E0811, NULL, "out of memory");
}

/// What decides about the rounds that follow, besides values and states: whether self loops have
/// seen their edges.
static uint8_t edges_of(const EngTransition* t) {
  return (uint8_t)(t->edge_seen | t->taken << 1);
}

static SltStatus make_copy(EngSim* sim, uint64_t key) {
  const Model* model = sim->model;
  EventsCopy* copy = &sim->events.copy;
  SLT_TRY(ENG_GROW(sim, copy->env, 2 * (size_t)model->env_count));
  SLT_TRY(ENG_GROW(sim, copy->state, model->automaton_count));
  SLT_TRY(ENG_GROW(sim, copy->edges, model->transition_count));
  memcpy(copy->env, sim->env, 2 * (size_t)model->env_count * sizeof(double));
  memcpy(copy->state, sim->state, model->automaton_count * sizeof *copy->state);
  for (uint32_t i = 0; i < model->transition_count; i++) {
    copy->edges[i] = edges_of(&sim->instant.transitions[i]);
  }
  copy->random = sim->core.random;
  copy->key = key;
  copy->record = eng_trace_count(sim);
  copy->patience = copy->made ? 2 * copy->patience : 1;
  copy->age = 0;
  copy->made = true;
  return SLT_OK;
}

static bool is_copied(const EngSim* sim, uint64_t key) {
  const Model* model = sim->model;
  const EventsCopy* copy = &sim->events.copy;
  size_t count = model->env_count;
  const double* before = sim->env + count;
  if (!copy->made || copy->key != key ||
      memcmp(copy->state, sim->state, model->automaton_count * sizeof *copy->state) != 0 ||
      memcmp(copy->env, sim->env, count * sizeof(double)) != 0 ||
      memcmp(&copy->random, &sim->core.random, sizeof copy->random) != 0) {
    return false;
  }
  // what was before the round counts where somebody asks for it
  if (sim->detect.has_pre && memcmp(copy->env + count, before, count * sizeof(double)) != 0)
    return false;
  for (uint32_t i = 0; i < model->transition_count; i++) {
    if (copy->edges[i] != edges_of(&sim->instant.transitions[i])) return false;
  }
  return true;
}

/// `first`: of the records to be shown.
static SltStatus fail_endless(EngSim* sim, uint32_t first, const char* how) {
  char path[1200];
  eng_trace_path(sim, first, path, sizeof path);
  eng_fail(sim, SLT_ERR_MODE_LOOP, DIAG_E0804, NULL,
           "the instant at t = %s does not come to an end%s%s", eng_number(sim->core.t).text, how,
           path);
  return eng_hint(sim,
                  "each of these transitions makes the next one possible; add a condition that "
                  "becomes false once it has fired");
}

SltStatus events_check_repetition(EngSim* sim, uint64_t key) {
  EventsCopy* copy = &sim->events.copy;
  if (!is_copied(sim, key)) {
    // Brent's rule: a copy is kept for ever longer, until it outlasts the cycle
    bool older = copy->made && ++copy->age < copy->patience;
    return older ? SLT_OK : make_copy(sim, key);
  }
  return fail_endless(sim, copy->record, ": modes and values repeat: ");
}

SltStatus events_next_round(EngSim* sim) {
  const EngListeners* to = &sim->report.to;
  if (to->on_round && to->on_round(to->round_user, sim->core.t)) return SLT_ERR_CANCELLED;
  if (++sim->events.rounds <= EVENTS_ROUNDS_MAX) return SLT_OK;
  uint32_t count = eng_trace_count(sim);
  return fail_endless(sim, count > 20 ? count - 20 : 0, " after a million rounds: ... ");
}
