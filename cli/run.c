// SPDX-License-Identifier: MIT
#include "run.h"

#include "experiment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS_MAX 9007199254740992.0  // 2^53

/// One `saltus run` from options to exit status.
typedef struct Run {
  RunOptions options;
  ModelSource source;
  SltModel* model;
  SltSim* sim;
  SltRecorder* recorder;
  SltStory* story;
  StdoutText story_text;
  SltGraph* graph;
  SltFigure* figure;
  Replay replay;
  SltExperiment experiment;
  CliNames asked;  // by --out, patterns in expressions spread
  CliNames out;    // what --out means
  char* default_csv;
  char* title;  // the model's name without folder and ending
  Output csv, events;
  Report report;
  Progress progress;
  Pace pace;
  double row_period;  // usual distance of rows, for the report of what came late
  double t_start, t_end;
  CheckpointMark mark;      // of the checkpoint that the run goes on from
  double pace_start;        // time of the model at which the pace begins
  uint64_t ticks_seen;      // when the clock was last asked for a checkpoint
  double checkpoint_begun;  // wall clock of the last one
  double checkpoint_t;      // its time; not a number before the first
  int checkpoint_exit;      // of the first one that could not be written; CLI_DONE
  char* stop_text;
  char undetermined[400];  // variables that some mode leaves undetermined, and the mode
  size_t undetermined_used;
} Run;

static bool is_stdout(const char* path) {
  return path && strcmp(path, "-") == 0;
}

// ---- preparation --------------------------------------------------------------------------------

/// "ball" from "models/ball.lisma", and "ball.csv" from it.
static bool name_outputs(Run* run) {
  run->title = path_title(run->source.name, "");
  run->default_csv = path_title(run->source.name, ".csv");
  return run->title && run->default_csv;
}

/// Rows are numbered; a grid too fine for that has no points between some of its rows either.
static int check_grid(const Run* run) {
  const RunOptions* o = &run->options;
  bool own = !isnan(o->every);
  double every = own || o->samples > 0 || o->all_steps ? o->every : run->experiment.every;
  if (isnan(every) || (run->t_end - run->t_start) / every <= ROWS_MAX) return CLI_DONE;
  char step[32];
  char end[32];
  cli_error("%s %s is too small for a run until %s: there are not so many different times",
            own ? "--every" : "the experiment's every", cli_number_text(every, step),
            cli_number_text(run->t_end, end));
  cli_hint("give a larger step, or --all-steps for a row per step of the integrator");
  return CLI_USAGE;
}

static int choose_times(Run* run) {
  const RunOptions* o = &run->options;
  run->t_start = !isnan(o->sim.t_start)          ? o->sim.t_start
                 : !isnan(run->experiment.start) ? run->experiment.start
                                                 : 0.0;
  run->t_end = !isnan(o->until)              ? o->until
               : !isnan(run->experiment.end) ? run->experiment.end
                                             : 10.0;
  char start[32];
  char end[32];
  if (!isfinite(run->t_end - run->t_start)) {
    cli_error("the run from %s to %s is too long", cli_number_text(run->t_start, start),
              cli_number_text(run->t_end, end));
    return CLI_USAGE;
  }
  if (run->t_end >= run->t_start) return check_grid(run);
  cli_error("the run would end at %s, before it starts at %s", cli_number_text(run->t_end, end),
            cli_number_text(run->t_start, start));
  cli_hint("give a later end with --until");
  return CLI_USAGE;
}

static int create_sim(Run* run) {
  const char* problem = NULL;
  SltStatus status = slt_sim_options_check(run->model, &run->options.sim, &problem);
  if (status >= 0) status = native_prepare(run->model, run->options.native);
  if (status >= 0) status = slt_sim_create(run->model, &run->options.sim, &run->sim);
  if (status >= 0) return CLI_DONE;
  if (status == SLT_ERR_NOMEM) return out_of_memory();
  cli_error("%s", problem ? problem : slt_status_text(status));
  return CLI_USAGE;
}

