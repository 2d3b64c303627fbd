// SPDX-License-Identifier: MIT
#include "run.h"

#include <math.h>
#include <string.h>

typedef enum RunOption {
  RUN_UNTIL,
  RUN_FROM,
  RUN_METHOD,
  RUN_RTOL,
  RUN_ATOL,
  RUN_H0,
  RUN_HMIN,
  RUN_HMAX,
  RUN_STEP,
  RUN_SET,
  RUN_INCLUDE,
  RUN_OUT,
  RUN_EVERY,
  RUN_SAMPLES,
  RUN_ALL_STEPS,
  RUN_EVENT_ROWS,
  RUN_UNITS,
  RUN_CSV,
  RUN_EVENTS,
  RUN_PLOT,
  RUN_REPORT,
  RUN_DETECTION,
  RUN_EVENT_EPS,
  RUN_GAMMA,
  RUN_SLIDING,
  RUN_ZENO,
  RUN_NATIVE,
  RUN_THREADS,
  RUN_CYCLIC,
  RUN_SEED,
  RUN_REALTIME,
  RUN_MAX_STEPS,
  RUN_MAX_EVENTS,
  RUN_TIMEOUT,
  RUN_CHECKPOINT,
  RUN_CHECKPOINT_EVERY,
  RUN_RESUME,
  RUN_REPLAY,
  RUN_QUIET,
  RUN_WATCH,
  RUN_OPTION_COUNT,
  // of `explain --run` beside these
  RUN_EXPLAIN = RUN_OPTION_COUNT,
  RUN_JSON,
  RUN_ALL,
  RUN_GRAPH,
  EXPLAIN_OPTION_COUNT
} RunOption;

static const OptionSpec specs[EXPLAIN_OPTION_COUNT] = {
    [RUN_UNTIL] = {"--until", NULL, OPTION_VALUE},
    [RUN_FROM] = {"--from", NULL, OPTION_VALUE},
    [RUN_METHOD] = {"--method", NULL, OPTION_VALUE},
    [RUN_RTOL] = {"--rtol", NULL, OPTION_VALUE},
    [RUN_ATOL] = {"--atol", NULL, OPTION_VALUE},
    [RUN_H0] = {"--h0", NULL, OPTION_VALUE},
    [RUN_HMIN] = {"--hmin", NULL, OPTION_VALUE},
    [RUN_HMAX] = {"--hmax", NULL, OPTION_VALUE},
    [RUN_STEP] = {"--step", NULL, OPTION_VALUE},
    [RUN_SET] = {"--set", NULL, OPTION_VALUE},
    [RUN_INCLUDE] = {"--include", NULL, OPTION_VALUE},
    [RUN_OUT] = {"--out", NULL, OPTION_VALUE},
    [RUN_EVERY] = {"--every", NULL, OPTION_VALUE},
    [RUN_SAMPLES] = {"--samples", NULL, OPTION_VALUE},
    [RUN_ALL_STEPS] = {"--all-steps", NULL, OPTION_FLAG},
    [RUN_EVENT_ROWS] = {"--event-rows", NULL, OPTION_VALUE},
    [RUN_UNITS] = {"--units", NULL, OPTION_FLAG},
    [RUN_CSV] = {"--output", "-o", OPTION_VALUE},
    [RUN_EVENTS] = {"--events", NULL, OPTION_VALUE},
    [RUN_PLOT] = {"--plot", NULL, OPTION_VALUE},
    [RUN_REPORT] = {"--report", NULL, OPTION_VALUE},
    [RUN_DETECTION] = {"--detection", NULL, OPTION_VALUE},
    [RUN_EVENT_EPS] = {"--event-eps", NULL, OPTION_VALUE},
    [RUN_GAMMA] = {"--gamma", NULL, OPTION_VALUE},
    [RUN_SLIDING] = {"--sliding", NULL, OPTION_VALUE},
    [RUN_ZENO] = {"--zeno", NULL, OPTION_VALUE},
    [RUN_NATIVE] = {"--native", NULL, OPTION_VALUE},
    [RUN_THREADS] = {"--threads", NULL, OPTION_VALUE},
    [RUN_CYCLIC] = {"--cyclic", NULL, OPTION_VALUE},
    [RUN_SEED] = {"--seed", NULL, OPTION_VALUE},
    [RUN_REALTIME] = {"--realtime", NULL, OPTION_MAYBE},
    [RUN_MAX_STEPS] = {"--max-steps", NULL, OPTION_VALUE},
    [RUN_MAX_EVENTS] = {"--max-events", NULL, OPTION_VALUE},
    [RUN_TIMEOUT] = {"--timeout", NULL, OPTION_VALUE},
    [RUN_CHECKPOINT] = {"--checkpoint", NULL, OPTION_VALUE},
    [RUN_CHECKPOINT_EVERY] = {"--checkpoint-every", NULL, OPTION_VALUE},
    [RUN_RESUME] = {"--resume", NULL, OPTION_VALUE},
    [RUN_REPLAY] = {"--replay", NULL, OPTION_VALUE},
    [RUN_QUIET] = {"--quiet", "-q", OPTION_FLAG},
    [RUN_WATCH] = {"--watch", NULL, OPTION_FLAG},
    [RUN_EXPLAIN] = {"--run", NULL, OPTION_FLAG},
    [RUN_JSON] = {"--json", NULL, OPTION_FLAG},
    [RUN_ALL] = {"--all", NULL, OPTION_FLAG},
    [RUN_GRAPH] = {"--graph", NULL, OPTION_VALUE},
};

