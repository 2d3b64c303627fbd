// SPDX-License-Identifier: MIT
//
// Values: the environment of a run, the registers of its programs, and the modes it has entered.
#ifndef SALTUS_ENGINE_VALUES_VALUES_H
#define SALTUS_ENGINE_VALUES_VALUES_H

#include "engine/engine.h"

#define ENG_SLOTS         8     // modes whose registers are kept, the first of them for all others
#define ENG_SLOT_AUTOMATA 8     // ... in models of so many automata
#define ENG_SLOT_REGS     2048  // ... and for so many registers

enum { ENG_GIVEN_SET = 1, ENG_GIVEN_GUESS = 2 };

/// What the atoms of a mode are like: see `has_...` in EngSim.
typedef struct EngAtomTraits {
  bool known;
  bool linear, time_only, extrapolates, unilateral;
} EngAtomTraits;

/// Registers of a mode, with its constants in them when it is entered again.
typedef struct EngSlot {
  const ModelMode* mode;               // NULL: free
  uint32_t states[ENG_SLOT_AUTOMATA];  // of the automata, in the mode
  bool bound;                          // constants are in place
  bool inputs_stand, only_states;      // see EngSim
  bool leaves_zero;                    // some variable is zero while the mode lasts
  bool tuned;                          // its programs have the code they will have
  EngAtomTraits traits;
  bool has_bounds;
  double* regs;
  ModelDual* dual_regs;
  double* block_regs;
} EngSlot;

/// The environment beside `env` itself, which every room reads.
typedef struct EngValues {
  ModelContext context;         // of programs in instants...
  ModelContext flow_context;    // ...and of right-hand sides, which draw no random numbers
  double* before;               // values before the last instant
  double* guess;                // per environment entry: where Newton's method starts from
  uint8_t* computed;            // ... computed by equations in the present mode
  uint8_t* is_truth;            // ... the truth of a relation
  uint8_t* given;               // ... set or guessed by the actions of this candidate
  double* params_given;         // overrides, NaN for none
  double* starts_given;         // the same for initial values; NULL: none is overridden
  double* full;                 // outputs of the mode's full program
  double* tangent;              // per state: how it moved before the last instant
  double* scratch;              // registers for programs of the tables
  uint32_t* state_before;       // per automaton: its state before the instant
  uint32_t n_max;               // states of the largest mode there can be
  uint32_t var_begin, var_end;  // values of all variables, in the environment
  uint32_t moving;              // the first entry that is no constant
  bool searching;               // crossings are looked for: nobody but...
  double dense_t;    // ...this search writes `x`, last with the dense output at this time
  uint64_t epoch;    // counts the points that programs over indicators have been given: time, `x`,
                     // inputs, mode
  double sampled_t;  // time of the pending trial for which the environment holds the values
  bool sampled;      // ... if it does
  bool warned;       // that something has no finite value
} EngValues;

/// Registers of the present mode's programs; they grow between steps.
typedef struct EngPrograms {
  EngSlot slots[ENG_SLOTS];
  EngSlot* slot;
  double* regs;
  double *rhs, *full, *g, *g_flow, *gdot;
  ModelDual* dual;          // for enclosures
  double* lanes;            // for blocks of points
  uint32_t* entered_state;  // per automaton: states for which the present mode was fetched
  bool entered;             // it was
  const ModelMode* bound;   // whose constants are in the registers; NULL for none
  bool inputs_stand;        // nothing but an instant changes the inputs of the programs
  bool only_states;         // no variable is computed but derivatives of states
  // evaluations of the right-hand side when the provider was last asked for faster code, and when
  // it is to be asked again
  uint64_t tune_seen, tune_at;
} EngPrograms;

/// Modes of a run in the order in which they were first asked for, with the states that led there.
typedef struct EngModeList {
  const ModelMode** modes;
  uint32_t* states;  // automaton_count each
  BaseKeys places;   // by mode
} EngModeList;

// ---- values.c -----------------------------------------------------------------------------------

/// Run a one-output program of the tables on the present environment.
double eng_eval(EngSim* sim, const ModelTerm* term);
/// Guard's truth on the present environment.
bool eng_guard(EngSim* sim, const ModelGuard* guard);
SltStatus eng_init_values(EngSim* sim);
/// Give a constant another value during the run, and those computed from it theirs; nothing is
/// changed where that is not possible.
SltStatus eng_replace_param(EngSim* sim, uint32_t param, double value);
/// The same from outside, from the present time on (run.c).
SltStatus eng_change_param(EngSim* sim, uint32_t param, double value);
/// The initial values alone, once more. Where the equations have been `solved` since, what reads a
/// variable with a guess reads what it has become.
SltStatus eng_start_values(EngSim* sim, bool solved);
/// Fetch the compiled equations of sim->state, make room, bind, gather states, evaluate.
SltStatus eng_enter_mode(EngSim* sim);
/// The values that follow from those in the environment by the equations of the present states, one
/// after the other; what has to be solved for stays as it is.
SltStatus eng_preview_mode(EngSim* sim);
/// Place of the state whose value is farthest from standing still, as tolerances see it.
uint32_t eng_fastest_state(const EngSim* sim);

