"""Whatever is edited in a finished evaluation, one value at a time and signed anew, is refused or in the table."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

from bfcl.canonical import readable_json
from bfcl.errors import EvalError
from bfcl.evaluate.after.untold import UNTOLD
from bfcl.evaluate.after.verify import verify_evaluation
from bfcl.evaluate.drive.tool_trace_cache import FORM as EPISODES
from bfcl.evaluate.records import CommitState, EpisodeStatus, ExecutionStatus, ResolutionStatus
from bfcl.modelio.exchange import CallStatus
from bfcl.modelio.recorded_chat import FORM as CALLS
from bfcl.tables.task_results import read_task_results, write_task_results
from tests.evaluate.after.finishing import DEPARTURES, Data, Evaluated, evaluated_once, finish
from tests.evaluate.after.forging import edit_json, restate

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
FILES = (
    "eval_manifest.json",
    "eval_report.json",
    "eval_breakdowns.json",
    "resolved_eval_config.json",
    "source_verification_report.json",
    "contamination_report.json",
)
LOGS = {"candidate_io_cache.jsonl": CALLS, "tool_trace_cache.jsonl": EPISODES}
TABLE = "eval_task_results.parquet"
LOCKS = (".candidate_io_cache.jsonl.lock", ".tool_trace_cache.jsonl.lock")

WORDS = [
    *map(get_args, (EpisodeStatus, CallStatus, ExecutionStatus, CommitState, ResolutionStatus)),
    ("passed", "failed", "not_applicable", "infrastructure_error"),
]
"""Words that one field may hold: whoever edits one writes another of them."""


class Reach(NamedTuple):
    """What an entry of the table means for who edits."""

    begins: str
    """How the entry does."""
    files: tuple[str, ...]
    fields: str
    """A pattern of paths as `a.b[2].c`, of which one alone may be edited unnoticed. The empty path stands for the file
    as a whole: it may be gone."""

    def covers(self, file: str, field: str) -> bool:
        return file in self.files and re.fullmatch(self.fields, field) is not None


REACHES = (
    Reach(
        "`final_state`, the words of `detail`, ",
        ("tool_trace_cache.jsonl",),
        r"final_state|detail|assertions\[\d+\]\.detail|turns\[\d+\]\.executions\[\d+\]\.(commit|detail|result)",
    ),
    Reach("`written_at` in ", ("source_verification_report.json", "contamination_report.json"), "written_at"),
    Reach("`oracle.probed` in ", ("source_verification_report.json",), r"oracle\.probed"),
    Reach("`resolved_paths` in ", ("resolved_eval_config.json",), r"resolved_paths\.\w+"),
    Reach("`runtime` in ", ("eval_manifest.json",), r"runtime(\.\w+)?"),
    Reach(
        "the digests of `resumed_from` in ",
        ("eval_manifest.json",),
        r"(resumed_from\.)+(candidate_io_cache|tool_trace_cache)\.content_hash",
    ),
    Reach("locks and any file ", LOCKS, ""),
)
TOGETHER = (
    "whether each provider really answered",
    "whether the oracle would answer",
    "`eval_run_id`, where ",
    "what held_out_eval_report.json says",
    "compression and pages of ",
)
"""How the other entries begin: no edit of one value alone goes unnoticed by them."""

Step = str | int
Forge = Callable[[Path], None]


class Edit(NamedTuple):
    """One edit of one file."""

    field: str
    forge: Forge


def path_of(steps: tuple[Step, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def scalars(value: Any, steps: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Any]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from scalars(one, (*steps, key))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from scalars(one, (*steps, index))
    else:
        yield steps, value


def others(value: Any, null: Any) -> list[Any]:
    """Other values of the type, such as somebody would write who wants to go unnoticed."""
    if value is None:
        return [null]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1]
    if DIGEST.fullmatch(value):
        return [value[:-1] + ("0" if value[-1] != "0" else "1")]
    if re.match(r"\d{4}-\d\d-\d\dT", value):
        return [f"{value}x", f"3{value[1:]}"]
    return [f"{value}x", *(word for words in WORDS if value in words for word in words if word != value)]


def edited(value: Any, null: Any = "x") -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Each scalar changed, alone, null to `null`.

    One of a list stands for all of it, and one of a metric or group for all that lie as deep.
    """
    done = set()
    for steps, one in scalars(value):
        kind = kind_of(steps)
        if kind in done:
            continue
        done.add(kind)
        for other in others(one, null):
            changed = copy.deepcopy(value)
            holder = changed
            for step in steps[:-1]:
                holder = holder[step]
            holder[steps[-1]] = other
            yield steps, changed


