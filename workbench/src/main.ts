// SPDX-License-Identifier: MIT
//
// Begins the page.
import { lasting } from "./memory";
import { speak } from "./russian";
import { Workbench } from "./workbench";

speak((lasting.get("saltus.language") ?? (navigator.language.startsWith("ru") ? "ru" : "en")) === "ru" ? "ru" : "en");
const workbench = new Workbench();
(window as unknown as { saltus: object }).saltus = {
  look: () => workbench.look(),
  zoom: (from: number, to: number) => workbench.zoom({ from, to }),
  frame: () => workbench.drawNow(),
  waitAt: (events: number) => workbench.run && (workbench.run.waitsAt = events),
  places: (name: string) => workbench.shownCharts.find((c) => c.names.includes(name))?.places(name),
};
void workbench.begin();
