// SPDX-License-Identifier: MIT
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_colour(void) {
  const char* no_color = getenv("NO_COLOR");
  const char* term = getenv("TERM");
  if (no_color && no_color[0]) return false;
  if (term && strcmp(term, "dumb") == 0) return false;
  return isatty(STDERR_FILENO);
}

static SltStatus write_file(void* user, const char* data, size_t length) {
  return fwrite(data, 1, length, user) == length ? SLT_OK : SLT_ERR_IO;
}

static void print_va(FILE* out, const char* format, va_list args) {
  char room[1024];
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(room, sizeof room, format, args);
  char* text = room;
  if (length >= (int)sizeof room) {
    text = malloc((size_t)length + 1);
    if (text) vsnprintf(text, (size_t)length + 1, format, again);
  }
  va_end(again);
  if (length < 0) return;
  // without memory the beginning has to do
  size_t shown = text ? (size_t)length : sizeof room - 1;
  slt_write_clean((SltWriter){write_file, out}, text ? text : room, shown);
  if (text != room) free(text);
}

void cli_print(FILE* out, const char* format, ...) {
  va_list args;
  va_start(args, format);
  print_va(out, format, args);
  va_end(args);
}

void cli_error(const char* format, ...) {
  fputs(cli_colour() ? "saltus: \033[1;31merror:\033[0m " : "saltus: error: ", stderr);
  va_list args;
  va_start(args, format);
  print_va(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

int out_of_memory(void) {
  cli_error("out of memory");
  return CLI_RUN;
}

void cli_hint(const char* format, ...) {
  fputs(cli_colour() ? "  \033[36mhint:\033[0m " : "  hint: ", stderr);
  va_list args;
  va_start(args, format);
  print_va(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

void cli_note(const char* format, ...) {
  fputs("saltus: ", stderr);
  va_list args;
  va_start(args, format);
  print_va(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

const char* cli_number_text(double value, char out[32]) {
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(out, 32, "%.*g", digits, value);
    // six digits are enough to recognise a number; more only where they end soon
    if (digits == 10 || strtod(out, NULL) == value) break;
  }
  return out;
}

/// Edits (change, insert, drop, swap neighbours) from one word to the other, or `limit` + 1. Case
/// does not count.
static size_t distance(const char* a, const char* b, size_t limit) {
  enum { LONGEST = 64 };
  size_t m = strlen(a);
  size_t n = strlen(b);
  if (m >= LONGEST || n >= LONGEST) return limit + 1;
  size_t rows[3][LONGEST + 1];
  size_t* before = rows[0];
  size_t* above = rows[1];
  size_t* row = rows[2];
  for (size_t j = 0; j <= n; j++)
    above[j] = j;
  for (size_t i = 1; i <= m; i++) {
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      size_t best = above[j - 1] + ((a[i - 1] | 32) != (b[j - 1] | 32));
      if (above[j] + 1 < best) best = above[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
      row[j] = best;
    }
    size_t* oldest = before;
    before = above;
    above = row;
    row = oldest;
  }
  return above[n] <= limit ? above[n] : limit + 1;
}

const char* cli_nearest(const char* word, const char* const* words, size_t count) {
  size_t length = strlen(word);
  size_t limit = length <= 2 ? 1 : length <= 5 ? 2 : 3;
  const char* best = NULL;
  for (size_t i = 0; i < count; i++) {
    size_t d = distance(word, words[i], limit);
    // a word with nothing in common is no suggestion
    if (d > limit || d >= length) continue;
    best = words[i];
    if (d == 0) break;
    limit = d - 1;
  }
  return best;
}

/// What is rendered already, as the lines it is.
static void print_rendered(FILE* out, const char* text) {
  fputs(text, out);
  size_t length = strlen(text);
  if (length == 0 || text[length - 1] != '\n') fputc('\n', out);
}

void run_warning_print(FILE* out, const SltDiagnostic* d) {
  if (d->code && strstr(d->rendered, d->code)) {
    print_rendered(out, d->rendered);
    return;
  }
  if (d->file && d->line) cli_print(out, "%s:%u:%u: ", d->file, d->line, d->column);
  cli_print(out, "warning[%s]: %s\n", d->code ? d->code : "", d->message);
}

void run_error_print(SltSim* sim, SltStatus status) {
  SltRunError error = slt_sim_error(sim);
  if (error.status < 0 && error.rendered && error.rendered[0]) {
    print_rendered(stderr, error.rendered);
  } else {
    cli_error("the run failed: %s", slt_status_text(status));
  }
}
