// SPDX-License-Identifier: MIT
//
// The model as tables again: Markdown for people, CSV files for spreadsheets.
#include "rules/read.h"

#include <math.h>
#include <string.h>

typedef struct TableWriter {
  const RulesModel* m;
  Arena* arena;
  TextBuffer out;
  bool csv;
  BASE_VEC(Str) cells;  // of the row being written
} TableWriter;

const char* rules_csv_name(RulesSection section) {
  static const char* const names[RULES_SECTION_COUNT] = {
      "",           "settings.csv",   "constants.csv",
      "states.csv", "predicates.csv", "situations.csv",
      "rules.csv",  "drawing.csv",    "controls.csv"};
  return names[section];
}

// ---- cells
// ----------------------------------------------------------------------------------------

/// A name as a part of a longer cell.
static void append_quoted(TextBuffer* out, Str name) {
  text_append_char(out, '`');
  text_append(out, name);
  text_append_char(out, '`');
}

static void append_expr(TextBuffer* out, const RulesModel* m, const RulesExpr* e) {
  static const char* const signs[] = {
      [RULES_OP_ADD] = " + ", [RULES_OP_SUB] = " - ", [RULES_OP_MUL] = "*",
      [RULES_OP_DIV] = "/",   [RULES_OP_LT] = " < ",  [RULES_OP_LE] = " <= ",
      [RULES_OP_GT] = " > ",  [RULES_OP_GE] = " >= ", [RULES_OP_AND] = " and "};
  switch ((RulesOp)e->op) {
  case RULES_OP_NUMBER: text_append_double(out, e->value); return;
  case RULES_OP_NAME: append_quoted(out, e->name); return;
  case RULES_OP_CONSTANT: append_quoted(out, m->constants.data[e->index].name); return;
  case RULES_OP_STATE: append_quoted(out, m->states.data[e->index].name); return;
  case RULES_OP_TIME: text_append_c(out, "time"); return;
  case RULES_OP_NEG:
    text_append_c(out, "-");
    append_expr(out, m, e->a);
    return;
  case RULES_OP_ABS:
    text_append_c(out, "abs(");
    append_expr(out, m, e->a);
    text_append_c(out, ")");
    return;
  case RULES_OP_ADD:
  case RULES_OP_SUB:
  case RULES_OP_MUL:
  case RULES_OP_DIV:
  case RULES_OP_LT:
  case RULES_OP_LE:
  case RULES_OP_GT:
  case RULES_OP_GE:
  case RULES_OP_AND: break;
  }
  bool bracket = e->op < RULES_OP_LT;
  if (bracket) text_append_c(out, "(");
  append_expr(out, m, e->a);
  text_append_c(out, signs[e->op]);
  append_expr(out, m, e->b);
  if (bracket) text_append_c(out, ")");
}

static Str expr_text(TableWriter* w, const RulesExpr* e) {
  if (!e) return (Str){0};
  TextBuffer out = {.arena = w->arena};
  // one name fills its cell without backquotes
  if (e->op == RULES_OP_CONSTANT) return w->m->constants.data[e->index].name;
  if (e->op == RULES_OP_STATE) return w->m->states.data[e->index].name;
  append_expr(&out, w->m, e);
  return text_str(&out);
}

static Str literal_name(const RulesModel* m, const RulesLiteral* literal) {
  switch ((RulesLogic)literal->kind) {
  case RULES_LOGIC_TRUE: break;
  case RULES_LOGIC_STATE: return m->states.data[literal->index].name;
  case RULES_LOGIC_PREDICATE: return m->predicates.data[literal->index].name;
  case RULES_LOGIC_SITUATION: return m->situations.data[literal->index].name;
  }
  return STR_LIT("EverTrue");
}

static Str when_text(TableWriter* w, const RulesWhen* when) {
  if (when->literals.count == 0) return STR_LIT("EverTrue");
  const RulesLiteral* only = &when->literals.data[0];
  if (when->literals.count == 1 && !only->negated) return literal_name(w->m, only);
  TextBuffer out = {.arena = w->arena};
  for (uint32_t i = 0; i < when->literals.count; i++) {
    if (i) text_append_c(&out, ", ");
    if (when->literals.data[i].negated) text_append_c(&out, "not ");
    append_quoted(&out, literal_name(w->m, &when->literals.data[i]));
  }
  return text_str(&out);
}

// ---- rows
// -----------------------------------------------------------------------------------------

static void add(TableWriter* w, Str cell) {
  base_vec_push(w->arena, &w->cells, cell);
}

static void add_c(TableWriter* w, const char* cell) {
  add(w, str_from_c(cell));
}

static void write_csv_cell(TableWriter* w, Str cell) {
  bool quote = false;
  for (uint32_t i = 0; i < cell.length; i++) {
    quote = quote || strchr(",;\"\n\r\t", cell.data[i]) != NULL;
  }
  if (quote) text_append_char(&w->out, '"');
  for (uint32_t i = 0; i < cell.length; i++) {
    if (cell.data[i] == '"') text_append_char(&w->out, '"');
    text_append_char(&w->out, cell.data[i]);
  }
  if (quote) text_append_char(&w->out, '"');
}

