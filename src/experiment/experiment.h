// SPDX-License-Identifier: MIT
//
// experiment: what runs are asked for, and many runs of one model. It stands on the public
// interface of runs and adds nothing to them: whatever an experiment does, a single `run` can do.
//
//   formula    text to a list of operations over leaves, with its derivatives
//   curve      a quantity over a stretch of motion as polynomials: extrema, integrals, levels
//   measure    readings of a run, and formulas of them
//   design     which parameters a member has: a function of its number
//   sweep      members on threads, rows in order
#ifndef SALTUS_EXPERIMENT_INTERNAL_H
#define SALTUS_EXPERIMENT_INTERNAL_H

#include "base/base.h"

#include <saltus/saltus_experiment.h>

#include <math.h>

// kernels are compiled without builtins, for the sake of their bits; what is exact needs no call
#define fabs(a) __builtin_fabs(a)

/// Fill in a problem (which may be NULL); returns `status`.
SltStatus problem_set(SltProblem* problem, SltStatus status, const char* hint, const char* message,
                      ...) __attribute__((format(printf, 4, 5)));

/// ... with what a run that failed says of itself, and its code.
SltStatus problem_set_run(SltProblem* problem, SltSim* sim, SltStatus status, const char* what);

/// A cell that is neither a number nor empty is a mistake that nobody should find by its results.
SltStatus table_check_numbers(const SltTable* table, uint32_t column, SltProblem* problem);

// ---- formulas (formula.c) -----------------------------------------------------------------------

#define FORMULA_NODES 4096  // most operations of one formula
#define FORMULA_DEPTH 64    // parentheses inside of parentheses

typedef struct FormulaNode {
  uint32_t op;  // FormulaOp
  uint32_t a, b;
  double number;
} FormulaNode;

/// Operations in order of evaluation; the last one is the value.
typedef struct Formula {
  FormulaNode* nodes;
  uint32_t count;
} Formula;

typedef struct FormulaParser FormulaParser;

/// What a name, or a call, stands for. `call` is false for a plain name; for a call the parser
/// stands behind its parenthesis. Gives the number of a leaf; SLT_END: an ordinary function, or
/// the formula whose text the parser's `definition` was set to.
typedef SltStatus FormulaLeafFn(void* user, FormulaParser* parser, Str name, bool call,
                                uint32_t* leaf);

struct FormulaParser {
  const char* at;
  const char* end;
  uint32_t depth;
  FormulaNode nodes[FORMULA_NODES];
  uint32_t count;
  Str definition;  // of the name that was just read; empty: it has none
  FormulaLeafFn* leaf;
  void* user;
  SltProblem* problem;
};

/// Read a whole text. `out` is freed with formula_clear().
SltStatus formula_read(FormulaParser* parser, Formula* out);
void formula_clear(Formula* formula);
/// Read a sum up to where it ends, as an operand of its own; `nodes` begins anew.
SltStatus formula_read_part(FormulaParser* parser, Formula* out);
/// The next character behind blanks, '\0' at the end; and take it if it is `c`.
char formula_peek(FormulaParser* parser);
bool formula_take(FormulaParser* parser, char c);
/// A name as the language has them: letters, digits, primes, paths, one index, or backquotes.
bool formula_name(FormulaParser* parser, Str* out);

/// Whether an operation reads a leaf, and which.
bool formula_reads(const Formula* formula, uint32_t node, uint32_t* leaf);
/// Number behind the last leaf that it reads; 0: it reads none.
uint32_t formula_leaf_end(const Formula* formula);
/// Whether it has no kinks: neither abs nor the smaller or larger of two.
bool formula_is_smooth(const Formula* formula);
double formula_value(const Formula* formula, const double* leaves);
/// Derivatives of the value with respect to each of `leaf_count` leaves.
void formula_partials(const Formula* formula, const double* leaves, uint32_t leaf_count,
                      double* partials);

// ---- curves (curve.c) ---------------------------------------------------------------------------

#define CURVE_POINTS 12  // coefficients of a piece: enough for the dense output of every method
#define CURVE_DEPTH  64  // most halvings of one stretch

/// A polynomial over a stretch of time, in Chebyshev's basis.
typedef struct CurvePiece {
  double a, b;
  double c[CURVE_POINTS];
} CurvePiece;

/// Values of the quantity at times inside the stretch, CURVE_POINTS of them at most.
typedef SltStatus CurveFn(void* user, const double* t, uint32_t count, double* values);
typedef SltStatus CurvePieceFn(void* user, const CurvePiece* piece);
/// Whether somebody wants to know more of a piece that leaves something like `tail` out.
typedef bool CurveMattersFn(void* user, const CurvePiece* piece, double tail);

typedef struct CurveReader {
  CurveFn* value;
  CurvePieceFn* take;
  CurveMattersFn* matters;  // NULL: everything does
} CurveReader;

/// Approximate a quantity over (a, b), halving until rounding is reached, and give its pieces in
/// order.
/// @param scale  largest magnitude of the quantity so far, 0 at first: its rounding is relative to
///               that. Kept up to date.
/// @param kinks  the quantity may have some inside; the value at `b` is then asked for, too
SltStatus curve_walk(double a, double b, bool kinks, double* scale, const CurveReader* reader,
                     void* user);
double curve_value(const CurvePiece* piece, double t);
double curve_integral(const CurvePiece* piece);
double curve_square_integral(const CurvePiece* piece);
/// No value of the piece is greater in magnitude of its distance from c[0].
double curve_spread(const CurvePiece* piece);
/// Times inside where the value is `level`, ascending; at most CURVE_POINTS of them.
uint32_t curve_crossings(const CurvePiece* piece, double level, double* times);
/// Times inside where the slope is zero.
uint32_t curve_turns(const CurvePiece* piece, double* times);
/// Time for which the value is at most `level`.
double curve_time_below(const CurvePiece* piece, double level);

// ---- parameters of runs (design.c) --------------------------------------------------------------

typedef enum ParameterKind { PARAMETER_CONSTANT, PARAMETER_INITIAL, PARAMETER_SEED } ParameterKind;

/// Something that can be given to a run before its start.
typedef struct Parameter {
  ParameterKind kind;
  char* name;  // as the user wrote it; free() it
  char* bare;  // of the variable or constant; inside of `name`'s block
} Parameter;

/// Find what a name stands for. The problem tells where there is nothing, or nothing that can be
/// set.
SltStatus parameter_find(const SltModel* model, Str name, Parameter* out, SltProblem* problem);
/// Fails where there are none.
SltStatus parameter_some(uint32_t count, SltProblem* problem);
/// The same for one more of several on which results depend smoothly: no seed, and none twice.
SltStatus parameter_find_next(const SltModel* model, const char* name, Parameter* all,
                              uint32_t number, SltProblem* problem);
void parameter_clear(Parameter* parameter);
/// Give a run its value; for a seed, which is an option, to the options beforehand.
SltStatus parameter_set(const Parameter* parameter, SltSim* sim, double value);

/// Inverse of the normal distribution's function.
double normal_quantile(double p);

#endif
