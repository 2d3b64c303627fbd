// SPDX-License-Identifier: MIT
//
// `saltus gallery` and `saltus docs`: the models and pages that are installed with the program.
#define _GNU_SOURCE  // strcasestr(), d_type
#include "cli.h"
#include "shelf_search.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of the C library
extern char** environ;

#ifndef SALTUS_DATA_PATH
#define SALTUS_DATA_PATH "../share/saltus"  // from the folder of the program
#endif

typedef struct ShelfEntry {
  char* path;
  const char* name;  // within path, from the shelf on, with its ending
  char* title;
} ShelfEntry;

typedef struct Shelf {
  const char* command;
  const char* folder;
  const char* endings[2];
  const char* left_out;  // a folder that holds no entries of its own
  char root[PATH_MAX];
  ShelfEntry* items;
  size_t count;
} Shelf;

static bool is_gallery(const Shelf* shelf) {
  return strcmp(shelf->command, "gallery") == 0;
}

// ---- where it is --------------------------------------------------------------------------------

/// What `relative` leads to from the folder of the program, if that exists.
static bool beside_program(char path[PATH_MAX], const char* relative) {
  char program[PATH_MAX];
  char joined[PATH_MAX];
  const char* started = (const char*)getauxval(AT_EXECFN);  // NOLINT(performance-no-int-to-ptr)
  if (!started || !realpath(started, program)) return false;
  int folder = (int)(path_base(program) - program);
  int needed = snprintf(joined, sizeof joined, "%.*s%s", folder, program, relative);
  return needed > 0 && (size_t)needed < sizeof joined && realpath(joined, path);
}

/// The folder that holds models/ and docs/: $SALTUS_DATA, else the installed one, else the source
/// of a program that was not installed.
bool shelf_data_root(char* root) {
  static const char* const places[] = {SALTUS_DATA_PATH, "../..", ".."};
  const char* given = getenv("SALTUS_DATA");
  if (given) return realpath(given, root) != NULL;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char page[PATH_MAX + 20];
    if (!beside_program(root, places[i])) continue;
    snprintf(page, sizeof page, "%s/docs/README.md", root);
    if (access(page, R_OK) == 0) return true;
  }
  return false;
}

// ---- what is on it ------------------------------------------------------------------------------

/// The first heading of a page, or the first sentence of a model's comment.
static char* read_title(const char* path) {
  char line[512];
  char title[512] = "";
  FILE* file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    bool comment = strncmp(line, "// ", 3) == 0;
    if (!comment && strncmp(line, "# ", 2) != 0) break;
    size_t length = strlen(title);
    snprintf(title + length, sizeof title - length, "%s%s", length ? " " : "",
             line + (comment ? 3 : 2));
    char* end = strstr(title, ". ");
    if (end) *end = '\0';
    if (!comment || end) break;
  }
  if (file) fclose(file);
  size_t length = strlen(title);
  if (length && title[length - 1] == '.') title[length - 1] = '\0';
  return strdup(title);
}

static bool shelf_add(Shelf* shelf, const char* path) {
  ShelfEntry* items = realloc(shelf->items, (shelf->count + 1) * sizeof *items);
  if (!items) return false;
  shelf->items = items;
  ShelfEntry* entry = &items[shelf->count];
  entry->path = strdup(path);
  entry->title = read_title(path);
  if (!entry->path || !entry->title) {
    free(entry->path);
    free(entry->title);
    return false;
  }
  entry->name = entry->path + strlen(shelf->root) + 1;
  shelf->count++;
  return true;
}

static bool shelf_takes(const Shelf* shelf, const char* path) {
  for (size_t i = 0; i < 2; i++) {
    if (shelf->endings[i] && path_ends_with(path, shelf->endings[i])) return true;
  }
  return false;
}

static int files_first(const struct dirent** a, const struct dirent** b) {
  int folders = ((*a)->d_type == DT_DIR) - ((*b)->d_type == DT_DIR);
  return folders ? folders : strcmp((*a)->d_name, (*b)->d_name);
}

