// SPDX-License-Identifier: MIT
//
// What a model is, in words and as data.
#include "api/compiled.h"

#include <math.h>
#include <string.h>

#define PART_WIDTH_MAX  40  // names of parts longer than this push their types to the right
#define SHAPED_ROWS     20  // fewer equations are not counted by shape
#define EXPLAINED_MODES 64  // text for people: more modes than this are named, not shown

/// Visit the first mode, then each state of each automaton with the others as they begin.
typedef struct ModeWalk {
  const Model* model;
  uint32_t* mode;
  uint32_t automaton, state;
  bool started;
} ModeWalk;

static bool walk_next(ModeWalk* walk) {
  const Model* model = walk->model;
  if (!walk->started) {
    walk->started = true;
    return true;
  }
  while (walk->automaton < model->automaton_count) {
    const ModelAutomaton* a = &model->automata[walk->automaton];
    walk->state++;
    if (a->has_bodies && walk->state < a->state_count) {
      memset(walk->mode, 0, model->automaton_count * sizeof *walk->mode);
      walk->mode[walk->automaton] = walk->state;
      // a nested switch only means something while the states around it are active
      while (a->parent_automaton != MODEL_NONE) {
        walk->mode[a->parent_automaton] = a->parent_state;
        a = &model->automata[a->parent_automaton];
      }
      return true;
    }
    walk->automaton++;
    walk->state = 0;
  }
  return false;
}

/// How many different shapes a list of terms has: `at` gives term i.
typedef IrTerm TermFn(const IrModel* ir, uint32_t i);

static IrTerm equation_term(const IrModel* ir, uint32_t i) {
  return ir_equation(ir, i).term;
}

static IrTerm atom_term(const IrModel* ir, uint32_t i) {
  return ir_atom(ir, i).g;
}

static IrTerm action_term(const IrModel* ir, uint32_t i) {
  return ir_action(ir, i).value;
}

static uint32_t count_shapes(const IrModel* ir, Arena* arena, TermFn* at, uint32_t count) {
  uint8_t* seen = ARENA_ARRAY(arena, uint8_t, ir->pool.nodes.count);
  uint32_t shapes = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint8_t* mark = &seen[at(ir, i).shape.index];
    shapes += !*mark;
    *mark = 1;
  }
  return shapes;
}

/// Where structure repeats: of how few shapes the model is made, and what an instance takes.
static void explain_shapes(const CompiledModel* model, TextBuffer* out) {
  const IrModel* ir = &model->ir;
  const struct {
    const char* what;
    TermFn* at;
    uint32_t count;
  } lists[] = {{"equations", equation_term, ir->equations.count},
               {"relations", atom_term, ir->atoms.count},
               {"resets", action_term, ir->actions.count}};
  bool any = false;
  for (size_t i = 0; i < SLT_COUNT(lists); i++) {
    if (lists[i].count < SHAPED_ROWS) continue;
    text_append_format(out, "%s %u %s of %u shapes", any ? "," : " ", lists[i].count, lists[i].what,
                       count_shapes(ir, out->arena, lists[i].at, lists[i].count));
    any = true;
  }
  if (!any) return;
  size_t bytes = model->arena.total + model_build_memory(model->build);
  text_append_format(out, "; about %u bytes for each equation\n",
                     (unsigned)(bytes / (ir->equations.count ? ir->equations.count : 1)));
}

/// The tree of parts, indented.
static void explain_parts(const CompiledModel* model, TextBuffer* out) {
  LismaParts parts = {0};
  if (!model->rules) lisma_parts(out->arena, &model->source, &parts);
  if (parts.count) text_append_c(out, "\nparts\n");
  uint32_t width = 0;
  for (uint32_t i = 0; i < parts.count; i++) {
    uint32_t length = 2 * parts.data[i].depth + utf8_count(parts.data[i].name);
    if (length > width && length < PART_WIDTH_MAX) width = length;
  }
  for (uint32_t i = 0; i < parts.count; i++) {
    uint32_t indent = 2 * parts.data[i].depth;
    uint32_t length = indent + utf8_count(parts.data[i].name);
    text_append_format(out, "  %*s%.*s%*s  %.*s\n", (int)indent, "", STR_ARGS(parts.data[i].name),
                       length < width ? (int)(width - length) : 0, "",
                       STR_ARGS(parts.data[i].type));
  }
}

/// A name that the front end made of a place, "after@29:7": where its parts are in a text.
typedef struct PlaceName {
  uint32_t begin, line, column, end;  // of "after", "29", "7", and behind it
} PlaceName;