/// Names that can be recorded by default, and the automata's states: what a wrong name is near to.
static void suggest_name(const Run* run, const char* bad) {
  uint32_t columns = slt_sim_column_count(run->sim);
  if (columns > 10000) columns = 10000;  // enough to look for a typing slip
  const char** names = malloc((columns + 1) * sizeof *names);
  if (!names) return;
  for (uint32_t i = 0; i < columns; i++)
    names[i] = slt_sim_column_name(run->sim, i);
  const char* nearest = cli_nearest(bad, names, columns);
  if (nearest) {
    cli_hint("did you mean %s?", nearest);
  } else if (columns > 0) {
    cli_hint("the model has %s%s%s%s%s", names[0], columns > 1 ? ", " : "",
             columns > 1 ? names[1] : "", columns > 2 ? ", " : "",
             columns > 2 ? "...; `saltus explain` lists all" : "");
  }
  free((void*)names);
}

/// `x in UNIT` that cannot be: the text is no unit, x has none, or both are of different
/// quantities.
static int report_unit(const Run* run, const char* asked) {
  const char* in = asked;
  for (const char* at = strstr(asked, " in "); at; at = strstr(at + 1, " in "))
    in = at;
  int length = (int)(in - asked);
  const char* unit = in + sizeof " in " - 1;
  char own[200] = "";
  char name[200];
  double value = 0.0;
  snprintf(name, sizeof name, "%.*s", length, asked);
  SltQuantity quantity;
  bool found = slt_sim_find(run->sim, name, &quantity) >= 0 &&
               slt_sim_unit(run->sim, quantity, own, sizeof own) >= 0;
  if (slt_unit_convert(1.0, unit, unit, &value) < 0) {
    cli_error("--out %s: '%s' is no unit", asked, unit);
    cli_hint("write, for example, m/s^2, kW, N*m, degC");
  } else if (!found || !own[0]) {
    cli_error("--out %s: the model gives '%s' no unit", asked, name);
    cli_hint("give it one: %s { unit = \"%s\"; }", name, unit);
  } else {
    cli_error("--out %s: '%s' is in %s, which is no %s", asked, name, own, unit);
  }
  return CLI_USAGE;
}

static int create_recorder(Run* run) {
  const RunOptions* o = &run->options;
  SltRecorderOptions options = slt_recorder_options();
  if (run->out.count > 0) {
    options.names = run->out.items;
    options.name_count = run->out.count;
  } else if (run->experiment.out_count > 0) {
    options.names = run->experiment.out;
    options.name_count = run->experiment.out_count;
  }
  bool free_grid = o->samples == 0 && isnan(o->every) && isnan(run->experiment.every) && !o->replay;
  options.all_steps =
      o->all_steps || (free_grid && figure_has_log_time(&o->figure, &run->experiment));
  options.unit_row = o->units;
  options.event_rows = o->event_rows;
  options.format = o->format.id;
  if (o->samples > 0) {
    options.samples = o->samples;
  } else if (!options.all_steps) {
    options.every = isnan(o->every) ? run->experiment.every : o->every;
  }
  // a run in pieces has one grid
  if (o->replay && !o->all_steps && isnan(options.every) && run->t_end > run->t_start) {
    options.every = (run->t_end - run->t_start) / (double)options.samples;
  }
  if (!o->explain || o->csv) options.rows = (SltWriter){output_write, &run->csv};
  if (o->explain_json) options.events = (SltWriter){stdout_write, NULL};
  if (o->events) options.events = (SltWriter){output_write, &run->events};
  options.event_table = o->events && path_ends_with(o->events, ".csv");
  options.keep = o->plot || o->report;
  const char* bad = NULL;
  SltStatus status = slt_recorder_create(run->sim, &options, &run->recorder, &bad);
  if (status >= 0) return CLI_DONE;
  if (status == SLT_ERR_NOMEM) return out_of_memory();
  if (status == SLT_ERR_ARGUMENT && bad) return report_unit(run, bad);
  if (status != SLT_ERR_NOT_FOUND) {
    cli_error("cannot record: %s", slt_status_text(status));
    return CLI_USAGE;
  }
  cli_error("%s: the model has no `%s`", o->out.count ? "--out" : "experiment out", bad);
  suggest_name(run, bad);
  return CLI_MODEL;
}

