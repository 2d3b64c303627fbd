# SPDX-License-Identifier: MIT
"""Whether two drawings show the same: their texts are equal, and their points are where they were, but for the last digits."""
import re

MORE_POINTS = 9   # a point more or less at the limit of resolution is no other picture
PIXELS = 1.5


def difference(kept, drawn):
    """What is different between two SVG files, in words; None: nothing."""
    contents = []
    for path in (kept, drawn):
        with open(path, encoding="utf-8") as file:
            contents.append(file.read())
    texts = [re.findall(r">([^<>]*)</text>", content) for content in contents]
    if texts[0] != texts[1]:
        return "its texts are " + ", ".join(t for t in texts[1] if t not in texts[0])
    parts = [re.split(r"(-?\d+(?:\.\d+)?)", content) for content in contents]
    numbers = [[float(x) for x in p[1::2]] for p in parts]
    if abs(len(numbers[0]) - len(numbers[1])) >= MORE_POINTS:
        return "it has other points"
    if len(numbers[0]) == len(numbers[1]) and max(abs(a - b) for a, b in zip(*numbers)) > PIXELS:
        return "its points have moved"
    return None
