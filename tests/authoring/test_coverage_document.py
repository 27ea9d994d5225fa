"""A coverage as one document."""

from __future__ import annotations

from pathlib import Path

from bfcl.authoring.coverage import Coverage, coverage
from bfcl.authoring.coverage_document import document
from bfcl.pack.own_config import load_own
from tests.packs import Edit, drop, put_template, write_pack


def covered(tmp_path: Path, *edits: Edit, budget: int | None = None) -> Coverage:
    """As the cases declare it, without running a probe."""
    own = load_own(write_pack(tmp_path / "pack", *edits))
    source = own.pack.files["assertions"].path.read_bytes()
    return coverage(own.pack, own.loaded.config, None, source, budget=budget)


def test_document_of_a_good_pack_is_complete_and_names_it(tmp_path: Path) -> None:
    found = covered(tmp_path)
    told = document(found)
    assert list(told) == [
        "schema_version",
        "status",
        "pack_id",
        "version",
        "pack_fingerprint",
        "probes_run",
        "tools",
        "policies",
        "templates",
        "categories",
        "collections",
        "missing",
    ]
    assert (told["schema_version"], told["status"], told["missing"]) == ("1.0", "complete", [])
    assert (told["pack_id"], told["version"]) == (found.pack.manifest.pack_id, found.pack.manifest.version)
    assert (told["pack_fingerprint"], told["probes_run"]) == (found.pack.fingerprint, False)


def test_document_places_what_is_missing_and_says_what_to_do(tmp_path: Path) -> None:
    told = document(covered(tmp_path, drop("validation_cases.yaml", (4,))))
    assert told["status"] == "incomplete"
    assert told["missing"] == [
        {
            "code": "incomplete_validation_coverage",
            "subject": None,
            "message": "`get_firing` has no negative probe; expected at least one",
            "file": f"{tmp_path}/pack/tools.json",
            "line": 25,
            "fix": "add a case that the tool refuses; for a refusal told as a plain result say `coverage: negative`",
        }
    ]


def test_document_tells_how_far_bindings_miss_the_budget(tmp_path: Path) -> None:
    told = document(covered(tmp_path, budget=20))
    assert told["categories"] == [
        {"category": "kilns", "templates": 2, "budget": 20, "bindings": 15, "shortfall": 5},
        {"category": "firings", "templates": 1, "budget": 20, "bindings": 4, "shortfall": 16},
        {"category": "out_of_scope", "templates": 1, "budget": 20, "bindings": 2, "shortfall": 18},
    ]
    assert told["status"] == "complete"


def test_document_says_null_for_a_template_that_binds_nothing(tmp_path: Path) -> None:
    edit = put_template("kiln_status", ("slots", "kiln_id", "filter"), 'zone == "west"')
    told = document(covered(tmp_path, edit))
    assert isinstance(told["templates"], list)
    assert told["templates"][0] == {
        "template_id": "kiln_status",
        "category": "kilns",
        "turn_policy": "single_turn",
        "reserved": False,
        "bindings": None,
        "bindings_at_least": False,
        "tasks": 0,
    }
