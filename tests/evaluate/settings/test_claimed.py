"""What a configuration takes from the run manifest and from the pack's files."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from bfcl.evaluate.settings.load import load_settings
from tests.evaluate.refusals import refused
from tests.evaluate.settings.builder import MANIFEST, Edit, faults, loaded, put, told, unpublished, write_evaluation

RUN = "eval.yaml:3: eval_config_path_invalid: source_run_manifest"
AGAIN = "  fix: generate the benchmark again, or name another run"
NAME_IT = "give the path of the `run_manifest.json` of a finished run"


def manifest(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**copy.deepcopy(MANIFEST), **changes}.items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"run_id": None}, "without `run_id`; expected text there"),
        ({"run_id": " "}, "without `run_id`; expected text there"),
        ({"lineage_policy": None}, "without `lineage_policy`; expected text there"),
        ({"gold_eligible": "yes"}, "without `gold_eligible`; expected true or false there"),
        ({"schema_version": "9"}, 'of another schema version; expected "1.1", which this release reads'),
        (
            {"artifacts": {}},
            "without `artifacts.benchmark_parquet.content_hash`; expected a `sha256:` digest there",
        ),
        (
            {"artifacts": {"benchmark_parquet": {"content_hash": "sha256:1"}}},
            "without `artifacts.benchmark_parquet.content_hash`; expected a `sha256:` digest there",
        ),
        (
            {"publication": None},
            "whose `publication.published.file` is no plain name; expected that of a table beside it",
        ),
        *[
            (
                {"publication": {"published": {"file": file}}},
                "whose `publication.published.file` is no plain name; expected that of a table beside it",
            )
            for file in ("../run/benchmark.parquet", "..", "", "a\\b", 3)
        ],
        (
            {"publication": {"published": {"file": "other.parquet"}}},
            "beside which its published table does not lie; expected them in one directory",
        ),
    ],
)
def test_run_manifest_is_refused(tmp_path: Path, changes: dict[str, Any], fault: str) -> None:
    found = told(tmp_path, manifest=manifest(**changes))
    assert found == [f"{RUN} names a run manifest {fault}\n{AGAIN}"]


def test_run_manifest_tells_all_its_faults(tmp_path: Path) -> None:
    found = told(tmp_path, manifest=manifest(run_id=None, lineage_policy=3, artifacts=[]))
    assert [line.partition("manifest ")[2].partition("\n")[0].partition(";")[0] for line in found] == [
        "names a run manifest without `run_id`",
        "names a run manifest without `lineage_policy`",
        "names a run manifest without `artifacts.benchmark_parquet.content_hash`",
    ]


def test_table_in_place_of_the_run_manifest_is_refused(tmp_path: Path) -> None:
    assert told(tmp_path, put(("source_run_manifest",), "../run/benchmark.parquet")) == [
        f"{RUN} is <str len=24>; expected a run manifest, not a table; it leads to `run/benchmark.parquet`\n"
        f"  fix: {NAME_IT}"
    ]


def test_run_manifest_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert told(tmp_path, put(("source_run_manifest",), "../run/none.json")) == [
        f"{RUN} names a file that cannot be read: No such file or directory; it leads to `run`, and `none.json` "
        f"is not in it\n  fix: run `doit generate` first, or {NAME_IT}; a relative path "
        "counts from this file's directory"
    ]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"[]", "names a file that holds no JSON object; expected a run manifest"),
        (b'{\n"a": }', "names a file whose line 2 is no run manifest: not JSON: Expecting value"),
        (b"\xff", "names a file whose line 1 is no run manifest: byte 0xff is not UTF-8"),
    ],
)
def test_run_manifest_that_is_no_json_object_is_refused(tmp_path: Path, data: bytes, fault: str) -> None:
    path = write_evaluation(tmp_path)
    (tmp_path / "run/run_manifest.json").write_bytes(data)
    (problem,) = refused(lambda: load_settings(path))
    assert str(problem).replace(f"{path}:", "eval.yaml:") == f"{RUN} {fault}\n  fix: {NAME_IT}"


CASES: list[tuple[str, list[Edit], dict[str, Any] | None, list[str]]] = [
    (
        "unknown kind",
        [put(("source_oracle", "kind"), "pythn")],
        None,
        [
            "5: eval_config_schema_invalid: source_oracle.kind is <str len=5>; expected `python` or `endpoint`\n"
            "  fix: did you mean `python`?"
        ],
    ),
    (
        "kind of another run",
        [],
        manifest(oracle={"kind": "endpoint"}),
        [
            "5: eval_config_path_invalid: source_oracle.kind is <str len=6>; expected `endpoint`, the kind of oracle "
            "that the run manifest names\n  fix: name the pack that the benchmark was made from"
        ],
    ),
    (
        "endpoint",
        [put(("source_oracle", "kind"), "endpoint"), put(("source_oracle", "resource"), "../pack/manifest.yaml")],
        manifest(oracle={"kind": "endpoint"}),
        [
            "5: unsupported_config_feature: source_oracle.kind is <str len=8>; expected `python`: this release "
            "drives no "
            "oracle behind an endpoint\n  fix: write `source_oracle: null` and `mode: [trace]`, or use a Python oracle"
        ],
    ),
    (
        "resource of another kind",
        [put(("source_oracle", "resource"), "../pack/manifest.yaml")],
        None,
        [
            "7: eval_config_path_invalid: source_oracle.resource is <str len=21>; expected a file that ends in `.py`; "
            "it leads to `pack/manifest.yaml`\n"
            "  fix: give the path of the pack's file; a relative one counts from this file's directory"
        ],
    ),
    (
        "resource that is not there",
        [put(("source_oracle", "resource"), "../pack/none.py")],
        None,
        [
            "7: eval_config_path_invalid: source_oracle.resource is <str len=15>; expected a file that can be read; it "
            "leads to `pack`, and `none.py` is not in it\n  fix: give the path of the pack's file; "
            "a relative one counts from this file's directory"
        ],
    ),
    (
        "another pack",
        [],
        manifest(pack={"pack_id": "glaze_shop", "version": "2.0"}),
        [
            "6: eval_config_path_invalid: source_oracle.pack_manifest names a pack with another id than the run "
            "manifest's; expected `glaze_shop`\n  fix: name the pack that the benchmark was made from",
            "6: eval_config_path_invalid: source_oracle.pack_manifest names a pack with another version than the run "
            "manifest's; expected `2.0`\n  fix: name the pack that the benchmark was made from",
        ],
    ),
    (
        "no oracle to run against",
        [put(("source_oracle",), None)],
        None,
        [
            "7: eval_config_schema_invalid: eval.mode needs the oracle, and `source_oracle` is null; expected "
            "only `trace`\n"
            "  fix: name the pack's files under `source_oracle`, or write `[trace]`"
        ],
    ),
]


@pytest.mark.parametrize(("edits", "run", "messages"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_oracle_is_refused(tmp_path: Path, edits: list[Edit], run: dict[str, Any] | None, messages: list[str]) -> None:
    assert told(tmp_path, *edits, manifest=run) == [f"eval.yaml:{message}" for message in messages]


def test_pack_manifest_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    path = write_evaluation(tmp_path)
    (tmp_path / "pack/manifest.yaml").write_text("pack_id: [\n", encoding="utf-8")
    (problem,) = refused(lambda: load_settings(path))
    assert str(problem).replace(f"{path}:", "eval.yaml:") == (
        "eval.yaml:6: eval_config_path_invalid: source_oracle.pack_manifest names a file whose line 2 cannot be "
        "read as "
        "YAML; expected a pack manifest\n  fix: mend it: `bfcl check` says how"
    )


def test_trace_needs_no_oracle(tmp_path: Path) -> None:
    settings = loaded(tmp_path, put(("source_oracle",), None), put(("eval", "mode"), ["trace"]))
    assert (settings.oracle, settings.source.oracle_hash, settings.publication_scope) == (None, None, "trace_only")


def test_link_in_place_of_the_run_manifest_stays_a_link(tmp_path: Path) -> None:
    path = write_evaluation(tmp_path, put(("source_run_manifest",), "../links/run_manifest.json"))
    (tmp_path / "links").mkdir()
    (tmp_path / "links/run_manifest.json").symlink_to(tmp_path / "run/run_manifest.json")
    (tmp_path / "links/benchmark.parquet").write_bytes(b"rows")
    assert load_settings(path).source.manifest == tmp_path / "links/run_manifest.json"


def test_source_that_is_not_gold_bars_publishing_executable_scores_only(tmp_path: Path) -> None:
    smoke = manifest(gold_eligible=False)
    assert faults(tmp_path, manifest=smoke) == [("eval_publication_policy_violation", "source_run_manifest")]
    assert loaded(tmp_path, unpublished, manifest=smoke).non_publication_reasons == (
        "publication.requested",
        "source.gold_eligible",
    )
    assert loaded(tmp_path, put(("eval", "mode"), ["trace"]), manifest=smoke).publication_allowed
