"""A small good pack for tests, and the one edit that breaks it.

The domain is a pottery studio: kilns, firings, three tools of which one is gated by `confirm`. Every check of `prepare`
passes on what `write_pack` writes unedited, with the base templates and with `ALL_POLICIES`. A broken pack is:

    pack = write_pack(tmp_path / "pack", put("tools.json", (0, "function", "name"), ""))
    pack = write_pack(tmp_path / "pack", replace("backend.py", "not_found", "gone"), templates=ALL_POLICIES)
    config = run_config(pack, task_generation__tasks_per_category=3)

Edits apply in order: first those of data (`put`, `drop`, `put_template`, `held_out`), then those of text (`replace`,
`text`).
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from bfcl.config.model import (
    Lineage,
    ModelRole,
    OraclePackPaths,
    OracleRuntime,
    RunConfig,
    SurfaceGeneration,
    TaskGeneration,
)

MANIFEST: dict[str, Any] = {
    "pack_id": "kiln_studio",
    "version": "1.0",
    "description": "A pottery studio that fires clay in shared kilns.",
    "languages": ["en"],
    "default_language": "en",
    "primary_keys": {"firings": "firing_id"},
    "absent_ids": {"kilns": ["K-90", "K-91"]},
    "system_prompt": "You help the guests of a pottery studio.",
    "assistant_turn_templates": {
        "ask_for_slot": {"en": "Which {slot_name} do you mean?"},
        "ask_confirm": {"en": "Shall I go ahead?"},
        "decline": {"en": "I can only help with kilns and firings."},
        "final_answer": {"en": "Done, that is what I found."},
    },
}

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_kiln",
            "description": "Look up one kiln.",
            "parameters": {
                "type": "object",
                "properties": {"kiln_id": {"type": "string", "description": "Kiln number."}},
                "required": ["kiln_id"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "get_firing",
            "description": "Look up one firing.",
            "parameters": {
                "type": "object",
                "properties": {"firing_id": {"type": "string", "description": "Firing number."}},
                "required": ["firing_id"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "start_firing",
            "description": "Start firing a kiln at a cone, after the guest confirmed.",
            "parameters": {
                "type": "object",
                "properties": {
                    "kiln_id": {"type": "string"},
                    "cone": {"type": "integer", "minimum": 1, "maximum": 10},
                    "atmosphere": {"type": "string", "enum": ["oxidation", "reduction"], "default": "oxidation"},
                    "confirm": {"type": "boolean", "default": False},
                },
                "required": ["kiln_id", "cone"],
                "additionalProperties": False,
            },
        },
        "x-mutates": True,
        "x-requires-confirmation": True,
    },
]

FIXTURES: dict[str, Any] = {
    "kilns": [
        {"kiln_id": "K-1", "zone": "north", "status": "idle", "recent_firings": ["F-11"]},
        {"kiln_id": "K-2", "zone": "south", "status": "idle", "recent_firings": ["F-12"]},
        {"kiln_id": "K-3", "zone": "south", "status": "busy", "recent_firings": ["F-13", "F-10"]},
    ],
    "firings": [
        {"firing_id": "F-10", "kiln_id": "K-3", "cone": 4, "outcome": "good"},
        {"firing_id": "F-11", "kiln_id": "K-1", "cone": 6, "outcome": "good"},
        {"firing_id": "F-12", "kiln_id": "K-2", "cone": 5, "outcome": "cracked"},
        {"firing_id": "F-13", "kiln_id": "K-3", "cone": 6, "outcome": None},
    ],
    "opening_hours": "9-17",
}

_READ = {"category": "kilns", "difficulty": "easy"}
_ACT = {"category": "firings", "difficulty": "medium", "mutates": True}
_KILN = {"source": "fixture:kilns.kiln_id", "visible_in_first_turn": True}
_HIDDEN_KILN = {**_KILN, "visible_in_first_turn": False, "label": {"en": "kiln number"}}
_IDLE_KILN = {**_KILN, "filter": 'status == "idle"'}
_CONE = {"source": "range:{min: 4, max: 5}", "visible_in_first_turn": True}
_START = {
    "type": "tool_call",
    "id": "start",
    "tool": "start_firing",
    "args": {"cone": "{cone}", "confirm": True},
}

TEMPLATES: dict[str, dict[str, Any]] = {
    "kiln_status": {
        "intent": "kiln_status",
        **_READ,
        "turn_policy": "single_turn",
        "required_tools": ["get_kiln"],
        "slots": {"kiln_id": _KILN},
        "success_assertions": ["assert_kiln_read"],
        "user_turn_templates": {"en": "Is kiln {kiln_id} free right now?"},
        "assistant_milestones": [
            {"type": "tool_call", "tool": "get_kiln"},
            {"type": "final_answer", "content_template": {"en": "That is the state of kiln {kiln_id}."}},
        ],
    },
    "start_confirmed": {
        "intent": "start_firing",
        **_ACT,
        "turn_policy": "confirmation",
        "required_tools": ["start_firing"],
        "slots": {"kiln_id": _IDLE_KILN, "cone": _CONE},
        "success_assertions": ["assert_started_as_asked", "assert_kiln_busy"],
        "user_turn_templates": {"en": "Please fire kiln {kiln_id} at cone {cone}."},
        "assistant_milestones": [
            {"type": "ask_confirm", "content_template": {"en": "Start kiln {kiln_id} at cone {cone}?"}},
            _START,
            {"type": "final_answer"},
        ],
        "user_simulator_turns": [{"after": "ask_confirm", "content_template": {"en": "Yes, go ahead."}}],
    },
    "kiln_and_firing": {
        "intent": "look_up_both",
        **_READ,
        "turn_policy": "multi_tool",
        "call_order": "any",
        "required_tools": ["get_kiln", "get_firing"],
        "slots": {"kiln_id": _KILN, "firing_id": {"source": "firings.firing_id", "visible_in_first_turn": True}},
        "success_assertions": ["assert_kiln_read", "assert_firing_read"],
        "user_turn_templates": {"en": "How is kiln {kiln_id} doing, and what became of firing {firing_id}?"},
        "assistant_milestones": [
            {"type": "tool_call", "tool": "get_kiln", "call_group": 0},
            {"type": "tool_call", "tool": "get_firing", "args": {"firing_id": "{firing_id}"}, "call_group": 0},
            {"type": "final_answer"},
        ],
    },
    "out_of_scope": {
        "intent": "off_topic",
        "category": "out_of_scope",
        "difficulty": "easy",
        "turn_policy": "irrelevant",
        "slots": {"topic": {"source": "literal:[a glaze recipe, the weather]", "visible_in_first_turn": True}},
        "success_assertions": ["assert_no_tool_called"],
        "user_turn_templates": {"en": "Can you tell me {topic}?"},
        "assistant_milestones": [{"type": "decline"}],
    },
    "kiln_unnamed": {
        "intent": "kiln_status",
        **_READ,
        "turn_policy": "missing_slot",
        "required_tools": ["get_kiln"],
        "slots": {"kiln_id": _HIDDEN_KILN},
        "success_assertions": ["assert_kiln_read"],
        "user_turn_templates": {"en": "Is my kiln free right now?"},
        "assistant_milestones": [
            {"type": "ask_for_slot", "slot": "kiln_id"},
            {"type": "tool_call", "tool": "get_kiln"},
            {"type": "final_answer"},
        ],
        "user_simulator_turns": [{"after": "ask_for_slot", "content_template": {"en": "It is {kiln_id}."}}],
    },
    "kiln_corrected": {
        "intent": "kiln_status",
        **_READ,
        "turn_policy": "correction",
        "required_tools": ["get_kiln"],
        "slots": {"kiln_id": {**_KILN, "filter": 'zone == "north"'}},
        "success_assertions": ["assert_kiln_read"],
        "user_turn_templates": {"en": "Check kiln {kiln_id} for me, please."},
        "assistant_milestones": [
            {"type": "final_answer", "id": "announce", "content_template": {"en": "Looking at kiln {kiln_id}."}},
            {"type": "tool_call", "tool": "get_kiln"},
            {"type": "final_answer", "id": "answer"},
        ],
        "user_simulator_turns": [
            {
                "after": "announce",
                "content_template": {"en": "Sorry, I meant kiln {right_kiln}."},
                "slot_updates": {"kiln_id": {"source": "fixture:kilns.kiln_id", "bind_as": "right_kiln"}},
            }
        ],
    },
    "cone_corrected": {
        "intent": "start_firing",
        **_ACT,
        "turn_policy": "correction",
        "required_tools": ["start_firing"],
        "slots": {"kiln_id": _IDLE_KILN, "cone": _CONE},
        "success_assertions": ["assert_started_as_asked", "assert_kiln_busy"],
        "user_turn_templates": {"en": "Please fire kiln {kiln_id} at cone {cone}."},
        "assistant_milestones": [
            {"type": "ask_confirm", "id": "first", "content_template": {"en": "Kiln {kiln_id} at cone {cone}?"}},
            {"type": "ask_confirm", "id": "second", "content_template": {"en": "So at cone {cone}, right?"}},
            _START,
            {"type": "final_answer"},
        ],
        "user_simulator_turns": [
            {
                "after": "first",
                "content_template": {"en": "No, make that cone {cone}."},
                "slot_updates": {"cone": {"source": "range:{min: 6, max: 7}"}},
            },
            {"after": "second", "content_template": {"en": "Yes, right."}},
        ],
    },
    "last_firing": {
        "intent": "last_firing",
        "category": "kilns",
        "difficulty": "hard",
        "turn_policy": "dependent_call",
        "required_tools": ["get_kiln", "get_firing"],
        "slots": {"kiln_id": _KILN},
        "success_assertions": ["assert_firing_from_kiln"],
        "user_turn_templates": {"en": "How did the last firing of kiln {kiln_id} go?"},
        "assistant_milestones": [
            {"type": "tool_call", "id": "look", "tool": "get_kiln"},
            {
                "type": "tool_call",
                "tool": "get_firing",
                "args": {"firing_id": {"from_result": {"call": "look", "path": "kiln.recent_firings.0"}}},
            },
            {"type": "final_answer"},
        ],
    },
    "kiln_unknown": {
        "intent": "kiln_status",
        **_READ,
        "turn_policy": "negative_path",
        "required_tools": ["get_kiln"],
        "slots": {"kiln_id": {"source": "absent:kilns", "visible_in_first_turn": True}},
        "success_assertions": ["assert_not_found"],
        "user_turn_templates": {"en": "Is kiln {kiln_id} free right now?"},
        "assistant_milestones": [
            {"type": "tool_call", "tool": "get_kiln"},
            {"type": "final_answer", "content_template": {"en": "There is no kiln {kiln_id} here."}},
        ],
    },
    "kiln_unclear": {
        "intent": "kiln_status",
        **_READ,
        "turn_policy": "clarify_only",
        "slots": {"kiln_id": _HIDDEN_KILN},
        "success_assertions": ["assert_no_tool_called"],
        "user_turn_templates": {"en": "I would like to know about my kiln."},
        "assistant_milestones": [{"type": "ask_for_slot"}],
    },
}
"""Ready-made templates by id, `template_id` left out: one for each turn policy, two for `correction`."""

LINKED: dict[str, dict[str, Any]] = {
    "kiln_in_zone": {
        "intent": "kiln_status",
        **_READ,
        "turn_policy": "single_turn",
        "required_tools": ["get_kiln"],
        "slots": {
            "kiln_id": _KILN,
            "zone": {"source": "fixture:kilns.zone", "same_row_as": "kiln_id", "visible_in_first_turn": True},
        },
        "success_assertions": ["assert_kiln_read", "assert_zone_as_said"],
        "user_turn_templates": {"en": "Is kiln {kiln_id} in the {zone} wing free right now?"},
        "assistant_milestones": [{"type": "tool_call", "tool": "get_kiln"}, {"type": "final_answer"}],
    },
    "kiln_of_firing": {
        "intent": "kiln_of_firing",
        **_READ,
        "turn_policy": "single_turn",
        "required_tools": ["get_kiln"],
        "slots": {"firing_id": {"source": "firings.firing_id", "visible_in_first_turn": True}},
        "success_assertions": ["assert_kiln_of_firing"],
        "user_turn_templates": {"en": "Is the kiln that took firing {firing_id} free again?"},
        "assistant_milestones": [
            {
                "type": "tool_call",
                "tool": "get_kiln",
                "args": {"kiln_id": {"from_fixture": {"slot": "firing_id", "field": "kiln_id"}}},
            },
            {"type": "final_answer"},
        ],
    },
    "firing_corrected": {
        "intent": "kiln_of_firing",
        **_READ,
        "turn_policy": "correction",
        "required_tools": ["get_kiln"],
        "slots": {
            "firing_id": {"source": "firings.firing_id", "filter": "cone < 6", "visible_in_first_turn": True},
            "cone": {"source": "firings.cone", "same_row_as": "firing_id", "visible_in_first_turn": True},
        },
        "success_assertions": ["assert_kiln_of_firing"],
        "user_turn_templates": {"en": "Which kiln took firing {firing_id}, the one at cone {cone}?"},
        "assistant_milestones": [
            {"type": "final_answer", "id": "announce", "content_template": {"en": "Looking for {firing_id}."}},
            {
                "type": "tool_call",
                "tool": "get_kiln",
                "args": {"kiln_id": {"from_fixture": {"slot": "firing_id", "field": "kiln_id"}}},
            },
            {"type": "final_answer", "id": "answer"},
        ],
        "user_simulator_turns": [
            {
                "after": "announce",
                "content_template": {"en": "Sorry, I meant {right_firing}, at cone {cone}."},
                "slot_updates": {
                    "firing_id": {"source": "firings.firing_id", "filter": "cone == 6", "bind_as": "right_firing"}
                },
            }
        ],
    },
}
"""Templates that take several values from one row: a slot that follows, an argument, both under a correction."""

BASE = ("kiln_status", "start_confirmed", "kiln_and_firing", "out_of_scope")
ALL_POLICIES = tuple(TEMPLATES)
ROW_LINKS = tuple(LINKED)
_READY = {**TEMPLATES, **LINKED}

CASES: list[Any] = [
    {"id": "kiln_found", "tool": "get_kiln", "arguments": {"kiln_id": "K-1"}, "expect": {"result_class": "success"}},
    {
        "id": "kiln_missing",
        "tool": "get_kiln",
        "arguments": {"kiln_id": "K-90"},
        "expect": {"result_class": "structured_error", "error_code": "not_found", "state_unchanged": True},
    },
    {
        "id": "kiln_wrong_type",
        "tool": "get_kiln",
        "arguments": {"kiln_id": 7},
        "expect": {"result_class": "structured_error", "error_code": "invalid_argument"},
    },
    {
        "id": "firing_found",
        "tool": "get_firing",
        "arguments": {"firing_id": "F-12"},
        "expect": {
            "result_class": "success",
            "error_code": None,
            "firing": {"firing_id": "F-12", "kiln_id": "K-2", "cone": 5, "outcome": "cracked"},
        },
    },
    {
        "id": "firing_missing",
        "tool": "get_firing",
        "arguments": {"firing_id": "F-99"},
        "expect": {"result_class": "structured_error", "error_code": "not_found"},
    },
    {
        "id": "start_pending",
        "tool": "start_firing",
        "arguments": {"kiln_id": "K-1", "cone": 6, "confirm": False},
        "expect": {"result_class": "awaiting_confirmation", "state_unchanged": True},
    },
    {
        "id": "start_wrong_confirm",
        "tool": "start_firing",
        "arguments": {"kiln_id": "K-1", "cone": 6, "confirm": "yes"},
        "expect": {"result_class": "structured_error", "error_code": "invalid_argument", "state_unchanged": True},
    },
    {
        "id": "start_busy",
        "tool": "start_firing",
        "arguments": {"kiln_id": "K-3", "cone": 6, "confirm": True},
        "expect": {"result_class": "structured_error", "error_code": "kiln_busy", "state_unchanged": True},
    },
    {
        "id": "start_done",
        "tool": "start_firing",
        "arguments": {"kiln_id": "K-1", "cone": 6, "confirm": True},
        "expect": {"result_class": "success", "status": "started"},
    },
    {
        "id": "kiln_after_start",
        "tool": "get_kiln",
        "arguments": {"kiln_id": "K-1"},
        "reset_before": False,
        "expect": {
            "result_class": "success",
            "kiln": {"kiln_id": "K-1", "zone": "north", "status": "busy", "recent_firings": ["F-14", "F-11"]},
        },
        "notes": "Continues the episode of start_done.",
    },
]

BACKEND = '''"""The studio's kilns: an in-memory oracle."""

