"""Do the settings of a configuration agree with one another? One function per rule. Rules: generation.md §2.1-2.3.

Every rule skips what is misshapen, so that all problems of a file are told at once, each only once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from bfcl.canonical import Json
from bfcl.config.axes import STYLE_AXES
from bfcl.config.clock import clock_problems
from bfcl.config.credentials import secret_places, shape_of
from bfcl.config.paths import PATH_KEYS, is_within, resolve
from bfcl.config.reference import reference_problems
from bfcl.config.view import INVALID, LINEAGE, ROLES, Pointer, View, dotted, seen
from bfcl.errors import Problem

_MARK = "REPLACE_ME_"
_IDENTITY = ("alias", "provider", "model", "canonical_id")
_MIXES = ("difficulty_mix", "turn_mix", "tool_call_count_mix", "policy_mix")
_DEDUP_REQUIRED = ("model_identifier", "n_clusters", "eps", "remove_duplicates")
_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 3500
"""What Linux allows, less room for the files of a run below `output_dir`."""
_TOLERANCE = 1e-9

_TASKS = "task_generation"
_SURFACE = "surface_generation"
_QUALITY = "surface_quality_validation"
_DEDUP = "semantic_deduplication_config"


def rule_problems(view: View) -> list[Problem]:
    """What all cross-field rules find, in the order of `RULES`."""
    return [problem for rule in RULES for problem in rule(view)]


def unfilled(view: View) -> Iterator[Problem]:
    """A resolved configuration holds no placeholder: one problem listing every place."""
    if view.at("config_status") != "resolved":
        return
    places = list(_marked(view.raw))
    if places:
        listed = ", ".join(dotted(place) for place in places)
        line, column = view.document.place(places[0])
        message = f"`config_status: resolved`, but `{_MARK}` is still in {listed}; expected real values"
        fix = "fill them in, or set `config_status: template`"
        yield Problem(
            code=INVALID,
            path=view.document.path,
            line=line,
            column=column,
            field=dotted(places[0]),
            message=message,
            fix=fix,
        )


def _marked(value: Json, pointer: Pointer = ()) -> Iterator[Pointer]:
    match value:
        case str() if _MARK in value:
            yield pointer
        case Mapping():
            for key, child in value.items():
                yield from [(*pointer, key)] if _MARK in key else _marked(child, (*pointer, key))
        case list() | tuple():
            for index, child in enumerate(value):
                yield from _marked(child, (*pointer, index))


def expt_name(view: View) -> Iterator[Problem]:
    """`expt_name` is one safe path component."""
    name = view.at("expt_name")
    if not isinstance(name, str) or not name:
        return
    if fault := _name_fault(name):
        message = f"is {seen(name, ())}, which {fault}; expected one path component"
        yield view.problem(INVALID, ("expt_name",), message)


def _name_fault(name: str) -> str | None:
    if name != name.strip():
        return "has blanks around it"
    if name in (".", ".."):
        return "is a directory's own name"
    if "/" in name or "\\" in name:
        return "holds a separator"
    if any(ord(character) < 32 or ord(character) == 127 for character in name):
        return "holds a control character"
    if len(name.encode()) > _MAX_NAME_BYTES:
        return f"has {len(name.encode())} bytes, above the {_MAX_NAME_BYTES} a file name may have"
    return None


def output_outside_pack(view: View) -> Iterator[Problem]:
    """The run tree lies outside the pack: a run must not alter what it measures."""
    output, manifest = view.path("output_dir"), view.path("oracle_pack", "manifest_path")
    name = view.text("expt_name")
    if output is None or manifest is None or name is None or _name_fault(name):
        return
    run_dir = Path(os.path.realpath(output / name))
    if is_within(run_dir, manifest.parent):
        message = f"leads to the run tree {run_dir}, inside the pack {manifest.parent}; expected a place outside it"
        yield view.problem("output_inside_pack", ("output_dir",), message, "name a directory beside the pack")


def usable_paths(view: View) -> Iterator[Problem]:
    """Paths are short enough for a file system to hold them."""
    for *blocks, key in PATH_KEYS:
        value = view.at(*blocks, key)
        written = list(enumerate(value)) if isinstance(value, list | tuple) else [(None, value)]
        for index, one in written:
            path = resolve(one, view.base)
            if path is not None and (fault := _length_fault(path)):
                place: Pointer = (*blocks, key) if index is None else (*blocks, key, index)
                yield view.problem(INVALID, place, f"{fault}; expected a path a file system can hold")


def _length_fault(path: Path) -> str | None:
    longest = max((len(os.fsencode(part)) for part in path.parts), default=0)
    if longest > _MAX_NAME_BYTES:
        return f"has a name of {longest} bytes, above the {_MAX_NAME_BYTES} a file name may have"
    size = len(os.fsencode(path))
    return f"has {size} bytes, above {_MAX_PATH_BYTES}" if size > _MAX_PATH_BYTES else None


def one_oracle(view: View) -> Iterator[Problem]:
    """At most one of the two oracle overrides is set."""
    if view.text("oracle_pack", "backend_path") and view.text("oracle_pack", "endpoint_config_path"):
        place = ("oracle_pack", "endpoint_config_path")
        message = "is set beside `oracle_pack.backend_path`; expected one oracle"
        yield view.problem(INVALID, place, message, "remove one of the two")


def one_evaluation(view: View) -> Iterator[Problem]:
    """Evaluation settings stand in a file of their own or inline, not in both."""
    if view.at("eval_config_path") is not None and view.at("eval") is not None:
        message = "is set beside `eval_config_path`; expected one of the two"
        yield view.problem(INVALID, ("eval",), message, "remove one of the two")


def credentials(view: View) -> Iterator[Problem]:
    """No credential anywhere: a configuration is hashed, copied and shared."""
    for pointer, value in secret_places(view.raw):
        message = f"is {shape_of(value)}, a credential by its name; expected none in a configuration"
        fix = "remove it, revoke it if it was shared, and name an environment variable under `api_key_env`"
        yield view.problem(LINEAGE, pointer, message, fix)


def role_identity(view: View) -> Iterator[Problem]:
    """An enabled role says which model it is."""
    for role in ROLES:
        place: Pointer = ("lineage", "roles", role, "model_config")
        if view.flag("lineage", "roles", role, "enabled") is not True:
            continue
        model = view.at("lineage", "roles", role, "model_config")
        if model is None:
            message = f"is missing; expected a mapping, since `lineage.roles.{role}` is enabled"
            yield view.problem(LINEAGE, place, message, "name the model, or set `enabled: false`")
        elif isinstance(model, Mapping):
            for key in _IDENTITY:
                value = model.get(key)
                if not isinstance(value, str) or not value.strip():
                    said = f"is {shape_of(value)}" if key in model else "is missing"
                    yield view.problem(LINEAGE, (*place, key), f"{said}; expected non-empty text")
            parameters = model.get("inference_parameters", {})
            if not isinstance(parameters, Mapping):
                message = f"is {shape_of(parameters)}; expected a mapping"
                yield view.problem(LINEAGE, (*place, "inference_parameters"), message)


def role_separation(view: View) -> Iterator[Problem]:
    """Under strict separation no two enabled roles are the same model."""
    if view.at("lineage", "policy") != "strict_separation":
        return
    users: dict[str, list[str]] = {}
    for role in ROLES:
        identity = view.text("lineage", "roles", role, "model_config", "canonical_id")
        if identity and view.flag("lineage", "roles", role, "enabled") is True:
            users.setdefault(identity.strip().lower(), []).append(role)
    for roles in users.values():
        if len(roles) > 1:
            place = ("lineage", "roles", roles[-1], "model_config", "canonical_id")
            named = " and ".join(f"`{role}`" for role in roles)
            message = f"names one model for {named}; `strict_separation` expects a different one for each role"
            yield view.problem(LINEAGE, place, message, "pin another model, or disable one of the roles")


def profile_needs(view: View) -> Iterator[Problem]:
    """A profile needs samples to learn from, and influences wording only where a model words."""
    profile = view.flag("lineage", "roles", "profile", "enabled")
    if profile and view.at("reference_benchmark") is None:
        message = "is true without `reference_benchmark`; expected samples to learn from"
        yield view.problem(LINEAGE, ("lineage", "roles", "profile", "enabled"), message, "pin a `reference_benchmark`")
    if view.flag("lineage", "profile_influenced_surface"):
        place = ("lineage", "profile_influenced_surface")
        if profile is False:
            message = "is true while `lineage.roles.profile` is off; expected it enabled"
            yield view.problem(LINEAGE, place, message, "set it to false, or enable the role")
        if view.flag(_SURFACE, "model_paraphrase_enabled") is False:
            message = f"is true while `{_SURFACE}.model_paraphrase_enabled` is false; expected paraphrasing"
            yield view.problem(LINEAGE, place, message, "set it to false, or enable paraphrasing")


def judge_advice(view: View) -> Iterator[Problem]:
    """`judge_advisory` says the opposite of `drop_authority`, and nothing while the judge is off."""
    judge = view.flag("lineage", "roles", "surface_judge", "enabled")
    authority = view.flag(_QUALITY, "drop_authority")
    advisory = view.at("lineage", "judge_advisory")
    if judge is None or authority is None or not isinstance(advisory, bool | None):
        return
    wanted = not authority if judge else None
    if advisory is not wanted:
        why = f"with `{_QUALITY}.drop_authority` {_word(authority)}" if judge else "while the surface judge is off"
        message = f"is {_word(advisory)}; expected {_word(wanted)} {why}"
        yield view.problem(LINEAGE, ("lineage", "judge_advisory"), message, f"set it to {_word(wanted)}")


def _word(value: bool | None) -> str:
    return {None: "null", True: "true", False: "false"}[value]


def paraphrasing(view: View) -> Iterator[Problem]:
    """The switch equals the role's, and paraphrases are asked for exactly when it is on, one axis each at most."""
    switch = view.flag(_SURFACE, "model_paraphrase_enabled")
    role = view.flag("lineage", "roles", "paraphrase", "enabled")
    if switch is not None and role is not None and switch is not role:
        message = f"is {_word(switch)}; expected {_word(role)}, as `lineage.roles.paraphrase.enabled`"
        yield view.problem(INVALID, (_SURFACE, "model_paraphrase_enabled"), message)
    count = view.whole(_SURFACE, "paraphrases_per_template", default=0)
    place = (_SURFACE, "paraphrases_per_template")
    if count is None or count < 0:
        return
    if switch is False and count > 0:
        yield view.problem(INVALID, place, f"is {seen(count, place)} while paraphrasing is off; expected 0")
    if switch and count == 0:
        yield view.problem(INVALID, place, "is 0 while paraphrasing is on; expected at least 1")
    axes = view.at(_SURFACE, "surface_style_axes") if view.has(_SURFACE, "surface_style_axes") else STYLE_AXES
    if isinstance(axes, list | tuple) and axes and count > len(axes):
        message = f"is {seen(count, place)}; expected at most {len(axes)}, the number of style axes"
        yield view.problem(INVALID, place, message)


