// SPDX-License-Identifier: MIT
//
// Which surfaces depend on each other, and the combinations of sides that are looked at.
//
// A surface is turned from below to above, all others staying below: what that changes (flows, the
// rates of other surfaces, computed values), here or at a point beside, depends on it. Surfaces
// whose rates depend on each other, or that change a quantity together in another way than by a
// sum, are one group. Groups that change nothing in common are looked at together: row p shows
// pattern p of all of them, so any number of independent surfaces costs as many rows as the largest
// group. Groups that add up in some quantity have rows of their own (`serial`).
#include "engine/contact/work.h"
#include "engine/sliding/sides.h"

#include <math.h>
#include <string.h>

#define SUM_ROUNDING 0x1p-40  // relative: differences that do not tell a sum from something else
#define FILTERS      6        // passes until the surfaces that separate nothing are left out

static void all_below(EngSim* sim) {
  for (uint32_t k = 0; k < sim->core.slide.count; k++) {
    EngSurface* s = &sim->sliding.value.surfaces[k];
    s->above = false;
    s->row = UINT32_MAX - ENG_SIDES_MAX;
    s->size = 1;
    s->bit = 0;
  }
}

/// Relations at a kink (`abs(v)` at v = 0) hold as the flow of a row leads. Whether some do not
/// yet.
static bool follow_kinks(EngSim* sim, uint32_t row) {
  EngSideRegs* r = &sim->sliding.sides.regs[row];
  const ModelMode* mode = r->mode;
  bool any = false;
  model_program_run(&mode->gdot, eng_context(sim), r->gdot, sim->core.t,
                    side_point(sim, row, sim->core.t, sim->x), sim->probe.g);
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    uint32_t atom = mode->atoms[i];
    if (sim->sliding.value.of_atom[atom] != SLIDE_KINK || sim->probe.g[i] == 0.0) continue;
    double truth = sim->probe.g[i] > 0.0 ? 1.0 : 0.0;
    any |= truth != sim->env[sim->model->atoms[atom].env];
    sim->env[sim->model->atoms[atom].env] = truth;
  }
  return any;
}

/// The mode with the surfaces as they are, from where the motion is, into a row.
static SltStatus make_row(EngSim* sim, uint32_t row, bool* found) {
  const ModelMode* mode = NULL;
  side_publish_settled(sim);
  SLT_TRY(side_mode(sim, &mode));
  *found = mode != NULL;
  if (!mode) return SLT_OK;
  return side_bind(sim, row, mode);
}

/// Row 1 with one surface above and the others below.
static SltStatus turn(EngSim* sim, uint32_t surface, bool* found) {
  EngSurface* s = &sim->sliding.value.surfaces[surface];
  all_below(sim);
  s->above = true;
  s->row = 1;
  return make_row(sim, 1, found);
}

/// Whether turning the surface for and back again leads from row 0 to row 1 and back, for ever: to
/// states that mean what they do. (What begins in `init` comes back to another state.)
static SltStatus goes_back(EngSim* sim, uint32_t surface, bool* back) {
  EngSurface* s = &sim->sliding.value.surfaces[surface];
  *back = true;
  side_publish_row(sim, 0);
  for (uint32_t turn = 1; turn <= 4 && *back; turn++) {
    const ModelMode* mode = NULL;
    s->above = turn & 1u;
    SLT_TRY(side_mode(sim, &mode));
    *back = mode && side_means_row(sim, mode, turn & 1u);
  }
  s->above = true;
  return SLT_OK;
}

/// g of a surface as the equations of a row have it; NaN where they do not.
static SltStatus value_in_row(EngSim* sim, uint32_t surface, uint32_t row, double* g) {
  const ModelMode* mode = sim->sliding.sides.regs[row].mode;
  uint32_t place = side_place(sim, surface, mode);
  *g = (double)NAN;
  if (place == MODEL_NONE) return SLT_OK;
  side_publish_row(sim, row);
  SLT_TRY(slide_values(sim, mode, sim->core.t, sim->x, sim->probe.g));
  *g = place & 1u ? -sim->probe.g[place / 2] : sim->probe.g[place / 2];
  return SLT_OK;
}

/// Whether g itself jumps where its relation does (`u = sign(e - u)`): the sides have no boundary
/// in common then, and nothing moves along it.
static SltStatus value_jumps(EngSim* sim, uint32_t surface, bool* jumps) {
  double below = 0.0;
  double above = 0.0;
  SLT_TRY(value_in_row(sim, surface, 0, &below));
  SLT_TRY(value_in_row(sim, surface, 1, &above));
  double sigma = eng_sigma(sim, sim->sliding.value.surfaces[surface].index);
  *jumps = fabs(above - below) > 2.0 * sigma;
  return SLT_OK;
}