import copy

_STATE = {"kilns": {}, "firings": {}, "next_firing": 0}


def list_tools():
    return ["get_kiln", "get_firing", "start_firing"]


def reset(*, ctx, fixtures=None):
    rows = copy.deepcopy(fixtures or {})
    _STATE["kilns"] = {row["kiln_id"]: row for row in rows.get("kilns", [])}
    _STATE["firings"] = {row["firing_id"]: row for row in rows.get("firings", [])}
    _STATE["next_firing"] = 10 + len(_STATE["firings"])


def get_state():
    return copy.deepcopy(_STATE)


def call_tool(name, arguments, *, ctx):
    if name == "get_kiln":
        return _get_kiln(**_only(arguments, "kiln_id"))
    if name == "get_firing":
        return _get_firing(**_only(arguments, "firing_id"))
    if name == "start_firing":
        return _start_firing(**_only(arguments, "kiln_id", "cone", "atmosphere", "confirm"))
    return _refuse("unknown_tool", field=name)


def _only(arguments, *names):
    return {name: arguments.get(name) for name in names}


def _refuse(code, **detail):
    return {"error": {"code": code, **detail}}


def _get_kiln(kiln_id):
    if not isinstance(kiln_id, str):
        return _refuse("invalid_argument", field="kiln_id")
    if kiln_id not in _STATE["kilns"]:
        return _refuse("not_found", entity="kiln", id=kiln_id)
    return {"kiln": copy.deepcopy(_STATE["kilns"][kiln_id])}


