// SPDX-License-Identifier: MIT
//
// The instant: due time events, then rounds of transitions until nothing more is enabled.
//
// Within a round all transitions read the values before it. Transitions that interfere (one writes
// what the other reads or writes) take successive rounds, in the order of the text. What a round
// has assigned is what the next one reads. Guards that ask for nothing but states of other automata
// are followed before equations are solved.
#ifndef SALTUS_ENGINE_EVENTS_EVENTS_H
#define SALTUS_ENGINE_EVENTS_EVENTS_H

#include "engine/engine.h"

#define EVENTS_ROUNDS_MAX    1000000u  // rounds of one instant; more are an error
#define EVENTS_ORDERS_WARNED 8         // places for which it is said that the order matters

/// Simultaneous assignments queued by a fired transition.
typedef struct EngGroup {
  uint32_t action_begin, action_count;
  uint32_t automaton;  // that it belongs to; MODEL_NONE: a time event
  uint32_t record;     // of the trace
} EngGroup;

/// A change of state since values were last assigned.
typedef struct EventsMove {
  uint32_t automaton, from;
} EventsMove;

/// An assignment of the present candidate.
typedef struct EventsAssigned {
  uint32_t action;
  uint32_t automaton;  // it falls with the state that this one has entered; MODEL_NONE: never
  uint32_t record;     // of the trace
  double value;
} EventsAssigned;

/// What an automaton can do next; MODEL_NONE: nothing any more.
typedef struct EventsEnabled {
  uint32_t automaton, transition;
  uint32_t meets;  // place of the environment through which it met others; MODEL_NONE
  bool waits;      // it has been left out of a round because of others
} EventsEnabled;

/// A configuration kept as a whole, to tell a repetition from two keys that happen to be equal.
typedef struct EventsCopy {
  double* env;  // values, then those before the round
  uint32_t* state;
  uint8_t* edges;  // of self loops
  ModelRandom random;
  uint64_t key;
  uint32_t record;         // of the trace, when it was made
  uint32_t age, patience;  // keys met again since; how many until a newer copy is made
  bool made;
} EventsCopy;

/// What the transitions that were chosen for a round read and write.
typedef struct EventsMarks {
  uint8_t* env;          // per entry of the environment: EVENTS_WRITTEN, EVENTS_READ
  uint32_t met_at;       // entry through which two transitions met last; MODEL_NONE: otherwise
  ModelOrigins origins;  // of what the mode computes
  uint32_t* origins_room;
} EventsMarks;

/// Assignments that wait for the end of their round.
typedef struct EventsQueue {
  EngGroup* groups;
  uint32_t count;
  size_t actions;     // in all groups
  EventsMove* moves;  // of the transitions that assign them
  uint32_t move_count;
} EventsQueue;

/// What rounding may have done to values that resets read, for one mode, time and count of changes.
typedef struct EventsRounding {
  const ModelMode* mode;  // NULL: nothing is known
  double t;
  uint64_t changes;
  double *widths, *off;  // of what is computed, of the states
  ModelDual* room;
  ModelInterval* bounds;  // of the registers of a reset
} EventsRounding;

/// Work space of an instant; nothing of it is kept in snapshots.
typedef struct Events {
  // what may fire
  EventsEnabled* enabled;  // in the order of the text; room for all automata
  uint32_t enabled_begin, enabled_count;
  uint32_t meet;      // all of them but the first met others in this place of the environment
  uint32_t* in_text;  // automata in the order of the text; NULL: that is their own order
  BaseLists readers;  // per automaton: who asks for its state alone; no list: nobody does
  EventsMarks marks;
  // what fires in the present round
  uint32_t* fired;     // transitions or switches, then those that follow from their states
  bool* fired_switch;  // which of them are switches
  uint32_t fired_count;
  bool looked;        // it has been gathered, and no truth has changed since
  uint32_t* entered;  // automata that have changed their state since guards were last asked
  uint32_t entered_count;
  bool* is_entered;
  uint32_t* left;            // per automaton: the state before the present one
  uint32_t* equation_state;  // ... the one whose equations hold, where it is another
  uint32_t* begun;           // ... the one before the round
  // what it assigns
  EventsQueue queue;
  EventsRounding rounding;
  EventsAssigned* assigned;  // by the present candidate, in order
  uint32_t assigned_count;
  double* order_values;  // of two orders of firing
  // where the instant has been
  uint64_t mode_key;    // of the states entered so far, relative to the begin
  uint64_t values_key;  // of the values assigned so far, likewise...
  uint64_t round_key;   // ... before the present round
  BaseKeys path;        // configurations that were committed, with the count of changes
  BaseKeys chain;       // ... before equations were solved
  BaseKeys tried;       // configurations of the candidates of the present round
  EventsCopy copy;
  uint32_t rounds;         // so far
  bool one_by_one;         // rounds of this instant fire one transition at a time
  bool rejected_together;  // several transitions have rejected a candidate of this instant
  uint32_t warned_orders[EVENTS_ORDERS_WARNED];  // where the order matters: places in the text, + 1
  bool quiet;          // nothing is enabled with the values that were just committed
  bool has_observers;  // automata that assign, and whose states have no equations
  // time events
  uint32_t* due;  // schedules due at this instant
  uint32_t due_count;
} Events;

