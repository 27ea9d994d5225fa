"""A published benchmark of the smallest bundled pack, a scripted candidate that listens, and evaluations of one by the
other.

    with served(arena.rows()) as candidate:
        arena.configure("mine", candidate.base_url)
        assert arena.eval("mine").status == 0
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
import yaml

from bfcl.canonical import Json
from bfcl.evaluate.scripted.load import published_rows
from bfcl.evaluate.scripted.server import Conduct, Serving, serve
from bfcl.exports.row import ExportRow
from bfcl.release.read import open_release
from tests.system.project import PATIENCE_S, REPOSITORY, run_to_end
from tests.system.shared import once

KEY = "SCRIPTED_CANDIDATE_KEY"
CANARY = "canary-5f0c9d7e21b84aa6"
PACK = "tiny_oracle_pack"

Data = dict[str, Any]
Edit = Callable[[Data], None]


class Ended(NamedTuple):
    """A command that ended."""

    status: int
    out: str
    err: str


def put(*place: str | int, value: object) -> Edit:
    """Set a value of the scoring configuration."""

    def edit(config: Data) -> None:
        holder: Any = config
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = value

    return edit


def asks(model: str, *, alias: str = "scripted") -> Edit:
    """Ask this model; its name says how it answers."""

    def edit(config: Data) -> None:
        (candidate, *_) = config["candidates"]
        candidate |= {"alias": alias, "model": model, "model_identity": {"source": "scripted", "model": model}}

    return edit


def executable(config: Data) -> None:
    """Drive the tasks against the oracle, too."""
    config["eval"]["mode"] = ["trace", "executable"]
    config["source_oracle"] = {
        "kind": "python",
        "pack_manifest": f"../packs/{PACK}/manifest.yaml",
        "resource": f"../packs/{PACK}/backend.py",
    }


def repeats(trials: int, seed_policy: str = "fixed") -> Edit:
    """Play every task several times."""

    def edit(config: Data) -> None:
        config |= {"schema_version": "1.3", "repeats": {"trials": trials, "seed_policy": seed_policy}}

    return edit


class Arena:
    """A project with a published run; results of a configuration `x` go to `build/eval/x`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    @property
    def run_dir(self) -> Path:
        return self.root / "build" / "runs" / "tiny"

    @property
    def pack(self) -> Path:
        return self.root / "packs" / PACK

    def out(self, name: str) -> Path:
        return self.root / "build" / "eval" / name

    def config(self, name: str) -> Path:
        return self.root / "configs" / f"{name}.yaml"

    def copy(self, root: Path) -> Arena:
        shutil.copytree(self.root, root)
        return Arena(root)

    def rows(self) -> list[ExportRow]:
        return published_rows(open_release(self.run_dir))

    def configure(self, name: str, base_url: str, *edits: Edit, to: str | None = None) -> Path:
        """Write the scoring configuration `name`, whose results go to those of `to`, or of its own name."""
        template = yaml.safe_load((REPOSITORY / "configs" / "eval.tiny.yaml").read_text(encoding="utf-8"))
        config: Data = copy.deepcopy(template)
        asks("scripted-gold")(config)
        config["candidates"][0]["api"] = {"base_url": base_url, "api_key_env": KEY}
        config["outputs"]["output_dir"] = f"../build/eval/{to or name}"
        config["limits"]["max_retries"] = 0
        for edit in edits:
            edit(config)
        return self._write(name, config)

    def envelope(self, name: str, config: str, **choices: Json) -> Path:
        """Write an envelope around a configuration."""
        return self._write(name, {"eval_config_path": f"{config}.yaml", **choices})

    def _write(self, name: str, content: Mapping[str, Any]) -> Path:
        path = self.config(name)
        path.write_text(yaml.safe_dump(dict(content), sort_keys=False), encoding="utf-8")
        return path

    def report(self, name: str) -> Data:
        return cast("Data", json.loads((self.out(name) / "eval_report.json").read_bytes()))

    def results(self, name: str) -> dict[str, bytes]:
        """The files of a result that are the same in every run over the same answers."""
        names = ("eval_report.json", "eval_task_results.parquet", "eval_breakdowns.json")
        return {file: (self.out(name) / file).read_bytes() for file in names}

    def files(self, name: str) -> dict[str, bytes]:
        """What is committed: all but what tells a path or a time, and locks."""
        left = ("resolved_eval_config.json", "source_verification_report.json", "contamination_report.json")
        found = {path.name: path.read_bytes() for path in self.out(name).iterdir()}
        return {file: data for file, data in sorted(found.items()) if file not in left and not file.startswith(".")}

    # --- processes of their own ---

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", *arguments]

    def environment(self, *, key: str | None = CANARY) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        told = {} if key is None else {KEY: key}
        return {**kept, "PYTHONPATH": str(REPOSITORY), "LANG": "C.UTF-8", **told}

    def run(self, *arguments: str, key: str | None = CANARY) -> Ended:
        """Run a module to its end."""
        return Ended(*run_to_end(self.command(*arguments), self.root, self.environment(key=key)))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.root,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def published_arena(factory: pytest.TempPathFactory) -> Arena:
    """The bundled pack published as Gold; never to be changed."""
    return Arena(once(factory, "arena", publish_arena))


def publish_arena(root: Path) -> Arena:
    """Publish the bundled pack as Gold."""
    arena = Arena(root)
    shutil.copytree(REPOSITORY / "packs" / PACK, arena.pack)
    shutil.copyfile(REPOSITORY / "dodo.py", arena.root / "dodo.py")
    (arena.root / "configs").mkdir()
    text = (REPOSITORY / "configs" / "tiny.yaml").read_text(encoding="utf-8")
    arena.config("tiny").write_text(text.replace("smoke_no_publication", "strict_separation"), encoding="utf-8")
    ended = arena.run("doit", "generate")
    assert ended.status == 0, ended.out + ended.err
    return arena


class Candidate:
    """A scripted candidate that listens in a thread of its own. What is sent to it is kept."""

    def __init__(self, serving: Serving, bodies: list[Mapping[str, Json]]) -> None:
        self._serving = serving
        self.bodies = bodies
        """Of every request for a completion, in the order of arrival."""
        self.when: Callable[[int], None] = lambda _: None
        """Called with their number at every request, before it is answered."""

    @property
    def base_url(self) -> str:
        return self._serving.base_url

    @property
    def prompts(self) -> list[str]:
        """Each request as one text."""
        return [json.dumps(body, sort_keys=True) for body in self.bodies]


@contextlib.contextmanager
def served(rows: Sequence[ExportRow], **conduct: Any) -> Iterator[Candidate]:
    """Listen while the block runs."""
    bodies: list[Mapping[str, Json]] = []
    held: list[Candidate] = []
    ready, over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    def record(body: Mapping[str, Json]) -> None:
        bodies.append(body)
        held[0].when(len(bodies))

    async def listen() -> None:
        async with serve(rows, conduct=Conduct(record=record, **conduct)) as serving:
            held.append(Candidate(serving, bodies))
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(listen()), daemon=True)
    thread.start()
    try:
        assert ready.wait(PATIENCE_S)
        yield held[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(PATIENCE_S)
        loop.close()
