// SPDX-License-Identifier: MIT
//
// The variational equations s' = f_x s + f_p along a stretch of motion, by collocation at Radau's
// points: of order 11 at its end, and stable wherever the equations are. They are linear, so that a
// stretch is one system of equations; large ones, and those along surfaces, are iterated.
#include "numeric/numeric.h"
#include "sensitivity/internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define NODES       SENSITIVITY_NODES
#define SWEEPS      80     // of the iteration
#define SWEEP_SMALL 1e-15  // change of the last one
#define SHIFT       1e-3   // of differences, relative
#define FLOW_ULPS   64.0   // of the flow of a side: what its evaluation leaves

// ---- the method ---------------------------------------------------------------------------------

/// P_n(x) - P_(n-1)(x) for n = NODES, and its slope.
static double radau_polynomial(double x, double* slope) {
  double p[NODES + 1] = {1.0, x};
  double d[NODES + 1] = {0.0, 1.0};
  for (int k = 2; k <= NODES; k++) {
    p[k] = ((2 * k - 1) * x * p[k - 1] - (k - 1) * p[k - 2]) / k;
    d[k] = d[k - 2] + (2 * k - 1) * p[k - 1];
  }
  *slope = d[NODES] - d[NODES - 1];
  return p[NODES] - p[NODES - 1];
}

static double lagrange(const Collocation* method, int j, double c) {
  double value = 1.0;
  for (int i = 0; i < NODES; i++) {
    if (i != j) value *= (c - method->c[i]) / (method->c[j] - method->c[i]);
  }
  return value;
}

/// Integral of a Lagrange polynomial from 0 to c: Gauss' three points are exact for degree 5.
static double lagrange_integral(const Collocation* method, int j, double c) {
  const double x[3] = {-0.7745966692414834, 0.0, 0.7745966692414834};
  const double w[3] = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};
  double sum = 0.0;
  for (int q = 0; q < 3; q++)
    sum += w[q] * lagrange(method, j, 0.5 * c * (1.0 + x[q]));
  return c * sum;
}

void sensitivity_collocation(Collocation* out) {
  for (int i = 0; i < NODES; i++) {
    double x = base_cos(2.0 * 3.14159265358979323846 * i / (2 * NODES - 1));
    for (int pass = 0; i > 0 && pass < 30; pass++) {
      double slope = 0.0;
      double value = radau_polynomial(x, &slope);
      x -= value / slope;
    }
    out->c[NODES - 1 - i] = i == 0 ? 1.0 : 0.5 * (1.0 + x);
  }
  for (int i = 0; i < NODES; i++) {
    for (int j = 0; j < NODES; j++)
      out->a[i][j] = lagrange_integral(out, j, out->c[i]);
  }
}

double sensitivity_node(const Sensitivity* s, uint32_t node, double* weight) {
  *weight = s->stretch.h * s->collocation.a[NODES - 1][node];
  return s->stretch.a + s->collocation.c[node] * s->stretch.h;
}

void sensitivity_weights(const Collocation* method, double c, int order, double* weight) {
  double at[NODES + 1] = {0.0};
  memcpy(at + 1, method->c, NODES * sizeof *at);
  for (int j = 0; j <= NODES; j++) {
    double value = 1.0;
    double slope = 0.0;
    for (int i = 0; i <= NODES; i++) {
      if (i == j) continue;
      double factor = (c - at[i]) / (at[j] - at[i]);
      slope = slope * factor + value / (at[j] - at[i]);
      value *= factor;
    }
    weight[j] = order ? slope : value;
  }
}

/// s is the integral of its derivative, which is a polynomial through the nodes: s itself is one
/// through the begin and the nodes.
void sensitivity_interpolate(Sensitivity* s, double t, double* rows) {
  const Stretch* stretch = &s->stretch;
  size_t size = (size_t)stretch->n * s->count;
  double c = stretch->h > 0.0 ? (t - stretch->a) / stretch->h : 1.0;
  double weight[NODES + 1];
  sensitivity_weights(&s->collocation, c, 0, weight);
  if (s->trail) trail_interpolate(s, eng_mode(s->sim), weight);
  for (size_t i = 0; i < size; i++) {
    double sum = weight[0] * stretch->begin[i];
    for (int j = 0; j < NODES; j++)
      sum += weight[j + 1] * stretch->nodes[(size_t)j * size + i];
    rows[i] = sum;
  }
}