/// Methods of SUNDIALS where that is not built in: which of ours to take instead.
static bool is_absent_method(const char* where, const char* text) {
  static const struct {
    const char* name;
    const char* instead;
  } foreign[] = {{"bdf", "rodas, for stiff problems"},
                 {"ida", "rodas, which takes algebraic equations directly"},
                 {"adams", "dop853, for smooth problems and tight tolerances"}};
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    if (strcmp(text, foreign[i].name) != 0) continue;
    cli_error("%s: %s is a method of SUNDIALS, which is not built in; try %s", where, text,
              foreign[i].instead);
    cli_hint("builds that find the package libsundials-dev have it");
    return true;
  }
  return false;
}

bool run_method_known(const char* where, const char* text) {
  const char* names[65] = {"auto"};
  size_t count = 1;
  bool known = false;
  for (uint32_t i = 0; i < slt_method_count() && count < 65; i++) {
    names[count] = slt_method_get(i).name;
    known |= strcmp(text, names[count++]) == 0;
  }
  if (!known && is_absent_method(where, text)) return false;
  return option_choice(where, text, names, count) >= 0;
}

static bool parse_method(const char* text, SltSimOptions* sim) {
  if (!run_method_known("--method", text)) return false;
  sim->method = text;
  return true;
}

static bool parse_gamma(const char* text, SltSimOptions* sim) {
  if (!option_number("--gamma", text, &sim->gamma)) return false;
  if (sim->gamma > 0.0 && sim->gamma < 1.0) return true;
  cli_error("--gamma must lie between 0 and 1, not %s", text);
  return false;
}

static bool parse_atol(const char* text, SltSimOptions* sim) {
  if (!option_number("--atol", text, &sim->atol)) return false;
  if (sim->atol >= 0.0) return true;
  cli_error("--atol must not be negative, not %s", text);
  return false;
}

static bool parse_detection(const char* text, SltSimOptions* sim) {
  static const char* const words[] = {"certified", "combined", "extrapolation", "interpolation"};
  int choice = option_choice("--detection", text, words, 4);
  if (choice >= 0) sim->detection = (SltDetection)choice;
  return choice >= 0;
}

static bool parse_sliding(const char* text, SltSimOptions* sim) {
  static const char* const words[] = {"on", "off", "utkin"};
  int choice = option_choice("--sliding", text, words, 3);
  if (choice >= 0) sim->sliding = (SltSliding)choice;
  return choice >= 0;
}

static bool parse_zeno(const char* text, SltSimOptions* sim) {
  static const char* const words[] = {"auto", "stop", "dwell"};
  int choice = option_choice("--zeno", text, words, 3);
  if (choice >= 0) sim->zeno = (SltZeno)choice;
  return choice >= 0;
}

static bool parse_threads(const char* name, const char* text, SltSimOptions* sim) {
  uint64_t count = 1;
  if (!option_count(name, text, 1, 1024, &count)) return false;
  sim->threads = (uint32_t)count;
  return true;
}

