// SPDX-License-Identifier: MIT
//
// `saltus export`: a model as an FMU.
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if SALTUS_HAVE_LIBZIP
#include "../fmi/export.h"

typedef enum ExportOption {
  EXPORT_SET,
  EXPORT_OUT,
  EXPORT_FMI,
  EXPORT_KIND,
  EXPORT_SOURCES,
  EXPORT_COUNT
} ExportOption;

static const OptionSpec export_specs[EXPORT_COUNT] = {
    [EXPORT_SET] = {"--set", NULL, OPTION_VALUE},
    [EXPORT_OUT] = {"--output", "-o", OPTION_VALUE},
    [EXPORT_FMI] = {"--fmi", NULL, OPTION_VALUE},
    [EXPORT_KIND] = {"--kind", NULL, OPTION_VALUE},
    [EXPORT_SOURCES] = {"--sources", NULL, OPTION_FLAG},
};

/// The files that a model is made of, as it names them.
typedef struct Files {
  ModelSource* source;
  char** names;
  char** texts;
  size_t* lengths;
  uint32_t count;
  bool outside;  // one has no place in an archive
} Files;

static bool files_add(Files* files, const char* name, const char* text, size_t length) {
  uint32_t count = files->count + 1;
  char** names = realloc(files->names, count * sizeof *names);
  if (names) files->names = names;
  char** texts = realloc(files->texts, count * sizeof *texts);
  if (texts) files->texts = texts;
  size_t* lengths = realloc(files->lengths, count * sizeof *lengths);
  if (lengths) files->lengths = lengths;
  char* name_copy = malloc(strlen(name) + 1);
  char* text_copy = malloc(length + 1);
  if (!names || !texts || !lengths || !name_copy || !text_copy) {
    free(name_copy);
    free(text_copy);
    return false;
  }
  memcpy(name_copy, name, strlen(name) + 1);
  memcpy(text_copy, text, length);
  names[files->count] = name_copy;
  texts[files->count] = text_copy;
  lengths[files->count++] = length;
  return true;
}

static void files_free(Files* files) {
  for (uint32_t i = 0; i < files->count; i++) {
    free(files->names[i]);
    free(files->texts[i]);
  }
  free((void*)files->names);
  free((void*)files->texts);
  free(files->lengths);
}

static SltStatus load_and_keep(void* user, const char* name, const SltAllocator* allocator,
                               char** content, size_t* length) {
  Files* files = user;
  SltStatus status = source_load(files->source, name, allocator, content, length);
  if (status < 0) return status;
  if (name[0] == '/' || strstr(name, "..")) {
    cli_error("the model reads %s, which is outside of its folder and cannot go with it", name);
    files->outside = true;
  }
  for (uint32_t i = 0; i < files->count; i++) {
    if (strcmp(files->names[i], name) == 0) return SLT_OK;
  }
  return files_add(files, name, *content, *length) ? SLT_OK : SLT_ERR_NOMEM;
}

static void print_diagnostic(void* user, const SltDiagnostic* diagnostic) {
  (void)user;
  fputs(diagnostic->rendered, stderr);
}

/// What an FMU carries: beside the program, or where it is installed.
static bool find_part(const char* name, char* out, size_t size) {
  static const char* const places[] = {"", "../lib/saltus/", "../" SALTUS_LIBDIR "/saltus/"};
  char program[4096];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0) return false;
  program[length] = '\0';
  char* slash = strrchr(program, '/');
  if (!slash) return false;
  *slash = '\0';
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    int written = snprintf(out, size, "%s/%s%s", program, places[i], name);
    if (written > 0 && (size_t)written < size && access(out, R_OK) == 0) return true;
  }
  return false;
}

typedef struct ExportArguments {
  const char* path;
  const char* out;
  uint32_t version;
  FmuKind kind;
  bool sources;
  CliSettings settings;
} ExportArguments;

/// Importers know an FMU by its ending.
static bool is_fmu_path(const char* path) {
  const char* ending = strrchr(path_base(path), '.');
  if (!ending || strcmp(ending, ".fmu") == 0) return true;
  cli_error("-o %s: an FMU is a file ending in .fmu", path);
  return false;
}