static void write_md_cell(TableWriter* w, Str cell) {
  bool quoted = false;
  for (uint32_t i = 0; i < cell.length; i++) {
    char c = cell.data[i];
    if (c == '`') quoted = !quoted;
    if (c == '|' || (c == '\\' && !quoted)) text_append_char(&w->out, '\\');
    text_append_char(&w->out, c);
  }
}

static void end_row(TableWriter* w) {
  for (uint32_t i = 0; i < w->cells.count; i++) {
    if (w->csv) {
      if (i) text_append_char(&w->out, ',');
      write_csv_cell(w, w->cells.data[i]);
    } else {
      text_append_c(&w->out, i ? " " : "| ");
      write_md_cell(w, w->cells.data[i]);
      text_append_c(&w->out, " |");
    }
  }
  text_append_char(&w->out, '\n');
  w->cells.count = 0;
}

static void end_header(TableWriter* w) {
  uint32_t columns = w->cells.count;
  end_row(w);
  if (w->csv) return;
  text_append_char(&w->out, '|');
  for (uint32_t i = 0; i < columns; i++)
    text_append_c(&w->out, "---|");
  text_append_char(&w->out, '\n');
}

// ---- sections
// -------------------------------------------------------------------------------------

static void write_settings(TableWriter* w) {
  add_c(w, "name");
  add_c(w, "value");
  end_header(w);
  for (uint32_t i = 0; i < w->m->settings.count; i++) {
    const RulesSetting* s = &w->m->settings.data[i];
    // what was included is written out below
    if (rules_in_list("include|включить|включает", s->name)) continue;
    add(w, s->name);
    add(w, s->value);
    end_row(w);
  }
}

static void write_constants(TableWriter* w) {
  add_c(w, "name");
  add_c(w, "value");
  add_c(w, "unit");
  end_header(w);
  for (uint32_t i = 0; i < w->m->constants.count; i++) {
    const RulesConstant* c = &w->m->constants.data[i];
    add(w, c->name);
    add(w, expr_text(w, c->value));
    add(w, c->unit);
    end_row(w);
  }
}

static void write_states(TableWriter* w) {
  add_c(w, "name");
  add_c(w, "initial");
  add_c(w, "unit");
  add_c(w, "kind");
  end_header(w);
  for (uint32_t i = 0; i < w->m->states.count; i++) {
    const RulesState* s = &w->m->states.data[i];
    add(w, s->name);
    if (s->logical) {
      add_c(w, s->number != 0.0 ? "true" : "false");
    } else {
      add(w, s->initial ? expr_text(w, s->initial) : STR_LIT("0"));
    }
    add(w, s->unit);
    add_c(w, s->logical ? "logical" : "real");
    end_row(w);
  }
}

static void write_predicates(TableWriter* w) {
  add_c(w, "name");
  add_c(w, "relation");
  end_header(w);
  for (uint32_t i = 0; i < w->m->predicates.count; i++) {
    const RulesPredicate* p = &w->m->predicates.data[i];
    add(w, p->name);
    add(w, expr_text(w, p->relation));
    end_row(w);
  }
}

static void write_situations(TableWriter* w) {
  add_c(w, "situation");
  add_c(w, "when");
  add_c(w, "then");
  end_header(w);
  for (uint32_t i = 0; i < w->m->rows.count; i++) {
    const RulesSituationRow* row = &w->m->rows.data[i];
    add(w, row->situation == RULES_NONE ? (Str){0} : w->m->situations.data[row->situation].name);
    add(w, when_text(w, &row->when));
    TextBuffer then = {.arena = w->arena};
    for (uint32_t k = 0; k < row->then.count; k++) {
      if (k) text_append_c(&then, ", ");
      if (!row->then.data[k].value) text_append_c(&then, "not ");
      append_quoted(&then, w->m->states.data[row->then.data[k].state].name);
    }
    add(w, then.length ? text_str(&then) : (Str){0});
    end_row(w);
  }
}

static Str param_text(TableWriter* w, const RulesRule* rule, uint32_t param) {
  TextBuffer out = {.arena = w->arena};
  switch ((int)param) {
  case RULES_PARAM_POINTS:
    for (uint32_t i = 0; i < rule->point_count; i++) {
      if (i) text_append_c(&out, "; ");
      text_append_double(&out, rule->points[2 * (size_t)i]);
      text_append_c(&out, " ");
      text_append_double(&out, rule->points[2 * (size_t)i + 1]);
    }
    return text_str(&out);
  case RULES_PARAM_OUTSIDE: return str_from_c(rule->extrapolate ? "extrapolate" : "clamp");
  case RULES_PARAM_INTERPOLATION: return str_from_c(rule->cubic ? "cubic" : "linear");
  case RULES_PARAM_KEEP: return str_from_c(rule->keep ? "yes" : "no");
  case RULES_PARAM_RESTART: return str_from_c(rule->no_restart ? "no" : "yes");
  default: return expr_text(w, rule->params[param]);
  }
}

