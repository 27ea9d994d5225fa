"""Run by an interpreter that has Berkeley's package: what do its own loader, parsers and checkers say of our rows?

`berkeley_driver.py EXPORT WORK` prints one JSON object. Nothing of this project is imported.

The package imports every vendor's client and two further parsers merely to look one name up, so stand-ins replace the
three modules that do: the table of models, which only renames functions with a dot, and the parsers of Java and of
JavaScript calls. All that is asked here is the package's own code.
"""

from __future__ import annotations

import json
import shutil
import sys
import types
from pathlib import Path
from typing import Any

STAND_INS: dict[str, dict[str, Any]] = {
    "bfcl_eval.constants.model_config": {"MODEL_CONFIG_MAPPING": {}},
    "bfcl_eval.model_handler.parser.java_parser": {"parse_java_function_call": None},
    "bfcl_eval.model_handler.parser.js_parser": {"parse_javascript_function_call": None},
}
for module_name, members in STAND_INS.items():
    sys.modules[module_name] = types.ModuleType(module_name)
    vars(sys.modules[module_name]).update(members)

from bfcl_eval import utils  # noqa: E402 the stand-ins come first
from bfcl_eval.constants.enums import Language, ModelStyle  # noqa: E402
from bfcl_eval.constants.executable_backend_config import CLASS_FILE_PATH_MAPPING  # noqa: E402
from bfcl_eval.constants.type_mappings import GORILLA_TO_OPENAPI  # noqa: E402
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # noqa: E402
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import (  # noqa: E402
    multi_turn_checker,
    multi_turn_irrelevance_checker,
)
from bfcl_eval.model_handler.utils import (  # noqa: E402
    convert_to_tool,
    default_decode_ast_prompting,
    default_decode_execute_prompting,
)

CATEGORY = "multi_turn"
GORILLA_TYPES = {"number": "float", "object": "dict"}
"""JSON Schema's names where the AST checker knows only its own."""


class Recorded:
    """A backend for the package: answers a call with the result our benchmark recorded, and remembers it."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self._results: dict[str, Any] = {}

    def _load_scenario(self, scenario: dict[str, Any], long_context: bool = False) -> None:
        self._results = scenario["results"]


def add_tool(name: str) -> None:
    def method(self: Recorded, **arguments: Any) -> Any:
        made = key(name, arguments)
        self.calls.append(made)
        return self._results.get(made, {"error": {"code": "not_recorded"}})

    setattr(Recorded, name, method)


def key(name: str, arguments: Any) -> str:
    return json.dumps([name, arguments], sort_keys=True)


def load(export: Path, work: Path) -> tuple[list[Any], list[Any]]:
    """Both files through the package's loader, which looks for them under its own suffix."""
    (work / "possible_answer").mkdir(parents=True)
    for folder in ("", "possible_answer"):
        shutil.copy(export / folder / "BFCL_v4_multi_turn.jsonl", work / folder / "BFCL_v4_multi_turn.json")
    utils.PROMPT_PATH, utils.POSSIBLE_ANSWER_PATH = work, work / "possible_answer"
    return utils.load_dataset_entry(CATEGORY, include_language_specific_hint=False), utils.load_ground_truth_entry(
        CATEGORY
    )


def judge(entry: Any, truth: list[list[str]]) -> dict[str, Any]:
    """What the package says of a model that answers as recorded, and of three that do not."""
    extension = entry["x-nemotron"]
    calls = extension["expected_tool_calls"]
    texts = steps(extension, truth)
    decoded = [[default_decode_execute_prompting(step) for step in turn] for turn in texts]
    parsed = [call for turn in texts for step in turn for call in default_decode_ast_prompting(step)]
    results = [message["content"] for message in extension["messages"] if message["role"] == "tool"]
    entry["involved_classes"] = ["Recorded"]
    entry["initial_config"] = {
        "Recorded": {
            "results": {
                key(call["function_name"], call["arguments"]): json.loads(result)
                for call, result in zip(calls, results, strict=True)
            }
        }
    }
    judged = {
        "executable": all(utils.is_executable_format_output(step) for turn in decoded for step in turn),
        "parsed_as_exported": [key(*item) for call in parsed for item in call.items()]
        == [key(call["function_name"], call["arguments"]) for call in calls],
        "tools_as_exported": convert_to_tool(entry["function"], GORILLA_TO_OPENAPI, ModelStyle.OPENAI_COMPLETIONS)
        == extension["tools"],
        "same": check(decoded, truth, entry, "same"),
        "silent": check([[] for _ in truth], truth, entry, "silent"),
        "irrelevance": irrelevance(decoded, truth),
    }
    if calls:
        judged["changed"] = check(changed(decoded, calls[-1]), truth, entry, "changed")
        judged["ast"] = [ast(entry["function"], call, call["arguments"]) for call in calls]
        judged["ast_changed"] = [
            ast(entry["function"], call, {**call["arguments"], name: other(value)})
            for call in calls
            for name, value in call["arguments"].items()
        ]
    return judged


