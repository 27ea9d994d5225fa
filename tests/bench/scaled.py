"""A pack and project of any size for measurements: the test pack's domain with many templates and fixture rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.packs import FIXTURES, TEMPLATES, add_template, drop, put, write_config, write_pack

SHAPES = ("kiln_status", "start_confirmed", "kiln_and_firing", "kiln_unnamed")
TALKATIVE = ("kiln_and_firing", "start_confirmed", "cone_corrected")
"""One shape that asks in one turn and two that take several, each with values for 200 tasks from 20 rows."""

_CONES = {"start_confirmed": "range:{min: 1, max: 10}", "cone_corrected": "range:{min: 1, max: 5}"}
_OPENINGS = (
    "Hello, ",
    "Morning! ",
    "Quick one: ",
    "Sorry to trouble you. ",
    "As agreed yesterday: ",
    "",
    "Once more, ",
)
_OCCASIONS = (
    "for the glaze class",
    "for my sister's bowls",
    "before the fair",
    "after the last load",
    "for the museum",
)
_ENDINGS = (" Thanks!", " No hurry.", " I am on my way.", " Please answer soon.", "", " We open at nine.", " Cheers,")
DODO = 'from bfcl.graph.tasks import DOIT_CONFIG, task_pipeline\n\n__all__ = ["DOIT_CONFIG", "task_pipeline"]\n'


def scaled_project(
    root: Path,
    *,
    templates: int,
    tasks: int,
    rows: int | None = None,
    shapes: Sequence[str] = SHAPES,
    worded: bool = False,
) -> Path:
    """A project in `root` whose pack has `templates` templates and yields about `tasks` tasks.

    `rows` is the number of added fixture rows per collection, by default what a template of one slot needs.
    `worded` gives each template its own words, as authors do, and those that name a cone more cones.
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
        shape = shapes[number % len(shapes)]
        edits.append(
            add_template(
                f"t{number:05d}",
                like=shape,
                category=f"c{number % categories}",
                intent=f"intent_{number}",
                **(_own_words(shape, number) if worded else {}),
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


def _own_words(shape: str, number: int) -> dict[str, object]:
    """The user's first turn and the slots of template `number`; 245 numbers of a shape differ in words."""
    template = TEMPLATES[shape]
    rest, opening = divmod(number, len(_OPENINGS))
    rest, occasion = divmod(rest, len(_OCCASIONS))
    said = template["user_turn_templates"]["en"]
    words = f"{_OPENINGS[opening]}{_OCCASIONS[occasion]}: {said}{_ENDINGS[rest % len(_ENDINGS)]}"
    slots = dict(template["slots"])
    if shape in _CONES:
        slots["cone"] = {**slots["cone"], "source": _CONES[shape]}
    return {"user_turn_templates": {"en": words}, "slots": slots}
