// SPDX-License-Identifier: MIT
//
// The map of event sequences: the runs of a grid, then the boundaries between neighbours whose
// sequences differ, by bisection. Work is handed out by number and lands in its place, so that the
// number of threads leaves no trace.
#include "experiment/design.h"
#include "experiment/measure.h"
#include "experiment/parallel.h"

#include <math.h>
#include <stdlib.h>

#define MAP_COOKIE    0x51a1700bu
#define MAP_POINTS    1000000u
#define MAP_BOUNDARY  32  // most boundaries between two neighbours
#define MAP_BISECTION 64

/// A run: the hash of its sequence, 0 where it failed.
typedef struct Node {
  uint64_t key;
  char spelling[TRACK_SPELLING];
} Node;

/// Where a sequence ends on the way from one point of the grid to its neighbour.
typedef struct Boundary {
  double share;  // of the way
  Node before, after;
} Boundary;

/// Two neighbours.
typedef struct Edge {
  uint64_t from, to;
  uint32_t axis;
  uint32_t count;
  Boundary* found;
} Edge;

typedef struct Map {
  const SltModel* model;
  const SltDesign* design;
  const SltMapOptions* options;
  SltMeasures* none;
  SltSimOptions sim;
  double t_end;
  Node* nodes;
  Edge* edges;
  uint64_t node_count, edge_count;
  uint64_t* known;  // keys in the order of their numbers
  uint32_t known_count, known_capacity;
  Parallel parallel;
} Map;

SltMapOptions slt_map_options(void) {
  return (SltMapOptions){
      .sim = slt_sim_options(), .t_end = (double)NAN, .tolerance = 1e-13, .cookie = MAP_COOKIE};
}

// ---- runs ---------------------------------------------------------------------------------------

static void run_at(Map* map, const double* values, Node* out) {
  SltSim* sim = NULL;
  double unused = 0.0;
  out->spelling[0] = '\0';
  out->key = 0;
  Track track = {.spelling = out->spelling};
  SltSimOptions options = map->sim;
  SltStatus status = slt_sim_create(map->model, &options, &sim);
  for (uint32_t i = 0; status >= 0 && i < map->design->count; i++)
    status = parameter_set(&map->design->axes[i].parameter, sim, values[i]);
  if (status >= 0) {
    slt_sim_on_step(sim, parallel_cancelled, &map->parallel);
    slt_sim_on_round(sim, parallel_cancelled, &map->parallel);
    status = measures_follow(map->none, sim, map->t_end, &unused, &track, NULL);
  }
  if (status == SLT_ERR_NOMEM) atomic_store(&map->parallel.failed, true);
  if (status >= 0) out->key = track_at(&track, HUGE_VAL) | 1;
  slt_sim_free(sim);
  track_clear(&track);
}

/// Room for the parameters of a point; NULL: there is none, and the map fails.
static double* make_values(Map* map) {
  double* values = malloc((map->design->count + (size_t)1) * sizeof *values);
  if (!values) atomic_store(&map->parallel.failed, true);
  return values;
}

static void run_node(void* user, uint64_t number) {
  Map* map = user;
  double* values = make_values(map);
  if (!values) return;
  slt_design_member(map->design, number, values);
  run_at(map, values, &map->nodes[number]);
  free(values);
}

static void point_between(const Map* map, const Edge* edge, double share, double* values) {
  slt_design_member(map->design, edge->from, values);
  double end = design_grid_value(map->design, edge->to, edge->axis);
  values[edge->axis] += share * (end - values[edge->axis]);
}

/// The end of the sequence at `lo`: it is another one at `hi`.
static Boundary bisect(Map* map, const Edge* edge, double lo, const Node* before, const Node* end) {
  Boundary out = {.share = 1.0, .before = *before, .after = *end};
  double* values = make_values(map);
  for (int i = 0; values && i < MAP_BISECTION && out.share - lo > map->options->tolerance; i++) {
    double middle = 0.5 * (lo + out.share);
    Node there;
    if (!(middle > lo && middle < out.share)) break;
    point_between(map, edge, middle, values);
    run_at(map, values, &there);
    if (there.key == before->key) {
      lo = middle;
    } else {
      out.share = middle;
      out.after = there;
    }
  }
  free(values);
  return out;
}

static void run_edge(void* user, uint64_t number) {
  Map* map = user;
  Edge* edge = &map->edges[number];
  const Node* end = &map->nodes[edge->to];
  Node here = map->nodes[edge->from];
  double share = 0.0;
  edge->found = calloc(MAP_BOUNDARY, sizeof *edge->found);
  if (!edge->found) atomic_store(&map->parallel.failed, true);
  while (edge->found && here.key != end->key && edge->count < MAP_BOUNDARY &&
         !parallel_cancelled(&map->parallel, 0.0)) {
    Boundary* boundary = &edge->found[edge->count++];
    *boundary = bisect(map, edge, share, &here, end);
    share = boundary->share;
    here = boundary->after;
  }
}

// ---- the map ------------------------------------------------------------------------------------

