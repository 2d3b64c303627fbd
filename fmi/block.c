// SPDX-License-Identifier: MIT
//
// The host of blocks, and the text that stands for an FMU in a model: a part whose equations look
// their values up in the block. Between events all of them are functions of time, inputs, states
// and the number of the event, which is what stands in the place of the memory of the FMU.
#define _XOPEN_SOURCE 700
#include "block_internal.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEPS           500.0  // communication points of a default experiment
#define NAME_MAX_LENGTH 500
#define WORDS_MAX       ((size_t)20000000)  // of the part's text

struct FmuHost {
  pthread_mutex_t lock;
  FmuFile* files;
  SltForeign foreign;
  double seconds;
  pid_t owner;  // process that has unpacked the files, and removes them
};

// ---- files --------------------------------------------------------------------------------------

/// Whether a model can have the name; those with a colon in front are of the part itself.
static bool is_name(const char* name) {
  size_t length = strlen(name);
  if (length == 0 || length > NAME_MAX_LENGTH || name[0] == ':') return false;
  for (; *name; name++) {
    if (*name == '`' || (unsigned char)*name < 0x20 || *name == 0x7f) return false;
  }
  return true;
}

static bool is_number(const FmuItem* item) {
  bool number = item->type == FMU_REAL || item->type == FMU_INTEGER || item->type == FMU_BOOLEAN;
  return number && !item->array && !item->independent && is_name(item->name);
}

/// Each equation of the part names all that the FMU is asked with.
static bool fits_a_model(const BlockLayout* l) {
  size_t equations = 2 * (size_t)l->state_count + l->indicator_count + l->output_count + 3;
  size_t words = equations * ((size_t)l->parameter_count + l->input_count + l->state_count + 3);
  return block_numbers(l) < BLOCK_CLASS && words < WORDS_MAX;
}

static bool lay_states(const FmuDescription* d, BlockLayout* l, char* problem, size_t size) {
  for (uint32_t i = 0; l->exchange && i < d->state_count; i++) {
    const FmuItem* state = d->states[i];
    if (!state || !is_number(state)) {
      snprintf(problem, size, "its state %u is not among its variables", i + 1);
      return false;
    }
    l->states[l->state_count++] = state;
  }
  return true;
}

/// Whether a start value other than that of the description may be given.
static bool may_start(const FmuItem* item) {
  bool given = strcmp(item->initial, "exact") == 0 || strcmp(item->initial, "approx") == 0;
  return given && !item->parameter && !item->input && !isnan(item->start) &&
         strcmp(item->variability, "constant") != 0;
}

/// Sort the variables into parameters, inputs, and outputs that are no states.
static bool lay_items(const FmuDescription* d, BlockLayout* l) {
  bool* integrated = calloc((size_t)d->count + 1, sizeof *integrated);
  if (!integrated) return false;
  for (uint32_t i = 0; i < l->state_count; i++)
    integrated[l->states[i] - d->items] = true;
  for (uint32_t i = 0; i < d->count; i++) {
    const FmuItem* item = &d->items[i];
    if (!is_number(item)) continue;
    if (item->parameter && !item->shapes && !isnan(item->start))
      l->parameters[l->parameter_count++] = item;
    if (may_start(item)) l->starts[l->start_count++] = item;
    if (item->input) l->inputs[l->input_count++] = item;
    if (item->output && !integrated[i]) l->outputs[l->output_count++] = item;
  }
  free(integrated);
  return true;
}

static bool lay_out(FmuFile* file, char* problem, size_t size) {
  const FmuDescription* d = &file->d;
  BlockLayout* l = &file->layout;
  l->exchange = d->me && !d->me_tool;
  if (!l->exchange && (!d->cs || d->cs_tool)) {
    snprintf(problem, size, "it needs the tool that made it");
    return false;
  }
  size_t room = (size_t)d->count + 1;
  const FmuItem** memory = calloc(4 * room + d->state_count, sizeof *memory);
  l->parameters = memory;
  if (memory) {
    l->inputs = memory + room;
    l->outputs = memory + 2 * room;
    l->starts = memory + 3 * room;
    l->states = memory + 4 * room;
    if (!lay_states(d, l, problem, size)) return false;
  }
  if (!memory || !lay_items(d, l)) {
    snprintf(problem, size, "out of memory");
    return false;
  }
  l->indicator_count = l->exchange ? d->indicators : 0;
  double span = !isnan(d->stop) ? d->stop - (isnan(d->start) ? 0.0 : d->start) : 10.0;
  file->step = !isnan(d->step) && d->step > 0.0 ? d->step : span > 0.0 ? span / STEPS : 0.01;
  if (fits_a_model(l)) return true;
  snprintf(problem, size, "it has too many variables for a block of a model");
  return false;
}

