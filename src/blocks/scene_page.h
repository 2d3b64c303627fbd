// SPDX-License-Identifier: MIT
//
// The page of a run, around its data: no network, no build step, one file. The script draws charts
// as SVG, moves the drawings, and keeps the cursor of the charts and the animation at one time.
#ifndef SALTUS_BLOCKS_SCENE_PAGE_H
#define SALTUS_BLOCKS_SCENE_PAGE_H

extern const char* const blk_page_style;     // content of <style>
extern const char* const blk_page_body;      // elements the script fills
extern const char* const blk_page_script[];  // pieces up to NULL; reads the JSON in #data

#endif
