// SPDX-License-Identifier: MIT
//
// Readings of a run and formulas of them, as measure.c reads them from text and run.c takes them.
#ifndef SALTUS_EXPERIMENT_MEASURE_H
#define SALTUS_EXPERIMENT_MEASURE_H

#include "experiment/experiment.h"

#include <math.h>

typedef enum ReadingKind {
  READING_END,
  READING_START,
  READING_AT,
  READING_MAX,
  READING_MIN,
  READING_MEAN,
  READING_RMS,
  READING_INTEGRAL,
  READING_QUANTILE,
  READING_TIME,
  READING_COUNT,
  READING_DURATION,
  READING_CONSTANT,  // a constant of the model
  READING_MEASURE    // a measure before
} ReadingKind;

/// One thing that is read from a run.
typedef struct Reading {
  ReadingKind kind;
  Formula signal;    // over the quantities of the measures; empty for states
  uint32_t* leaves;  // numbers of the quantities that it reads
  uint32_t leaf_count;
  double number;      // time, share, or number of the entry
  double from, to;    // times that it is about; the whole run where none are given
  char* automaton;    // of a state...
  const char* state;  // ...and its name, in the same block
  uint32_t measure;   // READING_MEASURE
} Reading;

struct SltMeasures {
  const SltModel* model;
  SltQuantity* quantities;
  uint32_t quantity_count;
  Reading* readings;
  uint32_t reading_count;
  uint32_t leaf_most;  // quantities that one reading reads
  char** names;
  bool* own;          // the name is not the formula itself
  Formula* formulas;  // over the readings
  uint32_t count;
};

/// Whether a reading needs the motion itself, not only points of it.
static inline bool reading_is_along(ReadingKind kind) {
  return kind >= READING_AT && kind <= READING_QUANTILE;
}

/// Whether a reading is about the motion between two times.
static inline bool reading_has_times(const Reading* reading) {
  return reading_is_along(reading->kind) && reading->to < HUGE_VAL;
}

static inline bool reading_is_of_state(ReadingKind kind) {
  return kind >= READING_TIME && kind <= READING_DURATION;
}

#define TRACK_SPELLING 200
#define TRACK_CYCLE    32  // most records of a cycle: of an impact and what switches with it

/// The sequence of events of a run: after each record a hash of all so far. Times are no part of
/// it.
typedef struct Track {
  double* t;
  uint64_t* hash;
  uint64_t* kind;  // of the record itself
  uint32_t count, capacity;
  uint32_t loose;         // the last ones that are nothing but switches
  uint64_t states;        // of all automata, but for those at the start
  bool failed;            // out of memory
  bool accumulates;       // infinitely many events...
  double t_accumulation;  // ...before this time, the first such one
  char* spelling;         // room for TRACK_SPELLING characters, for people; NULL: nobody reads it
  size_t word;            // where its last word begins, which stands for...
  uint32_t repeats;       // ...so many records
} Track;

void track_clear(Track* track);
/// Hash of the records up to a time.
uint64_t track_at(const Track* track, double t);

typedef struct SlopeRow SlopeRow;

/// Derivatives of readings and measures along a run (slopes.c).
typedef struct Slopes {
  SltSensitivity* run;
  uint32_t count;  // of parameters
  SlopeRow* rows;  // of the readings, of the times their states were entered at, of the measures
  size_t row_count;
  uint32_t marks;  // so many so far, backwards
  double* work;    // one number for each parameter
  double* sizes;   // of the measures: how large what they are made of has been
} Slopes;

/// slt_measures_run() that also tells the sequence of events and derivatives; both may be NULL.
SltStatus measures_follow(const SltMeasures* measures, SltSim* sim, double t_end, double* values,
                          Track* track, Slopes* slopes);
/// What derivatives along a run come to.
typedef struct SlopeRows {
  double* rows;      // a row of the parameters for each measure; NaN where nothing is known
  double* sizes;     // of the measures; may be NULL
  const char** gap;  // what the run did that is not differentiated; may be NULL
  bool adjoint;      // backwards, for many parameters
} SlopeRows;

