// SPDX-License-Identifier: MIT
//
// Experiments: what a run is asked for (measures), and many runs of one model (designs, sweeps).
//
//   SltMeasures* measures = NULL;
//   const char* texts[] = {"peak = max(y)", "time(main.rest)"};
//   slt_measures_create(model, texts, 2, &measures, &problem);
//   SltDesign* design = NULL;
//   slt_design_create(model, &design);
//   slt_design_add(design, "k=0.5:0.9:101", &problem);
//   SltSweepOptions options = slt_sweep_options();
//   options.on_row = print_row;
//   slt_sweep_run(model, design, measures, &options);
#ifndef SALTUS_EXPERIMENT_H
#define SALTUS_EXPERIMENT_H

#include <saltus/saltus.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What is wrong with a text that was given, and the way out.
typedef struct SltProblem {
  char message[300];
  char hint[300];  ///< empty: none
  char code[8];    ///< of the diagnostic, where a run failed; empty: none
} SltProblem;

// ---- measures -----------------------------------------------------------------------------------

/// What runs are asked for. Immutable: share it between threads.
typedef struct SltMeasures SltMeasures;

/// Read measures: `NAME = FORMULA` or `FORMULA`, which is then its own name. A formula is made of
/// numbers, constants of the model, measures before it and those that the model declares,
/// functions, and readings of the run:
///
///   end(x) start(x) at(x, t)                  values; x is any formula of quantities of the model
///   max(x) min(x) mean(x) rms(x) integral(x)  over the run
///   quantile(x, q)                            x is at most this for a share q of the time
///   max(x, 2, 5) ... quantile(x, q, 2, 5)     the same between two times
///   time(A.s) time(A.s, k)                    first (k-th) entry into state s of automaton A
///   count(A.s) duration(A.s)                  number of entries, time spent there
///
/// All are taken from the dense output, not from rows: extrema are found where they are.
/// @param model     must outlive the measures.
/// @param texts     NULL: the measures that the model declares.
/// @param problem   receives what is wrong; may be NULL.
/// @param out       receives the measures, NULL on failure; free them with slt_measures_free().
/// @return SLT_OK, SLT_ERR_SYNTAX, SLT_ERR_NOT_FOUND (a name), SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_measures_create(const SltModel* model, const char* const* texts,
                                      uint32_t count, SltMeasures** out, SltProblem* problem);
/// Free measures. Accepts NULL.
SLT_API void slt_measures_free(SltMeasures* measures);
SLT_API uint32_t slt_measures_count(const SltMeasures* measures);
/// Name of a measure; lives as long as the measures. NULL behind the last.
SLT_API const char* slt_measures_name(const SltMeasures* measures, uint32_t measure);

/// Run a simulation that is not started yet to `t_end`, or to where the model stops it, and take
/// the measures. Takes over slt_sim_on_event() of the run.
/// @param values  receives a number per measure; NaN where it has none (a state never entered, a
///                variable that is undetermined, a run that failed).
/// @return SLT_OK, SLT_END, the error of the run, SLT_ERR_CANCELLED, SLT_ERR_NOMEM.
SLT_API SltStatus slt_measures_run(const SltMeasures* measures, SltSim* sim, double t_end,
                                   double* values);

// ---- designs ------------------------------------------------------------------------------------

/// Which parameters vary over the runs of an experiment, and how. One thread changes it; afterwards
/// it may be shared.
typedef struct SltDesign SltDesign;

/// How members are chosen.
typedef enum SltSampling {
  SLT_SAMPLE_GRID = 0,    ///< every combination; the last parameter varies fastest
  SLT_SAMPLE_RANDOM = 1,  ///< independent draws
  SLT_SAMPLE_LHS = 2,     ///< Latin hypercube: each parameter takes every stratum once
  SLT_SAMPLE_SOBOL = 3    ///< Sobol's sequence with a digital shift; at most 21 parameters
} SltSampling;

/// @param model  must outlive the design.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_design_create(const SltModel* model, SltDesign** out);
/// Free a design. Accepts NULL.
SLT_API void slt_design_free(SltDesign* design);

