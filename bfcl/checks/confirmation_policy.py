"""Check 6: does a gated tool wait for its confirmation, touching nothing until then? Rule: pack.md §6, §11."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bfcl.canonical import Json
from bfcl.checks.findings import PHASES, Findings, Subject, placed
from bfcl.checks.probes import Broken, Probes, at_case, breakage, breakages, change, classify, episode, probes
from bfcl.oracle.protocol import Episode, EpisodeResult
from bfcl.pack.json_pointer import pointer_parts
from bfcl.pack.model import Pack
from bfcl.records.tool import Tool
from bfcl.records.verdict import Finding
from bfcl.stages.divergence import shortened


class _Retrial(NamedTuple):
    """A success probe asked again without its confirmation, behind the probes of its chain before it."""

    case: int
    """Position of the probe in the declared cases."""
    asked: str
    """How the tool is called, in words."""
    episode: Episode


def check(subject: Subject) -> Findings:
    """For each gated tool, every success probe is pending, and changes nothing, where the confirmation is false.

    Or left out, where the schema's default is false. Raises: OracleError if no episode can run at all.
    """
    pack, played = subject.pack, probes(subject)
    gated = {tool.name: tool for tool in pack.tools if tool.requires_confirmation}
    retrials = [one for tool in gated.values() for one in _retrials(pack, played, tool)]
    results = subject.oracle.run([one.episode for one in retrials]) if retrials else []
    # Left out is as good as false: what both show of a probe is told once.
    told: dict[tuple[int, str], Finding] = {}
    met: dict[int, Broken] = {}
    for retrial, result in zip(retrials, results, strict=True):
        if result.breakdown is not None and result.breakdown.phase in PHASES:
            met.setdefault(retrial.case, Broken(index=retrial.case, breakdown=result.breakdown, aborted=()))
            continue
        for finding in _faults(pack, retrial, result):
            told.setdefault((retrial.case, finding.code), finding)
    of_every = [finding for _, finding in breakages(pack, list(met.values()))]
    return Findings([*of_every, *told.values(), *_unprobed(pack, played)], [])


def _retrials(pack: Pack, played: Probes, tool: Tool) -> Iterator[_Retrial]:
    parameter = pack.manifest.confirmation.parameter
    chains = {index: chain for chain in played.chains for index in chain}
    for success in played.successes(tool.name):
        chain = chains[success.index]
        whole = episode(pack.cases, chain[: chain.index(success.index) + 1])
        others = {name: value for name, value in success.case.arguments.items() if name != parameter}
        variants: list[tuple[str, dict[str, Json]]] = [
            (f"`{tool.name}` with `{parameter}: false`", {**others, parameter: False})
        ]
        if _default_is_false(tool, parameter):
            variants.append((f"`{tool.name}` without `{parameter}`", others))
        for asked, arguments in variants:
            last = dataclasses.replace(whole.calls[-1], arguments=arguments)
            calls = (*whole.calls[:-1], last)
            yield _Retrial(success.index, asked, dataclasses.replace(whole, calls=calls))


def _default_is_false(tool: Tool, parameter: str) -> bool:
    """Whether leaving the parameter out means false by the tool's own schema, local references followed."""
    root = tool.parameters or {}
    return any(one.get("default") is False for one in _declarations(root, root, parameter))


def _declarations(root: Mapping[str, Json], schema: Json, parameter: str) -> Iterator[Mapping[str, Json]]:
    """Every schema that speaks of the parameter; check 3 has passed, so no reference leads round in a circle."""
    for part in _conjuncts(root, schema):
        properties = part.get("properties")
        if isinstance(properties, Mapping) and parameter in properties:
            yield from _conjuncts(root, properties[parameter])


def _conjuncts(root: Mapping[str, Json], schema: Json) -> Iterator[Mapping[str, Json]]:
    if not isinstance(schema, Mapping):
        return
    yield schema
    reference, members = schema.get("$ref"), schema.get("allOf")
    if isinstance(reference, str):
        target: Json = root
        for key in pointer_parts(reference):
            target = target[key] if isinstance(target, Mapping) and key in target else None
        yield from _conjuncts(root, target)
    for member in members if isinstance(members, list) else ():
        yield from _conjuncts(root, member)


def _faults(pack: Pack, retrial: _Retrial, result: EpisodeResult) -> Iterator[Finding]:
    index, asked = retrial.case, retrial.asked
    if result.breakdown is not None:
        yield breakage(pack, index, result.breakdown, asked)
        return
    answer = json.loads(result.results[-1])
    seen = classify(answer, pack.manifest.confirmation)
    if seen != "awaiting_confirmation":
        words = pack.manifest.confirmation
        message = f"{asked} answered {shortened(answer)}; expected `{words.status_field}: {words.pending_status}`"
        fix = "let the tool ask for confirmation before it does anything"
        yield at_case(pack, index, "arguments", Finding(code="confirmation_not_pending", message=message, fix=fix))
    changed = change(*result.states[-2:])
    if changed is not None:
        message = f"{asked} changed the state: {changed}; expected no change before the confirmation"
        yield at_case(pack, index, "arguments", Finding(code="unconfirmed_mutation", message=message))


def _unprobed(pack: Pack, played: Probes) -> Iterator[Finding]:
    for index, tool in enumerate(pack.tools):
        if tool.requires_confirmation and not played.successes(tool.name):
            message = f"`{tool.name}` requires confirmation, but no probe of it succeeds; expected at least one"
            fix = played.success_fix(pack, tool.name)
            found = Finding(code="confirmation_unprobed", message=message, tool=tool.name, fix=fix)
            yield placed(pack, "tools", (index, "function", "name"), found)