def _get_firing(firing_id):
    if not isinstance(firing_id, str):
        return _refuse("invalid_argument", field="firing_id")
    if firing_id not in _STATE["firings"]:
        return _refuse("not_found", entity="firing", id=firing_id)
    return {"firing": copy.deepcopy(_STATE["firings"][firing_id])}


def _start_firing(kiln_id, cone, atmosphere, confirm):
    if not isinstance(kiln_id, str):
        return _refuse("invalid_argument", field="kiln_id")
    if type(cone) is not int or not 1 <= cone <= 10:
        return _refuse("invalid_argument", field="cone")
    if atmosphere not in (None, "oxidation", "reduction"):
        return _refuse("invalid_argument", field="atmosphere")
    if confirm not in (None, True, False) or isinstance(confirm, int) and not isinstance(confirm, bool):
        return _refuse("invalid_argument", field="confirm")
    if kiln_id not in _STATE["kilns"]:
        return _refuse("not_found", entity="kiln", id=kiln_id)
    kiln = _STATE["kilns"][kiln_id]
    if kiln["status"] != "idle":
        return _refuse("kiln_busy", entity="kiln", id=kiln_id)
    if not confirm:
        return {"status": "awaiting_confirmation", "kiln_id": kiln_id, "cone": cone}
    firing_id = "F-%d" % _STATE["next_firing"]
    _STATE["next_firing"] += 1
    _STATE["firings"][firing_id] = {"firing_id": firing_id, "kiln_id": kiln_id, "cone": cone, "outcome": None}
    kiln["status"] = "busy"
    kiln["recent_firings"].insert(0, firing_id)
    return {"status": "started", "firing_id": firing_id}
