// SPDX-License-Identifier: MIT
//
// Certified detection: proof, over the dense output of a step, that an atom does not cross, or its
// first crossing in a bracket where it is monotone.
//
// The step is cut into pieces until on each one of these holds: g keeps its sign; g rises; g falls.
// What is known about g on a piece comes from one of two oracles. For atoms affine in time and
// states the value at the control points of the dense polynomial gives the Bernstein coefficients
// of g itself, whose hull bounds g and whose differences bound its slope; halving a piece is de
// Casteljau's construction. For all others the tape is evaluated on enclosures of the states, value
// and slope along the polynomial together, and the slope sharpens the bound (mean-value form).
//
// Pieces are visited in order of time, so the first crossing found is the first there is. An atom
// that keeps undecided pieces beyond a budget is left to the plain follower (detect.c) and the
// event is marked as not certified.
#include "engine/detect.h"

#include <float.h>
#include <math.h>

#define PIECE_BUDGET   400  // enclosures per atom and step
#define STACK_DEPTH    64
#define COEFFICIENTS   (NUM_DENSE_DEGREE_MAX + 1)
#define BERNSTEIN_ULPS 16.0  // rounding of coefficients, in ulps of the largest magnitude involved
#define MARGIN_SLACK   1e-3  // states that have shrunk by more than this get new margins
#define LINGER_BUDGET  60    // the same for an atom that stays at its boundary...
#define LINGER_AGAIN   6     // ...where it could not be decided before
#define NOISE_MARGINS  8.0   // variation of coefficients that is rounding
#define NEWTON_LIMIT   60    // iterations for the root of a Bernstein form
#define TIGHTEN_LIMIT  6     // values of the tape around it

// Inlined, because the compiler may not know the functions of the C library here (see the build's
// flags for the same bits everywhere).
static inline double magnitude(double a) {
  return __builtin_fabs(a);
}

static inline double smaller(double a, double b) {
  return a < b ? a : b;
}

static inline double larger(double a, double b) {
  return a > b ? a : b;
}

static inline void copy(double* to, const double* from, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    to[i] = from[i];
  }
}

_Static_assert(COEFFICIENTS <= MODEL_LANES, "control points of a step fit into one block");

/// g on a piece [l, r] of the step, in the direction the atom waits for: phi = sign*g.
typedef struct CertPiece {
  double l, r;
  double phi_l, phi_r;
  double c[COEFFICIENTS];  // affine atoms: Bernstein coefficients of phi on the piece
} CertPiece;

typedef struct Certifier {
  EngFollower* f;
  const double* control;  // Bernstein coefficients of g; NULL for the interval oracle
  double margin;          // of the coefficients
  uint32_t degree;
  bool below;  // phi is on the side the atom waits from
  bool fell;   // phi has fallen since the start: a turn re-arms
  bool rose;   // the piece before rose
  bool falls;  // a beginning, or the last piece with a direction fell: no peak follows
  uint32_t spent;
  double turn, back;  // of a valley: shares of the piece
  double depth;       // ... and how far below zero it goes
} Certifier;

typedef enum CertVerdict {
  CERT_NOTHING,
  CERT_CROSSES,
  CERT_RISES,  // ... behind a valley: falls first, then rises through the boundary
  CERT_TOUCHES,
  CERT_SPLIT
} CertVerdict;

// ---- oracles ------------------------------------------------------------------------------------

static void hull_of_coefficients(const Certifier* cert, const CertPiece* p, ModelInterval* phi,
                                 ModelInterval* slope) {
  double lo = p->c[0];
  double hi = p->c[0];
  double dlo = HUGE_VAL;
  double dhi = -HUGE_VAL;
  for (uint32_t j = 0; j < cert->degree; j++) {
    double next = p->c[j + 1];
    double difference = next - p->c[j];
    lo = next < lo ? next : lo;
    hi = next > hi ? next : hi;
    dlo = difference < dlo ? difference : dlo;
    dhi = difference > dhi ? difference : dhi;
  }
  // differences are scaled by degree/(r - l), which is positive: only their signs are used
  *phi = (ModelInterval){lo - cert->margin, hi + cert->margin};
  *slope = (ModelInterval){dlo - 2.0 * cert->margin, dhi + 2.0 * cert->margin};
}

