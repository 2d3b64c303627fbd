// SPDX-License-Identifier: MIT
//
// The report of a run: one page that needs nothing else. It reads without its script, as pictures
// and tables; the script (report_page.c) makes charts of the rows that are in the page as data.
#define _POSIX_C_SOURCE 200809L
#include "report_page.h"
#include "run.h"

#include <saltus/saltus_rules.h>

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_SHOWN  500u                // in the table; a page that lists more is read by nobody
#define CHANGES_SHOWN 6u                  // per event
#define MODEL_SHOWN   200000u             // bytes of model text
#define STORY_KEPT    ((size_t)24 << 20)  // bytes of explanations
#define STATES_MAX    64u                 // of a text column

void report_escape(FILE* out, const char* text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    switch (text[i]) {
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '&': fputs("&amp;", out); break;
    case '"': fputs("&quot;", out); break;
    default:
      // a control character other than a line's end or a tab has no place in a page
      fputc((unsigned char)text[i] < 32 && text[i] != '\n' && text[i] != '\t' ? '?' : text[i], out);
    }
  }
}

static void escape_text(FILE* out, const char* text) {
  report_escape(out, text, strlen(text));
}

/// Bytes of a colour of the terminal at the beginning of a text.
static size_t colour_length(const char* text, size_t length) {
  if (length < 3 || text[0] != '\033' || text[1] != '[') return 0;
  size_t at = 2;
  while (at < length && text[at] != 'm')
    at++;
  return at < length ? at + 1 : 0;
}

/// Bytes at `at` that only say where the model lies: its folder in front of its name, or in front
/// of any name where the folder is a whole path.
static size_t folder_length(const char* text, size_t at, size_t length, const char* path) {
  size_t folder = (size_t)(path_base(path) - path);
  size_t told = path[0] == '/' && folder > 1 ? folder : strlen(path);
  if (folder == 0 || at + told > length || memcmp(text + at, path, told) != 0) return 0;
  // `x/tmp/y` is no path
  bool inside = at > 0 && (isalnum((unsigned char)text[at - 1]) || strchr("_)]", text[at - 1]));
  return inside ? 0 : folder;
}

/// A message as a page shows it: without colours, files without the folder of the model, which is
/// nobody's business.
static void write_message(FILE* out, const char* text, size_t length, const char* path) {
  for (size_t at = 0; at < length;) {
    size_t skipped = colour_length(text + at, length - at) + folder_length(text, at, length, path);
    if (skipped == 0) report_escape(out, text + at, 1);
    at += skipped ? skipped : 1;
  }
}

// ---- what is kept during the run ----------------------------------------------------------------

static SltStatus file_write(void* user, const char* data, size_t length) {
  return fwrite(data, 1, length, user) == length ? SLT_OK : SLT_ERR_IO;
}

static SltStatus story_write(void* user, const char* data, size_t length) {
  Report* report = user;
  fflush(report->story.file);
  if (report->story.size > STORY_KEPT) return SLT_OK;
  return file_write(report->story.file, data, length);
}

bool text_open(ReportText* text) {
  text->file = open_memstream(&text->data, &text->size);
  return text->file != NULL;
}

void text_clear(ReportText* text) {
  if (text->file) fclose(text->file);
  free(text->data);
  *text = (ReportText){0};
}

bool report_begin(Report* report, SltSim* sim, const SltModel* model, SltFigure* figure) {
  report->figure = figure;
  if (!text_open(&report->rows) || !text_open(&report->records) || !text_open(&report->story) ||
      !text_open(&report->warnings)) {
    return false;
  }
  if (!sim) return true;
  // a model without automata has no graph
  if (slt_graph_create(model, &report->graph) == SLT_ERR_NOMEM) return false;
  return slt_story_create(sim, true, (SltWriter){story_write, report}, &report->told) >= 0;
}

void report_clear(Report* report) {
  slt_story_free(report->told);
  slt_graph_free(report->graph);
  slt_figure_free(report->figure);
  text_clear(&report->rows);
  text_clear(&report->records);
  text_clear(&report->story);
  text_clear(&report->warnings);
}

