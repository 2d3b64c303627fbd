// SPDX-License-Identifier: MIT
//
// What the browser asks `saltus serve`. The page itself is no secret; everything else needs the
// token, which no foreign page knows, and comes from this machine's own address only: a page of
// another origin, or a name that was pointed at this address, is refused.
#define _GNU_SOURCE
#include "base/library.h"
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64u
#define IDLE_SECONDS    10u  // clients that say nothing must not keep others out for longer
#define WATCH_BYTES     ((size_t)4 << 20)  // of one answer

// clang-format off
#define MHD_LIST(X) \
  X(MHD_start_daemon) X(MHD_stop_daemon) X(MHD_get_daemon_info) \
  X(MHD_create_response_from_buffer) X(MHD_destroy_response) X(MHD_add_response_header) \
  X(MHD_queue_response) X(MHD_lookup_connection_value) X(MHD_lookup_connection_value_n)
// clang-format on

typedef struct Microhttpd {
  MHD_LIST(LIBRARY_MEMBER)
} Microhttpd;

struct ServeHttp {
  Microhttpd mhd;
  struct MHD_Daemon* daemon;
  ServeOptions* options;
  ServeEngines* engines;
};

typedef struct Request {
  ServeHttp* http;
  struct MHD_Connection* connection;
  const char* method;
  const char* path;
  Text body;
  const char* state;  // of a watched program; NULL: there is none
  bool refused;       // answered before its body has come
} Request;

// ---- answers ------------------------------------------------------------------------------------

static const char page_policy[] =
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:; "
    "style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'; worker-src blob:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Takes `data`, which was allocated.
static enum MHD_Result answer(Request* r, unsigned status, const char* type, char* data,
                              size_t length, const char* version) {
  struct MHD_Response* response =
      r->http->mhd.MHD_create_response_from_buffer(length, data, MHD_RESPMEM_MUST_FREE);
  if (!response) {
    free(data);
    return MHD_NO;
  }
  r->http->mhd.MHD_add_response_header(response, "Content-Type", type);
  r->http->mhd.MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  r->http->mhd.MHD_add_response_header(response, "Cache-Control", "no-store");
  r->http->mhd.MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
  if (version) r->http->mhd.MHD_add_response_header(response, "ETag", version);
  if (r->state) r->http->mhd.MHD_add_response_header(response, "X-Saltus-State", r->state);
  enum MHD_Result result = r->http->mhd.MHD_queue_response(r->connection, status, response);
  r->http->mhd.MHD_destroy_response(response);
  return result;
}

static enum MHD_Result answer_text(Request* r, unsigned status, const char* text) {
  char* copy = strdup(text);
  return copy ? answer(r, status, "text/plain; charset=utf-8", copy, strlen(copy), NULL) : MHD_NO;
}

static enum MHD_Result answer_page(Request* r) {
  struct MHD_Response* response = r->http->mhd.MHD_create_response_from_buffer(
      serve_page_size,
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the library takes no const bytes, and reads them
      (void*)(uintptr_t)serve_page, MHD_RESPMEM_PERSISTENT);
  if (!response) return MHD_NO;
  r->http->mhd.MHD_add_response_header(response, "Content-Type", "text/html; charset=utf-8");
  r->http->mhd.MHD_add_response_header(response, "Content-Encoding", "gzip");
  r->http->mhd.MHD_add_response_header(response, "Content-Security-Policy", page_policy);
  r->http->mhd.MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  r->http->mhd.MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
  r->http->mhd.MHD_add_response_header(response, "Cache-Control", "no-cache");
  enum MHD_Result result = r->http->mhd.MHD_queue_response(r->connection, MHD_HTTP_OK, response);
  r->http->mhd.MHD_destroy_response(response);
  return result;
}

// ---- who asks -----------------------------------------------------------------------------------

