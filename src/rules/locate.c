// SPDX-License-Identifier: MIT
//
// Located execution: the equations of the rules as IR. They go through the one compiler of
// equations; afterwards every place in its text is replaced by the place in the tables it was
// written for, so that messages and events speak of rows.
#include "rules/rules.h"

#include <math.h>
#include <string.h>

#define SITUATION_LEVELS_MAX 1000u

typedef struct Locate {
  const RulesModel* m;
  IrModel* ir;
  Arena* arena;
  DiagList* diags;
  Source* text;  // the equations
  RulesMap map;
} Locate;

// ---- what equations cannot say
// --------------------------------------------------------------------

static uint32_t class_of(const RulesRule* rule) {
  return rules_signature((RulesProcedure)rule->procedure)->class;
}

/// Rules of one variable that cannot stand side by side.
static void check_mixture(Locate* l, uint32_t target) {
  const RulesRule* lone = NULL;  // one that acts at instants, or a backlash
  const RulesRule* other = NULL;
  for (uint32_t i = 0; i < l->m->rules.count; i++) {
    const RulesRule* rule = &l->m->rules.data[i];
    if (rule->target != target || class_of(rule) == RULES_CLASS_ASSIGN) continue;
    bool alone = class_of(rule) == RULES_CLASS_DISCRETE || class_of(rule) == RULES_CLASS_PLAY;
    if (alone && !lone) {
      lone = rule;
    } else {
      other = rule;
    }
  }
  if (!lone || !other) return;
  if (class_of(lone) == RULES_CLASS_DISCRETE && class_of(other) == RULES_CLASS_DISCRETE) return;
  Str name = l->m->states.data[target].name;
  Str procedure = rules_first_name(rules_signature((RulesProcedure)lone->procedure)->names);
  Diag* diag = diag_add(l->diags, DIAG_E1060, lone->span,
                        "rule %.*s: '%.*s' has another rule beside the procedure %.*s",
                        STR_ARGS(lone->label), STR_ARGS(name), STR_ARGS(procedure));
  diag_note(l->diags, diag, other->span, "the other one is here");
  diag_hint(l->diags, diag, "give the procedure a variable of its own, or run with --cyclic");
}

/// Situations that need themselves: 1 while being looked at, 2 done.
static void check_cycle(Locate* l, uint8_t* state, uint32_t situation, uint32_t depth) {
  // the compiler of equations has its own limit for what is nested deeper
  if (state[situation] == 2 || depth > SITUATION_LEVELS_MAX) return;
  if (state[situation] == 1) {
    const RulesSituation* s = &l->m->situations.data[situation];
    Diag* diag = diag_add(l->diags, DIAG_E1061, s->span, "the situation '%.*s' depends on itself",
                          STR_ARGS(s->name));
    diag_hint(l->diags, diag, "a memory is a logical state that is set and reset");
    return;
  }
  state[situation] = 1;
  for (uint32_t i = 0; i < l->m->rows.count; i++) {
    const RulesSituationRow* row = &l->m->rows.data[i];
    if (row->situation != situation) continue;
    for (uint32_t k = 0; k < row->when.literals.count; k++) {
      const RulesLiteral* literal = &row->when.literals.data[k];
      if (literal->kind == RULES_LOGIC_SITUATION) check_cycle(l, state, literal->index, depth + 1);
    }
  }
  state[situation] = 2;
}

static void check(Locate* l) {
  for (uint32_t i = 0; i < l->m->states.count; i++)
    check_mixture(l, i);
  uint8_t* state = ARENA_ARRAY(l->arena, uint8_t, l->m->situations.count + 1);
  for (uint32_t i = 0; i < l->m->situations.count; i++)
    check_cycle(l, state, i, 0);
}

// ---- places
// ---------------------------------------------------------------------------------------

static Span map_span(const Locate* l, Span span) {
  uint32_t low = 0;
  uint32_t high = l->map.items.count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (l->map.items.data[middle].begin <= span.begin) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return high ? l->map.items.data[low].span : (Span){0, 0};
}

static bool is_condition_cell(const Locate* l, Span span) {
  for (uint32_t i = 0; i < l->m->rows.count; i++) {
    Span cell = l->m->rows.data[i].span;
    if (cell.begin == span.begin && cell.end == span.end) return true;
  }
  return false;
}

