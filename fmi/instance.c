// SPDX-License-Identifier: MIT
#include "instance.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (256u << 20)

bool instance_fail(Instance* instance, const char* format, ...) {
  char text[3000];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (instance->log) instance->log(instance->log_user, true, text);
  return false;
}

// ---- life ---------------------------------------------------------------------------------------

static void on_diagnostic(void* user, const SltDiagnostic* diagnostic) {
  Instance* instance = user;
  if (diagnostic->severity == SLT_ERROR) instance_fail(instance, "%s", diagnostic->rendered);
}

/// "resources/saltus.txt": the name of the model's file, then a line `NAME=VALUE` for each constant
/// that was set when the model was exported.
typedef struct Manifest {
  char* text;
  const char* model;
  SltOverride* overrides;
  uint32_t count;
} Manifest;

static void manifest_free(Manifest* manifest) {
  free(manifest->text);
  free(manifest->overrides);
}

static bool manifest_read(Instance* instance, const char* path, Manifest* out) {
  size_t length = 0;
  *out = (Manifest){.text = NULL};
  char* text = NULL;
  if (slt_file_read(path, false, TEXT_MAX, NULL, &text, &length) < 0) {
    return instance_fail(instance, "cannot read %s", path);
  }
  out->text = malloc(length + 1);
  out->overrides = calloc(length + 1, sizeof *out->overrides);
  if (out->text) memcpy(out->text, text, length);
  if (out->text) out->text[length] = '\0';
  free(text);
  if (!out->text || !out->overrides) return instance_fail(instance, "out of memory");
  for (char* line = out->text; *line;) {
    char* end = strchr(line, '\n');
    if (end) *end = '\0';
    char* equals = out->model ? strrchr(line, '=') : NULL;
    if (!out->model) {
      out->model = line;
    } else if (equals) {
      *equals = '\0';
      out->overrides[out->count++] = (SltOverride){line, strtod(equals + 1, NULL)};
    }
    line = end ? end + 1 : line + strlen(line);
  }
  if (!out->model || strchr(out->model, '/')) return instance_fail(instance, "%s is damaged", path);
  return true;
}

static bool read_model(Instance* instance, const char* folder) {
  char path[4200];
  Manifest manifest = {.text = NULL};
  snprintf(path, sizeof path, "%s/saltus.txt", folder);
  bool good = manifest_read(instance, path, &manifest);
  if (good) {
    SltCompileOptions options = slt_compile_options();
    options.overrides = manifest.overrides;
    options.override_count = manifest.count;
    options.on_diagnostic = on_diagnostic;
    options.user = instance;
    snprintf(path, sizeof path, "%s/%s", folder, manifest.model);
    SltStatus status = slt_model_compile_file(path, &options, &instance->model);
    good = status >= 0 ||
           instance_fail(instance, "the model cannot be read: %s", slt_status_text(status));
  }
  manifest_free(&manifest);
  return good;
}

static bool check_token(Instance* instance, const char* folder, const char* token) {
  char path[4200];
  char wanted[33];
  char* text = NULL;
  size_t length = 0;
  snprintf(path, sizeof path, "%s/token", folder);
  if (slt_file_read(path, false, 100, NULL, &text, &length) < 0) {
    return instance_fail(instance, "cannot read %s", path);
  }
  snprintf(wanted, sizeof wanted, "%.*s", (int)(length < 32 ? length : 32), text);
  free(text);
  if (token && strcmp(token, wanted) == 0) return true;
  return instance_fail(instance, "the token '%s' is not that of this FMU, '%s'", token ? token : "",
                       wanted);
}

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool instance_folder(const char* address, char* path, size_t size) {
  if (!address || size == 0) return false;
  bool uri = strncmp(address, "file:", 5) == 0;
  if (uri) address += 5;
  if (uri && address[0] == '/' && address[1] == '/') {  // file:///path, file://localhost/path
    address = strchr(address + 2, '/');
    if (!address) return false;
  }
  size_t used = 0;
  for (; *address && used + 1 < size; address++) {
    int high = uri && *address == '%' ? digit(address[1]) : -1;
    int low = high >= 0 ? digit(address[2]) : -1;
    path[used++] = low >= 0 ? (char)(high * 16 + low) : *address;
    if (low >= 0) address += 2;
  }
  while (used > 1 && path[used - 1] == '/')
    used--;
  path[used] = '\0';
  return *address == '\0' && used > 0;
}