// ---- flows --------------------------------------------------------------------------------------

bool sensitivity_flow(Sensitivity* s, double t, const double* x, double* f) {
  const ModelMode* mode = eng_mode(s->sim);
  if (eng_motion(s->sim) != ENG_MOTION_MODE) return eng_flow(s->sim, t, x, NULL, f, NULL) >= 0;
  ModelSeeds none = {.count = 0};
  double* regs = sensitivity_room(s, &s->regs, model_tangent_room(&mode->rhs, 0));
  return regs && model_program_tangent(&mode->rhs, eng_flow_context(s->sim), eng_env_states(s->sim),
                                       t, x, &none, regs, f, NULL);
}

/// The size of a state. What a surface holds has the one to which the flow of a side would bring
/// it: its own values are rounding.
static double state_size(const Sensitivity* s, uint32_t i, const double* x) {
  uint32_t place = eng_mode(s->sim)->state_env[i];
  return fmax(fmax(fabs(x[i]), s->size[place]), s->rate[place] * s->stretch.h);
}

/// How far a direction may be followed for a difference.
static double shift_along(const Sensitivity* s, const double* x, const double* d_x,
                          const double* d_env, double d_t) {
  uint32_t n = eng_mode(s->sim)->state_count;
  const double* env = eng_env_states(s->sim);
  double most = 0.0;
  for (uint32_t i = 0; i < n; i++) {
    double size = state_size(s, i, x);
    most = fmax(most, fabs(d_x[i]) / (size > 0.0 ? size : 1.0));
  }
  for (uint32_t i = 0; d_env && i < s->model->env_count; i++) {
    double size = fmax(fabs(env[i]), s->size[i]);
    most = fmax(most, fabs(d_env[i]) / (size > 0.0 ? size : 1.0));
  }
  most = fmax(most, fabs(d_t) / (s->stretch.h > 0.0 ? s->stretch.h : 1.0));
  return most > 0.0 ? SHIFT / most : 0.0;
}

/// Note how fast the flow of the side that the mode is of would move the states.
static bool note_rates(Sensitivity* s, double t, const double* x, double* side) {
  const ModelMode* mode = eng_mode(s->sim);
  ModelSeeds none = {.count = 0};
  double* regs = sensitivity_room(s, &s->regs, model_tangent_room(&mode->rhs, 0));
  if (!regs || !model_program_tangent(&mode->rhs, eng_flow_context(s->sim), eng_env_states(s->sim),
                                      t, x, &none, regs, side, NULL)) {
    return false;
  }
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double* rate = &s->rate[mode->state_env[i]];
    *rate = fmax(*rate, fabs(side[i]));
  }
  return true;
}

/// Along a surface the flows of its sides cancel: what rounding leaves of a component that stands
/// still is no derivative, and would grow. Nor is what changes a state, over the stretch, by less
/// than its rounding where others change by their size.
static void drop_rounding(const Sensitivity* s, const double* x, double shift, double* d_f) {
  const ModelMode* mode = eng_mode(s->sim);
  for (uint32_t i = 0; shift > 0.0 && i < mode->state_count; i++) {
    double flow = FLOW_ULPS * s->rate[mode->state_env[i]];
    double drift = s->stretch.h > 0.0 ? SHIFT * state_size(s, i, x) / s->stretch.h : 0.0;
    if (fabs(d_f[i]) <= DBL_EPSILON * fmax(flow, drift) / shift) d_f[i] = 0.0;
  }
}

bool sensitivity_difference(EngSim* sim, const SensitivityShift* along, double* work, double* d_f,
                            double* d_alpha) {
  static const double weights[4] = {1.0, -8.0, 8.0, -1.0};
  static const double places_at[4] = {-2.0, -1.0, 1.0, 2.0};
  uint32_t n = eng_mode(sim)->state_count;
  uint32_t m = d_alpha ? eng_surface_count(sim) : 0;
  uint32_t places = eng_model(sim)->env_count;
  double* f = work;
  double* alpha = f + n;
  double* moved = alpha + m;
  double* env = moved + n;
  memset(d_f, 0, n * sizeof *d_f);
  if (m) memset(d_alpha, 0, m * sizeof *d_alpha);
  for (int k = 0; along->shift > 0.0 && k < 4; k++) {
    double by = places_at[k] * along->shift;
    double weight = weights[k] / (12.0 * along->shift);
    for (uint32_t i = 0; i < n; i++)
      moved[i] = along->x[i] + by * along->d_x[i];
    const double* present = eng_env_states(sim);
    for (uint32_t i = 0; along->d_env && i < places; i++)
      env[i] = present[i] + by * along->d_env[i];
    if (eng_flow(sim, along->t + by * along->d_t, moved, along->d_env ? env : NULL, f,
                 m ? alpha : NULL) < 0) {
      return false;
    }
    for (uint32_t i = 0; i < n; i++)
      d_f[i] += weight * f[i];
    for (uint32_t i = 0; i < m; i++)
      d_alpha[i] += weight * alpha[i];
  }
  return true;
}