/// What a picture shows must be among the columns; say so before the run, not after it.
static int prepare_figure(Run* run, const char* option, const char* title, SltFigure** out) {
  const SltTable* table = slt_recorder_table(run->recorder);
  // columns that were asked for are what is to be seen, whatever the model would show
  const SltExperiment* panels = run->options.out.count ? NULL : &run->experiment;
  SltFigure* figure = *out = figure_make(&run->options.figure, panels, title);
  if (!figure) return CLI_RUN;
  if (slt_figure_add(figure, table, run->title) < 0) return out_of_memory();
  const char* missing = slt_figure_missing(figure);
  if (!missing) return CLI_DONE;
  SltQuantity quantity;
  if (slt_sim_find(run->sim, missing, &quantity) >= 0) {
    cli_error("%s: `%s` is not recorded", option, missing);
    cli_hint("add it to --out");
    return CLI_USAGE;
  }
  cli_error("%s: the model has no `%s`", option, missing);
  suggest_name(run, missing);
  return CLI_MODEL;
}

static int prepare_report(Run* run) {
  SltFigure* figure = NULL;  // the page has a title of its own
  int exit = prepare_figure(run, "--report", NULL, &figure);
  bool begun = report_begin(&run->report, run->sim, run->model, figure);
  return exit == CLI_DONE && !begun ? out_of_memory() : exit;
}

// ---- outputs ------------------------------------------------------------------------------------

static size_t quoted_length(const char* name) {
  size_t length = strlen(name) + 3;
  for (const char* at = name; *at; at++)
    length += *at == '"';
  return length;
}

static char* append_cell(char* to, const char* name) {
  bool quote = strpbrk(name, ",\"\r\n") != NULL;
  if (quote) *to++ = '"';
  for (const char* at = name; *at; at++) {
    if (*at == '"') *to++ = '"';
    *to++ = *at;
  }
  if (quote) *to++ = '"';
  return to;
}

/// Name of the i-th column after the time, NULL behind the last.
static const char* column_name(const Run* run, uint32_t i) {
  const SltExperiment* e = &run->experiment;
  if (run->out.count) return i < run->out.count ? run->out.items[i] : NULL;
  if (e->out_count) return i < e->out_count ? e->out[i] : NULL;
  return slt_sim_column_name(run->sim, i);
}

/// The header line of the table to be written; free() it. NULL when memory is exhausted.
static char* csv_header(const Run* run) {
  size_t size = sizeof "time";
  for (uint32_t i = 0; column_name(run, i); i++)
    size += quoted_length(column_name(run, i));
  char* header = malloc(size);
  if (!header) return NULL;
  char* to = append_cell(header, "time");
  for (uint32_t i = 0; column_name(run, i); i++) {
    SltQuantity quantity;
    // a model's own `time` is another quantity
    bool known = slt_sim_find(run->sim, column_name(run, i), &quantity) >= 0;
    if (known && quantity.kind == SLT_KIND_TIME) continue;
    *to++ = ',';
    to = append_cell(to, column_name(run, i));
  }
  *to = '\0';
  return header;
}

/// The files of the run that the checkpoint is of, cut off where it was written.
static int continue_outputs(Run* run) {
  const CheckpointMark* mark = &run->mark;
  bool stream = is_stdout(run->csv.path);
  if (stream == mark->csv_regular) {
    cli_error(stream ? "the rows so far went to a file, not to standard output"
                     : "the rows so far went to standard output and are not in %s",
              run->csv.path);
    cli_hint(stream ? "name the file with -o" : "go on there with -o -");
    return CLI_USAGE;
  }
  char* header = csv_header(run);
  if (!header) return out_of_memory();
  bool good = stream ? output_open(&run->csv)
                     : output_continue(&run->csv, mark->csv_offset, mark->csv_lines, header);
  free(header);
  if (!good) return CLI_USAGE;
  bool behind =
      run->events.path && mark->has_events && mark->events_regular && !is_stdout(run->events.path);
  // events that were not recorded before are recorded from now on
  good = behind ? output_continue(&run->events, mark->events_offset, mark->events_lines, NULL)
                : output_open(&run->events);
  return good ? CLI_DONE : CLI_USAGE;
}

