// SPDX-License-Identifier: MIT
//
// Contacts in an instant: which impacts have come to rest, which closed contacts outlast it. The
// reactions of all of them are found together, by complementarity.
#include "engine/contact/work.h"

#include <float.h>
#include <string.h>

#define THROWN_SHARE 0.5   // of a jump of a gap's rate: what has to be left of it
#define ROUNDING     256   // units in the last place that sums of accelerations may be off by
#define RIDING_RHO   64.0  // roundings of a relation that is kept at its boundary
#define FLIGHT_ULPS  64.0  // roundings of the highest flight so far
#define FLIGHT_TIMES 16.0  // resolutions of the time that a flight has to last
#define SURFACE_NEAR 4.0   // speeds that are taken out: what is nearer is reached with them
#define LIMIT_MAX    4000  // ... after which what else they change has come to its limit, or never

// ---- which transitions belong to a contact ------------------------------------------------------

static bool guard_has(const ModelGuard* guard, uint32_t atom) {
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    if (guard->atoms[i] == atom) return true;
  }
  return false;
}

/// Whether a transition is the impact of a contact: `state b ... from init, b` has several.
static bool is_impact_of(const EngSim* sim, const EngContact* contact, uint32_t transition) {
  const ModelTransition* own = &sim->model->transitions[contact->transition];
  const ModelTransition* t = &sim->model->transitions[transition];
  return t->automaton == own->automaton && t->to == own->to && guard_has(&t->guard, contact->atom);
}

/// The closed contact of a gap of a transition; NULL.
static EngContact* contact_at(const EngSim* sim, uint32_t transition, uint32_t atom) {
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    EngContact* contact = &sim->contact.closed[i];
    if (contact->atom == atom && is_impact_of(sim, contact, transition)) return contact;
  }
  return NULL;
}

bool eng_contact_holds_automaton(const EngSim* sim, uint32_t automaton) {
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    if (sim->model->transitions[sim->contact.closed[i].transition].automaton == automaton)
      return true;
  }
  return false;
}

/// Whether the impact of a contact could happen in the present state of its automaton: the contact
/// belongs to the gap and to the resets, whatever the automaton did last.
static bool leads_out(const EngSim* sim, const EngContact* contact) {
  uint32_t automaton = sim->model->transitions[contact->transition].automaton;
  const ModelState* state = &sim->model->automata[automaton].states[sim->state[automaton]];
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    if (is_impact_of(sim, contact, state->outgoing[i])) return true;
  }
  return false;
}

/// While a contact is closed its impact does not happen.
static void bar_impacts(EngSim* sim, const EngContact* contact, bool closed) {
  const ModelTransition* t = &sim->model->transitions[contact->transition];
  const ModelAutomaton* a = &sim->model->automata[t->automaton];
  for (uint32_t s = 0; s < a->state_count; s++) {
    for (uint32_t i = 0; i < a->states[s].outgoing_count; i++) {
      uint32_t id = a->states[s].outgoing[i];
      if (is_impact_of(sim, contact, id)) sim->instant.transitions[id].closed = closed;
    }
  }
}

// ---- the instant begins -------------------------------------------------------------------------

void eng_contact_begin_instant(EngSim* sim, bool input) {
  eng_gather_states(sim);
  eng_evaluate_gdot(sim, sim->core.t);
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    EngContact* contact = &sim->contact.closed[i];
    uint32_t index = eng_atom_place(sim->core.mode, contact->atom);
    // what an input has written is in the environment already
    contact->rate = input || index == MODEL_NONE ? 0.0 : sim->detect.gdot[index];
    contact->lifts &= sim->core.contact.lifts;
    contact->state = ENG_CONTACT_CLOSED;
    contact->old = true;
  }
}

static void restore_truths(EngSim* sim, const ModelGuard* guard) {
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const EngAtom* atom = &sim->atoms[guard->atoms[i]];
    sim->env[atom->env] = atom->truth ? 1.0 : 0.0;
  }
}

