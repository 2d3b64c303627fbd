// SPDX-License-Identifier: MIT
//
// PNG and PDF pictures through cairo. The library is loaded when the first picture is asked for: it
// brings a dozen others with it, and a program that draws none should not wait for them.
#ifndef SALTUS_API_RT_FIGURE_CAIRO_H
#define SALTUS_API_RT_FIGURE_CAIRO_H

#include "record/record.h"

/// SLT_ERR_UNSUPPORTED when cairo was absent at build time or cannot be loaded now.
SltStatus figure_cairo(const Figure* figure, bool pdf, Sink* sink, Arena* arena);

#endif
