// SPDX-License-Identifier: MIT
//
// Event records: what fired in an instant, why, and what it changed. Records are collected while
// the instant is carried out and sent at its end, when the class of each is known.
#include "engine/detect/follow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COMPUTED_NOISE  1e-9  // share of a computed value that is no jump
#define EQUIVALENTS_MAX 32  // surfaces slid along at once whose quantities are listed, and of those

typedef struct Record {
  SltEventKind kind;
  uint32_t automaton, from, to;  // MODEL_NONE where there is none
  uint32_t iteration;
  uint32_t truth_begin, truth_count;
  uint32_t equivalent_begin, equivalent_count;
  uint32_t crossing;  // index into crossings, MODEL_NONE for none
  uint32_t line;
  Str text;
  SltCause cause;
  bool mythical, moved_state, boundary;
  bool fallen;  // what it assigned was dropped
  bool has_residual;
  double residual[2];
  double share;
} Record;

/// A relation of a record's guard.
typedef struct Truth {
  uint32_t atom;
  double g, pulse;
  bool holds, armed, located;
  bool reason;  // holds, or has to be false for a switch to turn off
} Truth;

typedef struct Equivalent {
  uint32_t var, order;
  double without, with, value;
} Equivalent;

/// What an action or the solution of a candidate's equations has changed, or the weight of an
/// impulse (in `after`).
typedef struct Change {
  uint32_t record;
  uint32_t var;
  uint32_t order;  // of the derivative
  bool impulse;
  bool computed;  // it follows from the others
  double before, after;
} Change;

/// What a listener is given: made for one record at a time.
typedef struct TraceOut {
  SltChange* impulses;
  SltChange* changes;
  const char** atoms;
  SltTruth* truths;
  SltEquivalent equivalents[EQUIVALENTS_MAX];
  const char** names;
} TraceOut;

struct EngTrace {
  Change* jumps;  // those of solutions
  uint32_t jump_count;
  uint32_t jump_begin;  // of the present round
  bool rejecting;       // what fires now rejects the last candidate
  char** names;         // of derivatives, once they are asked for
  uint32_t name_count;
  TraceOut out;
  Record* records;
  uint32_t record_count;
  Truth* truths;
  uint32_t truth_count;
  Equivalent* equivalents;
  uint32_t equivalent_count;
  double *share, *share_now;  // of the surfaces slid along: before the instant, after it
  uint32_t* share_atom;
  uint32_t share_count;
  double* side[2];  // values on the sides of a surface, by places of the environment
  uint8_t* side_known;
  Change* changes;
  uint32_t change_count;
  uint32_t* place;         // per entry of the environment: where a list has its change, if anywhere
  EngCrossing* crossings;  // as they were when the instant began
  uint32_t crossing_count;
  uint32_t* crossing_at;  // per relation of the mode: its place among them, if it has one
};

SltStatus eng_trace_create(EngSim* sim) {
  const SltAllocator* a = &sim->options.allocator;
  struct EngTrace* t = base_alloc(a, sizeof *t);
  sim->report.trace = t;
  if (!t) return SLT_ERR_NOMEM;
  size_t n = (size_t)sim->model->atom_count + 1;
  t->crossings = base_alloc(a, n * sizeof *t->crossings);
  t->crossing_at = base_alloc(a, (n + sim->model->env_count) * sizeof *t->crossing_at);
  t->place = t->crossing_at ? t->crossing_at + n : NULL;
  return t->crossings && t->place ? SLT_OK : SLT_ERR_NOMEM;
}

void eng_trace_shares(EngSim* sim) {
  struct EngTrace* t = sim->report.trace;
  uint32_t n = sim->core.slide.count;
  if (!n || !sim->report.to.on_event) return;
  if (ENG_MORE(sim, t->share, n) < 0 || ENG_MORE(sim, t->share_atom, n) < 0 ||
      !eng_slide_coefficients(sim, t->share)) {
    return;
  }
  t->share_count = n;
  for (uint32_t k = 0; k < n; k++) {
    t->share_atom[k] = eng_slide_atom(sim, k);
  }
  // where a surface is left its share is at an end, whatever rounding makes of it
  if (sim->core.exit.pending) {
    t->share[sim->core.exit.surface] = sim->core.exit.above ? 1.0 : 0.0;
  }
}