/// Entries of a folder, then those of the folders in it.
static bool shelf_scan(Shelf* shelf, const char* folder) {  // NOLINT(misc-no-recursion)
  struct dirent** found = NULL;
  int count = scandir(folder, &found, NULL, files_first);
  bool good = count >= 0;
  for (int i = 0; i < count; i++) {
    char path[PATH_MAX];
    const char* name = found[i]->d_name;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (good && name[0] != '.' && length > 0 && (size_t)length < sizeof path) {
      bool below = found[i]->d_type == DT_DIR && strcmp(name, shelf->left_out) != 0;
      if (below) good = shelf_scan(shelf, path);
      if (shelf_takes(shelf, path)) good = shelf_add(shelf, path);
    }
    free(found[i]);
  }
  free(found);
  return good;
}

static bool shelf_open(Shelf* shelf) {
  char root[PATH_MAX];
  bool known = shelf_data_root(root);
  int length = snprintf(shelf->root, sizeof shelf->root, "%s/%s", known ? root : "", shelf->folder);
  if (known && (size_t)length < sizeof shelf->root && shelf_scan(shelf, shelf->root)) return true;
  cli_error("the folder of %s is not to be found", shelf->folder);
  cli_hint("it is installed with saltus as share/saltus/%s; the variable SALTUS_DATA can name the "
           "folder it is in",
           shelf->folder);
  return false;
}

static void shelf_close(Shelf* shelf) {
  for (size_t i = 0; i < shelf->count; i++) {
    free(shelf->items[i].path);
    free(shelf->items[i].title);
  }
  free(shelf->items);
}

// ---- looking for things -------------------------------------------------------------------------

/// Length of an entry's name without its ending.
static int name_length(const Shelf* shelf, const ShelfEntry* entry) {
  size_t length = strlen(entry->name);
  for (size_t i = 0; i < 2; i++) {
    const char* ending = shelf->endings[i];
    if (ending && path_ends_with(entry->name, ending)) return (int)(length - strlen(ending));
  }
  return (int)length;
}

static bool is_named(const Shelf* shelf, const ShelfEntry* entry, const char* name) {
  size_t length = (size_t)name_length(shelf, entry);
  if (strcmp(entry->name, name) == 0) return true;
  return strlen(name) == length && strncmp(entry->name, name, length) == 0;
}

static const ShelfEntry* entry_of(const Shelf* shelf, const char* name) {
  for (size_t i = 0; i < shelf->count; i++) {
    if (is_named(shelf, &shelf->items[i], name)) return &shelf->items[i];
  }
  return NULL;
}

/// The entry of a name; NULL after a message.
static const ShelfEntry* shelf_find(const Shelf* shelf, const char* name) {
  const ShelfEntry* entry = entry_of(shelf, name);
  if (entry) return entry;
  cli_error("there is no `%s` in %s", name, shelf->root);
  cli_hint("`saltus %s` lists what there is", shelf->command);
  return NULL;
}

static bool holds_all(const char* text, char* const* words, int count) {
  for (int i = 0; i < count; i++) {
    if (!strcasestr(text, words[i])) return false;
  }
  return true;
}

/// Names and titles; those that hold all the words, if there are any.
static int shelf_list(const Shelf* shelf, char* const* words, int count) {
  int width = 0;
  size_t shown = 0;
  for (size_t i = 0; i < shelf->count; i++) {
    int length = name_length(shelf, &shelf->items[i]);
    if (length > width) width = length;
  }
  for (size_t i = 0; i < shelf->count; i++) {
    const ShelfEntry* entry = &shelf->items[i];
    char text[PATH_MAX + 512];
    snprintf(text, sizeof text, "%s %s", entry->name, entry->title);
    if (!holds_all(text, words, count)) continue;
    shown++;
    cli_print(stdout, "%-*.*s  %s\n", width, name_length(shelf, entry), entry->name, entry->title);
  }
  if (shown) return CLI_DONE;
  cli_error("nothing in %s is about that", shelf->root);
  cli_hint("`saltus %s` lists what there is", shelf->command);
  return CLI_MODEL;
}

/// In all pages and the README.
static int search_pages(const Shelf* shelf, char* const* words, int count) {
  char readme[PATH_MAX + 32];
  snprintf(readme, sizeof readme, "%s/../README.md", shelf->root);
  SearchPage* pages = calloc(shelf->count + 1, sizeof *pages);
  if (!pages) return out_of_memory();
  for (size_t i = 0; i < shelf->count; i++)
    pages[i] = (SearchPage){shelf->items[i].path, shelf->items[i].name};
  pages[shelf->count] = (SearchPage){readme, "../README.md"};
  int exit = pages_search(pages, shelf->count + 1, words, count);
  free(pages);
  return exit;
}

