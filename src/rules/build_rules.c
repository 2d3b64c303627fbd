// SPDX-License-Identifier: MIT
//
// Rules, settings, and checks of the whole model.
#include "rules/read.h"

#include <math.h>
#include <string.h>

static CellScan scan_cell(Builder* b, const MergedRow* row, RulesColumn column) {
  return (CellScan){.r = b->r,
                    .table = row->table,
                    .row = row->row,
                    .column = column,
                    .cell = rules_cell(row->table, row->row, column)};
}

static const RulesExpr* number_expr(Builder* b, double value, Span span) {
  RulesExpr* e = ARENA_NEW(b->r->arena, RulesExpr);
  *e = (RulesExpr){.op = RULES_OP_NUMBER, .value = value, .span = span};
  return e;
}

/// A cell that is a constant: a number, a name, or arithmetic of both.
static const RulesExpr* constant_cell(Builder* b, const CellScan* scan) {
  Str name = rules_cell_name(scan->cell);
  if (rules_lookup(b, name).kind != NAME_NONE) {
    RulesExpr* e = ARENA_NEW(b->r->arena, RulesExpr);
    *e = (RulesExpr){.op = RULES_OP_NAME, .name = name, .span = scan->cell.span};
    return rules_resolve(b, scan, e, true) ? e : NULL;
  }
  const RulesExpr* e = rules_parse_value(scan);
  return e && rules_resolve(b, scan, e, true) ? e : NULL;
}

/// A cell that is one state, constant or number.
static const RulesExpr* argument_cell(Builder* b, const CellScan* scan) {
  Str name = rules_cell_name(scan->cell);
  double value = 0.0;
  uint32_t used = number_read(name, true, &value);
  if (used && used == name.length && rules_lookup(b, name).kind == NAME_NONE) {
    return number_expr(b, value, scan->cell.span);
  }
  RulesExpr* e = ARENA_NEW(b->r->arena, RulesExpr);
  *e = (RulesExpr){.op = RULES_OP_NAME, .name = name, .span = scan->cell.span};
  return rules_resolve(b, scan, e, false) ? e : NULL;
}

// ---- parameters
// -----------------------------------------------------------------------------------

/// Numbers of a list in the order they stand in: "0 0; 1 2; 3 5" or "(0, 0) (1, 2)".
static void read_points(Builder* b, const CellScan* scan, RulesRule* rule) {
  BASE_VEC(double) numbers = {0};
  Str text = scan->cell.text;
  uint32_t at = 0;
  bool fine = true;
  while (at < text.length && fine) {
    if (strchr(" ,;:()\t", text.data[at])) {
      at++;
      continue;
    }
    double value = 0.0;
    uint32_t used = number_read((Str){text.data + at, text.length - at}, true, &value);
    fine = used > 0 && value - value == 0.0;
    if (fine) base_vec_push(b->r->arena, &numbers, value);
    at += used;
  }
  for (uint32_t i = 2; i + 1 < numbers.count && fine; i += 2) {
    fine = numbers.data[i] > numbers.data[i - 2];
  }
  if (!fine || numbers.count < 4 || numbers.count % 2) {
    Diag* diag =
        rules_report(b->r, DIAG_E1045, scan->table, scan->row, scan->column, scan->cell.span,
                     "'%.*s' is no list of points", STR_ARGS(scan->cell.text));
    diag_hint(b->r->diags, diag, "at least two points x y with rising x: 0 0; 1 2; 3 5");
    return;
  }
  rule->points = numbers.data;
  rule->point_count = numbers.count / 2;
}

/// One of two words; reports anything else.
static bool read_choice(Builder* b, const CellScan* scan, const char* yes, const char* no) {
  Str word = rules_fold(b->r->arena, scan->cell.text);
  if (rules_in_list(yes, word)) return true;
  if (!rules_in_list(no, word)) {
    rules_report(b->r, DIAG_E1044, scan->table, scan->row, scan->column, scan->cell.span,
                 "'%.*s' is neither '%.*s' nor '%.*s'", STR_ARGS(scan->cell.text),
                 STR_ARGS(rules_first_name(yes)), STR_ARGS(rules_first_name(no)));
  }
  return false;
}

