// SPDX-License-Identifier: MIT
#define _POSIX_C_SOURCE 200809L
#include "foreign.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES_MAX 50    // shown of an FMU
#define ROUNDS_MAX   1000  // of an event iteration
#define AT_ONCE      1024  // values of one call
#define STRAY        1e-6  // of a step: how far from it the time it has ended may be said to be
#define ALIKE        1e-2  // relative: derivatives, and differences
#define ROUGH        1e4   // roundings that rates are computed with

typedef int Status;  // of both versions: 0 ok, 1 warning, 2 discard, 3 error, 4 fatal

__attribute__((format(printf, 2, 3))) static bool fail(Foreign* f, const char* format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(f->problem, sizeof f->problem, format, list);
  va_end(list);
  return false;
}

/// A foreign text as one line, files of the FMU by their names in its archive: the folder that it
/// was unpacked into is gone when somebody reads this.
static void copy_message(const Foreign* f, const char* text, char* line, size_t size) {
  size_t folder = strlen(f->folder);
  size_t used = 0;
  while (*text && used + 1 < size) {
    if (folder && strncmp(text, f->folder, folder) == 0 && text[folder] == '/') {
      text += folder + 1;
      continue;
    }
    line[used++] = (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text;
    text++;
  }
  line[used] = '\0';
}

/// A function of the FMU by its name without the version; NULL with a problem.
static ForeignCall find(Foreign* f, const char* name) {
  for (uint32_t i = 0; i < f->function_count; i++) {
    if (strcmp(f->functions[i].name, name) == 0) return f->functions[i].symbol;
  }
  char full[80];
  snprintf(full, sizeof full, "fmi%u%s", f->d->version, name);
  void* found = dlsym(f->library, full);
  ForeignCall symbol = NULL;
  memcpy(&symbol, &found, sizeof found);  // C has no cast from data to functions, POSIX has
  if (!symbol) fail(f, "its library has no function %s", full);
  if (symbol && f->function_count < FOREIGN_FUNCTIONS) {
    ForeignFunction* known = &f->functions[f->function_count++];
    snprintf(known->name, sizeof known->name, "%s", name);
    known->symbol = symbol;
  }
  return symbol;
}

/// Call a function whose parameters after the instance have these types.
#define CALL(f, name, types, ...) \
  call_status((f), (name), \
              find((f), (name)) ? ((Status(*) types)find((f), (name)))(__VA_ARGS__) : -1)

static bool call_status(Foreign* f, const char* name, Status status) {
  f->discarded = status == 2;
  if (status == 0 || status == 1) return true;
  if (status > 1) {
    fail(f, "fmi%u%s returned %s", f->d->version, name,
         status == 2   ? "Discard"
         : status == 3 ? "Error"
         : status == 4 ? "Fatal"
                       : "no known status");
  }
  return false;
}

static void show(Foreign* f, const char* message) {
  if (!message || f->quiet || f->messages++ >= MESSAGES_MAX) return;
  char line[400];
  copy_message(f, message, line, sizeof line);
  fprintf(stderr, "saltus: the FMU says: %s\n", line);
}

static void log_message2(void* environment, const char* name, int status, const char* category,
                         const char* message, ...) {
  (void)name;
  (void)category;
  if (status < 1 || !environment || !message) return;
  char text[1000];
  va_list list;
  va_start(list, message);
  vsnprintf(text, sizeof text, message, list);
  va_end(list);
  show(environment, text);
}

static void log_message3(void* environment, int status, const char* category, const char* message) {
  (void)category;
  if (status >= 1 && environment) show(environment, message);
}

static void* allocate(size_t count, size_t size) {
  return calloc(count ? count : 1, size ? size : 1);
}

typedef struct Callbacks2 {
  void (*logger)(void*, const char*, int, const char*, const char*, ...);
  void* (*allocate)(size_t, size_t);
  void (*free)(void*);
  void (*finished)(void*, int);
  void* environment;
} Callbacks2;

// ---- life ---------------------------------------------------------------------------------------

static void make2(Foreign* f, const Callbacks2* callbacks) {
  char address[1300];
  snprintf(address, sizeof address, "file://%s/resources", f->folder);
  ForeignCall make = find(f, "Instantiate");
  if (!make) return;
  f->instance =
      ((void* (*)(const char*, int, const char*, const char*, const Callbacks2*, int, int))make)(
          "saltus", f->exchange ? 0 : 1, f->d->token, address, callbacks, 0, 0);
}

static void make3(Foreign* f) {
  char path[1300];
  snprintf(path, sizeof path, "%s/resources/", f->folder);
  ForeignCall make = find(f, f->exchange ? "InstantiateModelExchange" : "InstantiateCoSimulation");
  if (!make) return;
  if (f->exchange) {
    f->instance = ((void* (*)(const char*, const char*, const char*, bool, bool, void*,
                              void (*)(void*, int, const char*, const char*)))make)(
        "saltus", f->d->token, path, false, false, f, log_message3);
  } else {
    f->events = f->d->event_mode;
    f->instance =
        ((void* (*)(const char*, const char*, const char*, bool, bool, bool, bool, const uint32_t*,
                    size_t, void*, void (*)(void*, int, const char*, const char*), void*))make)(
            "saltus", f->d->token, path, false, false, f->events, f->events, NULL, 0, f,
            log_message3, NULL);
  }
}

bool foreign_open(Foreign* f, const FmuDescription* d, const char* folder, bool exchange) {
  *f = (Foreign){.d = d, .folder = folder, .exchange = exchange, .next_event = (double)INFINITY};
  char path[1300];
  const char* identifier = exchange ? d->me : d->cs;
  if (!identifier) {
    return fail(f, "it has no interface for %s", exchange ? "model exchange" : "co-simulation");
  }
  if (!fmu_library(d, folder, identifier, path, sizeof path)) {
    return fail(f, "it has no library for this kind of machine");
  }
  f->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!f->library) {
    char why[400];
    const char* said = dlerror();
    copy_message(f, said ? said : "", why, sizeof why);
    return fail(f, "its library cannot be loaded: %s", why);
  }
  // kept by the FMU as long as the instance lives
  Callbacks2* callbacks = calloc(1, sizeof *callbacks);
  if (!callbacks) return fail(f, "out of memory");
  *callbacks = (Callbacks2){log_message2, allocate, free, NULL, f};
  if (d->version == 2) {
    make2(f, callbacks);
  } else {
    free(callbacks);
    make3(f);
  }
  if (f->instance) return true;
  return f->problem[0] ? false : fail(f, "it makes no instance; see its messages, if it has any");
}

