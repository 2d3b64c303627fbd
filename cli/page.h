// SPDX-License-Identifier: MIT
//
// The engine's side of the workbench: requests in JSON, answers in JSON with numbers behind it. The
// same code answers in a child process of `saltus serve` and as WebAssembly in the page's worker.
// Every request takes a bounded time: a run goes on a slice at a time, when the page asks for more.
// What is asked and answered is described in docs/notes/workbench.md.
#ifndef SALTUS_CLI_PAGE_H
#define SALTUS_CLI_PAGE_H

#include "lsp.h"

/// An answer: JSON, then rows of numbers.
typedef struct PageReply {
  Text json;
  double* numbers;
  size_t number_count, number_capacity;
  bool failed;  // out of memory
} PageReply;

#define PAGE_GALLERY ".gallery"  // folder of the models that are part of the page

/// A file that the page has handed over: it hides one of the folder.
typedef struct PageFile {
  char* path;
  char* text;
  size_t length;
} PageFile;

/// A value that was written during a run.
typedef struct PageChange {
  double t, value;
  char* name;
} PageChange;

/// Where a run can be taken back to.
typedef struct PageMark {
  double t;
  uint64_t rows, events;
  uint32_t changes;  // made before it
  void* snapshot;
  size_t size;
} PageMark;

/// The times of rows beside those of events: `count` equal parts of [begin, end].
typedef struct PageGrid {
  double begin, end;
  uint32_t count, next;
} PageGrid;

typedef enum PageState { PAGE_RUNNING, PAGE_DONE, PAGE_STOPPED, PAGE_FAILED } PageState;

/// What the graph of automata is drawn from: an event that happened, as far as the picture tells
/// it. Names belong to the model.
typedef struct PageTurn {
  const char *automaton, *from, *to;
  uint32_t n, line;
  SltEventKind kind;
  SltEventClass event_class;
  bool kink;
} PageTurn;

/// The present run.
typedef struct PageRun {
  SltSim* sim;
  SltRecorder* recorder;  // writes event records
  SltStory* story;
  PageTurn* turns;  // one per event
  uint64_t turn_capacity;
  Text events, told, warnings;
  uint64_t warning_count;
  SltQuantity* columns;  // variables, numbers of the drawing, the energy, the automata's states
  uint32_t column_count;
  Text column_names;                  // members of a JSON array
  double step, step_last, step_from;  // shortest step since the last row, the last one, its end
  double t_start, t_end;
  PageGrid grid;
  PageState state;
  uint64_t row_count, event_count, instant_count;
  PageChange* changes;
  uint32_t change_count, change_next;  // those from `next` on are still to be made
  PageMark* marks;
  uint32_t mark_count;
  size_t mark_bytes;
  uint64_t mark_every, mark_seen;  // instants
  double deadline;                 // wall clock at which a slice ends
  uint64_t slice_steps;
} PageRun;

typedef struct Page {
  LspServer lsp;
  PageReply* reply;    // to the present request
  const char* folder;  // NULL: only files that were handed over
  char* base;          // folder of the model that is looked at, relative, "" or with its slash
  PageFile* files;
  size_t file_count;
  Text* reads;  // names of the files that a model reads, while it is compiled; NULL: nobody asks
  SltModel* model;
  PageRun run;
} Page;

/// NULL without memory. `folder` must outlive it.
Page* page_open(const char* folder);
void page_close(Page* page);
/// Answer a request of `length` bytes followed by a NUL, which is read in place. The reply is
/// cleared by the caller.
void page_take(Page* page, char* text, size_t length, PageReply* reply);
void page_reply_clear(PageReply* reply);
/// The reply as bytes: length of the JSON (four bytes, least first), the JSON, spaces up to a
/// multiple of eight, the numbers. free() it; NULL without memory.
char* page_reply_bytes(const PageReply* reply, size_t* size);

// ---- within the page ----------------------------------------------------------------------------

/// {"error":"..."} in place of an answer.
void page_refuse(PageReply* reply, const char* format, ...) __attribute__((format(printf, 2, 3)));
/// "," but before the first.
void page_separate(Text* out, bool* any);
void page_put_number(Text* out, double value);

/// SltLoadFn over a Page (page_files.c).
SltStatus page_load(void* page, const char* name, const SltAllocator* allocator, char** content,
                    size_t* length);
/// Look for files beside `path` from now on.
void page_set_base(Page* page, const char* path);
/// Keep a file for models to read; false without memory.
bool page_put_file(Page* page, const char* path, const JsonNode* text);
/// "a/b" from "./a//x/../b"; NULL when it leads out of the folder, is absolute, or without memory.
char* page_clean_path(const char* path);
/// The file under a folder, all links followed; NULL when it is outside or cannot be there. free()
/// it. `creates`: the last part need not exist.
char* page_path_below(const char* folder, const char* path, bool creates);

// requests about models (page_model.c)
void page_compile(Page* page, const Json* json, const JsonNode* request);
void page_structure(Page* page);
void page_graph(Page* page);
void page_rules(Page* page, const Json* json, const JsonNode* request);

// requests for many runs (page_experiment.c)
void page_sweep(Page* page, const Json* json, const JsonNode* request);
void page_sens(Page* page, const Json* json, const JsonNode* request);
void page_fit(Page* page, const Json* json, const JsonNode* request);

// requests for files (page_export.c)
void page_export(Page* page, const Json* json, const JsonNode* request);

// requests about runs (page_run.c)
void page_start(Page* page, const Json* json, const JsonNode* request);
void page_more(Page* page, const Json* json, const JsonNode* request);
void page_change(Page* page, const Json* json, const JsonNode* request);
void page_back(Page* page, const Json* json, const JsonNode* request);
void page_rows(Page* page, const Json* json, const JsonNode* request);
void page_run_clear(PageRun* run);
/// Tell a graph what has happened and was not taken back.
void page_run_graph(const PageRun* run, SltGraph* graph);

#endif
