// SPDX-License-Identifier: MIT
//
// Detection: the first crossing on the dense output of a trial step that would do something.
//
// Every atom that is waited for is followed over the step (follow.c), with proof where that is
// asked for (certify.c). The earliest crossing wins; others within rounding of it belong to the
// same instant. If nothing would fire there, the crossing is followed silently and the search goes
// on behind it, so that it leaves no trace in the trajectory.
#include "engine/detect/follow.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define WIDEST       1e-9     // part of a step: a bracket is no wider, however flat the crossing
#define FEW          16       // one in so many is few
#define BLURRED      0x1p-20  // of a trial: crossings before that are looked for again...
#define SHARP        0x1p10   // ... in one that is so many times as long as the way to them
#define CLEARLY      2.0      // times as exact as it is
#define SILENT_LIMIT 1000000  // crossings that fire nothing, in one step

/// A unilateral event happens at the mesh point that enters its zone from below. The other types
/// that detect early wait for the crossing itself; one that lingers in the zone for a whole step is
/// taken to have arrived.
static bool arrives(const EngFollower* f, const EngPiece* p, EngCrossing* out) {
  uint8_t type = f->model->type;
  if (f->truth || !f->armed || f->model->relation == MODEL_REL_EQ) return false;
  if (type == MODEL_ATOM_BILATERAL || f->sim->options.detection == SLT_DETECTION_INTERPOLATION) {
    return false;
  }
  bool waits_at_mesh =
      type == MODEL_ATOM_UNILATERAL || f->sim->options.detection == SLT_DETECTION_EXTRAPOLATION;
  if (!waits_at_mesh && (f->model->bipolar || !f->atom->in_zone)) return false;
  bool inside = f->model->relation == MODEL_REL_GT ? p->gb > -f->atom->eps : p->gb >= -f->atom->eps;
  // on its way to the boundary, not just leaving it
  if (!inside || p->gb > 0.0 || !(p->db >= 0.0)) return false;
  bool certified = f->sim->options.detection == SLT_DETECTION_CERTIFIED;
  *out = eng_crossing(f->index, p->b, p->b, p->b, p->db, true, certified);
  return true;
}

/// An atom that is linear in time has been scheduled: the step ends where it crosses, or goes on
/// beyond that where nothing depends on it. What happens at a step's end for such a reason, or by a
/// time event, takes along what rounding keeps just short of it.
static bool arrives_on_time(const EngFollower* f, const EngPiece* p, EngCrossing* out) {
  const EngSim* sim = f->sim;
  double t = f->atom->t_linear;
  const EngCalendar* calendar = &sim->core.calendar;
  bool scheduled =
      calendar->t_linear <= p->b || eng_ends_at_event(sim, p->b) || calendar->t_last == p->b;
  if (p->b < (scheduled ? t - num_time_resolution(p->b) : t) || t <= p->a) return false;
  t = fmin(t, p->b);
  *out = eng_crossing(f->index, t, t, t, p->db, !f->truth, true);
  out->leaves = !f->armed;
  return true;
}

/// At the time of a time event: an atom that rounding keeps just short of its crossing is there
/// too.
static bool coincides(const EngFollower* f, const EngPiece* p, EngCrossing* out) {
  if (f->truth || !f->armed || !(p->gb < 0.0) || !(p->db > 0.0)) return false;
  double rho = f->sim->proof.margin[f->index] + p->db * num_time_resolution(p->b);
  if (!eng_ends_at_event(f->sim, p->b) || -p->gb > rho) return false;
  double hi = p->b + num_time_resolution(p->b);
  *out = eng_crossing(f->index, p->b, p->b, hi, p->db, true, true);
  return true;
}

/// Atom `index` of the mode, as it is now.
static EngFollower follower_of(EngSim* sim, uint32_t index) {
  uint32_t id = sim->core.mode->atoms[index];
  EngAtom* atom = &sim->atoms[id];
  return (EngFollower){.sim = sim,
                       .index = index,
                       .model = &sim->model->atoms[id],
                       .atom = atom,
                       .zone = fmax(atom->zone, eng_time_rho(sim, atom->gdot)),
                       .truth = atom->truth,
                       .armed = atom->armed};
}

/// First crossing of one atom on a part of the step, by the detection that was asked for. The
/// follower is new.
static bool follow(EngFollower* f, const EngPiece* piece, EngCrossing* out) {
  EngSim* sim = f->sim;
  if (sim->costs.on) sim->costs.relations[sim->core.mode->atoms[f->index]]++;
  if (sim->options.detection == SLT_DETECTION_CERTIFIED) {
    const ModelMode* mode = sim->core.mode;
    bool affine = mode->atom_class[f->index] != MODEL_CLASS_OTHER;
    const double* control = affine ? sim->proof.control_g + (size_t)f->index * MODEL_LANES : NULL;
    bool decided = true;
    bool crosses = eng_certify(f, piece, control, sim->proof.margin[f->index], out, &decided);
    f->atom->undecided = !decided;
    if (crosses) return true;
    if (decided) return arrives(f, piece, out);
    *f = follower_of(sim, f->index);
    sim->core.counts.undecided++;
    return eng_follow(f, piece, out) || arrives(f, piece, out);
  }
  if (arrives(f, piece, out)) return true;
  if (sim->options.detection == SLT_DETECTION_INTERPOLATION) return eng_follow_ends(f, piece, out);
  if (sim->options.detection == SLT_DETECTION_EXTRAPOLATION) return eng_follow_mesh(f, piece, out);
  return eng_follow(f, piece, out);
}

