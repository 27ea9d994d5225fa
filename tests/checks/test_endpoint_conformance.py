"""An endpoint pack: what is checked without its service, what is not, and why it is not Gold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bfcl.checks.endpoint_conformance import assertions_as_written
from bfcl.checks.report import report
from bfcl.checks.validate import validate_pack
from bfcl.oracle.protocol import Description, Episode, EpisodeResult, Replayed
from bfcl.pack.load import load_pack
from bfcl.pack.model import Pack
from tests.checks.judged import Judged
from tests.packs import Edit, drop, put_template, run_config, text, write_pack

FILE = """\
protocol_version: bfcl-oracle-http-v1
base_url: https://kilns.example/oracle
expected:
  oracle_id: kilns
  oracle_version: "1"
  content_digest: sha256:0000000000000000000000000000000000000000000000000000000000000000
"""
SERVICE = (drop("backend.py"), text("endpoint_config.yaml", FILE))
SILENT = "the endpoint is not contacted without a pinned attestation"


class Unreachable:
    """An oracle that nobody may ask."""

    def describe(self) -> Description:
        raise AssertionError("asked")

    def run(self, episodes: Sequence[Episode]) -> list[EpisodeResult]:
        raise AssertionError("asked")

    def replay(self, episodes: Sequence[Episode]) -> list[Replayed]:
        raise AssertionError("asked")

    def suspects(self) -> tuple[str, ...]:
        raise AssertionError("asked")


def judge(tmp_path: Path, *edits: Edit, **config: object) -> Judged:
    root = write_pack(tmp_path / "pack", *SERVICE, *edits)
    run = run_config(root, **config)
    pack = load_pack(run, project=tmp_path)
    return Judged(pack, run, validate_pack(pack, run, Unreachable()))


def test_endpoint_pack_gets_a_verdict_without_its_service(tmp_path: Path) -> None:
    judged = judge(tmp_path)
    assert judged.statuses() == {
        "1": "pass",
        "2": "pass",
        **dict.fromkeys(("3", "4", "5", "6", "7", "M1", "D1", "D2"), "skipped"),
        "T1": "pass",
        "I1": "pass",
        "A1": "fail",
    }
    assert {check.skipped_because for check in judged.verdict.checks if check.status == "skipped"} == {SILENT}
    assert judged.verdict.tier == "silver"


def test_missing_attestation_is_told_at_the_file_of_the_endpoint(tmp_path: Path) -> None:
    assert judge(tmp_path).failures() == [
        "A1 pack/endpoint_config.yaml: endpoint_attestation_missing: no attestation of https://kilns.example/oracle is "
        "pinned, so the service was not contacted; expected `attestation.kind` and `attestation.expected_digest`\n"
        "  fix: write a `backend.py` to reach Gold with this release, which runs Python oracles only"
    ]


def test_reasons_name_the_endpoint_and_every_skipped_check(tmp_path: Path) -> None:
    skipped = [f"{id_}: skipped" for id_ in ("3", "4", "5", "6", "7", "M1", "D1", "D2")]
    assert list(judge(tmp_path).verdict.reasons) == [*skipped, "A1: endpoint_attestation_missing"]


def test_static_checks_still_find_faults(tmp_path: Path) -> None:
    judged = judge(tmp_path, put_template("kiln_status", ("turn_policy",), "chat"))
    assert judged.statuses()["1"] == "fail"
    assert "unknown_turn_policy" in judged.failures()[0]


def test_worker_thread_fails_isolation_here_too(tmp_path: Path) -> None:
    judged = judge(tmp_path, oracle_runtime__worker="thread")
    assert (judged.statuses()["I1"], judged.statuses()["T1"]) == ("fail", "skipped")


def test_report_says_which_kind_of_oracle_it_is_about(tmp_path: Path) -> None:
    judged = judge(tmp_path)
    told = json.loads(report(judged.pack, judged.config, judged.verdict))
    assert told["oracle_kind"] == "endpoint"
    assert told["checks"][-1]["name"] == "endpoint_conformance"
    assert told["stats"]["assertions"] == len(judged.verdict.exported_assertions) > 0


def packed(tmp_path: Path, assertions: str) -> Pack:
    root = write_pack(tmp_path / "pack", *SERVICE, text("assertions.py", assertions))
    return load_pack(run_config(root), project=tmp_path)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def assert_a(): ...\ndef helper(): ...\n", ("assert_a",)),
        ("def assert_a(): ...\nASSERTIONS = {'x': assert_a, 'y': assert_a}\n", ("x", "y")),
        ("def assert_a(): ...\nASSERTIONS = {}\n", ()),
        ("def broken(:\n", ()),
    ],
)
def test_exported_assertions_are_read_and_never_run(tmp_path: Path, source: str, names: tuple[str, ...]) -> None:
    assert assertions_as_written(packed(tmp_path, source)) == names


def test_assertions_that_the_text_does_not_tell_are_those_the_templates_ask_for(tmp_path: Path) -> None:
    pack = packed(tmp_path, "from somewhere import *\n")
    asked = {name for template in pack.templates for name in template.success_assertions}
    assert set(assertions_as_written(pack)) == asked


def test_exported_assertions_are_those_of_the_file_as_it_was_loaded(tmp_path: Path) -> None:
    pack = packed(tmp_path, "def assert_a(): ...\n")
    pack.files["assertions"].path.unlink()
    assert assertions_as_written(pack) == ("assert_a",)