static void read_param_value(Builder* b, const CellScan* scan, RulesParam param, RulesRule* rule) {
  const RulesExpr* given = number_expr(b, 1.0, scan->cell.span);
  switch ((int)param) {
  case RULES_PARAM_POINTS: read_points(b, scan, rule); break;
  case RULES_PARAM_OUTSIDE:
    rule->extrapolate = read_choice(b, scan, "extrapolate|экстраполяция", "clamp|края|край");
    break;
  case RULES_PARAM_INTERPOLATION:
    rule->cubic = read_choice(b, scan, "cubic|кубическая", "linear|линейная");
    break;
  case RULES_PARAM_KEEP:
    rule->keep = read_choice(b, scan, "yes|да|1|true", "no|нет|0|false");
    break;
  case RULES_PARAM_RESTART:
    rule->no_restart = read_choice(b, scan, "no|нет|0|false", "yes|да|1|true");
    break;
  case RULES_PARAM_OTHERWISE: given = argument_cell(b, scan); break;
  default: given = constant_cell(b, scan); break;
  }
  rule->params[param] = given;
}

static void unknown_param(Builder* b, const CellScan* scan, const RulesRule* rule,
                          RulesParam near) {
  RulesProcedure procedure = (RulesProcedure)rule->procedure;
  Diag* diag = rules_report(b->r, DIAG_E1042, scan->table, scan->row, scan->column, scan->cell.span,
                            "the procedure has no parameter '%.*s'", STR_ARGS(scan->cell.text));
  Str signature = rules_signature_text(b->r->arena, procedure);
  if (near == RULES_PARAM_COUNT) {
    diag_hint(b->r->diags, diag, "%.*s", STR_ARGS(signature));
    return;
  }
  Str name = rules_param_name(near);
  diag_hint(b->r->diags, diag, "did you mean '%.*s'? %.*s", STR_ARGS(name), STR_ARGS(signature));
}

/// Pairs of columns: a parameter's name, and the next column with a value. False when a name is
/// unknown: what is missing may be what was meant.
static bool read_params(Builder* b, const MergedRow* row, RulesRule* rule) {
  const RulesSignature* s = rules_signature((RulesProcedure)rule->procedure);
  const RawTable* table = row->table;
  bool known = true;
  for (uint32_t i = 0; i < table->column_count; i++) {
    if (table->columns[i] != COLUMN_PARAMETER || row->row->cells[i].text.length == 0) continue;
    CellScan name = {.r = b->r,
                     .table = table,
                     .row = row->row,
                     .column = COLUMN_PARAMETER,
                     .cell = row->row->cells[i]};
    RulesParam near = RULES_PARAM_COUNT;
    RulesParam param =
        rules_find_param(rules_fold(b->r->arena, name.cell.text), s->required | s->optional, &near);
    if (param == RULES_PARAM_COUNT) {
      unknown_param(b, &name, rule, near);
      known = false;
      continue;
    }
    if (rule->params[param]) {
      rules_report(b->r, DIAG_E1043, table, row->row, COLUMN_PARAMETER, name.cell.span,
                   "the parameter '%.*s' is given twice", STR_ARGS(name.cell.text));
      continue;
    }
    uint32_t at = i + 1;
    while (at < table->column_count && table->columns[at] == COLUMN_COMMENT)
      at++;
    bool paired = at < table->column_count && table->columns[at] == COLUMN_VALUE;
    CellScan value = {.r = b->r,
                      .table = table,
                      .row = row->row,
                      .column = COLUMN_VALUE,
                      .cell = paired ? row->row->cells[at] : name.cell};
    if (!paired || value.cell.text.length == 0) {
      rules_report(b->r, DIAG_E1043, table, row->row, COLUMN_VALUE, value.cell.span,
                   "the value of the parameter '%.*s' is missing", STR_ARGS(name.cell.text));
      rule->params[param] = number_expr(b, 1.0, name.cell.span);
      continue;
    }
    read_param_value(b, &value, param, rule);
  }
  return known;
}

