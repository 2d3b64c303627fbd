// SPDX-License-Identifier: MIT
#include "cli.h"

#include <string.h>

typedef struct Diagnostics {
  ModelSource* source;
  uint32_t errors;
  uint32_t warnings;
  bool again;  // warnings have been printed before
} Diagnostics;

static void print_diagnostic(void* user, const SltDiagnostic* diagnostic) {
  Diagnostics* counts = user;
  counts->errors += diagnostic->severity == SLT_ERROR;
  counts->warnings += diagnostic->severity == SLT_WARNING;
  if (counts->again && diagnostic->severity != SLT_ERROR) return;
  fputs(diagnostic->rendered, stderr);
  size_t length = strlen(diagnostic->rendered);
  if (length == 0 || diagnostic->rendered[length - 1] != '\n') fputc('\n', stderr);
  if (diagnostic->severity != SLT_ERROR)
    cli_names_keep(&counts->source->warnings, diagnostic->rendered);
}

/// What compiles with messages on stderr, counted in `counts`; files it names are noted in
/// `source`.
static SltCompileOptions compile_options(ModelSource* source, const CliSettings* settings,
                                         Diagnostics* counts) {
  SltCompileOptions options = slt_compile_options();
  options.overrides = settings ? settings->items : NULL;
  options.override_count = settings ? settings->count : 0;
  options.on_diagnostic = counts ? print_diagnostic : NULL;
  options.user = counts;
  options.colour = cli_colour();
  options.load = source_load;
  options.place = source_elsewhere;
  options.load_user = source;
  options.observe = source->observe.items;
  options.observe_count = source->observe.count;
  options.foreign = cli_foreign();
  return options;
}

/// The compiler says what is wrong with a model; what is left has another cause.
static void explain_failure(const ModelSource* source, SltStatus status,
                            const Diagnostics* counts) {
  if (status >= 0 || counts->errors > 0) return;
  cli_error("cannot read %s: %s", source->name, slt_status_text(status));
}

static SltModel* load(ModelSource* source, const CliSettings* settings, bool modes,
                      uint32_t* warnings) {
  Diagnostics counts = {.source = source, .again = source->again};
  SltCompileOptions options = compile_options(source, settings, &counts);
  options.structure = modes;
  SltModel* model = NULL;
  SltStatus status = source->folder ? slt_model_compile_file(source->path, &options, &model)
                                    : slt_model_compile(source->name, source->text, source->length,
                                                        &options, &model);
  *warnings = counts.warnings;
  explain_failure(source, status, &counts);
  return status >= 0 ? model : NULL;
}

SltModel* model_load(ModelSource* source, const CliSettings* settings, uint32_t* warnings) {
  return load(source, settings, false, warnings);
}

SltModel* model_load_to_check(ModelSource* source, const CliSettings* settings,
                              uint32_t* warnings) {
  return load(source, settings, true, warnings);
}

SltRules* rules_load(ModelSource* source, const CliSettings* settings, bool silent) {
  Diagnostics counts = {.source = source};
  SltCompileOptions options = compile_options(source, settings, silent ? NULL : &counts);
  SltRules* rules = NULL;
  SltStatus status = source->folder ? slt_rules_compile_file(source->path, &options, &rules)
                                    : slt_rules_compile(source->name, source->text, source->length,
                                                        &options, &rules);
  if (!silent) explain_failure(source, status, &counts);
  return rules;
}