/// Neighbours along each axis; the last one varies fastest.
static SltStatus find_edges(Map* map) {
  uint64_t stride = map->node_count;
  map->edges = calloc((size_t)map->node_count * map->design->count + 1, sizeof *map->edges);
  if (!map->edges) return SLT_ERR_NOMEM;
  for (uint32_t axis = 0; axis < map->design->count; axis++) {
    uint64_t count = map->design->axes[axis].count;
    stride /= count;
    for (uint64_t i = 0; i < map->node_count; i++) {
      if (i / stride % count + 1 == count) continue;
      if (map->nodes[i].key == map->nodes[i + stride].key) continue;
      map->edges[map->edge_count++] = (Edge){.from = i, .to = i + stride, .axis = axis};
    }
  }
  return SLT_OK;
}

/// Number of a sequence, in the order in which they are told; false without memory.
static bool number_of(Map* map, uint64_t key, uint32_t* out) {
  *out = UINT32_MAX;
  if (key == 0) return true;
  for (*out = 0; *out < map->known_count; (*out)++) {
    if (map->known[*out] == key) return true;
  }
  if (map->known_count == map->known_capacity) {
    uint32_t capacity = map->known_capacity ? 2 * map->known_capacity : 64;
    uint64_t* known = realloc(map->known, capacity * sizeof *known);
    if (!known) return false;
    map->known = known;
    map->known_capacity = capacity;
  }
  map->known[map->known_count++] = key;
  return true;
}

static SltStatus tell(Map* map, SltMapPoint point, const Node* before, const Node* after) {
  point.spelling = before->key ? before->spelling : "failed";
  point.beyond_spelling = after->key ? after->spelling : "failed";
  if (!number_of(map, before->key, &point.sequence) || !number_of(map, after->key, &point.beyond)) {
    return SLT_ERR_NOMEM;
  }
  return map->options->on_point ? map->options->on_point(map->options->user, &point) : SLT_OK;
}

static SltStatus tell_all(Map* map, double* values) {
  for (uint64_t i = 0; i < map->node_count; i++) {
    slt_design_member(map->design, i, values);
    SltMapPoint point = {.parameters = values};
    SLT_TRY(tell(map, point, &map->nodes[i], &map->nodes[i]));
  }
  for (uint64_t e = 0; e < map->edge_count; e++) {
    const Edge* edge = &map->edges[e];
    for (uint32_t k = 0; k < edge->count; k++) {
      const Boundary* found = &edge->found[k];
      point_between(map, edge, found->share, values);
      SltMapPoint point = {.parameters = values, .axis = edge->axis, .boundary = true};
      point.more = k + 1 == MAP_BOUNDARY && found->after.key != map->nodes[edge->to].key;
      SLT_TRY(tell(map, point, &found->before, &found->after));
    }
  }
  return SLT_OK;
}

static SltStatus check(const SltDesign* design, SltProblem* problem) {
  if (design->members > MAP_POINTS) {
    return problem_set(problem, SLT_ERR_LIMIT, "a coarser grid: boundaries are located anyway",
                       "a map has at most a million points");
  }
  for (uint32_t i = 0; i < design->count; i++) {
    if (design->axes[i].count > 0 && design->sampling == SLT_SAMPLE_GRID &&
        design->axes[i].parameter.kind != PARAMETER_SEED) {
      continue;
    }
    return problem_set(problem, SLT_ERR_ARGUMENT, "--vary k=0:10:21 --vary m=1:2:11",
                       "a map needs a grid of constants and initial values");
  }
  return SLT_OK;
}

SltStatus slt_map_run(const SltModel* model, const SltDesign* design, const SltMapOptions* options,
                      SltProblem* problem) {
  if (!model || !design || !options || options->cookie != MAP_COOKIE) return SLT_ERR_ARGUMENT;
  if (problem) *problem = (SltProblem){.message = ""};
  SLT_TRY(check(design, problem));
  static const char* const nothing[1] = {NULL};
  double end = slt_model_experiment(model).end;
  Map map = {.model = model,
             .design = design,
             .options = options,
             .sim = options->sim,
             .node_count = design->members,
             .t_end = !isnan(options->t_end) ? options->t_end
                      : isnan(end)           ? 10.0
                                             : end};
  slt_sim_options_tighten(model, 1e-11, &map.sim);
  map.parallel.user = &map;
  map.parallel.cancel = options->cancel;
  map.parallel.cancel_user = options->user;
  map.nodes = calloc((size_t)map.node_count + 1, sizeof *map.nodes);
  SltStatus status = map.nodes ? SLT_OK : SLT_ERR_NOMEM;
  if (status >= 0) status = slt_measures_create(model, nothing, 0, &map.none, problem);
  if (status >= 0) status = parallel_run(&map.parallel, options->jobs, run_node, map.node_count);
  if (status >= 0) status = find_edges(&map);
  if (status >= 0) status = parallel_run(&map.parallel, options->jobs, run_edge, map.edge_count);
  double* values = status >= 0 ? make_values(&map) : NULL;
  if (status >= 0) status = values ? tell_all(&map, values) : SLT_ERR_NOMEM;
  free(values);
  slt_measures_free(map.none);
  for (uint64_t i = 0; i < map.edge_count; i++)
    free(map.edges[i].found);
  free(map.nodes);
  free(map.edges);
  free(map.known);
  return status;
}
