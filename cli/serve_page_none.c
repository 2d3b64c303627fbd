// SPDX-License-Identifier: MIT
//
// In place of the page where it was not built (see workbench/).
#include "serve.h"

const unsigned char serve_page[1] = {0};
const size_t serve_page_size = 0;
