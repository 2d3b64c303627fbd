// SPDX-License-Identifier: MIT
//
// The command line, on the public headers only. Results go to standard output or to files, all
// messages to standard error; every command returns the exit status of the program.
#ifndef SALTUS_CLI_H
#define SALTUS_CLI_H

#include <saltus/saltus.h>
#include <saltus/saltus_rules.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/// Exit status: other programs rely on these.
typedef enum CliExit {
  CLI_DONE = 0,
  CLI_MODEL = 1,     // the model is unreadable or wrong
  CLI_USAGE = 2,     // wrong usage
  CLI_RUN = 3,       // the run failed after it began
  CLI_SIGNAL = 128,  // and the number of the signal that ended it
  CLI_PIPE = 141
} CliExit;

// ---- messages (message.c) -----------------------------------------------------------------------

/// Whether standard error takes colours: a terminal, and NO_COLOR is not set.
bool cli_colour(void);
/// "saltus: error: ..."; lower case, no full stop.
void cli_error(const char* format, ...) __attribute__((format(printf, 1, 2)));
/// A warning of a run, and why one has failed, as they are rendered.
void run_warning_print(FILE* out, const SltDiagnostic* d);
void run_error_print(SltSim* sim, SltStatus status);
/// Says so; returns CLI_RUN.
int out_of_memory(void);
/// "  hint: ...": the way out.
void cli_hint(const char* format, ...) __attribute__((format(printf, 1, 2)));
/// "saltus: ...".
void cli_note(const char* format, ...) __attribute__((format(printf, 1, 2)));
/// fprintf for people: names and texts of models are shown in a form that does nothing to a
/// terminal.
void cli_print(FILE* out, const char* format, ...) __attribute__((format(printf, 2, 3)));
/// Shortest usual text of a number, for people.
const char* cli_number_text(double value, char out[32]);

/// The entry nearest to `word`, or NULL when none is near.
const char* cli_nearest(const char* word, const char* const* words, size_t count);

// ---- options (options.c) ------------------------------------------------------------------------

typedef enum OptionArgument { OPTION_FLAG, OPTION_VALUE, OPTION_MAYBE } OptionArgument;

typedef struct OptionSpec {
  const char* name;    // with its dashes
  const char* letter;  // short form "-o" or NULL
  OptionArgument argument;
} OptionSpec;

typedef struct OptionParser {
  const char* command;
  const OptionSpec* specs;
  size_t spec_count;
  struct CliFigure* figure;  // takes settings of pictures (figure.h); NULL: none are taken
  int argc;
  char** argv;
  int at;
  bool words_only;    // after "--"
  const char* value;  // of the last option (NULL for a flag), or the last word
  uint64_t given;     // bit i: specs[i] was there; there are fewer than 64
} OptionParser;

/// What an option speaks about is there only with another one, or only without it.
typedef struct OptionRule {
  int option, other;
  bool without;
} OptionRule;

#define OPTION_WORD (-1)  // an argument that is no option
#define OPTION_END  (-2)
#define OPTION_BAD  (-3)  // a message was printed

/// Index of the next option in `specs`, or one of the above.
int option_next(OptionParser* parser);

/// Whether every option that was given has something to say. False after a message.
bool option_rules_hold(const OptionParser* parser, const OptionRule* rules, size_t count);
/// The first of the options a..b that was given; NULL: none.
const char* option_first(const OptionParser* parser, int a, int b);

/// Strict and independent of the locale; messages name the option. False when it was wrong.
bool option_number(const char* option, const char* text, double* out);
/// The same, and greater than zero.
bool option_positive(const char* option, const char* text, double* out);
/// A time: a number, with a unit if wanted: 10min, 1h, 250ms.
bool option_time(const char* option, const char* text, double* out);
/// The same, and greater than zero.
bool option_span(const char* option, const char* text, double* out);
/// A number or a formula of numbers: 1/3, 2*(3 + 4).
bool cli_read_value(const char* text, double* out);
bool option_count(const char* option, const char* text, uint64_t least, uint64_t most,
                  uint64_t* out);
