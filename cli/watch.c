// SPDX-License-Identifier: MIT
//
// `saltus watch PROGRAM`: graphs and animation of a program with the CDCSIS dialect, in a page,
// while it runs. The program finds the file it writes them to in its environment; the page asks for
// what is new of it.
#define _GNU_SOURCE
#include "serve.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WATCH_PORT, WATCH_LISTEN, WATCH_OPEN };

static const OptionSpec specs[] = {
    [WATCH_PORT] = {"--port", "-p", OPTION_VALUE},
    [WATCH_LISTEN] = {"--listen", NULL, OPTION_VALUE},
    [WATCH_OPEN] = {"--open", NULL, OPTION_FLAG},
};

/// Start the program with its own signals and the file in its environment.
static bool start_program(char** argv, const char* file, pid_t* pid) {
  setenv(SERVE_WATCH_VARIABLE, file, 1);
  posix_spawnattr_t attributes;
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  int status = posix_spawnp(pid, argv[0], NULL, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  if (status != 0) cli_error("cannot start %s: %s", argv[0], strerror(status));
  return status == 0;
}

/// Until Ctrl-C: the page can be looked at when the program has ended.
static void wait_for_end(ServeOptions* options, const sigset_t* ends, pid_t program) {
  bool running = true;
  for (;;) {
    int signal = 0;
    sigwait(ends, &signal);
    if (signal != SIGCHLD) break;
    int status = 0;
    if (running && waitpid(program, &status, WNOHANG) == program) {
      running = false;
      int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      __atomic_store_n(&options->watch_exit, code, __ATOMIC_RELEASE);
      cli_print(stdout, "The program has ended (%d). Ctrl-C ends the page.\n", code);
      fflush(stdout);
    }
  }
  if (running) {
    kill(program, SIGTERM);
    waitpid(program, NULL, 0);
  }
}

static int watch(ServeOptions* options, char** argv, bool open) {
  char file[] = "/tmp/saltus-watch-XXXXXX";
  int fd = mkstemp(file);
  if (fd < 0 || !serve_make_token(options->token)) {
    cli_error("cannot make a file for what the program shows: %s", strerror(errno));
    return CLI_RUN;
  }
  options->watch_fd = fd;
  options->watch_exit = -1;
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGHUP);
  sigaddset(&ends, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &ends, NULL);
  ServeHttp* http = serve_http_start(options);
  pid_t program = 0;
  int status = CLI_USAGE;
  if (http && start_program(argv, file, &program)) {
    serve_show_address(options, "&watch", open);
    wait_for_end(options, &ends, program);
    status = CLI_DONE;
  }
  serve_http_stop(http);
  close(fd);
  unlink(file);
  return status;
}

int command_watch(int argc, char** argv) {
  // what stands behind the program's name is the program's
  int own = 0;
  while (own < argc && argv[own][0] == '-') {
    own += (strcmp(argv[own], "--port") == 0 || strcmp(argv[own], "-p") == 0 ||
            strcmp(argv[own], "--listen") == 0)
               ? 2
               : 1;
  }
  OptionParser parser = {.command = "watch",
                         .specs = specs,
                         .spec_count = sizeof specs / sizeof *specs,
                         .argc = own < argc ? own : argc,
                         .argv = argv};
  ServeOptions options = {.address = "127.0.0.1", .folder = "."};
  bool open = false;
  uint64_t port = 0;
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    switch (option) {
    case WATCH_PORT:
      if (!option_count("--port", parser.value, 1, 65535, &port)) return CLI_USAGE;
      options.port = (uint16_t)port;
      break;
    case WATCH_LISTEN: options.address = parser.value; break;
    case WATCH_OPEN: open = true; break;
    default: return CLI_USAGE;
    }
  }
  if (own >= argc) {
    cli_error("watch needs a program");
    cli_hint("saltus watch ./program");
    return CLI_USAGE;
  }
  if (serve_page_size == 0) {
    cli_error("the workbench is not built into this program");
    cli_hint("`make workbench` in the sources builds it; it needs nodejs and npm");
    return CLI_USAGE;
  }
  return watch(&options, argv + own, open);
}