static uint32_t count_params(const RulesRule* rule) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < RULES_PARAM_COUNT; i++)
    count += rule->params[i] != NULL;
  return count;
}

static void write_rules(TableWriter* w) {
  static const char* const header[] = {"#",          "variable",   "procedure", "coefficient",
                                       "argument 1", "argument 2", "situation"};
  uint32_t pairs = 0;
  for (uint32_t i = 0; i < w->m->rules.count; i++) {
    uint32_t count = count_params(&w->m->rules.data[i]);
    if (count > pairs) pairs = count;
  }
  for (uint32_t i = 0; i < SLT_COUNT(header); i++)
    add_c(w, header[i]);
  for (uint32_t i = 0; i < pairs; i++) {
    add_c(w, "parameter");
    add_c(w, "value");
  }
  end_header(w);
  for (uint32_t i = 0; i < w->m->rules.count; i++) {
    const RulesRule* rule = &w->m->rules.data[i];
    add(w, rule->label);
    add(w, w->m->states.data[rule->target].name);
    add(w, rules_first_name(rules_signature((RulesProcedure)rule->procedure)->names));
    add(w, expr_text(w, rule->coefficient));
    add(w, expr_text(w, rule->arg[0].expr));
    add(w, expr_text(w, rule->arg[1].expr));
    add(w, when_text(w, &rule->when));
    uint32_t written = 0;
    for (uint32_t p = 0; p < RULES_PARAM_COUNT; p++) {
      if (!rule->params[p]) continue;
      add(w, rules_param_name((RulesParam)p));
      add(w, param_text(w, rule, p));
      written++;
    }
    for (; written < pairs; written++) {
      add(w, (Str){0});
      add(w, (Str){0});
    }
    end_row(w);
  }
}

/// The columns that some shape has something in.
static void write_drawing(TableWriter* w) {
  bool used[RULES_SHAPE_NUMBERS] = {false};
  for (uint32_t i = 0; i < w->m->shapes.count; i++) {
    for (uint32_t k = 0; k < RULES_SHAPE_NUMBERS; k++)
      used[k] = used[k] || w->m->shapes.data[i].numbers[k];
  }
  add_c(w, "#");
  add_c(w, "shape");
  for (uint32_t k = 0; k < RULES_SHAPE_NUMBERS; k++) {
    if (used[k]) add_c(w, rules_column_name(rules_shape_column(k)));
  }
  add_c(w, "text");
  add_c(w, "colour");
  end_header(w);
  for (uint32_t i = 0; i < w->m->shapes.count; i++) {
    const RulesShape* shape = &w->m->shapes.data[i];
    add(w, shape->label);
    add_c(w, shape->kind);
    for (uint32_t k = 0; k < RULES_SHAPE_NUMBERS; k++) {
      if (used[k]) add(w, expr_text(w, shape->numbers[k]));
    }
    add(w, shape->text);
    add(w, shape->colour);
    end_row(w);
  }
}

static void write_controls(TableWriter* w) {
  add_c(w, "name");
  add_c(w, "range");
  end_header(w);
  for (uint32_t i = 0; i < w->m->controls.count; i++) {
    const RulesControl* control = &w->m->controls.data[i];
    TextBuffer range = {.arena = w->arena};
    for (uint32_t k = 0; k < control->values.count; k++) {
      text_append_c(&range, k == 0 ? "" : control->range ? " : " : ", ");
      text_append_double(&range, control->values.data[k]);
    }
    add(w, control->name);
    add(w, text_str(&range));
    end_row(w);
  }
}

static void write_section(TableWriter* w, RulesSection section) {
  switch (section) {
  case RULES_SECTION_SETTINGS: write_settings(w); break;
  case RULES_SECTION_CONSTANTS: write_constants(w); break;
  case RULES_SECTION_STATES: write_states(w); break;
  case RULES_SECTION_PREDICATES: write_predicates(w); break;
  case RULES_SECTION_SITUATIONS: write_situations(w); break;
  case RULES_SECTION_RULES: write_rules(w); break;
  case RULES_SECTION_DRAWING: write_drawing(w); break;
  case RULES_SECTION_CONTROLS: write_controls(w); break;
  case RULES_SECTION_NONE:
  case RULES_SECTION_COUNT: break;
  }
}

Str rules_write_csv(const RulesModel* model, RulesSection section, Arena* arena) {
  TableWriter w = {.m = model, .arena = arena, .out = {.arena = arena}, .csv = true};
  write_section(&w, section);
  return text_str(&w.out);
}

Str rules_write_markdown(const RulesModel* model, Arena* arena) {
  TableWriter w = {.m = model, .arena = arena, .out = {.arena = arena}};
  for (uint32_t i = 1; i < RULES_SECTION_COUNT; i++) {
    if (i == RULES_SECTION_DRAWING && model->shapes.count == 0) continue;
    if (i == RULES_SECTION_CONTROLS && model->controls.count == 0) continue;
    text_append_format(&w.out, "%s## %s\n\n", i > 1 ? "\n" : "",
                       rules_section_title((RulesSection)i));
    write_section(&w, (RulesSection)i);
  }
  return text_str(&w.out);
}
