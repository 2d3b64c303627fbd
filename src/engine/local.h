// SPDX-License-Identifier: MIT
//
// Shared by local.c and local_index.c.
#ifndef SALTUS_ENGINE_LOCAL_H
#define SALTUS_ENGINE_LOCAL_H

#include "engine/internal.h"

#define LOCAL_STATES  8     // states whose equations one event may change
#define LOCAL_ATOMS   32    // atoms that may read them
#define LOCAL_WRITES  16    // values that may be set
#define LOCAL_WIDE    48    // readers beyond which a quantity is read by "everybody"
#define LOCAL_SHARE   0.1   // of the tolerance, for what is left alone
#define LOCAL_EVENTS  4.0   // in a step, at least, if it is made short for their sake
#define LOCAL_REST    1e-5  // of the trial: shorter rests are not worth the trouble
#define LOCAL_SEVERAL (MODEL_NONE - 1)

/// LocalReaders of each key: lists behind each other.
typedef struct LocalReaders {
  uint32_t* begin;  // key_count + 1
  uint32_t* list;
  size_t list_capacity;
} LocalReaders;

/// Who reads what in a mode. Keys: environment entries, then states.
typedef struct LocalIndex {
  const ModelMode* mode;
  bool allowed;
  uint32_t key_count;
  uint32_t* state_of_env;  // MODEL_NONE: no state
  uint32_t* owner;         // per atom: the automaton that asks for it; MODEL_NONE, LOCAL_SEVERAL
  uint8_t* plain;          // per automaton: nothing but its own transitions hangs on its state
  uint8_t* wide;           // per key: 1 too many equations, 2 too many atoms
  LocalReaders rhs, atoms;
  uint32_t shared;     // the one state that many read; MODEL_NONE: none, or several
  bool steady;         // what it does to its readers changes at events alone
  LocalReaders reads;  // per atom: states that it reads
  double* form_coef;   // parallel to them: coefficients where g is affine and they never change...
  double* form_time;   // ... that of the time, per atom
  uint8_t* has_form;   // ... and whether it is so
  ModelSingles singles[ENG_SINGLES];
  LocalReaders regs;  // per environment entry: registers of its copies, as program << 29 | register
} LocalIndex;

typedef struct LocalChange {
  uint32_t env;
  double before, after;
  const ModelAction* action;  // NULL: the state of the automaton, as equations read it
} LocalChange;

struct EngLocal {
  bool prepared;
  bool rounds;  // rounds of an instant may be carried out in place
  bool far;     // relations far from their boundary may be passed over
  LocalIndex index;
  void* part_storage;  // a stepper for few states
  size_t part_size;
  NumStepper* part;
  // the event in progress
  uint32_t states[LOCAL_STATES];
  uint32_t state_count;
  double x[LOCAL_STATES];
  double atol[LOCAL_STATES];
  uint32_t atoms[LOCAL_ATOMS];
  uint8_t fresh[LOCAL_ATOMS];
  double g[LOCAL_ATOMS], gdot[LOCAL_ATOMS];
  bool truth[LOCAL_ATOMS];
  uint32_t atom_count;
  bool shares;         // the event changes the shared state, and the readers are corrected
  double shared_c[5];  // what is shared after the event
  bool restart;        // the motion of the others would be off too far: all is integrated anew
  LocalChange changes[LOCAL_WRITES];
  uint32_t change_count;
  // the instant in progress
  uint32_t* touched;  // atoms
  uint32_t touched_count;
  uint64_t* touched_at;  // per atom: `touch` when it was last touched
  uint64_t touch;
};

enum { LOCAL_PROGRAMS = 5, LOCAL_REG_BITS = 29 };

/// The programs whose registers hold copies of the environment.
const ModelProgram* local_program(const ModelMode* mode, uint32_t which);

/// Copies of an environment entry in the registers follow it.
void local_patch(EngSim* sim, uint32_t env);

/// Atoms that the guards of the state that is left ask for, and those of the new one do not, matter
/// no more.
void local_leave_guards(EngSim* sim, const ModelState* left, const ModelState* to);
/// Whether no other automaton asks for these.
bool local_leaves_alone(const EngSim* sim, const ModelState* left, const ModelState* to);

/// What is known of an atom on the present trial: it stays far from its boundary; it is in the list
/// of those near to it; neither.
enum { LOCAL_UNKNOWN, LOCAL_FAR, LOCAL_NEAR };

/// Coefficients of affine relations; `work` has room for the registers of g_flow.
bool local_find_forms(EngSim* sim, LocalIndex* index, uint32_t* work);
/// The atom is followed on the present trial.
void local_come_near(EngSim* sim, uint32_t id);
/// How far what is shared may move the relation while nobody looks.
double local_allowance(const EngSim* sim, uint32_t id);
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
const EngWaiting* local_first(EngSim* sim);
void local_wait_for(EngSim* sim, const EngCrossing* crossing);

/// Whether rounds of the model can be carried out in place at all.
bool local_rounds_suit(const EngSim* sim);

/// Everything is there for the present mode and method.
bool local_is_prepared(const EngSim* sim);

#endif
