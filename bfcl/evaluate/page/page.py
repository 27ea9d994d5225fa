"""How do finished evaluations become one HTML page that needs nothing but a browser?

The same evaluations give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.evaluate.after.comparison_page import decides
from bfcl.evaluate.after.failures import Failure
from bfcl.evaluate.artifacts.names import MANIFEST
from bfcl.evaluate.page import figures, tables
from bfcl.evaluate.page.comparison import Comparison, comparisons
from bfcl.evaluate.page.data import Evaluation, Labelled, PageData
from bfcl.evaluate.page.entries import LIMIT_BYTES, LIST_LIMIT, TEXT_LIMIT, Packed, key, pack
from bfcl.evaluate.page.rates import headline
from bfcl.evaluate.page.wording import TITLES, between, percent
from bfcl.evaluate.run.unanswered import counted
from bfcl.evaluate.score.breakdowns import Kinds
from bfcl.release.document.panels import Panel, panel, shown
from bfcl.release.document.render import render

_HERE: Final = Path(__file__).resolve().parent
_FLIPS_SHOWN: Final = 100

_IDENTITIES: Final[Sequence[tuple[str, str]]] = (
    ("eval_run_id", "evaluation"),
    ("eval_config_hash", "configuration"),
    ("measurement_hash", "measurement: the configuration without where and how fast it ran"),
    ("source_identity", "benchmark as verified: equal for every evaluation of it"),
    ("plan_identity", "plan: which candidate gets which tasks"),
    ("scoring_policy_hash", "scoring policy"),
    ("scoring_contract_hash", "scoring contract document"),
    ("error_taxonomy_hash", "reason codes and statuses"),
)
"""Members of the manifest that say what was measured, and what each is."""

_BELOW: Final = ("source", "candidates", "comparison_set", "limits", "repeats", "artifacts", "runtime", "resumed_from")
"""Further members, shown as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The finished document, and what it holds of the failed tasks."""

    html: bytes
    shown: int
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One of the two words for what was measured, since their vocabularies differ. Rule: evaluation.md §17.10."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stops:
    """Tasks of a candidate that ended for reasons that are not its own."""

    label: str
    stops: int
    tasks: int
    causes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What the numbers of one evaluation are of."""

    name: str
    identities: tuple[tuple[str, str, str], ...]
    """Member, what it is, value."""
    benchmark: tuple[tuple[str, str], ...]
    scopes: tuple[Scope, ...]
    publishable: bool
    reasons: tuple[str, ...]
    manifest: Panel


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A task on which one of two does better; `link` opens the other's failure, None where it is not on the page."""

    task_id: str
    link: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A comparison with its details."""

    title: str
    groups: tuple[tuple[str, ...], ...]
    more_groups: int
    flips: tuple[tuple[str, tuple[Flip, ...], int], ...]
    """Who does better, on which tasks, and how many more there are."""


def eval_page(data: PageData, limit_bytes: int = LIMIT_BYTES) -> Page:
    """The page of finished evaluations. `limit_bytes` bounds the JSON of their failed tasks."""
    candidates = data.labelled()
    packed = pack(_failures(candidates), limit_bytes=limit_bytes)
    return Page(html=_render(data, candidates, packed), shown=packed.shown, failures=packed.failures)


def _failures(candidates: Sequence[Labelled]) -> Iterator[tuple[str, Kinds, Failure]]:
    for one in candidates:
        for failure in one.entrant.failures:
            yield one.label, one.evaluation.kinds[failure.episode.evidence.task_id], failure


def _render(data: PageData, candidates: Sequence[Labelled], packed: Packed) -> bytes:
    headlines = [headline(one) for one in candidates]
    compared = comparisons(candidates)
    repeats = [(one.label, one.entrant.repeated) for one in candidates if one.entrant.repeated is not None]
    told: dict[str, object] = {
        "manifest_file": MANIFEST,
        "title": ", ".join(dict.fromkeys(evaluation.name for evaluation in data.evaluations)),
        "origins": [_origin(evaluation) for evaluation in data.evaluations],
        "candidates": candidates,
        "headlines": headlines,
        "stopped": [_stops(one) for one in candidates if one.entrant.measured.non_candidate_stops],
        "percent": percent,
        "between": between,
        "success": figures.headline_figure(headlines),
        "gates": [figures.gate_figure(one) for one in candidates],
        "kinds": [figures.kind_figure(candidates, dimension) for dimension in TITLES],
        "compared": compared,
        "comparison_head": tables.COMPARISON_HEAD,
        "comparison_rows": tables.comparison_rows(compared.made),
        "group_head": tables.GROUP_HEAD,
        "details": _details(compared.made, candidates),
        "decides": decides("the adjusted p"),
        "repeating": any(one.trials > 1 for _, one in repeats),
        "planned": [(label, one.trials) for label, one in repeats],
        "once": [one.label for one in candidates if one.entrant.repeated is None],
        "pass_head": tables.PASS_HEAD,
        "pass_rows": [row for label, one in repeats for row in tables.pass_rows(label, one)],
        "flip_head": tables.FLIP_HEAD,
        "flip_rows": [row for label, one in repeats for row in tables.flip_rows(label, one)],
        "uncounted": [(label, one.uncounted) for label, one in repeats if one.uncounted],
        "usage_head": tables.USAGE_HEAD,
        "usage_rows": [tables.usage_row(one.label, one.entrant.usage) for one in candidates],
        "failing": tables.failing_gates(candidates),
        "packed": packed,
        "text_limit": TEXT_LIMIT,
        "list_limit": LIST_LIMIT,
        "limit_mib": LIMIT_BYTES >> 20,
    }
    return render(_HERE, told, packed.data)


def _stops(one: Labelled) -> Stops:
    measured = one.entrant.measured
    return Stops(
        label=one.label,
        stops=measured.non_candidate_stops,
        tasks=measured.task_count,
        causes=counted(one.entrant.stops),
    )


def _origin(evaluation: Evaluation) -> Origin:
    manifest, report = evaluation.finished.manifest, evaluation.finished.report
    source = _object(manifest.get("source"))
    reasons = manifest.get("non_publication_reasons")
    comparison = _object(manifest.get("comparison_set"))
    return Origin(
        name=evaluation.name,
        identities=tuple((name, what, shown(manifest[name])) for name, what in _IDENTITIES if name in manifest),
        benchmark=(
            ("run", shown(source.get("run_id"))),
            ("published table", shown(_object(source.get("benchmark")).get("content_hash"))),
            ("run manifest", shown(_object(source.get("run_manifest")).get("content_hash"))),
            ("oracle pack", shown(_object(source.get("oracle")).get("pack_fingerprint"))),
            ("tasks", f"{shown(comparison.get('task_count'))}, {shown(comparison.get('policy'))}"),
        ),
        scopes=tuple(_scopes(_object(report.get("scopes")))),
        publishable=manifest.get("publication_allowed") is True,
        reasons=tuple(map(str, reasons)) if isinstance(reasons, list | tuple) else (),
        manifest=panel({name: manifest[name] for name in _BELOW if name in manifest}),
    )


def _scopes(scopes: Mapping[str, Json]) -> Iterator[Scope]:
    for name in sorted(scopes):
        told = _object(scopes[name])
        yield Scope(name=name, value=shown(told.get("value")), meaning=shown(told.get("meaning")))


def _details(made: Sequence[Comparison], candidates: Sequence[Labelled]) -> list[Compared]:
    failed = {
        key(one.label, score.task_id) for one in candidates for score in one.entrant.scores if not score.task_success
    }
    return [
        Compared(
            title=f"{one.first} against {one.second}",
            groups=tuple(tables.group_rows(one)),
            more_groups=max(0, len(one.groups) - tables.GROUPS_SHOWN),
            flips=tuple(
                (better, tuple(_flip(task_id, key(other, task_id), failed) for task_id in tasks[:_FLIPS_SHOWN]), more)
                for better, other, tasks in (
                    (one.first, one.second, one.better_first),
                    (one.second, one.first, one.better_second),
                )
                for more in (max(0, len(tasks) - _FLIPS_SHOWN),)
            ),
        )
        for one in made
    ]


def _flip(task_id: str, name: str, failed: set[str]) -> Flip:
    return Flip(task_id=task_id, link=name if name in failed else None)


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
