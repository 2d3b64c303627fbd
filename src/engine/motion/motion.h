// SPDX-License-Identifier: MIT
//
// Motion: the choice of a method, stiff systems, scales of states and error weights.
#ifndef SALTUS_ENGINE_MOTION_MOTION_H
#define SALTUS_ENGINE_MOTION_MOTION_H

#include "engine/engine.h"

#define ENG_EXPLICIT_METHOD "dp54"    // what `auto` begins with
#define ENG_STIFF_METHOD    "rodas5"  // ... and changes to where that pays
#define ENG_SMALL_METHOD    "bs32"    // ... and to where events limit the steps
#define ENG_LARGE_METHOD    "dop853"  // ... and to where that goes farther
#define ENG_STEP_MEMORY     16        // modes whose first step is remembered; a power of two
#define ENG_TEAM_STATES     20000     // that are worth several threads

/// What stiff methods know of a mode.
typedef struct EngStiffMode {
  const ModelStiff* stiff;
  NumLinear* linear;
  NumLinear* full;  // for motion that combines this mode with others
  NumLinear* rest;  // for its equilibria
  NumMultistep *past, *full_past;
} EngStiffMode;

/// Where the motion leads (eng_stiff_rest()).
typedef struct EngRest {
  double* x;
  uint8_t* known;   // room for marks of unknowns, cleared...
  uint32_t* reach;  // ... and for a list of them
  const NumLinear* linear;
} EngRest;

typedef struct EngStiff {
  EngStiffMode* modes;  // by id of the mode
  const ModelStiff* present;
  double *regs, *stage_regs, *jacobian_regs;  // of the present mode; the others lie in `regs`
  double* work;
  EngRest rest;
  bool ready;  // the stepper's system belongs to the present motion and its values
} EngStiff;

/// Which method is in use, and why.
typedef struct EngChoice {
  uint64_t steps_seen;   // steps of the stepper when it was last looked at
  uint32_t stiff_steps;  // successive steps that stability has limited
  bool easy;             // an explicit method could have made the last trial of a stiff one
  uint32_t easy_steps;   // successive steps of such trials
  uint32_t patience;     // stiff_steps after which a stiff method takes over; grows where that
                         // did not pay
  uint64_t steps_then;   // steps when it did
  uint32_t switches;
  double t_first, t_last;  // times of the first and the last switch
  bool no_jacobian;        // a stiff method was tried and is not possible here
  // order.c; an arc is the motion from one instant to the next
  uint64_t arcs, arcs_then;  // so far; when the smaller pair came into use
  uint64_t arc_began;        // trials before the present arc
  uint32_t short_arcs;       // successive ones that the smaller pair could have made
  uint32_t pair_patience;    // short_arcs after which it does
  uint32_t pair_switches;
  double t_pair, t_large;  // times of the first; of the first step of the larger pair
  uint64_t arcs_seen;
  NumPairs pairs;
} EngChoice;

/// How a motion that begins anew in a mode went last time.
typedef struct EngStepMemory {
  uint64_t mode;  // eng_mode_key(); 0: nothing is known
  double h;       // step size that its first step proposed
} EngStepMemory;

/// What the next step begins with. Part of snapshots.
typedef struct EngStep {
  EngStepMemory memory[ENG_STEP_MEMORY];
  uint32_t place;      // of the present mode in the memory
  bool open;           // the first step since the motion began anew is not made yet
  double instant_t;    // time of the last instant that fired
  double first_bound;  // of the first step after it
  double blurred;      // where the present step was begun again for a crossing: its distance; 0
  bool nudged;         // the equations have no values at the present point: go on along `tangent`
  bool to_limit;       // events accumulate soon: the motion goes on along `tangent` until `limit`
  double limit;
  uint32_t drifts;    // the last steps that were along the tangent
  uint32_t chords;    // are in place of roots near their end, for so many steps: see roots.c
  double attraction;  // to surfaces slid along and closed contacts, 1/time; 0: not chosen yet
  double covered;     // step for which the scales of held states are known
  double idle;        // the last one in a mode without states, since the last instant
} EngStep;

