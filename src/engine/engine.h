// SPDX-License-Identifier: MIT
//
// engine: runs a model. Integrates within a mode, finds events, carries out instants, keeps time.
//
// Data flow of a run. `advance` asks for time; `segment.c` produces trial steps of the integrator
// and lets `detect.c` cut them at the first event that would do something; within a segment values
// come from dense output, so that asking for more times changes nothing. At its end `instant.c`
// carries out due time events and enabled transitions until nothing more happens, and the next
// segment begins. `trace.c` turns what happened into event records.
//
// All memory is taken at creation, except registers for a mode that needs more than any before.
#ifndef SALTUS_ENGINE_H
#define SALTUS_ENGINE_H

#include "base/base.h"
#include "model/model.h"
#include "numeric/numeric.h"

typedef struct EngSim EngSim;

/// Numbers of something, ascending; `at` NULL: all from 0 on.
typedef struct EngList {
  const uint32_t* at;
  uint32_t count;
} EngList;

/// Resolved options: no NaN, nothing left open.
typedef struct EngOptions {
  double t_start, t_end;
  const NumMethod* method;
  bool method_auto;                     // `method` is only where to begin
  double rtol, atol, h0, h_min, h_max;  // atol NaN, h0, h_min, h_max 0: not given
  double step;                          // of fixed-step methods
  double event_eps, gamma;
  SltDetection detection;
  SltSliding sliding;
  SltZeno zeno;
  uint64_t seed, max_events, max_steps;
  uint32_t threads;
  SltAllocator allocator;
  const SltForeign* foreign;  // NULL: nobody computes foreign blocks
  const char* folder;         // where their files are, with its last '/'; NULL: here
} EngOptions;

/// Options with the model's experiment and the defaults filled in where the caller left NaN.
/// SLT_ERR_ARGUMENT when a value is out of range; `what` says which.
SltStatus eng_options_resolve(const Model* model, const SltSimOptions* given, EngOptions* out,
                              const char** what);

SltStatus eng_create(const Model* model, ModelProvider provider, const EngOptions* options,
                     EngSim** out);
void eng_free(EngSim* sim);

const Model* eng_model(const EngSim* sim);
/// Override a constant: before the start, or from the present time on.
SltStatus eng_set_param(EngSim* sim, uint32_t param, double value);
/// Another initial value for a variable or one of its derivatives, before the start.
/// SLT_ERR_NOT_FOUND where the model gives none.
SltStatus eng_set_initial(EngSim* sim, uint32_t var, uint32_t order, double value);
double eng_start_value(EngSim* sim, const ModelStart* start);
SltStatus eng_start(EngSim* sim);
bool eng_is_started(const EngSim* sim);

/// The trial that the next segment will most likely begin with: where nothing but the program of
/// the mode moves the states. False where that is not known.
typedef struct EngTrialAhead {
  const ModelMode* mode;
  const ModelContext* context;
  const double* regs;  // bound, of its right-hand side
  NumStepper* stepper;
  double target;
} EngTrialAhead;
bool eng_trial_ahead(EngSim* sim, EngTrialAhead* out);

/// See slt_sim_advance(); `per_step` also returns at the end of each step.
SltStatus eng_advance(EngSim* sim, double t_stop, bool per_step);
double eng_time(const EngSim* sim);
/// See slt_sim_ahead() and slt_sim_look().
SltStatus eng_ahead(EngSim* sim, double* until);
SltStatus eng_look(EngSim* sim, double t);
/// A state of a mode without constraints at times inside the stretch; false: one lies outside.
bool eng_course(const EngSim* sim, uint32_t state, const double* t, uint32_t count, double* x);

/// Present environment, and the one just before the last instant.
const double* eng_env(EngSim* sim);
/// The same for states and what changes at events alone: the rest may be out of date.
const double* eng_env_states(EngSim* sim);
const double* eng_env_before(EngSim* sim);
/// One entry of them, a state or what changes at events alone, where that is known without bringing
/// all others up to date; false: it is not.
bool eng_kept_value(const EngSim* sim, uint32_t env, bool before, double* value);
/// Scale of the entry of the environment that a state or another variable has: the largest
/// magnitude at committed points so far, of it or of its family; a given nominal value counts. 0:
/// not known. Only states are followed by themselves.
double eng_scale(EngSim* sim, uint32_t env);
/// Evaluate a program of the model's tables (a macro) on one of them.
double eng_evaluate(EngSim* sim, const ModelTerm* term, bool before);
/// State of an automaton, and the one before the last instant.
uint32_t eng_state(const EngSim* sim, uint32_t automaton);
uint32_t eng_state_before(const EngSim* sim, uint32_t automaton);
const ModelMode* eng_mode(const EngSim* sim);
const ModelMode* eng_mode_before(const EngSim* sim);

/// Write a variable at the current time.
SltStatus eng_set(EngSim* sim, uint32_t var, uint32_t order, double value);