/// A part of the trial that is looked at.
typedef struct TrialPart {
  const EngSim* sim;
  double from, to;  // in steps
} TrialPart;

/// A state and its slope over a part of the trial, from the Bernstein form of the dense output.
static ModelDual enclose_state(const void* user, uint32_t i) {
  const TrialPart* part = user;
  const NumStepper* s = part->sim->stepper;
  uint32_t degree = s->method->dense_degree;
  double b[COEFFICIENTS] = {0.0};
  copy(b, part->sim->control_x + (size_t)i * MODEL_LANES, degree + 1);
  double largest = 0.0;
  for (uint32_t j = 0; j <= degree; j++) {
    largest = larger(largest, magnitude(b[j]));
  }
  eng_bernstein_restrict(b, degree, part->from, part->to);
  double pad = BERNSTEIN_ULPS * DBL_EPSILON * largest;
  double lo = b[0];
  double hi = b[0];
  double dlo = HUGE_VAL;
  double dhi = -HUGE_VAL;
  double scale = (double)degree / ((part->to - part->from) * s->trial.h);
  for (uint32_t j = 0; j < degree; j++) {
    double d = (b[j + 1] - b[j]) * scale;
    lo = smaller(lo, b[j + 1]);
    hi = larger(hi, b[j + 1]);
    dlo = smaller(dlo, d);
    dhi = larger(dhi, d);
  }
  double slope_pad = 2.0 * pad * scale;
  return (ModelDual){{lo - pad, hi + pad}, {dlo - slope_pad, dhi + slope_pad}};
}

void eng_enclose_atoms(EngSim* sim, double l, double r, ModelDual* out) {
  ModelContext context = eng_context(sim);
  TrialPart part = {sim, num_dense_theta(sim->stepper, l), num_dense_theta(sim->stepper, r)};
  for (uint32_t i = 0; i < sim->stepper->n; i++) {
    sim->x_dual[i] = enclose_state(&part, i);
  }
  model_program_enclose(&sim->core.mode->g_flow, &context, sim->dual_regs, (ModelInterval){l, r},
                        sim->x_dual, out);
}

/// The same for one atom.
static ModelDual enclose_atom(EngSim* sim, uint32_t index, double l, double r) {
  ModelContext context = eng_context(sim);
  TrialPart part = {sim, num_dense_theta(sim->stepper, l), num_dense_theta(sim->stepper, r)};
  ModelDual g = {0};
  if (model_program_enclose_output(&sim->core.mode->g_flow, &context, sim->dual_regs,
                                   (ModelInterval){l, r}, enclose_state, &part, index, &g)) {
    return g;
  }
  eng_enclose_atoms(sim, l, r, sim->g_dual);
  return sim->g_dual[index];
}

static void hull_of_enclosure(const Certifier* cert, const CertPiece* p, ModelInterval* phi,
                              ModelInterval* slope) {
  EngSim* sim = cert->f->sim;
  // the whole is enclosed once for all atoms
  ModelDual g = cert->spent > 1 ? enclose_atom(sim, cert->f->index, p->l, p->r)
                                : sim->g_whole[cert->f->index];
  bool up = cert->f->sign > 0.0;
  *phi = up ? g.v : (ModelInterval){-g.v.hi, -g.v.lo};
  *slope = up ? g.d : (ModelInterval){-g.d.hi, -g.d.lo};
}

/// Largest value the slopes allow between the two ends (mean-value form at both). The values at the
/// ends are what the tape computes there: the proof holds up to the rounding of these.
static double slope_ceiling(const CertPiece* p, ModelInterval d) {
  double h = p->r - p->l;
  if (d.hi <= 0.0) return p->phi_l;
  if (d.lo >= 0.0) return p->phi_r;
  if (!(d.hi < HUGE_VAL && d.lo > -HUGE_VAL)) return HUGE_VAL;
  double s = (p->phi_r - p->phi_l - d.lo * h) / (d.hi - d.lo);
  double rounding =
      8.0 * DBL_EPSILON * (magnitude(p->phi_l) + magnitude(p->phi_r) + (d.hi - d.lo) * h);
  return p->phi_l + d.hi * smaller(larger(s, 0.0), h) + rounding;
}