static bool parse_native(const char* text, SltNativeWhen* out) {
  static const char* const words[] = {"off", "auto", "on"};
  int choice = option_choice("--native", text, words, 3);
  if (choice >= 0) *out = (SltNativeWhen)choice;
  return choice >= 0;
}

static bool parse_event_rows(const char* text, RunOptions* out) {
  static const char* const words[] = {"changes", "modes", "all", "none"};
  int choice = option_choice("--event-rows", text, words, 4);
  if (choice >= 0) out->event_rows = (SltEventRows)choice;
  return choice >= 0;
}

/// The format of the rows, by the ending of their file; a name without one is CSV.
static bool parse_csv(const char* text, RunOptions* out) {
  out->csv = text;
  out->format = slt_format_get(SLT_FORMAT_CSV);
  if (slt_format_find(text, &out->format) < 0) {
    const char* ending = strrchr(path_base(text), '.');
    if (!ending || ending == path_base(text)) return true;
    char known[200] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < slt_format_count() && used < sizeof known; i++) {
      int wrote = snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                           slt_format_get(i).ending);
      used += wrote > 0 ? (size_t)wrote : 0;
    }
    cli_error("-o %s: rows cannot be written as %s", text, ending);
    cli_hint("files of rows end in %s; - is standard output", known);
    return false;
  }
  if (!out->format.missing) return true;
  cli_error("-o %s: %s files cannot be written here", text, out->format.ending);
  cli_hint("install the package %s; a build without it has to be made again", out->format.missing);
  return false;
}

/// Records are JSON lines or a table; a name without an ending is taken for the first.
static bool parse_events(const char* text) {
  const char* ending = strrchr(path_base(text), '.');
  bool none = !ending || ending == path_base(text);
  if (none || strcmp(ending, ".jsonl") == 0 || strcmp(ending, ".csv") == 0) return true;
  cli_error("--events %s: records cannot be written as %s", text, ending);
  cli_hint("files of records end in .jsonl (a JSON object a line) or .csv; - is standard output");
  return false;
}

static bool parse_report(const char* text) {
  if (path_ends_with(text, ".html")) return true;
  cli_error("--report %s: a report is a page, a file ending in .html", text);
  return false;
}

/// Options with a number of the solver.
static bool parse_solver(RunOption option, const char* text, RunOptions* out) {
  SltSimOptions* sim = &out->sim;
  const char* name = specs[option].name;
  bool steers =
      option != RUN_UNTIL && option != RUN_CYCLIC && option != RUN_REALTIME && option != RUN_SEED;
  if (steers) out->solver = name;
  switch ((int)option) {
  case RUN_UNTIL: return option_time(name, text, &out->until);
  case RUN_FROM: return option_time(name, text, &sim->t_start);
  case RUN_METHOD: return parse_method(text, sim);
  case RUN_RTOL: return option_positive(name, text, &sim->rtol);
  case RUN_ATOL: return parse_atol(text, sim);
  case RUN_H0: return option_span(name, text, &sim->h0);
  case RUN_HMIN: return option_span(name, text, &sim->h_min);
  case RUN_HMAX: return option_span(name, text, &sim->h_max);
  case RUN_STEP: return option_span(name, text, &sim->step);
  case RUN_DETECTION: return parse_detection(text, sim);
  case RUN_EVENT_EPS: return option_positive(name, text, &sim->event_eps);
  case RUN_GAMMA: return parse_gamma(text, sim);
  case RUN_SLIDING: return parse_sliding(text, sim);
  case RUN_ZENO: return parse_zeno(text, sim);
  case RUN_NATIVE: return parse_native(text, &out->native);
  case RUN_THREADS: return parse_threads(name, text, sim);
  case RUN_CYCLIC: return option_span(name, text, &out->cyclic);
  case RUN_REALTIME:
    out->realtime = 1.0;
    return !text || option_positive(name, text, &out->realtime);
  case RUN_SEED: return option_count(name, text, 0, UINT64_MAX, &sim->seed);
  default: return true;
  }
}

