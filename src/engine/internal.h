// SPDX-License-Identifier: MIT
//
// The run as the files of the engine see it. Everything that a snapshot must keep is in EngCore,
// in the arrays of the block behind it, and in the stepper's storage.
#ifndef SALTUS_ENGINE_INTERNAL_H
#define SALTUS_ENGINE_INTERNAL_H

#include "engine/contact/contact.h"
#include "engine/dae/dae.h"
#include "engine/engine.h"
#include "engine/events/events.h"
#include "engine/sliding/sliding.h"

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
#define ENG_EXPLICIT_METHOD    "dp54"   // what `auto` begins with
#define ENG_STIFF_METHOD       "rodas"  // ... and changes to where that pays
#define ENG_SMALL_METHOD       "bs32"   // ... and to where events limit the steps

/// What an event indicator is like, as far as few of them are.
typedef struct EngAtomKind {
  bool separates : 1;  // both sides may have modes of their own, reached without resets
  bool pulse : 1;      // of the model: read on candidates with pulses
  bool windowed : 1;   // eps follows the scale of g
  bool kink : 1;       // ... what it switches is continuous there
  bool piece : 1;      // of the model: bounds a piece of floor or of a table
  bool constant : 1;   // at its boundary as long as the equations hold: not followed
} EngAtomKind;

/// How its truth came about, and what it has to do with surfaces and contacts.
typedef struct EngAtomMarks {
  bool held : 1;        // truth decided by the flow around it, until an action changes something
  bool by_flow : 1;     // at its boundary, and holds because the flow leads that way
  bool leads : 1;       // stands for the surface
  bool slid : 1;        // `sliding` before the present instant
  bool led : 1;         // `leads` then
  bool left_now : 1;    // belongs to a surface left in this instant
  bool rides : 1;       // at its boundary as long as the contact is closed
  bool tangential : 1;  // a constraint along its boundary was released in this instant
} EngAtomMarks;

/// At the mesh point before.
typedef struct EngAtomPrevious {
  double h;     // distance of the last two mesh points; 0 when there is only one
  double gdot;  // at the mesh point before
} EngAtomPrevious;

/// What was said about it.
typedef struct EngAtomWarned {
  bool grazing : 1;   // of a grazing contact
  bool escaping : 1;  // of a point where the motion could go either way
} EngAtomWarned;

/// Rounding of g at control points...
typedef struct EngAtomMargin {
  double size;   // rounding of g at control points...
  uint64_t key;  // ...for sizes and a way to compute it that this stands for
} EngAtomMargin;

/// What a run knows about one atom of the model. What every pass over all of them reads and writes
/// comes first, and fits into one line of the cache. (Flags that are written often are bytes: bits
/// of one word would wait for each other.)
typedef struct EngAtom {
  double g, gdot;    // at the last mesh point of the present mode
  double g_start;    // at the start of the instant: tells whether an action touched it
  double eps;        // window that somebody asked for; 0: none
  double zone;       // |g| beyond which it is clear of its last crossing
  uint32_t env;      // of the model: place of its truth
  uint8_t relation;  // ... ModelRelation
  bool literal;      // ... g is looked at in instants alone
  bool bipolar;      // ... somebody waits for its becoming false
  bool end_truth;    // at the end of the trial, as far as it was followed
  bool end_armed;
  bool end_known;
  bool crosses;         // ... and before that it crosses: the crossing is in sim->crossings
  bool truth;           // latched
  bool armed;           // false while it lingers in the eps zone of its last crossing
  bool clear;           // has been outside its eps zone since the last instant
  bool in_zone;         // came from outside and is inside the eps zone at the last mesh point
  bool located;         // crossing found now: truth holds whatever the sign of g
  bool located_truth;   // which way it crossed
  bool fresh;           // became relevant in this instant
  bool relevant_start;  // belonged to the mode at the start of the instant
  bool surface;         // at zero in this instant: the motion may go on along it
  bool sliding;         // belongs to a surface that is slid along
  bool undecided;       // could not be decided in the last step
  EngAtomKind kind;
  EngAtomMarks marks;
  EngAtomPrevious previous;
  EngAtomWarned warned;
  double t_linear;  // g is linear in time and crosses then; INFINITY for none
  EngAtomMargin margin;
  double gamma;
  uint32_t held_changes;  // count of changes, its lower half, when it was held in this instant
} EngAtom;

_Static_assert(offsetof(EngAtom, previous) == 64, "what every pass reads is one line of the cache");

/// State changes of an automaton that follow each other without progress.
typedef struct EngChatter {
  uint32_t count;
  double last;           // time of the last change
  double interval;       // from the one before
  double begun;          // of the first while
  double until, length;  // while it dwells: how long it keeps its state
  bool moved;            // has changed before
  bool dwelling;
  bool released;  // has just stopped dwelling
  bool warned;
} EngChatter;

/// What a run knows about one transition.
typedef struct EngTransition {
  bool fired_now;   // in the present instant
  bool edge_seen;   // a self loop: guard was true when last looked at
  bool taken;       // a self loop: fired in this instant and guard not seen false since
  bool exits;       // waits for an accumulation, which is now
  bool closed;      // an impact whose contact is closed
  bool order_told;  // that the order of its automaton and others matters
} EngTransition;

/// One `at` of the model.
typedef struct EngSchedule {
  double start, period, next;
  int64_t fired;  // number of firings so far; firing k is at start + k*period
  bool active;
} EngSchedule;

/// A crossing on the dense output of the trial step.
typedef struct EngCrossing {
  uint32_t index;  // of the atom in the mode's list
  double t;        // where the event is placed
  double lo, hi;   // bracket
  double slope;
  bool rising;
  bool certified;  // proved to be the first
  double bend;     // second derivative of g away from where it goes; 0: it does not turn round
  bool look;       // no crossing yet: a time by which it has to be looked at once more
} EngCrossing;

typedef enum EngShape {
  ENG_SHAPE_RISES,
  ENG_SHAPE_FALLS,
  ENG_SHAPE_VALLEY,  // falls, turns once and rises
  ENG_SHAPE_PEAK,    // the other way round
  ENG_SHAPE_OTHER
} EngShape;

/// A polynomial of the present mode along the trial.
typedef struct EngForm {
  uint64_t stamp;  // of the control points it was made from
  bool good;
  EngShape shape;
  double lo, hi;   // its values are between these
  double turn;     // of a valley or a peak: share of the step...
  double at_turn;  // ...value there...
  double bend;     // ...and second derivative
  ModelForm form;
} EngForm;

/// An atom whose g is a function of a polynomial, for inputs as they are: where that rises or
/// falls, and where it is zero.
typedef struct EngLevel {
  uint64_t epoch;  // of the inputs
  double lo, hi;   // arguments over which g only rises (`sense` 1) or falls (-1); lo > hi: none
  double sense;
  double steepest;  // largest slope there
  bool located;     // the zero has been looked for
  double value;     // NaN: none was found
  double slope;     // magnitude of the slope of g there
} EngLevel;

/// What stiff methods know of a mode.
typedef struct EngStiffMode {
  const ModelStiff* stiff;
  NumLinear* linear;
  NumLinear* full;  // for motion that combines this mode with others
  NumMultistep *past, *full_past;
} EngStiffMode;