/// The relation of a crossing.
static inline uint32_t atom_of(const EngSim* sim, uint32_t crossing) {
  return sim->core.mode_before->atoms[sim->report.trace->crossings[crossing].index];
}

void eng_trace_begin(EngSim* sim) {
  struct EngTrace* t = sim->report.trace;
  t->record_count = 0;
  t->share_count = 0;
  t->truth_count = 0;
  t->equivalent_count = 0;
  t->change_count = 0;
  t->jump_count = 0;
  t->jump_begin = 0;
  t->rejecting = false;
  t->crossing_count = sim->detect.crossing_count;
  memcpy(t->crossings, sim->detect.crossings, sim->detect.crossing_count * sizeof *t->crossings);
  for (uint32_t i = 0; i < t->crossing_count; i++) {
    t->crossing_at[atom_of(sim, i)] = i;
  }
}

uint32_t eng_trace_count(const EngSim* sim) {
  return sim->report.trace->record_count;
}

/// Room for a record.
static bool has_room(EngSim* sim) {
  struct EngTrace* t = sim->report.trace;
  return ENG_MORE(sim, t->records, t->record_count + 1) >= 0;
}

static uint32_t add_record(EngSim* sim, Record record) {
  struct EngTrace* t = sim->report.trace;
  if (!has_room(sim)) return MODEL_NONE;
  t->records[t->record_count] = record;
  return t->record_count++;
}

static Truth truth_of(const EngSim* sim, const ModelGuard* guard, uint32_t i) {
  uint32_t id = guard->atoms[i];
  const EngAtom* atom = &sim->atoms[id];
  Truth truth = {.atom = id,
                 .g = (double)NAN,
                 .holds = atom->truth,
                 .armed = atom->armed,
                 .located = atom->located};
  if (!sim->report.to.on_event) return truth;  // counted, but nobody listens
  uint32_t place = eng_atom_place(sim->core.mode, id);
  if (place == MODEL_NONE || !sim->active.live[id]) return truth;
  truth.g = sim->detect.g[place];
  bool holds = false;
  if (eng_impulse_truth(sim, place, &holds)) truth.pulse = sim->dae.guard[place];
  return truth;
}

/// Where an atom was located in this instant; MODEL_NONE: nowhere.
static inline uint32_t crossing_of(const EngSim* sim, uint32_t atom) {
  const struct EngTrace* t = sim->report.trace;
  uint32_t at = t->crossing_at[atom];
  bool found = at < t->crossing_count && atom_of(sim, at) == atom;
  return found ? at : MODEL_NONE;
}

double eng_trace_speed(const EngSim* sim, uint32_t index) {
  const ModelMode* mode = sim->core.mode_before;
  uint32_t at = index < mode->atom_count ? crossing_of(sim, mode->atoms[index]) : MODEL_NONE;
  return at == MODEL_NONE ? 0.0 : fabs(sim->report.trace->crossings[at].slope);
}

/// The relations of a guard, and the one among them that was located. The reason is those that
/// hold, or all of a condition that no longer does; not what is only read and has to be false.
static void note_guard(EngSim* sim, const ModelGuard* guard, bool rising, Record* record) {
  struct EngTrace* t = sim->report.trace;
  record->truth_begin = t->truth_count;
  record->crossing = MODEL_NONE;
  // those of an instant that was located are read by nobody but the listener
  bool unread = !sim->report.to.on_event && t->crossing_count > 0;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    uint32_t id = guard->atoms[i];
    const EngAtom* atom = &sim->atoms[id];
    if (atom->located && record->crossing == MODEL_NONE) {
      record->crossing = crossing_of(sim, id);
    }
    if (unread && record->crossing != MODEL_NONE) break;
    if (unread) continue;
    if (ENG_MORE(sim, t->truths, t->truth_count + 1) < 0) break;
    const ModelAtom* model = &sim->model->atoms[id];
    Truth truth = truth_of(sim, guard, i);
    bool only_read = model->type == MODEL_ATOM_NOEVENT && model->bipolar;
    truth.reason = !rising || (atom->truth && !only_read);
    t->truths[t->truth_count++] = truth;
  }
  record->truth_count = t->truth_count - record->truth_begin;
}

/// The transition between two states that comes first; MODEL_NONE for a switch.
static uint32_t find_transition(const ModelAutomaton* a, const Model* model, uint32_t from,
                                uint32_t to) {
  for (uint32_t i = 0; i < a->states[from].outgoing_count; i++) {
    if (model->transitions[a->states[from].outgoing[i]].to == to) {
      return a->states[from].outgoing[i];
    }
  }
  return MODEL_NONE;
}

