// SPDX-License-Identifier: MIT
//
// Text to model. The one place where running out of memory lands: everything a compilation takes
// is in arenas, so leaving from anywhere inside frees it all.
#define _POSIX_C_SOURCE 200809L
#include "api/compiled.h"
#include "lisma/lisma.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CHECKED_MODES 256  // beside the first one, where somebody asks for it

SltCompileOptions slt_compile_options(void) {
  return (SltCompileOptions){.cookie = COMPILE_OPTIONS_COOKIE};
}

// ---- diagnostics out ----------------------------------------------------------------------------

static void send_diagnostic(const SltCompileOptions* options, const Source* source, Arena* arena,
                            const Diag* diag) {
  uint32_t line = 1;
  uint32_t column = 1;
  Span span = source_shown(source, diag->span);
  source_place(source, span.begin, &line, &column);
  SltDiagnostic out = {.code = diag_code_text(diag->code),
                       .severity = diag_code_severity(diag->code),
                       .file = source_name(source, span.begin).data,
                       .line = line,
                       .column = column,
                       .begin = span.begin,
                       .end = span.end,
                       .message = diag->message.data,
                       .hint = diag->hint.length ? diag->hint.data : NULL,
                       .rendered = diag_render(arena, source, diag, options->colour).data};
  options->on_diagnostic(options->user, &out);
}

void compile_send(const SltCompileOptions* options, DiagList* list, Arena* arena) {
  if (!options->on_diagnostic) return;
  diag_sort(list);
  for (uint32_t i = 0; i < list->items.count; i++) {
    send_diagnostic(options, list->source, arena, &list->items.data[i]);
  }
}

// ---- compilation --------------------------------------------------------------------------------

/// Everything one compilation needs; the scratch arena dies with it.
typedef struct Job {
  CompiledModel* model;
  const SltCompileOptions* options;
  Arena scratch;
  DiagList diags;
  bool rules, folder;  // the text is a document of tables; the name is a folder of them
} Job;

/// Copy into the arena and free the original, also when the arena finds no memory.
static Str take_over(Arena* arena, const SltAllocator* allocator, char* data, size_t length) {
  jmp_buf* outer = arena->on_oom;
  jmp_buf inner;
  Str given = {data, (uint32_t)length};
  arena->on_oom = &inner;
  if (setjmp(inner)) {
    arena->on_oom = outer;
    base_free(allocator, data, length);
    longjmp(*outer, 1);
  }
  Str copy = str_copy(arena, given);
  arena->on_oom = outer;
  base_free(allocator, data, length);
  return copy;
}

SltStatus compile_load(void* user, Str name, Arena* arena, Str* content) {
  const CompileLoader* loader = user;
  const SltCompileOptions* options = loader->options;
  if (!options->load) return SLT_ERR_UNSUPPORTED;
  char* data = NULL;
  size_t length = 0;
  SltAllocator foreign = base_foreign_allocator(loader->allocator);
  const SltAllocator* allocator = &foreign;
  Str terminated = str_copy(arena, name);
  SltStatus status = options->load(options->load_user, terminated.data, allocator, &data, &length);
  // no memory is no fault of the file
  if (status == SLT_ERR_NOMEM) longjmp(*arena->on_oom, 1);
  if (status < 0) return status;
  if (length > UINT32_MAX - 1) {
    base_free(allocator, data, length);
    return SLT_ERR_IO;
  }
  *content = take_over(arena, allocator, data, length);
  return SLT_OK;
}

Str compile_place(void* user, Arena* arena) {
  const SltCompileOptions* options = ((const CompileLoader*)user)->options;
  const char* place = options->place ? options->place(options->load_user) : NULL;
  return place ? str_copy(arena, str_from_c(place)) : (Str){0};
}

static SltStatus append_text(void* user, const char* data, size_t length) {
  TextBuffer* text = user;
  if (length > UINT32_MAX / 2 - text->length) return SLT_ERR_LIMIT;
  text_append(text, (Str){data, (uint32_t)length});
  return SLT_OK;
}