static double slope_floor(const CertPiece* p, ModelInterval d) {
  CertPiece mirror = {.l = p->l, .r = p->r, .phi_l = -p->phi_l, .phi_r = -p->phi_r};
  return -slope_ceiling(&mirror, (ModelInterval){-d.hi, -d.lo});
}

// ---- verdict on a piece -------------------------------------------------------------------------

/// Clear of the last crossing: armed from the start, or turned round since.
static bool ready(const Certifier* cert) {
  return cert->f->armed || cert->fell;
}

static double threshold(const Certifier* cert) {
  return ready(cert) ? 0.0 : cert->f->atom->zone;
}

static bool passes(const Certifier* cert, double phi) {
  double value = phi - threshold(cert);
  return eng_follower_zero_counts(cert->f) ? value >= 0.0 : value > 0.0;
}

/// The types that detect early take a peak inside the eps zone for an event.
static bool peak_counts(const Certifier* cert, double phi) {
  uint8_t type = cert->f->model->type;
  if (type == MODEL_ATOM_BILATERAL || type == MODEL_ATOM_UNILATERAL) return false;
  if (!ready(cert) || cert->f->model->bipolar || !cert->below) return false;
  return phi > -cert->f->atom->eps;
}

static CertVerdict judge_monotone(Certifier* cert, const CertPiece* p, ModelInterval slope) {
  if (slope.hi <= 0.0) {
    bool peak = cert->rose && peak_counts(cert, p->phi_l);
    cert->rose = false;
    cert->falls = true;
    if (peak) return CERT_TOUCHES;
    cert->fell = true;
    if (!eng_follower_beyond(cert->f, p->phi_r)) cert->below = true;
    return CERT_NOTHING;
  }
  cert->rose = true;
  cert->falls = false;
  if (cert->below && passes(cert, p->phi_r)) return CERT_CROSSES;
  return CERT_NOTHING;
}

/// Whether phi falls first and then rises, with one turn: the differences, which are the Bernstein
/// coefficients of its slope, change their sign once, whatever rounding has done to them. (One that
/// is zero up to rounding may stand in between: it makes no difference which sign it has.)
static bool has_one_valley(const Certifier* cert, const CertPiece* p) {
  double noise = 2.0 * cert->margin;
  uint32_t j = 0;
  while (j < cert->degree && p->c[j + 1] - p->c[j] < -noise) {
    j++;
  }
  if (j == 0 || j == cert->degree) return false;
  if (p->c[j + 1] - p->c[j] <= noise) j++;
  if (j == cert->degree) return false;
  for (; j < cert->degree; j++) {
    if (!(p->c[j + 1] - p->c[j] > noise)) return false;
  }
  return true;
}

// Degree 4 is that of the default method, and written out.

static inline double value_of_degree_4(const double* c, double u, double* slope) {
  double a0 = c[0] + u * (c[1] - c[0]);
  double a1 = c[1] + u * (c[2] - c[1]);
  double a2 = c[2] + u * (c[3] - c[2]);
  double a3 = c[3] + u * (c[4] - c[3]);
  double b0 = a0 + u * (a1 - a0);
  double b1 = a1 + u * (a2 - a1);
  double b2 = a2 + u * (a3 - a2);
  double d0 = b0 + u * (b1 - b0);
  double d1 = b1 + u * (b2 - b1);
  *slope = 4.0 * (d1 - d0);
  return d0 + u * (d1 - d0);
}

static inline double value_of_degree(uint32_t degree, const CertPiece* p, double u, double* slope) {
  if (degree == 4) return value_of_degree_4(p->c, u, slope);
  double work[COEFFICIENTS];
  copy(work, p->c, degree + 1);
  for (uint32_t j = degree; j > 1; j--) {
    for (uint32_t k = 0; k < j; k++) {
      work[k] += u * (work[k + 1] - work[k]);
    }
  }
  *slope = (double)degree * (work[1] - work[0]);
  return work[0] + u * (work[1] - work[0]);
}

/// phi and its slope at a share u of the piece, by de Casteljau's construction.
static double bernstein_value(const Certifier* cert, const CertPiece* p, double u, double* slope) {
  return value_of_degree(cert->degree, p, u, slope);
}

