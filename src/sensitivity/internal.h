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

#endif