uint32_t eng_trace_flow(EngSim* sim, uint32_t automaton, uint32_t from, uint32_t to,
                        uint32_t iteration) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  uint32_t transition = find_transition(a, sim->model, from, to);
  uint32_t record = eng_trace_transition(sim, automaton, transition, from, to, iteration);
  if (record != MODEL_NONE) sim->report.trace->records[record].cause = SLT_CAUSE_FLOW;
  return record;
}

/// A state that was entered in this instant at the edge of its patch and is left by its own flow,
/// to another state than the one before it, is a boundary.
static bool leaves_boundary(EngSim* sim, const Record* record, const ModelGuard* guard) {
  struct EngTrace* t = sim->report.trace;
  bool flow = false;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const EngAtom* atom = &sim->atoms[guard->atoms[i]];
    flow |= atom->truth && atom->marks.by_flow;
  }
  if (!flow) return false;
  for (uint32_t i = t->record_count; i-- > 0;) {
    Record* before = &t->records[i];
    if (before->automaton != record->automaton) continue;
    if (before->mythical || before->to != record->from || before->from == record->to) return false;
    before->boundary = true;
    return true;
  }
  return false;
}

uint32_t eng_trace_transition(EngSim* sim, uint32_t automaton, uint32_t transition, uint32_t from,
                              uint32_t to, uint32_t iteration) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  struct EngTrace* t = sim->report.trace;
  if (!has_room(sim)) return MODEL_NONE;
  // made in its place: what has just been written would have to be waited for to be copied
  Record* record = &t->records[t->record_count];
  *record = (Record){.kind = SLT_EVENT_STATE,
                     .automaton = automaton,
                     .from = from,
                     .to = to,
                     .iteration = iteration,
                     .line = a->line};
  if (transition == MODEL_NONE) {
    note_guard(sim, a->condition, to == 1, record);
  } else {
    const ModelTransition* model = &sim->model->transitions[transition];
    record->line = model->line;
    note_guard(sim, &model->guard, true, record);
  }
  record->cause = t->rejecting                     ? SLT_CAUSE_CANDIDATE
                  : record->crossing != MODEL_NONE ? SLT_CAUSE_CROSSING
                                                   : SLT_CAUSE_LEVEL;
  if (record->cause == SLT_CAUSE_LEVEL && transition != MODEL_NONE &&
      leaves_boundary(sim, record, &sim->model->transitions[transition].guard)) {
    record->cause = SLT_CAUSE_FLOW;
  }
  return t->record_count++;
}

/// Of something that no automaton does.
static Record record_at(const EngSim* sim, SltEventKind kind, const Span* span, Str text) {
  Record record = {.kind = kind,
                   .automaton = MODEL_NONE,
                   .from = MODEL_NONE,
                   .to = MODEL_NONE,
                   .crossing = MODEL_NONE,
                   .text = text};
  uint32_t column = 0;
  if (span && sim->model->source)
    source_place(sim->model->source, span->begin, &record.line, &column);
  return record;
}

uint32_t eng_trace_schedule(EngSim* sim, uint32_t schedule, uint32_t automaton, uint32_t from,
                            uint32_t to, uint32_t iteration) {
  return add_record(sim, (Record){.kind = SLT_EVENT_TIME,
                                  .automaton = automaton,
                                  .from = from,
                                  .to = to,
                                  .iteration = iteration,
                                  .crossing = MODEL_NONE,
                                  .cause = SLT_CAUSE_TIME,
                                  .line = sim->model->schedules[schedule].line});
}

void eng_trace_arrival(EngSim* sim, uint32_t delay) {
  const ModelDelay* model = &sim->model->delays[delay];
  Record record = record_at(sim, SLT_EVENT_TIME, &model->span, model->text);
  record.cause = SLT_CAUSE_TIME;
  add_record(sim, record);
}

void eng_trace_mark(EngSim* sim, SltEventKind kind, const Span* span, Str text) {
  add_record(sim, record_at(sim, kind, span, text));
}

static void add_change(EngSim* sim, Change change) {
  struct EngTrace* t = sim->report.trace;
  if (ENG_MORE(sim, t->changes, t->change_count + 1) < 0) return;
  t->changes[t->change_count++] = change;
}