/// A file beside the model.
static Str foreign_path(Arena* arena, Str model, Str name) {
  uint32_t folder = name.length && name.data[0] == '/' ? 0 : model.length;
  while (folder && model.data[folder - 1] != '/')
    folder--;
  return str_format(arena, "%.*s%.*s", (int)folder, model.data, STR_ARGS(name));
}

static bool describe_foreign(void* user, Str name, Arena* arena, Str* text, Str* problem) {
  const CompileLoader* loader = user;
  const SltForeign* foreign = loader->options->foreign;
  char why[600] = "";
  if (!foreign || !foreign->describe) return false;
  TextBuffer buffer = {.arena = arena};
  SltWriter writer = {append_text, &buffer};
  Str path = foreign_path(arena, loader->model, name);
  SltStatus status = foreign->describe(foreign->user, str_copy(arena, name).data, path.data, writer,
                                       why, sizeof why);
  *text = text_str(&buffer);
  if (status < 0) *problem = str_copy(arena, str_from_c(why[0] ? why : slt_status_text(status)));
  return status >= 0;
}

/// `row[2].k` is `row.k` where the elements of an array share a parameter.
static Str without_indices(Arena* arena, Str name) {
  TextBuffer text = {.arena = arena};
  uint32_t depth = 0;
  for (uint32_t i = 0; i < name.length; i++) {
    if (name.data[i] == '[') depth++;
    if (depth == 0) text_append_char(&text, name.data[i]);
    if (name.data[i] == ']' && depth) depth--;
  }
  return text_str(&text);
}

/// `k[2]` is k2.
static bool is_spelling(Str wanted, Str name) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < wanted.length; i++) {
    if (at < name.length && wanted.data[i] == name.data[at]) {
      at++;
    } else if (wanted.data[i] != '[' && wanted.data[i] != ']') {
      return false;
    }
  }
  return at == name.length;
}

SltStatus compile_report_unknown(DiagList* diags, const LismaOverride* overrides, uint32_t count,
                                 const bool* applied, CompileNameFn* name_of, const void* names) {
  SltStatus status = SLT_OK;
  for (uint32_t i = 0; i < count; i++) {
    if (applied[i]) continue;
    Str wanted = overrides[i].name;
    Diag* diag = diag_add(diags, DIAG_E0290, (Span){0, 0},
                          "the model has no constant '%.*s' to set", STR_ARGS(wanted));
    uint32_t best = wanted.length < 3 ? wanted.length : 3;  // of x nothing may be changed
    Str nearest = {NULL, 0};
    Str name = {NULL, 0};
    bool variable = false;
    bool meant = false;  // a variable, by its own name
    Str shared = without_indices(diags->arena, wanted);
    for (uint32_t k = 0; !meant && name_of(names, k, &name, &variable); k++) {
      meant = variable && name.length && is_spelling(wanted, name);
      if (variable) continue;
      uint32_t distance = name.length ? str_distance(name, wanted, best) : best;
      if (str_equal(name, shared)) distance = 0;
      if (distance >= best) continue;
      best = distance;
      nearest = name;
    }
    if (meant) {
      diag_hint(diags, diag, "'%.*s' is a variable: its initial value is set by %.*s(t0)=...",
                STR_ARGS(name), STR_ARGS(wanted));
    } else if (nearest.data) {
      diag_hint(diags, diag, "did you mean '%.*s'?", STR_ARGS(nearest));
    } else {
      diag_hint(diags, diag, "constants can be set from outside, and initial values: x(t0)=1");
    }
    status = SLT_ERR_NOT_FOUND;
  }
  return status;
}