static void map_spans(Locate* l) {
  IrModel* ir = l->ir;
#define MAP(list, field) \
  for (uint32_t i = 0; i < ir->list.count; i++) \
  ir->list.data[i].field = map_span(l, ir->list.data[i].field)
  MAP(params, span);
  MAP(vars, span);
  MAP(starts, span);
  MAP(equations, span);
  MAP(deletes, span);
  MAP(atoms, span);
  MAP(automata, span);
  MAP(states, span);
  MAP(states, invariant_span);
  MAP(transitions, span);
  MAP(actions, span);
  MAP(schedules, span);
  MAP(data, span);
  MAP(macros, span);
#undef MAP
  ir->energy_span = map_span(l, ir->energy_span);
  // guards that a procedure brings in stand nowhere: their row is a place, not their text
  for (uint32_t i = 0; i < ir->transitions.count; i++) {
    Span* span = &ir->transitions.data[i].span;
    if (!is_condition_cell(l, *span)) span->end = span->begin;
  }
}

// ---- names
// ----------------------------------------------------------------------------------------

static void hide_helpers(Locate* l) {
  IrModel* ir = l->ir;
  bool* hidden = ARENA_ARRAY(l->arena, bool, (size_t)ir->names.names.count + 1);
  for (uint32_t i = 0; i < l->map.hidden.count; i++) {
    hidden[names_find(&ir->names, l->map.hidden.data[i])] = true;
  }
  hidden[0] = false;  // a helper that the equations did not need
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    if (hidden[ir->vars.data[v].name]) ir->vars.data[v].hidden = true;
  }
}

static bool starts_with(Str text, uint32_t at, Str word) {
  return text.length - at >= word.length && memcmp(text.data + at, word.data, word.length) == 0;
}

/// A condition without what only the equations need: backquotes, and brackets around one relation.
static Str plain_text(const Locate* l, Str condition) {
  TextBuffer out = {.arena = l->arena};
  const char* open = memchr(condition.data, '[', condition.length);
  bool one = open == condition.data && condition.data[condition.length - 1] == ']' &&
             !memchr(open + 1, '[', condition.length - 1);
  for (uint32_t i = one ? 1 : 0; i + (one ? 1 : 0) < condition.length; i++) {
    if (condition.data[i] != '`') text_append_char(&out, condition.data[i]);
  }
  return text_str(&out);
}

/// The condition of "if(condition, ..." or "if (condition) {" at an offset of the equations; for
/// other functions such as "abs(x)" their text.
static Str condition_text(const Locate* l, Span span) {
  Str text = l->text->text;
  uint32_t at = span.begin;
  if (at + 3 > text.length || span.end > text.length) return (Str){0};
  bool block = starts_with(text, at, STR_LIT("if ("));
  if (!block && !starts_with(text, at, STR_LIT("if("))) {
    return plain_text(l, (Str){text.data + at, span.end - at});
  }
  uint32_t begin = at + (block ? 4 : 3);
  uint32_t depth = 0;
  bool quoted = false;
  for (at = begin; at < text.length; at++) {
    char c = text.data[at];
    if (c == '`') quoted = !quoted;
    if (quoted) continue;
    if (depth == 0 && (c == ',' || c == ')')) break;
    if (c == '(' || c == '[') depth++;
    if (c == ')' || c == ']') depth--;
  }
  return plain_text(l, (Str){text.data + begin, at - begin});
}

static bool automaton_named(const IrModel* ir, uint32_t name) {
  for (uint32_t i = 0; i < ir->automata.count; i++) {
    if (ir->automata.data[i].name == name) return true;
  }
  return false;
}

/// Switches are called by their condition: "braking" instead of a place in a text nobody wrote.
static void name_switches(Locate* l) {
  IrModel* ir = l->ir;
  for (uint32_t i = 0; i < ir->automata.count; i++) {
    IrAutomaton* automaton = &ir->automata.data[i];
    if (automaton->kind != IR_AUTOMATON_SWITCH || automaton->hidden) continue;
    Str condition = condition_text(l, automaton->span);
    if (condition.length == 0 || condition.length > 200) continue;
    uint32_t name = names_intern(&ir->names, condition);
    for (uint32_t k = 2; automaton_named(ir, name); k++) {
      name = names_intern(&ir->names, str_format(l->arena, "%.*s #%u", STR_ARGS(condition), k));
    }
    automaton->name = name;
  }
}