void eng_trace_change(EngSim* sim, uint32_t record, const ModelAction* action, double before,
                      double after) {
  if (record == MODEL_NONE) return;
  const ModelVar* var = &sim->model->vars[action->var];
  if (var->kind != MODEL_VAR_DISCRETE) sim->report.trace->records[record].moved_state = true;
  if (var->hidden || !sim->report.to.on_event) return;
  add_change(sim, (Change){.record = record,
                           .var = action->var,
                           .order = action->order,
                           .before = before,
                           .after = after});
}

void eng_trace_mythical(EngSim* sim, uint32_t first) {
  struct EngTrace* t = sim->report.trace;
  for (uint32_t i = first; i < t->record_count; i++) {
    t->records[i].mythical = true;
    t->records[i].moved_state = false;
  }
  t->rejecting = true;
}

void eng_trace_fallen(EngSim* sim, uint32_t record) {
  if (record != MODEL_NONE) sim->report.trace->records[record].fallen = true;
}

void eng_trace_settling(EngSim* sim) {
  sim->report.trace->jump_begin = sim->report.trace->jump_count;
  sim->report.trace->rejecting = false;
}

void eng_trace_candidate(EngSim* sim) {
  struct EngTrace* t = sim->report.trace;
  t->rejecting = false;
  // those of a mythical mode are kept: they say why it was one
  uint32_t kept = t->jump_begin;
  for (uint32_t i = t->jump_begin; i < t->jump_count; i++) {
    if (t->records[t->jumps[i].record].mythical) t->jumps[kept++] = t->jumps[i];
  }
  t->jump_count = kept;
}

static void add_jump(EngSim* sim, Change jump) {
  struct EngTrace* t = sim->report.trace;
  if (t->record_count == 0 || sim->model->vars[jump.var].hidden) return;
  jump.record = t->record_count - 1;
  if (ENG_MORE(sim, t->jumps, t->jump_count + 1) < 0) return;
  t->jumps[t->jump_count++] = jump;
}

void eng_trace_jump(EngSim* sim, uint32_t var, uint32_t order, double before, double after) {
  add_jump(sim, (Change){.var = var, .order = order, .before = before, .after = after});
}

void eng_trace_impulse(EngSim* sim, uint32_t var, double impulse) {
  add_jump(sim, (Change){.var = var, .after = impulse, .impulse = true});
}

void eng_trace_boundary(EngSim* sim) {
  struct EngTrace* t = sim->report.trace;
  if (t->record_count > 0) t->records[t->record_count - 1].boundary = true;
}

void eng_trace_residual(EngSim* sim, double before, double after) {
  struct EngTrace* t = sim->report.trace;
  if (t->record_count == 0) return;
  Record* record = &t->records[t->record_count - 1];
  record->has_residual = true;
  record->residual[0] = before;
  record->residual[1] = after;
}

void eng_trace_slide(EngSim* sim, SltEventKind kind, uint32_t atom) {
  struct EngTrace* t = sim->report.trace;
  Record record = record_at(sim, kind, NULL, (Str){NULL, 0});
  record.truth_begin = t->truth_count;
  record.share = (double)NAN;
  record.line = sim->model->atoms[atom].written->line;
  if (ENG_MORE(sim, t->truths, t->truth_count + 1) >= 0) {
    t->truths[t->truth_count++] = (Truth){.atom = atom, .reason = true};
    record.truth_count = 1;
  }
  for (uint32_t k = 0; k < t->share_count && kind == SLT_EVENT_SLIDE_OUT; k++) {
    if (t->share_atom[k] == atom) record.share = t->share[k];
  }
  if (kind == SLT_EVENT_SLIDE_IN) record.crossing = crossing_of(sim, atom);
  add_record(sim, record);
}

