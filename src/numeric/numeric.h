// SPDX-License-Identifier: MIT
//
// numeric: numerical kernels that know no model. One-step methods with dense output and step
// control, bracketing root finders, maximisers, small dense linear algebra.
//
// Invariants. Nothing is printed or kept in globals, and nothing is allocated but by
// num_linear_create: all other objects live in the caller's storage. A trial step never touches the
// committed state, whatever fails. Time lands exactly on the times given. Every sum has a fixed
// order, no product is contracted into it, and the step control uses no libm function, so the bits
// do not depend on compiler, optimisation or libm.
#ifndef SALTUS_NUMERIC_H
#define SALTUS_NUMERIC_H

#include "base/base.h"

// ---- methods ------------------------------------------------------------------------------------

#define NUM_DENSE_DEGREE_MAX 7  // degree of the dense output of any method, in theta

typedef struct NumKernel NumKernel;  // the method's inner loops; private to the module

/// What is known about a method: explicit Runge-Kutta methods, linearly implicit ones (Rosenbrock
/// methods), which solve linear systems with the Jacobian and so take stiff problems and algebraic
/// equations, and where SUNDIALS is built in its multistep methods.
typedef struct NumMethod {
  const char* name;         // as on the command line
  const char* description;  // one line, lower case, no full stop
  uint32_t order;           // of the solution that is carried on
  uint32_t error_order;     // local error estimate is O(h^(error_order + 1)); 0: none (fixed step)
  uint32_t stages;          // right-hand sides per step; one fewer after an accepted step if fsal
  uint32_t dense_order;     // interior error of the dense output is O(h^(dense_order + 1)) per step
  uint32_t dense_degree;    // of the dense polynomial; num_dense_extend may add one
  uint32_t dense_stages;    // further right-hand sides dense output needs (beyond f at the end)
  bool fsal;                // f at the end of the step is part of the step
  bool adaptive;            // has an error estimate
  bool stiff;               // implicit: needs num_stepper_set_system
  bool multistep;           // works with its past: needs a NumMultistep in its system
  uint32_t family;          // of multistep methods; private to the module
  double stability;  // |h lambda| of the real stability interval [-stability, 0]; 0: all of it
  const NumKernel* kernel;
} NumMethod;

/// All methods, in the order they are listed to the user.
uint32_t num_method_count(void);
const NumMethod* num_method_get(uint32_t index);
/// By name, or NULL. Names: euler rk4 merson bs32 dp54 dop853 rodas3 rodas rodas5, and where they
/// are built in bdf adams ida.
const NumMethod* num_method_find(Str name);

// ---- stepper ------------------------------------------------------------------------------------
//
//   start -> [choose_h] -> { attempt -> (dense) -> accept | accept_until | reject }* -> restart ...
//
// The committed point is (s->t, s->x). `attempt` computes a trial step from it; the trial and its
// dense output stay readable after accept, until the next attempt, and after restart too if
// num_dense_prepare came before it.

/// dx = f(t, x). A negative status says that f cannot be evaluated here (domain error, guard beyond
/// its boundary): the attempt is abandoned with that status. `x` and `dx` never overlap.
typedef SltStatus NumRhs(void* user, double t, const double* x, double* dx);

/// Linear systems with the matrices c D - J, D being 1 for states and 0 for algebraic unknowns.
typedef struct NumLinear NumLinear;

/// Memory of a multistep method.
typedef struct NumMultistep NumMultistep;

/// What an implicit or multistep method needs beside the right-hand side: x' = f(t, x, u), 0 = r(t,
/// x, u).
typedef struct NumSystem {
  NumLinear* linear;  // made for the pattern of J; not owned
  /// At t and the states that `xu` begins with: the algebraic unknowns, to be put behind them; f;
  /// the entries of J = d(f, r)/d(x, u) in the order of the pattern; and the partial derivatives of
  /// (f, r) with respect to time. `timed` false: these are 0, and ft need not be written. Fails
  /// like NumRhs.
  SltStatus (*linearize)(void* user, double t, double* xu, double* f, double* values, double* ft,
                         bool* timed);
  /// (f, r) at t and (x, u). NULL: there are no algebraic unknowns, and the right-hand side does
  /// it.
  SltStatus (*stage)(void* user, double t, const double* xu, double* out);
  NumMultistep* multistep;  // of a multistep method, made for the numbers of unknowns; not owned
  void* user;
} NumSystem;

typedef enum NumNorm {
  NUM_NORM_RMS = 0,  // root mean square over the components (Hairer)
  NUM_NORM_MAX = 1,  // every component for itself: one bad cell among a million counts
} NumNorm;

