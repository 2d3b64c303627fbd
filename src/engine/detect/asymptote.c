// SPDX-License-Identifier: MIT
//
// Boundaries that the motion only tends to.
//
// x' = -k x comes to zero in no finite time, but its numerical solution gets there by its errors,
// and would cross for ever. So where g stays within what the tolerances explain, a crossing is
// asked whether all states that g depends on are within their tolerance of the equilibrium of the
// flow. Then what is left of the motion tells nothing any more, but the equilibrium is known far
// better: if it lies beyond the boundary the crossing is one, otherwise the relation stays as it
// is. Either way it is not watched until g has left the tolerance.
#include "engine/detect/bernstein.h"
#include "engine/detect/follow.h"

#include <float.h>
#include <math.h>

#define HARDLY 0x1p-10  // of the tolerance of g: an equilibrium that is no farther is on it
#define NEAR   8.0      // tolerances: a state that is farther from its equilibrium moves
#define LONG   0x1p20   // steps: what takes longer to go anywhere rests
#define FINER  0x1p-4   // of the tolerance: a second distance from the equilibrium...
#define LEFT   0x1p-3   // ... and the most that is left there of the change of a rate
#define FAST   0x1p16   // weights: no step that ends at rest goes so far
#define STABLE 8.0   // no explicit method is stable where a step times the rate of a decay is more
#define STEADY 0.25  // of a rate: the most by which it changes on the way
#define COARSE 0.1   // a tolerance at which values themselves are not known
#define NOISE  1024.0  // roundings of what moves a state within a step

/// The states that g reads.
typedef struct Reads {
  EngRest* rest;
  uint32_t count;
} Reads;

static void note_read(void* user, uint32_t state) {
  Reads* r = user;
  if (!r->rest->known[state]) r->rest->reach[r->count++] = state;
  r->rest->known[state] = 1;
}

/// Whether all states that g depends on, directly or through the rates of others, are near the
/// equilibrium.
static bool is_near(EngSim* sim, uint32_t index, EngRest* rest) {
  const ModelMode* mode = sim->core.mode;
  Reads reads = {rest, 0};
  bool known = model_mode_reads(mode, index, note_read, &reads);
  for (uint32_t i = 0; !known && i < mode->state_count; i++) {
    note_read(&reads, i);
  }
  num_linear_reach(rest->linear, rest->reach, reads.count, rest->known);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double way = fabs(rest->x[i] - sim->x[i]);
    if (rest->known[i] && !(way <= NEAR * eng_state_pad(sim, i))) return false;
  }
  return reads.count > 0;
}

/// Rates at a share of the tolerance from here.
static void rates_beside(EngSim* sim, double t, double share, double* rate) {
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    sim->probe.x[i] = sim->x[i] + share * eng_state_pad(sim, i);
  }
  model_program_run(&sim->core.mode->rhs, eng_context(sim), sim->programs.rhs, t, sim->probe.x,
                    rate);
}

/// Whether rates change in proportion to the distance, or less. Where they change like a root of it
/// the equilibrium is reached in a finite time.
static bool is_smooth(EngSim* sim, double t, const EngRest* rest) {
  const uint32_t n = sim->core.mode->state_count;
  double *here = sim->probe.flow, *coarse = here + n, *fine = coarse + n;
  rates_beside(sim, t, 0.0, here);
  for (double side = -1.0; side <= 1.0; side += 2.0) {
    rates_beside(sim, t, side, coarse);
    rates_beside(sim, t, side * FINER, fine);
    for (uint32_t i = 0; i < n; i++) {
      double size = larger(sim->proof.margin_x[i], fabs(sim->x[i]));
      double noise = NOISE * DBL_EPSILON * size / sim->stepper->trial.h;
      double most = LEFT * fabs(coarse[i] - here[i]) + noise;
      if (rest->known[i] && !(fabs(fine[i] - here[i]) <= most)) return false;
    }
  }
  return true;
}

bool eng_rests(EngSim* sim, uint32_t index, double t, double* g) {
  EngRest* rest = eng_stiff_rest(sim, t, LONG * sim->stepper->trial.h);
  if (!rest || !is_near(sim, index, rest) || !is_smooth(sim, t, rest)) return false;
  *g = eng_output_at(sim, &sim->core.mode->g_flow, sim->programs.g_flow, index, t, rest->x);
  return true;
}