/// Let a parameter vary. It is a constant of the model, an initial value `x(t0)`, or `seed`, the
/// seed of the random streams:
///
///   k=0:10:101        101 values from 0 to 10        k=0:10   (when sampled) anything between
///   k=1,2,5           these values                   k=log(1:1000:4)   equal ratios: 1, 10, 100...
///   k~uniform(a, b)   k~normal(mean, deviation)      k~lognormal(mean, deviation of ln k)
///   k~triangular(least, most likely, greatest)       k~empirical(FILE.csv, column)
///
/// @return SLT_OK, SLT_ERR_SYNTAX, SLT_ERR_NOT_FOUND (no such parameter), SLT_ERR_ARGUMENT (an
/// empty
///         range, a constant that shapes the model), SLT_ERR_IO, SLT_ERR_NOMEM.
SLT_API SltStatus slt_design_add(SltDesign* design, const char* text, SltProblem* problem);
/// Let two parameters be correlated where they are drawn (a Gaussian copula): `a,b=0.8`.
/// @return SLT_OK, SLT_ERR_SYNTAX, SLT_ERR_NOT_FOUND, SLT_ERR_ARGUMENT (no correlation of these
///         parameters can be all that was asked for), SLT_ERR_NOMEM.
SLT_API SltStatus slt_design_correlate(SltDesign* design, const char* text, SltProblem* problem);
/// Choose how members are made, when all parameters are there.
/// @param count  of members; of no meaning for a grid.
/// @return SLT_OK, SLT_ERR_ARGUMENT.
SLT_API SltStatus slt_design_sample(SltDesign* design, SltSampling sampling, uint64_t count,
                                    uint64_t seed, SltProblem* problem);
SLT_API uint32_t slt_design_parameter_count(const SltDesign* design);
/// Name of a parameter; lives as long as the design. NULL behind the last.
SLT_API const char* slt_design_parameter_name(const SltDesign* design, uint32_t parameter);
/// The file that its values were read from, for who wants to write files beside it; NULL: none.
SLT_API const char* slt_design_parameter_file(const SltDesign* design, uint32_t parameter);
/// Whether the rows of a sweep can name their columns: SLT_ERR_ARGUMENT with a problem where a
/// measure is called like a parameter of the design, or `member`, `status` or `message`.
SLT_API SltStatus slt_design_check_names(const SltDesign* design, const SltMeasures* measures,
                                         SltProblem* problem);
SLT_API uint64_t slt_design_member_count(const SltDesign* design);
/// Parameters of one member: a function of its number, so that members can be made anywhere in any
/// order.
SLT_API void slt_design_member(const SltDesign* design, uint64_t member, double* values);
/// Make the run of one member; it is not started yet.
/// @param options  of the run; a varied seed takes the place of theirs.
/// @param out      receives the run, NULL on failure; free it with slt_sim_free().
/// @return as slt_sim_create() and slt_sim_set_constant().
SLT_API SltStatus slt_design_sim_create(const SltModel* model, const SltDesign* design,
                                        uint64_t member, const SltSimOptions* options,
                                        SltSim** out);

// ---- sweeps -------------------------------------------------------------------------------------

/// What became of a member. Pointers are valid during the call only.
typedef struct SltSweepRow {
  uint64_t member;
  const double* parameters;
  const double* values;  ///< of the measures, then of the caller's own
  SltStatus status;      ///< of its run: SLT_OK, SLT_END (stopped by the model), an error
  const char* code;      ///< of an error: "E0802"; else NULL
  const char* message;   ///< why it failed; else NULL
} SltSweepRow;

/// Receives rows in the order of the members. A negative status ends the sweep with it.
typedef SltStatus SltSweepRowFn(void* user, const SltSweepRow* row);
/// Asked now and then, by one thread; true ends the sweep with SLT_ERR_CANCELLED.
typedef bool SltSweepCancelFn(void* user);
/// Measures of the caller's own, from a run that has ended; called by several threads.
typedef void SltOwnMeasureFn(void* user, SltSim* sim, SltStatus status, double* values);

/// Options of a sweep: take them from slt_sweep_options().
typedef struct SltSweepOptions {
  SltSimOptions sim;      ///< of every run
  double t_end;           ///< NaN: the experiment's, else 10
  uint32_t jobs;          ///< threads; 0: as many as there are processors [0]
  uint64_t first;         ///< member to begin with [0]
  uint64_t count;         ///< of members; 0: all from there on [0]
  SltSweepRowFn* on_row;  ///< called by the thread that called slt_sweep_run()
  SltSweepCancelFn* cancel;
  SltOwnMeasureFn* own;
  uint32_t own_count;  ///< values that `own` gives
  void* user;
  uint32_t cookie;
} SltSweepOptions;

SLT_API SltSweepOptions slt_sweep_options(void);

/// Tighten the tolerances of runs that others are compared with: `rtol` where none is given, and an
/// absolute tolerance of the model itself in proportion. There is none otherwise: it has a unit.
SLT_API void slt_sim_options_tighten(const SltModel* model, double rtol, SltSimOptions* options);

