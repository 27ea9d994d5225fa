"""What a run that starts later refuses, untouched, and what it takes over, removes and computes again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from bfcl.graph.late import late
from bfcl.graph.resume import check_target
from bfcl.graph.store import Key
from bfcl.records.ids import RunStage
from bfcl.stages import enabled_stages
from tests.graph.chains import Chain, opened, refused

STAGES = enabled_stages(())
NAMES = [stage.name for stage in STAGES]
LISTED = ", ".join(NAMES)
WHOLE_RUN = "leave `skip_until=` out: that run takes what still holds from the store"


def told(chain: Chain, command: RunStage = "all", target: str = "render", **given: str) -> list[str]:
    """The refusal of a resumed run, which must not touch anything."""
    before = chain.snapshot()
    with opened(chain.project, command, skip_until=target, **given) as session:
        problems = refused(lambda: late("prepare")(session))
    assert chain.snapshot() == before
    return problems


def way_back(chain: Chain) -> str:
    return (
        f"\n  fix: delete {chain.root} and leave `skip_until=` out: that run takes what still holds from the store "
        "and writes the checkpoints again"
    )


# --- target and command -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["prepare", "gold_gate", "publish", "config", "rendering", ""])
def test_resume_at_what_is_no_stage_of_the_run_is_refused(target: str) -> None:
    fix = "did you mean `render`?" if target == "rendering" else "name one of these stages"
    assert refused(lambda: check_target(STAGES, target)) == [
        f"stage_resume_invalid: skip_until: a run cannot be resumed at `{target}`; its stages are {LISTED}\n"
        f"  fix: {fix}"
    ]


@pytest.mark.parametrize(
    ("target", "switch"),
    [("surface_quality", "surface_quality_validation"), ("dedup_balancing", "semantic_deduplication_config")],
)
def test_resume_at_a_stage_that_is_bypassed_is_refused(target: str, switch: str) -> None:
    assert refused(lambda: check_target(STAGES, target)) == [
        f"stage_resume_invalid: skip_until: `{target}` is not enabled in this configuration\n"
        f"  fix: set `{switch}.enabled: true` and run once without `skip_until=`, or name an enabled stage"
    ]


@pytest.mark.parametrize("target", NAMES)
def test_run_can_be_resumed_at_each_of_its_stages(target: str) -> None:
    check_target(STAGES, target)


def test_resume_of_another_command_is_refused(chain: Chain) -> None:
    assert told(chain, "generate") == [
        "stage_resume_invalid: command: the checkpoints are those of `doit all`, this is `doit generate`\n"
        f"  fix: run `doit all skip_until=render`, or {WHOLE_RUN}"
    ]


def test_resume_without_a_run_before_is_refused(project: Path) -> None:
    chain = Chain(project)
    with opened(project, skip_until="render") as session:
        assert refused(lambda: late("prepare")(session)) == [
            f"stage_resume_invalid: stage_cache/checkpoints: no checkpoint is there{way_back(chain)}"
        ]
    assert not chain.tree.root.exists()


@pytest.mark.parametrize("was_there", [False, True])
def test_resume_that_is_refused_by_the_gate_leaves_no_view_and_no_lock_of_its_own(
    project: Path, was_there: bool
) -> None:
    chain = Chain(project)
    edit(project / "packs" / "studio" / "validation_cases.yaml", "success", "structured_error")
    if was_there:
        with opened(project) as session:
            late("prepare")(session)
        assert chain.run.lock.is_file()
    before = everything(chain)
    with opened(project, skip_until="reference_profile") as session:
        first, *_ = refused(lambda: late("prepare")(session))
        assert first.startswith("stage_resume_invalid: pack: is silver, not gold\n")
    assert everything(chain) == before


def everything(chain: Chain) -> list[str]:
    """Whatever lies in the build and the run, directories included."""
    return sorted(
        path.relative_to(chain.project).as_posix()
        for top in (chain.tree.root, chain.run.root)
        for path in (top, *top.rglob("*"))
        if path.exists()
    )


# --- configuration, pack, program ---------------------------------------------------------------------------------


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_resume_under_another_configuration_is_refused(chain: Chain) -> None:
    edit(chain.project / "configs" / "tiny.yaml", "random_seed: 7", "random_seed: 8")
    before = chain.document("state_machine")["identity"]["generation_config_hash"]
    (problem,) = told(chain)
    start = (
        "stage_resume_invalid: configuration: has changed since the checkpoints were written: generation_config_hash"
    )
    assert problem.startswith(f"{start} is sha256:")
    assert problem.endswith(f", was {before}\n  fix: undo the change, or {WHOLE_RUN}")


def test_resume_with_another_pack_is_refused_naming_its_files(chain: Chain) -> None:
    pack = chain.project / "packs" / "studio"
    templates = pack / "task_templates.yaml"
    templates.write_text(templates.read_text(encoding="utf-8") + "# later\n", encoding="utf-8")
    (pack / "notes.md").write_text("new", encoding="utf-8")
    before = chain.document("state_machine")["identity"]["pack_fingerprint"]
    (problem,) = told(chain)
    start = "stage_resume_invalid: pack: has changed since the checkpoints were written: its fingerprint is sha256:"
    assert problem.startswith(start)
    assert problem.endswith(
        f", was {before}; tree/notes.md added (an undeclared file)"
        "; tree/task_templates.yaml changed (a declared oracle input: `templates`, under its usual name)"
        f"\n  fix: undo the change, or {WHOLE_RUN}"
    )


def test_resume_with_a_pack_that_does_not_load_is_refused_with_its_problems(chain: Chain) -> None:
    (chain.project / "packs" / "studio" / "tools.json").write_text("[", encoding="utf-8")
    first, *rest = told(chain)
    assert first == (
        "stage_resume_invalid: pack: cannot be loaded\n  fix: mend what follows, then run once without `skip_until=`"
    )
    assert [problem.split(": ")[1] for problem in rest] == ["pack_parse_error"]


def forged_identity(chain: Chain, **fields: str) -> None:
    """Every checkpoint says that it was made by another program or of another pack."""
    for name in NAMES:

        def change(manifest: dict[str, dict[str, dict[str, str]]], _: object) -> None:
            manifest["identity"]["pipeline"].update(fields)

        chain.forge(name, change)


def test_resume_with_another_program_is_refused(chain: Chain) -> None:
    forged_identity(chain, source_hash="sha256:0", dependency_lock_hash="sha256:0")
    assert told(chain) == [
        "stage_resume_invalid: pipeline: the program or its libraries have changed since the checkpoints were written: "
        f"dependency_lock_hash, source_hash{way_back(chain)}"
    ]


def test_resume_with_a_pack_that_is_not_gold_is_refused_with_its_findings(chain: Chain) -> None:
    edit(chain.project / "configs" / "tiny.yaml", "oracle_runtime:\n", "oracle_runtime:\n  worker: thread\n")
    first, second, *_ = told(chain, target="reference_profile")
    assert first == (
        "stage_resume_invalid: pack: is silver, not gold\n  fix: mend what follows, then run once without `skip_until=`"
    )
    assert second.startswith("non_gold_pack: kiln_studio: tier silver, gold is needed; failing: ")


# --- what the chain names -----------------------------------------------------------------------------------------


def test_resume_over_an_edited_copy_is_refused(chain: Chain) -> None:
    for name in ("task_instances.parquet", "replay_validated_tasks.parquet"):
        (chain.run.stage_cache / name).write_bytes(b"edited")
    assert told(chain) == [
        f"stage_resume_invalid: stage_cache/{name}: has changed since it was written\n"
        f"  fix: delete {chain.run.stage_cache / name}; the next run writes it again"
        for name in ("task_instances.parquet", "replay_validated_tasks.parquet")
    ]


def test_resume_over_an_altered_build_entry_is_refused(chain: Chain) -> None:
    shard = chain.document("expand", "state.json")["payload"]["pointer"]["shards"][0]["fp"]
    path = chain.tree.entry(shard) / "rows.jsonl"
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data.replace(b"{", b" {", 1))
    assert told(chain) == [
        f"stage_resume_invalid: build/{shard}/rows.jsonl: has changed since it was stored\n"
        "  fix: delete the named entry or pointer, or all with `doit clean -a`; the next run computes it again"
    ]


def test_resume_without_the_normalised_pack_is_refused(chain: Chain) -> None:
    source = chain.document("reference_profile")["input_artifacts"]["pack_manifest.json"]["source"]
    fp = source.split("/")[1]
    shutil.rmtree(chain.tree.entry(fp))
    assert told(chain) == [f"stage_resume_invalid: build/{fp}: the result of prepare is gone{way_back(chain)}"]


def test_resume_over_an_edited_checkpoint_is_refused(chain: Chain) -> None:
    path = chain.root / "expand" / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"task_count": 10', b'"task_count": 11'))
    assert told(chain) == [
        "stage_resume_invalid: stage_cache/checkpoints/expand/manifest.json: does not match its own checkpoint_id"
        f"{way_back(chain)}"
    ]


def test_checkpoint_behind_the_target_is_not_asked(chain: Chain) -> None:
    shutil.rmtree(chain.root / "render")
    with opened(chain.project, skip_until="render") as session:
        late("prepare")(session)
        assert [stage.name for stage in session.stages if session.chain.holds(stage)] == NAMES[:3]


# --- going back ---------------------------------------------------------------------------------------------------


def test_resumed_run_holds_what_lies_before_and_nothing_of_what_follows(chain: Chain) -> None:
    kept = {path: path.read_bytes() for stage in NAMES[:3] for path in (chain.root / stage).iterdir()}
    shown = chain.run.stage_cache / "task_instances.parquet"
    table = shown.read_bytes()
    shown.unlink()
    caches = [chain.run.stage_cache / f"{role}_io_cache.jsonl" for role in ("paraphrase", "surface_judge")]
    for cache in caches:
        cache.write_bytes(b"{}\n")
    with opened(chain.project, skip_until="render") as session:
        pointers = {stage: session.tree.pointer(session.invocation.ck, stage) for stage in NAMES}
        pointers["expand"].unlink()
        late("prepare")(session)
        late("gold_gate")(session)
        assert [name for name in NAMES if pointers[name].exists()] == NAMES[:3]
        assert [session.chain.holds(stage) for stage in session.stages] == [True] * 3 + [False] * 5
    assert {path: path.read_bytes() for path in chain.root.rglob("*.json")} == kept
    assert shown.read_bytes() == table
    assert not chain.run.manifest.exists()
    assert not chain.run.benchmark.exists()
    for stage in STAGES[3:]:
        assert not any((chain.run.stage_cache / name).exists() for name in stage.writes)
    assert all(cache.read_bytes() == b"{}\n" for cache in caches)


def test_resume_at_the_first_stage_starts_fresh_without_a_chain(project: Path) -> None:
    with opened(project, skip_until="reference_profile") as session:
        late("prepare")(session)
        assert not any(session.chain.holds(stage) for stage in session.stages)
        assert session.variables.rebuild
    assert (Chain(project).run.stage_cache / "pack_manifest.json").is_file()


def test_stage_that_gives_another_result_than_the_stored_one_is_refused(chain: Chain) -> None:
    shard = chain.document("render", "state.json")["payload"]["pointer"]["shards"][0]
    with opened(chain.project, skip_until="render") as session:
        late("prepare")(session)
        entry = session.store.find(shard["fp"])
        assert entry is not None
        plain: dict[str, Any] = {name: value for name, value in entry.key.items() if name != "contract"}
        session.store.remove(entry.fp)
        session.store.put([(Key(**plain), {"rows.jsonl": b"{}\n"})])
        render = next(stage for stage in session.stages if stage.name == "render")
        assert refused(lambda: late("stage")(session, render)) == [
            f"build_nondeterministic: render:{shard['label']}: computed again from the same inputs, rows.jsonl of "
            f"build/{entry.fp} differs; the stored entry stays\n"
            "  fix: look for clock, environment or set order in what this stage runs, then `doit clean` it"
        ]
