// SPDX-License-Identifier: MIT
//
// ir: the one hybrid model that every front end produces and every later stage reads.
//
// Expressions are hash-consed in one pool of plain indices. They are *shapes*: their leaves are
// numbered slots, and what stands in a slot (a variable, a parameter, a number, a truth value) is
// in a row of leaves beside it. A `for` over a million cells therefore makes one shape and a
// million rows, never a million trees; equal structures written out by hand fall into one shape
// too. An IrTerm is a shape together with its row.
//
// Equations live in *bodies*: body 0 is the global one, and each state and each branch of an `if`
// has a body that edits the global equations (replace a labelled group, replace an explicit
// equation, delete, add). A product mode is one state per automaton; mode.c gives its equations.
//
// Piecewise functions and `if(c, a, b)` become SELECT nodes that read the state of an implicit
// two-state automaton (kind IR_AUTOMATON_SWITCH), the same thing that an `if` block makes.
#ifndef SALTUS_IR_H
#define SALTUS_IR_H

#include "base/base.h"

#define IR_NONE UINT32_MAX  // "no index"

// ---------------------------------------------------------------------------------------------
// expressions

/// Operators: name, arity, printed form. Relations and AND/OR/NOT give truth values; everything
/// else gives a number. The functions here are literal: event location of `abs` and its kin is
/// expressed with SELECT by the front end.
#define IR_OP_OF_FUNCTION(X, name, word, ...) X(IR_##name, 1, word)
#define IR_OP_LIST(X) \
  X(IR_NIL, 0, "nil")     /* index 0 of the pool: "no expression" */ \
  X(IR_CONST, 0, "const") /* value */ \
  X(IR_SLOT, 0, "slot")   /* arg[0]: number of the slot in the term's row */ \
  X(IR_TIME, 0, "time") \
  X(IR_TRUE, 0, "true") \
  X(IR_FALSE, 0, "false") \
  X(IR_NEG, 1, "-") \
  X(IR_ADD, 2, "+") \
  X(IR_SUB, 2, "-") \
  X(IR_MUL, 2, "*") \
  X(IR_DIV, 2, "/") \
  X(IR_POW, 2, "^") \
  BASE_FUNCTIONS(IR_OP_OF_FUNCTION, X) \
  X(IR_SQRT, 1, "sqrt") \
  X(IR_ABS, 1, "abs") \
  X(IR_SIGN, 1, "sign") \
  X(IR_FLOOR, 1, "floor") \
  X(IR_CEIL, 1, "ceil") \
  X(IR_ATAN2, 2, "atan2") \
  X(IR_POLYGAMMA, 2, "polygamma") /* order, argument: made by derivatives of gamma */ \
  X(IR_MIN, 2, "min") \
  X(IR_MAX, 2, "max") \
  X(IR_MOD, 2, "mod") /* a - b*floor(a/b) */ \
  X(IR_LT, 2, "<") \
  X(IR_LE, 2, "<=") \
  X(IR_GT, 2, ">") \
  X(IR_GE, 2, ">=") \
  X(IR_EQ, 2, "==") \
  X(IR_NE, 2, "!=") \
  X(IR_AND, 2, "and") \
  X(IR_OR, 2, "or") \
  X(IR_NOT, 1, "not") \
  X(IR_SELECT, 3, "if")     /* condition, value if true, value if false */ \
  X(IR_TABLE, 2, "table")   /* arg[0] data index as raw number, arg[1] argument; literal lookup */ \
  X(IR_RANDOM, 0, "random") /* the random ones are legal in actions only */ \
  X(IR_UNIFORM, 2, "uniform") \
  X(IR_NORMAL, 2, "normal") \
  X(IR_NOISE, 2, "noise") /* normal number by seed and count, and by the seed of the run */ \
  X(IR_EXPONENTIAL, 1, "exponential") \
  X(IR_PACK, 2, "pack") /* arguments so far, one more: what a foreign function is asked with */ \
  X(IR_EQUALS, 2, "=")  /* top of an equation: left side, right side */

typedef enum IrOp {
#define X(name, arity, text) name,
  IR_OP_LIST(X)
#undef X
      IR_OP_COUNT
} IrOp;

