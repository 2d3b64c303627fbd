// SPDX-License-Identifier: MIT
//
// Contacts found by accumulating impacts. An impact is a transition that resets speeds and leaves
// its automaton where it was; its gap is the relation of its guard whose rate those speeds are. At
// rest the gap is held closed by a reaction lambda >= 0 along the direction d of the resets,
//     x' = f + sum_k lambda_k d_k,   gap_i'' = 0 for all closed contacts i,
// any number of them at once; coupled ones are solved together.
#ifndef SALTUS_ENGINE_CONTACT_CONTACT_H
#define SALTUS_ENGINE_CONTACT_CONTACT_H

#include "base/base.h"
#include "model/model.h"

typedef struct EngSim EngSim;

typedef enum EngContactState {
  ENG_CONTACT_CLOSED,
  ENG_CONTACT_RESTS,        // proposed in this instant: closes if its flight is within rounding
  ENG_CONTACT_ACCUMULATES,  // ... closes if anything holds it
  ENG_CONTACT_OPENS         // does not outlast this instant
} EngContactState;

/// A closed contact.
typedef struct EngContact {
  uint32_t transition;  // the impact whose place it has taken
  uint32_t atom;        // its gap, positive where the bodies would overlap
  uint32_t direction;   // where the room's directions have its own: one number per reset
  double reach;         // speed of the impacts that its resets are probed with
  double rate;          // of the gap when the present instant began
  double load;          // largest reaction at instants so far
  uint8_t state;        // EngContactState
  bool old;             // was closed when the present instant began
  bool carries;         // its reaction is solved for; where contacts repeat each other it is 0
  bool lifts;           // its reaction has come to its end
  bool rubs;            // is where its resets jump...
  double since;         // ... since then
} EngContact;

/// Closed contacts of a run, and what a snapshot keeps of them beside the array.
typedef struct EngContacts {
  uint32_t count;           // the first ones of sim->contact.closed
  bool active;              // their reactions act: not while an instant is carried out
  bool lifts;               // the segment ends because one of them does...
  double lifts_at;          // ... at this time of the present trial; INFINITY: none does
  double stiffness;         // rate at which gaps are drawn to zero, 1/time
  double slope;             // of the first crossing that was followed
  uint32_t followed, mode;  // 1 + the transition `at_firing` is about; id of the mode it led to
  bool known;               // the firing before led there as well: `tangent` is the motion since
} EngContacts;

/// Times of a transition: a geometric sequence as long as it is one.
typedef struct EngAccumulation {
  uint32_t count;
  double first, last;
  double interval, ratio;  // the last ones
  double fastest;          // speed of its impacts so far
  bool ends, impact;       // it does in this instant, and it is an impact
} EngAccumulation;

/// Contacts of a run, closed or not.
typedef struct EngContactRoom {
  EngContact* closed;              // those that are
  uint32_t impact_count;           // relations whose transitions could close one
  double* direction;               // how reactions act: see EngContact
  struct EngContactWork* work;     // NULL as long as none is closed
  EngAccumulation* accumulations;  // per transition
  double* at_firing;  // per state: its value at the last firing of core.contact.followed
  bool accumulating;  // firings of a transition do in this instant
  double accuracy;    // of arcs that somebody else integrates, relative to their height; else 0
  bool holds;         // a contact was closed when the present instant began, and stays so
} EngContactRoom;

typedef enum EngZenoVerdict {
  ENG_ZENO_NONE,
  ENG_ZENO_EXIT  // the model has a state for it: transitions of zeno_automaton that wait for it
                 // are enabled
} EngZenoVerdict;

// ---- accumulation.c -----------------------------------------------------------------------------

