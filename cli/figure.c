// SPDX-License-Identifier: MIT
//
// Pictures from the command line: settings that come as options, tables, events, files.
#define _POSIX_C_SOURCE 200809L
#include "figure.h"

#include "json.h"
#include "run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static SltStatus swallow(void* user, const char* data, size_t length) {
  (void)user;
  (void)data;
  (void)length;
  return SLT_OK;
}

// ---- settings -----------------------------------------------------------------------------------

static int find_key(const char* text, size_t length) {
  for (uint32_t i = 0; i < slt_figure_key_count(); i++) {
    const char* name = slt_figure_key(i).name;
    if (strlen(name) == length && memcmp(name, text, length) == 0) return (int)i;
  }
  return -1;
}

int figure_option_find(const char* text, size_t length) {
  static const char old[] = "--plot-x";  // what `--x` was called before there were others
  if (length == sizeof old - 1 && memcmp(text, old, length) == 0) return find_key("x", 1);
  return length > 2 && memcmp(text, "--", 2) == 0 ? find_key(text + 2, length - 2) : -1;
}

/// Say that a value is none of a setting's.
static void refuse_value(const char* where, SltFigureKey key, const char* value) {
  cli_error("%s%s takes %s, not `%s`", where, key.name, key.value, value);
  cli_hint("%s", key.about);
}

bool figure_option_add(CliFigure* figure, int key, const char* value) {
  SltFigureKey told = slt_figure_key((uint32_t)key);
  if (!figure->checked && slt_figure_create(&figure->checked) < 0) return out_of_memory() < 0;
  SltStatus status = slt_figure_set(figure->checked, told.name, value);
  if (status == SLT_ERR_ARGUMENT) {
    refuse_value("--", told, value);
    return false;
  }
  CliFigureSetting* grown =
      status < 0 ? NULL : realloc(figure->items, (figure->count + 1) * sizeof *grown);
  if (!grown) return out_of_memory() < 0;
  figure->items = grown;
  figure->items[figure->count++] = (CliFigureSetting){told.name, value, told.begins_panel};
  return true;
}

void figure_options_clear(CliFigure* figure) {
  slt_figure_free(figure->checked);
  free(figure->items);
  *figure = (CliFigure){0};
}

static bool names_panels(const CliFigure* options) {
  for (uint32_t i = 0; i < options->count; i++) {
    if (options->items[i].begins_panel) return true;
  }
  return false;
}

static SltStatus set_options(SltFigure* figure, const CliFigure* options) {
  SltStatus status = SLT_OK;
  for (uint32_t i = 0; i < options->count && status >= 0; i++)
    status = slt_figure_set(figure, options->items[i].key, options->items[i].value);
  return status;
}

SltFigure* figure_make(const CliFigure* options, const SltExperiment* experiment,
                       const char* title) {
  SltFigure* figure = NULL;
  SltStatus status = slt_figure_create(&figure);
  if (status >= 0 && title) status = slt_figure_set(figure, "title", title);
  // panels of the command line take the place of the model's, with all that is said about them
  uint32_t own = experiment && !names_panels(options) ? experiment->plot_count : 0;
  for (uint32_t i = 0; i < own && status >= 0; i++) {
    // without panels of their own, options are about each of the model's and have the last word
    int key = find_key(experiment->plot[i].name, strlen(experiment->plot[i].name));
    if (key >= 0 && slt_figure_key((uint32_t)key).begins_panel)
      status = set_options(figure, options);
    if (status >= 0)
      status = slt_figure_set(figure, experiment->plot[i].name, experiment->plot[i].text);
  }
  if (status >= 0) status = set_options(figure, options);
  if (status >= 0) return figure;
  slt_figure_free(figure);
  out_of_memory();
  return NULL;
}

// ---- events -------------------------------------------------------------------------------------

/// Position of a word, or 0.
static int find_word(const char* const* words, int count, const char* word) {
  for (int i = 0; word && i < count; i++) {
    if (strcmp(words[i], word) == 0) return i;
  }
  return 0;
}

static const char* const kinds[] = {"initial", "time",   "state",   "slide-in", "slide-out",
                                    "zeno",    "reinit", "chatter", "limit",    "stop"};
static const char* const classes[] = {"interior", "mythical", "pinnacle", "boundary", "sliding"};