static void write_warning(FILE* out, const char* text, const char* path) {
  fputs("<pre class=\"warning\">", out);
  write_message(out, text, strlen(text), path);
  fputs("</pre>\n", out);
}

void report_warning(Report* report, const ModelSource* source, const SltDiagnostic* warning) {
  ReportText text = {0};
  if (report->warnings.file && text_open(&text)) {
    run_warning_print(text.file, warning);
    fflush(text.file);
    write_warning(report->warnings.file, text.data, source->name);
  }
  text_clear(&text);
}

/// An automaton that stands for a place of the model is called by its line ("if:6"), one of a rule
/// table without the row it stands for.
static void write_automaton(FILE* out, const char* name) {
  const char* at = strchr(name, '@');
  if (!at || at == name) {
    escape_text(out, name);
    return;
  }
  report_escape(out, name, (size_t)(at - name));
  size_t line = strspn(at + 1, "0123456789");
  if (line > 0) fprintf(out, ":%.*s", (int)line, at + 1);
}

static void write_what(FILE* out, const SltEvent* event) {
  static const char* const kinds[] = {"start",      "time",          "state", "slides in",
                                      "slides out", "comes to rest", "jumps", "chatters",
                                      "limit",      "stop"};
  if (event->automaton && event->from && event->to) {
    if (strcmp(event->automaton, "main") != 0) {
      write_automaton(out, event->automaton);
      fputs(": ", out);
    }
    escape_text(out, event->from);
    fputs(" → ", out);
    escape_text(out, event->to);
    return;
  }
  size_t kind = (size_t)event->kind;
  fputs(kind < sizeof kinds / sizeof *kinds ? kinds[kind] : "event", out);
  if (event->text) {
    fputs(": ", out);
    escape_text(out, event->text);
  }
}

static void write_changes(FILE* out, const SltEvent* event) {
  char before[32];
  char after[32];
  for (uint32_t i = 0; i < event->change_count && i < CHANGES_SHOWN; i++) {
    const SltChange* change = &event->changes[i];
    if (i) fputs("<br>", out);
    escape_text(out, change->name);
    fprintf(out, ": %s → %s", cli_number_text(change->before, before),
            cli_number_text(change->after, after));
  }
  if (event->change_count > CHANGES_SHOWN) {
    fprintf(out, "<br>and %u more", event->change_count - CHANGES_SHOWN);
  }
  for (uint32_t i = 0; i < event->impulse_count && i < CHANGES_SHOWN; i++) {
    if (i || event->change_count) fputs("<br>", out);
    fputs("impulse of ", out);
    escape_text(out, event->impulses[i].name);
    fprintf(out, ": %s", cli_number_text(event->impulses[i].after, after));
  }
}

static void write_row(FILE* out, const SltEvent* event) {
  static const char* const classes[] = {"interior", "mythical", "pinnacle", "boundary", "sliding"};
  char t[32];
  size_t class = (size_t)event->event_class;
  const char* name = class < sizeof classes / sizeof *classes ? classes[class] : "";
  fprintf(out, "<tr><td class=\"t\">%s</td><td><span class=\"class %s\">%s</span></td><td>",
          cli_number_text(event->t, t), name, name);
  write_what(out, event);
  fputs("</td><td>", out);
  for (uint32_t i = 0; i < event->atom_count; i++) {
    if (i) fputs("<br>", out);
    escape_text(out, event->atoms[i]);
  }
  fputs("</td><td>", out);
  write_changes(out, event);
  fputs("</td><td>", out);
  if (event->line) fprintf(out, "<a href=\"#L%u\">%u</a>", event->line, event->line);
  fputs("</td></tr>\n", out);
}

void report_event(Report* report, const SltEvent* event) {
  if (!report->rows.file) return;
  if (report->told) slt_story_event(report->told, event);
  if (report->graph) slt_graph_event(report->graph, event);
  slt_figure_event(report->figure, event);
  if (report->record_count++) fputc(',', report->records.file);
  slt_event_write(event, (SltWriter){file_write, report->records.file});
  if (event->kind == SLT_EVENT_INITIAL || ++report->count > EVENTS_SHOWN) return;
  write_row(report->rows.file, event);
}

