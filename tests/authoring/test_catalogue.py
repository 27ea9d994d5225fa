from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.authoring import catalogue as module
from bfcl.authoring.catalogue import Explanation, catalogue, explain
from bfcl.errors import ConfigError

PAGE = """# Codes

| code | cause |
|---|---|
| `not_this` | two cells only |

## Loading

| code | cause | fix | example |
|---|---|---|---|
| `bad_pipe` | One \\| two, see [there](x.md) | Do ``a `b` `` | `x` |
| `of_problem: detail` | C | F | E |
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "codes.md"
    path.write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(module, "_INSTALLED", path)
    catalogue.cache_clear()
    yield path
    catalogue.cache_clear()


def test_catalogue_reads_every_row_of_four_cells_with_its_heading(page: Path) -> None:
    assert catalogue() == {
        "bad_pipe": Explanation(
            code="bad_pipe",
            kind="Loading",
            cause="One | two, see [there](x.md)",
            fix="Do ``a `b` ``",
            example="`x`",
        ),
        "of_problem": Explanation(code="of_problem", kind="Loading", cause="C", fix="F", example="E"),
    }


def test_plain_text_has_no_links_and_no_double_backticks(page: Path) -> None:
    found = catalogue()["bad_pipe"]
    assert found.plain(found.cause) == "One | two, see there"
    assert found.plain(found.fix) == "Do a `b`"


def test_unknown_codes_are_all_refused_with_the_closest_one(page: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        explain(("bad_pip", "zzz"))
    assert [str(problem) for problem in caught.value.problems] == [
        "unknown_code: bad_pip: no such code\n  fix: did you mean `bad_pipe`?",
        "unknown_code: zzz: no such code\n  fix: run `bfcl explain --list` for all of them",
    ]


def test_installation_without_the_page_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "codes.md"
    monkeypatch.setattr(module, "_INSTALLED", missing)
    monkeypatch.setattr(module, "_CHECKOUT", missing)
    catalogue.cache_clear()
    with pytest.raises(ConfigError) as caught:
        catalogue()
    assert str(caught.value.problems[0]) == (
        f"catalogue_missing: this installation lacks {missing}: No such file or directory\n"
        "  fix: install `bfcl-build` again"
    )


def test_documentation_page_explains_the_codes_of_the_checks() -> None:
    known = catalogue()
    assert known["unknown_tool"].kind == "Checks of a pack"
    assert all(one.cause and one.fix for one in known.values())
