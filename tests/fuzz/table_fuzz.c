// SPDX-License-Identifier: MIT
//
// Any bytes are a table or an error, and every table can be drawn or refused.
#include <saltus/saltus_rt.h>

static SltStatus swallow(void* user, const char* data, size_t length) {
  (void)user;
  (void)data;
  (void)length;
  return SLT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  SltTable* table = NULL;
  uint32_t line = 0;
  SltStatus status = slt_table_read_csv((const char*)data, size, &table, &line);
  if (status < 0) {
    if (table || line == 0) __builtin_trap();
    return 0;
  }
  static const SltPlotFormat formats[] = {SLT_PLOT_SVG, SLT_PLOT_TERMINAL};
  for (int i = 0; i < 2; i++) {
    SltPlotOptions options = slt_plot_options();
    options.format = formats[i];
    options.title = "fuzz";
    slt_table_plot(table, &options, (SltWriter){swallow, NULL}, NULL);
    // once more with the last column as the axis
    uint32_t columns = slt_table_column_count(table);
    options.x = slt_table_column_name(table, columns - 1);
    slt_table_plot(table, &options, (SltWriter){swallow, NULL}, NULL);
  }
  slt_table_free(table);
  return 0;
}
