// SPDX-License-Identifier: MIT
//
// The short commands: check, explain, methods.
#define _POSIX_C_SOURCE 200809L
#include "experiment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- arguments shared by check and explain ------------------------------------------------------

typedef enum ModelOption {
  MODEL_SET,
  MODEL_INCLUDE,
  MODEL_JSON,
  MODEL_IR,
  MODEL_GRAPH,
  MODEL_OPTION_COUNT
} ModelOption;

static const OptionSpec model_specs[MODEL_OPTION_COUNT] = {
    [MODEL_SET] = {"--set", NULL, OPTION_VALUE},
    [MODEL_INCLUDE] = {"--include", NULL, OPTION_VALUE},
    [MODEL_JSON] = {"--json", NULL, OPTION_FLAG},
    [MODEL_IR] = {"--ir", NULL, OPTION_FLAG},
    [MODEL_GRAPH] = {"--graph", NULL, OPTION_VALUE},
};

typedef struct ModelArguments {
  const char* path;
  CliSettings settings;
  CliNames includes;
  bool json, ir;
  const char* graph;
} ModelArguments;

static int missing_model(const char* command) {
  cli_error("%s needs a model", command);
  cli_hint("saltus %s MODEL.lisma", command);
  return CLI_USAGE;
}

/// `check` knows --set and --include only: the rest of the list belongs to `explain`.
static int parse_model_arguments(const char* command, size_t spec_count, int argc, char** argv,
                                 ModelArguments* out) {
  OptionParser parser = {.command = command,
                         .specs = model_specs,
                         .spec_count = spec_count,
                         .argc = argc,
                         .argv = argv};
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    switch (option) {
    case OPTION_BAD: return CLI_USAGE;
    case OPTION_WORD:
      if (!cli_one_model(command, parser.value, &out->path)) return CLI_USAGE;
      break;
    case MODEL_SET:
      if (!cli_settings_add(&out->settings, parser.value)) return CLI_USAGE;
      break;
    case MODEL_INCLUDE:
      cli_names_clear(&out->includes);
      if (!cli_names_parse("--include", parser.value, &out->includes)) return CLI_USAGE;
      break;
    case MODEL_JSON: out->json = true; break;
    case MODEL_IR: out->ir = true; break;
    case MODEL_GRAPH:
      if (!graph_path_check(parser.value)) return CLI_USAGE;
      out->graph = parser.value;
      break;
    default: break;
    }
  }
  return out->path ? CLI_DONE : missing_model(command);
}

static bool open_model(ModelSource* source, const ModelArguments* arguments) {
  bool opened = source_open(source, arguments->path);
  source->includes = arguments->includes;
  return opened;
}

// ---- check --------------------------------------------------------------------------------------

static void print_unchecked(const SltModel* model) {
  double modes = model ? slt_model_unchecked_modes(model) : 0.0;
  if (modes < 1.0) return;
  char count[40] = "most";
  if (modes < 1e6) snprintf(count, sizeof count, "%.0f", modes);
  printf("%s mode%s not looked at: a run analyses those it enters\n", count,
         modes == 1.0 ? " was" : "s were");
}

static void count_warning(void* user, const SltDiagnostic* d) {
  uint32_t* warnings = user;
  (*warnings)++;
  run_warning_print(stderr, d);
}

/// What every run says at its start: values that are missing or contradict the equations. Code of
/// FMUs is for runs alone.
static bool starts_well(const SltModel* model, uint32_t* warnings) {
  if (cli_foreign_used()) return true;
  SltSimOptions options = slt_sim_options();
  const char* problem = NULL;
  SltSim* sim = NULL;
  SltStatus status = slt_sim_options_check(model, &options, &problem);
  if (status >= 0) status = slt_sim_create(model, &options, &sim);
  if (status >= 0) {
    slt_sim_on_warning(sim, count_warning, warnings);
    status = slt_sim_start(sim);
    if (status < 0) run_error_print(sim, status);
  } else {
    cli_error("%s", problem ? problem : slt_status_text(status));
  }
  slt_sim_free(sim);
  return status >= 0;
}

