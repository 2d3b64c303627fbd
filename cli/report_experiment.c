// SPDX-License-Identifier: MIT
//
// The report of an experiment: one page with what the command printed, its picture, its rows and
// the model. The command itself is run as always; the page is made of what it wrote.
#define _DEFAULT_SOURCE  // mkstemps()
#include "cli.h"
#include "report_page.h"
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS_SHOWN 1000u  // a page with more is read by nobody
#define ARGUMENTS  4      // added at most

/// Which commands have reports, and what they draw.
typedef struct Reporting {
  const char* command;
  bool rows;           // has -o
  bool draws;          // has --plot
  const char* unless;  // ...but not with this option
  const char* only;    // ...or only with this one
} Reporting;

static const Reporting reporting[] = {
    {"sweep", true, true, NULL, NULL},     {"sens", true, true, "--sobol", NULL},
    {"fit", true, true, NULL, NULL},       {"linearize", true, true, NULL, "--response"},
    {"optimize", true, false, NULL, NULL}, {"steady", true, false, NULL, NULL},
    {"measure", true, false, NULL, NULL},  {"compare", false, true, NULL, NULL},
};

typedef struct ExperimentReport {
  const Reporting* kind;
  const char* path;
  char* rows;
  char* picture;  // drawn for the page alone; NULL: none
  const char* model;
  char** argv;  // of the command without the report
  int argc;
  int words;  // of them that the user has given
} ExperimentReport;

static const Reporting* find_command(const char* command) {
  for (size_t i = 0; i < sizeof reporting / sizeof *reporting; i++) {
    if (strcmp(reporting[i].command, command) == 0) return &reporting[i];
  }
  return NULL;
}

bool report_is_asked(const char* command, int argc, char** argv) {
  bool asked = false;
  for (int i = 0; i < argc; i++)
    asked |= strcmp(argv[i], "--report") == 0 || strncmp(argv[i], "--report=", 9) == 0;
  return asked && find_command(command);
}

/// The value of an option that is there; NULL: it is not.
static const char* value_of(const ExperimentReport* r, const char* option, const char* brief) {
  const char* found = NULL;
  for (int i = 0; i < r->argc; i++) {
    const char* word = r->argv[i];
    size_t length = strlen(option);
    bool named = strcmp(word, option) == 0 || (brief && strcmp(word, brief) == 0);
    if (strncmp(word, option, length) == 0 && word[length] == '=') found = word + length + 1;
    if (named) found = i + 1 < r->argc ? r->argv[i + 1] : "";
  }
  return found;
}

/// The report's path with another ending.
static char* path_beside(const char* path, const char* ending) {
  size_t length = strlen(path);
  if (path_ends_with(path, ".html")) length -= 5;
  char* out = malloc(length + strlen(ending) + 1);
  if (!out) return NULL;
  snprintf(out, length + strlen(ending) + 1, "%.*s%s", (int)length, path, ending);
  return out;
}

static void add_option(ExperimentReport* r, char* option, char* path) {
  r->argv[r->argc++] = option;
  r->argv[r->argc++] = path;
}

/// A file for the picture that nobody else has.
static char* make_picture(void) {
  const char* folder = getenv("TMPDIR");
  if (!folder || folder[0] != '/') folder = "/tmp";
  size_t size = strlen(folder) + sizeof "/saltus-XXXXXX.svg";
  char* path = malloc(size);
  if (!path) return NULL;
  snprintf(path, size, "%s/saltus-XXXXXX.svg", folder);
  int fd = mkstemps(path, 4);
  if (fd >= 0) {
    close(fd);
    return path;
  }
  cli_error("cannot write %s: %s", path, strerror(errno));
  free(path);
  return NULL;
}