static int open_outputs(Run* run) {
  RunOptions* o = &run->options;
  if (!o->csv && !o->explain && !o->resume) {
    char* header = csv_header(run);
    if (!header) return out_of_memory();
    bool ours = output_is_ours(run->default_csv, header);
    free(header);
    if (!ours) {
      cli_error(
          "%s exists and was not written by saltus, or was changed since; it was left as it is",
          run->default_csv);
      cli_hint("`-o %s` overwrites it, another name keeps it", run->default_csv);
      return CLI_USAGE;
    }
    const char* others[] = {o->events, o->plot, o->report, o->graph, o->checkpoint};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
      if (!others[i] || !files_are_same(others[i], run->default_csv)) continue;
      cli_error("the rows would go to %s, which is already in use here", run->default_csv);
      cli_hint("choose another file for them with -o");
      return CLI_USAGE;
    }
  }
  run->csv.path = o->csv ? o->csv : o->explain ? NULL : run->default_csv;
  run->csv.whole = o->format.whole;
  run->csv.packed = !o->format.continues;
  run->csv.csv = o->format.id == SLT_FORMAT_CSV;
  run->csv.units = o->units;
  run->events.path = o->events;
  run->events.csv = o->events && path_ends_with(o->events, ".csv");
  if (o->resume) return continue_outputs(run);
  return output_open(&run->csv) && output_open(&run->events) ? CLI_DONE : CLI_USAGE;
}

// ---- checkpoints --------------------------------------------------------------------------------

#define CHECKPOINT_SECONDS 30.0

static double wall_clock(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void save_checkpoint(Run* run) {
  CheckpointMark mark = {.csv_regular = run->csv.regular,
                         .events_regular = run->events.regular,
                         .has_events = run->events.path != NULL};
  // an output that fails ends the run and is told of there
  if (slt_recorder_mark(run->recorder, &mark.recorder) < 0) {
    run->checkpoint_exit = CLI_RUN;
    return;
  }
  bool drop = mark.recorder.end_row;
  mark.csv_offset = run->csv.offset - (drop ? run->csv.last : 0);
  mark.csv_lines = run->csv.lines - drop;
  mark.events_offset = run->events.offset;
  mark.events_lines = run->events.lines;
  run->checkpoint_begun = wall_clock();
  if (run->checkpoint_exit != CLI_DONE) return;
  progress_hide(&run->progress);
  run->checkpoint_exit = checkpoint_write(run->options.checkpoint, run->sim, &mark);
  run->checkpoint_t = slt_sim_time(run->sim);
}

/// Between steps: whether the run is to end; a checkpoint then, and when it is time for one.
static bool on_step(void* user, double t) {
  Run* run = user;
  bool ends = progress_poll(&run->progress, t);
  if (!ends && run->progress.ticks == run->ticks_seen) return false;
  run->ticks_seen = run->progress.ticks;
  double every =
      isnan(run->options.checkpoint_every) ? CHECKPOINT_SECONDS : run->options.checkpoint_every;
  if (ends || wall_clock() - run->checkpoint_begun >= every) save_checkpoint(run);
  return ends;
}

/// Put the run where the checkpoint has left it.
static int resume(Run* run) {
  const char* path = run->options.resume;
  run->pace_start = run->t_start;
  if (!path) return CLI_DONE;
  const char* why = NULL;
  SltStatus status = checkpoint_read(path, run->sim, &run->mark, &why);
  if (status == SLT_ERR_IO) return CLI_USAGE;
  if (status >= 0) status = slt_recorder_continue(run->recorder, &run->mark.recorder, &why);
  if (status == SLT_ERR_NOMEM) return out_of_memory();
  if (status < 0) {
    cli_error("cannot go on from %s: %s", path, why ? why : slt_status_text(status));
    cli_hint("--resume takes what --checkpoint FILE has written, with the same model and options");
    return CLI_USAGE;
  }
  // the checkpoint itself may be replaced by the next one, and by nothing else
  RunOptions others = run->options;
  if (others.checkpoint && files_are_same(others.checkpoint, path)) others.checkpoint = NULL;
  if (!run_outputs_spare(&others, run->default_csv)) return CLI_USAGE;
  run->pace_start = slt_sim_time(run->sim);
  if (run->t_end >= run->pace_start) return CLI_DONE;
  char now[32];
  char end[32];
  cli_error("the checkpoint is at t = %s, behind the end of the run at %s",
            cli_number_text(run->pace_start, now), cli_number_text(run->t_end, end));
  cli_hint("give a later end with --until");
  return CLI_USAGE;
}

// ---- the run ------------------------------------------------------------------------------------

static void on_warning(void* user, const SltDiagnostic* d) {
  Run* run = user;
  progress_hide(&run->progress);
  report_warning(&run->report, &run->source, d);
  run_warning_print(stderr, d);
}

static void append_undetermined(Run* run, const char* text) {
  size_t length = strlen(text);
  size_t room = sizeof run->undetermined - 1 - run->undetermined_used;
  if (length > room) {
    memcpy(run->undetermined + sizeof run->undetermined - 4, "...", 4);
    run->undetermined_used = sizeof run->undetermined - 1;
    return;
  }
  memcpy(run->undetermined + run->undetermined_used, text, length + 1);
  run->undetermined_used += length;
}

/// "T in mode Falling", once for each variable and mode.
static void note_undetermined(Run* run, const SltEvent* event) {
  char note[300] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < event->undetermined_count && used < sizeof note; i++) {
    int wrote =
        snprintf(note + used, sizeof note - used, "%s%s", i ? ", " : "", event->undetermined[i]);
    used += wrote > 0 ? (size_t)wrote : 0;
  }
  uint32_t count = slt_sim_automaton_count(run->sim);
  for (uint32_t i = 0; i < count && used < sizeof note; i++) {
    const char* name = slt_sim_automaton_name(run->sim, i);
    bool alone = count == 1 && strcmp(name, "main") == 0;
    int wrote = snprintf(note + used, sizeof note - used, "%s%s%s%s", i ? ", " : " in mode ",
                         alone ? "" : name, alone ? "" : " ", slt_sim_automaton_state(run->sim, i));
    used += wrote > 0 ? (size_t)wrote : 0;
  }
  if (strstr(run->undetermined, note)) return;
  if (run->undetermined_used) append_undetermined(run, "; ");
  append_undetermined(run, note);
}