static void free_file(FmuFile* file, bool removes) {
  if (file->folder[0] && removes) fmu_remove(file->folder);
  fmu_description_free(&file->d);
  free((void*)file->layout.parameters);
  free(file->path);
  free(file);
}

static FmuFile* open_file(const char* path, const struct stat* info, char* problem, size_t size) {
  FmuFile* file = calloc(1, sizeof *file);
  if (file) file->path = malloc(strlen(path) + 1);
  if (!file || !file->path) {
    snprintf(problem, size, "out of memory");
    free(file);
    return NULL;
  }
  memcpy(file->path, path, strlen(path) + 1);
  file->changed = (int64_t)info->st_mtime;
  file->size = (int64_t)info->st_size;
  bool unpacked = fmu_unpack(path, file->folder, sizeof file->folder, problem, size);
  if (!unpacked) file->folder[0] = '\0';
  if (unpacked && fmu_describe(file->folder, &file->d, problem, size) &&
      lay_out(file, problem, size)) {
    return file;
  }
  free_file(file, true);
  return NULL;
}

/// The file unpacked; NULL with a problem.
static const FmuFile* find_file(FmuHost* host, const char* path, char* problem, size_t size) {
  struct stat info;
  bool there = stat(path, &info) == 0;
  if (!there || !S_ISREG(info.st_mode)) {
    snprintf(problem, size, "%s", there ? "it is no regular file" : "there is no such file");
    return NULL;
  }
  pthread_mutex_lock(&host->lock);
  FmuFile* file = host->files;
  while (file && (strcmp(file->path, path) != 0 || file->changed != (int64_t)info.st_mtime ||
                  file->size != (int64_t)info.st_size)) {
    file = file->next;
  }
  if (!file) {
    file = open_file(path, &info, problem, size);
    if (file) file->next = host->files;
    if (file) host->files = file;
  }
  pthread_mutex_unlock(&host->lock);
  return file;
}

// ---- the part -----------------------------------------------------------------------------------

typedef struct Text {
  SltWriter writer;
  SltStatus status;
} Text;

__attribute__((format(printf, 2, 3))) static void put(Text* text, const char* format, ...) {
  char line[2048];
  va_list list;
  va_start(list, format);
  int length = vsnprintf(line, sizeof line, format, list);
  va_end(list);
  if (text->status < 0) return;
  if (length < 0 || (size_t)length >= sizeof line) {
    text->status = SLT_ERR_LIMIT;
    return;
  }
  text->status = text->writer.write(text->writer.user, line, (size_t)length);
}

static void put_number(Text* text, double value) {
  char number[SLT_NUMBER_TEXT];
  slt_number_text(value, number);
  put(text, "%s", number);
}

static void put_arguments(Text* text, const FmuItem* const* items, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    put(text, ", `%s`", items[i]->name);
}

static bool is_held(const FmuItem* item) {
  return item->held || item->type != FMU_REAL;
}

/// `part NAME(parameters) { data ...; function ...`
static void put_head(Text* text, const FmuFile* file, const char* name) {
  const BlockLayout* l = &file->layout;
  put(text, "part `%s`(", name);
  for (uint32_t i = 0; i < l->parameter_count; i++) {
    put(text, "%s`%s` = ", i ? ", " : "", l->parameters[i]->name);
    put_number(text, l->parameters[i]->start);
  }
  for (uint32_t i = 0; i < l->start_count; i++) {
    put(text, "%s`%s(t0)` = ", l->parameter_count + i ? ", " : "", l->starts[i]->name);
    put_number(text, l->starts[i]->start);
  }
  if (!l->exchange) {
    put(text, "%s`step` = ", l->parameter_count + l->start_count ? ", " : "");
    put_number(text, file->step);
  }
  put(text, ") {\ndata `:block` = \"%s\", foreign;\n", name);
}

/// A value of the point, or after the event there.
static void put_value(Text* text, const BlockLayout* l, BlockClass kind, uint32_t which) {
  put(text, "table(`:block`, %u, time, `:n`", kind * BLOCK_CLASS + which);
  put_arguments(text, l->parameters, l->parameter_count);
  put_arguments(text, l->inputs, l->input_count);
  put_arguments(text, l->states, l->state_count);
  put(text, l->exchange ? ", `:want`)" : ", `step`)");
}

/// A value of the start, with the inputs that it follows from.
static void put_start(Text* text, const BlockLayout* l, BlockClass kind, uint32_t which,
                      bool inputs) {
  put(text, "table(`:block`, %u, `:n`", kind * BLOCK_CLASS + which);
  if (inputs) put_arguments(text, l->inputs, l->input_count);
  put(text, ");\n");
}

