"""Does a manifest say of the files beside it what they say themselves? Rule: generation.md §6.2, §6.3.

What a manifest restates of a file it hashes needs no word of its own to be believed, so a manifest that says otherwise
was edited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.errors import BfclError, Problem
from bfcl.pack.fingerprint import fingerprint
from bfcl.release.claims import BUDGETS, CODE, claims
from bfcl.release.differences import Difference, differences, shown
from bfcl.release.file_digests import FIX
from bfcl.release.read import TABLE_ARTIFACTS, Release
from bfcl.stages.artifacts import ARTIFACTS
from bfcl.stages.run_manifest import run_id
from bfcl.stages.task_identity import identity_of
from bfcl.tables.benchmark import column_values
from bfcl.tables.codec import TASKS
from bfcl.tables.parquet import read_rows

UNDERIVED: Final[Mapping[str, str]] = {
    "oracle_clock": "the configuration sets it, and no result needs to show it",
    "pipeline_version": "the program that ran is not part of a release",
    "resolved_config_hash": "the configuration is not part of a release",
    "reference_benchmark.name": "the configuration names the samples; the profile keeps their hash alone",
    "reference_benchmark.samples_path": "the configuration names the samples; the profile keeps their hash alone",
    "runtime.python": "the machine that ran leaves no other trace",
    "runtime.platform": "the machine that ran leaves no other trace",
    "runtime.machine": "the machine that ran leaves no other trace",
    "runtime.pyarrow": "tables may be written anew by another version, and are compared by their rows",
    "runtime.isolation": "the machines that replayed leave no other trace in a release",
    "runtime.pipeline_git_sha": "the program that ran is not part of a release; the digest of its sources is held",
    "runtime.pipeline_git_dirty": "the program that ran is not part of a release; the digest of its sources is held",
    "build.publication_key": "it names the inputs of the run, which are not part of a release",
}
"""What a manifest alone says, field or whole block, and why nothing beside it can contradict that.

Everything else is held; a test edits every value of good releases to see so.
"""

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_TOKEN_DIGITS: Final = 32
_TOKEN: Final = re.compile(f"[0-9a-f]{{{_TOKEN_DIGITS}}}")


def restated_problems(release: Release, published_ids: Collection[str]) -> Iterator[Problem]:
    """`release_report_mismatch` for each field of the manifest that is not what the files say.

    Files are expected to hash as the manifest says. Raises: ReleaseError `stage_tables_disagree`; DriftError
    `table_unreadable`, `table_schema_mismatch`.
    """
    try:
        wanted = claims(release, published_ids)
    except BfclError as error:
        yield from error.problems
        return
    except (KeyError, TypeError, ValueError) as error:
        message = f"a report beside it is not as this version writes them: {error}"
        yield Problem(code=CODE, subject="run_manifest.json", message=message, fix=FIX)
        return
    for path, value in wanted.items():
        seen: Json = release.manifest
        for name in path:
            seen = seen.get(name) if isinstance(seen, Mapping) else None
        for difference in differences(seen, value, path):
            yield _problem(difference)
    yield from map(_problem, _run_id(release))
    yield from map(_problem, _pack_files(release))
    yield from map(_problem, _seed(release))
    yield from map(_problem, _budgets(release))
    yield from map(_problem, _rows(release))


def _run_id(release: Release) -> Iterator[Difference]:
    """The run's name tells experiment, moment and prompt, which stand elsewhere too; its end is random."""
    stated, created = release.manifest["run_id"], release.manifest["created_at"]
    try:
        moment: datetime | None = datetime.fromisoformat(str(created))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        yield Difference(("created_at",), f"is {shown(created)}, which is no moment with its offset")
        return
    row = next(iter(release.rows("published")))
    experiment = json.loads(row["metadata"])["expt_name"]
    token = str(stated)[-_TOKEN_DIGITS:]
    wanted = run_id(experiment, moment.astimezone(UTC), row["system_prompt_id"], token)
    if stated != wanted or not _TOKEN.fullmatch(token):
        yield Difference(("run_id",), f"is {shown(stated)}, expected {shown(wanted)} by rows and `created_at`")


def _pack_files(release: Release) -> Iterator[Difference]:
    """The digests of the pack's files give the fingerprint that the validation report names as well."""
    pack = release.manifest["pack"]
    files = pack.get("files") if isinstance(pack, Mapping) else None
    digests = {name: Digest(str(digest)) for name, digest in (files.items() if isinstance(files, Mapping) else ())}
    odd = [name for name, digest in digests.items() if not _DIGEST.fullmatch(digest)]
    for name in odd:
        yield Difference(("pack", "files", name), f"is {shown(digests[name])}, which is no digest")
    wanted = pack.get("content_hash") if isinstance(pack, Mapping) else None
    if not odd and fingerprint(digests) != wanted:
        yield Difference(("pack", "files"), f"give the fingerprint {fingerprint(digests)}, expected {shown(wanted)}")


def _seed(release: Release) -> Iterator[Difference]:
    """The seed of the run is the one from which the seed of a task follows. Rule: generation.md §3.9."""
    seeds = release.manifest["seeds"]
    stated = seeds.get("global") if isinstance(seeds, Mapping) else None
    row = next(read_rows(release.run_dir / ARTIFACTS[TASKS.artifact].file, TASKS.artifact))
    task = TASKS.from_row(row)
    if not isinstance(stated, int) or isinstance(stated, bool) or identity_of(task).seed(stated) != task.seed:
        message = f"is {shown(stated)}, from which the seed {task.seed} of `{task.task_id}` does not follow"
        yield Difference(("seeds", "global"), message)


def _budgets(release: Release) -> Iterator[Difference]:
    """Without balancing nothing is bound beyond what may be published. Rule: generation.md §2.2."""
    targets = release.manifest["bias_targets"]
    if "dedup_balancing" in release.holding or not isinstance(targets, Mapping):
        return
    wanted, bound = (targets.get(name) for name in BUDGETS)
    if wanted != bound or not isinstance(wanted, int) or isinstance(wanted, bool):
        told = f"is {shown(wanted)}, while `bias_targets.{BUDGETS[1]}` is {shown(bound)}: without balancing, one number"
        yield Difference(("bias_targets", BUDGETS[0]), told)


def _rows(release: Release) -> Iterator[Difference]:
    """Every row is of the pack and tier that the manifest names."""
    pack = release.manifest["pack"]
    named = pack if isinstance(pack, Mapping) else {}
    for path, column, wanted in (
        (("pack", "pack_id"), "pack_id", named.get("pack_id")),
        (("pack", "version"), "pack_version", named.get("version")),
        (("tier",), "tier", release.manifest["tier"]),
    ):
        for table in TABLE_ARTIFACTS:
            seen = column_values(release.path(table), column)
            if seen != {wanted}:
                file = release.table(table).file
                yield Difference(path, f"is {shown(wanted)}, while {file} holds {', '.join(sorted(seen))}")


def _problem(difference: Difference) -> Problem:
    field = difference.field
    return Problem(code=CODE, subject="run_manifest.json", field=field, message=f"`{field}` {difference.told}", fix=FIX)