static void check_params(Builder* b, const MergedRow* row, const RulesRule* rule) {
  const RulesSignature* s = rules_signature((RulesProcedure)rule->procedure);
  for (uint32_t i = 0; i < RULES_PARAM_COUNT; i++) {
    if (!(s->required & 1u << i) || rule->params[i]) continue;
    CellScan scan = scan_cell(b, row, COLUMN_PROCEDURE);
    Diag* diag =
        rules_report(b->r, DIAG_E1041, row->table, row->row, COLUMN_PROCEDURE, scan.cell.span,
                     "the parameter '%.*s' is missing", STR_ARGS(rules_param_name((RulesParam)i)));
    Str signature = rules_signature_text(b->r->arena, (RulesProcedure)rule->procedure);
    diag_hint(b->r->diags, diag, "%.*s", STR_ARGS(signature));
    return;
  }
  // times and widths that must be positive
  static const uint8_t positive[] = {RULES_PARAM_T,         RULES_PARAM_PERIOD,  RULES_PARAM_WIDTH,
                                     RULES_PARAM_FREQUENCY, RULES_PARAM_QUANTUM, RULES_PARAM_TI,
                                     RULES_PARAM_FILTER};
  for (uint32_t i = 0; i < SLT_COUNT(positive); i++) {
    const RulesExpr* e = rule->params[positive[i]];
    if (!e || rules_constant_value(b->m, e) > 0.0) continue;
    rules_report(b->r, DIAG_E1046, row->table, row->row, COLUMN_VALUE, e->span,
                 "this parameter must be greater than 0");
  }
}

// ---- rules
// ----------------------------------------------------------------------------------------

static void unknown_procedure(Builder* b, const CellScan* scan, RulesProcedure near) {
  Diag* diag =
      rules_report(b->r, DIAG_E1040, scan->table, scan->row, COLUMN_PROCEDURE, scan->cell.span,
                   "there is no procedure '%.*s'", STR_ARGS(scan->cell.text));
  if (near == RULES_PROCEDURE_COUNT) {
    diag_hint(b->r->diags, diag, "the procedures are listed in docs/rules.md");
    return;
  }
  Str signature = rules_signature_text(b->r->arena, near);
  Str name = rules_first_name(rules_signature(near)->names);
  diag_hint(b->r->diags, diag, "did you mean '%.*s'? %.*s", STR_ARGS(name), STR_ARGS(signature));
}