/// Make the registers of core.mode ready again after a snapshot was restored.
SltStatus eng_rebind_mode(EngSim* sim);
/// Bind the mode's programs anew after the environment changed, and gather the states.
void eng_bind(EngSim* sim);
/// The same where nothing but states and truths has changed since.
void eng_bind_states(EngSim* sim);
/// The state vector from the environment.
void eng_gather_states(EngSim* sim);
/// The same after an instant, which has looked after the margins.
void eng_bind_again(EngSim* sim);
/// Algebraic values and derivatives into the environment, from sim->x at time t.
void eng_evaluate_full(EngSim* sim, double t);
/// What the program of that has left in values.full, into the environment.
void eng_publish_full(EngSim* sim);
/// The same at the present time for somebody who looks at the values. Inside a step, equations
/// whose root has moved too far for the guess from the step's beginning get one from its end.
void eng_evaluate_row(EngSim* sim);
/// A warning, the first time that a value in the environment is not finite.
void eng_warn_of_values(EngSim* sim);
/// Values at time t of the pending trial into the environment (states, then eng_evaluate_full).
void eng_sample(EngSim* sim, double t);
/// States at the end of the trial into sim->x. Where they are there already, what was computed from
/// them holds.
void eng_states_at_end(EngSim* sim);
/// The states at the end of the trial, explicit mode; needs no dense output.
void eng_take_trial_end(EngSim* sim);
/// The states alone: core.full_stale tells that the rest is missing.
void eng_sample_states(EngSim* sim, double t);
/// One output of a program over the indicators of the mode, at a point.
double eng_output_at(EngSim* sim, const ModelProgram* program, double* regs, uint32_t index,
                     double t, const double* x);
/// g and gdot for the indicators in `active.followed` at least.
void eng_evaluate_followed_slow(EngSim* sim, double t, bool with_slope);
/// Whether something is to be said about the present mode for the first time.
bool eng_warn_once(EngSim* sim, uint8_t what);
SltStatus eng_grow(EngSim* sim, void** data, size_t need, size_t size);
SltStatus eng_grow_list(EngSim* sim, void** data, size_t need, size_t size);
/// Elements that an array has room for.
#define ENG_ROOM(array) (base_owned_size(array) / sizeof *(array))
/// Room for so many elements of an array, which are zero where they are new.
#define ENG_GROW(sim, array, need) \
  ((need) <= ENG_ROOM(array) ? SLT_OK : eng_grow(sim, (void**)&(array), need, sizeof *(array)))
/// The same for a list that grows one by one.
#define ENG_MORE(sim, array, need) \
  ((need) <= ENG_ROOM(array) ? SLT_OK : eng_grow_list(sim, (void**)&(array), need, sizeof *(array)))
SltStatus eng_rhs(void* user, double t, const double* x, double* dx);
/// The same without what surfaces and contacts do to it.
SltStatus eng_free_flow(void* user, double t, const double* x, double* dx);
/// Whether eng_rhs() does nothing but run the program of the mode.
bool eng_is_plain(const EngSim* sim);
/// Before a trial: whether compiled code computes all its stages at once.
void eng_choose_stages(EngSim* sim);
/// Neither NaN nor infinite, any of them; without a branch per value.
bool eng_all_finite(const double* values, size_t n);
/// Name of a quantity whose derivative or value is not finite in the environment; NULL if none.
const ModelVar* eng_not_finite(const EngSim* sim, bool* derivative);
/// The variable that a place of the environment belongs to, and the order of derivative there.
const ModelVar* eng_var_at(const EngSim* sim, uint32_t env, uint32_t* order);
/// Make `states` the present ones for everything that reads the environment.
void eng_publish_states(EngSim* sim, const uint32_t* states);
/// The same for one automaton.
void eng_publish_move(EngSim* sim, uint32_t automaton, uint32_t state);
/// Truths of "automaton is in state" and entry times into the environment.
void eng_publish_state(EngSim* sim, uint32_t automaton, double t);
/// Whether a unilateral relation is beyond its boundary: the model must not be evaluated there.
bool eng_beyond_boundary(EngSim* sim, double t, const double* x);

#endif