static bool overlap(ModelInterval a, ModelInterval b) {
  return !(a.lo > b.hi || b.lo > a.hi);
}

static bool may_read(const EngSim* sim, uint32_t index, uint32_t state) {
  const ModelMode* mode = sim->core.mode;
  return !mode->atom_states || mode->atom_states[index] >> state & 1u;
}

/// How many relations within their tolerance of zero read a state.
static uint32_t readers_at_zero(EngSim* sim, uint32_t state) {
  uint32_t count = 0;
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t index = sim->active.indicators[place];
    if (!may_read(sim, index, state)) continue;
    count += fabs(sim->detect.g[index]) <= eng_sigma(sim, index);
  }
  return count;
}

/// The state that moves g most, for its tolerance; of several that move it about as much the one
/// that takes the fewest other relations off their zero. False: none does.
static bool choose_lift(EngSim* sim, uint32_t surface) {
  EngSurface* s = &sim->sliding.value.surfaces[surface];
  double most = 0.0;
  uint32_t best = MODEL_NONE;
  uint32_t fewest = 0;
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    if (!may_read(sim, s->index, i)) continue;
    double g = 0.0;
    s->lifts = i;
    double moves = fabs(side_slope(sim, surface, sim->core.t, sim->x, &g)) * side_tolerance(sim, i);
    if (!(moves > 0.5 * most)) continue;
    uint32_t readers = readers_at_zero(sim, i);
    if (moves <= 2.0 * most && readers >= fewest) continue;
    most = moves;
    best = i;
    fewest = readers;
  }
  s->lifts = best;
  return best != MODEL_NONE;
}

/// The same beside a surface: between the present point and the one where g is zero.
static double way_to_zero(const EngSim* sim, uint32_t state) {
  bool lifts = state == sim->sliding.lifted;
  return side_rounding(sim, state) + (lifts ? sim->sliding.lift : 0.0);
}

/// Whether the flows in rows 0 and 1 are the same where the surface is, up to rounding.
static bool flows_agree(EngSim* sim, uint32_t surface) {
  uint32_t n = sim->core.mode->state_count;
  ModelDual* flow = sim->sliding.sides.flow;
  side_evaluate(sim, 1, sim->core.t, sim->x);
  // flows of equal values overlap
  SideChanges changes = {.surface = surface};
  for (uint32_t i = 0; i < n && changes.count < SIDE_CHANGES; i++) {
    double value = side_flow(sim, 0)[i];
    bool same = value == side_flow(sim, 1)[i] && isfinite(value);
    if (!same) changes.states[changes.count++] = i;
  }
  if (changes.count == 0) return true;
  const EngSurface* s = &sim->sliding.value.surfaces[surface];
  SidePad* pad = side_rounding;
  double g = 0.0;
  if (s->offset == 0.0 && choose_lift(sim, surface)) {
    double slope = side_slope(sim, surface, sim->core.t, sim->x, &g);
    sim->sliding.lifted = s->lifts;
    sim->sliding.lift = fabs(g / slope);
    pad = way_to_zero;
  }
  bool few = changes.count < SIDE_CHANGES;
  ModelDual* other = flow + sim->values.n_max;
  side_enclose(sim, 0, pad, few ? &changes : NULL, flow, sim->sliding.sides.bound);
  side_enclose(sim, 1, pad, few ? &changes : NULL, other, sim->sliding.sides.bound);
  for (uint32_t k = 0; k < (few ? changes.count : n); k++) {
    uint32_t i = few ? changes.states[k] : k;
    if (!overlap(flow[i].v, other[i].v)) return false;
  }
  return true;
}

/// A surface at which a rate has no bounds, though the flows differ, is looked at from the distance
/// of its tolerance, too. Whether that is so and new.
static bool looks_beside(EngSim* sim, uint32_t surface) {
  EngSurface* s = &sim->sliding.value.surfaces[surface];
  const ModelDual* bound = &sim->sliding.sides.bound[(size_t)ENG_SIDES_MAX * surface];
  if (s->offset != 0.0 || (side_is_bounded(bound[0].v) && side_is_bounded(bound[1].v)))
    return false;
  if (!choose_lift(sim, surface)) return false;
  s->offset = eng_sigma(sim, s->index);
  return s->offset > 0.0;
}

