"""What one invocation holds in memory while its tasks run: configuration, pack, verdict, oracle, store, evidence.

The Gold verdict lives here and nowhere else: it is computed in this process and dies with it (ruling 4).
"""

from __future__ import annotations

import sys
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
from bfcl.graph.validation_oracle import LazyOracle
from bfcl.graph.variables import Variables
from bfcl.graph.view import store_view
from bfcl.graph.views import Views
from bfcl.oracle.view import oracle_spec
from bfcl.oracle.worker import LocalOracle
from bfcl.pack.load import load_configured
from bfcl.pack.model import Pack
from bfcl.records.template import Template
from bfcl.records.verdict import PackVerdict
from bfcl.stages import STAGES, Stage
from bfcl.stages.artifacts import NORMALISED, NORMALISED_UNDER_POLICY
from bfcl.stages.bindings import sources_of
from bfcl.stages.expand import settings_of
from bfcl.stages.wording import Wording, render_language, wording_of


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
        self.views = Views(self.run.stage_cache)
        self.report = b""
        """The validation report as computed; what lies on disk is never evidence."""
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
        """End the oracle's processes and give the locks back. Safe to call twice.

        An interrupted run keeps its locks to the end of the process: under `doit -n` a thread may still be writing.
        """
        with self._guard:
            if self._oracle is not None:
                self._oracle.__exit__(None, None, None)
                self._oracle = None
            while self._locks and not isinstance(sys.exc_info()[1], KeyboardInterrupt):
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

    # --- pack, verdict, oracle ---

    def load_pack(self) -> None:
        """Load the pack. Raises PackError with every problem."""
        self._pack = load_configured(self.loaded)

    def validate(self) -> PackVerdict:
        """Run every check; a verdict below gold is no error here."""
        with self.loaded.placing():
            if self.pack.endpoint is None:
                self.verdict = validate_pack(self.pack, self.config, self.oracle)
            else:
                # No world could be made of it, and none is asked for.
                with LazyOracle(self.pack, self.config, jobs=self.variables.jobs) as oracle:
                    self.verdict = validate_pack(self.pack, self.config, oracle)
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
                spec = oracle_spec(self.pack, self.config, entry.path)
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
        return wording_of(self.pack.manifest, self.pack.tools, self.language, guard)

    @cached_property
    def context(self) -> StageContext:
        pack, manifest = self.pack, self.pack.manifest
        return StageContext(
            sources=sources_of(pack),
            expand=settings_of(self.config, manifest),
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

    def check_views(self, stage: str | None = None) -> None:
        """Refuse hand-edited files of `stage_cache/`, of one stage or of all; the report is never evidence.

        Raises: DriftError `build_cache_tampered`.
        """
        written = self._written() if stage is None else {stage: self._written()[stage]}
        stored: dict[str, str | None] = {}
        for name, files in written.items():
            pointer = self.pointer(name)
            entry = self.store.find(pointer.fp) if pointer is not None else None
            stored.update({file: entry.files.get(file) if entry is not None else None for file in files})
        self.views.check(stored)

    def shown_results(self) -> dict[str, str]:
        """File name in `stage_cache/` to the BLAKE3 of the result it shows; after all stages ran."""
        found: dict[str, str] = {}
        for name, files in self._written(under_policy=self.pack.held_out is not None).items():
            entry = self.store.find(self.result(name).fp)
            if entry is None:
                raise tampered(f"build/{self.result(name).fp}", "vanished during the run")
            found.update({file: entry.files[file] for file in files})
        return found

    def files_of(self, stage: Stage) -> tuple[str, ...]:
        """The files of `stage_cache/` a stage leaves in this run."""
        return stage.writes if self.pack.held_out is None else (*stage.writes, *stage.under_policy)

    @staticmethod
    def _written(*, under_policy: bool = True) -> dict[str, tuple[str, ...]]:
        """Stage to the files it leaves, those under a held-out policy included or not."""
        further = {stage.name: stage.under_policy for stage in STAGES} if under_policy else {}
        always = {stage.name: (*stage.writes, *further.get(stage.name, ())) for stage in STAGES}
        return {"prepare": (*NORMALISED, *(NORMALISED_UNDER_POLICY if under_policy else ())), **always}


def check_configuration(opening: Opening) -> LoadedConfig:
    """The configuration as read when doit loaded, checked for the command. Raises: ConfigError with every problem."""
    invocation = opening.invocation
    return load_config(
        invocation.config_path, project=invocation.project, command=opening.command, data=invocation.data
    )


def open_session(opening: Opening, variables: Variables) -> Session:
    """Check the configuration, take the locks, clear away what killed processes left.

    Raises: ConfigError with every problem, before anything is touched; DriftError `run_locked`.
    """
    loaded = check_configuration(opening)
    session = Session(opening, variables, loaded)
    try:
        session.lock()
        session.store.sweep()
        session.evidence.prune()
    except BaseException:
        session.close()
        raise
    return session
