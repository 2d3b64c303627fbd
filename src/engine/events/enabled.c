// SPDX-License-Identifier: MIT
//
// What is enabled, and which transitions fire together. Within a round all of them read the values
// before it, so those that interfere (one writes what another reads or writes) take successive
// rounds, in the order of the text; where that order matters it is said.
#include "engine/run/run.h"

#include <string.h>

// ---- what is enabled ----------------------------------------------------------------------------

/// Whether a relation of the guard has just crossed, or was turned round at its boundary now: a new
/// edge even if the guard was true before. (A ball that touches the next one is hit from behind.)
/// One of several alternatives that holds while another does is none.
static bool guard_has_new_edge(EngSim* sim, const ModelGuard* guard) {
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const EngAtom* atom = &sim->atoms[guard->atoms[i]];
    bool reached = atom->located && atom->located_truth;
    if (!reached) sim->events.looked = false;  // what has turned is known in an instant alone
    if (!reached && !eng_atom_was_turned(sim, guard->atoms[i])) continue;
    if (eng_guard_depends_on(sim, guard, guard->atoms[i])) return true;
  }
  return false;
}

/// What a transition waits for. Where it is the impact of a closed contact, see there.
static bool guard_holds(EngSim* sim, uint32_t transition) {
  if (ENG_UNLIKELY(sim->instant.transitions[transition].closed)) {
    return eng_contact_guard(sim, transition);
  }
  return eng_guard(sim, &sim->model->transitions[transition].guard);
}

bool eng_waits_for_accumulation(EngSim* sim, uint32_t transition) {
  const ModelTransition* t = &sim->model->transitions[transition];
  if (!t->zeno || sim->instant.transitions[transition].exits) return false;
  return !t->instead || !eng_impact_is_last(sim, transition);
}

static bool transition_enabled(EngSim* sim, uint32_t transition) {
  const ModelTransition* model = &sim->model->transitions[transition];
  EngTransition* edge = &sim->instant.transitions[transition];
  bool self = model->to == sim->state[model->automaton];
  if (eng_waits_for_accumulation(sim, transition)) return false;
  if (eng_dwells(sim, model->automaton)) return false;
  bool holds = guard_holds(sim, transition);
  if (!self) return holds;
  if (!holds) {
    edge->edge_seen = false;
    edge->taken = false;
    return false;
  }
  if (edge->taken) return false;
  return !edge->edge_seen || guard_has_new_edge(sim, &model->guard);
}

bool eng_switch_flips(EngSim* sim, uint32_t automaton) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  if (eng_dwells(sim, automaton)) return false;
  return eng_guard(sim, a->condition) != (sim->state[automaton] == 1);
}

/// One of the enabled transitions from `first` on that are chosen by lot. Each automaton has lots
/// of its own, new ones when a transition fires, so that asking twice gives the same answer.
static uint32_t draw_lot(EngSim* sim, uint32_t rank, const ModelState* state, uint32_t first) {
  ModelRandom lots;
  model_random_seed(&lots, sim->core.random.state[0], rank);
  uint32_t chosen = state->outgoing[first];
  uint32_t count = 0;
  for (uint32_t i = first; i < state->outgoing_count; i++) {
    uint32_t transition = state->outgoing[i];
    bool takes_part = sim->model->transitions[transition].by_lot &&
                      (i == first || transition_enabled(sim, transition));
    // the k-th of them takes the place of the one before with probability 1/k
    if (takes_part && model_random_uniform(&lots) * ++count < 1.0) chosen = transition;
  }
  return chosen;
}

uint32_t eng_first_enabled(EngSim* sim, uint32_t automaton) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  const ModelState* state = &a->states[sim->state[automaton]];
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    if (!transition_enabled(sim, state->outgoing[i])) continue;
    bool by_lot = sim->model->transitions[state->outgoing[i]].by_lot;
    return by_lot ? draw_lot(sim, a->rank, state, i) : state->outgoing[i];
  }
  return MODEL_NONE;
}

/// Whether something that is computed or asked for has lost its value.
static bool reads_nothing(EngSim* sim) {
  eng_evaluate_full(sim, sim->core.t);
  eng_evaluate_g(sim, sim->core.t, false);
  return !eng_all_finite(sim->values.full, sim->core.mode->full.output_count) ||
         !eng_all_finite(sim->detect.g, sim->core.mode->atom_count);
}

uint32_t events_broken_invariant(EngSim* sim) {
  if (!sim->instant.has_invariants) return MODEL_NONE;
  EngList automata = eng_instant_automata(sim);
  for (uint32_t n = 0; n < automata.count; n++) {
    uint32_t a = eng_nth(automata, n);
    const ModelState* state = &sim->model->automata[a].states[sim->state[a]];
    if (!state->invariant || eng_guard(sim, state->invariant)) continue;
    if (sim->model->automata[a].kind == MODEL_AUTOMATON_USER || reads_nothing(sim)) return a;
  }
  return MODEL_NONE;
}

