// SPDX-License-Identifier: MIT
//
// Sliding: motion along surfaces where the flows of the modes on both sides point at each other.
#ifndef SALTUS_ENGINE_SLIDING_SLIDING_H
#define SALTUS_ENGINE_SLIDING_SLIDING_H

#include "engine/engine.h"

#define ENG_GROUP_MAX NUM_MULTILINEAR  // surfaces that depend on each other
#define ENG_SIDES_MAX NUM_PATTERNS     // ... have so many combinations of sides

/// A sliding motion: plain data, part of snapshots. What belongs to single surfaces is in arrays of
/// the run's block.
typedef struct EngSlide {
  uint32_t count;        // surfaces slid along; 0: no sliding
  uint32_t rows;         // combinations of sides that are looked at (sides.c)
  uint32_t group_count;  // surfaces that depend on each other are a group
  bool linked;           // surfaces act on each other, or contacts do on them: see joint.c
  bool by_value;         // the sides differ in values alone: see value.c
  bool mixed;  // by value: g of each surface is a state, every quantity depends on one only
  bool lean;   // mixed; across a surface quantities are shifted by a number, and derivatives but
               // that of its own state are not: see strategy.c
  bool local;  // lean, and surfaces can come and go one by one: see active_set.c
  double stiffness;  // rate at which the surface attracts, 1/time
} EngSlide;

/// A surface that the motion stands on, or slides along.
typedef struct EngSurface {
  uint32_t atom;                    // its g describes the surface; above is where g > 0
  uint32_t index;                   // of the atom in the present mode's list
  uint32_t first, last;             // its relations, linked by value_next
  uint32_t number;                  // after surfaces were left out
  bool met;                         // some relation of it was located, or slid along before
  bool wanted;                      // ... or is at zero within its tolerance
  bool separates;                   // switches follow it
  bool stands_above, stands_below;  // where the switches say the motion is
  bool slides;
  bool kink;       // the flows are the same on both sides
  bool tangent;    // does not slide, and goes to no side
  bool open;       // the flows around it do not tell how the motion goes on
  bool above;      // the side it goes to, or is looked at on
  uint32_t state;  // motion that is `direct`: g is this state...
  bool negative;   // ... or its negative
  uint32_t group;  // of surfaces that depend on each other
  uint8_t bit;     // its side in the patterns of the group
  uint8_t size;    // surfaces of the group
  uint32_t row;    // of the group's pattern 1; the others follow
  bool serial;     // no other group uses these rows
  uint8_t order;   // derivative of g that the sides decide about: 1, or 2 at a limit point
  uint32_t lifts;  // where the sides are looked at beside the surface: by moving this state...
  double offset;   // ... until g is this; 0: on the surface
} EngSurface;

/// A switch that follows a surface: true above it (`rises`), or below it.
typedef struct EngValueSwitch {
  uint32_t automaton, surface;
  bool rises;
} EngValueSwitch;

/// A relation at zero, and its g at two points beside.
typedef struct EngValueProbe {
  double g, g2;
  uint32_t atom, index;
} EngValueProbe;

/// An output of a program and the surface it depends on.
typedef struct EngValuePart {
  uint32_t output, surface;
} EngValuePart;

enum { ENG_SET_EMPTY, ENG_SET_WIDE, ENG_SET_FIRST };

/// An output that depends on switches.
typedef struct EngDependencyOutput {
  uint32_t output, set;
  bool shifts;  // by numbers that depend on neither time nor states
} EngDependencyOutput;

typedef struct EngDependencyProgram {
  uint32_t* set;                   // per output
  EngDependencyOutput* dependent;  // outputs whose set is not empty, ascending
  uint32_t count;
  bool wide;  // some set has too many members to be listed
} EngDependencyProgram;

/// Who reads an entry of the environment, as kind << ENG_READER_BITS | at.
enum { ENG_READER_BITS = 29 };
typedef struct EngDependencyReader {
  enum {
    ENG_READER_RHS,  // dependent output `at` of a program
    ENG_READER_FULL,
    ENG_READER_GDOT,
    ENG_READER_RHS_INPUT,  // register `at` of a program
    ENG_READER_FULL_INPUT,
    ENG_READER_G_INPUT,
    ENG_READER_GDOT_INPUT
  } kind;
  uint32_t at;
} EngDependencyReader;