/// Options about what is recorded and where it goes; the rest is passed on.
static bool parse_option(RunOption option, const char* text, RunOptions* out) {
  const char* name = specs[option].name;
  uint64_t count = 0;
  switch ((int)option) {
  case RUN_SET: return cli_settings_add(&out->settings, text);
  case RUN_INCLUDE:
    cli_names_clear(&out->includes);
    return cli_names_parse(name, text, &out->includes);
  case RUN_OUT: cli_names_clear(&out->out); return cli_names_parse(name, text, &out->out);
  case RUN_EVERY: return option_span(name, text, &out->every);
  case RUN_SAMPLES:
    if (!option_count(name, text, 1, 1000000000, &count)) return false;
    out->samples = (uint32_t)count;
    return true;
  case RUN_ALL_STEPS: out->all_steps = true; return true;
  case RUN_UNITS: out->units = true; return true;
  case RUN_EVENT_ROWS: return parse_event_rows(text, out);
  case RUN_CSV: return parse_csv(text, out);
  case RUN_EVENTS: out->events = text; return parse_events(text);
  case RUN_PLOT: out->plot = text; return plot_path_check(name, text);
  case RUN_REPORT: out->report = text; return parse_report(text);
  case RUN_QUIET: out->quiet = true; return true;
  case RUN_MAX_STEPS: return option_count(name, text, 1, UINT64_MAX, &out->limits.steps);
  case RUN_MAX_EVENTS: return option_count(name, text, 1, UINT64_MAX, &out->limits.events);
  case RUN_TIMEOUT: return option_positive(name, text, &out->limits.seconds);
  case RUN_CHECKPOINT: out->checkpoint = text; return true;
  case RUN_CHECKPOINT_EVERY: return option_positive(name, text, &out->checkpoint_every);
  case RUN_RESUME: out->resume = text; return true;
  case RUN_REPLAY: out->replay = text; return true;
  case RUN_WATCH:  // several.c sees to it
  case RUN_EXPLAIN: return true;
  case RUN_JSON: out->explain_json = true; return true;
  case RUN_ALL: out->explain_all = true; return true;
  case RUN_GRAPH: out->graph = text; return graph_path_check(text);
  default: return parse_solver(option, text, out);
  }
}

static bool is_stdout(const char* path) {
  return path && strcmp(path, "-") == 0;
}

/// Two outputs into one file would destroy each other.
static bool check_outputs(const RunOptions* o) {
  const char* paths[] = {o->csv, o->events, o->plot, o->graph, o->report};
  static const char* const names[] = {"-o", "--events", "--plot", "--graph", "--report"};
  int to_stdout = is_stdout(o->csv) + is_stdout(o->events) + is_stdout(o->plot);
  if (o->explain && to_stdout > 0) {
    cli_error("standard output (-) is taken by the explanation");
    cli_hint("name a file for the other results");
    return false;
  }
  if (to_stdout > 1) {
    cli_error("only one of -o, --events and --plot can go to standard output (-)");
    return false;
  }
  for (int i = 0; i < 5; i++) {
    if (!paths[i]) continue;
    if (paths[i][0] == '\0') {
      cli_error("%s needs the name of a file, or -", names[i]);
      return false;
    }
    for (int j = 0; j < i; j++) {
      if (!paths[j] || is_stdout(paths[i]) || !files_are_same(paths[i], paths[j])) continue;
      cli_error("%s and %s name the same file %s", names[j], names[i], paths[i]);
      return false;
    }
  }
  return true;
}

static bool check_explain(const RunOptions* o) {
  if (!o->model) {
    cli_error("explain needs a model");
    cli_hint("saltus explain MODEL.lisma --run");
    return false;
  }
  if (o->explain_json && (o->explain_all || o->events)) {
    cli_error("explain --run --json writes every record to standard output: no --all, no --events");
    return false;
  }
  return true;
}

