// SPDX-License-Identifier: MIT
//
// Instants in which one surface of many is left, or reached: they cost what they touch.
//
// While the motion goes along a surface, nothing happens to its relations and to the switches that
// follow them: they are inactive. An instant whose motion is `local` (EngSlide) begins with a
// reduced active set (EngActiveSet): the relations that are not slid along, the automata that
// follow no such surface, and what belongs to the surface that is left. What it finds out changes
// the surfaces one by one, and with them the labels of what depends on them, the copies of switches
// in the registers, and the equations that are run in the stages; of all other surfaces it asks
// only whether they go on, in one run of the equations.
//
// The rules are those of every instant, on fewer things. As soon as something happens that may
// concern what is inactive (an action sets values, the equations change, a surface is crossed or
// several are left at once) the active set is completed: everything is as it would have been
// without the shortcut, and goes its usual way.
#include "engine/sliding/value.h"

#include <string.h>

// ---- what never changes -------------------------------------------------------------------------

static void spoil(EngSim* sim, const ModelGuard* guard) {
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    sim->sliding.value.plain[guard->atoms[i]] = 0;
  }
}

static void find_plain(EngSim* sim) {
  const Model* model = sim->model;
  memset(sim->sliding.value.plain, 1, model->atom_count);
  for (uint32_t i = 0; i < model->transition_count; i++) {
    spoil(sim, &model->transitions[i].guard);
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    const ModelAutomaton* automaton = &model->automata[a];
    for (uint32_t s = 0; s < automaton->state_count; s++) {
      if (automaton->states[s].invariant) spoil(sim, automaton->states[s].invariant);
    }
    bool plain = sim->sliding.value.switch_alone[a] && sim->sliding.value.follows[a] != MODEL_NONE;
    if (automaton->condition && !plain) spoil(sim, automaton->condition);
  }
}

static void visit_followers(BaseLists* lists, void* user) {
  const EngSim* sim = user;
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    uint32_t follows = sim->sliding.value.follows[a];
    if (follows != MODEL_NONE) base_lists_add(lists, follows / 2, a);
  }
}

SltStatus eng_reduced_init(EngSim* sim) {
  const Model* model = sim->model;
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    const ModelAutomaton* automaton = &model->automata[a];
    sim->sliding.value.switch_alone[a] = automaton->kind == MODEL_AUTOMATON_SWITCH &&
                                         !automaton->has_bodies &&
                                         automaton->parent_automaton == MODEL_NONE;
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    uint32_t parent = model->automata[a].parent_automaton;
    if (parent != MODEL_NONE) sim->sliding.value.switch_alone[parent] = 0;
  }
  find_plain(sim);
  bool made = base_lists_make(&sim->sliding.value.followers, &sim->options.allocator,
                              model->atom_count, visit_followers, sim);
  return made ? SLT_OK : SLT_ERR_NOMEM;
}

// ---- the active set -----------------------------------------------------------------------------

static bool is_inactive(const EngSim* sim, uint32_t automaton) {
  uint32_t follows = sim->sliding.value.follows[automaton];
  return follows != MODEL_NONE && sim->sliding.value.of_atom[follows / 2] != MODEL_NONE;
}

EngList eng_active_automata_slow(EngSim* sim) {
  if (sim->active.automata_stale) {
    sim->active.automaton_count = 0;
    for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
      if (!is_inactive(sim, a)) sim->active.automata[sim->active.automaton_count++] = a;
    }
    sim->active.automata_stale = false;
  }
  return (EngList){sim->active.automata, sim->active.automaton_count};
}

/// Into an ascending list that does not have it.
static void insert(uint32_t* list, uint32_t* count, uint32_t item) {
  uint32_t at = (*count)++;
  for (; at > 0 && list[at - 1] > item; at--) {
    list[at] = list[at - 1];
  }
  list[at] = item;
}

