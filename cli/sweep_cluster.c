// SPDX-License-Identifier: MIT
//
// A sweep on the processes of mpirun. Rank 0 hands out members in small numbers to whoever asks for
// some, and writes the rows in their order, so that the table and its digest are those of one
// process; what was written when a job is killed is there for --resume.
#define _POSIX_C_SOURCE 200809L
#include "cluster.h"
#include "sweep.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CLUSTER_CHUNK 64  // most members at once
#define CLUSTER_AHEAD 64  // pieces of work per rank that may wait for an earlier one
#define POLL_NS       1000000L

/// What a rank has done, in front of its rows; `count` 0: it has just come.
typedef struct PieceReport {
  uint64_t first, count, failed;
  SltStatus status;
  char failure[300];
} PieceReport;

/// Members to run; `count` 0: there are no more.
typedef struct Order {
  uint64_t first, count;
} Order;

// ---- ranks that run members ---------------------------------------------------------------------

typedef struct Piece {
  SweepCommand* c;
  PieceReport report;
  char* data;  // the report, then rows
  size_t used, capacity;
  SltSweepText* text;
} Piece;

static SltStatus keep_line(void* user, const char* data, size_t length) {
  Piece* piece = user;
  if (piece->used + length > piece->capacity) {
    size_t capacity = 2 * (piece->used + length);
    char* grown = realloc(piece->data, capacity);
    if (!grown) return SLT_ERR_NOMEM;
    piece->data = grown;
    piece->capacity = capacity;
  }
  memcpy(piece->data + piece->used, data, length);
  piece->used += length;
  return SLT_OK;
}

static SltStatus take_row(void* user, const SltSweepRow* row) {
  Piece* piece = user;
  if (row->status < 0 && piece->report.failed++ == 0) sweep_failure(row, piece->report.failure);
  SltStatus status = sweep_trajectory(piece->c, row);
  return status < 0 ? status : slt_sweep_text_row(piece->text, row);
}

static bool run_piece(Piece* piece, Order order) {
  SltSweepOptions options = sweep_options(piece->c);
  if (options.jobs == 0) options.jobs = 1;
  options.first = order.first;
  options.count = order.count;
  options.on_row = take_row;
  options.cancel = NULL;
  options.user = piece;
  piece->report = (PieceReport){.first = order.first, .count = order.count};
  piece->used = 0;
  if (keep_line(piece, (const char*)&piece->report, sizeof piece->report) < 0) return false;
  piece->report.status =
      slt_sweep_run(piece->c->trial.model, piece->c->design, piece->c->measures, &options);
  memcpy(piece->data, &piece->report, sizeof piece->report);
  return true;
}

int sweep_serve(SweepCommand* c, Cluster* cluster) {
  Piece piece = {.c = c};
  Order order = {0, 0};
  SltStatus status = slt_sweep_text_create(c->design, c->measures, NULL, 0,
                                           (SltWriter){keep_line, &piece}, &piece.text);
  bool good =
      status >= 0 && keep_line(&piece, (const char*)&piece.report, sizeof piece.report) >= 0;
  while (good && cluster_send(cluster, 0, piece.data, piece.used) &&
         cluster_receive(cluster, &order, sizeof order) && order.count > 0) {
    good = run_piece(&piece, order);
  }
  slt_sweep_text_free(piece.text);
  free(piece.data);
  return good ? CLI_DONE : CLI_RUN;
}

// ---- rank 0 -------------------------------------------------------------------------------------

/// Rows that wait for earlier ones.
typedef struct Waiting {
  char* data;
  size_t size;
} Waiting;

typedef struct Coordinator {
  SweepCommand* c;
  Cluster* cluster;
  uint64_t next, end, chunk;  // first member not handed out yet
  Waiting* waiting;           // by the number of the piece, modulo `room`
  uint64_t room, origin;      // origin: member at which pieces begin
  bool* idle;                 // per rank
  int running;
  SltStatus status;
} Coordinator;

static uint64_t piece_number(const Coordinator* k, uint64_t first) {
  return (first - k->origin) / k->chunk;
}

/// Everything that is in order now goes out.
static void write_waiting(Coordinator* k) {
  SweepCommand* c = k->c;
  for (;;) {
    Waiting* w = &k->waiting[piece_number(k, c->done) % k->room];
    if (!w->data || k->status < 0) return;
    PieceReport report;
    memcpy(&report, w->data, sizeof report);
    if (report.first != c->done) return;
    size_t length = w->size - sizeof report;
    SltStatus status = output_write(&c->csv, w->data + sizeof report, length);
    slt_sweep_text_seen(c->text, w->data + sizeof report, length);
    if (report.failed && !c->first_failure[0]) {
      memcpy(c->first_failure, report.failure, sizeof c->first_failure);
    }
    c->failed += report.failed;
    c->done += report.count;
    free(w->data);
    *w = (Waiting){0};
    if (status < 0) k->status = status;
  }
}

static void hand_out(Coordinator* k, int rank) {
  uint64_t left = k->end - k->next;
  bool ends = left == 0 || k->status < 0;
  bool far = piece_number(k, k->next) >= piece_number(k, k->c->done) + k->room - 1;
  k->idle[rank] = !ends && far;
  if (k->idle[rank]) return;
  Order order = {k->next, ends ? 0 : left < k->chunk ? left : k->chunk};
  k->next += order.count;
  if (!cluster_send(k->cluster, rank, &order, sizeof order)) k->status = SLT_ERR_IO;
  k->running -= order.count == 0;
}

static void take_message(Coordinator* k, int rank, char* data, size_t size) {
  PieceReport report;
  if (size < sizeof report) {
    free(data);
    return;
  }
  memcpy(&report, data, sizeof report);
  if (report.status < 0) k->status = report.status;
  if (report.count) {
    k->waiting[piece_number(k, report.first) % k->room] = (Waiting){data, size};
    write_waiting(k);
  } else {
    free(data);
  }
  hand_out(k, rank);
  for (int i = 1; i < cluster_size(k->cluster); i++) {
    if (k->idle[i]) hand_out(k, i);
  }
}

SltStatus sweep_coordinate(SweepCommand* c, Cluster* cluster) {
  int ranks = cluster_size(cluster);
  Coordinator k = {.c = c,
                   .cluster = cluster,
                   .next = c->done,
                   .origin = c->done,
                   .end = slt_design_member_count(c->design),
                   .running = ranks - 1,
                   .room = (uint64_t)ranks * CLUSTER_AHEAD};
  k.chunk = (k.end - k.next) / ((uint64_t)ranks * 16) + 1;
  if (k.chunk > CLUSTER_CHUNK) k.chunk = CLUSTER_CHUNK;
  k.waiting = calloc(k.room, sizeof *k.waiting);
  k.idle = calloc((size_t)ranks, sizeof *k.idle);
  if (!k.waiting || !k.idle) k.status = SLT_ERR_NOMEM;
  while (k.running > 0 && k.waiting && k.idle) {
    int from = 0;
    char* data = NULL;
    size_t size = 0;
    if (cluster_poll(cluster, &from, &data, &size)) {
      take_message(&k, from, data, size);
      continue;
    }
    // who is told to end does not wait for the others
    if (k.status >= 0 && progress_poll(&c->progress, (double)c->done)) {
      k.status = SLT_ERR_CANCELLED;
      break;
    }
    nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
  }
  for (uint64_t i = 0; k.waiting && i < k.room; i++)
    free(k.waiting[i].data);
  free(k.waiting);
  free(k.idle);
  return k.status;
}