int command_check(int argc, char** argv) {
  if (fmu_is_named(argc, argv)) return command_fmu("check", argc, argv);
  ModelArguments arguments = {.path = NULL};
  int exit = parse_model_arguments("check", MODEL_INCLUDE + 1, argc, argv, &arguments);
  if (exit == CLI_DONE) {
    uint32_t warnings = 0;
    ModelSource source = {0};
    SltModel* model = open_model(&source, &arguments)
                          ? model_load_to_check(&source, &arguments.settings, &warnings)
                          : NULL;
    const CliFigure unset = {0};
    bool good = model && measures_are_good(model) &&
                figure_check_model(&unset, model) == CLI_DONE && starts_well(model, &warnings);
    exit = good ? CLI_DONE : CLI_MODEL;
    if (exit != CLI_DONE) {
      slt_model_free(model);
      model = NULL;
    }
    if (model && warnings == 0) cli_print(stdout, "%s: no problems found\n", source.name);
    if (model && warnings > 0) {
      cli_print(stdout, "%s: no errors, %u warning%s\n", source.name, warnings,
                warnings == 1 ? "" : "s");
    }
    print_unchecked(model);
    slt_model_free(model);
    source_close(&source);
  }
  cli_settings_clear(&arguments.settings);
  cli_names_clear(&arguments.includes);
  return exit;
}

// ---- explain ------------------------------------------------------------------------------------

/// The picture of the automata instead of the text.
static int draw_automata(const SltModel* model, const ModelArguments* arguments,
                         const ModelSource* source) {
  SltGraph* graph = NULL;
  if (!output_allowed(arguments->graph)) return CLI_USAGE;
  if (slt_graph_create(model, &graph) < 0) {
    cli_error("out of memory");
    return CLI_RUN;
  }
  int exit = graph_write(graph, path_base(source->name), arguments->graph);
  slt_graph_free(graph);
  return exit;
}

/// --run turns the options into those of a run.
static bool wants_run(int argc, char** argv) {
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strcmp(argv[i], "--run") == 0) return true;
  }
  return false;
}

int command_explain(int argc, char** argv) {
  if (wants_run(argc, argv)) return command_explain_run(argc, argv);
  ModelArguments arguments = {.path = NULL};
  int exit = parse_model_arguments("explain", MODEL_OPTION_COUNT, argc, argv, &arguments);
  if (exit == CLI_DONE && (arguments.json || arguments.ir) + (arguments.graph != NULL) +
                                  (arguments.json && arguments.ir) >
                              1) {
    cli_error("explain takes one of --json, --ir and --graph");
    exit = CLI_USAGE;
  }
  if (exit == CLI_DONE) {
    uint32_t warnings = 0;
    ModelSource source = {0};
    SltModel* model = open_model(&source, &arguments)
                          ? model_load(&source, &arguments.settings, &warnings)
                          : NULL;
    SltExplainFormat format = arguments.json ? SLT_EXPLAIN_JSON
                              : arguments.ir ? SLT_EXPLAIN_IR
                                             : SLT_EXPLAIN_TEXT;
    exit = CLI_MODEL;
    if (model && arguments.graph) {
      exit = draw_automata(model, &arguments, &source);
    } else if (model) {
      StdoutText text = {.length = 0};
      SltStatus status = slt_model_explain(model, format, (SltWriter){stdout_write_text, &text});
      exit = CLI_DONE;
      // an error of writing is reported when standard output is finished
      if (status < 0 && status != SLT_ERR_IO) {
        cli_error("cannot explain %s: %s", source.name, slt_status_text(status));
        exit = CLI_RUN;
      }
    }
    slt_model_free(model);
    source_close(&source);
  }
  cli_settings_clear(&arguments.settings);
  cli_names_clear(&arguments.includes);
  return exit;
}

// ---- methods ------------------------------------------------------------------------------------

int command_methods(int argc, char** argv) {
  OptionParser parser = {.command = "methods", .argc = argc, .argv = argv};
  int option = option_next(&parser);
  if (option == OPTION_BAD) return CLI_USAGE;
  if (option == OPTION_WORD) {
    cli_error("methods takes no arguments");
    return CLI_USAGE;
  }
  printf("%-12s %5s %7s %6s  %-8s  %s\n", "name", "order", "stages", "dense", "step",
         "description");
  printf("%-12s %5s %7s %6s  %-8s  %s\n", "auto", "", "", "", "adaptive",
         "dp54, and rodas5 while the equations are stiff; the summary says which and why");
  for (uint32_t i = 0; i < slt_method_count(); i++) {
    SltMethod method = slt_method_get(i);
    printf("%-12s %5u %7u %6u  %-8s  %s\n", method.name, method.order, method.stages,
           method.dense_order, method.adaptive ? "adaptive" : "fixed", method.description);
  }
  return CLI_DONE;
}
