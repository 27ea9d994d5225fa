"""How does a person read a comparison? `eval_comparison.md`, made of the document alone. Rule: evaluation.md §16.2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bfcl.canonical import Json
from bfcl.evaluate.after.failures_page import code

_DIGITS: Final = 4
_SMALL: Final = 0.001
"""Below this a p value is told by its power of ten."""


def p_text(p_value: Json) -> str:
    """A p value as people read it: `0.0312`, `2.1e-10`."""
    assert isinstance(p_value, int | float)
    return f"{p_value:.1e}" if 0 < p_value < _SMALL else f"{p_value:.{_DIGITS}f}"


def decides(p_value: str) -> str:
    """What to believe where the interval of a difference and a p value disagree; `p_value` is what that is called."""
    return (
        f"Whether the two differ, {p_value} decides; the interval may say otherwise, since it draws whole templates, "
        "and over few of them it is too narrow."
    )


def difference_text(document: Mapping[str, Json]) -> str:
    """The difference of a comparison with its interval, and what to believe where that and p disagree."""
    difference = _block(document["difference"])
    clustered = _block(difference["clustered_by_template_id"])
    value, clusters = _number(difference["value"]), clustered["clusters"]
    if clustered["interval"] is None:
        return f"{value}, no interval: all tasks are of one template"
    return f"{value}, 95 % interval {_interval(clustered['interval'])} over {clusters} templates. {decides('p')}"


def stops_text(document: Mapping[str, Json]) -> str:
    """How many tasks of each side ended for reasons that are not its own, and what the comparison makes of them."""
    total = _block(document["shared"])["task_count"]
    told = [f"{name} {_stops(_block(document[name]), total)}" for name in ("first", "second")]
    return f"{', '.join(told)}, stopped for reasons that are not the candidate's"


def _stops(side: Mapping[str, Json], total: Json) -> str:
    """With repeats a stopped trial is driven again, and left out where it is stopped once more."""
    stops = side["non_candidate_stops"]
    if not stops:
        return f"0 of {total} tasks"
    if side["stops_count_as_failures"]:
        return f"{stops} of {total} tasks (counted as failures here)"
    return f"{stops} of {total} tasks (in the first trial; stopped trials are not counted here)"


def comparison_page(document: Mapping[str, Json]) -> str:
    """Markdown of what `compare` returns."""
    return "\n".join(_lines(document)).rstrip("\n") + "\n"


def _lines(document: Mapping[str, Json]) -> Iterator[str]:
    first, second = _block(document["first"]), _block(document["second"])
    yield f"# {code(str(first['alias']))} and {code(str(second['alias']))}"
    yield ""
    yield "| | first | second |"
    yield "|---|---|---|"
    for name in ("alias", "canonical_id", "eval_run_id"):
        yield f"| {name} | {code(str(first[name]))} | {code(str(second[name]))} |"
    for name in ("success_rate", "successes", "trials", "non_candidate_stops"):
        yield f"| {name} | {_number(first[name])} | {_number(second[name])} |"
    yield f"| 95 % interval | {_interval(first['interval'])} | {_interval(second['interval'])} |"
    yield ""
    if document["paired_tasks"] and any(side["interval"] is None for side in (first, second)):
        yield "No interval of a rate is given over several trials: those of one task are not independent."
        yield ""
    for side in (first, second):
        if not side["verified"]:
            name = f"{code(str(side['alias']))} of {code(str(side['eval_run_id']))}"
            yield f"{name} kept no records: it is taken at its word."
            yield ""
    yield f"{document['paired_tasks']} tasks are paired."
    uncounted = _listed(document["uncounted_tasks"])
    if uncounted:
        yield f"{len(uncounted)} are not, since the run stopped one of the two in every trial."
    yield f"Tasks: {stops_text(document)}."
    yield ""
    if "table" in document:
        yield from _statistics(document)


def _statistics(document: Mapping[str, Json]) -> Iterator[str]:
    table, difference = _block(document["table"]), _block(document["difference"])
    clustered = _block(difference["clustered_by_template_id"])
    word = "differ" if document["significant"] else "cannot be told apart"
    yield f"The two {word}: exact McNemar p = {p_text(document['mcnemar_exact_p'])}."
    yield ""
    told = difference_text(document).rstrip(".")
    yield f"First less second: {told}. Bootstrap seed: {clustered['seed']}."
    yield ""
    yield "| both | first only | second only | neither |"
    yield "|---:|---:|---:|---:|"
    yield f"| {table['both']} | {table['only_first']} | {table['only_second']} | {table['neither']} |"
    if "equal_otherwise" in table:
        yield ""
        yield f"{table['equal_otherwise']} tasks succeeded in the same share of trials, neither none nor all."
    yield ""
    yield from _groups(_block(document["groups"]))
    flipped = _block(document["flips"])
    for name, title in (("only_first", "Better by the first"), ("only_second", "Better by the second")):
        tasks = _listed(flipped[name])
        yield ""
        yield f"## {title}: {len(tasks)}"
        yield ""
        for entry in tasks:
            one = _block(entry)
            yield f"- {code(str(one['task_id']))} of {code(str(one['template_id']))}{_trials(one)}"


def _groups(groups: Mapping[str, Json]) -> Iterator[str]:
    yield "## Kinds of task"
    yield ""
    yield "p values are adjusted by Holm over all rows of this table."
    yield ""
    yield "| kind | value | tasks | difference | p | p (Holm) |"
    yield "|---|---|---:|---:|---:|---:|"
    for entry in _listed(groups["tests"]):
        one = _block(entry)
        yield f"| {_group(one)} | {p_text(one['p_value'])} | {p_text(one['p_value_holm'])} |"
    yield ""
    yield "Not tested: single templates, and kinds that all tasks are of."
    yield ""
    yield "| kind | value | tasks | difference | first only | second only |"
    yield "|---|---|---:|---:|---:|---:|"
    for entry in _listed(groups["untested"]):
        one = _block(entry)
        table = _block(one["table"])
        yield f"| {_group(one)} | {table['only_first']} | {table['only_second']} |"


def _group(one: Mapping[str, Json]) -> str:
    value = "" if one["value"] is None else code(str(one["value"]))
    return f"{one['dimension']} | {value} | {one['tasks']} | {_number(one['difference'])}"


def _trials(flip: Mapping[str, Json]) -> str:
    if "first" not in flip:
        return ""
    first, second = _block(flip["first"]), _block(flip["second"])
    return f": {first['successes']} of {first['trials']} against {second['successes']} of {second['trials']}"


def _number(value: Json) -> str:
    if isinstance(value, float):
        return f"{value:.{_DIGITS}f}" if value == 0 or abs(value) >= 10**-_DIGITS else f"{value:.2e}"
    return "none" if value is None else str(value)


def _interval(value: Json) -> str:
    return f"{_number(value['low'])} to {_number(value['high'])}" if isinstance(value, Mapping) else "none"


def _block(value: Json) -> Mapping[str, Json]:
    assert isinstance(value, Mapping)
    return value


def _listed(value: Json) -> Sequence[Json]:
    assert isinstance(value, list | tuple)
    return value
