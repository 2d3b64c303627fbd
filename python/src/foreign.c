// SPDX-License-Identifier: MIT
//
// FMUs inside of models: one host for all models of the process.
#include "saltus_py.h"

#if SALTUS_HAVE_FMI_IMPORT
#include "../../fmi/block.h"

#include <pthread.h>
#include <stdlib.h>

#define CALL_SECONDS 10.0  // that a call of an FMU may take, and ten times that to begin

static FmuHost* host;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_host(void) {
  fmu_host_free(host);
  host = NULL;
}

static void make_host(void) {
  host = fmu_host_create(CALL_SECONDS);
  if (host) (void)atexit(free_host);
}

const SltForeign* foreign_host(void) {
  (void)pthread_once(&once, make_host);
  return fmu_host_foreign(host);
}

#else

const SltForeign* foreign_host(void) {
  return NULL;
}

#endif