void foreign_close(Foreign* f) {
  ForeignCall release = f->instance ? find(f, "FreeInstance") : NULL;
  if (release) ((void (*)(void*))release)(f->instance);
  f->instance = NULL;
  while (f->arrays) {
    ForeignArray* array = f->arrays;
    f->arrays = array->next;
    free(array->values);
    free(array);
  }
  free(f->raw);
  f->raw = NULL;
  f->raw_size = 0;
}

static bool count_states(Foreign* f) {
  f->states = f->d->state_count;
  f->indicators = f->d->indicators;
  if (f->d->version == 2) return true;
  size_t n = 0;
  size_t m = 0;
  if (!CALL(f, "GetNumberOfContinuousStates", (void*, size_t*), f->instance, &n)) return false;
  if (!CALL(f, "GetNumberOfEventIndicators", (void*, size_t*), f->instance, &m)) return false;
  if (n > 10000000u || m > 10000000u) return fail(f, "it has too many states or indicators");
  if (f->d->whole && (n != f->states || m != f->indicators)) {
    return fail(f, "it has other numbers of states or indicators than its description");
  }
  f->states = (uint32_t)n;
  f->indicators = (uint32_t)m;
  return true;
}

bool foreign_initialize(Foreign* f, double start, double stop, double tolerance,
                        bool (*prepare)(Foreign*, void*), void* user) {
  bool has = !isnan(tolerance);
  if (!prepare(f, user)) return false;
  if (f->d->version == 2) {
    if (!CALL(f, "SetupExperiment", (void*, int, double, double, int, double), f->instance, has,
              has ? tolerance : 0.0, start, isfinite(stop), isfinite(stop) ? stop : 0.0)) {
      return false;
    }
    if (!CALL(f, "EnterInitializationMode", (void*), f->instance)) return false;
  } else if (!CALL(f, "EnterInitializationMode", (void*, bool, double, double, bool, double),
                   f->instance, has, has ? tolerance : 0.0, start, isfinite(stop),
                   isfinite(stop) ? stop : 0.0)) {
    return false;
  }
  if (!CALL(f, "ExitInitializationMode", (void*), f->instance)) return false;
  return !f->exchange || count_states(f);
}

// ---- values -------------------------------------------------------------------------------------

