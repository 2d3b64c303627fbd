// SPDX-License-Identifier: MIT
//
// Measures from text.
#include "experiment/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char* name;
  ReadingKind kind;
  uint32_t numbers;  // arguments behind the first
} reading_words[] = {
    {"end", READING_END, 0},   {"start", READING_START, 0},       {"at", READING_AT, 1},
    {"max", READING_MAX, 0},   {"min", READING_MIN, 0},           {"mean", READING_MEAN, 0},
    {"rms", READING_RMS, 0},   {"integral", READING_INTEGRAL, 0}, {"quantile", READING_QUANTILE, 1},
    {"time", READING_TIME, 1}, {"count", READING_COUNT, 0},       {"duration", READING_DURATION, 0},
};

/// Measures being read; `sim` is there to ask for names.
typedef struct Reader {
  SltMeasures* measures;
  SltSim* sim;
  SltProblem* problem;
  uint32_t declared;  // measures of the model that formulas may name besides those before them
} Reader;

static const char* copy_name(Str name, char out[128]) {
  snprintf(out, 128, "%.*s", (int)(name.length < 127 ? name.length : 127), name.data);
  return out;
}

/// Room for one more element behind `count` ones: twice as many where their number is a power of 2.
static void* grow(void* elements, uint32_t count, size_t size) {
  if (count & (count - 1) || (count == 0 && elements)) return elements;
  return realloc(elements, (count ? 2 * (size_t)count : 1) * size);
}

static SltStatus find_quantity(Reader* r, Str name, uint32_t* leaf) {
  SltMeasures* m = r->measures;
  char text[128];
  SltQuantity q;
  if (name.length > 127 || slt_sim_find(r->sim, copy_name(name, text), &q) < 0) {
    return SLT_ERR_NOT_FOUND;
  }
  if (q.kind == SLT_KIND_MODE) {
    return problem_set(r->problem, SLT_ERR_ARGUMENT,
                       "time(A.s), count(A.s) and duration(A.s) ask for states",
                       "`%s` is a state, not a number", text);
  }
  for (uint32_t i = 0; i < m->quantity_count; i++) {
    const SltQuantity* have = &m->quantities[i];
    *leaf = i;
    if (have->kind == q.kind && have->index == q.index && have->order == q.order) return SLT_OK;
  }
  SltQuantity* room = grow(m->quantities, m->quantity_count, sizeof *room);
  if (!room) return SLT_ERR_NOMEM;
  m->quantities = room;
  *leaf = m->quantity_count;
  m->quantities[m->quantity_count++] = q;
  return SLT_OK;
}

static SltStatus unknown_name(Reader* r, Str name) {
  const char* nearest = NULL;
  uint32_t best = 3;
  for (uint32_t i = 0; i < slt_sim_column_count(r->sim) && i < 10000; i++) {
    const char* column = slt_sim_column_name(r->sim, i);
    uint32_t distance = str_distance(name, str_from_c(column), 2);
    if (distance >= best || distance >= name.length) continue;
    best = distance;
    nearest = column;
  }
  char hint[200];
  snprintf(hint, sizeof hint, nearest ? "did you mean %s?" : "`saltus explain` lists all names",
           nearest);
  return problem_set(r->problem, SLT_ERR_NOT_FOUND, hint, "the model has no `%.*s`",
                     STR_ARGS(name));
}

/// Names inside of a reading: quantities of the model.
static SltStatus signal_leaf(void* user, FormulaParser* parser, Str name, bool call,
                             uint32_t* leaf) {
  if (call) return SLT_END;
  SltStatus status = find_quantity(user, name, leaf);
  if (status != SLT_ERR_NOT_FOUND) return status;
  if (parser->at == parser->end || *parser->at != '[') return unknown_name(user, name);
  Reader* r = user;
  return problem_set(r->problem, SLT_ERR_NOT_FOUND, "write x[3], not x[N]",
                     "an index of `%.*s` is no number", STR_ARGS(name));
}

/// A number that may be given by a formula of numbers.
static SltStatus read_number(FormulaParser* outer, double* out) {
  bool minus = formula_take(outer, '-');
  formula_peek(outer);
  uint32_t length = number_read((Str){outer->at, (uint32_t)(outer->end - outer->at)}, false, out);
  outer->at += length;
  if (minus) *out = -*out;
  if (length > 0 && isfinite(*out)) return SLT_OK;
  return problem_set(outer->problem, SLT_ERR_SYNTAX, "write a number there, e.g. at(x, 2.5)",
                     "expected a number");
}