/// Where phi turns in a valley, from the polygon of its slope, and where it comes back to zero if
/// it is a parabola. False: it does not get below zero.
static bool valley_of(Certifier* cert, const CertPiece* p) {
  double n = (double)cert->degree;
  uint32_t k = 1;
  while (k < cert->degree && p->c[k + 1] - p->c[k] < 0.0) {
    k++;
  }
  if (k == cert->degree) return false;
  double before = p->c[k] - p->c[k - 1];
  double behind = p->c[k + 1] - p->c[k];
  double u = ((double)(k - 1) + before / (before - behind)) / (n - 1.0);
  double slope = 0.0;
  double depth = -bernstein_value(cert, p, u, &slope);
  if (!(depth > cert->margin)) return false;
  cert->depth = depth;
  double bend = n * (n - 1.0) * (behind - before);
  cert->turn = u;
  cert->back = smaller(u + __builtin_sqrt(2.0 * depth / bend), 1.0);
  return true;
}

/// The verdict of judge_monotone() on the two sides of a valley.
static CertVerdict judge_valley(Certifier* cert, const CertPiece* p) {
  if (!valley_of(cert, p)) return CERT_SPLIT;
  if (cert->rose && peak_counts(cert, p->phi_l)) return CERT_TOUCHES;
  cert->below = true;
  cert->fell = true;
  cert->rose = true;
  cert->falls = false;
  return passes(cert, p->phi_r) ? CERT_RISES : CERT_NOTHING;
}

/// A piece too short to divide: its ends decide.
static CertVerdict judge_ends(Certifier* cert, const CertPiece* p) {
  double highest = larger(p->phi_l, p->phi_r);
  if (cert->below && passes(cert, p->phi_r)) return CERT_CROSSES;
  if (!cert->falls && peak_counts(cert, highest)) return CERT_TOUCHES;
  if (!cert->falls && cert->below && ready(cert) && eng_follower_zero_counts(cert->f) &&
      magnitude(highest) <= cert->margin) {
    return CERT_TOUCHES;
  }
  if (!eng_follower_beyond(cert->f, p->phi_r)) cert->below = true;
  return CERT_NOTHING;
}

static CertVerdict judge(Certifier* cert, const CertPiece* p) {
  ModelInterval phi;
  ModelInterval slope;
  cert->spent++;
  if (cert->control) {
    hull_of_coefficients(cert, p, &phi, &slope);
  } else {
    hull_of_enclosure(cert, p, &phi, &slope);
    phi.hi = smaller(phi.hi, slope_ceiling(p, slope));
    phi.lo = larger(phi.lo, slope_floor(p, slope));
  }
  double eps = cert->f->atom->eps;
  bool early = peak_counts(cert, HUGE_VAL);
  if (cert->below && ready(cert) && phi.hi < (early ? -eps : 0.0)) {
    cert->rose = false;
    cert->falls = false;
    return CERT_NOTHING;
  }
  if (!cert->below && phi.lo > 0.0) return CERT_NOTHING;
  if (slope.hi <= 0.0 || slope.lo >= 0.0) return judge_monotone(cert, p, slope);
  if (cert->control && has_one_valley(cert, p)) return judge_valley(cert, p);
  // within rounding of zero all along: a touch for an armed relation that includes zero
  double flat = cert->control ? 2.0 * cert->margin : DBL_MIN;
  if (magnitude(phi.lo) <= flat && magnitude(phi.hi) <= flat) {
    if (cert->below && passes(cert, p->phi_r)) return CERT_CROSSES;
    bool touch = cert->below && ready(cert) && eng_follower_zero_counts(cert->f);
    return touch ? CERT_TOUCHES : CERT_NOTHING;
  }
  // g varies by no more than its rounding: smaller pieces would tell nothing new
  // (an enclosure is wider than g: near zero it is to be trusted to the last place)
  double noise = NOISE_MARGINS * cert->margin;
  bool clear = cert->control || phi.hi < -noise || phi.lo > noise;
  if (clear && phi.hi - phi.lo <= noise) return judge_ends(cert, p);
  return CERT_SPLIT;
}

// ---- the crossing of an affine atom -------------------------------------------------------------