bool events_any_enabled(EngSim* sim, bool (*counts)(EngSim* sim, uint32_t transition)) {
  EngList automata = eng_instant_automata(sim);
  for (uint32_t n = 0; n < automata.count; n++) {
    uint32_t a = eng_nth(automata, n);
    if (sim->model->automata[a].kind == MODEL_AUTOMATON_SWITCH || eng_is_barred(sim, a)) continue;
    uint32_t next = eng_automaton_active(sim, a) ? eng_first_enabled(sim, a) : MODEL_NONE;
    if (next != MODEL_NONE && (!counts || counts(sim, next))) return true;
  }
  return false;
}

/// Where a contact hits, what sticks is asked after the impact: a body cannot be stopped and thrown
/// back at once.
static void let_frictions_wait(EngSim* sim) {
  Events* events = &sim->events;
  bool hits = false;
  for (uint32_t i = 0; i < events->enabled_count; i++) {
    uint32_t transition = events->enabled[i].transition;
    hits |= transition != MODEL_NONE && eng_is_declared_impact(sim, transition);
  }
  for (uint32_t i = 0; hits && i < events->enabled_count; i++) {
    if (!sim->model->automata[events->enabled[i].automaton].yields) continue;
    events->enabled[i].transition = MODEL_NONE;
  }
}

void events_gather(EngSim* sim, EngList automata) {
  Events* events = &sim->events;
  events->fired_count = 0;
  for (uint32_t n = 0; n < automata.count; n++) {
    uint32_t a = events_nth_in_text(sim, automata, n);
    bool idle = eng_is_barred(sim, a) || !eng_automaton_active(sim, a);
    if (sim->model->automata[a].kind == MODEL_AUTOMATON_SWITCH) {
      if (idle || !eng_switch_flips(sim, a)) continue;
      events->fired_switch[events->fired_count] = true;
      events->fired[events->fired_count++] = a;
    } else {
      events_enabled_put(sim, a, idle ? MODEL_NONE : eng_first_enabled(sim, a));
    }
  }
  if (sim->instant.has_instead) let_frictions_wait(sim);
}

bool eng_anything_enabled(EngSim* sim) {
  Events* events = &sim->events;
  // what is slid along stays where it is
  EngList automata = ENG_UNLIKELY(eng_slides_locally(sim))
                         ? eng_active_automata_slow(sim)
                         : (EngList){NULL, sim->model->automaton_count};
  events_enabled_clear(sim);
  events->looked = true;
  events_gather(sim, automata);
  // the flow around surfaces, and what is due to an accumulation, are asked for in the instant
  bool any = events->fired_count + events->enabled_count > 0;
  events->looked &= any && !sim->detect.has_separating && !sim->instant.has_instead &&
                    !sim->core.dwell.any && !sim->core.contact.active && !sim->local &&
                    !sim->detect.has_pre && !sim->history.delays;
  return any || events_broken_invariant(sim) != MODEL_NONE;
}

void events_latch_edges(EngSim* sim, uint32_t automaton, bool latch) {
  if (!sim->instant.has_self_loops) return;
  const ModelState* state = &sim->model->automata[automaton].states[sim->state[automaton]];
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    uint32_t id = state->outgoing[i];
    if (sim->model->transitions[id].to != sim->state[automaton]) continue;
    bool holds = guard_holds(sim, id);
    sim->instant.transitions[id].taken = false;
    if (latch || !holds) sim->instant.transitions[id].edge_seen = holds;
  }
}

void eng_edges_visit(EngSim* sim, bool latch) {
  if (!sim->instant.has_self_loops) return;
  EngList automata = eng_instant_automata(sim);
  for (uint32_t n = 0; n < automata.count; n++) {
    events_latch_edges(sim, eng_nth(automata, n), latch);
  }
}

// ---- which transitions may fire together --------------------------------------------------------

/// Whether somebody writes what is read or written here; where is noted.
static bool meets_writer(EngSim* sim, uint32_t env) {
  if (!(sim->events.marks.env[env] & EVENTS_WRITTEN)) return false;
  sim->events.marks.met_at = env;
  return true;
}

/// What to do with marks on the way: nothing but to look at them, to set or to clear them.
typedef enum Visit { LOOK, MARK, CLEAR } Visit;

static void visit_mark(EngSim* sim, uint32_t env, uint8_t mark, Visit visit) {
  if (visit == MARK) sim->events.marks.env[env] |= mark;
  if (visit == CLEAR) sim->events.marks.env[env] = 0;
}