/// Quantities of one record that differ on the two sides of its surface.
static void note_equivalents(EngSim* sim, Record* record, uint32_t surface) {
  struct EngTrace* t = sim->report.trace;
  const Model* model = sim->model;
  size_t env = model->env_count;
  const SltAllocator* a = &sim->options.allocator;
  for (uint32_t side = 0; side < 2; side++) {
    if (!t->side[side]) t->side[side] = base_alloc(a, env * sizeof(double));
    if (!t->side[side]) return;
  }
  if (!t->side_known) t->side_known = base_alloc(a, env);
  if (!t->side_known) return;
  memset(t->side_known, 0, env);
  for (uint32_t side = 0; side < 2; side++) {
    memset(t->side[side], 0, env * sizeof(double));
    eng_slide_side(sim, surface, side == 1, t->share_now, t->side[side], t->side_known);
  }
  record->equivalent_begin = t->equivalent_count;
  for (uint32_t v = 0; v < model->var_count && record->equivalent_count < EQUIVALENTS_MAX; v++) {
    const ModelVar* var = &model->vars[v];
    for (uint32_t order = 0; order < var->slots && !var->hidden; order++) {
      uint32_t at = var->env + order;
      double without = t->side[0][at];
      double with = t->side[1][at];
      if (!t->side_known[at] || !(fabs(with - without) > 1e-12 * (fabs(with) + fabs(without)))) {
        continue;
      }
      if (ENG_MORE(sim, t->equivalents, t->equivalent_count + 1) < 0 ||
          record->equivalent_count == EQUIVALENTS_MAX) {
        return;
      }
      t->equivalents[t->equivalent_count++] = (Equivalent){v, order, without, with, sim->env[at]};
      record->equivalent_count++;
    }
  }
}

void eng_trace_equivalents(EngSim* sim) {
  struct EngTrace* t = sim->report.trace;
  uint32_t n = sim->core.slide.count;
  bool wanted = false;
  for (uint32_t i = 0; i < t->record_count; i++) {
    wanted |= t->records[i].kind == SLT_EVENT_SLIDE_IN;
  }
  if (!wanted || !sim->report.to.on_event || ENG_MORE(sim, t->share_now, n) < 0 ||
      !eng_slide_coefficients(sim, t->share_now)) {
    return;
  }
  for (uint32_t i = 0, k = 0; i < t->record_count; i++) {
    Record* record = &t->records[i];
    if (record->kind != SLT_EVENT_SLIDE_IN || record->truth_count == 0) continue;
    uint32_t atom = t->truths[record->truth_begin].atom;
    // records and surfaces come in the order of the atoms, or there are few of them
    for (uint32_t step = 0; step < n && eng_slide_atom(sim, k) != atom; step++) {
      k = (k + 1) % n;
    }
    if (eng_slide_atom(sim, k) != atom) continue;
    record->share = t->share_now[k];
    if (n <= EQUIVALENTS_MAX) note_equivalents(sim, record, k);
  }
}

void eng_trace_path(const EngSim* sim, uint32_t begin, char* out, size_t capacity) {
  const struct EngTrace* t = sim->report.trace;
  size_t used = 0;
  out[0] = '\0';
  for (uint32_t i = begin; i < t->record_count; i++) {
    const Record* record = &t->records[i];
    if (record->automaton == MODEL_NONE) continue;
    const ModelAutomaton* a = &sim->model->automata[record->automaton];
    int wrote = snprintf(out + used, capacity - used, "%s%.*s: %.*s -> %.*s", used ? ", " : "",
                         STR_ARGS(a->name), STR_ARGS(a->states[record->from].written->name),
                         STR_ARGS(a->states[record->to].written->name));
    if (wrote < 0 || (size_t)wrote >= capacity - used) return;
    used += (size_t)wrote;
  }
}

static SltAtomType public_type(const ModelAtom* atom) {
  if (atom->time_only) return SLT_ATOM_TIME;
  switch (atom->type) {
  case MODEL_ATOM_UNILATERAL: return SLT_ATOM_UNILATERAL;
  case MODEL_ATOM_BILATERAL: return SLT_ATOM_BILATERAL;
  case MODEL_ATOM_SHORTLIVING: return SLT_ATOM_SHORTLIVING;
  case MODEL_ATOM_NOEVENT: return SLT_ATOM_NOEVENT;
  default: return SLT_ATOM_CRITICAL;
  }
}