/// How the functions for a type are called, and what its numbers are.
typedef struct Kind {
  const char* word;
  size_t bytes;
  bool real, sign;
} Kind;

static Kind kind_of(const Foreign* f, const FmuItem* item) {
  if (f->d->version == 2) {
    if (item->type == FMU_REAL) return (Kind){"Real", sizeof(double), true, true};
    return (Kind){item->type == FMU_BOOLEAN ? "Boolean" : "Integer", sizeof(int), false, true};
  }
  if (strcmp(item->native, "Boolean") == 0) return (Kind){"Boolean", sizeof(bool), false, false};
  if (strcmp(item->native, "Enumeration") == 0) return (Kind){"Int64", 8, false, true};
  const char* digits = strpbrk(item->native, "1368");
  return (Kind){item->native, digits ? (size_t)strtol(digits, NULL, 10) / 8 : 8,
                item->type == FMU_REAL, item->native[0] != 'U'};
}

/// A whole number of any size fits into eight bytes, the low ones of which are the number.
typedef union Whole {
  uint64_t whole;
  double real;
  float small;
} Whole;

static double number_from(Kind kind, const char* raw) {
  Whole got = {0};
  memcpy(&got, raw, kind.bytes);
  if (kind.real) return kind.bytes == sizeof(double) ? got.real : (double)got.small;
  if (!kind.sign) return (double)got.whole;
  uint64_t sign = UINT64_C(1) << (8 * kind.bytes - 1);
  return (double)(int64_t)((got.whole ^ sign) - sign);
}

static bool number_to(Foreign* f, const FmuItem* item, Kind kind, double value, char* raw) {
  Whole put = {0};
  double top = ldexp(1.0, (int)(8 * kind.bytes) - (kind.sign ? 1 : 0));
  bool truth = item->type == FMU_BOOLEAN;
  if (kind.real && kind.bytes == sizeof(double)) {
    put.real = value;
  } else if (kind.real) {
    put.small = (float)value;
  } else if (!(value == floor(value)) || value >= (truth ? 2.0 : top) ||
             value < (kind.sign && !truth ? -top : 0.0)) {
    return fail(f, "%s cannot be %.17g: it is of type %s", item->name, value,
                f->d->version == 2 ? kind.word : item->native);
  } else {
    put.whole = value < 0.0 ? (uint64_t)(int64_t)value : (uint64_t)value;
  }
  memcpy(raw, &put, kind.bytes);
  return true;
}

/// Room for all numbers of the variable; NULL with a problem.
static void* raw_room(Foreign* f, const FmuItem* item, size_t bytes) {
  size_t wanted = bytes * (item->elements ? item->elements : 1);
  if (wanted > f->raw_size) {
    void* moved = realloc(f->raw, wanted);
    if (!moved) {
      fail(f, "out of memory");
      return NULL;
    }
    f->raw = moved;
    f->raw_size = wanted;
  }
  return f->raw;
}

/// Get or set values of one variable.
static bool call_raw(Foreign* f, const char* verb, const FmuItem* item, Kind kind, char* raw) {
  char name[40];
  uint32_t reference = item->reference;
  size_t count = item->elements ? item->elements : 1;
  snprintf(name, sizeof name, "%s%s", verb, kind.word);
  if (f->d->version == 2)
    return CALL(f, name, (void*, const uint32_t*, size_t, void*), f->instance, &reference, 1, raw);
  return CALL(f, name, (void*, const uint32_t*, size_t, void*, size_t), f->instance, &reference, 1,
              raw, count);
}

static bool is_numeric(const FmuItem* item) {
  bool number = item->type == FMU_REAL || item->type == FMU_INTEGER || item->type == FMU_BOOLEAN;
  return number && !item->array;
}

static bool is_double(const Foreign* f, const FmuItem* item) {
  return item->type == FMU_REAL && is_numeric(item) && item->elements == 0 &&
         (f->d->version == 2 || strcmp(item->native, "Float32") != 0);
}

static bool get_doubles(Foreign* f, const uint32_t* references, uint32_t count, double* values) {
  if (f->d->version == 2) {
    return CALL(f, "GetReal", (void*, const uint32_t*, size_t, double*), f->instance, references,
                (size_t)count, values);
  }
  return CALL(f, "GetFloat64", (void*, const uint32_t*, size_t, double*, size_t), f->instance,
              references, (size_t)count, values, (size_t)count);
}

