// SPDX-License-Identifier: MIT
#define _POSIX_C_SOURCE 200809L
#include "foreign.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES_MAX 50    // shown of an FMU
#define ROUNDS_MAX   1000  // of an event iteration
#define AT_ONCE      1024  // values of one call

typedef int Status;  // of both versions: 0 ok, 1 warning, 2 discard, 3 error, 4 fatal

__attribute__((format(printf, 2, 3))) static bool fail(Foreign* f, const char* format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(f->problem, sizeof f->problem, format, list);
  va_end(list);
  return false;
}

/// A function of the FMU by its name without the version; NULL with a problem.
static void* find(Foreign* f, const char* name) {
  for (uint32_t i = 0; i < f->function_count; i++) {
    if (strcmp(f->functions[i].name, name) == 0) return f->functions[i].symbol;
  }
  char full[80];
  snprintf(full, sizeof full, "fmi%u%s", f->d->version, name);
  void* symbol = dlsym(f->library, full);
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
              find((f), (name)) ? ((Status(*) types)(uintptr_t)find((f), (name)))(__VA_ARGS__) \
                                : -1)

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
  if (!message || f->messages++ >= MESSAGES_MAX) return;
  char line[400];
  size_t used = 0;
  for (; *message && used + 1 < sizeof line; message++)
    line[used++] = (unsigned char)*message < 0x20 || *message == 0x7f ? ' ' : *message;
  line[used] = '\0';
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
  void* make = find(f, "Instantiate");
  if (!make) return;
  f->instance =
      ((void* (*)(const char*, int, const char*, const char*, const Callbacks2*, int, int))(
          uintptr_t)make)("saltus", f->exchange ? 0 : 1, f->d->token, address, callbacks, 0, 0);
}