static void on_event(void* user, const SltEvent* event) {
  Run* run = user;
  if (run->story) slt_story_event(run->story, event);
  if (run->graph) slt_graph_event(run->graph, event);
  if (run->figure) slt_figure_event(run->figure, event);
  if (event->undetermined_count) note_undetermined(run, event);
  report_event(&run->report, event);
  if (event->kind != SLT_EVENT_STOP || !event->text) return;
  size_t size = strlen(event->text) + 1;
  free(run->stop_text);
  run->stop_text = malloc(size);
  if (run->stop_text) memcpy(run->stop_text, event->text, size);
}

/// A row appears when the clock shows its time.
static void on_row(void* user, double t) {
  Run* run = user;
  pace_wait(&run->pace, t - run->pace_start, run->row_period);
}

/// Rows in the file, those of a run that was gone on with included.
static uint64_t rows_in_file(const Run* run) {
  bool counted = run->csv.csv || run->options.format.id == SLT_FORMAT_JSON_LINES;
  if (!counted || !run->csv.path) return slt_recorder_row_count(run->recorder);
  return output_row_count(&run->csv);
}

/// Where the rows of an unfinished run are.
static void say_what_is_kept(const Run* run) {
  if (run->csv.error || !run->csv.path) return;
  unsigned long long rows = rows_in_file(run);
  char t_text[32];
  if (rows == 0) {
    cli_note("no rows were written");
    return;
  }
  cli_note("%llu row%s up to t = %s %s in %s", rows, rows == 1 ? "" : "s",
           cli_number_text(slt_sim_time(run->sim), t_text), rows == 1 ? "is" : "are",
           is_stdout(run->csv.path) ? "standard output" : run->csv.path);
}

/// A limit that was asked for ends a run like an interruption does: everything is kept.
static void report_limit(const Run* run) {
  const RunLimits* limits = &run->options.limits;
  const char* option = run->progress.limit;
  char t_text[32];
  char value[32];
  double given = strcmp(option, "--timeout") == 0     ? limits->seconds
                 : strcmp(option, "--max-steps") == 0 ? (double)limits->steps
                                                      : (double)limits->events;
  cli_note("%s %s was reached at t = %s", option, cli_number_text(given, value),
           cli_number_text(slt_sim_time(run->sim), t_text));
}

