// SPDX-License-Identifier: MIT
//
// In place of the page with the engine inside where it was not built (make web).
#include "serve.h"

const unsigned char serve_web[1] = {0};
const unsigned char* const serve_web_end = serve_web;
