// SPDX-License-Identifier: MIT
//
// symbolic: what can be known about the equations of one product mode before any number is known.
//
// The IR is only read. New expressions go into a pool of our own that starts as a copy of the IR's,
// so an ExprId of the IR means the same in both. All work is done on shapes, once per shape and
// remembered; instances only carry rows of leaves. Nothing here recurses: a shape is first laid out
// as a list of steps in evaluation order, and every algorithm is a loop over that list.
//
// What simplification may change. Derived expressions (derivatives, solved equations) are built by
// sym_make(), which folds constants with the operations of eval.c and applies identities that keep
// every value, except that a zero may change its sign (x + 0 -> x). It never turns x*0, 0/x, x - x
// or x/x into a number: that would hide a NaN or an infinity in x. A right side that the user wrote
// for the unknown alone on the left is not touched at all.
#ifndef SALTUS_SYMBOLIC_H
#define SALTUS_SYMBOLIC_H

#include "base/base.h"
#include "ir/ir.h"

/// Tables know their derivatives: the data index of an IR_TABLE node carries the order of the
/// derivative in its top bits (0 value, 1 slope, 2 curvature; the third one is taken as 0).
#define SYM_TABLE_ORDER(data) ((data) >> 30)
#define SYM_TABLE_DATA(data)  ((data)&0x3fffffffu)

/// A shape and the leaves in its slots; like IrTerm, but the row may lie anywhere.
typedef struct SymTerm {
  ExprId shape;
  uint32_t count;
  const IrLeaf* row;
} SymTerm;

/// One operation of a laid out shape.
typedef struct SymStep {
  uint32_t op;      // IrOp
  uint32_t arg[3];  // positions of earlier steps; IR_SLOT: the slot; IR_TABLE: data, position
  double value;     // IR_CONST
  ExprId expr;      // the node this step computes
} SymStep;

/// A shape in evaluation order; the last step is its root. Nodes are shared, except those that draw
/// random numbers: each occurrence is one draw, from left to right.
typedef struct SymShape {
  const SymStep* steps;
  uint32_t count;
  uint32_t slot_count;  // 1 + the largest slot in use
} SymShape;

typedef struct SymMemo {
  struct SymMemoEntry** slots;  // open addressing
  uint32_t slot_count;
  uint32_t count;
} SymMemo;

/// Growing knowledge about the expressions of one model. Used by one thread at a time.
typedef struct Sym {
  Arena* arena;       // results live here
  const IrModel* ir;  // must outlive this
  IrModel view;       // the IR with our pool in place of its own, for printing
  SymMemo memo;
  ExprId last_expr;  // rows of one shape come in long runs
  const SymShape* last_shape;
  uint64_t* places;  // while laying out: node -> {stamp, position}
  uint32_t place_count;
  uint32_t stamp;
  // work space of the loops over steps, kept for the next one
  BASE_VEC(SymStep) steps;
  BASE_VEC(uint64_t) stack;
  BASE_VEC(ExprId) work[2];
} Sym;

void sym_init(Sym* sym, Arena* arena, const IrModel* ir);

/// A term of the IR; its row is the IR's.
SymTerm sym_term(const Sym* sym, IrTerm term);

const SymShape* sym_shape(Sym* sym, ExprId shape);

/// Literal value of a shape, the reference that tapes are tested against. `row` tells which slots
/// are numbers of the model (NULL: none). No tables, no random numbers: both give NaN.
double sym_eval(Sym* sym, Arena* scratch, ExprId shape, const IrLeaf* row, const double* slots,
                double time);

/// Node with folding and identities; booleans fold to IR_TRUE and IR_FALSE.
ExprId sym_make(Sym* sym, IrOp op, ExprId a, ExprId b, ExprId c);
ExprId sym_number(Sym* sym, double value);
bool sym_is_number(const Sym* sym, ExprId expr, double value);
/// The whole shape rebuilt by sym_make.
ExprId sym_simplify(Sym* sym, ExprId shape);

/// Derivative of a shape with respect to one slot; the row stays the same. Relations, `sign`,
/// `floor` and `ceil` have derivative 0, `abs` has sign(u) u' (0 at 0), `min`, `max` and `if` that
/// of the branch in force, mod(a, b) has a' - floor(a/b) b', an equation that of both its sides.
ExprId sym_derivative(Sym* sym, ExprId shape, uint32_t slot);