/// How the event was found: what was located, or which auxiliary relation it came with.
static void describe_location(const EngSim* sim, const Record* record, SltEvent* event) {
  const struct EngTrace* t = sim->report.trace;
  event->bracket[0] = event->t;
  event->bracket[1] = event->t;
  event->slope = (double)NAN;
  event->type = record->kind == SLT_EVENT_TIME ? SLT_ATOM_TIME : SLT_ATOM_NONE;
  event->certified = true;
  if (record->crossing != MODEL_NONE) {
    const EngCrossing* crossing = &t->crossings[record->crossing];
    const ModelAtom* atom = &sim->model->atoms[sim->core.mode_before->atoms[crossing->index]];
    event->type = public_type(atom);
    event->bracket[0] = crossing->lo;
    event->bracket[1] = crossing->hi;
    event->slope = crossing->slope;
    event->certified = crossing->certified;
    return;
  }
  // what follows in an instant that was placed otherwise is no discovery of a mesh point
  if (t->crossing_count > 0 || t->records[0].kind == SLT_EVENT_INITIAL) return;
  for (uint32_t i = 0; i < record->truth_count; i++) {
    const Truth* truth = &t->truths[record->truth_begin + i];
    if (!truth->reason || sim->model->atoms[truth->atom].type != MODEL_ATOM_NOEVENT) continue;
    event->type = SLT_ATOM_NOEVENT;
    event->certified = false;
  }
}

/// "x''": made once and kept. The plain name where memory is exhausted.
static const char* name_of(EngSim* sim, uint32_t var, uint32_t order) {
  const Model* model = sim->model;
  struct EngTrace* t = sim->report.trace;
  Str name = model->vars[var].name;
  if (order == 0 || order >= model->vars[var].slots) return name.data;
  const SltAllocator* a = &sim->options.allocator;
  if (!t->names) {
    t->names = base_alloc(a, model->env_count * sizeof *t->names);
    if (!t->names) return name.data;
    t->name_count = model->env_count;
    memset((void*)t->names, 0, t->name_count * sizeof *t->names);
  }
  char** slot = &t->names[model->vars[var].env + order];
  if (*slot) return *slot;
  *slot = base_alloc(a, name.length + order + 1);
  if (!*slot) return name.data;
  memcpy(*slot, name.data, name.length);
  memset(*slot + name.length, '\'', order);
  (*slot)[name.length + order] = '\0';
  return *slot;
}

/// A change into a list; on top of an earlier one of the same quantity.
static void list_change(EngSim* sim, SltChange* list, uint32_t* count, const Change* change) {
  const char* name = name_of(sim, change->var, change->order);
  uint32_t* place = &sim->report.trace->place[sim->model->vars[change->var].env + change->order];
  if (*place < *count && list[*place].name == name) {
    list[*place].after = change->after;
    return;
  }
  *place = *count;
  list[(*count)++] = (SltChange){name, change->before, change->after};
}

/// Relations of a record's guard into the arrays that are sent.
static void fill_truths(EngSim* sim, const Record* record, SltEvent* event) {
  struct EngTrace* t = sim->report.trace;
  for (uint32_t i = 0; i < record->truth_count; i++) {
    const Truth* truth = &t->truths[record->truth_begin + i];
    const char* text = sim->model->atoms[truth->atom].written->text.data;
    t->out.truths[i] =
        (SltTruth){text, truth->g, truth->pulse, truth->holds, truth->armed, truth->located};
    if (truth->reason) t->out.atoms[event->atom_count++] = text;
  }
  event->atoms = t->out.atoms;
  if (record->kind != SLT_EVENT_STATE) return;
  event->truths = t->out.truths;
  event->truth_count = record->truth_count;
}

static void fill_equivalents(EngSim* sim, const Record* record, SltEvent* event) {
  struct EngTrace* t = sim->report.trace;
  for (uint32_t i = 0; i < record->equivalent_count; i++) {
    const Equivalent* e = &t->equivalents[record->equivalent_begin + i];
    t->out.equivalents[i] =
        (SltEquivalent){name_of(sim, e->var, e->order), e->without, e->with, e->value};
  }
  event->equivalents = t->out.equivalents;
  event->equivalent_count = record->equivalent_count;
}

/// The record that made another one possible: the last one of the rounds before it, for what
/// follows from new values and states.
typedef struct Reason {
  uint32_t iteration;
  int32_t last;  // record of an earlier round
} Reason;

static void fill_cause(const struct EngTrace* t, uint32_t index, Reason* reason, SltEvent* event) {
  const Record* record = &t->records[index];
  bool begins = index == 0 || t->records[index - 1].kind == SLT_EVENT_INITIAL;
  if (begins || record->iteration > reason->iteration) {
    reason->last = begins ? -1 : (int32_t)index - 1;
    reason->iteration = record->iteration;
  }
  bool follows = record->cause == SLT_CAUSE_LEVEL || record->cause == SLT_CAUSE_CANDIDATE ||
                 record->cause == SLT_CAUSE_FLOW;
  event->has_cause = follows && reason->last >= 0;
  event->caused_by = event->has_cause ? (uint32_t)reason->last : 0;
}