/// Number of argument expressions (IR_TABLE: its arg[0] is a raw number, arg[1] an expression).
uint32_t ir_op_arity(IrOp op);
const char* ir_op_text(IrOp op);
bool ir_op_is_relation(IrOp op);
bool ir_op_is_boolean(IrOp op);  // result is a truth value
/// One operation on numbers; truth values are 0 and 1. A power with exponent 2 or 3 is a product
/// here; that is its meaning where the exponent is known when the model is compiled.
double ir_apply(IrOp op, double a, double b, double c);

typedef struct ExprId {
  uint32_t index;  // 0 is "none"
} ExprId;

typedef struct IrNode {
  uint16_t op;      // IrOp
  uint16_t flags;   // reserved, 0
  uint32_t arg[3];  // indices of earlier nodes; raw number where IR_OP_LIST says so
  double value;     // IR_CONST
} IrNode;

/// Hash-consed nodes. A node points at earlier nodes only, so array order is evaluation order.
typedef struct IrPool {
  Arena* arena;
  BASE_VEC(IrNode) nodes;
  BASE_VEC(uint64_t) hashes;  // per node: hash of its structure, whatever the order of creation
  uint32_t* slots;            // open addressing, 0 = free
  uint32_t slot_count;
} IrPool;

void ir_pool_init(IrPool* pool, Arena* arena);
ExprId ir_const(IrPool* pool, double value);
ExprId ir_slot(IrPool* pool, uint32_t slot);
/// Node with as many arguments as its operator has; unused ones are {0}. No simplification.
ExprId ir_node(IrPool* pool, IrOp op, ExprId a, ExprId b, ExprId c);
ExprId ir_table(IrPool* pool, uint32_t data, ExprId argument);
/// An id points to a node whose arguments come before it.
bool ir_expr_valid(const IrPool* pool, ExprId id);

// ---------------------------------------------------------------------------------------------
// leaves and terms

typedef enum IrLeafKind {
  IR_LEAF_NUMBER,  // id: index into numbers
  IR_LEAF_PARAM,   // id: index into params
  IR_LEAF_VAR,     // id: index into vars; order: 0 value, 1 first derivative...; when
  IR_LEAF_ATOM,    // id: index into atoms; its truth
  IR_LEAF_MODE,    // id: index into mode_tests; true while that automaton is in that state
  IR_LEAF_ENTRY    // id: automaton; time at which its present state was entered (IR_NONE: start)
} IrLeafKind;

/// Which value of a variable an event's guard or reset reads.
typedef enum IrWhen { IR_NOW, IR_PRE, IR_POST } IrWhen;

typedef struct IrLeaf {
  uint32_t id;
  uint8_t kind;   // IrLeafKind
  uint8_t order;  // derivative order of IR_LEAF_VAR
  uint8_t when;   // IrWhen of IR_LEAF_VAR
  uint8_t pad;
} IrLeaf;

/// A shape and its row: slot k of the shape is leaves[leaf_begin + k] of the model.
typedef struct IrTerm {
  ExprId shape;  // {0} when absent
  uint32_t leaf_begin;
  uint32_t leaf_count;
} IrTerm;

static inline bool ir_term_present(IrTerm term) {
  return term.shape.index != 0;
}

// ---------------------------------------------------------------------------------------------
// entities

typedef struct IrParam {
  uint32_t name;
  uint32_t unit;        // name id, 0 none
  IrTerm value;         // over numbers and other parameters; no cycles
  bool structural;      // used in loop bounds, indices or repeat counts: fixed at compilation
  bool hidden;          // made by the front end
  bool unbounded;       // its definition names infinity, or no number
  uint32_t appearance;  // order of first appearance in the source
  Span span;
} IrParam;

typedef enum IrVarKind {
  IR_VAR_UNKNOWN,  // determined by equations in some mode (which kind, the mode decides)
  IR_VAR_DISCRETE  // keeps its value until an action changes it
} IrVarKind;