/// Branches of `if` that ask for the gap, by the truths in the environment, or back as they are.
static void show_branches(EngSim* sim, const EngContact* contact, bool back) {
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    const ModelAutomaton* branch = &sim->model->automata[a];
    if (!branch->condition || !guard_has(branch->condition, contact->atom)) continue;
    bool on = back ? sim->state[a] == 1 : eng_guard(sim, branch->condition);
    for (uint32_t s = 0; s < 2; s++) {
      uint32_t env = branch->states[s].test_env;
      if (env != MODEL_NONE) sim->env[env] = (s == 1) == on ? 1.0 : 0.0;
    }
  }
}

/// The guard's truth with the relations that the contact keeps at their boundaries taken as true.
static bool guard_allows(EngSim* sim, const EngContact* contact) {
  const ModelGuard* guard = &sim->model->transitions[contact->transition].guard;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const EngAtom* atom = &sim->atoms[guard->atoms[i]];
    if (guard->atoms[i] == contact->atom || atom->marks.kept_by_contact) sim->env[atom->env] = 1.0;
  }
  show_branches(sim, contact, false);
  bool allows = eng_guard(sim, guard);
  restore_truths(sim, guard);
  show_branches(sim, contact, true);
  return allows;
}

/// Whether something drives the gap of a closed contact inward.
static bool is_struck(EngSim* sim, const EngContact* contact) {
  uint32_t index = eng_atom_place(sim->core.mode, contact->atom);
  if (index == MODEL_NONE) return false;
  double rate = sim->detect.gdot[index];
  bool driven = rate > 0.0 && rate > THROWN_SHARE * (rate - contact->rate) &&
                rate - contact->rate > THROWN_SHARE * rate;
  return driven && rate > eng_slope_rho(sim, index);
}

bool eng_contact_guard(EngSim* sim, uint32_t transition) {
  const ModelGuard* guard = &sim->model->transitions[transition].guard;
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    const EngContact* contact = &sim->contact.closed[i];
    if (!is_impact_of(sim, contact, transition)) continue;
    sim->env[sim->atoms[contact->atom].env] = is_struck(sim, contact) ? 1.0 : 0.0;
  }
  bool holds = eng_guard(sim, guard);
  restore_truths(sim, guard);
  return holds;
}

// ---- proposals ----------------------------------------------------------------------------------

/// Whether a relation is at its boundary, as far as rounding tells.
static bool at_boundary(EngSim* sim, uint32_t id, uint32_t index) {
  return sim->atoms[id].located || fabs(sim->detect.g[index]) <= RIDING_RHO * eng_rho(sim, index);
}

uint32_t eng_impact_gap(EngSim* sim, uint32_t transition) {
  const ModelGuard* guard = &sim->model->transitions[transition].guard;
  const ModelMode* mode = sim->core.mode;
  uint32_t found = MODEL_NONE;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    uint32_t id = guard->atoms[i];
    if (!sim->model->atoms[id].continuous || !sim->active.live[id]) continue;
    uint32_t index = eng_atom_place(mode, id);
    if (sim->atoms[id].located) return index;
    if (found == MODEL_NONE && at_boundary(sim, id, index)) found = index;
  }
  return found;
}

/// Where the direction of an impact is looked for: what this instant has changed of the speeds that
/// it writes and the gap has (others may belong to another gap of the guard), or else the first of
/// them, so long that it takes a unit off the rate of the gap; `speed` is one of an impact. False:
/// the relation is no gap.
static bool first_direction(EngSim* sim, uint32_t contact, double speed) {
  EngContactWork* w = sim->contact.work;
  const Row* row = &w->rows[contact];
  double t = sim->core.t;
  double largest = 0.0;
  double total = 0.0;
  for (uint32_t turn = 0; turn < 2 && largest == 0.0; turn++) {
    for (uint32_t e = row->entry_begin; e < row->entry_end; e++) {
      const Entry* entry = &w->entries[e];
      uint32_t env = sim->core.mode->state_env[entry->state];
      double* r = &sim->contact.direction[entry->along];
      *r = 0.0;
      w->dx[entry->state] = 1.0;
      // the gap itself is no speed
      bool moves = eng_gap_slope(sim, row->index, t, sim->x, w->dx) != 0.0;
      double effect = eng_gap_effect(sim, row->index, t, sim->x, w->dx);
      w->dx[entry->state] = 0.0;
      if (moves || effect == 0.0 || !isfinite(effect)) continue;
      *r = turn == 0 ? sim->env[env] - sim->values.before[env] : largest == 0.0;
      largest = fmax(largest, fabs(*r));
      total += *r * effect;
    }
  }
  if (total == 0.0 || !isfinite(total)) return false;
  for (uint32_t e = row->entry_begin; e < row->entry_end; e++) {
    sim->contact.direction[w->entries[e].along] /= -total;
  }
  // slow impacts are those that count, a millionth of it, or as slow as rounding allows
  double share = fmax(0x1p-20, 16.0 * DBL_EPSILON / sim->options.rtol);
  sim->contact.closed[contact].reach = share * speed;
  return eng_contact_direction(sim, contact, t, sim->x);
}