/// What depends on which switches in the programs of a mode, whoever slides.
typedef struct EngDependency {
  const ModelMode* mode;  // NULL: of none
  bool usable;            // the sets are listed
  EngDependencyProgram rhs, full, gdot;
  uint32_t set_count;
  uint32_t* begin;    // per set and one more: where its members begin
  uint32_t* members;  // places in the environment, ascending
  uint32_t* direct;   // per atom of the mode: 2 * state, + 1: its negative; MODEL_NONE for neither
  uint32_t* label;    // per set: surface that it depends on at present
  BaseLists readers;  // per entry of the environment
  bool g_reads;       // g between events reads truths, positions of switches or times of entry
  bool has_rows;      // who reads a state is listed
  BaseLists rows;     // time, then states: outputs of rhs that read it and depend on switches
} EngDependency;

static inline EngDependencyReader eng_dependency_reader(const EngDependency* d, uint32_t place) {
  uint32_t packed = d->readers.list[place];
  return (EngDependencyReader){packed >> ENG_READER_BITS, packed & ((1u << ENG_READER_BITS) - 1)};
}

/// A combination of sides: its mode, and the programs with their inputs in place.
typedef struct EngSideRegs {
  const ModelMode* mode;
  double *rhs, *full, *gdot;
  ModelDual *rhs_dual, *gdot_dual;
} EngSideRegs;

/// Flags and their values, see flags.c.
typedef struct EngFlags {
  uint32_t* env;  // their places in the environment
  double* values;
  uint32_t count;
  bool moved;  // the side that the motion goes to has values of its own
} EngFlags;

/// Work space for the sides of surfaces. Per surface and pattern of its group: entry ENG_SIDES_MAX
/// * surface + pattern.
typedef struct EngSides {
  EngSideRegs* regs;  // by row
  uint32_t* states;   // by row: those of the automata...
  uint8_t* truths;    // ... and whether relations hold
  double* flows;      // by row
  double* rate;       // derivative of g that the sides decide about
  double* speed;      // per surface: the first derivative, where that is the second
  ModelDual* bound;   // enclosures: rate of g, and its own rate
  ModelDual* wide;    // the same for states that are off by their tolerances
  uint32_t* place;    // 2 * place of a relation of the surface in the row's mode, + 1: its negative
  double* weight;     // per group and pattern: part of the row in the convex combination
  double* probe;      // per surface: g at two points beside the present one
  uint32_t* parent;   // per surface: groups while they are looked for
  ModelDual* flow;    // enclosures of the flows on two combinations of sides
  ModelDual* x;       // states for enclosures
  double* trial;      // flows at points beside the present one
  double* link;       // per surface and row: the derivative of g
  double* reactions;  // per row: of the closed contacts
  double* values;     // per entry of the environment, on two combinations of sides
} EngSides;

/// Surfaces of motion by values: of the run's block, per atom, automaton, state or entry of the
/// environment.
typedef struct EngValueTable {
  EngSurface* surfaces;
  EngValueSwitch* switches;
  uint32_t switch_count;
  EngValueProbe* probes;
  uint32_t* of_atom;      // surface of each atom, MODEL_NONE for none
  bool* same;             // g of the atom has the sign of the surface's
  uint32_t* of_env;       // per entry of the environment that a switch of a surface writes: 2 *
                          // surface + what it is below it; MODEL_NONE for all others
  uint32_t* next;         // per atom: the next one of its surface
  uint32_t* of_state;     // per state: the surface that it is; work space in between
  BaseLists followers;    // per atom: switches that follow it alone
  uint8_t* plain;         // per atom: nothing depends on it but these, and they move no equations
  uint8_t* switch_alone;  // per automaton: a switch that moves no equations and no other switch
  uint32_t* follows;      // per automaton: a switch that follows one relation: 2 * atom, + 1:
                          // and is on where it holds; MODEL_NONE for all others
} EngValueTable;

/// The motion along them.
typedef struct EngValueMotion {
  double *slope, *alpha, *trial, *rate, *low, *high, *wanted;
  EngValuePart *rhs, *full;  // what depends on a surface, by output
  uint32_t rhs_count, full_count;
  double *rhs_shift, *full_shift;  // ... and by how much more it is above than below
  // per surface that is a state: which, and how much more its derivative is below than above
  uint32_t* state;
  double* fall;
  uint32_t* touched;       // surfaces whose coefficient changes on the present trial
  uint8_t* mark;           // work space, per surface: zero
  const ModelMode* bound;  // whose constants are in side_regs[0] and [1]; NULL: of none
  double* out;             // outputs on one side
  double* last;            // coefficients on a trial
  double last_t;           // time of the last ones, and...
  double* last_x;          // ...states
} EngValueMotion;

/// The part of the right-hand side that does not slide.
typedef struct EngValueProgram {
  ModelPart part;  // of rhs: what does not slide; no code: it is most of it
  ModelInstr* code;
  ModelPartOutput* outputs;
  uint32_t* reads;
  ModelPartOutput* plain_runs;
  ModelPartOutput* pulled;  // states that slide
  uint32_t pulled_count;
  uint64_t* needed;  // bits: instructions, then states
} EngValueProgram;