static bool read_target(Builder* b, const MergedRow* row, RulesRule* rule) {
  CellScan scan = scan_cell(b, row, COLUMN_VARIABLE);
  Str name = rules_cell_name(scan.cell);
  NameEntry entry = rules_lookup(b, name);
  bool real = entry.kind == NAME_STATE && !b->m->states.data[entry.index].logical;
  if (real) {
    rule->target = entry.index;
    return true;
  }
  if (name.length == 0) {
    rules_report(b->r, DIAG_E1011, row->table, row->row, COLUMN_VARIABLE, scan.cell.span,
                 "the variable is missing");
    return false;
  }
  Diag* diag = NULL;
  if (entry.kind == NAME_NONE) {
    diag = rules_report(b->r, DIAG_E1030, row->table, row->row, COLUMN_VARIABLE, scan.cell.span,
                        "there is no state '%.*s'", STR_ARGS(name));
    Str near = rules_nearest(b, name, 1u << NAME_STATE);
    if (near.length) {
      diag_hint(b->r->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
    } else {
      diag_hint(b->r->diags, diag, "declare it in the table of states");
    }
    return false;
  }
  diag = rules_report(b->r, DIAG_E1035, row->table, row->row, COLUMN_VARIABLE, scan.cell.span,
                      "'%.*s' is no real state, so a rule cannot give it a value", STR_ARGS(name));
  diag_hint(b->r->diags, diag,
            entry.kind == NAME_CONSTANT ? "move it from the constants to the states"
                                        : "logical states are set in the table of situations");
  return false;
}

static bool read_procedure(Builder* b, const MergedRow* row, RulesRule* rule) {
  CellScan scan = scan_cell(b, row, COLUMN_PROCEDURE);
  if (scan.cell.text.length == 0) {
    rules_report(b->r, DIAG_E1011, row->table, row->row, COLUMN_PROCEDURE, scan.cell.span,
                 "the procedure is missing");
    return false;
  }
  RulesProcedure near = RULES_PROCEDURE_COUNT;
  RulesProcedure found = rules_find_procedure(rules_fold(b->r->arena, scan.cell.text), &near);
  if (found == RULES_PROCEDURE_COUNT) {
    unknown_procedure(b, &scan, near);
    return false;
  }
  rule->procedure = (uint8_t)found;
  return true;
}

static void read_arguments(Builder* b, const MergedRow* row, RulesRule* rule) {
  const RulesSignature* s = rules_signature((RulesProcedure)rule->procedure);
  for (uint32_t i = 0; i < 2; i++) {
    RulesColumn column = i == 0 ? COLUMN_ARGUMENT1 : COLUMN_ARGUMENT2;
    CellScan scan = scan_cell(b, row, column);
    bool given = scan.cell.text.length > 0;
    if (given && i < s->most) {
      rule->arg[i].expr = argument_cell(b, &scan);
    } else if (given || i < s->least) {
      Diag* diag = rules_report(
          b->r, DIAG_E1047, row->table, row->row, column, scan.cell.span,
          given ? "the procedure has no argument %u" : "argument %u is missing", i + 1);
      Str signature = rules_signature_text(b->r->arena, (RulesProcedure)rule->procedure);
      diag_hint(b->r->diags, diag, "%.*s", STR_ARGS(signature));
    }
  }
}

// ---- cells that are set from outside ------------------------------------------------------------

/// The place in a rule that `rule 2.coefficient` or `rule 2.time constant` names; NULL: not in it.
static const RulesExpr** named_cell(Builder* b, RulesRule* rule, Str name) {
  Str word = rules_fold(b->r->arena, name);
  const char* dot = NULL;
  for (uint32_t i = 0; i < word.length; i++) {
    if (word.data[i] == '.') dot = word.data + i;
  }
  if (!dot) return NULL;
  Str row = {word.data, (uint32_t)(dot - word.data)};
  Str cell = rules_trim((Str){dot + 1, (uint32_t)(word.data + word.length - dot - 1)});
  Str label = rules_fold(b->r->arena, rule->label);
  if (!str_equal(row, str_format(b->r->arena, "rule %.*s", STR_ARGS(label))) &&
      !str_equal(row, str_format(b->r->arena, "правило %.*s", STR_ARGS(label)))) {
    return NULL;
  }
  if (rules_find_column(RULES_SECTION_RULES, cell) == COLUMN_COEFFICIENT) return &rule->coefficient;
  const uint32_t words = 1u << RULES_PARAM_POINTS | 1u << RULES_PARAM_OUTSIDE |
                         1u << RULES_PARAM_INTERPOLATION | 1u << RULES_PARAM_KEEP |
                         1u << RULES_PARAM_RESTART | 1u << RULES_PARAM_OTHERWISE;
  const RulesSignature* s = rules_signature((RulesProcedure)rule->procedure);
  RulesParam near = RULES_PARAM_COUNT;
  RulesParam param = rules_find_param(cell, (s->required | s->optional) & ~words, &near);
  if (param == RULES_PARAM_COUNT || !rule->params[param]) return NULL;
  return &rule->params[param];
}

/// A cell that overrides name becomes a constant of that name, so that runs can vary it.
static void name_cells(Builder* b, RulesRule* rule) {
  const RulesOptions* o = b->r->options;
  for (uint32_t i = 0; i < o->override_count; i++) {
    const LismaOverride* given = &o->overrides[i];
    const RulesExpr** cell = named_cell(b, rule, given->name);
    if (!cell || !*cell) continue;
    uint32_t index = (*cell)->op == RULES_OP_CONSTANT ? (*cell)->index : UINT32_MAX;
    if (index == UINT32_MAX || !str_equal(b->m->constants.data[index].name, given->name)) {
      index = b->m->constants.count;
      RulesConstant constant = {.name = str_copy(b->r->arena, given->name),
                                .value = *cell,
                                .number = rules_constant_value(b->m, *cell),
                                .span = (*cell)->span};
      base_vec_push(b->r->arena, &b->m->constants, constant);
      RulesExpr* e = ARENA_NEW(b->r->arena, RulesExpr);
      *e = (RulesExpr){.op = RULES_OP_CONSTANT, .index = index, .span = constant.span};
      *cell = e;
    }
    if (!isnan(given->value)) b->m->constants.data[index].number = given->value;
    if (o->applied) o->applied[i] = true;
  }
}

static void read_rule(Builder* b, const MergedRow* row) {
  RulesRule rule = {.label = str_copy(b->r->arena, row->key), .span = row->row->span};
  if (rule.label.length == 0) {
    rule.label = str_format(b->r->arena, "%u", b->m->rules.count + 1);
  }
  if (!read_procedure(b, row, &rule) || rule.procedure == RULES_REMOVE) return;
  bool targeted = read_target(b, row, &rule);
  CellScan coefficient = scan_cell(b, row, COLUMN_COEFFICIENT);
  rule.coefficient = coefficient.cell.text.length ? constant_cell(b, &coefficient)
                                                  : number_expr(b, 1.0, row->row->span);
  read_arguments(b, row, &rule);
  CellScan situation = scan_cell(b, row, COLUMN_SITUATION);
  rules_parse_when(b, &situation, &rule.when);
  bool known = read_params(b, row, &rule);
  if (b->r->options->override_count) name_cells(b, &rule);
  if (known) check_params(b, row, &rule);
  if (targeted) base_vec_push(b->r->arena, &b->m->rules, rule);
}

void rules_build_rules(Builder* b) {
  const MergedRows* rows = &b->rows[RULES_SECTION_RULES];
  for (uint32_t i = 0; i < rows->count; i++)
    read_rule(b, &rows->data[i]);
}

// ---- settings
// -------------------------------------------------------------------------------------

typedef struct SettingName {
  const char* names;
  double* place;
  double least;  // the value must be greater
} SettingName;

static void read_setting(Builder* b, const MergedRow* row) {
  RulesModel* m = b->m;
  const SettingName numbers[] = {
      {"cycle|dt|step|цикл|шаг", &m->cycle, 0.0},
      {"start|начало", &m->start, -HUGE_VAL},
      {"end|until|конец", &m->end, -HUGE_VAL},
      {"every|каждые|шаг вывода", &m->every, 0.0},
      {"rtol", &m->rtol, 0.0},
      {"atol", &m->atol, 0.0},
  };
  CellScan scan = scan_cell(b, row, COLUMN_VALUE);
  Str word = rules_fold(b->r->arena, scan.cell.text);
  base_vec_push(b->r->arena, &m->settings,
                (RulesSetting){.name = row->key, .value = scan.cell.text, .span = row->row->span});
  if (rules_in_list("include|включить|включает", row->key)) return;
  if (rules_in_list("unguarded|неохваченные|вне ситуаций", row->key)) {
    bool hold = rules_in_list("hold|держать", word);
    bool zero = rules_in_list("zero|0|ноль", word);
    m->unguarded = hold ? RULES_HOLD : zero ? RULES_ZERO : RULES_AUTO;
    if (hold || zero || rules_in_list("auto|авто", word)) return;
    rules_report(b->r, DIAG_E1051, row->table, row->row, COLUMN_VALUE, scan.cell.span,
                 "'%.*s' is not one of auto, hold, zero", STR_ARGS(scan.cell.text));
    return;
  }
  if (rules_in_list("execution|исполнение", row->key)) {
    m->cyclic = rules_in_list("cyclic|циклическое", word);
    if (m->cyclic || rules_in_list("located|событийное", word)) return;
    rules_report(b->r, DIAG_E1051, row->table, row->row, COLUMN_VALUE, scan.cell.span,
                 "'%.*s' is neither located nor cyclic", STR_ARGS(scan.cell.text));
    return;
  }
  for (uint32_t i = 0; i < SLT_COUNT(numbers); i++) {
    if (!rules_in_list(numbers[i].names, row->key)) continue;
    const RulesExpr* e = constant_cell(b, &scan);
    *numbers[i].place = e ? rules_constant_value(m, e) : (double)NAN;
    if (e && !(*numbers[i].place > numbers[i].least)) {
      rules_report(b->r, DIAG_E1051, row->table, row->row, COLUMN_VALUE, scan.cell.span,
                   "'%.*s' must be greater than 0", STR_ARGS(row->key));
    }
    return;
  }
  CellScan name = scan_cell(b, row, COLUMN_NAME);
  Diag* diag = rules_report(b->r, DIAG_E1050, row->table, row->row, COLUMN_NAME, name.cell.span,
                            "there is no setting '%.*s'", STR_ARGS(name.cell.text));
  diag_hint(b->r->diags, diag,
            "the settings are execution, cycle, unguarded, start, end, every, rtol, atol, include");
}

void rules_build_settings(Builder* b) {
  const MergedRows* rows = &b->rows[RULES_SECTION_SETTINGS];
  for (uint32_t i = 0; i < rows->count; i++)
    read_setting(b, &rows->data[i]);
}
