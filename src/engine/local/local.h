// SPDX-License-Identifier: MIT
//
// Local instants: events of large models that concern few states, carried out inside a step.
#ifndef SALTUS_ENGINE_LOCAL_LOCAL_H
#define SALTUS_ENGINE_LOCAL_LOCAL_H

#include "engine/detect/detect.h"

#define ENG_LOCAL_MOVED 64  // automata that a local event may move

#define ENG_LOCAL_IMMINENT 256
#define ENG_LOCAL_LEAST    17  // models of so many automata or time events can have local ones
#define ENG_LOCAL_WIDE     4   // states read by many, in one trial

/// A relation close to its boundary, and what was shared when it was last followed.
typedef struct EngImminent {
  uint32_t atom;
  double c[5];
} EngImminent;

/// Crossings of the present trial that wait for their time, and what is known of the indicators.
/// All NULL in models of few automata.
typedef struct EngLocalTrial {
  BaseDue* heap;  // relations, by the time of their crossing
  uint32_t capacity;
  EngCrossing* crossing;  // per indicator: its next one
  uint8_t* waits;         // ... there is one
  uint8_t* mark;          // ... what is known of it (parts.h)
  double* g;              // ... at the begin of the trial
  uint32_t* candidates;   // those that are followed on the present trial
  double* weight;         // per state: what a unit of the shared state does to it in unit time
  double* drift;          // per state: error from what it reads, in tolerances
  EngImminent* imminent;  // relations that follow what is shared closely
} EngLocalTrial;

/// Part of snapshots.
typedef struct EngLocalMotion {
  bool running;    // the crossings of the present trial wait in the heap
  bool prepared;   // the run is ready for local events
  bool stale;      // states and computed values in the environment are not those of time t
  bool doubt;      // one of the crossings is not proved
  bool crowded;    // more relations are imminent than can be followed
  bool marked;     // something is known of indicators (EngLocalTrial.mark)
  bool lazy;       // ... and those far from their boundary were passed over
  bool behind;     // contacts and sides of surfaces do not know what local events have changed
  bool margins;    // margins are those of the begin of the trial, and inputs of g are the same
  double reach;    // of what is shared, on the present trial; 0: nothing is
  double most;     // ... for which the weights were tested; 0: not possible
  double bend;     // second order of it per unit of time, in tolerances
  double steady;   // ... for which weights that move over the trial may stand for means
  double base[5];  // the shared state on the trial as it was made
  uint32_t imminent_count;
  uint32_t candidate_count;
  uint32_t count;                   // of the heap
  uint32_t moved[ENG_LOCAL_MOVED];  // automata of the last local event
  uint32_t moved_count;
  double spent;       // error, in tolerances, of what reads the states in wide_state
  double error;       // of local integrations on the present trial, for its length
  double bound;       // of the step, so that it is not spent too soon; 0: none
  double t, spacing;  // time of the last local event, mean distance of recent ones
  uint32_t wide_state[ENG_LOCAL_WIDE];
  double wide_rate[ENG_LOCAL_WIDE];
} EngLocalMotion;

static inline bool eng_local_suits(const Model* model) {
  return model->automaton_count >= ENG_LOCAL_LEAST || model->schedule_count >= ENG_LOCAL_LEAST;
}
SltStatus eng_local_create(EngSim* sim);
/// Whether the trial can go on beyond the next time event.
bool eng_local_takes_next(const EngSim* sim);
/// After an instant, between steps: take the memory that is needed, once.
void eng_local_prepare_slow(EngSim* sim);
/// All first crossings of a trial are found: keep them.
void eng_local_collect_slow(EngSim* sim);
/// Next segment of a trial whose crossings are kept; false when they are not.
bool eng_local_next_slow(EngSim* sim);
/// Carry out the event at core.t if it is local. False: nothing has changed. `restart`: the rest of
/// the trial is not good any more.
bool eng_local_event_slow(EngSim* sim, bool* restart);
/// Rounds of an instant as long as each touches little; the rest is for rounds on all values.
/// `back`: they lead back to where they were with nothing changed.
SltStatus eng_local_rounds_slow(EngSim* sim, uint32_t* iteration, bool* any, bool* back);
/// Time events that are due, from the first on, which moves, as long as each touches little.
SltStatus eng_local_due_slow(EngSim* sim, uint32_t* first, uint32_t* iteration);
/// sim->active.indicators as the marks of the atoms tell.
void eng_local_settle_active_slow(EngSim* sim);
/// eng_detect() on a new trial where relations far from their boundary can be passed over; false:
/// nothing is decided.
bool eng_local_detect_slow(EngSim* sim, double t_from, bool* found);
/// Contacts and sides of surfaces follow what local events have changed.
void eng_local_rejoin_slow(EngSim* sim);
/// Whether the sizes for which margins were made allow for the states that a relation reads.
bool eng_local_margin_holds(const EngSim* sim, uint32_t id);
/// Whether a crossing in time alone can wait with the others of a trial: one automaton reads it.
bool eng_local_takes_time(const EngSim* sim, uint32_t id);
/// Whether it is known who reads what in the present mode.
bool eng_local_is_prepared(const EngSim* sim);
/// What the proof of one relation needs, control points of its states included.
void eng_local_control(EngSim* sim, uint32_t id, double t_from);
/// eng_atoms_mesh() at the end of such a trial.
void eng_local_mesh_slow(EngSim* sim);
/// Values and slopes of relations that were passed over are computed anyway, in any way.
void eng_local_forget_far_slow(EngSim* sim);
/// ... now, for the mesh point with these states.
void eng_local_show_far_slow(EngSim* sim, double t, const double* x);
/// An instant of the usual kind follows: bring all atoms to the present time.
void eng_local_sync_slow(EngSim* sim);
/// Values of the present time, and those before the last event, into the environment.
void eng_local_refresh(EngSim* sim);
/// model_program_run_output() of a program of the present mode, by what is kept for single outputs
/// where events can be local.
typedef enum EngSingle { ENG_SINGLE_RHS, ENG_SINGLE_G, ENG_SINGLE_SLOPE, ENG_SINGLES } EngSingle;
bool eng_output(EngSim* sim, EngSingle which, double t, ModelStateFn* state, const void* user,
                uint32_t output, double* value);
/// The same for one atom, from t_from to the end of the trial.
bool eng_detect_atom(EngSim* sim, uint32_t index, double t_from, EngCrossing* out);
/// Control points of one state, and what the proof of one atom needs.
void eng_control_state(EngSim* sim, uint32_t state);
void eng_control_atom(EngSim* sim, uint32_t index, double t_from);

#endif
