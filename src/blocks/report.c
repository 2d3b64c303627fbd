// SPDX-License-Identifier: MIT
//
// The figures of a world as a table for people.
#include "blocks/blocks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static SltStatus print(SltWriter writer, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

static SltStatus print(SltWriter writer, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length < 0) return SLT_ERR_IO;
  size_t size = (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
  return writer.write(writer.user, line, size);
}

/// "1.25 +- 0.03", or without the half width where too little was seen for one.
static const char* with_error(SltSummary summary, char out[48]) {
  if (isnan(summary.half_width)) {
    snprintf(out, 48, "%.4g", summary.mean);
  } else {
    snprintf(out, 48, "%.4g +- %.2g", summary.mean, summary.half_width);
  }
  return out;
}

static SltStatus resource_line(const SltResource* resource, SltWriter writer) {
  SltResourceStatistics s = slt_resource_statistics(resource);
  char waiting[48];
  char queue[48];
  char use[48];
  return print(writer, "%-16.16s %5u %9llu %9llu  %-20s %-20s %6.0f  %-20s %5.1f %%\n",
               blk_name_text(resource->world, resource->name), resource->units,
               (unsigned long long)s.granted, (unsigned long long)s.withdrawn,
               with_error(s.waiting, waiting), with_error(s.queue, queue), s.queue.greatest,
               with_error(s.in_use, use), 100.0 * s.in_use.mean / resource->units);
}

/// In the order of their creation: the list has the last one first.
static SltStatus resource_lines(const SltResource* resource,  // NOLINT(misc-no-recursion)
                                SltWriter writer) {
  if (!resource) return SLT_OK;
  SLT_TRY(resource_lines(resource->link, writer));
  return resource_line(resource, writer);
}

static SltStatus store_lines(const SltStore* store,
                             SltWriter writer) {  // NOLINT(misc-no-recursion)
  if (!store) return SLT_OK;
  SLT_TRY(store_lines(store->link, writer));
  return print(writer, "%-16.16s %9u %9u\n", blk_name_text(store->world, store->name),
               store->items.count, store->fetches.count);
}

SltStatus slt_world_write_report(const SltWorld* world, SltWriter writer) {
  if (!world || !writer.write) return SLT_ERR_ARGUMENT;
  SltWorldStatistics s = slt_world_statistics(world);
  SLT_TRY(print(writer, "time %.10g, %llu events, %llu steps, %llu pending\n", world->t,
                (unsigned long long)s.events, (unsigned long long)s.steps,
                (unsigned long long)s.pending));
  if (world->transactions.resources) {
    SLT_TRY(print(writer, "\n%-16s %5s %9s %9s  %-20s %-20s %6s  %-20s %7s\n", "resource", "units",
                  "granted", "withdrawn", "waiting", "queue", "most", "in use", "busy"));
    SLT_TRY(resource_lines(world->transactions.resources, writer));
  }
  if (world->transactions.stores) {
    SLT_TRY(print(writer, "\n%-16s %9s %9s\n", "store", "items", "fetchers"));
    SLT_TRY(store_lines(world->transactions.stores, writer));
  }
  return SLT_OK;
}