/// A speed of the size that the impacts had: how far resets are probed.
static double probe_speed(const EngSim* sim, uint32_t transition, double acceleration) {
  const EngAccumulation* times = &sim->contact.accumulations[transition];
  double speed = times->fastest;
  if (!(speed > 0.0)) speed = fabs(acceleration) * (times->last - times->first);
  if (!(speed > 0.0)) speed = fabs(acceleration) * sim->stepper->control.h_next;
  return speed > 0.0 ? speed : 1.0;
}

/// Where the directions of a transition's contacts are kept.
static uint32_t direction_of(const EngSim* sim, uint32_t transition) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < transition; i++) {
    at += eng_reset_count(sim->model, i) * sim->model->transitions[i].guard.atom_count;
  }
  return at;
}

/// Add the contact of one of the relations of an impact to the list. False: it is no gap.
static bool propose_gap(EngSim* sim, const EngContact* proposed) {
  uint32_t at = sim->core.contact.count;
  double t = sim->core.t;
  sim->contact.closed[at] = *proposed;
  if (eng_contact_structure(sim, at + 1) < 0) return false;
  double* f = sim->contact.work->flow;
  if (eng_contact_flow(sim, t, sim->x, f) < 0) return false;
  double flow = eng_gap_acceleration(sim, sim->contact.work->rows[at].index, t, sim->x, f);
  if (!first_direction(sim, at, probe_speed(sim, proposed->transition, flow))) return false;
  sim->core.contact.count++;
  return true;
}

bool eng_contact_propose(EngSim* sim, uint32_t transition, EngContactState state) {
  const ModelGuard* guard = &sim->model->transitions[transition].guard;
  bool any = false;
  uint32_t direction = direction_of(sim, transition);
  eng_gather_states(sim);
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    uint32_t id = guard->atoms[i];
    if (!sim->model->atoms[id].continuous || !sim->active.live[id]) continue;
    uint32_t index = eng_atom_place(sim->core.mode, id);
    EngContact* known = contact_at(sim, transition, id);
    EngContact proposed = {.transition = transition,
                           .atom = id,
                           .direction = direction + i * eng_reset_count(sim->model, transition),
                           .state = (uint8_t)state,
                           .carries = true};
    if (!known) {
      any |= at_boundary(sim, id, index) && propose_gap(sim, &proposed);
    } else if (fabs(sim->detect.gdot[index] - known->rate) > eng_slope_rho(sim, index)) {
      known->state = (uint8_t)state;
      any = true;
    }
  }
  return any;
}

// ---- complementarity ----------------------------------------------------------------------------

/// Reactions of a group, and the accelerations with which gaps open.
static void solve_group(EngSim* sim, uint32_t group) {
  EngContactWork* w = sim->contact.work;
  const uint32_t* members = w->members + w->group_begin[group];
  uint32_t n = eng_group_size(w, group);
  double* m = w->numbers;
  double* a = m + (size_t)n * n;
  double* q = a + (size_t)n * n;
  double* z = q + n;
  double* opens = z + n;
  eng_contact_matrix(sim, group, sim->core.t, sim->x, a);
  for (uint32_t i = 0; i < n; i++) {
    q[i] = -w->rows[members[i]].flow;
    for (uint32_t k = 0; k < n; k++) {
      m[(size_t)i * n + k] = -a[(size_t)i * n + k];
    }
  }
  bool solved = num_lcp_solve(n, m, q, z, opens, opens + n);
  w->ambiguous |= !solved || num_lcp_ambiguous(n, m);
  for (uint32_t i = 0; i < n; i++) {
    Row* row = &w->rows[members[i]];
    double terms = fabs(q[i]);
    for (uint32_t k = 0; k < n; k++) {
      terms += fabs(m[(size_t)i * n + k] * z[k]);
    }
    row->lambda = z[i];
    row->falls = z[i] * m[(size_t)i * n + i];
    row->opens = opens[i] > ROUNDING * DBL_EPSILON * terms ? opens[i] : 0.0;
  }
}