static void activate(EngSim* sim, uint32_t surface) {
  for (uint32_t a = sim->sliding.value.surfaces[surface].first; a != MODEL_NONE;
       a = sim->sliding.value.next[a]) {
    insert(sim->active.followed, &sim->active.followed_count, eng_atom_place(sim->core.mode, a));
    uint32_t end = sim->sliding.value.followers.begin[a + 1];
    for (uint32_t k = sim->sliding.value.followers.begin[a]; k < end; k++) {
      insert(sim->active.automata, &sim->active.automaton_count,
             sim->sliding.value.followers.list[k]);
    }
  }
}

/// Whether all surfaces but the one that is left are at zero, however narrow their zones.
static bool all_at_zero(const EngSim* sim) {
  uint32_t leaves = sim->core.exit.pending ? sim->core.exit.surface : MODEL_NONE;
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    const EngSurface* s = &sim->sliding.value.surfaces[i];
    if (!value_is_at_zero(sim, s->state) && i != leaves) return false;
  }
  return true;
}

void eng_reduced_begin(EngSim* sim) {
  const EngCore* core = &sim->core;
  const ModelMode* mode = core->mode;
  if (core->contact.active || sim->contact.holds || core->dwell.any || sim->detect.has_pre ||
      sim->detect.has_auxiliary || sim->history.delays || sim->events.due_count ||
      sim->active.stale || !sim->programs.entered) {
    return;
  }
  if (!mode->shared || mode->implicit || sim->instant.zeno_automaton != MODEL_NONE) return;
  if (sim->sliding.motion.bound != mode || !eng_dependency(sim) || !all_at_zero(sim)) return;
  eng_followed(sim);
  eng_active_automata_slow(sim);
  if (core->exit.pending) {
    activate(sim, core->exit.surface);
    sim->core.margins.stale = true;
  }
  sim->active.kept = core->slide;
  sim->active.reduced = true;
}

void eng_active_complete_slow(EngSim* sim) {
  sim->active.reduced = false;
  sim->active.followed_stale = true;
  sim->active.automata_stale = true;
  sim->core.margins.stale = true;
  if (sim->core.full_stale) eng_evaluate_full(sim, sim->core.t);
  const ModelMode* mode = sim->core.mode;
  uint32_t next = 0;
  eng_evaluate_g(sim, sim->core.t, true);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    if (next < sim->active.followed_count && sim->active.followed[next] == i) {
      next++;
      continue;
    }
    // as the begin of the instant leaves what was slid along; no value has changed since
    EngAtom* atom = &sim->atoms[mode->atoms[i]];
    eng_atom_begin_instant(sim, mode->atoms[i]);
    atom->g_start = sim->detect.g[i];
    atom->marks.by_flow = false;
  }
}

void eng_reduced_end(EngSim* sim) {
  sim->active.reduced = false;
  uint32_t kept = 0;
  for (uint32_t k = 0; k < sim->active.followed_count; k++) {
    uint32_t i = sim->active.followed[k];
    if (!sim->atoms[sim->core.mode->atoms[i]].sliding) sim->active.followed[kept++] = i;
  }
  sim->active.followed_count = kept;
  sim->active.followed_stale = false;
  sim->active.automata_stale = false;
  kept = 0;
  for (uint32_t k = 0; k < sim->active.automaton_count; k++) {
    uint32_t a = sim->active.automata[k];
    if (!is_inactive(sim, a)) sim->active.automata[kept++] = a;
  }
  sim->active.automaton_count = kept;
}

// ---- surfaces that come and go ------------------------------------------------------------------

