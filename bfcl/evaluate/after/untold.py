"""What of a finished evaluation can no audit of its files tell, and why not?

One table, which `bfcl eval-verify` prints as not checked. A test edits every value of every file and holds it to what
is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bfcl.evaluate.artifacts.names import HELD_OUT_FILE, MANIFEST, REPORT, TOOL_TRACE_CACHE
from bfcl.evaluate.settings.resolved import FILE as RESOLVED
from bfcl.evaluate.source.reports import CONTAMINATION_REPORT, VERIFICATION_REPORT
from bfcl.tables.task_results import TASK_RESULTS_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """Something that stands in the files and follows from nothing else in them."""

    what: str
    """As people read it."""
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


UNTOLD: Final = (
    Untold(
        what="whether each provider really answered as recorded",
        why="nobody was asked again",
    ),
    Untold(
        what="whether the oracle would answer as recorded",
        why="none of its code was run",
    ),
    Untold(
        what="`final_state`, the words of `detail`, whether a call that may change the state did so (`commit`), and "
        f"results that no candidate was shown in {TOOL_TRACE_CACHE}",
        why="only the oracle knows them, and no score is made of them",
    ),
    Untold(
        what=f"`written_at` in {VERIFICATION_REPORT} and {CONTAMINATION_REPORT}",
        why="every run writes them anew, so only that it is a time is checked",
    ),
    Untold(
        what=f"`oracle.probed` in {VERIFICATION_REPORT} where no task was run against the oracle",
        why="the envelope decides, and nothing of it is kept",
    ),
    Untold(
        what=f"`resolved_paths` in {RESOLVED}",
        why="they name places on one machine; what is read there is held to its digest",
    ),
    Untold(
        what=f"`runtime` in {MANIFEST}",
        why="it is what the run said of its machine and code",
    ),
    Untold(
        what=f"the digests of `resumed_from` in {MANIFEST}",
        why="the records that answers were taken over from lie elsewhere; the shape is checked",
    ),
    Untold(
        what=f"`eval_run_id`, where {REPORT} and {MANIFEST} tell the same",
        why="it is a name, and nothing follows from it",
    ),
    Untold(
        what=f"what {HELD_OUT_FILE} says, beyond its digest in {MANIFEST}",
        why="nothing of private tasks is recorded",
    ),
    Untold(
        what=f"compression and pages of {TASK_RESULTS_FILE}",
        why="they depend on the version of the library; schema, metadata and rows are checked",
    ),
    Untold(
        what="locks and any file that no evaluation writes",
        why="nothing is read from them",
    ),
)
"""The whole of it."""
