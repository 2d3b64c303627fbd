// SPDX-License-Identifier: MIT
//
// Local instants: an event in one of 10 000 rooms does not stop the other 9 999.
//
// A trial step of the whole system is kept as long as possible, and the first crossings on it wait
// in a heap (waiting.c). The instant at a crossing that concerns few is carried out by the rounds
// that every instant has (events/active.c), with values of states from the dense output
// (instant.c). The few states whose equations read what it changed are integrated anew from there
// to the end of the trial (motion.c). Nothing else is touched.
#ifndef SALTUS_ENGINE_LOCAL_PARTS_H
#define SALTUS_ENGINE_LOCAL_PARTS_H

#include "engine/run/run.h"

#define LOCAL_STATES  64    // states whose equations one event may change
#define LOCAL_ATOMS   256   // atoms that may read them
#define LOCAL_WRITES  256   // values that may be set
#define LOCAL_ROUNDS  64    // transitions that may fire in it
#define LOCAL_EDGES   16    // transitions out of the state that is left
#define LOCAL_WIDE    48    // readers beyond which a quantity is read by "everybody"
#define LOCAL_SHARE   0.1   // of the tolerance, for what is left alone
#define LOCAL_EVENTS  4.0   // in a step, at least, if it is made short for their sake
#define LOCAL_REST    1e-5  // of the trial: shorter rests are not worth the trouble
#define LOCAL_SEVERAL (MODEL_NONE - 1)

/// Who reads what in a mode. Keys: environment entries, then states.
typedef struct LocalIndex {
  const ModelMode* mode;
  bool allowed;
  uint32_t key_count;
  uint32_t* state_of_env;  // MODEL_NONE: no state
  uint32_t* owner;         // per atom: the automaton that asks for it; MODEL_NONE, LOCAL_SEVERAL
  uint8_t* plain;          // per automaton: only its own transitions depend on its state
  uint8_t* plain_time;     // per time event: it assigns a few values, no more
  uint8_t* wide;           // per key: 1 too many equations, 2 too many atoms
  BaseLists rhs, atoms;
  uint32_t shared;    // the one state that many read; MODEL_NONE: none, or several
  bool steady;        // what it does to its readers changes at events alone
  BaseLists reads;    // per atom: states that it reads
  double* form_coef;  // parallel to them: coefficients where g is affine and they never change...
  double* form_time;  // ... that of the time, per atom
  uint8_t* has_form;  // ... and whether it is so
  ModelSingles singles[ENG_SINGLES];
  BaseLists regs;  // per environment entry: registers of its copies, as program << 29 | register
} LocalIndex;

/// A value that the local instant in progress sets.
typedef struct LocalChange {
  uint32_t env;
  double before, after;
  double seen;  // for which its readers were touched last
} LocalChange;

/// An event indicator as it was before the instant in progress.
typedef struct LocalKept {
  uint32_t id;
  uint8_t live;
  EngAtom atom;
} LocalKept;

/// An automaton that has moved.
typedef struct LocalMoved {
  uint32_t automaton, from;
  EngTransition edges[LOCAL_EDGES];  // out of `from`, as they were
} LocalMoved;

/// What others than the equations move: per key, relation and automaton (held.c).
typedef struct LocalHeld {
  bool any;
  uint8_t *keys, *atoms, *automata;
} LocalHeld;

/// The local instant in progress: its active set, and what is needed to take it back.
typedef struct LocalInstant {
  bool apart;  // states but for EngLocal::states are on the trial
  LocalMoved moved[ENG_LOCAL_MOVED];
  uint32_t moved_count;
  uint32_t switches[ENG_LOCAL_MOVED];  // that may flip
  uint32_t switch_count;
  uint32_t fired[LOCAL_ROUNDS];  // transitions
  uint32_t fired_count;
  LocalChange changes[LOCAL_WRITES];
  uint32_t change_count;
  LocalKept kept[LOCAL_ATOMS];
  uint32_t kept_count;
  ModelRandom random;
  uint64_t changes_before;  // core.changes
} LocalInstant;

/// Event indicators that read what the present round has assigned.
typedef struct LocalTouched {
  uint32_t* list;
  uint32_t count;
  uint64_t* at;  // per atom: `stamp` when it was last touched
  uint64_t stamp;
} LocalTouched;

struct EngLocal {
  bool prepared;
  bool rounds;  // rounds of an instant of all states may be carried out in place
  LocalIndex index;
  void* part_storage;  // a stepper for few states
  size_t part_size;
  NumStepper* part;
  // states that move otherwise from the instant in progress on
  uint32_t states[LOCAL_STATES];
  uint32_t state_count;
  double x[LOCAL_STATES];
  double atol[LOCAL_STATES];
  bool shares;         // the shared state among them: its readers are corrected
  double shared_c[5];  // what is shared after the instant
  bool restart;        // the motion of the others would be off too far: all is integrated anew
  LocalInstant now;
  LocalHeld held;
  LocalTouched touched;
};

enum { LOCAL_PROGRAMS = 5, LOCAL_REG_BITS = 29 };

/// The programs whose registers hold copies of the environment.
const ModelProgram* local_program(const ModelMode* mode, uint32_t which);

// events/active.c: rounds in place

