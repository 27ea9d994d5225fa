"""How is an evaluation run this time? Nothing of it may influence a score or a hash. Rules: evaluation.md §1, §17."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bfcl.config.kinds import ENVELOPE_KEY, GENERATION_ONLY, is_scoring_configuration
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.settings.reading import Section, content_hash, led_to, open_file

INVALID: Final = "eval_cli_invalid"
OutputFormat = Literal["human", "json"]

_BACKENDS: Final[tuple[Literal["direct", "nemo_launcher"], ...]] = ("direct", "nemo_launcher")
_FORMATS: Final[tuple[OutputFormat, ...]] = ("human", "json")
CHOICES: Final = (
    "output_format",
    "probe_oracle",
    "dry_run",
    "resume_from",
    "max_requests",
    "max_total_tokens",
    "requests_per_minute",
    "max_infrastructure_stops",
)
"""Keys that say how this invocation is run."""
_OPTIONAL: Final = ("schema_version", "family", "stage", "execution_backend", "launcher", *CHOICES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Choices of one invocation. Every cap is None where there is none."""

    path: Path
    """The file given: an envelope, or the scoring configuration itself."""
    eval_config_path: Path
    output_format: OutputFormat = "human"
    probe_oracle: bool = True
    dry_run: bool = False
    resume_from: Path | None = None
    max_requests: int | None = None
    """HTTP requests of the whole run, retries included."""
    max_total_tokens: int | None = None
    """Prompt and completion tokens as the provider counts them."""
    requests_per_minute: int | None = None
    max_infrastructure_stops: int | None = None
    """Episodes that infrastructure may end before the run stops."""
    command: Literal["bfcl eval", "doit eval"] = "bfcl eval"
    """Whose words tell how to go on. No key of the file."""


def load_envelope(path: Path) -> Envelope:
    """Read an envelope; a scoring configuration given in its place means itself with every choice at its default.

    Raises: EvalError with every fault in file order: `eval_cli_invalid`, `secret_in_eval_config`.
    """
    path = path.absolute()
    reading = open_file(path, code=INVALID, unreadable=INVALID)
    if is_scoring_configuration(reading.raw):
        # Its own faults are for whoever loads it.
        return Envelope(path=path, eval_config_path=path)
    foreign = sorted(GENERATION_ONLY & reading.raw.keys())
    for key in foreign:
        message = "makes this a generation configuration; expected an envelope or a scoring configuration"
        reading.refuse((key,), message, "name one of them, like `config=configs/eval.cli.yaml`")
    if foreign:
        # Every key of such a file would be refused as unknown, which says less.
        reading.raise_all()
    root = reading.root((ENVELOPE_KEY,), _OPTIONAL)
    root.word("schema_version", ("1.0",))
    root.word("family", ("bfcl",))
    root.word("stage", ("eval",))
    _check_backend(root)
    envelope = Envelope(
        path=path,
        eval_config_path=_file(root),
        output_format=root.word("output_format", _FORMATS),
        probe_oracle=root.flag("probe_oracle", default=True),
        dry_run=root.flag("dry_run"),
        resume_from=_directory(root),
        max_requests=root.whole_or_null("max_requests", least=1),
        max_total_tokens=root.whole_or_null("max_total_tokens", least=1),
        requests_per_minute=root.whole_or_null("requests_per_minute", least=1),
        max_infrastructure_stops=root.whole_or_null("max_infrastructure_stops", least=1),
    )
    reading.raise_all()
    return envelope


def check_probe(envelope: Envelope, *, executable: bool) -> None:
    """Whether the oracle may go unprobed. Raises: EvalError `eval_source_oracle_resource_mismatch`."""
    if executable and not envelope.probe_oracle:
        raise EvalError(
            Problem(
                code="eval_source_oracle_resource_mismatch",
                path=str(envelope.path),
                field="probe_oracle",
                message="probe_oracle is false; expected true, as tasks are driven against the oracle",
                fix="set `probe_oracle` to true, or evaluate `[trace]` only",
            )
        )


def _check_backend(root: Section) -> None:
    backend = root.word("execution_backend", _BACKENDS)
    if backend == "nemo_launcher":
        expected = "`direct`: this release starts no launcher"
        root.wrong("execution_backend", expected, "write `execution_backend: direct`")
    if root.has("launcher"):
        expected = "no such key, which only the backend `nemo_launcher` takes"
        root.wrong("launcher", expected, "remove it")


def _file(root: Section) -> Path:
    name = root.text("eval_config_path", expected="the path of a scoring configuration")
    path = root.reading.resolved(name)
    if name and content_hash(path) is None:
        fix = "a relative path counts from the directory of this file"
        root.wrong("eval_config_path", f"a scoring configuration that can be read; {led_to(path, name)}", fix)
    return path


def _directory(root: Section) -> Path | None:
    name = root.text_or_null("resume_from", expected="null or the output directory of an earlier evaluation")
    if name is None:
        return None
    path = root.reading.resolved(name)
    try:
        there = path.is_dir()
    except OSError:
        there = False
    if not there:
        fix = "name the output directory of the run to go on with, or leave `resume_from` out"
        root.wrong("resume_from", f"a directory that is there; {led_to(path, name)}", fix)
    return path