/// How fast g turns round behind a crossing: its second derivative, away from where it goes; 0
/// where it does not turn.
static double bend_of(const EngPiece* p, const EngCrossing* c) {
  double sign = c->rising ? 1.0 : -1.0;
  bool ahead = p->b - c->t > 0.01 * (p->b - p->a);
  double bend = ahead ? (p->db - c->slope) / (p->b - c->t) : (c->slope - p->da) / (c->t - p->a);
  return fmax(-sign * bend, 0.0);
}

/// A contact that turns round within the atom's zone only grazes the boundary: g and its slope
/// vanish together, and whether it happens at all depends on errors that the zone allows for. Time
/// by which such an error moves the event; 0 for a clean crossing.
static double grazing_shift(const EngCrossing* c, double zone) {
  if (!(c->bend > 0.0) || c->slope * c->slope > 2.0 * c->bend * zone) return 0.0;
  return sqrt(2.0 * zone / c->bend);
}

void eng_warn_of_grazing(EngSim* sim) {
  if (!sim->report.to.on_warning || sim->core.step.chords) return;
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    const EngCrossing* c = &sim->detect.crossings[i];
    uint32_t id = sim->core.mode->atoms[c->index];
    if (!(c->bend > 0.0) || sim->atoms[id].warned.grazing) continue;
    double zone = fmax(sim->atoms[id].eps, eng_sigma(sim, c->index));
    double shift = grazing_shift(c, zone);
    if (!(shift > 0.0)) continue;
    sim->atoms[id].warned.grazing = true;
    eng_warn(sim, DIAG_W0802, sim->model->atoms[id].written->span,
             "at t = %s this relation only grazes its boundary: an error of %s moves the event by "
             "%s, or undoes it",
             eng_number(eng_rounded(c->t, 9.0)).text, eng_number(eng_rounded(zone, 2.0)).text,
             eng_number(eng_rounded(shift, 2.0)).text);
  }
}

bool eng_is_followed(const EngSim* sim, uint32_t index) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  return !atom->literal && !atom->sliding && !atom->kind.constant;
}

/// ... on the dense output; one that is linear in time is scheduled instead.
static bool is_searched(const EngSim* sim, uint32_t index) {
  return eng_is_followed(sim, index) &&
         !isfinite(sim->atoms[sim->core.mode->atoms[index]].t_linear);
}

/// Whether it is not known yet how an atom goes on to the end of the trial.
static bool is_open(const EngSim* sim, uint32_t index) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  return !atom->end_known && !atom->crosses;
}

/// What certification needs: control points once a step, the enclosure of all atoms that have no
/// coefficients over the part of it that is looked at.
static void prepare_proof(EngSim* sim, double t_from, bool first) {
  const ModelMode* mode = sim->core.mode;
  bool any = false;
  bool affine = false;
  bool curved = false;
  uint64_t states = 0;
  uint32_t searched = 0;
  EngList followed = eng_followed(sim);
  for (uint32_t place = 0; place < followed.count; place++) {
    uint32_t i = followed.at[place];
    if (!is_open(sim, i) || !is_searched(sim, i)) continue;
    any = true;
    searched++;
    bool other = mode->atom_class[i] == MODEL_CLASS_OTHER;
    affine |= !other;
    curved |= other && !eng_composed(sim, i);
    states |= mode->atom_states ? mode->atom_states[i] : ~(uint64_t)0;
  }
  bool few = sim->local && searched * FEW < sim->active.indicator_count;
  if (ENG_UNLIKELY(few) && eng_local_is_prepared(sim)) {
    // along many surfaces few relations are left: those alone
    for (uint32_t place = 0; place < followed.count && any; place++) {
      uint32_t i = followed.at[place];
      if (is_open(sim, i) && is_searched(sim, i)) eng_local_control(sim, i, t_from);
    }
    return;
  }
  // all are enclosed together; local events ask for others later
  if (curved || sim->local) states = ~(uint64_t)0;
  if (first && any) eng_control_points(sim, states, affine);
  if (curved) eng_enclose_atoms(sim, t_from, sim->stepper->trial.t, sim->proof.g_whole);
}

