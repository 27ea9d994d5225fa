"""How an evaluation is run: the envelope around a scoring configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bfcl.evaluate.settings.envelope import Envelope, check_probe, load_envelope
from bfcl.evaluate.settings.load import load_settings
from tests.evaluate.refusals import refused
from tests.evaluate.settings.builder import put, write_evaluation

ROOT = Path(__file__).resolve().parents[3]


def write_envelope(root: Path, **values: Any) -> Path:
    """An envelope beside the scoring configuration of the builder."""
    write_evaluation(root)
    path = root / "configs" / "cli.yaml"
    path.write_text(yaml.safe_dump({"eval_config_path": "eval.yaml", **values}, sort_keys=False), encoding="utf-8")
    return path


def told(path: Path) -> list[str]:
    return [str(problem).replace(f"{path}:", "cli.yaml:") for problem in refused(lambda: load_envelope(path))]


def test_envelope_with_a_path_alone_takes_every_default(tmp_path: Path) -> None:
    path = write_envelope(tmp_path)
    assert load_envelope(path) == Envelope(path=path, eval_config_path=tmp_path / "configs/eval.yaml")


def test_envelope_says_every_choice(tmp_path: Path) -> None:
    (tmp_path / "earlier").mkdir()
    path = write_envelope(
        tmp_path,
        schema_version="1.0",
        family="bfcl",
        stage="eval",
        execution_backend="direct",
        output_format="json",
        probe_oracle=False,
        dry_run=True,
        resume_from="../earlier",
        max_requests=10,
        max_total_tokens=1000,
        requests_per_minute=60,
        max_infrastructure_stops=3,
    )
    assert load_envelope(path) == Envelope(
        path=path,
        eval_config_path=tmp_path / "configs/eval.yaml",
        output_format="json",
        probe_oracle=False,
        dry_run=True,
        resume_from=tmp_path / "earlier",
        max_requests=10,
        max_total_tokens=1000,
        requests_per_minute=60,
        max_infrastructure_stops=3,
    )


def test_scoring_configuration_in_place_of_an_envelope_means_itself(tmp_path: Path) -> None:
    path = write_evaluation(tmp_path, put(("limits", "max_turns"), 0))
    assert load_envelope(path) == Envelope(path=path, eval_config_path=path)


def test_generation_configuration_in_place_of_an_envelope_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "cli.yaml"
    path.write_text("config_status: resolved\noracle_pack: {manifest_path: a.yaml}\n", encoding="utf-8")
    assert told(path) == [
        "cli.yaml:2: eval_cli_invalid: oracle_pack makes this a generation configuration; expected an envelope or a "
        "scoring configuration\n  fix: name one of them, like `config=configs/eval.cli.yaml`"
    ]


def test_envelope_changes_no_hash(tmp_path: Path) -> None:
    path = write_envelope(tmp_path, dry_run=True, max_requests=1, requests_per_minute=1)
    direct = load_settings(tmp_path / "configs/eval.yaml")
    assert load_settings(load_envelope(path).eval_config_path) == direct


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"colour": 1}, "2: eval_cli_invalid: colour is no key of this file\n  fix: remove it; known here: "),
        (
            {"schema_version": "1.1"},
            "2: eval_cli_invalid: schema_version is <str len=3>; expected `1.0`\n  fix: did you mean `1.0`?",
        ),
        (
            {"schema_version": 1.0},
            '2: eval_cli_invalid: schema_version is 1.0; expected `1.0`\n  fix: quote it: `"1.0"`',
        ),
        (
            {"family": "qa"},
            "2: eval_cli_invalid: family is <str len=2>; expected `bfcl`\n  fix: set `family` to `bfcl`",
        ),
        ({"stage": "all"}, "2: eval_cli_invalid: stage is <str len=3>; expected `eval`\n  fix: set `stage` to `eval`"),
        (
            {"dry_run": "true"},
            "2: eval_cli_invalid: dry_run is <str len=4>; expected true or false\n  fix: write true or false, "
            "without quotes",
        ),
        (
            {"output_format": "text"},
            "2: eval_cli_invalid: output_format is <str len=4>; expected `human` or `json`\n"
            "  fix: set `output_format` to `human` or `json`",
        ),
        (
            {"execution_backend": "nemo_launcher"},
            "2: eval_cli_invalid: execution_backend is <str len=13>; expected `direct`: this release starts no "
            "launcher\n"
            "  fix: write `execution_backend: direct`",
        ),
        (
            {"launcher": {}},
            "2: eval_cli_invalid: launcher is <mapping len=0>; expected no such key, which only the backend "
            "`nemo_launcher` "
            "takes\n  fix: remove it",
        ),
        (
            {"max_requests": 0},
            "2: eval_cli_invalid: max_requests is 0; expected an integer of at least 1\n"
            "  fix: set `max_requests` to an integer of at least 1",
        ),
        (
            {"resume_from": "../none"},
            "2: eval_cli_invalid: resume_from is <str len=7>; expected a directory that is there; it leads to "
            "`.`, and `none` is not in it\n"
            "  fix: name the output directory of the run to go on with, or leave `resume_from` out",
        ),
        (
            {"eval_config_path": "none.yaml"},
            "1: eval_cli_invalid: eval_config_path is <str len=9>; expected a scoring configuration that can be read; "
            "it leads to `configs`, and `none.yaml` is not in it\n"
            "  fix: a relative path counts from the directory of this file",
        ),
        (
            {"eval_config_path": "REPLACE_ME_CONFIG"},
            "1: eval_cli_invalid: eval_config_path still holds `REPLACE_ME_`; expected a value of your own\n"
            "  fix: replace it by what the comment beside it asks for",
        ),
        (
            {"api_key": "x"},
            "2: secret_in_eval_config: api_key is <redacted>: it holds a credential by its name; expected no "
            "credential\n"
            "  fix: write the name of an environment variable under `api_key_env`; revoke what stood here if it is "
            "a key",
        ),
    ],
)
def test_envelope_is_refused(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    (found,) = told(write_envelope(tmp_path, **values))
    found = found.replace(f"`{tmp_path}/", "`").replace(f"`{tmp_path}`", "`.`")
    assert found.startswith(f"cli.yaml:{message}") if message.endswith(": ") else found == f"cli.yaml:{message}"


def test_envelope_names_every_faulty_field(tmp_path: Path) -> None:
    found = told(write_envelope(tmp_path, family="qa", dry_run="yes", launcher={}, max_requests="9"))
    assert [line.split(": ")[2].partition(" ")[0] for line in found] == [
        "family",
        "dry_run",
        "launcher",
        "max_requests",
    ]


def test_envelope_with_a_credential_tells_its_other_faults_too(tmp_path: Path) -> None:
    found = told(write_envelope(tmp_path, token="x", dry_run="yes"))
    assert [line.split(": ")[1] for line in found] == ["secret_in_eval_config", "eval_cli_invalid"]


def test_envelope_without_a_path_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cli.yaml"
    path.write_text("dry_run: true\n", encoding="utf-8")
    assert told(path) == [
        "cli.yaml:1: eval_cli_invalid: eval_config_path is missing; every key of this file has to be written\n"
        "  fix: add `eval_config_path`"
    ]


def test_envelope_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cli.yaml"
    assert told(path) == [
        "cli.yaml: eval_cli_invalid: cannot be read: No such file or directory\n"
        "  fix: give the path of a file that is there and can be read"
    ]


def test_bundled_envelope_names_the_smallest_evaluation() -> None:
    envelope = load_envelope(ROOT / "configs/eval.cli.yaml")
    assert envelope == Envelope(path=ROOT / "configs/eval.cli.yaml", eval_config_path=ROOT / "configs/eval.tiny.yaml")


def test_bundled_envelope_shows_every_cap() -> None:
    text = (ROOT / "configs/eval.cli.yaml").read_text(encoding="utf-8")
    for key in ("resume_from", "max_requests", "max_total_tokens", "requests_per_minute", "max_infrastructure_stops"):
        assert f"# {key}: " in text


def test_executable_run_may_not_leave_the_oracle_unprobed(tmp_path: Path) -> None:
    envelope = load_envelope(write_envelope(tmp_path, probe_oracle=False))
    check_probe(envelope, executable=False)
    (problem,) = refused(lambda: check_probe(envelope, executable=True))
    assert str(problem) == (
        f"{envelope.path}: eval_source_oracle_resource_mismatch: probe_oracle is false; expected true, as tasks "
        f"are driven "
        "against the oracle\n  fix: set `probe_oracle` to true, or evaluate `[trace]` only"
    )
