// SPDX-License-Identifier: MIT
//
// Prints and files of the dialect: what the original does by contract, and nothing else in the
// library does. Each can be turned elsewhere or off.
#include "cdcsis/cdcsis.h"

void cdcsis_print_line(const char* line) {
  if (cdcsis_state.on_print) {
    cdcsis_state.on_print(cdcsis_state.print_user, line);
    return;
  }
  (void)fputs(line, stdout);
  (void)fputc('\n', stdout);
}

void cdcsis_message_line(const char* line) {
  if (cdcsis_state.on_message) {
    cdcsis_state.on_message(cdcsis_state.message_user, line);
    return;
  }
  (void)fputs(line, stderr);
  (void)fputc('\n', stderr);
}

static SltStatus write_file(void* user, const char* data, size_t length) {
  return fwrite(data, 1, length, user) == length ? SLT_OK : SLT_ERR_IO;
}

static SltStatus write_at_once(void* user, const char* data, size_t length) {
  if (fwrite(data, 1, length, user) != length) return SLT_ERR_IO;
  return fflush(user) == 0 ? SLT_OK : SLT_ERR_IO;
}

void cdcsis_show_to_watcher(SltWorld* world) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it meanwhile
  const char* path = getenv("SALTUS_WATCH");
  if (!path || !path[0]) return;
  if (!cdcsis_state.watcher) cdcsis_state.watcher = fopen(path, "ab");
  if (cdcsis_state.watcher) {
    (void)slt_world_on_sample(world, (SltWriter){write_at_once, cdcsis_state.watcher});
  }
}

typedef enum FileKind { FILE_SVG, FILE_CSV, FILE_HTML } FileKind;

static void write_one(SltWorld* world, FileKind kind, uint32_t graph, const char* name) {
  FILE* file = fopen(name, "wb");
  SltStatus status = file ? SLT_OK : SLT_ERR_IO;
  if (file) {
    SltWriter writer = {write_file, file};
    switch (kind) {
    case FILE_SVG: status = slt_world_write_svg(world, graph, writer); break;
    case FILE_CSV: status = slt_world_write_csv(world, writer); break;
    case FILE_HTML: status = slt_world_write_html(world, "CDCSIS simulation", writer); break;
    }
    if (fclose(file) != 0 && status >= 0) status = SLT_ERR_IO;
  }
  if (status < 0) {
    char line[CDCSIS_LINE_MAX];
    (void)snprintf(line, sizeof line, "cdcsis: %s cannot be written: %s", name,
                   slt_status_text(status));
    cdcsis_message_line(line);
  }
}

void cdcsis_write_files(SltWorld* world) {
  const char* prefix = cdcsis_state.prefix_set ? cdcsis_state.prefix : "cdcsis";
  char name[CDCSIS_LINE_MAX - 64];
  const SltTable* table = slt_world_table(world);
  uint32_t graphs = table && slt_table_row_count(table) > 0 ? slt_world_graph_count(world) : 0;
  if (graphs == 0 && slt_world_frame_count(world) == 0) return;
  for (uint32_t k = 0; k < graphs; k++) {
    (void)snprintf(name, sizeof name, "%s-%u.svg", prefix, (unsigned)k + 1);
    write_one(world, FILE_SVG, k, name);
  }
  (void)snprintf(name, sizeof name, "%s.csv", prefix);
  write_one(world, FILE_CSV, 0, name);
  (void)snprintf(name, sizeof name, "%s.html", prefix);
  write_one(world, FILE_HTML, 0, name);
}