/// The first crossing on a piece; where there is none, what is known at its end is kept.
static bool first_crossing(EngFollower* f, const EngPiece* piece, EngCrossing* out) {
  EngAtom* atom = f->atom;
  bool timed = isfinite(atom->t_linear);
  *out = (EngCrossing){0};
  // out of where it rested: its crossing is where it always was
  if (atom->kind.asymptotic && fabs(piece->gb) > f->zone) f->armed = (piece->ga > 0.0) == f->truth;
  bool crosses = timed ? arrives_on_time(f, piece, out) : follow(f, piece, out);
  crosses = crosses || coincides(f, piece, out);
  // one that falls silently may do so by errors too
  bool falls = !crosses && atom->truth && !f->truth;
  if (falls) *out = eng_crossing(f->index, piece->b, piece->a, piece->b, piece->db, false, false);
  if ((crosses || falls) && !timed && eng_crosses_by_error(f, piece, out)) crosses = false;
  if (crosses) {
    if (!timed) out->bend = bend_of(piece, out);
    return true;
  }
  atom->end_truth = f->truth;
  atom->end_armed = f->armed;
  atom->end_known = true;
  return false;
}

/// Whether the coefficients of an indicator tell that it keeps its side over the whole trial:
/// beyond rounding, and beyond what counts as reaching the boundary. What is latched stays then.
/// One that is scheduled keeps it until its time.
static bool keeps_side(const EngSim* sim, uint32_t index) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  double t_end = sim->stepper->trial.t;
  // at a time event rounding may take it along
  if (atom->kind.asymptotic || eng_ends_at_event(sim, t_end)) return false;
  if (isfinite(atom->t_linear)) return atom->t_linear - num_time_resolution(t_end) > t_end;
  bool proves = sim->options.detection == SLT_DETECTION_CERTIFIED &&
                sim->core.mode->atom_class[index] != MODEL_CLASS_OTHER;
  // at its last crossing it waits for something else
  bool settled = atom->armed || (atom->truth && !atom->bipolar);
  if (!proves || atom->undecided || !settled) return false;
  const double* c = sim->proof.control_g + (size_t)index * MODEL_LANES;
  double sign = atom->truth ? -1.0 : 1.0;
  double limit = -atom->eps - sim->proof.margin[index];
  for (uint32_t j = sim->stepper->trial.degree + 1; j-- > 0;) {
    if (!(sign * c[j] < limit)) return false;
  }
  return true;
}

void eng_collect_atom(EngSim* sim, uint32_t index, double t_from) {
  EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  if (!is_open(sim, index) || !eng_is_followed(sim, index)) return;
  atom->end_truth = atom->truth;
  atom->end_armed = atom->armed;
  atom->end_known = keeps_side(sim, index);
  if (atom->end_known) return;
  EngFollower f = follower_of(sim, index);
  EngPiece piece = {t_from,     sim->stepper->trial.t,      atom->g, sim->detect.end_g[index],
                    atom->gdot, sim->detect.end_gdot[index]};
  // every atom has one at most: there is room
  atom->crosses = first_crossing(&f, &piece, &sim->detect.crossings[sim->detect.crossing_count]);
  if (atom->crosses) sim->detect.crossing_count++;
}

bool eng_detect_atom(EngSim* sim, uint32_t index, double t_from, EngCrossing* out) {
  EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  if (!eng_is_followed(sim, index)) return false;
  double t_end = sim->stepper->trial.t;
  EngFollower f = follower_of(sim, index);
  EngPiece piece = {t_from, t_end, atom->g, atom->g, atom->gdot, atom->gdot};
  // where its time tells when it crosses, its end is asked for by time events alone
  bool scheduled = isfinite(atom->t_linear) && !eng_ends_at_event(sim, t_end);
  if (!scheduled) eng_follower_value(&f, t_end, &piece.gb, &piece.db);
  eng_control_atom(sim, index, t_from);
  return first_crossing(&f, &piece, out);
}

double eng_half_bracket(const EngSim* sim, const EngCrossing* c) {
  double width = sim->proof.margin[c->index] / fabs(c->slope);
  if (!(width <= WIDEST * sim->stepper->trial.h)) width = WIDEST * sim->stepper->trial.h;
  return width + 0.5 * num_time_resolution(c->t);
}

/// Put the crossings of the first instant before the others, which do not count any more; returns
/// its time.
static double keep_first(EngSim* sim, double first) {
  double t_end = sim->stepper->trial.t;
  double reach = 0.0;
  uint32_t kept = 0;
  EngCrossing* all = sim->detect.crossings;
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    if (all[i].t == first) reach = fmax(reach, eng_half_bracket(sim, &all[i]));
  }
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    if (all[i].t > first && all[i].t > first + reach + eng_half_bracket(sim, &all[i])) continue;
    if (i > kept) {
      EngCrossing due = all[i];
      all[i] = all[kept];
      all[kept] = due;
    }
    kept++;
  }
  sim->detect.crossing_count = kept;
  // within rounding of the end of the step, and so of a time event: the same instant
  return first >= t_end - fmax(reach, num_time_resolution(t_end)) ? t_end : first;
}

