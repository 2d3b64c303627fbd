// SPDX-License-Identifier: MIT
//
// Graphs: signals of the user's memory as columns of a table, and their pictures.
#include "blocks/blocks.h"

#include <math.h>
#include <string.h>

SltStatus slt_world_watch(SltWorld* world, const double* signal, double amplitude,
                          const char* name) {
  if (!world || !signal || !(amplitude >= 0.0) || isinf(amplitude)) return SLT_ERR_ARGUMENT;
  if (world->record.table && world->record.table->row_count > 0) {
    blk_message(world, SLT_WARNING, DIAG_W0911,
                "graph '%s' is ordered after the run began; ignored", name ? name : "");
    return SLT_ERR_ARGUMENT;
  }
  if (!world->record.table) {
    world->record.table = table_create();
    if (!world->record.table) return SLT_ERR_NOMEM;
    SLT_TRY(table_add_column(world->record.table, STR_LIT("time"), "", false));
  }
  SLT_TRY(blk_grow(world, &world->record.watches, &world->record.watch_capacity,
                   world->record.watch_count + 1, sizeof *world->record.watches));
  SLT_TRY(table_add_column(world->record.table, str_from_c(name ? name : ""), "", false));
  world->record.watches[world->record.watch_count++] = (BlkWatch){signal, amplitude};
  world->plain_known = false;
  return SLT_OK;
}

void slt_world_record(SltWorld* world, bool on) {
  if (world) world->record.off = !on;
}

const SltTable* slt_world_table(const SltWorld* world) {
  return world ? world->record.table : NULL;
}

uint32_t slt_world_graph_count(const SltWorld* world) {
  return world ? world->record.watch_count : 0;
}

SltStatus blk_watch_row(SltWorld* world) {
  SltStatus status = table_add_row(world->record.table);
  if (status < 0) return blk_fail(world, status, DIAG_E0909, "out of memory");
  table_set_number(world->record.table, 0, world->t);
  for (uint32_t i = 0; i < world->record.watch_count; i++) {
    BlkWatch* watch = &world->record.watches[i];
    double value = *watch->signal;
    table_set_number(world->record.table, i + 1, value);
    while (watch->amplitude > 0.0 && isfinite(value) && fabs(value) > watch->amplitude) {
      watch->amplitude *= 2.0;
    }
  }
  return SLT_OK;
}

void blk_watch_clear(SltWorld* world) {
  table_free(world->record.table);
  base_free(&world->allocator, world->record.watches,
            world->record.watch_capacity * sizeof *world->record.watches);
  world->record.table = NULL;
  world->record.watches = NULL;
  world->record.watch_count = 0;
  world->record.watch_capacity = 0;
}

SltStatus slt_world_write_csv(const SltWorld* world, SltWriter writer) {
  if (!world || !writer.write) return SLT_ERR_ARGUMENT;
  CsvWriter csv;
  SLT_TRY(csv_init(&csv, writer));
  const SltTable* table = world->record.table;
  csv_text(&csv, "time");
  for (uint32_t c = 1; table && c < table->column_count; c++) {
    csv_text(&csv, table->columns[c].name);
  }
  SltStatus status = csv_end_row(&csv);
  for (uint32_t r = 0; table && status >= 0 && r < table->row_count; r++) {
    for (uint32_t c = 0; c < table->column_count; c++) {
      csv_number(&csv, table->columns[c].values[r]);
    }
    status = csv_end_row(&csv);
  }
  if (status >= 0) status = csv_flush(&csv);
  csv_clear(&csv);
  return status;
}

SltStatus slt_world_write_svg(const SltWorld* world, uint32_t graph, SltWriter writer) {
  if (!world || !writer.write || graph >= world->record.watch_count ||
      world->record.table->row_count == 0) {
    return SLT_ERR_ARGUMENT;
  }
  // names may repeat, so the picture is made of a table with this one column
  SltTable one = *world->record.table;
  TableColumn columns[2] = {world->record.table->columns[0],
                            world->record.table->columns[graph + 1]};
  one.columns = columns;
  one.column_count = 2;
  Sink sink;
  SLT_TRY(sink_init(&sink, writer));
  jmp_buf on_oom;
  Arena arena;
  arena_init(&arena, &world->allocator, &on_oom);
  SltStatus status = SLT_ERR_NOMEM;
  if (!setjmp(on_oom)) {
    FigureWish wish;
    Figure figure;
    Str bad = {0};
    double amplitude = world->record.watches[graph].amplitude;
    figure_init(&wish, &arena);
    wish.title = str_from_c(columns[1].name);
    if (amplitude > 0.0) wish.common.axes[AXIS_Y] = (AxisWish){.lo = -amplitude, .hi = amplitude};
    base_vec_push(&arena, &wish.tables, (FigureTable){.table = &one});
    status = figure_plan(&wish, &arena, &figure, &bad);
    if (status >= 0) {
      PlotCanvas canvas = figure_svg_canvas(&sink);
      status = figure_draw(&figure, &canvas, &arena);
    }
  }
  arena_free(&arena);
  sink_clear(&sink);
  return status;
}
