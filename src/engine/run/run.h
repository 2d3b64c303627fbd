// SPDX-License-Identifier: MIT
//
// The run: it composes the rooms, each of which has a header with its struct and its functions.
// Everything that a snapshot must keep is in EngCore, in the block, and in the stepper's storage.
#ifndef SALTUS_ENGINE_RUN_RUN_H
#define SALTUS_ENGINE_RUN_RUN_H

#include "engine/contact/contact.h"
#include "engine/dae/dae.h"
#include "engine/delay/delay.h"
#include "engine/detect/detect.h"
#include "engine/engine.h"
#include "engine/events/events.h"
#include "engine/foreign/foreign.h"
#include "engine/local/local.h"
#include "engine/motion/motion.h"
#include "engine/sliding/sliding.h"
#include "engine/trace/trace.h"
#include "engine/values/values.h"

#include <math.h>
#include <stddef.h>

// For the same bits everywhere the compiler may not know the functions of the C library here, and
// would call them. These three are exact whoever computes them, and stand in every inner loop.
static inline double eng_smaller(double a, double b) {
  return a < b || b != b ? a : b;
}

static inline double eng_larger(double a, double b) {
  return a > b || b != b ? a : b;
}

#undef fabs
#undef fmin
#undef fmax
#define fabs(a)    __builtin_fabs(a)
#define fmin(a, b) eng_smaller(a, b)
#define fmax(a, b) eng_larger(a, b)

#define ENG_STALL_INSTANTS     1000  // this many instants within ENG_STALL_SPAN are an error
#define ENG_STALL_SPAN         1e-9  // of the time since the start, or of the experiment
#define ENG_UNILATERAL_RETRIES 5

/// A part of a trial that is committed when time passes its end.
typedef struct EngSegment {
  double t0, t1;
  bool valid;          // there is a segment and its end is not carried out yet
  bool event;          // its end is an instant
  bool whole;          // its end is the end of the trial
  bool due;            // time events are due at its end
  bool trial_pending;  // the stepper holds a trial that reaches to or beyond t
} EngSegment;

/// Times that are known ahead.
typedef struct EngCalendar {
  double t_linear;     // first crossing of an indicator linear in time, if it may fire something
  double t_passing;    // ... if it cannot, as things are
  bool has_scheduled;  // there has been one
  double t_schedule;   // next firing of an `at`
  double t_last;       // last crossing of indicators of time alone; NaN: there are others
} EngCalendar;

/// Instants that follow each other without progress.
typedef struct EngStall {
  double t;  // of the oldest of the recent instants
  uint32_t count;
  double last;  // time of the last instant, whether or not it fired anything
} EngStall;

typedef struct EngCounts {
  uint32_t modes;
  uint64_t undecided;  // indicators whose certification ran out of budget, per step
  uint64_t instants, records, silent, not_certified, guard_evaluations;
  uint64_t by_class[5];
} EngCounts;

/// Plain data of a run: what a snapshot keeps beside the block and the stepper's storage.
typedef struct EngCore {
  double t;  // current time, inside the segment
  EngSegment segment;
  EngCalendar calendar;
  bool started, ended, failed;
  bool stop_wanted;  // a state or `at` of this instant stops the run
  bool touched;      // values were written from outside: an instant is due
  bool leaves;       // a relation at its boundary was judged as it is written: the flow is asked
  bool full_stale;   // the environment holds states of time t, but not yet what follows from them
  double mesh_t;     // time of the last mesh point: committed step end or instant
  double t_event;    // time of the crossings found
  EngStep step;
  EngStall stall;
  EngMargins margins;
  EngCounts counts;
  EngSlide slide;       // motion along surfaces; count 0: none
  EngContacts contact;  // closed ones
  EngDwell dwell;
  EngSlideExit exit;
  uint64_t changes;  // values changed by actions so far
  EngAudit audit;
  EngPruned pruned;
  EngLocalMotion local;
  struct {  // of EngSim, in snapshots only
    uint32_t crossing_count;
    uint32_t value_switch_count;
    bool has_unilateral;
  } saved;
  const ModelMode* mode;
  const ModelMode* mode_before;
  ModelRandom random;
  EngChoice choice;
} EngCore;

/// How fast time goes on (creep.c).
typedef struct EngCreep {
  uint64_t count;        // steps and events so far
  uint64_t begin, next;  // of the present window
  double t;              // where it began
  double covered;        // by the window before
  uint64_t instants;     // at its begin
  uint32_t falls;        // windows in a row that covered hardly more than the one before
} EngCreep;

/// What was said about a mode, once for each.
enum { ENG_WARNED_HELD = 1, ENG_WARNED_LEAST = 2, ENG_WARNED_SMALL = 4 };

/// Whom the run speaks to, and what it has said.
typedef struct EngReport {
  struct EngTrace* trace;
  const EngObserver* observer;  // NULL: nobody
  EngListeners to;
  EngCreep creep;
  uint8_t* warned;            // per mode: ENG_WARNED_...
  char checkpoint_text[200];  // why a checkpoint does not fit
} EngReport;

