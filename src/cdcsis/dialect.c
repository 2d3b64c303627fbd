// SPDX-License-Identifier: MIT
//
// The procedures of the paper's chapter 4.
#include "cdcsis/cdcsis.h"

#include <stdarg.h>

static void world_message(void* user, SltSeverity severity, const char* code, double t,
                          const char* text) {
  (void)user;
  static const char* const words[] = {"note", "warning", "error"};
  char time[NUMBER_TEXT_MAX];
  time[number_write(time, t)] = '\0';
  char line[CDCSIS_LINE_MAX];
  (void)snprintf(line, sizeof line, "cdcsis: t = %s: %s[%s]: %s", time, words[severity], code,
                 text);
  cdcsis_message_line(line);
}

SltWorld* cdcsis_world(void) {
  CdcsisState* state = &cdcsis_state;
  if (state->world) return state->world;
  SltWorldOptions options = slt_world_options();
  options.on_message = world_message;
  options.debug = state->debug;
  options.t_start = cdcsis_simtime;
  if (state->method[0]) options.method = state->method;
  if (state->rtol > 0.0) options.rtol = state->rtol;
  if (state->rtol > 0.0) options.atol = state->atol;
  if (slt_world_create(&options, &state->world) < 0) {
    cdcsis_message_line("cdcsis: out of memory");
  } else {
    cdcsis_show_to_watcher(state->world);
  }
  return state->world;
}

// ---- check prints -------------------------------------------------------------------------------

__attribute__((format(printf, 1, 0))) static void print_va(const char* format, va_list args) {
  char text[CDCSIS_LINE_MAX - 64];
  if (vsnprintf(text, sizeof text, format, args) < 0) text[0] = '\0';
  char time[NUMBER_TEXT_MAX];
  time[number_write(time, cdcsis_simtime)] = '\0';
  char line[CDCSIS_LINE_MAX];
  (void)snprintf(line, sizeof line, "cdcsis: t = %s: %s", time, text);
  cdcsis_print_line(line);
}

/// One check print, if some are still wanted. Graphs and animation begin when none is.
__attribute__((format(printf, 1, 2))) static void trace(const char* format, ...) {
  if (cdcsis_stest > 0) {
    va_list args;
    va_start(args, format);
    print_va(format, args);
    va_end(args);
    cdcsis_stest--;
  }
  if (cdcsis_state.world) slt_world_record(cdcsis_state.world, cdcsis_stest <= 0);
}

int cdcsis_test(void) {
  return cdcsis_stest > 0;
}

// ---- blocks -------------------------------------------------------------------------------------

static uint32_t call_slot(const CdcsisState* state, int block, const void* transaction) {
  uint32_t mask = state->call_slots - 1;
  uint64_t hash = hash_mix((uint64_t)(uintptr_t)transaction, (uint64_t)(uint32_t)block);
  uint32_t at = (uint32_t)hash & mask;
  while (state->calls[at] &&
         (state->calls[at]->block != block || state->calls[at]->transaction != transaction)) {
    at = (at + 1) & mask;
  }
  return at;
}

static bool grow_calls(CdcsisState* state) {
  CdcsisCall** old = state->calls;
  uint32_t old_slots = state->call_slots;
  uint32_t slots = old_slots ? 2 * old_slots : 64;
  CdcsisCall** calls = calloc(slots, sizeof(void*));
  if (!calls) return false;
  state->calls = calls;
  state->call_slots = slots;
  for (uint32_t i = 0; i < old_slots; i++) {
    if (old[i]) calls[call_slot(state, old[i]->block, old[i]->transaction)] = old[i];
  }
  free(old);
  return true;
}

/// The record of (block, transaction); made once, kept until `beg`.
static CdcsisCall* find_call(int block, void* transaction) {
  CdcsisState* state = &cdcsis_state;
  if (2 * (state->call_count + 1) > state->call_slots && !grow_calls(state)) return NULL;
  uint32_t at = call_slot(state, block, transaction);
  if (!state->calls[at]) {
    CdcsisCall* call = calloc(1, sizeof *call);
    if (!call) return NULL;
    *call = (CdcsisCall){.block = block, .transaction = transaction};
    state->calls[at] = call;
    state->call_count++;
  }
  return state->calls[at];
}

/// The world's transaction for a pointer of the user; made when it is first named.
static SltTransaction owner_of(SltWorld* world, void* transaction) {
  CdcsisCall* call = transaction ? find_call(CDCSIS_OWNER, transaction) : NULL;
  if (!call) return (SltTransaction){0, 0};
  if (!slt_transaction_is_alive(world, call->owner)) {
    (void)slt_transaction_create(world, NULL, NULL, &call->owner);
  }
  return call->owner;
}

static void forget_calls(void) {
  CdcsisState* state = &cdcsis_state;
  for (uint32_t i = 0; i < state->call_slots; i++) {
    free(state->calls[i]);
  }
  free(state->calls);
  free(state->places);
  state->calls = NULL;
  state->places = NULL;
  state->call_slots = 0;
  state->call_count = 0;
  state->place_count = 0;
  state->place_capacity = 0;
}