static SltStatus solve_all(EngSim* sim) {
  EngContactWork* w = sim->contact.work;
  SLT_TRY(eng_contact_structure(sim, sim->core.contact.count));
  w->ambiguous = false;
  w->joint = eng_slide_has_reactions(sim) && eng_slide_complementarity(sim);
  if (w->joint) return SLT_OK;
  SLT_TRY(eng_contact_flow(sim, sim->core.t, sim->x, w->flow));
  SLT_TRY(eng_contact_evaluate(sim, sim->core.t, sim->x, w->flow));
  for (uint32_t group = 0; group < w->group_count; group++) {
    solve_group(sim, group);
  }
  return SLT_OK;
}

/// What takes out the speeds that lead into or off the boundaries, along the reactions: changes of
/// the states, into w->flow. Which contacts repeat each other is found here, too.
static void find_stop(EngSim* sim) {
  EngContactWork* w = sim->contact.work;
  memset(w->flow, 0, sim->core.mode->state_count * sizeof *w->flow);
  for (uint32_t group = 0; group < w->group_count; group++) {
    const uint32_t* members = w->members + w->group_begin[group];
    uint32_t n = eng_group_size(w, group);
    double* a = w->numbers;
    double* work = a + (size_t)n * n;
    double* wanted = work + num_lcp_room(n);
    double* impulse = wanted + n;
    bool* in = (bool*)(impulse + n);
    bool* carries = in + n;
    eng_contact_matrix(sim, group, sim->core.t, sim->x, a);
    uint32_t independent = 0;
    for (uint32_t i = 0; i < n; i++) {
      wanted[i] = -w->rows[members[i]].gdot;
      in[i] = true;
    }
    num_dense_solve_members(n, a, wanted, in, impulse, carries, work);
    for (uint32_t i = 0; i < n; i++) {
      independent += carries[i];
    }
    for (uint32_t i = 0; i < n; i++) {
      const Row* row = &w->rows[members[i]];
      // of those that repeat each other, or what surfaces hold, those carry that complementarity
      // has found
      bool alone = independent == n && !w->joint;
      sim->contact.closed[members[i]].carries = alone || row->lambda > 0.0;
      for (uint32_t e = row->entry_begin; e < row->entry_end; e++) {
        w->flow[w->entries[e].state] += impulse[i] * w->entries[e].d;
      }
    }
  }
}

/// Whether what accumulates comes to a surface in its limit: what is left of the speeds is all that
/// keeps the motion from it, and the flow is another one there.
static bool ends_on_surface(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  bool accumulates = false;
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    accumulates |= sim->contact.closed[i].state == ENG_CONTACT_ACCUMULATES;
  }
  if (!accumulates || !sim->detect.has_separating) return false;
  find_stop(sim);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t index = sim->active.indicators[place];
    if (!sim->atoms[mode->atoms[index]].kind.separates) continue;
    double change = eng_gap_slope(sim, index, sim->core.t, sim->x, sim->contact.work->flow);
    if (change != 0.0 && fabs(sim->detect.g[index]) <= SURFACE_NEAR * fabs(change)) return true;
  }
  return false;
}

/// Whether a body that leaves with this speed and falls back with this acceleration does so before
/// rounding can tell that it left: rounding of the gap, of the time, or of arcs as high as there
/// were (or the accuracy of those). `transition` is its impact.
static bool flight_is_rounding(EngSim* sim, uint32_t index, uint32_t transition, double leaves,
                               double falls) {
  if (!(leaves > 0.0)) return true;
  double height = leaves * leaves / (2.0 * falls);
  double fastest = sim->contact.accumulations[transition].fastest;
  double highest = fastest * fastest / (2.0 * falls);
  double share = fmax(FLIGHT_ULPS * DBL_EPSILON, sim->contact.accuracy);
  double misplaced = fmax(fabs(sim->detect.g[index]), eng_rho(sim, index));
  double rounding = fmax(misplaced, share * highest);
  return height <= rounding ||
         2.0 * leaves <= falls * FLIGHT_TIMES * num_time_resolution(sim->core.t);
}