/// Note what fired in this instant; where it accumulates, find how to go on, or fail.
SltStatus eng_zeno_check(EngSim* sim, EngZenoVerdict* verdict);
/// After the contacts of the instant are settled: what accumulates and is not closed dwells or
/// fails.
SltStatus eng_zeno_conclude(EngSim* sim);
/// Before anything has fired in an instant: open the transitions that stand for the last event of
/// an accumulation which is reached now.
void eng_zeno_foresee(EngSim* sim);
/// Modes that repeat in an instant at the end of a shrinking sequence: fails with that and says so.
bool eng_zeno_suspected(EngSim* sim);
/// A transition has fired now; whether its firings may accumulate.
void eng_zeno_note(EngSim* sim, uint32_t transition);
bool eng_zeno_is_suspect(const EngSim* sim, uint32_t transition);
/// Whether an impact that fired now is so slow that its flight may be rounding.
bool eng_zeno_is_slow(EngSim* sim, uint32_t transition);

// ---- contact.c: the motion with closed contacts -------------------------------------------------

/// The present mode or its inputs have changed: registers and structure follow.
SltStatus eng_contact_rebind(EngSim* sim);
/// Let gaps be drawn to zero no harder than the bodies are held.
void eng_contact_soften(EngSim* sim);
/// Add the reactions to the flow in dx.
SltStatus eng_contact_rhs(EngSim* sim, double t, const double* x, double* dx);
/// The same for the derivatives in the environment.
void eng_contact_full(EngSim* sim, double t);
/// Positive where a contact has come to its end at (t, x), as a share of its largest reaction:
/// marks which ones have.
double eng_contact_end(EngSim* sim, double t, const double* x);
/// The same where motion begins, which no contact has come to its end at: negative.
double eng_contact_begin(EngSim* sim, double t, const double* x);
/// When a reaction ends or a contact is left, INFINITY for not in this trial.
SltStatus eng_contact_exit(EngSim* sim, double t_from, double* exit);
/// Whether a snapshot's contacts belong to the model.
bool eng_contact_valid(const EngSim* sim);

/// How many values a transition resets.
static inline uint32_t eng_reset_count(const Model* model, uint32_t transition) {
  const ModelTransition* t = &model->transitions[transition];
  return model->automata[t->automaton].states[t->to].action_count + t->action_count;
}
/// Place of a state of the present mode by its place in the environment; MODEL_NONE.
uint32_t eng_state_place(const EngSim* sim, uint32_t env);
/// The same among what a mode computes.
uint32_t eng_output_place(const ModelMode* mode, uint32_t env);

// ---- settle.c: contacts in an instant -----------------------------------------------------------

/// Before anything happens in an instant; `input`: values were written from outside.
void eng_contact_begin_instant(EngSim* sim, bool input);
/// The truth of a guard that closed contacts bar: their gaps count as crossed where what has
/// happened in this instant drives them inward, which is an impact.
bool eng_contact_guard(EngSim* sim, uint32_t transition);
/// Whether a transition is the impact of a declared contact.
bool eng_is_declared_impact(const EngSim* sim, uint32_t transition);
/// Whether the impact that a transition stands in place of leaves no flight that can be told from
/// rounding: a declared contact closes then.
bool eng_impact_is_last(EngSim* sim, uint32_t instead);
/// The relation that an impact which has fired now keeps from becoming positive, by its place in
/// the mode's list; MODEL_NONE: nothing is known of one.
uint32_t eng_impact_gap(EngSim* sim, uint32_t transition);
/// Close the contact of a transition at the end of this instant, if the state allows it. False: it
/// is no impact.
bool eng_contact_propose(EngSim* sim, uint32_t transition, EngContactState state);
/// Whether rounding hides the next flight in a sequence of impacts.
bool eng_flights_are_lost(EngSim* sim, uint32_t transition);
/// Contacts at the end of an instant: which are closed from now on, by complementarity. `changed`:
/// one has closed or opened.
SltStatus eng_contact_settle(EngSim* sim, bool* changed);
/// Whether an automaton has a closed contact.
bool eng_contact_holds_automaton(const EngSim* sim, uint32_t automaton);

#endif