int side_present(EngSim* sim, const EngSurface* s) {
  const uint32_t* below = side_states(sim, 0);
  const uint32_t* above = side_states(sim, side_row(s, 1u << s->bit));
  bool is_below = true;
  bool is_above = true;
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    if (below[a] == above[a]) continue;
    is_below &= sim->probe.settled[a] == below[a];
    is_above &= sim->probe.settled[a] == above[a];
  }
  return (int)is_above - (int)is_below;
}

// ---- filter -------------------------------------------------------------------------------------

/// Whether a surface has two sides that matter; `again`: the others have to be asked once more.
static SltStatus has_sides(EngSim* sim, uint32_t surface, bool* has, bool* again) {
  EngSurface* s = &sim->sliding.value.surfaces[surface];
  *has = false;
  bool found = false;
  SLT_TRY(turn(sim, surface, &found));
  if (!found || side_means_row(sim, sim->sliding.sides.regs[1].mode, 0)) return SLT_OK;
  bool back = false;
  SLT_TRY(goes_back(sim, surface, &back));
  if (!back) return SLT_OK;
  bool jumps = false;
  SLT_TRY(value_jumps(sim, surface, &jumps));
  if (jumps) return SLT_OK;
  *has = true;
  // where the flows are the same nothing is slid along
  if (!flows_agree(sim, surface)) {
    *again |= looks_beside(sim, surface);
    return SLT_OK;
  }
  *has = false;
  s->kink = s->met;
  sim->sliding.kinks |= s->kink;
  // on a chord the flow is the same on both sides as far as the tolerance goes
  bool lets_go = sim->core.step.chords && side_present(sim, s) != 0;
  for (uint32_t a = s->first; lets_go && a != MODEL_NONE; a = sim->sliding.value.next[a])
    sim->atoms[a].marks.tangential = true;
  return SLT_OK;
}

/// Leave out the surfaces below which the others cannot be looked at: only a reset leads there.
static SltStatus leave_out_unreachable(EngSim* sim, bool* fewer) {
  EngSurface* surfaces = sim->sliding.value.surfaces;
  uint32_t count = sim->core.slide.count;
  for (uint32_t k = 0; k < count; k++) {
    for (uint32_t other = 0; other < count; other++)
      surfaces[other].above = other != k && sim->atoms[surfaces[other].atom].truth;
    eng_restore_truths(sim);
    SLT_TRY(make_row(sim, 0, &surfaces[k].wanted));
  }
  *fewer = slide_keep(sim, ENG_KEEP_WANTED);
  return SLT_OK;
}

/// Leave out the surfaces that separate nothing.
static SltStatus filter(EngSim* sim) {
  EngSlide* slide = &sim->core.slide;
  bool again = true;
  for (uint32_t pass = 0; pass < FILTERS && again && slide->count; pass++) {
    bool found = false;
    again = false;
    all_below(sim);
    eng_restore_truths(sim);
    SLT_TRY(make_row(sim, 0, &found));
    if (!found) {
      SLT_TRY(leave_out_unreachable(sim, &again));
      if (!again) slide->count = 0;
      continue;
    }
    side_evaluate(sim, 0, sim->core.t, sim->x);
    for (uint32_t k = 0; k < slide->count; k++)
      SLT_TRY(has_sides(sim, k, &sim->sliding.value.surfaces[k].wanted, &again));
    again |= slide_keep(sim, ENG_KEEP_WANTED);
  }
  return SLT_OK;
}

// ---- dependency ---------------------------------------------------------------------------------

static void unite(EngSim* sim, uint32_t a, uint32_t b) {
  a = base_root(sim->sliding.sides.parent, a);
  b = base_root(sim->sliding.sides.parent, b);
  // the first surface stands for its group
  sim->sliding.sides.parent[a < b ? b : a] = a < b ? a : b;
}

/// What a row computes at the present point and beside it.
typedef struct View {
  double* flow[2];
  double* rate[2];   // of the relations of the row's mode
  double* value[2];  // by place of the environment
  const ModelMode* mode;
} View;

static SltStatus room_for_views(EngSim* sim, View* views, uint32_t count) {
  EngSliding* w = &sim->sliding;
  size_t n = sim->values.n_max;
  size_t atoms = sim->model->atom_count;
  size_t env = sim->model->env_count;
  size_t each = 2 * (n + atoms + env);
  SLT_TRY(ENG_GROW(sim, w->sides.values, each * count));
  double* at = w->sides.values;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t point = 0; point < 2; point++) {
      views[i].flow[point] = at;
      views[i].rate[point] = at + n;
      views[i].value[point] = at + n + atoms;
      at += n + atoms + env;
    }
  }
  return SLT_OK;
}