/// A component's weight is rtol times its larger magnitude at the two ends of the step, plus an
/// absolute part: `atol`, or rtol / 1000 times its scale. One that has none
/// yet is tested by the way it goes.
typedef struct NumOptions {
  double rtol;                // >= 0; rtol + atol > 0
  double atol;                // >= 0; not used with `by_scale`
  const double* atol_vector;  // one per component (n_max), copied, instead of `atol`; or NULL
  bool by_scale;              // the absolute part follows the scale
  double h0;     // first step, and the step of fixed-step methods; 0: num_stepper_choose_h
  double h_min;  // proposals do not go below; 0: only rounding limits them
  double h_max;  // proposals do not go beyond; 0: no limit
  NumNorm norm;
  bool stability;  // Novikov's stability control on
} NumOptions;

/// rtol 1e-6, atol 1e-9, no limits, RMS norm, stability control on.
NumOptions num_options(void);

/// Memory of the step control. Plain data: copy it out before, and in after, to carry the step size
/// over to another stepper.
typedef struct NumControl {
  double h_next;         // proposed step, > 0; 0: not chosen yet
  double error_log2;     // of the last accepted full step, for the PI controller; 0: none
  double lambda;         // last estimate of the dominant eigenvalue's modulus, 1/time; 0: none
  uint32_t stiff_hits;   // steps that stability, not accuracy, limited
  uint32_t calm_steps;   // successive steps without
  bool after_rejection;  // the next accepted step may not grow
  bool stiff_suspected;  // stability has limited the steps for a while: choose a stiff method
} NumControl;

typedef struct NumCounters {
  uint64_t steps;              // accepted, whole or in part
  uint64_t rejected;           // trials given up because of their error
  uint64_t failed;             // trials given up because the right-hand side failed
  uint64_t rhs;                // right-hand sides evaluated, failing ones included
  uint64_t stability_limited;  // steps whose successor was limited by stability
  uint64_t jacobians;          // linearisations
  uint64_t factors;            // matrices factored
} NumCounters;

/// The last attempted step. Read-only outside the module.
typedef struct NumTrial {
  uint32_t n;
  uint32_t degree;   // of the dense output
  double t0, t, h;   // from, to; h = t - t0
  double error;      // <= 1: acceptable; 0 for fixed-step methods
  const double* x0;  // state at t0
  const double* x;   // candidate state at t
  const double* f0;  // f(t0, x0)
  const double* f;   // f(t, x), meaningful when f_known
  bool valid;        // the attempt finished: x, error and dense output can be read
  bool pending;      // ... and is neither accepted nor rejected
  bool f_known;
  bool dense_ready;
  bool rough;     // ... and not of the order that the method has
  bool drift;     // made by num_stepper_drift
  bool replaced;  // some components by num_dense_replace: its stages tell nothing of its end
} NumTrial;

/// One row of an explicit method: argument x + h * sum of a_j k_j, at t + c h.
#define NUM_TERMS 12  // most of a sum
typedef struct NumStageRow {
  double c;
  uint32_t count;
  struct {
    uint32_t stage;  // 1: f at the begin
    double a;
  } terms[NUM_TERMS];
} NumStageRow;

/// Dormand-Prince 5(4): stages 2 to 6, and the end of the step, which is the argument of stage 7.
/// Stages with c = 1 are at the trial's end time itself.
extern const NumStageRow num_dp54_rows[6];

/// All stages of a trial of dp54 in one call.
typedef struct NumStages {
  double t, h, t_end;
  const double *x, *k1;  // state and f at t
  double* k;             // rows for k2 .. k6
  size_t stride;         // of the rows
  double* y;             // argument of stage 6
  double *x_end, *k7;    // state and f at t_end
} NumStages;

/// Compute them with the operations of num_dp54_rows, sums from left to right: h times the sum is
/// added to x. Statuses as NumRhs.
typedef SltStatus NumStagesFn(void* user, const NumStages* stages);
/// The same for n states in parts, by several threads.
struct BaseTeam;
SltStatus num_stages_by_team(const NumStages* stages, size_t n, struct BaseTeam* team, NumRhs* rhs,
                             void* user);

/// Stages of a trial that were computed before it is attempted: from `t` to `t_end`.
typedef struct NumAhead {
  const NumKernel* kernel;  // of the method they are of; NULL: there are none
  double t, t_end;
} NumAhead;

/// What components of the pending trial's dense output have in common: component i is off by
/// weight[i] times the sum of c[k] theta^k.
typedef struct NumShared {
  const double* weight;  // NULL: nothing
  double c[5];
  double b[5];  // Bernstein coefficients
} NumShared;

/// What the components measure, see num_stepper_set_scales, and what rounding does to their rates.
typedef struct NumScales {
  double* value;           // per component
  const uint32_t* family;  // ... the first of its family; NULL: each is its own
  uint64_t epoch;          // counts changes of the scales
  bool open;               // some component has no scale yet
  double* noise;           // per component: rounding of its rate, while noise_steps > 0
  uint32_t noise_steps;
  double open_error;  // of the last rejected trial with components that have no scale
  bool untested;      // shorter steps do not help them
} NumScales;

