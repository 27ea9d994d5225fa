"""What is scored by which rules, how long may it take, how often is it tried? Rules: evaluation.md §2, §16.1, §17.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from bfcl.digest import Digest
from bfcl.evaluate.settings.model import Contamination, HeldOutEval, Limits, Mode, Repeats, Scoring
from bfcl.evaluate.settings.reading import DIGEST, SMALLEST, Section, content_hash, led_to, meant_word

MODES: Final[tuple[Mode, ...]] = ("trace", "executable", "held_out_eval")
"""In the order in which they are stored."""
BUNDLED: Final = "bundled"
"""What `scoring.contract` says to mean the document that ships in the package."""
CONTRACT: Final = Path(__file__).resolve().parent.parent / "scoring_contract.json"
PATH_INVALID: Final = "eval_config_path_invalid"
"""A file that the configuration names is not what it has to be."""

_UNSUPPORTED_MODE: Final = "unsupported_eval_mode"
_MATCHING: Final[tuple[Literal["schema_then_canonical", "canonical_only"], ...]] = (
    "schema_then_canonical",
    "canonical_only",
)
_SUCCESS: Final[tuple[Literal["all_applicable_gates", "assertions_only"], ...]] = (
    "all_applicable_gates",
    "assertions_only",
)
_TEXT: Final[tuple[Literal["structural", "verbatim"], ...]] = ("structural", "verbatim")
_CONTINUATION: Final[tuple[Literal["gold", "live"], ...]] = ("gold", "live")
_SEEDS: Final[tuple[Literal["fixed", "increment"], ...]] = ("fixed", "increment")
_VIOLATION: Final[tuple[Literal["fail_run", "exclude_row"], ...]] = ("fail_run", "exclude_row")
_COMPARISON: Final[tuple[Literal["common_intersection", "per_candidate"], ...]] = (
    "common_intersection",
    "per_candidate",
)


def read_modes(block: Section) -> tuple[Mode, ...]:
    """The modes asked for, in the order of `MODES`. Notes `unsupported_eval_mode`."""
    value = block.value("mode")
    words = ", ".join(f"`{mode}`" for mode in MODES)
    if not isinstance(value, list | tuple):
        if block.has("mode"):
            block.wrong("mode", f"a list of {words}", "write a list, like `[trace]`")
        return ()
    if not value:
        block.wrong("mode", f"at least one of {words}", "write `[trace]`", code=_UNSUPPORTED_MODE)
    for index, item in enumerate(value):
        if block.reading.is_faulty(block.at("mode", index)):
            continue
        if item not in MODES:
            message, fix = f"is no mode; expected one of {words}", meant_word(item, MODES) or "remove it"
            block.reading.refuse(block.at("mode", index), message, fix, code=_UNSUPPORTED_MODE)
        elif item in value[:index]:
            message = "repeats a mode; expected each once"
            block.reading.refuse(block.at("mode", index), message, "remove it", code=_UNSUPPORTED_MODE)
    return tuple(mode for mode in MODES if mode in value)


def read_scoring(root: Section) -> Scoring:
    """The scoring policy, its `policy_hash` still empty."""
    block = root.section(
        "scoring",
        (
            "contract",
            "argument_matching",
            "insert_declared_defaults",
            "respect_call_order",
            "respect_call_group",
            "allow_llm_repair",
            "task_success",
        ),
        ("intermediate_text_matching", "executable_continuation"),
    )
    contract, contract_hash = _contract(block)
    return Scoring(
        contract=contract,
        contract_hash=contract_hash,
        argument_matching=block.word("argument_matching", _MATCHING),
        insert_declared_defaults=block.flag("insert_declared_defaults"),
        respect_call_order=block.flag("respect_call_order"),
        respect_call_group=block.flag("respect_call_group"),
        allow_llm_repair=block.flag("allow_llm_repair"),
        task_success=block.word("task_success", _SUCCESS),
        intermediate_text_matching=block.word("intermediate_text_matching", _TEXT),
        executable_continuation=block.word("executable_continuation", _CONTINUATION),
        policy_hash=Digest(""),
    )


def check_support(root: Section, scoring: Scoring, modes: Sequence[Mode]) -> None:
    """Note `eval_trace_scoring_policy_unsupported` or `eval_executable_scoring_policy_unsupported` for what no scorer
    here does: before any request is sent, not at the first score.
    """
    value = root.value("scoring")
    if not modes or not isinstance(value, Mapping):
        return
    block = Section(root.reading, root.at("scoring"), value)
    trace_only = tuple(modes) == ("trace",)
    unsupported = (
        "eval_trace_scoring_policy_unsupported" if trace_only else "eval_executable_scoring_policy_unsupported"
    )
    if scoring.allow_llm_repair:
        expected = "false: no model repairs what a candidate wrote"
        block.wrong("allow_llm_repair", expected, "set it to false", code=unsupported)
    if trace_only and scoring.task_success == "assertions_only":
        fix = "write `all_applicable_gates`, or add `executable` to `eval.mode`"
        block.wrong("task_success", "`all_applicable_gates`: a trace runs no assertion", fix, code=unsupported)
    if "executable" not in modes and scoring.executable_continuation == "live":
        fix = "remove it, or add `executable` to `eval.mode`"
        block.wrong("executable_continuation", "`gold`: no result is live here", fix, code=unsupported)


def _contract(block: Section) -> tuple[Path, Digest]:
    name = block.text("contract", expected=f"`{BUNDLED}` or the path of a scoring contract document")
    if not name:
        return CONTRACT, Digest("")
    path = CONTRACT if name == BUNDLED else block.reading.resolved(name)
    found = content_hash(path)
    if found is None:
        fix = f"write `{BUNDLED}` for the one that this release scores by"
        block.wrong("contract", f"a file that can be read; {led_to(path, name)}", fix, code=PATH_INVALID)
    return path, found or Digest("")


def read_limits(root: Section) -> Limits:
    """Turns, tasks in flight, retries and times in seconds."""
    block = root.section(
        "limits",
        (
            "max_turns",
            "max_parallel_tasks",
            "max_retries",
            "tool_timeout_s",
            "candidate_timeout_s",
            "episode_timeout_s",
        ),
    )
    seconds = "a number of seconds above 0"
    limits = Limits(
        max_turns=block.whole("max_turns", least=1),
        max_parallel_tasks=block.whole("max_parallel_tasks", least=1),
        max_retries=block.whole("max_retries", least=0),
        tool_timeout_s=block.number("tool_timeout_s", least=SMALLEST, expected=seconds),
        candidate_timeout_s=block.number("candidate_timeout_s", least=SMALLEST, expected=seconds),
        episode_timeout_s=block.number("episode_timeout_s", least=SMALLEST, expected=seconds),
    )
    longest = max(limits.tool_timeout_s, limits.candidate_timeout_s)
    timeouts = block.sound("tool_timeout_s", "candidate_timeout_s", "episode_timeout_s")
    if timeouts and limits.episode_timeout_s < longest:
        expected = f"at least {longest}, the longer of `tool_timeout_s` and `candidate_timeout_s`"
        block.wrong("episode_timeout_s", expected, "raise it, or lower those two")
    return limits


def read_repeats(root: Section) -> Repeats:
    """How often each task is tried; once where the version has no such section."""
    if not root.has("repeats"):
        return Repeats(trials=1, seed_policy="fixed")
    block = root.section("repeats", ("trials", "seed_policy"))
    return Repeats(trials=block.whole("trials", least=1), seed_policy=block.word("seed_policy", _SEEDS))


def read_contamination(root: Section) -> Contamination:
    """What a candidate that helped to make the benchmark means."""
    block = root.section("contamination", ("enforce", "on_violation", "comparison_set"))
    return Contamination(
        enforce=block.flag("enforce"),
        on_violation=block.word("on_violation", _VIOLATION),
        comparison_set=block.word("comparison_set", _COMPARISON),
    )


def read_held_out(root: Section) -> HeldOutEval | None:
    """The policy that a held-out evaluation claims; whether it is the pack's is judged against the pack."""
    if not root.has("held_out_eval"):
        return None
    block = root.section(
        "held_out_eval",
        ("policy_hash", "fixture_refs", "template_ids", "seed", "pack_version", "max_tasks_per_template"),
        ("contract_version",),
    )
    held_out = HeldOutEval(
        contract_version=block.word("contract_version", ("1.0",)),
        policy_hash=Digest(
            block.text("policy_hash", pattern=DIGEST, expected="`sha256:` and 64 lower-case hex digits")
        ),
        fixture_refs=block.texts("fixture_refs"),
        template_ids=block.texts("template_ids"),
        seed=block.whole("seed"),
        pack_version=block.text("pack_version"),
        max_tasks_per_template=block.whole("max_tasks_per_template", least=1),
    )
    if block.sound("fixture_refs", "template_ids") and not (held_out.fixture_refs or held_out.template_ids):
        expected = "references, as `template_ids` is empty, too: nothing would be held out"
        block.wrong("fixture_refs", expected, "copy what the pack's held-out policy reserves")
    return held_out