static void look(EngSim* sim, uint32_t row, View* view) {
  EngSideRegs* r = &sim->sliding.sides.regs[row];
  const ModelMode* mode = r->mode;
  const ModelContext* context = eng_context(sim);
  view->mode = mode;
  for (uint32_t point = 0; point < 2; point++) {
    double t = point ? slide_probe_time(sim, 0) : sim->core.t;
    const double* x = sim->x;
    if (point) {
      slide_probe_point(sim, 0, sim->probe.x);
      x = sim->probe.x;
    } else {
      x = side_point(sim, row, t, x);
    }
    model_program_run(&mode->rhs, context, r->rhs, t, x, view->flow[point]);
    model_program_run(&mode->gdot, context, r->gdot, t, x, view->rate[point]);
    model_program_run(&mode->full, context, r->full, t, x, sim->values.full);
    memset(view->value[point], 0, sim->model->env_count * sizeof(double));
    for (uint32_t i = 0; i < mode->full.output_count; i++)
      view->value[point][mode->full_env[i]] = sim->values.full[i];
  }
}

static bool differs(double a, double b) {
  return a != b && !(isnan(a) && isnan(b));
}

static bool adds_up(double both, double a, double b, double none) {
  double size = fabs(both) + fabs(a) + fabs(b) + fabs(none);
  return !(fabs(both - a - b + none) > SUM_ROUNDING * size);
}

/// Whether two surfaces change what both of them change by a sum.
static SltStatus are_additive(EngSim* sim, uint32_t a, uint32_t b, const View* base, View* views,
                              bool* additive) {
  bool found = false;
  *additive = false;
  SLT_TRY(turn(sim, b, &found));
  if (!found) return SLT_OK;
  look(sim, 1, &views[1]);
  sim->sliding.value.surfaces[a].above = true;
  sim->sliding.value.surfaces[a].row = 1;
  SLT_TRY(make_row(sim, 1, &found));
  if (!found) return SLT_OK;
  look(sim, 1, &views[2]);
  SLT_TRY(turn(sim, a, &found));
  if (!found) return SLT_OK;
  look(sim, 1, &views[0]);
  *additive = true;
  for (uint32_t point = 0; point < 2 && *additive; point++) {
    for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
      *additive &= adds_up(views[2].flow[point][i], views[0].flow[point][i],
                           views[1].flow[point][i], base->flow[point][i]);
    }
    for (uint32_t i = 0; i < sim->model->env_count; i++) {
      *additive &= adds_up(views[2].value[point][i], views[0].value[point][i],
                           views[1].value[point][i], base->value[point][i]);
    }
  }
  return SLT_OK;
}

/// Surface `surface` changes something that `owner` changes too.
static SltStatus join(EngSim* sim, uint32_t owner, uint32_t surface, const View* base,
                      View* views) {
  if (base_root(sim->sliding.sides.parent, owner) == base_root(sim->sliding.sides.parent, surface))
    return SLT_OK;
  EngSurface* a = &sim->sliding.value.surfaces[owner];
  EngSurface* b = &sim->sliding.value.surfaces[surface];
  if (a->serial && b->serial && !sim->sliding.links) return SLT_OK;
  bool additive = false;
  SLT_TRY(are_additive(sim, surface, owner, base, views, &additive));
  if (additive) {
    a->serial = true;
    b->serial = true;
  } else {
    unite(sim, owner, surface);
  }
  return SLT_OK;
}

static SltStatus own(EngSim* sim, uint32_t* owner, uint32_t surface, bool changed, const View* base,
                     View* views) {
  if (!changed) return SLT_OK;
  if (*owner == MODEL_NONE) {
    *owner = surface;
    return SLT_OK;
  }
  return join(sim, *owner, surface, base, views);
}

static double rate_in(const EngSim* sim, const View* view, uint32_t point, uint32_t surface) {
  const EngSurface* s = &sim->sliding.value.surfaces[surface];
  for (uint32_t a = s->first; a != MODEL_NONE; a = sim->sliding.value.next[a]) {
    uint32_t place = eng_atom_place(view->mode, a);
    if (place == MODEL_NONE) continue;
    double rate = view->rate[point][place];
    return sim->sliding.value.same[a] ? rate : -rate;
  }
  return (double)NAN;
}

