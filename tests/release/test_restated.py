"""Every value of a manifest that restates something is held against it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bfcl.canonical import readable_json
from bfcl.digest import sha256_file
from bfcl.errors import Problem, ReleaseError
from bfcl.release.restated import UNDERIVED
from bfcl.release.verify import verify_release
from bfcl.stages.manifest_blocks import SEED_DERIVATION
from tests.graph.chains import build
from tests.graph.projects import write_project
from tests.packs import add_template, held_out, put
from tests.release.samples import published

FIX = "\n  fix: generate the benchmark again; published files are never edited"
SUBJECT = "release_report_mismatch: run_manifest.json: "
PARTS = {
    "surface_quality_validation": {"enabled": True},
    "semantic_deduplication_config": {
        "enabled": True,
        "model_identifier": "lexical:char-ngram-v1",
        "n_clusters": 2,
        "eps": 0.05,
        "remove_duplicates": True,
    },
    "exports": {"bfcl_json": True},
    "task_generation": {"tasks_per_category": 2, "candidate_tasks_per_category": 4},
}
"""Everything that not every run has, but for a held-out policy."""

OF_PARTS = (
    "bias_targets",
    "exports",
    "held_out",
    "publication",
    "semantic_deduplication",
    "stage_counts",
    "surface_quality_validation",
)
"""Blocks that say something else where a run has all of that."""

TOGETHER: tuple[tuple[str, ...], ...] = (
    ("bias_applicability",),
    ("semantic_deduplication", "report"),
    ("surface_quality_validation", "report"),
)
"""Blocks that are compared value by value."""

Path_ = tuple[str, ...]


def plain(root: Path) -> Path:
    return write_project(root, task_generation__tasks_per_category=4)


def whole(root: Path) -> Path:
    secret = {"kiln_id": "K-8", "zone": "attic", "status": "idle", "recent_firings": []}
    return write_project(
        root,
        add_template("secret_scope", like="out_of_scope", intent="secret_intent"),
        put("fixtures.json", ("kilns", "-"), secret),
        held_out({"kilns": ["K-8"]}, ["secret_scope"]),
        **PARTS,
    )


@pytest.fixture(scope="module")
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published run with its checkpoints; whoever edits its manifest puts it back."""
    project = request.param(tmp_path_factory.mktemp("restated").resolve() / "project")
    build(project)
    return Path(project / "build" / "runs" / "trial")


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Every scalar, list and empty object."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    else:
        yield path


def edit(manifest: Any, path: Path_) -> None:
    """Put another value of the same kind at one place."""
    holder = manifest
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = _other(holder[path[-1]])


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            # In the middle, so that digests keep their form and a run's name its random end.
            middle = len(value) // 2
            return f"{value[:middle]}{'0' if value[middle : middle + 1] != '0' else '1'}{value[middle + 1 :]}"
        case list():
            return [*value, "x"]
        case dict():
            return {"x": 1}
        case _:
            return "x"


def batches(manifest: Any) -> Iterator[list[Path_]]:
    """The values one by one; those of a block that is compared value by value together, since that costs less."""
    together: dict[Path_, list[Path_]] = {}
    for path in leaves(manifest):
        block: Path_ | None = next((block for block in TOGETHER if path[: len(block)] == block), None)
        if block is None and path[:2] == ("build", "stages") and "shards" in path:
            block = path[:4]
        if block is None:
            yield [path]
        else:
            together.setdefault(block, []).append(path)
    yield from together.values()


def is_underived(path: Path_) -> bool:
    field = ".".join(path)
    return any(field == name or field.startswith(f"{name}.") for name in UNDERIVED)


def problems(run_dir: Path) -> list[Problem]:
    try:
        verify_release(run_dir)
    except ReleaseError as error:
        return list(error.problems)
    return []


def names(problem: Problem, path: Path_) -> bool:
    """Whether a refusal names the field, or a block it belongs to that is told as a whole."""
    field = ".".join(path)
    return field in problem.message or f"{field}.".startswith(f"{problem.field}.")


def edits(manifest: Any, only: Sequence[str]) -> Iterator[list[Path_]]:
    return (batch for batch in batches(manifest) if not only or batch[0][0] in only)


@pytest.mark.parametrize(("release", "only"), [(plain, ()), (whole, OF_PARTS)], indirect=["release"])
def test_every_value_of_a_manifest_is_held_but_for_those_listed_with_a_reason(
    release: Path, only: Sequence[str]
) -> None:
    file = release / "run_manifest.json"
    before = file.read_bytes()
    manifest = json.loads(before)
    assert problems(release) == []
    unheld: list[Path_] = []
    unnamed = []
    for batch in edits(manifest, only):
        changed = copy.deepcopy(manifest)
        for path in batch:
            edit(changed, path)
        file.write_bytes(readable_json(changed))
        found = problems(release)
        if not found:
            unheld += batch
        unnamed += [path for path in batch if found and not any(names(problem, path) for problem in found)]
    file.write_bytes(before)
    assert unnamed == []
    assert sorted(unheld) == sorted(path for batch in edits(manifest, only) for path in batch if is_underived(path))


def test_each_reason_is_of_a_field_that_a_manifest_has(tmp_path: Path) -> None:
    manifest = json.loads((published(tmp_path / "demo") / "run_manifest.json").read_bytes())
    manifest["reference_benchmark"] = {"name": "", "samples_path": ""}
    fields = [".".join(path) for path in leaves(manifest)]
    assert [name for name in UNDERIVED if not any(f"{one}.".startswith(f"{name}.") for one in fields)] == []


def edited_manifest(run_dir: Path, **values: Any) -> list[str]:
    file = run_dir / "run_manifest.json"
    file.write_bytes(readable_json({**json.loads(file.read_bytes()), **values}))
    return [str(problem) for problem in problems(run_dir)]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {"created_at": "2026-01-02T03:04:05.678902+00:00"},
            '`run_id` is "{run}", expected "{other}" by rows and `created_at`',
        ),
        ({"created_at": "yesterday"}, '`created_at` is "yesterday", which is no moment with its offset'),
        ({"created_at": "2026-01-02T03:04:05.678901"}, '`created_at` is "2026-01-02T03:04:05.678901", which is no '),
        ({"seeds": {"global": 8, "derivation": SEED_DERIVATION}}, "`seeds.global` is 8, from which the seed "),
        ({"stage_counts": {}}, "`stage_counts.canonical_expanded` is missing, expected 5"),
        ({"tier": "silver"}, '`tier` is "silver", expected "gold"'),
    ],
)
def test_field_that_contradicts_is_told(tmp_path: Path, values: dict[str, Any], told: str) -> None:
    run_dir = published(tmp_path / "demo")
    run = json.loads((run_dir / "run_manifest.json").read_bytes())["run_id"]
    first = edited_manifest(run_dir, **values)[0]
    assert first.startswith(SUBJECT + told.format(run=run, other=run.replace("678901", "678902")))
    assert first.endswith(FIX)


def test_report_of_another_shape_is_refused_and_never_a_traceback(tmp_path: Path) -> None:
    run_dir = published(tmp_path / "demo")
    report = run_dir / "stage_cache" / "oracle_validation_report.json"
    report.write_bytes(b"{}")
    artifacts = json.loads((run_dir / "run_manifest.json").read_bytes())["artifacts"]
    artifacts["oracle_validation_report"]["content_hash"] = sha256_file(report)
    assert edited_manifest(run_dir, artifacts=artifacts) == [
        f"{SUBJECT}a report beside it is not as this version writes them: 'oracle_kind'{FIX}"
    ]