bool eng_flights_are_lost(EngSim* sim, uint32_t transition) {
  const EngAccumulation* times = &sim->contact.accumulations[transition];
  uint32_t gap = eng_impact_gap(sim, transition);
  double leaves = -sim->detect.gdot[gap];
  double falls = 2.0 * leaves / (times->ratio * times->interval);
  return flight_is_rounding(sim, gap, transition, leaves, falls);
}

/// Whether a contact cannot be closed after this instant.
static bool opens(EngSim* sim, const EngContact* contact, const Row* row) {
  // what a surface holds at present a contact may have to hold next
  bool pushed = row->lambda > 0.0 || (sim->contact.work->joint && !(row->opens > 0.0));
  double jump = row->gdot - contact->rate;
  switch ((EngContactState)contact->state) {
  case ENG_CONTACT_ACCUMULATES: return !pushed && !sim->contact.work->limit_decides;
  case ENG_CONTACT_RESTS:
    return !pushed ||
           !flight_is_rounding(sim, row->index, contact->transition, -row->gdot, row->falls);
  case ENG_CONTACT_OPENS: return true;
  case ENG_CONTACT_CLOSED: break;
  }
  if (row->opens > 0.0 || (contact->lifts && !pushed)) return true;
  bool thrown = jump < 0.0 && row->gdot < THROWN_SHARE * jump;
  return thrown &&
         !flight_is_rounding(sim, row->index, contact->transition, -row->gdot, row->falls);
}

// ---- the last impact of a declared contact ------------------------------------------------------

/// The action that keeps the speed with which the impact of a declared contact leaves; NULL for
/// other transitions.
static const ModelAction* rebound_action(const Model* model, uint32_t transition) {
  const ModelTransition* t = &model->transitions[transition];
  const ModelState* to = &model->automata[t->automaton].states[t->to];
  for (uint32_t k = to->action_begin; k < to->action_begin + to->action_count; k++) {
    if (model->vars[model->actions[k].var].memory) return &model->actions[k];
  }
  return NULL;
}

bool eng_is_declared_impact(const EngSim* sim, uint32_t transition) {
  return rebound_action(sim->model, transition) != NULL;
}

/// The impact out of the present state of an automaton, and the speed with which it would leave;
/// MODEL_NONE: there is none.
static uint32_t declared_impact(EngSim* sim, uint32_t automaton, double* leaves) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  const ModelState* state = &a->states[sim->state[automaton]];
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    const ModelAction* action = rebound_action(sim->model, state->outgoing[i]);
    if (!action) continue;
    *leaves = eng_eval(sim, &action->value);
    return state->outgoing[i];
  }
  return MODEL_NONE;
}

/// Of the relations of a guard, gap and velocity: the one whose rate the other one is. False: they
/// are not both there.
static bool declared_gap(const EngSim* sim, const ModelGuard* guard, uint32_t* gap,
                         uint32_t* velocity) {
  const ModelMode* mode = sim->core.mode;
  bool found = false;
  double least = (double)INFINITY;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    uint32_t p = eng_atom_place(mode, guard->atoms[i]);
    for (uint32_t k = 0; k < guard->atom_count; k++) {
      uint32_t q = eng_atom_place(mode, guard->atoms[k]);
      if (i == k || p == MODEL_NONE || q == MODEL_NONE) continue;
      double apart = fabs(sim->detect.gdot[p] - sim->detect.g[q]);
      if (!(apart < least)) continue;
      least = apart;
      *gap = p;
      *velocity = q;
      found = true;
    }
  }
  return found;
}

