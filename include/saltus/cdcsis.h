// SPDX-License-Identifier: MIT
//
// The CDCSIS dialect: the procedures and variables of J. Culik, "CDCSIS - software for discrete
// continuous simulation", chapter 4, on the blocks of <saltus/saltus.h>. A program of the paper
// compiles with this one include:
//
//   void blocks() { switch (sj) { case 1: ... break; } }
//   int main() { schedule(0.0, 1, 1, 0, "right sides"); ... wait(11.5, 0.02); }
//
// The short names are macros in C and ordinary functions in C++; standard headers they could hide
// are included first. CDCSIS_NO_SHORT_NAMES leaves only the names with the prefix cdcsis_.
//
// This dialect is one simulation per program, as the original was: its variables are global, and it
// belongs to one thread. At its end `wait` writes cdcsis-K.svg for the K-th graph, cdcsis.csv and
// cdcsis.html into the working directory, check prints go to the standard output and messages to
// the standard error; cdcsis_output(), cdcsis_on_print() and cdcsis_on_message() change that.
#ifndef SALTUS_CDCSIS_H
#define SALTUS_CDCSIS_H

#include <saltus/saltus.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---- system variables ---------------------------------------------------------------------------

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
extern SLT_API double cdcsis_simtime;  ///< simulation time; read only
extern SLT_API double cdcsis_step;     ///< present time step; read only
extern SLT_API double* cdcsis_ptrans;  ///< transaction the running block serves, or NULL
extern SLT_API int cdcsis_stest;       ///< number of check prints still to come; set it at any time
extern SLT_API int cdcsis_sj;          ///< number of the running block
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

// ---- procedures ---------------------------------------------------------------------------------

/// A scheduled block, an integrator. Copies are valid; a stale one is ignored with a warning.
struct rblock {
  SltBlock block;
};
struct rint {
  SltIntegrator integrator;
};

/// Put block `iblock` into the calculation at time `timep`. `priorp` > 0: continuous, calculated in
/// every step of the integration; 0: discrete, once; < 0: check, at the end of every time step.
/// Among blocks of one kind the larger priority is first. `transp` is handed to the block in
/// ptrans; the library never looks at what it points to. `ptext` names the block for `cancel`.
SLT_API struct rblock cdcsis_schedule(double timep, int iblock, int priorp, void* transp,
                                      const char* ptext);
/// Integrate `np` numbers: `pvout`' = `pvin`. The vectors may overlap. `pvw` (2 np numbers of work
/// space in the original) is not used and may be NULL.
SLT_API struct rint cdcsis_integr(int np, double* pvin, double* pvout, double* pvw,
                                  const char* ptext);
/// Take out all blocks and integrators of that name; inside a block when it returns.
SLT_API void cdcsis_cancel(const char* name);
SLT_API void cdcsis_cancelblock(const struct rblock* p);
SLT_API void cdcsis_cancelint(const struct rint* p);
/// The history of an object: block `block` after the time `timeh`, with priority, name and
/// transaction of the running block.
SLT_API void cdcsis_hold(double timeh, int block);
/// State event, in a check block: true at the moment at which x leaves the positive values. The
/// memory is kept for the address `p` (Fortran, Pascal), or by the macro for the place of the call.
SLT_API int cdcsis_event(double x, const double* p);
SLT_API int cdcsis_event_at(const char* file, int line, int counter, double x, const double* p);
/// Simulate up to `endtime` with the time step `gstepp`. A later call with a later end goes on.
SLT_API void cdcsis_wait(double endtime, double gstepp, void (*blocks)(void));
/// Clear everything and set the simulation time.
SLT_API void cdcsis_beg(double starttime);
/// Whether check prints are on (stest > 0).
SLT_API int cdcsis_test(void);
/// A graph of `*p`. `ampl` is the greatest absolute value; it is doubled as often as needed.
SLT_API void cdcsis_graf(const double* p, double ampl, const char* text);
/// A pose of a drawing at the present time. dx, dy: the visible field, its centre is the origin.
/// xmax, ymax: bounds of |a|, |b|. See SltPose for the marks in `a`.
SLT_API void cdcsis_anim(double dx, double dy, double xmax, double ymax, double x, double y,
                         double alfa, int n, const double* a, const double* b);

// ---- beyond the paper ---------------------------------------------------------------------------

/// "literal" (the default), or a method with error control, "dp54" for instance: the same program
/// with dense output and located events. @return SLT_OK or SLT_ERR_NOT_FOUND.
SLT_API int cdcsis_method(const char* method);
/// Tolerances of methods with error control [1e-6, 1e-9].
SLT_API int cdcsis_tolerance(double rtol, double atol);
/// Cancel all blocks that serve a transaction and the integrators they have made; call it before
/// the transaction is freed. Inside a block it takes effect when the block returns.
SLT_API void cdcsis_canceltrans(void* transp);
/// Begin of the file names instead of "cdcsis" (copied); NULL: write no files.
SLT_API void cdcsis_output(const char* prefix);
/// Receives a line without its end.
typedef void CdcsisLineFn(void* user, const char* line);
/// Where check prints go; NULL: to the standard output.
SLT_API void cdcsis_on_print(CdcsisLineFn* fn, void* user);
/// Where warnings and errors go; NULL: to the standard error.
SLT_API void cdcsis_on_message(CdcsisLineFn* fn, void* user);
/// Nonzero: report check blocks that give another result when they are repeated. Before anything
/// else, or after `beg`.
SLT_API void cdcsis_debug(int on);
/// Result of the last `wait`: SLT_OK, SLT_END or an error.
SLT_API int cdcsis_status(void);
/// The world behind the dialect, for everything else of <saltus/saltus.h>.
SLT_API SltWorld* cdcsis_world(void);