// ---- the rows as data ---------------------------------------------------------------------------

static void write_json(FILE* out, const char* text) {
  fputc('"', out);
  for (const char* at = text; *at; at++) {
    unsigned char c = (unsigned char)*at;
    // `<` could end the element that holds the data
    if (c < 32 || c == '"' || c == '\\' || c == '<') {
      fprintf(out, "\\u%04x", c);
    } else {
      fputc(c, out);
    }
  }
  fputc('"', out);
}

/// Numbers of eight bytes in base 64, piece by piece.
typedef struct Base64 {
  FILE* out;
  unsigned char left[3];
  size_t count;
} Base64;

static void put_group(Base64* b) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t bits = (uint32_t)b->left[0] << 16 | (uint32_t)b->left[1] << 8 | b->left[2];
  for (size_t i = 0; i < 4; i++)
    fputc(i <= b->count ? digits[bits >> (18 - 6 * i) & 63] : '=', b->out);
  memset(b->left, 0, sizeof b->left);
  b->count = 0;
}

static void put_number(Base64* b, double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 8; i++) {
    b->left[b->count++] = (unsigned char)(bits >> 8 * i);
    if (b->count == 3) put_group(b);
  }
}

static void write_column(FILE* out, const SltTable* table, uint32_t column) {
  const double* values = slt_table_column(table, column);
  Base64 b = {.out = out};
  fputc('"', out);
  for (uint32_t row = 0; row < slt_table_row_count(table); row++)
    put_number(&b, values[row]);
  if (b.count) put_group(&b);
  fputc('"', out);
}

static bool is_text(const SltTable* table, uint32_t column) {
  for (uint32_t row = 0; row < slt_table_row_count(table); row++) {
    if (slt_table_text(table, row, column)) return true;
  }
  return false;
}

/// Texts of a column by number; the last number stands for all others.
typedef struct States {
  const char* names[STATES_MAX];
  uint32_t count;
} States;

static uint32_t state_number(States* states, const char* text) {
  if (!text) text = "";
  for (uint32_t i = 0; i < states->count; i++) {
    if (strcmp(states->names[i], text) == 0) return i;
  }
  if (states->count == STATES_MAX) return STATES_MAX - 1;
  states->names[states->count] = text;
  return states->count++;
}

