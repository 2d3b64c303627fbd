#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of a run, looked at in a browser without a window: charts are drawn, the animation shows
the pose of the time asked for, nothing fails and nothing is loaded from elsewhere."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(os.environ["SALTUS_BUILD"]) / "examples" / "cdcsis"
BROWSER = next((b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b)), None)


def browse(page, fragment, folder, *options):
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
               "--disable-background-networking", f"--user-data-dir={folder}/profile",
               "--window-size=1050,1400", "--virtual-time-budget=3000", *options,
               page.as_uri() + fragment]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout


def main():
    program = FOLDER / "billiard"
    if not BROWSER or not program.exists():
        print("no browser" if program.exists() else "the examples are not built")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([program], cwd=folder, check=True, capture_output=True)
        page = folder / "cdcsis.html"
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'(src|href)\s*=\s*["\']', text), "loads something"
        dom = browse(page, "#t=5", folder, "--dump-dom")
        assert 'data-ready="yes"' in dom, "the script has failed"
        assert dom.count('class="curve"') == 2, "two charts"
        assert re.search(r'class="curve" d="M[\d.]+ [\d.]+L', dom), "a curve"
        bodies = re.findall(r'<path class="body"[^>]*>', dom)
        assert len(bodies) == 4, len(bodies)  # the table and three balls
        shown = re.search(r'id="scene"[^>]*data-t="([\d.]+)"', dom)
        assert shown and 4.97 <= float(shown.group(1)) <= 5.0, shown
        assert "t = 5" in dom, "clock"
        # frames move: another time, another place
        other = re.findall(r'<path class="body"[^>]*>', browse(page, "#t=7", folder, "--dump-dom"))
        assert other != bodies, "the animation stands still"
        browse(page, "#t=5", folder, f"--screenshot={folder}/page.png")
        assert (folder / "page.png").stat().st_size > 20000, "picture"
        keep = os.environ.get("SALTUS_KEEP_PICTURES")
        if keep:
            shutil.copy(folder / "page.png", keep)
    print("page: ok")


main()