typedef BASE_VEC(PlaceName) PlaceNames;

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || c == '_';
}

/// The name around an `@`. False: another one.
static bool read_place(Str text, uint32_t at, PlaceName* place) {
  uint32_t i = at;
  while (i > 0 && is_letter(text.data[i - 1]))
    i--;
  *place = (PlaceName){.begin = i, .line = at + 1};
  i = place->line;
  while (i < text.length && is_digit(text.data[i]))
    i++;
  if (i == place->line || i == text.length || text.data[i] != ':') return false;
  place->column = ++i;
  while (i < text.length && is_digit(text.data[i]))
    i++;
  place->end = i;
  return place->begin < at && place->end > place->column;
}

/// Whether the line alone tells a name from all others; `known` gets it when it is new.
static bool line_is_enough(Str text, PlaceName place, Arena* arena, PlaceNames* known) {
  enum { COMPARED = 200 };  // a text with more names of places keeps their columns
  Str start = {text.data + place.begin, place.column - place.begin};
  Str whole = {text.data + place.begin, place.end - place.begin};
  bool found = false;
  for (uint32_t i = 0; i < known->count; i++) {
    PlaceName other = known->data[i];
    if (!str_equal(start, (Str){text.data + other.begin, other.column - other.begin})) continue;
    if (!str_equal(whole, (Str){text.data + other.begin, other.end - other.begin})) return false;
    found = true;
  }
  if (!found && known->count < COMPARED) base_vec_push(arena, known, place);
  return known->count < COMPARED;
}

/// Write "after:29" for "after@29:7", as events do; columns only where a line has several.
static void show_places(TextBuffer* out) {
  Str text = text_str(out);
  PlaceNames known = {0};
  PlaceName place;
  // once to know them all, then once to write
  for (uint32_t at = 0; at < text.length; at++) {
    if (text.data[at] == '@' && read_place(text, at, &place))
      line_is_enough(text, place, out->arena, &known);
  }
  TextBuffer shown = {.arena = out->arena};
  uint32_t from = 0;
  for (uint32_t at = 0; at < text.length; at++) {
    if (text.data[at] != '@' || !read_place(text, at, &place)) continue;
    bool enough = line_is_enough(text, place, out->arena, &known);
    uint32_t end = enough ? place.column - 1 : place.end;
    text_append(&shown, (Str){text.data + from, at - from});
    text_append_char(&shown, ':');
    text_append(&shown, (Str){text.data + place.line, end - place.line});
    from = place.end;
    at = from - 1;
  }
  text_append(&shown, (Str){text.data + from, text.length - from});
  *out = shown;
}

static void explain_text(const CompiledModel* model, TextBuffer* out) {
  const Model* m = model->base.model;
  text_append_format(out, "%.*s\n", STR_ARGS(model->source.name));
  text_append_format(out, "  %u variables, %u constants, %u automata, %u relations, %u schedules\n",
                     m->column_count, m->param_count, m->automaton_count, m->atom_count,
                     m->schedule_count);
  explain_shapes(model, out);
  explain_parts(model, out);
  if (model->rules) {
    text_append_char(out, '\n');
    text_append(out, rules_write_explanation(model->rules, out->arena));
  }
  ModeWalk walk = {.model = m, .mode = ARENA_ARRAY(out->arena, uint32_t, m->automaton_count + 1)};
  uint32_t shown = 0;
  uint32_t more = 0;
  while (walk_next(&walk)) {
    if (shown++ >= EXPLAINED_MODES) {
      more++;
      continue;
    }
    text_append_char(out, '\n');
    model_build_explain(model->build, walk.mode, out);
  }
  if (more) text_append_format(out, "\nand %u more modes of the same kind\n", more);
  show_places(out);
}

// ---- JSON ---------------------------------------------------------------------------------------

static void json_text(TextBuffer* out, Str s) {
  static const char hex[] = "0123456789abcdef";
  text_append_char(out, '"');
  for (uint32_t i = 0; i < s.length; i++) {
    unsigned char c = (unsigned char)s.data[i];
    if (c == '"' || c == '\\') {
      text_append_char(out, '\\');
      text_append_char(out, (char)c);
    } else if (c < 0x20) {
      text_append_c(out, "\\u00");
      text_append_char(out, hex[c >> 4]);
      text_append_char(out, hex[c & 15]);
    } else {
      text_append_char(out, (char)c);
    }
  }
  text_append_char(out, '"');
}

