// SPDX-License-Identifier: MIT
//
// `saltus new`: a model to start from, as equations or as rule tables.
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char equations[] =
    "// %s: a ball falls, bounces, and comes to rest.\n"
    "// Run it:  saltus run %s.lisma --plot -\n"
    "\n"
    "// Constants can be set from outside: saltus run %s.lisma --set k=0.5\n"
    "const k = 0.8;        // part of the speed that is left after a bounce\n"
    "const h = 2;          // height at the start, m\n"
    "\n"
    "// Equations hold all the time; x' is the derivative of x. g = 9.80665 is built in.\n"
    "y' = v;\n"
    "v' = -g;\n"
    "\n"
    "// Values at the start.\n"
    "y(t0) = h;\n"
    "v(t0) = 0;\n"
    "\n"
    "// The ball touches the ground: enter a state, which may reset values at that instant.\n"
    "// `from` lists where it comes from. Where two could be entered, the first one wins:\n"
    "// a slow ball stays on the ground, where its equations are different ones.\n"
    "state rest unilateral[y <= 0] && v < 0 && v > -0.05 {\n"
    "  y' = 0;\n"
    "  v' = 0;\n"
    "  set y = 0;\n"
    "  set v = 0;\n"
    "} from bounce;\n"
    "\n"
    "// A fast one is thrown back.\n"
    "state bounce unilateral[y <= 0] && v < 0 {\n"
    "  set v = -k * v;\n"
    "} from init, bounce;\n"
    "\n"
    "// How to run it when nothing else is said.\n"
    "experiment {\n"
    "  end = 8;\n"
    "}\n";

static const char rules[] =
    "# %s: a room and its heater\n"
    "\n"
    "The tables are the model; text around them is for people. Run it:\n"
    "`saltus run %s.rules.md --plot -`. What the tables mean is told in docs/rules.md.\n"
    "\n"
    "## Settings\n"
    "\n"
    "| name | value |\n"
    "|---|---|\n"
    "| end | 600 |\n"
    "\n"
    "## Constants\n"
    "\n"
    "| name | value | unit | comment |\n"
    "|---|---|---|---|\n"
    "| outside | 5 | deg | |\n"
    "| loss | 0.01 | 1/min | can be set from outside: --set loss=0.02 |\n"
    "| power | 0.3 | deg/min | |\n"
    "\n"
    "## States\n"
    "\n"
    "| name | initial | unit | kind |\n"
    "|---|---|---|---|\n"
    "| temperature | 15 | deg | real |\n"
    "| difference | 0 | deg | real |\n"
    "| heating | true | | logical |\n"
    "\n"
    "## Predicates\n"
    "\n"
    "| name | relation |\n"
    "|---|---|\n"
    "| cold | temperature <= 19 |\n"
    "| warm | temperature >= 21 |\n"
    "\n"
    "## Situations\n"
    "\n"
    "| situation | when | then |\n"
    "|---|---|---|\n"
    "| too cold | cold | heating |\n"
    "| too warm | warm | not heating |\n"
    "\n"
    "## Rules\n"
    "\n"
    "| # | variable | procedure | coefficient | argument 1 | argument 2 | situation | parameter | "
    "value |\n"
    "|---|---|---|---|---|---|---|---|---|\n"
    "| 1 | difference | adding | 1 | temperature | outside | EverTrue | second coefficient | -1 |\n"
    "| 2 | temperature | integral | -loss | difference | | EverTrue | | |\n"
    "| 3 | temperature | integral | 1 | power | | heating | | |\n";

typedef struct Starter {
  const char* ending;
  const char* text;  // with the model's name once or more
} Starter;

static const Starter starters[] = {{".lisma", equations}, {".rules.md", rules}};

/// By the ending of the name; equations if it has none.
static const Starter* choose_starter(const char* name, bool* has_ending) {
  for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
    *has_ending = path_ends_with(name, starters[i].ending);
    if (*has_ending) return &starters[i];
  }
  return &starters[0];
}

static void write_starter(FILE* file, const Starter* starter, const char* name, size_t length) {
  for (const char* at = starter->text; *at;) {
    const char* mark = strstr(at, "%s");
    if (!mark) {
      fputs(at, file);
      return;
    }
    fwrite(at, 1, (size_t)(mark - at), file);
    fwrite(name, 1, length, file);
    at = mark + 2;
  }
}

static int cannot_create(const char* path) {
  if (errno == EEXIST) {
    cli_error("%s is there already; nothing was changed", path);
    cli_hint("choose another name");
  } else {
    cli_error("cannot write %s: %s", path, strerror(errno));
  }
  return CLI_USAGE;
}

int command_new(int argc, char** argv) {
  OptionParser parser = {.command = "new", .argc = argc, .argv = argv};
  const char* name = NULL;
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    if (name) {
      cli_error("new takes one name, `%s` is too much", parser.value);
      return CLI_USAGE;
    }
    name = parser.value;
  }
  if (!name || !name[0] || !path_base(name)[0]) {
    cli_error("new needs a name");
    cli_hint("saltus new ball, or saltus new room.rules.md for rule tables");
    return CLI_USAGE;
  }
  char path[4096];
  bool has_ending = false;
  const Starter* starter = choose_starter(name, &has_ending);
  int length = snprintf(path, sizeof path, "%s%s", name, has_ending ? "" : starter->ending);
  if (length < 0 || (size_t)length >= sizeof path) {
    cli_error("the name is too long");
    return CLI_USAGE;
  }
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  FILE* file = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (!file) return cannot_create(path);
  const char* base = path_base(path);
  write_starter(file, starter, base, strlen(base) - strlen(starter->ending));
  bool bad = ferror(file);
  if (fclose(file) != 0 || bad) {
    cli_error("cannot write %s: %s", path, strerror(errno));
    unlink(path);
    return CLI_RUN;
  }
  cli_print(stdout, "wrote %s\nnext:  saltus run %s --plot -\n", path, path);
  return CLI_DONE;
}
