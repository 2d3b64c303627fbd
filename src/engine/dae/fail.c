// SPDX-License-Identifier: MIT
//
// Equations that cannot be fulfilled: which mode, when, which equations, by how much they are off,
// with which values, and what to try.
#include "engine/dae/parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROWS_SHOWN   4
#define VALUES_SHOWN 8
#define NEARBY_ULPS  1e4

/// Text with an end; what does not fit is left out.
typedef struct Text {
  char data[900];
  size_t used;
} Text;

static void append(Text* text, const char* format, ...) __attribute__((format(printf, 2, 3)));

static void append(Text* text, const char* format, ...) {
  if (text->used + 1 >= sizeof text->data) return;
  va_list args;
  va_start(args, format);
  int wrote = vsnprintf(text->data + text->used, sizeof text->data - text->used, format, args);
  va_end(args);
  if (wrote < 0) return;
  text->used += (size_t)wrote;
  if (text->used >= sizeof text->data) text->used = sizeof text->data - 1;
}

static void quantity_name(const EngSim* sim, const ModelQuantity* quantity, char* out,
                          size_t capacity) {
  const ModelVar* var = &sim->model->vars[quantity->var];
  if (quantity->order > 2) {
    snprintf(out, capacity, "der(%.*s, %u)", STR_ARGS(var->name), quantity->order);
    return;
  }
  const char* marks = quantity->order == 0 ? "" : quantity->order == 1 ? "'" : "''";
  snprintf(out, capacity, "%.*s%s", STR_ARGS(var->name), marks);
}

/// " in mode main=fly", or nothing when the model has no automata.
static void append_mode(Text* text, const EngSim* sim) {
  char mode[300];
  eng_describe_mode(sim, sim->state, mode, sizeof mode);
  if (mode[0]) append(text, " in mode %s", mode);
}

static void append_equation(Text* text, const ModelImplicit* im, uint32_t equation,
                            uint32_t level) {
  const ModelEquationText* e = &im->equations[equation];
  static const char* const levels[] = {"", "the time derivative of ", "the second derivative of "};
  append(text, "%s`%.*s` (%.*s)", level > 2 ? "a derivative of " : levels[level], STR_ARGS(e->text),
         STR_ARGS(e->place));
}

/// "x = 4 (line 3), y = -2" behind `before`: quantities that the marked rows read and `wanted`
/// picks; nothing where there are none.
typedef bool Picks(const EngSim* sim, const ModelQuantity* quantity);

static bool append_values(Text* text, const char* before, const EngSim* sim, const double* value,
                          Picks* wanted) {
  const ModelImplicit* im = sim->core.mode->implicit;
  uint32_t shown = 0;
  for (uint32_t j = 0; j < im->quantity_count && shown < VALUES_SHOWN; j++) {
    const ModelQuantity* quantity = &im->quantities[j];
    if (sim->model->vars[quantity->var].hidden || !wanted(sim, quantity)) continue;
    bool read = false;
    for (uint32_t i = 0; i < im->system_entry_count && !read; i++) {
      read = im->system_entries[i].column == j && sim->dae.marks[im->system_entries[i].row];
    }
    if (!read) continue;
    char name[120];
    uint32_t line = 0;
    quantity_name(sim, quantity, name, sizeof name);
    append(text, "%s%s = %s", shown++ ? ", " : before, name, eng_short(value[j]).text);
    if (sim->dae.initial && dae_is_fixed_start(sim, quantity, &line) && line) {
      append(text, " (line %u)", line);
    }
  }
  return shown > 0;
}

/// Equations of a block that is solved together.
static void append_block(Text* text, const ModelImplicit* im, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end && i < begin + ROWS_SHOWN; i++) {
    append(text, "%s", i > begin ? ", " : "");
    append_equation(text, im, im->block_equations[i], 0);
  }
  if (end > begin + ROWS_SHOWN) append(text, " and %u more", end - begin - ROWS_SHOWN);
}

/// What the user gave or the motion brought: not what the equations are to determine.
static bool is_given(const EngSim* sim, const ModelQuantity* quantity) {
  if (sim->dae.initial && dae_is_fixed_start(sim, quantity, NULL)) return true;
  if (!sim->dae.initial && quantity->env != MODEL_NONE &&
      sim->values.given[quantity->env] == ENG_GIVEN_SET) {
    return true;
  }
  return quantity->state != MODEL_NONE;
}

static bool is_sought(const EngSim* sim, const ModelQuantity* quantity) {
  return !is_given(sim, quantity);
}