/// Run the members of a design. Rows, their order and their bits do not depend on the number of
/// threads; memory does not depend on the number of members. A member that fails is a row.
/// @param measures  may be NULL.
/// @return SLT_OK, SLT_ERR_CANCELLED, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM, or what on_row returned.
SLT_API SltStatus slt_sweep_run(const SltModel* model, const SltDesign* design,
                                const SltMeasures* measures, const SltSweepOptions* options);

/// Rows of a sweep as CSV text, with a digest over all of it.
typedef struct SltSweepText SltSweepText;

#define SLT_DIGEST_TEXT 65  ///< bytes of a digest in hexadecimal digits, its NUL included

/// @param measures   may be NULL.
/// @param own_names  of own_count values of the caller's own.
/// @param writer     receives whole lines.
/// @param out        receives the writer of rows, NULL on failure; free it with
///                   slt_sweep_text_free(). It must not outlive design and measures.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_sweep_text_create(const SltDesign* design, const SltMeasures* measures,
                                        const char* const* own_names, uint32_t own_count,
                                        SltWriter writer, SltSweepText** out);
/// Free it. Accepts NULL.
SLT_API void slt_sweep_text_free(SltSweepText* text);
/// Write the names of the columns: `member`, the parameters, the measures, `status`, `message`.
/// @return SLT_OK, SLT_ERR_NOMEM, or the writer's error.
SLT_API SltStatus slt_sweep_text_header(SltSweepText* text);
/// Write a row. A measure without a value is an empty cell; `status` is done, stopped or failed.
SLT_API SltStatus slt_sweep_text_row(SltSweepText* text, const SltSweepRow* row);
/// Take bytes that were written before into the digest.
SLT_API void slt_sweep_text_seen(SltSweepText* text, const char* data, size_t length);
/// Digest (SHA-256) of everything so far.
SLT_API void slt_sweep_text_digest(const SltSweepText* text, char out[SLT_DIGEST_TEXT]);

// ---- maps of event sequences --------------------------------------------------------------------

/// A point of a map. Pointers are valid during the call only.
typedef struct SltMapPoint {
  const double* parameters;
  uint32_t sequence;  ///< number of its sequence of events; UINT32_MAX: the run failed
  uint32_t beyond;    ///< of a boundary: that on its other side; else the same
  uint32_t axis;      ///< of a boundary: the parameter along which it was located
  bool boundary;      ///< else a point of the grid
  bool more;          ///< of a boundary: others follow before the neighbour; too many to look for
  const char* spelling;  ///< the sequence for people: `b*2 rest`; cut where it is long
  const char* beyond_spelling;
} SltMapPoint;

/// Receives the points of the grid in order, then the boundaries.
typedef SltStatus SltMapPointFn(void* user, const SltMapPoint* point);

/// Take them from slt_map_options().
typedef struct SltMapOptions {
  SltSimOptions sim;  ///< of every run; its `rtol` is 1e-11 where it is not given
  double t_end;       ///< NaN: the experiment's, else 10
  uint32_t jobs;      ///< threads; 0: as many as there are processors [0]
  double tolerance;   ///< of boundaries, relative to the distance of two points [1e-13]
  SltMapPointFn* on_point;
  SltSweepCancelFn* cancel;
  void* user;
  uint32_t cookie;
} SltMapOptions;

SLT_API SltMapOptions slt_map_options(void);

/// Which values of the parameters give which sequence of events. Between two neighbours of a grid
/// whose sequences differ the boundary is located by bisection; where a third sequence lies
/// between, both its boundaries.
/// @param design  a grid.
/// @return SLT_OK, SLT_ERR_ARGUMENT (no grid), SLT_ERR_LIMIT (more than a million points),
///         SLT_ERR_CANCELLED, SLT_ERR_NOMEM, or what on_point returned.
SLT_API SltStatus slt_map_run(const SltModel* model, const SltDesign* design,
                              const SltMapOptions* options, SltProblem* problem);

/// Draw a map of one or two parameters: points in the colours of their sequences, boundaries
/// as dots.
/// @param sequences   of the points of the grid, in order; UINT32_MAX: the run failed.
/// @param boundaries  parameters of each, one behind the other.
/// @param spellings   of the sequences, for the legend.
/// @return SLT_OK, SLT_ERR_ARGUMENT (more than two parameters), SLT_ERR_NOMEM, the writer's error.
SLT_API SltStatus slt_map_picture(const SltDesign* design, const uint32_t* sequences,
                                  const double* boundaries, uint64_t boundary_count,
                                  const char* const* spellings, uint32_t sequence_count,
                                  SltPlotFormat format, SltWriter writer);