/// Position of `text` in `words`, or -1 with a message.
int option_choice(const char* option, const char* text, const char* const* words, size_t count);
/// Read a decimal number; false unless the whole text is one.
bool cli_read_number(const char* text, double* out);

/// A list of names; clear it with cli_names_clear().
typedef struct CliNames {
  char* storage;  // of all names; NULL: each has its own
  const char** items;
  uint32_t count;
} CliNames;

/// Names separated by commas; backquotes keep a name with commas together. False with a message
/// when it is malformed.
bool cli_names_parse(const char* option, const char* text, CliNames* out);
/// Add a copy of a name (not to a list that was parsed), once; false after a message.
bool cli_names_keep(CliNames* names, const char* name);
void cli_names_clear(CliNames* names);

/// Constants set from outside, collected from --set NAME=VALUE.
typedef struct CliSettings {
  SltOverride* items;
  uint32_t count;
} CliSettings;

/// False with a message when it is malformed.
bool cli_settings_add(CliSettings* settings, const char* text);
/// The name from `begin` to `end`, without blanks and backquotes around it.
bool cli_settings_push(CliSettings* settings, const char* begin, const char* end, double value);
void cli_settings_clear(CliSettings* settings);

/// Take `word` as the command's model; false with a message when there is one already.
bool cli_one_model(const char* command, const char* word, const char** path);

// ---- output (output.c) --------------------------------------------------------------------------

/// Where results go. Every write is counted, so that after a failure we can say what is safe.
/// Text on its way to people, which must do nothing to their terminal.
typedef struct StdoutText {
  SltWriter out;  // standard output where it has no function
  char begun[4];  // a character that comes in two pieces
  size_t length;
} StdoutText;

typedef struct Output {
  const char* path;  // "-" is standard output; NULL: not wanted
  bool whole;        // of no use before its end: what was there stays until then
  bool late;    // the first that is written, the names of columns, waits for the next: until there
                // are rows, what was there stays
  bool packed;  // its lines cannot be counted
  bool csv;     // names of columns stand above the rows; a line end inside of quotes ends no line
  bool units;   // and units below the names
  bool again;   // may take the place of a file that was read: the next checkpoint
  // the rest belongs to output.c
  char* held;  // what waits
  int fd;
  bool regular;
  bool terminal;    // people see it: names may be text that acts
  StdoutText seen;  // of a terminal
  int error;        // errno of the first failure; 0: none
  bool quoted;      // the last byte stands inside of quotes
  uint64_t lines;   // whole lines that have been written
  uint64_t offset;  // bytes written
  uint64_t tail;    // bytes behind the last whole line
  uint64_t last;    // length of that line
  char* fresh;      // the new file, until it takes its place
  char* target;     // that place
} Output;

/// Open for writing. Prints a message and returns false when it cannot be.
bool output_open(Output* output);
/// Open to go on behind `offset` bytes and `lines` lines that it has; what follows them is dropped.
/// Prints a message and returns false when it cannot be, or does not begin with the line `header`
/// (NULL: whatever it is).
bool output_continue(Output* output, uint64_t offset, uint64_t lines, const char* header);
/// SltWriteFn over an Output.
SltStatus output_write(void* output, const char* data, size_t length);
/// A line that is put together before it is written: NULL where memory is exhausted, which is then
/// the error of the output. line_close() writes it.
typedef struct OutputLine {
  Output* output;
  FILE* file;
  char* text;
  size_t size;
} OutputLine;
FILE* line_open(OutputLine* line, Output* output);
void line_close(OutputLine* line);
/// Close, and mark a file as ours. Errors are in `error` as those of writing are.
void output_close(Output* output);
/// Close what could not be made for another reason than writing, given as an errno.
void output_abandon(Output* output, int cause);
/// From a signal handler: leave whole lines behind, or nothing.
void output_leave(const Output* output);
/// From a signal handler: take away all new files that have not taken their names.
void output_drop_fresh(void);
/// A handler that does this, and then ends the program as the signal would have.
void output_on_signal(int signal_number);
/// Install it where a signal would just end the program (progress.c).
void signals_tidy(void);
/// Whole lines that have been written, without those above the rows.
uint64_t output_row_count(const Output* output);
/// Say what went wrong with an output and what is safe; returns the exit status.
int output_report(const Output* output, const char* what);
/// Put a whole content into a file, or leave the file as it is; returns the exit status.
int output_replace(const char* path, const char* data, size_t length);
/// The same where the file may be one that was read.
int output_rewrite(const char* path, const char* data, size_t length);