/// What a surface changes: value_of_state and value_of_env tell the first one for each quantity.
static SltStatus find_dependents(EngSim* sim, uint32_t surface, const View* base, View* views) {
  bool found = false;
  SLT_TRY(turn(sim, surface, &found));
  if (!found) return SLT_OK;
  look(sim, 1, &views[0]);
  const View* view = &views[0];
  for (uint32_t j = 0; j < sim->core.slide.count; j++) {
    bool changed = differs(rate_in(sim, view, 0, j), rate_in(sim, base, 0, j)) ||
                   differs(rate_in(sim, view, 1, j), rate_in(sim, base, 1, j));
    if (j == surface || !changed) continue;
    if (sim->sliding.links) {
      SLT_TRY(join(sim, j, surface, base, views));
    } else {
      unite(sim, j, surface);
    }
  }
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    bool changed =
        differs(view->flow[0][i], base->flow[0][i]) || differs(view->flow[1][i], base->flow[1][i]);
    SLT_TRY(own(sim, &sim->sliding.value.of_state[i], surface, changed, base, views));
  }
  for (uint32_t i = 0; i < sim->model->env_count; i++) {
    bool changed = differs(view->value[0][i], base->value[0][i]) ||
                   differs(view->value[1][i], base->value[1][i]);
    SLT_TRY(own(sim, &sim->sliding.value.of_env[i], surface, changed, base, views));
  }
  return SLT_OK;
}

static SltStatus find_dependency(EngSim* sim) {
  EngSlide* slide = &sim->core.slide;
  memset(sim->sliding.value.of_state, 0xff,
         sim->core.mode->state_count * sizeof *sim->sliding.value.of_state);
  memset(sim->sliding.value.of_env, 0xff,
         sim->model->env_count * sizeof *sim->sliding.value.of_env);
  for (uint32_t k = 0; k < slide->count; k++) {
    sim->sliding.sides.parent[k] = k;
    // what acts on others has rows of its own
    sim->sliding.value.surfaces[k].serial = sim->sliding.links;
  }
  slide->linked = sim->sliding.links;
  if (slide->count < 2) return SLT_OK;
  View views[4];
  bool found = false;
  SLT_TRY(room_for_views(sim, views, 4));
  all_below(sim);
  SLT_TRY(make_row(sim, 0, &found));
  look(sim, 0, &views[3]);
  for (uint32_t k = 0; k < slide->count; k++)
    SLT_TRY(find_dependents(sim, k, &views[3], views));
  return SLT_OK;
}

// ---- contacts -----------------------------------------------------------------------------------

/// Where the marks of states and relations are, and the room to follow them.
static double* room_for_marks(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  EngSliding* w = &sim->sliding;
  size_t need = mode->state_count + mode->atom_count + model_reach_room(&mode->rhs, &mode->g_flow);
  if (ENG_GROW(sim, w->sides.values, need) < 0) return NULL;
  memset(w->sides.values, 0, mode->state_count * sizeof(double));
  return w->sides.values;
}

/// The relations that depend on the marked states, at once or later.
static const double* follow_marks(EngSim* sim, double* marks) {
  const ModelMode* mode = sim->core.mode;
  double* depends = marks + mode->state_count;
  model_reach(&mode->rhs, &mode->g_flow, eng_context(sim), sim->env, sim->core.t, sim->x, marks,
              depends, depends + mode->atom_count);
  return depends;
}

/// Whether closed contacts may act on surfaces, or surfaces on them. Where neither does, each goes
/// its own way.
static SltStatus meet_contacts(EngSim* sim, bool* meet) {
  const EngContactWork* contacts = sim->contact.work;
  uint32_t count = sim->core.contact.count;
  uint32_t n = sim->core.mode->state_count;
  *meet = count > 0;
  double* marks = count && eng_contact_structure(sim, count) >= 0 ? room_for_marks(sim) : NULL;
  if (!marks) return SLT_OK;
  for (uint32_t e = 0; e < contacts->rows[count - 1].entry_end; e++)
    marks[contacts->entries[e].state] = HUGE_VAL;
  const double* depends = follow_marks(sim, marks);
  for (uint32_t k = 0; k < sim->core.slide.count; k++)
    if (depends[sim->sliding.value.surfaces[k].index] != 0.0) return SLT_OK;
  memset(marks, 0, n * sizeof *marks);
  for (uint32_t k = 0; k < sim->core.slide.count; k++) {
    bool found = false;
    SLT_TRY(turn(sim, k, &found));
    if (!found) return SLT_OK;
    side_evaluate(sim, 1, sim->core.t, sim->x);
    for (uint32_t i = 0; i < n; i++)
      if (side_flow(sim, 0)[i] != side_flow(sim, 1)[i]) marks[i] = HUGE_VAL;
  }
  side_publish_settled(sim);
  eng_restore_truths(sim);
  depends = follow_marks(sim, marks);
  *meet = false;
  for (uint32_t k = 0; k < count; k++)
    *meet |= depends[contacts->rows[k].index] != 0.0;
  return SLT_OK;
}