/// Draw the rows of a sweep: a grid of one parameter as curves, of two as a map in colours, of more
/// as curves over the first with the spread that the others cause (also where the second is the
/// seed); what was drawn as a matrix of scatter plots. At most six measures.
/// @param rows  the table of the sweep, with the names of parameters and measures as columns.
/// @return SLT_OK, SLT_ERR_ARGUMENT (rows of another sweep, or not all of a grid),
///         SLT_ERR_UNSUPPORTED (PNG or PDF without cairo), SLT_ERR_NOMEM, the writer's error.
SLT_API SltStatus slt_sweep_picture(const SltDesign* design, const SltTable* rows,
                                    SltPlotFormat format, SltWriter writer);

// ---- comparisons --------------------------------------------------------------------------------

/// How far two courses of a quantity are apart.
typedef struct SltComparison {
  const char* name;
  double largest;     ///< difference; infinite where one has no value, and of unequal texts
  double t_largest;   ///< and when
  double rms;         ///< over all rows of both
  double scale;       ///< largest magnitude of the quantity
  uint32_t jumps[2];  ///< in the first and in the second
  double jump_shift;  ///< largest distance in time of two jumps that belong together
  uint64_t points;    ///< rows compared; 0: they have no time in common
  uint64_t alone;     ///< rows outside the other's times, or where it says too little to compare
  bool within;        ///< the tolerances
} SltComparison;

typedef void SltComparisonFn(void* user, const SltComparison* comparison);

/// Take them from slt_compare_options().
typedef struct SltCompareOptions {
  double tol;       ///< relative to the largest magnitude of a quantity [1e-6]
  double abs_tol;   ///< added to it [0]
  double time_tol;  ///< for the times of jumps; NaN: `tol` times the length of the first table
  double t_end;     ///< of the run of a model; NaN: where the data end
  uint32_t cookie;
} SltCompareOptions;

SLT_API SltCompareOptions slt_compare_options(void);

/// Compare the columns that two tables have in common. Rows at one time whose values differ are a
/// jump: jumps are matched in order, and what is between them is compared with each other. Rows
/// that have no partner are compared with the cubic through their neighbours, where there are four.
/// Texts are equal or not.
/// @return SLT_OK, SLT_ERR_NOT_FOUND (no column in common, no column `time`), SLT_ERR_ARGUMENT
/// (rows
///         not in order of time), SLT_ERR_NOMEM.
SLT_API SltStatus slt_compare_tables(const SltTable* a, const SltTable* b,
                                     const SltCompareOptions* options, SltComparisonFn* visit,
                                     void* user, SltProblem* problem);
/// Run a simulation that is not started yet over the times of the data and compare the columns that
/// have the name of a quantity, or of the state of an automaton. Empty cells are left out; values
/// of the run are those of its dense output at the times of the data.
/// @return as slt_compare_tables(), and the errors of the run.
SLT_API SltStatus slt_compare_model(SltSim* sim, const SltTable* data,
                                    const SltCompareOptions* options, SltComparisonFn* visit,
                                    void* user, SltProblem* problem);

// ---- sensitivities of one run -------------------------------------------------------------------

/// How a run depends on its parameters, to first order: the variational equations are solved along
/// with it, and jump where it does. A run is followed stretch by stretch:
///
///     slt_sensitivity_create(sim, parameters, n, &s);   before slt_sim_start()
///     slt_sim_ahead(sim, &until);
///     slt_sensitivity_stretch(s, until);
///     slt_sim_advance(sim, until, &t);                   and so on
typedef struct SltSensitivity SltSensitivity;

/// A constant, or the initial value of a variable or derivative.
typedef struct SltSensitivityParameter {
  const char* name;
  bool initial;
} SltSensitivityParameter;

/// Which values are differentiated.
typedef enum SltWhen {
  SLT_WHEN_NOW = 0,     ///< at the present time, which stands; also inside of a stretch, where
                        ///< slt_sim_look() has looked
  SLT_WHEN_BEFORE = 1,  ///< just before the last instant, along its moving time
  SLT_WHEN_AFTER = 2    ///< just after it
} SltWhen;

/// @param sim  not started; it must outlive the sensitivities.
/// @return SLT_OK, SLT_ERR_NOT_FOUND, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_sensitivity_create(SltSim* sim, const SltSensitivityParameter* parameters,
                                         uint32_t count, SltSensitivity** out);
/// Free it, before its run is freed. Accepts NULL.
SLT_API void slt_sensitivity_free(SltSensitivity* sensitivity);
/// Follow the motion up to `until`, at most what slt_sim_ahead() gave.
SLT_API SltStatus slt_sensitivity_stretch(SltSensitivity* sensitivity, double until);
#define SLT_SENSITIVITY_NODES 6
/// Times inside the last stretch and their weights: the integral over it of something smooth is the
/// sum of weight times value.
SLT_API double slt_sensitivity_node(const SltSensitivity* sensitivity, uint32_t node,
                                    double* weight);
