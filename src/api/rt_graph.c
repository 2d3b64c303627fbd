// SPDX-License-Identifier: MIT
//
// The picture of a model's automata: what record/graph draws, taken from the model's tables and
// counted from the records of a run.
#include "api/handles.h"
#include "record/record.h"

#include <string.h>

struct SltGraph {
  const Model* model;
  SltAllocator allocator;
  Arena arena;
  Graph graph;
  GraphModes modes;
  uint32_t* tried;  // per automaton: state that a mythical record of this instant led into
};

// ---- texts --------------------------------------------------------------------------------------

/// What the source has there, runs of blanks made one; empty when there is no source.
static Str source_text(const Model* model, Span span, Arena* arena) {
  TextBuffer text = {.arena = arena};
  const Source* source = model->source;
  if (!source || span.begin >= span.end || span.end > source->text.length) return (Str){NULL, 0};
  bool blank = false;
  for (uint32_t i = span.begin; i < span.end; i++) {
    char c = source->text.data[i];
    bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (is_blank && blank) continue;
    if (is_blank) c = ' ';
    text_append_char(&text, c);
    blank = is_blank;
  }
  return text_str(&text);
}

/// What a relation says that is the negation of another one; empty for others.
static Str negated_text(Str text) {
  const Str prefix = STR_LIT("not (");
  if (text.length <= prefix.length + 1 || memcmp(text.data, prefix.data, prefix.length) != 0)
    return (Str){NULL, 0};
  return (Str){text.data + prefix.length, text.length - prefix.length - 1};
}

/// What a contact or a friction waits for, without what only tells an impact from the last one.
static Str element_text(const Model* model, const ModelTransition* transition, Arena* arena) {
  TextBuffer text = {.arena = arena};
  for (uint32_t i = 0; i < transition->guard.atom_count; i++) {
    const ModelAtom* atom = &model->atoms[transition->guard.atoms[i]];
    if (atom->type == MODEL_ATOM_NOEVENT) continue;
    if (text.length) text_append_c(&text, " and ");
    text_append(&text, graph_words(atom->written->text, arena));
  }
  if (transition->zeno) text_append_c(&text, " where impacts accumulate");
  return text_str(&text);
}

/// A guard that stands nowhere in the text.
static Str guard_text(const Model* model, const ModelGuard* guard, Arena* arena) {
  TextBuffer text = {.arena = arena};
  bool none = guard->atom_count > 0;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    none &= negated_text(model->atoms[guard->atoms[i]].written->text).length > 0;
  }
  if (none) text_append_c(&text, guard->atom_count > 1 ? "none of " : "not ");
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    Str written = model->atoms[guard->atoms[i]].written->text;
    if (i) text_append_c(&text, ", ");
    text_append(&text, graph_words(none ? negated_text(written) : written, arena));
  }
  return text_str(&text);
}

static Str transition_text(const Model* model, const ModelTransition* transition, Arena* arena) {
  const ModelGuard* guard = &transition->guard;
  if (guard->atom_count == 0 && !guard->has_mode_test && !transition->zeno)
    return STR_LIT("at once");
  if (transition->made) return element_text(model, transition, arena);
  Str text = graph_words(source_text(model, transition->span, arena), arena);
  if (text.length == 0) text = guard_text(model, guard, arena);
  return transition->negated ? str_format(arena, "not %.*s", STR_ARGS(text)) : text;
}

/// "sets v, n": targets of the actions of a transition and of the state it leads to.
static Str resets_text(const Model* model, const uint32_t* begin, const uint32_t* count,
                       uint32_t lists, Arena* arena) {
  TextBuffer text = {.arena = arena};
  uint32_t written = 0;
  for (uint32_t k = 0; k < lists; k++) {
    for (uint32_t i = begin[k]; i < begin[k] + count[k]; i++) {
      const ModelAction* action = &model->actions[i];
      const ModelVar* var = &model->vars[action->var];
      if (var->hidden) continue;
      if (written == 4) {
        text_append_c(&text, ", ...");
        return text_str(&text);
      }
      text_append_c(&text, written++ ? ", " : "sets ");
      text_append(&text, var->name);
      for (uint32_t order = 0; order < action->order; order++)
        text_append_char(&text, '\'');
    }
  }
  return text_str(&text);
}