/// Number of a state of an automaton that the user wrote; the state's name behind the last point.
static SltStatus read_state(Reader* r, FormulaParser* outer, Reading* reading) {
  Str name;
  if (!formula_name(outer, &name)) {
    return problem_set(r->problem, SLT_ERR_SYNTAX, "for example time(main.rest)",
                       "expected AUTOMATON.state");
  }
  char text[128];
  copy_name(name, text);
  char* point = strrchr(text, '.');
  const char* automaton = point ? text : "main";
  const char* state = point ? point + 1 : text;
  if (point) *point = '\0';
  uint32_t a = 0;
  const char* known = NULL;
  while ((known = slt_sim_automaton_name(r->sim, a)) && strcmp(known, automaton) != 0)
    a++;
  if (!known) {
    char hint[200] = "the model has no automaton";
    if (slt_sim_automaton_count(r->sim) > 0) {
      snprintf(hint, sizeof hint, "its first automaton is %s", slt_sim_automaton_name(r->sim, 0));
    }
    return problem_set(r->problem, SLT_ERR_NOT_FOUND, hint, "there is no automaton `%s`",
                       automaton);
  }
  uint32_t s = 0;
  while (s < slt_sim_state_count(r->sim, a) && strcmp(slt_sim_state_name(r->sim, a, s), state) != 0)
    s++;
  if (s == slt_sim_state_count(r->sim, a)) {
    char hint[300] = "its states are";
    for (uint32_t i = 0; i < s && strlen(hint) < 200; i++) {
      size_t used = strlen(hint);
      snprintf(hint + used, sizeof hint - used, "%s %.60s", i ? "," : "",
               slt_sim_state_name(r->sim, a, i));
    }
    return problem_set(r->problem, SLT_ERR_NOT_FOUND, hint, "automaton `%s` has no state `%s`",
                       automaton, state);
  }
  size_t length = strlen(automaton) + 1;
  reading->automaton = malloc(length + strlen(state) + 1);
  if (!reading->automaton) return SLT_ERR_NOMEM;
  memcpy(reading->automaton, automaton, length);
  memcpy(reading->automaton + length, state, strlen(state) + 1);
  reading->state = reading->automaton + length;
  return SLT_OK;
}

/// Which quantities a signal reads, each once.
static SltStatus note_leaves(SltMeasures* m, Reading* reading) {
  const Formula* signal = &reading->signal;
  reading->leaves = malloc((signal->count + (size_t)1) * sizeof *reading->leaves);
  if (!reading->leaves) return SLT_ERR_NOMEM;
  for (uint32_t node = 0; node < signal->count; node++) {
    uint32_t leaf = 0;
    uint32_t i = 0;
    if (!formula_reads(signal, node, &leaf)) continue;
    while (i < reading->leaf_count && reading->leaves[i] != leaf)
      i++;
    reading->leaves[i] = leaf;
    if (i == reading->leaf_count) reading->leaf_count++;
  }
  if (reading->leaf_count > m->leaf_most) m->leaf_most = reading->leaf_count;
  return SLT_OK;
}

/// The signal of a reading, up to the comma or parenthesis behind it.
static SltStatus read_signal(Reader* r, FormulaParser* outer, Reading* reading) {
  FormulaParser* inner = malloc(sizeof *inner);
  if (!inner) return SLT_ERR_NOMEM;
  *inner = (FormulaParser){.at = outer->at,
                           .end = outer->end,
                           .leaf = signal_leaf,
                           .user = r,
                           .depth = outer->depth,
                           .problem = r->problem};
  SltStatus status = formula_read_part(inner, &reading->signal);
  outer->at = inner->at;
  free(inner);
  return status < 0 ? status : note_leaves(r->measures, reading);
}

static SltStatus check_number(Reader* r, const Reading* reading) {
  double n = reading->number;
  if (reading->kind == READING_QUANTILE && !(n >= 0.0 && n <= 1.0)) {
    return problem_set(r->problem, SLT_ERR_ARGUMENT, "quantile(x, 0.5) is the median",
                       "the share of a quantile lies between 0 and 1");
  }
  if (reading->kind == READING_TIME && !(n >= 1.0 && n == floor(n))) {
    return problem_set(r->problem, SLT_ERR_ARGUMENT, "time(A.s, 1) is the first entry",
                       "entries are counted 1, 2, 3...");
  }
  return SLT_OK;
}

/// The times between which a reading along the motion looks, if some are given.
static SltStatus read_times(Reader* r, FormulaParser* p, Reading* reading) {
  reading->from = -HUGE_VAL;
  reading->to = HUGE_VAL;
  bool along = reading_is_along(reading->kind) && reading->kind != READING_AT;
  if (!along || !formula_take(p, ',')) return SLT_OK;
  SLT_TRY(read_number(p, &reading->from));
  if (!formula_take(p, ',')) {
    return problem_set(r->problem, SLT_ERR_SYNTAX, "for example mean(x, 2, 5)",
                       "expected a second time, up to which it reads");
  }
  SLT_TRY(read_number(p, &reading->to));
  if (reading->from < reading->to) return SLT_OK;
  return problem_set(r->problem, SLT_ERR_ARGUMENT, "the earlier time comes first: mean(x, 2, 5)",
                     "there is nothing between the two times");
}