/// Fields are read-only outside the module, but for `control` and `stages`, which may be set
/// between steps.
typedef struct NumStepper {
  double t;         // committed time
  const double* x;  // committed state, n values
  uint32_t n;
  bool f_known;  // f(t, x) is available without an evaluation
  NumTrial trial;
  NumControl control;
  NumCounters counters;
  const NumMethod* method;
  NumOptions options;
  NumRhs* rhs;
  NumStagesFn* stages;  // dp54 calls it in place of `rhs`; NULL: stage by stage
  NumAhead ahead;       // ... unless these are those of the trial
  void* user;
  NumSystem system;  // of a stiff method; linear NULL: none yet
  NumShared shared;

  // private: rows of n_max doubles behind the struct. Rows of x and f rotate over three roles:
  // begin of the trial, end of the trial, committed point; the last may coincide with either.
  double* x_row[3];
  double* f_row[3];
  double* k;        // stages 2, 3, ...
  double* stage_x;  // argument of the last inner stage
  double* scaled;   // scratch: error by weight
  double* atol;     // per component: absolute part of its weight
  NumScales scales;
  double* dense;  // coefficients of the dense output, a row for each degree
  uint32_t n_max;
  uint32_t method_index;
  uint32_t row, row_begin, row_end;
  bool failed;        // the last attempt was abandoned
  bool linear_known;  // the system is linearised at the committed point
  bool timed;         // ... and depends on time
  double factored;    // c of the factored matrix c D - J; 0: none
  double error_squared;
  double n_inverse;   // 1 / n
  double h_wanted;    // control.h_next when the trial was attempted
  double h_tried;     // of the last attempt, finished or not
  double h_proposed;  // multistep: what the method wants to do next
  double past_off;    // ... how far the trial's end was moved away from the method's, in tolerances
  bool past;          // ... what the method remembers leads to the committed point
} NumStepper;

/// Bytes for a stepper of up to `n_max` components (SIZE_MAX when that does not fit). Storage is
/// aligned like double.
size_t num_stepper_size(const NumMethod* method, uint32_t n_max);

/// Make a stepper in `storage`. `n` = `n_max`, no right-hand side, no state.
/// SLT_ERR_ARGUMENT: tolerances, limits or h0 make no sense (a fixed-step method needs h0 > 0).
SltStatus num_stepper_init(void* storage, const NumMethod* method, uint32_t n_max,
                           const NumOptions* options, NumStepper** out);

/// The storage was copied bytewise from elsewhere (snapshot, checkpoint): set its pointers right.
/// The copy continues with the same bits as the original; multistep methods begin anew, within
/// their tolerance.
NumStepper* num_stepper_rebind(void* storage, NumRhs* rhs, void* user);

/// Right-hand side from now on. What is known of f stays: follow with restart if f has changed.
void num_stepper_set_rhs(NumStepper* s, NumRhs* rhs, void* user);

/// Linear systems of a stiff method from now on; their number of states is that of the stepper when
/// a step is attempted. To be set again when the Jacobian has changed in another way than with t
/// and x; NULL: none. Without them an attempt is SLT_ERR_ARGUMENT.
void num_stepper_set_system(NumStepper* s, const NumSystem* system);

/// Tolerances from now on. `atol_vector` has n_max entries, of which the first n count, and is
/// copied; or NULL.
void num_stepper_set_tolerance(NumStepper* s, double rtol, double atol, const double* atol_vector);

#define NUM_SCALE_SHARE 1e-3    // of rtol: the absolute part of a weight, by scale
#define NUM_NOISE_SHARE 16.0    // the least weight, in roundings of the way in a step
#define NUM_SCALE_LEAST 1e-150  // smaller values count as 0: their squares are no numbers

/// What the components are known to measure: scale[i] is the largest magnitude that component i, or
/// one of its family, had at any committed point so far; 0: not known. From here on the stepper
/// keeps them. `family` (component of the first member; NULL: no families) has to stay in place,
/// and is forgotten by num_stepper_rebind. To be called before start or restart, for as many
/// components as these are given.
void num_stepper_set_scales(NumStepper* s, uint32_t n, const double* scale, const uint32_t* family);

/// Raise scales that are below `size`.
void num_stepper_cover(NumStepper* s, const double* size);

/// Place for bounds of what rounding does to each component of f at the committed point. They hold
/// for the next few steps if in use: no weight is below what that rounding does to the motion.
double* num_stepper_noise(NumStepper* s, bool use);

/// What rounding of its rate does to component i in a step, as far as that is known.
static inline double num_stepper_rounding(const NumStepper* s, uint32_t i) {
  double h = s->control.h_next > s->trial.h ? s->control.h_next : s->trial.h;
  return s->scales.noise_steps ? h * s->scales.noise[i] : 0.0;
}