bool sensitivity_sliding(Sensitivity* s, double t, const double* x, double d_t, const double* d_x,
                         const double* d_env, double* d_f, double* d_alpha) {
  uint32_t n = eng_mode(s->sim)->state_count;
  uint32_t m = d_alpha ? eng_surface_count(s->sim) : 0;
  double* work = sensitivity_room(s, &s->shifted, 2 * (size_t)n + m + s->model->env_count);
  if (!work || !note_rates(s, t, x, work)) return false;
  double shift = shift_along(s, x, d_x, d_env, d_t);
  SensitivityShift along = {t, d_t, shift, x, d_x, d_env};
  if (!sensitivity_difference(s->sim, &along, work, d_f, d_alpha)) return false;
  drop_rounding(s, x, shift, d_f);
  return true;
}

/// Rows of the flow along surfaces.
static bool sliding_rows(Sensitivity* s, double t, const double* x, const double* rows,
                         double* f_rows) {
  uint32_t n = s->stretch.n;
  uint32_t places = s->model->env_count;
  const ModelMode* mode = eng_mode(s->sim);
  double* d_x = sensitivity_room(s, &s->matrix, 2 * (size_t)n + places);
  if (!d_x) return false;
  double* d_f = d_x + n;
  double* d_env = d_f + n;
  for (uint32_t k = 0; k < s->count; k++) {
    bool stands = true;
    for (uint32_t i = 0; i < places; i++) {
      d_env[i] = s->now.d[(size_t)i * s->count + k];
      if (isnan(d_env[i])) d_env[i] = 0.0;  // what the modes compute
    }
    for (uint32_t i = 0; i < n; i++) {
      d_x[i] = rows[(size_t)i * s->count + k];
      d_env[mode->state_env[i]] = 0.0;
    }
    for (uint32_t i = 0; i < places; i++)
      stands &= d_env[i] == 0.0;
    if (!sensitivity_sliding(s, t, x, 0.0, d_x, stands ? NULL : d_env, d_f, NULL)) return false;
    for (uint32_t i = 0; i < n; i++)
      f_rows[(size_t)i * s->count + k] = d_f[i];
  }
  return true;
}

static bool flow_rows(Sensitivity* s, double t, const double* x, const double* rows,
                      double* f_rows) {
  if (eng_motion(s->sim) != ENG_MOTION_MODE) return sliding_rows(s, t, x, rows, f_rows);
  const ModelProgram* rhs = &eng_mode(s->sim)->rhs;
  ModelSeeds seeds = sensitivity_seeds(s, s->count, 0);
  seeds.states = rows;
  seeds.env = s->now.d;
  double* regs = sensitivity_room(s, &s->regs, model_tangent_room(rhs, s->count));
  double* f = sensitivity_room(s, &s->shifted, s->stretch.n);
  return regs && f &&
         model_program_tangent(rhs, eng_flow_context(s->sim), eng_env_states(s->sim), t, x, &seeds,
                               regs, f, f_rows);
}

// ---- a stretch ----------------------------------------------------------------------------------

/// States of the run at the nodes.
static double* node_states(Sensitivity* s) {
  uint32_t n = s->stretch.n;
  const ModelMode* mode = eng_mode(s->sim);
  double* x = sensitivity_room(s, &s->x, (size_t)NODES * n + 1);
  double end = s->stretch.a + s->stretch.h;
  for (uint32_t j = 0; x && j < NODES; j++) {
    double weight = 0.0;
    double t = sensitivity_node(s, j, &weight);
    // the end of a segment belongs to the instant there
    if (eng_look(s->sim, t) < 0 && eng_look(s->sim, nextafter(end, s->stretch.a)) < 0) {
      sensitivity_lose(s, "motion that cannot be looked at");
      return NULL;
    }
    const double* env = eng_env_states(s->sim);
    for (uint32_t i = 0; i < n; i++) {
      double* size = &s->size[mode->state_env[i]];
      x[(size_t)j * n + i] = env[mode->state_env[i]];
      *size = fmax(*size, fabs(env[mode->state_env[i]]));
    }
  }
  return x;
}

