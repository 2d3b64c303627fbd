// SPDX-License-Identifier: MIT
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static SltStatus swallow(void* user, const char* data, size_t length) {
  (void)user;
  (void)data;
  (void)length;
  return SLT_OK;
}

/// Ask for PNG before the run, not after it: draw a small table into nothing.
static bool png_is_available(void) {
  static const char text[] = "time,x\n0,0\n1,1\n";
  SltTable* table = NULL;
  if (slt_table_read_csv(text, sizeof text - 1, &table, NULL) < 0) return false;
  SltPlotOptions options = slt_plot_options();
  options.format = SLT_PLOT_PNG;
  SltStatus status = slt_table_plot(table, &options, (SltWriter){swallow, NULL}, NULL);
  slt_table_free(table);
  return status >= 0;
}

bool plot_path_check(const char* option, const char* path) {
  if (strcmp(path, "-") == 0 || path_ends_with(path, ".svg")) return true;
  if (!path_ends_with(path, ".png")) {
    cli_error("%s %s: a picture is a file ending in .svg or .png, or - for the terminal", option,
              path);
    return false;
  }
  if (png_is_available()) return true;
  cli_error("%s %s: PNG pictures need the library cairo, which is not here", option, path);
  cli_hint("write an .svg, or install it (Debian: libcairo2-dev before building)");
  return false;
}

/// Colours where the picture goes to a terminal and nobody asked for none.
static bool colour_on_stdout(void) {
  const char* no_color = getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && !(no_color && no_color[0]);
}

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

static int plot_failed(const SltTable* table, SltStatus status, const char* bad_name) {
  if (status == SLT_ERR_NOT_FOUND) return no_column(table, bad_name ? bad_name : "");
  if (status == SLT_ERR_ARGUMENT) {
    cli_error("there is nothing to draw");
    cli_hint("a picture needs at least one row and one column of numbers");
    return CLI_MODEL;
  }
  cli_error("cannot draw: %s", slt_status_text(status));
  return CLI_RUN;
}

int plot_write(const SltTable* table, const char* path, const char* title, const char* x,
               const CliNames* names) {
  SltPlotOptions options = slt_plot_options();
  bool terminal = strcmp(path, "-") == 0;
  options.format = terminal                       ? SLT_PLOT_TERMINAL
                   : path_ends_with(path, ".png") ? SLT_PLOT_PNG
                                                  : SLT_PLOT_SVG;
  options.title = title;
  options.x = x;
  options.colour = terminal && colour_on_stdout();
  options.width = terminal ? terminal_width() : 0;
  options.names = names ? names->items : NULL;
  options.name_count = names ? names->count : 0;
  Output output = {.path = path, .whole = true};
  const char* bad_name = NULL;

  // a picture that cannot be drawn must not cost the file that was there
  SltStatus status = slt_table_plot(table, &options, (SltWriter){swallow, NULL}, &bad_name);
  if (status < 0) return plot_failed(table, status, bad_name);
  if (!output_open(&output)) return CLI_USAGE;
  status = slt_table_plot(table, &options, (SltWriter){output_write, &output}, &bad_name);
  if (status < 0 && status != SLT_ERR_IO) {
    output_abandon(&output, ECANCELED);
    return plot_failed(table, status, bad_name);
  }
  output_close(&output);
  return output_report(&output, "lines");
}

// ---- automata -----------------------------------------------------------------------------------

bool graph_path_check(const char* path) {
  if (path_ends_with(path, ".svg")) return true;
  cli_error("--graph %s: the picture of automata is a file ending in .svg", path);
  return false;
}

int graph_write(const SltGraph* graph, const char* title, const char* path) {
  SltStatus status = slt_graph_write(graph, title, (SltWriter){swallow, NULL});
  if (status == SLT_ERR_ARGUMENT) {
    cli_error("--graph: the model has no automata and no switches to draw");
    return CLI_MODEL;
  }
  Output output = {.path = path, .whole = true};
  if (!output_open(&output)) return CLI_USAGE;
  if (status >= 0) status = slt_graph_write(graph, title, (SltWriter){output_write, &output});
  if (status < 0 && status != SLT_ERR_IO) {
    output_abandon(&output, ECANCELED);
    cli_error("cannot draw: %s", slt_status_text(status));
    return CLI_RUN;
  }
  output_close(&output);
  return output_report(&output, "lines");
}