/// Number all entries of a surface's switches, or forget them (MODEL_NONE).
static void number_entries(EngSim* sim, uint32_t surface, uint32_t number) {
  for (uint32_t a = sim->sliding.value.surfaces[surface].first; a != MODEL_NONE;
       a = sim->sliding.value.next[a]) {
    sim->sliding.value.of_atom[a] = number;
    uint32_t end = sim->sliding.value.followers.begin[a + 1];
    for (uint32_t k = sim->sliding.value.followers.begin[a]; k < end; k++) {
      uint32_t automaton = sim->sliding.value.followers.list[k];
      bool rises = sim->sliding.value.same[a] == (sim->sliding.value.follows[automaton] & 1u);
      for (uint32_t s = 0; s < 2; s++) {
        uint32_t env = sim->model->automata[automaton].states[s].test_env;
        if (env == MODEL_NONE) continue;
        uint32_t below = rises == (s == 0) ? 1u : 0u;
        sim->sliding.value.of_env[env] = number == MODEL_NONE ? MODEL_NONE : 2 * number + below;
      }
    }
  }
}

static void drop_parts(EngValuePart* parts, uint32_t* count, uint32_t surface, uint32_t last) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < *count; i++) {
    EngValuePart part = parts[i];
    if (part.surface == surface) continue;
    if (part.surface == last) part.surface = surface;
    parts[kept++] = part;
  }
  *count = kept;
}

/// A surface is slid along no more; the last one takes its number.
static void drop_surface(EngSim* sim, uint32_t surface, uint32_t* count) {
  uint32_t last = --*count;
  sim->sliding.value.of_state[sim->sliding.value.surfaces[surface].state] = MODEL_NONE;
  number_entries(sim, surface, MODEL_NONE);
  if (last != surface) {
    number_entries(sim, last, surface);
    sim->sliding.value.surfaces[surface] = sim->sliding.value.surfaces[last];
    sim->sliding.motion.state[surface] = sim->sliding.motion.state[last];
    sim->sliding.motion.fall[surface] = sim->sliding.motion.fall[last];
    sim->sliding.motion.last[surface] = sim->sliding.motion.last[last];
    sim->sliding.value.of_state[sim->sliding.motion.state[surface]] = surface;
  }
  drop_parts(sim->sliding.motion.rhs, &sim->sliding.motion.rhs_count, surface, last);
  drop_parts(sim->sliding.motion.full, &sim->sliding.motion.full_count, surface, last);
  uint32_t switches = 0;
  for (uint32_t i = 0; i < sim->sliding.value.switch_count; i++) {
    EngValueSwitch s = sim->sliding.value.switches[i];
    if (s.surface == surface) continue;
    if (s.surface == last) s.surface = surface;
    sim->sliding.value.switches[switches++] = s;
  }
  sim->sliding.value.switch_count = switches;
}

/// The switches of a surface as on one side, in probe.states. Whether some of them have to move.
static bool move_switches(EngSim* sim, uint32_t surface, bool above) {
  bool moves = false;
  for (uint32_t a = sim->sliding.value.surfaces[surface].first; a != MODEL_NONE;
       a = sim->sliding.value.next[a]) {
    uint32_t end = sim->sliding.value.followers.begin[a + 1];
    for (uint32_t k = sim->sliding.value.followers.begin[a]; k < end; k++) {
      uint32_t automaton = sim->sliding.value.followers.list[k];
      bool rises = sim->sliding.value.same[a] == (sim->sliding.value.follows[automaton] & 1u);
      sim->probe.states[automaton] = above == rises ? 1 : 0;
      moves |= sim->probe.states[automaton] != sim->state[automaton];
    }
  }
  return moves;
}

void eng_reduced_leave(EngSim* sim, uint32_t surface, bool above) {
  move_switches(sim, surface, above);
  drop_surface(sim, surface, &sim->active.kept.count);
}

/// Where the new surfaces, and what depends on them, begin.
typedef struct News {
  uint32_t surface, rhs, full;
} News;

/// Whether a relation that is not slid along belongs to a surface that is a state, and the motion
/// stands on it.
static bool stands_at(const EngSim* sim, uint32_t i, uint32_t direct) {
  uint32_t atom = sim->core.mode->atoms[i];
  if (sim->sliding.value.of_atom[atom] != MODEL_NONE || !value_may_bound(sim, atom)) return false;
  if (direct != MODEL_NONE) return value_is_at_zero(sim, direct / 2);
  return fabs(sim->detect.g[i]) <= sim->atoms[atom].zone;
}