/// Truths as an instant at time t would see them; env and g hold the values there.
static void preview_truths(EngSim* sim, double t) {
  const ModelMode* mode = sim->core.mode;
  if (sim->detect.g_epoch != sim->values.epoch) eng_evaluate_followed(sim, t, false);
  EngList followed = eng_followed(sim);
  for (uint32_t place = 0; place < followed.count; place++) {
    uint32_t i = followed.at[place];
    const ModelAtom* model = &sim->model->atoms[mode->atoms[i]];
    EngAtom* atom = &sim->atoms[mode->atoms[i]];
    bool located = !atom->literal;
    if (located) {
      // one whose becoming false interests nobody has been let go silently; not one that became
      // true just here, whose g is rounding
      bool moved = t > sim->core.mesh_t;
      bool fell = moved && atom->truth && !model->bipolar && sim->detect.g[i] < -atom->zone;
      if (!fell || atom->sliding) continue;
      atom->armed = true;
      atom->end_known = false;
    }
    bool truth = !located && eng_relation_holds(model->relation, sim->detect.g[i]);
    atom->truth = truth;
    sim->env[model->env] = truth ? 1.0 : 0.0;
  }
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    uint32_t id = mode->atoms[sim->detect.crossings[i].index];
    sim->atoms[id].located = true;
    sim->atoms[id].located_truth = sim->detect.crossings[i].rising;
    sim->env[sim->model->atoms[id].env] =
        eng_crossing_shows(&sim->atoms[id], &sim->detect.crossings[i]);
  }
}

/// The first crossings of those that were found happen, and fire nothing.
static void latch_silently(EngSim* sim, uint32_t found) {
  EngCrossing* first = sim->detect.crossings;
  uint32_t done = sim->detect.crossing_count;
  for (uint32_t i = 0; i < done; i++) {
    EngAtom* atom = &sim->atoms[sim->core.mode->atoms[first[i].index]];
    atom->truth = first[i].rising;
    atom->equal = false;
    atom->armed = false;
    atom->located = false;
    atom->crosses = false;
    sim->env[atom->env] = eng_atom_shows(atom);
    sim->core.counts.silent++;
  }
  sim->detect.crossing_count = found - done;
  memmove(first, first + done, (found - done) * sizeof *first);
}

/// The crossings at t fire nothing: latch them and move the mesh point there. What is known of all
/// other atoms up to the end of the trial stays known: `found` crossings, those at t before others.
static void follow_silently(EngSim* sim, double t, uint32_t found) {
  const ModelMode* mode = sim->core.mode;
  eng_evaluate_gdot(sim, t);
  latch_silently(sim, found);
  EngList followed = eng_followed(sim);
  for (uint32_t place = 0; place < followed.count; place++) {
    uint32_t i = followed.at[place];
    EngAtom* atom = &sim->atoms[mode->atoms[i]];
    atom->g = sim->detect.g[i];
    atom->gdot = sim->detect.gdot[i];
    if (sim->detect.extrapolates) atom->previous.h = 0.0;
  }
  sim->core.pruned.stale = false;
  sim->pruning.stale = true;
  sim->core.mesh_t = t;
  eng_edges_visit(sim, false);
}

bool eng_guard_depends_on(EngSim* sim, const ModelGuard* guard, uint32_t atom) {
  uint32_t k = 0;
  while (k < guard->atom_count && guard->atoms[k] != atom) {
    k++;
  }
  if (k == guard->atom_count) return false;
  double* truth = &sim->env[sim->model->atoms[atom].env];
  double latched = *truth;
  *truth = 0.0;
  bool without = eng_guard(sim, guard);
  *truth = 1.0;
  bool with = eng_guard(sim, guard);
  *truth = latched;
  return with != without;
}

/// Whether any guard of the present states depends on the atom.
static bool flip_matters(EngSim* sim, uint32_t atom) {
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    if (!eng_automaton_active(sim, a)) continue;
    const ModelAutomaton* automaton = &sim->model->automata[a];
    if (automaton->kind == MODEL_AUTOMATON_SWITCH) {
      if (eng_guard_depends_on(sim, automaton->condition, atom)) return true;
      continue;
    }
    const ModelState* state = &automaton->states[sim->state[a]];
    if (state->invariant && eng_guard_depends_on(sim, state->invariant, atom)) return true;
    for (uint32_t i = 0; i < state->outgoing_count; i++) {
      const ModelTransition* transition = &sim->model->transitions[state->outgoing[i]];
      if (eng_guard_depends_on(sim, &transition->guard, atom)) return true;
    }
  }
  return false;
}

void eng_warn_of_relation(EngSim* sim, uint32_t index) {
  uint32_t id = sim->core.mode->atoms[index];
  EngAtomWarned* warned = &sim->atoms[id].warned;
  if (!sim->report.to.on_warning || warned->no_value || !flip_matters(sim, id)) return;
  warned->no_value = true;
  eng_warn(sim, DIAG_W0810, sim->model->atoms[id].written->span,
           "at t = %s this relation has no value, and a switch or guard depends on it; it stays as "
           "it was while that lasts",
           eng_short(sim->core.t).text);
}

