// SPDX-License-Identifier: MIT
//
// The engine of the page with the engine inside: what its worker calls.
#include "page.h"

#include <emscripten.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>

static Page* page;
static char* answer;
static size_t answer_size;

/// Answer a request of `length` bytes with a NUL behind them, in memory from malloc(), which is
/// freed here. The answer stays until the next one; NULL: there is no memory.
EMSCRIPTEN_KEEPALIVE char* web_take(char* text, size_t length) {
  if (!page) page = page_open(NULL);
  free(answer);
  answer = NULL;
  answer_size = 0;
  if (page) {
    PageReply reply;
    page_take(page, text, length, &reply);
    answer = page_reply_bytes(&reply, &answer_size);
    page_reply_clear(&reply);
  }
  free(text);
  return answer;
}

EMSCRIPTEN_KEEPALIVE size_t web_size(void) {
  return answer_size;
}

/// A page starts no programs: pictures of automata are drawn by the library, not by Graphviz.
int posix_spawnp(pid_t* restrict pid, const char* restrict file,
                 const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* restrict attributes, char* const argv[restrict],
                 char* const envp[restrict]) {
  (void)pid, (void)file, (void)actions, (void)attributes, (void)argv, (void)envp;
  return ENOSYS;
}

/// A page has no folder of data that was installed with it.
bool shelf_data_root(char* root) {
  (void)root;
  return false;
}