/// Jacobian and derivatives with respect to the parameters at a node: rows of n + count.
static bool node_jacobian(Sensitivity* s, double t, const double* x, double* rows) {
  uint32_t n = s->stretch.n;
  uint32_t width = n + s->count;
  uint32_t places = s->model->env_count;
  const ModelProgram* rhs = &eng_mode(s->sim)->rhs;
  size_t seeds_size = ((size_t)n + places) * width;
  double* unit = sensitivity_room(s, &s->shifted, seeds_size + n);
  double* regs = sensitivity_room(s, &s->regs, model_tangent_room(rhs, width));
  if (!unit || !regs) return false;
  double* env = unit + (size_t)n * width;
  memset(unit, 0, seeds_size * sizeof *unit);
  for (uint32_t i = 0; i < n; i++)
    unit[(size_t)i * width + i] = 1.0;
  for (uint32_t i = 0; i < rhs->input_count; i++) {
    uint32_t place = rhs->inputs[i].env % places;
    memcpy(env + (size_t)place * width + n, s->now.d + (size_t)place * s->count,
           s->count * sizeof *env);
  }
  ModelSeeds seeds = sensitivity_seeds(s, width, n);
  seeds.states = unit;
  seeds.env = env;
  return model_program_tangent(rhs, eng_flow_context(s->sim), eng_env_states(s->sim), t, x, &seeds,
                               regs, unit + seeds_size, rows);
}

/// All nodes at once: (1 - h a_pq A_q) s_q = s_begin + h sum a_pq b_q.
static bool solve_direct(Sensitivity* s, const double* x) {
  uint32_t n = s->stretch.n;
  uint32_t size = NODES * n;
  uint32_t width = n + s->count;
  double h = s->stretch.h;
  size_t jacobians = (size_t)NODES * n * width;
  double* rows = sensitivity_room(s, &s->rows, jacobians);
  double* matrix = sensitivity_room(s, &s->matrix, (size_t)size * size + 4 * (size_t)size);
  if (!rows || !matrix) return false;
  double* scale = matrix + (size_t)size * size;
  double* column = scale + size;
  double* scratch = column + size;
  uint32_t* pivot = (uint32_t*)(scratch + size);
  for (uint32_t q = 0; q < NODES; q++) {
    double weight = 0.0;
    double t = sensitivity_node(s, q, &weight);
    if (!node_jacobian(s, t, x + (size_t)q * n, rows + (size_t)q * n * width)) return false;
  }
  for (uint32_t p = 0; p < size; p++) {
    for (uint32_t q = 0; q < size; q++) {
      double a = s->collocation.a[p / n][q / n];
      double entry = rows[((size_t)(q / n) * n + p % n) * width + q % n];
      matrix[(size_t)p * size + q] = (p == q ? 1.0 : 0.0) - h * a * entry;
    }
  }
  uint32_t bad = 0;
  if (num_lu_factor(size, matrix, 0.0, scale, pivot, &bad) < 0) return false;
  for (uint32_t k = 0; k < s->count; k++) {
    for (uint32_t p = 0; p < size; p++) {
      double sum = 0.0;
      for (uint32_t q = 0; q < NODES; q++)
        sum += s->collocation.a[p / n][q] * rows[((size_t)q * n + p % n) * width + n + k];
      column[p] = s->stretch.begin[(size_t)(p % n) * s->count + k] + h * sum;
    }
    num_lu_solve(size, matrix, pivot, scratch, column);
    for (uint32_t p = 0; p < size; p++)
      s->stretch.nodes[(size_t)p * s->count + k] = column[p];
  }
  return true;
}