static bool settable_name(const void* names, uint32_t index, Str* out, bool* variable) {
  const IrModel* ir = names;
  uint32_t constants = ir->params.count;
  *variable = index >= constants;
  if (*variable && index - constants >= ir->vars.count) return false;
  const IrVar* var = *variable ? &ir->vars.data[index - constants] : NULL;
  const IrParam* param = var ? NULL : &ir->params.data[index];
  bool hidden = var ? var->hidden : param->hidden;
  *out = hidden ? (Str){NULL, 0} : names_get(&ir->names, var ? var->name : param->name);
  return true;
}

/// Rule tables to IR.
static bool compile_rules(Job* job, Str text, const LismaOptions* lisma) {
  CompiledModel* model = job->model;
  RulesOptions options = {.overrides = lisma->overrides,
                          .override_count = lisma->override_count,
                          .applied = lisma->applied,
                          .load_file = lisma->load_file,
                          .user = lisma->user,
                          .observe = lisma->observe,
                          .observe_count = lisma->observe_count};
  model->rules = ARENA_NEW(&model->arena, RulesModel);
  return rules_read(model->rules, &model->arena, &model->source, model->source.name, text,
                    job->folder, &options, &job->diags) &&
         rules_lower(model->rules, &model->ir, &model->arena, &model->source, &options,
                     &job->diags);
}

static SltStatus compile_text(Job* job, Str text) {
  CompiledModel* model = job->model;
  const SltCompileOptions* given = job->options;
  LismaOverride* overrides = ARENA_ARRAY(&job->scratch, LismaOverride, given->override_count + 1);
  for (uint32_t i = 0; i < given->override_count; i++) {
    overrides[i] = (LismaOverride){str_from_c(given->overrides[i].name), given->overrides[i].value};
  }
  Str* observe = ARENA_ARRAY(&job->scratch, Str, given->observe_count + 1);
  for (uint32_t i = 0; i < given->observe_count; i++)
    observe[i] = str_from_c(given->observe[i]);
  CompileLoader loader = {
      .options = given, .allocator = &model->allocator, .model = model->source.name};
  LismaOptions options = {.overrides = overrides,
                          .override_count = given->override_count,
                          .applied = ARENA_ARRAY(&job->scratch, bool, given->override_count + 1),
                          .load_file = compile_load,
                          .place_file = compile_place,
                          .describe_foreign = describe_foreign,
                          .user = &loader,
                          .observe = observe,
                          .observe_count = given->observe_count};
  bool good = job->rules ? compile_rules(job, text, &options)
                         : lisma_include(&model->source, &model->arena, &options, &job->diags) &&
                               lisma_compile(&model->ir, &model->arena, &model->source, &options,
                                             &job->diags);
  if (!good) {
    // words that cannot be read come before a meaning that cannot be made
    for (uint32_t i = 0; i < job->diags.items.count; i++) {
      const char* code = diag_code_text(job->diags.items.data[i].code);
      if (code[0] == 'E' && code[2] == '1') return SLT_ERR_SYNTAX;
    }
    return SLT_ERR_SEMANTIC;
  }
  SLT_TRY(compile_report_unknown(&job->diags, overrides, options.override_count, options.applied,
                                 settable_name, &model->ir));
  SLT_TRY(model_build_create(&model->allocator, &model->ir, &model->build));
  uint32_t others = given->structure ? CHECKED_MODES : 0;
  model->unchecked_modes = model_build_check(model->build, others, &job->diags);
  return job->diags.error_count ? SLT_ERR_SEMANTIC : SLT_OK;
}

static void destroy_compiled(SltModel* base) {
  CompiledModel* model = (CompiledModel*)base;
  SltAllocator allocator = model->allocator;
  native_tier_free(model->native);
  model_build_free(model->build);
  arena_free(&model->arena);
  base_free(&allocator, model, sizeof *model);
}

