// SPDX-License-Identifier: MIT
#include "cli.h"

#include <string.h>

typedef struct Diagnostics {
  uint32_t errors;
  uint32_t warnings;
} Diagnostics;

static void print_diagnostic(void* user, const SltDiagnostic* diagnostic) {
  Diagnostics* counts = user;
  counts->errors += diagnostic->severity == SLT_ERROR;
  counts->warnings += diagnostic->severity == SLT_WARNING;
  fputs(diagnostic->rendered, stderr);
  size_t length = strlen(diagnostic->rendered);
  if (length == 0 || diagnostic->rendered[length - 1] != '\n') fputc('\n', stderr);
}

SltModel* model_load(const char* path, const SltOverride* overrides, uint32_t override_count,
                     uint32_t* warnings, SltStatus* status) {
  *warnings = 0;
  *status = SLT_ERR_IO;
  if (!input_check(path, "model")) return NULL;
  Diagnostics counts = {0, 0};
  SltCompileOptions options = slt_compile_options();
  options.overrides = overrides;
  options.override_count = override_count;
  options.on_diagnostic = print_diagnostic;
  options.user = &counts;
  options.colour = cli_colour();
  SltModel* model = NULL;
  *status = slt_model_compile_file(path, &options, &model);
  *warnings = counts.warnings;
  if (*status >= 0) return model;
  // the compiler says what is wrong with a model; what is left has another cause
  if (counts.errors == 0) cli_error("cannot read %s: %s", path, slt_status_text(*status));
  return NULL;
}

SltRules* rules_load(const char* path, const SltOverride* overrides, uint32_t override_count) {
  if (!input_check(path, "model")) return NULL;
  Diagnostics counts = {0, 0};
  SltCompileOptions options = slt_compile_options();
  options.overrides = overrides;
  options.override_count = override_count;
  options.on_diagnostic = print_diagnostic;
  options.user = &counts;
  options.colour = cli_colour();
  SltRules* rules = NULL;
  SltStatus status = slt_rules_compile_file(path, &options, &rules);
  if (status < 0 && counts.errors == 0) {
    cli_error("cannot read %s: %s", path, slt_status_text(status));
  }
  return rules;
}