/// Error weight of component i at the committed point.
double num_stepper_weight(const NumStepper* s, uint32_t i);

/// Begin at (t, x) with `n` <= n_max components; x is copied. Control and trial are reset, counters
/// kept. `f`: f(t, x) if known, or NULL.
void num_stepper_start(NumStepper* s, double t, uint32_t n, const double* x, const double* f);

/// Go on from (t, x) with the step size kept: after an event. `x` NULL: the state did not change,
/// only f did (`t` is then s->t). `n` may differ from before. `f`: f(t, x) if known, or NULL. When
/// nothing the right-hand side reads has changed, do not call this at all: f stays known.
void num_stepper_restart(NumStepper* s, double t, uint32_t n, const double* x, const double* f);

/// Set control.h_next from the time in which the state moves by its scale (Hairer, Norsett & Wanner
/// I, II.4, in a form free of units), at most `t_bound` - t. Where no scale is known, or nothing of
/// known scale moves, it is looked for over which time the motion bends; where it does not, `span`
/// decides: a time somebody is interested in, not finite for none. Only for the very start. A
/// failing probe point is moved closer; fails only when f(t, x) does.
SltStatus num_stepper_choose_h(NumStepper* s, double t_bound, double span);
/// The same for a motion that opposing flows hold. Where they keep everything at rest, and no span
/// is given, the time over which `flow`, one of them, changes decides.
SltStatus num_stepper_choose_h_held(NumStepper* s, double t_bound, double span, NumRhs* flow);

/// Go on with another method from the committed point; the step size is kept, the trial void. The
/// storage must be large enough for both methods.
void num_stepper_switch(NumStepper* s, const NumMethod* method);

/// f at the committed point, evaluated if not known yet.
SltStatus num_stepper_derivative(NumStepper* s, const double** f);

/// Trial step from the committed point to exactly `t_target` > s->t; that of a multistep method
/// ends where the method wants it to, not later. SLT_OK: s->trial is valid, and may be accepted if
/// trial.error <= 1. Negative: status of the right-hand side, or SLT_ERR_NOT_FINITE; the trial is
/// void. The committed point is untouched in every case. May be repeated with another target
/// without reject.
SltStatus num_stepper_attempt(NumStepper* s, double t_target);

/// Steps of several steppers of as many states, lane by lane: NUM_LANES numbers side by side.
#define NUM_LANES BASE_LANES
typedef struct NumLane {
  NumStepper* stepper;
  double target;  // of its next trial
} NumLane;
/// The right-hand side of all lanes: `x` and `dx` have NUM_LANES numbers for each state.
typedef void NumLanesRhs(void* user, const double* t, const double* x, double* dx);

/// Whether the stages of the next trial can be computed before it: the method is dp54 or dop853,
/// and f is known at the committed point.
bool num_ahead_possible(const NumStepper* s);
size_t num_lanes_room(const NumStepper* s);
/// Compute them for 1 to NUM_LANES steppers with the same method. A trial that turns out to have
/// another target, or to begin elsewhere, does not use them; otherwise it is the same to the bit.
/// `y`: NUM_LANES numbers for each state, what the right-hand side is asked with.
void num_lanes_run(const NumLane* lanes, uint32_t count, NumLanesRhs* rhs, void* user, double* room,
                   double* y);

/// Trial along a straight line, x + (t_target - t) f, for the last bit of the way to a point behind
/// which the right-hand side has no values. `f`: the direction, or NULL for that of the right-hand
/// side at the committed point; it is evaluated nowhere else. The error is said to be 0, and
/// accepting the trial leaves the step control alone.
SltStatus num_stepper_drift(NumStepper* s, double t_target, const double* f);

/// The step that accept would put into control.h_next; the trial is pending.
double num_stepper_proposal(NumStepper* s);

/// f at the end of the valid trial, evaluated if the method has not done so.
SltStatus num_stepper_trial_derivative(NumStepper* s, const double** f);

/// Put another state in place of the trial's end: a correction that is small beside its error. f
/// there is evaluated anew when it is needed. The trial is valid, its dense output not prepared.
void num_stepper_correct(NumStepper* s, const double* x);

/// Commit the whole trial.
void num_stepper_accept(NumStepper* s);

/// Commit the trial up to `t_event`, t0 < t_event <= trial.t; the state is the dense output's.
/// Negative: dense output could not be prepared, nothing is committed. f is then unknown, except at
/// trial.t where this is num_stepper_accept. The next step is proposed from the whole trial, but
/// does not grow.
SltStatus num_stepper_accept_until(NumStepper* s, double t_event);

/// The trial was good up to `t_event`, t0 < t_event <= trial.t, and num_stepper_restart() follows:
/// step control and counters are those of num_stepper_accept_until(), no state is computed. `x` is
/// the state at t_event.
void num_stepper_leave(NumStepper* s, double t_event, const double* x);

