"""What one invocation holds in memory while its tasks run: configuration, pack, verdict, oracle, store, evidence.

The Gold verdict lives here and nowhere else: it is computed in this process and dies with it (ruling 4).
"""

from __future__ import annotations

import gc
import threading
from functools import cached_property

from bfcl.checks.validate import validate_pack
from bfcl.config.load import LoadedConfig, load_config
from bfcl.config.model import RunConfig
from bfcl.files import Lock
from bfcl.graph.compute import StageContext
from bfcl.graph.keys import KeyMaker
from bfcl.graph.layout import BuildTree, RunTree
from bfcl.graph.opening import Opening
from bfcl.graph.pointers import Pointer, read_pointer
from bfcl.graph.shards import Order
from bfcl.graph.store import tampered
from bfcl.graph.variables import Variables
from bfcl.graph.view import oracle_spec, store_view
from bfcl.graph.views import Views
from bfcl.oracle.worker import LocalOracle
from bfcl.pack.load import load_pack
from bfcl.pack.model import Pack
from bfcl.records.template import Template
from bfcl.records.verdict import PackVerdict
from bfcl.stages import STAGES
from bfcl.stages.artifacts import NORMALISED
from bfcl.stages.expand import ExpandSettings, Sources
from bfcl.stages.wording import Wording, render_language, system_prompt, system_prompt_id


class Session:
    """What an invocation that does something works with. Make it with `open_session`; `close` ends its processes."""

    def __init__(self, opening: Opening, variables: Variables, loaded: LoadedConfig) -> None:
        self.invocation = opening.invocation
        self.command = opening.command
        self.release_stage = opening.release_stage
        self.publication_key = opening.publication_key
        self.evidence = opening.evidence
        self.store = opening.store
        self.variables = variables
        self.loaded = loaded
        self.verdict: PackVerdict | None = None
        self.published = False
        self._pack: Pack | None = None
        self._oracle: LocalOracle | None = None
        self._locks: list[Lock] = []
        self._guard = threading.RLock()

    def lock(self) -> None:
        """Take the build tree and the run tree. Raises DriftError `run_locked`."""
        for lock in (
            Lock(self.tree.lock, "another BFCL process is using this project's build directory"),
            Lock(self.run.lock, f"another BFCL process is writing experiment '{self.config.expt_name}'"),
        ):
            lock.acquire()
            self._locks.append(lock)

    def close(self) -> None:
        """End the oracle's processes and give the locks back. Safe to call twice."""
        with self._guard:
            if self._oracle is not None:
                self._oracle.__exit__(None, None, None)
                self._oracle = None
            while self._locks:
                self._locks.pop().release()

    @property
    def config(self) -> RunConfig:
        return self.loaded.config

    @property
    def tree(self) -> BuildTree:
        return self.invocation.tree

    @property
    def run(self) -> RunTree:
        return RunTree(self.config.run_dir)

    @cached_property
    def views(self) -> Views:
        return Views(self.run.stage_cache)

    # --- pack, verdict, oracle ---

    def load_pack(self) -> None:
        """Load the pack. Raises PackError with every problem."""
        self._pack = load_pack(self.config, project=self.invocation.project)

    def validate(self) -> PackVerdict:
        """Run every check; a verdict below gold is no error here."""
        self.verdict = validate_pack(self.pack, self.config, self.oracle)
        return self.verdict

    @property
    def pack(self) -> Pack:
        if self._pack is None:
            raise AssertionError("the prepare task has not run")
        return self._pack

    @cached_property
    def oracle_view(self) -> str:
        """Address of the view the oracle's workers import from."""
        return store_view(self.store, self.pack)

    @property
    def oracle(self) -> LocalOracle:
        """The running oracle; started on first use."""
        with self._guard:
            if self._oracle is None:
                entry = self.store.find(self.oracle_view)
                if entry is None:
                    raise AssertionError("the oracle view vanished")
                spec = oracle_spec(self.pack, self.config, entry)
                self._oracle = LocalOracle(spec, jobs=self.variables.jobs)
                self._oracle.__enter__()
            return self._oracle

    # --- what the stages share ---

    @cached_property
    def templates(self) -> dict[str, Template]:
        """Template id to template, pack order."""
        return {template.template_id: template for template in self.pack.templates}

    @cached_property
    def language(self) -> str:
        return render_language(self.config.surface_generation.language, self.pack.manifest, self.pack.templates)

    @cached_property
    def wording(self) -> Wording:
        guard = self.config.surface_generation.prevent_tool_name_leakage
        manifest = self.pack.manifest
        prompt = system_prompt(manifest)
        return Wording(
            language=self.language,
            assistant_turn_templates=manifest.assistant_turn_templates,
            system_prompt=prompt,
            system_prompt_id=system_prompt_id(prompt),
            tool_names=tuple(tool.name for tool in self.pack.tools),
            tool_names_exempt=manifest.tool_names_exempt,
            prevent_tool_name_leakage=guard,
        )

    @cached_property
    def context(self) -> StageContext:
        pack, manifest = self.pack, self.pack.manifest
        return StageContext(
            sources=Sources(tools=pack.tools, fixtures=pack.fixtures, manifest=manifest),
            expand=ExpandSettings(
                limit=self.config.task_generation.candidate_tasks_per_category,
                seed=self.config.seed,
                pack_id=manifest.pack_id,
                pack_version=manifest.version,
            ),
            wording=self.wording,
            catalog={tool.name: tool for tool in pack.tools},
            confirmation_parameter=manifest.confirmation.parameter,
            language=self.language,
            oracle=self.oracle,
        )

    @cached_property
    def keys(self) -> KeyMaker:
        return KeyMaker(
            pack=self.pack,
            config=self.config,
            language=self.language,
            wording=self.wording,
            oracle_view=self.oracle_view,
            limit=self.config.task_generation.candidate_tasks_per_category,
        )

    # --- results of stages ---

    def pointer(self, stage: str) -> Pointer | None:
        """The stage's result under this configuration, None where there is none yet."""
        return read_pointer(self.tree.pointer(self.invocation.ck, stage))

    def result(self, stage: str) -> Pointer:
        """The result of a stage that has run. Raises DriftError where it vanished."""
        pointer = self.pointer(stage)
        if pointer is None:
            raise tampered(f"refs/{self.invocation.ck}/{stage}.json", "vanished during the run")
        return pointer

    @cached_property
    def order(self) -> Order:
        """Task order of the run; read after `expand`."""
        pointer = self.result("expand")
        entry = self.store.find(pointer.fp)
        if entry is None:
            raise tampered(f"build/{pointer.fp}", "vanished during the run")
        pointer.check(entry)
        return Order.from_bytes(entry.file("order.json").read_bytes())

    @staticmethod
    def artifact_names() -> list[str]:
        """File names in `stage_cache/` that stages leave and nobody else may change; the report is never evidence."""
        return [*NORMALISED, *(name for stage in STAGES for name in stage.writes)]


def open_session(opening: Opening, variables: Variables) -> Session:
    """Check the configuration, take the locks, clear away what killed processes left.

    Raises: ConfigError with every problem, before anything is touched; DriftError `run_locked`.
    """
    invocation = opening.invocation
    loaded = load_config(invocation.config_path, project=invocation.project, command=opening.command)
    # Everything so far stays to the end, and rows are trees without cycles: looking for garbage often finds none.
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    session = Session(opening, variables, loaded)
    try:
        session.lock()
        session.store.sweep()
        session.evidence.prune()
    except BaseException:
        session.close()
        raise
    return session
