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

static int format_file(const char* path, bool check) {
  if (!path_ends_with(path, ".lisma")) {
    cli_error("fmt puts models in LISMA in order; %s is none by its name", path);
    cli_hint("rule tables are tables: any editor of Markdown aligns them");
    return CLI_USAGE;
  }
  size_t length = 0;
  char* data = input_read(path, "model", false, SOURCE_LIMIT, &length);
  if (!data) return CLI_USAGE;
  Text out = {0};
  int exit = format_text(path, data, length, &out);
  bool same = out.length == length && (length == 0 || memcmp(out.data, data, length) == 0);
  if (exit == CLI_DONE && !same) {
    cli_print(stdout, "%s\n", path);
    if (check) {
      exit = CLI_MODEL;
    } else {
      exit = output_rewrite(path, out.data, out.length);
    }
  }
  free(out.data);
  free(data);
  return exit;
}

static int format_stream(void) {
  Text out = {0};
  size_t length = 0;
  char* data = input_read("-", "model", true, SOURCE_LIMIT, &length);
  if (!data) return CLI_USAGE;
  int exit = format_text("standard input", data, length, &out);
  if (exit == CLI_DONE && out.length) fwrite(out.data, 1, out.length, stdout);
  free(data);
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