// ---- building -----------------------------------------------------------------------------------

static void add_transitions(SltGraph* g, uint32_t automaton, GraphAutomaton* out) {
  const Model* model = g->model;
  for (uint32_t t = 0; t < model->transition_count; t++) {
    const ModelTransition* transition = &model->transitions[t];
    if (transition->automaton != automaton) continue;
    const ModelState* to = &model->automata[automaton].states[transition->to];
    uint32_t begin[] = {to->action_begin, transition->action_begin};
    uint32_t count[] = {to->action_count, transition->action_count};
    Str guard = transition_text(model, transition, &g->arena);
    for (uint32_t i = 0; i < transition->from_count; i++) {
      out->arrows[out->arrow_count++] =
          (GraphArrow){.from = transition->from[i],
                       .to = transition->to,
                       .guard = guard,
                       .resets = resets_text(model, begin, count, 2, &g->arena),
                       .line = transition->line};
    }
  }
}

static void add_schedules(SltGraph* g, uint32_t automaton, GraphAutomaton* out) {
  const Model* model = g->model;
  for (uint32_t s = 0; s < model->schedule_count; s++) {
    const ModelSchedule* schedule = &model->schedules[s];
    for (uint32_t i = 0; i < schedule->goto_count; i++) {
      if (schedule->gotos[i].automaton != automaton) continue;
      TextBuffer text = {.arena = &g->arena};
      text_append_format(&text, "at, line %u", schedule->line);
      out->arrows[out->arrow_count++] = (GraphArrow){.from = GRAPH_ANY,
                                                     .to = schedule->gotos[i].state,
                                                     .guard = text_str(&text),
                                                     .line = schedule->line};
    }
  }
}

static uint32_t arrow_limit(const Model* model, uint32_t automaton) {
  uint32_t count = 0;
  for (uint32_t t = 0; t < model->transition_count; t++) {
    if (model->transitions[t].automaton == automaton) count += model->transitions[t].from_count;
  }
  // a time event starts from wherever the automaton is: an arrow for each state it was met in
  for (uint32_t s = 0; s < model->schedule_count; s++) {
    for (uint32_t i = 0; i < model->schedules[s].goto_count; i++) {
      if (model->schedules[s].gotos[i].automaton != automaton) continue;
      count += model->automata[automaton].state_count;
    }
  }
  return count;
}

static void add_automaton(SltGraph* g, uint32_t index) {
  const ModelAutomaton* a = &g->model->automata[index];
  GraphAutomaton* out = &g->graph.automata[g->graph.automaton_count++];
  *out = (GraphAutomaton){.name = a->name, .state_count = a->state_count};
  out->states = ARENA_ARRAY(&g->arena, GraphState, a->state_count);
  for (uint32_t s = 0; s < a->state_count; s++) {
    out->states[s] = (GraphState){.name = a->states[s].written->name};
  }
  out->arrow_capacity = arrow_limit(g->model, index);
  out->arrows = ARENA_ARRAY(&g->arena, GraphArrow, out->arrow_capacity + 1);
  add_transitions(g, index, out);
  add_schedules(g, index, out);
}

static void build(SltGraph* g) {
  const Model* model = g->model;
  g->graph.automata = ARENA_ARRAY(&g->arena, GraphAutomaton, model->automaton_count + 1);
  g->graph.switches = ARENA_ARRAY(&g->arena, GraphSwitch, model->automaton_count + 1);
  g->tried = ARENA_ARRAY(&g->arena, uint32_t, model->automaton_count + 1);
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    const ModelAutomaton* automaton = &model->automata[a];
    if (automaton->hidden) continue;
    if (automaton->kind == MODEL_AUTOMATON_USER) {
      add_automaton(g, a);
      continue;
    }
    g->graph.switches[g->graph.switch_count++] =
        (GraphSwitch){.name = automaton->name,
                      .text = guard_text(model, automaton->condition, &g->arena),
                      .line = automaton->line};
  }
}