/// Copies of an environment entry in the registers follow it.
void local_patch(EngSim* sim, uint32_t env);
void local_set_env(EngSim* sim, uint32_t env, double value);
/// What the automaton can do now, into the list of what may fire. False: there is no room.
bool local_ask(EngSim* sim, uint32_t automaton);
/// Whether a time event is one that can be carried out in place, as far as its text tells.
bool local_is_plain_time(const EngSim* sim, const ModelSchedule* schedule);
/// Plain time events that are due, from `*first` on; `plain` false: what comes next concerns
/// others.
SltStatus local_run_due(EngSim* sim, uint32_t* first, uint32_t* iteration, bool* plain);
/// Rounds until nothing in that list is enabled. `plain` false: what comes next concerns others;
/// `back`: they lead back to where they were with nothing changed.
SltStatus local_run_rounds(EngSim* sim, uint32_t* iteration, bool* fired, bool* plain, bool* back);

// instant.c: what such rounds ask for where the states are on the trial

/// The value of a state into the environment.
void local_fetch(EngSim* sim, uint32_t env);
/// The value will be set. False: there are too many of them; so everywhere here.
bool local_note_change(EngSim* sim, uint32_t env);
/// The transition is about to fire, the switch to flip.
bool local_note_firing(EngSim* sim, uint32_t transition);
bool local_note_flip(EngSim* sim, uint32_t automaton);
/// The value was set; whether its readers have not seen it.
bool local_sees_change(EngSim* sim, uint32_t env);
/// The motion of the state changes.
bool local_add_state(EngSim* sim, uint32_t state);
/// ... with what it reads, from now on; its value stays.
bool local_widen(EngSim* sim, uint32_t state);
/// ... it has been set.
void local_set_state(EngSim* sim, uint32_t state, double value);
/// The event indicator takes part in the instant.
bool local_keep_atom(EngSim* sim, uint32_t id);
/// Those that the present state of the automaton waits for do, with their values at the present
/// time.
bool local_bring_guards(EngSim* sim, uint32_t automaton);
/// g and slope at the present time.
bool local_present_value(EngSim* sim, uint32_t id);
/// Whether g tells the truth of the relation, and nothing else has to be asked.
bool local_tells_truth(EngSim* sim, uint32_t id);

// motion.c

/// A state at a time of the trial, as the instant in progress sees it.
typedef struct LocalPoint {
  const EngSim* sim;
  double t;
  const double* x;  // of local->states
} LocalPoint;

double local_point_state(const void* point, uint32_t state);
/// The states of the instant, from its time to the end of the trial. False: that is not good enough
/// for them or for those that read them.
bool local_integrate(EngSim* sim);
/// Step for which integrations of the instants keep their tolerance, by the worst error so far.
double local_step_for(double h, double error);

/// What is known of an atom on the present trial: it stays far from its boundary; it is in the list
/// of those near to it; neither.
enum { LOCAL_UNKNOWN, LOCAL_FAR, LOCAL_NEAR };

/// Coefficients of affine relations; there is room for a byte per relation in `classes`, and per
/// register of g_flow in `work`.
void local_find_forms(EngSim* sim, LocalIndex* index, uint8_t* classes, uint8_t* work);
/// The atom is followed on the present trial.
void local_come_near(EngSim* sim, uint32_t id);
/// When the atom, whose g and slope at t_from are known, has to be looked at next: at a crossing,
/// or before what is shared could make it cross. False: not on this trial.
bool local_watch(EngSim* sim, uint32_t id, double t_from, EngCrossing* out);
/// g and slope at a time of the trial.
bool local_value(EngSim* sim, uint32_t id, double t);

/// Tolerance of a state.
double local_tolerance(const EngSim* sim, uint32_t state);
/// On a new trial: how much may be shared.
void local_begin_sharing(EngSim* sim);
/// Whether a change of the shared state by so much, over time, is not worth sharing: its error, in
/// tolerances, is added to `spent`.
bool local_share_is_idle(EngSim* sim, double area, double* spent);
/// What is shared from now on if the shared state goes on as component k of the local integration;
/// false when that is too much.
bool local_share_next(EngSim* sim, uint32_t k);
/// ... takes effect, and states of the event get their new weights; their polynomials follow.
void local_share(EngSim* sim);
/// After an event: relations that follow what is shared closely are followed anew.
void local_follow_imminent(EngSim* sim);
/// A time to look at the relation has come.
void local_look(EngSim* sim, uint32_t id);
/// The next crossing that stands; NULL for none. What has to be looked at before it is.
const BaseDue* local_first(EngSim* sim);
/// ... of those that fire something, or may; the others are latched on the way.
const BaseDue* local_first_to_fire(EngSim* sim);
/// Whether the crossing, alone, fires nothing; then it can be passed.
bool local_is_silent(EngSim* sim, const EngCrossing* crossing);
void local_pass(EngSim* sim, uint32_t id);
void local_wait_for(EngSim* sim, const EngCrossing* crossing);
/// The crossings of this time, if they are plainly local, into those of the instant; they wait no
/// longer, unless they are returned.
bool local_take_crossings(EngSim* sim);
void local_return_crossings(EngSim* sim);

// held.c

/// After an instant: what the participants of the motion hold from now on.
void local_find_held(EngSim* sim);

/// Whether one automaton asks for a relation, and nothing holds either.
static inline bool local_is_owned(const EngSim* sim, uint32_t id) {
  return sim->local->index.owner[id] < LOCAL_SEVERAL && !sim->local->held.atoms[id];
}

static inline bool local_is_held(const EngSim* sim, uint32_t state) {
  return sim->local->held.keys[sim->model->env_count + state] != 0;
}

/// Whether a relation reads neither pre() nor post() of anything.
bool local_reads_now(const ModelAtom* atom);
/// Whether a reset reads nothing but constants and variables: what stands behind them, and truths
/// of relations, is no value to be set.
bool local_reads_values(const EngSim* sim, const ModelTerm* term);
/// Whether rounds of the model can be carried out in place at all.
bool local_rounds_suit(const EngSim* sim);

#endif