static void write_states(FILE* out, const SltTable* table, uint32_t column) {
  States states = {.count = 0};
  Base64 b = {.out = out};
  const char* name = slt_table_column_name(table, column);
  const char* dot = strrchr(name, '.');
  char shown[200];
  snprintf(shown, sizeof shown, "%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
  char* at = strchr(shown, '@');  // of a row of a rule table
  if (at && at > shown) *at = '\0';
  fputs("{\"name\":", out);
  // the automaton that a model has without naming it
  write_json(out, strcmp(shown, "main") == 0 ? "state" : shown);
  fputs(",\"column\":", out);
  write_json(out, name);
  fputs(",\"values\":\"", out);
  for (uint32_t row = 0; row < slt_table_row_count(table); row++)
    put_number(&b, state_number(&states, slt_table_text(table, row, column)));
  if (b.count) put_group(&b);
  fputs("\",\"states\":[", out);
  for (uint32_t i = 0; i < states.count; i++) {
    if (i) fputc(',', out);
    write_json(out, states.names[i]);
  }
  fputs("]}", out);
}

static void write_columns(FILE* out, const SltTable* table, const bool* texts) {
  const char* separator = "";
  fputs(",\"columns\":[", out);
  for (uint32_t i = 1; i < slt_table_column_count(table); i++) {
    if (texts[i]) continue;
    fprintf(out, "%s{\"name\":", separator);
    write_json(out, slt_table_column_name(table, i));
    fputs(",\"unit\":", out);
    write_json(out, slt_table_column_unit(table, i));
    fputs(",\"values\":", out);
    write_column(out, table, i);
    fputs("}\n", out);
    separator = ",";
  }
  separator = "";
  fputs("],\"automata\":[", out);
  for (uint32_t i = 1; i < slt_table_column_count(table); i++) {
    if (!texts[i]) continue;
    fputs(separator, out);
    write_states(out, table, i);
    separator = ",";
  }
  fputc(']', out);
}

/// A text that was kept, without what could end the element around it.
static void write_kept(FILE* out, const ReportText* text) {
  for (size_t i = 0; i < text->size; i++) {
    if (text->data[i] == '<') {
      fputs("\\u003c", out);
    } else {
      fputc(text->data[i], out);
    }
  }
}

/// The charts to begin with, as the picture has them; nothing where there is nothing to draw.
static void plan_charts(const Report* report, ReportText* plan) {
  SltWriter writer = {file_write, text_open(plan) ? plan->file : NULL};
  bool good = plan->file && slt_figure_write(report->figure, SLT_PLOT_JSON, false, writer) >= 0;
  if (good) fflush(plan->file);
  if (!good) text_clear(plan);
}

static void write_data(FILE* out, const Report* report, const ReportText* charts,
                       const ReportRun* run) {
  const SltTable* table = run->table;
  uint32_t rows = slt_table_row_count(table);
  bool* texts = calloc(slt_table_column_count(table) + 1, sizeof *texts);
  if (!texts || rows < 2) {
    free(texts);
    return;
  }
  for (uint32_t i = 1; i < slt_table_column_count(table); i++)
    texts[i] = is_text(table, i);
  fputs("<script type=\"application/json\" id=\"data\">{\"name\":", out);
  write_json(out, run->summary->model);
  fprintf(out, ",\"start\":%.17g,\"end\":%.17g,\"timeUnit\":", slt_table_value(table, 0, 0),
          slt_table_value(table, rows - 1, 0));
  write_json(out, slt_table_column_unit(table, 0));
  fputs(",\"time\":", out);
  write_column(out, table, 0);
  write_columns(out, table, texts);
  fputs(",\"figure\":", out);
  write_kept(out, charts->size ? charts : &(ReportText){.data = "null", .size = 4});
  fputs(",\"events\":[", out);
  write_kept(out, &report->records);
  fputs("],\"story\":", out);
  write_json(out, report->story.data ? report->story.data : "");
  fputs("}</script>\n<script>", out);
  for (const char* const* line = report_script; *line; line++)
    fputs(*line, out);
  fputs("</script>\n", out);
  free(texts);
}

// ---- the page -----------------------------------------------------------------------------------

/// The picture for paper, and for browsers without scripts: both are light.
static void write_picture(FILE* out, const Report* report) {
  ReportText svg = {0};
  if (report->figure) slt_figure_set(report->figure, "theme", "light");
  if (text_open(&svg) && slt_figure_write(report->figure, SLT_PLOT_SVG, false,
                                          (SltWriter){file_write, svg.file}) >= 0) {
    fflush(svg.file);
    fputs("<figure class=\"static\">\n", out);
    fwrite(svg.data, 1, svg.size, out);
    fputs("</figure>\n", out);
  }
  text_clear(&svg);
  fputs("<div class=\"interactive\"><div id=\"chart-bar\"></div><div id=\"variables\"></div>"
        "<div id=\"charts\"></div><div id=\"bands\"></div></div>\n",
        out);
}

static void write_events(FILE* out, Report* report) {
  fputs("<h2 id=\"events\">Events</h2>\n", out);
  if (report->count == 0) {
    fputs("<p>None.</p>\n", out);
    return;
  }
  fputs("<div id=\"event-view\" class=\"interactive\"></div>\n<div class=\"static\"><table>\n"
        "<tr><th>time</th><th>class</th><th>what</th><th>because</th><th>changes</th><th>line</th>"
        "</tr>\n",
        out);
  fwrite(report->rows.data, 1, report->rows.size, out);
  fputs("</table>\n", out);
  if (report->count > EVENTS_SHOWN) {
    fprintf(out, "<p>and %llu more; <code>--events FILE</code> writes them all.</p>\n",
            (unsigned long long)(report->count - EVENTS_SHOWN));
  }
  fputs("</div>\n", out);
}

static void write_graph(FILE* out, const Report* report) {
  ReportText svg = {0};
  if (report->graph && graph_make(report->graph, "", "svg", &svg)) {
    fputs("<h2 id=\"automata\">States and transitions</h2>\n<div class=\"graph\">", out);
    fwrite(svg.data, 1, svg.size, out);
    fputs("</div>\n", out);
  }
  text_clear(&svg);
}

typedef struct Constants {
  FILE* out;
  SltSim* sim;
} Constants;

/// A constant of the model with its value in this run.
static SltStatus write_constant(void* user, const SltName* name) {
  Constants* constants = user;
  if (name->quantity.kind != SLT_KIND_CONSTANT) return SLT_OK;
  char text[32];
  double value = slt_sim_get(constants->sim, name->quantity);
  fputs("<tr><td>", constants->out);
  escape_text(constants->out, name->name);
  fprintf(constants->out, "</td><td class=\"v\">%s</td></tr>\n", cli_number_text(value, text));
  return SLT_OK;
}

static void write_setting(FILE* out, const char* name, double given, double experiment,
                          double otherwise) {
  char text[32];
  double value = !isnan(given) ? given : !isnan(experiment) ? experiment : otherwise;
  if (isnan(value)) return;
  fprintf(out, "<tr><td>%s</td><td class=\"v\">%s</td></tr>\n", name, cli_number_text(value, text));
}

static void write_period(FILE* out, const ReportRun* run) {
  fputs("<h2 id=\"settings\">Settings</h2>\n<div class=\"settings\"><table>\n", out);
  write_setting(out, "period of the scan", run->period, (double)NAN, (double)NAN);
  fputs("</table></div>\n", out);
}

static void write_settings(FILE* out, const ReportRun* run) {
  if (!run->model) {
    write_period(out, run);
    return;
  }
  const SltSimOptions* sim = &run->options->sim;
  const SltExperiment* e = run->experiment;
  static const char* const detections[] = {"certified", "combined", "extrapolation",
                                           "interpolation"};
  fputs("<h2 id=\"settings\">Settings</h2>\n<div class=\"settings\"><table>\n", out);
  const char* method = sim->method ? sim->method : e->method ? e->method : "auto";
  fputs("<tr><td>method</td><td>", out);
  escape_text(out, method);
  fputs("</td></tr>\n", out);
  write_setting(out, "relative tolerance", sim->rtol, e->rtol, 1e-6);
  write_setting(out, "absolute tolerance", sim->atol, e->atol, (double)NAN);
  write_setting(out, "step", sim->step, e->step, (double)NAN);
  write_setting(out, "largest step", sim->h_max, e->h_max, (double)NAN);
  if ((size_t)sim->detection < sizeof detections / sizeof *detections) {
    fprintf(out, "<tr><td>detection</td><td>%s</td></tr>\n", detections[sim->detection]);
  }
  Constants constants = {.out = out, .sim = run->summary->sim};
  slt_model_names(run->model, write_constant, &constants);
  fputs("</table></div>\n", out);
}

static SltStatus explain(const ReportRun* run, SltWriter writer) {
  return run->model ? slt_model_explain(run->model, SLT_EXPLAIN_TEXT, writer)
                    : slt_rules_write(run->rules, SLT_RULES_EXPLANATION, writer);
}

static void write_structure(FILE* out, const ReportRun* run) {
  ReportText text = {0};
  if (text_open(&text) && explain(run, (SltWriter){file_write, text.file}) >= 0) {
    fflush(text.file);
    fputs("<h2 id=\"structure\">Structure</h2>\n<details><summary>what determines what, mode by "
          "mode</summary>\n<pre>",
          out);
    write_message(out, text.data, text.size, run->source->name);
    fputs("</pre></details>\n", out);
  }
  text_clear(&text);
}

static void write_model(FILE* out, const ModelSource* source) {
  const char* text = source->text;
  size_t length = source->length < MODEL_SHOWN ? source->length : MODEL_SHOWN;
  bool whole = length == source->length;
  if (length == 0) return;
  fputs("<h2 id=\"model\">Model</h2>\n<pre>", out);
  unsigned line = 0;
  for (size_t at = 0; at < length; line++) {
    const char* end = memchr(text + at, '\n', length - at);
    size_t size = end ? (size_t)(end - text) - at : length - at;
    fprintf(out, "<span class=\"l\" id=\"L%u\"><span class=\"n\">%u</span>", line + 1, line + 1);
    report_escape(out, text + at, size);
    fputs("</span>\n", out);
    at += size + 1;
  }
  fputs(whole ? "</pre>\n" : "...\n</pre>\n", out);
}

void report_head(FILE* out, const char* title) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
        out);
  escape_text(out, title);
  fputs("</title>\n<style>", out);
  for (const char* const* line = report_style; *line; line++)
    fputs(*line, out);
  fputs("</style>\n</head>\n<body>\n<h1>", out);
  escape_text(out, title);
  fputs("</h1>\n", out);
}