static void json_key(TextBuffer* out, const char* key) {
  json_text(out, str_from_c(key));
  text_append_char(out, ':');
}

static void json_separator(TextBuffer* out, uint32_t index) {
  if (index > 0) text_append_char(out, ',');
}

static void json_variables(TextBuffer* out, const Model* m) {
  json_key(out, "variables");
  text_append_char(out, '[');
  for (uint32_t i = 0; i < m->column_count; i++) {
    const ModelVar* var = &m->vars[m->columns[i]];
    json_separator(out, i);
    text_append_c(out, "{\"name\":");
    json_text(out, var->name);
    text_append_c(out, var->kind == MODEL_VAR_DISCRETE ? ",\"kind\":\"discrete\""
                                                       : ",\"kind\":\"unknown\"");
    text_append_c(out, ",\"unit\":");
    json_text(out, var->unit);
    text_append_char(out, '}');
  }
  text_append_char(out, ']');
}

static void json_constants(TextBuffer* out, const Model* m) {
  uint32_t written = 0;
  json_key(out, "constants");
  text_append_char(out, '[');
  for (uint32_t p = 0; p < m->param_count; p++) {
    const ModelParam* param = &m->params[p];
    if (param->hidden) continue;
    json_separator(out, written++);
    text_append_c(out, "{\"name\":");
    json_text(out, param->name);
    text_append_format(out, ",\"appearance\":%u,\"structural\":%s}", param->appearance,
                       param->structural ? "true" : "false");
  }
  text_append_char(out, ']');
}

static void json_automata(TextBuffer* out, const Model* m) {
  uint32_t written = 0;
  json_key(out, "automata");
  text_append_char(out, '[');
  for (uint32_t a = 0; a < m->automaton_count; a++) {
    const ModelAutomaton* automaton = &m->automata[a];
    if (automaton->hidden) continue;
    json_separator(out, written++);
    text_append_c(out, "{\"name\":");
    json_text(out, automaton->name);
    text_append_c(out, automaton->kind == MODEL_AUTOMATON_SWITCH
                           ? ",\"kind\":\"switch\",\"states\":["
                           : ",\"kind\":\"automaton\",\"states\":[");
    for (uint32_t s = 0; s < automaton->state_count; s++) {
      json_separator(out, s);
      json_text(out, automaton->states[s].written->name);
    }
    text_append_format(out, "],\"line\":%u}", automaton->line);
  }
  text_append_char(out, ']');
}

static void json_transitions(TextBuffer* out, const Model* m) {
  json_key(out, "transitions");
  text_append_char(out, '[');
  for (uint32_t t = 0; t < m->transition_count; t++) {
    const ModelTransition* transition = &m->transitions[t];
    const ModelAutomaton* automaton = &m->automata[transition->automaton];
    json_separator(out, t);
    text_append_c(out, "{\"automaton\":");
    json_text(out, automaton->name);
    text_append_c(out, ",\"from\":[");
    for (uint32_t i = 0; i < transition->from_count; i++) {
      json_separator(out, i);
      json_text(out, automaton->states[transition->from[i]].written->name);
    }
    text_append_c(out, "],\"to\":");
    json_text(out, automaton->states[transition->to].written->name);
    text_append_c(out, ",\"atoms\":[");
    for (uint32_t i = 0; i < transition->guard.atom_count; i++) {
      json_separator(out, i);
      json_text(out, m->atoms[transition->guard.atoms[i]].written->text);
    }
    text_append_format(out, "],\"line\":%u}", transition->line);
  }
  text_append_char(out, ']');
}

static const char* role_text(uint8_t role) {
  switch (role) {
  case MODEL_ROLE_STATE: return "state";
  case MODEL_ROLE_ALGEBRAIC: return "algebraic";
  case MODEL_ROLE_DISCRETE: return "discrete";
  default: return "undetermined";
  }
}