/// Derivatives of a quantity with respect to each of the parameters.
/// @return SLT_OK, SLT_ERR_UNSUPPORTED: they are not known (see slt_sensitivity_gap()),
///         SLT_ERR_ARGUMENT.
SLT_API SltStatus slt_sensitivity_get(SltSensitivity* sensitivity, SltWhen when,
                                      SltQuantity quantity, double* out);
/// Derivatives of the time of the last instant.
/// @return as slt_sensitivity_get().
SLT_API SltStatus slt_sensitivity_time(const SltSensitivity* sensitivity, double* out);
/// The other way round, for many parameters: nothing is known along the run. What is asked for is
/// marked as it comes by, and when the run is over one way back gives the derivatives of a weighted
/// sum of all marks by all parameters. Memory grows with the steps of the run. Sliding, delays and
/// constraints of the states are not differentiated backwards.
/// @return as slt_sensitivity_create().
SLT_API SltStatus slt_sensitivity_create_adjoint(SltSim* sim,
                                                 const SltSensitivityParameter* parameters,
                                                 uint32_t count, SltSensitivity** out);
#define SLT_SENSITIVITY_STANDS UINT32_MAX
/// Mark a quantity. Marks are numbered from 0 on, in the order of the calls.
/// @param mark  its number; SLT_SENSITIVITY_STANDS: it does not move at all (a time that stands).
/// @return SLT_OK, SLT_ERR_UNSUPPORTED: it is not known (see slt_sensitivity_gap()), or the
///         sensitivities are not those of slt_sensitivity_create_adjoint(); SLT_ERR_ARGUMENT.
SLT_API SltStatus slt_sensitivity_mark(SltSensitivity* sensitivity, SltWhen when,
                                       SltQuantity quantity, uint32_t* mark);
/// Mark the time of the last instant.
/// @return as slt_sensitivity_mark().
SLT_API SltStatus slt_sensitivity_mark_time(SltSensitivity* sensitivity, uint32_t* mark);
/// Derivatives, by each of the parameters, of the sum of weights times marked quantities. May be
/// asked for again with other weights.
/// @param weights  one for each mark so far.
/// @param out      one number for each parameter.
/// @return SLT_OK, SLT_ERR_UNSUPPORTED: they are not known; SLT_ERR_ARGUMENT: another number of
///         marks.
SLT_API SltStatus slt_sensitivity_gradient(SltSensitivity* sensitivity, const double* weights,
                                           uint32_t mark_count, double* out);
/// What the run did that is not differentiated, and after which nothing is known: "a closed
/// contact".
/// @return static text; NULL: nothing.
SLT_API const char* slt_sensitivity_gap(const SltSensitivity* sensitivity);

// ---- the equations of a mode --------------------------------------------------------------------

/// The equations of the present mode to first order around a point: x' = f + a dx + b du and
/// y = y + c dx + d du; matrices row by row.
typedef struct SltLinear {
  uint32_t state_count, input_count, output_count;
  SltQuantity* states;
  char** names;  ///< of the states: `x`, `x'`
  double *x, *f, *y;
  double *a, *b, *c, *d;
  uint32_t held_count;       ///< numbers that the motion keeps at 0: constraints of the states, or
                             ///< indicators of the surfaces that it slides along
  double *held, *held_rows;  ///< their values, and their derivatives by the states
  uint32_t crossed;  ///< relations that are on their other side there: the mode is left before
} SltLinear;

/// @param sim      started; its present mode and time.
/// @param x        states to linearise at; NULL: the present ones.
/// @param inputs   constants, and variables that do not flow.
/// @param outputs  variables, derivatives, macros.
/// @param out      receives it, NULL on failure; free it with slt_linear_free().
///
/// States that constraints make depend on each other are all there; `a` is that of the equations
/// after index reduction, which keep the constraints. Along surfaces it is that of the motion
/// there, and outputs are states.
/// @return SLT_OK, SLT_ERR_UNSUPPORTED (a closed contact, a delay, along surfaces other outputs),
///         SLT_ERR_NOT_FINITE, SLT_ERR_ARGUMENT (also: an input moves what is held),
///         SLT_ERR_NOMEM.
SLT_API SltStatus slt_sim_linearize(SltSim* sim, const double* x, const SltQuantity* inputs,
                                    uint32_t input_count, const SltQuantity* outputs,
                                    uint32_t output_count, SltLinear** out);