typedef enum IrSelect {
  IR_SELECT_DEFAULT,
  IR_SELECT_NEVER,
  IR_SELECT_AVOID,
  IR_SELECT_PREFER,
  IR_SELECT_ALWAYS
} IrSelect;

typedef struct IrVar {
  uint32_t name;
  uint8_t kind;                       // IrVarKind
  uint8_t select;                     // IrSelect: wish for state selection
  bool inactive_zero;                 // undetermined in a mode: 0 instead of holding the last value
  bool hidden;                        // made by the front end: not a column
  bool memory;                        // of a contact: the speed that its impact leaves
  bool delay;                         // of an `after`: a finite time that is not below 0
  bool yields;                        // force of a friction: where contacts hold too, they do
  bool unbounded;                     // its initial value names infinity, or no number
  uint8_t max_order;                  // highest derivative order in any equation
  uint32_t unit;                      // name id, 0 none
  double nominal;                     // typical size, > 0; 0: not given
  uint32_t appearance;                // order of first appearance in the source
  uint32_t start_begin, start_count;  // in starts
  Span span;
} IrVar;

typedef enum IrStartKind { IR_START_FIXED, IR_START_GUESS } IrStartKind;

/// Initial value of a variable or of one of its derivatives.
typedef struct IrStart {
  uint32_t var;
  uint8_t order;
  uint8_t kind;  // IrStartKind
  IrTerm value;  // over numbers, parameters and other start values (variables, order 0 or more)
  Span span;
} IrStart;

typedef struct IrEquation {
  IrTerm term;        // shape is IR_EQUALS(left, right)
  uint32_t body;      // where it is written
  uint32_t label;     // name id of its group, 0 for none
  uint32_t lhs_var;   // variable standing alone on the left, IR_NONE if the equation is implicit
  uint8_t lhs_order;  // its derivative order
  bool element;       // of a contact or a friction: several may say the same
  Span span;
} IrEquation;

typedef struct IrDelete {
  uint32_t body;
  uint32_t label;
  Span span;
} IrDelete;

/// A set of edits to the surrounding equations.
typedef struct IrBody {
  uint32_t automaton, state;                // owner; IR_NONE for the global body
  uint32_t parent;                          // `like`: body whose edits come first, IR_NONE for none
  uint32_t equation_begin, equation_count;  // in equations, which are sorted by body
  uint32_t delete_begin, delete_count;      // in deletes, sorted by body
} IrBody;

typedef enum IrAtomType {
  IR_ATOM_CRITICAL,  // `[..]` and `ordinary[..]`
  IR_ATOM_UNILATERAL,
  IR_ATOM_BILATERAL,
  IR_ATOM_SHORTLIVING,
  IR_ATOM_NOEVENT,
  IR_ATOM_PULSE,  // of elements: read on candidates with pulses, never followed
  IR_ATOM_STRUCK  // the same of the pulses that resets demand
} IrAtomType;

typedef enum IrAtomRelation {
  IR_REL_GT,  // g > 0
  IR_REL_GE,  // g >= 0
  IR_REL_EQ   // g == 0: at its zeros and while g rests there (exact where nothing continuous is
              // read)
} IrAtomRelation;

/// One relation of the model, oriented so that it holds for g > 0 (or g >= 0).
typedef struct IrAtom {
  IrTerm g;
  uint8_t type;      // IrAtomType
  uint8_t relation;  // IrAtomRelation
  bool bipolar;      // its becoming false matters too: under a negation or in a switch
  bool continuous;   // reads time or a variable that moves between events (see moving.c)
  bool kink;         // of `abs`, `min`, `max`: what it switches is continuous there
  IrTerm eps;        // absent: default of the run
  IrTerm gamma;      // absent: default of the run
  Str text;          // the relation, where the model does not write it out; empty otherwise
  Span span;         // the relation as written
} IrAtom;

/// Truth of "automaton is in state".
typedef struct IrModeTest {
  uint32_t automaton, state;
} IrModeTest;

typedef enum IrAutomatonKind {
  IR_AUTOMATON_USER,
  IR_AUTOMATON_SWITCH  // two states, 0 = false, 1 = true, following `condition` both ways
} IrAutomatonKind;