enum { EVENTS_WRITTEN = 1, EVENTS_READ = 2 };

typedef enum EngInstantKind {
  ENG_INSTANT_INITIAL,
  ENG_INSTANT_EVENT,
  ENG_INSTANT_INPUT
} EngInstantKind;

/// State changes of an automaton that follow each other without progress.
typedef struct EngChatter {
  uint32_t count;
  double last;           // time of the last change
  double interval;       // from the one before
  double begun;          // of the first while
  double until, length;  // while it dwells: how long it keeps its state
  bool moved;            // has changed before
  bool dwelling;
  bool released;  // has just stopped dwelling
  bool warned;
} EngChatter;

/// What a run knows about one transition.
typedef struct EngTransition {
  bool fired_now;  // in the present instant
  bool edge_seen;  // a self loop: guard was true when last looked at
  bool taken;      // a self loop: fired in this instant and guard not seen false since
  bool exits;      // waits for an accumulation, which is now
  bool closed;     // an impact whose contact is closed
  bool warned;     // that the order of its automaton and others matters
} EngTransition;

/// One `at` of the model.
typedef struct EngSchedule {
  double start, period, next;
  int64_t fired;  // number of firings so far; firing k is at start + k*period
  bool active;
} EngSchedule;

/// Where the present instant stands.
typedef struct EngInstant {
  EngTransition* transitions;
  EngSchedule* schedules;
  BaseDue* due;                  // ... in a heap, by their next time
  EngChatter* chatter;           // per automaton
  uint32_t *gate_begin, *gates;  // per automaton: its states; for each of them the truth without
                                 // which nothing is enabled, MODEL_NONE where it is not just one
  bool has_invariants;
  bool has_self_loops;  // some transition leads back to its state
  bool has_instead;     // ... stands in place of the last event of an accumulation
  bool running;         // an instant is being carried out: pre(x) is what it was before the round
  bool at_start;        // it is the first of the run
  bool was_sliding;     // when it began
  uint64_t changes_start;   // core.changes then
  uint64_t impulses;        // ... and how many of them impulses have made since
  bool slide_decided;       // the flow around the surfaces says how to go on in the present mode
  uint32_t zeno_automaton;  // first whose transitions at an accumulation are enabled; MODEL_NONE
  Str stop_text;
  Span stop_span;
} EngInstant;

// ---- the room's functions -----------------------------------------------------------------------

SltStatus events_create(EngSim* sim);
/// Carry out an instant at core.t; the environment holds the values before it. `changed`: states,
/// inputs of the equations or the equations themselves differ from before.
SltStatus eng_instant(EngSim* sim, EngInstantKind kind, bool* changed, bool* fired);
/// Nothing has happened in the present instant.
void events_begin(EngSim* sim);
/// Whether anything would fire with the truths in place: what it is, is kept for an instant that
/// finds the same truths (events.looked).
bool eng_anything_enabled(EngSim* sim);

// queue.c: time events
SltStatus eng_queue_init(EngSim* sim);
/// Schedules due at time t into events.due, ordered by priority, then by the text; advances them.
SltStatus eng_queue_take(EngSim* sim, double t);

// enabled.c: what may fire, and together with what

/// Whether its guard asks for the end of an accumulation, and that is not now.
bool eng_waits_for_accumulation(EngSim* sim, uint32_t transition);
/// First enabled transition of an automaton; MODEL_NONE for none.
uint32_t eng_first_enabled(EngSim* sim, uint32_t automaton);
/// Whether a switch stands against its condition.
bool eng_switch_flips(EngSim* sim, uint32_t automaton);
/// The self loops of an automaton's present state: `latch` at the end of an instant.
void events_latch_edges(EngSim* sim, uint32_t automaton, bool latch);
/// The same for all automata that the instant looks at.
void eng_edges_visit(EngSim* sim, bool latch);
/// The automaton whose state breaks its invariant; MODEL_NONE for none.
uint32_t events_broken_invariant(EngSim* sim);
/// Whether a transition is enabled, of those that count (NULL: all).
bool events_any_enabled(EngSim* sim, bool (*counts)(EngSim* sim, uint32_t transition));
/// What automata can do with the truths in place: switches into events.fired, others into the list.
void events_gather(EngSim* sim, EngList automata);
/// Empty the list of what may fire.
void events_enabled_clear(EngSim* sim);
/// What an automaton can do now, into the list; MODEL_NONE: nothing.
void events_enabled_put(EngSim* sim, uint32_t automaton, uint32_t transition);
/// The transitions of the next round, none of which interfere, behind those in events.fired; more
/// than `most`: there are too many. Returns how many there are.
uint32_t events_enabled_choose(EngSim* sim, uint32_t most);