/// Whether a default output may be overwritten: it does not exist, is empty, or saltus wrote it.
/// Files we write carry a mark (an extended attribute); where the file system keeps none, the file
/// must begin with the very header that is about to be written.
bool output_is_ours(const char* path, const char* header);
/// Whether somebody else has written what is there, as far as the file system tells.
bool output_is_foreign(const char* path);
/// Whether a file that nobody named may be written, else says so.
bool output_implied(const char* path);
/// Mark a file that a library has written for us as ours.
void output_claim(const char* path);
/// Whether an output leaves all files alone that are read, and could be opened; else says so. To be
/// asked before the work whose result it is.
bool output_allowed(const char* path);

// ---- input (input.c) ----------------------------------------------------------------------------

#define SOURCE_LIMIT     ((size_t)256 << 20)  // bytes of a model or a table
#define TABLE_LIMIT      ((size_t)8 << 30)    // of results
#define CHECKPOINT_LIMIT ((size_t)16 << 30)

/// Remember a file that was read or written, by device and inode; false when memory is exhausted.
/// input_read(), source_load() and output_open() do so by themselves.
bool inputs_add(const char* path);
/// Forget them, at the end of a command or before a file is put in order in its place.
void inputs_clear(void);
/// Files that the models of this program have named so far: those they include, tables.
const CliNames* inputs_named(void);
/// Whether an output leaves all of them alone, by whatever name; else says so. output_open() asks
/// too: a command asks itself where that saves the user a run whose result cannot be written.
bool inputs_spare(const char* path);

/// A model as it was given, read once.
typedef struct ModelSource {
  const char* path;  // "-" is standard input
  const char* name;  // in messages
  char* text;        // NULL for a folder of tables
  size_t length;
  bool folder;
  bool beside;        // it has a folder, in which the files it names are looked for
  CliNames includes;  // further folders for them; not owned
  CliNames observe;   // conditions that are to be columns; not owned
  bool again;         // its warnings have been printed
  CliNames warnings;  // these, as they were printed
  char* elsewhere;    // where the file that was read last stands, if not beside it
} ModelSource;

/// False after a message.
bool source_open(ModelSource* source, const char* path);
/// Says so where tables ask for cyclic execution and get the located one (cyclic.c).
void cyclic_tell_located(ModelSource* source);
void source_close(ModelSource* source);
/// SltPlaceFn over a ModelSource.
const char* source_elsewhere(void* source);
/// SltLoadFn over a ModelSource.
SltStatus source_load(void* source, const char* name, const SltAllocator* allocator, char** content,
                      size_t* length);

/// The whole content; NULL after a message. Free with free(). `what` is "model" or "table";
/// `streams`: pipes and terminals too.
char* input_read(const char* path, const char* what, bool streams, size_t limit, size_t* length);
/// A table of numbers from CSV; NULL after a message. Free with slt_table_free().
SltTable* input_table(const char* path);

// ---- names of files (files.c) -------------------------------------------------------------------

/// Whether both names lead to one file, or would.
bool files_are_same(const char* a, const char* b);

/// Without folders.
const char* path_base(const char* path);
/// "hoop.csv" from "models/hoop.rules.md" or "models/hoop/" and ".csv"; free() it. NULL: no memory.
char* path_title(const char* model, const char* ending);
bool path_ends_with(const char* path, const char* suffix);
/// Whether a table that is CSV and nothing else may go there: to `-`, or to a file that does not
/// promise something else by its ending. Else says so.
bool csv_path_check(const char* path);
/// Make a folder and those above it, closed to others; false with errno.
bool folder_make(const char* path);