'''

ASSERTIONS = '''"""What a good conversation with the studio leaves behind."""

ASSERTION_CAPABILITIES = {
    "assert_kiln_read": {"trace": True, "category": "path"},
    "assert_firing_read": {"trace": True, "category": "path"},
    "assert_firing_from_kiln": {"trace": True, "category": "path"},
    "assert_started_as_asked": {"trace": True, "category": "result"},
    "assert_kiln_busy": {"category": "state"},
    "assert_not_found": {"trace": True, "category": "result"},
    "assert_no_tool_called": {"trace": True, "category": "path"},
}


def _results(trace, tool):
    return [call for call in trace if call["tool"] == tool]


def assert_kiln_read(*, state, trace, task, ctx):
    calls = _results(trace, "get_kiln")
    assert calls, "the kiln was not looked up"
    assert calls[-1]["arguments"] == {"kiln_id": task["slots"]["kiln_id"]}
    assert calls[-1]["result"]["kiln"]["kiln_id"] == task["slots"]["kiln_id"]


def assert_firing_read(*, state, trace, task, ctx):
    calls = _results(trace, "get_firing")
    assert calls, "the firing was not looked up"
    assert calls[-1]["result"]["firing"]["firing_id"] == task["slots"]["firing_id"]


def assert_firing_from_kiln(*, state, trace, task, ctx):
    kilns, firings = _results(trace, "get_kiln"), _results(trace, "get_firing")
    assert kilns and firings, "both look-ups are needed"
    assert kilns[0]["arguments"]["kiln_id"] == task["slots"]["kiln_id"]
    assert firings[0]["arguments"]["firing_id"] == kilns[0]["result"]["kiln"]["recent_firings"][0]


