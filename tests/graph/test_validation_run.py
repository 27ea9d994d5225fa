"""One validation: a verdict with its report, or a refusal that names what a person has to mend."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from bfcl.canonical import Json
from bfcl.config.load import LoadedConfig, load_config
from bfcl.errors import ConfigError, DriftError
from bfcl.graph.validation_evidence import ValidationEvidence
from bfcl.graph.validation_parts import Parts
from bfcl.graph.validation_run import run_checks
from bfcl.graph.verdicts import reuse_line
from bfcl.pack.load import load_configured
from bfcl.pack.model import Pack
from tests.graph.projects import write_project
from tests.packs import Edit, append


def loaded(root: Path, *edits: Edit, **config: object) -> LoadedConfig:
    project = write_project(root, *edits, **config)
    return load_config(project / "configs" / "tiny.yaml", project=project, command="prepare")


def test_report_tells_the_verdict(tmp_path: Path) -> None:
    config = loaded(tmp_path.resolve())
    verdict, report = run_checks(config, load_configured(config), jobs=2)
    assert verdict.tier == "gold"
    assert json.loads(report)["tier"] == "gold"


def test_language_that_no_template_offers_is_refused_at_its_line(tmp_path: Path) -> None:
    config = loaded(tmp_path.resolve(), surface_generation__language="vi")
    with pytest.raises(ConfigError) as caught:
        run_checks(config, load_configured(config), jobs=1)
    line = config.document.line(("surface_generation", "language"))
    assert str(caught.value).startswith(
        f"configs/tiny.yaml:{line}: generation_config_invalid: `vi` is not offered by every template; without it: "
    )


class Editing(ValidationEvidence):
    """Evidence that somebody edits the pack beside, or that is interrupted, when the last check is done."""

    def __init__(self, path: Path, config: LoadedConfig, pack: Pack, *, then: Callable[[], None]) -> None:
        super().__init__(path, Parts(pack, config.config), fresh=False)
        self._then = then

    def keep(self, name: str, reads: frozenset[str], value: Json) -> None:
        super().keep(name, reads, value)
        if name == "I1":
            self._then()


def interrupt() -> NoReturn:
    raise KeyboardInterrupt


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "evidence"


def test_pack_that_moves_meanwhile_has_no_verdict_and_leaves_no_evidence(tmp_path: Path, kept: Path) -> None:
    config = loaded(tmp_path.resolve())
    pack = load_configured(config)
    notes = pack.root / "notes.txt"
    with pytest.raises(DriftError) as caught:
        run_checks(config, pack, jobs=2, evidence=Editing(kept, config, pack, then=notes.touch))
    assert str(caught.value) == (
        "pack_drift: tree/notes.txt: added since the pack was read (an undeclared file; no declared oracle input "
        "changed)\n  fix: run again once nothing writes into the pack; keep notes beside it"
    )
    assert not kept.exists()


@pytest.mark.parametrize("moved", [False, True])
def test_interrupted_run_leaves_evidence_unless_the_pack_moved(tmp_path: Path, kept: Path, moved: bool) -> None:
    config = loaded(tmp_path.resolve())
    pack = load_configured(config)

    def end() -> None:
        if moved:
            (pack.root / "notes.txt").touch()
        interrupt()

    with pytest.raises(KeyboardInterrupt):
        run_checks(config, pack, jobs=2, evidence=Editing(kept, config, pack, then=end))
    assert kept.exists() is not moved


def test_evidence_is_about_the_files_as_they_were_loaded_though_they_change_for_a_while(
    tmp_path: Path, kept: Path
) -> None:
    config = loaded(tmp_path.resolve())
    page = config.config.pack_root / "README.md"
    page.write_text("BFCL-TODO\n", encoding="utf-8")
    pack = load_configured(config)
    page.write_text("reviewed\n", encoding="utf-8")
    with pytest.raises(DriftError) as caught:
        run_checks(config, pack, jobs=2, evidence=Editing(kept, config, pack, then=interrupt))
    assert [one.subject for one in caught.value.problems] == ["tree/README.md"]
    page.write_text("BFCL-TODO\n", encoding="utf-8")
    assert not kept.exists()


READS_A_PAGE = append(
    "backend.py",
    "\nimport pathlib\n_NOTES = (pathlib.Path(__file__).parent / ('READ' + 'ME.md')).read_text()\n",
)


@pytest.mark.parametrize(("edits", "reused"), [((), 12), ((READS_A_PAGE,), 4)])
def test_edit_to_a_page_reruns_checks_only_where_code_looked_at_one(
    tmp_path: Path, kept: Path, edits: tuple[Edit, ...], reused: int
) -> None:
    config = loaded(tmp_path.resolve(), *edits)
    evidence = None
    for round_ in range(2):
        (config.config.pack_root / "README.md").write_text(f"Round {round_}.\n", encoding="utf-8")
        pack = load_configured(config)
        evidence = ValidationEvidence(kept, Parts(pack, config.config), fresh=False)
        verdict, _ = run_checks(config, pack, jobs=2, evidence=evidence)
        assert verdict.tier == "gold"
    assert evidence is not None
    assert reuse_line(verdict, evidence.asked).startswith(f"checks: {reused} reused, ")