/// phi in powers of the share u: less exact than the Bernstein form, but quickly evaluated.
static inline void power_form(uint32_t degree, const CertPiece* p, double* a) {
  if (degree == 4) {
    double d0 = p->c[1] - p->c[0];
    double d1 = p->c[2] - p->c[1];
    double d2 = p->c[3] - p->c[2];
    double d3 = p->c[4] - p->c[3];
    double e0 = d1 - d0;
    double e1 = d2 - d1;
    double e2 = d3 - d2;
    a[0] = p->c[0];
    a[1] = 4.0 * d0;
    a[2] = 6.0 * e0;
    a[3] = 4.0 * (e1 - e0);
    a[4] = (e2 - e1) - (e1 - e0);
    return;
  }
  double work[COEFFICIENTS];
  double factor = 1.0;
  copy(work, p->c, degree + 1);
  for (uint32_t j = 0; j <= degree; j++) {
    a[j] = factor * work[0];
    factor *= (double)(degree - j) / (double)(j + 1);
    for (uint32_t k = 0; k + j < degree; k++) {
      work[k] = work[k + 1] - work[k];
    }
  }
}

static inline double root_of_degree(uint32_t degree, const CertPiece* p, double from, double start,
                                    double level) {
  double a[COEFFICIENTS];
  double lo = from;
  double hi = 1.0;
  double u = start;
  bool coarse = true;
  power_form(degree, p, a);
  for (uint32_t i = 0; i < NEWTON_LIMIT; i++) {
    double slope = 0.0;
    double value = 0.0;
    if (coarse) {
      for (uint32_t j = degree + 1; j-- > 0;) {
        slope = slope * u + value;
        value = value * u + a[j];
      }
    } else {
      value = value_of_degree(degree, p, u, &slope);
    }
    value -= level;
    if (value < 0.0) {
      lo = u;
    } else {
      hi = u;
    }
    double next = u - value / slope;
    if (!(next >= lo && next <= hi)) next = 0.5 * (lo + hi);
    double move = magnitude(next - u);
    u = next;
    if (!coarse && move <= 1e-7 * u) break;  // quadratic convergence: the next one is at rounding
    if (coarse && move <= 1e-4 * u) {
      coarse = false;
      lo = from;
      hi = 1.0;
    }
  }
  return u;
}

/// Where phi rises through the level on (from, 1] of the piece, by Newton's method within
/// bisection: first coarsely, then to rounding.
static double bernstein_root(const Certifier* cert, const CertPiece* p, double from, double start,
                             double level) {
  if (cert->degree == 4) return root_of_degree(4, p, from, start, level);
  return root_of_degree(cert->degree, p, from, start, level);
}

/// A bracket around the root of the polynomial, as narrow as rounding lets it be, from values of
/// the tape: within [p->l, p->r]. What is known at its ends stays if nothing closer is found.
static void tighten(const Certifier* cert, CertPiece* p, double root) {
  const EngFollower* f = cert->f;
  double reach = 2.0 * DBL_EPSILON * larger(magnitude(p->l), magnitude(p->r));
  double level = threshold(cert);
  double t = root;
  for (uint32_t i = 0; i < TIGHTEN_LIMIT; i++) {
    if (!(t > p->l && t < p->r)) return;
    double g = 0.0;
    eng_follower_value(f, t, &g, NULL);
    double phi = f->sign * g;
    bool beyond = eng_follower_beyond(f, phi - level);
    if (beyond) {
      p->r = t;
      p->phi_r = phi;
    } else {
      p->l = t;
      p->phi_l = phi;
    }
    if (p->r - p->l <= 2.0 * reach) return;
    t = beyond ? t - reach : t + reach;
    if (i > 0) reach *= 8.0;
  }
}

/// The crossing of phi on a piece where it rises, or falls and then rises (`valley`).
static void place_crossing(Certifier* cert, CertPiece* p, bool valley, EngCrossing* out) {
  EngFollower* f = cert->f;
  if (cert->control) {
    double level = threshold(cert);
    double from = valley ? cert->turn : 0.0;
    double start = valley ? cert->back : (level - p->phi_l) / (p->phi_r - p->phi_l);
    if (!(start > 0.0 && start <= 1.0)) start = 0.5;
    double l = p->l;
    double width = p->r - p->l;
    double root = bernstein_root(cert, p, from, start, level);
    if (valley) {
      p->l = l + from * width;
      p->phi_l = -cert->depth;
    }
    if (!eng_follower_beyond(f, p->phi_l - level)) tighten(cert, p, l + root * width);
  }
  f->threshold = threshold(cert);
  f->armed = f->armed || cert->fell;
  double sign = f->sign;
  eng_follower_bracket(f, p->l, p->r, sign * p->phi_l, sign * p->phi_r, out);
  out->certified = true;
}