// ---- rows ---------------------------------------------------------------------------------------

/// Numbers of the groups, places in them, and rows. False: a group is too large.
static bool number_groups(EngSim* sim) {
  EngSlide* slide = &sim->core.slide;
  EngSurface* surfaces = sim->sliding.value.surfaces;
  slide->group_count = 0;
  for (uint32_t k = 0; k < slide->count; k++)
    surfaces[k].size = 0;
  for (uint32_t k = 0; k < slide->count; k++) {
    uint32_t root = base_root(sim->sliding.sides.parent, k);
    if (root == k) surfaces[k].group = slide->group_count++;
    surfaces[k].group = surfaces[root].group;
    surfaces[k].bit = surfaces[root].size++;
    surfaces[root].serial |= surfaces[k].serial;
    if (surfaces[root].size > ENG_GROUP_MAX) return false;
  }
  uint32_t shared = 0;
  for (uint32_t k = 0; k < slide->count; k++) {
    const EngSurface* root = &surfaces[base_root(sim->sliding.sides.parent, k)];
    if (!root->serial && root->size > shared) shared = root->size;
  }
  uint32_t next = 1u << shared;
  for (uint32_t k = 0; k < slide->count; k++) {
    EngSurface* s = &surfaces[k];
    EngSurface* root = &surfaces[base_root(sim->sliding.sides.parent, k)];
    if (root == s) {
      s->row = s->serial ? next : 1;
      if (s->serial) next += (1u << s->size) - 1u;
    }
    s->row = root->row;
    s->size = root->size;
    s->serial = root->serial;
  }
  slide->rows = next;
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    uint32_t* owner = &sim->sliding.value.of_state[i];
    if (*owner != MODEL_NONE) *owner = base_root(sim->sliding.sides.parent, *owner);
  }
  for (uint32_t i = 0; i < sim->model->env_count; i++) {
    uint32_t* owner = &sim->sliding.value.of_env[i];
    if (*owner != MODEL_NONE) *owner = base_root(sim->sliding.sides.parent, *owner);
  }
  return true;
}

static SltStatus make_rows(EngSim* sim, bool* made) {
  EngSlide* slide = &sim->core.slide;
  *made = true;
  SLT_TRY(side_room_rows(sim, slide->rows));
  for (uint32_t row = 0; row < slide->rows && *made; row++) {
    for (uint32_t k = 0; k < slide->count; k++) {
      EngSurface* s = &sim->sliding.value.surfaces[k];
      s->above = side_is_above(s, row);
    }
    eng_restore_truths(sim);
    SLT_TRY(make_row(sim, row, made));
    if (*made && follow_kinks(sim, row)) SLT_TRY(make_row(sim, row, made));
  }
  side_publish_settled(sim);
  eng_restore_truths(sim);
  return SLT_OK;
}

SltStatus side_survey(EngSim* sim, bool* able) {
  EngSlide* slide = &sim->core.slide;
  *able = true;
  SLT_TRY(side_room(sim, slide->count));
  SLT_TRY(side_room_rows(sim, 2));
  SLT_TRY(slide_note_probes(sim));
  SLT_TRY(filter(sim));
  if (!slide->count) return SLT_OK;
  SLT_TRY(slide_note_probes(sim));
  SLT_TRY(meet_contacts(sim, &sim->sliding.links));
  SLT_TRY(find_dependency(sim));
  *able = number_groups(sim);
  if (!*able && !sim->sliding.links) {
    // any number of surfaces that only add up
    sim->sliding.links = true;
    SLT_TRY(find_dependency(sim));
    *able = number_groups(sim);
  }
  if (!*able) return SLT_OK;
  bool made = false;
  SLT_TRY(make_rows(sim, &made));
  if (!made) slide->count = 0;
  return SLT_OK;
}
