"""What does the build log still say of the time a run's replays took? Rule: generation.md §9.7."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.graph.evidence import invocations, read_invocation
from bfcl.graph.shards import template_of
from bfcl.release.report.facts import Timing

_STAGE: Final = "executable_replay"


def replay_timing(log: Path, manifest: Mapping[str, Json]) -> Timing:
    """Seconds by template, of those templates whose every shard was computed in an invocation that is still on record.

    Shards are matched by address, so a log of other runs does no harm. Of several computations the latest counts. An
    invocation that cannot be read is passed over: the log is evidence, nothing depends on it.
    """
    recorded: dict[str, float] = {}
    for directory in invocations(log):
        recorded.update(_computed(directory))
    seconds: dict[str, float] = defaultdict(float)
    unknown: set[str] = set()
    for label, fp in _shards(manifest):
        template_id = template_of(label)
        if fp in recorded:
            seconds[template_id] += recorded[fp]
        else:
            unknown.add(template_id)
    known = {template_id: taken for template_id, taken in seconds.items() if template_id not in unknown}
    return Timing(seconds=known, templates=len(seconds.keys() | unknown))


def _computed(directory: Path) -> dict[str, float]:
    """Address to seconds."""
    try:
        body = read_invocation(directory).get(_STAGE)
    except (OSError, ValueError):
        return {}
    events = body.get("events") if isinstance(body, Mapping) else None
    found = {}
    for event in events if isinstance(events, list) else ():
        if isinstance(event, Mapping) and event.get("action") == "computed" and event.get("shard") is not None:
            fp, seconds = event.get("fp"), event.get("seconds")
            if isinstance(fp, str) and isinstance(seconds, int | float):
                found[fp] = float(seconds)
    return found


def _shards(manifest: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Label and address of each replayed shard that the release is made of."""
    place: Json = manifest["build"]
    for key in ("stages", _STAGE, "shards"):
        place = place.get(key) if isinstance(place, Mapping) else None
    for label, fp in sorted(place.items()) if isinstance(place, Mapping) else ():
        if isinstance(fp, str):
            yield label, fp
