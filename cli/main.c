// SPDX-License-Identifier: MIT
#define _XOPEN_SOURCE 700
#include "cli.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef int CommandFn(int argc, char** argv);

static const struct {
  const char* name;
  CommandFn* run;
} commands[] = {
    {"run", command_run},         {"check", command_check},       {"explain", command_explain},
    {"plot", command_plot},       {"new", command_new},           {"methods", command_methods},
    {"convert", command_convert}, {"cache", command_cache},       {"fmt", command_fmt},
    {"lsp", command_lsp},         {"serve", command_serve},       {"sweep", command_sweep},
    {"export", command_export},   {"sens", command_sens},         {"compare", command_compare},
    {"fit", command_fit},         {"optimize", command_optimize}, {"gallery", command_gallery},
    {"docs", command_docs},       {"watch", command_watch},       {"steady", command_steady},
    {"diff", command_diff},       {"names", command_names},       {"linearize", command_linearize},
    {"measure", command_measure},
};
#define COMMAND_COUNT (sizeof commands / sizeof *commands)

/// A closed standard stream must not be taken by a file we open: messages would go into it.
static void hold_standard_streams(void) {
  for (int fd = 0; fd <= 2; fd++) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // reading end for output on purpose: writing to a closed stream stays an error
    int null = open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    if (null > 2) close(null);
  }
}

static int unknown_command(const char* name) {
  cli_error("there is no command `%s`", name);
  const char* names[COMMAND_COUNT + 1] = {"help"};
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    names[i + 1] = commands[i].name;
  const char* nearest = cli_nearest(name, names, COMMAND_COUNT + 1);
  if (path_ends_with(name, ".lisma")) {
    cli_hint("to simulate a model: saltus run %s", name);
  } else if (nearest) {
    cli_hint("did you mean `saltus %s`?", nearest);
  } else {
    cli_hint("`saltus help` lists the commands");
  }
  return CLI_USAGE;
}

static bool is_help(const char* word) {
  return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int help(char* command) {
  if (help_print(stdout, command) || !command) return CLI_DONE;
  if (message_is_code(command)) return command_docs(1, &command);
  return unknown_command(command);
}

static int dispatch(int argc, char** argv) {
  if (argc < 2) {
    help_print(stderr, NULL);
    return CLI_USAGE;
  }
  char* word = argv[1];
  if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "version") == 0) {
    printf("saltus %s\n", slt_version());
    return CLI_DONE;
  }
  if (is_help(word) || strcmp(word, "help") == 0) {
    return help(argc > 2 && !is_help(argv[2]) ? argv[2] : NULL);
  }
  if (word[0] == '-') {
    cli_error("there is no option %s before a command", word);
    cli_hint("usage: saltus COMMAND [ARGUMENTS]; `saltus help` lists the commands");
    return CLI_USAGE;
  }
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    if (strcmp(commands[i].name, word) != 0) continue;
    for (int k = 2; k < argc && strcmp(argv[k], "--") != 0; k++) {
      if (is_help(argv[k])) return help(word);
    }
    if (report_is_asked(word, argc - 2, argv + 2)) {
      return report_experiment(word, commands[i].run, argc - 2, argv + 2);
    }
    return commands[i].run(argc - 2, argv + 2);
  }
  return unknown_command(word);
}

int main(int argc, char** argv) {
  hold_standard_streams();
  // a closed pipe shows as an error of writing, so that files are finished before we leave
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // so does a file that may not grow any more
  return stdout_finish(dispatch(argc, argv));
}
