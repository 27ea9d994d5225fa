"""What a run tree published last, kept beside the manifest so that a changed one is noticed. Rule: generation.md §9.6.

It belongs to the run tree and not to a configuration: two configurations may share their pointers and not their output.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bfcl.canonical import readable_json
from bfcl.files import write_atomic


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRecord:
    """BLAKE3 of the manifest, the key of the inputs it was made of, and BLAKE3 of the configuration as checked then.

    `checkpoints` maps the path of each checkpoint's file, below the checkpoints, to its BLAKE3.
    `recorded` is what models had answered by then, as `recorded_so_far` says it.
    """

    manifest: str
    publication_key: str
    configuration: str
    checkpoints: Mapping[str, str]
    recorded: str = ""


def write_commit_record(path: Path, record: CommitRecord) -> None:
    """Write it, after the manifest: a kill in between costs a rebuild, never a false alarm."""
    write_atomic(path, readable_json(asdict(record)))


def read_commit_record(path: Path) -> CommitRecord | None:
    """What was published last, None where that is unknown."""
    try:
        value = json.loads(path.read_bytes())
        return CommitRecord(
            manifest=str(value["manifest"]),
            publication_key=str(value["publication_key"]),
            configuration=str(value["configuration"]),
            recorded=str(value["recorded"]),
            checkpoints={name: str(digest) for name, digest in value["checkpoints"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
