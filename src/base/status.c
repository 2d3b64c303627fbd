// SPDX-License-Identifier: MIT
#include <saltus/saltus_rt.h>

const char* slt_status_text(SltStatus status) {
  switch (status) {
#define SLT_X(name, value, text) \
  case name: return text;
    SLT_STATUS_LIST(SLT_X)
#undef SLT_X
  }
  return "unknown status";
}

const char* slt_version(void) {
  return SLT_VERSION;
}