/// Whether actions read values that equations compute.
bool events_reads_computed(const EngSim* sim, uint32_t action_begin, uint32_t action_count);
/// Visit the values that a computed one follows from, some more than once. True: all there are, for
/// it or one on the way is solved for.
bool events_visit_origins(EngSim* sim, uint32_t env, ModelVisitFn* visit, void* user);

// assign.c: what fires assigns

/// Nothing is queued, nothing assigned.
void events_forget_assigned(EngSim* sim);

/// Set the state, queue the assignments, write the record.
SltStatus eng_fire_transition(EngSim* sim, uint32_t transition, uint32_t iteration);
void eng_fire_switch(EngSim* sim, uint32_t automaton, uint32_t iteration);
/// The state is entered now.
void events_enter_state(EngSim* sim, uint32_t automaton, uint32_t to);
/// The states whose equations hold: one that stops the run and has none keeps those of the state
/// that it was entered from.
const uint32_t* events_equation_states(EngSim* sim);
SltStatus events_queue_group(EngSim* sim, EngGroup group);
/// The automaton leaves its state with what is queued next.
SltStatus events_note_move(EngSim* sim, uint32_t automaton);
/// Values of the queued groups from the environment and from the states before those that were
/// entered with them, then all assigned at once.
SltStatus events_assign(EngSim* sim);
/// The same one transition after the other in both orders: whether the results differ.
bool events_order_matters(EngSim* sim, const uint32_t* first, uint32_t count, uint32_t then);
/// Committed values, and those of the present candidate.
void events_save_values(EngSim* sim);
/// The committed values with what the present candidate has assigned so far.
void events_take_up_values(EngSim* sim);
/// What an automaton has assigned is dropped with the state it has entered.
void events_drop_assigned(EngSim* sim, uint32_t automaton);

/// The value of a reset (rounding.c).
double events_eval(EngSim* sim, const ModelTerm* term);

// settle.c: from what has fired to a committed mode

/// Whether a guard asks for states of automata and nothing else.
static inline bool events_asks_states_alone(const ModelGuard* guard) {
  return guard->atom_count == 0 && guard->has_mode_test;
}
/// A round begins; the values are those of the one before, and not saved yet.
void events_begin_round(EngSim* sim);
/// Computed values follow what has been assigned, for actions that read them.
SltStatus events_follow_assigned(EngSim* sim, uint32_t iteration);
/// What has fired, and what follows from it, until a mode is committed.
SltStatus events_settle(EngSim* sim, const ModelMode* from, uint32_t first_record,
                        uint32_t* iteration);
/// Fails: modes repeat without end.
SltStatus eng_endless(EngSim* sim) __attribute__((cold));

// cycle.c: configurations that come back

/// Add a key; `again` is the entry that has it already, NULL for none.
SltStatus eng_keys_add(EngSim* sim, BaseKeys* keys, uint64_t key, uint64_t note,
                       const BaseKey** again);
/// A configuration whose key was there before: fails when all of it was.
SltStatus events_check_repetition(EngSim* sim, uint64_t key);
/// Fails where an instant has too many rounds, or somebody does not want to wait for its end.
SltStatus events_next_round(EngSim* sim);

// rounds.c

/// Whether the configuration that was committed was there before with nothing changed since: the
/// flows on both sides of a surface point at it. Fails where values and modes repeat.
SltStatus events_comes_back(EngSim* sim, bool* back);
/// Rounds, then the question how the flow goes on, until both have nothing more to say.
SltStatus events_run_to_rest(EngSim* sim, uint32_t* iteration, bool* any);
/// Carry out the schedules in events.due, early or late ones.
SltStatus eng_run_due_slow(EngSim* sim, bool late, uint32_t* iteration, bool* any);
/// The segment ended because a surface is left.
SltStatus events_leave_surface(EngSim* sim, bool* any);

/// Change the state of an automaton, and with it the key of the mode.
void events_set_state(EngSim* sim, uint32_t automaton, uint32_t to);
/// Whether the integration must start anew: equations, states or their inputs differ.
bool eng_flow_changed(const EngSim* sim);

// initial.c

/// Switches take the position that the initial values ask for, without records.
SltStatus eng_settle_initial_switches(EngSim* sim);
/// States that begin at 0 because nobody gave them a value: one warning for all of them.
void events_warn_of_absent_starts(EngSim* sim);

#endif