struct SymVar;
/// Total time derivative. The row of the result is the old one, extended by the leaf of the next
/// derivative for every leaf that moves; it is allocated in `rows`. Numbers, parameters, discrete
/// variables, truths and entry times stand still, and so do variables that `vars` (per variable,
/// may be NULL) calls undetermined. pre(x) moves like x: between events they are the same.
SymTerm sym_total_derivative(Sym* sym, Arena* rows, SymTerm term, const struct SymVar* vars);

typedef enum SymSolution {
  SYM_EXPLICIT,   // unknown alone on one side, as written
  SYM_LINEAR,     // remainder divided by the coefficient
  SYM_CANCELS,    // the unknown drops out
  SYM_NONLINEAR,  // not seen to be linear
  SYM_IN_BLOCK    // of an assignment: solved together with others, at run time
} SymSolution;

/// Solve the equation `shape` for what stands in the given slots (all the same leaf; usually one).
/// On SYM_EXPLICIT and SYM_LINEAR `value` is the solution over the same row.
SymSolution sym_solve(Sym* sym, ExprId shape, const uint32_t* slots, uint32_t slot_count,
                      ExprId* value);

/// The same for a variable differentiated `order` times, wherever it stands in the term; pre(x) is
/// another quantity.
SymSolution sym_solve_for(Sym* sym, Arena* scratch, SymTerm term, uint32_t var, uint8_t order,
                          ExprId* value);

/// Partial derivative of an equation's residual (left - right) with respect to one quantity, which
/// may stand in several slots. {0} when the residual does not depend on it.
ExprId sym_partial(Sym* sym, Arena* scratch, SymTerm equation, uint32_t var, uint8_t order);
/// What is left of an equation's residual (left - right) when the given slots are 0, {0} where that
/// is nothing. False when the equation is not seen to be linear in them together.
bool sym_rest(Sym* sym, ExprId shape, const uint32_t* slots, uint32_t slot_count, ExprId* rest);
/// Whether a shape over this row reads any variable for which `asks` says yes.
bool sym_reads(Sym* sym, ExprId shape, const IrLeaf* row,
               bool (*asks)(const void* user, IrLeaf leaf), const void* user);

// ---------------------------------------------------------------------------------------------
// one product mode

typedef enum SymRole { SYM_DISCRETE, SYM_STATE, SYM_ALGEBRAIC, SYM_UNDETERMINED } SymRole;

/// What a variable is in one mode.
typedef struct SymVar {
  uint8_t role;     // SymRole
  uint8_t order;    // highest derivative order in the equations: the unknown; below are states
  bool loose;       // its equations leave a choice: undetermined, or computed from what is
  uint32_t assign;  // position of the assignment of the unknown, IR_NONE when there is none
} SymVar;

/// `var` differentiated `order` times, solved for.
typedef struct SymAssign {
  uint32_t equation;
  uint32_t var;
  uint8_t order;
  uint8_t kind;    // SymSolution: one of the first two, or SYM_IN_BLOCK
  SymTerm value;   // SYM_IN_BLOCK: the equation matched to it, differentiated as often as needed
  uint32_t block;  // SYM_IN_BLOCK: index of its block
} SymAssign;

/// Assignments that need each other: solved together.
///
/// Torn blocks: once the unknowns of the last torn_count members in `columns` are known, the
/// equation of member rows[k] gives the unknown of member columns[k] for k = 0, 1, ... one after
/// the other; the equations that are left over, at the end of `rows`, determine the torn unknowns.
typedef struct SymBlock {
  uint32_t begin, count;  // in assigns
  bool relaxed;           // some of its equations have partners: it may lack rank
  bool linear;            // the coefficients of its unknowns are free of them
  uint32_t torn_count;    // == count: not torn
  const uint32_t* rows;   // members, numbered from 0; NULL when not torn
  const uint32_t* columns;
} SymBlock;

/// What stands in the place of an equation in another state of the automaton that brought it, and
/// the relations that lead there and back (IR_NONE: not known; `..._falls`: by becoming false).
typedef struct SymPartner {
  uint32_t equation;  // IR_NONE: none
  uint32_t leave, back;
  bool leave_falls, back_falls;
  bool same_side;  // both have the same quantity alone on the left
} SymPartner;

