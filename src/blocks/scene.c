// SPDX-License-Identifier: MIT
//
// Animation: drawings, and where they were at every sample. A drawing is kept once; if its points
// change from call to call (a bending beam) each different form is kept.
#include "blocks/blocks.h"

#include <math.h>
#include <string.h>

#define PEN_MARK 1000.0  // a coordinate from here on is not a point

static bool same_object(const BlkShape* shape, const SltPose* pose) {
  return shape->key == pose->key && shape->a == pose->a && shape->b == pose->b &&
         shape->count == pose->count;
}

/// Clip to the stated size. Marks keep their values.
static bool copy_points(const SltPose* pose, double* points) {
  bool clipped = false;
  for (uint32_t i = 0; i < pose->count; i++) {
    double a = pose->a[i];
    double b = pose->b[i];
    if (a < PEN_MARK) {
      double ca = fmax(-pose->size_x, fmin(pose->size_x, a));
      double cb = fmax(-pose->size_y, fmin(pose->size_y, b));
      clipped |= ca != a || cb != b;
      a = ca;
      b = cb;
    }
    points[i] = a;
    points[pose->count + i] = b;
  }
  return clipped;
}

/// The drawing in its present form; UINT32_MAX when memory is exhausted.
static uint32_t find_shape(SltWorld* world, const SltPose* pose) {
  BlkScene* scene = &world->record.scene;
  size_t size = base_mul_size(pose->count, 2 * sizeof(double));
  double* points = base_alloc(&world->allocator, size);
  if (!points) return UINT32_MAX;
  bool clipped = copy_points(pose, points);
  uint32_t object = UINT32_MAX;
  for (uint32_t i = scene->shape_count; i-- > 0;) {
    if (!same_object(&scene->shapes[i], pose)) continue;
    object = scene->shapes[i].object;
    if (memcmp(scene->shapes[i].points, points, size) == 0) {
      base_free(&world->allocator, points, size);
      return i;
    }
  }
  if (clipped && !scene->clip_warned) {
    blk_message(world, SLT_WARNING, DIAG_W0912, "a drawing is larger than stated; it is clipped");
    scene->clip_warned = true;
  }
  if (blk_grow(world, &scene->shapes, &scene->shape_capacity, scene->shape_count + 1,
               sizeof *scene->shapes) < 0) {
    base_free(&world->allocator, points, size);
    return UINT32_MAX;
  }
  scene->shapes[scene->shape_count] =
      (BlkShape){.points = points,
                 .count = pose->count,
                 .field_x = pose->field_x,
                 .field_y = pose->field_y,
                 .size_x = pose->size_x,
                 .size_y = pose->size_y,
                 .key = pose->key,
                 .a = pose->a,
                 .b = pose->b,
                 .object = object != UINT32_MAX ? object : scene->object_count++};
  world->plain_known = false;
  return scene->shape_count++;
}

SltStatus slt_world_pose(SltWorld* world, const SltPose* pose) {
  if (!world || !pose || pose->count == 0 || !pose->a || !pose->b || !(pose->field_x > 0.0) ||
      !(pose->field_y > 0.0) || !(pose->size_x > 0.0) || !(pose->size_y > 0.0)) {
    return SLT_ERR_ARGUMENT;
  }
  if (world->record.off && world->running) return SLT_OK;
  uint32_t shape = find_shape(world, pose);
  if (shape == UINT32_MAX) return SLT_ERR_NOMEM;
  BlkScene* scene = &world->record.scene;
  BlkPlace place = {shape, pose->x, pose->y, pose->angle};
  BlkPlace** list = world->running ? &scene->now : &scene->fixed;
  uint32_t* count = world->running ? &scene->now_count : &scene->fixed_count;
  uint32_t* capacity = world->running ? &scene->now_capacity : &scene->fixed_capacity;
  // the last pose of an instant counts
  for (uint32_t i = 0; i < *count; i++) {
    if (scene->shapes[(*list)[i].shape].object == scene->shapes[shape].object) {
      (*list)[i] = place;
      return SLT_OK;
    }
  }
  SLT_TRY(blk_grow(world, list, capacity, *count + 1, sizeof **list));
  (*list)[(*count)++] = place;
  return SLT_OK;
}

uint32_t slt_world_frame_count(const SltWorld* world) {
  return world ? world->record.scene.frame_count : 0;
}

SltStatus blk_scene_commit(SltWorld* world) {
  BlkScene* scene = &world->record.scene;
  if (scene->now_count == 0) return SLT_OK;
  // after an event the frame of its time shows the state behind it
  if (scene->frame_count > 0 && scene->frames[scene->frame_count - 1].t == world->t) {
    scene->place_count = scene->frames[--scene->frame_count].first;
  }
  SLT_TRY(blk_grow(world, &scene->places, &scene->place_capacity,
                   scene->place_count + scene->now_count, sizeof *scene->places));
  SLT_TRY(blk_grow(world, &scene->frames, &scene->frame_capacity, scene->frame_count + 1,
                   sizeof *scene->frames));
  memcpy(scene->places + scene->place_count, scene->now, scene->now_count * sizeof *scene->now);
  scene->frames[scene->frame_count++] = (BlkFrame){world->t, scene->place_count, scene->now_count};
  scene->place_count += scene->now_count;
  return SLT_OK;
}

void blk_scene_clear(SltWorld* world) {
  BlkScene* scene = &world->record.scene;
  for (uint32_t i = 0; i < scene->shape_count; i++) {
    base_free(&world->allocator, scene->shapes[i].points,
              scene->shapes[i].count * (2 * sizeof(double)));
  }
  base_free(&world->allocator, scene->shapes, scene->shape_capacity * sizeof *scene->shapes);
  base_free(&world->allocator, scene->places, scene->place_capacity * sizeof *scene->places);
  base_free(&world->allocator, scene->frames, scene->frame_capacity * sizeof *scene->frames);
  base_free(&world->allocator, scene->now, scene->now_capacity * sizeof *scene->now);
  base_free(&world->allocator, scene->fixed, scene->fixed_capacity * sizeof *scene->fixed);
  *scene = (BlkScene){0};
}