/// Work space of sliding. Per surface and pattern of its group: entry ENG_SIDES_MAX * surface +
/// pattern.
typedef struct EngSliding {
  EngSides sides;
  EngFlags flags;
  bool links;       // surfaces that add up are not taken for a group
  uint32_t lifted;  // a state that is looked at from here...
  double lift;      // ... to there
  // of the run's block: per atom, automaton, state or entry of the environment
  uint8_t* is_flag;
  uint8_t* flow_reads;  // per environment entry: an equation of that mode reads it
  uint32_t reads_of;    // id of the mode, + 1; 0: none yet
  EngValueTable value;
  EngValueMotion motion;
  EngValueProgram program;
  EngDependency dependency;
  bool kinks;     // some surface was none, in the last look
  double kink_t;  // when all the motion stood at were kinks
} EngSliding;

/// Work space for modes around a point on a surface.
typedef struct EngProbe {
  uint32_t* states;   // per automaton
  uint32_t* settled;  // ... when the instant began to ask
  double* flow;       // three flows
  double* x;          // states beside the point
  double* g;          // per indicator
  double* beside;     // ... at a point beside
  double* g_regs;
} EngProbe;

/// Part of snapshots: automata that keep their state because switching makes no progress.
typedef struct EngDwell {
  bool any;
  double until;  // the first of them moves again
} EngDwell;

/// Part of snapshots: the segment ends because a surface is left.
typedef struct EngSlideExit {
  bool pending;
  double t;  // when that is on the present trial; INFINITY: it is not
  uint32_t surface;
  bool above;  // to the side where its g is positive
} EngSlideExit;

/// Event indicators and automata that an instant looks at.
typedef struct EngActiveSet {
  uint32_t* indicators;  // that matter at present: places in the mode's list, ascending
  uint32_t indicator_count;
  bool stale;          // marks of the indicators (`relevant`) have changed since it was made
  uint32_t* followed;  // those of them that are not slid along: see eng_followed()
  uint32_t followed_count;
  bool followed_stale;
  uint32_t* automata;  // that follow no surface slid along: see eng_active_automata_slow()
  uint32_t automaton_count;
  bool automata_stale;
  bool reduced;       // the present instant looks at `followed` and `automata` alone...
  EngSlide kept;      // ... and this is the motion along surfaces, as far as it has been changed
  uint8_t* relevant;  // per indicator: work space of eng_relevant_atoms
  uint8_t* live;      // ... it belongs to the present mode
} EngActiveSet;

// ---- slide.c ------------------------------------------------------------------------------------

typedef enum EngSlideVerdict {
  ENG_SLIDE_NONE,   // goes on in the present mode
  ENG_SLIDE_MOVES,  // the flow leads into the mode with the states in probe.states
  ENG_SLIDE_ALONG   // slides: core.slide is set
} EngSlideVerdict;

/// How the motion goes on from the surfaces it stands on. `settled`: no guard has anything more to
/// say, so a mode that the flow leaves at once is left here.
SltStatus eng_slide_continue_slow(EngSim* sim, bool settled, EngSlideVerdict* verdict);
SltStatus eng_slide_rhs(EngSim* sim, double t, const double* x, double* dx);
/// Algebraic values and derivatives as the same combination of the modes' values.
void eng_slide_full(EngSim* sim, double t);
/// Which variables are flags, see flags.c.
void eng_flags_init(EngSim* sim);
/// Whether an entry of the environment is a flag that the equations read.
bool eng_is_mode_flag(EngSim* sim, uint32_t env);
/// Whether a transition sets nothing but flags.
bool eng_sets_only_flags(const EngSim* sim, const ModelTransition* t);
/// Flags as on the side that the motion goes to, where that is known.
void eng_slide_move_flags(EngSim* sim);
/// Whether a transition leaves the flow of the present mode as it is: a counter beside a surface
/// takes no part in the motion along it.
bool eng_only_observes(EngSim* sim, uint32_t transition);
/// When the trial leaves a surface, INFINITY for not; which one, and to which side.
double eng_slide_exit(EngSim* sim, double t_from, uint32_t* surface, bool* above);
/// Latch the surface's relations to that side; the states there are in probe.states.
void eng_slide_leave(EngSim* sim, uint32_t surface, bool above);
SltStatus eng_slide_rebind(EngSim* sim);
/// The sides take over what has changed beside the surfaces: values, relations and automata that
/// are not marked as held.
SltStatus eng_slide_follow(EngSim* sim, const uint8_t* env, const uint8_t* atoms,
                           const uint8_t* automata);