Instance* instance_create(const char* folder, const char* token, InstanceLogFn* log,
                          void* log_user) {
  Instance* instance = calloc(1, sizeof *instance);
  if (!instance) return NULL;
  instance->log = log;
  instance->log_user = log_user;
  instance->start = (double)NAN;
  instance->rtol = (double)NAN;
  char* problem = NULL;
  bool good = check_token(instance, folder, token) && read_model(instance, folder);
  if (good && !fmu_variables_init(&instance->variables, instance->model, &problem)) {
    good = instance_fail(instance, "%s", problem ? problem : "out of memory");
  }
  free(problem);
  uint32_t count = instance->variables.count;
  instance->given = calloc(count + 1u, sizeof *instance->given);
  instance->has_given = calloc(count + 1u, sizeof *instance->has_given);
  instance->x = calloc(instance->variables.state_count + 1u, sizeof *instance->x);
  instance->z = calloc(instance->variables.indicator_count + 1u, sizeof *instance->z);
  if (good && instance->given && instance->has_given && instance->x && instance->z) return instance;
  instance_free(instance);
  return NULL;
}

void instance_free(Instance* instance) {
  if (!instance) return;
  slt_sim_free(instance->sim);
  fmu_variables_free(&instance->variables);
  slt_model_free(instance->model);
  free(instance->given);
  free(instance->has_given);
  free(instance->x);
  free(instance->z);
  free(instance);
}

void instance_reset(Instance* instance) {
  slt_sim_free(instance->sim);
  instance->sim = NULL;
  instance->phase = PHASE_CREATED;
  instance->before = false;
  instance->initializing = false;
  instance->moved = false;
  instance->event_mode = false;
  memset(instance->has_given, 0, instance->variables.count * sizeof *instance->has_given);
}

// ---- the start ----------------------------------------------------------------------------------

bool instance_fail_run(Instance* instance) {
  SltRunError error = slt_sim_error(instance->sim);
  instance->phase = PHASE_FAILED;
  bool told = error.status < 0 && error.rendered && error.rendered[0];
  return instance_fail(instance, "%s", told ? error.rendered : slt_status_text(error.status));
}

static bool fail_run(Instance* instance, SltStatus status) {
  if (slt_sim_error(instance->sim).status < 0) return instance_fail_run(instance);
  instance->phase = PHASE_FAILED;
  return instance_fail(instance, "%s", slt_status_text(status));
}

/// Tell a run that has not started what the importer has given. Initial values that read an input
/// read what it was given.
static SltStatus give(Instance* instance, const FmuVariable* v, double value) {
  return v->role == FMU_PARAMETER ? slt_sim_set_constant(instance->sim, v->name, value)
                                  : slt_sim_set_initial(instance->sim, fmu_model_name(v), value);
}

/// A run with the values that were given, not started.
static bool make_sim(Instance* instance) {
  SltSimOptions options = slt_sim_options();
  if (!isnan(instance->start)) options.t_start = instance->start;
  if (!isnan(instance->rtol)) options.rtol = instance->rtol;
  slt_sim_free(instance->sim);
  instance->sim = NULL;
  SltStatus status = slt_sim_create(instance->model, &options, &instance->sim);
  if (status < 0) return instance_fail(instance, "no run: %s", slt_status_text(status));
  for (uint32_t i = 0; i < instance->variables.count; i++) {
    const FmuVariable* v = &instance->variables.items[i];
    if (instance->has_given[i] && give(instance, v, instance->given[i]) < 0)
      return instance_fail(instance, "%s cannot be %.17g", v->name, instance->given[i]);
  }
  return true;
}

/// Finish what was set at this time: guards that hold now fire now.
static bool settle(Instance* instance) {
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT)
    status = slt_sim_advance(instance->sim, slt_sim_time(instance->sim), NULL);
  if (status == SLT_END) instance->phase = PHASE_STOPPED;
  return status >= 0 || fail_run(instance, status);
}