static void copy_experiment(CompiledModel* model) {
  const ModelExperiment* e = &model->base.model->experiment;
  model->out_names = ARENA_ARRAY(&model->arena, const char*, e->out_count + 1);
  for (uint32_t i = 0; i < e->out_count; i++) {
    model->out_names[i] = str_copy(&model->arena, e->out[i]).data;
  }
  model->plot = ARENA_ARRAY(&model->arena, SltExperimentSetting, e->plot_count + 1);
  for (uint32_t i = 0; i < e->plot_count; i++) {
    model->plot[i] = (SltExperimentSetting){e->plot[i].name.data, e->plot[i].text.data};
  }
}

/// The part that may leave through the arenas' exit.
static SltStatus compile_inside(Job* job, const char* name, const char* text, size_t length) {
  CompiledModel* model = job->model;
  Str copy = str_copy(&model->arena, (Str){text, (uint32_t)length});
  source_init(&model->source, &model->arena, str_copy(&model->arena, str_from_c(name)), copy);
  diag_init(&job->diags, &job->scratch, &model->source);
  SltStatus status = compile_text(job, copy);
  compile_send(job->options, &job->diags, &job->scratch);
  if (status < 0) return status;
  model->base.model = model_build_model(model->build);
  model->base.provider = model_build_provider(model->build);
  if (job->options->foreign) model->base.foreign = *job->options->foreign;
  model->base.folder = foreign_path(&model->arena, model->source.name, STR_LIT("")).data;
  copy_experiment(model);
  return status;
}

static SltStatus too_long(const SltCompileOptions* options, const char* name) {
  if (options->on_diagnostic) {
    SltDiagnostic d = {.code = diag_code_text(DIAG_E0704),
                       .severity = SLT_ERROR,
                       .file = name,
                       .line = 1,
                       .column = 1,
                       .message = "the text of the model is too long",
                       .rendered = "error[E0704]: the text of the model is too long\n"};
    options->on_diagnostic(options->user, &d);
  }
  return SLT_ERR_SYNTAX;
}

static bool compile_is_rules(const char* name) {
  static const char ending[] = ".rules.md";
  size_t length = strlen(name);
  size_t tail = sizeof ending - 1;
  return length >= tail && memcmp(name + length - tail, ending, tail) == 0;
}

static SltStatus compile(const char* name, const char* text, size_t length, bool folder,
                         const SltCompileOptions* options, SltModel** out) {
  SltCompileOptions defaults = slt_compile_options();
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!options) options = &defaults;
  if (!name || (!text && length > 0) || options->cookie != COMPILE_OPTIONS_COOKIE) {
    return SLT_ERR_ARGUMENT;
  }
  for (uint32_t i = 0; i < options->override_count; i++) {
    if (!options->overrides || !options->overrides[i].name) return SLT_ERR_ARGUMENT;
  }
  if (length > SOURCE_BYTES_MAX) return too_long(options, name);
  SltAllocator allocator = base_allocator(&options->allocator);
  CompiledModel* model = base_alloc(&allocator, sizeof *model);
  if (!model) return SLT_ERR_NOMEM;
  model->allocator = allocator;
  model->base.destroy = destroy_compiled;
  Job job = {.model = model, .options = options, .folder = folder};
  job.rules = folder || compile_is_rules(name);
  jmp_buf oom;
  volatile SltStatus status = SLT_ERR_NOMEM;
  arena_init(&model->arena, &allocator, &oom);
  arena_init(&job.scratch, &allocator, &oom);
  if (setjmp(oom) == 0) status = compile_inside(&job, name, text ? text : "", length);
  arena_free(&job.scratch);
  if (status < 0) {
    destroy_compiled(&model->base);
    return status;
  }
  *out = &model->base;
  return status;
}

/// The part of slt_format that may leave through the arena's exit.
static SltStatus format_inside(Arena* arena, const char* name, Str text,
                               const SltCompileOptions* options, SltWriter writer) {
  Source source;
  DiagList diags;
  source_init(&source, arena, str_copy(arena, str_from_c(name)), str_copy(arena, text));
  diag_init(&diags, arena, &source);
  Str out = {NULL, 0};
  bool good = lisma_format(arena, &source, &diags, &out);
  compile_send(options, &diags, arena);
  return good ? writer.write(writer.user, out.data ? out.data : "", out.length) : SLT_ERR_SYNTAX;
}