/// Memory of a run: one block, laid out by the model, and the stepper's.
typedef struct EngStorage {
  char* block;
  size_t size;
  void* stepper;
  size_t stepper_size;
} EngStorage;

/// What was counted on request (costs.c).
typedef struct EngCosts {
  bool on;
  uint64_t* relations;  // per relation: steps over which it was followed
  uint64_t* states;     // per place of the environment: steps that its error decided about
} EngCosts;

struct EngSim {
  EngCore core;
  const Model* model;
  ModelProvider provider;
  EngOptions options;  // its allocator is that of...
  BaseOwner memory;    // ... all blocks of the run
  EngStorage storage;

  // what every room reads
  double* env;      // present values, then those before the present round (pre)
  double* x;        // states of the present mode, gathered
  uint32_t* state;  // per automaton
  EngAtom* atoms;   // event indicators
  NumStepper* stepper;

  // rooms
  EngValues values;
  EngPrograms programs;
  EngModeList known;
  EngScales scales;
  EngMethods motion;
  EngStiff stiff;
  EngDetection detect;
  EngProof proof;
  EngPruning pruning;
  EngActiveSet active;
  Events events;
  EngInstant instant;
  EngDae dae;
  EngProbe probe;
  EngSliding sliding;
  EngContactRoom contact;
  struct EngLocal* local;  // NULL in models of few automata
  EngLocalTrial waiting;
  EngHistory history;
  EngForeign* foreign;  // blocks that are computed elsewhere; NULL in models without them
  EngReport report;
  EngCosts costs;
  EngError error;
};

// ---- run.c --------------------------------------------------------------------------------------

/// An instant at the present time, and how the integration goes on from there.
SltStatus eng_instant_here(EngSim* sim, EngInstantKind kind, bool* fired);
/// At the start, and where values were set, relations at their boundaries hold as they are written.
/// Where the flow takes them off at once, the event is at the same time: `if(time <= 0, 7, 1)` is 7
/// at the start and 1 from there on.
SltStatus eng_leave_boundaries(EngSim* sim, bool* fired);

// ---- costs.c ------------------------------------------------------------------------------------

/// The step that was just accepted: the state with the largest error.
void eng_costs_step(EngSim* sim) __attribute__((cold));

// ---- creep.c ------------------------------------------------------------------------------------

/// Compare the window of steps that is over with the one before, and warn of a run that creeps.
void eng_creep_look(EngSim* sim) __attribute__((cold));

// ---- checkpoint.c -------------------------------------------------------------------------------

/// The equations of a product mode from the provider, and a note of it.
SltStatus eng_get_mode(EngSim* sim, const uint32_t* states, const ModelMode** out,
                       const Diag** failure);
/// Go back to a snapshot whose plain data have been made valid in `core`.
SltStatus eng_snapshot_take(EngSim* sim, const EngCore* core, const char* snapshot, size_t size);

// ---- error.c ------------------------------------------------------------------------------------

/// What made a value infinite, or no number, as far as it is known: the place to show, and words to
/// put behind the message.
typedef struct EngCulprit {
  Span span;
  char text[160];  // ": `1/x` is Inf", or empty
} EngCulprit;

EngCulprit eng_culprit(EngSim* sim, double t, const Span* otherwise);

/// Note a failure; returns `status`. Formats take text only: numbers through eng_number.
SltStatus eng_fail(EngSim* sim, SltStatus status, DiagCode code, const Span* span,
                   const char* format, ...) __attribute__((cold, format(printf, 5, 6)));
/// The error of a run that has asked for memory and not got it: whatever went on without it is not
/// what was asked for.
SltStatus eng_memory_check_slow(EngSim* sim) __attribute__((cold));
SltStatus eng_hint(EngSim* sim, const char* text, ...) __attribute__((cold, format(printf, 2, 3)));
/// Tell whoever listens to warnings.
void eng_warn(EngSim* sim, DiagCode code, Span span, const char* format, ...)
    __attribute__((cold, format(printf, 4, 5)));

typedef struct EngNumber {
  char text[NUMBER_TEXT_MAX];
} EngNumber;
EngNumber eng_number(double value) __attribute__((cold));
/// So many significant digits, for people.
double eng_rounded(double value, double digits);
/// Six significant digits, for people.
EngNumber eng_short(double value) __attribute__((cold));

#define ENG_NAMED        5u  // variables of a list whose names are told
#define ENG_NAMES_LENGTH 500

/// Variables that a message tells of: the first ones in the order of the text, and how many.
typedef struct EngNames {
  const ModelVar* first[ENG_NAMED];
  uint32_t count;
} EngNames;

void eng_names_add(EngNames* list, const ModelVar* var);
/// 'a', 'b' and 3 more
void eng_names_text(const EngNames* list, char text[ENG_NAMES_LENGTH]);
/// "main=fly, valve=open": the visible automata; into `out`.
void eng_describe_mode(const EngSim* sim, const uint32_t* state, char* out, size_t capacity)
    __attribute__((cold));

#include "engine/run/gates.h"

#endif