// ---- search -------------------------------------------------------------------------------------

static double phi_at(const Certifier* cert, double t) {
  double g = 0.0;
  eng_follower_value(cert->f, t, &g, NULL);
  return cert->f->sign * g;
}

static void halve(const Certifier* cert, const CertPiece* p, CertPiece* left, CertPiece* right) {
  double m = p->l + 0.5 * (p->r - p->l);
  left->l = p->l;
  left->r = m;
  right->l = m;
  right->r = p->r;
  left->phi_l = p->phi_l;
  right->phi_r = p->phi_r;
  if (cert->control) {
    eng_bernstein_halve(p->c, cert->degree, left->c, right->c);
    left->phi_r = left->c[cert->degree];
  } else {
    left->phi_r = phi_at(cert, m);
  }
  right->phi_l = left->phi_r;
}

static void first_piece(const Certifier* cert, const EngPiece* whole, CertPiece* p) {
  double sign = cert->f->sign;
  *p = (CertPiece){
      .l = whole->a, .r = whole->b, .phi_l = sign * whole->ga, .phi_r = sign * whole->gb};
  if (!cert->control) return;
  const NumStepper* s = cert->f->sim->stepper;
  for (uint32_t j = 0; j <= cert->degree; j++) {
    p->c[j] = sign * cert->control[j];
  }
  if (whole->a > s->trial.t0) {
    eng_bernstein_restrict(p->c, cert->degree, num_dense_theta(s, whole->a), 1.0);
  }
}

/// The touch of a peak is where g is largest: between the piece before and this one, or inside.
static void place_touch(Certifier* cert, const CertPiece* p, EngCrossing* out) {
  double t = p->phi_l >= p->phi_r ? p->l : p->r;
  *out = (EngCrossing){.index = cert->f->index,
                       .t = t,
                       .lo = p->l,
                       .hi = p->r,
                       .slope = 0.0,
                       .rising = true,
                       .certified = true};
}

/// An atom that stays at its boundary is not worth much effort.
static uint32_t budget_of(const EngFollower* f, const EngPiece* p) {
  double zone = larger(f->atom->zone, f->atom->eps);
  bool lingers = magnitude(p->ga) <= zone && magnitude(p->gb) <= zone;
  if (!lingers) return PIECE_BUDGET;
  return f->atom->undecided > 0 ? LINGER_AGAIN : LINGER_BUDGET;
}

bool eng_certify(EngFollower* f, const EngPiece* whole, const double* control, double margin,
                 EngCrossing* out, bool* decided) {
  Certifier cert = {.f = f,
                    .control = control,
                    .margin = margin,
                    .degree = f->sim->stepper->method->dense_degree,
                    .falls = true};
  bool waits = eng_follower_waits(f);
  if (waits) {
    eng_follower_aim(f, whole->ga, whole->da);
  } else {
    f->sign = 1.0;
  }
  cert.below = waits;
  CertPiece stack[STACK_DEPTH];
  uint32_t depth = 1;
  first_piece(&cert, whole, &stack[0]);
  double shortest = 8.0 * DBL_EPSILON * larger(magnitude(whole->a), magnitude(whole->b));
  uint32_t budget = budget_of(f, whole);
  *decided = true;
  while (depth > 0) {
    CertPiece p = stack[--depth];
    bool last = p.r - p.l <= shortest || depth + 2 > STACK_DEPTH;
    CertVerdict verdict = last ? judge_ends(&cert, &p) : judge(&cert, &p);
    if (verdict == CERT_CROSSES || verdict == CERT_RISES) {
      place_crossing(&cert, &p, verdict == CERT_RISES, out);
      return true;
    }
    if (verdict == CERT_TOUCHES) {
      place_touch(&cert, &p, out);
      return true;
    }
    if (verdict == CERT_NOTHING) continue;
    if (cert.spent > budget) {
      *decided = false;
      return false;
    }
    halve(&cert, &p, &stack[depth + 1], &stack[depth]);
    depth += 2;  // the left half lies on top: it is visited first
  }
  if (cert.below && !waits) f->truth = false;
  if (cert.fell && cert.below) f->armed = true;
  return false;
}