static const char* header(const Request* r, const char* name) {
  return r->http->mhd.MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/// NULL also for one that goes on behind a NUL.
static const char* argument(const Request* r, const char* name) {
  const char* value = NULL;
  size_t size = 0;
  enum MHD_Result found = r->http->mhd.MHD_lookup_connection_value_n(
      r->connection, MHD_GET_ARGUMENT_KIND, name, strlen(name), &value, &size);
  return found == MHD_YES && value && strlen(value) == size ? value : NULL;
}

/// Whether `host` names this server by number or as localhost, with its port: a name that somebody
/// pointed here is not ours.
static bool is_own_host(const ServeHttp* http, const char* host) {
  if (!host) return false;
  const char* colon = strrchr(host, ':');
  char name[64];
  char port[8];
  size_t length = colon ? (size_t)(colon - host) : strlen(host);
  if (!colon || length >= sizeof name) return false;
  memcpy(name, host, length);
  name[length] = '\0';
  snprintf(port, sizeof port, "%u", http->options->port);
  if (strcmp(colon + 1, port) != 0) return false;
  struct in_addr number;
  bool local = strcmp(http->options->address, "127.0.0.1") == 0;
  if (strcmp(name, "localhost") == 0) return true;
  return local ? strcmp(name, "127.0.0.1") == 0 : inet_pton(AF_INET, name, &number) == 1;
}

static bool is_own_origin(const Request* r) {
  const char* origin = header(r, "Origin");
  if (!origin) return true;  // browsers name the origin of every request that could do harm
  static const char scheme[] = "http://";
  if (strncmp(origin, scheme, sizeof scheme - 1) != 0) return false;
  const char* host = header(r, "Host");
  return host && strcmp(origin + sizeof scheme - 1, host) == 0;
}

/// Compares all characters whatever they are: the time tells nothing.
static bool has_token(const Request* r) {
  const char* given = header(r, "X-Saltus-Token");
  const char* token = r->http->options->token;
  size_t length = strlen(token);
  if (!given || strlen(given) != length) return false;
  unsigned char differs = 0;
  for (size_t i = 0; i < length; i++)
    differs |= (unsigned char)(given[i] ^ token[i]);
  return differs == 0;
}

static bool is_page(const Request* r) {
  bool reads = strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0;
  return reads && (strcmp(r->path, "/") == 0 || strcmp(r->path, "/index.html") == 0);
}

/// Why a request is not answered; 0 when it is.
static unsigned refusal(const Request* r, const char** why) {
  const char* length = header(r, "Content-Length");
  if (!is_own_host(r->http, header(r, "Host"))) {
    *why = "this server is not known by that name\n";
    return MHD_HTTP_FORBIDDEN;
  }
  if (!is_own_origin(r)) {
    *why = "another page's requests are not answered\n";
    return MHD_HTTP_FORBIDDEN;
  }
  if (!is_page(r) && !has_token(r)) {
    *why = "the token is missing or wrong: use the address that `saltus serve` has printed\n";
    return MHD_HTTP_UNAUTHORIZED;
  }
  if (length && strtoull(length, NULL, 10) > SERVE_BODY_MAX) {
    *why = "the request is too large\n";
    return MHD_HTTP_CONTENT_TOO_LARGE;
  }
  return 0;
}

// ---- requests -----------------------------------------------------------------------------------

static bool is_page_name(const char* name) {
  if (!name || strlen(name) < 8 || strlen(name) > 32) return false;
  return strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz") == strlen(name);
}

static enum MHD_Result take_engine(Request* r) {
  const char* page = argument(r, "page");
  if (!is_page_name(page)) return answer_text(r, MHD_HTTP_BAD_REQUEST, "which page asks?\n");
  if (strcmp(r->method, "DELETE") == 0) {
    engines_end(r->http->engines, page);
    return answer_text(r, MHD_HTTP_OK, "ended\n");
  }
  if (strcmp(r->method, "POST") != 0) return answer_text(r, MHD_HTTP_METHOD_NOT_ALLOWED, "POST\n");
  char* bytes = NULL;
  size_t size = 0;
  switch (engines_ask(r->http->engines, page, r->body.data, r->body.length, &bytes, &size)) {
  case ENGINE_OK: return answer(r, MHD_HTTP_OK, "application/octet-stream", bytes, size, NULL);
  case ENGINE_TOO_MANY:
    return answer_text(r, MHD_HTTP_SERVICE_UNAVAILABLE, "too many pages are open; close one\n");
  case ENGINE_SLOW:
    return answer_text(r, MHD_HTTP_GATEWAY_TIMEOUT,
                       "the engine took longer than a minute and was ended\n");
  case ENGINE_FAILED:
  default: break;
  }
  return answer_text(r, MHD_HTTP_BAD_GATEWAY, "the engine has ended; it is started anew\n");
}

static enum MHD_Result take_folder(Request* r) {
  Text out = {0};
  text_put_format(&out, "{\"folder\":");
  text_put_json(&out, r->http->options->folder, strlen(r->http->options->folder));
  text_put_format(&out, ",\"files\":");
  uint32_t left = folder_list(r->http->options->folder, &out);
  text_put_format(&out, ",\"left\":%u}", left);
  if (out.failed) {
    free(out.data);
    return answer_text(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
  }
  return answer(r, MHD_HTTP_OK, "application/json", out.data, out.length, NULL);
}

static enum MHD_Result answer_folder(Request* r, FolderStatus status) {
  switch (status) {
  case FOLDER_NOT_THERE: return answer_text(r, MHD_HTTP_NOT_FOUND, "there is no such model\n");
  case FOLDER_CHANGED:
    return answer_text(r, MHD_HTTP_PRECONDITION_FAILED, "the file was changed elsewhere\n");
  case FOLDER_NOT_OURS:
    return answer_text(r, MHD_HTTP_FORBIDDEN,
                       "this machine refuses it: the file or its folder is protected, or the disk "
                       "is full\n");
  case FOLDER_TOO_LARGE:
    return answer_text(r, MHD_HTTP_FORBIDDEN, "the file is too large for the page\n");
  case FOLDER_LONG_NAME:
    return answer_text(r, MHD_HTTP_FORBIDDEN, "this name is too long for a file\n");
  case FOLDER_OK:
  case FOLDER_REFUSED:
  default:
    return answer_text(r, MHD_HTTP_FORBIDDEN,
                       "this name cannot be used: a model ends in .lisma or .rules.md, a table in "
                       ".csv, and its folder must be there\n");
  }
}

static enum MHD_Result take_file(Request* r) {
  const char* path = argument(r, "path");
  const char* folder = r->http->options->folder;
  char version[64] = "";
  if (!path) return answer_text(r, MHD_HTTP_BAD_REQUEST, "which file?\n");
  if (strcmp(r->method, "GET") == 0) {
    Text text = {0};
    FolderStatus status = folder_read(folder, path, &text, version);
    if (status == FOLDER_OK && !text.failed) {
      char* data = text.data ? text.data : calloc(1, 1);
      return data ? answer(r, MHD_HTTP_OK, "text/plain; charset=utf-8", data, text.length, version)
                  : MHD_NO;
    }
    free(text.data);
    return answer_folder(r, status);
  }
  if (strcmp(r->method, "PUT") != 0)
    return answer_text(r, MHD_HTTP_METHOD_NOT_ALLOWED, "GET, PUT\n");
  const char* expected = header(r, "If-Match");
  if (!expected && header(r, "If-None-Match")) expected = "";
  FolderStatus status = folder_write(folder, path, r->body.data ? r->body.data : "", r->body.length,
                                     expected, version);
  if (status != FOLDER_OK) return answer_folder(r, status);
  char* done = strdup("saved\n");
  return done ? answer(r, MHD_HTTP_OK, "text/plain; charset=utf-8", done, strlen(done), version)
              : MHD_NO;
}

/// What a watched program has written from a place on, in whole lines.
static enum MHD_Result take_watch(Request* r) {
  const ServeOptions* options = r->http->options;
  const char* from = argument(r, "from");
  // the state first: what was written before the end is read behind it
  int exit = __atomic_load_n(&options->watch_exit, __ATOMIC_ACQUIRE);
  char* data = malloc(WATCH_BYTES);
  if (!data) return MHD_NO;
  off_t place = from ? (off_t)strtoll(from, NULL, 10) : 0;
  ssize_t size = place >= 0 ? pread(options->watch_fd, data, WATCH_BYTES, place) : 0;
  while (size > 0 && data[size - 1] != '\n')
    size--;
  char state[32] = "running";
  if (exit >= 0) snprintf(state, sizeof state, "ended %d", exit);
  r->state = state;
  return answer(r, MHD_HTTP_OK, "application/jsonl", data, size > 0 ? (size_t)size : 0, NULL);
}

static enum MHD_Result take_request(Request* r) {
  if (is_page(r)) return answer_page(r);
  if (r->http->options->watch_fd) {
    if (strcmp(r->path, "/watch") == 0) return take_watch(r);
    return answer_text(r, MHD_HTTP_NOT_FOUND, "there is nothing here\n");
  }
  if (strcmp(r->path, "/engine") == 0) return take_engine(r);
  if (strcmp(r->path, "/folder") == 0) return take_folder(r);
  if (strcmp(r->path, "/file") == 0) return take_file(r);
  return answer_text(r, MHD_HTTP_NOT_FOUND, "there is nothing here\n");
}

// ---- the library's calls ------------------------------------------------------------------------

static enum MHD_Result on_request(void* user, struct MHD_Connection* connection, const char* url,
                                  const char* method, const char* version, const char* data,
                                  size_t* size, void** state) {
  (void)version;
  Request* r = *state;
  if (!r) {
    r = calloc(1, sizeof *r);
    if (!r) return MHD_NO;
    *r = (Request){.http = user, .connection = connection, .method = method, .path = url};
    *state = r;
    const char* why = NULL;
    unsigned refused = refusal(r, &why);
    r->refused = refused != 0;
    return refused ? answer_text(r, refused, why) : MHD_YES;
  }
  if (*size > 0) {
    // one that hides its length is cut off where it becomes too long
    if (r->body.length + *size > SERVE_BODY_MAX) return MHD_NO;
    text_put(&r->body, data, *size);
    *size = 0;
    return r->body.failed ? MHD_NO : MHD_YES;
  }
  return r->refused ? MHD_YES : take_request(r);
}

static void on_end(void* user, struct MHD_Connection* connection, void** state,
                   enum MHD_RequestTerminationCode code) {
  (void)user;
  (void)connection;
  (void)code;
  Request* r = *state;
  if (!r) return;
  free(r->body.data);
  free(r);
  *state = NULL;
}

static bool listen_on(ServeHttp* http, struct sockaddr_in* address, uint16_t port) {
  address->sin_port = htons(port);
  http->daemon = http->mhd.MHD_start_daemon(
      MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request,
      http, MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL,
      MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
      MHD_OPTION_END);
  return http->daemon != NULL;
}

/// Browsers keep what is not saved by address and port: a folder has the same port each time it is
/// served, unless somebody else has it. Below those that machines give to connections.
static uint16_t usual_port(uint32_t place) {
  return place ? (uint16_t)(20000u + place % 12000u) : 0;
}

ServeHttp* serve_http_start(ServeOptions* options) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  if (inet_pton(AF_INET, options->address, &address.sin_addr) != 1) {
    cli_error("--listen: %s is no address; 127.0.0.1 is this machine alone", options->address);
    return NULL;
  }
  ServeHttp* http = calloc(1, sizeof *http);
  if (!http) return NULL;
  static const char* const names[] = {MHD_LIST(LIBRARY_NAME)};
  if (!library_load(SALTUS_LIBRARY_MICROHTTPD, names, sizeof names / sizeof *names, &http->mhd)) {
    cli_error("serve needs the library libmicrohttpd, which is not here");
    cli_hint("install Debian's libmicrohttpd12");
    free(http);
    return NULL;
  }
  http->options = options;
  http->engines = engines_create(options->folder);
  bool listens =
      http->engines &&
      (listen_on(http, &address, options->port ? options->port : usual_port(options->place)) ||
       (!options->port && listen_on(http, &address, 0)));
  if (!listens) {
    cli_error("cannot listen on %s port %u: %s", options->address, options->port, strerror(errno));
    if (options->port) cli_hint("without --port a free one is chosen");
    serve_http_stop(http);
    return NULL;
  }
  const union MHD_DaemonInfo* info =
      http->mhd.MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT);
  if (info) options->port = info->port;
  return http;
}

void serve_http_stop(ServeHttp* http) {
  if (!http) return;
  if (http->daemon) http->mhd.MHD_stop_daemon(http->daemon);
  engines_free(http->engines);
  free(http);
}
