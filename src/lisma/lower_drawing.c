// SPDX-License-Identifier: MIT
//
// What goes with a run in the workbench: a drawing, whose numbers become macros that nobody sees,
// and quantities that are changed by hand.
#include "lisma/lower.h"

#include <math.h>

#define SHAPES_MAX 2000u

/// A shape takes `least` numbers, or more by `step` up to `most`.
typedef struct ShapeForm {
  const char* kind;
  uint32_t least, most, step;
  const char* how;
} ShapeForm;

static const ShapeForm forms[] = {
    {"circle", 3, 3, 1, "circle(x, y, radius)"},
    {"line", 4, UINT32_MAX, 2, "line(x1, y1, x2, y2), with any number of points"},
    {"polygon", 6, UINT32_MAX, 2, "polygon(x1, y1, x2, y2, x3, y3), with any number of points"},
    {"rect", 4, 5, 1, "rect(x, y, width, height) with a corner at (x, y), or with an angle behind"},
    {"arrow", 4, 4, 1, "arrow(x1, y1, x2, y2)"},
    {"spring", 4, 4, 1, "spring(x1, y1, x2, y2)"},
    {"trace", 2, 2, 1, "trace(x, y), the way of a point"},
    {"text", 2, 2, 1, "text(x, y, \"T = {T:.1f}\")"},
};

static const ShapeForm* find_form(Lower* l, const AstSetting* setting) {
  for (size_t i = 0; i < SLT_COUNT(forms); i++) {
    if (str_equal(setting->key, str_from_c(forms[i].kind))) return &forms[i];
  }
  Diag* diag = lower_report(l, DIAG_E0610, setting->key_span, "there is no shape '%.*s'",
                            STR_ARGS(setting->key));
  TextBuffer all = {.arena = l->scratch};
  for (size_t i = 0; i < SLT_COUNT(forms); i++) {
    if (i) text_append_char(&all, ' ');
    text_append_c(&all, forms[i].kind);
  }
  diag_hint(l->diags, diag, "there are: %.*s", STR_ARGS(text_str(&all)));
  return NULL;
}

/// A number of the drawing: a macro whose name no model can write.
static void add_number(Lower* l, const AstExpr* expr, IrFigure* shape) {
  Scope scope = {.kind = SCOPE_LITERAL, .literal = true, .automaton = IR_NONE};
  IrTerm term = lower_term(l, expr, scope, NULL);
  if (!ir_term_present(term)) return;
  TextBuffer name = {.arena = l->arena};
  text_append_format(&name, "{drawing %u}", l->m->macros.count);
  Str text = text_str(&name);
  IrMacro macro = {.name = names_intern(&l->m->names, text), .value = term, .span = expr->span};
  base_vec_push(l->arena, &l->m->macros, macro);
  base_vec_push(l->arena, &shape->numbers, text);
}

/// The text with the numbers of its values in place of them: "{T:.1f}" is "{2:.1f}".
static Str number_values(Lower* l, Str text, uint32_t first) {
  TextBuffer out = {.arena = l->arena};
  uint32_t at = 0;
  while (at < text.length) {
    text_append_char(&out, text.data[at]);
    if (text.data[at++] != '{') continue;
    uint32_t end = at;
    while (end < text.length && text.data[end] != '}')
      end++;
    uint32_t format = ast_format_begin(text, at, end);
    text_append_format(&out, "%u%.*s", first++, (int)(end - format), text.data + format);
    at = end;
  }
  return text_str(&out);
}

/// Numbers, for a text what it says, and a colour last.
static void lower_shape(Lower* l, const AstSetting* setting) {
  const ShapeForm* form = find_form(l, setting);
  if (!form) return;
  IrFigure shape = {.kind = str_from_c(form->kind)};
  bool is_text = str_equal(shape.kind, STR_LIT("text"));
  bool has_text = false;
  uint32_t numbers = 0;
  bool fits = true;
  for (uint32_t i = 0; i < setting->values.count; i++) {
    const AstValue* value = &setting->values.data[i];
    if (value->expr) {
      numbers += !value->in_text;
      fits = fits && (value->in_text || !has_text) && shape.colour.length == 0;
      add_number(l, value->expr, &shape);
    } else if (is_text && !has_text) {
      shape.text = number_values(l, value->text, shape.numbers.count);
      has_text = true;
    } else {
      fits = fits && shape.colour.length == 0;
      shape.colour = str_copy(l->arena, value->text);
    }
  }
  fits = fits && has_text == is_text && numbers >= form->least && numbers <= form->most &&
         (numbers - form->least) % form->step == 0;
  if (!fits) {
    Diag* diag =
        lower_report(l, DIAG_E0610, setting->span, "these are no arguments of a %s", form->kind);
    diag_hint(l->diags, diag, "write %s; a colour may stand last: \"red\"", form->how);
    return;
  }
  base_vec_push(l->arena, &l->m->experiment.drawing, shape);
}

void lower_animate(Lower* l, const AstStatement* statement) {
  const AstSettingList* shapes = &statement->as.attributes.settings;
  for (uint32_t i = 0; i < shapes->count && !l->walk.stopped; i++) {
    if (l->m->experiment.drawing.count >= SHAPES_MAX) {
      lower_report(l, DIAG_E0610, shapes->data[i].span, "a drawing has at most %u shapes",
                   SHAPES_MAX);
      return;
    }
    lower_shape(l, &shapes->data[i]);
  }
}

// ---------------------------------------------------------------------------------------------
// control

void lower_control(Lower* l, const AstStatement* statement) {
  const AstName* written = &statement->as.control.name;
  const AstValueList* values = &statement->as.control.values;
  if (statement->as.control.state || written->member) {
    AstName automaton = *written;
    automaton.member = NULL;
    const AstName* state = written->member ? written->member : statement->as.control.state;
    lower_state_control(l, &automaton, state, statement->span);
    return;
  }
  uint32_t name = resolve_name(l, written);
  if (name == 0) return;
  IrControl control = {.name = str_copy(l->arena, lower_name(l, name)),
                       .low = (double)NAN,
                       .high = (double)NAN,
                       .span = written->span};
  for (uint32_t i = 0; i < values->count; i++) {
    double value = 0.0;
    if (!resolve_eval(l, values->data[i].expr, &value)) return;
    base_vec_push(l->arena, &control.values, value);
  }
  if (statement->as.control.is_range) {
    control.low = control.values.data[0];
    control.high = control.values.data[1];
    control.values.count = 0;
    if (!(control.low < control.high)) {
      lower_report(l, DIAG_E0611, statement->span, "a range goes from a value to a greater one");
      return;
    }
  }
  base_vec_push(l->arena, &l->m->experiment.controls, control);
}

void lower_check_controls(Lower* l) {
  for (uint32_t i = 0; i < l->m->experiment.controls.count; i++) {
    const IrControl* control = &l->m->experiment.controls.data[i];
    const Symbol* symbol = resolve_symbol(l, names_find(&l->m->names, control->name));
    if (symbol->kind == SYM_PARAM || symbol->kind == SYM_VAR) continue;
    Diag* diag = lower_report(l, DIAG_E0611, control->span,
                              "there is no constant or variable '%.*s' to be changed by hand",
                              STR_ARGS(control->name));
    if (diag == &l->walk.ignored) continue;
    Str near = resolve_near_value(l, control->name);
    if (near.length) diag_hint(l->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  }
}