// ---- Bernstein forms ----------------------------------------------------------------------------

void eng_bernstein_halve(const double* c, uint32_t degree, double* left, double* right) {
  double work[COEFFICIENTS];
  copy(work, c, degree + 1);
  for (uint32_t j = 0; j <= degree; j++) {
    left[j] = work[0];
    right[degree - j] = work[degree - j];
    for (uint32_t k = 0; k + j < degree; k++) {
      work[k] = 0.5 * (work[k] + work[k + 1]);
    }
  }
}

/// Coefficients of the part over [from, to] of [0, 1], by two of de Casteljau's constructions.
void eng_bernstein_restrict(double* c, uint32_t degree, double from, double to) {
  if (to < 1.0) {
    double work[COEFFICIENTS];
    copy(work, c, degree + 1);
    for (uint32_t j = 0; j <= degree; j++) {
      c[j] = work[0];
      for (uint32_t k = 0; k + j < degree; k++) {
        work[k] += to * (work[k + 1] - work[k]);
      }
    }
  }
  if (from <= 0.0) return;
  double cut = to > 0.0 ? from / to : 0.0;
  double work[COEFFICIENTS];
  copy(work, c, degree + 1);
  for (uint32_t j = 0; j <= degree; j++) {
    c[degree - j] = work[degree - j];
    for (uint32_t k = 0; k + j < degree; k++) {
      work[k] += cut * (work[k + 1] - work[k]);
    }
  }
}

// ---- control points -----------------------------------------------------------------------------

/// How far rounding may move g at a control point: g enclosed over states and time that are off by
/// BERNSTEIN_ULPS of the sizes in margin_x.
static void compute_margins(EngSim* sim, double t) {
  const ModelMode* mode = sim->core.mode;
  ModelContext context = eng_context(sim);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double pad = BERNSTEIN_ULPS * DBL_EPSILON * sim->margin_x[i];
    sim->x_dual[i] = (ModelDual){{sim->x[i] - pad, sim->x[i] + pad}, {0.0, 0.0}};
  }
  double t_pad = BERNSTEIN_ULPS * DBL_EPSILON * magnitude(t);
  sim->core.margin_stale = false;
  sim->core.margin_mode = eng_mode_key(sim);
  sim->core.margin_t = magnitude(t);
  model_program_enclose(&mode->g_flow, &context, sim->dual_regs,
                        (ModelInterval){t - t_pad, t + t_pad}, sim->x_dual, sim->g_dual);
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    double width = sim->g_dual[i].v.hi - sim->g_dual[i].v.lo;
    // room for states and g to grow before the margins are computed anew
    sim->margin[i] = isfinite(width) ? 2.0 * width + DBL_MIN : DBL_MIN;
  }
}

void eng_control_margin(EngSim* sim) {
  EngCore* core = &sim->core;
  if (!core->margin_stale) return;
  // a state that has come to zero has not lost its size
  bool keep = core->margin_mode == eng_mode_key(sim);
  for (uint32_t i = 0; i < core->mode->state_count; i++) {
    sim->margin_x[i] = larger(magnitude(sim->x[i]), keep ? sim->margin_x[i] : 0.0);
  }
  compute_margins(sim, core->t);
}

/// Largest coefficient of each state over the trial; false when the margins no longer fit them.
static bool margins_fit(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  uint32_t degree = sim->stepper->method->dense_degree;
  bool fit = magnitude(sim->stepper->trial.t) <= 2.0 * sim->core.margin_t;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    const double* lanes = sim->control_x + (size_t)i * MODEL_LANES;
    double size = 0.0;
    for (uint32_t j = 0; j <= degree; j++) {
      double a = magnitude(lanes[j]);
      size = a > size ? a : size;
    }
    fit &= size <= 2.0 * sim->margin_x[i] && size >= MARGIN_SLACK * sim->margin_x[i];
  }
  return fit;
}

