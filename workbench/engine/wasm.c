// SPDX-License-Identifier: MIT
//
// The engine of the page with the engine inside: what its worker calls.
#include "page.h"

#include <emscripten.h>
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