SltStatus slt_graph_create(const SltModel* model, SltGraph** out) {
  if (out) *out = NULL;
  if (!model || !out) return SLT_ERR_ARGUMENT;
  SltAllocator allocator = base_allocator(NULL);
  SltGraph* volatile g = base_alloc(&allocator, sizeof *g);
  if (!g) return SLT_ERR_NOMEM;
  g->model = model->model;
  g->allocator = allocator;
  jmp_buf oom;
  arena_init(&g->arena, &allocator, &oom);
  if (setjmp(oom) != 0) {
    slt_graph_free(g);
    return SLT_ERR_NOMEM;
  }
  build(g);
  *out = g;
  return SLT_OK;
}

void slt_graph_free(SltGraph* graph) {
  if (!graph) return;
  SltAllocator allocator = graph->allocator;
  arena_free(&graph->arena);
  base_free(&allocator, graph, sizeof *graph);
}

// ---- counting -----------------------------------------------------------------------------------

static uint32_t find_state(const GraphAutomaton* a, const char* name) {
  for (uint32_t s = 0; s < a->state_count; s++) {
    if (str_equal(a->states[s].name, str_from_c(name))) return s;
  }
  return GRAPH_ANY;
}

/// The arrow of a time event out of the state it was met in; NULL when there is none.
static GraphArrow* timed_arrow(GraphAutomaton* a, uint32_t from, uint32_t to, uint32_t line) {
  GraphArrow* other = NULL;
  for (uint32_t i = 0; i < a->arrow_count; i++) {
    GraphArrow* arrow = &a->arrows[i];
    if (arrow->to != to || arrow->line != line) continue;
    if (arrow->from == GRAPH_ANY) arrow->from = from;
    if (arrow->from == from) return arrow;
    other = arrow;
  }
  if (!other || a->arrow_count == a->arrow_capacity) return NULL;
  GraphArrow* added = &a->arrows[a->arrow_count++];
  *added = (GraphArrow){.from = from, .to = to, .guard = other->guard, .line = line};
  return added;
}

static GraphArrow* find_arrow(GraphAutomaton* a, uint32_t from, uint32_t to, uint32_t line) {
  for (uint32_t i = 0; i < a->arrow_count; i++) {
    GraphArrow* arrow = &a->arrows[i];
    if (arrow->from == from && arrow->to == to && arrow->line == line) return arrow;
  }
  return NULL;
}

static void count_transition(GraphAutomaton* a, uint32_t* tried, const SltEvent* event) {
  uint32_t from = find_state(a, event->from);
  uint32_t to = find_state(a, event->to);
  if (from == GRAPH_ANY || to == GRAPH_ANY) return;
  if (*tried == from) {
    // entered and left in one instant, with a candidate that was given up
    a->states[from].real--;
    a->states[from].mythical++;
  }
  *tried = event->event_class == SLT_CLASS_MYTHICAL ? to : GRAPH_ANY;
  a->states[to].real++;
  GraphArrow* arrow = event->kind == SLT_EVENT_TIME ? timed_arrow(a, from, to, event->line)
                                                    : find_arrow(a, from, to, event->line);
  if (arrow) arrow->count[event->event_class]++;
}

void slt_graph_event(void* graph, const SltEvent* event) {
  SltGraph* g = graph;
  if (!g || !event) return;
  g->graph.ran = true;
  if (event->n == 0) {
    graph_modes_settle(&g->modes);
    for (uint32_t a = 0; a < g->graph.automaton_count; a++)
      g->tried[a] = GRAPH_ANY;
  }
  if (event->kind == SLT_EVENT_INITIAL) {
    for (uint32_t a = 0; a < g->graph.automaton_count; a++)
      g->graph.automata[a].states[0].real++;
  }
  g->graph.slides += event->kind == SLT_EVENT_SLIDE_IN;
  if (!event->automaton || !event->from || !event->to) return;
  Str name = str_from_c(event->automaton);
  for (uint32_t a = 0; a < g->graph.automaton_count; a++) {
    if (!str_equal(g->graph.automata[a].name, name)) continue;
    count_transition(&g->graph.automata[a], &g->tried[a], event);
  }
  for (uint32_t s = 0; s < g->graph.switch_count; s++) {
    if (!str_equal(g->graph.switches[s].name, name)) continue;
    g->graph.switches[s].turned++;
    // at a kink the motion is the same on both sides, and a candidate that was given up is no mode
    if (event->kink || event->event_class == SLT_CLASS_MYTHICAL) continue;
    graph_modes_turn(&g->modes, s, strcmp(event->to, "true") == 0, (int)event->event_class);
  }
}

