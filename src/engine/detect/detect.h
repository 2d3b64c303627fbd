// SPDX-License-Identifier: MIT
//
// Detection: event indicators, their truth and arming, and their crossings on a trial step.
#ifndef SALTUS_ENGINE_DETECT_DETECT_H
#define SALTUS_ENGINE_DETECT_DETECT_H

#include "engine/values/values.h"

/// What an event indicator is like, as far as few of them are.
typedef struct EngAtomKind {
  bool separates : 1;   // both sides may have modes of their own, reached without resets
  bool pulse : 1;       // of the model: read on candidates with pulses
  bool struck : 1;      // of the model: the same of the pulses that resets demand
  bool windowed : 1;    // eps follows the scale of g
  bool kink : 1;        // ... what it switches is continuous there
  bool piece : 1;       // of the model: bounds a piece of floor or of a table
  bool constant : 1;    // at its boundary as long as the equations hold: not followed
  bool asymptotic : 1;  // rests at the boundary, not armed: see asymptote.c
} EngAtomKind;

/// How its truth came about, and what it has to do with surfaces and contacts.
typedef struct EngAtomMarks {
  bool held : 1;     // truth decided by the flow around it, until an action changes something
  bool by_flow : 1;  // at its boundary, and holds because the flow leads that way
  bool describes_surface : 1;  // its g stands for the surface
  bool slid : 1;               // `sliding` before the present instant
  bool described_surface : 1;  // `describes_surface` then
  bool left_now : 1;           // belongs to a surface left in this instant
  bool kept_by_contact : 1;    // at its boundary as long as the contact is closed
  bool tangential : 1;         // a constraint along its boundary was released in this instant
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
  bool no_value : 1;  // that g is no number
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
  double g, gdot;    // at the last mesh point of the present mode; the slope as g_start
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
  bool crosses;         // ... and before that it crosses: the crossing is in sim->detect.crossings
  bool truth;           // latched; of an equality, that of g >= 0
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
  bool structural;        // of the model: beyond it other equations hold
  bool joined;            // separates in the conditions of switches alone, together with others
  bool equal;             // of an equality: g is zero now
  uint32_t held_changes;  // count of changes, its lower half, when it was held in this instant
  double t_linear;        // g is linear in time and crosses then; INFINITY for none
  EngAtomMargin margin;
  double gamma;
  uint32_t strayed;  // changes at the start of the last instant that took it off its boundary, + 1
  bool acts;         // of the model: its events may have an effect
} EngAtom;

_Static_assert(offsetof(EngAtom, previous) == 64, "what every pass reads is one line of the cache");
_Static_assert(sizeof(EngAtom) == 128, "and the rest another: places are found by a shift");

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
  bool leaves;     // not zero but the zone in which it has been since its last crossing
} EngCrossing;

static inline EngCrossing eng_crossing(uint32_t index, double t, double lo, double hi, double slope,
                                       bool rising, bool certified) {
  return (EngCrossing){index, t, lo, hi, slope, rising, certified, 0.0, false, false};
}

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

/// Event indicators of the present mode, and what is known of them at the ends of the trial.
typedef struct EngDetection {
  double *g, *gdot;              // per indicator of the mode
  double* g_zero;                // at time 0, for those in time alone
  double *end_g, *end_gdot;      // at the end of the trial
  uint64_t g_epoch, gdot_epoch;  // values.epoch for which `g` and `gdot` are known; 0: none
  double change_time;            // in which the flow changes something; 0: not known
  bool keeps_change;             // ... which holds for all relations that are looked at now
  EngCrossing* crossings;        // found on the present trial
  uint32_t crossing_count;
  double last_place;    // of a crossing, in the trial before from the same point; else that point
  bool has_kinks;       // the model has switches that follow those of max, min, abs
  bool has_unilateral;  // the present mode has such an indicator
  bool extrapolates;    // ... one that bounds the step by extrapolation
  bool has_linear;      // ... one that may be linear in time
  bool has_time_only;   // ... one that reads nothing else
  bool has_auxiliary;   // the model has noEvent relations
  bool has_windows;     // ... relations whose eps follows the scale of g
  bool has_pre;         // ... relations that read pre(x)
  bool has_separating;  // ... relations with modes of their own on both sides
  bool polar;           // a sign has changed at infinity in the present instant
} EngDetection;