/// A look at the states that g reads in a trial.
typedef struct Moves {
  EngSim* sim;
  double t;
  bool any;  // one of them moves too far to have come to rest
} Moves;

static void note_move(void* user, uint32_t state) {
  Moves* m = user;
  EngSim* sim = m->sim;
  const NumTrial* trial = &sim->stepper->trial;
  double way = fabs(trial->x[state] - trial->x0[state]);
  m->any |= way > FAST * eng_state_weight(sim, state, trial->x0[state]);
  if (m->any || sim->values.dense_t == m->t) return;
  sim->x[state] = num_dense_component(sim->stepper, state, m->t);
}

/// Whether a state that g reads moves too far in the trial to have come to rest. If not, sim->x
/// holds what g reads at time t.
static bool moves(EngSim* sim, uint32_t index, double t) {
  Moves m = {sim, t, false};
  if (sim->values.dense_t != t) sim->values.dense_t = (double)NAN;
  uint64_t states = sim->core.mode->atom_states ? sim->core.mode->atom_states[index] : 0;
  uint32_t state = 0;
  for (uint64_t rest = states; rest && !m.any; rest >>= 1, state++) {
    if (rest & 1) note_move(&m, state);
  }
  if (states) return m.any;
  if (model_mode_reads(sim->core.mode, index, note_move, &m)) return m.any;
  eng_states_at(sim, t);
  return false;
}

/// Whether g is too fast to be near rest: what comes to rest slows down, and an explicit method is
/// stable only where that takes some part of its step.
static bool is_fast(const NumStepper* stepper, const EngPiece* p, double slope, double sigma) {
  bool steady = fabs(p->db - p->da) <= STEADY * fabs(slope);
  return (steady && fabs(p->gb - p->ga) > 2.0 * NEAR * sigma) ||
         (!stepper->method->stiff && fabs(slope) * stepper->trial.h > STABLE * NEAR * sigma);
}

/// Whether the rate of g depends on switches, or other equations hold beyond the boundary: it may
/// be another rate altogether there, within the tolerance too (friction as a saturation of 1e9*v).
static bool is_switched(const EngSim* sim, uint32_t index) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  // behind the variables stand truths and positions of switches
  return atom->structural ||
         (atom->kind.separates &&
          model_output_reads_input(&sim->core.mode->gdot, index, sim->values.var_end));
}

/// Whether g rests over the whole trial, seen from a time in it, and its value at rest. An
/// equilibrium that time moves is followed, and takes g across its boundary.
static bool stands_still(EngSim* sim, uint32_t index, double from, double sigma, double* g) {
  const NumTrial* trial = &sim->stepper->trial;
  double first = 0.0;
  eng_states_at(sim, from);
  return eng_rests(sim, index, trial->t0, &first) && eng_rests(sim, index, trial->t, g) &&
         fabs(*g - first) <= HARDLY * sigma;
}

bool eng_crosses_by_error(EngFollower* f, const EngPiece* piece, const EngCrossing* c) {
  EngSim* sim = f->sim;
  EngAtom* atom = f->atom;
  double sign = c->rising ? f->sign : -1.0;
  double g = 0.0;
  if (sim->options.rtol > COARSE || f->model->time_only || atom->sliding) return false;
  if (moves(sim, f->index, c->t) || is_switched(sim, f->index)) return false;
  double sigma = eng_sigma(sim, f->index);
  if (!(fabs(piece->gb) <= NEAR * sigma) || sigma <= eng_rho(sim, f->index)) return false;
  // inside of a step the tolerance is less sure than at its beginning
  bool rests = !is_fast(sim->stepper, piece, c->slope, sigma) &&
               (stands_still(sim, f->index, c->t, sigma, &g) ||
                stands_still(sim, f->index, piece->a, sigma, &g));
  bool returns = atom->truth == c->rising;  // has been on the other side within this step
  bool arrives = rests && !returns && sign * g > HARDLY * sigma;
  bool there = sign * piece->gb > 0.0;
  if (rests && (there || !arrives)) {
    atom->kind.asymptotic = true;
    atom->zone = larger(atom->eps, sigma);
  }
  // what does not rest crosses nothing against its rates (which are not known where it fell
  // silently)
  bool silent = !c->rising && !f->model->bipolar;
  if (rests ? arrives && there : silent || !(sign * c->slope < 0.0)) return false;
  f->truth = atom->truth;
  f->armed = atom->armed && !atom->kind.asymptotic;
  return true;
}