static void refit_margins(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  uint32_t degree = sim->stepper->method->dense_degree;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    const double* lanes = sim->control_x + (size_t)i * MODEL_LANES;
    sim->margin_x[i] = 0.0;
    for (uint32_t j = 0; j <= degree; j++) {
      sim->margin_x[i] = larger(sim->margin_x[i], magnitude(lanes[j]));
    }
  }
  copy(sim->x, sim->stepper->trial.x, mode->state_count);
  compute_margins(sim, sim->stepper->trial.t);
}

/// A state at one control point of the trial.
typedef struct ControlPoint {
  const EngSim* sim;
  uint32_t lane;
} ControlPoint;

static double control_state(const void* user, uint32_t state) {
  const ControlPoint* point = user;
  return point->sim->control_x[(size_t)state * MODEL_LANES + point->lane];
}

/// A state at the end of the trial, off by what rounding may do to it.
static ModelDual rounded_state(const void* user, uint32_t state) {
  const EngSim* sim = user;
  double pad = BERNSTEIN_ULPS * DBL_EPSILON * sim->margin_x[state];
  double x = sim->stepper->trial.x[state];
  return (ModelDual){{x - pad, x + pad}, {0.0, 0.0}};
}

static inline double control_time(const NumStepper* s, uint32_t lane) {
  uint32_t degree = s->method->dense_degree;
  uint32_t k = lane < degree ? lane : degree;
  // the same quotient, without a division where that is exact
  double share = degree == 4 ? 0.25 * (double)k : (double)k / (double)degree;
  return s->trial.t0 + s->trial.h * share;
}

void eng_control_state(EngSim* sim, uint32_t state) {
  uint32_t degree = sim->stepper->method->dense_degree;
  double* lanes = sim->control_x + (size_t)state * MODEL_LANES;
  num_dense_bernstein(sim->stepper, state, lanes);
  for (uint32_t j = 0; j < MODEL_LANES; j++) {
    if (j > degree) lanes[j] = lanes[degree];
    sim->margin_x[state] = larger(sim->margin_x[state], magnitude(lanes[j]));
  }
}

void eng_control_atom(EngSim* sim, uint32_t index, double t_from) {
  const ModelMode* mode = sim->core.mode;
  const NumStepper* s = sim->stepper;
  ModelContext context = eng_context(sim);
  ModelDual g = {0};
  double t_pad = BERNSTEIN_ULPS * DBL_EPSILON * magnitude(s->trial.t);
  ModelInterval end = {s->trial.t - t_pad, s->trial.t + t_pad};
  if (model_program_enclose_output(&mode->g_flow, &context, sim->dual_regs, end, rounded_state, sim,
                                   index, &g)) {
    double width = g.v.hi - g.v.lo;
    sim->margin[index] = isfinite(width) ? 2.0 * width + DBL_MIN : DBL_MIN;
  }
  if (mode->atom_class[index] == MODEL_CLASS_OTHER) {
    sim->g_whole[index] = enclose_atom(sim, index, t_from, s->trial.t);
    return;
  }
  for (uint32_t j = 0; j < MODEL_LANES; j++) {
    ControlPoint point = {sim, j};
    model_program_run_output(&mode->g_flow, &context, sim->g_flow_regs, control_time(s, j),
                             control_state, &point, index,
                             &sim->control_g[(size_t)index * MODEL_LANES + j]);
  }
}

void eng_control_points(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  const NumStepper* s = sim->stepper;
  ModelContext context = eng_context(sim);
  uint32_t degree = s->method->dense_degree;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double* lanes = sim->control_x + (size_t)i * MODEL_LANES;
    num_dense_bernstein(s, i, lanes);
    for (uint32_t j = degree + 1; j < MODEL_LANES; j++) {
      lanes[j] = lanes[degree];
    }
  }
  eng_control_margin(sim);
  if (!margins_fit(sim)) refit_margins(sim);
  double t[MODEL_LANES];
  for (uint32_t j = 0; j < MODEL_LANES; j++) {
    t[j] = control_time(s, j);
  }
  model_program_run_block(&mode->g_flow, &context, sim->block_regs, t, sim->control_x,
                          sim->control_g);
}