/// What a snapshot keeps of the motion beside plain data.
size_t eng_slide_snapshot_size(const EngSim* sim, const EngSlide* slide);
void eng_slide_save(const EngSim* sim, char* out);
SltStatus eng_slide_restore(EngSim* sim, const EngSlide* slide, const char* in);
/// Reactions of the closed contacts at (t, x), in their rows, along the surfaces that are slid
/// along; false: there are none.
bool eng_slide_reactions(EngSim* sim, double t, const double* x);
/// What complementarity says of closed contacts and surfaces together, see joint.c.
bool eng_slide_complementarity(EngSim* sim);
/// What depends on which switches in the present mode; NULL where that cannot be listed.
const EngDependency* eng_dependency(EngSim* sim);
/// Automata that may move while the motion goes on along its surfaces, ascending.
EngList eng_active_automata_slow(EngSim* sim);
/// Facts about switches and relations that never change.
SltStatus eng_reduced_init(EngSim* sim);
/// At the begin of an instant: whether it can be carried out on what is not slid along alone.
void eng_reduced_begin(EngSim* sim);
/// From here on the instant looks at everything.
void eng_active_complete_slow(EngSim* sim);
/// The motion leaves a surface.
void eng_reduced_leave(EngSim* sim, uint32_t surface, bool above);
/// At its end.
void eng_reduced_end(EngSim* sim);
/// Switches have moved: their copies in the registers follow. False: that is not enough.
bool eng_reduced_bind(EngSim* sim);
/// How the motion goes on, from what has changed. False: that has to be asked of all surfaces.
bool eng_reduced_continue(EngSim* sim, EngSlideVerdict* verdict);
/// The positions of switches that are not slid along, into the registers of both sides.
void eng_reduced_patch(EngSim* sim);
/// Which relations of the present mode are a state (2 * state) or its negative (2 * state + 1), and
/// MODEL_NONE for all others; NULL: memory is short.
const uint32_t* eng_dependency_direct(EngSim* sim);
/// Whether the motion stands on more surfaces than sliding/slide.c looks at one by one, as far as
/// that can be told at a glance.
bool eng_value_many(EngSim* sim);
/// Whether the motion goes along the surface of an atom now, and whether the atom stands for it.
bool eng_slides_along(const EngSim* sim, uint32_t atom, bool* describes);
/// The relation that stands for a surface slid along.
uint32_t eng_slide_atom(const EngSim* sim, uint32_t surface);
/// Coefficients of the sides above the surfaces slid along, at the present point. False: it has
/// none.
bool eng_slide_coefficients(EngSim* sim, double* alpha);
/// What is computed on one side of a surface, the others at these coefficients: added to `values`,
/// by places of the environment, where `known` is set then.
void eng_slide_side(EngSim* sim, uint32_t surface, bool above, const double* alpha, double* values,
                    uint8_t* known);

// ---- value.c: the same by value, for any number of surfaces -------------------------------------

/// False when the sides differ in more than values: nothing is changed then.
bool eng_value_continue(EngSim* sim, bool settled, EngSlideVerdict* verdict);
SltStatus eng_value_rhs(EngSim* sim, double t, const double* x, double* dx);
void eng_value_full(EngSim* sim, double t);
double eng_value_exit(EngSim* sim, double t_from, uint32_t* surface, bool* above);
void eng_value_leave(EngSim* sim, uint32_t surface, bool above);
SltStatus eng_value_rebind(EngSim* sim);
bool eng_value_coefficients(EngSim* sim, double* alpha);
void eng_value_side(EngSim* sim, uint32_t surface, bool above, const double* alpha, double* values,
                    uint8_t* known);

// ---- dwell.c: switching that makes no progress --------------------------------------------------

/// Note which automata changed their state in this instant; one that does nothing else dwells.
SltStatus eng_dwell_check(EngSim* sim, bool* begun);
/// Whether the automaton moves so soon after its last move that it may chatter; it has moved, and
/// did not.
bool eng_chatter_is_suspect(const EngSim* sim, uint32_t automaton);
void eng_chatter_note(EngSim* sim, uint32_t automaton);
/// Modes repeat in an instant without end: keep the present one for a while, if that is wanted.
bool eng_dwell_undecided(EngSim* sim) __attribute__((cold));
/// Keep the state of an automaton for `length` from now on.
void eng_dwell_begin(EngSim* sim, uint32_t automaton, double length);
/// The automaton stays where it is until t, and is free again then.
void eng_dwell_until(EngSim* sim, uint32_t automaton, double t);
/// At the start of an instant: the automaton may move again if its time is over.
void eng_dwell_release_slow(EngSim* sim);

#endif
