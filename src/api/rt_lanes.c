// SPDX-License-Identifier: MIT
//
// Steps of several runs of one model at once. What a run will try next is known as soon as its last
// step is behind it; the stages of up to NUM_LANES such trials are computed in lock step, operation
// by operation over all lanes, and wait until each run asks for its own. A run that does something
// else after all (an event, a rejected step) computes its stages by itself. So lanes change the
// time that runs take, and never a bit.
#include "api/handles.h"
#include "model/model.h"
#include "numeric/numeric.h"

#define LEAST_LANES 3    // fewer are faster one by one
#define LEAST_CODE  4    // operations; shorter programs take less time than the way to the lanes
#define MOST_STATES 256  // with more, a single run keeps the machine busy
#define MOST_RUNS   32   // that are looked at

_Static_assert(NUM_LANES == MODEL_LANES, "one lane each");

/// Runs that go together: in one mode, by one method.
typedef struct Lanes {
  const EngTrialAhead* trial[NUM_LANES];
  NumLane lane[NUM_LANES];
  uint32_t count;
  SltSim* first;
  double* regs;
} Lanes;

/// What all runs will try next; those without a mode take no part, or not any more.
typedef struct Trials {
  EngTrialAhead of[MOST_RUNS];
  uint32_t count;
} Trials;

static void rhs_of_lanes(void* user, const double* t, const double* x, double* dx) {
  const Lanes* lanes = user;
  const EngTrialAhead* trial = lanes->trial[0];
  model_program_run_block(&trial->mode->rhs, trial->context, lanes->regs, t, x, lanes->count, dx);
}

static bool takes_lane(SltSim* sim, EngTrialAhead* trial) {
  if (!sim || sim->exchange || !eng_trial_ahead(sim->engine, trial)) return false;
  const ModelProgram* rhs = &trial->mode->rhs;
  // compiled code is faster one by one
  bool compiled =
      rhs->native && atomic_load_explicit(&rhs->native->stages, memory_order_relaxed) != NULL;
  if (compiled || trial->mode->state_count > MOST_STATES) return false;
  if (sim->lane_mode != trial->mode) {
    sim->lane_mode = trial->mode;
    sim->lane_fits = rhs->code_count >= LEAST_CODE && model_program_has_lanes(rhs);
  }
  return sim->lane_fits;
}

/// Work space of the first run, for all.
static double* lane_room(SltSim* sim, size_t need) {
  if (need <= sim->lane_capacity) return sim->lane_room;
  double* grown = base_realloc(&sim->allocator, sim->lane_room, sim->lane_capacity * sizeof *grown,
                               base_mul_size(need, sizeof *grown));
  if (!grown) return NULL;
  sim->lane_room = grown;
  sim->lane_capacity = need;
  return grown;
}

/// Take the runs that go with one of them out of the list.
static void gather(Trials* trials, uint32_t leader, Lanes* lanes) {
  const EngTrialAhead first = trials->of[leader];
  lanes->count = 0;
  for (uint32_t i = leader; i < trials->count && lanes->count < NUM_LANES; i++) {
    EngTrialAhead* trial = &trials->of[i];
    if (trial->mode != first.mode || trial->stepper->method != first.stepper->method) continue;
    lanes->trial[lanes->count] = trial;
    lanes->lane[lanes->count++] = (NumLane){.stepper = trial->stepper, .target = trial->target};
  }
}

static uint32_t run_together(Lanes* lanes) {
  const ModelMode* mode = lanes->trial[0]->mode;
  size_t rows = num_lanes_room(lanes->lane[0].stepper);
  size_t regs = base_mul_size(mode->rhs.reg_count, NUM_LANES);
  double* room = lane_room(lanes->first, base_add_size(rows, regs));
  if (!room) return 0;
  const double* bound[NUM_LANES];
  for (uint32_t i = 0; i < NUM_LANES; i++)
    bound[i] = lanes->trial[i < lanes->count ? i : 0]->regs;
  lanes->regs = room + rows;
  model_program_bind_lanes(&mode->rhs, bound, lanes->regs);
  // arguments are written to the registers of the states themselves, behind that of the time
  num_lanes_run(lanes->lane, lanes->count, rhs_of_lanes, lanes, room, lanes->regs + NUM_LANES);
  return lanes->count;
}

uint32_t slt_sims_prepare(SltSim* const* sims, uint32_t count) {
  Trials trials = {.count = sims ? count < MOST_RUNS ? count : MOST_RUNS : 0};
  uint32_t served = 0;
  for (uint32_t i = 0; i < trials.count; i++) {
    if (!takes_lane(sims[i], &trials.of[i])) trials.of[i].mode = NULL;
  }
  for (uint32_t i = 0; i + LEAST_LANES <= trials.count; i++) {
    if (!trials.of[i].mode) continue;
    Lanes lanes = {.first = sims[i]};
    gather(&trials, i, &lanes);
    if (lanes.count >= LEAST_LANES) served += run_together(&lanes);
    for (uint32_t k = 0; k < lanes.count; k++)
      trials.of[lanes.trial[k] - trials.of].mode = NULL;
  }
  return served;
}
