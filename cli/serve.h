// SPDX-License-Identifier: MIT
//
// The parts of `saltus serve`: the workbench in a browser, with this machine's engine and the
// user's folder behind it. serve.c is the command, serve_http.c answers the browser, serve_engine.c
// keeps the child processes in which models are compiled and run, serve_folder.c reads and writes
// models.
#ifndef SALTUS_CLI_SERVE_H
#define SALTUS_CLI_SERVE_H

#include "text.h"

#define SERVE_BODY_MAX   ((size_t)8 << 20)  // bytes of a request
#define SERVE_TOKEN_SIZE 33                 // hexadecimal digits and a NUL

/// The page, compressed by gzip; empty where it is not built in (see workbench/).
extern const unsigned char serve_page[];
extern const size_t serve_page_size;

/// The page with the engine inside, as it is; empty where it is not built in.
extern const unsigned char serve_web[];
extern const unsigned char* const serve_web_end;

typedef struct ServeOptions {
  const char* folder;
  const char* address;  // numeric
  uint16_t port;        // 0: a free one, the same for a folder where that is possible
  uint32_t place;       // a number that stands for the folder; 0: there is none
  char token[SERVE_TOKEN_SIZE];
  int watch_fd;    // a file that a program under `saltus watch` writes; 0: there is none
  int watch_exit;  // how that program has ended; -1: it has not
} ServeOptions;

/// Where a program finds the file that it writes its graphs and its animation to.
#define SERVE_WATCH_VARIABLE "SALTUS_WATCH"

// ---- serve.c, serve_export.c --------------------------------------------------------------------

/// A secret for the address; false without random numbers.
bool serve_make_token(char token[SERVE_TOKEN_SIZE]);
/// Print the address of the page, with more behind its token, and show it in the browser.
void serve_show_address(const ServeOptions* options, const char* more, bool open);
/// Write the page with the engine inside and the models of a folder to a folder.
int serve_export(const char* folder, const char* to);

// ---- serve_http.c -------------------------------------------------------------------------------

typedef struct ServeHttp ServeHttp;

/// Listen; NULL after a message. `options` must outlive it; its port becomes the one in use.
ServeHttp* serve_http_start(ServeOptions* options);
void serve_http_stop(ServeHttp* http);

// ---- serve_engine.c -----------------------------------------------------------------------------

typedef struct ServeEngines ServeEngines;

typedef enum EngineStatus {
  ENGINE_OK,
  ENGINE_TOO_MANY,  // pages are open already
  ENGINE_FAILED,    // it could not be started, or ended during the request
  ENGINE_SLOW       // it took longer than the limit and was ended
} EngineStatus;

/// NULL without memory. `folder` must outlive it.
ServeEngines* engines_create(const char* folder);
void engines_free(ServeEngines* engines);
/// Hand a request to the child process of a page, which is started when it is new. free() the
/// answer.
EngineStatus engines_ask(ServeEngines* engines, const char* page, const char* request,
                         size_t length, char** answer, size_t* size);
/// End the child process of a page.
void engines_end(ServeEngines* engines, const char* page);
/// The child process: answers requests from standard input until it ends.
int engine_main(const char* folder);

// ---- serve_folder.c -----------------------------------------------------------------------------

typedef enum FolderStatus {
  FOLDER_OK,
  FOLDER_NOT_THERE,
  FOLDER_REFUSED,   // no file of this name is read or written here
  FOLDER_NOT_OURS,  // the machine does not let it be read or written
  FOLDER_TOO_LARGE,
  FOLDER_LONG_NAME,
  FOLDER_CHANGED
} FolderStatus;

/// [{"path":"a/b.lisma","size":120},...] of the models and tables in a folder. Returns how many
/// files and folders are left out: there are too many, they are too deep, or no address can name
/// them.
uint32_t folder_list(const char* folder, Text* out);
/// A file's content and its version, a text that changes with it.
FolderStatus folder_read(const char* folder, const char* path, Text* out, char version[64]);
/// Replace a file or make a new one. `expected`: the version it must have, "" for a new file, NULL
/// for any. Receives its new version.
FolderStatus folder_write(const char* folder, const char* path, const char* data, size_t length,
                          const char* expected, char version[64]);

#endif