/// A run that is ended within an instant cannot be saved there: the last checkpoint, if there is
/// one, is of an earlier time.
static void note_checkpoint(const Run* run) {
  char t_text[32];
  if (isnan(run->checkpoint_t)) {
    cli_note("it ended within an instant, before its first checkpoint");
  } else if (run->checkpoint_t < slt_sim_time(run->sim)) {
    cli_note("it ended within an instant; go on from t = %s with --resume %s and the same options",
             cli_number_text(run->checkpoint_t, t_text), run->options.checkpoint);
  } else {
    cli_note("go on with --resume %s and the same options", run->options.checkpoint);
  }
}

static int report_interrupt(const Run* run) {
  char t_text[32];
  if (run->progress.limit) {
    report_limit(run);
  } else {
    cli_note("interrupted at t = %s", cli_number_text(slt_sim_time(run->sim), t_text));
  }
  say_what_is_kept(run);
  if (run->options.checkpoint && run->checkpoint_exit == CLI_DONE) note_checkpoint(run);
  if (run->progress.limit) return CLI_RUN;
  return CLI_SIGNAL + progress_signal();
}

static int report_failure(const Run* run, SltStatus status) {
  run_error_print(run->sim, status);
  say_what_is_kept(run);
  return CLI_RUN;
}

/// What the files say counts before what the run says: a full disk also ends the run.
static int report_outputs(const Run* run) {
  int csv = run->csv.path ? output_report(&run->csv, "rows") : CLI_DONE;
  int events = run->events.path ? output_report(&run->events, "records") : CLI_DONE;
  if (csv == CLI_PIPE || events == CLI_PIPE) return CLI_PIPE;
  return csv != CLI_DONE ? csv : events;
}

static RunSummary summarize(const Run* run, SltStatus status, double wall) {
  return (RunSummary){.model = run->title,
                      .sim = run->sim,
                      .t = slt_sim_time(run->sim),
                      .stopped = status == SLT_END,
                      .unfinished = status < 0,
                      .stop_text = run->stop_text,
                      .undetermined = run->undetermined,
                      .wall = wall,
                      .csv = &run->csv,
                      .events = &run->events,
                      .pace = &run->pace,
                      .plot = run->options.plot,
                      .report = run->options.report,
                      .native = slt_model_native_report(run->model),
                      .rows = rows_in_file(run)};
}

/// What is made of the rows when they are all there; rows of a run that did not finish count too.
static int write_products(Run* run, const RunSummary* summary, SltStatus status) {
  const RunOptions* o = &run->options;
  const SltTable* table = slt_recorder_table(run->recorder);
  int exit = CLI_DONE;
  if (o->plot && slt_table_row_count(table) > 0) {
    exit = figure_write(run->figure, &o->figure, table, o->plot);
  }
  if (!o->report) return exit;
  if (status == SLT_ERR_CANCELLED) {
    run->report.failure = run->progress.limit ? "A limit was reached." : "It was interrupted.";
  }
  if (status < 0 && status != SLT_ERR_CANCELLED) {
    SltRunError error = slt_sim_error(run->sim);
    run->report.failure =
        error.rendered && error.rendered[0] ? error.rendered : slt_status_text(status);
  }
  const ReportRun about = {.summary = summary,
                           .model = run->model,
                           .table = table,
                           .options = o,
                           .experiment = &run->experiment,
                           .source = &run->source};
  int reported = report_write(&run->report, &about, status);
  return exit == CLI_DONE ? reported : exit;
}

/// The last of the rows, and the end of their file. What a run that failed has recorded counts too.
static void close_outputs(Run* run) {
  SltStatus status = slt_recorder_finish(run->recorder);
  bool unfinished = status < 0 && status != SLT_ERR_IO;
  if (unfinished && run->options.format.whole) {
    output_abandon(&run->csv, status == SLT_ERR_LIMIT ? EFBIG : ENOMEM);
  }
  output_close(&run->csv);
  output_close(&run->events);
}

/// Now and then, so that little is lost when a run has to be ended at once.
static void flush_rows(void* user) {
  slt_recorder_flush(((Run*)user)->recorder);
}

/// From a signal handler.
static void leave_outputs(void* user) {
  const Run* run = user;
  output_leave(&run->csv);
  output_leave(&run->events);
  slt_model_native_kill(run->model);
}