typedef struct IrAutomaton {
  uint32_t name;  // "main" for the unnamed one; "if@LINE:COL" for switches (with "[i=3]" in loops)
  uint8_t kind;   // IrAutomatonKind
  bool hidden;    // helper of the front end (cells of floor, table): its events are of kind state,
                  // but it is not shown as an automaton of the model
  bool yields;    // friction: where a contact hits, it moves after the impact
  bool ranked;    // the model gives it a priority
  IrTerm condition;      // SWITCH: truth over atoms and mode tests
  uint32_t parent_body;  // SWITCH made by an `if` block: body it stands in; else IR_NONE
  uint32_t state_begin, state_count;            // in states; index 0 is `init` (or false)
  uint32_t transition_begin, transition_count;  // in transitions, in order of priority
  uint32_t appearance;                          // order in the source: who comes first in a round
  Span span;
} IrAutomaton;

typedef struct IrState {
  uint32_t name;
  uint32_t automaton;
  uint32_t body;                        // IR_NONE when it edits nothing
  uint32_t action_begin, action_count;  // entry actions: one simultaneous group, in actions
  IrTerm invariant;                     // truth; absent if none
  Span invariant_span;
  Str stop;  // text; data NULL when the state does not stop the run
  Span span;
} IrState;

typedef struct IrTransition {
  uint32_t automaton;
  uint32_t from_begin, from_count;      // in from_states: state indices inside the automaton
  uint32_t to;                          // state index inside the automaton
  IrTerm guard;                         // truth over atoms and mode tests
  bool zeno;                            // only when the events of its automaton accumulate
  bool instead;                         // ... in place of the last of them
  bool by_lot;                          // among those enabled with it that are so, one is drawn
  bool negated;                         // the guard is the negation of what its span says
  bool made;                            // by an element: only its relations have words for it
  uint32_t action_begin, action_count;  // actions of this transition besides the entry actions
  Span span;                            // the guard, or the state's head when it has none
} IrTransition;

typedef enum IrActionKind { IR_ACTION_SET, IR_ACTION_GUESS } IrActionKind;

/// One assignment of a simultaneous group; reads the values before the event.
typedef struct IrAction {
  uint32_t var;
  uint8_t order;
  uint8_t kind;         // IrActionKind
  uint32_t appearance;  // order in the source: who draws the next random number
  IrTerm value;
  Span span;
} IrAction;

typedef struct IrGoto {
  uint32_t automaton, state;
  uint32_t appearance;  // place in its `at`: they are entered in the order of the text
} IrGoto;

/// Firing k (k = 0, 1, ...) happens at exactly start + k*period.
typedef struct IrSchedule {
  IrTerm start;
  IrTerm period;  // absent: fires once
  int64_t count;  // number of firings, -1 for ever
  int32_t priority;
  uint32_t action_begin, action_count;
  uint32_t goto_begin, goto_count;  // in gotos
  Str stop;                         // text; data NULL when none
  uint32_t appearance;              // order in the source, among those of equal time and priority
  Span span;
} IrSchedule;

typedef enum IrInterpolation { IR_LINEAR, IR_CUBIC } IrInterpolation;

/// A table of points, x strictly increasing; or what a variable was in the history, by time
/// (`delay`). The points of the latter are made during a run, those here stand in for them.
typedef struct IrData {
  uint32_t name;
  const double* x;
  const double* y;
  uint32_t count;
  uint8_t interpolation;  // IrInterpolation; of a history: linear between steps, or what they give
  bool history;
  uint32_t foreign;  // a function from outside: name of its file; 0: none
  uint32_t var;      // a history: whose
  IrTerm delay;      // ... and how long ago, or at most; over numbers and parameters
  uint32_t lag;      // variable that says how long ago now; IR_NONE: it is `delay` throughout
  IrTerm before;     // its value before the run; absent: that at the start
  Span span;
} IrData;

/// A named expression that can be recorded: a `macro` that is a number, evaluated literally.
typedef struct IrMacro {
  uint32_t name;
  uint32_t unit;  // name id, 0 none
  IrTerm value;
  Span span;
} IrMacro;