/// Give up the last attempt, failed or too inaccurate: lowers control.h_next. SLT_ERR_STEP when it
/// cannot be lowered any more.
SltStatus num_stepper_reject(NumStepper* s);

// ---- dense output of the last valid trial -------------------------------------------------------
//
// A polynomial per component in theta = (t - t0) / h. At t0 and trial.t it gives the bits of x0 and
// x, and for explicit methods its derivative those of f0 and f. (For stiff components these are the
// errors of x magnified, so the output of stiff methods does not use them.) Call num_dense_prepare
// first.

/// Compute the coefficients; may evaluate the right-hand side and fail with its status. Does
/// nothing when they are there. The trial stays valid either way.
SltStatus num_dense_prepare(NumStepper* s);
/// Raise degree and order of the dense output by one where its error at `t` may be a good part of
/// the tolerance, for two more right-hand sides (dp54). True: it is another polynomial now, equal
/// to the one before within that error, to be used for all of the trial. False: it is as it was.
bool num_dense_extend(NumStepper* s, double t);
/// How much more exact it would have to be for an event at that share of the trial, and for one
/// anywhere: extended above 1. 0 where it cannot be.
double num_dense_demand(const NumStepper* s, double theta);
double num_dense_demand_most(const NumStepper* s);
/// What Bogacki-Shampine 3(2) would estimate as the error of one step from the trial's begin to
/// `t`, as `trial.error` is. Only after num_dense_prepare(), for explicit methods with cubic or
/// better dense output.
double num_small_pair_error(NumStepper* s, double t);

enum { NUM_PAIR_SMALLER, NUM_PAIR_SETTLES, NUM_PAIR_TRIED, NUM_PAIR_LARGER };

/// What is known of two explicit pairs of which one is in use; zero to begin with. Plain data.
typedef struct NumPairs {
  uint8_t phase;
  uint64_t steps, rhs;       // counters when the phase began
  double t;                  // time then
  double pace;               // of the smaller pair: time per evaluation
  uint32_t waits, patience;  // windows until the larger one is tried (again)
} NumPairs;

/// Before a step: whether the larger of the two pairs is to make it. `undisturbed` false: something
/// other than its error says how long a step is, or the motion has begun anew.
bool num_pairs_weigh(NumPairs* pairs, const NumStepper* s, bool undisturbed);
/// Times that are no farther apart than this are one.
static inline double num_time_resolution(double t) {
  return 0x1p-50 * (t < 0.0 ? -t : t);  // four roundings
}

/// Whether there is a trial with an output that covers t; its end belongs to what follows.
bool num_dense_covers(const NumStepper* s, double t);
double num_dense_theta(const NumStepper* s, double t);
void num_dense_eval(const NumStepper* s, double t, double* x);
double num_dense_component(const NumStepper* s, uint32_t i, double t);
/// The same at `count` times of the step, its end left out.
void num_dense_course(const NumStepper* s, uint32_t i, const double* t, uint32_t count, double* x);
/// d/dt. The method euler has a piecewise linear output: its derivative is f0 everywhere.
void num_dense_derivative(const NumStepper* s, double t, double* dx);
double num_dense_component_derivative(const NumStepper* s, uint32_t i, double t);
/// Component i = sum c[j] theta^j, j = 0..trial.degree. Equal to the evaluation up to
/// rounding: a few ulp of the largest coefficient.
void num_dense_power(const NumStepper* s, uint32_t i, double* c);
/// The same polynomial in the Bernstein basis of that degree: component i = sum b[j] B_j(theta), so
/// min b <= component <= max b on [0, 1], up to a few ulp of the largest |b|; b[0] and the last are
/// the bits of x0 and x.
void num_dense_bernstein(const NumStepper* s, uint32_t i, double* b);
/// Smallest and largest of these coefficients of every component: bounds of the dense output up to
/// its rounding. False: some coefficient is not finite.
bool num_dense_hull(const NumStepper* s, double* restrict lo, double* restrict hi);

/// Component `i` of the pending trial moves from part->trial.t0 on as component `k` of the trial of
/// `part` does, which ends at the same time and has a dense output of the same degree, at most 4.
/// The polynomial holds from there on; before, it has no meaning any more. f at the end of the
/// trial is evaluated anew when it is needed.
void num_dense_replace(NumStepper* s, uint32_t i, const NumStepper* part, uint32_t k);
/// The polynomial of component `k` of the trial of `part` in powers of the theta of `s`, c[0] to
/// c[4]; its degree is at most 4.
void num_dense_transfer(const NumStepper* s, const NumStepper* part, uint32_t k, double* c);

/// Components of the pending trial, of a method with dense degree 4, are off by weight[i] times the
/// sum of c[k] theta^k, k up to 4, from now on: values, slopes and coefficients asked for have it
/// in them. `weight` has n entries and stays the caller's; entries may change together with
/// num_dense_replace of their component. NULL: nothing.
void num_dense_share(NumStepper* s, const double* weight, const double* c);
/// Add it to the end of the trial, and be done with it. Accepting the trial does so.
void num_dense_settle(NumStepper* s);