/// How many of the items, from the first on, are elements of one array; 1 for other variables.
static uint32_t count_alike(const FmuItem* const* items, uint32_t count) {
  uint32_t n = 1;
  while (n < count && items[0]->elements &&
         items[n] - items[n]->element == items[0] - items[0]->element) {
    n++;
  }
  return n;
}

/// Values of one variable, or of elements of one array.
static bool get_other(Foreign* f, const FmuItem* const* items, uint32_t count, double* values) {
  for (uint32_t i = 0; i < count; i++)
    values[i] = (double)NAN;
  if (!is_numeric(items[0])) return true;
  Kind kind = kind_of(f, items[0]);
  char* raw = raw_room(f, items[0], kind.bytes);
  if (!raw || !call_raw(f, "Get", items[0], kind, raw)) return false;
  for (uint32_t i = 0; i < count; i++)
    values[i] = number_from(kind, raw + items[i]->element * kind.bytes);
  return true;
}

bool foreign_get(Foreign* f, const FmuItem* const* items, uint32_t count, double* values) {
  for (uint32_t i = 0; i < count;) {
    // neighbours of the usual type are one call
    uint32_t references[AT_ONCE];
    uint32_t n = 0;
    for (; n < AT_ONCE && i + n < count && is_double(f, items[i + n]); n++)
      references[n] = items[i + n]->reference;
    uint32_t alike = n ? n : count_alike(items + i, count - i);
    if (!(n ? get_doubles(f, references, n, values + i)
            : get_other(f, items + i, alike, values + i))) {
      return false;
    }
    i += alike;
  }
  return true;
}

/// What the array was set to by now: its start values at first; NULL with a problem.
static double* array_values(Foreign* f, const FmuItem* first) {
  ForeignArray* array = f->arrays;
  while (array && array->first != first)
    array = array->next;
  if (array) return array->values;
  array = calloc(1, sizeof *array);
  double* values = array ? calloc(first->elements, sizeof *values) : NULL;
  if (!values) {
    free(array);
    fail(f, "out of memory");
    return NULL;
  }
  for (uint32_t i = 0; i < first->elements; i++)
    values[i] = isnan(first[i].start) ? 0.0 : first[i].start;
  *array = (ForeignArray){first, values, f->arrays};
  f->arrays = array;
  return values;
}

static bool set_alike(Foreign* f, const FmuItem* const* items, const double* values,
                      uint32_t count) {
  const FmuItem* first = items[0] - items[0]->element;
  if (!is_numeric(first)) return fail(f, "%s is no number and cannot be set here", first->name);
  if (first->shapes) {
    return fail(f, "%s gives arrays of the FMU their sizes and cannot be set here", first->name);
  }
  Kind kind = kind_of(f, first);
  char* raw = raw_room(f, first, kind.bytes);
  double* all = first->elements ? array_values(f, first) : NULL;
  if (!raw || (first->elements && !all)) return false;
  for (uint32_t i = 0; i < count && all; i++)
    all[items[i]->element] = values[i];
  for (uint32_t i = 0; i < (all ? first->elements : 1); i++) {
    if (!number_to(f, first + i, kind, all ? all[i] : values[0], raw + i * kind.bytes))
      return false;
  }
  return call_raw(f, "Set", first, kind, raw);
}

bool foreign_set(Foreign* f, const FmuItem* const* items, const double* values, uint32_t count,
                 bool held) {
  for (uint32_t i = 0; i < count;) {
    uint32_t alike = count_alike(items + i, count - i);
    bool now = held || (items[i]->type == FMU_REAL && !items[i]->held);
    if (now && !set_alike(f, items + i, values + i, alike)) return false;
    i += alike;
  }
  return true;
}

// ---- model exchange -----------------------------------------------------------------------------

// Differences of terms that cancel, as forces at rest do, are rounding, whose part gets smaller
// with the distance: what both distances show is the rate's.
bool foreign_belied(double said, double rate, const double change[2], const double step[2]) {
  double near = change[0] / step[0];
  double far = change[1] / step[1];
  double noise = ROUGH * DBL_EPSILON * fabs(rate / step[0]);
  double gap = fabs(near - said);
  return gap > ALIKE * fmax(fabs(near), fabs(said)) + noise && fabs(near - far) < 0.5 * gap;
}

bool foreign_set_point(Foreign* f, double t, const double* x) {
  if (!CALL(f, "SetTime", (void*, double), f->instance, t)) return false;
  return f->states == 0 || CALL(f, "SetContinuousStates", (void*, const double*, size_t),
                                f->instance, x, (size_t)f->states);
}