/// Methods to choose from.
typedef struct EngMethods {
  const NumMethod *explicit_method, *small_method, *large_method, *stiff_method;  // of `auto`
  char reason[200];   // why the present one is in use
  double t_stop;      // up to which the motion is asked for
  ModelRoots roots;   // chords in place of roots...
  double* tolerance;  // ... within these, per state
} EngMethods;

/// What the states measure (scale.c).
typedef struct EngScales {
  double* largest;        // per environment entry: largest magnitude so far
  uint32_t* stand_in;     // ... which entry stands for it; NULL: it does itself
  uint32_t* first;        // ... the first state of the present mode for which that one stands
  const ModelMode* mode;  // whose states the stepper has; within an instant others may hold
  uint32_t* of_state;     // per state of the stepper: the entry that has its scale
  uint32_t* family;       // ... first state of its family
  uint64_t epoch;         // of the stepper's scales when they were last taken over
  ModelDual* rate_room;   // to bound the rounding of rates in
} EngScales;

// ---- roots.c ------------------------------------------------------------------------------------

/// Before a trial with chords in place of roots: their width here, or the end of them.
SltStatus eng_chords_prepare_slow(EngSim* sim);
/// A step fails: whether it is to be tried once more with chords.
bool eng_chords_begin(EngSim* sim);
/// Chords that have been in place for so many steps, 0: none.
void eng_chords_use(EngSim* sim, uint32_t steps);
/// Whether the trial ends where the model has values, with chords.
bool eng_chords_reach(EngSim* sim);

// ---- stiff.c ------------------------------------------------------------------------------------

/// Before a trial step: choose the method, and let a stiff one know the equations in force.
SltStatus eng_stiff_prepare(EngSim* sim);
/// A trial is accurate enough: see whether it needed a stiff method.
void eng_stiff_note_trial(EngSim* sim);
/// The states to which the flow of the mode leads from sim->x within the time `span`, as it is at
/// time t: an equilibrium, where there is one close by. NULL: not known.
EngRest* eng_stiff_rest(EngSim* sim, double t, double span);
/// Why the present method is in use; NULL when the user named it. The text is the caller's buffer.
const char* eng_method_reason(const EngSim* sim, char* text, size_t capacity);
void eng_stiff_free(EngSim* sim);

// ---- scale.c: what the variables measure, and the error weights ---------------------------------

/// Scales before the run has seen anything: nominal values.
void eng_scales_init(EngSim* sim);
/// The stepper is about to go on in the present mode.
void eng_scales_enter(EngSim* sim);
/// Another mode holds within an instant: whether the stepper has its states is found out.
void eng_scales_follow(EngSim* sim);
/// After a snapshot was restored.
void eng_scales_rebind(EngSim* sim);
/// A trial was rejected again: weights that are below what rounding does to the rates are raised to
/// that. False: none is.
bool eng_scales_raise(EngSim* sim);
/// Before a step along surfaces or on contacts: scales of the states that these hold.
void eng_scales_hold(EngSim* sim);
/// Another variable has had this value at a committed point.
void eng_scale_note(EngSim* sim, uint32_t env, double value);
/// Absolute part of the error weight of an entry, and the weight for a value of it.
double eng_absolute(EngSim* sim, uint32_t env);
double eng_weight(EngSim* sim, uint32_t env, double value);
/// The same for a state of the present mode where the stepper has those of another one.
double eng_other_weight(const EngSim* sim, uint32_t state, double value);

// ---- order.c: order selection -------------------------------------------------------------------

/// An instant has ended an arc and the integration will begin anew: look at what it took.
void eng_order_instant(EngSim* sim);
/// Before a trial with an explicit method of `auto`: the pair to change to, NULL to stay.
const NumMethod* eng_order_choose(EngSim* sim);

#endif