typedef struct EngStiff {
  EngStiffMode* modes;  // by id of the mode
  size_t mode_capacity;
  const ModelStiff* present;
  double *regs, *stage_regs, *jacobian_regs;  // of the present mode; the others lie in `regs`
  size_t reg_capacity;
  double* work;
  size_t work_capacity;
  bool ready;  // the stepper's system belongs to the present motion and its values
} EngStiff;

/// What was said about a mode, once for each.
enum { ENG_TOLD_HELD = 1, ENG_TOLD_LEAST = 2 };

/// The energy that the model declares.
typedef struct EngAudit {
  double start;
  double before, now;     // before and after the last instant
  double motion, events;  // what changed it so far
  double gained;          // sum of what events created
  double largest;
  bool warned;
} EngAudit;

#define ENG_SLOTS         8     // modes whose registers are kept, the first of them for all others
#define ENG_SLOT_AUTOMATA 8     // ... in models of so many automata
#define ENG_SLOT_REGS     2048  // ... and for so many registers

/// What the atoms of a mode are like: see `has_...` in EngSim.
typedef struct EngAtomTraits {
  bool known;
  bool linear, time_only, extrapolates, unilateral;
} EngAtomTraits;

/// Registers of a mode, with its constants in them when it is entered again.
typedef struct EngSlot {
  const ModelMode* mode;               // NULL: free
  uint32_t states[ENG_SLOT_AUTOMATA];  // of the automata, in the mode
  bool bound;                          // constants are in place
  bool inputs_stand, only_states;      // see EngSim
  bool leaves_zero;                    // some variable is zero while the mode lasts
  bool tuned;                          // its programs have the code they will have
  EngAtomTraits traits;
  bool has_bounds;
  double* regs;
  ModelDual* dual_regs;
  double* block_regs;
  size_t reg_capacity, dual_capacity, block_capacity;
} EngSlot;

/// A crossing that waits for its time.
typedef struct EngWaiting {
  double t;
  uint32_t atom;
} EngWaiting;

/// A relation close to its boundary, and what was shared when it was last followed.
typedef struct EngImminent {
  uint32_t atom;
  double c[5];
} EngImminent;

#define ENG_LOCAL_IMMINENT 256
#define ENG_LOCAL_AUTOMATA 17  // models of so many automata can have local events (local/)
#define ENG_LOCAL_WIDE     4   // states read by many, in one trial

enum { ENG_GIVEN_SET = 1, ENG_GIVEN_GUESS = 2 };

/// Which method is in use, and why.
typedef struct EngChoice {
  uint64_t steps_seen;   // steps of the stepper when it was last looked at
  uint32_t stiff_steps;  // successive steps that stability has limited
  bool easy;             // an explicit method could have made the last trial of a stiff one
  uint32_t easy_steps;   // successive steps of such trials
  uint32_t patience;     // stiff_steps after which a stiff method takes over; grows where that
                         // did not pay
  uint64_t steps_then;   // steps when it did
  uint32_t switches;
  double t_first, t_last;  // times of the first and the last switch
  bool no_jacobian;        // a stiff method was tried and is not possible here
  // pair.c; a flight is the motion from one instant to the next
  uint64_t flights, flights_then;  // so far; when the smaller pair came into use
  uint64_t flight_began;           // trials before the present flight
  uint32_t short_flights;          // successive ones that the smaller pair could have made
  uint32_t pair_patience;          // short_flights after which it does
  uint32_t pair_switches;
  double t_pair;  // time of the first
} EngChoice;

/// Modes of a run in the order in which they were first asked for, with the states that led there.
typedef struct EngModeList {
  const ModelMode** modes;
  uint32_t* states;  // automaton_count each
  uint32_t count;
  size_t capacity, state_capacity;
  uint32_t* slots;  // hash of the mode -> place + 1; a power of two
  size_t slot_count;
} EngModeList;

/// What a variable was, as far as it is read with a delay (past.c). The pieces that count are those
/// from `begin` to `end`.
typedef struct EngPast {
  ModelPast view;  // those that may be read now
  ModelPiece* pieces;
  uint32_t begin, end, capacity;
  uint32_t next_jump, next_break;  // pieces whose begin has not arrived yet; UINT32_MAX for none
  uint32_t mark;                   // level of what may jump where the next piece begins
  double delay;
  double t;  // known up to here
} EngPast;

#define ENG_PACES 16  // modes whose first step is remembered; a power of two

/// How a motion that begins anew in a mode went last time.
typedef struct EngPace {
  uint64_t mode;  // eng_mode_key(); 0: nothing is known
  double h;       // step size that its first step proposed
} EngPace;

