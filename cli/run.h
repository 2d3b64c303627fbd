// SPDX-License-Identifier: MIT
//
// The parts of `saltus run`: its options, and what it shows while and after it runs.
#ifndef SALTUS_CLI_RUN_H
#define SALTUS_CLI_RUN_H

#include "figure.h"

/// Where a run is to end though its time is not over; 0: no limit.
typedef struct RunLimits {
  uint64_t steps, events;
  double seconds;
} RunLimits;

typedef struct RunOptions {
  const char* model;
  double until;  // NaN: the experiment's, else 10
  SltSimOptions sim;
  CliSettings settings;
  CliNames includes;  // folders for files that a model includes
  CliNames out;       // count 0: the experiment's, else all variables
  double every;       // NaN: not given
  uint32_t samples;   // 0: not given
  bool all_steps;
  bool units;        // a row with the units of the columns
  const char* csv;   // where the rows go; NULL: the default file
  SltFormat format;  // of the rows
  SltEventRows event_rows;
  const char* events;
  const char* plot;
  CliFigure figure;  // settings of the picture
  const char* report;
  bool quiet;
  SltNativeWhen native;
  const char* solver;  // an option given that steers the integration; NULL: none
  bool explain;        // `saltus explain --run`: tell what happens instead of writing rows
  bool explain_json;   // as event records
  bool explain_all;    // every instant
  const char* graph;   // picture of the automata; NULL: none
  double cyclic;       // period of cyclic execution; NaN: not given
  RunLimits limits;
  double realtime;          // pace, 1 is the clock's; 0: as fast as possible
  const char* checkpoint;   // file for the state of the run; NULL: none
  double checkpoint_every;  // seconds between two of them
  const char* resume;       // file to go on from; NULL: none
  const char* replay;       // file of values that change during the run; NULL: none
} RunOptions;

/// What has been written when a checkpoint was: where its files go on.
typedef struct CheckpointMark {
  SltRecorderMark recorder;
  uint64_t csv_offset, csv_lines;
  uint64_t events_offset, events_lines;
  bool csv_regular, events_regular;  // a file that can be gone on with
  bool has_events;
} CheckpointMark;

/// Replace the file by the present state; CLI_DONE, or another status after a message.
int checkpoint_write(const char* path, const SltSim* sim, const CheckpointMark* mark);
/// Put the run where a checkpoint has left it. SLT_ERR_IO after a message; for other failures `why`
/// says what does not fit, or is NULL.
SltStatus checkpoint_read(const char* path, SltSim* sim, CheckpointMark* mark, const char** why);

/// A value that is written during a run.
typedef struct ReplayChange {
  double t, value;
  char* name;
} ReplayChange;

/// What is written, in the order of time (replay.c).
typedef struct Replay {
  ReplayChange* changes;
  uint32_t count;
} Replay;

/// Read a list of changes; false after a message. Clear it in any case.
bool replay_read(const char* path, Replay* out);
void replay_clear(Replay* replay);
/// Record a run with its changes; prints a message when one cannot be made.
SltStatus replay_run(const Replay* replay, SltSim* sim, SltRecorder* recorder, double t_end);
/// Give a constant or a variable a value from the present time on.
SltStatus replay_write(SltSim* sim, const char* name, double value);

/// Items of --out with a pattern, `room*.T - 273.15`, as one for each name it means (out.c); false
/// after a message.
bool out_spread(const SltModel* model, const CliNames* asked, CliNames* out);
/// Patterns of --out as the names they mean; false after a message.
bool out_expand(const SltModel* model, const CliNames* asked, CliNames* out);
/// Put expressions of --out behind the model's text, as macros; it is to be compiled anew then.
bool out_add_macros(const SltModel* model, const CliNames* asked, ModelSource* source);

/// Whether --out names something that the model has no quantity for: perhaps a condition, which it
/// is to be compiled anew for.
bool out_may_observe(const SltModel* model, const CliNames* asked);

/// Runs of several models, and runs again when a file changes (several.c).
typedef int RunFn(int argc, char** argv);
int run_several(int argc, char** argv, RunFn* run);
/// Places of the arguments that are no options, and their number; -1 after a message.
int run_words(int argc, char** argv, int* places);

/// Cyclic execution of rule tables (cyclic.c): whether it is asked for, and the whole run.
bool cyclic_is_wanted(const RunOptions* options, ModelSource* source);
int cyclic_run(const RunOptions* options, ModelSource* source);

/// Whether the outputs leave all files alone that were read; prints a message when not.
bool run_outputs_spare(const RunOptions* options, const char* default_csv);

/// Options of `run`, or with `explain` those of `explain --run`. Returns CLI_DONE, or the exit
/// status after a message. Clear the options in any case.
int run_options_parse(bool explain, int argc, char** argv, RunOptions* out);

/// Whether there is a method `text`; complains in the name of `where` if not.
bool run_method_known(const char* where, const char* text);
void run_options_clear(RunOptions* options);

