// SPDX-License-Identifier: MIT
//
// The style and the script of reports, line by line up to NULL.
#ifndef SALTUS_CLI_REPORT_PAGE_H
#define SALTUS_CLI_REPORT_PAGE_H

#include <stddef.h>

extern const char* const report_style[];
extern const char* const report_script[];

#endif