def quality_switch(view: View) -> Iterator[Problem]:
    """The judge and deduplication work on what surface quality validated."""
    if view.flag(_QUALITY, "enabled") is not False:
        return
    for place in (("lineage", "roles", "surface_judge", "enabled"), (_DEDUP, "enabled")):
        if view.flag(*place):
            message = f"is false while `{dotted(place)}` is true; expected true"
            yield view.problem(
                INVALID, (_QUALITY, "enabled"), message, f"set it to true, or `{dotted(place)}` to false"
            )


def drop_authority(view: View) -> Iterator[Problem]:
    """Only an enabled judge can be given authority."""
    judge = view.flag("lineage", "roles", "surface_judge", "enabled")
    if view.flag(_QUALITY, "drop_authority") and judge is False:
        message = "is true while the surface judge is off; expected false"
        yield view.problem(INVALID, (_QUALITY, "drop_authority"), message)


def candidate_budget(view: View) -> Iterator[Problem]:
    """There are at least as many candidates as tasks."""
    tasks = view.whole(_TASKS, "tasks_per_category", default=1)
    candidates = view.whole(_TASKS, "candidate_tasks_per_category", default=tasks or 0)
    if tasks is not None and candidates is not None and 1 <= candidates < tasks:
        least = seen(tasks, (_TASKS,))
        message = f"is {candidates}; expected at least `{_TASKS}.tasks_per_category`, which is {least}"
        yield view.problem(INVALID, (_TASKS, "candidate_tasks_per_category"), message)


