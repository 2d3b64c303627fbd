// SPDX-License-Identifier: MIT
//
// Looking for words in the pages of the manual: lines that hold them all, headings first; where
// there are none, the sections that hold most of them.
#define _GNU_SOURCE
#include "shelf_search.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX    16
#define SECTIONS_MAX 10

/// Words to look for, in one copy of the text they came in.
typedef struct Words {
  char* text;
  char* items[WORDS_MAX];
  int count;
} Words;

typedef struct Section {
  const SearchPage* page;
  char heading[200];
  int line;
  unsigned found;  // bit by bit: words it holds
  unsigned named;  // ... in its heading
  int lines;
  int score;
} Section;

/// Words that every page is full of tell nothing.
static bool tells_nothing(const char* word) {
  static const char* const all[] = {"a",    "an",  "and", "at",  "can", "do",  "does", "for",
                                    "from", "how", "i",   "in",  "is",  "it",  "me",   "my",
                                    "of",   "on",  "or",  "the", "to",  "two", "what", "with"};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (strcasecmp(word, all[i]) == 0) return true;
  }
  return false;
}

static bool read_words(char* const* given, int count, Words* out) {
  size_t size = 1;
  for (int i = 0; i < count; i++)
    size += strlen(given[i]) + 1;
  *out = (Words){.text = calloc(size, 1)};
  size_t used = 0;
  for (int i = 0; i < count && out->text; i++)
    used += (size_t)snprintf(out->text + used, size - used, "%s ", given[i]);
  char* rest = NULL;
  char* word = out->text ? strtok_r(out->text, " ", &rest) : NULL;
  for (; word && out->count < WORDS_MAX; word = strtok_r(NULL, " ", &rest)) {
    if (count == 1 || !tells_nothing(word)) out->items[out->count++] = word;
  }
  return out->text != NULL;
}

static unsigned words_in(const char* line, const Words* words) {
  unsigned found = 0;
  for (int i = 0; i < words->count; i++)
    found |= (unsigned)(strcasestr(line, words->items[i]) != NULL) << i;
  return found;
}

static int bits(unsigned set) {
  int count = 0;
  for (; set; set &= set - 1)
    count++;
  return count;
}

/// Keep a section among the best; equal ones stay in the order of the pages. Words count more in a
/// heading, and less in a section so long that it holds anything.
static void keep_section(Section* best, Section* section) {
  int length = section->lines < 80 ? section->lines / 20 : 4;
  section->score = 4 * bits(section->found) + 3 * bits(section->named) - length;
  for (int i = 0; section->found && i < SECTIONS_MAX; i++) {
    if (best[i].score >= section->score) continue;
    memmove(&best[i + 1], &best[i], (size_t)(SECTIONS_MAX - 1 - i) * sizeof *best);
    best[i] = *section;
    return;
  }
}

/// Go through a page: print its headings or its other lines that hold all the words, and keep its
/// sections.
static bool search_page(const SearchPage* page, bool headings, const Words* words, Section* best) {
  char line[4096];
  bool found = false;
  bool code = false;
  FILE* file = fopen(page->path, "r");
  Section section = {.page = page, .line = 1};
  unsigned all = (1u << words->count) - 1;
  for (int number = 1; file && fgets(line, sizeof line, file); number++) {
    if (strncmp(line, "```", 3) == 0) code = !code;
    size_t marks = strspn(line, "#");
    bool heading = !code && marks > 0 && line[marks] == ' ';
    unsigned here = words_in(line, words);
    if (heading) {
      if (headings) keep_section(best, &section);
      section = (Section){.page = page, .line = number, .named = here};
      snprintf(section.heading, sizeof section.heading, "%.*s", (int)strcspn(line, "\n"), line);
    }
    section.found |= here;
    section.lines++;
    if (heading != headings || here != all) continue;
    found = true;
    cli_print(stdout, "%s:%d: %s", page->name, number, line);
  }
  if (headings) keep_section(best, &section);
  if (file) fclose(file);
  return found;
}

static bool print_sections(const Section* best, const Words* words) {
  bool found = false;
  for (int i = 0; i < SECTIONS_MAX; i++) {
    // one with fewer than half of the words is about something else
    if (!best[i].page || 2 * bits(best[i].found) < words->count) continue;
    if (!found) cli_note("no line has all of these words; sections with some of them:");
    found = true;
    cli_print(stdout, "%s:%d: %s\n", best[i].page->name, best[i].line, best[i].heading);
  }
  return found;
}

int pages_search(const SearchPage* pages, size_t count, char* const* given, int given_count) {
  Words words;
  Section best[SECTIONS_MAX + 1] = {0};
  if (!read_words(given, given_count, &words)) return out_of_memory();
  bool found = false;
  for (int headings = 1; headings >= 0 && words.count; headings--) {
    for (size_t i = 0; i < count; i++)
      found |= search_page(&pages[i], headings, &words, best);
  }
  if (!found) found = print_sections(best, &words);
  if (!found) {
    cli_error("the manual has nothing about that");
    cli_hint("try another word for it, or fewer; `saltus docs` lists the pages");
  }
  free(words.text);
  return found ? CLI_DONE : CLI_MODEL;
}