bool instance_start(Instance* instance) {
  if (!make_sim(instance)) return false;
  SltStatus status = slt_sim_start(instance->sim);
  if (status < 0) return fail_run(instance, status);
  instance->phase = status == SLT_END ? PHASE_STOPPED : PHASE_RUNNING;
  return !instance->exchange || instance_exchange_begin(instance);
}

// ---- values -------------------------------------------------------------------------------------

static const FmuVariable* variable_at(Instance* instance, uint32_t reference) {
  if (reference < instance->variables.count) return &instance->variables.items[reference];
  instance_fail(instance, "there is no variable with value reference %u", reference);
  return NULL;
}

/// `known`: the indicators were computed since anything has changed.
static bool indicator_value(Instance* instance, uint32_t reference, bool* known, double* value) {
  const FmuVariables* variables = &instance->variables;
  *value = 0.0;
  if (!instance->exchange) return true;
  *known = *known ||
           slt_sim_exchange_indicators(instance->sim, instance->z, variables->indicator_count) >= 0;
  if (*known) *value = instance->z[reference - variables->indicator];
  return *known || instance_fail(instance, "there are no event indicators here");
}

/// The continuous state that a hidden one or a derivative is about.
static SltQuantity instance_state(const Instance* instance, const FmuVariable* v) {
  return v->role == FMU_RATE ? instance->variables.items[v->rate_of].quantity : v->quantity;
}

static bool get_one(Instance* instance, uint32_t reference, bool* known, double* value) {
  const FmuVariable* v = variable_at(instance, reference);
  if (!v) return false;
  if (!instance->sim && instance->initializing && !instance_start(instance)) return false;
  if (!instance->sim) {  // nothing is computed yet
    *value = instance->has_given[reference] ? instance->given[reference] : v->start;
    if (v->role == FMU_TIME) *value = isnan(instance->start) ? 0.0 : instance->start;
    if (v->role == FMU_STATE) *value += 1.0;
    return true;
  }
  if (instance->moved && !instance_move(instance)) return false;
  if (v->role == FMU_INDICATOR) return indicator_value(instance, reference, known, value);
  // what stands for a state that the mode computes is at rest
  SltQuantity state = instance_state(instance, v);
  bool rests = (v->role == FMU_HIDDEN || v->role == FMU_RATE) &&
               (instance->before ? slt_sim_exchange_computed(instance->sim, state)
                                 : slt_sim_exchange_computes(instance->sim, state));
  if (v->role == FMU_TIME) {
    *value = slt_sim_time(instance->sim);
  } else if (rests) {
    *value = 0.0;
  } else if (instance->before) {
    *value = slt_sim_get_before(instance->sim, v->quantity);
  } else {
    *value = slt_sim_get(instance->sim, v->quantity);
  }
  if (v->role == FMU_STATE) *value += 1.0;
  return true;
}

bool instance_get(Instance* instance, const uint32_t* references, size_t count, double* values) {
  bool known = false;
  for (size_t i = 0; i < count; i++) {
    if (!get_one(instance, references[i], &known, &values[i])) return false;
  }
  return true;
}

