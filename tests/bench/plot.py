"""How do cost per task and memory grow with the number of tasks? An SVG of what `measure scale` found.

Usage: python -m tests.bench.plot POINTS SVG, where POINTS holds one `{"tasks", "cpu_ms_task", "peak_mib"}` a line.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 584, 40, 272
COST, MEMORY = "#1f6f8b", "#b5533c"


class Point(NamedTuple):
    """One clean build: its tasks, CPU milliseconds a task, MiB of its largest process."""

    tasks: int
    cost_ms: float
    peak_mib: float


def svg(points: Sequence[Point]) -> str:
    """Two curves over the number of tasks, which is drawn logarithmically; both scales begin at nothing."""
    points = sorted(points)
    low, high = math.log10(points[0].tasks), math.log10(points[-1].tasks)
    top_cost = math.ceil(max(point.cost_ms for point in points) / 5) * 5
    top_memory = math.ceil(max(point.peak_mib for point in points) / 100) * 100

    def across(point: Point) -> float:
        return LEFT + (math.log10(point.tasks) - low) / (high - low) * (RIGHT - LEFT)

    def curve(colour: str, height: Callable[[Point], float]) -> list[str]:
        places = [(across(point), BOTTOM - height(point) * (BOTTOM - TOP)) for point in points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        return [f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots]

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        ' font-size="12">',
        "<title>Cost per task and peak memory by number of tasks</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = BOTTOM - share * (BOTTOM - TOP)
        parts += [
            f'<line x1="{LEFT}" y1="{y:g}" x2="{RIGHT}" y2="{y:g}" stroke="#ddd"/>',
            f'<text x="{LEFT - 8}" y="{y + 4:g}" text-anchor="end" fill="{COST}">{share * top_cost:g}</text>',
            f'<text x="{RIGHT + 8}" y="{y + 4:g}" fill="{MEMORY}">{share * top_memory:g}</text>',
        ]
    for point in points:
        parts.append(f'<text x="{across(point):.1f}" y="{BOTTOM + 18}" text-anchor="middle">{point.tasks:,}</text>')
    parts += [
        f'<text x="{LEFT - 48}" y="{TOP - 18}" fill="{COST}">CPU ms a task</text>',
        f'<text x="{RIGHT + 48}" y="{TOP - 18}" text-anchor="end" fill="{MEMORY}">MiB, largest process</text>',
        f'<text x="{(LEFT + RIGHT) / 2:g}" y="{BOTTOM + 38}" text-anchor="middle">tasks</text>',
        *curve(COST, lambda point: point.cost_ms / top_cost),
        *curve(MEMORY, lambda point: point.peak_mib / top_memory),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main(source: Path, target: Path) -> None:
    found = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    points = [Point(one["tasks"], one["cpu_ms_task"], one["peak_mib"]) for one in found]
    target.write_text(svg(points), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
