// SPDX-License-Identifier: MIT
//
// Certified detection: proof, over the dense output of a step, that an atom does not cross, or its
// first crossing in a bracket where it is monotone.
//
// The step is cut into pieces until on each one of these holds: g keeps its sign; g rises; g falls.
// What is known about g on a piece comes from one of three oracles. For atoms affine in time and
// states the value at the control points of the dense polynomial gives the Bernstein coefficients
// of g itself, whose hull bounds g and whose differences bound its slope; halving a piece is de
// Casteljau's construction. Atoms that are a function F of one polynomial of time and states
// (sqrt(x*x + y*y) - r) have the coefficients of that polynomial: where F is monotone over all its
// values, g rises and falls with it, and F of its hull bounds g. For all others the tape is
// evaluated on enclosures of the states, value and slope along the polynomial together, and the
// slope sharpens the bound (mean-value form).
//
// Pieces are visited in order of time, so the first crossing found is the first there is. An atom
// that keeps undecided pieces beyond a budget is left to the plain follower (detect.c) and the
// event is marked as not certified.
#include "engine/detect/bernstein.h"
#include "engine/detect/follow.h"

#include <float.h>
#include <math.h>

#define PIECE_BUDGET  400  // enclosures per atom and step
#define STACK_DEPTH   64
#define LINGER_BUDGET 60     // the same for an atom that stays at its boundary...
#define LINGER_AGAIN  6      // ...where it could not be decided before
#define NOISE_MARGINS 8.0    // variation of coefficients that is rounding
#define NEAR_SHARE    0.125  // of the zone of an atom: variation that tells nothing there
#define TIGHTEN_LIMIT 6      // values of the tape around it
#define LEVEL_LIMIT   30     // iterations for the argument that makes a function zero

/// g on a piece [l, r] of the step, in the direction the atom waits for: phi = sign*g.
typedef struct CertPiece {
  double l, r;
  double phi_l, phi_r;
  double c[COEFFICIENTS];  // Bernstein coefficients on the piece, of phi or of what it rises with
} CertPiece;

typedef struct Certifier {
  EngFollower* f;
  const double* control;          // Bernstein coefficients of g; NULL for other oracles
  const ModelComposed* composed;  // g as a function of a polynomial, and...
  const ModelForm* form;          // ...that along the step; NULL for other oracles
  double direction;               // of the polynomial: phi rises with direction * polynomial
  const EngForm* shape;           // what is known about it over the whole step
  bool coefficients;              // control or form: pieces have coefficients...
  double fuzz;                    // ...that may be off by so much...
  double noise;                   // ...and phi by so much where they are those of a form
  double margin;                  // rounding of phi
  uint32_t degree;
  bool below;  // phi is on the side the atom waits from
  bool fell;   // phi has fallen since the start: a turn re-arms
  bool rose;   // the piece before rose
  bool falls;  // a beginning, or the last piece with a direction fell: no peak follows
  uint32_t spent;
  double turn, back;  // of a valley or a peak: shares of the piece
  double depth;       // ... and how far below zero the valley goes
  double height;      // ... and phi at the peak
} Certifier;

typedef enum CertVerdict {
  CERT_NOTHING,
  CERT_CROSSES,
  CERT_RISES,  // ... behind a valley: falls first, then rises through the boundary
  CERT_PEAKS,  // ... before a peak: rises through the boundary, then falls
  CERT_TOUCHES,
  CERT_SPLIT
} CertVerdict;

// ---- oracles ------------------------------------------------------------------------------------

static void hull_of_coefficients(const Certifier* cert, const CertPiece* p, ModelInterval* phi,
                                 ModelInterval* slope) {
  // differences are scaled by degree/(r - l), which is positive: only their signs are used
  model_form_hull(cert->degree, p->c, phi, slope);
  *phi = (ModelInterval){phi->lo - cert->fuzz, phi->hi + cert->fuzz};
  *slope = (ModelInterval){slope->lo - 2.0 * cert->fuzz, slope->hi + 2.0 * cert->fuzz};
}

