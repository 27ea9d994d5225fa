"""`bfcl scaffold-oracle-pack`: what is written, what is said, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.authoring.scaffold.order import read_order
from bfcl.authoring.scaffold.starter import starter_files
from tests.cli.conftest import Ended

Bfcl = Callable[..., Ended]
FIX = "  fix: choose another `--target`; nothing that exists is overwritten\n"
NOT_TRANSLATED = (
    "no texts for `pt-BR` come with this release, only for de, en, es, fr, ja, vi, zh; "
    "the conversations are English until you translate them"
)


def tree(root: Path) -> dict[str, bytes]:
    """Every file below `root`."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_success_prints_the_absolute_path_of_the_new_directory(bfcl: Bfcl, project: Path) -> None:
    ended = bfcl("scaffold-oracle-pack", "--domain", "Order Desk", "--target", "packs/desk")
    assert ended == (0, f"{project}/packs/desk\n", "")
    order = read_order(domain="order_desk", transport="python", language="en", version="0.1.0", held_out=False)
    assert tree(project / "packs" / "desk") == starter_files(order, "desk")


def test_flags_reach_the_pack(bfcl: Bfcl, project: Path) -> None:
    flags = ["--transport", "endpoint", "--language", "vi", "--version", "2", "--include-held-out"]
    assert bfcl("scaffold-oracle-pack", "--domain", "Đặt vé", "--target", "x/../ve", *flags).status == 0
    order = read_order(domain="dat_ve", transport="endpoint", language="vi", version="2", held_out=True)
    assert tree(project / "ve") == starter_files(order, "ve")


def test_document_names_directory_and_files(bfcl: Bfcl, project: Path) -> None:
    ended = bfcl("scaffold-oracle-pack", "--domain", "desk", "--target", "desk", "--format", "json")
    assert (ended.status, ended.err) == (0, "")
    assert json.loads(ended.out) == {
        "status": "created",
        "pack": str(project / "desk"),
        "files": sorted(tree(project / "desk")),
        "warnings": [],
    }


def test_language_without_texts_is_a_warning_beside_the_path(bfcl: Bfcl, project: Path) -> None:
    ended = bfcl("scaffold-oracle-pack", "--domain", "desk", "--target", "desk", "--language", "pt-BR")
    assert ended == (0, f"{project}/desk\n", f"warning: language_not_translated: {NOT_TRANSLATED}\n")


def test_language_without_texts_is_a_warning_in_the_document(bfcl: Bfcl, project: Path) -> None:
    flags = ["--language", "pt-BR", "--format", "json"]
    ended = bfcl("scaffold-oracle-pack", "--domain", "desk", "--target", "desk", *flags)
    assert (ended.status, ended.err) == (0, "")
    assert json.loads(ended.out)["warnings"] == [{"code": "language_not_translated", "message": NOT_TRANSLATED}]


@pytest.mark.parametrize("transport", ["python", "endpoint"])
def test_second_scaffold_in_the_same_place_is_refused(bfcl: Bfcl, project: Path, transport: str) -> None:
    bfcl("scaffold-oracle-pack", "--domain", "desk", "--target", "desk")
    before = tree(project)
    ended = bfcl("scaffold-oracle-pack", "--domain", "other", "--target", "desk", "--transport", transport)
    assert ended == (1, "", f"desk: target_exists: is there already; expected a new path\n{FIX}")
    assert tree(project) == before


def test_flags_at_fault_are_all_named_and_nothing_is_made(bfcl: Bfcl, project: Path) -> None:
    flags = ["--target", "x/desk", "--language", "pt_BR", "--version", " "]
    ended = bfcl("scaffold-oracle-pack", "--domain", "24h", *flags)
    said = (
        "domain_invalid: --domain: `24h` makes the pack id `24h`; expected a letter from a to z first\n"
        "  fix: name it like `order_desk`\n"
        "language_invalid: --language: `pt_BR` is no language tag; expected one such as `en` or `pt-BR`\n"
        "  fix: did you mean `pt-BR`?\n"
        "version_invalid: --version: ` ` is no version; expected printable text\n"
        "  fix: leave it out for `0.1.0`\n"
    )
    assert ended == (1, "", said)
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("language", ["ja", "pt-BR"])
def test_static_check_finds_nothing_in_a_new_pack(bfcl: Bfcl, language: str) -> None:
    bfcl("scaffold-oracle-pack", "--domain", "desk", "--target", "desk", "--language", language, "--include-held-out")
    assert bfcl("check", "desk", "--format", "text") == (0, "desk: 0 errors, 0 warnings\n", "")


@pytest.mark.parametrize("language", ["ja", "pt-BR"])
def test_static_check_of_a_new_pack_of_a_service_misses_its_attestation_alone(bfcl: Bfcl, language: str) -> None:
    flags = ["--language", language, "--transport", "endpoint", "--include-held-out"]
    bfcl("scaffold-oracle-pack", "--domain", "desk", "--target", "desk", *flags)
    status, out, err = bfcl("check", "desk", "--format", "text")
    assert (status, err) == (2, "")
    first, last = out.splitlines()
    assert first.startswith("desk/endpoint_config.yaml: error endpoint_attestation_missing: ")
    assert last == "desk: 1 error, 0 warnings"


@pytest.mark.parametrize("held_out", [[], ["--include-held-out"]], ids=["plain", "held_out"])
def test_assertions_of_a_new_pack_notice_every_wrong_trace(bfcl: Bfcl, held_out: list[str]) -> None:
    bfcl("scaffold-oracle-pack", "--domain", "desk", "--target", "desk", *held_out)
    ended = bfcl("probe-assertions", "desk", "--format", "text")
    assert ended.status == 0
    assert ended.out.endswith("\n17 of 17 mutants noticed, score 1.00, 0 weak of 4 assertions\n")


@pytest.mark.parametrize("missing", ["--domain", "--target"])
def test_required_flag_left_out_ends_in_one(bfcl: Bfcl, missing: str) -> None:
    flags = {"--domain": "desk", "--target": "desk"}
    del flags[missing]
    ended = bfcl("scaffold-oracle-pack", *[word for pair in flags.items() for word in pair])
    assert (ended.status, ended.out) == (1, "")
    assert f"Missing option '{missing}'" in ended.err


def test_unknown_transport_ends_in_one(bfcl: Bfcl) -> None:
    ended = bfcl("scaffold-oracle-pack", "--domain", "desk", "--target", "desk", "--transport", "mcp")
    assert (ended.status, ended.out) == (1, "")
    assert "'mcp' is not one of 'python', 'endpoint'" in ended.err