bool foreign_states(Foreign* f, double* x) {
  return f->states == 0 || CALL(f, "GetContinuousStates", (void*, double*, size_t), f->instance, x,
                                (size_t)f->states);
}

/// Values that a point has none of are no failure: another one may be tried.
static bool get_values(Foreign* f, const char* name, double* values, uint32_t count) {
  if (count == 0) return true;
  if (CALL(f, name, (void*, double*, size_t), f->instance, values, (size_t)count)) return true;
  for (uint32_t i = 0; f->discarded && i < count; i++)
    values[i] = (double)NAN;
  if (f->discarded) f->problem[0] = '\0';
  return f->discarded;
}

bool foreign_derivatives(Foreign* f, double* rates) {
  const char* name = f->d->version == 2 ? "GetDerivatives" : "GetContinuousStateDerivatives";
  return get_values(f, name, rates, f->states);
}

/// Derivatives of one variable by another one, whose elements have these seeds.
static bool direction_of(Foreign* f, const FmuItem* unknown, const FmuItem* known,
                         const double* seeds, double* out) {
  uint32_t of = unknown->reference;
  uint32_t by = known->reference;
  if (f->d->version == 2) {
    return CALL(f, "GetDirectionalDerivative",
                (void*, const uint32_t*, size_t, const uint32_t*, size_t, const double*, double*),
                f->instance, &of, 1, &by, 1, seeds, out);
  }
  return CALL(f, "GetDirectionalDerivative",
              (void*, const uint32_t*, size_t, const uint32_t*, size_t, const double*, size_t,
               double*, size_t),
              f->instance, &of, 1, &by, 1, seeds, (size_t)(known->elements ? known->elements : 1),
              out, (size_t)(unknown->elements ? unknown->elements : 1));
}

static bool directions(Foreign* f, const FmuItem* const* unknowns, uint32_t count,
                       const FmuItem* by, const double* seeds, double* out) {
  for (uint32_t i = 0; i < count;) {
    uint32_t alike = count_alike(unknowns + i, count - i);
    for (uint32_t k = 0; k < alike; k++)
      out[i + k] = 0.0;
    if (unknowns[i]->type == FMU_REAL) {
      double* got = raw_room(f, unknowns[i], sizeof(double));
      if (!got || !direction_of(f, unknowns[i], by, seeds, got)) return false;
      for (uint32_t k = 0; k < alike; k++)
        out[i + k] = got[unknowns[i + k]->element];
    }
    i += alike;
  }
  return true;
}

bool foreign_direction(Foreign* f, const FmuItem* by, const FmuItem* const* outputs,
                       uint32_t output_count, double* out) {
  double* seeds = calloc(by->elements ? by->elements : 1, sizeof *seeds);
  if (!seeds) return fail(f, "out of memory");
  seeds[by->element] = 1.0;
  bool good = directions(f, f->d->rates, f->states, by, seeds, out) &&
              directions(f, outputs, output_count, by, seeds, out + f->states);
  free(seeds);
  return good;
}

bool foreign_indicators(Foreign* f, double* z) {
  return get_values(f, "GetEventIndicators", z, f->indicators);
}

ForeignStatus foreign_step_done(Foreign* f, bool* event) {
  *event = false;
  if (f->d->no_completed_step) return FOREIGN_OK;
  bool end = false;
  if (f->d->version == 2) {
    int wants = 0;
    int terminate = 0;
    if (!CALL(f, "CompletedIntegratorStep", (void*, int, int*, int*), f->instance, !f->returns,
              &wants, &terminate)) {
      return FOREIGN_FAILED;
    }
    *event = wants != 0;
    end = terminate != 0;
  } else if (!CALL(f, "CompletedIntegratorStep", (void*, bool, bool*, bool*), f->instance,
                   !f->returns, event, &end)) {
    return FOREIGN_FAILED;
  }
  return end ? FOREIGN_ENDED : FOREIGN_OK;
}

typedef struct EventInfo2 {
  int again, terminate, nominals, values, has_next;
  double next;
} EventInfo2;

