// SPDX-License-Identifier: MIT
//
// Requests to `saltus serve`, behind the library that reads their lines. Whatever is asked, nothing
// but the page is answered without the token, and nothing outside of the folder is read or written.
//
//   METHOD PATH
//   Name: value        a header; ?name=value an argument; $TOKEN stands for the right one
//
//   body
#include "../cli/serve_http.c"  // NOLINT(bugprone-suspicious-include): the command line is no library

#include <stdarg.h>
#include <sys/stat.h>

#define LINES_MAX 32
#define TOKEN     "0123456789abcdef0123456789abcdef"
#define SECRET    "what stands outside of the folder"

typedef struct Line {
  char* name;
  char* value;
  bool argument;
} Line;

typedef struct Asked {
  char* method;
  char* path;
  Line lines[LINES_MAX];
  size_t count;
  char* body;
  size_t body_length;
  unsigned status;
} Asked;

static Asked asked;
static char outer[64];
static char inner[96];

void cli_error(const char* format, ...) {
  (void)format;
}

void cli_hint(const char* format, ...) {
  (void)format;
}

bool cli_read_number(const char* text, double* out) {
  char* end = NULL;
  *out = strtod(text, &end);
  return end != text && *end == '\0';
}

int output_rewrite(const char* path, const char* data, size_t length) {
  (void)data;
  (void)length;
  // it would be written: below the folder and nowhere else
  if (strncmp(path, inner, strlen(inner)) != 0 || strstr(path, "/../")) __builtin_trap();
  return CLI_USAGE;
}

bool path_ends_with(const char* path, const char* ending) {
  size_t length = strlen(path);
  size_t end = strlen(ending);
  return length >= end && strcmp(path + length - end, ending) == 0;
}

ServeEngines* engines_create(const char* folder) {
  (void)folder;
  return NULL;
}

void engines_free(ServeEngines* engines) {
  (void)engines;
}

void engines_end(ServeEngines* engines, const char* page) {
  (void)engines;
  if (strchr(page, '/')) __builtin_trap();
}

EngineStatus engines_ask(ServeEngines* engines, const char* page, const char* request,
                         size_t length, char** bytes, size_t* size) {
  (void)engines;
  unsigned sum = 0;  // all of the request is there
  if (strchr(page, '/')) __builtin_trap();
  for (size_t i = 0; i < length; i++)
    sum += (unsigned char)request[i];
  *bytes = calloc(1, 1);
  if (*bytes) **bytes = (char)(sum & 1);
  *size = 1;
  return *bytes ? ENGINE_OK : ENGINE_FAILED;
}

// ---- in place of the library --------------------------------------------------------------------

struct MHD_Response {
  void* data;
  size_t size;
  bool owned;
};

static struct MHD_Response* create_response(size_t size, void* data,
                                            enum MHD_ResponseMemoryMode mode) {
  struct MHD_Response* response = calloc(1, sizeof *response);
  if (!response) return NULL;
  *response = (struct MHD_Response){data, size, mode == MHD_RESPMEM_MUST_FREE};
  return response;
}

static void destroy_response(struct MHD_Response* response) {
  if (response->owned) free(response->data);
  free(response);
}

static enum MHD_Result add_header(struct MHD_Response* response, const char* name,
                                  const char* value) {
  (void)response;
  if (strpbrk(name, "\r\n") || strpbrk(value, "\r\n")) __builtin_trap();
  return MHD_YES;
}

static enum MHD_Result queue_response(struct MHD_Connection* connection, unsigned status,
                                      struct MHD_Response* response) {
  (void)connection;
  asked.status = status;
  if (response->size && memmem(response->data, response->size, SECRET, sizeof SECRET - 1)) {
    __builtin_trap();
  }
  return MHD_YES;
}

static const char* find_line(const char* name, bool is_argument) {
  for (size_t i = 0; i < asked.count; i++) {
    const Line* line = &asked.lines[i];
    if (line->argument == is_argument && strcmp(line->name, name) == 0) return line->value;
  }
  return NULL;
}

static const char* lookup(struct MHD_Connection* connection, enum MHD_ValueKind kind,
                          const char* name) {
  (void)connection;
  return find_line(name, kind == MHD_GET_ARGUMENT_KIND);
}

