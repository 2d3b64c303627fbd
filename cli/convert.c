// SPDX-License-Identifier: MIT
//
// `saltus convert A B`: rule tables between Markdown and a folder of CSV files, and to equations.
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <saltus/saltus_rules.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int write_file(const SltRules* rules, SltRulesFormat format, const char* path) {
  Output out = {.path = path, .whole = true};
  if (!output_open(&out)) return CLI_USAGE;
  SltStatus status = slt_rules_write(rules, format, (SltWriter){output_write, &out});
  if (status < 0) {
    output_abandon(&out, ENOMEM);
  } else {
    output_close(&out);
  }
  int exit = output_report(&out, "lines");
  if (exit != CLI_DONE || status >= 0) return exit;
  cli_error("cannot write %s: %s", path, slt_status_text(status));
  return CLI_RUN;
}

static int write_folder(const SltRules* rules, const char* folder) {
  static const struct {
    const char* name;
    SltRulesFormat format;
  } tables[] = {
      {"settings.csv", SLT_RULES_SETTINGS},     {"constants.csv", SLT_RULES_CONSTANTS},
      {"states.csv", SLT_RULES_STATES},         {"predicates.csv", SLT_RULES_PREDICATES},
      {"situations.csv", SLT_RULES_SITUATIONS}, {"rules.csv", SLT_RULES_RULES},
      {"drawing.csv", SLT_RULES_DRAWING},       {"controls.csv", SLT_RULES_CONTROLS},
  };
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
    cli_error("cannot make the folder %s: %s", folder, strerror(errno));
    return CLI_USAGE;
  }
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    size_t size = strlen(folder) + strlen(tables[i].name) + 2;
    char* path = malloc(size);
    if (!path) {
      cli_error("out of memory");
      return CLI_RUN;
    }
    snprintf(path, size, "%s/%s", folder, tables[i].name);
    int exit = write_file(rules, tables[i].format, path);
    free(path);
    if (exit != CLI_DONE) return exit;
  }
  return CLI_DONE;
}

/// A name without an ending, or a folder that exists.
static bool names_folder(const char* path) {
  struct stat info;
  if (stat(path, &info) == 0) return S_ISDIR(info.st_mode);
  return strchr(path_base(path), '.') == NULL;
}

static int convert(const char* from, const char* to) {
  if (path_ends_with(from, ".lisma")) {
    cli_error("%s holds equations; only rule tables can be converted", from);
    return CLI_USAGE;
  }
  if (files_are_same(from, to)) {
    cli_error("%s and %s are the same", from, to);
    return CLI_USAGE;
  }
  bool lisma = path_ends_with(to, ".lisma");
  bool markdown = path_ends_with(to, ".rules.md") || strcmp(to, "-") == 0;
  if (!lisma && !markdown && !names_folder(to)) {
    cli_error("%s: the result is a .rules.md, a .lisma, or a folder of CSV files", to);
    return CLI_USAGE;
  }
  ModelSource source = {0};
  SltRules* rules = source_open(&source, from) ? rules_load(&source, NULL, false) : NULL;
  int exit = !rules     ? CLI_MODEL
             : lisma    ? write_file(rules, SLT_RULES_LISMA, to)
             : markdown ? write_file(rules, SLT_RULES_MARKDOWN, to)
                        : write_folder(rules, to);
  slt_rules_free(rules);
  source_close(&source);
  return exit;
}

int command_convert(int argc, char** argv) {
  OptionParser parser = {.command = "convert", .argc = argc, .argv = argv};
  const char* words[2] = {NULL, NULL};
  int count = 0;
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    if (count < 2) words[count] = parser.value;
    count++;
  }
  if (count != 2) {
    cli_error("convert takes a model and what it becomes");
    cli_hint("saltus convert MODEL.rules.md MODEL.lisma, or a folder of CSV files, or back");
    return CLI_USAGE;
  }
  return convert(words[0], words[1]);
}