/// Whether the first crossing is one in time, alone, on which nothing depends: values at its time
/// would tell nothing new.
static bool passes_unseen(EngSim* sim) {
  if (sim->detect.crossing_count != 1 || sim->detect.has_auxiliary || sim->local) return false;
  uint32_t id = sim->core.mode->atoms[sim->detect.crossings[0].index];
  if (!(sim->core.t_event == sim->atoms[id].t_linear) || sim->core.mode->equation_atom_count) {
    return false;
  }
  return !sim->detect.extrapolates && !flip_matters(sim, id);
}

/// g and slope of all atoms at the end of the trial.
static void find_ends(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  double t_end = sim->stepper->trial.t;
  eng_local_show_far(sim, sim->stepper->trial.t0, sim->stepper->trial.x0);
  eng_pruned_show(sim, sim->stepper->trial.t0, sim->stepper->trial.x0);
  eng_states_at_end(sim);
  eng_evaluate_followed(sim, t_end, true);
  sim->detect.g_epoch = sim->detect.gdot_epoch = sim->values.epoch;
  sim->core.pruned.ends_marked = true;
  EngList followed = eng_followed(sim);
  for (uint32_t place = 0; place < followed.count; place++) {
    uint32_t i = followed.at[place];
    sim->detect.end_g[i] = sim->detect.g[i];
    sim->detect.end_gdot[i] = sim->detect.gdot[i];
    sim->atoms[mode->atoms[i]].end_known = false;
    sim->atoms[mode->atoms[i]].crosses = false;
  }
}

/// First crossings behind t_from, of all atoms or of those near their boundary; the earliest time,
/// INFINITY for none.
static double find_crossings(EngSim* sim, double t_from, bool near, bool once_more) {
  double first = (double)INFINITY;
  bool certified = sim->options.detection == SLT_DETECTION_CERTIFIED;
  if (certified && !near) prepare_proof(sim, t_from, !once_more);
  sim->values.searching = true;
  // at first all have just been evaluated at the end
  if (near || once_more || eng_is_held(sim)) sim->values.dense_t = (double)NAN;
  if (near) eng_pruned_collect(sim, t_from);
  // those of which nothing is known yet, beside what is known
  EngList followed = eng_followed(sim);
  for (uint32_t place = 0; place < followed.count && !near; place++) {
    eng_collect_atom(sim, followed.at[place], t_from);
  }
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    first = fmin(first, sim->detect.crossings[i].t);
  }
  return first;
}

/// Whether nothing of the trial has been used yet.
static bool is_whole(const EngSim* sim, double t_from) {
  return t_from == sim->stepper->trial.t0 && !sim->core.segment.trial_pending;
}

/// Whether the first crossing is so near the beginning of the trial that the rounding of its far
/// end blurs it: it is looked for again in one that ends at t_event. (Where all begins at zero no
/// step is too long for the tolerances.) One that is found nearer then lies at the beginning
/// itself.
static bool is_blurred(EngSim* sim, double t_from, double first) {
  const NumTrial* trial = &sim->stepper->trial;
  double way = first - trial->t0;
  bool chosen = sim->stepper->method->adaptive && trial->n > 0 && !trial->drift;
  double* before = &sim->core.step.blurred;
  if (!chosen || !is_whole(sim, t_from) || !(way > 0.0) || way >= BLURRED * trial->h) return false;
  if (*before > 0.0 && way < 0.5 * *before) return false;
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    const EngCrossing* c = &sim->detect.crossings[i];
    bool exact = sim->model->atoms[sim->core.mode->atoms[c->index]].time_only;
    if (c->t == first && exact) return false;
  }
  *before = way;
  sim->core.t_event = trial->t0 + SHARP * way;
  return true;
}

/// Whether the crossing at t_event is looked for again in a trial that ends there. What is smaller
/// than the tolerances shows in no error of a step, but flows may depend on it (friction that is a
/// saturation of 1e9*v). Where a stiff method has passed over it, the flow at the crossing differs
/// from the slope of the dense output, over the way that the place has moved since the last trial.
static bool is_misplaced(EngSim* sim, double t_from) {
  NumStepper* stepper = sim->stepper;
  double t = sim->core.t_event;
  if (!stepper->method->stiff || stepper->trial.drift || !is_whole(sim, t_from) || sim->local ||
      sim->core.mode->implicit || sim->core.slide.count) {
    return false;
  }
  double moved = fabs(t - sim->detect.last_place);
  double* flow = sim->probe.flow;
  double* x = flow + 2 * (size_t)stepper->n;
  num_dense_derivative(stepper, t, flow);
  num_dense_eval(stepper, t, x);
  sim->detect.last_place = t;
  if (eng_rhs(sim, t, x, flow + stepper->n) < 0) return false;
  for (uint32_t i = 0; i < stepper->n; i++) {
    double defect = fabs(flow[stepper->n + i] - flow[i]);
    if (defect * moved > eng_state_weight(sim, i, x[i])) return true;
  }
  return false;
}