// ---- showing and copying ------------------------------------------------------------------------

bool browser_open(const char* address) {
  char* argv[] = {"xdg-open", (char*)address, NULL};
  pid_t pid = 0;
  if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) return false;
  if (posix_spawnp(&pid, "xdg-open", NULL, NULL, argv, environ) != 0) return false;
  waitpid(pid, NULL, 0);
  return true;
}

/// The page of the built manual, else the text it was made from.
static int show_page(const Shelf* shelf, const ShelfEntry* entry) {
  char page[2 * PATH_MAX];
  int folder = (int)(strlen(shelf->root) - strlen(shelf->folder));
  if (entry && !is_gallery(shelf)) {
    snprintf(page, sizeof page, "%.*smanual/%.*s.html", folder, shelf->root,
             name_length(shelf, entry), entry->name);
  } else {
    snprintf(page, sizeof page, "%.*smanual/%s.html", folder, shelf->root,
             is_gallery(shelf) ? "gallery" : "index");
  }
  if (access(page, R_OK) != 0) {
    snprintf(page, sizeof page, "%s/README.md", shelf->root);
    if (entry) snprintf(page, sizeof page, "%s", entry->path);
  }
  puts(page);
  browser_open(page);
  return CLI_DONE;
}

static int print_file(const char* path) {
  size_t length = 0;
  char* text = input_read(path, "page", false, SOURCE_LIMIT, &length);
  if (!text) return CLI_MODEL;
  StdoutText out = {.length = 0};
  stdout_write_text(&out, text, length);
  free(text);
  return CLI_DONE;
}

bool message_is_code(const char* word) {
  return strlen(word) == 5 && strchr("EWIewi", word[0]) && strspn(word + 1, "0123456789") == 4;
}

/// The section about a message, from its heading to the next one.
static int print_message(const char* path, const char* code) {
  char heading[16];
  size_t length = 0;
  char* read = input_read(path, "page", false, SOURCE_LIMIT, &length);
  if (!read) return CLI_MODEL;
  char* text = realloc(read, length + 1);
  if (!text) {
    free(read);
    cli_error("out of memory");
    return CLI_MODEL;
  }
  text[length] = '\0';
  snprintf(heading, sizeof heading, "\n## %c%s ", toupper((unsigned char)code[0]), code + 1);
  const char* begin = strstr(text, heading);
  const char* end = begin ? strstr(begin + 1, "\n## ") : NULL;
  if (begin) {
    StdoutText out = {.length = 0};
    stdout_write_text(&out, begin + 1, end ? (size_t)(end - begin - 1) : strlen(begin + 1));
  } else {
    cli_error("there is no message %s", code);
    cli_hint("`saltus docs diagnostics` has all of them");
  }
  free(text);
  return begin ? CLI_DONE : CLI_MODEL;
}

static int copy_file(const char* from, const char* to) {
  size_t length = 0;
  if (access(to, F_OK) == 0) {
    cli_error("%s is there already, and stays as it is", to);
    return CLI_USAGE;
  }
  char* text = input_read(from, "model", false, SOURCE_LIMIT, &length);
  if (!text) return CLI_MODEL;
  int exit = output_replace(to, text, length);
  free(text);
  if (exit == CLI_DONE) cli_print(stdout, "%s\n", to);
  return exit;
}

/// The files in quotes that a model names, with the folders they are in.
static int copy_named_files(const char* model) {
  size_t length = 0;
  int exit = CLI_DONE;
  char* text = input_read(model, "model", false, SOURCE_LIMIT, &length);
  if (!text) return CLI_MODEL;
  char* rest = text;
  const char* behind = text + length;
  while (exit == CLI_DONE) {
    char from[PATH_MAX];
    char* quoted = memchr(rest, '"', (size_t)(behind - rest));
    char* end = quoted ? memchr(quoted + 1, '"', (size_t)(behind - quoted - 1)) : NULL;
    if (!end) break;
    *end = '\0';
    rest = end + 1;
    const char* name = quoted + 1;
    if (!path_ends_with(name, ".csv") && !path_ends_with(name, ".lisma")) continue;
    snprintf(from, sizeof from, "%.*s%s", (int)(path_base(model) - model), model, name);
    if (access(from, R_OK) != 0 || access(name, F_OK) == 0) continue;
    const char* base = path_base(name);
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", base > name ? (int)(base - name - 1) : 0, name);
    if (*folder && !folder_make(folder)) {
      cli_error("cannot make the folder %s: %s", folder, strerror(errno));
      exit = CLI_RUN;
    } else {
      exit = copy_file(from, name);
    }
  }
  free(text);
  return exit;
}

