"""The pages about evaluation say what the program does: keys, statuses, gates, metrics, examples by numbers."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from bfcl.canonical import Json
from bfcl.errors import EvalError
from bfcl.evaluate.artifacts.names import ARTIFACTS, HELD_OUT_FILE, MANIFEST
from bfcl.evaluate.compare.kernel import Kernel
from bfcl.evaluate.held_out.measures import Comparison, Standing
from bfcl.evaluate.records import GATES, EpisodeStatus, attribution
from bfcl.evaluate.score.intervals import chance_all, cluster_bootstrap, mcnemar_exact, wilson
from bfcl.evaluate.score.rates import Rate
from bfcl.evaluate.score.taxonomy import EXECUTABLE_METRICS, TRACE_METRICS
from bfcl.evaluate.settings.envelope import load_envelope
from bfcl.evaluate.settings.load import load_settings
from bfcl.evaluate.settings.resolved import FILE as RESOLVED
from bfcl.evaluate.statuses import STATUSES
from tests.evaluate.driven import SCORING, gold, made, tool
from tests.evaluate.settings.builder import CONFIG, HELD_OUT, write_evaluation
from tests.test_docs import ROOT, documented_codes, first_cells, page

PAGES = sorted((ROOT / "docs" / "evaluation").glob("*.md"))
STRANGER = "zzzzzzzz"


def section(name: str, heading: str) -> str:
    """A page from a heading up to the next one of its level or above."""
    level = heading.partition(" ")[0]
    _, found, rest = page(f"evaluation/{name}").partition(f"\n{heading}\n")
    assert found, heading
    return re.split(rf"\n#{{1,{len(level)}}} ", rest)[0]


def rows_of(text: str) -> Iterator[list[str]]:
    """The cells of every row of the tables of a text, their heads left out."""
    for line in text.splitlines():
        if line.startswith("| ") and not set(line) <= set("|-: "):
            yield [cell.strip() for cell in line.strip("|").split("|")]


# --- keys ----------------------------------------------------------------------------------------------------------


def with_strangers(value: Any) -> Any:
    """The configuration with a key that nobody knows in every mapping."""
    if isinstance(value, dict):
        return {**{key: with_strangers(one) for key, one in value.items()}, STRANGER: 1}
    if isinstance(value, list):
        return [with_strangers(one) for one in value]
    return value


def known_keys(load: Callable[[Path], object], path: Path, content: dict[str, Any]) -> set[str]:
    """Every key, as refusals of unknown ones list those that are known beside them."""
    path.write_text(yaml.safe_dump(with_strangers(content)), encoding="utf-8")
    with pytest.raises(EvalError) as refusal:
        load(path)
    found: set[str] = set()
    for problem in refusal.value.problems:
        field = str(problem.field)
        if field.rpartition(".")[2] == STRANGER:
            listed = str(problem.fix).partition("known here: ")[2]
            assert listed, problem
            prefix = field.removesuffix(STRANGER).replace("[0]", "[]")
            found |= {prefix + name for name in re.findall(r"`([^`]+)`", listed)}
    return found


def parents(keys: set[str]) -> set[str]:
    """Of each key the sections it stands in."""
    return {key[:place] for key in keys for place in (found.start() for found in re.finditer(r"\.", key))}


def test_every_key_of_the_scoring_configuration_is_documented_and_no_other(tmp_path: Path) -> None:
    content = copy.deepcopy(CONFIG)
    content["schema_version"] = "1.3"
    content["repeats"] = {"trials": 1, "seed_policy": "fixed"}
    content["eval"]["mode"] = ["trace", "executable", "held_out_eval"]
    content["held_out_eval"] = copy.deepcopy(HELD_OUT)
    known = known_keys(load_settings, write_evaluation(tmp_path), content)
    assert {"limits.max_turns", "candidates[].api.base_url", "held_out_eval.seed", "repeats.trials"} <= known
    documented = set(first_cells(section("configuration.md", "## The scoring configuration")))
    assert sorted(known - documented - parents(known)) == []
    assert sorted(documented - known) == []


def test_every_key_of_the_envelope_is_documented_and_no_other(tmp_path: Path) -> None:
    known = known_keys(load_envelope, tmp_path / "envelope.yaml", {"eval_config_path": "eval.yaml"})
    assert "resume_from" in known
    assert set(first_cells(section("configuration.md", "## The envelope"))) == known


# --- statuses and words --------------------------------------------------------------------------------------------


def test_page_of_exit_statuses_has_every_code_with_its_status() -> None:
    rows = rows_of(section("exit-statuses.md", "## Which code ends in which status"))
    assert {code.strip("`"): int(status) for code, status in rows if code != "code"} == dict(STATUSES)


def test_every_code_with_an_exit_status_is_explained() -> None:
    assert sorted(set(STATUSES) - documented_codes()) == []


def test_page_of_exit_statuses_tells_every_status_that_is_in_use() -> None:
    text = page("evaluation/exit-statuses.md").partition("\n## ")[0]
    assert {int(row[0]) for row in rows_of(text) if row[0].isdigit()} == {0, *STATUSES.values()}


def test_every_episode_status_is_explained_in_order() -> None:
    text = section("exit-statuses.md", "## What does not end a run")
    assert tuple(first_cells(text)) == get_args(EpisodeStatus)


def test_attribution_of_every_episode_status_is_documented() -> None:
    told = {
        status: row[0]
        for row in rows_of(section("metrics.md", "## Who is answerable"))
        for status in re.findall(r"`(\w+)`", row[1])
    }
    assert told == {status: attribution(status) for status in get_args(EpisodeStatus)}


def test_every_gate_is_explained_in_order() -> None:
    gates = section("metrics.md", "## The gates").partition("One reply can fail")[0]
    assert tuple(first_cells(gates)) == GATES


def test_every_metric_is_explained_in_report_order() -> None:
    text = section("metrics.md", "## The metrics").partition("\n### ")[0]
    assert tuple(first_cells(text)) == (*TRACE_METRICS, *EXECUTABLE_METRICS)


def test_every_file_of_an_evaluation_is_explained() -> None:
    files = set(first_cells(section("start.md", "## Reading the result")))
    assert {*ARTIFACTS.values(), MANIFEST, RESOLVED, HELD_OUT_FILE} <= files


def test_pages_of_evaluation_are_all_linked_from_their_start() -> None:
    linked = set(re.findall(r"^\| \[([\w-]+\.md)\]", page("evaluation/start.md"), re.MULTILINE))
    assert linked == {path.name for path in PAGES} - {"start.md"}


# --- examples by numbers -------------------------------------------------------------------------------------------


def test_intervals_of_the_examples_are_those_that_are_computed() -> None:
    rows = [row for row in rows_of(section("metrics.md", "## How sure a rate is")) if row[0][0].isdigit()]
    assert len(rows) == 4
    for counts, rate, shown in rows:
        successes, tasks = map(int, counts.split(" of "))
        interval = wilson(successes, tasks)
        assert interval is not None
        assert (rate, shown) == (f"{successes / tasks:.2f}", f"{interval.low:.2f} to {interval.high:.2f}")


def test_clustered_interval_of_the_example_is_that_which_is_computed() -> None:
    interval = cluster_bootstrap([(10, 10)] * 4 + [(2, 10), (0, 10)]).interval
    assert interval is not None
    assert f"42 of 60 comes to {interval.low:.2f} to {interval.high:.2f} by templates" in page("evaluation/metrics.md")


CONE: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "cone": {"type": "integer"},
        "atmosphere": {"enum": ["oxidation", "reduction"], "default": "oxidation"},
        "name": {"type": "string"},
    },
    "additionalProperties": False,
}


def test_calls_of_the_examples_match_as_they_are_said_to() -> None:
    rows = [row for row in rows_of(section("metrics.md", "## When a call matches")) if row[0] != "expected"]
    assert len(rows) == 6
    kernel = Kernel(SCORING, [tool("fire", CONE)])
    expected: dict[str, Json] = {}
    for first, second, verdict in rows:
        if first != "the same":
            expected = json.loads(re.findall(r"`(\{.*?\})`", first)[0])
        arguments = json.loads(second.strip("`"))
        (match,) = kernel.match([made("fire", arguments)], [gold("fire", **expected)])
        assert match.full is verdict.startswith("matches"), (expected, arguments)
        assert bool(match.schema_reasons) is ("fails the schema" in verdict)


def test_repeats_of_the_example_are_those_that_are_computed() -> None:
    text = section("metrics.md", "## Repeats: pass^k and pass@k")
    tasks = (5, 5, 4, 3, 0)
    rows = [row for row in rows_of(text) if row[0].isdigit()]
    assert [int(row[0]) for row in rows] == [1, 2, 3, 5]
    for shown, every, some in rows:
        k = int(shown)
        all_of = sum((chance_all(won, 5, k) for won in tasks), Fraction()) / len(tasks)
        any_of = 1 - sum((chance_all(5 - won, 5, k) for won in tasks), Fraction()) / len(tasks)
        assert (every, some) == (f"{float(all_of):.2f}", f"{float(any_of):.2f}")


def test_gap_of_the_example_is_that_which_is_computed() -> None:
    rows = {row[0]: row[1:] for row in rows_of(section("metrics.md", "## Held-out tasks: the gap")) if row[0]}
    sides = [Rate(successes=won, tasks=tasks) for won, tasks in ((42, 60), (10, 20))]
    seen, held_out = (Standing(whole=side, own=side) for side in sides)
    told: Any = Comparison(seen=seen, held_out=held_out).to_json()
    for name, value in (("seen", "success_rate"), ("held_out", "success_rate"), ("gap", "value")):
        one = told[name]
        shown = f"{one['interval']['low']:.2f} to {one['interval']['high']:.2f}"
        assert rows[name.replace("_", " ")][1:] == [f"{one[value]:.2f}", shown]


def test_gaps_of_the_example_with_stops_are_those_that_are_computed() -> None:
    rows = [row for row in rows_of(section("metrics.md", "## Held-out tasks: the gap")) if row[0].isdigit()]
    assert [row[:3] for row in rows] == [
        ["0", "18 of 18", "13 of 13"],
        ["12", "18 of 18", "1 of 13"],
        ["13", "18 of 18", "0 of 13"],
    ]
    seen = Standing(whole=Rate(successes=18, tasks=18), own=Rate(successes=18, tasks=18))
    for stops, _, _, *shown in rows:
        left = 13 - int(stops)
        held_out = Standing(whole=Rate(successes=left, tasks=13), own=Rate(successes=left, tasks=left))
        told = Comparison(seen=seen, held_out=held_out).to_json()
        gaps = [_shown(told[name]) for name in ("gap", "gap_excluding_non_candidate_stops")]
        assert shown == [gaps[0], "the same" if stops == "0" else gaps[1]]
        assert (gaps[0] == gaps[1]) == (stops != "12")


def _shown(gap: Any) -> str:
    if gap is None:
        return "`null`"
    return f"{gap['value']:.2f} ({gap['interval']['low']:.2f} to {gap['interval']['high']:.2f})"


def test_p_values_of_the_examples_are_those_that_are_computed() -> None:
    rows = [row for row in rows_of(section("metrics.md", "## Comparing two candidates")) if row[0].isdigit()]
    assert len(rows) == 5
    for first, second, shown in rows:
        p_value = mcnemar_exact(int(first), int(second))
        assert float(shown) == round(p_value, len(shown.partition(".")[2]))