/// Free it. Accepts NULL.
SLT_API void slt_linear_free(SltLinear* linear);
/// Eigenvalues of `a` among motions that keep what is held, largest real part first, into at most
/// state_count numbers each.
/// @param count  receives their number: state_count less what is held; may be NULL.
/// @return SLT_OK, SLT_ERR_NOT_FINITE, SLT_ERR_NOMEM.
SLT_API SltStatus slt_linear_eigenvalues(const SltLinear* linear, double* real, double* imaginary,
                                         uint32_t* count);
/// Response of an output to an input that oscillates with the angular frequency `omega`.
/// @return SLT_OK, SLT_ERR_NOT_FINITE (a resonance without damping), SLT_ERR_ARGUMENT,
///         SLT_ERR_NOMEM.
SLT_API SltStatus slt_linear_response(const SltLinear* linear, uint32_t output, uint32_t input,
                                      double omega, double* real, double* imaginary);

typedef enum SltStability {
  SLT_STABLE = 0,      ///< all eigenvalues have a negative real part
  SLT_UNSTABLE = 1,    ///< one has a positive one
  SLT_INDIFFERENT = 2  ///< one is zero to first order, none positive
} SltStability;

/// Find an equilibrium of the present mode, by Newton's method from the present states; its time
/// stands still. `out` is the mode linearised there, without inputs and outputs.
/// @return as slt_sim_linearize(); SLT_ERR_STEP: none was found.
SLT_API SltStatus slt_sim_steady(SltSim* sim, SltLinear** out, SltStability* stability);

// ---- sensitivities ------------------------------------------------------------------------------

typedef enum SltVerdict {
  SLT_DERIVATIVE_EXISTS = 0,
  SLT_DERIVATIVE_ONE_SIDED = 1,  ///< left and right differ, or only one of them exists
  SLT_DERIVATIVE_NONE = 2        ///< neither side settles: grazing, a jump of the measure, noise
} SltVerdict;

/// How a measure depends on a parameter. Pointers are valid during the call only.
typedef struct SltDerivative {
  const char* measure;
  const char* parameter;
  double at;           ///< value of the parameter...
  double value;        ///< ... and of the measure there
  double derivative;   ///< NaN where it does not exist
  double left, right;  ///< one-sided derivatives; NaN where there is none
  double error;        ///< estimate of the error of `derivative`, or of the worse side
  SltVerdict verdict;
  const char* reason;    ///< of a verdict other than `exists`; static
  double changes_at[2];  ///< nearest values below and above, within `reach`, at which the sequence
                         ///< of events changes; NaN: none was met
  const char* by_differences;  ///< why it was not followed along the run but taken from differences
                               ///< of runs; NULL: it was followed
} SltDerivative;

typedef void SltDerivativeFn(void* user, const SltDerivative* derivative);

/// Take them from slt_sens_options().
typedef struct SltSensOptions {
  SltSimOptions sim;  ///< of every run; its `rtol` is 1e-12 where it is not given
  double t_end;       ///< NaN: the experiment's, else 10
  double reach;       ///< how far the parameters are moved, relative [0.02]
  bool differences;   ///< follow nothing along the runs: a second way, for comparison [false]
  bool adjoint;       ///< for many parameters: backwards, and one verdict for all of them [false]
  const SltOverride* settings;  ///< other constants of these runs
  uint32_t setting_count;
  SltDerivativeFn* on_derivative;
  SltSweepCancelFn* cancel;
  void* user;
  uint32_t cookie;
} SltSensOptions;

SLT_API SltSensOptions slt_sens_options(void);

/// Derivatives of measures with respect to parameters, with a verdict for each. They are followed
/// along one run through impacts, switches, sliding and changes of structure (SltSensitivity); runs
/// right beside the parameter tell whether they exist. What is not differentiated along a run
/// (closed contacts, impulses of the equations) is taken from extrapolated differences of
/// runs with the same sequence of events, which `by_differences` says.
/// @param parameters  names as of slt_design_add(): constants and initial values `x(t0)`.
/// @param at          their values; NaN: the model's own (constants only).
/// @return SLT_OK, SLT_ERR_NOT_FOUND, SLT_ERR_ARGUMENT, SLT_ERR_CANCELLED, SLT_ERR_NOMEM, or the
/// error
///         of the run with the parameters as they are.
SLT_API SltStatus slt_sens_run(const SltModel* model, const SltMeasures* measures,
                               const char* const* parameters, const double* at, uint32_t count,
                               const SltSensOptions* options, SltProblem* problem);

/// A bar of a tornado picture.
typedef struct SltBar {
  const char* label;
  double value;  ///< its length, to the left where it is negative; NaN: none exists
} SltBar;

