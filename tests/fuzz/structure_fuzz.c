// SPDX-License-Identifier: MIT
//
// Small systems of equations decoded from bytes: analysis, initialisation, a few steps. Nothing
// crashes, and values that are accepted satisfy the equations they were decoded to.
//
// One byte chooses how many unknowns and modes there are; then each equation takes four bytes per
// term. The residuals are computed here, from the decoded terms and the values of the run, so that
// no mistake of the library can agree with itself.
#include <saltus/saltus.h>

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWNS_MAX 4
#define TERMS_MAX    3
#define MODES_MAX    2
#define TEXT_MAX     4096
#define TOLERANCE    1e-5  // of residuals, relative to the sizes of the terms

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void require(bool condition) {
  if (!condition) abort();
}

typedef enum TermKind { TERM_LINEAR, TERM_PRODUCT, TERM_SIN, TERM_CUBE, TERM_KINDS } TermKind;

typedef struct Term {
  TermKind kind;
  double factor;
  unsigned var, order;  // x or x'
  unsigned other;       // of a product
} Term;

typedef struct Equation {
  Term terms[TERMS_MAX];
  unsigned count;
  unsigned right;  // 0: constant, 1: 0, 2: sin(time), 3: 1 + time
} Equation;

typedef struct System {
  unsigned unknowns, modes;
  Equation equations[MODES_MAX][UNKNOWNS_MAX];
} System;

typedef struct Bytes {
  const uint8_t* data;
  size_t size;
} Bytes;

static unsigned take(Bytes* bytes) {
  if (bytes->size == 0) return 0;
  bytes->size--;
  return *bytes->data++;
}

static void decode(Bytes* bytes, System* system) {
  static const double factors[] = {1.0, -1.0, 2.0, 0.5, -2.0, 3.0, -0.25, 1.0};
  unsigned shape = take(bytes);
  system->unknowns = 1 + shape % UNKNOWNS_MAX;
  system->modes = 1 + shape / 8 % MODES_MAX;
  for (unsigned m = 0; m < system->modes; m++) {
    for (unsigned i = 0; i < system->unknowns; i++) {
      Equation* e = &system->equations[m][i];
      unsigned head = take(bytes);
      e->count = 1 + head % TERMS_MAX;
      e->right = head / 4 % 4;
      for (unsigned k = 0; k < e->count; k++) {
        unsigned b = take(bytes);
        unsigned c = take(bytes);
        e->terms[k] = (Term){.kind = (TermKind)(b % TERM_KINDS),
                             .factor = factors[b / 8 % 8],
                             .var = c % system->unknowns,
                             .order = c / 8 % 4 == 3,
                             .other = c / 32 % system->unknowns};
      }
    }
  }
}

// ---- as text ------------------------------------------------------------------------------------

typedef struct Text {
  char data[TEXT_MAX];
  size_t used;
} Text;

static void put(Text* text, const char* format, ...) __attribute__((format(printf, 2, 3)));

static void put(Text* text, const char* format, ...) {
  va_list args;
  va_start(args, format);
  int wrote = vsnprintf(text->data + text->used, sizeof text->data - text->used, format, args);
  va_end(args);
  require(wrote >= 0 && (size_t)wrote < sizeof text->data - text->used);
  text->used += (size_t)wrote;
}

static const char* name_of(unsigned var, unsigned order) {
  static const char* const names[2][UNKNOWNS_MAX] = {{"a", "b", "c", "d"},
                                                     {"a'", "b'", "c'", "d'"}};
  return names[order][var];
}

static void put_equation(Text* text, unsigned label, const Equation* e) {
  static const char* const right[] = {"0.5", "0", "sin(time)", "1 + time"};
  put(text, "e%u: ", label);
  for (unsigned k = 0; k < e->count; k++) {
    const Term* t = &e->terms[k];
    const char* name = name_of(t->var, t->order);
    put(text, "%s(%g)*", k ? " + " : "", t->factor);
    switch (t->kind) {
    case TERM_SIN: put(text, "sin(%s)", name); break;
    case TERM_CUBE: put(text, "%s*%s*%s", name, name, name); break;
    case TERM_PRODUCT: put(text, "%s*%s", name, name_of(t->other, 0)); break;
    case TERM_LINEAR:
    case TERM_KINDS:
    default: put(text, "%s", name); break;
    }
  }
  put(text, " = %s;\n", right[e->right]);
}

