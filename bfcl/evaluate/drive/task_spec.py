"""What does the pack know about a row that its episode needs, and the row does not say? Rule: evaluation.md §7.

Read from the verified pack as data: no code of it is imported.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_json
from bfcl.evaluate.drive.confirmations import Confirmations, confirmations
from bfcl.evaluate.drive.dependencies import Links
from bfcl.evaluate.drive.slots import FIELDS, Unrecovered, recover
from bfcl.evaluate.drive.task_view import task_view
from bfcl.exports.row import ExportRow
from bfcl.oracle.protocol import ResultPath
from bfcl.pack.capabilities import CATEGORIES, read_capabilities
from bfcl.pack.model import Pack
from bfcl.records.ids import TaskId, TemplateId
from bfcl.records.plan import Outline
from bfcl.records.task import Task
from bfcl.stages.call_plan import CallPlan, blueprint
from bfcl.stages.state_machine import outline


class Declared(NamedTuple):
    """One success assertion of a row."""

    name: str
    category: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """Everything beside the script that one executable episode rests on."""

    task_id: TaskId
    seed: int
    mutating: frozenset[str]
    confirmations: Confirmations
    links: Links
    assertions: tuple[Declared, ...]
    """In declared order."""
    task: Mapping[str, Json]
    """What assertions see under that name."""
    withheld: frozenset[str]
    """Fields that `task` lacks since nobody knows them."""
    spec_hash: Digest
    """Of all of the above."""


class TaskSpecs:
    """The specs of rows. What rows of a template share is worked out once."""

    def __init__(self, pack: Pack, bound: Mapping[str, Task | Unrecovered]) -> None:
        """`pack` is the verified one; `bound` has, by task id, the task of each row as expansion bound it."""
        self._pack = pack
        self._bound = bound
        self._tools = {tool.name: tool for tool in pack.tools}
        self._templates = {template.template_id: template for template in pack.templates}
        self._mutating = frozenset(tool.name for tool in pack.tools if tool.mutates)
        self._categories = {
            name: capability.category
            for name, capability in read_capabilities(
                pack.code["assertions"], pack.shown_path("assertions")
            ).entries.items()
        }
        self._planned = functools.cache(self._plan)

    def of(self, row: ExportRow) -> TaskSpec:
        """The spec of one of the rows."""
        published = row.published
        template_id = TemplateId(published["template_id"])
        drawn, calls = self._planned(template_id)
        bound = self._bound[row.task_id]
        withheld = frozenset(FIELDS if isinstance(bound, Unrecovered) else ())
        agreed = confirmations(self._pack, drawn, row.groups)
        links = _links(calls)
        declared = tuple(
            Declared(name, self._categories.get(name, CATEGORIES[-1])) for name in published["success_assertions"]
        )
        task = task_view(row, self._templates[template_id], bound)
        facts: dict[str, Json] = {
            "task": task,
            "withheld": sorted(withheld),
            "mutating": sorted(self._mutating),
            "confirmation": {
                "parameter": agreed.parameter,
                "by_default": sorted(agreed.by_default),
                "turns": sorted(agreed.turns),
            },
            "links": {
                str(index): {name: [link.call, list(link.path)] for name, link in parameters.items()}
                for index, parameters in links.items()
            },
            "assertions": [[one.name, one.category] for one in declared],
        }
        return TaskSpec(
            task_id=TaskId(row.task_id),
            seed=published["seed"],
            mutating=self._mutating,
            confirmations=agreed,
            links=links,
            assertions=declared,
            task=task,
            withheld=withheld,
            spec_hash=sha256_json(facts),
        )

    def _plan(self, template_id: TemplateId) -> tuple[Outline, tuple[CallPlan, ...]]:
        template = self._templates[template_id]
        drawn = outline(template, self._tools)
        return drawn, blueprint(template, drawn, self._tools).calls


def published_specs(pack: Pack, manifest: Mapping[str, Json], rows: Sequence[ExportRow]) -> TaskSpecs:
    """The specs of published rows, which do not say what they bind. `manifest` is the release's."""
    return TaskSpecs(pack, recover(pack, manifest, rows))


def _links(calls: Sequence[CallPlan]) -> dict[int, dict[str, ResultPath]]:
    """Where dependent arguments come from. Expected calls stand in the order in which the template makes them."""
    found: dict[int, dict[str, ResultPath]] = {}
    for index, call in enumerate(calls):
        sources = {one.name: one.source for one in call.arguments if one.source is not None}
        if sources:
            found[index] = sources
    return found