/// New surfaces from the relations that are not slid along, without them; false: this is for the
/// usual way.
static bool find_new(EngSim* sim, const uint32_t* direct) {
  EngSlide* slide = &sim->core.slide;
  uint32_t before = slide->count;
  for (uint32_t k = 0; k < sim->active.followed_count; k++) {
    uint32_t i = sim->active.followed[k];
    if (!stands_at(sim, i, direct[i])) continue;
    if (direct[i] == MODEL_NONE) return false;
    uint32_t state = direct[i] / 2;
    bool known = sim->sliding.value.of_state[state] != MODEL_NONE;
    if (known && sim->sliding.value.of_state[state] < before) return false;
    if (known || !sim->atoms[sim->core.mode->atoms[i]].surface) continue;
    sim->sliding.value.of_state[state] = slide->count;
    sim->sliding.motion.state[slide->count] = state;
    sim->sliding.value.surfaces[slide->count++] =
        (EngSurface){.state = state, .first = MODEL_NONE, .slides = true};
  }
  return true;
}

/// The relations of the new surfaces, from `first` on; false as above.
static bool relate_new(EngSim* sim, const uint32_t* direct, uint32_t first) {
  for (uint32_t k = 0; k < sim->active.followed_count; k++) {
    uint32_t i = sim->active.followed[k];
    uint32_t atom = sim->core.mode->atoms[i];
    uint32_t surface =
        direct[i] == MODEL_NONE ? MODEL_NONE : sim->sliding.value.of_state[direct[i] / 2];
    if (surface == MODEL_NONE || surface < first || !stands_at(sim, i, direct[i])) continue;
    if (!sim->sliding.value.plain[atom]) return false;
    EngSurface* s = &sim->sliding.value.surfaces[surface];
    if (s->first == MODEL_NONE) {
      s->atom = atom;
      s->index = i;
      s->negative = direct[i] & 1u;
    }
    value_add_relation(sim, surface, atom, s->negative == (direct[i] & 1u));
  }
  return true;
}

/// The switches of a new surface; false: there are none, or they do not agree where it stands.
static bool take_switches(EngSim* sim, uint32_t surface) {
  EngSurface* s = &sim->sliding.value.surfaces[surface];
  for (uint32_t a = s->first; a != MODEL_NONE; a = sim->sliding.value.next[a]) {
    uint32_t end = sim->sliding.value.followers.begin[a + 1];
    for (uint32_t k = sim->sliding.value.followers.begin[a]; k < end; k++) {
      uint32_t automaton = sim->sliding.value.followers.list[k];
      bool rises = sim->sliding.value.same[a] == (sim->sliding.value.follows[automaton] & 1u);
      sim->sliding.value.switches[sim->sliding.value.switch_count++] =
          (EngValueSwitch){.automaton = automaton, .surface = surface, .rises = rises};
      bool above = (sim->state[automaton] == 1) == rises;
      s->stands_above |= above;
      s->stands_below |= !above;
      s->separates = true;
    }
  }
  number_entries(sim, surface, surface);
  return s->stands_above != s->stands_below;
}

static void add_part(EngValuePart* parts, uint32_t* count, uint32_t first, EngValuePart part) {
  for (uint32_t i = first; i < *count; i++) {
    if (parts[i].output == part.output) return;
  }
  parts[(*count)++] = part;
}

