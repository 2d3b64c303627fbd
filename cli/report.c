// SPDX-License-Identifier: MIT
//
// The report of a run: one page that needs nothing else, with the picture, the events and why they
// happened, the summary and the model itself, whose lines the events point to.
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_SHOWN  500u     // a page that lists more is read by nobody
#define CHANGES_SHOWN 6u       // per event
#define MODEL_SHOWN   200000u  // bytes of model text

static const char page_style[] =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1b1f24;background:#fff}"
    "h1{font-size:1.6rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}"
    "p.lead{margin:.2rem 0 1rem;color:#57606a}"
    "svg{max-width:100%;height:auto}"
    "pre{background:#f6f8fa;padding:.8rem 1rem;overflow-x:auto;border-radius:6px;"
    "font:13px/1.45 ui-monospace,monospace}"
    "table{border-collapse:collapse;width:100%;font-size:13px}"
    "th{text-align:left;border-bottom:2px solid #d0d7de;padding:.3rem .6rem}"
    "td{border-bottom:1px solid #eaeef2;padding:.25rem .6rem;vertical-align:top}"
    "td.t{font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".class{border-radius:3px;padding:0 .35em;background:#eaeef2;white-space:nowrap}"
    ".pinnacle{background:#ffe2cc}.mythical{background:#eadcff}.sliding{background:#d7f0dd}"
    ".boundary{background:#dbeafe}"
    "a{color:#0969da;text-decoration:none}a:hover{text-decoration:underline}"
    "pre .n{display:inline-block;width:3em;color:#8c959f;user-select:none}"
    "pre .l:target{background:#fff8c5;display:inline-block;width:100%}";

static void escape(FILE* out, const char* text, size_t length) {
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
  escape(out, text, strlen(text));
}

// ---- events, as they happen ---------------------------------------------------------------------

bool report_begin(Report* report) {
  report->events = open_memstream(&report->event_text, &report->event_size);
  return report->events != NULL;
}

void report_clear(Report* report) {
  if (report->events) fclose(report->events);
  report->events = NULL;
  free(report->event_text);
  report->event_text = NULL;
}

static void write_what(FILE* out, const SltEvent* event) {
  static const char* const kinds[] = {"start",      "time",          "state", "slides in",
                                      "slides out", "comes to rest", "jumps", "chatters",
                                      "limit",      "stop"};
  if (event->automaton && event->from && event->to) {
    if (strcmp(event->automaton, "main") != 0) {
      escape_text(out, event->automaton);
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

void report_event(Report* report, const SltEvent* event) {
  static const char* const classes[] = {"interior", "mythical", "pinnacle", "boundary", "sliding"};
  FILE* out = report->events;
  if (!out || event->kind == SLT_EVENT_INITIAL || ++report->count > EVENTS_SHOWN) return;
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

// ---- the page -----------------------------------------------------------------------------------

static SltStatus file_write(void* user, const char* data, size_t length) {
  return fwrite(data, 1, length, user) == length ? SLT_OK : SLT_ERR_IO;
}

static void write_picture(FILE* out, const RunSummary* summary, const SltTable* table) {
  SltPlotOptions options = slt_plot_options();
  options.title = summary->model;
  char* svg = NULL;
  size_t size = 0;
  FILE* drawing = open_memstream(&svg, &size);
  if (!drawing) return;
  SltStatus status = slt_table_plot(table, &options, (SltWriter){file_write, drawing}, NULL);
  fclose(drawing);
  if (status >= 0) {
    fputs("<figure style=\"margin:0\">\n", out);
    fwrite(svg, 1, size, out);
    fputs("</figure>\n", out);
  }
  free(svg);
}

static void write_events(FILE* out, Report* report) {
  if (report->count == 0) {
    fputs("<h2>Events</h2>\n<p>None.</p>\n", out);
    return;
  }
  fputs("<h2>Events</h2>\n<table>\n<tr><th>time</th><th>class</th><th>what</th><th>because</th>"
        "<th>changes</th><th>line</th></tr>\n",
        out);
  fflush(report->events);
  fwrite(report->event_text, 1, report->event_size, out);
  fputs("</table>\n", out);
  if (report->count > EVENTS_SHOWN) {
    fprintf(out, "<p>and %llu more; <code>--events FILE</code> writes them all.</p>\n",
            (unsigned long long)(report->count - EVENTS_SHOWN));
  }
}

static void write_model(FILE* out, const ModelSource* source) {
  const char* text = source->text;
  size_t length = source->length < MODEL_SHOWN ? source->length : MODEL_SHOWN;
  bool whole = length == source->length;
  if (length > 0) {
    fputs("<h2>Model</h2>\n<pre>", out);
    unsigned line = 0;
    for (size_t at = 0; at < length; line++) {
      const char* end = memchr(text + at, '\n', length - at);
      size_t size = end ? (size_t)(end - text) - at : length - at;
      fprintf(out, "<span class=\"l\" id=\"L%u\"><span class=\"n\">%u</span>", line + 1, line + 1);
      escape(out, text + at, size);
      fputs("</span>\n", out);
      at += size + 1;
    }
    fputs(whole ? "</pre>\n" : "...\n</pre>\n", out);
  }
}

static void write_page(FILE* out, Report* report, const RunSummary* summary, const SltTable* table,
                       const ModelSource* source) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
        out);
  escape_text(out, summary->model);
  fprintf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>", page_style);
  escape_text(out, summary->model);
  fputs("</h1>\n<p class=\"lead\">", out);
  escape_text(out, source->name);
  fprintf(out, ", run by saltus %s</p>\n", slt_version());
  write_picture(out, summary, table);
  if (report->failure) {
    fputs("<h2>The run did not finish</h2>\n<pre>", out);
    escape_text(out, report->failure);
    fputs("</pre>\n", out);
  }
  fputs("<h2>Summary</h2>\n<pre>", out);
  char* lines = NULL;
  size_t size = 0;
  FILE* text = open_memstream(&lines, &size);
  if (text) {
    summary_write(text, summary);
    fclose(text);
    escape(out, lines, size);
    free(lines);
  }
  fputs("</pre>\n", out);
  write_events(out, report);
  write_model(out, source);
  fputs("</body>\n</html>\n", out);
}

int report_write(Report* report, const RunSummary* summary, const SltTable* table,
                 const RunOptions* options, const ModelSource* source) {
  char* page = NULL;
  size_t size = 0;
  FILE* out = open_memstream(&page, &size);
  bool complete = out != NULL;
  if (out) write_page(out, report, summary, table, source);
  if (out && (ferror(out) | fclose(out)) != 0) complete = false;
  if (!complete) {
    free(page);
    cli_error("out of memory for the report");
    return CLI_RUN;
  }
  int exit = output_replace(options->report, page, size);
  free(page);
  return exit;
}