static enum MHD_Result lookup_sized(struct MHD_Connection* connection, enum MHD_ValueKind kind,
                                    const char* name, size_t length, const char** value,
                                    size_t* size) {
  (void)length;
  *value = lookup(connection, kind, name);
  *size = *value ? strlen(*value) : 0;
  return *value ? MHD_YES : MHD_NO;
}

// ---- the input ----------------------------------------------------------------------------------

/// Cut off a line; NULL behind the last.
static char* next_line(char** at) {
  char* line = *at;
  if (!line) return NULL;
  char* end = strchr(line, '\n');
  *at = end ? end + 1 : NULL;
  if (end) *end = '\0';
  return line;
}

static bool read_input(char* text, size_t size) {
  asked = (Asked){.status = 0};
  char* at = text;
  char* first = next_line(&at);
  char* space = first ? strchr(first, ' ') : NULL;
  if (!space) return false;
  *space = '\0';
  asked.method = first;
  asked.path = space + 1;
  for (char* line = next_line(&at); line && *line && asked.count < LINES_MAX;
       line = next_line(&at)) {
    bool is_argument = line[0] == '?';
    char* mark = strchr(line, is_argument ? '=' : ':');
    if (!mark) continue;
    *mark = '\0';
    char* value = mark + 1;
    if (!is_argument && *value == ' ') value++;
    static char token[] = TOKEN;
    if (strcmp(value, "$TOKEN") == 0) value = token;
    asked.lines[asked.count++] = (Line){line + is_argument, value, is_argument};
  }
  asked.body = at;
  asked.body_length = at ? size - (size_t)(at - text) : 0;
  return true;
}

static void put_file(const char* folder, const char* name, const char* content) {
  char path[160];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* file = fopen(path, "wb");
  if (!file) exit(2);
  fputs(content, file);
  fclose(file);
}

/// A folder that is served, and a file beside it that must stay as it is.
static void make_folders(void) {
  if (outer[0]) return;
  snprintf(outer, sizeof outer, "/tmp/saltus-fuzz-http-XXXXXX");
  if (!mkdtemp(outer)) exit(2);
  snprintf(inner, sizeof inner, "%s/served", outer);
  if (mkdir(inner, 0700) != 0) exit(2);
  put_file(inner, "m.lisma", "x' = 1;\n");
  put_file(outer, "secret.lisma", SECRET);
}

static void check_secret(void) {
  char path[96];
  struct stat info;
  snprintf(path, sizeof path, "%s/secret.lisma", outer);
  if (stat(path, &info) != 0 || info.st_size != sizeof SECRET - 1) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  make_folders();
  char* text = malloc(size + 1);
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  ServeOptions options = {
      .folder = inner, .address = "127.0.0.1", .port = 8080, .token = TOKEN, .watch_exit = -1};
  ServeHttp http = {.mhd = {.MHD_create_response_from_buffer = create_response,
                            .MHD_destroy_response = destroy_response,
                            .MHD_add_response_header = add_header,
                            .MHD_queue_response = queue_response,
                            .MHD_lookup_connection_value = lookup,
                            .MHD_lookup_connection_value_n = lookup_sized},
                    .options = &options};
  if (read_input(text, size)) {
    void* state = NULL;
    size_t none = 0;
    on_request(&http, NULL, asked.path, asked.method, "HTTP/1.1", NULL, &none, &state);
    size_t length = asked.body_length;
    if (state && length) {
      on_request(&http, NULL, asked.path, asked.method, "HTTP/1.1", asked.body, &length, &state);
    }
    none = 0;
    if (state) {
      on_request(&http, NULL, asked.path, asked.method, "HTTP/1.1", NULL, &none, &state);
    }
    Request plain = {.method = asked.method, .path = asked.path};
    const char* given = find_line("X-Saltus-Token", false);
    bool knows = given && strcmp(given, TOKEN) == 0;
    if (asked.status == MHD_HTTP_OK && !knows && !is_page(&plain)) __builtin_trap();
    on_end(NULL, NULL, &state, MHD_REQUEST_TERMINATED_COMPLETED_OK);
    check_secret();
  }
  free(text);
  return 0;
}
