// SPDX-License-Identifier: MIT
//
// What the files of this room share: closed contacts as the present mode sees them.
#ifndef SALTUS_ENGINE_CONTACT_WORK_H
#define SALTUS_ENGINE_CONTACT_WORK_H

#include "engine/run/run.h"

/// A speed that the resets of an impact write.
typedef struct Entry {
  uint32_t state;   // of the present mode
  uint32_t action;  // that writes it
  uint32_t along;   // its component of the kept direction, by its place there
  double d;         // component of the direction at the last evaluation
} Entry;

/// Something that the resets read and that moves.
typedef struct Reading {
  uint32_t env;
  uint32_t state;     // MODEL_NONE: it is the truth of a relation of the mode, or computed...
  uint32_t relation;  // its place; MODEL_NONE: no relation
  uint32_t output;    // ... by this output of the mode's full program
} Reading;

/// A closed contact in the present mode.
typedef struct Row {
  uint32_t index;                       // of its gap in the mode's list
  uint32_t entry_begin, entry_end;      // speeds that its direction has
  uint32_t reading_begin, reading_end;  // what its resets read
  bool reads_computed;
  bool jumps;      // its resets may
  uint32_t group;  // coupled contacts have the same
  bool carries;    // its reaction is solved for; otherwise it is 0
  double g, gdot;  // of its gap
  double flow;     // its acceleration along the flow
  double lambda;   // its reaction...
  double falls;    // ... and how fast the gap would close without it
  double opens;    // acceleration with which the gap opens
} Row;

/// What the model computes from rates, which reactions change.
typedef struct ContactRates {
  const ModelMode* mode;      // what is computed from rates was asked for of this mode...
  const ModelRates* program;  // ... NULL: nothing
  double* regs;               // its registers, then its outputs
  uint32_t* states;           // states whose rates its inputs and outputs are
} ContactRates;

struct EngContactWork {
  Row* rows;
  Entry* entries;
  Reading* readings;
  uint32_t* members;      // contacts by group
  uint32_t* group_begin;  // ... and where each group begins
  uint32_t group_count;
  double slack;            // how far below zero reactions may be on the present trial
  bool limit_decides;      // what accumulates is closed until its limit is looked at
  bool joint;              // the last reactions were found together with surfaces
  bool ambiguous, warned;  // the last reactions are not the only ones
  double* numbers;         // matrices and work space of a group
  double *x, *dx;          // per state
  double* flow;            // per state: the flow without reactions
  double* saved;           // per reading: its value in the environment
  double* resets;          // per entry: values of the resets, twice
  ContactRates rates;
  double* held;      // see held.c
  double* reaction;  // per state: what reactions add to its rate
  ModelDual* dual;   // of the program gdot
  ModelDual* rhs_dual;
};

typedef struct EngContactWork EngContactWork;

/// Structure of the first `count` contacts in the present mode. False in `fits[i]` where a
/// contact's relation or states do not exist in it.
SltStatus eng_contact_structure(EngSim* sim, uint32_t count);
/// Directions, gaps and their accelerations at (t, x) for the flow f, all rows.
SltStatus eng_contact_evaluate(EngSim* sim, double t, const double* x, const double* f);
/// The direction of one contact at (t, x); false: it has none.
bool eng_contact_direction(EngSim* sim, uint32_t contact, double t, const double* x);
/// What the resets would make of the speeds at (t, x) where the gap closes with this speed more.
void eng_contact_resets(EngSim* sim, const Row* row, double t, const double* x, double speed,
                        double* out);
/// Spread the direction of a contact over all states, in dx, or take it back.
void eng_contact_spread(EngContactWork* w, const Row* row, bool back);
/// Add the reactions that hold all gaps to the flow f at (t, x), with the stiffness drawing them to
/// zero.
SltStatus eng_contact_push(EngSim* sim, double t, const double* x, double stiffness, double* f);
/// Derivative of a gap's rate when the states move along dx and time passes.
double eng_gap_acceleration(EngSim* sim, uint32_t index, double t, const double* x,
                            const double* dx);
/// What a change of the states along dx does to the rate of a gap, and to the gap itself.
double eng_gap_effect(EngSim* sim, uint32_t index, double t, const double* x, const double* dx);
double eng_gap_slope(EngSim* sim, uint32_t index, double t, const double* x, const double* dx);
/// Effect of reactions on the gaps of a group: n x n, by rows.
void eng_contact_matrix(EngSim* sim, uint32_t group, double t, const double* x, double* a);
/// The flow without reactions: along surfaces where it slides.
SltStatus eng_contact_flow(EngSim* sim, double t, const double* x, double* f);
/// Relations that stay at their boundaries as long as contacts are closed and surfaces slid along.
SltStatus eng_contact_mark_held(EngSim* sim);
/// Contacts of a group.
static inline uint32_t eng_group_size(const EngContactWork* w, uint32_t group) {
  return w->group_begin[group + 1] - w->group_begin[group];
}

#endif
