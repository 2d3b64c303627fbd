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

/// What compiles with messages on stderr, counted in `counts`.
static SltCompileOptions speaking_options(const SltOverride* overrides, uint32_t override_count,
                                          Diagnostics* counts) {
  SltCompileOptions options = slt_compile_options();
  options.overrides = overrides;
  options.override_count = override_count;
  options.on_diagnostic = print_diagnostic;
  options.user = counts;
  options.colour = cli_colour();
  return options;
}

/// The compiler says what is wrong with a model; what is left has another cause.
static void explain_failure(const char* path, SltStatus status, const Diagnostics* counts) {
  if (status >= 0 || counts->errors > 0) return;
  cli_error("cannot read %s: %s", path, slt_status_text(status));
}

static SltModel* load(const char* path, const SltOverride* overrides, uint32_t override_count,
                      bool modes, uint32_t* warnings, SltStatus* status) {
  *warnings = 0;
  *status = SLT_ERR_IO;
  if (!input_check(path, "model")) return NULL;
  Diagnostics counts = {0, 0};
  SltCompileOptions options = speaking_options(overrides, override_count, &counts);
  options.structure = modes;
  SltModel* model = NULL;
  *status = slt_model_compile_file(path, &options, &model);
  *warnings = counts.warnings;
  explain_failure(path, *status, &counts);
  return *status >= 0 ? model : NULL;
}

SltModel* model_load(const char* path, const SltOverride* overrides, uint32_t override_count,
                     uint32_t* warnings, SltStatus* status) {
  return load(path, overrides, override_count, false, warnings, status);
}

SltModel* model_load_to_check(const char* path, const SltOverride* overrides,
                              uint32_t override_count, uint32_t* warnings, SltStatus* status) {
  return load(path, overrides, override_count, true, warnings, status);
}

SltRules* rules_load(const char* path, const SltOverride* overrides, uint32_t override_count) {
  if (!input_check(path, "model")) return NULL;
  Diagnostics counts = {0, 0};
  SltCompileOptions options = speaking_options(overrides, override_count, &counts);
  SltRules* rules = NULL;
  SltStatus status = slt_rules_compile_file(path, &options, &rules);
  explain_failure(path, status, &counts);
  return rules;
}