/// One round of the event iteration.
static ForeignStatus round_of(Foreign* f, bool* again, bool* changed) {
  bool end = false;
  bool has_next = false;
  double next = 0.0;
  if (f->d->version == 2) {
    EventInfo2 info = {0};
    if (!CALL(f, "NewDiscreteStates", (void*, EventInfo2*), f->instance, &info))
      return FOREIGN_FAILED;
    *again = info.again != 0;
    *changed = *changed || info.values != 0;
    end = info.terminate != 0;
    has_next = info.has_next != 0;
    next = info.next;
  } else {
    bool nominals = false;
    bool values = false;
    if (!CALL(f, "UpdateDiscreteStates", (void*, bool*, bool*, bool*, bool*, bool*, double*),
              f->instance, again, &end, &nominals, &values, &has_next, &next)) {
      return FOREIGN_FAILED;
    }
    *changed = *changed || values;
  }
  if (has_next && isnan(next)) {
    fail(f, "the time of its next event is not a number");
    return FOREIGN_FAILED;
  }
  f->next_event = has_next ? next : (double)INFINITY;
  return end ? FOREIGN_ENDED : FOREIGN_OK;
}

bool foreign_enter_event(Foreign* f) {
  return CALL(f, "EnterEventMode", (void*), f->instance);
}

ForeignStatus foreign_event(Foreign* f, bool* changed) {
  *changed = false;
  bool again = true;
  for (uint32_t rounds = 0; again; rounds++) {
    if (rounds >= ROUNDS_MAX) {
      fail(f, "its event iteration does not end: %d rounds", ROUNDS_MAX);
      return FOREIGN_FAILED;
    }
    ForeignStatus status = round_of(f, &again, changed);
    if (status != FOREIGN_OK) return status;
  }
  const char* leave = f->exchange ? "EnterContinuousTimeMode" : "EnterStepMode";
  return CALL(f, leave, (void*), f->instance) ? FOREIGN_OK : FOREIGN_FAILED;
}

// ---- co-simulation ------------------------------------------------------------------------------

/// A time that an FMU says its step ended at; one outside of the step is no time of it.
static double within(double last, double t, double h) {
  return last >= t && last <= t + h ? last : t + h;
}

/// Where a step has ended that did not come to its end. FMUs round that time as they like.
static bool ends_inside(Foreign* f, double last, double t, double h, double* reached) {
  *reached = within(last, t, h);
  if (fabs(last - *reached) <= STRAY * h) return true;
  return fail(f, "its step from t = %.9g to %.9g has ended at t = %.9g, it says", t, t + h, last);
}

ForeignStatus foreign_step(Foreign* f, double t, double h, double* reached, bool* event) {
  *event = false;
  *reached = t + h;
  ForeignCall step = find(f, "DoStep");
  if (!step) return FOREIGN_FAILED;
  if (f->d->version == 2) {
    Status status = ((Status(*)(void*, double, double, int))step)(f->instance, t, h, !f->returns);
    int terminated = 0;
    if (status == 2 &&
        CALL(f, "GetBooleanStatus", (void*, int, int*), f->instance, 3, &terminated) &&
        terminated) {
      // where the FMU cannot say when it ended, its step has to do
      double last = t + h;
      if (CALL(f, "GetRealStatus", (void*, int, double*), f->instance, 2, &last)) {
        *reached = within(last, t, h);
      }
      f->problem[0] = '\0';
      return FOREIGN_ENDED;
    }
    return call_status(f, "DoStep", status) ? FOREIGN_OK : FOREIGN_FAILED;
  }
  bool end = false;
  bool early = false;
  double last = t + h;
  Status status = ((Status(*)(void*, double, double, bool, bool*, bool*, bool*, double*))step)(
      f->instance, t, h, !f->returns, event, &end, &early, &last);
  if (!call_status(f, "DoStep", status)) return FOREIGN_FAILED;
  if ((early || end) && !ends_inside(f, last, t, h, reached)) return FOREIGN_FAILED;
  return end ? FOREIGN_ENDED : FOREIGN_OK;
}

// ---- state --------------------------------------------------------------------------------------

bool foreign_keep(Foreign* f, void** state) {
  *state = NULL;
  return CALL(f, f->d->version == 2 ? "GetFMUstate" : "GetFMUState", (void*, void**), f->instance,
              state);
}

bool foreign_put_back(Foreign* f, void* state) {
  return CALL(f, f->d->version == 2 ? "SetFMUstate" : "SetFMUState", (void*, void*), f->instance,
              state);
}

void foreign_drop(Foreign* f, void** state) {
  (void)CALL(f, f->d->version == 2 ? "FreeFMUstate" : "FreeFMUState", (void*, void**), f->instance,
             state);
}