/// Plain data of a run.
typedef struct EngCore {
  double t;            // current time, inside the segment
  double seg_t0;       // segment: from...
  double seg_t1;       // ...to
  bool seg_valid;      // there is a segment and its end is not carried out yet
  bool seg_event;      // its end is an instant
  bool seg_whole;      // its end is the end of the trial
  bool trial_pending;  // the stepper holds a trial that reaches to or beyond t
  bool seg_due;        // time events are due at its end
  bool started, ended, failed;
  bool stop_wanted;    // a state or `at` of this instant stops the run
  bool touched;        // values were written from outside: an instant is due
  bool leaves;         // a relation at its boundary was judged as it is written: the flow is asked
  bool full_stale;     // the environment holds states of time t, but not yet what follows from them
  double mesh_t;       // time of the last mesh point: committed step end or instant
  double t_linear;     // first crossing of an atom that is linear in time, if it may fire something
  double t_passing;    // ... if it cannot, as things are
  bool has_scheduled;  // there has been one
  double t_schedule;   // next firing of an `at`
  double t_event;      // time of the crossings found
  double instant_t;    // time of the last instant that fired
  double first_bound;  // of the first step after it
  EngPace paces[ENG_PACES];
  uint32_t pace;      // place of the present mode among them
  bool pace_open;     // the first step since the motion began anew is not made yet
  bool drifts;        // the equations have no values at the present point: go on along `tangent`
  double attraction;  // to surfaces slid along and closed contacts, 1/time; 0: not chosen yet
  double covered;     // step for which the scales of held states are known
  double idle_step;   // the last one in a mode without states, since the last instant
  double stall_t;     // time of the oldest of the recent instants
  uint32_t stall_count;
  double last_t;          // time of the last instant, whether or not it fired anything
  bool margin_stale;      // margins have to be computed anew before they are used
  uint32_t margin_epoch;  // counts changes of the sizes they are made for
  double margin_t;        // time among these: they hold up to twice of it
  uint64_t level_epoch;   // counts changes of the inputs of g
  uint32_t modes_seen;
  uint64_t undecided;  // atoms whose certification ran out of budget, per step
  uint64_t instants, records, silent, not_certified, guard_evaluations;
  uint64_t by_class[5];
  EngSlide slide;       // motion along surfaces; count 0: none
  EngContacts contact;  // closed ones
  bool dwelling;        // some automaton keeps its state for a while...
  double dwell_until;   // ...and the first one until then
  bool exit_pending;    // the segment ends because a surface is left...
  uint32_t exit_surface;
  bool exit_above;   // ...to the side where its g is positive
  uint64_t changes;  // values changed by actions so far
  EngAudit audit;

  bool far_lazy;        // on the pending trial relations far from zero were passed over...
  uint32_t near_count;  // ...and those followed are in `near`
  bool far_stale;       // g and slope of relations are not kept at mesh points: see eng_far_show
  bool ends_marked;     // marks of atoms (end_known) are set

  bool local;            // the crossings of the present trial wait in local_heap
  bool local_prepared;   // the run is ready for local events
  bool local_stale;      // states and computed values in the environment are not those of time t
  bool local_doubt;      // one of them is not proved
  double local_reach;    // of what is shared, on the present trial; 0: nothing is
  double local_most;     // ... for which the weights were tested; 0: not possible
  double local_bend;     // second order of it per unit of time, in tolerances
  double local_steady;   // ... for which weights that move over the trial may stand for means
  double local_base[5];  // the shared state on the trial as it was made
  uint32_t local_imminent_count;
  bool local_crowded;  // ... and there are more than can be followed
  bool local_marked;   // something is known of atoms (local_mark)
  bool local_lazy;     // ... and atoms far from their boundary were passed over
  bool local_margins;  // margins are those of the begin of the trial, and inputs of g are the same
  uint32_t local_near_count;
  uint32_t local_count;           // of the heap
  uint32_t local_automaton;       // of the last local event
  double local_spent;             // error, in tolerances, of what reads the states in wide_state
  double local_error;             // of local integrations on the present trial, for its length
  double local_bound;             // of the step, so that it is not spent too soon; 0: none
  double local_t, local_spacing;  // time of the last local event, mean distance of recent ones
  uint32_t wide_state[ENG_LOCAL_WIDE];
  double wide_rate[ENG_LOCAL_WIDE];
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

struct EngSim {
  EngCore core;
  const Model* model;
  ModelProvider provider;
  EngOptions options;         // its allocator is that of...
  BaseOwner memory;           // ... all blocks of the run
  ModelContext context;       // of programs in instants...
  ModelContext flow_context;  // ...and of right-hand sides, which draw no random numbers
  // what `auto` chooses from
  const NumMethod *explicit_method, *small_method, *stiff_method;

  // one block, offsets from the model's layout
  char* block;
  size_t block_size;
  double* env;            // present values, then those before the present round (pre)
  double* before;         // values before the last instant
  double* guess;          // per environment entry: where Newton's method starts from
  double* env_nominal;    // nominal of each variable's entries; NULL where all are 1
  double* scale;          // per environment entry: largest magnitude so far (scale.c)
  uint32_t* scale_of;     // ... which entry stands for it; NULL: it does itself
  uint32_t* scale_first;  // ... the first state of the present mode for which that one stands
  uint32_t* state_scale;  // per state of the stepper: the entry that has its scale
  uint32_t* family;       // ... first state of its family
  uint64_t scale_epoch;   // of the stepper's scales when they were last taken over
  ModelDual* rate_duals;  // registers, states and rates to bound the rounding of rates with
  size_t rate_dual_capacity;
  double* params_given;  // overrides, NaN for none
  double* starts_given;  // the same for initial values; NULL: none is overridden
  double* x;             // states of the present mode, gathered
  uint32_t* active;      // atoms that matter at present: places in the mode's list, ascending
  uint32_t active_count;
  bool active_stale;  // marks of the atoms (`relevant`) have changed since it was made
  uint32_t* loose;    // those of them that are not slid along...
  uint32_t loose_count;
  bool loose_stale;   // ... as they were when this was made; see eng_loose()
  uint32_t* stirred;  // automata that follow no surface slid along...
  uint32_t stirred_count;
  bool stirred_stale;   // ... likewise; see eng_stirred()
  bool narrow;          // the present instant looks at these alone: sliding/active_set.c
  EngSlide kept;        // ... and this is the motion along surfaces, as far as it has been changed
  bool end_known;       // end_g and end_gdot hold for the whole of the present trial
  uint8_t* relevant;    // per atom: work space of eng_relevant_atoms
  uint8_t* live;        // per atom: it belongs to the present mode
  uint8_t* live_round;  // ... to that at the start of the round
  double* g;            // per atom of the mode
  double* gdot;
  double* g_zero;  // at time 0, for atoms in time alone
  double* end_g;   // at the end of the trial
  double* end_gdot;
  double* full;     // outputs of the mode's full program
  double* tangent;  // per state: how it moved before the last instant
  double* scratch;  // registers for programs of the tables
  uint32_t* state;  // per automaton
  uint32_t* state_before;
  EngAtom* atoms;
  EngTransition* transitions;
  EngAccumulation* accumulations;  // per transition
  EngChatter* chatter;             // per automaton
  EngSchedule* schedules;
  uint8_t* env_computed;   // per environment entry: computed by equations in the present mode
  uint8_t* env_is_truth;   // ... the truth of an atom
  EngCrossing* crossings;  // found on the present trial
  uint32_t crossing_count;
  Events events;

  void* stepper_storage;
  size_t stepper_size;
  NumStepper* stepper;
  uint32_t n_max;
  uint32_t var_begin, var_end;  // values of all variables, in the environment
  uint32_t moving;              // ... and the first entry that is no constant

  // registers of the present mode's programs; grow between steps
  EngSlot slots[ENG_SLOTS];
  EngSlot* slot;
  bool inputs_stand;  // nothing but an instant changes the inputs of the present mode's programs
  double* regs;
  double *rhs_regs, *full_regs, *g_regs, *g_flow_regs, *gdot_regs;
  uint32_t *gate_begin, *gates;  // per automaton: its states; for each of them the truth without
                                 // which nothing is enabled, MODEL_NONE where it is not just one
  bool has_invariants;
  uint32_t* entered_state;  // per automaton: states for which the present mode was fetched
  const ModelMode* bound;   // whose constants are in them; NULL for none
  bool searching;           // crossings are looked for: nobody but...
  double dense_t;           // ...this search writes `x`, last with the dense output at this time
  double sampled_t;         // time of the pending trial for which the environment holds the values
  bool sampled;             // ... if it does
  bool entered;             // the present mode was fetched for entered_state
  bool only_states;         // no variable of the present mode is computed but derivatives of states
  bool in_instant;      // an instant is being carried out: pre(x) is what it was before the round
  bool has_unilateral;  // the present mode has such an atom
  bool has_auxiliary;   // the model has noEvent atoms
  bool has_windows;     // ... atoms whose eps follows the scale of g
  bool has_pre;         // some relation reads pre(x)
  bool extrapolates;    // some relation of the present mode bounds the step by extrapolation
  bool has_linear;      // some relation of the present mode may be linear in time...
  bool has_time_only;   // ... or read nothing else
  bool has_separating;  // some relation has modes of their own on both sides (EngAtom)
  bool has_self_loops;  // some transition leads back to its state
  bool g_stands;        // g and its slope are those of the instant that begins

  // enclosures and control points for certified detection; same growth
  ModelDual* dual_regs;
  double* block_regs;
  ModelDual* x_dual;   // per state
  ModelDual* g_dual;   // per atom of the mode
  double* control_x;   // control points of the dense output, MODEL_LANES per state: the
                       // registers of the states in block_regs
  double* control_g;   // g there, MODEL_LANES per atom of the mode
  ModelDual* g_whole;  // per atom of the mode: enclosure over the part of the step looked at
  EngForm* forms;      // per polynomial of the mode
  size_t form_capacity;
  uint64_t control_stamp;  // counts changes of the control points
  EngLevel* levels;        // per atom of the mode
  double* margin;          // per atom of the mode: rounding of g at control points
  double* margin_x;        // per state: size for which `margin` holds, up to twice of it
  double* margin_size;     // the same per environment entry, whatever the mode

  // relations in blocks (far.c)
  bool has_bounds;            // the present mode's relations can be bounded in blocks
  double t_stop;              // up to which the motion is asked for
  double *x_lo, *x_hi;        // bounds of the states over what is looked at
  ModelInterval* bound_room;  // work space for it
  size_t bound_capacity;
  double* fence;      // per atom of the mode: how far from zero it has to stay to be passed over
  bool fences_stale;  // truths, arming, margins have changed since they were made
  uint32_t* near;     // atoms that are followed on the present trial, ascending

  // modes around a point on a surface
  uint32_t* side_work;
  uint32_t* state_settled;
  double* side_f;  // work space: three flows
  double* probe_x;
  double* side_g;
  double* side_probe;
  EngSliding sliding;

  bool has_instead;          // there are transitions in place of the last event of an accumulation
  uint32_t zeno_automaton;   // first whose transitions at an accumulation are enabled; MODEL_NONE
  bool contact_holds;        // a contact was closed when the present instant began, and stays so
  uint32_t accumulating;     // transition whose firings do in this instant; MODEL_NONE...
  bool accumulating_impact;  // ... and whether it is an impact
  bool was_sliding;          // when the present instant began
  uint64_t changes_start;    // core.changes then
  bool at_start;             // it is the first of the run
  bool slide_decided;        // the flow around the surfaces says how to go on in the present mode
  double* side_g_regs;
  size_t side_g_capacity;
  EngContact* contacts;            // those that are closed
  uint32_t impact_count;           // transitions that could close one
  double* contact_direction;       // per action: how the reaction of its impact's contact acts
  struct EngContactWork* contact;  // NULL as long as none is closed

  // evaluations of the right-hand side when the provider was last asked for faster code, and when
  // it is to be asked again
  uint64_t tune_seen, tune_at;

  // local events; NULL in models of few automata
  struct EngLocal* local;
  EngWaiting* local_heap;
  uint32_t local_capacity;
  EngCrossing* local_crossing;  // per atom: its next one
  uint8_t* local_waits;         // per atom: there is one
  uint8_t* local_mark;          // per atom: what is known of it (local.h)
  uint32_t* local_near;         // atoms that are followed on the present trial
  double* local_g;              // per atom: g at the begin of the trial
  double* local_weight;  // per state: what a unit of the shared state does to it in unit time
  EngImminent* local_imminent;  // relations that follow what is shared closely
  double* local_drift;          // per state: error from what it reads, in tolerances

  EngModeList known;
  char checkpoint_text[200];  // why a checkpoint does not fit

  // the past; NULL in models without delays
  const ModelTable* tables;  // what programs look up: those of the model, or past_tables
  ModelTable* past_tables;
  EngPast* pasts;        // per delay of the model
  double* past_samples;  // work space
  double past_shortest;  // delay
  bool past_arrived;     // something of it arrives in this instant

  EngDae dae;
  EngStiff stiff;
  char method_reason[200];
  uint8_t* given;  // per environment entry: set or guessed by the actions of this candidate

  struct EngTrace* trace;
  bool trace_lost;  // a record of the present instant is not whole: no memory
  Str stop_text;
  Span stop_span;

  const EngObserver* observer;  // NULL: nobody
  EngEventFn* on_event;
  void* event_user;
  EngCancelFn* on_step;
  void* step_user;
  EngWarningFn* on_warning;
  void* warning_user;
  bool warned_of_values;  // that something has none
  EngCreep creep;
  uint8_t* told;  // per mode: ENG_TOLD_...
  size_t told_capacity;
  EngError error;
};

// ---- values.c: environment, programs, modes -----------------------------------------------------

/// What programs need besides registers.
static inline const ModelContext* eng_context(const EngSim* sim) {
  return &sim->context;
}
/// Run a one-output program of the tables on the present environment.
double eng_eval(EngSim* sim, const ModelTerm* term);
/// Guard's truth on the present environment.
bool eng_guard(EngSim* sim, const ModelGuard* guard);
SltStatus eng_init_values(EngSim* sim);
/// Give a constant another value during the run, and those computed from it theirs; nothing is
/// changed where that is not possible.
SltStatus eng_replace_param(EngSim* sim, uint32_t param, double value);
/// The same from outside, from the present time on (run.c).
SltStatus eng_change_param(EngSim* sim, uint32_t param, double value);
/// The initial values alone, once more.
SltStatus eng_start_values(EngSim* sim);
double eng_start_value(EngSim* sim, const ModelStart* start);
/// Fetch the compiled equations of sim->state, make room, bind, gather states, evaluate.
SltStatus eng_enter_mode(EngSim* sim);
/// Compare the window of steps that is over with the one before, and warn of a run that creeps.
void eng_creep_look(EngSim* sim) __attribute__((cold));
/// Place of the state whose value is farthest from standing still, as tolerances see it.
uint32_t eng_fastest_state(const EngSim* sim);

/// Make the registers of core.mode ready again after a snapshot was restored.
SltStatus eng_rebind_mode(EngSim* sim);
/// Bind the mode's programs anew after the environment changed, and gather the states.
void eng_bind(EngSim* sim);
/// The same where nothing but states and truths has changed since.
void eng_bind_states(EngSim* sim);
/// The same after an instant, which has looked after the margins.
void eng_bind_again(EngSim* sim);
/// Algebraic values and derivatives into the environment, from sim->x at time t.
void eng_evaluate_full(EngSim* sim, double t);
/// The same at the present time for somebody who looks at the values. Inside a step, equations
/// whose root has moved too far for the guess from the step's beginning get one from its end.
void eng_evaluate_row(EngSim* sim);
/// A warning, the first time that a value in the environment is not finite.
void eng_warn_of_values(EngSim* sim);
/// Values at time t of the pending trial into the environment (states, then eng_evaluate_full).
void eng_sample(EngSim* sim, double t);
/// The states at the end of the trial, explicit mode; needs no dense output.
void eng_take_trial_end(EngSim* sim);
/// The states alone: core.full_stale tells that the rest is missing.
void eng_sample_states(EngSim* sim, double t);
/// g and gdot for the atoms in `loose` at least.
void eng_evaluate_loose_now(EngSim* sim, double t, bool with_slope);
/// Room for `need` elements; what was there is kept.
/// Whether something is to be said about the present mode for the first time.
bool eng_tell_once(EngSim* sim, uint8_t what);
SltStatus eng_grow(EngSim* sim, void** data, size_t* capacity, size_t need, size_t size);
SltStatus eng_rhs(void* user, double t, const double* x, double* dx);
/// Before a trial: whether compiled code computes all its stages at once.
void eng_choose_stages(EngSim* sim);
/// Neither NaN nor infinite, any of them; without a branch per value.
bool eng_all_finite(const double* values, size_t n);
/// Name of a quantity whose derivative or value is not finite in the environment; NULL if none.
const ModelVar* eng_not_finite(const EngSim* sim, bool* derivative);
/// The variable that a place of the environment belongs to, and the order of derivative there.
const ModelVar* eng_var_at(const EngSim* sim, uint32_t env, uint32_t* order);
/// Make `states` the present ones for everything that reads the environment.
void eng_publish_states(EngSim* sim, const uint32_t* states);
/// The same for one automaton.
void eng_publish_move(EngSim* sim, uint32_t automaton, uint32_t state);
/// Truths of "automaton is in state" and entry times into the environment.
void eng_publish_state(EngSim* sim, uint32_t automaton, double t);

// ---- atoms.c: truth and arming ------------------------------------------------------------------

/// Place of an atom in the list of a mode; MODEL_NONE where it does not matter.
uint32_t eng_atom_place(const ModelMode* mode, uint32_t atom);
/// Mark the atoms (per atom, 1) that matter in `mode` with the automata in sim->state.
void eng_relevant_atoms(const EngSim* sim, const ModelMode* mode, uint8_t* relevant);
/// Find the atoms of the present mode that matter: sim->active.
void eng_find_active(EngSim* sim);
/// The atoms among them that are followed while time flows: places in the mode's list, ascending.
const uint32_t* eng_loose_now(EngSim* sim, uint32_t* count);
/// Facts about the atoms that never change.
void eng_atoms_init(EngSim* sim);
/// Mark which atoms belong to the present mode; new ones are fresh.
void eng_atoms_enter_mode(EngSim* sim);
/// Truths from the present values by the rules of an instant; into the environment too.
void eng_atoms_update(EngSim* sim);
/// The same where g and gdot are those of the present values already.
void eng_atoms_judge(EngSim* sim);
/// ... for one atom, by its place in the mode's list.
void eng_atom_judge(EngSim* sim, uint32_t index);
/// One atom at the start of an instant.
void eng_atom_begin_instant(EngSim* sim, uint32_t id);
/// At the start of an instant: remember g, mark the located ones.
void eng_atoms_begin_instant(EngSim* sim);
/// At its end: latch, arm or disarm; one, by its place in the mode's list, or all.
void eng_atom_end_instant(EngSim* sim, uint32_t index);
void eng_atoms_end_instant(EngSim* sim);
/// After a committed step without an instant: follow g, re-arm. Whether a truth has changed.
bool eng_atoms_mesh(EngSim* sim);
/// Relations at their boundaries that the flow takes off what they are, as crossings of an instant
/// at the present time; false when there are none.
bool eng_atoms_leave(EngSim* sim);
/// ... for one atom, from sim->g and sim->gdot; whether its truth has changed.
bool eng_atom_mesh(EngSim* sim, uint32_t index);
/// Say which of the located relations only graze their boundary.
void eng_warn_of_grazing(EngSim* sim);
/// Bounds of what is known of g at the present point, by its place in the mode's list (bounds.c):
/// what rounding may have done to it (rho), what errors within the tolerances may have (sigma), and
/// rounding of its slope along the mode's own flow.
double eng_rho(EngSim* sim, uint32_t index);
/// ... the part of rho that the rounding of the time makes.
double eng_time_rho(const EngSim* sim, double gdot);
double eng_sigma(EngSim* sim, uint32_t index);
double eng_slope_rho(EngSim* sim, uint32_t index);
/// Whether g, of the present mode, is at its boundary: located there, kept there by the motion
/// along it, or zero up to rounding.
bool eng_at_boundary(EngSim* sim, uint32_t index, double g);
/// Half width of the window around zero of a relation that asks for one without a size.
double eng_window(EngSim* sim, uint32_t index);
/// Latched truths into the environment, after it was used for other modes.
void eng_restore_truths(EngSim* sim);
/// Literal truth of a relation.
static inline bool eng_relation_holds(uint8_t relation, double g) {
  return relation == MODEL_REL_GT ? g > 0.0 : relation == MODEL_REL_GE ? g >= 0.0 : g == 0.0;
}

// ---- run.c --------------------------------------------------------------------------------------

/// An instant at the present time, and how the integration goes on from there.
SltStatus eng_instant_here(EngSim* sim, EngInstantKind kind, bool* fired);
/// At the start, and where values were set, relations at their boundaries hold as they are written.
/// Where the flow takes them off at once, the event is at the same time: `if(time <= 0, 7, 1)` is 7
/// at the start and 1 from there on.
SltStatus eng_leave_boundaries(EngSim* sim, bool* fired);

// ---- segment.c, detect.c ------------------------------------------------------------------------

/// How long the model's experiment is: a time that somebody is interested in, where nothing moves
/// yet. Infinite: not known.
double eng_span(const EngSim* sim);
/// The same, or the time that the motion is asked for where no experiment is given; 0: not known.
/// Steps must not depend on it: a run may be cut anywhere.
double eng_horizon(const EngSim* sim);
/// Produce the next segment from the committed point (or from core.t inside a pending trial).
SltStatus eng_next_segment(EngSim* sim);
/// First crossing in (t_from, trial end] that would do something; fills crossings. `found` false:
/// none. Crossings that fire nothing are counted and followed.
SltStatus eng_detect(EngSim* sim, double t_from, bool* found);
/// Time to the nearest boundary that an atom waits for, as its slope tells; INFINITY for none.
double eng_next_boundary(EngSim* sim);
/// Whether the straight trial crosses a boundary that would fire something.
bool eng_detect_drift(EngSim* sim);
/// Control points of the trial's dense output, for certification: of the states that `states` has a
/// bit for (of all, where there are more than 64). `affine`: g there too.
void eng_control_points(EngSim* sim, uint64_t states, bool affine);
/// Size of the rounding errors in them, from the states as they are; nothing to do if they are
/// known.
void eng_control_margin_now(EngSim* sim);
/// Note states that the instant has set to something far smaller.
void eng_control_jumps(EngSim* sim);
/// Bounds of all states over the trial into x_lo and x_hi; margins fit them afterwards. False:
/// there are none.
bool eng_bound_states(EngSim* sim);
/// Control points of the states that g of an atom with a slice reads; margins stay as they are.
void eng_control_states_of(EngSim* sim, uint32_t index);
/// g at the control points, or its enclosure from t_from on, for one atom.
void eng_control_values(EngSim* sim, uint32_t index, double t_from);
/// Whether a crossing of the atom is looked for on the dense output or scheduled.
bool eng_is_followed(const EngSim* sim, uint32_t index);
/// Look for the first crossing of one atom behind t_from, if it is not known how it goes on: g at
/// both ends, and what the proof needs, are in place. One that is found is added to `crossings`.
bool eng_collect_atom(EngSim* sim, uint32_t index, double t_from);
bool eng_extrapolates_all(const EngSim* sim);
/// Whether an atom bounds the step by extrapolation.
bool eng_extrapolates(const EngSim* sim, const ModelAtom* model);
/// Bound of the next step by extrapolation (INFINITY for none).
double eng_extrapolate_now(EngSim* sim);
/// Whether an atom of the present mode can have a g that is linear in time.
bool eng_may_be_linear(const EngSim* sim, uint32_t index);
/// Crossing times of the atoms that are linear in time, from the values at core.t.
void eng_schedule_linear(EngSim* sim);
// ---- far.c: relations in blocks -----------------------------------------------------------------

/// Room for a mode that is about to be entered.
SltStatus eng_far_room(EngSim* sim, EngSlot* slot, const ModelMode* mode);
/// On a new trial: find the relations that may come near zero. False: all have to be looked at.
bool eng_far_find_now(EngSim* sim, double t_from);
/// Their first crossings behind t_from, as far as they are not known.
void eng_far_collect(EngSim* sim, double t_from);
/// eng_atoms_mesh() at the end of such a trial.
void eng_far_mesh_now(EngSim* sim);
/// g and slope of all relations at the mesh point with these states, where they were not kept.
void eng_far_show_now(EngSim* sim, double t, const double* x);

// ---- sliding/slide.c
// ------------------------------------------------------------------------------------

typedef enum EngSlideVerdict {
  ENG_SLIDE_NONE,   // goes on in the present mode
  ENG_SLIDE_MOVES,  // the flow leads into the mode with the states in side_work
  ENG_SLIDE_ALONG   // slides: core.slide is set
} EngSlideVerdict;

/// How the motion goes on from the surfaces it stands on. `settled`: no guard has anything more to
/// say, so a mode that the flow leaves at once is left here.
SltStatus eng_slide_continue_now(EngSim* sim, bool settled, EngSlideVerdict* verdict);
SltStatus eng_slide_rhs(EngSim* sim, double t, const double* x, double* dx);
/// Algebraic values and derivatives as the same combination of the modes' values.
void eng_slide_full(EngSim* sim, double t);
/// Whether a transition leaves the flow of the present mode as it is: a counter beside a surface
/// takes no part in the motion along it.
/// Which variables are flags, see flags.c.
void eng_flags_init(EngSim* sim);
/// Whether an entry of the environment is a flag that the equations read.
bool eng_is_mode_flag(const EngSim* sim, uint32_t env);
/// Whether a transition sets nothing but flags.
bool eng_sets_only_flags(const EngSim* sim, const ModelTransition* t);
/// Flags as on the side that the motion goes to, where that is known.
void eng_slide_move_flags(EngSim* sim);
bool eng_only_observes(const EngSim* sim, uint32_t transition);
/// When the trial leaves a surface, INFINITY for not; which one, and to which side.
double eng_slide_exit(EngSim* sim, double t_from, uint32_t* surface, bool* above);
/// Latch the surface's relations to that side; the states there are in side_work.
void eng_slide_leave(EngSim* sim, uint32_t surface, bool above);
SltStatus eng_slide_rebind(EngSim* sim);
/// What a snapshot keeps of the motion beside plain data.
size_t eng_slide_snapshot_size(const EngSim* sim, const EngSlide* slide);
void eng_slide_save(const EngSim* sim, char* out);
SltStatus eng_slide_restore(EngSim* sim, const EngSlide* slide, const char* in);
bool eng_slide_reached_now(EngSim* sim);
/// Reactions of the closed contacts at (t, x), in their rows, along the surfaces that are slid
/// along; false: there are none.
bool eng_slide_reactions(EngSim* sim, double t, const double* x);
/// What complementarity says of closed contacts and surfaces together, see joint.c.
bool eng_slide_complementarity(EngSim* sim);
/// Whether the flow along surfaces has the reactions of closed contacts in it.
static inline bool eng_slide_has_reactions(const EngSim* sim) {
  return sim->core.slide.count && sim->core.slide.linked;
}
/// Slide along the surface of one relation, between the modes with these states.
SltStatus eng_slide_pair(EngSim* sim, uint32_t atom, const uint32_t* below, const uint32_t* above);
/// Room for the states on so many combinations of sides.
SltStatus eng_slide_room(EngSim* sim, uint32_t rows);
/// What hangs on which switches in the present mode; NULL where that cannot be listed.
const EngDependency* eng_dependency(EngSim* sim);
/// Automata that may move while the motion goes on along its surfaces, ascending; NULL: all.
const uint32_t* eng_stirred(EngSim* sim, uint32_t* count);
/// Facts about switches and relations that never change.
void eng_narrow_init(EngSim* sim);
/// At the begin of an instant: whether it can be carried out on what is not slid along alone.
void eng_narrow_begin(EngSim* sim);
/// From here on the instant looks at everything.
void eng_widen(EngSim* sim);
/// The motion leaves a surface.
void eng_narrow_leave(EngSim* sim, uint32_t surface, bool above);
/// At its end.
void eng_narrow_end(EngSim* sim);
/// Switches have moved: their copies in the registers follow. False: that is not enough.
bool eng_narrow_bind(EngSim* sim);
/// Whether nobody sees what is computed from the states in the present instant: then it is computed
/// when somebody asks (core.full_stale).
static inline bool eng_narrow_unseen(const EngSim* sim) {
  return sim->narrow && !sim->on_event && !sim->model->energy;
}
/// How the motion goes on, from what has changed. False: that has to be asked of all surfaces.
bool eng_narrow_continue(EngSim* sim, EngSlideVerdict* verdict);
/// The positions of switches that are not slid along, into the registers of both sides.
void eng_narrow_patch(EngSim* sim);
/// What an instant looks at: places in the mode's list of atoms, and automata (NULL: all).
static inline const uint32_t* eng_instant_atoms(const EngSim* sim, uint32_t* count) {
  *count = sim->narrow ? sim->loose_count : sim->active_count;
  return sim->narrow ? sim->loose : sim->active;
}
static inline const uint32_t* eng_instant_automata(const EngSim* sim, uint32_t* count) {
  *count = sim->narrow ? sim->stirred_count : sim->model->automaton_count;
  return sim->narrow ? sim->stirred : NULL;
}
static inline uint32_t eng_nth(const uint32_t* list, uint32_t i) {
  return list ? list[i] : i;
}
/// Which relations of the present mode are a state (2 * state) or its negative (2 * state + 1), and
/// MODEL_NONE for all others; NULL: memory is short.
const uint32_t* eng_dependency_direct(EngSim* sim);
/// Whether the motion stands on more surfaces than sliding/slide.c looks at one by one, as far as
/// that can be told at a glance.
bool eng_value_many(EngSim* sim);
/// Whether the motion goes along the surface of an atom now, and whether the atom stands for it.
bool eng_slides_along(const EngSim* sim, uint32_t atom, bool* leads);
/// The relation that stands for a surface slid along.
uint32_t eng_slide_atom(const EngSim* sim, uint32_t surface);
/// Shares of the sides above the surfaces slid along, at the present point. False: it has none.
bool eng_slide_coefficients(EngSim* sim, double* share);
/// What is computed on one side of a surface, the others at these shares: added to `values`, by
/// places of the environment, where `known` is set then.
void eng_slide_side(EngSim* sim, uint32_t surface, bool above, const double* share, double* values,
                    uint8_t* known);

// ---- sliding/value.c: the same by value, for any number of surfaces
// ---------------------------------

/// False when the sides differ in more than values: nothing is changed then.
bool eng_value_continue(EngSim* sim, bool settled, EngSlideVerdict* verdict);
SltStatus eng_value_rhs(EngSim* sim, double t, const double* x, double* dx);
void eng_value_full(EngSim* sim, double t);
double eng_value_exit(EngSim* sim, double t_from, uint32_t* surface, bool* above);
void eng_value_leave(EngSim* sim, uint32_t surface, bool above);
SltStatus eng_value_rebind(EngSim* sim);
bool eng_value_coefficients(EngSim* sim, double* share);
void eng_value_side(EngSim* sim, uint32_t surface, bool above, const double* share, double* values,
                    uint8_t* known);

// ---- sliding/dwell.c: switching that makes no progress
// ----------------------------------------------------

/// Note which automata changed their state in this instant; one that does nothing else dwells.
SltStatus eng_dwell_check(EngSim* sim, bool* begun);
/// Modes repeat in an instant without end: keep the present one for a while, if that is wanted.
bool eng_dwell_undecided(EngSim* sim) __attribute__((cold));
/// Keep the state of an automaton for `length` from now on.
void eng_dwell_begin(EngSim* sim, uint32_t automaton, double length);
/// At the start of an instant: the automaton may move again if its time is over.
void eng_dwell_release_now(EngSim* sim);

// ---- stiff.c ------------------------------------------------------------------------------------

/// Before a trial step: choose the method, and let a stiff one know the equations in force.
SltStatus eng_stiff_prepare(EngSim* sim);
/// A trial is accurate enough: see whether it needed a stiff method.
void eng_stiff_note_trial(EngSim* sim);
/// Why the present method is in use; NULL when the user named it. The text is the caller's buffer.
const char* eng_method_reason(const EngSim* sim, char* text, size_t capacity);
void eng_stiff_free(EngSim* sim);

// ---- scale.c: what the variables measure, and the error weights ---------------------------------

/// Scales before the run has seen anything: nominal values.
void eng_scales_init(EngSim* sim);
/// The stepper is about to go on in the present mode.
void eng_scales_enter(EngSim* sim);
/// After a snapshot was restored.
void eng_scales_rebind(EngSim* sim);
/// Scale of the entry of the environment that a state or another variable has: the largest
/// magnitude at committed points so far, of it or of its family; a given nominal value counts. 0:
/// not known. Only states are followed by themselves.
double eng_scale(EngSim* sim, uint32_t env);
/// A trial was rejected again: weights that are below what rounding does to the rates are raised to
/// that. False: none is.
bool eng_scales_raise(EngSim* sim);
/// Before a step along surfaces or on contacts: scales of the states that these hold.
void eng_scales_hold(EngSim* sim);
/// Another variable has had this value at a committed point.
void eng_scale_note(EngSim* sim, uint32_t env, double value);
/// Absolute part of the error weight of an entry, and the weight for a value of it.
double eng_absolute(EngSim* sim, uint32_t env);
double eng_weight(EngSim* sim, uint32_t env, double value);
/// The same for a state of the present mode.
static inline double eng_state_weight(const EngSim* sim, uint32_t state, double value) {
  double absolute = sim->stepper->atol[state];
  return (isfinite(absolute) ? absolute : 0.0) + sim->options.rtol * fabs(value);
}

// ---- pair.c -------------------------------------------------------------------------------------

/// An instant has ended a flight and the integration will begin anew: look at what it took.
void eng_pair_instant(EngSim* sim);
/// Before a trial with an explicit method of `auto`: the pair to change to, NULL to stay.
const NumMethod* eng_pair_choose(EngSim* sim);

// ---- values.c -----------------------------------------------------------------------------------

/// Whether a unilateral relation is beyond its boundary: the model must not be evaluated there.
bool eng_beyond_boundary(EngSim* sim, double t, const double* x);

// ---- audit.c ------------------------------------------------------------------------------------

void eng_audit_begin(EngSim* sim, bool initial);
void eng_audit_end(EngSim* sim, bool initial);
/// Change of the energy since the last instant.
double eng_energy_since(EngSim* sim);

// ---- local/: events that concern few -----------------------------------------------------------

SltStatus eng_local_create(EngSim* sim);
/// After an instant, between steps: take the memory that is needed, once.
void eng_local_prepare_now(EngSim* sim);
/// All first crossings of a trial are found: keep them.
void eng_local_collect_now(EngSim* sim);
/// Next segment of a trial whose crossings are kept; false when they are not.
bool eng_local_next_now(EngSim* sim);
/// Carry out the event at core.t if it is local. False: nothing has changed. `restart`: the rest of
/// the trial is not good any more.
bool eng_local_event_now(EngSim* sim, bool* restart);
/// Rounds of an instant as long as each touches little; the rest is for rounds on all values.
/// `back`: they lead back to where they were with nothing changed.
SltStatus eng_local_rounds_now(EngSim* sim, uint32_t* iteration, bool* any, bool* back);
/// sim->active as the marks of the atoms tell.
void eng_local_settle_active_now(EngSim* sim);
/// eng_detect() on a new trial where relations far from their boundary can be passed over; false:
/// nothing is decided.
bool eng_local_detect_now(EngSim* sim, double t_from, bool* found);
/// Whether the sizes for which margins were made allow for the states that a relation reads.
bool eng_local_margin_holds(const EngSim* sim, uint32_t id);
/// Whether equations of states read a place of the environment; false: that is not known here.
bool eng_local_flow_reads(const EngSim* sim, uint32_t env, bool* reads);
/// Where local events are prepared: the states whose equations read a value, and the event
/// indicators that read a state. They return their number.
uint32_t eng_local_rates(const EngSim* sim, uint32_t env, const uint32_t** states);
uint32_t eng_local_indicators(const EngSim* sim, uint32_t state, const uint32_t** atoms);
/// Whether it is known who reads what in the present mode.
bool eng_local_is_prepared(const EngSim* sim);
/// What the proof of one relation needs, control points of its states included.
void eng_local_control(EngSim* sim, uint32_t id, double t_from);
/// eng_atoms_mesh() at the end of such a trial; false when it was not one.
bool eng_local_mesh_now(EngSim* sim);
/// Values and slopes of relations that were passed over are computed anyway, in any way.
void eng_local_forget_far_now(EngSim* sim);
/// ... now, for the mesh point with these states.
void eng_local_show_far_now(EngSim* sim, double t, const double* x);
/// An instant of the usual kind follows: bring all atoms to the present time.
void eng_local_sync_now(EngSim* sim);
/// Values of the present time, and those before the last event, into the environment.
void eng_local_refresh(EngSim* sim);
/// model_program_run_output() of a program of the present mode, by what is kept for single outputs
/// where events can be local.
typedef enum EngSingle { ENG_SINGLE_RHS, ENG_SINGLE_G, ENG_SINGLE_SLOPE, ENG_SINGLES } EngSingle;
bool eng_output(EngSim* sim, EngSingle which, double t, ModelStateFn* state, const void* user,
                uint32_t output, double* value);
/// The same for one atom, from t_from to the end of the trial.
bool eng_detect_atom(EngSim* sim, uint32_t index, double t_from, EngCrossing* out);
/// Control points of one state, and what the proof of one atom needs.
void eng_control_state(EngSim* sim, uint32_t state);
void eng_control_atom(EngSim* sim, uint32_t index, double t_from);
/// Times closer than this are one instant.
double eng_time_resolution(double t);

// ---- checkpoint.c -------------------------------------------------------------------------------

/// The equations of a product mode from the provider, and a note of it.
SltStatus eng_get_mode(EngSim* sim, const uint32_t* states, const ModelMode** out,
                       const Diag** failure);
/// Go back to a snapshot whose plain data have been made valid in `core`.
SltStatus eng_snapshot_take(EngSim* sim, const EngCore* core, const char* snapshot, size_t size);

// ---- past.c: delays -----------------------------------------------------------------------------

SltStatus eng_past_create(EngSim* sim);
/// Before the first mode is entered: nothing was, but what is said of the time before.
SltStatus eng_past_start(EngSim* sim);
/// Values at the start hold for the time before it; whether that changes what is read.
bool eng_past_update_start(EngSim* sim);
/// Fails: it would change for ever.
SltStatus eng_past_circular(EngSim* sim) __attribute__((cold));
/// Keep the pending trial up to time t; may overwrite states and computed values in the
/// environment.
SltStatus eng_past_append_now(EngSim* sim, double t);
/// An instant is over; `changed`: the motion goes on in another way.
void eng_past_instant_now(EngSim* sim, bool changed);
/// When the next jump arrives, and the latest end of the next step.
double eng_past_next_jump_now(const EngSim* sim);
double eng_past_limit_now(const EngSim* sim);
/// A step has come to its end: what arrives without an instant has arrived.
void eng_past_pass_now(EngSim* sim, double t);
/// In an instant: what arrives is read from now on. False: nothing does. `jumped`: a value jumps.
bool eng_past_arrive_now(EngSim* sim, double t, bool* jumped);
size_t eng_past_snapshot_size(const EngSim* sim);
void eng_past_save(const EngSim* sim, char* out);
SltStatus eng_past_restore(EngSim* sim, const char* in, size_t size);

// ---- events -------------------------------------------------------------------------------------

/// Whether a glance tells that nothing of the automaton is enabled.
static inline bool eng_is_barred(const EngSim* sim, uint32_t automaton) {
  uint32_t gate = sim->gates[sim->gate_begin[automaton] + sim->state[automaton]];
  return gate != MODEL_NONE && sim->env[gate] == 0.0;
}
/// Change the state of an automaton, and with it the key of the mode.
void events_set_state(EngSim* sim, uint32_t automaton, uint32_t to);
/// The n-th automaton that an instant looks at, in the order of the text where that is all of them.
static inline uint32_t events_nth_in_text(const EngSim* sim, const uint32_t* automata, uint32_t n) {
  if (automata) return automata[n];
  return sim->events.in_text ? sim->events.in_text[n] : n;
}
/// Whether the integration must start anew: equations, states or their inputs differ.
bool eng_flow_changed(const EngSim* sim);

// ---- trace.c ------------------------------------------------------------------------------------

SltStatus eng_trace_create(EngSim* sim);
void eng_trace_begin(EngSim* sim);
/// A fired transition (MODEL_NONE for a switch). Returns the record's index in the instant; its
/// class stays open until the iteration is settled.
uint32_t eng_trace_transition(EngSim* sim, uint32_t automaton, uint32_t transition, uint32_t from,
                              uint32_t to, uint32_t iteration);
/// The same where the flow leads into another state and no guard was asked.
uint32_t eng_trace_flow(EngSim* sim, uint32_t automaton, uint32_t from, uint32_t to,
                        uint32_t iteration);
/// A firing of `at`; `automaton` MODEL_NONE when it has no goto.
uint32_t eng_trace_schedule(EngSim* sim, uint32_t schedule, uint32_t automaton, uint32_t from,
                            uint32_t to, uint32_t iteration);
/// A jump that a delay has held back arrives.
void eng_trace_arrival(EngSim* sim, uint32_t delay);
void eng_trace_mark(EngSim* sim, SltEventKind kind, const Span* span, Str text);
/// A variable changed by the actions of a record.
void eng_trace_change(EngSim* sim, uint32_t record, const ModelAction* action, double before,
                      double after);
/// Before the first candidate of a settling, and for each: its jumps and impulses, with its last
/// record.
void eng_trace_settling(EngSim* sim);
void eng_trace_candidate(EngSim* sim);
void eng_trace_jump(EngSim* sim, uint32_t var, uint32_t order, double before, double after);
void eng_trace_impulse(EngSim* sim, uint32_t var, double impulse);
/// The mode of the last record is left at once by its own flow.
void eng_trace_boundary(EngSim* sim);
/// Sliding begins or ends at the surface of an atom.
void eng_trace_slide(EngSim* sim, SltEventKind kind, uint32_t atom);
/// Shares and equivalent values for the records of sliding that begins; the environment holds the
/// values of the motion.
void eng_trace_equivalents(EngSim* sim);
/// Distance to the constraints of the candidate's mode, as entered and as it is now.
void eng_trace_residual(EngSim* sim, double before, double after);
/// Records from `first` on: their candidate was discarded; what it would have changed is told as
/// that. Records that follow before the next candidate are those that reject it.
void eng_trace_mythical(EngSim* sim, uint32_t first);
uint32_t eng_trace_count(const EngSim* sim);
/// The path of the instant from a record on in words: "main: a -> b, sw: open -> closed".
void eng_trace_path(const EngSim* sim, uint32_t begin, char* out, size_t capacity);
/// Send the records of the instant.
void eng_trace_end(EngSim* sim);
/// The error of a run whose records have found no memory (trace_lost).
SltStatus eng_trace_fail(EngSim* sim) __attribute__((cold));

// ---- error.c ------------------------------------------------------------------------------------

/// Note a failure; returns `status`. Formats take text only: numbers through eng_number.
/// What made a value infinite, or no number, as far as it is known: the place to show, and words to
/// put behind the message.
typedef struct EngCulprit {
  Span span;
  char text[160];  // ": `1/x` is Inf", or empty
} EngCulprit;

EngCulprit eng_culprit(EngSim* sim, const Span* otherwise);

SltStatus eng_fail(EngSim* sim, SltStatus status, DiagCode code, const Span* span,
                   const char* format, ...) __attribute__((cold, format(printf, 5, 6)));
void eng_hint(EngSim* sim, const char* format, ...) __attribute__((cold, format(printf, 2, 3)));

typedef struct EngNumber {
  char text[NUMBER_TEXT_MAX];
} EngNumber;
EngNumber eng_number(double value) __attribute__((cold));
/// So many significant digits, for people.
double eng_rounded(double value, double digits);
/// Six significant digits, for people.
EngNumber eng_short(double value) __attribute__((cold));
/// "main=fly, valve=open": the visible automata; into `out`.
void eng_describe_mode(const EngSim* sim, const uint32_t* state, char* out, size_t capacity)
    __attribute__((cold));

#include "engine/gates.h"

#endif
