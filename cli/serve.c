// SPDX-License-Identifier: MIT
//
// `saltus serve`: the workbench in a browser.
#define _GNU_SOURCE
#include "serve.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SERVE_PORT, SERVE_LISTEN, SERVE_OPEN, SERVE_EXPORT, SERVE_ENGINE };

static const OptionSpec specs[] = {
    [SERVE_PORT] = {"--port", "-p", OPTION_VALUE},
    [SERVE_LISTEN] = {"--listen", NULL, OPTION_VALUE},
    [SERVE_OPEN] = {"--open", NULL, OPTION_FLAG},
    [SERVE_EXPORT] = {"--export", NULL, OPTION_VALUE},
    [SERVE_ENGINE] = {"--engine", NULL, OPTION_FLAG},  // the child process
};

bool serve_make_token(char token[SERVE_TOKEN_SIZE]) {
  unsigned char bytes[(SERVE_TOKEN_SIZE - 1) / 2];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return false;
  for (size_t i = 0; i < sizeof bytes; i++)
    snprintf(token + 2 * i, 3, "%02x", bytes[i]);
  return true;
}

void serve_show_address(const ServeOptions* options, const char* more, bool open) {
  char address[160];
  bool everywhere = strcmp(options->address, "0.0.0.0") == 0;
  snprintf(address, sizeof address, "http://%s:%u/#token=%s%s",
           everywhere ? "127.0.0.1" : options->address, options->port, options->token, more);
  const char* what = options->watch_fd ? "the program" : options->folder;
  cli_print(stdout, "The workbench with %s is at\n\n  %s\n\n", what, address);
  const char* can = options->watch_fd ? "look at it" : "read and write models there";
  cli_print(stdout, "The address holds a secret: who has it can %s. Ctrl-C ends it.\n", can);
  fflush(stdout);
  if (open) browser_open(address);
}

/// By FNV-1a; not 0.
static uint32_t number_of(const char* folder) {
  uint32_t number = 2166136261u;
  for (; *folder; folder++)
    number = (number ^ (unsigned char)*folder) * 16777619u;
  return number ? number : 1;
}

static int serve(ServeOptions* options, bool open) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &ends, NULL);
  if (!serve_make_token(options->token)) {
    cli_error("no random numbers: %s", strerror(errno));
    return CLI_RUN;
  }
  ServeHttp* http = serve_http_start(options);
  if (!http) return CLI_USAGE;
  char place[32];
  snprintf(place, sizeof place, "&folder=%x", options->place);
  serve_show_address(options, place, open);
  int signal = 0;
  sigwait(&ends, &signal);
  serve_http_stop(http);
  return CLI_DONE;
}

int command_serve(int argc, char** argv) {
  OptionParser parser = {.command = "serve",
                         .specs = specs,
                         .spec_count = sizeof specs / sizeof *specs,
                         .argc = argc,
                         .argv = argv};
  ServeOptions options = {.address = "127.0.0.1"};
  bool open = false;
  bool engine = false;
  const char* to = NULL;
  uint64_t port = 0;
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    switch (option) {
    case SERVE_PORT:
      if (!option_count("--port", parser.value, 1, 65535, &port)) return CLI_USAGE;
      options.port = (uint16_t)port;
      break;
    case SERVE_LISTEN: options.address = parser.value; break;
    case SERVE_OPEN: open = true; break;
    case SERVE_EXPORT: to = parser.value; break;
    case SERVE_ENGINE: engine = true; break;
    case OPTION_WORD:
      if (options.folder) {
        cli_error("serve takes one folder, not %s and %s", options.folder, parser.value);
        return CLI_USAGE;
      }
      options.folder = parser.value;
      break;
    default: return CLI_USAGE;
    }
  }
  if (!options.folder) options.folder = ".";
  struct stat folder;
  if (stat(options.folder, &folder) != 0 || !S_ISDIR(folder.st_mode)) {
    cli_error("there is no folder %s", options.folder);
    return CLI_USAGE;
  }
  if (engine) return engine_main(options.folder);
  if (to) return serve_export(options.folder, to);
  if (serve_page_size == 0) {
    cli_error("the workbench is not built into this program");
    cli_hint("`make workbench` in the sources builds it; it needs nodejs and npm");
    return CLI_USAGE;
  }
  char* full = realpath(options.folder, NULL);
  if (full) options.folder = full;
  options.place = number_of(options.folder);
  int status = serve(&options, open);
  free(full);
  return status;
}
