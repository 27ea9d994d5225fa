"""How well do a pack's assertions tell right from wrong? Every template probed. Rule: authoring.md §15.

The expected conversation of each template's first instance is played, then mutants of it: candidates that call
something else, and answers or states that are not what the calls bring about.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Final

from bfcl.authoring.chosen_templates import chosen_templates
from bfcl.authoring.probing.executed import executed
from bfcl.authoring.probing.forged import forged
from bfcl.authoring.probing.judging import Judged, chosen, judge
from bfcl.authoring.probing.mutant import Expected
from bfcl.authoring.probing.values import Values
from bfcl.authoring.workbench import Workbench
from bfcl.checks.findings import placed
from bfcl.checks.representatives import Setup, represent, set_up
from bfcl.errors import PackError, Problem, raise_all
from bfcl.oracle.protocol import AssertionInfo, Breakdown, Description, Oracle, Replayed
from bfcl.pack.model import Pack, Role
from bfcl.records.template import Template
from bfcl.records.verdict import Finding
from bfcl.stages.executable_replay import episode
from bfcl.stages.executable_replay import judge as judge_replay
from bfcl.stages.wording import render_language

DEFAULT_LIMIT: Final = 24
"""Mutants of one kind a template is probed with."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """One template: its mutants judged, or why there is nothing to depart from."""

    template: Template
    judged: tuple[Judged, ...] = ()
    faults: tuple[Finding, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Probing:
    """A pack's probed templates in pack order, and the assertions it exports."""

    pack: Pack
    probed: tuple[Probed, ...]
    exported: tuple[AssertionInfo, ...]
    limit: int
    """Mutants of one kind that a template was probed with at most."""


def probe(work: Workbench, template_ids: Sequence[str] = (), *, limit: int = DEFAULT_LIMIT) -> Probing:
    """Probe the named templates, all of them where none is named; at most `limit` mutants of each kind a template.

    Raises: ConfigError `unknown_template`; PackError where backend or assertions do not import; OracleError if no
    episode can run at all; what `render_language` raises.
    """
    pack = work.pack
    wanted = {template.template_id for template in chosen_templates(pack.templates, template_ids)}
    description = work.oracle.describe()
    _imported(pack, description)
    language = render_language(work.config.surface_generation.language, pack.manifest, pack.templates)
    setup = set_up(pack, work.config, language)
    indexes = [index for index, template in enumerate(pack.templates) if template.template_id in wanted]
    expected, faults = played(setup, work.oracle, indexes)
    values = Values(pack, setup.sources_for)
    jobs = [
        (one, chosen([*executed(one, setup.catalog, values), *forged(one, values)], limit)) for one in expected.values()
    ]
    judged = dict(zip(expected, judge(work.oracle, jobs), strict=True))
    probed = tuple(
        Probed(
            template=pack.templates[index],
            judged=tuple(judged.get(index, ())),
            faults=tuple(faults.get(index, ())),
        )
        for index in indexes
    )
    return Probing(pack=pack, probed=probed, exported=description.assertions, limit=limit)


def _imported(pack: Pack, description: Description) -> None:
    broken: list[tuple[Role, str, Breakdown | None]] = [
        ("backend", "backend_import_failed", description.backend_breakdown),
        ("assertions", "assertions_import_failed", description.assertions_breakdown),
    ]
    raise_all(
        PackError,
        [
            Problem(
                code=code,
                path=pack.shown_path(role),
                message=f"does not import: {breakdown.message}",
                fix="run `bfcl validate-oracle-pack` first" if breakdown.where is None else f"mend {breakdown.where}",
            )
            for role, code, breakdown in broken
            if breakdown is not None
        ],
    )


def played(
    setup: Setup, oracle: Oracle, indexes: Sequence[int]
) -> tuple[dict[int, Expected], dict[int, list[Finding]]]:
    """By template number, the expected conversation as played, or every fault that leaves none to depart from."""
    pack = setup.pack
    compiled = {index: represent(setup, index, oracle, worded=False) for index in indexes}
    faults = {index: one.faults for index, one in compiled.items() if one.representative is None}
    found = {index: one.representative for index, one in compiled.items() if one.representative is not None}
    episodes = [episode(each.task, each.trace, setup.wording.language) for each in found.values()]
    observed = [dataclasses.replace(one, observe="each") for one in episodes]
    expected: dict[int, Expected] = {}
    for (index, each), planned, result in zip(found.items(), episodes, oracle.run(observed), strict=True):
        verdict = judge_replay(each.task, each.trace, each.schema, Replayed(result, result), ())
        if not verdict.valid:
            finding = Finding(
                code=verdict.reason or "",
                message=f"the expected calls do not pass themselves: {verdict.detail}",
                template_id=each.task.template_id,
                fix="mend the template or its assertions; `bfcl preview` shows the conversation",
            )
            faults[index] = [placed(pack, "templates", (index, "success_assertions"), finding)]
            continue
        expected[index] = Expected(
            template=pack.templates[index],
            representative=each,
            episode=planned,
            results=tuple(json.loads(text) for text in result.results),
            texts=result.results,
            before=result.states[0],
            after=result.states[-1],
        )
    return expected, faults