def mixes(view: View) -> Iterator[Problem]:
    """The shares of a mix add up to one."""
    for key in _MIXES:
        shares = view.block(_TASKS, key).values()
        if not shares or not all(_is_share(share) for share in shares):
            continue
        total = math.fsum(share for share in shares if isinstance(share, int | float))
        if abs(total - 1) > _TOLERANCE:
            yield view.problem(INVALID, (_TASKS, key), f"adds up to {total:.10g}; expected 1")


def _is_share(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def deduplication(view: View) -> Iterator[Problem]:
    """Enabled deduplication leaves none of its decisions to a default."""
    if not view.flag(_DEDUP, "enabled"):
        return
    for key in _DEDUP_REQUIRED:
        if not view.has(_DEDUP, key):
            message = f"is missing; expected a value, since `{_DEDUP}.enabled` is true"
            yield view.problem(INVALID, (_DEDUP, key), message, f"add `{key}`")


RULES: tuple[Callable[[View], Iterable[Problem]], ...] = (
    unfilled,
    expt_name,
    output_outside_pack,
    usable_paths,
    one_oracle,
    clock_problems,
    one_evaluation,
    credentials,
    role_identity,
    role_separation,
    profile_needs,
    judge_advice,
    reference_problems,
    paraphrasing,
    quality_switch,
    drop_authority,
    candidate_budget,
    mixes,
    deduplication,
)
