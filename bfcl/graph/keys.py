"""What each shard and merge depends on: the store keys. Rule: generation.md §9.2.

A key holds only what the result can depend on, so that an edit recomputes what it touches and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from bfcl.canonical import Json
from bfcl.config.model import RunConfig
from bfcl.digest import blake3_json
from bfcl.graph.host import pyarrow_version, python_minor
from bfcl.graph.pointers import Shard
from bfcl.graph.shards import Chunk
from bfcl.graph.sources import code_digest
from bfcl.graph.store import Key
from bfcl.oracle.protocol import TIMEOUTS
from bfcl.pack.fixtures import collection_rows
from bfcl.pack.held_out import reset_fixtures
from bfcl.pack.model import Pack
from bfcl.pack.slots import parse_source
from bfcl.pack.templates import template_json
from bfcl.records.template import Template
from bfcl.stages.wording import Wording

Inputs = dict[str, str]


@dataclass(slots=True, kw_only=True)
class KeyMaker:
    """Makes the keys of one run; digests of shared inputs are computed once."""

    pack: Pack
    config: RunConfig
    language: str
    wording: Wording
    oracle_view: str
    """Address of the view entry."""
    _digests: dict[str, str] = field(default_factory=dict, init=False)

    def shard(self, stage: str, template: Template, chunk: Chunk, rows: Mapping[str, str]) -> Key:
        """The key of one shard. `rows` maps an upstream stage to the digest of its rows for this shard."""
        params, inputs = _SHARD_PARTS[stage](self, template)
        if stage == "expand":
            params = {**params, "start": chunk.start, "stop": chunk.stop}
        return Key(
            stage=stage,
            shard=chunk.label,
            code=code_digest(stage),
            params=params,
            inputs={**inputs, **{f"rows/{name}": digest for name, digest in rows.items()}},
        )

    def template(self, template: Template) -> str:
        """Digest of a normalised template."""
        return self._once(f"template/{template.template_id}", lambda: template_json(template))

    def _expand(self, template: Template) -> tuple[dict[str, Json], Inputs]:
        manifest = self.pack.manifest
        params: dict[str, Json] = {
            "limit": self.config.task_generation.candidate_tasks_per_category,
            "seed": self.config.seed,
            "pack_id": manifest.pack_id,
            "pack_version": manifest.version,
        }
        return params, {"template": self.template(template), **self._bound(template)}

    def _bound(self, template: Template) -> Inputs:
        """Digests of the collections, parameters and absent ids the template's sources name."""
        sources = [slot.source for slot in template.slots.values()]
        sources += [update.source for turn in template.user_simulator_turns for update in turn.slot_updates]
        inputs: Inputs = {}
        for source in map(parse_source, sources):
            if source.kind == "fixture" and source.collection is not None:
                name = source.collection
                inputs[f"collection/{name}"] = self._once(f"collection/{name}", partial(self._collection, name))
            elif source.kind == "absent" and source.collection is not None:
                name = source.collection
                inputs[f"absent/{name}"] = self._once(f"absent/{name}", partial(self._absent, name))
            elif source.kind == "enum" and source.tool is not None:
                inputs[f"tool/{source.tool}"] = self._tool(source.tool)
        return inputs

    def _collection(self, name: str) -> Json:
        rows = collection_rows(self.pack.fixtures, name)
        value: dict[str, Json] = {"rows": rows, "primary_key": self.pack.manifest.primary_keys.get(name)}
        reserved = self.pack.held_out.fixtures.get(name, ()) if self.pack.held_out is not None else ()
        return {**value, "reserved": reserved} if reserved else value

    def _absent(self, name: str) -> Json:
        return self.pack.manifest.absent_ids.get(name, ())

    def _tool(self, name: str) -> str:
        tool = self.pack.tool(name)
        return self._once(f"tool/{name}", lambda: tool.internal() if tool else None)

    def _catalog(self) -> str:
        return self._once("catalog", lambda: [tool.internal() for tool in self.pack.tools])

    def _state_machine(self, template: Template) -> tuple[dict[str, Json], Inputs]:
        return {}, {"template": self.template(template)}

    def _render(self, template: Template) -> tuple[dict[str, Json], Inputs]:
        return {}, {"template": self.template(template), "wording": self._once("wording", self._wording)}

    def _wording(self) -> Json:
        return {name: _plain(getattr(self.wording, name)) for name in sorted(self.wording.__slots__)}

    def _expected_trace(self, template: Template) -> tuple[dict[str, Json], Inputs]:
        inputs: Inputs = {"template": self.template(template), "tools": self._catalog()}
        if template.turn_policy != "dependent_call":
            return {}, inputs
        return self._oracle_params(), {**inputs, **self._oracle_inputs()}

    def _schema_validation(self, template: Template) -> tuple[dict[str, Json], Inputs]:
        params: dict[str, Json] = {"confirmation_parameter": self.pack.manifest.confirmation.parameter}
        return params, {"template": self.template(template), "tools": self._catalog()}

    def _executable_replay(self, _: Template) -> tuple[dict[str, Json], Inputs]:
        return {**self._oracle_params(), "language": self.language}, self._oracle_inputs()

    def _oracle_params(self) -> dict[str, Json]:
        runtime = self.config.oracle_runtime
        return {
            "clock": runtime.clock,
            "worker": runtime.worker,
            "python": python_minor(),
            **{name: float(getattr(runtime, name)) for name in TIMEOUTS},
        }

    def _oracle_inputs(self) -> Inputs:
        fixtures = self._once("fixtures", lambda: reset_fixtures(self.pack) if self.pack.has_fixtures else None)
        return {"oracle_view": self.oracle_view, "fixtures": fixtures}

    def _once(self, name: str, value: Callable[[], Json]) -> str:
        digest = self._digests.get(name)
        if digest is None:
            digest = self._digests[name] = blake3_json(value())
        return digest


_SHARD_PARTS: Final[Mapping[str, Callable[[KeyMaker, Template], tuple[dict[str, Json], Inputs]]]] = {
    "expand": KeyMaker._expand,
    "state_machine": KeyMaker._state_machine,
    "render": KeyMaker._render,
    "expected_trace": KeyMaker._expected_trace,
    "schema_validation": KeyMaker._schema_validation,
    "executable_replay": KeyMaker._executable_replay,
}


def merge_key(
    stage: str, code: str, shards: Sequence[Shard], inputs: Mapping[str, str], params: Mapping[str, Json]
) -> Key:
    """The key of a stage's merged result: its shards' rows in order, the modules named `code`, the Parquet library."""
    ordered = [[shard.label, shard.digest] for shard in shards]
    return Key(
        stage=stage,
        shard=None,
        code=code_digest(code),
        params={**params, "pyarrow": pyarrow_version()},
        inputs={**inputs, "shards": blake3_json(ordered)},
    )


def _plain(value: object) -> Json:
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(str(item) for item in value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    raise TypeError(f"not plain data: {type(value).__name__}")