/// The crossings do not happen yet.
static void forget_preview(EngSim* sim) {
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    sim->atoms[sim->core.mode->atoms[sim->detect.crossings[i].index]].located = false;
  }
  eng_restore_truths(sim);
  // the values are those of the beginning again, as if nobody had looked
  eng_sample(sim, sim->stepper->trial.t0);
  sim->values.sampled = false;
}

bool eng_held_ends_before(EngSim* sim, double first) {
  EngCore* core = &sim->core;
  double end = fmin(core->exit.t, core->contact.lifts_at);
  if (!(end < (double)INFINITY && end <= first)) return false;
  sim->detect.crossing_count = 0;
  core->contact.lifts = core->contact.lifts_at <= core->exit.t;
  core->exit.pending = !core->contact.lifts;
  core->t_event = end;
  return true;
}

/// Whether what cuts the step is looked for again, on the more exact output that it goes on from:
/// an event without effect is to change no bit of the solution.
static bool extends(EngSim* sim, double t_from) {
  double cut = fmin(sim->core.exit.t, sim->core.contact.lifts_at);
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    const EngCrossing* c = &sim->detect.crossings[i];
    if (sim->atoms[sim->core.mode->atoms[c->index]].acts) cut = fmin(cut, c->t);
  }
  return is_whole(sim, t_from) && cut < sim->stepper->trial.t &&
         num_dense_extend(sim->stepper, cut);
}

/// A relation that has changed its side cuts the step: where the output is clearly too rough for
/// that, nothing is looked for on it.
static void extend_first(EngSim* sim, double t_from, bool near) {
  double first = 1.0;
  EngList followed = eng_followed(sim);
  if (near || eng_is_held(sim) || !is_whole(sim, t_from)) return;
  if (!(num_dense_demand_most(sim->stepper) > CLEARLY)) return;
  for (uint32_t place = 0; place < followed.count; place++) {
    uint32_t i = followed.at[place];
    const EngAtom* a = &sim->atoms[sim->core.mode->atoms[i]];
    double g = sim->detect.end_g[i];
    bool changes = a->truth ? a->bipolar && a->g > 0.0 && g < 0.0 : a->g < 0.0 && g > 0.0;
    if (!changes || !a->acts || !a->armed || !is_searched(sim, i)) continue;
    double h = sim->stepper->trial.h;
    first = fmin(first, num_hermite_root(a->g, g, a->gdot, sim->detect.end_gdot[i], h));
  }
  if (num_dense_demand(sim->stepper, first) > CLEARLY)
    num_dense_extend(sim->stepper, sim->stepper->trial.t0 + first * sim->stepper->trial.h);
}

/// Whether the crossings at a time would fire something: the environment shows them.
static bool would_fire(EngSim* sim, double t) {
  eng_sample(sim, t);
  if (!eng_is_held(sim)) eng_g_at(sim, t, false);
  sim->values.searching = false;
  preview_truths(sim, t);
  return eng_anything_enabled(sim);
}

/// What a search for crossings begins with: values at the ends of the trial, or the relations that
/// are near their boundary, and the end of what is held.
static SltStatus begin_search(EngSim* sim, double t_from, bool* near) {
  EngSlideExit* exit = &sim->core.exit;
  EngContacts* contact = &sim->core.contact;
  sim->detect.crossing_count = 0;
  SLT_TRY(num_dense_prepare(sim->stepper));
  if (ENG_UNLIKELY(sim->stepper->trial.rough)) return SLT_ERR_NOT_FINITE;
  *near = ENG_UNLIKELY(sim->pruning.has_bounds) && eng_pruned_find_slow(sim, t_from);
  if (!*near) find_ends(sim);
  if (sim->core.slide.count) exit->t = eng_slide_exit(sim, t_from, &exit->surface, &exit->above);
  return contact->active ? eng_contact_exit(sim, t_from, &contact->lifts_at) : SLT_OK;
}

