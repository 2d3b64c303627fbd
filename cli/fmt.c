// SPDX-License-Identifier: MIT
//
// `saltus fmt FILE...`: the layout of models put in order.
#define _POSIX_C_SOURCE 200809L
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 65536u

static void print_diagnostic(void* user, const SltDiagnostic* d) {
  (void)user;
  fputs(d->rendered, stderr);
  size_t length = strlen(d->rendered);
  if (length == 0 || d->rendered[length - 1] != '\n') fputc('\n', stderr);
}

static int format_text(const char* name, const char* data, size_t length, Text* out) {
  SltCompileOptions options = slt_compile_options();
  options.on_diagnostic = print_diagnostic;
  options.colour = cli_colour();
  SltStatus status = slt_format(name, data, length, &options, (SltWriter){text_keep, out});
  if (status >= 0) return CLI_DONE;
  if (status != SLT_ERR_SYNTAX) cli_error("%s: %s", name, slt_status_text(status));
  return CLI_MODEL;
}

/// A new file beside the old one, which then takes its place: the model is never half there.
static bool replace(const char* path, const Text* text) {
  size_t size = strlen(path) + sizeof ".new";
  char* fresh = malloc(size);
  struct stat old;
  int error = fresh && stat(path, &old) == 0 ? 0 : fresh ? errno : ENOMEM;
  int fd = -1;
  if (!error) {
    snprintf(fresh, size, "%s.new", path);
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, old.st_mode & 0777);
    if (fd < 0) error = errno;
  }
  for (size_t done = 0; !error && done < text->length;) {
    ssize_t written = write(fd, text->data + done, text->length - done);
    if (written < 0 && errno != EINTR) error = errno;
    if (written > 0) done += (size_t)written;
  }
  if (fd >= 0 && close(fd) != 0 && !error) error = errno;
  if (!error && rename(fresh, path) != 0) error = errno;
  if (error && fd >= 0) unlink(fresh);
  free(fresh);
  if (error) cli_error("cannot write %s: %s", path, strerror(error));
  return !error;
}

static int format_file(const char* path, bool check) {
  if (!path_ends_with(path, ".lisma")) {
    cli_error("fmt puts models in LISMA in order; %s is none by its name", path);
    cli_hint("rule tables are tables: any editor of Markdown aligns them");
    return CLI_USAGE;
  }
  size_t length = 0;
  char* data = input_read(path, "model", &length);
  if (!data) return CLI_USAGE;
  Text out = {0};
  int exit = format_text(path, data, length, &out);
  bool same = out.length == length && (length == 0 || memcmp(out.data, data, length) == 0);
  if (exit == CLI_DONE && !same) {
    printf("%s\n", path);
    if (check) {
      exit = CLI_MODEL;
    } else if (!replace(path, &out)) {
      exit = CLI_USAGE;
    }
  }
  free(out.data);
  free(data);
  return exit;
}

static int format_stream(void) {
  Text in = {0};
  Text out = {0};
  char buffer[READ_BYTES];
  size_t got = 0;
  int exit = CLI_DONE;
  while (exit == CLI_DONE && (got = fread(buffer, 1, sizeof buffer, stdin)) > 0) {
    if (text_keep(&in, buffer, got) < 0) exit = CLI_RUN;
  }
  if (exit != CLI_DONE) cli_error("out of memory");
  if (exit == CLI_DONE)
    exit = format_text("standard input", in.data ? in.data : "", in.length, &out);
  if (exit == CLI_DONE && out.length) fwrite(out.data, 1, out.length, stdout);
  free(in.data);
  free(out.data);
  return exit;
}

int command_fmt(int argc, char** argv) {
  static const OptionSpec specs[] = {{"--check", NULL, OPTION_FLAG}};
  bool check = false;
  int files = 0;
  // --check may stand anywhere: look for it first
  for (int pass = 0; pass < 2; pass++) {
    OptionParser parser = {
        .command = "fmt", .specs = specs, .spec_count = 1, .argc = argc, .argv = argv};
    int exit = CLI_DONE;
    for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
      if (option == OPTION_BAD) return CLI_USAGE;
      if (option == 0) check = true;
      if (option != OPTION_WORD || pass == 0) continue;
      files++;
      int one = strcmp(parser.value, "-") == 0 ? format_stream() : format_file(parser.value, check);
      if (one > exit) exit = one;
    }
    if (pass == 1 && files > 0) return exit;
  }
  cli_error("fmt needs a model");
  cli_hint("saltus fmt MODEL.lisma, or saltus fmt - for standard input");
  return CLI_USAGE;
}
