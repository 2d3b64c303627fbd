// SPDX-License-Identifier: MIT
#ifndef SALTUS_SENSITIVITY_INTERNAL_H
#define SALTUS_SENSITIVITY_INTERNAL_H

#include "sensitivity/sensitivity.h"

/// A point of the run and how it moves with the parameters: rows of `count` numbers.
typedef struct SensitivityPoint {
  const ModelMode* mode;
  double t;
  double* env;  // values; NULL: those of the run as it stands
  double* d;    // a row for each place of the environment
  bool full;    // rows of what the mode computes are up to date
  bool known;   // ... or can be
} SensitivityPoint;

/// The last stretch of motion.
typedef struct Stretch {
  double a, h;
  uint32_t n;     // states
  double* begin;  // rows of the states at its begin...
  double* nodes;  // ...and at its nodes
  size_t capacity;
} Stretch;

/// Work space that grows.
typedef struct Room {
  double* data;
  size_t capacity;
} Room;

/// Times with rows: where it begins and ends, then `rows` rows.
typedef struct RowList {
  Room room;
  size_t end;
  uint32_t rows;
} RowList;

/// For whom the past of a variable is differentiated: rows stand behind `offset` other directions.
typedef struct PastSeeds {
  struct Sensitivity* s;
  uint32_t offset;
} PastSeeds;

/// What the present instant has assigned so far.
typedef struct Assigned {
  double* value;    // by places...
  uint8_t* is;      // ...where there is one
  uint32_t* place;  // evaluated since the last ones took effect...
  double* rows;     // ...and their rows
  uint32_t count, capacity;
} Assigned;

/// Collocation at the right Radau points.
typedef struct Collocation {
  double c[SENSITIVITY_NODES];
  double a[SENSITIVITY_NODES][SENSITIVITY_NODES];
} Collocation;

struct Sensitivity {
  EngSim* sim;
  const Model* model;
  SensitivityParameter* parameters;
  uint32_t count;
  EngObserver observer;
  const char* gap;
  SensitivityPoint now;            // where the motion was followed to; its time stands
  SensitivityPoint look;           // inside of the last stretch
  SensitivityPoint before, after;  // the last instant, along its moving time
  double* time;                    // row of that
  bool begun;
  bool open;     // `after` is not taken over into the motion yet
  bool stale;    // what the mode computes is not differentiated for the assignments so far
  double* size;  // by places: largest magnitude so far
  Assigned assigned;
  Collocation collocation;
  Stretch stretch;
  Room regs, x, rows, matrix, shifted;
  RowList* past;     // by delays: pieces of the delayed variable's rows
  RowList instants;  // moving times that may arrive through a delay
  PastSeeds past_seeds, past_behind;
};

/// From here on nothing is known; the first reason stands.
void sensitivity_lose(Sensitivity* s, const char* why);
/// Work space; NULL without memory, and then nothing is known.
double* sensitivity_room(Sensitivity* s, Room* room, size_t need);
void sensitivity_collocation(Collocation* out);
/// The flow at a point of the run as it moves now.
bool sensitivity_flow(Sensitivity* s, double t, const double* x, double* f);
/// How the flow along surfaces, and the convex coefficients of these, move in one direction, by
/// differences of high order: there is no program for it. `d_env` NULL: the environment stands.
bool sensitivity_sliding(Sensitivity* s, double t, const double* x, double d_t, const double* d_x,
                         const double* d_env, double* d_f, double* d_alpha);
/// Rows of the states at time t of the last stretch.
void sensitivity_interpolate(const Sensitivity* s, double t, double* rows);
/// `after` becomes the begin of a motion.
void sensitivity_take_over(Sensitivity* s);
/// Value and row of a term.
bool sensitivity_term(Sensitivity* s, SensitivityWhen when, const ModelTerm* term, double* value,
                      double* row);

/// Rows of initial values that constraints determine (start.c); false: they are not known.
bool sensitivity_start_constrained(Sensitivity* s);

// ---- delays (past.c) ----------------------------------------------------------------------------

/// Seeds of `width` directions without any rows yet; those of the parameters stand behind `offset`.
ModelSeeds sensitivity_seeds(Sensitivity* s, uint32_t width, uint32_t offset);
ModelPastFn sensitivity_past_row;
/// What was before the start, from the rows there.
void sensitivity_past_start(Sensitivity* s);
/// Keep the last stretch; ... and the time of the last instant.
void sensitivity_past_keep(Sensitivity* s);
void sensitivity_past_instant(Sensitivity* s);
/// Row of the time at which a jump at `origin` arrives.
bool sensitivity_arrival_row(Sensitivity* s, uint32_t delay, double origin, double* row);

#endif