// ---- multistep methods --------------------------------------------------------------------------

/// Memory of a multistep method for systems of `states` and `algebraic` unknowns. SUNDIALS takes it
/// by malloc, all of it here. SLT_ERR_NOMEM; SLT_ERR_ARGUMENT where it is not built in.
SltStatus num_multistep_create(const SltAllocator* allocator, const NumMethod* method,
                               uint32_t states, uint32_t algebraic, NumMultistep** out);
void num_multistep_free(NumMultistep* m);

// ---- roots and maxima of a scalar function ------------------------------------------------------

/// g at t. A negative status ends the search with it.
typedef SltStatus NumFn(void* user, double t, double* g);

typedef enum NumSide { NUM_SIDE_LO = 0, NUM_SIDE_HI = 1, NUM_SIDE_ANY = 2 } NumSide;

typedef struct NumRootOptions {
  double t_tol;           // stop when hi - lo <= t_tol (never asks for less than adjacent doubles)
  double g_window;        // ... and |g| <= g_window at `side`; HUGE_VAL: no window
  NumSide side;           // the end the caller will use
  bool zero_is_positive;  // g == 0 belongs with g > 0 (relation >=), else with g < 0 (relation >)
  bool has_slopes;        // dg/dt at the ends is given: saves half the evaluations
  double slope_lo, slope_hi;
  uint32_t max_evaluations;
} NumRootOptions;

typedef struct NumBracket {
  double lo, hi;      // lo < hi
  double g_lo, g_hi;  // g there, of opposite sign class
} NumBracket;

/// Shrink the bracket. Inverse quadratic interpolation with bisection (Chandrupatla 1997), begun at
/// the root of the Hermite cubic where slopes are given; at most three evaluations per halving, and
/// eight more. Signs are compared, never multiplied. On return, whatever the status, the bracket is
/// valid and no wider than before. `evaluations` may be NULL. SLT_ERR_ARGUMENT: not a bracket.
/// SLT_ERR_NOT_FINITE: g is NaN somewhere (infinity is a sign). SLT_ERR_NO_CONVERGENCE:
/// max_evaluations reached, or adjacent doubles and still outside the window (g jumps).
SltStatus num_root_bracket(NumFn* fn, void* user, const NumRootOptions* options,
                           NumBracket* bracket, uint32_t* evaluations);

#define NUM_NO_MEMBER UINT32_MAX

/// A search for the first time at which a number leaves its range: a coefficient (0, 1), a reaction
/// what is above 0.
typedef struct NumExit NumExit;
struct NumExit {
  void* user;
  /// Coefficients at a time: `surface` and `above` tell one that is left, `coefficient` is that of
  /// `watched`.
  SltStatus (*look)(NumExit* e, double t, bool* above);
  /// Whether nothing is left in [l, r], for certain; `look` has just been at its middle, unless it
  /// proves `alone`.
  bool (*prove)(NumExit* e, double l, double r);
  bool alone, blind;
  bool may_slack;  // a coefficient may begin outside of (0, 1)...
  double slack;    // ... so far...
  double outside;  // ... and is, at the last look
  uint32_t surface, watched;
  bool watched_above;
  double coefficient;
  uint32_t pieces;
  bool undecided;  // something could not be proved
  double t;        // the exit, INFINITY for none...
  uint32_t left;   // ... the surface that is left...
  bool above;      // ... and the side
};
void num_exit_search(NumExit* e, double l, double r);

typedef struct NumMaximum {
  double t, g;
} NumMaximum;

/// A local maximum of g inside (a, b) to within t_tol, but not better than sqrt(epsilon) (b - a)
/// (Brent 1973: golden section and parabolas). The ends are not evaluated. Stops early at a point
/// with g > g_stop (HUGE_VAL: never). `best` holds the best point seen, on failure too, if there
/// was one.
SltStatus num_max_on_interval(NumFn* fn, void* user, double a, double b, double t_tol,
                              double g_stop, NumMaximum* best, uint32_t* evaluations);

/// Interior maximum over theta in (0, 1) of the cubic with values ga, gb and time derivatives da,
/// db at the ends of a step h. False when there is none (the larger end is the maximum).
bool num_hermite_max(double ga, double gb, double da, double db, double h, double* theta,
                     double* value);
/// About where that cubic changes its sign; ga and gb have different ones.
double num_hermite_root(double ga, double gb, double da, double db, double h);

// ---- linear systems of stiff methods ------------------------------------------------------------

