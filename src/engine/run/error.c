// SPDX-License-Identifier: MIT
//
// Failures of a run: what happened, when, where in the model, what to try.
#include "engine/run/run.h"

#include <math.h>
#include <stdio.h>

double eng_rounded(double value, double digits) {
  if (value == 0.0 || !isfinite(value)) return value;
  double unit = base_pow(10.0, floor(base_log10(fabs(value))) + 1.0 - digits);
  return unit < 1.0 ? round(value / unit) / round(1.0 / unit) : round(value / unit) * unit;
}

EngNumber eng_number(double value) {
  EngNumber number;
  number.text[number_write(number.text, value)] = '\0';
  return number;
}

EngNumber eng_short(double value) {
  if (value == 0.0 || !isfinite(value)) return eng_number(value);
  // whole powers of ten are exact as far as doubles can be
  double places = 5.0 - floor(base_log10(fabs(value)));
  double scale = base_pow(10.0, fabs(places));
  double rounded = places > 0.0 ? round(value * scale) / scale : round(value / scale) * scale;
  return eng_number(isfinite(rounded) ? rounded : value);
}

void eng_names_add(EngNames* list, const ModelVar* var) {
  uint32_t at = list->count < ENG_NAMED ? list->count : ENG_NAMED;
  list->count++;
  for (; at > 0 && list->first[at - 1]->appearance > var->appearance; at--) {
    if (at < ENG_NAMED) list->first[at] = list->first[at - 1];
  }
  if (at < ENG_NAMED) list->first[at] = var;
}

void eng_names_text(const EngNames* list, char text[ENG_NAMES_LENGTH]) {
  size_t used = 0;
  for (uint32_t i = 0; i < list->count && i < ENG_NAMED; i++) {
    Str name = list->first[i]->name;
    used += (size_t)snprintf(text + used, ENG_NAMES_LENGTH - used, "%s'%.*s'", i > 0 ? ", " : "",
                             (int)(name.length < 80 ? name.length : 80), name.data);
  }
  if (list->count > ENG_NAMED) {
    snprintf(text + used, ENG_NAMES_LENGTH - used, " and %u more", list->count - ENG_NAMED);
  }
}

SltStatus eng_fail(EngSim* sim, SltStatus status, DiagCode code, const Span* span,
                   const char* format, ...) {
  EngError* error = &sim->error;
  error->status = status;
  error->code = code;
  error->t = sim->core.t;
  error->has_span = span != NULL;
  error->span = span ? *span : (Span){0, 0};
  error->hint[0] = '\0';
  error->structure = NULL;
  va_list args;
  va_start(args, format);
  vsnprintf(error->message, sizeof error->message, format, args);
  va_end(args);
  return status;
}

SltStatus eng_hint(EngSim* sim, const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(sim->error.hint, sizeof sim->error.hint, format, args);
  va_end(args);
  return sim->error.status;
}

void eng_warn(EngSim* sim, DiagCode code, Span span, const char* format, ...) {
  char message[900];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  const EngListeners* to = &sim->report.to;
  if (to->on_warning) to->on_warning(to->warning_user, code, span, message);
}

void eng_describe_mode(const EngSim* sim, const uint32_t* state, char* out, size_t capacity) {
  size_t used = 0;
  out[0] = '\0';
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    const ModelAutomaton* automaton = &sim->model->automata[a];
    if (automaton->hidden) continue;
    const ModelState* s = &automaton->states[state[a]];
    int wrote = snprintf(out + used, capacity - used, "%s%.*s=%.*s", used ? ", " : "",
                         STR_ARGS(automaton->name), STR_ARGS(s->written->name));
    if (wrote < 0 || (size_t)wrote >= capacity - used) {
      // too many automata for one line: say so instead of breaking off in a name
      snprintf(out + used, capacity - used, "...");
      return;
    }
    used += (size_t)wrote;
  }
}

SltStatus eng_memory_check_slow(EngSim* sim) {
  return eng_fail(sim, SLT_ERR_NOMEM, DIAG_E0811, NULL, "at t = %s there is not enough memory",
                  eng_number(sim->core.t).text);
}

EngCulprit eng_culprit(EngSim* sim, double t, const Span* otherwise) {
  EngCulprit out = {.span = *otherwise};
  ModelCulprit found;
  bool known = sim->provider.culprit &&
               sim->provider.culprit(sim->provider.user, sim->state, sim->env, t, &found);
  if (!known) return out;
  out.span = found.span;
  if (found.text.length > sizeof out.text - 40) return out;
  snprintf(out.text, sizeof out.text,
           found.condition ? ": there is none where `%.*s`" : ": `%.*s` is %s",
           STR_ARGS(found.text), eng_number(found.value).text);
  return out;
}
