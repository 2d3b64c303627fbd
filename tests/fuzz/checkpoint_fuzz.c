// SPDX-License-Identifier: MIT
//
// A checkpoint that was not written by the holder of the key is refused, whatever it holds; and one
// bit of a good one makes it another.
#include <saltus/saltus.h>

#include <stdlib.h>
#include <string.h>

static const char text[] = "y' = v; y(t0) = 1; v' = -9.81; v(t0) = 0;\n"
                           "z' = delay(y, 0.1); z(t0) = 0;\n"
                           "state hit [y <= 0] && v < 0 { set v = -0.8*v; } from init, hit;\n";

static SltSim* make(SltModel** model, bool start) {
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  if (slt_model_compile("fuzz.lisma", text, sizeof text - 1, NULL, model) < 0) __builtin_trap();
  if (slt_sim_create(*model, &options, &sim) < 0) __builtin_trap();
  if (start && (slt_sim_start(sim) < 0 || slt_sim_advance(sim, 0.3, NULL) < 0)) __builtin_trap();
  return sim;
}

static SltStatus restore(const SltKey* key, const void* bytes, size_t size) {
  SltModel* model = NULL;
  SltSim* sim = make(&model, false);
  const char* why = NULL;
  SltStatus status = slt_sim_checkpoint_restore(sim, key, bytes, size, NULL, 0, &why);
  if (status == SLT_ERR_ARGUMENT && !why) __builtin_trap();
  if (status >= 0) status = slt_sim_advance(sim, 1.0, NULL);
  slt_sim_free(sim);
  slt_model_free(model);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const SltKey key = {{1, 2, 3}};
  if (restore(&key, data, size) >= 0) __builtin_trap();

  // the input says where a good one is changed
  SltModel* model = NULL;
  SltSim* sim = make(&model, true);
  size_t length = slt_sim_checkpoint_size(sim, 0);
  uint8_t* good = malloc(length);
  if (!good || slt_sim_checkpoint_save(sim, &key, NULL, 0, good, length) < 0) __builtin_trap();
  slt_sim_free(sim);
  slt_model_free(model);
  if (restore(&key, good, length) < 0) __builtin_trap();
  uint32_t at = 0;
  memcpy(&at, data, size < sizeof at ? size : sizeof at);
  good[at % length] ^= (uint8_t)(1u << (at >> 24) % 8);
  if (restore(&key, good, length) >= 0 || restore(NULL, good, length) >= 0) __builtin_trap();
  free(good);
  return 0;
}