static SltStatus format(const char* name, Str text, const SltCompileOptions* options,
                        SltWriter writer) {
  SltAllocator allocator = base_allocator(&options->allocator);
  Arena arena;
  jmp_buf oom;
  volatile SltStatus status = SLT_ERR_NOMEM;
  arena_init(&arena, &allocator, &oom);
  if (setjmp(oom) == 0) status = format_inside(&arena, name, text, options, writer);
  arena_free(&arena);
  return status;
}

SltStatus slt_format(const char* name, const char* text, size_t length,
                     const SltCompileOptions* options, SltWriter writer) {
  SltCompileOptions defaults = slt_compile_options();
  const SltCompileOptions* used = options ? options : &defaults;
  if (!name || (!text && length > 0) || !writer.write || used->cookie != COMPILE_OPTIONS_COOKIE) {
    return SLT_ERR_ARGUMENT;
  }
  if (length > SOURCE_BYTES_MAX) return too_long(used, name);
  return format(name, (Str){text ? text : "", (uint32_t)length}, used, writer);
}

SltStatus slt_model_compile(const char* name, const char* text, size_t length,
                            const SltCompileOptions* options, SltModel** out) {
  return compile(name, text, length, false, options, out);
}

// ---- files --------------------------------------------------------------------------------------

typedef struct Beside {
  const char* path;  // of the model
} Beside;

/// `data` files are looked for beside the model.
static SltStatus compile_load_beside(void* user, const char* name, const SltAllocator* allocator,
                                     char** content, size_t* length) {
  const char* path = ((const Beside*)user)->path;
  const char* slash = strrchr(path, '/');
  size_t folder = name[0] == '/' || !slash ? 0 : (size_t)(slash - path) + 1;
  size_t size = folder + strlen(name) + 1;
  char* full = base_alloc(allocator, size);
  if (!full) return SLT_ERR_NOMEM;
  memcpy(full, path, folder);
  memcpy(full + folder, name, size - folder);
  SltStatus status = slt_file_read(full, false, SOURCE_BYTES_MAX, allocator, content, length);
  base_free(allocator, full, size);
  return status;
}

/// The table that makes a folder a model of rules: its path, or NULL where it is none.
static char* compile_rules_folder(const char* path, const SltAllocator* allocator, size_t* size) {
  static const char name[] = "/rules.csv";
  struct stat info;
  *size = strlen(path) + sizeof name;
  char* table = base_alloc(allocator, *size);
  if (!table) return NULL;
  snprintf(table, *size, "%s%s", path, name);
  if (stat(table, &info) == 0 && S_ISREG(info.st_mode)) return table;
  base_free(allocator, table, *size);
  return NULL;
}

SltStatus compile_from_file(const char* path, const SltCompileOptions* options, CompileTextFn* fn,
                            void* out) {
  SltCompileOptions own = options ? *options : slt_compile_options();
  if (!path || own.cookie != COMPILE_OPTIONS_COOKIE) return SLT_ERR_ARGUMENT;
  SltAllocator allocator = base_allocator(&own.allocator);
  size_t table_size = 0;
  char* table = compile_rules_folder(path, &allocator, &table_size);
  Beside beside = {table ? table : path};
  if (!own.load) {
    own.load = compile_load_beside;
    own.load_user = &beside;
  }
  char* text = NULL;
  size_t length = 0;
  SltAllocator foreign = base_foreign_allocator(&allocator);
  SltStatus status =
      table ? SLT_OK : slt_file_read(path, false, SOURCE_BYTES_MAX, &foreign, &text, &length);
  if (status >= 0) {
    status = fn(path, text, length, table != NULL, &own, out);
  } else if (status != SLT_ERR_NOMEM) {
    status = SLT_ERR_IO;
  }
  if (text) base_free(&foreign, text, length);
  if (table) base_free(&allocator, table, table_size);
  return status;
}