SltStatus dae_fail_rows(EngSim* sim, const double* distance, const double* residual,
                        uint32_t row_count) {
  const ModelImplicit* im = sim->core.mode->implicit;
  bool initial = sim->dae.initial;
  uint32_t worst = 0;
  for (uint32_t i = 1; i < row_count; i++) {
    if (distance[i] > distance[worst]) worst = i;
  }
  Text text = {.used = 0};
  append(&text, "%s t = %s contradict the equations",
         initial ? "the initial values at" : "the values at", eng_number(sim->core.t).text);
  append_mode(&text, sim);
  append(&text, ": ");
  uint8_t* marked = sim->dae.marks;
  uint32_t shown = 0;
  for (uint32_t i = 0; i < im->row_count; i++) {
    marked[i] = i < row_count && distance[i] >= 0.01 * distance[worst] && shown < ROWS_SHOWN;
    if (!marked[i]) continue;
    append(&text, "%s", shown++ ? ", " : "");
    append_equation(&text, im, im->rows[i].equation, im->rows[i].level);
    append(&text, " is off by %s", eng_short(residual[i]).text);
  }
  append_values(&text, ", with ", sim, sim->dae.entry, is_given);
  const Span* span = &im->equations[im->rows[worst].equation].span;
  eng_fail(sim, SLT_ERR_STRUCTURE, initial ? DIAG_E0820 : DIAG_E0821, span, "%s", text.data);
  if (initial) {
    eng_hint(sim, "change or remove one of these values, or make it a guess with `~`");
  } else {
    eng_hint(sim,
             "a jump of these values would need an infinite velocity: reset them on entry, or "
             "enter the mode where the equation holds; a state that should keep the equations of "
             "another one says so: `state b like a`");
  }
  return sim->error.status;
}

/// Residuals of the block at the best values found, and the values. True: it holds there, at some
/// of many values.
static bool append_nearest(EngSim* sim, uint32_t begin, uint32_t end, Text* text) {
  const ModelImplicit* im = sim->core.mode->implicit;
  const double* residual = NULL;
  const double* value = NULL;
  if (!dae_nearest(sim, &residual, &value)) return false;
  double off = 0.0;
  for (uint32_t i = begin; i < end; i++)
    off = fmax(off, fabs(residual[im->constraint_count + im->block_equations[i]]));
  double size = 0.0;
  for (uint32_t i = 0; i < im->quantity_count; i++)
    size = fmax(size, fabs(value[i]));
  // later on a solution that is found but not followed is one that ends
  bool holds = sim->core.t == sim->options.t_start && end - begin > 1 &&
               off <= NEARBY_ULPS * DBL_EPSILON * size;
  uint8_t* marked = sim->dae.marks;
  memset(marked, 0, im->row_count);
  for (uint32_t i = begin; i < end && i < begin + ROWS_SHOWN; i++) {
    uint32_t row = im->constraint_count + im->block_equations[i];
    marked[row] = 1;
    append(text, "%s", i > begin ? ", " : "");
    append_equation(text, im, im->block_equations[i], im->rows[row].level);
    if (!holds) append(text, ", off by %s", eng_short(residual[row]).text);
  }
  if (end > begin + ROWS_SHOWN) append(text, " and %u more", end - begin - ROWS_SHOWN);
  const char* before = holds ? ", which hold at " : " at the nearest values found: ";
  if (append_values(text, before, sim, value, is_sought) && holds) append(text, " and elsewhere");
  append_values(text, "; with ", sim, value, is_given);
  return holds;
}

bool eng_fail_solve(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  uint32_t block = sim->dae.failed;
  if (!im || block >= im->block_count) return false;
  uint32_t begin = im->block_begin[block];
  uint32_t end = im->block_begin[block + 1];
  bool open = false;
  Text text = {.used = 0};
  Text equations = {.used = 0};
  if (im->quantity_count > 0) {
    open = append_nearest(sim, begin, end, &equations);
  } else {
    append_block(&equations, im, begin, end);
  }
  append(&text, "at t = %s no %ssolution was found", eng_number(sim->core.t).text,
         open ? "single " : "");
  append_mode(&text, sim);
  append(&text, " of %s", equations.data);
  const Span* span = &im->equations[im->block_equations[begin]].span;
  eng_fail(sim, SLT_ERR_NO_CONVERGENCE, DIAG_E0822, span, "%s", text.data);
  if (open) {
    eng_hint(sim,
             "nothing fixes the level of these values: give one of them; in a network of parts "
             "one node is the reference, connect it to a `Ground` (or a `Wall`, a `Frame`)");
    return true;
  }
  eng_hint(sim, "the equations may contradict each other here, or have a solution only up to here; "
                "where they have several, a guess close to the one that is meant helps: "
                "`x(t0) ~ ...`");
  return true;
}

