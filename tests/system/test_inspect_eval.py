"""The Inspect export in Inspect itself: models that keep to the script score 1, others lose what they got wrong."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bfcl.canonical import Json, canonical_text
from bfcl.exports.inspect_ai import FORMAT
from bfcl.tables.benchmark import BenchmarkRow
from tests.exports.staged import edited, plain_row, row, tree
from tests.system.package_venv import package_venv

REQUIREMENTS = ["inspect-ai==0.3.285"]
MODELS = Path(__file__).resolve().parents[1] / "exports" / "inspect_models.py"

STRICT, ANY, PREFIX, EMPTY = 1, 2, 3, 4
UNUSUAL: Json = [
    {
        "type": "function",
        "function": {
            "name": "read_valve",
            "description": "Reads",
            "parameters": {
                "type": "object",
                "$defs": {"name": {"type": "string", "pattern": "^V", "maxLength": 9}},
                "properties": {"valve": {"allOf": [{"$ref": "#/$defs/name"}]}, "n": {"exclusiveMinimum": 0}},
                "required": ["valve"],
            },
        },
    },
    {"type": "function", "function": {"name": "set_valve", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "list_alarms", "parameters": {"additionalProperties": True}}},
]


def any_order() -> BenchmarkRow:
    """The order does not count, and the tools use keywords that Inspect does not know."""
    return edited(edited(row(ANY), ["call_order"], "any"), ["tools"], canonical_text(UNUSUAL))


def prefix_order() -> BenchmarkRow:
    """The first batch calls two tools, which have to be called in this order."""
    told = edited(row(PREFIX), ["expected_tool_calls", 1, "function_name"], "list_alarms")
    told = edited(told, ["messages", 2, "tool_calls", 1, "function", "name"], "list_alarms")
    required = ["read_valve", "list_alarms", "set_valve"]
    changes: Mapping[str, Any] = {
        "call_order": "prefix",
        "call_order_prefix": 2,
        "required_tools": required,
        "required_tools_fingerprint": canonical_text(sorted(required)),
    }
    for name, value in changes.items():
        told = edited(told, [name], value)
    return told


class Log(NamedTuple):
    """Mean of every score, and the scores of every sample by its number."""

    means: dict[str, float]
    samples: dict[int, dict[str, float]]
    explanations: dict[int, str]
    task: str


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Log]:
    """One run of `inspect eval` over all manners."""
    python = package_venv("inspect", REQUIREMENTS)
    directory = tmp_path_factory.mktemp("inspect") / "inspect_ai"
    directory.mkdir()
    for name, data in tree(FORMAT, [row(STRICT), any_order(), prefix_order(), plain_row(EMPTY)]).items():
        (directory / name).write_bytes(data)
    logs = directory.parent / "logs"
    models = ",".join(f"scripted/{manner}" for manner in MEANS)
    options = ["--log-dir", str(logs), "--log-format", "json", "--display", "none", "--no-log-realtime"]
    home = directory.parent / "home"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_DATA_HOME": str(home),
        "XDG_CACHE_HOME": str(home),
    }
    done = subprocess.run(
        [python, MODELS, "eval", "task.py", "--model", models, *options],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert sorted(path.name for path in directory.iterdir() if path.name != "__pycache__") == [
        "benchmark.json",
        "dataset.jsonl",
        "task.py",
    ]
    return dict(read_log(path) for path in sorted(logs.glob("*.json")))


def read_log(path: Path) -> tuple[str, Log]:
    log = json.loads(path.read_text(encoding="utf-8"))
    assert log["status"] == "success", log["error"]["message"]
    samples = {int(sample["id"].rpartition("_")[2], 16): sample["scores"] for sample in log["samples"]}
    return log["eval"]["model"].removeprefix("scripted/"), Log(
        means={score["name"]: score["metrics"]["mean"]["value"] for score in log["results"]["scores"]},
        samples={
            number: {name: score["value"] for name, score in scores.items()} for number, scores in samples.items()
        },
        explanations={number: scores["task_success"]["explanation"] for number, scores in samples.items()},
        task=f"{log['eval']['task']} {log['eval']['task_version']}",
    )


MEANS = {
    # manner: task_success, tool_selection, arguments, call_ordering; three samples expect calls, two an order
    "gold": (1, 1, 1, 1),
    # The strict sample and the one with a prefix stop there, so their last call is never made.
    "reversed": (0.5, 0.5, 1 / 3, 0),
    "wrong_value": (0.25, 0.25, 0, 1),
    # Where a prefix counts, a later required tool has come first.
    "wrong_tool": (0.25, 0.25, 0, 0.5),
    "repeats": (0.25, 0.25, 0, 1),
    "never_calls": (0.25, 0.25, 0, 1),
    "always_calls": (0, 0, 0, 1),
    "silent": (0, 0.25, 0, 1),
    "cut_short": (0, 0.25, 0, 1),
}


def test_inspect_scores_each_model_by_what_it_does(logs: dict[str, Log]) -> None:
    names = ("task_success", "tool_selection", "arguments", "call_ordering")
    found = {manner: tuple(round(log.means[name], 6) for name in names) for manner, log in logs.items()}
    assert found == {manner: tuple(round(mean, 6) for mean in means) for manner, means in MEANS.items()}


def test_inspect_scores_only_what_applies(logs: dict[str, Log]) -> None:
    gold = logs["gold"]
    assert gold.task == "plant 1.0"
    assert {number: sorted(scores) for number, scores in gold.samples.items()} == {
        STRICT: ["arguments", "call_ordering", "task_success", "tool_selection"],
        ANY: ["arguments", "task_success", "tool_selection"],
        PREFIX: ["arguments", "call_ordering", "task_success", "tool_selection"],
        EMPTY: ["task_success", "tool_selection"],
    }
    assert not any(math.isnan(value) for scores in gold.samples.values() for value in scores.values())


def test_inspect_explains_where_a_model_left_the_script(logs: dict[str, Log]) -> None:
    assert {manner: log.explanations[STRICT] for manner, log in logs.items()} == {
        "gold": "4 of 4 answers as expected",
        "reversed": "answer 1: calls not in the order that `strict` asks for",
        "wrong_value": 'answer 1: expected read_valve({"valve":"V-1"}), read_valve({"valve":"V-0"}); '
        'got read_valve({"valve":["V-1"]}), read_valve({"valve":["V-0"]})',
        "wrong_tool": 'answer 1: expected read_valve({"valve":"V-1"}), read_valve({"valve":"V-0"}); '
        'got set_valve({"valve":"V-1"}), set_valve({"valve":"V-0"})',
        "repeats": 'answer 1: expected read_valve({"valve":"V-1"}), read_valve({"valve":"V-0"}); '
        'got read_valve({"valve":"V-1"}), read_valve({"valve":"V-0"}), read_valve({"valve":"V-0"})',
        "never_calls": 'answer 1: expected read_valve({"valve":"V-1"}), read_valve({"valve":"V-0"}); '
        "got words and no call",
        "always_calls": "answer 2: expected words and no call; got read_valve({})",
        "silent": "answer 2: expected words and no call; got neither words nor a call",
        "cut_short": "1 of 4 answers as expected",
    }
