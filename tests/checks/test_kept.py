"""What a validation takes over from an earlier one, and what it keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import Json, canonical_text
from bfcl.checks.report import report
from bfcl.checks.validate import CHECKS, validate_pack
from bfcl.config.model import RunConfig
from bfcl.oracle.protocol import Breakdown, Description, Episode, EpisodeResult, Replayed
from bfcl.pack.load import load_pack
from bfcl.pack.model import Pack
from bfcl.records.verdict import CheckResult, Finding, PackVerdict
from tests.checks.plain_oracle import PlainOracle
from tests.packs import BASE, Edit, append, drop_template, put, put_template, replace, run_config, write_pack

ORACLE = {"manifest", "tools", "fixtures", "held_out", "view", "config"}
WHOLE = ["1", "2", "3", "4", "5", "6", "M1", "D1", "D2", "T1", "I1", "exports"]
TEMPLATES = [f"7/{name}" for name in BASE]


class Memory:
    """Keeps results as text, by name and the state of what they read; notes who asked and who kept."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], str] = {}
        self.state: dict[str, str] = {}
        self.reads: dict[str, frozenset[str]] = {}
        self.hits: list[str] = []
        self.kept: list[str] = []

    def _key(self, name: str, reads: frozenset[str]) -> tuple[str, str]:
        return name, canonical_text({part: self.state.get(part, "") for part in reads})

    def find(self, name: str, reads: frozenset[str]) -> Json | None:
        self.reads[name] = reads
        text = self.texts.get(self._key(name, reads))
        if text is None:
            return None
        self.hits.append(name)
        found: Json = json.loads(text)
        return found

    def keep(self, name: str, reads: frozenset[str], value: Json) -> None:
        assert value is not None
        self.kept.append(name)
        self.texts[self._key(name, reads)] = canonical_text(value)

    def changed(self, *parts: str) -> None:
        """Something in these parts is another than before; and who asked and kept is forgotten."""
        self.state.update({part: self.state.get(part, "") + "*" for part in parts})
        self.hits, self.kept = [], []


class Asleep(PlainOracle):
    """An oracle that must not be asked anything."""

    def describe(self) -> Description:
        raise AssertionError("asked to describe")

    def run(self, episodes: Any) -> list[EpisodeResult]:
        raise AssertionError("asked to run")

    def replay(self, episodes: Any) -> list[Replayed]:
        raise AssertionError("asked to replay")


class Slow(PlainOracle):
    """An oracle whose calls of one tool are stopped at their deadline."""

    tool = "get_firing"

    def replay(self, episodes: Any) -> list[Replayed]:
        return [
            Replayed(*(self._stopped(one, run) for run in pair))
            for one, pair in zip(episodes, super().replay(episodes), strict=True)
        ]

    def _stopped(self, episode: Episode, run: EpisodeResult) -> EpisodeResult:
        for index, call in enumerate(episode.calls):
            if call.tool == self.tool:
                late = Breakdown(code="tool_timeout", message="late", phase="call", call_index=index)
                return EpisodeResult(
                    results=run.results[:index],
                    arguments=run.arguments[:index],
                    states=run.states[: index + 1] if episode.observe == "each" else (),
                    assertions=(),
                    breakdown=late,
                )
        return run


def load(tmp_path: Path, *edits: Edit) -> tuple[Pack, RunConfig]:
    run = run_config(write_pack(tmp_path / "pack", *edits))
    return load_pack(run, project=tmp_path), run


def validate(memory: Memory | None, pack: Pack, run: RunConfig, oracle: type[PlainOracle] = PlainOracle) -> PackVerdict:
    return validate_pack(pack, run, oracle(pack, run.oracle_runtime.clock), reuse=memory)


def test_a_whole_result_is_kept_under_what_it_reads(tmp_path: Path) -> None:
    memory = Memory()
    assert validate(memory, *load(tmp_path)).tier == "gold"
    assert (memory.hits, sorted(memory.kept)) == ([], sorted([*WHOLE, *TEMPLATES]))
    assert {
        name: set(reads) for name, reads in memory.reads.items() if name in ("1", "2", "3", "4", "T1", "exports")
    } == {
        "1": {"manifest", "tools", "templates"},
        "2": {"manifest", "tools", "templates", "fixtures", "held_out"},
        "3": {"manifest", "tools", "view", "config", "review_markers"},
        "4": {"templates", "view", "config"},
        "T1": {"config"},
        "exports": {"view"},
    }
    assert {memory.reads[name] for name in ("5", "6", "M1", "D1", "D2")} == {frozenset({*ORACLE, "validation_cases"})}
    assert memory.reads["7/kiln_status"] == ORACLE | {"budget", "surface", "template/kiln_status"}


FAULTS = [
    put("validation_cases.yaml", (1, "expect", "error_code"), "gone"),
    put("tools.json", (0, "x-mutates"), True),
    put_template("kiln_and_firing", ("success_assertions",), ["assert_kiln_read", "assert_kiln_busy"]),
    put_template("kiln_status", ("required_tools",), ["get_kiln", "get_firing"]),
]