/// Enclosures and control points that prove where there is no crossing.
typedef struct EngProof {
  ModelDual* x_dual;    // per state
  ModelDual* g_dual;    // per indicator of the mode
  ModelDual* g_whole;   // ... enclosure over the part of the step looked at
  double* control_x;    // control points of the dense output, MODEL_LANES per state: the registers
                        // of the states in programs.lanes
  double* control_g;    // g there, MODEL_LANES per indicator of the mode
  EngForm* forms;       // per polynomial of the mode
  uint64_t stamp;       // counts changes of the control points
  EngLevel* levels;     // per indicator of the mode
  double* margin;       // ... rounding of g at control points
  double* margin_x;     // per state: size for which `margin` holds, up to twice of it
  double* margin_size;  // the same per environment entry, whatever the mode
} EngProof;

/// Indicators that stay clear of zero, in blocks (pruning.c).
typedef struct EngPruning {
  bool has_bounds;       // the present mode's indicators can be bounded in blocks
  double *x_lo, *x_hi;   // bounds of the states over what is looked at
  ModelInterval* room;   // work space
  double* exclusion;     // per indicator of the mode: how far from zero it has to stay
  bool stale;            // truths, arming, margins have changed since they were made
  uint32_t* candidates;  // those that are followed on the present trial, ascending
} EngPruning;

/// Part of snapshots: what pruning has done on the pending trial.
typedef struct EngPruned {
  bool lazy;                 // indicators far from zero were passed over...
  uint32_t candidate_count;  // ...and those followed are in `candidates`
  bool stale;                // g and slope are not kept at mesh points: see eng_pruned_show
  bool ends_marked;          // marks of indicators (end_known) are set
} EngPruned;

/// Part of snapshots: for what the margins were made.
typedef struct EngMargins {
  bool stale;            // they have to be computed anew before they are used
  uint32_t epoch;        // counts changes of the sizes they are made for
  double t;              // time among these: they hold up to twice of it
  uint64_t level_epoch;  // counts changes of the inputs of g
} EngMargins;

/// Literal truth of a relation.
static inline bool eng_relation_holds(uint8_t relation, double g) {
  return relation == MODEL_REL_GT ? g > 0.0 : relation == MODEL_REL_GE ? g >= 0.0 : g == 0.0;
}

/// What guards and switches read. An equality is followed as a relation that is true on one side
/// and false on the other, and holds where it crosses, or while g rests at zero.
static inline double eng_atom_shows(const EngAtom* atom) {
  return (atom->relation == MODEL_REL_EQ ? atom->equal : atom->truth) ? 1.0 : 0.0;
}

/// The same in the instant of a crossing.
static inline double eng_crossing_shows(const EngAtom* atom, const EngCrossing* c) {
  return (atom->relation == MODEL_REL_EQ ? !c->leaves : c->rising) ? 1.0 : 0.0;
}

// ---- atoms.c: truth and arming ------------------------------------------------------------------

/// Place of an atom in the list of a mode; MODEL_NONE where it does not matter.
uint32_t eng_atom_place(const ModelMode* mode, uint32_t atom);
/// Mark the atoms (per atom, 1) that matter in `mode` with the automata in sim->state.
void eng_relevant_atoms(const EngSim* sim, const ModelMode* mode, uint8_t* relevant);
/// Find the atoms of the present mode that matter: sim->active.indicators.
void eng_find_active(EngSim* sim);
/// The atoms among them that are followed while time flows: places in the mode's list, ascending.
EngList eng_followed_slow(EngSim* sim);
/// Both sides of a guard's boundaries may have modes of their own, between which the motion slides;
/// `joined`: as long as the other relations of a switch leave it to one of them.
void eng_atoms_separate(EngSim* sim, const ModelGuard* guard, bool joined);
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
/// ... for one atom, from sim->detect.g and sim->detect.gdot; whether its truth has changed.
bool eng_atom_mesh(EngSim* sim, uint32_t index);
/// Say which of the located relations only graze their boundary.
void eng_warn_of_grazing(EngSim* sim);
/// Say once that a relation on which something depends has no value at the present point.
void eng_warn_of_relation(EngSim* sim, uint32_t index) __attribute__((cold));
/// Bounds of what is known of g at the present point, by its place in the mode's list (bounds.c):
/// what rounding may have done to it (rho), what errors within the tolerances may have (sigma), and
/// rounding of its slope along the mode's own flow.
double eng_rho(EngSim* sim, uint32_t index);
/// Enclosure of one output of a program over indicators, or over as many outputs, with the states
/// as `state` gives them: by itself, or with all the others where it has no slice.
ModelDual eng_enclose_output(EngSim* sim, const ModelProgram* program, ModelDual* regs,
                             ModelDual time, ModelStateDualFn* state, const void* user,
                             uint32_t output);