static const RulesShown* find_shown(const Locate* l, Str name) {
  for (uint32_t i = 0; i < l->map.automata.count; i++) {
    if (str_equal(l->map.automata.data[i].name, name)) return &l->map.automata.data[i];
  }
  return NULL;
}

/// Initial states are called by what they mean, helpers are not shown.
static void name_automata(Locate* l) {
  IrModel* ir = l->ir;
  for (uint32_t i = 0; i < ir->automata.count; i++) {
    IrAutomaton* automaton = &ir->automata.data[i];
    const RulesShown* found = find_shown(l, names_get(&ir->names, automaton->name));
    if (automaton->kind == IR_AUTOMATON_SWITCH || !found) continue;
    automaton->hidden = found->hidden;
    if (found->initial.length == 0) continue;
    ir->states.data[automaton->state_begin].name = names_intern(&ir->names, found->initial);
  }
}

/// Relations of predicates are told in the words of their cells, those that a procedure brings in
/// as the equations have them: the text of their row would say nothing.
static void name_relations(Locate* l) {
  Str text = l->text->text;
  for (uint32_t i = 0; i < l->ir->atoms.count; i++) {
    IrAtom* atom = &l->ir->atoms.data[i];
    Span place = map_span(l, atom->span);
    bool told = atom->text.length > 0 || atom->span.end > text.length;
    for (uint32_t k = 0; k < l->m->predicates.count && !told; k++) {
      Span relation = l->m->predicates.data[k].span;
      told = relation.begin == place.begin && relation.end == place.end;
    }
    if (told) continue;
    uint32_t length = atom->span.end - atom->span.begin;
    atom->text = plain_text(l, (Str){text.data + atom->span.begin, length});
  }
}

// ---- entry
// ----------------------------------------------------------------------------------------

/// The compiler of equations refused: tell it at the row its text came from.
static void pass_messages(Locate* l, const DiagList* found) {
  for (uint32_t i = 0; i < found->items.count; i++) {
    const Diag* d = &found->items.data[i];
    if (diag_code_severity(d->code) != SLT_ERROR) continue;
    Diag* out = diag_add(l->diags, d->code, map_span(l, d->span), "as equations: %.*s",
                         STR_ARGS(d->message));
    if (d->hint.length) diag_hint(l->diags, out, "%.*s", STR_ARGS(d->hint));
  }
}

bool rules_lower(const RulesModel* model, IrModel* ir, Arena* arena, const Source* source,
                 const RulesOptions* options, DiagList* diags) {
  Locate l = {.m = model, .ir = ir, .arena = arena, .diags = diags};
  uint32_t errors = diags->error_count;
  ir_model_init(ir, arena, source);
  check(&l);
  if (diags->error_count != errors) return false;
  l.text = ARENA_NEW(arena, Source);
  source_init(l.text, arena, source->name, rules_write_lisma(model, arena, &l.map));
  DiagList found;
  diag_init(&found, arena, l.text);
  LismaOptions lisma = {.trust_units = true};
  if (options) {
    LismaOverride* values = ARENA_ARRAY(arena, LismaOverride, options->override_count + 1);
    for (uint32_t i = 0; i < options->override_count; i++) {
      // a cell that is only named keeps its value
      if (!isnan(options->overrides[i].value))
        values[lisma.override_count++] = options->overrides[i];
    }
    lisma.overrides = values;
    lisma.observe = options->observe;
    lisma.observe_count = options->observe_count;
  }
  if (!lisma_compile(ir, arena, l.text, &lisma, &found)) {
    pass_messages(&l, &found);
    return false;
  }
  name_switches(&l);
  name_automata(&l);
  name_relations(&l);
  map_spans(&l);
  hide_helpers(&l);
  ir->source = source;
  ir_canonicalise(ir);
  Str why = {0};
  if (!ir_verify(ir, arena, &why)) {
    diag_add(diags, DIAG_E0799, (Span){0, 0}, "internal error: %.*s", STR_ARGS(why));
    return false;
  }
  return true;
}
