// SPDX-License-Identifier: MIT
//
// In place of `saltus serve` where the library it needs was not there when the program was built.
#include "cli.h"

int command_serve(int argc, char** argv) {
  (void)argc;
  (void)argv;
  cli_error("serve is not part of this program: libmicrohttpd was not found when it was built");
  cli_hint("install Debian's libmicrohttpd-dev and build again, or use `make workbench`");
  return CLI_USAGE;
}