/// What is shown during a run, and the answer to Ctrl-C. There is one at a time.
typedef struct Progress {
  SltSim* sim;  // NULL: the run calls progress_poll()
  double t_start, t_end;
  const char* what;  // is counted, in place of the time of a run; NULL: that time
  bool quiet;
  bool to_stdout;  // results go to standard output
  RunLimits limits;
  const char* limit;             // the option of the limit that ended the run; NULL: none did
  void (*on_tick)(void* user);   // ten times a second, between steps; NULL: nothing
  void (*on_leave)(void* user);  // from a signal handler, before the process ends at once
  void* user;
  uint64_t ticks;  // tenths of a second so far, as far as they were noticed
  // the rest belongs to progress.c
  bool terminal;   // a bar; else lines
  bool shown;      // a bar stands on the terminal
  double begun;    // wall clock, seconds
  double printed;  // time of the last line
} Progress;

/// Begin, with the first fields filled in: catches SIGINT and SIGTERM, and asks to be called
/// between steps.
void progress_begin(Progress* progress);
/// Takes the bar away and gives the signals back. Returns the wall time in seconds.
double progress_end(Progress* progress);
/// For what has no callback between steps: show the progress at time t; true when the run is to
/// end.
bool progress_poll(Progress* progress, double t);
/// Remove the bar so that a message can be printed.
void progress_hide(Progress* progress);
/// The signal that ended the run: 0 for none.
int progress_signal(void);

/// Keeping pace with the clock (pace.c).
typedef struct Pace {
  double factor;      // model time per second; 0: as fast as possible
  double begun;       // wall clock, seconds
  uint64_t overruns;  // what came more than a period late
  double worst;       // lateness, seconds
} Pace;

void pace_begin(Pace* pace, double factor);
/// Wait until it is time for what belongs to `model_time` after the start, or note that it is late.
/// `period` is the distance to the next.
void pace_wait(Pace* pace, double model_time, double period);
/// The line of the summary; nothing unless pace was kept. `what`: "cycles began".
void pace_print(FILE* out, const Pace* pace, const char* what);

/// The lines after a run.
typedef struct RunSummary {
  const char* model;
  SltSim* sim;
  double t;
  bool stopped;              // by the model
  bool unfinished;           // by an error, a limit or a signal
  const char* stop_text;     // may be NULL
  const char* undetermined;  // "T in mode Falling; ...", empty when there was none
  double wall;
  const Output* csv;
  const Output* events;
  const char* plot;
  const char* report;
  uint64_t rows;
  const Pace* pace;
  SltNativeReport native;
} RunSummary;

void summary_write(FILE* out, const RunSummary* summary);

/// A text that grows.
typedef struct ReportText {
  FILE* file;
  char* data;
  size_t size;  // both after fflush()
} ReportText;

/// False when memory is exhausted; clear it in any case.
bool text_open(ReportText* text);
void text_clear(ReportText* text);

/// Text as part of a page; and how a page begins, up to its heading.
void report_escape(FILE* out, const char* text, size_t length);
void report_head(FILE* out, const char* title);

/// The picture of automata as "svg", "dot", "png" or "pdf" (graph.c); false when it cannot be made.
bool graph_make(const SltGraph* graph, const char* title, const char* format, ReportText* out);

/// A page about the run (report.c).
typedef struct Report {
  ReportText rows;      // of the table of events; without a file: no report is wanted
  ReportText records;   // events as data
  ReportText story;     // and told
  ReportText warnings;  // of the run
  SltStory* told;
  SltGraph* graph;
  SltFigure* figure;      // its picture and charts; owned
  uint64_t count;         // of events
  uint64_t record_count;  // the first instant included
  const char* failure;    // why the run did not finish, or NULL
} Report;

/// What a report is about.
typedef struct ReportRun {
  const RunSummary* summary;
  const char* summary_text;      // NULL: made of `summary`
  const SltModel* model;         // NULL: rules are scanned
  const struct SltRules* rules;  // ... these
  double period;                 // ... and at this period
  const SltTable* table;
  const RunOptions* options;
  const SltExperiment* experiment;
  const ModelSource* source;
} ReportRun;

/// Takes the figure, which has its table or gets it before the page is made. False when memory is
/// exhausted. Clear it in any case. Without a run its story is told by the caller.
bool report_begin(Report* report, SltSim* sim, const SltModel* model, SltFigure* figure);
void report_event(Report* report, const SltEvent* event);
void report_warning(Report* report, const ModelSource* source, const SltDiagnostic* warning);
/// The page as text, to be freed; NULL when memory is exhausted.
char* report_make(Report* report, const ReportRun* run, SltStatus status, size_t* size);
/// Write the page to options->report; returns the exit status. `status` is that of the run.
int report_write(Report* report, const ReportRun* run, SltStatus status);
void report_clear(Report* report);

#endif