/// phi, and its slope, where the polynomial in its direction is within the bounds.
static ModelDual phi_of_form(const Certifier* cert, double lo, double hi) {
  EngSim* sim = cert->f->sim;
  const ModelContext* context = eng_context(sim);
  bool up = cert->direction > 0.0;
  ModelDual argument = {{up ? lo : -hi, up ? hi : -lo}, {1.0, 1.0}};
  ModelDual g = model_program_enclose_composed(&sim->core.mode->g_flow, context, sim->programs.dual,
                                               cert->composed, cert->f->index, argument);
  if (cert->f->sign < 0.0) g = (ModelDual){{-g.v.hi, -g.v.lo}, {-g.d.hi, -g.d.lo}};
  return up ? g : (ModelDual){g.v, {-g.d.hi, -g.d.lo}};
}

const ModelComposed* eng_composed(const EngSim* sim, uint32_t index) {
  const ModelForms* forms = sim->core.mode->forms;
  if (!forms || forms->outputs[index].polynomial == MODEL_NONE) return NULL;
  return &forms->outputs[index];
}

/// The hull of coefficients is wide where they bend. Where all bend the same way the polynomial is
/// on one side of its tangents: that at its turn bounds it closely.
static void bound_turn(EngForm* kept, double slope) {
  const ModelForm* form = &kept->form;
  double sign = kept->shape == ENG_SHAPE_VALLEY ? 1.0 : -1.0;
  for (uint32_t j = 2; j <= form->degree; j++) {
    double bend = (form->c[j] - form->c[j - 1]) - (form->c[j - 1] - form->c[j - 2]);
    if (!(sign * bend > 8.0 * form->error)) return;
  }
  double n = (double)form->degree;
  double reach = fabs(slope) * larger(kept->turn, 1.0 - kept->turn);
  double rounding = 16.0 * n * n * DBL_EPSILON * form->size;
  double bound = kept->at_turn - sign * (reach + 16.0 * form->error + rounding);
  if (sign > 0.0) {
    kept->lo = larger(kept->lo, bound);
  } else {
    kept->hi = smaller(kept->hi, bound);
  }
}

/// How the polynomial goes over the step.
static void find_shape(EngForm* kept) {
  const ModelForm* form = &kept->form;
  ModelInterval value, change;
  model_form_hull(form->degree, form->c, &value, &change);
  double noise = 2.0 * form->error;
  kept->lo = value.lo - form->error;
  kept->hi = value.hi + form->error;
  kept->shape = change.lo >= noise    ? ENG_SHAPE_RISES
                : change.hi <= -noise ? ENG_SHAPE_FALLS
                                      : ENG_SHAPE_OTHER;
  if (kept->shape != ENG_SHAPE_OTHER) return;
  double sign = form->c[1] < form->c[0] ? 1.0 : -1.0;
  if (!model_form_turns_once(form->degree, form->c, noise, sign)) return;
  kept->turn = model_form_turn(form->degree, form->c, sign, &kept->bend);
  if (!(kept->turn > 0.0 && kept->turn < 1.0)) return;
  double slope = 0.0;
  kept->shape = sign > 0.0 ? ENG_SHAPE_VALLEY : ENG_SHAPE_PEAK;
  kept->at_turn = model_form_value(form->degree, form->c, kept->turn, &slope);
  bound_turn(kept, slope);
}

/// The polynomial of an atom along the trial; NULL when there is none.
static const EngForm* form_of(EngSim* sim, const ModelComposed* composed) {
  EngForm* kept = &sim->proof.forms[composed->polynomial];
  if (kept->stamp != sim->proof.stamp) {
    const NumStepper* s = sim->stepper;
    ModelMotion motion = {.t0 = s->trial.t0,
                          .t1 = s->trial.t,
                          .control = sim->proof.control_x,
                          .degree = s->trial.degree,
                          .ulps = BERNSTEIN_ULPS};
    const ModelPolynomial* polynomial = &sim->core.mode->forms->polynomials[composed->polynomial];
    kept->good = model_form_along(polynomial, &motion, sim->programs.g_flow, &kept->form);
    kept->stamp = sim->proof.stamp;
    if (kept->good) find_shape(kept);
  }
  return kept->good ? kept : NULL;
}

/// Whether g only rises or only falls with its polynomial over [lo, hi]: noted.
static bool note_sense(const Certifier* cert, EngLevel* level, double lo, double hi) {
  EngSim* sim = cert->f->sim;
  const ModelContext* context = eng_context(sim);
  ModelDual g = model_program_enclose_composed(&sim->core.mode->g_flow, context, sim->programs.dual,
                                               cert->composed, cert->f->index,
                                               (ModelDual){{lo, hi}, {1.0, 1.0}});
  double steepest = larger(fabs(g.d.lo), fabs(g.d.hi));
  if (!(g.d.lo > 0.0 || g.d.hi < 0.0) || !(steepest < HUGE_VAL)) return false;
  level->lo = lo;
  level->hi = hi;
  level->sense = g.d.lo > 0.0 ? 1.0 : -1.0;
  level->steepest = steepest;
  return true;
}

