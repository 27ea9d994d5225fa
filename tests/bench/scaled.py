"""A pack and project of any size for measurements: the test pack's domain with many templates and fixture rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.packs import FIXTURES, add_template, drop, put, write_config, write_pack

SHAPES = ("kiln_status", "start_confirmed", "kiln_and_firing", "kiln_unnamed")
DODO = 'from bfcl.graph.tasks import DOIT_CONFIG, task_pipeline\n\n__all__ = ["DOIT_CONFIG", "task_pipeline"]\n'


def scaled_project(
    root: Path, *, templates: int, tasks: int, rows: int | None = None, shapes: Sequence[str] = SHAPES
) -> Path:
    """A project in `root` whose pack has `templates` templates and yields about `tasks` tasks.

    `rows` is the number of added fixture rows per collection, by default what a template of one slot needs.
    """
    categories = 10
    per_template = -(-tasks // templates)
    rows = max(per_template, 3) if rows is None else rows
    kilns = [
        {"kiln_id": f"K-{number}", "zone": "north", "status": "idle", "recent_firings": []}
        for number in range(1000, 1000 + rows)
    ]
    firings = [
        {"firing_id": f"F-{number}", "kiln_id": kiln["kiln_id"], "cone": 4, "outcome": "good"}
        for number, kiln in enumerate(kilns, 5000)
    ]
    fixtures = {**FIXTURES, "kilns": [*FIXTURES["kilns"], *kilns], "firings": [*FIXTURES["firings"], *firings]}
    # The last probe pins a firing number that follows from the number of rows.
    edits = [put("fixtures.json", (), fixtures), drop("validation_cases.yaml", (-1,))]
    for number in range(templates):
        edits.append(
            add_template(
                f"t{number:05d}",
                like=shapes[number % len(shapes)],
                category=f"c{number % categories}",
                intent=f"intent_{number}",
            )
        )
    pack = write_pack(root / "packs" / "scaled", *edits)
    budget = -(-templates // categories) * per_template
    write_config(
        root / "configs" / "tiny.yaml",
        pack,
        output_dir=str(root / "build" / "runs"),
        task_generation__tasks_per_category=budget,
    )
    (root / "dodo.py").write_text(DODO, encoding="utf-8")
    return root