static bool add_event(SltFigure* figure, CliNames* names, char* line, size_t length) {
  Json json = {0};
  bool good = json_read(line, length, &json);
  const JsonNode* t = good ? json_member(&json, json.nodes, "t") : NULL;
  good = good && t && t->kind == JSON_NUMBER;
  if (good) {
    const JsonNode* root = json.nodes;
    SltEvent event = {
        .t = t->number,
        .kind = (SltEventKind)find_word(kinds, 10, json_text(json_member(&json, root, "kind"))),
        .event_class =
            (SltEventClass)find_word(classes, 5, json_text(json_member(&json, root, "class"))),
        .automaton = json_text(json_member(&json, root, "automaton")),
        .to = json_text(json_member(&json, root, "to"))};
    slt_figure_event(figure, &event);
    const char* told[] = {event.automaton, event.to, json_text(json_member(&json, root, "from"))};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
      good = good && (!told[i] || cli_names_keep(names, told[i]));
  }
  json_clear(&json);
  return good;
}

static int read_events(SltFigure* figure, CliNames* names, const char* path) {
  size_t length = 0;
  char* text = input_read(path, "events", true, TABLE_LIMIT, &length);
  if (!text) return CLI_MODEL;
  int exit = CLI_DONE;
  uint32_t number = 1;
  for (char* line = text; line < text + length && exit == CLI_DONE; number++) {
    char* end = memchr(line, '\n', (size_t)(text + length - line));
    size_t size = end ? (size_t)(end - line) : (size_t)(text + length - line);
    line[size] = '\0';
    if (size > 0 && !add_event(figure, names, line, size)) {
      cli_error("%s:%u: this line is no event", path, number);
      cli_hint("events are what `saltus run --events FILE` writes");
      exit = CLI_MODEL;
    }
    line += size + 1;
  }
  free(text);
  return exit;
}

// ---- files --------------------------------------------------------------------------------------

SltPlotFormat plot_path_format(const char* path) {
  if (strcmp(path, "-") == 0) return SLT_PLOT_TERMINAL;
  if (path_ends_with(path, ".png")) return SLT_PLOT_PNG;
  return path_ends_with(path, ".pdf") ? SLT_PLOT_PDF : SLT_PLOT_SVG;
}

/// Ask for cairo before the run, not after it: draw a small table into nothing.
static bool format_is_available(SltPlotFormat format) {
  static const char text[] = "time,x\n0,0\n1,1\n";
  SltTable* table = NULL;
  if (slt_table_read_csv(text, sizeof text - 1, &table, NULL) < 0) return false;
  SltPlotOptions options = slt_plot_options();
  options.format = format;
  SltStatus status = slt_table_plot(table, &options, (SltWriter){swallow, NULL}, NULL);
  slt_table_free(table);
  return status >= 0;
}

bool plot_path_check(const char* option, const char* path) {
  SltPlotFormat format = plot_path_format(path);
  if (format == SLT_PLOT_TERMINAL || path_ends_with(path, ".svg")) return true;
  if (format == SLT_PLOT_SVG) {
    cli_error("%s %s: a picture is a file ending in .svg, .png or .pdf, or - for the terminal",
              option, path);
    return false;
  }
  if (format_is_available(format)) return true;
  cli_error("%s %s: PNG and PDF pictures need the library cairo, which is not here", option, path);
  cli_hint("write an .svg, or install it (Debian: libcairo2-dev before building)");
  return false;
}

/// Colours where the picture goes to a terminal and nobody asked for none.
static bool colour_on_stdout(void) {
  const char* no_color = getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && !(no_color && no_color[0]);
}

/// Name the column that is not there, and one near to it.
static int no_column(const SltTable* table, const char* bad_name) {
  cli_error("the table has no column `%s`", bad_name);
  uint32_t count = slt_table_column_count(table);
  const char** names = malloc((count + 1) * sizeof *names);
  if (!names) return CLI_MODEL;
  for (uint32_t i = 0; i < count; i++)
    names[i] = slt_table_column_name(table, i);
  const char* nearest = cli_nearest(bad_name, names, count);
  if (nearest) {
    cli_hint("did you mean %s?", nearest);
  } else {
    cli_hint("its first columns are %s%s%s%s%s", names[0], count > 1 ? ", " : "",
             count > 1 ? names[1] : "", count > 2 ? ", " : "", count > 2 ? names[2] : "");
  }
  free((void*)names);
  return CLI_MODEL;
}