static int parse(int argc, char** argv, ExportArguments* out) {
  OptionParser parser = {.command = "export",
                         .specs = export_specs,
                         .spec_count = EXPORT_COUNT,
                         .argc = argc,
                         .argv = argv};
  static const char* const versions[] = {"2", "3"};
  static const char* const kinds[] = {"me", "cs", "both"};
  out->version = 3;
  out->kind = FMU_CO_SIMULATION;
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    int choice = 0;
    switch (option) {
    case OPTION_BAD: return CLI_USAGE;
    case OPTION_WORD:
      if (!cli_one_model("export", parser.value, &out->path)) return CLI_USAGE;
      break;
    case EXPORT_SET:
      if (!cli_settings_add(&out->settings, parser.value)) return CLI_USAGE;
      break;
    case EXPORT_OUT:
      out->out = parser.value;
      if (!is_fmu_path(parser.value)) return CLI_USAGE;
      break;
    case EXPORT_SOURCES: out->sources = true; break;
    case EXPORT_FMI:
      choice = option_choice("--fmi", parser.value, versions, 2);
      if (choice < 0) return CLI_USAGE;
      out->version = (uint32_t)choice + 2;
      break;
    case EXPORT_KIND:
      choice = option_choice("--kind", parser.value, kinds, 3);
      if (choice < 0) return CLI_USAGE;
      out->kind = (FmuKind)(choice + 1);
      break;
    default: break;
    }
  }
  if (out->path) return CLI_DONE;
  cli_error("export needs a model");
  cli_hint("saltus export MODEL.lisma -o MODEL.fmu");
  return CLI_USAGE;
}

static int write_fmu(const ExportArguments* arguments, Files* files, const SltModel* model,
                     const char* title, const char* out) {
  char library[4096];
  char sources[4096];
  if (!find_part("saltus_fmu.so", library, sizeof library)) {
    cli_error("the library for FMUs, saltus_fmu.so, is not where this program is");
    return CLI_RUN;
  }
  if (arguments->sources && !find_part("saltus_fmu_sources.zip", sources, sizeof sources)) {
    cli_error("the sources for FMUs, saltus_fmu_sources.zip, are not where this program is");
    return CLI_RUN;
  }
  if (!output_allowed(out) || (!arguments->out && !output_implied(out))) return CLI_USAGE;
  FmuExport export = {.kind = arguments->kind,
                      .version = arguments->version,
                      .name = title,
                      .binary = library,
                      .out = out,
                      .source_archive = arguments->sources ? sources : NULL,
                      .model = model,
                      .file_names = (const char* const*)files->names,
                      .file_texts = (const char* const*)files->texts,
                      .file_lengths = files->lengths,
                      .file_count = files->count,
                      .overrides = arguments->settings.items,
                      .override_count = arguments->settings.count};
  char* problem = NULL;
  // the library of archives writes under a name of its own at first: that file must not stay
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool good = fmu_export(&export, &problem);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!good) cli_error("%s", problem ? problem : "out of memory");
  if (good) output_claim(out);
  free(problem);
  return good ? CLI_DONE : CLI_RUN;
}

static int export_model(const ExportArguments* arguments, ModelSource* source) {
  if (source->folder) {
    cli_error("a folder of tables cannot be exported as it is");
    cli_hint("saltus convert %s MODEL.rules.md, and export that", source->path);
    return CLI_USAGE;
  }
  Files files = {.source = source};
  SltCompileOptions options = slt_compile_options();
  options.overrides = arguments->settings.items;
  options.override_count = arguments->settings.count;
  options.on_diagnostic = print_diagnostic;
  options.colour = cli_colour();
  options.load = load_and_keep;
  options.load_user = &files;
  char* title = path_title(source->name, "");
  char* usual = path_title(source->name, ".fmu");
  const char* name = path_base(source->name);
  SltModel* model = NULL;
  int exit = CLI_RUN;
  if (!title || !usual || !files_add(&files, name, source->text, source->length)) {
    cli_error("out of memory");
  } else if (slt_model_compile(source->name, source->text, source->length, &options, &model) < 0 ||
             files.outside) {
    exit = CLI_MODEL;
  } else {
    cyclic_tell_located(source);
    exit = write_fmu(arguments, &files, model, title, arguments->out ? arguments->out : usual);
  }
  slt_model_free(model);
  files_free(&files);
  free(title);
  free(usual);
  return exit;
}

int command_export(int argc, char** argv) {
  ExportArguments arguments = {.path = NULL};
  ModelSource source = {.path = NULL};
  int exit = parse(argc, argv, &arguments);
  if (exit == CLI_DONE && !source_open(&source, arguments.path)) exit = CLI_MODEL;
  if (exit == CLI_DONE) exit = export_model(&arguments, &source);
  source_close(&source);
  cli_settings_clear(&arguments.settings);
  return exit;
}

#else

int command_export(int argc, char** argv) {
  (void)argc;
  (void)argv;
  cli_error("this program was built without libzip, which FMUs are written with");
  cli_hint("install libzip-dev and build it again");
  return CLI_USAGE;
}

#endif