@pytest.mark.parametrize("edits", [[], FAULTS], ids=["good pack", "faulty pack"])
def test_a_validation_whose_results_all_hold_asks_the_oracle_nothing(tmp_path: Path, edits: list[Edit]) -> None:
    memory = Memory()
    pack, run = load(tmp_path, *edits)
    first = validate(memory, pack, run)
    memory.changed()
    second = validate(memory, pack, run, Asleep)
    assert second == first
    assert memory.kept == []
    assert report(pack, run, second) == report(pack, run, validate(None, pack, run))


def test_an_edited_template_costs_its_own_representative_alone(tmp_path: Path) -> None:
    memory = Memory()
    validate(memory, *load(tmp_path))
    memory.changed("templates", "template/kiln_status")
    fails = put_template("kiln_status", ("success_assertions",), ["assert_kiln_busy"])
    verdict = validate(memory, *load(tmp_path, fails))
    assert memory.kept == ["1", "2", "4", "7/kiln_status"]
    assert [(one.code, one.template_id) for check in verdict.checks for one in check.failures] == [
        ("assertion_failed", "kiln_status")
    ]


def test_kept_findings_are_told_at_the_lines_where_their_places_stand_now(tmp_path: Path) -> None:
    memory = Memory()
    validate(memory, *load(tmp_path, *FAULTS))
    moved = [
        *FAULTS,
        put("task_templates.yaml", (0, "edge_signatures"), ["rare"]),
        replace("validation_cases.yaml", "- id: kiln_found\n", "# the kilns\n- id: kiln_found\n"),
    ]
    pack, run = load(tmp_path, *moved)
    memory.changed("template/kiln_status")
    verdict = validate(memory, pack, run)
    assert "7/kiln_and_firing" in memory.hits
    assert "5" in memory.hits
    assert report(pack, run, verdict) == report(pack, run, validate(None, pack, run))


def test_kept_findings_of_a_template_follow_it_to_another_place(tmp_path: Path) -> None:
    memory = Memory()
    validate(memory, *load(tmp_path, *FAULTS))

    def turn(draft: Any) -> None:
        draft.data["task_templates.yaml"].reverse()

    pack, run = load(tmp_path, *FAULTS, turn)
    memory.changed("templates")
    verdict = validate(memory, pack, run)
    assert sorted(name for name in memory.hits if name.startswith("7/")) == sorted(TEMPLATES)
    assert report(pack, run, verdict) == report(pack, run, validate(None, pack, run))


def test_another_language_is_another_representative(tmp_path: Path) -> None:
    memory = Memory()
    validate(memory, *load(tmp_path))
    memory.changed()
    vi = [put_template(name, ("user_turn_templates", "vi"), "{kiln_id} {cone} {firing_id} {topic}") for name in BASE]
    edits = [*vi, put("manifest.yaml", ("languages",), ["en", "vi"]), put("manifest.yaml", ("default_language",), "vi")]
    # As if the change lay in the other templates alone: what each offers decides the language of all.
    validate(memory, *load(tmp_path, *edits))
    assert [name for name in memory.kept if name.startswith("7/")] == TEMPLATES


def test_what_a_deadline_stopped_is_not_kept(tmp_path: Path) -> None:
    memory = Memory()
    verdict = validate(memory, *load(tmp_path), Slow)
    assert {check.id for check in verdict.checks if check.failures} == {"5", "7", "D1"}
    kept = [name for name in [*WHOLE, *TEMPLATES] if name not in ("5", "6", "M1", "D1", "D2", "7/kiln_and_firing")]
    assert sorted(memory.kept) == sorted(kept)


def test_a_skipped_check_is_decided_afresh(tmp_path: Path) -> None:
    memory = Memory()
    validate(memory, *load(tmp_path))
    memory.changed("view")
    verdict = validate(memory, *load(tmp_path, append("backend.py", "1 / 0\n")))
    assert {check.id for check in verdict.checks if check.status == "skipped"} == {"5", "6", "7", "M1", "D1", "D2"}
    assert sorted(memory.kept) == ["3", "4", "exports"]


def test_loading_warnings_are_never_kept(tmp_path: Path) -> None:
    memory = Memory()
    pack, run = load(tmp_path, drop_template("kiln_status", ("intent",)))
    told = [validate(memory, pack, run).checks[0].warnings for _ in range(3)]
    assert [one.code for one in told[2]] == ["template_without_intent"]
    assert told[0] == told[1] == told[2]


texts = st.none() | st.text(max_size=8)
findings = st.builds(
    Finding,
    code=st.text(max_size=8),
    message=st.text(max_size=8),
    file=texts,
    line=st.none() | st.integers(1, 9),
    pointer=texts,
    template_id=texts,
    case_id=texts,
    tool=texts,
    detail=texts,
    fix=texts,
)


@given(
    st.builds(
        CheckResult,
        id=st.sampled_from([check.id for check in CHECKS]),
        name=st.text(max_size=8),
        status=st.sampled_from(["pass", "fail", "skipped"]),
        skipped_because=texts,
        failures=st.lists(findings, max_size=3).map(tuple),
        warnings=st.lists(findings, max_size=3).map(tuple),
    )
)
def test_a_result_survives_being_kept(result: CheckResult) -> None:
    assert CheckResult.from_json(json.loads(json.dumps(result.kept_json()))) == result