static int run_and_report(Run* run) {
  slt_sim_on_warning(run->sim, on_warning, run);
  slt_recorder_on_event(run->recorder, on_event, run);
  run->progress = (Progress){.sim = run->sim,
                             .t_start = run->t_start,
                             .t_end = run->t_end,
                             .quiet = run->options.quiet || run->options.explain,
                             .to_stdout = is_stdout(run->csv.path) || is_stdout(run->events.path),
                             .limits = run->options.limits,
                             .on_tick = flush_rows,
                             .on_leave = leave_outputs,
                             .user = run};
  progress_begin(&run->progress);
  if (run->options.checkpoint) {
    run->checkpoint_begun = wall_clock();
    run->checkpoint_t = (double)NAN;
    slt_sim_on_step(run->sim, on_step, run);
  }
  pace_begin(&run->pace, run->options.realtime);
  double every = isnan(run->options.every) ? run->experiment.every : run->options.every;
  double samples = run->options.samples ? (double)run->options.samples : 500.0;
  run->row_period = isnan(every) ? (run->t_end - run->t_start) / samples : every;
  if (run->options.realtime > 0.0) slt_recorder_on_row(run->recorder, on_row, run);
  SltStatus status = replay_run(&run->replay, run->sim, run->recorder, run->t_end);
  if (status >= 0) slt_sim_conclude(run->sim);
  double wall = progress_end(&run->progress);
  // the end too: a later one can be reached from it
  if (run->options.checkpoint && status == SLT_OK) save_checkpoint(run);
  close_outputs(run);
  // an error of writing is reported when standard output is finished
  bool untold = run->story && slt_story_end(run->story, status) == SLT_ERR_NOMEM;
  if (run->story) {
    slt_graph_write_unreached(run->graph, (SltWriter){stdout_write_text, &run->story_text});
  }

  int exit = report_outputs(run);
  if (untold && exit == CLI_DONE) exit = out_of_memory();
  if (exit == CLI_PIPE) return exit;
  if (status == SLT_ERR_CANCELLED) {
    exit = report_interrupt(run);
  } else if (status < 0 && status != SLT_ERR_IO) {
    exit = report_failure(run, status);
  }
  if (exit == CLI_DONE) exit = run->checkpoint_exit;
  RunSummary summary = summarize(run, status, wall);
  int written = write_products(run, &summary, status);
  if (exit == CLI_DONE) exit = written;
  if (run->options.graph) {
    int drawn = graph_write(run->graph, run->title, run->options.graph);
    if (exit == CLI_DONE) exit = drawn;
  }
  if (exit == CLI_DONE && !run->options.quiet && !run->options.explain) {
    summary_write(stderr, &summary);
  }
  return exit;
}

static int begin_story(Run* run) {
  bool told = run->options.explain && !run->options.explain_json;
  if ((run->options.graph || told) && slt_graph_create(run->model, &run->graph) < 0)
    return out_of_memory();
  if (!told) return CLI_DONE;
  SltStatus status =
      slt_story_create(run->sim, run->options.explain_all,
                       (SltWriter){stdout_write_text, &run->story_text}, &run->story);
  if (status < 0) return out_of_memory();
  char start[32];
  char end[32];
  cli_print(stdout, "%s from t = %s to t = %s\n", run->source.name,
            cli_number_text(run->t_start, start), cli_number_text(run->t_end, end));
  return CLI_DONE;
}

/// Expressions of --out are compiled with the model, patterns are what they mean.
static int resolve_out(Run* run) {
  uint32_t warnings = 0;
  size_t length = run->source.length;
  const CliNames* asked = &run->asked;
  if (!out_spread(run->model, &run->options.out, &run->asked)) return CLI_RUN;
  if (!out_add_macros(run->model, asked, &run->source)) return CLI_RUN;
  if (run->source.length != length || out_may_observe(run->model, asked)) {
    run->source.observe = *asked;
    run->source.again = true;
    slt_model_free(run->model);
    run->model = model_load(&run->source, &run->options.settings, &warnings);
    if (!run->model) return CLI_MODEL;
  }
  return out_expand(run->model, asked, &run->out) ? CLI_DONE : CLI_RUN;
}