def steps(extension: Any, truth: list[list[str]]) -> list[list[str]]:
    """What a prompted model writes, turn by turn: one bracketed list a message."""
    turns: list[list[str]] = [[] for _ in truth]
    taken = [0] * len(truth)
    for group in extension["call_groups"]:
        turn = group["user_turn_index"]
        first = taken[turn]
        taken[turn] += len(group["calls"])
        turns[turn].append("[" + ", ".join(truth[turn][first : taken[turn]]) + "]")
    return turns


def check(decoded: Any, truth: Any, entry: Any, model: str) -> str:
    """`valid`, or the checker's own name for what is wrong."""
    verdict = multi_turn_checker(decoded, truth, entry, CATEGORY, model)
    return "valid" if verdict["valid"] else str(verdict["error_type"])


def irrelevance(decoded: Any, truth: Any) -> list[str]:
    """The verdicts on the answer as recorded, and on one that calls in every turn."""
    calling = [turn or [["anything()"]] for turn in decoded]
    verdicts = [multi_turn_irrelevance_checker(each, truth) for each in (decoded, calling)]
    return ["valid" if verdict["valid"] else verdict["error_type"] for verdict in verdicts]


def changed(decoded: list[list[list[str]]], call: Any) -> list[list[list[str]]]:
    """The same answer but for one argument of its last call."""
    arguments = dict(call["arguments"])
    name = next(iter(arguments), "surplus")
    arguments[name] = other(arguments.get(name))
    text = f"{call['function_name']}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    again = [[list(step) for step in turn] for turn in decoded]
    turn = max(index for index, steps_of in enumerate(again) if steps_of)
    again[turn][-1][-1] = text
    return again


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value} changed" if isinstance(value, str) else "changed"


def ast(functions: list[Any], call: Any, arguments: Any) -> str:
    """The AST checker's verdict on a call with these arguments, our call being the possible answer."""
    name = call["function_name"]
    (function,) = [each for each in functions if each["name"] == name]
    possible = {name: {key: [possible_value(value)] for key, value in call["arguments"].items()}}
    verdict = ast_checker([described(function)], [{name: arguments}], [possible], Language.PYTHON, "simple_python", "m")
    return "valid" if verdict["valid"] else str(verdict["error_type"])


def possible_value(value: Any) -> Any:
    """A value as possible answers write it: every member of a mapping lists its alternatives."""
    if isinstance(value, dict):
        return {name: [each] for name, each in value.items()}
    return [possible_value(each) for each in value] if isinstance(value, list) else value


def described(function: Any) -> Any:
    """The description under the checker's type names; it insists on `required`."""
    parameters = renamed(function["parameters"])
    return {**function, "parameters": {"required": [], **parameters}}


def renamed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [renamed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: GORILLA_TYPES.get(value, value) if name == "type" and isinstance(value, str) else renamed(value)
        for name, value in schema.items()
    }


def main(export: Path, work: Path) -> dict[str, Any]:
    entries, answers = load(export, work)
    CLASS_FILE_PATH_MAPPING["Recorded"] = __name__
    for entry in entries:
        for function in entry["function"]:
            add_tool(function["name"])
    return {
        "questions": [entry["id"] for entry in entries],
        "answers": [answer["id"] for answer in answers],
        "rows": {
            entry["id"]: judge(entry, answer["ground_truth"]) for entry, answer in zip(entries, answers, strict=True)
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