static void put_variables(Text* text, const BlockLayout* l) {
  put(text, "`:n`(t0) = table(`:block`, %u", ITEM_TOLD * BLOCK_CLASS);
  put_arguments(text, l->parameters, l->parameter_count);
  for (uint32_t i = 0; i < l->start_count; i++)
    put(text, ", `%s(t0)`", l->starts[i]->name);
  put(text, ");\n`:want`(t0) = 0;\n`:ended`(t0) = 0;\n`:next`(t0) = ");
  put_start(text, l, ITEM_FIRST, 0, true);
  for (uint32_t i = 0; i < l->input_count; i++) {
    const FmuItem* input = l->inputs[i];
    put(text, "`%s`(t0) ~= ", input->name);
    put_number(text, isnan(input->start) ? 0.0 : input->start);
    // a second one, what the FMU was told last, says that jumps of the first are its events
    put(text, ";\n`:in %s`(t0) = `%s`;\n", input->name, input->name);
  }
  for (uint32_t i = 0; i < l->state_count; i++) {
    const char* name = l->states[i]->name;
    put(text, "`%s`' = ", name);
    put_value(text, l, ITEM_RATE, i);
    put(text, ";\n`%s`(t0) = ", name);
    put_start(text, l, ITEM_START, i, l->states[i]->by_inputs);
  }
  for (uint32_t i = 0; i < l->indicator_count; i++) {
    put(text, "macro `event indicator %u` = ", i + 1);
    put_value(text, l, ITEM_GUARD, i);
    put(text, ";\n");
  }
  for (uint32_t i = 0; i < l->output_count; i++) {
    const char* name = l->outputs[i]->name;
    put(text, "`%s` = ", name);
    if (l->exchange) {
      put_value(text, l, ITEM_OUTPUT, i);
    } else {
      put(text, "table(`:block`, %u, `:n`)", ITEM_OUTPUT * BLOCK_CLASS + i);
    }
    put(text, ";\n");
  }
}

static void put_events(Text* text, const BlockLayout* l) {
  put(text, "automaton `fmu` {\nstate `event` [time >= `:next`] || [`:want` > 0]");
  for (uint32_t i = 0; i < l->input_count; i++) {
    const char* name = l->inputs[i]->name;
    if (l->exchange && is_held(l->inputs[i]))
      put(text, " || [(`%s` - `:in %s`)^2 > 0]", name, name);
  }
  for (uint32_t i = 0; i < l->indicator_count; i++)
    put(text, " || [`event indicator %u` < 0]", i + 1);
  static const char* const kept[] = {":n", ":next", ":ended"};
  put(text, " {\nset `:want` = 0;\n");
  for (uint32_t i = 0; i < 3 + l->state_count; i++) {
    put(text, "set `%s` = ", i < 3 ? kept[i] : l->states[i - 3]->name);
    put_value(text, l, i < 3 ? ITEM_EVENT : ITEM_STATE, i < 3 ? i : i - 3);
    put(text, ";\n");
  }
  for (uint32_t i = 0; i < l->input_count; i++) {
    const char* name = l->inputs[i]->name;
    put(text, "set `:in %s` = `%s`;\n", name, name);
  }
  put(text, "} from init, `event`;\n"
            "state `end` [`:ended` > 0] { stop \"the FMU has ended the simulation\"; } "
            "from init, `event`;\n}\n}\n");
}

static SltStatus describe(void* user, const char* name, const char* path, SltWriter writer,
                          char* problem, size_t size) {
  const FmuFile* file = find_file(user, path, problem, size);
  if (!file) return SLT_ERR_ARGUMENT;
  Text text = {.writer = writer};
  put_head(&text, file, name);
  put_variables(&text, &file->layout);
  put_events(&text, &file->layout);
  if (text.status < 0) snprintf(problem, size, "%s", slt_status_text(text.status));
  return text.status;
}

static SltStatus open_block(void* user, const char* path, double t_start, double rtol, void** block,
                            char* problem, size_t size) {
  FmuHost* host = user;
  const FmuFile* file = find_file(host, path, problem, size);
  if (!file) return SLT_ERR_NOT_FOUND;
  *block = block_create(file, t_start, rtol, host->seconds, problem, size);
  return *block ? SLT_OK : SLT_ERR_UNSUPPORTED;
}

// ---- life ---------------------------------------------------------------------------------------

FmuHost* fmu_host_create(double seconds) {
  FmuHost* host = calloc(1, sizeof *host);
  if (!host) return NULL;
  host->seconds = seconds;
  host->owner = getpid();
  pthread_mutex_init(&host->lock, NULL);
  host->foreign = (SltForeign){.describe = describe,
                               .open = open_block,
                               .value = block_value,
                               .step = block_step,
                               .problem = block_problem,
                               .close = block_close,
                               .user = host};
  return host;
}

const SltForeign* fmu_host_foreign(FmuHost* host) {
  return host ? &host->foreign : NULL;
}

void fmu_host_free(FmuHost* host) {
  if (!host) return;
  while (host->files) {
    FmuFile* file = host->files;
    host->files = file->next;
    free_file(file, host->owner == getpid());
  }
  pthread_mutex_destroy(&host->lock);
  free(host);
}
