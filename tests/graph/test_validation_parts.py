"""What a kept finding depends on: an edit changes the digests of the parts it touches and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.checks.report import settings_read
from bfcl.graph.validation_parts import SETTINGS, VIEW_WITHOUT_PAGES, Parts, shut_in
from bfcl.pack.load import load_pack
from tests.packs import BASE, Edit, append, drop, put, put_template, run_config, text, write_pack

NAMES = (
    "manifest",
    "tools",
    "templates",
    "fixtures",
    "validation_cases",
    "held_out",
    "view",
    VIEW_WITHOUT_PAGES,
    "config",
    "budget",
    "surface",
    "review_markers",
)
VIEWS = {"view", VIEW_WITHOUT_PAGES}
EVERY = (*NAMES, *(f"template/{template_id}" for template_id in BASE))


def digests(root: Path, *edits: Edit, **config: object) -> dict[str, str]:
    pack = write_pack(root, *edits)
    settings = run_config(pack, **config)
    parts = Parts(load_pack(settings, project=root.parent), settings)
    return {name: parts.digest(name) for name in EVERY}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return digests(tmp_path_factory.mktemp("before") / "pack")


@pytest.mark.parametrize(
    ("edit", "touched"),
    [
        (append("README.md", "more\n"), {"view"}),
        (text("validate.yaml", "{}\n"), VIEWS),
        (text("README/notes.md", "more\n"), VIEWS),
        (text("notes/README.md", "more\n"), VIEWS),
        (text("README.py", "X = 1\n"), VIEWS),
        (append("validation_cases.yaml", "# a comment\n"), set()),
        (append("task_templates.yaml", "# a comment\n"), set()),
        (append("backend.py", "# a comment\n"), VIEWS),
        (append("README.md", "BFCL-TODO\n"), {"view", "review_markers"}),
        (append("assertions.py", "# a comment\n"), VIEWS),
        (put("validation_cases.yaml", (0, "id"), "another"), {"validation_cases"}),
        (put("manifest.yaml", ("description",), "Another."), {"manifest", *VIEWS}),
        (put("tools.json", (0, "function", "description"), "Another."), {"tools", *VIEWS}),
        (put("fixtures.json", ("opening_hours",), "8-16"), {"fixtures", *VIEWS}),
        (
            put_template("kiln_status", ("difficulty",), "hard"),
            {"templates", "template/kiln_status"},
        ),
        (drop("manifest.yaml", ("absent_ids",)), {"manifest", *VIEWS}),
        (text("lib.py", "X = 1\n"), VIEWS),
    ],
)
def test_edit_touches_the_parts_it_is_in(tmp_path: Path, before: dict[str, str], edit: Edit, touched: set[str]) -> None:
    after = digests(tmp_path / "pack", edit)
    assert {name for name in EVERY if after[name] != before[name]} == touched


def test_edit_to_the_validate_yaml_is_one_to_a_page(tmp_path: Path) -> None:
    one, other = (digests(tmp_path / each / "pack", text("validate.yaml", each)) for each in ("one", "other"))
    assert {name for name in EVERY if one[name] != other[name]} == {"view"}


@pytest.mark.parametrize(
    ("config", "touched"),
    [
        ({"oracle_runtime__clock": "2027-01-01T00:00:00+00:00"}, {"config"}),
        ({"oracle_runtime__worker": "thread"}, {"config"}),
        ({"oracle_runtime__tool_timeout_s": 9.0}, {"config"}),
        ({"random_seed": 8}, {"config"}),
        ({"expt_name": "other"}, set()),
        ({"surface_generation__language": "en"}, {"surface"}),
        ({"lineage__policy": "smoke_no_publication"}, {"surface"}),
        ({"task_generation__tasks_per_category": 3}, {"budget"}),
    ],
)
def test_setting_touches_the_configuration_where_validation_reads_it(
    tmp_path: Path, before: dict[str, str], config: dict[str, object], touched: set[str]
) -> None:
    after = digests(tmp_path / "pack", **config)
    assert {name for name in EVERY if after[name] != before[name]} == touched


def test_every_setting_that_validation_reads_is_in_one_part(tmp_path: Path) -> None:
    keys = [key for part in SETTINGS.values() for key in part]
    assert sorted(keys) == sorted(settings_read(run_config(write_pack(tmp_path / "pack"))))


def test_place_of_the_pack_is_no_part_of_it(tmp_path: Path, before: dict[str, str]) -> None:
    assert digests(tmp_path / "elsewhere" / "renamed") == before


def test_order_in_which_an_author_wrote_counts(tmp_path: Path, before: dict[str, str]) -> None:
    one, other = {"a": "x", "b": "y"}, {"b": "y", "a": "x"}
    first = digests(tmp_path / "one", put("fixtures.json", ("extra",), one))
    second = digests(tmp_path / "other", put("fixtures.json", ("extra",), other))
    assert len({first["fixtures"], second["fixtures"], before["fixtures"]}) == 3


def test_part_there_is_not_is_a_fault(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "pack")
    settings = run_config(pack)
    parts = Parts(load_pack(settings, project=tmp_path), settings)
    for name in ("readme", "template/nobody"):
        with pytest.raises(KeyError):
            parts.digest(name)


def test_what_this_machine_allows_is_the_same_when_asked_again() -> None:
    assert shut_in() == shut_in()
