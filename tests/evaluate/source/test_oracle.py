"""Gates ten and eleven: the pack is the one that the benchmark was made with, and its oracle answers."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import pytest

from bfcl.digest import sha256_file, sha256_of
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.source.oracle import check_oracle, probe
from bfcl.evaluate.source.verified import CheckedOracle
from bfcl.pack.fingerprint import fingerprint, read_tree
from bfcl.release.read import open_release
from tests.evaluate.source.builder import LIMITS, Site, put
from tests.packs import CLOCK

PACK = " (gate ten, the oracle's pack)\n  fix: "
PROBE = " (gate eleven, the oracle's callables)\n  fix: "
RESTORE = "restore the pack as it was, or generate the benchmark again and evaluate that one"
OTHER = sha256_of(b"other")


def check(site: Site, settings: EvalSettings | None = None) -> Callable[[], CheckedOracle | None]:
    chosen = settings or site.settings()
    return lambda: check_oracle(chosen, open_release(site.run_dir))


def checked(site: Site, **edits: Any) -> CheckedOracle:
    oracle = check(site, site.settings(**edits))()
    assert oracle is not None
    return oracle


def append(site: Site, name: str, text: str) -> None:
    path = site.pack / name
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def forge(site: Site) -> None:
    """Let the release vouch for the pack as it lies there."""
    entries = read_tree(site.pack, {}).digests
    site.edit_manifest(put(("pack", "files"), dict(entries)), put(("pack", "content_hash"), fingerprint(entries)))


def moved(name: str, what: str, now: str, was: str, tag: str) -> str:
    told = f"tree/{name} {what} since the benchmark was made: the pack has {now}, run_manifest.json says {was} ({tag})"
    return f"packs/studio/{name}: eval_source_oracle_pack_drift: {told}{PACK}{RESTORE}"


def test_check_oracle_gives_the_pack_and_how_its_worlds_start(site: Site) -> None:
    oracle = checked(site)
    assert oracle.pack.fingerprint == site.manifest()["pack"]["content_hash"]
    assert oracle.resource_hash == sha256_file(site.pack / "backend.py")
    runtime = oracle.config.oracle_runtime
    assert (runtime.clock, runtime.tool_timeout_s, runtime.episode_timeout_s) == (CLOCK, 10.0, 60.0)
    assert {runtime.assertion_timeout_s, runtime.import_timeout_s, runtime.reset_timeout_s} == {10.0}


def test_check_oracle_asks_nothing_of_a_configuration_without_an_oracle(site: Site) -> None:
    (site.pack / "backend.py").unlink()
    assert check(site, site.settings(trace_only=True))() is None


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("backend.py", "backend"),
        ("assertions.py", "assertions"),
        ("task_templates.yaml", "templates"),
        ("manifest.yaml", "manifest"),
    ],
)
def test_gate_ten_names_a_declared_file_whose_comment_changed(name: str, role: str, site: Site) -> None:
    was = sha256_file(site.pack / name)
    append(site, name, "# a comment\n")
    now = sha256_file(site.pack / name)
    origin = "named by the configuration" if role == "manifest" else "under its usual name"
    tag = f"a declared oracle input: `{role}`, {origin}"
    assert site.told(check(site)) == [moved(name, "changed", now, was, tag)]


def test_gate_ten_names_every_file_and_tags_those_that_nobody_declared(site: Site) -> None:
    (site.pack / "notes.txt").write_bytes(b"other")
    was = sha256_file(site.pack / "validation_cases.yaml")
    (site.pack / "validation_cases.yaml").unlink()
    undeclared = "not a declared oracle input, and still part of the pack"
    declared = "a declared oracle input: `validation_cases` of the run"
    assert site.told(check(site)) == [
        moved("notes.txt", "was added", OTHER, "none", undeclared),
        moved("validation_cases.yaml", "was removed", "none", was, declared),
    ]


def test_gate_ten_tells_drift_of_a_pack_that_no_longer_loads(site: Site) -> None:
    was = sha256_file(site.pack / "task_templates.yaml")
    append(site, "task_templates.yaml", "\n: : :\n")
    now = sha256_file(site.pack / "task_templates.yaml")
    tag = "a declared oracle input: `templates`, under its usual name"
    assert site.told(check(site)) == [moved("task_templates.yaml", "changed", now, was, tag)]


def test_gate_ten_tells_drift_of_a_pack_whose_manifest_is_gone(site: Site) -> None:
    was = sha256_file(site.pack / "manifest.yaml")
    (site.pack / "manifest.yaml").unlink()
    tag = "a declared oracle input: `manifest` of the run"
    assert site.told(check(site)) == [moved("manifest.yaml", "was removed", "none", was, tag)]


def test_gate_ten_says_why_a_pack_does_not_load_that_did_not_move(site: Site) -> None:
    append(site, "task_templates.yaml", "\n- 3\n")
    forge(site)
    (told,) = site.told(check(site))
    assert told.startswith("packs/studio/task_templates.yaml:")
    assert ": eval_source_oracle_resource_mismatch: " in told
    assert PACK in told


def test_gate_ten_refuses_bytecode(site: Site) -> None:
    (site.pack / "__pycache__").mkdir()
    assert site.told(check(site)) == [
        "packs/studio: eval_source_oracle_pack_drift: Python bytecode lies in the pack: "
        f"`packs/studio/__pycache__`{PACK}delete it, and set PYTHONDONTWRITEBYTECODE=1 where you import the pack "
        "yourself"
    ]


def test_gate_ten_refuses_a_resource_that_moved_since_the_configuration_was_read(site: Site) -> None:
    settings = site.settings()
    was = settings.source.oracle_hash
    append(site, "backend.py", "# a comment\n")
    told = f"`backend.py` has {sha256_file(site.pack / 'backend.py')}; the evaluation was configured with {was}"
    assert site.told(check(site, settings)) == [
        f"packs/studio/backend.py: eval_source_oracle_pack_drift: {told}{PACK}"
        "start the evaluation again once nobody edits the pack"
    ]
    (site.pack / "backend.py").unlink()
    assert site.told(check(site, settings)) == [
        "packs/studio/backend.py: eval_source_oracle_pack_drift: `backend.py` cannot be read: No such file or "
        f"directory; the evaluation was configured with it{PACK}{RESTORE}"
    ]


def test_gate_ten_refuses_a_resource_that_the_pack_does_not_select(site: Site) -> None:
    other = site.pack / "other.py"
    other.write_bytes(b"other")
    settings = site.settings()
    assert settings.oracle is not None
    settings = dataclasses.replace(
        settings,
        oracle=dataclasses.replace(settings.oracle, resource=other),
        source=dataclasses.replace(settings.source, oracle_hash=OTHER),
    )
    assert site.told(check(site, settings)) == [
        "packs/studio/manifest.yaml: eval_source_oracle_resource_mismatch: source_oracle.resource is tree/other.py, "
        f"the pack's manifest selects tree/backend.py{PACK}"
        "set `source_oracle.resource` to the file that the pack's manifest selects"
    ]


@pytest.mark.parametrize(
    ("artifact", "role"), [("fixtures_normalized", "fixtures"), ("task_templates_normalized", "templates")]
)
def test_gate_ten_refuses_a_release_that_was_made_with_an_override(artifact: str, role: str, site: Site) -> None:
    seen = site.manifest()["artifacts"][artifact]["content_hash"]
    site.edit_manifest(put(("artifacts", artifact, "content_hash"), OTHER))
    assert site.told(check(site)) == [
        f"run/run_manifest.json: eval_source_oracle_resource_mismatch: the {role} that the pack's manifest selects "
        f"give {seen}, the run used {OTHER}{PACK}generate the benchmark without the override of that file, and "
        "evaluate that one"
    ]


@pytest.mark.parametrize("name", ["content_hash", "pack_id", "version"])
def test_gate_ten_refuses_a_manifest_that_names_another_pack(name: str, site: Site) -> None:
    seen = site.manifest()["pack"][name]
    site.edit_manifest(put(("pack", name), OTHER))
    assert site.told(check(site)) == [
        f"run/run_manifest.json: eval_source_oracle_pack_drift: the pack at hand has {name} {seen}, "
        f"run_manifest.json says {OTHER}{PACK}{RESTORE}"
    ]


def test_gate_ten_names_a_file_that_the_run_was_given_from_outside(site: Site) -> None:
    site.edit_manifest(put(("pack", "files", "declared/fixtures"), OTHER))
    told = "declared/fixtures was removed since the benchmark was made: the pack has none, run_manifest.json says"
    assert site.told(check(site)) == [
        f"eval_source_oracle_pack_drift: declared/fixtures: {told} {OTHER} "
        f"(not a declared oracle input, and still part of the pack){PACK}{RESTORE}"
    ]


def test_gate_ten_refuses_another_kind_of_oracle(site: Site) -> None:
    site.edit_manifest(put(("oracle", "kind"), "endpoint"))
    assert site.told(check(site)) == [
        "eval.yaml: eval_source_oracle_resource_mismatch: source_oracle.kind is `python`, run_manifest.json says "
        f"`endpoint`{PACK}name the pack that the benchmark was made with"
    ]


def test_gate_ten_refuses_a_live_endpoint(site: Site) -> None:
    site.edit_manifest(put(("oracle", "kind"), "endpoint"))
    settings = site.settings()
    assert settings.oracle is not None
    settings = dataclasses.replace(settings, oracle=dataclasses.replace(settings.oracle, kind="endpoint"))
    assert site.told(check(site, settings)) == [
        "eval.yaml: eval_source_oracle_resource_mismatch: source_oracle.kind is `endpoint`; expected `python`: live "
        f"endpoints come with a later release{PACK}evaluate with `mode: [trace]` and `source_oracle: null`"
    ]


# --- gate 11 --------------------------------------------------------------------------------------------------------


def edited(site: Site, old: str, new: str) -> None:
    """Edit the backend, and let the release vouch for the result."""
    path = site.pack / "backend.py"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    forge(site)


def test_probe_finds_every_callable_and_imports_nothing_here(site: Site) -> None:
    before = set(sys.modules)
    probe(checked(site))
    assert not {name for name in set(sys.modules) - before if name in ("backend", "assertions")}


@pytest.mark.parametrize("name", ["call_tool", "get_state", "list_tools", "reset"])
def test_gate_eleven_names_a_missing_callable(name: str, site: Site) -> None:
    edited(site, f"def {name}(", f"def no_{name}(")
    oracle = checked(site)
    assert site.told(lambda: probe(oracle)) == [
        f"packs/studio/backend.py: eval_source_oracle_resource_mismatch: the backend exposes no usable {name}; "
        f"expected call_tool, get_state, list_tools, reset{PROBE}{RESTORE}"
    ]


MEND = "mend the backend, or raise `limits.tool_timeout_s` where it only was slow"


def test_gate_eleven_tells_where_a_backend_breaks(site: Site) -> None:
    edited(site, "def list_tools():", "raise RuntimeError('no')\n\n\ndef list_tools():")
    line = (site.pack / "backend.py").read_text(encoding="utf-8").splitlines().index("raise RuntimeError('no')") + 1
    oracle = checked(site)
    assert site.told(lambda: probe(oracle)) == [
        f"packs/studio/backend.py: eval_source_oracle_resource_mismatch: the backend broke in a worker at "
        f"backend.py:{line}: backend_import_failed: RuntimeError: no{PROBE}{MEND}"
    ]


def test_gate_eleven_bounds_the_import_by_the_configured_deadline(site: Site) -> None:
    edited(site, "def list_tools():", "while True:\n    pass\n\n\ndef list_tools():")
    oracle = checked(site, limits=dataclasses.replace(LIMITS, tool_timeout_s=0.2))
    assert site.told(lambda: probe(oracle)) == [
        "packs/studio/backend.py: eval_source_oracle_resource_mismatch: the backend broke in a worker: "
        f"import_timeout: importing backend did not end within 0.2 s{PROBE}{MEND}"
    ]


def test_gate_eleven_tells_drift_of_a_pack_that_moved_since_gate_ten(site: Site) -> None:
    oracle = checked(site)
    append(site, "backend.py", "# a comment\n")
    assert site.told(lambda: probe(oracle)) == [
        "eval_source_oracle_pack_drift: tree/backend.py: changed while the pack was being read"
        f"{PROBE}run the same command again when nobody edits the pack"
    ]
