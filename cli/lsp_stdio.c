// SPDX-License-Identifier: MIT
//
// `saltus lsp`: speaks with an editor over standard input and output. A message is a header that
// tells its length, and JSON.
#define _POSIX_C_SOURCE 200809L
#include "lsp.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MESSAGE_BYTES_MAX ((size_t)256 << 20)
#define HEADER_BYTES_MAX  1024

/// Length of the next message; 0 at the end of the input or when the header makes no sense.
static size_t read_header(void) {
  char line[HEADER_BYTES_MAX];
  size_t length = 0;
  while (fgets(line, sizeof line, stdin)) {
    if (strcmp(line, "\r\n") == 0 || strcmp(line, "\n") == 0) {
      return length <= MESSAGE_BYTES_MAX ? length : 0;
    }
    size_t name = strlen("Content-Length:");
    if (strncasecmp(line, "Content-Length:", name) == 0) length = strtoull(line + name, NULL, 10);
  }
  return 0;
}

/// The next message, NUL-terminated; NULL at the end.
static char* read_message(size_t* length) {
  *length = read_header();
  char* text = *length ? malloc(*length + 1) : NULL;
  if (!text) return NULL;
  if (fread(text, 1, *length, stdin) != *length) {
    free(text);
    return NULL;
  }
  text[*length] = '\0';
  return text;
}

static bool send_to_editor(void* user, const Text* body) {
  (void)user;
  return printf("Content-Length: %zu\r\n\r\n", body->length) >= 0 &&
         fwrite(body->data, 1, body->length, stdout) == body->length && fflush(stdout) == 0;
}

int command_lsp(int argc, char** argv) {
  // editors pass --stdio out of habit
  static const OptionSpec specs[] = {{"--stdio", NULL, OPTION_FLAG}};
  OptionParser parser = {
      .command = "lsp", .specs = specs, .spec_count = 1, .argc = argc, .argv = argv};
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    if (option != OPTION_WORD) continue;
    cli_error("lsp takes no files: the editor sends them");
    return CLI_USAGE;
  }
  if (isatty(STDIN_FILENO)) {
    cli_error("`saltus lsp` is started by an editor and speaks with it over standard input");
    cli_hint("the manual tells how to set up yours: docs/editors.md");
    return CLI_USAGE;
  }
  LspServer server = {.send = send_to_editor};
  size_t length = 0;
  for (char* text = NULL; !server.exit && !server.broken && (text = read_message(&length));) {
    lsp_take(&server, text, length);
    free(text);
  }
  if (!server.exit && !server.broken) {
    cli_error(feof(stdin) ? "the editor went away without `exit`"
                          : "what came from the editor is no message of its protocol");
  }
  lsp_clear(&server);
  return server.exit && server.stopping ? CLI_DONE : CLI_MODEL;
}