/// Draw bars around zero, one below the other.
/// @return SLT_OK, SLT_ERR_ARGUMENT (nothing to draw), SLT_ERR_UNSUPPORTED (PNG or PDF without
///         cairo), SLT_ERR_NOMEM, the writer's error.
SLT_API SltStatus slt_tornado_picture(const SltBar* bars, uint32_t count, const char* title,
                                      SltPlotFormat format, SltWriter writer);

// ---- variance ---------------------------------------------------------------------------------

/// Which share of a measure's variance a parameter has. Pointers are valid during the call only.
typedef struct SltVarianceShare {
  const char* measure;
  const char* parameter;
  double mean, variance;            ///< of the measure
  double first;                     ///< share of the variance that is due to the parameter alone
  double total;                     ///< ... alone or together with others
  double first_error, total_error;  ///< half widths of 95 % intervals, by the bootstrap
  uint64_t used, failed;            ///< pairs of members used; members without a value
} SltVarianceShare;

typedef void SltVarianceShareFn(void* user, const SltVarianceShare* share);

/// Take them from slt_variance_options().
typedef struct SltVarianceOptions {
  SltSimOptions sim;
  double t_end;      ///< NaN: the experiment's, else 10
  uint64_t samples;  ///< runs are so many, times the number of parameters and two more [1024]
  uint64_t seed;
  uint32_t jobs;  ///< threads; 0: as many as there are processors [0]
  SltVarianceShareFn* on_share;
  SltSweepCancelFn* cancel;
  void* user;
  uint32_t cookie;
} SltVarianceOptions;

SLT_API SltVarianceOptions slt_variance_options(void);

/// Indices of Sobol for the distributions of a design, whose correlations do not count: first
/// order after Saltelli (2010), total after Jansen (1999). A member without a value leaves out the
/// pairs it belongs to and nothing else: where failures do not depend on the parameters the indices
/// stay unbiased; where they do, they are those of the members that have values.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_LIMIT (too many runs), SLT_ERR_CANCELLED,
///         SLT_ERR_NOMEM.
SLT_API SltStatus slt_variance_run(const SltModel* model, SltDesign* design,
                                   const SltMeasures* measures, const SltVarianceOptions* options,
                                   SltProblem* problem);

// ---- fits ---------------------------------------------------------------------------------------

/// Measured rows and what was set while they were measured.
typedef struct SltFitData {
  const SltTable* table;  ///< a column `time`; others have the names of quantities. A column
                          ///< `time(A.s)` holds the times of the entries into a state, in order.
  const SltOverride* settings;  ///< constants of these runs
  uint32_t setting_count;
} SltFitData;

/// How residuals count.
typedef enum SltLoss {
  SLT_LOSS_SQUARES = 0,
  SLT_LOSS_HUBER = 1,  ///< squares near by, distances far away
  SLT_LOSS_CAUCHY = 2  ///< outliers hardly count
} SltLoss;

/// A parameter to be found.
typedef struct SltFitParameter {
  const char* name;     ///< constant or initial value x(t0)
  double start;         ///< NaN: the model's own
  double lower, upper;  ///< -INFINITY, INFINITY: none
  // results
  double value;
  double deviation;    ///< standard deviation; infinite where the data do not determine it
  double interval[2];  ///< 95 %
} SltFitParameter;

/// A column of the data that has another name than what it was measured of.
typedef struct SltFitColumn {
  const char* quantity;  ///< `x`, `time(A.s)`, or `time`
  const char* column;
} SltFitColumn;

/// Take them from slt_fit_options().
typedef struct SltFitOptions {
  SltSimOptions sim;  ///< of every run; its `rtol` is 1e-9 where it is not given
  SltLoss loss;
  uint32_t starts;             ///< beginnings spread over the bounds, beside the one given [0]
  uint64_t seed;               ///< of these
  const SltOverride* weights;  ///< per column: the residual is multiplied by it [1]
  uint32_t weight_count;
  const SltFitColumn* columns;  ///< all others go by their names
  uint32_t column_count;
  uint32_t iterations;  ///< at most, per beginning [100]
  SltSweepCancelFn* cancel;
  void* user;
  uint32_t cookie;
} SltFitOptions;

SLT_API SltFitOptions slt_fit_options(void);

/// What came out, beside the parameters.
typedef struct SltFitResult {
  uint64_t points;      ///< residuals
  double rms;           ///< weighted residual: root of their mean square
  uint32_t iterations;  ///< of the best beginning
  uint32_t runs;        ///< of the model in all
  bool converged;
  double* correlation;  ///< n by n, of the parameters; owned by the caller, who gave it, or NULL
  double* weakest;    ///< n: the direction the data determine least, in relative changes; likewise
  double condition;   ///< largest over smallest singular value of the scaled Jacobian: beyond 1e6
                      ///< the direction `weakest` is not determined
  uint64_t left_out;  ///< numbers of the data that come before the run or stand at jumps
  bool late;          ///< data begin after the end of the model's experiment; it was run on to them
} SltFitResult;

