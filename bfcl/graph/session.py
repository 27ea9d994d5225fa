"""What one invocation holds in memory while its tasks run: configuration, pack, verdict, oracle, store, evidence.

The Gold verdict lives here and nowhere else: it is computed in this process and dies with it (ruling 4).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

from bfcl.checks.validate import validate_pack
from bfcl.config.load import LoadedConfig, load_config
from bfcl.config.model import RunConfig
from bfcl.files import Lock
from bfcl.graph.checkpoints import Chain
from bfcl.graph.compute import StageContext
from bfcl.graph.keys import KeyMaker
from bfcl.graph.late import late
from bfcl.graph.layout import BuildTree, RunTree
from bfcl.graph.levels import weakest
from bfcl.graph.opening import Opening
from bfcl.graph.pointers import Pointer, read_pointer
from bfcl.graph.remote_cache import RemoteCache, open_cache
from bfcl.graph.say import warn
from bfcl.graph.shards import ORDER_FILE, Order
from bfcl.graph.store import Entry, vanished
from bfcl.graph.validation_oracle import LazyOracle
from bfcl.graph.variables import Variables
from bfcl.graph.view import store_view, view_key
from bfcl.graph.views import Views
from bfcl.graph.writer import build_lock, run_lock
from bfcl.modelio.transport import HttpTransport
from bfcl.oracle.view import oracle_spec
from bfcl.oracle.worker import LocalOracle
from bfcl.pack.load import load_configured
from bfcl.pack.model import Pack
from bfcl.records.ids import GENERATING
from bfcl.records.template import Template
from bfcl.records.verdict import PackVerdict
from bfcl.stages import STAGES, Stage
from bfcl.stages.artifacts import CONDITIONAL_FILES, NORMALISED, NORMALISED_UNDER_POLICY, Condition
from bfcl.stages.balancing.finder import Finder
from bfcl.stages.bindings import sources_of
from bfcl.stages.expand import settings_of
from bfcl.stages.wording import Wording, render_language, wording_of


def _of_replays() -> frozenset[str]:
    """The replay, and every stage that reads it, itself or through another."""
    found = {"executable_replay"}
    for stage in STAGES:
        if not found.isdisjoint(stage.reads):
            found.add(stage.name)
    return frozenset(found)


_OF_REPLAYS: Final = _of_replays()


class Session:
    """What an invocation that does something works with. Make it with `open_session`; `close` ends its processes."""

    def __init__(self, opening: Opening, variables: Variables, loaded: LoadedConfig) -> None:
        self.invocation = opening.invocation
        self.command = opening.command
        self.release_stage = opening.release_stage
        self.stages = opening.invocation.stages
        """The stages of this run, in order."""
        self.root_inputs = opening.root_inputs
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
        self.chain = Chain(self)
        """The checkpoints this run has left so far."""
        self.cache: RemoteCache | None = open_cache(variables.cache, warn) if variables.cache is not None else None
        """Results shared with others; None where the command line names no cache."""
        self._offered: list[Entry] = []
        self._transport = HttpTransport()
        self._pack: Pack | None = None
        self._oracle: LocalOracle | None = None
        self._locks: list[Lock] = []
        self._withdrawn = False
        self._laid: str | None = None
        """Address of the oracle view where this run was the first to need it."""
        self._guard = threading.RLock()

    def lock(self) -> None:
        """Take the build tree and the run tree. Raises DriftError `run_locked`."""
        for lock in (build_lock(self.tree), run_lock(self.run)):
            lock.acquire()
            self._locks.append(lock)

    def sweep(self) -> None:
        """Delete what killed processes left behind. Call under the locks only."""
        self.store.sweep()
        for path in self.run.leftovers():
            with suppress(OSError):
                path.unlink()

    def close(self) -> None:
        """End the oracle's processes and give the locks back. Safe to call twice.

        An interrupted run keeps its locks to the end of the process: under `doit -n` a thread may still be writing.
        """
        with self._guard:
            self._end_oracle()
            self._transport.close()
            while self._locks and not isinstance(sys.exc_info()[1], KeyboardInterrupt):
                lock = self._locks.pop()
                if self._withdrawn:
                    lock.withdraw()
                lock.release()

    def withdraw(self) -> None:
        """Leave nothing behind, for a run that is refused before it has done anything: no view, and after `close` no
        lock file and no directory made for one. What was there before stays."""
        with self._guard:
            self._end_oracle()
            if self._laid is not None:
                self.store.remove(self._laid)
            self._withdrawn = True

    def _end_oracle(self) -> None:
        if self._oracle is not None:
            self._oracle.__exit__(None, None, None)
            self._oracle = None

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
        is_new = not self.store.holds(view_key(self.pack).fp)
        view = store_view(self.store, self.pack, anew=self.variables.rebuild or self.variables.replay_full)
        if is_new:
            self._laid = view
        return view

    @property
    def oracle(self) -> LocalOracle:
        """The running oracle; started on first use."""
        with self._guard:
            if self._oracle is None:
                spec = oracle_spec(self.pack, self.config, self.store.get(self.oracle_view).path)
                self._oracle = LocalOracle(spec, jobs=self.variables.jobs)
                self._oracle.__enter__()
            return self._oracle

    @property
    def isolation(self) -> dict[str, Any]:
        """The level that every world of this run reached at least, those on other machines included."""
        return weakest([self.oracle.isolation(), *self.context.elsewhere])

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
    def finder(self) -> Finder:
        """Who looks for near-duplicates.

        Raises: StageError `dedup_backend_unavailable`; for a model, what `endpoint_finder` raises.
        """
        found: Finder = late("finder")(self.config, self.run.embedding_cache, self._transport)
        return found

    @cached_property
    def keys(self) -> KeyMaker:
        return KeyMaker(
            pack=self.pack,
            config=self.config,
            language=self.language,
            wording=self.wording,
            oracle_view=self.oracle_view,
        )

    # --- stored results, here and in the shared cache ---

    def fetch(self, fps: Iterable[str]) -> None:
        """Bring in what the shared cache has of these results: never verdicts, nor what workers import."""
        if self.cache is not None:
            self.cache.fetch(self.store, fps)

    def anew(self, stage: str) -> bool:
        """Whether a stage's results are computed whatever is stored: under `rebuild=1` all, under `replay=full` those
        that come of the replays."""
        return self.variables.rebuild or (self.variables.replay_full and stage in _OF_REPLAYS)

    def stored(self, stage: str, fp: str) -> Entry | None:
        """A result of a stage to take over, None where there is none or where it is to be computed anew."""
        if self.anew(stage):
            return None
        self.fetch([fp])
        return self.store.find(fp)

    def offer(self, entries: Iterable[Entry]) -> None:
        """Put entries aside for the shared cache."""
        if self.cache is not None:
            self._offered += entries

    def send_offered(self) -> None:
        """Send them; once a stage, so that a slow line never waits for every small result."""
        if self.cache is not None:
            self.cache.send(self._offered)
            self._offered.clear()

    # --- results of stages ---

    def pointer(self, stage: str) -> Pointer | None:
        """The stage's result under this configuration, None where there is none yet."""
        return read_pointer(self.tree.pointer(self.invocation.ck, stage))

    def result(self, stage: str) -> Pointer:
        """The result of a stage that has run. Raises DriftError where it vanished."""
        pointer = self.pointer(stage)
        if pointer is None:
            raise vanished(f"refs/{self.invocation.ck}/{stage}.json")
        return pointer

    def entry(self, stage: str) -> Entry:
        """What the result of a stage that has run points at. Raises: DriftError `build_cache_tampered`."""
        return self.pointed(self.result(stage))

    def pointed(self, pointer: Pointer) -> Entry:
        """The verified entry a pointer names. Raises: DriftError `build_cache_tampered`."""
        entry = self.store.get(pointer.fp)
        pointer.check(entry)
        return entry

    @cached_property
    def order(self) -> Order:
        """Task order of the run; read after `expand`."""
        return Order.from_bytes(self.entry("expand").file(ORDER_FILE).read_bytes())

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
        written = {stage.name: self.files_of(stage) for stage in self.stages}
        for name, files in {"prepare": self._normalised(), **written}.items():
            entry = self.entry(name)
            found.update({file: entry.files[file] for file in files})
        return found

    def files_of(self, stage: Stage) -> tuple[str, ...]:
        """The files of `stage_cache/` a stage leaves in this run."""
        return stage.writes if self.pack.held_out is None else (*stage.writes, *stage.under_policy)

    def _normalised(self) -> tuple[str, ...]:
        return (*NORMALISED, *(NORMALISED_UNDER_POLICY if self.pack.held_out is not None else ()))

    def absent_files(self) -> list[str]:
        """Files of `stage_cache/` that other runs have and this one leaves none of, where such a file is there."""
        own = {*self._normalised(), *(name for stage in self.stages for name in self.files_of(stage))}
        return [name for name in CONDITIONAL_FILES if name not in own and (self.run.stage_cache / name).exists()]

    @cached_property
    def holding(self) -> frozenset[Condition]:
        """Which parts that not every run has this one has."""
        names = {stage.name for stage in self.stages}
        found: dict[Condition, bool] = {
            "held_out": self.pack.held_out is not None,
            "surface_quality": "surface_quality" in names,
            "dedup_balancing": "dedup_balancing" in names,
            "exports": bool(self.config.exports.asked_for),
        }
        return frozenset(condition for condition, holds in found.items() if holds)

    @staticmethod
    def _written() -> dict[str, tuple[str, ...]]:
        """Stage to every file it may leave, those of bypassed stages and of a held-out policy included."""
        stages = {stage.name: (*stage.writes, *stage.under_policy) for stage in STAGES}
        return {"prepare": (*NORMALISED, *NORMALISED_UNDER_POLICY), **stages}


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
        if session.command in GENERATING and any(stage.name == "dedup_balancing" for stage in session.stages):
            # Asked for before anything is computed: no run should end in the news that a library or a key is missing.
            _ = session.finder
            late("solver")()
        if variables.dask_address is not None:
            late("check_cluster")(variables.dask_address)
        session.lock()
        session.sweep()
        session.evidence.prune()
    except BaseException:
        session.close()
        raise
    return session