bool eng_impact_is_last(EngSim* sim, uint32_t instead) {
  const ModelTransition* t = &sim->model->transitions[instead];
  if (!eng_guard(sim, &t->guard)) return false;
  uint32_t gap = 0;
  uint32_t velocity = 0;
  double leaves = 0.0;
  uint32_t impact = declared_impact(sim, t->automaton, &leaves);
  if (impact == MODEL_NONE || !declared_gap(sim, &t->guard, &gap, &velocity)) return false;
  eng_gather_states(sim);
  if (fabs(leaves) <= eng_impulse_rho(sim, velocity)) return true;
  if (eng_contact_structure(sim, 0) < 0) return false;
  double* flow = sim->contact.work->flow;
  model_program_run(&sim->core.mode->rhs, &sim->values.flow_context, sim->programs.rhs, sim->core.t,
                    sim->x, flow);
  double falls = eng_gap_acceleration(sim, gap, sim->core.t, sim->x, flow);
  return leaves > 0.0 && falls > 0.0 && flight_is_rounding(sim, gap, impact, leaves, falls);
}

// ---- what does not outlast the instant ----------------------------------------------------------

/// Relations of the guard beyond their boundaries, where a contact has come to its end: they do not
/// hold any more.
static void leave_relations(EngSim* sim, const EngContact* contact) {
  const ModelGuard* guard = &sim->model->transitions[contact->transition].guard;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    EngAtom* atom = &sim->atoms[guard->atoms[i]];
    if (atom->marks.kept_by_contact || !atom->truth || !sim->active.live[guard->atoms[i]]) continue;
    uint32_t index = eng_atom_place(sim->core.mode, guard->atoms[i]);
    if (index == MODEL_NONE || !(sim->detect.g[index] <= 0.0)) continue;
    atom->truth = false;
    atom->marks.left_now = true;
    sim->env[sim->model->atoms[guard->atoms[i]].env] = 0.0;
  }
}

/// Whether a relation leaves its boundary without a speed that rounding does not explain: one that
/// is thrown off is at its boundary again as soon as it falls back.
static bool leaves_along(EngSim* sim, uint32_t id) {
  uint32_t index = eng_atom_place(sim->core.mode, id);
  if (index == MODEL_NONE) return true;
  return fabs(sim->detect.g[index]) <= eng_rho(sim, index) &&
         fabs(sim->detect.gdot[index]) <= eng_slope_rho(sim, index);
}

/// The gap of a contact that ends is left along its boundary, unless an impact throws it off.
static void release(EngSim* sim, const EngContact* contact) {
  const ModelGuard* guard = &sim->model->transitions[contact->transition].guard;
  bar_impacts(sim, contact, false);
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    EngAtom* atom = &sim->atoms[guard->atoms[i]];
    if (atom->marks.kept_by_contact) atom->marks.tangential = leaves_along(sim, guard->atoms[i]);
    atom->marks.kept_by_contact = false;
  }
  if (contact->state != ENG_CONTACT_RESTS) {
    sim->atoms[contact->atom].truth = false;
    sim->atoms[contact->atom].marks.left_now = leaves_along(sim, contact->atom);
    sim->env[sim->model->atoms[contact->atom].env] = 0.0;
  }
  eng_trace_slide(sim, SLT_EVENT_SLIDE_OUT, contact->atom);
}

/// Take contact i out of the list.
static void take_out(EngSim* sim, uint32_t i, bool* changed) {
  if (sim->contact.closed[i].old) {
    release(sim, &sim->contact.closed[i]);
    *changed = true;
  }
  uint32_t count = --sim->core.contact.count;
  memmove(&sim->contact.closed[i], &sim->contact.closed[i + 1],
          (count - i) * sizeof *sim->contact.closed);
}

/// Whether this instant has taken the gap of a closed contact off its boundary: the bodies are
/// apart.
static bool is_apart(EngSim* sim, const EngContact* contact, uint32_t index) {
  double opened = sim->atoms[contact->atom].g_start - sim->detect.g[index];
  return opened > eng_rho(sim, index) && -sim->detect.g[index] > eng_sigma(sim, index);
}

