// SPDX-License-Identifier: MIT
//
// Rule tables: any bytes. What can be read can be written, read again and run for a few cycles.
#include "rules/rules.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void require(bool condition) {
  if (!condition) abort();
}

static void run_some(const RulesModel* model) {
  RulesCyclic* cyclic = rules_cyclic_create(model, 0.125, NULL);
  for (int i = 0; cyclic && i < 8; i++)
    rules_cyclic_cycle(cyclic);
  rules_cyclic_free(cyclic);
}

/// Delays of a million cycles are fine in a plant and slow here.
static bool is_small(const RulesModel* model) {
  for (uint32_t i = 0; i < model->rules.count; i++) {
    const RulesRule* rule = &model->rules.data[i];
    if (rules_param(model, rule, RULES_PARAM_T, 0.0) > 1000.0) return false;
  }
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 16) return 0;
  jmp_buf oom;
  Arena arena;
  arena_init(&arena, NULL, &oom);
  if (setjmp(oom) == 0) {
    Source source;
    DiagList diags;
    RulesModel model;
    diag_init(&diags, &arena, &source);
    Str text = str_copy(&arena, (Str){(const char*)data, (uint32_t)size});
    bool good = rules_read(&model, &arena, &source, STR_LIT("fuzz"), text, false, NULL, &diags);
    require(good || diags.items.count > 0);
    for (uint32_t i = 0; i < diags.items.count; i++) {
      diag_render(&arena, &source, &diags.items.data[i], false);
    }
    if (good && is_small(&model)) {
      Str written = rules_write_markdown(&model, &arena);
      Source second;
      DiagList more;
      RulesModel again;
      diag_init(&more, &arena, &second);
      require(rules_read(&again, &arena, &second, STR_LIT("again"), written, false, NULL, &more));
      require(str_equal(written, rules_write_markdown(&again, &arena)));
      run_some(&model);
      IrModel ir;
      rules_lower(&model, &ir, &arena, &source, NULL, &diags);
      // the compiler of equations may refuse a model, but never for a fault of ours
      for (uint32_t i = 0; i < diags.items.count; i++) {
        const char* code = diag_code_text(diags.items.data[i].code);
        require(strcmp(code, "E0799") != 0 && strncmp(code, "E01", 3) != 0);
      }
    }
  }
  arena_free(&arena);
  return 0;
}