/// What runs of the model are asked for: a formula that experiments understand.
typedef struct IrMeasure {
  Str name, text;
} IrMeasure;

/// A quantity of a port that the model leaves to others: it is joined with nothing.
typedef struct IrPortQuantity {
  Str port, name;
  Str variable;  // that it is
  Str given;     // that says what it is, by an equation with nothing else in it; empty for none
  bool through;
} IrPortQuantity;

/// A shape of the drawing that goes with a run: what changes in it are macros.
typedef struct IrFigure {
  Str kind;
  BASE_VEC(Str) numbers;  // names of macros
  Str text;               // with {k:.2f} where its k-th number stands
  Str colour;
} IrFigure;

/// A quantity that is changed by hand during a run: between two values, to one of some, or freely.
typedef struct IrControl {
  Str name;
  double low, high;  // NaN: no range
  BASE_VEC(double) values;
  Span span;
} IrControl;

/// Defaults of a run; NaN and empty text mean "not given".
typedef struct IrExperiment {
  double start, end, every, step, h0, hmin, hmax, rtol, atol, eventeps, gamma;
  Str method, detection;
  BASE_VEC(Str) out;
  BASE_VEC(IrMeasure) measures;
  BASE_VEC(IrFigure) drawing;
  BASE_VEC(IrControl) controls;
  BASE_VEC(IrMeasure) plot;  // settings of the picture, in order
} IrExperiment;

typedef struct IrWork IrWork;
typedef struct IrPacked IrPacked;

typedef struct IrModel {
  Arena* arena;
  const Source* source;
  IrWork* work;  // lookups and buffers of the term builder; no part of the model
  /// Lists of IR_PACKED_LISTS as runs, NULL for most models. Their `data` is then NULL while
  /// `count` holds: readers behind the front ends use ir_var(), ir_equation(), ...
  const IrPacked* packed;
  NameTable names;
  IrPool pool;
  BASE_VEC(IrLeaf) leaves;
  BASE_VEC(double) numbers;
  BASE_VEC(IrParam) params;
  BASE_VEC(IrVar) vars;
  BASE_VEC(IrStart) starts;  // sorted by var
  BASE_VEC(IrEquation) equations;
  BASE_VEC(IrDelete) deletes;
  BASE_VEC(IrBody) bodies;  // 0 is the global one
  BASE_VEC(IrAtom) atoms;
  BASE_VEC(IrModeTest) mode_tests;
  BASE_VEC(IrAutomaton) automata;
  BASE_VEC(IrState) states;
  BASE_VEC(IrTransition) transitions;
  BASE_VEC(uint32_t) from_states;
  BASE_VEC(IrAction) actions;
  BASE_VEC(IrGoto) gotos;
  BASE_VEC(IrSchedule) schedules;
  BASE_VEC(IrData) data;
  BASE_VEC(IrMacro) macros;  // in order of appearance
  BASE_VEC(IrPortQuantity) ports;
  IrTerm energy;  // absent if not declared
  Span energy_span;
  IrExperiment experiment;
} IrModel;

/// Lists that an extended model (ir_extend) does not write out: list, entity, reader.
#define IR_PACKED_LISTS(X) \
  X(vars, IrVar, ir_var) \
  X(starts, IrStart, ir_start) \
  X(equations, IrEquation, ir_equation) \
  X(atoms, IrAtom, ir_atom) \
  X(automata, IrAutomaton, ir_automaton) \
  X(states, IrState, ir_state) \
  X(transitions, IrTransition, ir_transition) \
  X(actions, IrAction, ir_action)

typedef enum IrPackedList {
#define X(list, type, reader) IR_PACKED_##list,
  IR_PACKED_LISTS(X)
#undef X
      IR_PACKED_COUNT
} IrPackedList;

/// A run of entities, seen as words: those of block k are base + k * step.
typedef struct IrPackedRun {
  uint32_t begin;   // first entity
  uint32_t period;  // entities of a block
  const uint32_t* base;
  const uint32_t* step;
} IrPackedRun;

struct IrPacked {
  struct {
    const IrPackedRun* runs;
    uint32_t run_count;
  } lists[IR_PACKED_COUNT];
};