/// The world calls a block: hand it to the user's `blocks` through the system variables.
static void run_block(SltWorld* world, void* user) {
  const CdcsisCall* call = user;
  CdcsisState* state = &cdcsis_state;
  cdcsis_simtime = slt_world_time(world);
  cdcsis_step = slt_world_step(world);
  cdcsis_sj = call->block;
  cdcsis_ptrans = call->transaction;
  state->place_count = 0;
  trace("block %d \"%s\"", call->block, slt_block_name(world, slt_block_current(world)));
  state->blocks();
  slt_world_record(world, cdcsis_stest <= 0);
}

struct rblock cdcsis_schedule(double timep, int iblock, int priorp, void* transp,
                              const char* ptext) {
  struct rblock result = {{0, 0}};
  SltWorld* world = cdcsis_world();
  CdcsisCall* call = world ? find_call(iblock, transp) : NULL;
  trace("schedule block %d priority %d \"%s\"", iblock, priorp, ptext ? ptext : "");
  if (!call) return result;
  SltBlockSpec spec = {.kind = priorp > 0   ? SLT_BLOCK_CONTINUOUS
                               : priorp < 0 ? SLT_BLOCK_CHECK
                                            : SLT_BLOCK_DISCRETE,
                       .t = timep,
                       .priority = priorp > 32767    ? 32767
                                   : priorp < -32767 ? -32767
                                                     : priorp,
                       .fn = run_block,
                       .user = call,
                       .name = ptext,
                       .transaction = owner_of(world, transp)};
  (void)slt_block_schedule(world, &spec, &result.block);
  return result;
}

void cdcsis_hold(double timeh, int block) {
  trace("hold block %d", block);
  SltWorld* world = cdcsis_world();
  CdcsisCall* call = world ? find_call(block, cdcsis_ptrans) : NULL;
  if (!call) return;
  if (slt_block_hold(world, timeh, run_block, call, NULL) == SLT_ERR_ARGUMENT) {
    cdcsis_message_line("cdcsis: hold outside of a discrete or check block; ignored");
  }
}

struct rint cdcsis_integr(int np, double* pvin, double* pvout, double* pvw, const char* ptext) {
  (void)pvw;
  struct rint result = {{0, 0}};
  SltWorld* world = cdcsis_world();
  trace("integr %d \"%s\"", np, ptext ? ptext : "");
  if (!world) return result;
  if (np <= 0 || !pvin || !pvout) {
    cdcsis_message_line("cdcsis: integr with nothing to integrate; ignored");
    return result;
  }
  // an integrator made by a block belongs to the transaction the block serves
  (void)slt_integrator_create(world, (uint32_t)np, pvin, pvout, ptext,
                              owner_of(world, cdcsis_ptrans), &result.integrator);
  return result;
}

void cdcsis_cancel(const char* name) {
  trace("cancel \"%s\"", name ? name : "");
  if (cdcsis_world() && name) (void)slt_world_cancel(cdcsis_state.world, name);
}

void cdcsis_cancelblock(const struct rblock* p) {
  trace("cancelblock");
  if (cdcsis_world() && p) (void)slt_block_cancel(cdcsis_state.world, p->block);
}

void cdcsis_cancelint(const struct rint* p) {
  trace("cancelint");
  if (cdcsis_world() && p) (void)slt_integrator_cancel(cdcsis_state.world, p->integrator);
}

void cdcsis_canceltrans(void* transp) {
  trace("canceltrans");
  SltWorld* world = cdcsis_world();
  CdcsisCall* call = world && transp ? find_call(CDCSIS_OWNER, transp) : NULL;
  if (!call) return;
  // what is scheduled for the same pointer from here on belongs to a new transaction
  if (slt_transaction_is_alive(world, call->owner)) (void)slt_transaction_end(world, call->owner);
  call->owner = (SltTransaction){0, 0};
}

// ---- state events -------------------------------------------------------------------------------

/// How many times this place was passed before in the running block: a loop over balls has one call
/// of `event` and needs a memory for each.
static uint32_t passed_before(uint64_t place) {
  CdcsisState* state = &cdcsis_state;
  for (uint32_t i = 0; i < state->place_count; i++) {
    if (state->places[i].place == place) return ++state->places[i].count;
  }
  if (state->place_count == state->place_capacity) {
    uint32_t capacity = state->place_capacity ? 2 * state->place_capacity : 16;
    CdcsisPlace* places = realloc(state->places, capacity * sizeof *places);
    if (!places) return 0;
    state->places = places;
    state->place_capacity = capacity;
  }
  state->places[state->place_count++] = (CdcsisPlace){place, 0};
  return 0;
}

static int event_of(uint64_t site, double x) {
  SltWorld* world = cdcsis_world();
  if (!world) return 0;
  site = hash_mix(site, (uint64_t)(uintptr_t)cdcsis_ptrans);
  int fires = slt_world_event(world, x, site);
  if (fires) trace("event in block %d", cdcsis_sj);
  return fires;
}