/// Closed contacts that have no meaning in the present mode, or whose impact could not happen here
/// any more.
static void drop_lost(EngSim* sim, bool* changed) {
  for (uint32_t i = 0; i < sim->core.contact.count;) {
    EngContact* contact = &sim->contact.closed[i];
    uint32_t index = eng_atom_place(sim->core.mode, contact->atom);
    bool lost = index == MODEL_NONE || !leads_out(sim, contact);
    if (contact->old && !lost) {
      if (contact->lifts) leave_relations(sim, contact);
      lost |= is_apart(sim, contact, index);
      lost |= contact->state == ENG_CONTACT_CLOSED && !guard_allows(sim, contact);
    }
    if (lost) {
      take_out(sim, i, changed);
    } else {
      i++;
    }
  }
}

// ---- what does ----------------------------------------------------------------------------------

/// What else the resets of a contact change goes to its limit under them; what has none stays.
static void take_limit(EngSim* sim, uint32_t contact) {
  const Row* row = &sim->contact.work->rows[contact];
  const Entry* entries = sim->contact.work->entries + row->entry_begin;
  uint32_t count = row->entry_end - row->entry_begin;
  const uint32_t* state_env = sim->core.mode->state_env;
  double* next = sim->contact.work->resets;
  bool moves = true;
  eng_gather_states(sim);
  for (uint32_t turn = 0; moves && turn < LIMIT_MAX; turn++) {
    moves = false;
    eng_contact_resets(sim, row, sim->core.t, sim->x, 0.0, next);
    for (uint32_t k = 0; k < count; k++) {
      double* x = &sim->x[entries[k].state];
      double size = fabs(sim->env[state_env[entries[k].state]]);
      moves |= !(fabs(next[k] - *x) <= DBL_EPSILON * size);
      *x = next[k];
    }
  }
  for (uint32_t k = 0; !moves && k < count; k++) {
    sim->env[state_env[entries[k].state]] = sim->x[entries[k].state];
  }
}

/// Reactions that are not the only ones (Painleve): said once, with what else could be.
static void warn_of_ambiguity(EngSim* sim) {
  if (!sim->contact.work->ambiguous || sim->contact.work->warned || !sim->report.to.on_warning)
    return;
  sim->contact.work->warned = true;
  const ModelAtomText* gap = sim->model->atoms[sim->contact.closed[0].atom].written;
  eng_warn(sim, DIAG_W0804, gap->span,
           "at t = %s the reactions of closed contacts have no unique solution: '%.*s' could stay "
           "closed with the reaction %s, or open; it stays closed",
           eng_number(sim->core.t).text, STR_ARGS(gap->text),
           eng_short(sim->contact.work->rows[0].lambda).text);
}

SltStatus eng_contact_settle(EngSim* sim, bool* changed) {
  *changed = false;
  for (uint32_t i = 0; i < sim->model->atom_count; i++) {
    sim->atoms[i].kind.constant = false;
  }
  eng_gather_states(sim);
  eng_evaluate_g(sim, sim->core.t, true);
  drop_lost(sim, changed);
  while (sim->core.contact.count > 0) {
    SLT_TRY(solve_all(sim));
    sim->contact.work->limit_decides = ends_on_surface(sim);
    uint32_t count = sim->core.contact.count;
    // rows keep their numbers while contacts are taken out from behind
    for (uint32_t i = count; i-- > 0;) {
      if (opens(sim, &sim->contact.closed[i], &sim->contact.work->rows[i]))
        take_out(sim, i, changed);
    }
    if (sim->core.contact.count == count) break;
  }
  sim->core.contact.lifts = false;
  if (sim->core.contact.count == 0) return SLT_OK;
  warn_of_ambiguity(sim);
  find_stop(sim);
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    sim->env[sim->core.mode->state_env[i]] += sim->contact.work->flow[i];
  }
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    if (!sim->contact.closed[i].old) take_limit(sim, i);
  }
  eng_gather_states(sim);
  eng_evaluate_g(sim, sim->core.t, true);
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    EngContact* contact = &sim->contact.closed[i];
    contact->load = fmax(contact->old ? contact->load : 0.0, sim->contact.work->rows[i].lambda);
    contact->lifts = false;
    bar_impacts(sim, contact, true);
    if (!contact->old) {
      eng_trace_slide(sim, SLT_EVENT_ZENO, contact->atom);
      *changed = true;
    }
    contact->state = ENG_CONTACT_CLOSED;
    contact->old = true;
  }
  return eng_contact_mark_held(sim);
}