/// First of the changes that does not belong to an earlier record; they come in that order.
static uint32_t first_change(const Change* changes, uint32_t count, uint32_t record) {
  uint32_t lo = 0;
  uint32_t hi = count;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (changes[mid].record < record) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return lo;
}

/// Changes, impulses and relations of one record into the arrays that are sent.
static bool fill_lists(EngSim* sim, uint32_t index, SltEvent* event) {
  struct EngTrace* t = sim->report.trace;
  const Record* record = &t->records[index];
  if (ENG_MORE(sim, t->out.changes, t->change_count + t->jump_count) < 0 ||
      ENG_MORE(sim, t->out.impulses, t->jump_count) < 0 ||
      ENG_MORE(sim, t->out.truths, record->truth_count) < 0 ||
      ENG_MORE(sim, t->out.atoms, record->truth_count) < 0) {
    return false;
  }
  uint32_t count = 0;
  for (uint32_t i = first_change(t->changes, t->change_count, index); i < t->change_count; i++) {
    const Change* change = &t->changes[i];
    if (change->record != index) break;
    list_change(sim, t->out.changes, &count, change);
  }
  // the mode was only tried, but what was assigned may stand
  SltChange* rest = t->out.changes;
  if (record->mythical && !record->fallen) {
    event->changes = rest;
    event->change_count = count;
    rest += count;
    count = 0;
  }
  for (uint32_t i = first_change(t->jumps, t->jump_count, index); i < t->jump_count; i++) {
    const Change* jump = &t->jumps[i];
    if (jump->record != index) break;
    if (jump->impulse) {
      const char* name = name_of(sim, jump->var, jump->order);
      t->out.impulses[event->impulse_count++] = (SltChange){name, jump->before, jump->after};
    } else {
      list_change(sim, rest, &count, jump);
      event->computed_count += jump->computed;
    }
  }
  event->impulses = t->out.impulses;
  if (record->mythical) {
    event->candidate = rest;
    event->candidate_count = count;
  } else {
    event->changes = rest;
    event->change_count = count;
  }
  fill_truths(sim, record, event);
  fill_equivalents(sim, record, event);
  return true;
}

/// What nothing determines any more, and what happened to the energy.
static void fill_audit(EngSim* sim, SltEvent* event) {
  struct EngTrace* t = sim->report.trace;
  const ModelMode* mode = sim->core.mode;
  bool initial = t->records[0].kind == SLT_EVENT_INITIAL;
  bool same = !initial && mode == sim->core.mode_before;
  for (uint32_t v = 0; !same && v < sim->model->var_count; v++) {
    if (sim->model->vars[v].hidden || mode->vars[v].role != MODEL_ROLE_UNDETERMINED) continue;
    bool before = !initial && sim->core.mode_before->vars[v].role == MODEL_ROLE_UNDETERMINED;
    if (before) continue;
    if (ENG_MORE(sim, t->out.names, event->undetermined_count + 1) < 0) {
      break;
    }
    t->out.names[event->undetermined_count++] = sim->model->vars[v].name.data;
  }
  event->undetermined = t->out.names;
  if (!sim->model->energy) return;
  event->has_energy = true;
  event->energy[0] = sim->core.audit.before;
  event->energy[1] = sim->core.audit.now;
}

static void count_record(EngSim* sim, const Record* record, const SltEvent* event) {
  sim->core.counts.records++;
  if (record->kind == SLT_EVENT_INITIAL || record->kind == SLT_EVENT_STOP) return;
  sim->core.counts.by_class[event->event_class]++;
  if (!event->certified) sim->core.counts.not_certified++;
}

static SltEventClass class_of(const EngSim* sim, const Record* record) {
  if (record->mythical) return SLT_CLASS_MYTHICAL;
  // a contact that closes goes on in its mode: what it takes away is no passage
  bool closes = record->kind == SLT_EVENT_ZENO;
  if (record->moved_state && !closes) return SLT_CLASS_PINNACLE;
  if (record->boundary) return SLT_CLASS_BOUNDARY;
  return sim->core.slide.count ? SLT_CLASS_SLIDING : SLT_CLASS_INTERIOR;
}