static SltStatus add_reading(SltMeasures* m, Reading reading, uint32_t* leaf) {
  Reading* room = grow(m->readings, m->reading_count, sizeof *room);
  if (!room) return SLT_ERR_NOMEM;
  m->readings = room;
  room[m->reading_count] = reading;
  *leaf = m->reading_count++;
  return SLT_OK;
}

static SltStatus read_reading(Reader* r, FormulaParser* p, uint32_t word, uint32_t* leaf) {
  SltMeasures* m = r->measures;
  SLT_TRY(add_reading(m, (Reading){.kind = reading_words[word].kind}, leaf));
  Reading* reading = &m->readings[*leaf];
  bool state = reading_is_of_state(reading->kind);
  SLT_TRY(state ? read_state(r, p, reading) : read_signal(r, p, reading));
  reading->number = 1.0;
  if (reading_words[word].numbers && (reading->kind != READING_TIME || formula_peek(p) == ',')) {
    if (!formula_take(p, ',')) {
      return problem_set(r->problem, SLT_ERR_SYNTAX, "for example at(x, 2.5), quantile(x, 0.9)",
                         "%s needs a second argument", reading_words[word].name);
    }
    SLT_TRY(read_number(p, &reading->number));
  }
  SLT_TRY(read_times(r, p, reading));
  if (!formula_take(p, ')')) {
    return problem_set(r->problem, SLT_ERR_SYNTAX, NULL, "expected ')' behind the argument of %s",
                       reading_words[word].name);
  }
  return check_number(r, reading);
}

/// Commas at the level of a call. max(a, b) of two measures is the ordinary function, max(x, 2, 5)
/// reads x between two times.
static int count_commas(const FormulaParser* p) {
  int depth = 0;
  int count = 0;
  bool quoted = false;
  for (const char* at = p->at; at < p->end; at++) {
    if (*at == '`') quoted = !quoted;
    if (quoted) continue;
    if (*at == '(' || *at == '[') depth++;
    if (*at == ')' || *at == ']') depth--;
    if (depth < 0) break;
    count += depth == 0 && *at == ',';
  }
  return count;
}

static SltStatus add_plain(Reader* r, ReadingKind kind, uint32_t number, uint32_t* leaf) {
  return add_reading(r->measures, (Reading){.kind = kind, .measure = number}, leaf);
}

/// The formula of a measure that the model declares; empty: it declares none of this name.
static Str declared_formula(const Reader* r, Str name) {
  const SltModel* model = r->measures->model;
  for (uint32_t i = 0; i < r->declared; i++) {
    if (str_equal(name, str_from_c(slt_model_measure_name(model, i))))
      return str_from_c(slt_model_measure_text(model, i));
  }
  return (Str){0};
}

/// Names of a measure's own formula: readings, measures before it and of the model, constants.
static SltStatus measure_leaf(void* user, FormulaParser* p, Str name, bool call, uint32_t* leaf) {
  Reader* r = user;
  SltMeasures* m = r->measures;
  for (uint32_t w = 0; call && w < SLT_COUNT(reading_words); w++) {
    if (!str_equal(name, str_from_c(reading_words[w].name))) continue;
    ReadingKind kind = reading_words[w].kind;
    if ((kind == READING_MAX || kind == READING_MIN) && count_commas(p) == 1) return SLT_END;
    return read_reading(r, p, w, leaf);
  }
  if (call) return SLT_END;
  for (uint32_t i = 0; i < m->count; i++) {
    if (str_equal(name, str_from_c(m->names[i]))) return add_plain(r, READING_MEASURE, i, leaf);
  }
  p->definition = declared_formula(r, name);
  if (p->definition.length) return SLT_END;
  uint32_t quantity = 0;
  SltStatus status = find_quantity(r, name, &quantity);
  if (status == SLT_ERR_NOT_FOUND) return unknown_name(r, name);
  SLT_TRY(status);
  if (m->quantities[quantity].kind == SLT_KIND_CONSTANT) {
    return add_plain(r, READING_CONSTANT, quantity, leaf);
  }
  char hint[200];
  snprintf(hint, sizeof hint, "end(%.*s), max(%.*s), at(%.*s, 2)...", STR_ARGS(name),
           STR_ARGS(name), STR_ARGS(name));
  return problem_set(r->problem, SLT_ERR_ARGUMENT, hint,
                     "`%.*s` changes during a run: say what of it is asked for", STR_ARGS(name));
}