/// Flush standard output at the end of a command; returns `status`, or the exit status of the
/// failure.
int stdout_finish(int status);
/// SltWriteFn over standard output, for data...
SltStatus stdout_write(void* user, const char* data, size_t length);
/// ...and for text that people read, see cli_print(). Its user is a StdoutText, zeroed at first.
SltStatus stdout_write_text(void* user, const char* data, size_t length);
/// Show an address or a file in the user's browser; false where there is none (shelf.c).
bool browser_open(const char* address);
/// The folder that holds models/ and docs/, PATH_MAX bytes; false when there is none.
bool shelf_data_root(char* root);
/// Columns of the terminal on standard output, 80 when it is none.
uint32_t terminal_width(void);

// ---- models -------------------------------------------------------------------------------------

/// Compile a model and print its diagnostics. NULL after a message.
SltModel* model_load(ModelSource* source, const CliSettings* settings, uint32_t* warnings);
/// The same with warnings about modes that a run may come to.
SltModel* model_load_to_check(ModelSource* source, const CliSettings* settings, uint32_t* warnings);

/// The same for rule tables that are not to be lowered to equations; NULL settings: none.
/// `silent`: say nothing when they are wrong.
SltRules* rules_load(ModelSource* source, const CliSettings* settings, bool silent);

/// Whether `path` is a file for the picture of automata; prints a message when not.
bool graph_path_check(const char* path);
/// Write the picture of a model's automata.
int graph_write(const SltGraph* graph, const char* title, const char* path);
/// Whether `path` is a picture we can write; prints a message when not.
bool plot_path_check(const char* option, const char* path);
/// What it is, by its ending; "-" is the terminal.
SltPlotFormat plot_path_format(const char* path);

// ---- compiled equations (native.c) --------------------------------------------------------------

/// $XDG_CACHE_HOME/saltus, else ~/.cache/saltus. False when neither is known.
bool native_cache_folder(char* out, size_t size);
/// $SALTUS_CC, else cc, gcc or clang on the PATH, as an absolute path.
bool native_find_compiler(char* out, size_t size);
/// Let runs of the model use both.
SltStatus native_prepare(SltModel* model, SltNativeWhen when);

// ---- commands -----------------------------------------------------------------------------------

/// Whether a command that makes experiments is to write a page about itself (`--report FILE.html`),
/// and running it so (report_experiment.c). Returns the exit status of the command.
typedef int ReportCommand(int argc, char** argv);
bool report_is_asked(const char* command, int argc, char** argv);
int report_experiment(const char* command, ReportCommand* run, int argc, char** argv);

int command_run(int argc, char** argv);
int command_check(int argc, char** argv);
int command_explain(int argc, char** argv);
int command_explain_run(int argc, char** argv);  // with --run: takes the options of `run`
int command_plot(int argc, char** argv);
int command_new(int argc, char** argv);
int command_diff(int argc, char** argv);
int command_names(int argc, char** argv);
int command_methods(int argc, char** argv);
int command_gallery(int argc, char** argv);
int command_docs(int argc, char** argv);
int command_convert(int argc, char** argv);
int command_fmt(int argc, char** argv);
int command_lsp(int argc, char** argv);
int command_serve(int argc, char** argv);
int command_watch(int argc, char** argv);
int command_export(int argc, char** argv);
/// `run` and `check` of a foreign FMU; whether one is named.
/// What computes FMUs inside of models (`fmu`); NULL where the program cannot read FMUs.
const SltForeign* cli_foreign(void);
/// Whether a model that was compiled names an FMU.
bool cli_foreign_used(void);
bool fmu_is_named(int argc, char** argv);
int command_fmu(const char* command, int argc, char** argv);
int command_cache(int argc, char** argv);
int command_measure(int argc, char** argv);
int command_sweep(int argc, char** argv);
int command_sens(int argc, char** argv);
int command_compare(int argc, char** argv);
int command_fit(int argc, char** argv);
int command_optimize(int argc, char** argv);
int command_steady(int argc, char** argv);
int command_linearize(int argc, char** argv);

/// Whether a word is the code of a message, such as E0203 (shelf.c).
bool message_is_code(const char* word);
/// Print the help of a command, or the general one for NULL (help.c). False when there is none.
bool help_print(FILE* to, const char* command);

#endif