#ifdef __cplusplus
}
#endif

#ifndef CDCSIS_NO_SHORT_NAMES

void blocks(
#ifndef __cplusplus
    void
#endif
);  // the user's

// the place of a call of `event`: several may stand in one line
#ifdef __COUNTER__
#define CDCSIS_PLACE __FILE__, __LINE__, __COUNTER__
#else
#define CDCSIS_PLACE __FILE__, __LINE__, 0
#endif

#ifdef __cplusplus

inline const double* cdcsis_memory(const double* p) {
  return p;
}
inline const double* cdcsis_memory(double) {
  return nullptr;
}
inline rblock schedule(double timep, int iblock, int priorp, void* transp, const char* ptext) {
  return cdcsis_schedule(timep, iblock, priorp, transp, ptext);
}
inline struct rint integr(int np, double* pvin, double* pvout, double* pvw, const char* ptext) {
  return cdcsis_integr(np, pvin, pvout, pvw, ptext);
}
inline void cancel(const char* name) {
  cdcsis_cancel(name);
}
inline void cancelblock(const rblock* p) {
  cdcsis_cancelblock(p);
}
inline void cancelint(const struct rint* p) {
  cdcsis_cancelint(p);
}
inline void hold(double timeh, int block) {
  cdcsis_hold(timeh, block);
}
inline void wait(double endtime, double gstepp) {
  cdcsis_wait(endtime, gstepp, blocks);
}
inline void beg(double starttime) {
  cdcsis_beg(starttime);
}
inline int test() {
  return cdcsis_test();
}
inline void graf(const double* p, double ampl, const char* text) {
  cdcsis_graf(p, ampl, text);
}
inline void anim(double dx, double dy, double xmax, double ymax, double x, double y, double alfa,
                 int n, const double* a, const double* b) {
  cdcsis_anim(dx, dy, xmax, ymax, x, y, alfa, n, a, b);
}
// texts may be strings of the C++ library, too
template <class String>
inline auto schedule(double timep, int iblock, int priorp, void* transp, const String& ptext)
    -> decltype(ptext.c_str(), rblock()) {
  return cdcsis_schedule(timep, iblock, priorp, transp, ptext.c_str());
}
template <class String>
inline auto integr(int np, double* pvin, double* pvout, double* pvw, const String& ptext)
    -> decltype(cdcsis_integr(np, pvin, pvout, pvw, ptext.c_str())) {
  return cdcsis_integr(np, pvin, pvout, pvw, ptext.c_str());
}
template <class String>
inline auto cancel(const String& name) -> decltype(cdcsis_cancel(name.c_str())) {
  cdcsis_cancel(name.c_str());
}
template <class String>
inline auto graf(const double* p, double ampl, const String& text)
    -> decltype(cdcsis_graf(p, ampl, text.c_str())) {
  cdcsis_graf(p, ampl, text.c_str());
}
#define CDCSIS_UNUSED __attribute__((unused))
CDCSIS_UNUSED static double& simtime = cdcsis_simtime;
CDCSIS_UNUSED static double& step = cdcsis_step;
CDCSIS_UNUSED static double*& ptrans = cdcsis_ptrans;
CDCSIS_UNUSED static int& stest = cdcsis_stest;
CDCSIS_UNUSED static int& sj = cdcsis_sj;
#define event(x, p) cdcsis_event_at(CDCSIS_PLACE, (x), cdcsis_memory(p))

#else

static inline const double* cdcsis_memory_address(const double* p) {
  return p;
}
static inline const double* cdcsis_memory_value(double p) {
  (void)p;
  return (const double*)0;
}
#define CDCSIS_MEMORY(p) \
  _Generic((p), double*: cdcsis_memory_address, const double*: cdcsis_memory_address, \
           default: cdcsis_memory_value)(p)

#define simtime cdcsis_simtime
#define step    cdcsis_step
#define ptrans  cdcsis_ptrans
#define stest   cdcsis_stest
#define sj      cdcsis_sj

#define schedule(timep, iblock, priorp, transp, ptext) \
  cdcsis_schedule(timep, iblock, priorp, transp, ptext)
#define integr(np, pvin, pvout, pvw, ptext) cdcsis_integr(np, pvin, pvout, pvw, ptext)
#define cancel(name)                        cdcsis_cancel(name)
#define cancelblock(p)                      cdcsis_cancelblock(p)
#define cancelint(p)                        cdcsis_cancelint(p)
#define hold(timeh, block)                  cdcsis_hold(timeh, block)
#define event(x, p)                         cdcsis_event_at(CDCSIS_PLACE, (x), CDCSIS_MEMORY(p))
#define wait(endtime, gstepp)               cdcsis_wait(endtime, gstepp, blocks)
#define beg(starttime)                      cdcsis_beg(starttime)
#define test()                              cdcsis_test()
#define graf(p, ampl, text)                 cdcsis_graf(p, ampl, text)
#define anim(dx, dy, xmax, ymax, x, y, alfa, n, a, b) \
  cdcsis_anim(dx, dy, xmax, ymax, x, y, alfa, n, a, b)

#endif
#endif

#endif