/// What depends on an entry of a new surface; false: it depends on others too, or is not shifted.
static bool take_readers(EngSim* sim, const EngDependency* dependency, const News* news,
                         uint32_t env, uint32_t surface) {
  const EngSurface* s = &sim->sliding.value.surfaces[surface];
  for (uint32_t k = dependency->readers.begin[env]; k < dependency->readers.begin[env + 1]; k++) {
    EngDependencyReader reader = eng_dependency_reader(dependency, k);
    if (reader.kind == ENG_READER_GDOT) {
      uint32_t output = dependency->gdot.dependent[reader.at].output;
      uint32_t other = sim->sliding.value.of_atom[sim->core.mode->atoms[output]];
      bool leads = other != MODEL_NONE && sim->sliding.value.surfaces[other].index == output;
      if (leads && other != surface) return false;
    }
    if (reader.kind != ENG_READER_RHS && reader.kind != ENG_READER_FULL) continue;
    bool rhs = reader.kind == ENG_READER_RHS;
    const EngDependencyOutput* dependent =
        &(rhs ? &dependency->rhs : &dependency->full)->dependent[reader.at];
    if (!dependent->shifts || value_label(sim, dependency, dependent->set) != surface) return false;
    if (rhs && dependent->output != s->state) return false;
    add_part(rhs ? sim->sliding.motion.rhs : sim->sliding.motion.full,
             rhs ? &sim->sliding.motion.rhs_count : &sim->sliding.motion.full_count,
             rhs ? news->rhs : news->full, (EngValuePart){dependent->output, surface});
  }
  return true;
}

static bool take_dependent(EngSim* sim, const EngDependency* dependency, const News* news,
                           uint32_t surface) {
  const EngSurface* s = &sim->sliding.value.surfaces[surface];
  uint32_t rate = value_label(sim, dependency, dependency->gdot.set[s->index]);
  if (rate != surface && rate != NO_SURFACE) return false;
  for (uint32_t a = s->first; a != MODEL_NONE; a = sim->sliding.value.next[a]) {
    uint32_t end = sim->sliding.value.followers.begin[a + 1];
    for (uint32_t k = sim->sliding.value.followers.begin[a]; k < end; k++) {
      const ModelState* states = sim->model->automata[sim->sliding.value.followers.list[k]].states;
      for (uint32_t i = 0; i < 2; i++) {
        if (states[i].test_env == MODEL_NONE) continue;
        if (!take_readers(sim, dependency, news, states[i].test_env, surface)) return false;
      }
    }
  }
  return true;
}

// ---- registers ----------------------------------------------------------------------------------

/// Copies of an entry in the registers of both sides follow it.
static void patch(EngSim* sim, const EngDependency* dependency, uint32_t env) {
  if (env == MODEL_NONE) return;
  uint32_t entry = sim->sliding.value.of_env[env];
  double low = entry == MODEL_NONE ? sim->env[env] : (double)(entry & 1u);
  double high = entry == MODEL_NONE ? low : 1.0 - low;
  EngSideRegs* regs = sim->sliding.sides.regs;
  for (uint32_t k = dependency->readers.begin[env]; k < dependency->readers.begin[env + 1]; k++) {
    EngDependencyReader reader = eng_dependency_reader(dependency, k);
    if (reader.kind == ENG_READER_RHS_INPUT) {
      regs[0].rhs[reader.at] = low;
      regs[1].rhs[reader.at] = high;
      regs[0].rhs_dual[reader.at] = model_dual_fixed(low);
      regs[1].rhs_dual[reader.at] = model_dual_fixed(high);
    } else if (reader.kind == ENG_READER_FULL_INPUT) {
      regs[0].full[reader.at] = low;
      regs[1].full[reader.at] = high;
    }
  }
}

/// Copies of an entry in the registers of the mode follow it.
static void patch_mode(EngSim* sim, const EngDependency* dependency, uint32_t env) {
  if (env == MODEL_NONE) return;
  double value = sim->env[env];
  double* const regs[] = {sim->programs.rhs, sim->programs.full, sim->programs.g,
                          sim->programs.gdot};
  for (uint32_t k = dependency->readers.begin[env]; k < dependency->readers.begin[env + 1]; k++) {
    EngDependencyReader reader = eng_dependency_reader(dependency, k);
    if (reader.kind >= ENG_READER_RHS_INPUT)
      regs[reader.kind - ENG_READER_RHS_INPUT][reader.at] = value;
  }
}