/// Whether intervals between events were asked for.
static bool counts_events(const CliFigure* options) {
  for (uint32_t i = 0; i < options->count; i++) {
    if (strcmp(options->items[i].key, "histogram") == 0 &&
        strstr(options->items[i].value, "events"))
      return true;
  }
  return false;
}

static int plot_failed(SltFigure* figure, const CliFigure* options, const SltTable* table,
                       SltStatus status) {
  if (status == SLT_ERR_NOT_FOUND) {
    const char* missing = slt_figure_missing(figure);
    return no_column(table, missing ? missing : "");
  }
  if (status == SLT_ERR_ARGUMENT && counts_events(options)) {
    cli_error("there are no intervals to count: fewer than two events are known");
    cli_hint("a table shows only events that changed a column; all of them are in the file that "
             "`saltus run MODEL --events FILE` writes: saltus plot TABLE --events FILE");
    return CLI_MODEL;
  }
  if (status == SLT_ERR_ARGUMENT) {
    cli_error("there is nothing to draw");
    cli_hint("a picture needs at least one row and one column of numbers");
    return CLI_MODEL;
  }
  cli_error("cannot draw: %s", slt_status_text(status));
  return CLI_RUN;
}

/// On a terminal the picture is as wide as this, unless a size was asked for.
static SltStatus fit_terminal(SltFigure* figure, const CliFigure* options) {
  for (uint32_t i = 0; i < options->count; i++) {
    if (strcmp(options->items[i].key, "size") == 0) return SLT_OK;
  }
  char size[32];
  snprintf(size, sizeof size, "%u:", terminal_width());
  return slt_figure_set(figure, "size", size);
}

int figure_write(SltFigure* figure, const CliFigure* options, const SltTable* table,
                 const char* path) {
  SltPlotFormat format = plot_path_format(path);
  bool colour = format == SLT_PLOT_TERMINAL && colour_on_stdout();
  if (format == SLT_PLOT_TERMINAL && fit_terminal(figure, options) < 0) return out_of_memory();
  Output output = {.path = path, .whole = true};

  // a picture that cannot be drawn must not cost the file that was there
  SltStatus status = slt_figure_write(figure, format, colour, (SltWriter){swallow, NULL});
  if (status < 0) return plot_failed(figure, options, table, status);
  if (!output_open(&output)) return CLI_USAGE;
  status = slt_figure_write(figure, format, colour, (SltWriter){output_write, &output});
  if (status < 0 && status != SLT_ERR_IO) {
    output_abandon(&output, ECANCELED);
    return plot_failed(figure, options, table, status);
  }
  output_close(&output);
  return output_report(&output, "lines");
}

// ---- saltus plot --------------------------------------------------------------------------------

/// Tables that are laid over each other.
typedef struct Tables {
  const char** paths;
  SltTable** tables;
  uint32_t count;
} Tables;

/// What a table is called in legends: its file, with the folder where that is needed.
static const char* table_name(const Tables* tables, uint32_t index) {
  const char* base = path_base(tables->paths[index]);
  for (uint32_t i = 0; i < tables->count; i++) {
    if (i != index && strcmp(base, path_base(tables->paths[i])) == 0) return tables->paths[index];
  }
  return base;
}

typedef struct PlotArguments {
  Tables tables;
  const char* to;
  const char* columns;
  const char* events;
  CliFigure figure;
  CliNames marks;  // what events of `events` and states of the tables are called
} PlotArguments;

/// States of automata in a table, and the columns that hold them with and without their ending.
static bool keep_states(CliNames* names, const SltTable* table) {
  for (uint32_t i = 0; i < slt_table_column_count(table); i++) {
    const char* last = NULL;
    for (uint32_t row = 0; row < slt_table_row_count(table); row++) {
      const char* text = slt_table_text(table, row, i);
      if (!text || (last && strcmp(text, last) == 0)) continue;
      if (!cli_names_keep(names, text)) return false;
      last = text;
    }
    if (!last) continue;
    char name[256];
    snprintf(name, sizeof name, "%s", slt_table_column_name(table, i));
    if (!cli_names_keep(names, name)) return false;
    if (path_ends_with(name, ".state")) name[strlen(name) - 6] = '\0';
    if (!cli_names_keep(names, name)) return false;
  }
  return true;
}

static bool is_mark(const CliNames* names, const char* word) {
  static const char* const always[] = {"", "all", "none"};
  bool known = false;
  for (size_t i = 0; i < sizeof always / sizeof *always; i++)
    known = known || strcmp(word, always[i]) == 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    known = known || strcmp(word, kinds[i]) == 0;
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    known = known || strcmp(word, classes[i]) == 0;
  for (uint32_t i = 0; i < names->count; i++)
    known = known || slt_name_matches(word, names->items[i]);
  return known;
}

