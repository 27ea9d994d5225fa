"""Which private tasks does a policy give? Bound in memory, chosen by the policy's own seed. Rule: evaluation.md §2.

They are what templates at large bind of reserved rows, and what reserved templates bind of the others. Reserved
templates on reserved rows are neither: whoever fails there does not show which of the two was new.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

from bfcl.digest import sha256_json
from bfcl.errors import StageError
from bfcl.evaluate.held_out.parts import PartSources, parts
from bfcl.evaluate.settings.model import HeldOutEval
from bfcl.pack.model import Pack
from bfcl.records.task import Task
from bfcl.records.template import Template
from bfcl.stages.bindings import Sources, sources_of
from bfcl.stages.expand import ExpandSettings, expand_template, pool_size
from bfcl.stages.task_identity import identity_of


class Chosen(NamedTuple):
    """A template and the private tasks that it binds."""

    template: Template
    tasks: tuple[Task, ...]


def chosen(pack: Pack, section: HeldOutEval, run_seed: int) -> list[Chosen]:
    """The private tasks by template, in pack order, templates without any left out.

    At most `max_tasks_per_template` of each; where it binds more, `seed` of the section decides which. `run_seed` is
    the global seed of the benchmark: private tasks have the seeds that its run would have given them. Where reserved
    rows are kept out of the oracle no task binds one: it would ask for what is not there.
    """
    policy = pack.held_out
    if policy is None:
        return []
    settings = ExpandSettings(
        limit=section.max_tasks_per_template,
        seed=section.seed,
        pack_id=pack.manifest.pack_id,
        pack_version=pack.manifest.version,
    )
    free, cut = sources_of(pack), PartSources(pack)
    found: list[Chosen] = []
    for template in pack.templates:
        bound: dict[str, Task] = {}
        if template.template_id in policy.templates:
            bound = {task.task_id: task for task in _bound(template, free, settings)}
        elif policy.fixtures_in_backend_state:
            bound = {task.task_id: task for part in parts(template, pack) for task in _bound(part, cut, settings)}
        taken = sorted(bound.values(), key=lambda task: sha256_json([section.seed, task.task_id]))[: settings.limit]
        if taken:
            seeded = (dataclasses.replace(task, seed=identity_of(task).seed(run_seed)) for task in taken)
            found.append(Chosen(template, tuple(seeded)))
    return found


def _bound(template: Template, sources: Sources, settings: ExpandSettings) -> Iterator[Task]:
    """What a template, or a part of one, binds of these sources, within the limit."""
    try:
        size = pool_size(template, sources, settings)
    except StageError:
        # A verified pack binds: what these sources lack are rows of the kind asked for.
        return
    for position in range(size):
        yield expand_template(template, sources, settings, range(position, position + 1))[0]