/// g at a point and its slope as one state moves by a unit, or none (MODEL_NONE), time going on.
ModelDual eng_enclose_along(EngSim* sim, uint32_t index, double t, const double* x, uint32_t state);
/// What rounding may have done to a state, and to the time.
double eng_state_rounding(EngSim* sim, uint32_t state);
ModelInterval eng_rounded_time(const EngSim* sim);
/// Whether rounding of what g reads leaves its sign alone, or takes it to infinity.
bool eng_sign_is_sure(EngSim* sim, uint32_t index);
/// ... the part of rho that the rounding of the time makes.
double eng_time_rho(const EngSim* sim, double gdot);
double eng_sigma(EngSim* sim, uint32_t index);
/// ... of one state: by how much errors within the tolerances may have it off.
double eng_state_pad(EngSim* sim, uint32_t state);
/// Whether what an indicator depends on rests at sim->x, within the tolerances, as the flow is at
/// time t (asymptote.c); then g of the equilibrium.
bool eng_rests(EngSim* sim, uint32_t index, double t, double* g);
double eng_slope_rho(EngSim* sim, uint32_t index);
/// Whether g, of the present mode, is at its boundary: located there, kept there by the motion
/// along it, or zero up to rounding.
bool eng_at_boundary(EngSim* sim, uint32_t index, double g);
/// Whether the slope of a g at its boundary, which no action has moved, tells the truth: it leaves
/// clearly, and crosses where the flow depends on the relation.
bool eng_slope_decides(EngSim* sim, uint32_t index);
/// Whether a relation rested at its boundary, or was leaving it, and this instant drives it to
/// where it holds: the turn re-arms it.
bool eng_atom_was_turned(EngSim* sim, uint32_t id);
/// What the rounding of impulses may have done to g, beside rho.
double eng_impulse_rho(EngSim* sim, uint32_t index);
/// Slope of g here along the flow from before the present instant; 0 where rounding hides it.
double eng_slope_before(EngSim* sim, uint32_t index);
/// Half width of the window around zero of a relation that asks for one without a size.
double eng_window(EngSim* sim, uint32_t index);
/// Latched truths into the environment, after it was used for other modes.
void eng_restore_truths(EngSim* sim);

// ---- detect.c, control.c ------------------------------------------------------------------------

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
/// Whether a guard cannot hold without the truth at that place of the environment.
bool eng_guard_needs(const ModelGuard* guard, uint32_t env);
/// Whether a guard changes its truth with that of one of its atoms, all others as they are.
bool eng_guard_depends_on(EngSim* sim, const ModelGuard* guard, uint32_t atom);
/// Time to the nearest boundary that an atom waits for, as its slope tells; INFINITY for none.
double eng_next_boundary(EngSim* sim);
/// Whether the straight trial crosses a boundary that would fire something.
bool eng_detect_drift(EngSim* sim);
/// The motion along surfaces or in contacts ends on the present trial, at `first` or before it.
bool eng_held_ends_before(EngSim* sim, double first);
/// Control points of the trial's dense output, for certification: of the states that `states` has a
/// bit for (of all, where there are more than 64). `affine`: g there too.
void eng_control_points(EngSim* sim, uint64_t states, bool affine);
/// Size of the rounding errors in them, from the states as they are; nothing to do if they are
/// known.
void eng_control_margin_slow(EngSim* sim);
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
void eng_collect_atom(EngSim* sim, uint32_t index, double t_from);
/// Whether an atom bounds the step by extrapolation.
bool eng_extrapolates(const EngSim* sim, const ModelAtom* model);
/// Bound of the next step by extrapolation (INFINITY for none).
double eng_extrapolate_slow(EngSim* sim);
/// Whether an atom of the present mode can have a g that is linear in time.
bool eng_may_be_linear(const EngSim* sim, uint32_t index);
/// How far from its place a crossing may be: rounding of g leaves it open.
double eng_half_bracket(const EngSim* sim, const EngCrossing* crossing);
/// Crossing times of the atoms that are linear in time, from the values at core.t.
void eng_schedule_linear(EngSim* sim);
/// ... for one that is linear in time alone, by its value at time 0: a value that it reads has
/// changed.
void eng_schedule_time(EngSim* sim, uint32_t index, double g_zero);

// ---- pruning.c: indicators in blocks ------------------------------------------------------------

/// Room for a mode that is about to be entered.
SltStatus eng_pruned_room(EngSim* sim, EngSlot* slot, const ModelMode* mode);
/// On a new trial: find the relations that may come near zero. False: all have to be looked at.
bool eng_pruned_find_slow(EngSim* sim, double t_from);
/// Their first crossings behind t_from, as far as they are not known.
void eng_pruned_collect(EngSim* sim, double t_from);
/// eng_atoms_mesh() at the end of such a trial.
void eng_pruned_mesh_slow(EngSim* sim);
/// g and slope of all relations at the mesh point with these states, where they were not kept.
void eng_pruned_show_slow(EngSim* sim, double t, const double* x);

#endif