/// Mark variables of which the instant has recorded a change, or take the marks away.
static void mark_recorded(EngSim* sim, uint32_t mark) {
  struct EngTrace* t = sim->report.trace;
  for (uint32_t i = 0; i < t->change_count; i++) {
    if (t->changes[i].order == 0) t->place[sim->model->vars[t->changes[i].var].env] = mark;
  }
  for (uint32_t i = 0; i < t->jump_count; i++) {
    bool jump = t->jumps[i].order == 0 && !t->jumps[i].impulse;
    if (jump) t->place[sim->model->vars[t->jumps[i].var].env] = mark;
  }
}

/// Variables that equations compute, and whose values jump: they belong to the last record that
/// counts.
static void note_computed(EngSim* sim) {
  struct EngTrace* t = sim->report.trace;
  if (!sim->report.to.on_event || t->record_count == 0 || t->records[0].kind == SLT_EVENT_INITIAL)
    return;
  if (sim->core.local.moved_count > 0) return;  // values are computed when somebody asks
  if (sim->programs.only_states && sim->core.mode == sim->core.mode_before) return;
  uint32_t last = t->record_count;
  while (last > 0 && t->records[last - 1].mythical) {
    last--;
  }
  if (last == 0) return;
  mark_recorded(sim, MODEL_NONE);
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    const ModelVar* var = &sim->model->vars[v];
    double before = sim->values.before[var->env];
    double after = sim->env[var->env];
    if (before == after || var->hidden || sim->core.mode->vars[v].role == MODEL_ROLE_STATE)
      continue;
    double size = fmax(fabs(before), fabs(after));
    if (!(fabs(after - before) > COMPUTED_NOISE * size) || t->place[var->env] == MODEL_NONE)
      continue;
    if (ENG_MORE(sim, t->jumps, t->jump_count + 1) < 0) break;
    // they come in the order of their records
    uint32_t at = t->jump_count++;
    for (; at > 0 && t->jumps[at - 1].record >= last; at--) {
      t->jumps[at] = t->jumps[at - 1];
    }
    t->jumps[at] =
        (Change){.record = last - 1, .var = v, .computed = true, .before = before, .after = after};
  }
  mark_recorded(sim, 0);
}

void eng_trace_end(EngSim* sim) {
  struct EngTrace* t = sim->report.trace;
  for (uint32_t i = 0; i < t->jump_count; i++) {
    Record* record = &t->records[t->jumps[i].record];
    if (!t->jumps[i].impulse && !record->mythical) record->moved_state = true;
  }
  note_computed(sim);
  Reason reason = {0, -1};
  for (uint32_t i = 0; !sim->report.to.on_event && i < t->record_count; i++) {
    SltEvent event;  // what is counted, and nothing else
    event.t = sim->core.t;
    event.event_class = class_of(sim, &t->records[i]);
    describe_location(sim, &t->records[i], &event);
    count_record(sim, &t->records[i], &event);
  }
  for (uint32_t i = 0; sim->report.to.on_event && i < t->record_count; i++) {
    const Record* record = &t->records[i];
    SltEvent event = {.t = sim->core.t, .n = i, .iter = record->iteration, .kind = record->kind};
    event.event_class = class_of(sim, record);
    if (record->automaton != MODEL_NONE) {
      const ModelAutomaton* a = &sim->model->automata[record->automaton];
      event.automaton = a->name.data;
      event.from = a->states[record->from].written->name.data;
      event.to = a->states[record->to].written->name.data;
      uint32_t follows = sim->sliding.value.follows[record->automaton];
      // constraints may read the slopes
      event.kink =
          follows != MODEL_NONE && sim->atoms[follows / 2].kind.kink && !sim->core.mode->implicit;
    }
    event.line = record->line;
    event.cause = record->cause;
    fill_cause(t, i, &reason, &event);
    event.has_residual = record->has_residual;
    memcpy(event.residual, record->residual, sizeof event.residual);
    bool slides = record->kind == SLT_EVENT_SLIDE_IN || record->kind == SLT_EVENT_SLIDE_OUT;
    event.has_share = slides && isfinite(record->share);
    event.share = event.has_share ? record->share : 0.0;
    event.text = record->text.data;
    describe_location(sim, record, &event);
    count_record(sim, record, &event);
    if (i + 1 == t->record_count && sim->core.mode) fill_audit(sim, &event);
    // what found no memory is not recorded: the run ends here
    bool whole = fill_lists(sim, i, &event) && !sim->memory.lost;
    if (whole) sim->report.to.on_event(sim->report.to.event_user, &event);
  }
}