typedef void PatchFn(EngSim* sim, const EngDependency* dependency, uint32_t env);

/// All entries that may have moved in this instant.
static void patch_active(EngSim* sim, const EngDependency* dependency, PatchFn* patch_entry) {
  const Model* model = sim->model;
  for (uint32_t k = 0; k < sim->active.automaton_count; k++) {
    const ModelAutomaton* automaton = &model->automata[sim->active.automata[k]];
    for (uint32_t s = 0; s < automaton->state_count; s++) {
      patch_entry(sim, dependency, automaton->states[s].test_env);
    }
    patch_entry(sim, dependency, automaton->entry_env);
  }
  for (uint32_t k = 0; k < sim->active.followed_count; k++) {
    patch_entry(sim, dependency, model->atoms[sim->core.mode->atoms[sim->active.followed[k]]].env);
  }
}

void eng_reduced_patch(EngSim* sim) {
  const EngDependency* dependency = eng_dependency(sim);
  if (dependency) patch_active(sim, dependency, patch);
}

bool eng_reduced_bind(EngSim* sim) {
  const EngDependency* dependency = eng_dependency(sim);
  if (!dependency || dependency->g_reads || sim->programs.bound != sim->core.mode) return false;
  patch_active(sim, dependency, patch_mode);
  return true;
}

// ---- the continuation ---------------------------------------------------------------------------

/// Rates of new surfaces from `first` on, below and above, into value_low and value_high. False:
/// they cannot be computed one by one.
static bool rates_of_new(EngSim* sim, uint32_t first) {
  const ModelProgram* rhs = &sim->core.mode->rhs;
  const ModelContext* context = eng_context(sim);
  for (uint32_t i = first; i < sim->core.slide.count; i++) {
    uint32_t state = sim->sliding.motion.state[i];
    double* ends[] = {sim->probe.flow, sim->sliding.motion.out};
    for (uint32_t end = 0; end < 2; end++) {
      if (!model_program_run_output(rhs, context, sim->sliding.sides.regs[end].rhs, sim->core.t,
                                    eng_point_state, sim->x, state, &ends[end][state])) {
        return false;
      }
    }
    sim->sliding.motion.fall[i] = sim->probe.flow[state] - sim->sliding.motion.out[state];
    sim->sliding.motion.last[i] = sim->probe.flow[state] / sim->sliding.motion.fall[i];
    double sign = sim->sliding.value.surfaces[i].negative ? -1.0 : 1.0;
    sim->sliding.motion.low[i] = sign * sim->probe.flow[state];
    sim->sliding.motion.high[i] = sign * sim->sliding.motion.out[state];
  }
  return true;
}

/// Coefficients of the surfaces before `first` at the present point, into value_last.
static void coefficients_of_kept(EngSim* sim, const EngDependency* dependency, uint32_t first) {
  if (value_note_coefficients(sim, dependency, sim->core.t, sim->x, first)) return;
  model_program_run(&sim->core.mode->rhs, eng_context(sim), sim->sliding.sides.regs[0].rhs,
                    sim->core.t, sim->x, sim->probe.x);
  for (uint32_t i = 0; i < first; i++) {
    sim->sliding.motion.last[i] =
        sim->probe.x[sim->sliding.motion.state[i]] / sim->sliding.motion.fall[i];
  }
  memcpy(sim->sliding.motion.last_x, sim->x, sim->core.mode->state_count * sizeof(double));
  sim->sliding.motion.last_t = sim->core.t;
}