static void write_head(FILE* out, const ReportRun* run) {
  report_head(out, run->summary->model);
  fputs("<p class=\"lead\">", out);
  escape_text(out, path_base(run->source->name));
  fprintf(out, ", run by saltus %s</p>\n", slt_version());
  fputs("<nav><a href=\"#summary\">Summary</a><a href=\"#events\">Events</a>"
        "<a href=\"#settings\">Settings</a><a href=\"#structure\">Structure</a>"
        "<a href=\"#model\">Model</a><button id=\"theme\" class=\"interactive\">light or "
        "dark</button></nav>\n",
        out);
}

static void write_summary(FILE* out, Report* report, const ReportRun* run) {
  if (report->failure) {
    fputs("<h2>The run did not finish</h2>\n<pre class=\"failure\">", out);
    write_message(out, report->failure, strlen(report->failure), run->source->name);
    fputs("</pre>\n", out);
  }
  const CliNames* compiled = &run->source->warnings;
  if (report->warnings.size || compiled->count) {
    fputs("<h2>Warnings</h2>\n", out);
    for (uint32_t i = 0; i < compiled->count; i++)
      write_warning(out, compiled->items[i], run->source->name);
    fwrite(report->warnings.data, 1, report->warnings.size, out);
  }
  fputs("<h2 id=\"summary\">Summary</h2>\n<pre>", out);
  ReportText text = {0};
  if (run->summary_text) {
    escape_text(out, run->summary_text);
  } else if (text_open(&text)) {
    summary_write(text.file, run->summary);
    fflush(text.file);
    report_escape(out, text.data, text.size);
  }
  text_clear(&text);
  fputs("</pre>\n", out);
}

