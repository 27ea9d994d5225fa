"""Every edit of a good chain is told, by the file or field that it touched."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bfcl.graph.checkpoint_chain import ChainReader
from bfcl.graph.checkpoint_form import Checkpoint
from bfcl.graph.checkpoints import prepared
from bfcl.stages import enabled_stages
from tests.graph.chains import Chain, opened, refused

CHECKPOINTS = "stage_cache/checkpoints"
Documents = dict[str, Any]


def verify(chain: Chain, before: str = "executable_replay") -> list[Checkpoint]:
    """The checkpoints before a stage, verified; pack and verdict are not asked for here."""
    with opened(chain.project) as session:
        session.load_pack()
        stages = session.stages[: [stage.name for stage in session.stages].index(before)]
        reader = ChainReader(session.run, stages)
        reader.check_place(session.stages)
        read = [reader.read(stage) for stage in stages]
        entry = session.store.find(session.result("prepare").fp)
        assert entry is not None
        return reader.verified(read, session, prepared(entry))


def told(chain: Chain) -> list[str]:
    """What is refused, without the way back, which is the same for all."""
    fix = (
        f"\n  fix: delete {chain.root} and leave `skip_until=` out: that run takes what still holds from the store "
        "and writes the checkpoints again"
    )
    problems = refused(lambda: verify(chain))
    assert all(problem.endswith(fix) for problem in problems), problems
    return [problem.removesuffix(fix) for problem in problems]


def odd(place: str, how: str) -> str:
    return f"stage_resume_invalid: {CHECKPOINTS}{'/' if place else ''}{place}: {how}"


def test_chain_as_written_verifies_before_any_stage(chain: Chain) -> None:
    links = verify(chain, "final_output")
    assert [link.stage for link in links] == [stage.name for stage in enabled_stages(())[:-1]]
    assert [link.checkpoint_id for link in links] == [chain.document(link.stage)["checkpoint_id"] for link in links]
    assert verify(chain, "expand")[0].tasks.ids == []


# --- files --------------------------------------------------------------------------------------------------------


def link(path: Path) -> None:
    """Move it away and leave a link to it."""
    away = path.rename(path.parents[3] / f"{path.name}.away")
    path.symlink_to(away)


PLACES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "no checkpoints": (shutil.rmtree, "", "no checkpoint is there"),
    "linked checkpoints": (link, "", "is not a directory"),
    "missing stage": (lambda root: shutil.rmtree(root / "expand"), "expand", "this checkpoint is missing"),
    "linked stage": (lambda root: link(root / "expand"), "expand", "is not a directory"),
    "strange directory": (
        lambda root: (root / "extra").mkdir(),
        "extra",
        "is no checkpoint of a stage of this run",
    ),
    "strange file": (
        lambda root: (root / "notes.txt").touch(),
        "notes.txt",
        "is no checkpoint of a stage of this run",
    ),
    "extra file": (lambda root: (root / "render/x").touch(), "render/x", "is no file of a checkpoint"),
    "missing state": (lambda root: (root / "render/state.json").unlink(), "render/state.json", "is missing"),
    "linked manifest": (
        lambda root: link(root / "render/manifest.json"),
        "render/manifest.json",
        "is not a regular file",
    ),
}


@pytest.mark.parametrize("case", PLACES)
def test_file_that_does_not_lie_as_written_is_told(chain: Chain, case: str) -> None:
    edit, place, how = PLACES[case]
    edit(chain.root)
    assert told(chain) == [odd(place, how)]


# --- form ---------------------------------------------------------------------------------------------------------


def changed(name: str, **fields: Any) -> Callable[[Chain], None]:
    """Edit fields of a render document and nothing else; None removes one."""

    def edit(chain: Chain) -> None:
        document = {**chain.document("render", name), **fields}
        chain.put("render", name, {field: value for field, value in document.items() if value is not None})

    return edit


def bytes_of(name: str, data: bytes) -> Callable[[Chain], None]:
    return lambda chain: (chain.root / "render" / name).write_bytes(data) and None


FORMS: dict[str, tuple[Callable[[Chain], None], list[str]]] = {
    "manifest no JSON": (bytes_of("manifest.json", b"{"), [odd("render/manifest.json", "is not a JSON object")]),
    "manifest a list": (bytes_of("manifest.json", b"[]"), [odd("render/manifest.json", "is not a JSON object")]),
    "state with NaN": (bytes_of("state.json", b'{"x": NaN}'), [odd("render/state.json", "is not a JSON object")]),
    "manifest edited": (
        changed("manifest.json", task_count=11),
        [odd("render/manifest.json", "does not match its own checkpoint_id")],
    ),
    "state edited": (
        changed("state.json", task_ids=[]),
        [odd("render/state.json", "is not the state its manifest names")],
    ),
    "manifest fields": (
        changed("manifest.json", parent=None, note=1),
        [
            odd("render/manifest.json", "fields missing: parent; unexpected: note"),
            odd("render/manifest.json", "does not match its own checkpoint_id"),
        ],
    ),
    "state fields": (
        changed("state.json", payload=None),
        [odd("render/state.json", "fields missing: payload; unexpected: none")],
    ),
}


@pytest.mark.parametrize("case", FORMS)
def test_document_of_another_form_is_told(chain: Chain, case: str) -> None:
    edit, expected = FORMS[case]
    edit(chain)
    assert told(chain) == expected


# --- what they say, all digests made to fit -----------------------------------------------------------------------


def facts(manifest: Documents, table: str) -> list[Documents]:
    """What a manifest says of an artifact, wherever it does."""
    return [
        manifest[f"{kind}_artifacts"][table]
        for kind in ("input", "output", "produced")
        if table in manifest[f"{kind}_artifacts"]
    ]


def set_fact(table: str, **values: Any) -> Callable[[Documents, Documents], None]:
    def edit(manifest: Documents, _: Documents) -> None:
        for each in facts(manifest, table):
            each.update(values)

    return edit


def shards(state: Documents) -> list[Documents]:
    return state["payload"]["pointer"]["shards"]  # type: ignore[no-any-return]


def reverse_tasks(manifest: Documents, state: Documents) -> None:
    manifest["task_ids"].reverse()
    state["task_ids"].reverse()


FORGERIES: dict[str, tuple[Callable[[Documents, Documents], object], list[tuple[str, str]]]] = {
    "contract": (
        lambda manifest, state: (manifest.update(contract="v2"), state.update(contract="v2")),
        [
            ("manifest", '`contract` is "v2", expected "bfcl-generation-checkpoint/1.0"'),
            ("state", '`contract` is "v2", expected "bfcl-generation-state/1.0"'),
        ],
    ),
    "version": (
        lambda manifest, _: manifest.update(stage_contract_version="2"),
        [("manifest", '`stage_contract_version` is "2", expected "1.0"')],
    ),
    "stage": (
        lambda manifest, _: manifest.update(stage="expand"),
        [("manifest", '`stage` is "expand", expected "render"')],
    ),
    "index": (lambda manifest, _: manifest.update(stage_index=7), [("manifest", "`stage_index` is 7, expected 6")]),
    "index as text": (
        lambda manifest, _: manifest.update(stage_index=6.0),
        [("manifest", "`stage_index` is 6.0, expected 6")],
    ),
    "dependency": (
        lambda manifest, _: manifest.update(dependency="expand"),
        [("manifest", '`dependency` is "expand", expected "state_machine"')],
    ),
    "parent": (
        lambda manifest, _: manifest.update(parent=None),
        [("manifest", '`parent` is null, expected {"checkpoint_id":"<id>","stage":"state_machine"}')],
    ),
    "identity": (
        lambda manifest, _: manifest["identity"]["pipeline"].update(worker_image_digest="x"),
        [("manifest", '`identity.pipeline.worker_image_digest` is "x", expected null')],
    ),
    "identity fields": (
        lambda manifest, _: manifest["identity"].pop("pipeline"),
        [("manifest", "`identity` has not the fields of an identity")],
    ),
    "count": (lambda manifest, _: manifest.update(task_count=9), [("manifest", "`task_count` is 9, expected 10")]),
    "task order": (
        reverse_tasks,
        [
            ("manifest", "`task_ids` has 10 elements, expected 10; they part at element 1"),
            ("state", "`task_ids` has 10 elements, expected 10; they part at element 1"),
        ],
    ),
    "lost task": (
        lambda manifest, _: manifest["task_ids"].pop(),
        [("manifest", "`task_ids` has 9 elements, expected 10; they part at element 10")],
    ),
    "rows": (
        set_fact("rendered_conversations.parquet", row_count=9),
        [
            ("manifest", f"`{kind}_artifacts.rendered_conversations.parquet.row_count` is 9, expected 10")
            for kind in ("output", "produced")
        ],
    ),
    "size": (
        lambda manifest, _: manifest["produced_artifacts"]["rendered_conversations.parquet"].update(size=0),
        [("manifest", "`produced_artifacts.rendered_conversations.parquet.size` is 0, expected <size>")],
    ),
    "input": (
        lambda manifest, _: manifest["input_artifacts"].pop("task_instances.parquet"),
        [("manifest", "`input_artifacts.task_instances.parquet` is missing")],
    ),
    "output": (
        lambda manifest, _: manifest["output_artifacts"].update(more={}),
        [("manifest", "`output_artifacts.more` is not expected")],
    ),
    "payload": (
        lambda _, state: state["payload"].update(more=1),
        [("state", "`payload` must hold `pointer` and nothing else")],
    ),
    "pointer": (
        lambda _, state: state["payload"].update(pointer={"stage": "render"}),
        [("state", "`payload.pointer` is no pointer to a result of render")],
    ),
    "pointer's stage": (
        lambda _, state: state["payload"]["pointer"].update(stage="expand"),
        [("state", "`payload.pointer` is no pointer to a result of render")],
    ),
    "fewer shards": (lambda _, state: shards(state).pop(), [("state", "its shards are not those of build/<fp>")]),
    "record": (
        lambda _, state: state["payload"]["pointer"].update(record_digest="0" * 64),
        [("state", "its shards are not those of build/<fp>")],
    ),
    "shard's rows": (
        lambda _, state: shards(state)[0].update(digest="0" * 64),
        [
            ("state", "shard `kiln_status` is not what build/<shard> holds"),
            ("state", "its shards are not those of build/<fp>"),
        ],
    ),
}


@pytest.mark.parametrize("case", FORGERIES)
def test_checkpoint_that_says_something_else_is_told_though_its_digests_fit(chain: Chain, case: str) -> None:
    edit, expected = FORGERIES[case]
    pointer = chain.document("render", "state.json")["payload"]["pointer"]
    table = chain.tree.entry(pointer["fp"]) / "rendered_conversations.parquet"
    values = {
        "<id>": chain.document("state_machine")["checkpoint_id"],
        "<fp>": pointer["fp"],
        "<shard>": pointer["shards"][0]["fp"],
        "<size>": str(table.stat().st_size),
    }
    chain.forge("render", edit)
    wanted = [odd(f"render/{name}.json", how) for name, how in expected]
    for mark, value in values.items():
        wanted = [text.replace(mark, value) for text in wanted]
    assert told(chain) == wanted


def test_checkpoint_laid_out_otherwise_is_told_though_it_says_the_same(chain: Chain) -> None:
    path = chain.root / "render" / "manifest.json"
    path.write_bytes(path.read_bytes() + b"\n")
    assert told(chain) == [odd("render/manifest.json", "has changed since it was written")]


# --- what they name -----------------------------------------------------------------------------------------------


def test_result_that_is_gone_is_told(chain: Chain) -> None:
    pointer = chain.document("render", "state.json")["payload"]["pointer"]
    shard = pointer["shards"][0]["fp"]
    for fp in (pointer["fp"], shard):
        shutil.rmtree(chain.tree.entry(fp))
    assert told(chain) == [
        f"stage_resume_invalid: build/{shard}: a shard of render is gone",
        f"stage_resume_invalid: build/{pointer['fp']}: the result of render is gone",
    ]


def test_every_broken_place_is_told_at_once(chain: Chain) -> None:
    (chain.root / "render" / "state.json").unlink()
    shutil.rmtree(chain.root / "expand")
    assert told(chain) == [odd("expand", "this checkpoint is missing"), odd("render/state.json", "is missing")]
