// SPDX-License-Identifier: MIT
//
// Modes whose equations constrain their states or must be solved together: consistent
// initialisation, projection, impulsive reinitialisation.
#ifndef SALTUS_ENGINE_DAE_DAE_H
#define SALTUS_ENGINE_DAE_DAE_H

#include "engine/engine.h"

/// Normal equations of a mode's constraints, and of all its equations; NULL: not made yet.
typedef struct EngDaeNormals {
  NumNormal *constraint, *system;
} EngDaeNormals;

/// A relation that the equations keep at its boundary, and how far from it rounding may take it.
typedef struct EngDaeConstant {
  uint32_t index;  // in the mode
  double zero;
} EngDaeConstant;

#define ENG_IMPULSE_MIN 1e-12  // of the scale of what jumps: smaller impulses are rounding
#define ENG_DAE_PIECES  24     // of a step in which relations without enclosures are looked at

/// Relations at a point of the trial: blocks that all of them depend on are solved once.
typedef struct EngDaePoint {
  uint64_t stamp;
  double t;
} EngDaePoint;

/// Work space for modes with constraints or blocks, and what is known of the present candidate.
typedef struct EngDae {
  double *constraint_regs, *project_regs, *system_regs, *impulse_regs;  // in `regs`
  double* regs;
  double* work;
  // per quantity solved for: weight of its Dirac pulse in this instant; then its part by resets
  double* impulse;
  double* guard;                  // per atom of the mode: weight of the pulse in g
  double* entry;                  // per quantity: its value when the mode was entered
  uint8_t* marks;                 // per row
  struct EngDaeNormals* normals;  // per mode: made when first asked for
  bool impulsive;
  bool tentative;         // switches have no position yet: contradictions are only noted
  bool contradicts;       // ... and there was one
  bool decides;           // complementary states were found in this instant
  bool initial;           // the run is about to start: initial values are fixed or guesses
  const ModelMode* from;  // committed mode that the candidate comes from
  uint32_t failed;        // block that could not be solved, MODEL_NONE for none
  uint32_t contradicted;  // block whose equations contradict each other, MODEL_NONE for none
  char* search;           // work space of the search for complementary states
  EngDaePoint points[ENG_DAE_PIECES];
  double* relations;  // of these: g and its rate of all relations
  EngDaeConstant* constants;
  uint32_t constant_count;
  uint8_t* violates;
  double drift_from;  // begin of a trial that could not be brought back to the constraints
  uint32_t least;     // block that leaves something open, MODEL_NONE for none
} EngDae;

void eng_dae_create(EngSim* sim);
void eng_dae_free(EngSim* sim);
/// Memory for the programs of a mode.
SltStatus eng_dae_room(EngSim* sim, const ModelMode* mode);
/// Constants and inputs into their registers.
void eng_dae_bind(EngSim* sim);
/// Values of the environment made consistent with the equations of the mode: by initial values and
/// guesses, or by a jump with impulses.
SltStatus eng_dae_enter(EngSim* sim);
/// The mode was entered: a state that has no scale yet gets that of what the equations put beside
/// it.
void eng_dae_scales(EngSim* sim);
/// After the values of a mode were computed and a block failed: by all means, before it is given
/// up.
void eng_dae_rescue(EngSim* sim);
/// From the present states, those of automata like diodes for which no guard leads on; records what
/// changes. `found` false: there are none, and all is as it was.
SltStatus eng_dae_complement(EngSim* sim, bool* found);
/// At the end of an instant: relations of such automata at their boundary, and those that the
/// equations keep there.
void eng_dae_end_instant(EngSim* sim);
/// Value and rate of a relation at one of the points of the trial between its pieces.
void eng_dae_relation(EngSim* sim, uint32_t point, double t, uint32_t index, double* g,
                      double* rate);
/// Initial values may read what the equations compute from others: in as many turns as that takes.
SltStatus eng_dae_follow_starts(EngSim* sim);
/// Bring states back to the constraints; false when that is not possible.
bool eng_project(EngSim* sim, double t, double* x, bool* changed);
/// The same for the end of the trial.
SltStatus eng_project_trial(EngSim* sim);
/// An error that names the constraints, if a trial could not be brought back to them.
bool eng_fail_drift(EngSim* sim) __attribute__((cold));
/// Whether what the right-hand side does not need can be solved for at the end of the trial too.
SltStatus eng_check_trial(EngSim* sim);
/// Guesses for what is solved for, from the values in the environment.
void eng_dae_guess(EngSim* sim);
/// The guesses as they are, into the registers that were just bound.
void eng_dae_use_guess(EngSim* sim);
/// Note the values in the environment as guesses of a program.
void eng_dae_note_guess(EngSim* sim, const ModelProgram* program);
/// Truth of the mode's atom i where it reads an impulse; false when it does not.
bool eng_impulse_truth_slow(const EngSim* sim, uint32_t i, bool* truth);
/// A warning where a block had to be given its smallest solution, once for each mode.
void eng_warn_least_slow(EngSim* sim) __attribute__((cold));
/// An error that names the block that could not be solved; false when none failed.
bool eng_fail_solve(EngSim* sim) __attribute__((cold));

#endif
