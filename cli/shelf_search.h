// SPDX-License-Identifier: MIT
//
// Looking for words in pages.
#ifndef SALTUS_CLI_SHELF_SEARCH_H
#define SALTUS_CLI_SHELF_SEARCH_H

#include "cli.h"

typedef struct SearchPage {
  const char* path;
  const char* name;  // as it is printed
} SearchPage;

/// Print where the words are; returns the exit status.
int pages_search(const SearchPage* pages, size_t count, char* const* words, int word_count);

#endif