/// Use the polynomial of an atom, if it has one whose values tell where g rises.
static void take_form(Certifier* cert) {
  EngSim* sim = cert->f->sim;
  cert->composed = eng_composed(sim, cert->f->index);
  if (!cert->composed) return;
  const EngForm* kept = form_of(sim, cert->composed);
  if (!kept) return;
  EngLevel* level = &sim->proof.levels[cert->f->index];
  if (level->epoch != sim->core.margins.level_epoch) {
    *level = (EngLevel){.epoch = sim->core.margins.level_epoch, .lo = HUGE_VAL, .hi = -HUGE_VAL};
  }
  if (!(kept->lo >= level->lo && kept->hi <= level->hi)) {
    // as far as any step has come so far, or else this one alone
    if (!note_sense(cert, level, smaller(kept->lo, level->lo), larger(kept->hi, level->hi)) &&
        !note_sense(cert, level, kept->lo, kept->hi)) {
      return;
    }
  }
  cert->direction = cert->f->sign * level->sense;
  cert->shape = kept;
  cert->form = &kept->form;
  cert->coefficients = true;
  cert->degree = kept->form.degree;
  cert->fuzz = kept->form.error;
  cert->noise = larger(cert->margin, kept->form.error * level->steepest);
}

/// A polynomial and its slope over a part of the trial, from its Bernstein form.
static ModelDual enclose_bernstein(double* b, const EngTrialPart* part) {
  const NumStepper* s = part->sim->stepper;
  uint32_t degree = s->trial.degree;
  double largest = 0.0;
  for (uint32_t j = 0; j <= degree; j++) {
    largest = larger(largest, fabs(b[j]));
  }
  num_bernstein_restrict(b, degree, part->from, part->to);
  double pad = BERNSTEIN_ULPS * DBL_EPSILON * largest;
  double scale = (double)degree / ((part->to - part->from) * s->trial.h);
  ModelInterval value, change;
  model_form_hull(degree, b, &value, &change);
  double slope_pad = 2.0 * pad * scale;
  return (ModelDual){{value.lo - pad, value.hi + pad},
                     {change.lo * scale - slope_pad, change.hi * scale + slope_pad}};
}

/// A state and its slope over a part of the trial; control points are in place.
static ModelDual enclose_state(const void* user, uint32_t i) {
  const EngTrialPart* part = user;
  double b[COEFFICIENTS] = {0.0};
  copy(b, part->sim->proof.control_x + (size_t)i * MODEL_LANES,
       part->sim->stepper->trial.degree + 1);
  return enclose_bernstein(b, part);
}

ModelDual eng_enclose_dense(const void* user, uint32_t state) {
  const EngTrialPart* part = user;
  double b[COEFFICIENTS] = {0.0};
  num_dense_bernstein(part->sim->stepper, state, b);
  return enclose_bernstein(b, part);
}

ModelDual eng_enclose_state(const EngSim* sim, uint32_t state, double l, double r) {
  EngTrialPart part = {sim, num_dense_theta(sim->stepper, l), num_dense_theta(sim->stepper, r)};
  return enclose_state(&part, state);
}

void eng_enclose_atoms(EngSim* sim, double l, double r, ModelDual* out) {
  const ModelContext* context = eng_context(sim);
  EngTrialPart part = {sim, num_dense_theta(sim->stepper, l), num_dense_theta(sim->stepper, r)};
  for (uint32_t i = 0; i < sim->stepper->n; i++) {
    sim->proof.x_dual[i] = enclose_state(&part, i);
  }
  model_program_enclose(&sim->core.mode->g_flow, context, sim->programs.dual, model_time(l, r),
                        sim->proof.x_dual, out);
}

ModelDual eng_enclose_atom(EngSim* sim, uint32_t index, double l, double r) {
  EngTrialPart part = {sim, num_dense_theta(sim->stepper, l), num_dense_theta(sim->stepper, r)};
  return eng_enclose_output(sim, &sim->core.mode->g_flow, sim->programs.dual, model_time(l, r),
                            enclose_state, &part, index);
}