SltStatus dae_fail_drift(EngSim* sim, const double* residual) {
  const ModelImplicit* im = sim->core.mode->implicit;
  Text text = {.used = 0};
  append(&text, "at t = %s the motion", eng_number(sim->core.t).text);
  append_mode(&text, sim);
  append(&text, " cannot go on along its constraints: ");
  uint8_t* marked = sim->dae.marks;
  uint32_t shown = 0;
  for (uint32_t i = 0; i < im->row_count; i++) {
    marked[i] = i < im->constraint_count && im->rows[i].level == 0 && shown < ROWS_SHOWN;
    if (!marked[i]) continue;
    append(&text, "%s", shown++ ? ", " : "");
    append_equation(&text, im, im->rows[i].equation, 0);
    append(&text, " is off by %s", eng_short(residual[i]).text);
  }
  dae_gather(sim, im, sim->dae.entry);
  append_values(&text, ", with ", sim, sim->dae.entry, is_given);
  const Span* span = &im->equations[im->rows[0].equation].span;
  eng_fail(sim, SLT_ERR_STEP, DIAG_E0824, span, "%s", text.data);
  return eng_hint(sim,
                  "the constraints contradict each other or end here; let an event leave the mode "
                  "before, or use smaller tolerances where they bend strongly");
}

SltStatus dae_fail_singular(EngSim* sim, uint32_t bad) {
  const ModelImplicit* im = sim->core.mode->implicit;
  char name[120];
  quantity_name(sim, &im->quantities[bad], name, sizeof name);
  Text text = {.used = 0};
  append(&text, "at t = %s the equations", eng_number(sim->core.t).text);
  append_mode(&text, sim);
  append(&text, " do not determine %s", name);
  const Span* span = NULL;
  uint8_t* marked = sim->dae.marks;
  uint32_t shown = 0;
  for (uint32_t i = 0; i < im->row_count; i++) {
    marked[i] = 0;
    for (uint32_t k = 0; k < im->system_entry_count && im->rows[i].top; k++) {
      marked[i] |= im->system_entries[k].row == i && im->system_entries[k].column == bad;
    }
    if (!marked[i] || shown >= ROWS_SHOWN) continue;
    append(&text, "%s", shown++ ? ", " : ": its coefficients in ");
    append_equation(&text, im, im->rows[i].equation, im->rows[i].level);
    if (!span) span = &im->equations[im->rows[i].equation].span;
  }
  if (shown) append(&text, " vanish or cancel");
  append_values(&text, ", with ", sim, sim->dae.entry, is_given);
  eng_fail(sim, SLT_ERR_STRUCTURE, DIAG_E0823, span, "%s", text.data);
  return eng_hint(
      sim, "the same may be said twice by several equations; or the mode is entered at values "
           "for which it has no motion of its own: keep away from them, or add a small "
           "resistance or compliance");
}

static bool is_top(const EngSim* sim, const ModelQuantity* quantity) {
  (void)sim;
  return quantity->state == MODEL_NONE;
}

void eng_warn_least_slow(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  uint32_t block = sim->dae.least;
  sim->dae.least = MODEL_NONE;
  if (block == MODEL_NONE || !im || block >= im->block_count || !sim->report.to.on_warning) return;
  if (!eng_warn_once(sim, ENG_WARNED_LEAST)) return;
  uint32_t begin = im->block_begin[block];
  uint32_t end = im->block_begin[block + 1];
  Text text = {.used = 0};
  append(&text, "at t = %s", eng_number(sim->core.t).text);
  append_mode(&text, sim);
  append(&text, " these equations say the same twice and leave something open; the smallest "
                "solution is taken: ");
  append_block(&text, im, begin, end);
  if (im->quantity_count > 0) {
    memset(sim->dae.marks, 0, im->row_count);
    for (uint32_t i = begin; i < end; i++) {
      sim->dae.marks[im->constraint_count + im->block_equations[i]] = 1;
    }
    dae_gather(sim, im, sim->dae.entry);
    append_values(&text, "; ", sim, sim->dae.entry, is_top);
  }
  const Span* span = &im->equations[im->block_equations[begin]].span;
  eng_warn(sim, DIAG_W0827, *span, "%s", text.data);
}