bool events_visit_origins(EngSim* sim, uint32_t env, ModelVisitFn* visit, void* user) {
  EventsMarks* marks = &sim->events.marks;
  const ModelMode* mode = sim->core.mode;
  uint32_t env_count = sim->model->env_count;
  if (marks->origins.program != &mode->full || marks->origins.mode_id != mode->id) {
    size_t room = model_origins_room(&mode->full, env_count);
    // out of memory: the next allocation of the instant says so
    if (ENG_GROW(sim, marks->origins_room, room) < 0) return false;
    model_origins_find(&marks->origins, mode, env_count, marks->origins_room);
  }
  return model_origins_visit(&marks->origins, env, visit, user);
}

typedef struct Reading {
  EngSim* sim;
  Visit visit;
  bool collide;
} Reading;

static void visit_origin(void* user, uint32_t env) {
  Reading* reading = user;
  if (env >= reading->sim->model->env_count) env -= reading->sim->model->env_count;  // pre(x)
  reading->collide |= meets_writer(reading->sim, env);
  visit_mark(reading->sim, env, EVENTS_READ, reading->visit);
}

/// Whoever reads what is computed reads what it is computed from, as if that were written out.
static bool read_collides(EngSim* sim, uint32_t env, Visit visit) {
  Reading reading = {sim, visit, false};
  visit_origin(&reading, env);
  if (env < sim->model->env_count && sim->values.computed[env])
    (void)events_visit_origins(sim, env, visit_origin, &reading);
  return reading.collide;
}

/// Visit what the actions of a range read and write; the result says whether they collide with what
/// is marked.
static bool actions_collide(EngSim* sim, uint32_t begin, uint32_t count, Visit visit) {
  bool collide = false;
  for (uint32_t i = begin; i < begin + count; i++) {
    const ModelAction* action = &sim->model->actions[i];
    collide |= meets_writer(sim, action->env) || sim->events.marks.env[action->env] != 0;
    for (uint32_t k = 0; k < model_term_inputs(&action->value); k++) {
      uint32_t env = model_term_input(&action->value, k);
      if (env != MODEL_NONE) collide |= read_collides(sim, env, visit);
    }
    visit_mark(sim, action->env, EVENTS_WRITTEN, visit);
  }
  return collide;
}

static bool guard_collides(EngSim* sim, const ModelGuard* guard, Visit visit) {
  bool collide = false;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const ModelAtom* atom = &sim->model->atoms[guard->atoms[i]];
    for (uint32_t k = 0; k < atom->read_count; k++) {
      uint32_t env = sim->model->vars[atom->reads[k].var].env + atom->reads[k].order;
      collide |= read_collides(sim, env, visit);
    }
  }
  return collide;
}

/// Visit what a transition reads and writes; the result says whether it collides with what is
/// marked (where: events.marks.met_at, if somebody writes that).
static bool transition_collides(EngSim* sim, uint32_t transition, Visit visit) {
  const ModelTransition* t = &sim->model->transitions[transition];
  const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
  sim->events.marks.met_at = MODEL_NONE;
  bool collide = guard_collides(sim, &t->guard, visit);
  collide |= actions_collide(sim, t->action_begin, t->action_count, visit);
  return actions_collide(sim, to->action_begin, to->action_count, visit) || collide;
}

bool events_reads_computed(const EngSim* sim, uint32_t action_begin, uint32_t action_count) {
  for (uint32_t i = action_begin; i < action_begin + action_count; i++) {
    const ModelTerm* value = &sim->model->actions[i].value;
    for (uint32_t k = 0; k < model_term_inputs(value); k++) {
      uint32_t env = model_term_input(value, k);
      if (env < sim->model->env_count && sim->values.computed[env]) return true;
    }
  }
  return false;
}

// ---- the list of what may fire ------------------------------------------------------------------

/// Place in the text; automata that were made of one place come in their own order.
static uint64_t rank_of(const EngSim* sim, uint32_t automaton) {
  return (uint64_t)sim->model->automata[automaton].rank << 32 | automaton;
}

/// The order of two automata makes a difference that nobody chose: say so, once per pair of places.
static void warn_of_order(EngSim* sim, uint32_t automaton, uint32_t transition) {
  const Model* model = sim->model;
  Span span = model->transitions[transition].span;
  bool quiet = model->automata[automaton].ranked || sim->instant.transitions[transition].warned;
  if (!sim->report.to.on_warning || quiet) return;
  sim->instant.transitions[transition].warned = true;
  uint32_t* warned = sim->events.warned_orders;
  for (uint32_t i = 0; i < EVENTS_ORDERS_WARNED; i++) {
    if (warned[i] == span.begin + 1) return;
    if (warned[i] != 0) continue;
    warned[i] = span.begin + 1;
    Str name = model->automata[automaton].name;
    eng_warn(sim, DIAG_W0805, span,
             "at t = %s automaton '%.*s' and others that could fire with it write or read the same "
             "values, and the result depends on who comes first: by priority, then as in the text",
             eng_number(sim->core.t).text, (int)(name.length < 100 ? name.length : 100), name.data);
    return;
  }
}

