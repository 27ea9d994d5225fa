"""Which settings ask for something that nothing here honours? Rules: generation.md §2.1.4, §2.3.

Only commands that generate refuse them: a quiet no would publish something other than was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from bfcl.config.credentials import is_secret_key
from bfcl.config.kinds import EVALUATION_KEYS
from bfcl.config.shape import OPEN_BLOCKS, schema
from bfcl.config.view import ROLES, UNSUPPORTED, View, seen
from bfcl.errors import Problem

_FOREIGN = ("input_dir", "generation_model_config", "judge_model_config")
_OTHER_COMMANDS = {
    **dict.fromkeys(EVALUATION_KEYS, "doit eval"),
    "translation_config_path": "doit translate",
    "translation": "doit translate",
}
_BALANCING = (
    "target_published_tasks",
    "max_turns",
    "max_tool_calls",
    "max_intent_share",
    "difficulty_mix",
    "turn_mix",
    "tool_call_count_mix",
    "policy_mix",
)
_UNBUILT = (
    *(("lineage", "roles", role, "enabled") for role in ROLES),
    ("surface_generation", "model_paraphrase_enabled"),
)
"""Switches of stages this release does not have."""


def feature_problems(view: View) -> list[Problem]:
    """One problem per setting."""
    return [problem for rule in RULES for problem in rule(view)]


def foreign_settings(view: View) -> Iterator[Problem]:
    """Settings of another family of pipelines, or of another command."""
    for key in _FOREIGN:
        if view.at(key) is not None:
            message = "belongs to another family of pipelines; expected null or no such key"
            yield view.problem(UNSUPPORTED, (key,), message, "remove it")
    for key, command in _OTHER_COMMANDS.items():
        if view.at(key) is not None:
            message = f"is a setting of `{command}`, which generation never runs; expected null or no such key"
            yield view.problem(UNSUPPORTED, (key,), message, "keep it in a configuration of its own")


def unknown_keys(view: View) -> Iterator[Problem]:
    """Unknown keys of the blocks where a key stands for a feature."""
    for block in OPEN_BLOCKS:
        known = schema()["properties"][block]["properties"]
        for key in view.block(block):
            if key not in known and not is_secret_key(key):
                message = f"is not a key of `{block}`, so nothing would honour it"
                yield view.unknown(UNSUPPORTED, (block, key), known, message)


def balancing_without_deduplication(view: View) -> Iterator[Problem]:
    """Targets that only the selection of stage 11 can meet."""
    if view.flag("semantic_deduplication_config", "enabled") is not False:
        return
    needs = "needs `semantic_deduplication_config.enabled`"
    for key in _BALANCING:
        if view.has("task_generation", key):
            message = f"{needs}; without it nothing would honour the target"
            yield view.problem(UNSUPPORTED, ("task_generation", key), message, "remove it")
    tasks = view.whole("task_generation", "tasks_per_category", default=1)
    candidates = view.whole("task_generation", "candidate_tasks_per_category", default=tasks or 0)
    if tasks is not None and candidates is not None and candidates > tasks:
        message = f"is {seen(candidates, ())}, above `task_generation.tasks_per_category` {tasks}: a surplus {needs}"
        fix = "remove it, or raise `tasks_per_category`"
        yield view.problem(UNSUPPORTED, ("task_generation", "candidate_tasks_per_category"), message, fix)


def unbuilt_stages(view: View) -> Iterator[Problem]:
    """Settings of stages and transports that this release does not have."""
    for place in _UNBUILT:
        if view.flag(*place):
            yield view.problem(UNSUPPORTED, place, "is true; this release has no stage for it", "set it to false")
    if view.text("oracle_pack", "endpoint_config_path"):
        message = "is set; this release runs Python oracles only"
        yield view.problem(UNSUPPORTED, ("oracle_pack", "endpoint_config_path"), message, "name a `backend_path`")


RULES: tuple[Callable[[View], Iterable[Problem]], ...] = (
    foreign_settings,
    unknown_keys,
    balancing_without_deduplication,
    unbuilt_stages,
)