/// Whether the motion goes on along all surfaces before `first`; the others are new, and it is
/// found out whether they slide, or where they go.
static bool decide(EngSim* sim, const EngDependency* dependency, uint32_t first) {
  uint32_t n = sim->core.slide.count;
  if (!rates_of_new(sim, first)) return false;
  coefficients_of_kept(sim, dependency, first);
  for (uint32_t i = 0; i < first; i++) {
    double fall = fabs(sim->sliding.motion.fall[i]);
    double low = sim->sliding.motion.last[i] * fall;
    if (value_direction(low, low, low - fall) <= 0 ||
        value_direction(low - fall, low, low - fall) >= 0)
      return false;
  }
  for (uint32_t i = first; i < n; i++) {
    EngSurface* s = &sim->sliding.value.surfaces[i];
    int from_below = value_direction(sim->sliding.motion.low[i], sim->sliding.motion.low[i],
                                     sim->sliding.motion.high[i]);
    int from_above = value_direction(sim->sliding.motion.high[i], sim->sliding.motion.low[i],
                                     sim->sliding.motion.high[i]);
    s->slides = from_below > 0 && from_above < 0;
    s->above = from_below > 0;
    // where it may go either way, or nowhere, is for the usual way
    if (!s->slides && (from_below == 0 || from_below != from_above)) return false;
  }
  return true;
}

/// What the new surfaces do: those that slide stay. Whether some switch has to move.
static bool decide_new(EngSim* sim, uint32_t first) {
  EngSlide* slide = &sim->core.slide;
  bool moves = false;
  bool crossed = false;
  memcpy(sim->probe.states, sim->state, sim->model->automaton_count * sizeof *sim->state);
  for (uint32_t i = slide->count; i-- > first;) {
    if (sim->sliding.value.surfaces[i].slides) {
      value_latch(sim, i, value_present_side(sim, i));
      continue;
    }
    // where the flow leads
    bool above = sim->sliding.value.surfaces[i].above;
    moves |= move_switches(sim, i, above);
    value_latch(sim, i, above);
    crossed = true;
    drop_surface(sim, i, &slide->count);
  }
  if (crossed) eng_reduced_patch(sim);
  return moves;
}

/// The motion along the surfaces that are kept and those that are reached now; false: that cannot
/// be told from what has changed alone.
static bool goes_on(EngSim* sim, EngSlideVerdict* verdict) {
  EngSlide* slide = &sim->core.slide;
  const EngDependency* dependency = eng_dependency(sim);
  if (!dependency || sim->options.sliding != SLT_SLIDING_FILIPPOV) return false;
  News news = {slide->count, sim->sliding.motion.rhs_count, sim->sliding.motion.full_count};
  // of few surfaces all combinations of sides are looked at
  if (slide->count <= ENG_GROUP_MAX || !find_new(sim, dependency->direct)) return false;
  bool any = slide->count > news.surface;
  if (any && !relate_new(sim, dependency->direct, news.surface)) return false;
  for (uint32_t s = news.surface; s < slide->count; s++) {
    if (!take_switches(sim, s)) return false;
  }
  for (uint32_t s = news.surface; s < slide->count; s++) {
    if (!take_dependent(sim, dependency, &news, s)) return false;
  }
  eng_reduced_patch(sim);
  if (!decide(sim, dependency, news.surface)) return false;
  *verdict = ENG_SLIDE_ALONG;
  if (any && decide_new(sim, news.surface)) *verdict = ENG_SLIDE_MOVES;
  value_measure_parts(sim, news.rhs, news.full);
  slide->stiffness = 0.0;
  return value_choose_part(sim) >= 0;
}

bool eng_reduced_continue(EngSim* sim, EngSlideVerdict* verdict) {
  sim->core.slide = sim->active.kept;
  if (!goes_on(sim, verdict)) {
    *verdict = ENG_SLIDE_NONE;
    sim->core.slide = (EngSlide){.count = 0};
    eng_active_complete(sim);
    return false;
  }
  sim->active.kept = sim->core.slide;
  sim->instant.slide_decided = true;
  return true;
}
