"""A person's mistake is one clear coded block with its place and its fix, no traceback, and nothing published."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packs import Edit, drop, put, put_template, replace, text
from tests.system.project import Ended, Project, write_project


def refused(project: Project, *arguments: str) -> Ended:
    """A refused run: status 1, coded blocks on standard error only, no traceback, no publication."""
    ended = project.doit(*(arguments or ("generate",)))
    assert ended.status == 1, ended.out + ended.err
    assert "Traceback" not in ended.out + ended.err
    assert ended.blocks
    assert project.published() == []
    return ended


# --- configuration: nothing is touched, an earlier publication stays ---


def unknown_key(project: Project) -> None:
    project.configure(task_generation__task_per_category=4)


def wrong_type(project: Project) -> None:
    project.configure(random_seed="seven")


def syntax_error(project: Project) -> None:
    project.append(project.config, "lineage: [\n")


def duplicate_key(project: Project) -> None:
    project.append(project.config, "family: bfcl\n")


def no_family(project: Project) -> None:
    mapping = project.config.read_text(encoding="utf-8")
    project.config.write_text(mapping.replace("family: bfcl\n", ""), encoding="utf-8")


def export(project: Project) -> None:
    project.configure(exports={"csv": True})


def inside_pack(project: Project) -> None:
    project.configure(output_dir="../packs/studio/out")


def outside_roots(project: Project) -> None:
    project.configure(oracle_pack__manifest_path="/etc/manifest.yaml")


CONFIGURATION = [
    (
        unknown_key,
        "configs/tiny.yaml:13: generation_config_invalid: task_generation.task_per_category",
        "did you mean `tasks_per_category`?",
    ),
    (wrong_type, "configs/tiny.yaml:10: generation_config_invalid: random_seed", None),
    (syntax_error, "configs/tiny.yaml:14: generation_config_invalid: not YAML: ", None),
    (
        duplicate_key,
        "configs/tiny.yaml:13: generation_config_invalid: key 'family' is given twice",
        "keep one of the two",
    ),
    (no_family, "configs/tiny.yaml:1: missing_family_pin: ", None),
    (export, "configs/tiny.yaml:14: unsupported_config_feature: exports.csv is not a key of `exports`", None),
    (inside_pack, "configs/tiny.yaml:3: output_inside_pack: output_dir", "name a directory beside the pack"),
    (outside_roots, "configs/tiny.yaml:5: pack_outside_allowlist: `manifest`: ", None),
]


@pytest.mark.parametrize(("edit", "start", "fix"), CONFIGURATION, ids=lambda value: getattr(value, "__name__", None))
def test_refused_configuration_touches_nothing(
    built: Project, edit: Callable[[Project], None], start: str, fix: str | None
) -> None:
    edit(built)
    before = built.snapshot()
    ended = built.doit("generate")
    assert ended.status == 1
    assert "Traceback" not in ended.out + ended.err
    (block,) = ended.blocks
    assert block.startswith(start)
    if fix is not None:
        assert block.endswith(f"\n  fix: {fix}")
    assert built.snapshot() == before


def test_all_mistakes_of_a_configuration_are_told_at_once(built: Project) -> None:
    built.configure(random_seed="seven", task_generation__tasks_per_category=0, lineage__policy="loose", colour="red")
    ended = built.doit("generate")
    assert ended.status == 1
    assert len(ended.blocks) == 4
    assert all(block.startswith("configs/tiny.yaml:") for block in ended.blocks)


# --- pack ---


def at(name: str, line: int | None = None) -> str:
    return f"packs/studio/{name}" + ("" if line is None else f":{line}")


PACK: list[tuple[str, Edit, str]] = [
    ("missing tools", drop("tools.json"), "pack_file_missing: "),
    ("missing backend", drop("backend.py"), "packs/studio: oracle_missing: "),
    ("templates not YAML", text("task_templates.yaml", "- template_id: [\n"), at("task_templates.yaml", 2) + ": "),
    ("tools not JSON", text("tools.json", "[{]\n"), at("tools.json", 1) + ": "),
    (
        "unknown slot source",
        put_template("kiln_status", ("slots", "kiln_id", "source"), "kilnz:everywhere"),
        at("task_templates.yaml") + ":",
    ),
    (
        "unknown collection",
        put_template("kiln_status", ("slots", "kiln_id", "source"), "fixture:ovens.kiln_id"),
        at("task_templates.yaml") + ":",
    ),
    (
        "unbound placeholder",
        put_template("kiln_status", ("user_turn_templates", "en"), "Is kiln {kiln} at {kiln_id} free?"),
        at("task_templates.yaml") + ":",
    ),
    (
        "unknown tool",
        put_template("kiln_status", ("required_tools",), ["get_kil"]),
        at("task_templates.yaml") + ":",
    ),
    ("duplicate key", text("manifest.yaml", "pack_id: one\npack_id: two\n"), at("manifest.yaml", 2) + ": "),
    ("wrong type", put("manifest.yaml", ("primary_keys",), ["kilns"]), at("manifest.yaml") + ":"),
]


@pytest.mark.parametrize(("edit", "start"), [case[1:] for case in PACK], ids=[case[0] for case in PACK])
def test_broken_pack_is_refused_by_file_and_line(tmp_path: Path, edit: Edit, start: str) -> None:
    project = write_project(tmp_path / "project", edit)
    ended = refused(project)
    assert any(start in block.split("\n")[0] for block in ended.blocks), ended.err


# --- oracle ---

HANGS = replace(
    "backend.py", "def _get_firing(firing_id):\n", "def _get_firing(firing_id):\n    while True:\n        pass\n"
)


def oracle_findings(tmp_path: Path, *edits: Edit, **config: object) -> Ended:
    ended = refused(write_project(tmp_path / "project", *edits, **config))
    assert ended.blocks[0].startswith("non_gold_pack: kiln_studio: tier ")
    assert ended.blocks[0].endswith("\n  fix: mend what follows, then run `doit prepare`")
    return ended


def test_tool_that_hangs_is_stopped_at_its_deadline_and_named(tmp_path: Path) -> None:
    ended = oracle_findings(tmp_path, HANGS, oracle_runtime__tool_timeout_s=0.2)
    assert any("tool_timeout" in block and "0.2 s" in block for block in ended.blocks), ended.err


@pytest.mark.parametrize(
    ("leak", "suspect"),
    [
        ("import time; kiln['seen'] = int(time.time())", "time.time"),
        ("import datetime; kiln['seen'] = datetime.date.today().isoformat()", "today"),
        ("import random; kiln['seen'] = random.random()", "random"),
        ("kiln['tags'] = list({'warm', 'dry', 'tall', 'wide', 'deep', 'lit', 'old', 'big'})", "set"),
        ("import os; kiln['seen'] = os.environ.get('TZ')", "environ"),
    ],
    ids=["second", "day", "random", "set order", "environment"],
)
def test_ambient_leak_is_found_and_its_line_named(tmp_path: Path, leak: str, suspect: str) -> None:
    edit = replace(
        "backend.py",
        '    return {"kiln": copy.deepcopy(_STATE["kilns"][kiln_id])}',
        f'    kiln = copy.deepcopy(_STATE["kilns"][kiln_id])\n    {leak}\n    return {{"kiln": kiln}}',
    )
    ended = oracle_findings(tmp_path, edit)
    assert "nondeterministic" in ended.err
    assert "backend.py:" in ended.err
    assert suspect in ended.err


def test_failing_assertion_is_told_with_its_own_words(tmp_path: Path) -> None:
    edit = replace("assertions.py", 'assert calls, "the kiln was not looked up"', 'assert not calls, "kiln looked up"')
    ended = oracle_findings(tmp_path, edit)
    assert "kiln looked up" in ended.err


def test_thread_worker_is_never_gold(fresh: Project) -> None:
    fresh.configure(oracle_runtime__worker="thread")
    ended = refused(fresh)
    assert ended.err.startswith("non_gold_pack: kiln_studio: tier ")


def test_prepare_reports_a_pack_below_gold_and_succeeds(tmp_path: Path) -> None:
    broken = replace("assertions.py", 'assert calls, "the kiln was not looked up"', "assert not calls")
    project = write_project(tmp_path / "project", broken)
    ended = project.doit("prepare")
    assert ended.status == 0, ended.err
    line = next(line for line in ended.out.splitlines() if line.startswith("prepare: "))
    assert not line.startswith("prepare: gold")
    assert str(project.run_dir / "stage_cache" / "oracle_validation_report.json") in line


def test_pack_that_fell_below_gold_takes_its_old_publication_with_it(built: Project) -> None:
    built.append(built.pack / "backend.py", "\n\ndef get_state():\n    return 7\n")
    ended = refused(built)
    assert "state_not_serializable" in ended.err
    assert built.published() == []


def test_budget_below_the_widest_category_is_refused(fresh: Project) -> None:
    fresh.configure(task_generation__tasks_per_category=1)
    ended = refused(fresh)
    text = fresh.config.read_text(encoding="utf-8")
    line = 1 + text[: text.index("tasks_per_category:")].count("\n")
    assert f"configs/tiny.yaml:{line}: category_budget_too_small: " in ended.err
    assert "kilns" in ended.err


def test_output_directory_that_is_a_file_is_refused(fresh: Project) -> None:
    fresh.build.mkdir()
    (fresh.build / "runs").write_text("in the way\n")
    ended = refused(fresh)
    assert ended.blocks == [
        f"storage_failed: {fresh.run_dir / '.bfcl.lock'}: cannot write: Not a directory\n"
        "  fix: free space or make the directory writable, then run the same command again"
    ]


def test_build_directory_that_is_a_file_is_refused(fresh: Project) -> None:
    fresh.build.write_text("in the way\n")
    ended = fresh.doit("generate")
    assert ended.status == 1
    assert "Traceback" not in ended.out + ended.err
    assert "storage_failed" in ended.err


def test_log_directory_that_is_a_file_is_refused(fresh: Project) -> None:
    fresh.build.mkdir()
    (fresh.build / "log").write_text("in the way\n")
    ended = fresh.doit("generate")
    assert ended.status == 1
    assert "Traceback" not in ended.out + ended.err


def test_pack_outside_the_roots_is_placed_in_the_configuration(built: Project) -> None:
    built.configure(oracle_pack__manifest_path="/etc/manifest.yaml")
    text = (built.root / "configs" / "tiny.yaml").read_text(encoding="utf-8")
    line = 1 + text[: text.index("manifest_path:")].count("\n")
    (block,) = built.doit("generate").blocks
    assert block.startswith(f"configs/tiny.yaml:{line}: pack_outside_allowlist: ")