static void hull_of_enclosure(const Certifier* cert, const CertPiece* p, ModelInterval* phi,
                              ModelInterval* slope) {
  EngSim* sim = cert->f->sim;
  // the whole is enclosed once for all atoms
  bool known = cert->spent <= 1 && !cert->composed;
  ModelDual g = known ? sim->proof.g_whole[cert->f->index]
                      : eng_enclose_atom(sim, cert->f->index, p->l, p->r);
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
  double rounding = 8.0 * DBL_EPSILON * (fabs(p->phi_l) + fabs(p->phi_r) + (d.hi - d.lo) * h);
  return p->phi_l + d.hi * smaller(larger(s, 0.0), h) + rounding;
}

static double slope_floor(const CertPiece* p, ModelInterval d) {
  CertPiece mirror = {.l = p->l, .r = p->r, .phi_l = -p->phi_l, .phi_r = -p->phi_r};
  return -slope_ceiling(&mirror, (ModelInterval){-d.hi, -d.lo});
}

// ---- verdict on a piece -------------------------------------------------------------------------

/// Clear of the last crossing: armed from the start, or turned round since.
static bool ready(const Certifier* cert) {
  return cert->f->armed || (cert->fell && !cert->f->atom->kind.asymptotic);
}

static double threshold(const Certifier* cert) {
  return ready(cert) ? 0.0 : cert->f->zone;
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

/// phi has fallen to where it is now. An equality lasts until it is clear of its zone: a turn
/// within it is still the same touch.
static void note_fall(Certifier* cert, double phi) {
  cert->fell |= cert->f->model->relation != MODEL_REL_EQ || phi < -cert->f->zone;
}

static CertVerdict judge_monotone(Certifier* cert, const CertPiece* p, ModelInterval slope) {
  if (slope.hi <= 0.0) {
    bool peak = cert->rose && peak_counts(cert, p->phi_l);
    cert->rose = false;
    cert->falls = true;
    if (peak) return CERT_TOUCHES;
    note_fall(cert, p->phi_r);
    if (!eng_follower_beyond(cert->f, p->phi_r)) cert->below = true;
    return CERT_NOTHING;
  }
  cert->rose = true;
  cert->falls = false;
  if (cert->below && passes(cert, p->phi_r)) return CERT_CROSSES;
  return CERT_NOTHING;
}

/// The value of the coefficients at which phi is `phi`, small; NaN for none. What makes phi zero is
/// found by Newton's method, once for the inputs that g has.
static double level_of(const Certifier* cert, double start, double phi) {
  EngLevel* level = &cert->f->sim->proof.levels[cert->f->index];
  if (!level->located) {
    double x = start;
    double move = HUGE_VAL;
    double slope = 0.0;
    for (uint32_t i = 0; i < LEVEL_LIMIT && fabs(move) > 1e-12 * fabs(x); i++) {
      ModelDual at = phi_of_form(cert, x, x);
      slope = 0.5 * (at.d.lo + at.d.hi);
      move = 0.5 * (at.v.lo + at.v.hi) / slope;
      x -= move;
    }
    bool found = x - x == 0.0 && fabs(move) <= 1e-12 * fabs(x);
    level->located = true;
    level->value = found ? cert->direction * x : (double)NAN;
    level->slope = fabs(slope);
  }
  return cert->direction * level->value + phi / level->slope;
}

/// Where phi turns in a valley, from the polygon of its slope, and where it comes back to zero if
/// it is a parabola. False: it does not get below zero.
static bool valley_of(Certifier* cert, const CertPiece* p) {
  double bend = 0.0;
  double u = model_form_turn(cert->degree, p->c, 1.0, &bend);
  if (u < 0.0) return false;
  double slope = 0.0;
  double lowest = model_form_value(cert->degree, p->c, u, &slope);
  double depth = -lowest;
  double below = depth;  // in units of the coefficients
  if (cert->form) {
    depth = -phi_of_form(cert, lowest - cert->fuzz, lowest + cert->fuzz).v.hi;
    below = level_of(cert, lowest, 0.0) - lowest;
  }
  if (!(depth > cert->margin)) return false;
  cert->depth = depth;
  cert->turn = u;
  cert->back = below > 0.0 ? smaller(u + __builtin_sqrt(2.0 * below / bend), 1.0) : 1.0;
  return true;
}

/// The verdict of judge_monotone() on the two sides of a valley.
static CertVerdict judge_valley(Certifier* cert, const CertPiece* p) {
  if (!valley_of(cert, p)) return CERT_SPLIT;
  if (cert->rose && peak_counts(cert, p->phi_l)) return CERT_TOUCHES;
  cert->below = cert->rose = true;
  cert->falls = false;
  note_fall(cert, -cert->depth);
  return passes(cert, p->phi_r) ? CERT_RISES : CERT_NOTHING;
}

static double phi_at(const Certifier* cert, double t) {
  double g = 0.0;
  eng_follower_value(cert->f, t, &g, NULL);
  return cert->f->sign * g;
}

/// phi rises, turns once and falls. If it is beyond the boundary near the turn it has crossed
/// before: from there to the turn itself it stays beyond.
static CertVerdict judge_peak(Certifier* cert, const CertPiece* p) {
  double bend = 0.0;
  if (!cert->below) return CERT_SPLIT;
  double u = model_form_turn(cert->degree, p->c, -1.0, &bend);
  if (!(u > 0.0 && u < 1.0)) return CERT_SPLIT;
  double phi = phi_at(cert, p->l + u * (p->r - p->l));
  if (!passes(cert, phi)) return CERT_SPLIT;
  double slope = 0.0;
  double top = model_form_value(cert->degree, p->c, u, &slope);
  double above = cert->form ? top - level_of(cert, top, 0.0) : top;
  cert->turn = u;
  cert->height = phi;
  cert->back = above > 0.0 ? larger(u - __builtin_sqrt(-2.0 * above / bend), 0.0) : 0.5 * u;
  return CERT_PEAKS;
}

/// A piece too short to divide: its ends decide.
static CertVerdict judge_ends(Certifier* cert, const CertPiece* p) {
  double highest = larger(p->phi_l, p->phi_r);
  if (cert->below && passes(cert, p->phi_r)) return CERT_CROSSES;
  if (!cert->falls && peak_counts(cert, highest)) return CERT_TOUCHES;
  if (!cert->falls && cert->below && ready(cert) && eng_follower_zero_counts(cert->f) &&
      fabs(highest) <= cert->margin) {
    return CERT_TOUCHES;
  }
  if (!eng_follower_beyond(cert->f, p->phi_r)) cert->below = true;
  return CERT_NOTHING;
}

/// An atom that has not got clear of its last crossing, on a piece where it stays there: what is
/// left to say is whether it has fallen. (One that leaves a constraint sets out without a slope,
/// and no piece is so short that it falls all along.)
static bool stays_near(Certifier* cert, const CertPiece* p, ModelInterval phi) {
  double zone = cert->f->zone;
  bool near = phi.lo > -zone && phi.hi < zone && phi.hi - phi.lo <= NEAR_SHARE * zone;
  if (ready(cert) || !near) return false;
  if (p->phi_r < p->phi_l - cert->margin) note_fall(cert, p->phi_r);
  if (!eng_follower_beyond(cert->f, p->phi_r)) cert->below = true;
  return true;
}

/// phi is below the boundary all along, clear of what would count as reaching it.
static bool stays_below(Certifier* cert, double highest) {
  bool early = peak_counts(cert, HUGE_VAL);
  bool stays = cert->below && ready(cert) && highest < (early ? -cert->f->atom->eps : 0.0);
  if (stays) cert->rose = cert->falls = false;
  return stays;
}

/// What the coefficients of a piece tell; CERT_SPLIT: nothing. `phi` bounds phi there, `slope` the
/// differences of the coefficients.
static CertVerdict judge_coefficients(Certifier* cert, const CertPiece* p, ModelInterval* phi) {
  ModelInterval slope;
  hull_of_coefficients(cert, p, phi, &slope);
  if (cert->form) *phi = phi_of_form(cert, phi->lo, phi->hi).v;
  if (stays_below(cert, phi->hi)) return CERT_NOTHING;
  if (!cert->below && phi->lo > 0.0) return CERT_NOTHING;
  if (slope.hi <= 0.0 || slope.lo >= 0.0) return judge_monotone(cert, p, slope);
  double noise = 2.0 * cert->fuzz;
  if (model_form_turns_once(cert->degree, p->c, noise, 1.0)) return judge_valley(cert, p);
  return model_form_turns_once(cert->degree, p->c, noise, -1.0) ? judge_peak(cert, p) : CERT_SPLIT;
}

/// The same by an enclosure.
static CertVerdict judge_enclosure(Certifier* cert, const CertPiece* p, ModelInterval* phi) {
  ModelInterval slope;
  hull_of_enclosure(cert, p, phi, &slope);
  phi->hi = smaller(phi->hi, slope_ceiling(p, slope));
  phi->lo = larger(phi->lo, slope_floor(p, slope));
  if (stays_below(cert, phi->hi)) return CERT_NOTHING;
  if (!cert->below && phi->lo > 0.0) return CERT_NOTHING;
  bool monotone = slope.hi <= 0.0 || slope.lo >= 0.0;
  return monotone ? judge_monotone(cert, p, slope) : CERT_SPLIT;
}

static CertVerdict judge(Certifier* cert, const CertPiece* p) {
  ModelInterval phi = {-HUGE_VAL, HUGE_VAL};
  CertVerdict verdict = CERT_SPLIT;
  cert->spent++;
  if (cert->coefficients) {
    verdict = judge_coefficients(cert, p, &phi);
    if (verdict != CERT_SPLIT) return verdict;
    if (cert->form && phi.hi - phi.lo > NOISE_MARGINS * cert->noise) return CERT_SPLIT;
  }
  // a polynomial in expanded form has its rounding; closer to zero the tape itself is more exact
  if (!cert->control) verdict = judge_enclosure(cert, p, &phi);
  if (verdict != CERT_SPLIT) return verdict;
  const EngAtom* atom = cert->f->atom;
  if ((atom->marks.tangential || atom->kind.asymptotic) && stays_near(cert, p, phi))
    return CERT_NOTHING;
  // within rounding of zero all along: a touch for an armed relation that includes zero
  double flat = cert->control ? 2.0 * cert->margin : DBL_MIN;
  if (fabs(phi.lo) <= flat && fabs(phi.hi) <= flat) {
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

/// The whole step by the shape of its polynomial, which atoms share; CERT_SPLIT: not decided.
static CertVerdict judge_whole(Certifier* cert, const CertPiece* p) {
  const EngForm* kept = cert->shape;
  bool up = cert->direction > 0.0;
  if (kept->shape == ENG_SHAPE_OTHER) return CERT_SPLIT;
  if (kept->shape == ENG_SHAPE_RISES || kept->shape == ENG_SHAPE_FALLS) {
    bool rises = (kept->shape == ENG_SHAPE_RISES) == up;
    return judge_monotone(cert, p, (ModelInterval){rises ? 1.0 : -1.0, rises ? 1.0 : -1.0});
  }
  double at_turn = cert->direction * kept->at_turn;
  double level = level_of(cert, at_turn, 0.0);
  double distance = fabs(at_turn - level);
  if (!(distance > 1e-9 * fabs(level) + 64.0 * cert->fuzz)) return CERT_SPLIT;
  double bend = cert->direction * kept->bend;
  cert->turn = kept->turn;
  if ((kept->shape == ENG_SHAPE_VALLEY) == up) {
    bool returns = eng_follower_beyond(cert->f, p->phi_r);
    if (returns) cert->depth = -phi_at(cert, p->l + kept->turn * (p->r - p->l));
    if (at_turn > level || (returns && !(cert->depth > 0.0))) return CERT_SPLIT;
    cert->back = smaller(kept->turn + __builtin_sqrt(2.0 * distance / bend), 1.0);
    cert->below = cert->rose = true;
    cert->falls = false;
    note_fall(cert, returns ? -cert->depth : p->phi_r);
    return passes(cert, p->phi_r) ? CERT_RISES : CERT_NOTHING;
  }
  if (at_turn > level) return judge_peak(cert, p);
  double highest = up ? kept->hi : -kept->lo;
  bool stays = stays_below(cert, phi_of_form(cert, highest, highest).v.hi);
  return stays ? CERT_NOTHING : CERT_SPLIT;
}

// ---- the crossing of an atom with coefficients --------------------------------------------------

/// Look at phi of the tape within the bracket, which ends there; whether that is beyond.
static bool narrow(const Certifier* cert, CertPiece* p, double t, double* phi) {
  *phi = phi_at(cert, t);
  bool beyond = eng_follower_beyond(cert->f, *phi - threshold(cert));
  *(beyond ? &p->r : &p->l) = t;
  *(beyond ? &p->phi_r : &p->phi_l) = *phi;
  return beyond;
}

/// A bracket around the root of the polynomial, as narrow as rounding lets it be, from values of
/// the tape: within [p->l, p->r]. What is known at its ends stays if nothing closer is found.
static void tighten(const Certifier* cert, CertPiece* p, double root) {
  double reach = 2.0 * DBL_EPSILON * larger(fabs(p->l), fabs(p->r));
  double t = root;
  double phi = 0.0;
  // one that is an end of the bracket has been looked at
  if (t == p->r) t -= reach;
  if (t == p->l) t += reach;
  for (uint32_t i = 0; i < TIGHTEN_LIMIT; i++) {
    if (!(t > p->l && t < p->r)) return;
    bool beyond = narrow(cert, p, t, &phi);
    if (p->r - p->l <= 2.0 * reach) return;
    t = beyond ? t - reach : t + reach;
    if (i > 0) reach *= 8.0;
  }
}

/// One step of Newton's method from a root of the polynomial: with phi of the tape there, and its
/// slope from the polynomial's. The bracket takes what has been learnt.
static double corrected_root(const Certifier* cert, CertPiece* p, double root, double slope) {
  double phi = 0.0;
  if (!(root > p->l && root < p->r)) return root;
  narrow(cert, p, root, &phi);
  double next = root - (phi - threshold(cert)) / slope;
  return next > p->l && next < p->r ? next : root;
}

/// Bracket the root of the polynomial on a piece as closely as rounding lets it be.
static void bracket_root(Certifier* cert, CertPiece* p, CertVerdict verdict) {
  EngFollower* f = cert->f;
  double l = p->l;
  double width = p->r - p->l;
  double from = verdict == CERT_RISES ? cert->turn : 0.0;
  double until = verdict == CERT_PEAKS ? cert->turn : 1.0;
  if (verdict == CERT_RISES) {
    p->l = l + from * width;
    p->phi_l = -cert->depth;
  }
  if (verdict == CERT_PEAKS) {
    p->r = l + until * width;
    p->phi_r = cert->height;
  }
  double wanted = threshold(cert);
  if (eng_follower_beyond(f, p->phi_l - wanted)) return;
  double level = cert->form ? level_of(cert, p->c[cert->degree], wanted) : wanted;
  if (level != level) return;
  double start =
      verdict == CERT_CROSSES ? model_form_parabola_root(cert->degree, p->c, level) : cert->back;
  if (!(start > from && start <= until)) start = 0.5 * (from + until);
  double slope = 0.0;
  double root = model_form_root(cert->degree, p->c, from, until, start, level, &slope);
  double t = l + root * width;
  if (cert->form) {
    t = corrected_root(cert, p, t, slope * f->sim->proof.levels[f->index].slope / width);
  }
  tighten(cert, p, t);
}

/// The crossing of phi on a piece where it rises, perhaps behind a valley or before a peak.
static void place_crossing(Certifier* cert, CertPiece* p, CertVerdict verdict, EngCrossing* out) {
  EngFollower* f = cert->f;
  if (cert->coefficients) bracket_root(cert, p, verdict);
  f->threshold = threshold(cert);
  f->armed = ready(cert);
  double sign = f->sign;
  double width = 4.0 * DBL_EPSILON * larger(fabs(p->l), fabs(p->r));
  bool below = !eng_follower_beyond(f, p->phi_l - f->threshold);
  if (below && p->r - p->l <= width && eng_follower_beyond(f, p->phi_r - f->threshold)) {
    NumBracket bracket = {p->l, p->r, p->phi_l - f->threshold, p->phi_r - f->threshold};
    eng_follower_place(f, &bracket, out);
  } else {
    eng_follower_bracket(f, p->l, p->r, sign * p->phi_l, sign * p->phi_r, out);
  }
  out->certified = true;
}

// ---- search -------------------------------------------------------------------------------------

/// The right half may take the place of the piece.
static void halve(const Certifier* cert, const CertPiece* p, CertPiece* left, CertPiece* right) {
  double m = p->l + 0.5 * (p->r - p->l);
  left->l = p->l;
  left->r = m;
  left->phi_l = p->phi_l;
  right->r = p->r;
  right->phi_r = p->phi_r;
  right->l = m;
  if (cert->coefficients) num_bernstein_halve(p->c, cert->degree, left->c, right->c);
  left->phi_r = cert->control ? left->c[cert->degree] : phi_at(cert, m);
  right->phi_l = left->phi_r;
}

static void first_piece(const Certifier* cert, const EngPiece* whole, CertPiece* p) {
  double sign = cert->f->sign;
  p->l = whole->a;
  p->r = whole->b;
  p->phi_l = sign * whole->ga;
  p->phi_r = sign * whole->gb;
  if (!cert->coefficients) return;
  const NumStepper* s = cert->f->sim->stepper;
  const double* c = cert->form ? cert->form->c : cert->control;
  if (cert->form) sign = cert->direction;
  for (uint32_t j = 0; j <= cert->degree; j++) {
    p->c[j] = sign * c[j];
  }
  if (whole->a > s->trial.t0) {
    num_bernstein_restrict(p->c, cert->degree, num_dense_theta(s, whole->a), 1.0);
  }
}

/// The touch of a peak is where g is largest: between the piece before and this one, or inside.
static void place_touch(Certifier* cert, const CertPiece* p, EngCrossing* out) {
  double t = p->phi_l >= p->phi_r ? p->l : p->r;
  *out = eng_crossing(cert->f->index, t, p->l, p->r, 0.0, true, true);
}

/// An atom that stays at its boundary is not worth much effort.
static uint32_t budget_of(const EngFollower* f, const EngPiece* p) {
  double zone = larger(f->zone, f->atom->eps);
  bool lingers = fabs(p->ga) <= zone && fabs(p->gb) <= zone;
  if (!lingers) return PIECE_BUDGET;
  return f->atom->undecided ? LINGER_AGAIN : LINGER_BUDGET;
}

/// Whether not even a single point has bounds: a block without full rank has none, however short
/// the piece is. Asked only where the first enclosure had none.
static bool is_hopeless(const Certifier* cert, const CertPiece* p) {
  EngSim* sim = cert->f->sim;
  if (cert->spent != 1 || cert->coefficients || cert->form || cert->composed) return false;
  ModelInterval whole = sim->proof.g_whole[cert->f->index].v;
  if (isfinite(whole.lo) && isfinite(whole.hi)) return false;
  if (!model_program_encloses(&sim->core.mode->g_flow)) return true;
  ModelInterval point = eng_enclose_atom(sim, cert->f->index, p->l, p->l).v;
  return !(isfinite(point.lo) && isfinite(point.hi));
}

/// Whether the verdict is an event; then where it is.
static bool is_placed(Certifier* cert, CertPiece* p, CertVerdict verdict, EngCrossing* out) {
  if (verdict == CERT_TOUCHES) {
    place_touch(cert, p, out);
    return true;
  }
  if (verdict != CERT_CROSSES && verdict != CERT_RISES && verdict != CERT_PEAKS) return false;
  place_crossing(cert, p, verdict, out);
  return true;
}

bool eng_certify(EngFollower* f, const EngPiece* whole, const double* control, double margin,
                 EngCrossing* out, bool* decided) {
  Certifier cert = {.f = f,
                    .control = control,
                    .coefficients = control != NULL,
                    .fuzz = margin,
                    .margin = margin,
                    .degree = f->sim->stepper->trial.degree,
                    .falls = true};
  bool waits = eng_follower_waits(f);
  if (waits) {
    eng_follower_aim(f);
  } else {
    f->sign = 1.0;
  }
  cert.below = waits;
  if (!control) take_form(&cert);
  CertPiece stack[STACK_DEPTH];
  uint32_t depth = 1;
  first_piece(&cert, whole, &stack[0]);
  double shortest = 8.0 * DBL_EPSILON * larger(fabs(whole->a), fabs(whole->b));
  uint32_t budget = budget_of(f, whole);
  bool whole_step = cert.form && whole->a == f->sim->stepper->trial.t0;
  *decided = true;
  while (depth > 0) {
    CertPiece* p = &stack[--depth];
    bool last = p->r - p->l <= shortest || depth + 2 > STACK_DEPTH;
    CertVerdict verdict = last ? judge_ends(&cert, p) : CERT_SPLIT;
    if (whole_step && !last) verdict = judge_whole(&cert, p);
    if (verdict == CERT_SPLIT && !last) verdict = judge(&cert, p);
    whole_step = false;
    if (is_placed(&cert, p, verdict, out)) return true;
    if (verdict == CERT_NOTHING) continue;
    if (cert.spent > budget || is_hopeless(&cert, p)) {
      *decided = false;
      return false;
    }
    halve(&cert, p, &stack[depth + 1], p);
    depth += 2;  // the left half lies on top: it is visited first
  }
  if (cert.below && !waits && !f->atom->kind.asymptotic) f->truth = false;
  if (ready(&cert) && cert.below) f->armed = true;
  return false;
}