/// `NAME = ...` in front; else the whole text is the name.
static Str split_name(Str* text) {
  Str whole = *text;
  while (whole.length && (whole.data[0] == ' ' || whole.data[0] == '\t'))
    whole = (Str){whole.data + 1, whole.length - 1};
  while (whole.length &&
         (whole.data[whole.length - 1] == ' ' || whole.data[whole.length - 1] == '\t'))
    whole.length--;
  FormulaParser p = {.at = whole.data, .end = whole.data + whole.length};
  Str name;
  *text = whole;
  if (!formula_name(&p, &name) || !formula_take(&p, '=')) return whole;
  *text = (Str){p.at, (uint32_t)(p.end - p.at)};
  return name;
}

static SltStatus read_measure(Reader* r, Str name, Str text) {
  SltMeasures* m = r->measures;
  for (uint32_t i = 0; i < m->count; i++) {
    if (str_equal(name, str_from_c(m->names[i]))) {
      return problem_set(r->problem, SLT_ERR_ARGUMENT, "give one of them another name",
                         "there are two measures `%.*s`", STR_ARGS(name));
    }
  }
  FormulaParser* p = malloc(sizeof *p);
  char* copy = malloc((size_t)name.length + 1);
  if (!p || !copy) {
    free(p);
    free(copy);
    return SLT_ERR_NOMEM;
  }
  memcpy(copy, name.data, name.length);
  copy[name.length] = '\0';
  *p = (FormulaParser){.at = text.data,
                       .end = text.data + text.length,
                       .leaf = measure_leaf,
                       .user = r,
                       .problem = r->problem};
  SltStatus status = formula_read(p, &m->formulas[m->count]);
  free(p);
  if (status < 0) {
    free(copy);
    return status;
  }
  m->own[m->count] = name.data != text.data;
  m->names[m->count++] = copy;
  return SLT_OK;
}

/// A problem of one measure, with its name in front.
static void name_problem(SltProblem* problem, const char* text) {
  if (!problem) return;
  char told[sizeof problem->message];
  memcpy(told, problem->message, sizeof told);
  snprintf(problem->message, sizeof problem->message, "measure `%.80s`: %.200s", text, told);
}

static SltStatus read_all(Reader* r, const char* const* texts, uint32_t count) {
  SltMeasures* m = r->measures;
  m->names = calloc(count + 1, sizeof *m->names);
  m->own = calloc(count + 1, sizeof *m->own);
  m->formulas = calloc(count + 1, sizeof *m->formulas);
  if (!m->names || !m->own || !m->formulas) return SLT_ERR_NOMEM;
  for (uint32_t i = 0; i < count; i++) {
    const char* text = texts ? texts[i] : slt_model_measure_text(m->model, i);
    Str formula = str_from_c(text);
    Str name = texts ? split_name(&formula) : str_from_c(slt_model_measure_name(m->model, i));
    SltStatus status = read_measure(r, name, formula);
    if (status >= 0) continue;
    name_problem(r->problem, text);
    return status;
  }
  return SLT_OK;
}

SltStatus slt_measures_create(const SltModel* model, const char* const* texts, uint32_t count,
                              SltMeasures** out, SltProblem* problem) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (problem) *problem = (SltProblem){.message = ""};
  if (!model) return SLT_ERR_ARGUMENT;
  if (!texts) count = slt_model_measure_count(model);
  Reader r = {.problem = problem,
              .measures = calloc(1, sizeof *r.measures),
              .declared = texts ? slt_model_measure_count(model) : 0};
  if (!r.measures) return SLT_ERR_NOMEM;
  r.measures->model = model;
  SltSimOptions options = slt_sim_options();
  SltStatus status = slt_sim_create(model, &options, &r.sim);
  if (status >= 0) status = read_all(&r, texts, count);
  slt_sim_free(r.sim);
  if (status < 0) {
    slt_measures_free(r.measures);
    return status;
  }
  *out = r.measures;
  return SLT_OK;
}

void slt_measures_free(SltMeasures* measures) {
  if (!measures) return;
  for (uint32_t i = 0; i < measures->reading_count; i++) {
    formula_clear(&measures->readings[i].signal);
    free(measures->readings[i].leaves);
    free(measures->readings[i].automaton);
  }
  for (uint32_t i = 0; i < measures->count; i++) {
    free(measures->names[i]);
    formula_clear(&measures->formulas[i]);
  }
  free(measures->quantities);
  free(measures->readings);
  free((void*)measures->names);
  free(measures->own);
  free(measures->formulas);
  free(measures);
}

uint32_t slt_measures_count(const SltMeasures* measures) {
  return measures ? measures->count : 0;
}

const char* slt_measures_name(const SltMeasures* measures, uint32_t measure) {
  return measures && measure < measures->count ? measures->names[measure] : NULL;
}
