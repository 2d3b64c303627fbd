// SPDX-License-Identifier: MIT
//
// Attributes of variables and the experiment.
#include "base/figure_keys.h"
#include "lisma/ast_print.h"
#include "lisma/lower.h"

#include <math.h>

/// A setting that is one word, or a text: "" after reporting.
static Str word_value(Lower* l, const AstSetting* setting, DiagCode code) {
  const AstValue* value = &setting->values.data[0];
  if (setting->values.count == 1) {
    if (!value->expr) return value->text;
    bool name = value->expr->kind == AST_NAME && value->expr->order == 0;
    if (name && ast_name_is_plain(&value->expr->as.name.name)) {
      return value->expr->as.name.name.head;
    }
  }
  lower_report(l, code, value->span, "'%.*s' needs one word", STR_ARGS(setting->key));
  return (Str){0};
}

/// A setting that is one number; NaN after reporting.
static double number_setting(Lower* l, const AstSetting* setting, DiagCode code) {
  const AstValue* value = &setting->values.data[0];
  double number = (double)NAN;
  if (setting->values.count != 1 || !value->expr) {
    lower_report(l, code, value->span, "'%.*s' needs one number", STR_ARGS(setting->key));
    return (double)NAN;
  }
  return resolve_eval(l, value->expr, &number) ? number : (double)NAN;
}

