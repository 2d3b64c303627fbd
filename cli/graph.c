// SPDX-License-Identifier: MIT
//
// Pictures of automata: by Graphviz where it is, else by our own layout.
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the C library's
extern char** environ;

static SltStatus file_write(void* user, const char* data, size_t length) {
  return fwrite(data, 1, length, user) == length ? SLT_OK : SLT_ERR_IO;
}

bool graph_path_check(const char* path) {
  static const char* const endings[] = {".svg", ".dot", ".png", ".pdf"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    if (path_ends_with(path, endings[i])) return true;
  }
  cli_error("--graph %s: the picture of automata is a file ending in .svg, .dot, .png or .pdf",
            path);
  return false;
}

/// $SALTUS_DOT, else dot; NULL when that is empty.
static const char* dot_program(void) {
  const char* named = getenv("SALTUS_DOT");
  if (named && named[0] == '\0') return NULL;
  return named ? named : "dot";
}

/// Start dot with `in` as its input; its output can be read from the descriptor, -1: it is not
/// there.
static int start_dot(const char* program, const char* format, FILE* in, pid_t* child) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  char name[] = "dot";
  char option[16];
  snprintf(option, sizeof option, "-T%s", format);
  char* const arguments[] = {name, option, NULL};
  int failed = posix_spawnp(child, program, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (!failed) return ends[0];
  close(ends[0]);
  return -1;
}

static bool read_all(int fd, ReportText* out) {
  char buffer[65536];
  for (;;) {
    ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0 && fflush(out->file) == 0;
    fwrite(buffer, 1, (size_t)got, out->file);
  }
}

/// Have dot draw the graph; false when it is not there or fails.
static bool draw_by_dot(const SltGraph* graph, const char* title, const char* format,
                        ReportText* out) {
  const char* program = dot_program();
  FILE* in = program ? tmpfile() : NULL;
  if (!in) return false;
  pid_t child = 0;
  bool written = slt_graph_write_dot(graph, title, (SltWriter){file_write, in}) >= 0;
  rewind(in);
  int fd = written ? start_dot(program, format, in, &child) : -1;
  fclose(in);
  if (fd < 0) return false;
  bool good = read_all(fd, out);
  close(fd);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return good && WIFEXITED(status) && WEXITSTATUS(status) == 0 && out->size > 0;
}

static void cut(ReportText* text, char* from, const char* to) {
  memmove(from, to, text->size - (size_t)(to - text->data) + 1);
  text->size -= (size_t)(to - from);
}

/// What stands before the picture in a file of its own has no place in a page, nor a name space of
/// links: there are none.
static void drop_prolog(ReportText* svg) {
  static const char links[] = " xmlns:xlink=\"http://www.w3.org/1999/xlink\"";
  const char* begin = strstr(svg->data, "<svg");
  if (begin) cut(svg, svg->data, begin);
  char* space = strstr(svg->data, links);
  if (space) cut(svg, space, space + sizeof links - 1);
}

bool graph_make(const SltGraph* graph, const char* title, const char* format, ReportText* out) {
  text_clear(out);
  if (!text_open(out)) return false;
  SltWriter writer = {file_write, out->file};
  if (strcmp(format, "dot") == 0) {
    return slt_graph_write_dot(graph, title, writer) >= 0 && fflush(out->file) == 0;
  }
  if (draw_by_dot(graph, title, format, out)) {
    if (strcmp(format, "svg") == 0) drop_prolog(out);
    return true;
  }
  text_clear(out);
  if (strcmp(format, "svg") != 0 || !text_open(out)) return false;
  return slt_graph_write(graph, title, (SltWriter){file_write, out->file}) >= 0 &&
         fflush(out->file) == 0;
}

static SltStatus swallow(void* user, const char* data, size_t length) {
  (void)user;
  (void)data;
  (void)length;
  return SLT_OK;
}

int graph_write(const SltGraph* graph, const char* title, const char* path) {
  if (slt_graph_write_dot(graph, title, (SltWriter){swallow, NULL}) == SLT_ERR_ARGUMENT) {
    cli_error("--graph: the model has no automata and no switches to draw");
    return CLI_MODEL;
  }
  ReportText picture = {0};
  const char* format = strrchr(path, '.') + 1;
  int exit = CLI_RUN;
  if (graph_make(graph, title, format, &picture)) {
    exit = output_replace(path, picture.data, picture.size);
  } else {
    cli_error("--graph %s: %s pictures of automata need the program dot of Graphviz", path, format);
    cli_hint("write an .svg, or install it (Debian: graphviz)");
    exit = CLI_USAGE;
  }
  text_clear(&picture);
  return exit;
}