static void make3(Foreign* f) {
  char path[1300];
  snprintf(path, sizeof path, "%s/resources/", f->folder);
  void* make = find(f, f->exchange ? "InstantiateModelExchange" : "InstantiateCoSimulation");
  if (!make) return;
  if (f->exchange) {
    f->instance = ((void* (*)(const char*, const char*, const char*, bool, bool, void*,
                              void (*)(void*, int, const char*, const char*)))(uintptr_t)make)(
        "saltus", f->d->token, path, false, false, f, log_message3);
  } else {
    f->events = f->d->event_mode;
    f->instance =
        ((void* (*)(const char*, const char*, const char*, bool, bool, bool, bool, const uint32_t*,
                    size_t, void*, void (*)(void*, int, const char*, const char*),
                    void*))(uintptr_t)make)("saltus", f->d->token, path, false, false, f->events,
                                            f->events, NULL, 0, f, log_message3, NULL);
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
  if (!f->library) return fail(f, "its library cannot be loaded: %s", dlerror());
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
  void* release = f->instance ? find(f, "FreeInstance") : NULL;
  if (release) ((void (*)(void*))(uintptr_t)release)(f->instance);
  f->instance = NULL;
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

/// Any whole type fits into eight bytes, the low ones of which are the number.
typedef union Whole {
  int64_t whole;
  int32_t usual;
  int16_t half;
  int8_t byte;
  bool truth;
} Whole;

/// How the functions for a whole type are called, and how wide it is.
typedef struct WholeType {
  const char* word;
  int bits;
  bool sign;
} WholeType;

static WholeType whole_type(const Foreign* f, const FmuItem* item) {
  if (f->d->version == 2)
    return (WholeType){item->type == FMU_BOOLEAN ? "Boolean" : "Integer", 32, true};
  if (strcmp(item->native, "Boolean") == 0) return (WholeType){"Boolean", 1, false};
  if (strcmp(item->native, "Enumeration") == 0) return (WholeType){"Int64", 64, true};
  const char* digits = strpbrk(item->native, "1368");
  return (WholeType){item->native, digits ? (int)strtol(digits, NULL, 10) : 64,
                     item->native[0] != 'U'};
}

static bool get_whole(Foreign* f, const FmuItem* item, double* value) {
  WholeType type = whole_type(f, item);
  uint32_t reference = item->reference;
  Whole got = {0};
  char name[40];
  snprintf(name, sizeof name, "Get%s", type.word);
  bool good = f->d->version == 2 ? CALL(f, name, (void*, const uint32_t*, size_t, void*),
                                        f->instance, &reference, 1, &got)
                                 : CALL(f, name, (void*, const uint32_t*, size_t, void*, size_t),
                                        f->instance, &reference, 1, &got, 1);
  int64_t low = type.bits == 1    ? got.truth
                : type.bits == 8  ? got.byte
                : type.bits == 16 ? got.half
                : type.bits == 32 ? got.usual
                                  : got.whole;
  if (!type.sign && type.bits < 64) low &= (int64_t)((UINT64_C(1) << type.bits) - 1);
  *value = !type.sign && type.bits == 64 ? (double)(uint64_t)low : (double)low;
  return good;
}

static bool set_whole(Foreign* f, const FmuItem* item, double value) {
  WholeType type = whole_type(f, item);
  uint32_t reference = item->reference;
  double top = ldexp(1.0, type.sign ? type.bits - 1 : type.bits);
  bool truth = item->type == FMU_BOOLEAN;
  if (!(value == floor(value)) || value >= (truth ? 2.0 : top) ||
      value < (type.sign && !truth ? -top : 0.0)) {
    return fail(f, "%s cannot be %.17g: it is of type %s", item->name, value,
                f->d->version == 2 ? type.word : item->native);
  }
  Whole put = {.whole = value < 0.0 ? (int64_t)value : (int64_t)(uint64_t)value};
  char name[40];
  snprintf(name, sizeof name, "Set%s", type.word);
  if (f->d->version == 2)
    return CALL(f, name, (void*, const uint32_t*, size_t, const void*), f->instance, &reference, 1,
                &put);
  return CALL(f, name, (void*, const uint32_t*, size_t, const void*, size_t), f->instance,
              &reference, 1, &put, 1);
}

static bool is_double(const Foreign* f, const FmuItem* item) {
  return item->type == FMU_REAL && !item->array &&
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

static bool get_other(Foreign* f, const FmuItem* item, double* value) {
  *value = (double)NAN;
  if (item->array || item->type == FMU_STRING || item->type == FMU_OTHER) return true;
  if (item->type != FMU_REAL) return get_whole(f, item, value);
  float small = 0.0f;
  uint32_t reference = item->reference;
  bool good = CALL(f, "GetFloat32", (void*, const uint32_t*, size_t, float*, size_t), f->instance,
                   &reference, 1, &small, 1);
  *value = (double)small;
  return good;
}

bool foreign_get(Foreign* f, const FmuItem* const* items, uint32_t count, double* values) {
  for (uint32_t i = 0; i < count;) {
    // neighbours of the usual type are one call
    uint32_t references[AT_ONCE];
    uint32_t n = 0;
    for (; n < AT_ONCE && i + n < count && is_double(f, items[i + n]); n++)
      references[n] = items[i + n]->reference;
    if (!(n ? get_doubles(f, references, n, values + i) : get_other(f, items[i], values + i)))
      return false;
    i += n ? n : 1;
  }
  return true;
}

bool foreign_set(Foreign* f, const FmuItem* item, double value) {
  bool two = f->d->version == 2;
  uint32_t reference = item->reference;
  if (item->array || item->type == FMU_STRING || item->type == FMU_OTHER) {
    return fail(f, "%s is no single number and cannot be set here", item->name);
  }
  if (item->type == FMU_REAL && two) {
    return CALL(f, "SetReal", (void*, const uint32_t*, size_t, const double*), f->instance,
                &reference, 1, &value);
  }
  if (item->type == FMU_REAL && strcmp(item->native, "Float64") == 0) {
    return CALL(f, "SetFloat64", (void*, const uint32_t*, size_t, const double*, size_t),
                f->instance, &reference, 1, &value, 1);
  }
  if (item->type == FMU_REAL) {
    float small = (float)value;
    return CALL(f, "SetFloat32", (void*, const uint32_t*, size_t, const float*, size_t),
                f->instance, &reference, 1, &small, 1);
  }
  return set_whole(f, item, value);
}

// ---- model exchange -----------------------------------------------------------------------------

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

bool foreign_direction(Foreign* f, const FmuItem* by, const FmuItem* const* outputs,
                       uint32_t output_count, double* out) {
  uint32_t known = by->reference;
  uint32_t unknown = 0;
  double one = 1.0;
  for (uint32_t i = 0; i < f->states + output_count; i++) {
    bool rate = i < f->states;
    uint32_t place = rate ? f->d->unknowns[i] : 0;
    unknown = !rate                ? outputs[i - f->states]->reference
              : f->d->version == 2 ? f->d->items[place - 1].reference
                                   : place;
    out[i] = 0.0;
    if (!rate && outputs[i - f->states]->type != FMU_REAL) continue;
    bool good = f->d->version == 2 ? CALL(f, "GetDirectionalDerivative",
                                          (void*, const uint32_t*, size_t, const uint32_t*, size_t,
                                           const double*, double*),
                                          f->instance, &unknown, 1, &known, 1, &one, &out[i])
                                   : CALL(f, "GetDirectionalDerivative",
                                          (void*, const uint32_t*, size_t, const uint32_t*, size_t,
                                           const double*, size_t, double*, size_t),
                                          f->instance, &unknown, 1, &known, 1, &one, 1, &out[i], 1);
    if (!good) return false;
  }
  return true;
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
    if (!CALL(f, "CompletedIntegratorStep", (void*, int, int*, int*), f->instance, 1, &wants,
              &terminate)) {
      return FOREIGN_FAILED;
    }
    *event = wants != 0;
    end = terminate != 0;
  } else if (!CALL(f, "CompletedIntegratorStep", (void*, bool, bool*, bool*), f->instance, true,
                   event, &end)) {
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

ForeignStatus foreign_step(Foreign* f, double t, double h, double* reached, bool* event) {
  *event = false;
  *reached = t + h;
  void* step = find(f, "DoStep");
  if (!step) return FOREIGN_FAILED;
  if (f->d->version == 2) {
    Status status =
        ((Status(*)(void*, double, double, int))(uintptr_t)step)(f->instance, t, h, !f->returns);
    int terminated = 0;
    if (status == 2 &&
        CALL(f, "GetBooleanStatus", (void*, int, int*), f->instance, 3, &terminated) &&
        terminated) {
      return FOREIGN_ENDED;
    }
    return call_status(f, "DoStep", status) ? FOREIGN_OK : FOREIGN_FAILED;
  }
  bool end = false;
  bool early = false;
  double last = t + h;
  Status status = ((Status(*)(void*, double, double, bool, bool*, bool*, bool*, double*))(
      uintptr_t)step)(f->instance, t, h, !f->returns, event, &end, &early, &last);
  if (!call_status(f, "DoStep", status)) return FOREIGN_FAILED;
  if (early) *reached = last;
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