/// The nearest of the keys is named, or the first `listed` of them.
static void report_key_of(Lower* l, DiagCode code, const AstSetting* setting, const char* what,
                          const char* const* keys, size_t count, size_t listed) {
  Diag* diag = lower_report(l, code, setting->key_span, "there is no %s '%.*s'", what,
                            STR_ARGS(setting->key));
  Str near = resolve_near_word(setting->key, keys, count);
  if (near.length) {
    diag_hint(l->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
    return;
  }
  TextBuffer all = {.arena = l->scratch};
  for (size_t i = 0; i < listed; i++) {
    if (i) text_append_char(&all, ' ');
    text_append_c(&all, keys[i]);
  }
  diag_hint(l->diags, diag, "there are: %.*s%s", STR_ARGS(text_str(&all)),
            listed < count ? "; and those of pictures, see `saltus help plot`" : "");
}

static void report_key(Lower* l, DiagCode code, const AstSetting* setting, const char* what,
                       const char* const* keys, size_t count) {
  report_key_of(l, code, setting, what, keys, count, count);
}

static size_t find_word(Str word, const char* const* words, size_t count) {
  size_t i = 0;
  while (i < count && !str_equal(word, str_from_c(words[i]))) {
    i++;
  }
  return i;
}

// ---------------------------------------------------------------------------------------------
// attributes

static const char* const attribute_keys[] = {"nominal", "unit", "select", "inactive"};
static const char* const select_words[] = {"always", "prefer", "avoid", "never"};
static const char* const inactive_words[] = {"hold", "zero"};

static void report_word(Lower* l, const AstSetting* setting, Str word, const char* const* words,
                        size_t count) {
  if (word.length == 0) return;
  report_key(l, DIAG_E0608, &(AstSetting){.key = word, .key_span = setting->values.data[0].span},
             "choice", words, count);
}

static void set_attribute(Lower* l, const AstSetting* setting, uint32_t var) {
  static const uint8_t selects[] = {IR_SELECT_ALWAYS, IR_SELECT_PREFER, IR_SELECT_AVOID,
                                    IR_SELECT_NEVER};
  size_t key = find_word(setting->key, attribute_keys, SLT_COUNT(attribute_keys));
  if (key == 0) {
    double nominal = number_setting(l, setting, DIAG_E0608);
    if (nominal > 0.0 && isfinite(nominal)) {
      l->m->vars.data[var].nominal = nominal;
    } else if (!isnan(nominal)) {
      lower_report(l, DIAG_E0608, setting->values.data[0].span,
                   "'nominal' must be greater than 0; here it is %.*s",
                   STR_ARGS(lower_number_text(l, nominal)));
    }
    return;
  }
  if (key == SLT_COUNT(attribute_keys)) {
    report_key(l, DIAG_E0607, setting, "attribute", attribute_keys, SLT_COUNT(attribute_keys));
    return;
  }
  Str word = word_value(l, setting, DIAG_E0608);
  if (key == 1) {
    l->m->vars.data[var].unit = names_intern(&l->m->names, word);
  } else if (key == 2) {
    size_t i = find_word(word, select_words, SLT_COUNT(select_words));
    if (i < SLT_COUNT(select_words)) {
      l->m->vars.data[var].select = selects[i];
    } else {
      report_word(l, setting, word, select_words, SLT_COUNT(select_words));
    }
  } else {
    size_t i = find_word(word, inactive_words, SLT_COUNT(inactive_words));
    l->m->vars.data[var].inactive_zero = i == 1;
    if (i == SLT_COUNT(inactive_words)) {
      report_word(l, setting, word, inactive_words, SLT_COUNT(inactive_words));
    }
  }
}

void lower_attributes(Lower* l, const AstStatement* statement) {
  const AstName* written = &statement->as.attributes.name;
  uint32_t name = resolve_name(l, written);
  if (name == 0) return;
  Symbol symbol = *resolve_symbol(l, name);
  if (symbol.kind != SYM_NONE && symbol.kind != SYM_VAR) {
    Diag* diag =
        lower_report(l, DIAG_E0202, written->span, "'%.*s' is %s; only variables have attributes",
                     STR_ARGS(lower_name(l, name)), resolve_kind_text(symbol.kind));
    if (symbol.kind == SYM_PARAM) {
      diag_hint(l->diags, diag,
                "the unit of a constant stands behind its number: const %.*s = 2 \"m\";",
                STR_ARGS(lower_name(l, name)));
    }
    return;
  }
  uint32_t var = resolve_var(l, name, written->span);
  for (uint32_t i = 0; i < statement->as.attributes.settings.count; i++) {
    set_attribute(l, &statement->as.attributes.settings.data[i], var);
  }
}

// ---------------------------------------------------------------------------------------------
// experiment

typedef enum KeyRange { KEY_ANY, KEY_POSITIVE, KEY_NOT_NEGATIVE, KEY_FRACTION } KeyRange;

static const char* const experiment_keys[EXPERIMENT_KEY_COUNT] = {
    "start", "end",  "every",    "step",  "h0",     "hmin",      "hmax",
    "rtol",  "atol", "eventeps", "gamma", "method", "detection", "out",
};

#define KEY_NUMBERS 11u  // the first ones are numbers
#define KEY_METHOD  11u
#define KEY_DETECT  12u

static double* number_slot(IrExperiment* e, size_t key) {
  double* const slots[KEY_NUMBERS] = {&e->start, &e->end,      &e->every, &e->step,
                                      &e->h0,    &e->hmin,     &e->hmax,  &e->rtol,
                                      &e->atol,  &e->eventeps, &e->gamma};
  return slots[key];
}

static void set_number(Lower* l, const AstSetting* setting, size_t key) {
  static const uint8_t ranges[KEY_NUMBERS] = {
      KEY_ANY,      KEY_ANY,      KEY_POSITIVE,     KEY_POSITIVE, KEY_POSITIVE, KEY_POSITIVE,
      KEY_POSITIVE, KEY_POSITIVE, KEY_NOT_NEGATIVE, KEY_POSITIVE, KEY_FRACTION};
  double number = number_setting(l, setting, DIAG_E0604);
  if (isnan(number)) return;
  bool fine = isfinite(number);
  const char* rule = "finite";
  switch ((KeyRange)ranges[key]) {
  case KEY_POSITIVE:
    fine = fine && number > 0.0;
    rule = "greater than 0";
    break;
  case KEY_NOT_NEGATIVE:
    fine = fine && number >= 0.0;
    rule = "0 or greater";
    break;
  case KEY_FRACTION:
    fine = fine && number > 0.0 && number < 1.0;
    rule = "between 0 and 1";
    break;
  case KEY_ANY: break;
  }
  if (!fine) {
    lower_report(l, DIAG_E0604, setting->values.data[0].span, "'%.*s' must be %s; here it is %.*s",
                 STR_ARGS(setting->key), rule, STR_ARGS(lower_number_text(l, number)));
    return;
  }
  *number_slot(&l->m->experiment, key) = number;
}

/// Name of a column: x, x', AUTOMATON.state, or any text.
static bool output_text(Lower* l, const AstValue* value, TextBuffer* text, uint32_t* name) {
  const AstExpr* expr = value->expr;
  *name = 0;
  if (!expr) {
    text_append(text, value->text);
    return true;
  }
  if (expr->kind == AST_QUALIFIED) {
    uint32_t automaton = lower_find_automaton(l, expr->as.qualified.automaton);
    if (automaton == IR_NONE) return false;
    text_append(text, lower_name(l, l->automata.all.data[automaton].name));
    text_append_char(text, '.');
    text_append(text, expr->as.qualified.state->head);
    return true;
  }
  if (expr->kind != AST_NAME) {
    lower_report(l, DIAG_E0606, expr->span, "'out' takes names");
    return false;
  }
  *name = resolve_name(l, &expr->as.name.name);
  if (*name == 0) return false;
  text_append(text, lower_name(l, *name));
  for (uint32_t i = 0; i < expr->order; i++) {
    text_append_char(text, '\'');
  }
  return true;
}

static void set_outputs(Lower* l, const AstSetting* setting) {
  for (uint32_t i = 0; i < setting->values.count; i++) {
    TextBuffer text = {.arena = l->arena};
    uint32_t name = 0;
    if (!output_text(l, &setting->values.data[i], &text, &name)) continue;
    Str column = text_str(&text);
    base_vec_push(l->arena, &l->m->experiment.out, column);
    if (name == 0) continue;
    base_vec_push(l->scratch, &l->settings.outputs, (NameUse){name, setting->values.data[i].span});
  }
}

static void set_detection(Lower* l, const AstSetting* setting) {
  static const char* const words[] = {"certified", "combined", "extrapolation", "interpolation"};
  Str word = word_value(l, setting, DIAG_E0604);
  if (word.length == 0) return;
  l->m->experiment.detection = str_copy(l->arena, word);
  if (find_word(word, words, SLT_COUNT(words)) < SLT_COUNT(words)) return;
  AstSetting value = {.key = word, .key_span = setting->values.data[0].span};
  report_key(l, DIAG_E0604, &value, "detection", words, SLT_COUNT(words));
}

/// Whether the values of a figure's setting are names of the model.
static bool names_quantities(FigureKeyId key) {
  return key == FIGURE_PANEL || key == FIGURE_PHASE || key == FIGURE_Y2 || key == FIGURE_X;
}

/// A setting of the picture: its values as one text, as the command line has it.
static void set_figure(Lower* l, const AstSetting* setting, FigureKeyId key) {
  TextBuffer text = {.arena = l->arena};
  for (uint32_t i = 0; i < setting->values.count; i++) {
    const AstValue* value = &setting->values.data[i];
    uint32_t name = 0;
    if (i) text_append_char(&text, ',');
    if (names_quantities(key)) {
      if (!output_text(l, value, &text, &name)) return;
    } else if (value->expr) {
      ast_print_expr(&text, value->expr);
    } else {
      text_append(&text, value->text);
    }
    if (name) base_vec_push(l->scratch, &l->settings.outputs, (NameUse){name, value->span});
  }
  IrMeasure kept = {.name = str_from_c(figure_keys[key].name), .text = text_str(&text)};
  if (figure_value_fits(key, kept.text)) {
    base_vec_push(l->arena, &l->m->experiment.plot, kept);
    return;
  }
  lower_report(l, DIAG_E0604, setting->values.data[0].span, "'%.*s' takes %s: %s",
               STR_ARGS(setting->key), figure_keys[key].value, figure_keys[key].about);
}

static void report_setting(Lower* l, const AstSetting* setting) {
  const char* keys[EXPERIMENT_KEY_COUNT + FIGURE_KEY_COUNT];
  for (size_t i = 0; i < EXPERIMENT_KEY_COUNT; i++)
    keys[i] = experiment_keys[i];
  for (size_t i = 0; i < FIGURE_KEY_COUNT; i++)
    keys[EXPERIMENT_KEY_COUNT + i] = figure_keys[i].name;
  report_key_of(l, DIAG_E0603, setting, "setting", keys, SLT_COUNT(keys), EXPERIMENT_KEY_COUNT);
}

static void set_experiment(Lower* l, const AstSetting* setting) {
  size_t key = find_word(setting->key, experiment_keys, EXPERIMENT_KEY_COUNT);
  if (key == EXPERIMENT_KEY_COUNT) {
    FigureKeyId figure = figure_key_find(setting->key);
    if (figure < FIGURE_KEY_COUNT) {
      set_figure(l, setting, figure);
    } else {
      report_setting(l, setting);
    }
    return;
  }
  Span* given = &l->settings.experiment_keys[key];
  if (given->end) {
    Diag* diag = lower_report(l, DIAG_E0605, setting->key_span, "'%.*s' is set twice",
                              STR_ARGS(setting->key));
    diag_note(l->diags, diag, *given, "first set here");
    return;
  }
  *given = setting->key_span;
  if (key < KEY_NUMBERS) {
    set_number(l, setting, key);
  } else if (key == KEY_METHOD) {
    l->m->experiment.method = str_copy(l->arena, word_value(l, setting, DIAG_E0604));
  } else if (key == KEY_DETECT) {
    set_detection(l, setting);
  } else {
    set_outputs(l, setting);
  }
}

/// Kept as text: its functions (`max` of one argument over a whole run) are not the model's.
void lower_measure(Lower* l, const AstStatement* statement) {
  IrExperiment* e = &l->m->experiment;
  TextBuffer name = {.arena = l->arena};
  TextBuffer text = {.arena = l->arena};
  ast_print_name(&name, &statement->as.measure.name);
  ast_print_expr(&text, statement->as.measure.formula);
  IrMeasure measure = {.name = text_str(&name), .text = text_str(&text)};
  base_vec_push(l->arena, &e->measures, measure);
}

void lower_experiment(Lower* l, const AstStatement* statement) {
  const AstSettingList* settings = &statement->as.attributes.settings;
  for (uint32_t i = 0; i < settings->count; i++) {
    set_experiment(l, &settings->data[i]);
  }
  const IrExperiment* e = &l->m->experiment;
  if (isnan(e->start) || isnan(e->end) || e->end >= e->start) return;
  Diag* diag =
      lower_report(l, DIAG_E0604, l->settings.experiment_keys[1],
                   "the end %.*s is before the start", STR_ARGS(lower_number_text(l, e->end)));
  diag_note(l->diags, diag, l->settings.experiment_keys[0], "the start is set here");
}

void lower_check_outputs(Lower* l) {
  for (uint32_t i = 0; i < l->settings.outputs.count; i++) {
    NameUse output = l->settings.outputs.data[i];
    Symbol symbol = *resolve_symbol(l, output.name);
    bool known = symbol.kind == SYM_PARAM || symbol.kind == SYM_MACRO || symbol.kind == SYM_VAR;
    bool builtin = symbol.kind == SYM_BUILTIN && symbol.index == BUILTIN_TIME;
    if (known || builtin) continue;
    Str text = lower_name(l, output.name);
    Diag* diag = lower_report(l, DIAG_E0606, output.span,
                              "there is no variable, constant or macro "
                              "'%.*s' to put out",
                              STR_ARGS(text));
    if (diag == &l->walk.ignored) continue;
    Str near = resolve_near_value(l, text);
    if (near.length) diag_hint(l->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  }
}
