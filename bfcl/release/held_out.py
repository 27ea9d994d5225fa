"""Did a release really keep out what its held-out policy reserves? Rule: generation.md §6.2.

The rows are scanned anew against the reserved ids that the release records, and its own scan must say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from bfcl.canonical import Json, canonical_json, canonical_text
from bfcl.digest import sha256_of
from bfcl.errors import BfclError, Problem
from bfcl.located import parse_json
from bfcl.pack.held_out import fixture_ref
from bfcl.release.file_digests import FIX
from bfcl.release.read import TABLE_ARTIFACTS, Release
from bfcl.stages.artifacts import ARTIFACTS
from bfcl.stages.held_out_scan import Hit, Scan
from bfcl.tables.benchmark import flag_values

CODE: Final = "release_held_out_mismatch"
_RAW: Final = TABLE_ARTIFACTS["raw"]
_SHOWN: Final = 20


def held_out_problems(release: Release) -> list[Problem]:
    """`release_held_out_mismatch` for every contradiction between rows, recorded policy, scan and manifest.

    Files are expected to hash as the manifest says. Raises ReleaseError `release_payload_unreadable`.
    """
    if release.held_out["evaluated"] is not True:
        return list(_flag_problems(release, wanted=None))
    policy = _object(release, "held_out_normalized")
    claimed = _field(release.held_out, "policy", "policy_hash")
    seen = sha256_of(canonical_json(policy))
    problems = []
    if seen != claimed:
        message = f"the policy has {seen}, the manifest says {_text(claimed)}"
        problems.append(_mismatch("held_out_normalized", message, "held_out.policy.policy_hash"))
    scan = Scan(_templates(policy), _refs(policy))
    for row in release.rows("raw"):
        scan.see(row)
    problems += [_mismatch(_RAW, _told(hit)) for hit in scan.hits[:_SHOWN]]
    return [*problems, *_flag_problems(release, wanted=False), *_claim_problems(release, scan)]


def _flag_problems(release: Release, *, wanted: bool | None) -> Iterator[Problem]:
    seen = flag_values(release.path("raw"), "held_out_hit")
    if seen - {wanted}:
        listed = ", ".join(sorted(map(_text, seen)))
        yield _mismatch(_RAW, f"`held_out_hit` holds {listed}; expected {_text(wanted)} only")


def _claim_problems(release: Release, scan: Scan) -> Iterator[Problem]:
    """Where scan document and tables say different things; the manifest is held to the document (`claims`)."""
    document = _object(release, "held_out_scan")
    scanned: dict[str, tuple[Json, Json]] = {
        "action": (document.get("action"), "publish"),
        "hits": (document.get("hits"), []),
        "counts.rows_scanned": (_field(document, "counts", "rows_scanned"), scan.rows),
        "counts.rows_hit": (_field(document, "counts", "rows_hit"), 0),
        "counts.rows_dropped": (_field(document, "counts", "rows_dropped"), 0),
        "counts.rows_published": (_field(document, "counts", "rows_published"), release.published.rows),
    }
    for name, (seen, wanted) in scanned.items():
        if seen != wanted:
            yield _mismatch("held_out_scan", f"`{name}` is {_text(seen)}, expected {_text(wanted)}")


def _told(hit: Hit) -> str:
    used = ([hit.template_id] if hit.template_id is not None else []) + list(hit.refs)
    return f"row `{hit.task_id}` uses what the policy reserves: {', '.join(used)}"


def _object(release: Release, name: str) -> Mapping[str, Json]:
    """A JSON artifact; one that is no object is as good as empty, since nothing in it then fits the manifest."""
    path = release.run_dir / ARTIFACTS[name].file
    try:
        value = parse_json(path.read_bytes(), path=str(path), code=CODE).value
    except BfclError:
        return {}
    return value if isinstance(value, dict) else {}


def _field(holder: Mapping[str, Json], block: str, key: str) -> Json:
    inner = holder.get(block)
    return inner.get(key) if isinstance(inner, Mapping) else None


def _templates(policy: Mapping[str, Json]) -> list[str]:
    value = policy.get("templates")
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _refs(policy: Mapping[str, Json]) -> Iterator[str]:
    fixtures = policy.get("fixtures")
    for name, ids in fixtures.items() if isinstance(fixtures, Mapping) else ():
        for one in ids if isinstance(ids, list) else ():
            if isinstance(one, str | int):
                yield fixture_ref(name, one)


def _text(value: Json) -> str:
    return canonical_text(value)


def _mismatch(subject: str, message: str, field: str | None = None) -> Problem:
    """`field` is the manifest's, where that is what contradicts."""
    return Problem(code=CODE, subject=subject, field=field, message=message, fix=FIX)