void events_enabled_clear(EngSim* sim) {
  sim->events.enabled_count = 0;
  sim->events.enabled_begin = 0;
  sim->events.meet = MODEL_NONE;
}

/// First entry whose automaton does not come before this one.
static uint32_t find_place(const EngSim* sim, uint32_t automaton) {
  const Events* events = &sim->events;
  uint64_t rank = rank_of(sim, automaton);
  uint32_t lo = 0;
  uint32_t hi = events->enabled_count;
  if (hi == 0 || rank_of(sim, events->enabled[hi - 1].automaton) < rank) return hi;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (rank_of(sim, events->enabled[mid].automaton) < rank) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return lo;
}

void events_enabled_put(EngSim* sim, uint32_t automaton, uint32_t transition) {
  Events* events = &sim->events;
  if (transition == MODEL_NONE && events->enabled_count == 0) return;
  uint32_t place = find_place(sim, automaton);
  EventsEnabled* at = &events->enabled[place];
  bool known = place < events->enabled_count && at->automaton == automaton;
  if (known && transition == at->transition) return;
  // who waited for others and cannot fire any more would have fired before them
  if (known && at->waits && transition == MODEL_NONE) warn_of_order(sim, automaton, at->transition);
  if (!known && transition == MODEL_NONE) return;
  if (!known) {
    memmove(at + 1, at, (events->enabled_count - place) * sizeof *at);
    events->enabled_count++;
  }
  // one that can do nothing stays in the list, and is passed over
  *at = (EventsEnabled){automaton, transition, MODEL_NONE, false};
  if (transition == MODEL_NONE) return;
  events->meet = MODEL_NONE;
  if (place < events->enabled_begin) events->enabled_begin = place;
}

/// Take the marks of what fires away again.
static void unmark(EngSim* sim, const uint32_t* fired, uint32_t count) {
  for (uint32_t f = 0; f < count; f++) {
    transition_collides(sim, fired[f], CLEAR);
  }
}

/// Whether an entry stays out of a round because of what fires in it already.
static bool stays_out(EngSim* sim, EventsEnabled* entry, const uint32_t* fired, uint32_t count) {
  Events* events = &sim->events;
  // those that met the last time mostly do it again, in the same place
  if (entry->meets != MODEL_NONE && (events->marks.env[entry->meets] & EVENTS_WRITTEN)) return true;
  if (!transition_collides(sim, entry->transition, LOOK)) return false;
  entry->meets = events->marks.met_at;
  // the model has chosen that the one that fires comes first
  bool meant =
      count == 1 && sim->model->automata[sim->model->transitions[fired[0]].automaton].ranked;
  if (!entry->waits && !meant && events_order_matters(sim, fired, count, entry->transition)) {
    warn_of_order(sim, entry->automaton, entry->transition);
  }
  entry->waits = true;
  return true;
}

uint32_t events_enabled_choose(EngSim* sim, uint32_t most) {
  Events* events = &sim->events;
  uint32_t* fired = events->fired + events->fired_count;
  uint32_t i = events->enabled_begin;
  while (i < events->enabled_count && events->enabled[i].transition == MODEL_NONE) {
    i++;
  }
  events->enabled_begin = i;
  if (i == events->enabled_count) return 0;
  fired[0] = events->enabled[i].transition;
  events->enabled[i].waits = false;
  if (i + 1 == events->enabled_count) return 1;  // nobody to interfere with
  uint32_t count = 0;
  bool same = true;  // all but the first met others in one place
  uint32_t place = MODEL_NONE;
  for (; i < events->enabled_count; i++) {
    EventsEnabled* entry = &events->enabled[i];
    if (entry->transition == MODEL_NONE) continue;
    if (count > most || (count > 0 && stays_out(sim, entry, fired, count))) {
      if (place == MODEL_NONE) place = entry->meets;
      same &= entry->meets == place;
      continue;
    }
    if (count > 0) same = false;
    if (count++ == most) continue;
    transition_collides(sim, entry->transition, MARK);
    fired[count - 1] = entry->transition;
    entry->waits = false;
    // where all the others wait for one value, the first that writes it keeps them out
    bool alone = events->meet != MODEL_NONE && (events->marks.env[events->meet] & EVENTS_WRITTEN);
    if (count == 1 && alone) {
      place = events->meet;
      break;
    }
  }
  events->meet = same && count == 1 ? place : MODEL_NONE;
  unmark(sim, fired, count < most ? count : most);
  return count;
}