bool instance_set(Instance* instance, uint32_t reference, double value) {
  const FmuVariable* v = variable_at(instance, reference);
  if (!v) return false;
  bool early = instance->phase == PHASE_CREATED || instance->initializing;
  if (v->initial != FMU_CALCULATED && !early) {
    return instance_fail(instance, "the initial value of %s is fixed after initialization",
                         v->name);
  }
  if (v->role != FMU_INPUT && v->role != FMU_PARAMETER && v->initial == FMU_CALCULATED) {
    return instance_fail(instance, "%s is neither an input nor a parameter%s", v->name,
                         v->role == FMU_FOLLOWING ? ": other constants determine it" : "");
  }
  if (!isfinite(value)) return instance_fail(instance, "%s must be finite", v->name);
  if (v->role == FMU_PARAMETER && !early && !v->tunable) {
    return instance_fail(instance, "the parameter %s is fixed after initialization", v->name);
  }
  instance->given[reference] = value;
  instance->has_given[reference] = true;
  if (early) {  // what was computed with other values is computed again
    slt_sim_free(instance->sim);
    instance->sim = NULL;
    return true;
  }
  if (instance->phase != PHASE_RUNNING) return instance->phase == PHASE_STOPPED;
  if (instance->moved && !instance_move(instance)) return false;
  if (v->role == FMU_INPUT && instance->exchange && !instance->event_mode) {
    return slt_sim_exchange_input(instance->sim, v->quantity, value) >= 0 ||
           instance_fail(instance, "%s cannot be %.17g here", v->name, value);
  }
  SltStatus status = v->role == FMU_INPUT ? slt_sim_set(instance->sim, v->quantity, value)
                                          : slt_sim_set_constant(instance->sim, v->name, value);
  return status >= 0 || instance_fail(instance, "%s cannot be %.17g here", v->name, value);
}

// ---- time ---------------------------------------------------------------------------------------

bool instance_step(Instance* instance, double from, double target, bool early, InstanceStep* out) {
  *out = (InstanceStep){.reached = (double)NAN};
  if (instance->phase == PHASE_FAILED || instance->phase == PHASE_TERMINATED || !instance->sim) {
    return instance_fail(instance, "the run cannot go on");
  }
  instance->before = false;
  SltStatus status = instance->phase == PHASE_STOPPED ? SLT_END : SLT_OK;
  double now = slt_sim_time(instance->sim);
  // times of importers are sums of steps: they differ from the time here by rounding
  double rounding = 1e-9 * fmax(fabs(now), fabs(target));
  bool meets = fabs(from - now) <= rounding + 1e-6 * (target - from);
  if ((!meets || target < now - rounding) && instance->phase != PHASE_STOPPED) {
    return instance_fail(instance, "a step from %.17g to %.17g: it is %.17g", from, target, now);
  }
  target = fmax(target, now);
  while (status == SLT_OK || status == SLT_EVENT) {
    status = slt_sim_advance(instance->sim, target, NULL);
    if (status == SLT_OK || (status == SLT_EVENT && early)) break;
  }
  out->reached = slt_sim_time(instance->sim);
  if (status < 0) return fail_run(instance, status);
  out->stopped = status == SLT_END;
  if (out->stopped) instance->phase = PHASE_STOPPED;
  out->event = status == SLT_EVENT;
  instance->before = out->event;
  return true;
}

bool instance_update(Instance* instance) {
  instance->before = false;
  if (instance->phase != PHASE_RUNNING) return instance->phase == PHASE_STOPPED;
  return settle(instance);
}

// ---- state --------------------------------------------------------------------------------------

typedef struct SavedHead {
  uint32_t magic, count;
  uint32_t phase;
  uint8_t initializing, before, started, exchange;
  double start, rtol;
  uint64_t event_mode;
  uint64_t size;  // of the checkpoint
  char sum[32];   // of all that follows; tells damage
} SavedHead;

#define SAVED_MAGIC 0x53464d55u

static void sum_of(const char* bytes, size_t size, char sum[33]) {
  size_t head = sizeof(SavedHead);
  fmu_token(bytes + head, size - head, SAVED_MAGIC, sum);
}

static void seal(char* bytes, size_t size) {
  char sum[33];
  sum_of(bytes, size, sum);
  memcpy(bytes + offsetof(SavedHead, sum), sum, 32);
}

