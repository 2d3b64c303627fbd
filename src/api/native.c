// SPDX-License-Identifier: MIT
//
// Machine code for models compiled from text.
#include "api/compiled.h"

#define CACHE_LIMIT (UINT64_C(64) << 20)

SltNativeOptions slt_native_options(void) {
  return (SltNativeOptions){
      .when = SLT_NATIVE_AUTO, .cache_limit = CACHE_LIMIT, .cookie = NATIVE_OPTIONS_COOKIE};
}

SltStatus slt_model_set_native(SltModel* model, const SltNativeOptions* options) {
  if (!model || !options || options->cookie != NATIVE_OPTIONS_COOKIE) return SLT_ERR_ARGUMENT;
  if ((unsigned)options->when > SLT_NATIVE_ON || model->provider.tune) return SLT_ERR_ARGUMENT;
  if (options->when == SLT_NATIVE_OFF) return SLT_OK;
  CompiledModel* compiled = (CompiledModel*)model;
  NativeOptions own = {.at_once = options->when == SLT_NATIVE_ON,
                       .compiler = options->compiler,
                       .cache = options->cache,
                       .limit = options->cache_limit};
  SLT_TRY(native_tier_create(&compiled->allocator, &own, &compiled->native));
  model->provider.tune = native_tier_tune;
  model->provider.tuner = compiled->native;
  return SLT_OK;
}

SltNativeReport slt_model_native_report(const SltModel* model) {
  const CompiledModel* compiled = (const CompiledModel*)model;
  if (!model || !compiled->native) return (SltNativeReport){.note = NULL};
  NativeReport report = native_tier_report(compiled->native);
  return (SltNativeReport){report.programs, report.compiled, report.loaded, report.note};
}

void slt_model_native_kill(const SltModel* model) {
  const CompiledModel* compiled = (const CompiledModel*)model;
  if (model && compiled->native) native_tier_kill(compiled->native);
}

static SltStatus open_cache(NativeCache* cache, const char* folder, const char** problem) {
  if (problem) *problem = NULL;
  if (!folder) return SLT_ERR_ARGUMENT;
  const char* why = native_cache_open(cache, folder, CACHE_LIMIT, false);
  if (problem) *problem = why;
  return why ? SLT_ERR_IO : SLT_OK;
}

SltStatus slt_native_cache_info(const char* folder, SltNativeCache* out, const char** problem) {
  NativeCache cache;
  if (!out) return SLT_ERR_ARGUMENT;
  *out = (SltNativeCache){0};
  SLT_TRY(open_cache(&cache, folder, problem));
  NativeCacheInfo info = native_cache_info(&cache);
  *out = (SltNativeCache){info.entries, info.bytes};
  native_cache_close(&cache);
  return SLT_OK;
}

SltStatus slt_native_cache_trim(const char* folder, uint64_t limit, uint64_t* removed,
                                const char** problem) {
  NativeCache cache;
  SLT_TRY(open_cache(&cache, folder, problem));
  uint64_t count = native_cache_trim(&cache, limit);
  if (removed) *removed = count;
  native_cache_close(&cache);
  return SLT_OK;
}