static void write_system(Text* text, const System* system) {
  for (unsigned i = 0; i < system->unknowns; i++) {
    put_equation(text, i, &system->equations[0][i]);
  }
  for (unsigned v = 0; v < system->unknowns; v++) {
    put(text, "%s(t0) ~ %g;\n", name_of(v, 0), 0.3 + 0.4 * v);
  }
  if (system->modes < 2) return;
  put(text, "state other [time >= 0.25] {\n");
  for (unsigned i = 0; i < system->unknowns; i++) {
    put_equation(text, i, &system->equations[1][i]);
  }
  put(text, "} from init;\n");
}

// ---- residuals ----------------------------------------------------------------------------------

/// Value of a quantity; false where the mode determines none.
static bool value_of(SltSim* sim, unsigned var, unsigned order, double* out) {
  SltQuantity quantity;
  if (slt_sim_find(sim, name_of(var, order), &quantity) != SLT_OK) return false;
  *out = slt_sim_get(sim, quantity);
  return !isnan(*out);
}

static void check_equation(SltSim* sim, const Equation* e) {
  double t = slt_sim_time(sim);
  const double right[] = {0.5, 0.0, sin(t), 1.0 + t};
  double sum = -right[e->right];
  double size = 1.0 + fabs(sum);
  for (unsigned k = 0; k < e->count; k++) {
    const Term* term = &e->terms[k];
    double x;
    double y;
    // held variables are shown as undetermined: nothing can be said about their equations here
    if (!value_of(sim, term->var, term->order, &x)) return;
    double part = term->factor * x;
    if (term->kind == TERM_PRODUCT) {
      if (!value_of(sim, term->other, 0, &y)) return;
      part *= y;
    }
    if (term->kind == TERM_SIN) part = term->factor * sin(x);
    if (term->kind == TERM_CUBE) part = term->factor * x * x * x;
    // a factor that is off by rounding of the states changes the term by its slope
    size += fabs(part) * (term->kind == TERM_CUBE ? 3.0 : 1.0) + fabs(term->factor * x);
    sum += part;
  }
  require(fabs(sum) <= TOLERANCE * size);
}

static void check_values(SltSim* sim, const System* system) {
  const char* state = slt_sim_automaton_state(sim, 0);
  unsigned mode = state && strcmp(state, "other") == 0;
  for (unsigned i = 0; i < system->unknowns; i++) {
    check_equation(sim, &system->equations[mode][i]);
  }
}

static bool is_bounded(SltSim* sim, const System* system) {
  for (unsigned v = 0; v < system->unknowns; v++) {
    for (unsigned order = 0; order < 2; order++) {
      double x = 0.0;
      if (value_of(sim, v, order, &x) && !(fabs(x) < 1e6)) return false;
    }
  }
  return true;
}

static void run(const SltModel* model, const System* system) {
  SltSimOptions options = slt_sim_options();
  options.rtol = 1e-8;
  options.atol = 1e-10;
  options.h_min = 1e-7;
  options.max_steps = 2000;
  options.max_events = 50;
  SltSim* sim = NULL;
  if (slt_sim_create(model, &options, &sim) != SLT_OK) return;
  SltStatus status = slt_sim_start(sim);
  for (int k = 1; k <= 8 && status >= 0 && status != SLT_END; k++) {
    // solutions that blow up say nothing about residuals
    if (!is_bounded(sim, system)) break;
    check_values(sim, system);
    // whether a mode has a solution is told by the call after the event that enters it
    do {
      status = slt_sim_advance(sim, 0.0625 * k, NULL);
    } while (status == SLT_EVENT);
  }
  if (status < 0) {
    SltRunError error = slt_sim_error(sim);
    require(error.code && error.code[0] && error.message && error.message[0]);
  }
  slt_sim_free(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  System system = {0};
  Bytes bytes = {data, size};
  Text text = {.used = 0};
  decode(&bytes, &system);
  write_system(&text, &system);
  SltModel* model = NULL;
  SltStatus status = slt_model_compile("fuzz.lisma", text.data, text.used, NULL, &model);
  require((status >= 0) == (model != NULL));
  if (!model) return 0;
  run(model, &system);
  slt_model_free(model);
  return 0;
}