static void refuse_mark(const char* where, const CliNames* names, const char* word) {
  cli_error("%s: there is no kind, class, automaton or state `%s`", where, word);
  ReportText list = {0};
  if (!text_open(&list)) return;
  for (uint32_t i = 0; i < names->count && i < 12; i++)
    fprintf(list.file, ", %s", names->items[i]);
  fflush(list.file);
  cli_hint("there are all, none, time, state, slide-in, slide-out, zeno, reinit, chatter, limit, "
           "stop, interior, mythical, pinnacle, boundary, sliding%s",
           list.data);
  text_clear(&list);
}

/// The marks of the options, else of the experiment; NULL: none were asked for.
static const char* marks_of(const CliFigure* options, const SltExperiment* experiment,
                            const char** where) {
  const char* marks = NULL;
  *where = "--marks";
  for (uint32_t i = 0; i < options->count; i++) {
    if (strcmp(options->items[i].key, "marks") == 0) marks = options->items[i].value;
  }
  if (marks || !experiment) return marks;
  *where = "experiment { marks }";
  for (uint32_t i = 0; i < experiment->plot_count; i++) {
    if (strcmp(experiment->plot[i].name, "marks") == 0) marks = experiment->plot[i].text;
  }
  return marks;
}

/// Every word of the marks means something: `names` are automata and their states.
static int check_marks(const CliFigure* options, const SltExperiment* experiment,
                       const CliNames* names) {
  const char* where = NULL;
  const char* marks = marks_of(options, experiment, &where);
  char* words = marks ? strdup(marks) : NULL;
  if (!words) return marks ? out_of_memory() : CLI_DONE;
  int exit = CLI_DONE;
  for (char* word = strtok(words, ","); word && exit == CLI_DONE; word = strtok(NULL, ",")) {
    word += strspn(word, " `");
    size_t length = strlen(word);
    while (length > 0 && strchr(" `", word[length - 1]))
      word[--length] = '\0';
    // an index may hold commas: such a name is no single word here
    if (strpbrk(word, "[]()") || is_mark(names, word)) continue;
    refuse_mark(where, names, word);
    exit = CLI_MODEL;
  }
  free(words);
  return exit;
}

typedef struct Markable {
  const SltModel* model;
  CliNames names;
} Markable;

static SltStatus keep_automaton(void* user, const SltName* name) {
  Markable* m = user;
  if (name->quantity.kind != SLT_KIND_MODE) return SLT_OK;
  bool kept = cli_names_keep(&m->names, name->name);
  for (uint32_t i = 0; i < name->states && kept; i++)
    kept = cli_names_keep(&m->names, slt_model_state_name(m->model, name->quantity, i));
  return kept ? SLT_OK : SLT_ERR_NOMEM;
}

/// Whether a setting of pictures makes the time logarithmic; `time` is whether panels so far are
/// over it.
static bool sets_log_time(const char* key, const char* value, bool* time) {
  if (strcmp(key, "panel") == 0) *time = true;
  if (strcmp(key, "phase") == 0 || strcmp(key, "histogram") == 0) *time = false;
  return *time && strcmp(key, "log") == 0 &&
         (value[0] == 'x' || strstr(value, ",x") || strstr(value, ", x"));
}

bool figure_has_log_time(const CliFigure* options, const SltExperiment* experiment) {
  bool time = true;
  for (uint32_t i = 0; i < options->count; i++) {
    if (sets_log_time(options->items[i].key, options->items[i].value, &time)) return true;
  }
  time = true;
  for (uint32_t i = 0; i < experiment->plot_count; i++) {
    if (sets_log_time(experiment->plot[i].name, experiment->plot[i].text, &time)) return true;
  }
  return false;
}

int figure_check_model(const CliFigure* options, const SltModel* model) {
  const SltExperiment experiment = slt_model_experiment(model);
  const char* where = NULL;
  if (!marks_of(options, &experiment, &where)) return CLI_DONE;
  Markable m = {.model = model};
  int exit = CLI_RUN;
  if (slt_model_names(model, keep_automaton, &m) >= 0)
    exit = check_marks(options, &experiment, &m.names);
  cli_names_clear(&m.names);
  return exit;
}