/// Motion that somebody else integrates (exchange.c): see slt_sim_exchange_begin() and what follows
/// it.
SltStatus eng_exchange_begin(EngSim* sim, double accuracy);
uint32_t eng_exchange_indicator_count(const EngSim* sim);
/// A value for the next point; where the present mode computes or keeps it, nothing.
void eng_exchange_value(EngSim* sim, uint32_t var, uint32_t order, double value);
SltStatus eng_exchange_input(EngSim* sim, uint32_t var, double value);
void eng_exchange_point(EngSim* sim, double t);
/// Rates of the mode's states at the point; then one of them by what it is the rate of, 0 where the
/// mode does not integrate that.
SltStatus eng_exchange_rates(EngSim* sim);
double eng_exchange_rate(const EngSim* sim, uint32_t var, uint32_t order);
void eng_exchange_indicators(EngSim* sim, double* z);
SltStatus eng_exchange_step(EngSim* sim, bool* event);
SltStatus eng_exchange_event(EngSim* sim, double* next, bool* restarts);

typedef void EngEventFn(void* user, const SltEvent* event);
typedef bool EngCancelFn(void* user, double t);
typedef void EngWarningFn(void* user, DiagCode code, Span span, const char* message);
/// Whom a run tells and asks; NULL: nobody.
typedef struct EngListeners {
  EngEventFn* on_event;
  EngCancelFn *on_step, *on_round;  // whether the advance ends; within an instant: the run
  EngWarningFn* on_warning;
  void *event_user, *step_user, *round_user, *warning_user;
} EngListeners;
EngListeners* eng_listeners(EngSim* sim);
/// States that have stayed below the absolute tolerance.
void eng_warn_of_small(EngSim* sim);

/// What somebody who follows how a run depends on its parameters has to know of instants.
typedef struct EngObserver {
  void* user;
  void (*begins)(void* user);  // the environment holds the values before the instant
  // ... those that it reads; `random`: the stream before it
  void (*evaluates)(void* user, uint32_t action, double value, const ModelRandom* random);
  void (*assigns)(void* user);   // what was evaluated since takes effect
  void (*discards)(void* user);  // what was assigned falls with a mythical candidate
  void (*ends)(void* user);
} EngObserver;

/// Before the start. The observer lives as long as the run.
void eng_observe(EngSim* sim, const EngObserver* observer);

/// Why an instant that begins is at its time.
typedef enum EngReason {
  ENG_REASON_LOCATED,   // `index`: place of a relation in the mode's list
  ENG_REASON_SCHEDULE,  // `index`: a schedule; `number` of its firing, from 0 on
  ENG_REASON_EXIT,      // a surface is left
  ENG_REASON_ARRIVAL    // `index`: a delay; what it holds back jumped at `origin`
} EngReason;
typedef struct EngCause {
  EngReason reason;
  uint32_t index;
  int64_t number;
  double origin;
} EngCause;
/// The n-th reason; false: there are fewer.
bool eng_cause(const EngSim* sim, uint32_t n, EngCause* out);

/// What the right side of the motion is made of.
typedef enum EngMotion { ENG_MOTION_MODE, ENG_MOTION_SLIDING, ENG_MOTION_CONTACT } EngMotion;
EngMotion eng_motion(const EngSim* sim);
/// The right side at a time and states, with the environment as it is, or with other values of it:
/// NULL, or one for each place. While sliding also the convex coefficients of the surfaces; `alpha`
/// NULL: nobody asks.
SltStatus eng_flow(EngSim* sim, double t, const double* x, const double* env, double* dx,
                   double* alpha);
/// Surfaces that are slid along.
uint32_t eng_surface_count(const EngSim* sim);
/// Which of the mode's indicators is zero on one of them.
uint32_t eng_surface_indicator(const EngSim* sim, uint32_t i);
const ModelContext* eng_flow_context(const EngSim* sim);
/// The stream of random numbers that an initial value draws from.
void eng_start_random(const EngSim* sim, const ModelStart* start, ModelRandom* out);
/// Whether a constant, or an initial value by its place in the list, was given from outside.
bool eng_param_given(const EngSim* sim, uint32_t param);
bool eng_start_given(const EngSim* sim, uint32_t start);

SltStatistics eng_statistics(EngSim* sim);
/// Count from now on what relations and states cost.
SltStatus eng_costs_begin(EngSim* sim);
/// Steps over which a relation was followed; steps that the error of a variable decided about.
uint64_t eng_cost_of_relation(const EngSim* sim, uint32_t atom);
uint64_t eng_cost_of_variable(const EngSim* sim, uint32_t var);

#define ENG_MESSAGE_MAX 2000
#define ENG_HINT_MAX    400

/// Why a run failed.
typedef struct EngError {
  SltStatus status;
  DiagCode code;
  double t;
  Span span;
  bool has_span;
  char message[ENG_MESSAGE_MAX];
  char hint[ENG_HINT_MAX];
  const Diag* structure;  // for a mode that cannot be compiled: the full message
} EngError;

const EngError* eng_error(const EngSim* sim);

size_t eng_snapshot_size(const EngSim* sim);
SltStatus eng_snapshot_save(const EngSim* sim, void* buffer, size_t size);
SltStatus eng_snapshot_restore(EngSim* sim, const void* buffer, size_t size);

/// The same as bytes that another process can take over, before its run has started. `why`: what
/// does not fit, lives as long as the run.
size_t eng_checkpoint_size(const EngSim* sim, size_t note_size);
SltStatus eng_checkpoint_save(const EngSim* sim, const SltKey* key, const void* note,
                              size_t note_size, void* buffer, size_t size);
SltStatus eng_checkpoint_restore(EngSim* sim, const SltKey* key, const void* buffer, size_t size,
                                 void* note, size_t note_size, const char** why);

#endif