static int copy_model(const ShelfEntry* entry) {
  int exit = copy_file(entry->path, path_base(entry->path));
  return exit == CLI_DONE ? copy_named_files(entry->path) : exit;
}

// ---- commands -----------------------------------------------------------------------------------

/// SHELF_OWN is what only one of them has: --copy of the gallery, --find of the pages.
typedef enum ShelfAction { SHELF_OPEN, SHELF_PATH, SHELF_OWN, SHELF_SHOW } ShelfAction;

static int with_entry(const Shelf* shelf, ShelfAction action, const char* name) {
  const ShelfEntry* entry = NULL;
  const char* code = name && !is_gallery(shelf) && message_is_code(name) ? name : NULL;
  if (code) name = "diagnostics";
  if (name && !(entry = shelf_find(shelf, name))) return CLI_MODEL;
  if (action == SHELF_OPEN) return show_page(shelf, entry);
  if (action == SHELF_PATH) {
    puts(entry ? entry->path : shelf->root);
    return CLI_DONE;
  }
  if (!entry) return CLI_USAGE;
  if (code) return print_message(entry->path, code);
  return is_gallery(shelf) ? copy_model(entry) : print_file(entry->path);
}

static int act(const Shelf* shelf, ShelfAction action, char* const* words, int count) {
  if (action == SHELF_OWN && count == 0) {
    cli_error(is_gallery(shelf) ? "--copy needs the name of a model" : "--find needs a word");
    return CLI_USAGE;
  }
  // of the manual, what is neither a page nor a message is something to look for
  bool page = count == 1 && (message_is_code(words[0]) || entry_of(shelf, words[0]));
  bool asked = action == SHELF_SHOW && count > 0;
  if (!is_gallery(shelf) && (action == SHELF_OWN || (asked && !page)))
    return search_pages(shelf, words, count);
  bool named = action != SHELF_SHOW || (!is_gallery(shelf) && asked);
  return named ? with_entry(shelf, action, words[0]) : shelf_list(shelf, words, count);
}

/// `specs` are the options of an action each, in its order.
static int shelf_command(Shelf* shelf, const OptionSpec specs[SHELF_SHOW], int argc, char** argv) {
  OptionParser parser = {.command = shelf->command,
                         .specs = specs,
                         .spec_count = SHELF_SHOW,
                         .argc = argc,
                         .argv = argv};
  ShelfAction action = SHELF_SHOW;
  char** words = calloc((size_t)argc + 1, sizeof *words);
  int count = 0;
  for (int option = 0; words && (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) {
      free(words);
      return CLI_USAGE;
    }
    if (option == OPTION_WORD) {
      words[count++] = (char*)parser.value;
    } else {
      action = (ShelfAction)option;
    }
  }
  int exit = CLI_MODEL;
  if (words && shelf_open(shelf)) exit = act(shelf, action, words, count);
  shelf_close(shelf);
  free(words);
  return exit;
}

int command_gallery(int argc, char** argv) {
  static const OptionSpec specs[] = {[SHELF_OPEN] = {"--open", NULL, OPTION_FLAG},
                                     [SHELF_PATH] = {"--path", NULL, OPTION_FLAG},
                                     [SHELF_OWN] = {"--copy", NULL, OPTION_FLAG}};
  Shelf shelf = {.command = "gallery",
                 .folder = "models",
                 .endings = {".lisma", ".rules.md"},
                 .left_out = "parts"};
  return shelf_command(&shelf, specs, argc, argv);
}

int command_docs(int argc, char** argv) {
  static const OptionSpec specs[] = {[SHELF_OPEN] = {"--open", NULL, OPTION_FLAG},
                                     [SHELF_PATH] = {"--path", NULL, OPTION_FLAG},
                                     [SHELF_OWN] = {"--find", NULL, OPTION_FLAG}};
  Shelf shelf = {
      .command = "docs", .folder = "docs", .endings = {".md", NULL}, .left_out = "notes"};
  return shelf_command(&shelf, specs, argc, argv);
}