bool instance_save(Instance* instance, char** bytes, size_t* size) {
  uint32_t count = instance->variables.count;
  bool started = instance->sim != NULL;
  if (instance->moved && !instance_move(instance)) return false;
  size_t inner = started ? slt_sim_checkpoint_size(instance->sim, 0) : 0;
  *size = sizeof(SavedHead) + count * (sizeof(double) + 1u) + inner;
  *bytes = malloc(*size);
  if (!*bytes) return instance_fail(instance, "out of memory");
  SavedHead head = {.magic = SAVED_MAGIC,
                    .count = count,
                    .phase = (uint32_t)instance->phase,
                    .initializing = instance->initializing,
                    .before = instance->before,
                    .started = started,
                    .exchange = instance->exchange,
                    .event_mode = instance->event_mode,
                    .start = instance->start,
                    .rtol = instance->rtol,
                    .size = inner};
  char* at = *bytes;
  memcpy(at, &head, sizeof head);
  at += sizeof head;
  memcpy(at, instance->given, count * sizeof(double));
  at += count * sizeof(double);
  for (uint32_t i = 0; i < count; i++)
    *at++ = (char)instance->has_given[i];
  if (!started || slt_sim_checkpoint_save(instance->sim, NULL, NULL, 0, at, inner) >= 0) {
    seal(*bytes, *size);
    return true;
  }
  free(*bytes);
  *bytes = NULL;
  return instance_fail(instance, "the state cannot be saved");
}

bool instance_restore(Instance* instance, const char* bytes, size_t size) {
  uint32_t count = instance->variables.count;
  SavedHead head;
  size_t fixed = sizeof head + count * (sizeof(double) + 1u);
  if (size < fixed) return instance_fail(instance, "the saved state is damaged");
  memcpy(&head, bytes, sizeof head);
  char sum[33];
  sum_of(bytes, size, sum);
  if (memcmp(sum, head.sum, 32) != 0) return instance_fail(instance, "the saved state is damaged");
  if (head.magic != SAVED_MAGIC || head.count != count || head.size != size - fixed ||
      head.exchange != instance->exchange || head.phase > PHASE_TERMINATED) {
    return instance_fail(instance, "the saved state is not one of this model");
  }
  const char* at = bytes + sizeof head;
  memcpy(instance->given, at, count * sizeof(double));
  at += count * sizeof(double);
  for (uint32_t i = 0; i < count; i++)
    instance->has_given[i] = *at++ != 0;
  instance->start = head.start;
  instance->rtol = head.rtol;
  instance->initializing = head.initializing;
  instance->before = head.before;
  instance->event_mode = head.event_mode != 0;
  slt_sim_free(instance->sim);
  instance->sim = NULL;
  instance->moved = false;
  instance->phase = (InstancePhase)head.phase;
  if (!head.started) return true;
  const char* why = NULL;
  if (!make_sim(instance)) return false;
  if (slt_sim_checkpoint_restore(instance->sim, NULL, at, (size_t)head.size, NULL, 0, &why) >= 0) {
    return !instance->exchange || instance_exchange_begin(instance);
  }
  instance->phase = PHASE_FAILED;
  return instance_fail(instance, "the saved state does not fit: %s", why ? why : "damaged");
}

// ---- handles of states --------------------------------------------------------------------------

typedef struct SavedState {
  char* bytes;
  size_t size;
} SavedState;

void instance_state_free(void** state) {
  SavedState* saved = *state;
  if (saved) free(saved->bytes);
  free(saved);
  *state = NULL;
}

bool instance_state_get(Instance* instance, void** state) {
  char* bytes = NULL;
  size_t size = 0;
  if (!instance_save(instance, &bytes, &size)) return false;
  SavedState* saved = *state ? *state : calloc(1, sizeof *saved);
  if (!saved) {
    free(bytes);
    return false;
  }
  free(saved->bytes);
  *saved = (SavedState){bytes, size};
  *state = saved;
  return true;
}

bool instance_state_set(Instance* instance, const void* state) {
  const SavedState* saved = state;
  return instance_restore(instance, saved->bytes, saved->size);
}

size_t instance_state_size(const void* state) {
  return ((const SavedState*)state)->size;
}

bool instance_state_write(const void* state, void* bytes, size_t size) {
  const SavedState* saved = state;
  if (size < saved->size) return false;
  memcpy(bytes, saved->bytes, saved->size);
  return true;
}

bool instance_state_read(const void* bytes, size_t size, void** state) {
  SavedState* saved = calloc(1, sizeof *saved);
  char* copy = malloc(size ? size : 1);
  if (!saved || !copy) {
    free(saved);
    free(copy);
    return false;
  }
  memcpy(copy, bytes, size);
  saved->bytes = copy;
  saved->size = size;
  *state = saved;
  return true;
}