/// The command's own words; where the report goes is not for it.
static void keep_words(ExperimentReport* r, int argc, char** argv) {
  for (int i = 0; i < argc; i++) {
    bool whole = strcmp(argv[i], "--report") == 0;
    if (whole && i + 1 < argc) {
      r->path = argv[++i];
    } else if (strncmp(argv[i], "--report=", 9) == 0) {
      r->path = argv[i] + 9;
    } else if (!whole) {
      r->argv[r->argc++] = argv[i];
      if (!r->model && path_ends_with(argv[i], ".lisma")) r->model = argv[i];
    }
  }
}

/// The command's own words, with files for what the page shows.
static int take_words(ExperimentReport* r, int argc, char** argv) {
  static char output[] = "-o";
  static char plot[] = "--plot";
  keep_words(r, argc, argv);
  if (!r->path || !path_ends_with(r->path, ".html")) {
    cli_error("--report needs a file ending in .html");
    return CLI_USAGE;
  }
  const char* rows = value_of(r, "--output", "-o");
  if (rows && strcmp(rows, "-") == 0) {
    cli_error("--report shows rows that are in a file, not on standard output");
    cli_hint("-o FILE.csv, or leave it out");
    return CLI_USAGE;
  }
  bool draws = r->kind->draws && !(r->kind->unless && value_of(r, r->kind->unless, NULL)) &&
               !(r->kind->only && !value_of(r, r->kind->only, NULL));
  if (!output_allowed(r->path)) return CLI_USAGE;
  bool implied = r->kind->rows && !rows;
  r->words = r->argc;
  r->rows = implied ? path_beside(r->path, ".csv") : rows ? strdup(rows) : NULL;
  if ((implied || rows) && !r->rows) return out_of_memory();
  if (implied && !output_implied(r->rows)) return CLI_USAGE;
  if (implied) add_option(r, output, r->rows);
  if (!draws || value_of(r, "--plot", NULL)) return CLI_DONE;
  r->picture = make_picture();
  if (r->picture) add_option(r, plot, r->picture);
  return r->picture ? CLI_DONE : CLI_RUN;
}

/// Run the command; what it prints is printed, and kept.
static int run_kept(const ExperimentReport* r, ReportCommand* run, ReportText* printed) {
  FILE* kept = tmpfile();
  fflush(stdout);
  int before = kept ? dup(STDOUT_FILENO) : -1;
  if (before < 0 || dup2(fileno(kept), STDOUT_FILENO) < 0) {
    if (kept) fclose(kept);
    if (before >= 0) close(before);
    return run(r->argc, r->argv);
  }
  int exit = run(r->argc, r->argv);
  fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  rewind(kept);
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, kept)) > 0;) {
    fwrite(buffer, 1, n, stdout);
    if (printed->file) fwrite(buffer, 1, n, printed->file);
  }
  fclose(kept);
  return exit;
}

// ---- the page -----------------------------------------------------------------------------------

/// One row of CSV as cells; where the next one begins.
static const char* write_cells(FILE* out, const char* at, const char* end, const char* tag) {
  fputs("<tr>", out);
  for (bool more = true; more;) {
    bool quoted = at < end && *at == '"';
    fprintf(out, "<%s>", tag);
    for (at += quoted; at < end; at++) {
      bool twice = quoted && *at == '"' && at + 1 < end && at[1] == '"';
      if (twice) at++;
      if (!twice && quoted && *at == '"') {
        quoted = false;
      } else if (!quoted && (*at == ',' || *at == '\n')) {
        break;
      } else if (*at != '\r') {
        report_escape(out, at, 1);
      }
    }
    fprintf(out, "</%s>", tag);
    more = at < end && *at == ',';
    if (at < end) at++;
  }
  fputs("</tr>\n", out);
  return at;
}

static void write_rows(FILE* out, const char* path) {
  size_t length = 0;
  fputs("<h2 id=\"rows\">Rows</h2>\n", out);
  char* text =
      path_ends_with(path, ".csv") ? input_read(path, "rows", false, TABLE_LIMIT, &length) : NULL;
  const char* at = text;
  if (text && length > 0) {
    const char* end = text + length;
    uint64_t rows = 0;
    fputs("<table>\n<thead>", out);
    at = write_cells(out, at, end, "th");
    fputs("</thead>\n<tbody>\n", out);
    for (; at < end && rows < ROWS_SHOWN; rows++)
      at = write_cells(out, at, end, "td");
    fputs("</tbody>\n</table>\n", out);
  }
  fputs(at && at < text + length ? "<p>The others are in " : "<p>All of them: ", out);
  report_escape(out, path, strlen(path));
  fputs("</p>\n", out);
  free(text);
}

