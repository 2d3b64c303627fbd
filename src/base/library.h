// SPDX-License-Identifier: MIT
//
// Libraries that few runs need are loaded when they are first used: linked ones bring dozens of
// others with them, and the loader's work for these would be most of a short run. The code is
// compiled against their headers; what it uses of one stands in a list, from which come the members
// of a struct and their names:
//
//   #define THING_LIST(X) X(thing_create) X(thing_free)
//   typedef struct Thing { THING_LIST(LIBRARY_MEMBER) } Thing;
//   Thing thing;
//   static const char* const names[] = {THING_LIST(LIBRARY_NAME)};
//   if (library_load("libthing.so.1", names, sizeof names / sizeof *names, &thing)) ...
//
// The programs around the library (cli, fmi) use this header too.
#ifndef SALTUS_BASE_LIBRARY_H
#define SALTUS_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#define LIBRARY_MEMBER(name) __typeof__(&(name)) name;  // a function or a variable of the library
#define LIBRARY_NAME(name)   #name,

/// Fills `table`, a struct of `count` pointers, with what has these names. What is loaded stays so
/// until the process ends. False where the file or a name is not there.
bool library_load(const char* file, const char* const* names, size_t count, void* table);

#endif
