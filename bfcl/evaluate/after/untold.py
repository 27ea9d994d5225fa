"""What of a finished evaluation can no audit of its files tell, and why not?

One table: what `bfcl eval-verify` prints as not checked, and what an edit may touch without being refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from bfcl.evaluate.artifacts.names import CANDIDATE_CACHE, HELD_OUT_FILE, MANIFEST, REPORT, TOOL_TRACE_CACHE
from bfcl.evaluate.settings.resolved import FILE as RESOLVED
from bfcl.evaluate.source.reports import CONTAMINATION_REPORT, VERIFICATION_REPORT
from bfcl.tables.task_results import TASK_RESULTS_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """Something that stands in the files and follows from nothing else in them."""

    what: str
    """As people read it."""
    why: str
    files: tuple[str, ...]
    fields: str | None = None
    """A pattern of paths as `a.b[2].c`, of which one alone may be edited unnoticed; None where none may."""

    def covers(self, file: str, field: str) -> bool:
        """Whether an edit of this one field may go unnoticed.

        A test edits every value of every file, and finds unnoticed exactly what the table covers.
        """
        return file in self.files and self.fields is not None and re.fullmatch(self.fields, field) is not None

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


UNTOLD: Final = (
    Untold(
        what="whether each provider really answered as recorded",
        why="nobody was asked again",
        files=(CANDIDATE_CACHE,),
    ),
    Untold(
        what="whether the oracle would answer as recorded",
        why="none of its code was run",
        files=(TOOL_TRACE_CACHE,),
    ),
    Untold(
        what="`final_state`, the words of `detail`, whether a call that may change the state did so (`commit`), and "
        f"results that no candidate was shown in {TOOL_TRACE_CACHE}",
        why="only the oracle knows them, and no score is made of them",
        files=(TOOL_TRACE_CACHE,),
        fields=r"final_state|detail|assertions\[\d+\]\.detail|turns\[\d+\]\.executions\[\d+\]\.(commit|detail|result)",
    ),
    Untold(
        what=f"`written_at` in {VERIFICATION_REPORT} and {CONTAMINATION_REPORT}",
        why="every run writes them anew, so only that it is a time is checked",
        files=(VERIFICATION_REPORT, CONTAMINATION_REPORT),
        fields="written_at",
    ),
    Untold(
        what=f"`oracle.probed` in {VERIFICATION_REPORT} where no task was run against the oracle",
        why="the envelope decides, and nothing of it is kept",
        files=(VERIFICATION_REPORT,),
        fields=r"oracle\.probed",
    ),
    Untold(
        what=f"`resolved_paths` in {RESOLVED}",
        why="they name places on one machine; what is read there is held to its digest",
        files=(RESOLVED,),
        fields=r"resolved_paths\.\w+",
    ),
    Untold(
        what=f"`runtime` in {MANIFEST}",
        why="it is what the run said of its machine and code",
        files=(MANIFEST,),
        fields=r"runtime(\.\w+)?",
    ),
    Untold(
        what=f"the digests of `resumed_from` in {MANIFEST}",
        why="the records that answers were taken over from lie elsewhere; the shape is checked",
        files=(MANIFEST,),
        fields=r"(resumed_from\.)+(candidate_io_cache|tool_trace_cache)\.content_hash",
    ),
    Untold(
        what=f"`eval_run_id`, where {REPORT} and {MANIFEST} tell the same",
        why="it is a name, and nothing follows from it",
        files=(REPORT, MANIFEST),
    ),
    Untold(
        what=f"what {HELD_OUT_FILE} says, beyond its digest in {MANIFEST}",
        why="nothing of private tasks is recorded",
        files=(HELD_OUT_FILE,),
    ),
    Untold(
        what=f"compression and pages of {TASK_RESULTS_FILE}",
        why="they depend on the version of the library; schema, metadata and rows are checked",
        files=(TASK_RESULTS_FILE,),
    ),
    Untold(
        what="locks and any file that no evaluation writes",
        why="nothing is read from them",
        files=(f".{CANDIDATE_CACHE}.lock", f".{TOOL_TRACE_CACHE}.lock"),
        fields="",
    ),
)
"""The whole of it. The empty field stands for the file as a whole: it may be gone."""