/// A picture of SVG without what stands before it in a file of its own.
static void write_picture(FILE* out, const char* path) {
  size_t length = 0;
  char* svg = path_ends_with(path, ".svg") && access(path, R_OK) == 0
                  ? input_read(path, "picture", false, TABLE_LIMIT, &length)
                  : NULL;
  const char* begin = svg ? strstr(svg, "<svg") : NULL;
  if (begin) fputs("<h2 id=\"picture\">Picture</h2>\n<figure>", out);
  if (begin) fwrite(begin, 1, length - (size_t)(begin - svg), out);
  if (begin) fputs("</figure>\n", out);
  free(svg);
}

static void write_page(FILE* out, const ExperimentReport* r, const ReportText* printed, int exit) {
  const char* plot = r->picture ? r->picture : value_of(r, "--plot", NULL);
  const char* name = r->model ? path_base(r->model) : r->kind->command;
  report_head(out, name);
  fputs("<p class=\"lead\"><code>saltus ", out);
  report_escape(out, r->kind->command, strlen(r->kind->command));
  for (int i = 0; i < r->words; i++) {
    fputc(' ', out);
    report_escape(out, r->argv[i], strlen(r->argv[i]));
  }
  fprintf(out, "</code><br>saltus %s, exit status %d</p>\n", slt_version(), exit);
  if (printed->size) fputs("<h2 id=\"summary\">Summary</h2>\n<pre>", out);
  report_escape(out, printed->data, printed->size);
  if (printed->size) fputs("</pre>\n", out);
  if (plot) write_picture(out, plot);
  if (r->rows && access(r->rows, R_OK) == 0) write_rows(out, r->rows);
  size_t length = 0;
  char* text = r->model ? input_read(r->model, "model", false, TABLE_LIMIT, &length) : NULL;
  if (text) fputs("<h2 id=\"model\">Model</h2>\n<pre>", out);
  if (text) report_escape(out, text, length);
  fputs(text ? "</pre>\n</body>\n</html>\n" : "</body>\n</html>\n", out);
  free(text);
}

static int make_page(const ExperimentReport* r, ReportText* printed, int exit) {
  ReportText page = {0};
  if (printed->file) fflush(printed->file);
  if (!text_open(&page)) return CLI_RUN;
  write_page(page.file, r, printed, exit);
  fflush(page.file);
  int written = output_replace(r->path, page.data, page.size);
  text_clear(&page);
  return written;
}

int report_experiment(const char* command, ReportCommand* run, int argc, char** argv) {
  ExperimentReport r = {.kind = find_command(command),
                        .argv = calloc((size_t)argc + ARGUMENTS + 1, sizeof *argv)};
  ReportText printed = {0};
  int exit = r.argv ? take_words(&r, argc, argv) : CLI_RUN;
  if (exit == CLI_DONE) {
    text_open(&printed);
    exit = run_kept(&r, run, &printed);
    // a process of a cluster that hands nothing out has nothing to tell
    const char* rank = getenv("OMPI_COMM_WORLD_RANK");
    bool tells = exit != CLI_USAGE && exit != CLI_MODEL && (!rank || strcmp(rank, "0") == 0);
    // a comparison that finds a difference is done as well
    tells |= exit == CLI_MODEL && !r.kind->rows;
    int written = tells ? make_page(&r, &printed, exit) : CLI_DONE;
    if (written != CLI_DONE) exit = written;
  }
  if (r.picture) remove(r.picture);
  text_clear(&printed);
  free(r.picture);
  free(r.rows);
  free((void*)r.argv);
  return exit;
}