static SltStatus detect(EngSim* sim, double t_from, bool* found) {
  double t_end = sim->stepper->trial.t;
  *found = false;
  sim->detect.crossing_count = 0;
  sim->core.exit.pending = sim->core.contact.lifts = false;
  sim->core.exit.t = sim->core.contact.lifts_at = (double)INFINITY;
  bool timed = ENG_UNLIKELY(sim->local) && eng_queue_next(sim) < t_end;
  if (sim->active.indicator_count == 0 && !timed) return SLT_OK;
  if (ENG_UNLIKELY(sim->local) && eng_local_detect_slow(sim, t_from, found)) return SLT_OK;
  bool near = false;
  SLT_TRY(begin_search(sim, t_from, &near));
  extend_first(sim, t_from, near);
  uint32_t last = 0;
  for (uint32_t round = 0; round < SILENT_LIMIT; round++) {
    double first = find_crossings(sim, t_from, near, round > 0);
    if (round == 0 && extends(sim, t_from)) return detect(sim, t_from, found);
    if (ENG_UNLIKELY(is_blurred(sim, t_from, first))) return SLT_ERR_STEP;
    if (ENG_UNLIKELY(sim->local)) eng_local_collect_slow(sim);
    *found = eng_held_ends_before(sim, first);
    if (*found) return SLT_OK;
    sim->core.pruned.lazy = near;
    if (sim->detect.crossing_count == 0) return SLT_OK;
    uint32_t all = sim->detect.crossing_count;
    double t = sim->core.t_event = keep_first(sim, first);
    if (t < t_end && !near && passes_unseen(sim)) {
      latch_silently(sim, all);
      t_from = t;
      continue;
    }
    if (would_fire(sim, t)) {
      *found = !is_misplaced(sim, t_from);
      if (*found) return SLT_OK;
      forget_preview(sim);
      return SLT_ERR_STEP;
    }
    last = sim->core.mode->atoms[sim->detect.crossings[0].index];
    follow_silently(sim, t, all);
    if (t >= t_end) {
      sim->detect.crossing_count = 0;
      return SLT_OK;
    }
    t_from = t;
  }
  const ModelAtomText* atom = sim->model->atoms[last].written;
  eng_fail(sim, SLT_ERR_LIMIT, DIAG_E0806, &atom->span,
           "more than a million crossings without effect in the step from t = %s on; the last is "
           "that of '%.*s' at t = %s",
           eng_number(sim->stepper->trial.t0).text, STR_ARGS(atom->text),
           eng_number(sim->core.t_event).text);
  return eng_hint(
      sim, "noEvent[...] around a relation that only other guards ask for saves its crossings");
}

SltStatus eng_detect(EngSim* sim, double t_from, bool* found) {
  SltStatus status = detect(sim, t_from, found);
  sim->values.searching = false;
  return status;
}

double eng_next_boundary(EngSim* sim) {
  double nearest = (double)INFINITY;
  eng_local_show_far(sim, sim->stepper->t, sim->stepper->x);
  eng_pruned_show(sim, sim->stepper->t, sim->stepper->x);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    if (!eng_is_followed(sim, i)) continue;
    EngFollower f = follower_of(sim, i);
    if (!eng_follower_waits(&f)) continue;
    eng_follower_aim(&f);
    double speed = f.sign * f.atom->gdot;
    double distance = f.threshold - f.sign * f.atom->g;
    if (speed > 0.0 && distance >= 0.0) nearest = fmin(nearest, distance / speed);
  }
  return nearest;
}

bool eng_detect_drift(EngSim* sim) {
  double end = sim->stepper->trial.t;
  if (num_dense_prepare(sim->stepper) < 0) return false;
  find_ends(sim);
  double first = (double)INFINITY;
  sim->detect.crossing_count = 0;
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    if (!eng_is_followed(sim, i)) continue;
    EngFollower f = follower_of(sim, i);
    if (!eng_follower_waits(&f)) continue;
    eng_follower_aim(&f);
    if (!eng_follower_beyond(&f, f.sign * sim->detect.end_g[i] - f.threshold)) continue;
    EngCrossing crossing = {0};
    eng_follower_bracket(&f, sim->stepper->trial.t0, end, f.atom->g, sim->detect.end_g[i],
                         &crossing);
    crossing.slope = f.atom->gdot;
    crossing.certified = sim->options.detection == SLT_DETECTION_CERTIFIED;
    first = fmin(first, crossing.t);
    sim->detect.crossings[sim->detect.crossing_count++] = crossing;
  }
  if (sim->detect.crossing_count == 0) return false;
  sim->core.t_event = keep_first(sim, first);
  bool fires = would_fire(sim, sim->core.t_event);
  if (!fires) forget_preview(sim);
  return fires;
}

bool eng_may_be_linear(const EngSim* sim, uint32_t index) {
  const ModelMode* mode = sim->core.mode;
  const ModelAtom* model = &sim->model->atoms[mode->atoms[index]];
  bool scheduled = model->continuous && model->type == MODEL_ATOM_CRITICAL;
  if (model->time_only && model->type != MODEL_ATOM_NOEVENT) scheduled = model->continuous;
  // a constant slope alone is not enough: floor(time) has one
  if (mode->slope_class[index] != MODEL_CLASS_FIXED) return false;
  return scheduled && mode->atom_class[index] != MODEL_CLASS_OTHER;
}

/// When an atom whose g is linear in time will cross; INFINITY when it does not, or is not linear.
static double linear_crossing(EngSim* sim, uint32_t index) {
  const ModelMode* mode = sim->core.mode;
  const ModelAtom* model = &sim->model->atoms[mode->atoms[index]];
  const EngAtom* atom = &sim->atoms[mode->atoms[index]];
  bool scheduled = eng_may_be_linear(sim, index);
  // slopes are those of the mode, not of the motion along a surface
  bool own_flow = sim->core.slide.count == 0 && !sim->core.contact.active;
  // at its last crossing, how far it has to go depends on the step to come
  if (!(own_flow && atom->armed) && !model->time_only) scheduled = false;
  if (!scheduled) return (double)INFINITY;
  bool waits_up = !atom->truth && atom->gdot > 0.0;
  bool waits_down = atom->truth && model->bipolar && atom->gdot < 0.0;
  if (!waits_up && !waits_down) return (double)INFINITY;
  // still at its last crossing: only leaving the zone on the wrong side is something new
  double zone = fmax(atom->zone, eng_time_rho(sim, atom->gdot));
  double level = atom->armed ? 0.0 : waits_down ? -zone : zone;
  // in time alone: from g at time 0, so that `time >= c` gives c itself
  double t = model->time_only ? (level - sim->detect.g_zero[index]) / atom->gdot
                              : sim->core.t + (level - atom->g) / atom->gdot;
  if (isnan(t)) return (double)INFINITY;
  return t > sim->core.t ? t : nextafter(sim->core.t, (double)INFINITY);
}