static SltStatus compile_to(const char* name, const char* text, size_t length, bool folder,
                            const SltCompileOptions* options, void* out) {
  return compile(name, text, length, folder, options, out);
}

SltStatus slt_model_compile_file(const char* path, const SltCompileOptions* options,
                                 SltModel** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  return compile_from_file(path, options, compile_to, out);
}

// ---- questions ----------------------------------------------------------------------------------

SltExperiment slt_model_experiment(const SltModel* model) {
  double unset = (double)NAN;
  SltExperiment out = {unset, unset, unset, unset, unset, unset, unset, unset,
                       unset, unset, unset, NULL,  NULL,  0,     NULL,  0};
  if (!model) return out;
  const ModelExperiment* e = &model->model->experiment;
  const CompiledModel* compiled = (const CompiledModel*)model;
  return (SltExperiment){.start = e->start,
                         .end = e->end,
                         .every = e->every,
                         .step = e->step,
                         .h0 = e->h0,
                         .h_min = e->hmin,
                         .h_max = e->hmax,
                         .rtol = e->rtol,
                         .atol = e->atol,
                         .event_eps = e->eventeps,
                         .gamma = e->gamma,
                         .method = e->method.length ? e->method.data : NULL,
                         .out = compiled->out_names,
                         .out_count = e->out_count,
                         .plot = compiled->plot,
                         .plot_count = e->plot_count};
}

uint32_t slt_model_measure_count(const SltModel* model) {
  return model ? model->model->experiment.measure_count : 0;
}

const char* slt_model_measure_name(const SltModel* model, uint32_t measure) {
  if (measure >= slt_model_measure_count(model)) return NULL;
  return model->model->experiment.measures[measure].name.data;
}

const char* slt_model_measure_text(const SltModel* model, uint32_t measure) {
  if (measure >= slt_model_measure_count(model)) return NULL;
  return model->model->experiment.measures[measure].text.data;
}

uint32_t slt_model_shape_count(const SltModel* model) {
  return model ? model->model->experiment.figure_count : 0;
}

SltShape slt_model_shape(const SltModel* model, uint32_t shape) {
  if (shape >= slt_model_shape_count(model))
    return (SltShape){.kind = "", .text = "", .colour = ""};
  const ModelFigure* s = &model->model->experiment.figures[shape];
  return (SltShape){.kind = s->kind.data,
                    .numbers = s->numbers,
                    .number_count = s->number_count,
                    .text = s->text.data,
                    .colour = s->colour.data};
}

uint32_t slt_model_control_count(const SltModel* model) {
  return model ? model->model->experiment.control_count : 0;
}

SltControl slt_model_control(const SltModel* model, uint32_t control) {
  if (control >= slt_model_control_count(model))
    return (SltControl){.name = "", .low = (double)NAN, .high = (double)NAN};
  const ModelControl* c = &model->model->experiment.controls[control];
  return (SltControl){.name = c->name.data,
                      .low = c->low,
                      .high = c->high,
                      .values = c->values,
                      .value_count = c->value_count};
}

uint32_t slt_model_port_quantity_count(const SltModel* model) {
  return model ? model->model->port_count : 0;
}

SltPortQuantity slt_model_port_quantity(const SltModel* model, uint32_t quantity) {
  if (quantity >= slt_model_port_quantity_count(model)) return (SltPortQuantity){"", "", "", "", 0};
  const ModelPortQuantity* q = &model->model->ports[quantity];
  return (SltPortQuantity){.port = q->port.data,
                           .name = q->name.data,
                           .variable = q->variable.data,
                           .given = q->given.data,
                           .through = q->through};
}

double slt_model_unchecked_modes(const SltModel* model) {
  const CompiledModel* compiled = (const CompiledModel*)model;
  return model && model->destroy == destroy_compiled ? compiled->unchecked_modes : 0.0;
}