int cdcsis_event(double x, const double* p) {
  return event_of((uint64_t)(uintptr_t)p, x);
}

int cdcsis_event_at(const char* file, int line, int counter, double x, const double* p) {
  if (p) return cdcsis_event(x, p);
  uint64_t place =
      hash_bytes(file, strlen(file), (uint64_t)(uint32_t)line << 32 | (uint32_t)counter);
  return event_of(hash_mix(place, (uint64_t)passed_before(place) + 1), x);
}

// ---- the run ------------------------------------------------------------------------------------

void cdcsis_wait(double endtime, double gstepp, void (*blocks)(void)) {
  CdcsisState* state = &cdcsis_state;
  SltWorld* world = cdcsis_world();
  if (!world || !blocks) return;
  trace("wait");
  state->blocks = blocks;
  slt_world_record(world, cdcsis_stest <= 0);
  SltBlock running = slt_block_current(world);
  SltStatus status = slt_world_run(world, endtime, gstepp);
  if (running.index) return;  // inside a block: refused with a message
  state->status = status;
  cdcsis_simtime = slt_world_time(world);
  cdcsis_sj = 0;
  cdcsis_ptrans = NULL;
  if (status == SLT_ERR_ARGUMENT && slt_world_error(world).status >= 0) {
    cdcsis_message_line("cdcsis: wait: the end lies in the past or the step is not positive");
  }
  if (!state->no_files) cdcsis_write_files(world);
}

void cdcsis_beg(double starttime) {
  trace("beg");
  CdcsisState* state = &cdcsis_state;
  if (state->world && slt_block_current(state->world).index) {
    cdcsis_message_line("cdcsis: beg inside a block; ignored");
    return;
  }
  slt_world_free(state->world);
  state->world = NULL;
  forget_calls();
  state->status = SLT_OK;
  cdcsis_simtime = starttime;
  cdcsis_step = 0.0;
  cdcsis_ptrans = NULL;
  cdcsis_sj = 0;
}

int cdcsis_status(void) {
  return cdcsis_state.status;
}

// ---- graphs and animation -----------------------------------------------------------------------

void cdcsis_graf(const double* p, double ampl, const char* text) {
  trace("graf \"%s\"", text ? text : "");
  SltWorld* world = cdcsis_world();
  if (!world) return;
  SltStatus status = slt_world_watch(world, p, fabs(ampl), text);
  if (status == SLT_ERR_ARGUMENT && !p) cdcsis_message_line("cdcsis: graf without a signal");
}

void cdcsis_anim(double dx, double dy, double xmax, double ymax, double x, double y, double alfa,
                 int n, const double* a, const double* b) {
  SltWorld* world = cdcsis_world();
  if (!world) return;
  SltPose pose = {.field_x = dx,
                  .field_y = dy,
                  .size_x = xmax,
                  .size_y = ymax,
                  .x = x,
                  .y = y,
                  .angle = alfa,
                  .count = n > 0 ? (uint32_t)n : 0,
                  .a = a,
                  .b = b,
                  .key = cdcsis_ptrans};
  if (slt_world_pose(world, &pose) == SLT_ERR_ARGUMENT) {
    cdcsis_message_line("cdcsis: anim with sizes or points that make no sense; ignored");
  }
}

// ---- beyond the paper ---------------------------------------------------------------------------

int cdcsis_method(const char* method) {
  CdcsisState* state = &cdcsis_state;
  SltWorld* world = cdcsis_world();
  if (!world) return SLT_ERR_NOMEM;
  SltStatus status = slt_world_set_method(world, method);
  if (status >= 0) {
    (void)snprintf(state->method, sizeof state->method, "%s", method ? method : "literal");
  } else {
    cdcsis_message_line("cdcsis: there is no such method");
  }
  return status;
}

int cdcsis_tolerance(double rtol, double atol) {
  SltWorld* world = cdcsis_world();
  if (!world) return SLT_ERR_NOMEM;
  SltStatus status = slt_world_set_tolerance(world, rtol, atol);
  if (status >= 0) {
    cdcsis_state.rtol = rtol;
    cdcsis_state.atol = atol;
  }
  return status;
}

void cdcsis_output(const char* prefix) {
  CdcsisState* state = &cdcsis_state;
  state->no_files = !prefix;
  state->prefix_set = prefix != NULL;
  (void)snprintf(state->prefix, sizeof state->prefix, "%s", prefix ? prefix : "");
}

void cdcsis_on_print(CdcsisLineFn* fn, void* user) {
  cdcsis_state.on_print = fn;
  cdcsis_state.print_user = user;
}

void cdcsis_on_message(CdcsisLineFn* fn, void* user) {
  cdcsis_state.on_message = fn;
  cdcsis_state.message_user = user;
}

void cdcsis_debug(int on) {
  cdcsis_state.debug = on != 0;
}