typedef enum NumLinearKind {
  NUM_LINEAR_DENSE,   // elimination with partial pivoting
  NUM_LINEAR_BAND,    // the same within a band, rows and columns in the order of Cuthill and McKee
  NUM_LINEAR_SPARSE,  // KLU
  NUM_LINEAR_BLOCKS,  // blocks of up to four unknowns along a line, from both ends
  NUM_LINEAR_BORDER   // one of the others but for a few unknowns that everybody reads
} NumLinearKind;

/// Where a Jacobian has entries: row i has columns[begin[i]] .. columns[begin[i + 1] - 1],
/// ascending. States come first, then algebraic unknowns, then auxiliary ones: values that many
/// rows read and that read many states, as means do. These are unknowns of the elimination alone
/// (their rows have the right-hand side 0, and -1 on the diagonal); nobody outside sees them.
typedef struct NumPattern {
  uint32_t states, algebraic, auxiliary;
  const uint32_t* begin;
  const uint32_t* columns;
} NumPattern;

/// Choose how to solve by the estimated cost, and take all memory that steps need. The choice and
/// the order of elimination depend on the pattern alone. SLT_ERR_NOMEM; SLT_ERR_STRUCTURE: singular
/// whatever the values.
SltStatus num_linear_create(const SltAllocator* allocator, const NumPattern* pattern,
                            NumLinear** out);
/// The same with every entry present, as for a Jacobian by differences.
SltStatus num_linear_create_full(const SltAllocator* allocator, uint32_t states, NumLinear** out);
void num_linear_free(NumLinear* linear);
NumLinearKind num_linear_kind(const NumLinear* linear);
/// Width of the band below and above the diagonal, of blocks too; 0 for other kinds.
void num_linear_band(const NumLinear* linear, uint32_t* below, uint32_t* above);
/// Rough cost of a step's linear algebra, in operations.
double num_linear_cost(const NumLinear* linear);
/// Entries of J, to be filled before num_linear_factor.
double* num_linear_values(NumLinear* linear);
/// Factors of c D - J. SLT_ERR_STRUCTURE: singular, or not safe to solve with.
SltStatus num_linear_factor(NumLinear* linear, double c);
/// b becomes the solution.
void num_linear_solve(NumLinear* linear, double* b);
/// The same for the right-hand side b + add.
void num_linear_solve_sum(NumLinear* linear, double* b, const double* add);
/// A column of derivatives of all rows, auxiliary ones last: what these have goes to the rows that
/// read them. (Each reads earlier ones only.)
void num_linear_fold(const NumLinear* linear, double* column);
/// An upper bound of the moduli of the eigenvalues of J; `scale`: what the components measure, 0
/// for those that are left out. (A bound of the plain J would depend on their units.)
double num_linear_bound(const NumLinear* linear, const double* scale);

/// J of f by one-sided differences, for a system made by num_linear_create_full. `work`: 2 n
/// doubles; f is the value at (t, x), `scale` the size below which a component counts as 0, `span`
/// a time over which f may change. df/dt goes to ft.
SltStatus num_linear_differences(NumLinear* linear, NumRhs* rhs, void* user, double t,
                                 const double* x, const double* f, const double* scale, double span,
                                 double* work, double* ft);

/// An implicit step of the length `span` from x, the flow held as it is at time t, by Newton's
/// method with the entries of J in place (which are lost): x becomes its end. `unit`: what the
/// states measure; without that elimination would depend on the units they are given in.
SltStatus num_linear_step(NumLinear* linear, NumRhs* rhs, void* user, double t, double span,
                          const double* unit, double* x);
/// Add what the `count` unknowns of the list depend on, directly and through others; `known` has 1
/// for each of the list, 0 for all others. Their count.
uint32_t num_linear_reach(const NumLinear* linear, uint32_t* list, uint32_t count, uint8_t* known);

// ---- small dense linear algebra -----------------------------------------------------------------

/// LU factors of the row-major n x n matrix `a` in place, partial pivoting, row order into `pivot`
/// (n entries). A pivot of modulus <= `tolerance` times the largest modulus of its row in the input
/// is a singularity: SLT_ERR_STRUCTURE, its column in `bad` (may be NULL). SLT_ERR_NOT_FINITE: NaN
/// or infinity. `scale`: n doubles of scratch. Cost n^3/3.
SltStatus num_lu_factor(uint32_t n, double* a, double tolerance, double* scale, uint32_t* pivot,
                        uint32_t* bad);

/// Solve with the factors: b becomes x. `scratch`: n doubles. Cost n^2.
void num_lu_solve(uint32_t n, const double* lu, const uint32_t* pivot, double* scratch, double* b);

/// Solve with the transpose.
void num_lu_solve_transposed(uint32_t n, const double* lu, const uint32_t* pivot, double* scratch,
                             double* b);

// ---- Bernstein forms ----------------------------------------------------------------------------

#define NUM_BERNSTEIN 17  // coefficients at most