/// measures_follow() with derivatives by `count` parameters.
SltStatus measures_follow_slopes(const SltMeasures* measures, SltSim* sim, double t_end,
                                 const Parameter* parameters, uint32_t count, double* values,
                                 Track* track, const SlopeRows* out);
/// Sensitivities of a run that is not started yet.
SltStatus parameters_follow(const Parameter* parameters, uint32_t count, SltSim* sim, bool adjoint,
                            SltSensitivity** out);
/// Time after which nothing counts for a measure that has the value given.
double measure_horizon(const SltMeasures* measures, uint32_t measure, const double* values);

/// What a reading has come to so far.
typedef struct ReadingState {
  double value;        // extremum, integral, value; time of entry
  double scale;        // largest magnitude of the signal so far
  double entered;      // into the state, while it lasts; NaN: it is not the present one
  uint64_t entries;    // so far
  bool seen;           // the automaton has had a record
  CurvePiece* pieces;  // of a quantile
  size_t piece_count, piece_capacity;
} ReadingState;

/// A run being measured.
typedef struct Measuring {
  const SltMeasures* measures;
  SltSim* sim;
  ReadingState* states;           // of the readings
  double *values, *weights;       // of the readings when the run is over; their share in a measure
  double *quantities, *partials;  // of a signal: what it reads, and its derivatives by these
  double* courses;                // of what a signal reads: CURVE_POINTS values each
  SltQuantity* wanted;            // ...which is that
  uint32_t reading;               // whose curve is walked
  Track* track;                   // NULL: nobody asks
  Slopes* slopes;                 // NULL: likewise
  SltStatus status;               // of what was last asked of the run
  double t_start, t_end;
  double since, until;  // the present stretch
  bool initial;         // the run has not started yet
  bool along;           // some reading needs the motion itself
  bool stopped;         // the model has ended the run
} Measuring;

/// A run being measured piece by piece: it is started; goes on by a stretch, or with `whole` up to
/// its next event, unless it is over (false); and gives its values.
SltStatus measuring_begin(const SltMeasures* measures, SltSim* sim, double t_end, Track* track,
                          Slopes* slopes, Measuring** out);
bool measuring_go_on(Measuring* m, bool whole);
SltStatus measuring_end(Measuring* m, double* values);

/// What a reading's signal reads, and the signal, at the present point or just before the last
/// instant.
void measuring_read(Measuring* m, const Reading* reading, bool before);
double measuring_signal(Measuring* m, const Reading* reading, bool before);
/// How much of the run so far a reading is about.
double measuring_span(const Measuring* m, const Reading* reading);

/// Look at a point of the present stretch; rounding may have taken a time to its end, which belongs
/// to the instant there.
SltStatus measuring_look(Measuring* m, double t);

/// Room for a run with so many parameters.
SltStatus slopes_create(Slopes* slopes, const SltMeasures* measures, SltSensitivity* run,
                        uint32_t count, bool adjoint);
void slopes_clear(Slopes* slopes);
/// The signal is the value of the reading from here on.
void slopes_take(Measuring* m, uint32_t reading, SltWhen when);
/// Integrals over a stretch, and what the moving time of an instant adds to them; `stops`: the run
/// ends with it.
SltStatus slopes_take_stretch(Measuring* m);
/// Integrals over a part of the present stretch, of what is not smooth or not asked for everywhere.
SltStatus slopes_take_piece(Measuring* m, uint32_t reading, double a, double b);
void slopes_take_jump(Measuring* m, bool stops);
/// A state is entered or left now, by an event or because the run begins or ends.
void slopes_enter(Measuring* m, uint32_t reading, bool event);
void slopes_leave(Measuring* m, uint32_t reading, bool event);
/// Rows of all measures when the run is over and the readings have their values.
void slopes_conclude(Measuring* m);

#endif