/// One sweep over the nodes; the largest change relative to the largest value.
static double sweep(Sensitivity* s, const double* x, double* f, bool* good) {
  size_t size = (size_t)s->stretch.n * s->count;
  for (uint32_t q = 0; *good && q < NODES; q++) {
    double weight = 0.0;
    double t = sensitivity_node(s, q, &weight);
    *good =
        flow_rows(s, t, x + (size_t)q * s->stretch.n, s->stretch.nodes + q * size, f + q * size);
  }
  double change = 0.0;
  double largest = DBL_MIN;
  for (size_t i = 0; *good && i < NODES * size; i++) {
    double sum = 0.0;
    for (uint32_t q = 0; q < NODES; q++)
      sum += s->collocation.a[i / size][q] * f[q * size + i % size];
    double value = s->stretch.begin[i % size] + s->stretch.h * sum;
    change = fmax(change, fabs(value - s->stretch.nodes[i]));
    largest = fmax(largest, fabs(value));
    *good &= isfinite(value);
    s->stretch.nodes[i] = value;
  }
  return change / largest;
}

static bool solve_iterated(Sensitivity* s, const double* x) {
  size_t size = (size_t)s->stretch.n * s->count;
  double* f = sensitivity_room(s, &s->rows, NODES * size);
  bool good = f != NULL;
  for (uint32_t q = 0; q < NODES; q++)
    memcpy(s->stretch.nodes + q * size, s->stretch.begin, size * sizeof(double));
  double last = HUGE_VAL;
  for (int k = 0; good && k < SWEEPS; k++) {
    double change = sweep(s, x, f, &good);
    // differences of the flow leave noise behind
    if (change <= SWEEP_SMALL || (change < 1e-9 && change >= 0.5 * last)) return good;
    last = change;
  }
  return false;
}

static bool make_stretch(Sensitivity* s, double until) {
  Stretch* stretch = &s->stretch;
  const ModelMode* mode = eng_mode(s->sim);
  stretch->a = s->now.t;
  stretch->h = until - s->now.t;
  stretch->n = mode->state_count;
  size_t size = (size_t)stretch->n * s->count;
  Room room = {stretch->begin, stretch->capacity};
  stretch->begin = sensitivity_room(s, &room, (NODES + 1) * size + 1);
  stretch->capacity = room.capacity;
  if (!stretch->begin) return false;
  stretch->nodes = stretch->begin + size;
  for (uint32_t i = 0; i < stretch->n; i++) {
    memcpy(stretch->begin + (size_t)i * s->count, s->now.d + (size_t)mode->state_env[i] * s->count,
           s->count * sizeof(double));
  }
  return true;
}

SltStatus sensitivity_stretch(Sensitivity* s, double until) {
  if (s->gap) return SLT_OK;
  const ModelMode* mode = eng_mode(s->sim);
  EngMotion motion = eng_motion(s->sim);
  bool constrained = sensitivity_is_constrained(mode);
  if (s->open) sensitivity_take_over(s);
  if (motion == ENG_MOTION_CONTACT) sensitivity_lose(s, "a closed contact");
  if (motion == ENG_MOTION_SLIDING && s->model->delay_count) {
    sensitivity_lose(s, "a delay while sliding");
  }
  if (motion == ENG_MOTION_SLIDING && s->trail) sensitivity_lose(s, "sliding, on the way back");
  if (constrained && s->trail) sensitivity_lose(s, "constraints of the states, on the way back");
  if (s->gap || !(until > s->now.t) || !make_stretch(s, until)) return SLT_OK;
  double* x = node_states(s);
  if (!x) return SLT_OK;
  if (s->trail) trail_stretch(s, x);
  bool direct = motion == ENG_MOTION_MODE && mode->state_count <= SENSITIVITY_DIRECT;
  bool good = mode->state_count == 0 || s->count == 0 ||
              (direct ? solve_direct(s, x) : solve_iterated(s, x));
  if (good && s->count && constrained)
    good = sensitivity_project(s, x + (size_t)(NODES - 1) * s->stretch.n);
  if (!good) sensitivity_lose(s, "motion whose flow has no derivative that is known");
  size_t size = (size_t)s->stretch.n * s->count;
  for (uint32_t i = 0; i < s->stretch.n; i++) {
    memcpy(s->now.d + (size_t)mode->state_env[i] * s->count,
           s->stretch.nodes + (NODES - 1) * size + (size_t)i * s->count, s->count * sizeof(double));
  }
  s->now.t = until;
  s->now.mode = mode;
  s->look.t = (double)NAN;
  if (s->model->delay_count) sensitivity_history_keep(s);
  return SLT_OK;
}