/// The automata that were written, and the one of the conditions that hold.
static Graph with_modes(const SltGraph* g, Arena* arena) {
  Graph shown = graph_joined(&g->graph, arena);
  GraphAutomaton* all = ARENA_ARRAY(arena, GraphAutomaton, shown.automaton_count + 1);
  for (uint32_t a = 0; a < shown.automaton_count; a++)
    all[a] = shown.automata[a];
  shown.automata = all;
  shown.automaton_count += graph_modes_automaton(
      &g->modes, g->graph.switches, g->graph.switch_count, arena, &all[shown.automaton_count]);
  return shown;
}

static SltStatus write_graph(const SltGraph* graph, const char* title, bool dot, SltWriter writer) {
  if (!graph || !title || !writer.write) return SLT_ERR_ARGUMENT;
  if (graph->graph.automaton_count + graph->graph.switch_count == 0) return SLT_ERR_ARGUMENT;
  Sink sink;
  SLT_TRY(sink_init(&sink, writer));
  Arena arena;
  jmp_buf oom;
  volatile SltStatus status = SLT_ERR_NOMEM;
  arena_init(&arena, &graph->allocator, &oom);
  if (setjmp(oom) == 0) {
    Graph shown = with_modes(graph, &arena);
    if (dot) {
      graph_write_dot(&shown, title, &arena, &sink);
    } else {
      graph_write_svg(&shown, title, &arena, &sink);
    }
    status = sink_flush(&sink);
  }
  arena_free(&arena);
  sink_clear(&sink);
  return status;
}

SltStatus slt_graph_write(const SltGraph* graph, const char* title, SltWriter writer) {
  return write_graph(graph, title, false, writer);
}

SltStatus slt_graph_write_dot(const SltGraph* graph, const char* title, SltWriter writer) {
  return write_graph(graph, title, true, writer);
}

// ---- what was not reached -----------------------------------------------------------------------

#define UNREACHED_MAX 20  // lines of the list

static void write_arrow(Sink* sink, const GraphAutomaton* a, const GraphArrow* arrow) {
  Str automaton = graph_name(a->name);
  sink_c(sink, "  ");
  if (!str_equal(automaton, STR_LIT("main"))) {
    sink_str(sink, automaton);
    sink_c(sink, ": ");
  }
  sink_str(sink, a->states[arrow->to].name);
  sink_c(sink, ", which asks for ");
  sink_str(sink, arrow->guard);
  sink_c(sink, " in ");
  sink_str(sink, a->states[arrow->from].name);
  sink_c(sink, " (line ");
  sink_unsigned(sink, arrow->line);
  sink_c(sink, ")\n");
}

SltStatus slt_graph_write_unreached(const SltGraph* graph, SltWriter writer) {
  if (!graph || !writer.write) return SLT_ERR_ARGUMENT;
  Sink sink;
  SLT_TRY(sink_init(&sink, writer));
  uint64_t count = 0;
  for (uint32_t i = 0; i < graph->graph.automaton_count; i++) {
    const GraphAutomaton* a = &graph->graph.automata[i];
    for (uint32_t k = 0; k < a->arrow_count; k++) {
      const GraphArrow* arrow = &a->arrows[k];
      const GraphState* to = &a->states[arrow->to];
      bool waited = arrow->from != GRAPH_ANY && a->states[arrow->from].real > 0;
      if (!waited || to->real + to->mythical > 0) continue;
      if (count == 0) sink_c(&sink, "\nstates that were never entered:\n");
      if (count++ < UNREACHED_MAX) write_arrow(&sink, a, arrow);
    }
  }
  if (count > UNREACHED_MAX) {
    sink_c(&sink, "  and ");
    sink_unsigned(&sink, count - UNREACHED_MAX);
    sink_c(&sink, " more\n");
  }
  SltStatus status = sink_flush(&sink);
  sink_clear(&sink);
  return status;
}