static inline const IrPackedRun* ir_packed_run(const IrPacked* packed, IrPackedList which,
                                               uint32_t index) {
  const IrPackedRun* low = packed->lists[which].runs;
  uint32_t count = packed->lists[which].run_count;
  while (count > 1) {
    uint32_t half = count / 2;
    if (low[half].begin <= index) {
      low += half;
      count -= half;
    } else {
      count = half;
    }
  }
  return low;
}

/// Write the lists of a packed model out.
void ir_unpack(IrModel* model);

/// Entity `index` of a list, packed or not. Inlined, so that one field costs one word.
#define X(list, type, reader) \
  static inline type reader(const IrModel* model, uint32_t index) { \
    if (model->list.data) return model->list.data[index]; \
    const IrPackedRun* run = ir_packed_run(model->packed, IR_PACKED_##list, index); \
    uint32_t at = index - run->begin; \
    uint32_t block = run->period == 1 ? at : at / run->period; \
    size_t first = (size_t)(at - block * run->period) * (sizeof(type) / sizeof(uint32_t)); \
    union { \
      type entity; \
      uint32_t words[sizeof(type) / sizeof(uint32_t)]; \
    } out; \
    for (size_t w = 0; w < sizeof(type) / sizeof(uint32_t); w++) { \
      out.words[w] = run->base[first + w] + block * run->step[first + w]; \
    } \
    return out.entity; \
  }
IR_PACKED_LISTS(X)
#undef X

/// An empty model: no entities but the global body; nothing given in the experiment.
void ir_model_init(IrModel* model, Arena* arena, const Source* source);

// ---------------------------------------------------------------------------------------------
// building terms

/// Collects the row while an expression is built bottom-up. Equal leaves share a slot.
/// Several builders may be open at once (an atom inside a guard).
typedef struct IrTermBuilder {
  IrModel* model;
  BASE_VEC(IrLeaf) row;
  uint32_t* slots;  // long rows only: hash of leaf -> slot + 1
  uint32_t slot_count;
  uint32_t addend;  // number of slots before the present addend of a sum
} IrTermBuilder;

void ir_term_begin(IrTermBuilder* builder, IrModel* model);
/// The slot expression that stands for `leaf`.
ExprId ir_term_leaf(IrTermBuilder* builder, IrLeaf leaf);
/// The same for a leaf that the index of a sum selects. It shares a slot with equal ones of its own
/// addend only: in `sum(j = 1:N, x[j] - x[i])` the addend of j = i has the shape of all others, so
/// that the equations of all i have one shape.
ExprId ir_term_addend_leaf(IrTermBuilder* builder, IrLeaf leaf);
ExprId ir_term_var(IrTermBuilder* builder, uint32_t var, uint8_t order, IrWhen when);
ExprId ir_term_param(IrTermBuilder* builder, uint32_t param);
/// A number as written: small structural ones (0, 1, 2, 0.5, ...) stay in the shape as IR_CONST,
/// others become leaves so that equations differing in coefficients share a shape.
ExprId ir_term_number(IrTermBuilder* builder, double value);
/// A number that is always a leaf (the value of a loop index).
ExprId ir_term_number_leaf(IrTermBuilder* builder, double value);
/// Rows are appended to the model; slots that `root` does not use are dropped, the others are
/// numbered in the order of their first use. Root {0} gives an absent term.
IrTerm ir_term_end(IrTermBuilder* builder, ExprId root);

bool ir_term_equal(const IrModel* model, IrTerm a, IrTerm b);
uint64_t ir_term_hash(const IrModel* model, IrTerm term);

/// Leaf in slot `slot` of a term.
static inline IrLeaf ir_leaf(const IrModel* model, IrTerm term, uint32_t slot) {
  return model->leaves.data[term.leaf_begin + slot];
}

// ---------------------------------------------------------------------------------------------
// whole model

/// Put everything into an order that does not depend on the order of declarations, renumber all
/// references, fill in the begin/count ranges, `max_order` and `continuous`. Called by the front
/// end when everything is added; indices and terms that it still holds are worthless afterwards
/// (names and spans stay).
///
/// Variables, parameters, data and automata stand in the natural order of their names; behind them
/// come what has no name of its own, ordered by structure: hidden variables by their start values,
/// switches by their conditions, then hidden automata by the variables they change. Bodies are in
/// the order of their owners, equations by body, label, left side and structure. States and
/// transitions are grouped by their `automaton` field and keep their order inside one automaton.
/// Equal atoms become one, and so do equal switches without bodies. Unused nodes and numbers are
/// dropped. Macros keep their order. O(n log n), about half a second for a million equations.
void ir_canonicalise(IrModel* model);
/// Say of each atom whether it is continuous; needs the kinds and orders of the variables.
void ir_decide_continuous(IrModel* model, Arena* scratch);

#define IR_COMBINATIONS_FEW 256.0

/// Combinations of the states of automata that edit equations; beyond IR_COMBINATIONS_FEW some
/// number above it.
double ir_combinations(const IrModel* model);

/// In models of more than few combinations of states: explicit equations that the states of an
/// automaton replace become one that selects by its state (merge.c). Works on a canonical model;
/// true when it was changed, and has to be canonicalised again.
bool ir_merge_alternatives(IrModel* model, Arena* scratch);

/// Check every index, arity, type and ordering rule of a canonical model; on failure `why` says
/// what is broken. Survives any damage except to pointers and the lengths beside them. Uses `arena`
/// for scratch memory too.
bool ir_verify(const IrModel* model, Arena* arena, Str* why);

/// A large model from small ones. `samples` are three canonical models of the same text in which
/// loops run to n, n + 1 and n + 2, and treat their instances alike: `model`, which comes in as
/// ir_model_init() leaves it, becomes the one in which they run to n + more. False when the samples
/// do not grow evenly, when something outside of the loops would come among their names or numbers,
/// or when there would be more than `leaves_max` leaves; the model is then unfit for use. Most of
/// its lists are packed. The samples may be freed afterwards.
bool ir_extend(IrModel* model, IrModel* const* samples, uint32_t more, uint32_t leaves_max,
               Arena* scratch);
/// Whether two models without tables are the same in every word.
bool ir_model_equal(const IrModel* a, const IrModel* b, Arena* scratch);

/// Text of an expression with the names of the model, e.g. "m*v_x' = -T*x/l". Atoms appear as
/// written where the source is a relation outside of loops, switches as their conditions. Without a
/// row slots are "$0", "$1"... Very long texts (over a million nodes) end in "...".
void ir_print_term(TextBuffer* out, const IrModel* model, IrTerm term);
void ir_print_expr(TextBuffer* out, const IrModel* model, ExprId expr, const IrLeaf* row);
/// The whole model as readable text (`saltus explain --ir`).
void ir_print_model(TextBuffer* out, const IrModel* model);

/// Name of a variable, quoted with backquotes where LISMA needs it.
Str ir_var_name(const IrModel* model, uint32_t var);

// ---------------------------------------------------------------------------------------------
// product modes

/// Two active bodies edit the same group (SEMANTICS: label conflict).
typedef struct IrConflict {
  uint32_t label;                   // name id, or 0 when it is the explicit equation of `var`
  uint32_t var;                     // IR_NONE when it is a label
  uint32_t equation_a, equation_b;  // a < b
} IrConflict;

/// Active equations of a product mode: `mode[a]` is the state of automaton a. Writes equation
/// indices in ascending order into `out` (room for equations.count) and returns their number.
/// Depends on the mode alone, not on how it was reached. On a conflict returns IR_NONE and fills in
/// `conflict` (may be NULL). The model must be canonical and valid.
///
/// An equation that replaces one by its left side takes its place in the labelled group, too. Two
/// deletions of one label agree; a deletion gives way to a replacement.
uint32_t ir_mode_equations(const IrModel* model, Arena* scratch, const uint32_t* mode,
                           uint32_t* out, IrConflict* conflict);

/// Whether a switch's state matters in a mode: an `if` block nested in a state's body is dormant
/// unless that state, or one that is `like` it, is active.
bool ir_automaton_is_active(const IrModel* model, uint32_t automaton, const uint32_t* mode);

#endif