def kind_of(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    kind = ["*" if isinstance(step, int) else step for step in steps]
    return (*kind[:3], *["*"] * len(kind[3:-1]), *kind[3:][-1:])


def written(path: str, value: Any) -> Forge:
    def forge(directory: Path) -> None:
        (directory / path).write_bytes(readable_json(value))

    return forge


def document_edits(directory: Path, name: str) -> Iterator[Edit]:
    document = json.loads((directory / name).read_bytes())
    for steps, changed in edited(document):
        yield Edit(path_of(steps), written(name, changed))
    for key, one in document.items():
        yield Edit(key, written(name, {other: kept for other, kept in document.items() if other != key}))
        if isinstance(one, dict):
            yield Edit(f"{key}.added", written(name, {**document, key: {**one, "added": 1}}))
    yield Edit("added", written(name, {**document, "added": 1}))


def log_edits(directory: Path, name: str) -> Iterator[Edit]:
    form = LOGS[name]
    lines = (directory / name).read_bytes().splitlines(keepends=True)
    done = set()

    def relined(place: int, line: bytes) -> Forge:
        data = b"".join([*lines[:place], line, *lines[place + 1 :]])

        def forge(copied: Path) -> None:
            (copied / name).write_bytes(data)

        return forge

    for place, line in enumerate(lines):
        record = form.record(line)
        for steps, changed in edited(json.loads(json.dumps(record.payload))):
            kind = (record.record_type, *("*" if isinstance(step, int) else step for step in steps))
            if kind not in done:
                done.add(kind)
                signed = form.line(dataclasses.replace(record, payload=changed))
                yield Edit(path_of(steps), relined(place, signed))
        if (record.record_type,) not in done:
            done.add((record.record_type,))
            yield Edit("", relined(place, b""))


def table_edits(directory: Path, name: str) -> Iterator[Edit]:
    rows: list[Any] = read_task_results(directory / name)
    for steps, changed in edited(rows, null=True):
        yield Edit(path_of(steps), lambda copied, changed=changed: write_task_results(copied / name, changed))  # type: ignore[misc]
    yield Edit("", lambda copied: write_task_results(copied / name, rows[:-1]))
    yield Edit("", lambda copied: write_task_results(copied / name, [*rows, rows[-1]]))


def edits_of(directory: Path, name: str) -> Iterator[Edit]:
    if name in LOGS:
        return log_edits(directory, name)
    return table_edits(directory, name) if name == TABLE else document_edits(directory, name)


@functools.cache
def small(base: Path) -> Path:
    """One executed candidate with failures, whose answers were in part taken over."""
    directory = finish(evaluated_once(base).site, {"lower": DEPARTURES["lower"]}, name="small", executable=True)

    def resumed(manifest: Data) -> None:
        held = {"content_hash": f"sha256:{'ab' * 32}"}
        further = {"candidate_io_cache": held, "tool_trace_cache": {"content_hash": None}}
        manifest["resumed_from"] = {"candidate_io_cache": held, "tool_trace_cache": held, "resumed_from": further}
        manifest["runtime"] = {"python": "3.11.9", "git_dirty": False}

    edit_json(directory / "eval_manifest.json", resumed)
    return directory


@functools.cache
def unprobed(base: Path) -> Path:
    """A trace that names an oracle."""
    site = evaluated_once(base).site
    named = {
        "kind": "python",
        "pack_manifest": str(site.pack / "manifest.yaml"),
        "resource": str(site.pack / "backend.py"),
    }
    return finish(site, {"solo": DEPARTURES["gold"]}, lambda data: data.update(source_oracle=named), name="unprobed")


@pytest.fixture
def base(evaluated: Evaluated, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp()


def unnoticed(directory: Path, name: str, tmp_path: Path) -> tuple[list[str], int]:
    """(fields that were edited and not refused, number of edits)."""
    verify_evaluation(directory)
    found = []
    copied = tmp_path / "edited"
    shutil.copytree(directory, copied)
    edits = list(edits_of(directory, name))
    for edit in edits:
        edit.forge(copied)
        if name != "eval_manifest.json":
            restate(copied)
        try:
            verify_evaluation(copied)
        except EvalError:
            pass
        else:
            found.append(edit.field)
        for file in (name, "eval_manifest.json"):
            shutil.copyfile(directory / file, copied / file)
    return found, len(edits)


@pytest.mark.parametrize("name", [*FILES, *LOGS, TABLE])
def test_every_edit_of_one_value_is_refused_or_stands_in_the_table(base: Path, tmp_path: Path, name: str) -> None:
    found, count = unnoticed(small(base), name, tmp_path)
    assert count > 15
    assert [field for field in found if not any(one.covers(name, field) for one in REACHES)] == []
    # Nor does the table promise less than is done.
    idle = [
        one.begins
        for one in REACHES
        if name in one.files and one.fields != r"oracle\.probed"
        if not any(one.covers(name, field) for field in found)
    ]
    assert idle == []


def test_every_entry_of_the_table_is_held_to_what_it_means_for_who_edits() -> None:
    begins = (*(one.begins for one in REACHES), *TOGETHER)
    assert sorted(one for entry in UNTOLD for one in begins if entry.what.startswith(one)) == sorted(begins)
    assert len(begins) == len(UNTOLD)


def test_probing_cannot_be_told_where_nothing_was_executed(base: Path, tmp_path: Path) -> None:
    found, _ = unnoticed(unprobed(base), "source_verification_report.json", tmp_path)
    assert found == ["oracle.probed", "written_at"]


@pytest.mark.parametrize("name", [*FILES, *LOGS, TABLE])
def test_every_file_that_is_gone_is_refused(base: Path, tmp_path: Path, name: str) -> None:
    directory = shutil.copytree(small(base), tmp_path / "lacking")
    (directory / name).unlink()
    with pytest.raises(EvalError) as refusal:
        verify_evaluation(directory)
    assert {(one.code, Path(one.path or one.subject or "").name) for one in refusal.value.problems} == {
        ("eval_artifact_invalid", name)
    }


def test_every_other_file_stands_in_the_table(base: Path) -> None:
    rest = {path.name for path in small(base).iterdir()} - {*FILES, *LOGS, TABLE}
    assert [name for name in sorted(rest) if not any(one.covers(name, "") for one in REACHES)] == []


@pytest.mark.parametrize("name", LOCKS)
def test_locks_may_be_gone(base: Path, tmp_path: Path, name: str) -> None:
    directory = shutil.copytree(small(base), tmp_path / "unlocked")
    (directory / name).unlink()
    assert verify_evaluation(directory).eval_run_id == "run-small"


@pytest.mark.parametrize(
    "name", ["candidate_io_cache", "tool_trace_cache", "eval_task_results", "eval_report", "eval_breakdowns"]
)
def test_a_manifest_that_names_less_than_was_made_is_refused(base: Path, tmp_path: Path, name: str) -> None:
    directory = shutil.copytree(small(base), tmp_path / "less")
    edit_json(directory / "eval_manifest.json", lambda manifest: manifest["artifacts"].pop(name))
    with pytest.raises(EvalError) as refusal:
        verify_evaluation(directory)
    assert {(one.code, Path(one.path or "").name) for one in refusal.value.problems} == {
        ("eval_artifact_invalid", "eval_manifest.json")
    }


def test_metadata_that_no_evaluation_writes_is_refused(base: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    directory = shutil.copytree(small(base), tmp_path / "noted")
    table = pq.read_table(directory / TABLE)
    pq.write_table(table.replace_schema_metadata({"note": "mine"}), directory / TABLE, compression="zstd")
    restate(directory)
    with pytest.raises(EvalError) as refusal:
        verify_evaluation(directory)
    assert [str(one) for one in refusal.value.problems] == [
        f"eval_artifact_invalid: {TABLE}: holds metadata that no evaluation writes: note\n"
        "  fix: evaluate into a new output directory"
    ]


def test_a_report_of_a_gate_that_refused_is_refused_beside_results(base: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(small(base), tmp_path / "both")
    (directory / "contamination_failure.json").write_text("{}")
    with pytest.raises(EvalError) as refusal:
        verify_evaluation(directory)
    assert [one.message for one in refusal.value.problems] == ["stands beside the report that every gate was passed"]


def test_the_table_is_read_as_what_and_why() -> None:
    assert str(UNTOLD[0]) == "whether each provider really answered as recorded: nobody was asked again"