void eng_schedule_linear(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  sim->core.calendar.t_linear = (double)INFINITY;
  sim->core.calendar.t_passing = (double)INFINITY;
  sim->core.calendar.t_last = (double)NAN;
  bool plain = sim->options.detection == SLT_DETECTION_CERTIFIED ||
               sim->options.detection == SLT_DETECTION_COMBINED;
  if (!plain || !sim->detect.has_linear) {
    if (!sim->core.calendar.has_scheduled) return;
    EngList atoms = eng_instant_atoms(sim);
    for (uint32_t place = 0; place < atoms.count; place++) {
      sim->atoms[mode->atoms[atoms.at[place]]].t_linear = (double)INFINITY;
    }
    return;
  }
  if (sim->detect.has_time_only) {
    const ModelContext* context = eng_context(sim);
    model_program_run(&mode->g_flow, context, sim->programs.g_flow, 0.0, sim->x,
                      sim->detect.g_zero);
  }
  bool times_alone = true;
  double last = sim->core.t;
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    EngAtom* atom = &sim->atoms[mode->atoms[i]];
    times_alone &= sim->model->atoms[mode->atoms[i]].time_only && eng_may_be_linear(sim, i);
    // what is slid along crosses nowhere
    atom->t_linear = atom->sliding ? (double)INFINITY : linear_crossing(sim, i);
    if (!(atom->t_linear < (double)INFINITY)) continue;
    // where no guard depends on it, or its instant can be local, a step need not end there: it is
    // passed like any other crossing
    bool ends_step = sim->local ? !eng_local_takes_time(sim, i)
                                : mode->equation_atom_count || flip_matters(sim, mode->atoms[i]);
    double* first = ends_step ? &sim->core.calendar.t_linear : &sim->core.calendar.t_passing;
    *first = fmin(*first, atom->t_linear);
    sim->core.calendar.has_scheduled = true;
    last = fmax(last, atom->t_linear);
  }
  if (times_alone && last > sim->core.t) sim->core.calendar.t_last = last;
  sim->pruning.stale = true;
}

void eng_schedule_time(EngSim* sim, uint32_t index, double g_zero) {
  sim->detect.g_zero[index] = g_zero;
  sim->atoms[sim->core.mode->atoms[index]].t_linear = linear_crossing(sim, index);
}

bool eng_extrapolates(const EngSim* sim, const ModelAtom* model) {
  uint8_t detection = (uint8_t)sim->options.detection;
  if (!model->continuous || model->type == MODEL_ATOM_NOEVENT) return false;
  if (detection == SLT_DETECTION_EXTRAPOLATION) return true;
  if (detection == SLT_DETECTION_INTERPOLATION) return false;
  return model->type == MODEL_ATOM_UNILATERAL || model->type == MODEL_ATOM_SHORTLIVING;
}

/// Step after which g is expected at gamma*g: smallest positive root of
/// (1 - gamma) g + g' h + bend h^2/2 = 0, `bend` bounding the curvature (Esposito, Kumar & Pappas
/// 2001; 0 is the rule of ISMA 2021).
static double step_bound(const EngAtom* atom, bool safeguard) {
  double bend = 0.0;
  if (safeguard && atom->previous.h > 0.0) {
    bend = 1.5 * fmax((atom->gdot - atom->previous.gdot) / atom->previous.h, 0.0);
  }
  double c = (1.0 - atom->gamma) * atom->g;  // negative
  if (bend > 0.0) return (-atom->gdot + sqrt(atom->gdot * atom->gdot - 2.0 * bend * c)) / bend;
  return atom->gdot > 0.0 ? -c / atom->gdot : (double)INFINITY;
}

double eng_extrapolate_slow(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  double bound = (double)INFINITY;
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    const ModelAtom* model = &sim->model->atoms[mode->atoms[i]];
    const EngAtom* atom = &sim->atoms[mode->atoms[i]];
    if (!eng_extrapolates(sim, model) || atom->truth || !atom->armed || atom->g > -atom->eps)
      continue;
    bool safeguard = sim->options.detection != SLT_DETECTION_EXTRAPOLATION;
    double h = step_bound(atom, safeguard);
    if (h < bound && flip_matters(sim, mode->atoms[i])) bound = h;
  }
  return bound;
}