/// Steps are either of a fixed length or chosen: what is said about the other kind is a mistake.
static bool steps_fit(const Run* run) {
  const SltSimOptions* sim = &run->options.sim;
  const char* name = sim->method ? sim->method : run->experiment.method;
  bool fixed = false;
  for (uint32_t i = 0; name && i < slt_method_count(); i++) {
    SltMethod method = slt_method_get(i);
    if (strcmp(method.name, name) == 0) fixed = !method.adaptive;
  }
  const char* idle = !fixed               ? (isnan(sim->step) ? NULL : "--step")
                     : !isnan(sim->h0)    ? "--h0"
                     : !isnan(sim->h_min) ? "--hmin"
                     : !isnan(sim->h_max) ? "--hmax"
                                          : NULL;
  if (!idle) return true;
  cli_error("%s has nothing to say beside the method %s, which %s", idle, name ? name : "auto",
            fixed ? "has steps of one length" : "chooses its steps");
  cli_hint(fixed ? "--step is their length"
                 : "--hmax bounds them; --every is the distance of rows; `saltus methods` shows "
                   "which methods have steps of one length");
  return false;
}

static int prepare(Run* run) {
  uint32_t warnings = 0;
  run->model = model_load(&run->source, &run->options.settings, &warnings);
  if (!run->model) return CLI_MODEL;
  int resolved = resolve_out(run);
  if (resolved != CLI_DONE) return resolved;
  run->experiment = slt_model_experiment(run->model);
  if (run->options.replay && !replay_read(run->options.replay, &run->replay)) return CLI_USAGE;
  const char* method = run->options.sim.method ? NULL : run->experiment.method;
  if (method && !run_method_known("experiment { method }", method)) return CLI_MODEL;
  if (!steps_fit(run)) return CLI_USAGE;
  if (!measures_are_good(run->model)) return CLI_MODEL;
  if (!name_outputs(run)) return out_of_memory();
  if (!run_outputs_spare(&run->options, run->default_csv)) return CLI_USAGE;
  int exit = choose_times(run);
  if (exit == CLI_DONE) exit = create_sim(run);
  if (exit == CLI_DONE) exit = create_recorder(run);
  if (exit == CLI_DONE) exit = figure_check_model(&run->options.figure, run->model);
  if (exit == CLI_DONE && run->options.plot) {
    exit = prepare_figure(run, "--plot", run->title, &run->figure);
  }
  if (exit == CLI_DONE && run->options.report) exit = prepare_report(run);
  if (exit == CLI_DONE) exit = resume(run);
  if (exit == CLI_DONE) exit = open_outputs(run);
  return exit == CLI_DONE ? begin_story(run) : exit;
}

static int run_command(bool explain, int argc, char** argv) {
  Run run = {.csv = {.fd = -1}, .events = {.fd = -1}};
  int exit = run_options_parse(explain, argc, argv, &run.options);
  if (exit == CLI_DONE && !source_open(&run.source, run.options.model)) exit = CLI_MODEL;
  run.source.includes = run.options.includes;
  bool cyclic = exit == CLI_DONE && cyclic_is_wanted(&run.options, &run.source);
  if (cyclic && run.options.graph) {
    cli_error("--graph draws automata, which the scan of cyclic execution has none of");
    exit = CLI_USAGE;
    cyclic = false;
  }
  if (cyclic && run.options.replay) {
    cli_error("--replay changes values of a run with located events, not of cyclic execution");
    exit = CLI_USAGE;
    cyclic = false;
  }
  if (cyclic) exit = cyclic_run(&run.options, &run.source);
  if (exit == CLI_DONE && !cyclic) exit = prepare(&run);
  if (exit == CLI_DONE && !cyclic) exit = run_and_report(&run);
  output_close(&run.csv);
  output_close(&run.events);
  replay_clear(&run.replay);
  slt_story_free(run.story);
  slt_graph_free(run.graph);
  slt_figure_free(run.figure);
  report_clear(&run.report);
  slt_recorder_free(run.recorder);
  slt_sim_free(run.sim);
  slt_model_free(run.model);
  cli_names_clear(&run.out);
  cli_names_clear(&run.asked);
  free(run.default_csv);
  free(run.title);
  free(run.stop_text);
  source_close(&run.source);
  run_options_clear(&run.options);
  return exit;
}

static int run_model(int argc, char** argv) {
  return run_command(false, argc, argv);
}

int command_run(int argc, char** argv) {
  if (fmu_is_named(argc, argv)) return command_fmu("run", argc, argv);
  return run_several(argc, argv, run_model);
}

int command_explain_run(int argc, char** argv) {
  int exit = run_command(true, argc, argv);
  inputs_clear();
  return exit;
}