/// Coefficients of the two halves of a piece.
void num_bernstein_halve(const double* c, uint32_t degree, double* left, double* right);
/// Coefficients of the polynomial of degree 4 through values at 0, 1/4, 1/2, 3/4 and 1.
void num_bernstein_fit(const double* y, double* c);
/// Coefficients of the part over [from, to] of [0, 1].
void num_bernstein_restrict(double* c, uint32_t degree, double from, double to);

// ---- multilinear combinations -------------------------------------------------------------------

#define NUM_MULTILINEAR 3  // coefficients at most
#define NUM_PATTERNS    8  // ... and patterns of their sides

typedef struct NumInterval {
  double lo, hi;
} NumInterval;

/// Weight of a pattern: the product of alpha[k] or 1 - alpha[k], by its bits, over the k in `mask`.
double num_multilinear_weight(uint32_t pattern, uint32_t mask, const double* alpha);

/// The combination of values (by pattern) over the coefficients in `mask`; the sides outside of it
/// are those of `fixed`.
double num_multilinear_value(const double* values, uint32_t count, uint32_t mask, uint32_t fixed,
                             const double* alpha);
/// Coefficients in `mask` for which the combinations (by equation and pattern) are the wanted ones,
/// by Newton's method from `alpha`. False: none was found.
bool num_multilinear_solve(const double values[][NUM_PATTERNS], uint32_t count, uint32_t mask,
                           uint32_t fixed, const double* wanted, double* alpha);

/// The same for combinations that are 0 by coefficients in [0, 1]. There may be several solutions:
/// the search begins at different points until it finds one inside.
bool num_multilinear_search(const double values[][NUM_PATTERNS], uint32_t count, uint32_t mask,
                            uint32_t fixed, double* alpha);

/// Whether for any numbers in `values` (by equation and pattern) the `count` equations "the
/// combination is 0" have a solution in (0, 1)^count, by Krawczyk's operator around `middle`, the
/// solution for some of these numbers. False: that could not be shown.
bool num_multilinear_inside(NumInterval values[][NUM_PATTERNS], uint32_t count,
                            const double* middle);

// ---- sparse normal equations --------------------------------------------------------------------

/// Place of an entry of a sparse matrix.
typedef struct NumEntry {
  uint32_t row, column;
} NumEntry;

/// G G^T x = b for matrices G of one pattern; owns its memory, belongs to one thread.
typedef struct NumNormal NumNormal;

/// `entries` (each place once) are only read here; the same order holds for their values later.
/// SLT_ERR_NOMEM; SLT_ERR_LIMIT: too many entries would come of it; SLT_ERR_ARGUMENT: a place
/// twice. Free with num_normal_free (NULL is fine).
SltStatus num_normal_create(const SltAllocator* allocator, const NumEntry* entries,
                            uint32_t entry_count, uint32_t rows, uint32_t columns, NumNormal** out);
void num_normal_free(NumNormal* normal);

/// Factors of G G^T + `regular` times its largest diagonal entry on the diagonal. A pivot of at
/// most `tolerance` times its diagonal entry: SLT_ERR_STRUCTURE. Infinite entries and NaN:
/// SLT_ERR_NOT_FINITE or SLT_ERR_STRUCTURE. Allocates nothing.
SltStatus num_normal_factor(NumNormal* normal, const double* values, double regular,
                            double tolerance);
/// b becomes x.
void num_normal_solve(const NumNormal* normal, double* b);

/// A square sparse system with row pivoting, for matrices that come once (events).
typedef struct NumSquare NumSquare;

/// Factors of the n x n matrix with these entries (values of the same place add up).
/// SLT_ERR_STRUCTURE: singular, at the column `bad` (may be NULL); SLT_ERR_NOMEM. Free with
/// num_square_free (NULL is fine).
SltStatus num_square_create(const NumEntry* entries, const double* values, uint32_t entry_count,
                            uint32_t n, double tolerance, uint32_t* bad, NumSquare** out);
void num_square_solve(NumSquare* square, double* b);
void num_square_free(NumSquare* square);

// ---- complementarity.c: linear complementarity --------------------------------------------------
//
// z >= 0, w = M z + q >= 0, and of each pair one is zero.

/// Doubles of work space for n pairs.
size_t num_lcp_room(uint32_t n);

/// Solve by Lemke's method with lexicographic ratios, in units of the diagonal.
/// `m` is n x n by rows. False: there is no solution, or none that the method can reach; z is zero.
bool num_lcp_solve(uint32_t n, const double* m, const double* q, double* z, double* w,
                   double* work);

/// Whether more than one solution can be expected: a pair that a force of its own pulls together.
bool num_lcp_ambiguous(uint32_t n, const double* m);

/// Solve a x = b for the members of `in` (the others are 0): Gauss with row pivots. `carries` tells
/// which of them were solved for; those whose rows depend on rows before them are left at 0.
void num_dense_solve_members(uint32_t n, const double* a, const double* b, const bool* in,
                             double* x, bool* carries, double* work);

#endif
