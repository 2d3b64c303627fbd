// SPDX-License-Identifier: MIT
//
// Any bytes are a table of numbers that a model names, or an error; a table can be read at all
// times.
#include <saltus/saltus.h>

#include <stdlib.h>
#include <string.h>

typedef struct Bytes {
  const uint8_t* data;
  size_t size;
} Bytes;

static SltStatus load(void* user, const char* name, const SltAllocator* allocator, char** content,
                      size_t* length) {
  const Bytes* bytes = user;
  (void)name;
  *content = allocator->realloc_fn(allocator->user, NULL, 0, bytes->size ? bytes->size : 1);
  if (!*content) return SLT_ERR_NOMEM;
  if (bytes->size) memcpy(*content, bytes->data, bytes->size);
  *length = bytes->size;
  return SLT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const texts[] = {
      "data p = \"t.csv\";\nx' = table(p, time); x(t0) = 0;\n",
      "data p = \"t.csv\", v, cubic;\nx' = table(p, time); x(t0) = 0;\n",
  };
  for (int i = 0; i < 2; i++) {
    Bytes bytes = {data, size};
    SltCompileOptions options = slt_compile_options();
    options.load = load;
    options.load_user = &bytes;
    SltModel* model = NULL;
    slt_model_compile("fuzz.lisma", texts[i], strlen(texts[i]), &options, &model);
    SltSimOptions run = slt_sim_options();
    run.max_steps = 200;
    run.max_events = 200;
    SltSim* sim = NULL;
    if (model && slt_sim_create(model, &run, &sim) >= 0 && slt_sim_start(sim) >= 0) {
      for (int k = 0; k < 50 && slt_sim_advance(sim, 1.0, NULL) == SLT_EVENT; k++) {
      }
    }
    slt_sim_free(sim);
    slt_model_free(model);
  }
  return 0;
}