static int draw_tables(PlotArguments* a) {
  Tables* tables = &a->tables;
  tables->tables = calloc(tables->count, sizeof *tables->tables);
  SltFigure* figure =
      figure_make(&a->figure, NULL, tables->count == 1 ? path_base(tables->paths[0]) : NULL);
  if (!tables->tables || !figure) {
    slt_figure_free(figure);
    return out_of_memory();
  }
  int exit = CLI_DONE;
  for (uint32_t i = 0; i < tables->count && exit == CLI_DONE; i++) {
    tables->tables[i] = input_table(tables->paths[i]);
    if (!tables->tables[i]) {
      exit = CLI_MODEL;
    } else if (!output_allowed(a->to)) {
      exit = CLI_USAGE;
    } else if (slt_figure_add(figure, tables->tables[i], table_name(tables, i)) < 0) {
      exit = out_of_memory();
    }
  }
  if (exit == CLI_DONE && a->events) exit = read_events(figure, &a->marks, a->events);
  for (uint32_t i = 0; i < tables->count && exit == CLI_DONE; i++) {
    if (!keep_states(&a->marks, tables->tables[i])) exit = CLI_RUN;
  }
  if (exit == CLI_DONE) exit = check_marks(&a->figure, NULL, &a->marks);
  if (exit == CLI_DONE && a->columns && slt_figure_columns(figure, a->columns) < 0) {
    exit = out_of_memory();
  }
  if (exit == CLI_DONE) exit = figure_write(figure, &a->figure, tables->tables[0], a->to);
  slt_figure_free(figure);
  for (uint32_t i = 0; i < tables->count; i++)
    slt_table_free(tables->tables[i]);
  return exit;
}

static bool is_table(const char* word) {
  return path_ends_with(word, ".csv") || access(word, F_OK) == 0 || strcmp(word, "-") == 0;
}

/// A word is a table or, behind the tables, a list of columns.
static bool take_word(PlotArguments* a, const char* word) {
  if (!a->columns && (a->tables.count == 0 || is_table(word))) {
    a->tables.paths[a->tables.count++] = word;
    return true;
  }
  if (!a->columns) {
    a->columns = word;
    return true;
  }
  cli_error("plot takes tables and one list of columns, `%s` is too much", word);
  cli_hint("separate columns by commas: saltus plot %s %s,%s", a->tables.paths[0], a->columns,
           word);
  return false;
}

static int plot_arguments(int argc, char** argv, PlotArguments* a) {
  enum { PLOT_TO, PLOT_OUT, PLOT_EVENTS, PLOT_COUNT };
  static const OptionSpec specs[PLOT_COUNT] = {
      [PLOT_TO] = {"--plot", NULL, OPTION_VALUE},
      [PLOT_OUT] = {"--output", "-o", OPTION_VALUE},
      [PLOT_EVENTS] = {"--events", NULL, OPTION_VALUE},
  };
  OptionParser parser = {.command = "plot",
                         .specs = specs,
                         .spec_count = PLOT_COUNT,
                         .figure = &a->figure,
                         .argc = argc,
                         .argv = argv};
  a->to = "-";
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    if (option == OPTION_WORD && !take_word(a, parser.value)) return CLI_USAGE;
    if (option == PLOT_TO || option == PLOT_OUT) a->to = parser.value;
    if (option == PLOT_EVENTS) a->events = parser.value;
  }
  if (a->tables.count == 0) {
    cli_error("plot needs a table");
    cli_hint("saltus plot FILE.csv [x,y]");
    return CLI_USAGE;
  }
  for (uint32_t i = 0; i < a->tables.count; i++) {
    const char* path = a->tables.paths[i];
    if (!path_ends_with(path, ".lisma") && !path_ends_with(path, ".rules.md")) continue;
    cli_error("%s is a model, not a table of results", path);
    cli_hint("saltus run %s --plot -", path);
    return CLI_USAGE;
  }
  return plot_path_check("-o", a->to) ? CLI_DONE : CLI_USAGE;
}

int command_plot(int argc, char** argv) {
  PlotArguments a = {.tables = {.paths = calloc((size_t)argc + 1, sizeof(char*))}};
  if (!a.tables.paths) return out_of_memory();
  int exit = plot_arguments(argc, argv, &a);
  if (exit == CLI_DONE) exit = draw_tables(&a);
  free(a.tables.tables);
  free((void*)a.tables.paths);
  figure_options_clear(&a.figure);
  cli_names_clear(&a.marks);
  return exit;
}
