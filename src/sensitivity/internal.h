// SPDX-License-Identifier: MIT
#ifndef SALTUS_SENSITIVITY_INTERNAL_H
#define SALTUS_SENSITIVITY_INTERNAL_H

#include "sensitivity/sensitivity.h"

/// States whose stretch is one system of equations; of more it is iterated.
#define SENSITIVITY_DIRECT 40

typedef struct Trail Trail;

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

/// For whom the history of a variable is differentiated: rows stand behind `offset` other
/// directions.
typedef struct HistorySeeds {
  struct Sensitivity* s;
  uint32_t offset;
} HistorySeeds;

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
  uint32_t parameter_count;
  uint32_t count;  // directions that rows have: one for each parameter, none with a trail
  Trail* trail;    // what happens is written down for going back through it; NULL: it is not
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
  double* rate;  // ... and the largest one of the flow beside a surface
  Assigned assigned;
  Collocation collocation;
  Stretch stretch;
  Room regs, x, rows, matrix, shifted;
  RowList* history;  // by delays: pieces of the delayed variable's rows
  RowList instants;  // moving times that may arrive through a delay
  HistorySeeds history_seeds, history_behind;
  ModelRandom* random;  // what the present term draws from; NULL: nothing
};

/// From here on nothing is known; the first reason stands.
void sensitivity_lose(Sensitivity* s, const char* why);
/// Work space; NULL without memory, and then nothing is known.
double* sensitivity_room(Sensitivity* s, Room* room, size_t need);
/// Values at a point.
const double* sensitivity_values(const Sensitivity* s, const SensitivityPoint* point);
void sensitivity_collocation(Collocation* out);
/// The flow at a point of the run as it moves now.
bool sensitivity_flow(Sensitivity* s, double t, const double* x, double* f);
/// How the flow along surfaces, and the convex coefficients of these, move in one direction, by
/// differences of high order: there is no program for it. `d_env` NULL: the environment stands.
bool sensitivity_sliding(Sensitivity* s, double t, const double* x, double d_t, const double* d_x,
                         const double* d_env, double* d_f, double* d_alpha);
/// A direction in which the flow is followed, `shift` times as far as it is long.
typedef struct SensitivityShift {
  double t, d_t, shift;
  const double *x, *d_x;
  const double* d_env;  // NULL: the environment stands
} SensitivityShift;
/// Differences of fourth order of the flow and, where asked for (`d_alpha`), of the convex
/// coefficients, which are added up; `work` has room for two rows of states, the surfaces, and the
/// environment.
bool sensitivity_difference(EngSim* sim, const SensitivityShift* along, double* work, double* d_f,
                            double* d_alpha);
/// Weights of the begin and the nodes of a stretch for what is at `c` of its length, or its slope.
void sensitivity_weights(const Collocation* method, double c, int order, double* weight);
/// Rows of the states at time t of the last stretch.
void sensitivity_interpolate(Sensitivity* s, double t, double* rows);
/// `after` becomes the begin of a motion.
void sensitivity_take_over(Sensitivity* s);
/// Value and row of a term; with a trail it is the row to pass through.
bool sensitivity_term(Sensitivity* s, SensitivityWhen when, const ModelTerm* term, double* value,
                      double* row);

/// Rows of initial values that constraints determine (start.c); false: they are not known.
bool sensitivity_start_constrained(Sensitivity* s);

// ---- constraints of the states (project.c) ------------------------------------------------------

bool sensitivity_is_constrained(const ModelMode* mode);
/// The constraints of a point's mode to first order at states `x` with `rows`: `matrix` has a row
/// of the states' columns for each of them, `left` how they move with the rows as they are, `size`
/// that of their terms.
bool sensitivity_constraints(Sensitivity* s, const SensitivityPoint* point, const double* x,
                             const double* rows, double* matrix, double* left, double* size);
/// Let the rows at the end of a stretch, where the states are `x`, keep the constraints.
bool sensitivity_project(Sensitivity* s, const double* x);

// ---- backwards (adjoint.c) ----------------------------------------------------------------------

bool trail_create(Sensitivity* s);
void trail_free(Sensitivity* s);
/// Rows are numbered: a place of one of the points, the time of the instant, one to pass through,
/// what an instant evaluates.
enum { TRAIL_NOW, TRAIL_LOOK, TRAIL_BEFORE, TRAIL_AFTER, TRAIL_SPACES };
uint32_t trail_space(const Sensitivity* s, const SensitivityPoint* point);
uint32_t trail_place(const Sensitivity* s, const SensitivityPoint* point, uint32_t place);
uint32_t trail_time(const Sensitivity* s);
uint32_t trail_scratch(const Sensitivity* s);
uint32_t trail_assigned(const Sensitivity* s, uint32_t i);
/// What becomes of rows, as adjoint.c lists it.
void trail_seed(Sensitivity* s, uint32_t reg, uint32_t parameter);
void trail_zero(Sensitivity* s, uint32_t reg);
void trail_unknown(Sensitivity* s, uint32_t reg);
void trail_copy(Sensitivity* s, const SensitivityPoint* to, const SensitivityPoint* from);
void trail_move(Sensitivity* s, uint32_t to, uint32_t from);
void trail_add(Sensitivity* s, uint32_t to, double factor, uint32_t from);
void trail_flow(Sensitivity* s, const SensitivityPoint* point, double sign, const ModelMode* mode,
                const double* f);
void trail_program(Sensitivity* s, const SensitivityPoint* point, bool timed, const double* x,
                   const double* env);
void trail_term(Sensitivity* s, uint32_t reg, const SensitivityPoint* point, const ModelTerm* term,
                bool timed, const double* env);
void trail_crossing(Sensitivity* s, uint32_t index, double slope, const double* x);
void trail_stretch(Sensitivity* s, const double* x);
void trail_interpolate(Sensitivity* s, const ModelMode* mode, const double* weights);
/// The row is asked for; the number of the mark.
uint32_t trail_mark(Sensitivity* s, uint32_t reg);

// ---- delays (history.c)
// ----------------------------------------------------------------------------

/// Seeds of `width` directions without any rows yet; those of the parameters stand behind `offset`.
ModelSeeds sensitivity_seeds(Sensitivity* s, uint32_t width, uint32_t offset);
ModelHistoryFn sensitivity_history_row;
/// What was before the start, from the rows there.
void sensitivity_history_start(Sensitivity* s);
/// Keep the last stretch; ... and the time of the last instant.
void sensitivity_history_keep(Sensitivity* s);
void sensitivity_history_instant(Sensitivity* s);
/// Row of the time at which a jump at `origin` arrives.
bool sensitivity_arrival_row(Sensitivity* s, uint32_t delay, double origin, double* row);

#endif