/// The analysed equations of a product mode.
typedef struct SymMode {
  const uint32_t* equations;  // ascending
  uint32_t equation_count;
  const SymAssign* assigns;  // each reads states and the unknowns before it only
  uint32_t assign_count;
  const SymVar* vars;   // per variable
  const Diag* failure;  // NULL when every unknown is solved for; then the rest is incomplete
  // Implicit modes (Pryce's structural analysis): equation i is differentiated offsets[i] times,
  // and vars[].order is the order that is then solved for. The equations differentiated fewer times
  // constrain the states.
  const uint8_t* offsets;  // per equation; NULL when nothing is differentiated
  const SymBlock* blocks;
  uint32_t block_count;
  uint32_t constraint_count;   // sum of the offsets
  uint32_t freedom;            // states that can be chosen freely
  uint32_t index;              // structural index
  bool repeats;                // some equations say the same twice: blocks lack rank
  const SymPartner* partners;  // per equation, in a mode that is relaxed; NULL otherwise
} SymMode;

/// Analyse the active equations (ascending indices, copied) of a product mode. `mode` only gives
/// names to messages. The result is in `out` (which may be `scratch`), a failure with what `sym`
/// knows.
const SymMode* sym_analyse(Sym* sym, Arena* out, Arena* scratch, const uint32_t* equations,
                           uint32_t count, const uint32_t* mode);

/// The failure of a mode whose bodies contradict each other.
const Diag* sym_conflict(Sym* sym, Arena* scratch, const IrConflict* conflict,
                         const uint32_t* mode);

/// Whether the states of an automaton influence which equations are active.
bool sym_edits_equations(const IrModel* ir, uint32_t automaton);

/// "main=fly, if@3:1=true": the automata that edit equations. False when there is none.
bool sym_mode_text(TextBuffer* out, const IrModel* ir, const uint32_t* mode);

/// "x", "x'", "x''", then "der(x, 3)".
void sym_unknown_text(TextBuffer* out, const IrModel* ir, uint32_t var, uint8_t order);

// ---------------------------------------------------------------------------------------------
// structure of sparse systems

/// Highest derivative of each unknown (column) in each equation (row), where it occurs. Entries of
/// a row are distinct columns; the preferred partner comes first.
typedef struct SymSignature {
  int row_count, column_count;
  const int* begin;  // row_count + 1
  const int* columns;
  const int* orders;
} SymSignature;

/// A transversal of largest total order and the smallest offsets c >= 0, d that belong to it:
/// d[j] - c[i] >= order(i, j) everywhere, with equality on the transversal (Pryce 2001). The row of
/// each column goes to row_of_column. False when there is no transversal.
bool sym_offsets(Arena* scratch, const SymSignature* signature, int* c, int* d, int* row_of_column);

/// Which unknowns (columns) stand in which equations (rows).
typedef struct SymIncidence {
  int row_count, column_count;
  int* begin;    // row_count + 1
  int* columns;  // a row's entries; the preferred partner first
} SymIncidence;

/// Maximum matching: the row of each column, or -1. Returns its size.
int sym_match(Arena* scratch, const SymIncidence* incidence, int* row_of_column);

/// The first connected piece of a Dulmage-Mendelsohn part. The parts depend on the system alone,
/// not on the matching found: over-determined is what unmatched rows reach by alternating paths
/// (more rows than columns), under-determined what unmatched columns reach. Empty when all are
/// matched.
typedef struct SymPart {
  const uint32_t* rows;  // ascending
  const uint32_t* columns;
  uint32_t row_count, column_count;
} SymPart;

/// Columns of the under-determined part that are best left without a row, so that the others can
/// all be paired: those of the largest `rank` (ties: the last in `order`, NULL: as they stand).
/// `loose` marks the whole part, `held` what is left.
void sym_choose_held(Arena* scratch, const SymIncidence* incidence, const int* row_of_column,
                     const uint8_t* rank, const uint32_t* order, uint8_t* loose, uint8_t* held);

SymPart sym_over_part(Arena* scratch, const SymIncidence* incidence, const int* row_of_column);
SymPart sym_under_part(Arena* scratch, const SymIncidence* incidence, const int* row_of_column);

/// Strong components of a square system with a perfect matching, in order of solution: block b is
/// columns[begin[b]] .. columns[begin[b + 1] - 1], each with its matched row.
typedef struct SymBlocks {
  const int* columns;
  const int* rows;
  const int* begin;
  uint32_t count;
} SymBlocks;

SymBlocks sym_blocks(Arena* scratch, const SymIncidence* incidence, const int* row_of_column);

#endif