static void json_mode(TextBuffer* out, const CompiledModel* model, const uint32_t* mode) {
  const Model* m = model->base.model;
  const ModelMode* compiled = NULL;
  const Diag* failure = NULL;
  uint32_t written = 0;
  text_append_c(out, "{\"mode\":{");
  for (uint32_t a = 0; a < m->automaton_count; a++) {
    if (m->automata[a].hidden) continue;
    json_separator(out, written++);
    json_text(out, m->automata[a].name);
    text_append_char(out, ':');
    json_text(out, m->automata[a].states[mode[a]].written->name);
  }
  text_append_c(out, "},");
  ModelProvider provider = model->base.provider;
  if (provider.get(provider.user, mode, &compiled, &failure) < 0) {
    json_key(out, "error");
    json_text(out, failure ? failure->message : STR_LIT("out of memory"));
    text_append_char(out, '}');
    return;
  }
  const ModelImplicit* implicit = compiled->implicit;
  text_append_format(out, "\"states\":%u,", implicit ? implicit->freedom : compiled->state_count);
  if (implicit && !implicit->explicit_order) {
    text_append_format(out,
                       "\"implicit\":{\"index\":%u,\"integrated\":%u,\"constraints\":%u,"
                       "\"blocks\":%u},",
                       implicit->index, compiled->state_count, implicit->constraint_count,
                       implicit->block_count);
  }
  model_build_explain_json(model->build, mode, out);
  text_append_c(out, "\"roles\":{");
  for (uint32_t i = 0; i < m->column_count; i++) {
    json_separator(out, i);
    json_text(out, m->vars[m->columns[i]].name);
    text_append_format(out, ":\"%s\"", role_text(compiled->vars[m->columns[i]].role));
  }
  text_append_format(out, "},\"instructions\":%u}", compiled->rhs.code_count);
}

static void explain_names(const CompiledModel* model, TextBuffer* out) {
  const Model* m = model->base.model;
  text_append_c(out, "{\"model\":");
  json_text(out, model->source.name);
  text_append_char(out, ',');
  json_variables(out, m);
  text_append_char(out, ',');
  json_constants(out, m);
  text_append_char(out, ',');
  json_automata(out, m);
  text_append_char(out, ',');
  json_transitions(out, m);
}

/// The parts inside of one, or of the model: those from *at on that are deeper than it.
static void json_parts(TextBuffer* out, const CompiledModel* model, const LismaParts* parts,
                       uint32_t* at, uint32_t depth) {
  text_append_char(out, '[');
  for (uint32_t i = 0; *at < parts->count && parts->data[*at].depth == depth; i++) {
    const LismaPart* part = &parts->data[(*at)++];
    uint32_t line = 0;
    uint32_t column = 0;
    source_place(&model->source, part->place.begin, &line, &column);
    json_separator(out, i);
    text_append_c(out, "{\"name\":");
    json_text(out, part->name);
    text_append_c(out, ",\"part\":");
    json_text(out, part->type);
    text_append_format(out, ",\"line\":%u,\"parts\":", line);
    json_parts(out, model, parts, at, depth + 1);
    text_append_char(out, '}');
  }
  text_append_char(out, ']');
}

static void explain_json(const CompiledModel* model, TextBuffer* out) {
  const Model* m = model->base.model;
  explain_names(model, out);
  LismaParts parts = {0};
  if (!model->rules) lisma_parts(out->arena, &model->source, &parts);
  if (parts.count) {
    uint32_t at = 0;
    text_append_c(out, ",\"parts\":");
    json_parts(out, model, &parts, &at, 0);
  }
  text_append_c(out, ",\"modes\":[");
  ModeWalk walk = {.model = m, .mode = ARENA_ARRAY(out->arena, uint32_t, m->automaton_count + 1)};
  for (uint32_t i = 0; walk_next(&walk); i++) {
    json_separator(out, i);
    json_mode(out, model, walk.mode);
  }
  text_append_c(out, "]}\n");
}

SltStatus slt_model_explain(const SltModel* model, SltExplainFormat format, SltWriter writer) {
  if (!model || !writer.write) return SLT_ERR_ARGUMENT;
  const CompiledModel* compiled = (const CompiledModel*)model;
  Arena arena;
  jmp_buf oom;
  volatile SltStatus status = SLT_ERR_NOMEM;
  arena_init(&arena, &compiled->allocator, &oom);
  if (setjmp(oom) == 0) {
    TextBuffer text = {.arena = &arena};
    switch (format) {
    case SLT_EXPLAIN_IR: ir_print_model(&text, &compiled->ir); break;
    case SLT_EXPLAIN_JSON: explain_json(compiled, &text); break;
    case SLT_EXPLAIN_NAMES:
      explain_names(compiled, &text);
      text_append_c(&text, "}\n");
      break;
    case SLT_EXPLAIN_TEXT:
    default: explain_text(compiled, &text); break;
    }
    Str all = text_str(&text);
    status = writer.write(writer.user, all.data, all.length);
  }
  arena_free(&arena);
  return status;
}