/// What is made of all rows together cannot be gone on with.
static bool check_checkpoint(const RunOptions* o) {
  const char* option = o->resume ? "--resume" : o->checkpoint ? "--checkpoint" : NULL;
  if (!isnan(o->checkpoint_every) && !o->checkpoint) {
    cli_error("--checkpoint-every needs --checkpoint");
    return false;
  }
  if (option && o->replay) {
    cli_error("%s and --replay do not go together", option);
    return false;
  }
  if (!option) return true;
  if (o->explain) {
    cli_error("explain --run tells a run from its start: no %s", option);
    return false;
  }
  const char* whole = o->plot                ? "--plot"
                      : o->report            ? "--report"
                      : o->graph             ? "--graph"
                      : !o->format.continues ? o->format.ending
                                             : NULL;
  if (whole) {
    cli_error("%s and %s do not go together: rows are only kept in their file", whole, option);
    cli_hint("draw the table when it is complete: saltus plot FILE.csv");
    return false;
  }
  const char* paths[] = {o->csv, o->events};
  for (int i = 0; o->checkpoint && i < 2; i++) {
    if (!paths[i] || !files_are_same(paths[i], o->checkpoint)) continue;
    cli_error("--checkpoint %s is in use here already", o->checkpoint);
    return false;
  }
  return true;
}

static bool check_options(const RunOptions* o) {
  if (o->explain && !check_explain(o)) return false;
  if (!o->model) {
    cli_error("run needs a model");
    cli_hint("saltus run MODEL.lisma; `saltus new NAME` writes one to start from");
    return false;
  }
  if (!isnan(o->every) + (o->samples > 0) + o->all_steps > 1) {
    cli_error("only one of --every, --samples and --all-steps can be given");
    return false;
  }
  bool csv = o->format.id == SLT_FORMAT_CSV || o->format.id == SLT_FORMAT_CSV_GZ;
  if (o->units && !csv) {
    cli_error("--units adds a row to CSV, and %s is none", o->format.ending);
    return false;
  }
  if (!check_checkpoint(o)) return false;
  if (o->figure.count && !o->plot && !o->report) {
    cli_error("--%s needs --plot", o->figure.items[0].key);
    cli_hint("add --plot FILE.svg, or --plot - for the terminal");
    return false;
  }
  if (o->sim.h_min > o->sim.h_max) {
    cli_error("--hmin must not be greater than --hmax");
    return false;
  }
  return check_outputs(o);
}

int run_options_parse(bool explain, int argc, char** argv, RunOptions* out) {
  *out = (RunOptions){.explain = explain,
                      .until = (double)NAN,
                      .every = (double)NAN,
                      .checkpoint_every = (double)NAN,
                      .cyclic = (double)NAN,
                      .native = SLT_NATIVE_AUTO,
                      .format = slt_format_get(SLT_FORMAT_CSV),
                      .sim = slt_sim_options()};
  OptionParser parser = {.command = explain ? "explain" : "run",
                         .specs = specs,
                         .spec_count = explain ? EXPLAIN_OPTION_COUNT : RUN_OPTION_COUNT,
                         .figure = &out->figure,
                         .argc = argc,
                         .argv = argv};
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    bool good = option != OPTION_BAD;
    if (option == OPTION_WORD) {
      good = cli_one_model(parser.command, parser.value, &out->model);
    } else if (option >= 0) {
      good = parse_option((RunOption)option, parser.value, out);
    }
    if (!good) return CLI_USAGE;
  }
  return check_options(out) ? CLI_DONE : CLI_USAGE;
}

int run_words(int argc, char** argv, int* places) {
  CliFigure figure = {0};
  OptionParser parser = {.command = "run",
                         .specs = specs,
                         .spec_count = RUN_OPTION_COUNT,
                         .figure = &figure,
                         .argc = argc,
                         .argv = argv};
  int count = 0;
  int option = 0;
  while ((option = option_next(&parser)) != OPTION_END && option != OPTION_BAD) {
    if (option == OPTION_WORD) places[count++] = parser.at - 1;
  }
  figure_options_clear(&figure);
  return option == OPTION_BAD ? -1 : count;
}

bool run_outputs_spare(const RunOptions* options, const char* default_csv) {
  const RunOptions* o = options;
  bool rows = !o->explain || o->csv;
  return inputs_spare(o->csv ? o->csv
                      : rows ? default_csv
                             : NULL) &&
         inputs_spare(o->events) && output_allowed(o->plot) && output_allowed(o->graph) &&
         output_allowed(o->report) && output_allowed(o->checkpoint);
}

void run_options_clear(RunOptions* options) {
  cli_settings_clear(&options->settings);
  cli_names_clear(&options->out);
  cli_names_clear(&options->includes);
  figure_options_clear(&options->figure);
}
