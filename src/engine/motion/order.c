// SPDX-License-Identifier: MIT
//
// The smaller pair. Where events follow each other so closely that one step reaches from one to the
// next, the length of a step is theirs to say, and a method of order 5 is more exact than anybody
// asked for: half of its evaluations would do. `auto` then goes on with a pair of order 3, as long
// as one step of it still spans the way between two events.
//
// What the smaller pair would estimate as its error is in the dense output of the larger one, so
// the change is not a guess (num_small_pair_error).
//
// The larger pair. Where nothing but the error limits the steps, a pair of order 8 may go farther
// for its evaluations: that is tried (numeric/pair.c).
#include "engine/run/run.h"

#define SHORT_FLIGHTS  10  // arcs in a row that the smaller pair could have made
#define PATIENCE_MAX   1000000
#define PATIENCE_GROWS 8    // where it did not stay in use for long
#define COMFORTABLE    0.1  // error of the smaller pair, tolerance 1, from which on it is trusted
#define CODE_MIN       100  // operations of the equations below which evaluations are not the cost

static bool applies(const EngSim* sim) {
  const EngCore* core = &sim->core;
  if (!sim->options.method_auto || sim->stepper->method->stiff) return false;
  if (core->local.running || core->slide.count > 0 || core->contact.active) return false;
  return core->mode->rhs.code_count >= CODE_MIN;
}

/// Steps of the flight that ends or goes on here; more than one if a trial was too long.
static uint64_t flight_steps(const EngSim* sim) {
  const NumCounters* c = &sim->stepper->counters;
  return c->steps + c->rejected + c->failed - sim->core.choice.arc_began;
}

/// The flight that the present instant has ended: was it one for the smaller pair?
static void judge(EngSim* sim) {
  EngChoice* choice = &sim->core.choice;
  if (!applies(sim) || sim->stepper->method != sim->motion.explicit_method) return;
  bool fits = flight_steps(sim) == 1 && num_dense_prepare(sim->stepper) >= 0 &&
              num_small_pair_error(sim->stepper, sim->core.t) <= COMFORTABLE;
  choice->short_arcs = fits ? choice->short_arcs + 1 : 0;
}

void eng_order_instant(EngSim* sim) {
  EngChoice* choice = &sim->core.choice;
  const NumCounters* c = &sim->stepper->counters;
  judge(sim);
  choice->arc_began = c->steps + c->rejected + c->failed;
  choice->arcs++;
}

/// How patient to be next time, after the smaller pair has been in use.
static void learn(EngChoice* choice) {
  uint64_t stayed = choice->arcs - choice->arcs_then;
  if (stayed > (uint64_t)10 * SHORT_FLIGHTS) {
    choice->pair_patience = SHORT_FLIGHTS;
  } else if (choice->pair_patience < PATIENCE_MAX) {
    choice->pair_patience *= PATIENCE_GROWS;
  }
}

/// The other one of the usual and the larger pair, if that is to go on.
static const NumMethod* choose_larger(EngSim* sim) {
  EngChoice* choice = &sim->core.choice;
  const NumStepper* stepper = sim->stepper;
  bool is_large = stepper->method == sim->motion.large_method;
  // a step of the larger pair that may grow much looks stiff for once
  bool stiff = is_large ? stepper->control.stiff_suspected : stepper->control.stiff_hits > 0;
  bool calm = choice->arcs == choice->arcs_seen && !stiff;
  choice->arcs_seen = choice->arcs;
  calm &= !sim->core.slide.count && !sim->core.contact.active && !sim->local;
  calm &= !sim->history.delays && sim->core.mode->state_count < ENG_TEAM_STATES;
  if (num_pairs_weigh(&choice->pairs, stepper, calm) == is_large) return NULL;
  if (!is_large && !(choice->t_large > 0.0)) choice->t_large = sim->core.t;
  return is_large ? sim->motion.explicit_method : sim->motion.large_method;
}

const NumMethod* eng_order_choose(EngSim* sim) {
  EngChoice* choice = &sim->core.choice;
  if (choice->pair_patience == 0) choice->pair_patience = SHORT_FLIGHTS;
  if (sim->stepper->method == sim->motion.small_method) {
    if (applies(sim) && flight_steps(sim) < 2) return NULL;
    learn(choice);
    choice->short_arcs = 0;
    return sim->motion.explicit_method;
  }
  if (!applies(sim) || choice->short_arcs < choice->pair_patience) return choose_larger(sim);
  if (choice->pair_switches++ == 0) choice->t_pair = sim->core.t;
  choice->arcs_then = choice->arcs;
  choice->short_arcs = 0;
  return sim->motion.small_method;
}