/// Least squares by the method of Levenberg and Marquardt, within bounds.
/// @param result  its pointers are set by the caller before.
/// @return SLT_OK, SLT_ERR_NOT_FOUND (a name), SLT_ERR_ARGUMENT (bounds that cross, more parameters
///         than data, no column that fits), SLT_ERR_CANCELLED, SLT_ERR_NOMEM, or the error of the
///         run with the values to begin with.
SLT_API SltStatus slt_fit_run(const SltModel* model, const SltFitData* data, uint32_t data_count,
                              SltFitParameter* parameters, uint32_t count,
                              const SltFitOptions* options, SltFitResult* result,
                              SltProblem* problem);

/// A quantity that a model was fitted to, for a picture. NaN is left out.
typedef struct SltFitPanel {
  const char* name;
  const char* over;  ///< name of the axis: `time`
  const double *t, *y, *residual;
  uint32_t count;  ///< of the data
  const double *model_t, *model;
  const double* spread;  ///< half the width of the model's interval at each point; NULL: none
  uint32_t model_count;
} SltFitPanel;

/// Draw data with the model over them, and what is left over below, one panel under the other.
/// @return SLT_OK, SLT_ERR_ARGUMENT (nothing to draw), SLT_ERR_UNSUPPORTED (PNG or PDF without
///         cairo), SLT_ERR_NOMEM, the writer's error.
SLT_API SltStatus slt_fit_picture(const SltFitPanel* panels, uint32_t count, const char* title,
                                  SltPlotFormat format, SltWriter writer);

// ---- optimisation -------------------------------------------------------------------------------

/// How values of parameters are searched for.
typedef enum SltSearch {
  SLT_SEARCH_GRADIENT = 0,  ///< sequential quadratic programming, gradients by differences of runs
  SLT_SEARCH_SIMPLEX = 1,   ///< linear approximations without gradients: for measures with kinks
  SLT_SEARCH_GLOBAL = 2     ///< evolution over the whole region, then as SIMPLEX; needs bounds
} SltSearch;

/// A measure that has to stay on one side of a number.
typedef struct SltConstraint {
  uint32_t measure;
  bool at_least;  ///< else: at most
  double bound;
} SltConstraint;

/// One evaluation. Pointers are valid during the call only.
typedef struct SltEvaluation {
  uint64_t number;
  const double* parameters;
  const double* values;  ///< of all measures; NaN where the run failed
  bool feasible;         ///< all constraints hold
} SltEvaluation;

typedef void SltEvaluationFn(void* user, const SltEvaluation* evaluation);

/// Take them from slt_optimize_options().
typedef struct SltOptimizeOptions {
  SltSimOptions sim;  ///< of every run; its `rtol` is 1e-9 where it is not given
  double t_end;       ///< NaN: the experiment's, else 10
  SltSearch search;
  bool maximize;
  uint32_t evaluations;  ///< at most, those of gradients not counted [1000]
  double tolerance;      ///< relative, of parameters and measure [1e-8]
  uint64_t seed;         ///< of the global search
  const SltConstraint* constraints;
  uint32_t constraint_count;
  SltEvaluationFn* on_evaluation;
  SltSweepCancelFn* cancel;
  void* user;
  uint32_t cookie;
} SltOptimizeOptions;

SLT_API SltOptimizeOptions slt_optimize_options(void);

/// What came out, beside the parameters.
typedef struct SltOptimum {
  double value;          ///< of the measure
  uint64_t evaluations;  ///< runs of the model
  bool feasible;
  bool converged;  ///< else the number of evaluations ended it
} SltOptimum;

/// Find parameters for which the first measure is smallest, or largest. A run that fails is worse
/// than every other. Needs NLopt.
/// @param parameters  name, start and bounds go in, `value` comes out.
/// @return SLT_OK; SLT_ERR_UNSUPPORTED: NLopt is not here; SLT_ERR_NOT_FOUND,
/// SLT_ERR_ARGUMENT
///         (bounds that cross or are missing), SLT_ERR_CANCELLED (the best so far came out),
///         SLT_ERR_NOMEM, or the error of the run when no run came through.
SLT_API SltStatus slt_optimize_run(const SltModel* model, const SltMeasures* measures,
                                   SltFitParameter* parameters, uint32_t count,
                                   const SltOptimizeOptions* options, SltOptimum* out,
                                   SltProblem* problem);

#ifdef __cplusplus
}
#endif

#endif