def assert_started_as_asked(*, state, trace, task, ctx):
    calls = _results(trace, "start_firing")
    assert calls, "no firing was started"
    assert calls[-1]["result"].get("status") == "started", "the firing did not start"
    firing = state["firings"][calls[-1]["result"]["firing_id"]]
    assert firing["kiln_id"] == task["slots"]["kiln_id"]
    assert firing["cone"] == task["slots"]["cone"]


def assert_kiln_busy(*, state, trace, task, ctx):
    assert state["kilns"][task["slots"]["kiln_id"]]["status"] == "busy"


def assert_not_found(*, state, trace, task, ctx):
    assert trace, "nothing was looked up"
    assert trace[-1]["arguments"] == {"kiln_id": task["slots"]["kiln_id"]}
    assert trace[-1]["result"]["error"]["code"] == "not_found"


def assert_no_tool_called(*, state, trace, task, ctx):
    assert not trace, "a tool was called"
'''

LINKED_ASSERTIONS = """

def assert_zone_as_said(*, state, trace, task, ctx):
    assert trace, "no kiln was looked up"
    assert trace[-1]["result"]["kiln"]["zone"] == task["slots"]["zone"]


def assert_kiln_of_firing(*, state, trace, task, ctx):
    assert trace, "no kiln was looked up"
    firing = state["firings"][task["slots"]["firing_id"]]
    assert trace[-1]["arguments"] == {"kiln_id": firing["kiln_id"]}
    assert task["slots"]["firing_id.kiln_id"] == firing["kiln_id"]
"""
"""What the templates of `LINKED` name besides."""

README = "# Kiln studio\n\nA pack for tests.\n"


def _fresh(value: object) -> Any:
    return json.loads(json.dumps(value))


class Draft:
    """A pack being edited: `data` is what is still structured, `texts` what is already bytes on the way to disk."""

    def __init__(self, templates: Sequence[str]) -> None:
        # Through text, since templates share literals and one edit must not reach them all.
        self.data: dict[str, Any] = _fresh(
            {
                "manifest.yaml": MANIFEST,
                "tools.json": TOOLS,
                "fixtures.json": FIXTURES,
                "task_templates.yaml": [{"template_id": name, **_READY[name]} for name in templates],
                "validation_cases.yaml": CASES,
            }
        )
        self.texts: dict[str, str | bytes] = {
            "backend.py": BACKEND,
            "assertions.py": ASSERTIONS + (LINKED_ASSERTIONS if LINKED.keys() & set(templates) else ""),
            "README.md": README,
        }

    def text(self, name: str) -> str:
        """The current text of a file; a data file is written out at its first use as text."""
        if name in self.data:
            self.texts[name] = _written(name, self.data.pop(name))
        current = self.texts[name]
        assert isinstance(current, str), name
        return current

    def template_index(self, template_id: str) -> int:
        """Position of the named template."""
        return [one["template_id"] for one in self.data["task_templates.yaml"]].index(template_id)


Edit = Callable[[Draft], None]


class _Dumper(yaml.SafeDumper):
    """YAML as a person writes it: block style, no aliases, quotes only where a scalar would change its type."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    numeric = re.match(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z", text)
    style = '"' if numeric else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text_node)


def dump(name: str, value: object) -> str:
    """A data file's text: JSON with two spaces, or readable YAML, by the file's ending."""
    if name.endswith(".json"):
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    dumped: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return dumped


_WRITTEN: dict[tuple[str, str], str] = {}
"""Texts of files by name and content: most packs of a test run share most of their files."""


def _written(name: str, value: object) -> str:
    key = (name, repr(value))
    if key not in _WRITTEN:
        _WRITTEN[key] = dump(name, value)
    return _WRITTEN[key]


def put(name: str, pointer: Iterable[str | int], value: object) -> Edit:
    """Set the value at `pointer` of a data file; the last part `"-"` appends to a list; `()` sets the whole file."""

    def edit(draft: Draft) -> None:
        parts = tuple(pointer)
        new = _fresh(value)
        if not parts:
            draft.data[name] = new
            return
        holder = draft.data[name]
        for part in parts[:-1]:
            holder = holder[part]
        if parts[-1] == "-":
            holder.append(new)
        else:
            holder[parts[-1]] = new

    return edit


def drop(name: str, pointer: Iterable[str | int] = ()) -> Edit:
    """Remove the value at `pointer` of a data file, or the whole file."""

    def edit(draft: Draft) -> None:
        parts = tuple(pointer)
        if not parts:
            (draft.data if name in draft.data else draft.texts).pop(name)
            return
        holder = draft.data[name]
        for part in parts[:-1]:
            holder = holder[part]
        del holder[parts[-1]]

    return edit


def put_template(template_id: str, pointer: Iterable[str | int], value: object) -> Edit:
    """Set a value inside one template, found by id. `put_template("kiln_status", ("turn_policy",), "chat")`."""

    def edit(draft: Draft) -> None:
        put("task_templates.yaml", (draft.template_index(template_id), *pointer), value)(draft)

    return edit


def drop_template(template_id: str, pointer: Iterable[str | int] = ()) -> Edit:
    """Remove a value inside one template, or the template."""

    def edit(draft: Draft) -> None:
        drop("task_templates.yaml", (draft.template_index(template_id), *pointer))(draft)

    return edit


def add_template(template_id: str, like: str, **fields: object) -> Edit:
    """Append a copy of a ready-made template under another id, with top-level fields replaced."""
    return put("task_templates.yaml", ("-",), {"template_id": template_id, **_READY[like], **fields})


def held_out(fixtures: dict[str, list[Any]] | None = None, templates: Sequence[str] = (), **policy: object) -> Edit:
    """Give the pack a held-out policy: `held_out({"kilns": ["K-2"]}, fixtures_in_backend_state=False)`."""

    def edit(draft: Draft) -> None:
        draft.data["manifest.yaml"]["held_out"] = "held_out.yaml"
        content: dict[str, Any] = {"version": "1", "fixtures": fixtures or {}, "templates": list(templates)}
        draft.data["held_out.yaml"] = {**content, "policy": policy} if policy else content

    return edit


def add_case(**fields: object) -> Edit:
    """Append a validation case."""
    return put("validation_cases.yaml", ("-",), fields)


def replace(name: str, old: str, new: str) -> Edit:
    """Replace text that occurs exactly once in a file."""

    def edit(draft: Draft) -> None:
        current = draft.text(name)
        assert current.count(old) == 1, f"{old!r} occurs {current.count(old)} times in {name}"
        draft.texts[name] = current.replace(old, new)

    return edit


def text(name: str, content: str | bytes) -> Edit:
    """Write a file with exactly this content, in place of what was there."""

    def edit(draft: Draft) -> None:
        draft.data.pop(name, None)
        draft.texts[name] = content

    return edit


def append(name: str, content: str) -> Edit:
    """Add text at the end of a file."""

    def edit(draft: Draft) -> None:
        draft.texts[name] = draft.text(name) + content

    return edit


def rename(old: str, new: str) -> Edit:
    """Put a file under another name (sub-directories allowed)."""

    def edit(draft: Draft) -> None:
        draft.texts[new] = draft.text(old)
        del draft.texts[old]

    return edit


def write_pack(root: Path, *edits: Edit, templates: Sequence[str] = BASE) -> Path:
    """Write the pack with its edits into `root` (created; files of an earlier writing are kept) and return `root`."""
    draft = Draft(templates)
    for edit in edits:
        edit(draft)
    for name in list(draft.data):
        draft.text(name)
    for name, content in draft.texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


CLOCK = "2026-03-02T09:00:00+07:00"


def run_config(root: Path, **edits: object) -> RunConfig:
    """A checked configuration for the pack at `root`: strict lineage, 12 tasks a category, runs beside the pack.

    Edits name fields, nested ones with a double underscore: `task_generation__tasks_per_category=4`.
    """
    pack = root.resolve()
    config = RunConfig(
        family="bfcl",
        expt_name="trial",
        output_dir=pack.parent / "runs",
        oracle_pack=OraclePackPaths(manifest_path=pack / "manifest.yaml"),
        oracle_runtime=OracleRuntime(clock=CLOCK, allowed_roots=(pack.parent,)),
        lineage=Lineage(
            policy="strict_separation",
            roles={name: ModelRole() for name in ("profile", "paraphrase", "surface_judge")},
        ),
        random_seed=7,
        surface_generation=SurfaceGeneration(surface_style_axes=("plain",)),
        task_generation=TaskGeneration(tasks_per_category=12, candidate_tasks_per_category=12),
    )
    for name, value in edits.items():
        config = _edited(config, name.split("__"), value)
    return config


def _edited(record: Any, path: list[str], value: object) -> Any:
    inner = value if len(path) == 1 else _edited(getattr(record, path[0]), path[1:], value)
    return dataclasses.replace(record, **{path[0]: inner})


def config_mapping(root: Path, **edits: object) -> dict[str, Any]:
    """The same configuration as a person writes it in YAML; edits as in `run_config`, absolute paths as text."""
    pack = root.resolve()
    mapping: dict[str, Any] = {
        "family": "bfcl",
        "expt_name": "trial",
        "output_dir": str(pack.parent / "runs"),
        "oracle_pack": {"manifest_path": str(pack / "manifest.yaml")},
        "oracle_runtime": {"clock": CLOCK, "allowed_roots": [str(pack.parent)]},
        "lineage": {"policy": "strict_separation"},
        "random_seed": 7,
        "task_generation": {"tasks_per_category": 12},
    }
    for name, value in edits.items():
        *parts, last = name.split("__")
        holder = mapping
        for part in parts:
            holder = holder.setdefault(part, {})
        holder[last] = value
    return mapping


def write_config(path: Path, root: Path, **edits: object) -> Path:
    """Write `config_mapping` as YAML and return `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump("config.yaml", config_mapping(root, **edits)), encoding="utf-8")
    return path
