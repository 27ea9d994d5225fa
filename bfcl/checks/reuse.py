"""What may a check's result depend on, and who remembers results from one validation to the next?"""

from __future__ import annotations

from typing import Final, Literal, Protocol

from bfcl.canonical import Json
from bfcl.records.ids import TemplateId

Part = Literal[
    "manifest",
    "tools",
    "templates",
    "fixtures",
    "validation_cases",
    "held_out",
    "view",
    "config",
    "budget",
    "surface",
    "review_markers",
]
"""What a result may depend on, beside `template/<id>`, a single template.

`view` is what the oracle sees: code, fixtures file and whatever else lies beside them. `config` is what the
oracle is run under: clock, worker, timeouts, seed. `budget` is how many tasks are wanted, `surface` how they are worded
and for which policy. `review_markers` is where such markers stand, in whichever file. The others are the content of one
data file as its author wrote it: defaults filled in later must not hide which fields stand there. Where a value stands
in its file does not count: lines of kept findings are looked up anew.
"""

ORACLE: Final[frozenset[str]] = frozenset({"manifest", "tools", "fixtures", "held_out", "view", "config"})
"""What answers of the oracle, and how they are judged, depend on."""

EXPORTS: Final = "exports"
"""Name of the kept names of exported assertions."""


class Reuse(Protocol):
    """A memory of results. `name` is a check id, `<check id>/<template id>` or `exports`.

    `reads` names the parts a result depends on: what was kept is found again only while none of them has changed.
    """

    def find(self, name: str, reads: frozenset[str]) -> Json | None:
        """What was kept under this name for the parts as they are now, or None."""
        ...

    def keep(self, name: str, reads: frozenset[str], value: Json) -> None:
        """Remember a result, never null, for the parts as they are now."""
        ...


def of_template(template_id: TemplateId) -> str:
    """The part that is one template."""
    return f"template/{template_id}"
