// SPDX-License-Identifier: MIT
//
// In place of `saltus serve` where the library it needs was not there when the program was built.
#include "cli.h"

static int refuse(const char* command) {
  cli_error("%s is not part of this program: libmicrohttpd was not found when it was built",
            command);
  cli_hint("install Debian's libmicrohttpd-dev and build again, or use `make workbench`");
  return CLI_USAGE;
}

int command_serve(int argc, char** argv) {
  (void)argc;
  (void)argv;
  return refuse("serve");
}

int command_watch(int argc, char** argv) {
  (void)argc;
  (void)argv;
  return refuse("watch");
}