static void write_page(FILE* out, Report* report, const ReportRun* run) {
  fflush(report->rows.file);
  fflush(report->records.file);
  fflush(report->story.file);
  fflush(report->warnings.file);
  ReportText charts = {0};
  plan_charts(report, &charts);
  write_head(out, run);
  write_picture(out, report);
  write_summary(out, report, run);
  write_events(out, report);
  write_graph(out, report);
  write_settings(out, run);
  write_structure(out, run);
  write_model(out, run->source);
  write_data(out, report, &charts, run);
  text_clear(&charts);
  fputs("</body>\n</html>\n", out);
}

char* report_make(Report* report, const ReportRun* run, SltStatus status, size_t* size) {
  if (report->told) slt_story_end(report->told, status);
  char* page = NULL;
  FILE* out = open_memstream(&page, size);
  bool complete = out != NULL;
  if (out) write_page(out, report, run);
  if (out && (ferror(out) | fclose(out)) != 0) complete = false;
  if (complete) return page;
  free(page);
  return NULL;
}

int report_write(Report* report, const ReportRun* run, SltStatus status) {
  size_t size = 0;
  char* page = report_make(report, run, status, &size);
  if (!page) {
    cli_error("out of memory for the report");
    return CLI_RUN;
  }
  int exit = output_replace(run->options->report, page, size);
  free(page);
  return exit;
}
