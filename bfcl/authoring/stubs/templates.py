"""What does a new template of a turn policy look like in this pack? Rule: pack.md §5, authoring.md §15.

The stub passes every check as it is wherever the pack offers what its policy needs: an assertion to use, a parameter
that a slot can hold, an absent id, a gated tool. Its texts are plain; rewording them is the author's work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from bfcl.authoring.stubs.binding import Binding, bindings
from bfcl.authoring.stubs.named import named_tool, refused_stub
from bfcl.canonical import Json, canonical_text
from bfcl.errors import BfclError, ConfigError
from bfcl.pack.model import Pack
from bfcl.records.ids import TurnPolicy
from bfcl.records.template import Template
from bfcl.records.tool import Tool
from bfcl.stages.bindings import sources_of
from bfcl.stages.wording import render_language

POLICIES: Final = get_args(TurnPolicy)
SILENT: Final = ("clarify_only", "irrelevant")
"""Policies that call nothing."""

Entry = dict[str, Json]

_CHOICES: Final = 2
"""Values a parameter needs so that a user can name the wrong one first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTemplate:
    """What is asked for; None lets the pack decide. `assertions` empty takes those of the likest template."""

    template_id: str
    policy: str
    tool: str | None = None
    language: str | None = None
    category: str | None = None
    assertions: tuple[str, ...] = ()


def new_template(pack: Pack, wanted: NewTemplate) -> Entry:
    """The entry for `task_templates.yaml`. Raises: ConfigError `stub_impossible` naming what the pack lacks."""
    if any(template.template_id == wanted.template_id for template in pack.templates):
        raise refused_stub(wanted.template_id, "the pack has a template of this id already", "choose another id")
    tool = None if wanted.policy in SILENT and wanted.tool is None else _tool(pack, wanted)
    draft = _Draft(pack, wanted, tool, _language(pack, wanted))
    _SHAPES[wanted.policy](draft)
    return draft.entry()


def _language(pack: Pack, wanted: NewTemplate) -> str:
    if wanted.language is not None:
        return wanted.language
    try:
        return render_language(None, pack.manifest, pack.templates)
    except BfclError:
        return pack.manifest.default_language or "en"


def _tool(pack: Pack, wanted: NewTemplate) -> Tool:
    """The named tool, else the first one that suits the policy."""
    if wanted.tool is not None:
        return named_tool(pack, wanted.tool, of=wanted.template_id)
    gated = wanted.policy == "confirmation"
    for tool in pack.tools:
        if tool.requires_confirmation is gated and any(one.source for one in bindings(pack, tool)):
            return tool
    what = "a tool that requires confirmation" if gated else "a tool without confirmation"
    message = f"the catalog has no such tool; expected {what} with a parameter that a slot can hold"
    raise refused_stub(wanted.template_id, message)


class _Draft:
    """A template under construction; the shape functions below fill it."""

    def __init__(self, pack: Pack, wanted: NewTemplate, tool: Tool | None, language: str) -> None:
        self.pack = pack
        self.wanted = wanted
        self.tool = tool
        self.language = language
        self.bound: tuple[Binding, ...] = () if tool is None else bindings(pack, tool)
        self.slots: dict[str, Json] = {}
        self.milestones: list[Json] = []
        self.replies: list[Json] = []
        self.user = ""
        self.more: Entry = {}

    def entry(self) -> Entry:
        """The finished entry, keys in the order people read them."""
        entry: Entry = {
            "template_id": self.wanted.template_id,
            "intent": self.wanted.template_id,
            "category": self.wanted.category or self._category(),
            "difficulty": "easy",
            "turn_policy": self.wanted.policy,
            **self.more,
            "slots": self.slots,
            "user_turn_templates": self.said(self.user),
            "assistant_milestones": self.milestones,
        }
        if self.replies:
            entry["user_simulator_turns"] = self.replies
        entry["success_assertions"] = list(self.wanted.assertions or self._assertions())
        return entry

    def _category(self) -> str:
        """That of the likest template: categories share a budget."""
        like = self._likest()
        return like.category if like is not None else self.wanted.template_id

    def _assertions(self) -> Sequence[str]:
        """Those of a template that calls the tool as often: what holds for one call may not hold for two."""
        like = self._likest(alike=_calls)
        if like is None or not like.success_assertions:
            fix = "name one with `--assertion`, or write one with `bfcl new assertion`"
            raise self.impossible("no template like it names an assertion to use", fix)
        return like.success_assertions

    def _likest(self, alike: Callable[[Sequence[str]], object] = frozenset) -> Template | None:
        """The template to take things from: same calls and policy, then same calls; never others.

        `alike` says which lists of called tools are the same: by default those that name the same tools.
        """
        times = 2 if self.wanted.policy == "multi_tool" else 1
        called = [] if self.wanted.policy in SILENT or self.tool is None else [self.tool.name] * times
        same = [
            template
            for template in self.pack.templates
            if alike([one.tool for one in template.assistant_milestones if one.tool]) == alike(called)
        ]
        negative = self.wanted.policy == "negative_path"
        fitting = [one for one in same if (one.turn_policy == "negative_path") is negative]
        return next((one for one in fitting if one.turn_policy == self.wanted.policy), next(iter(fitting), None))

    def impossible(self, message: str, fix: str | None = None) -> ConfigError:
        return refused_stub(self.wanted.template_id, f"`{self.wanted.policy}`: {message}", fix)

    def said(self, text: str) -> Mapping[str, Json]:
        return {self.language: text}

    def text(self, kind: str, text: str, **more: Json) -> None:
        """Append a text milestone."""
        self.milestones.append({"type": kind, **more, "content_template": self.said(text)})

    def reply(self, after: str, text: str, **more: Json) -> None:
        self.replies.append({"after": after, "content_template": self.said(text), **more})

    def call(self, *, confirmed: bool = False, **more: Json) -> None:
        """Append the call: slots by name, what no slot holds as a literal."""
        assert self.tool is not None
        arguments: Entry = {one.parameter: one.literal for one in self.bound if one.source is None}
        parameter = self.pack.manifest.confirmation.parameter
        if self.tool.requires_confirmation:
            arguments[parameter] = confirmed
        if self.tool.mutates and (confirmed or not self.tool.requires_confirmation):
            self.more["mutates"] = True
        milestone: Entry = {"type": "tool_call", "tool": self.tool.name, **more}
        given = more.get("args")
        if arguments or given:
            milestone["args"] = {**arguments, **(given if isinstance(given, Mapping) else {})}
        self.milestones.append(milestone)

    def slot(self, name: str, source: Entry, *, visible: bool = True) -> None:
        slot: Entry = {**source, "visible_in_first_turn": visible}
        if not visible:
            slot["label"] = self.said(name.replace("_", " "))
        self.slots[name] = slot

    def source(self, name: str) -> Entry:
        """`source` and `filter` for a parameter: as the likest template draws it, for it knows which rows will do."""
        like = self._likest()
        known = None if like is None else like.slots.get(name)
        if like is not None and known is not None:
            # Here it draws a row of its own, so the filter that chose the row it shared there goes with it.
            leader = like.slots.get(known.same_row_as or "", known)
            return {"source": known.source, **({} if leader.filter is None else {"filter": leader.filter})}
        return {"source": next(one.source for one in self.bound if one.parameter == name)}

    def varies(self, name: str) -> bool:
        """Whether a user could name one value of the parameter first and another then."""
        examples = next(one.examples for one in self.bound if one.parameter == name)
        return len({canonical_text(value) for value in examples}) >= _CHOICES

    def replacement(self, name: str) -> Entry:
        """`source` and `filter` of a correction: as for the value corrected, unless that leaves nothing to choose."""
        drawn = self.source(name)
        narrowed = drawn.get("filter")
        if isinstance(narrowed, str):
            offered = sources_of(self.pack).resolve(str(drawn["source"]), narrowed).candidates
            if len({canonical_text(value) for value in offered.values}) < _CHOICES:
                return {"source": drawn["source"]}
        return drawn

    def bind(self) -> list[str]:
        """A visible slot for each parameter that one can hold; their names."""
        for one in self.bound:
            if one.source is not None:
                self.slot(one.parameter, self.source(one.parameter))
        if not self.slots:
            raise self.impossible(f"`{self.tool.name if self.tool else ''}` has no required parameter a slot can hold")
        return list(self.slots)


def _calls(tools: Sequence[str]) -> list[str]:
    return sorted(tools)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"{{{name}}}" for name in names)


def _single_turn(draft: _Draft) -> None:
    names = draft.bind()
    draft.user = f"Please see to this for me: {_listed(names)}."
    draft.call()
    draft.text("final_answer", "Here is what I found.")


def _multi_tool(draft: _Draft) -> None:
    name, *others = draft.bind()
    draft.slot(f"other_{name}", draft.source(name))
    draft.user = f"Please see to both for me: {_listed([name, f'other_{name}', *others])}."
    draft.more["call_order"] = "any"
    draft.call(call_group=0)
    draft.call(call_group=0, args={name: f"{{other_{name}}}"})
    draft.text("final_answer", "Here is what I found about both.")


def _missing_slot(draft: _Draft) -> None:
    name, *others = draft.bind()
    draft.slot(name, draft.source(name), visible=False)
    draft.user = f"Please see to this for me: {_listed(others)}." if others else "I need you to look something up."
    draft.text("ask_for_slot", "Which {slot_name} is it?", slot=name)
    draft.reply("ask_for_slot", f"It is {{{name}}}.")
    draft.call()
    draft.text("final_answer", "Here is what I found.")


def _confirmation(draft: _Draft) -> None:
    assert draft.tool is not None
    if not draft.tool.requires_confirmation:
        raise draft.impossible(f"`{draft.tool.name}` does not declare `x-requires-confirmation`", "name a gated tool")
    names = draft.bind()
    draft.user = f"Please go ahead with this: {_listed(names)}."
    draft.text("ask_confirm", f"Shall I do this with {_listed(names)}?")
    draft.reply("ask_confirm", "Yes, please do.")
    draft.call(confirmed=True)
    draft.text("final_answer", "It is done.")


def _correction(draft: _Draft) -> None:
    assert draft.tool is not None
    names = draft.bind()
    name = next((one for one in names if draft.varies(one)), None)
    if name is None:
        message = f"no required parameter of `{draft.tool.name}` has two values to choose from"
        raise draft.impossible(message, "add a row to fixtures.json, or a value to the enum of tools.json")
    others = [one for one in names if one != name]
    gated = draft.tool.requires_confirmation
    draft.user = f"Please see to this for me: {_listed([name, *others])}."
    draft.text("final_answer", f"I will use {{{name}}}.", id="announce")
    update: Entry = {**draft.replacement(name), "bind_as": f"right_{name}"}
    draft.reply("announce", f"Sorry, I meant {{right_{name}}}.", slot_updates={name: update})
    if gated:
        draft.text("ask_confirm", f"So it is {_listed([name, *others])}, is that right?")
        draft.reply("ask_confirm", "Yes, that is right.")
    draft.call(confirmed=gated)
    draft.text("final_answer", "It is done." if gated else "Here is what I found.", id="answer")


def _negative_path(draft: _Draft) -> None:
    draft.bind()
    absent = next(
        (one for one in draft.bound if one.collection and draft.pack.manifest.absent_ids.get(one.collection)), None
    )
    if absent is None:
        fix = "declare `absent_ids.<collection>` in manifest.yaml for the collection whose key the tool takes"
        raise draft.impossible("no parameter of the tool takes the key of a collection with absent ids", fix)
    draft.slot(absent.parameter, {"source": f"absent:{absent.collection}"})
    draft.user = f"Please see to this for me: {_listed(list(draft.slots))}."
    draft.call()
    # Nothing is there to change.
    draft.more.pop("mutates", None)
    draft.text("final_answer", f"I could not find {{{absent.parameter}}}.")


def _dependent_call(draft: _Draft) -> None:
    raise draft.impossible(
        "which field of a result the second call needs cannot be read from the pack",
        "start from `single_turn`, then add `args.<parameter>: {from_result: {call: <milestone id>, path: <field>}}`",
    )


def _clarify_only(draft: _Draft) -> None:
    tool = draft.tool or next((one for one in draft.pack.tools if bindings(draft.pack, one)), None)
    bound = () if tool is None else bindings(draft.pack, tool)
    one = next((one for one in bound if one.source is not None), None)
    if one is None or one.source is None:
        raise draft.impossible("no tool has a required parameter to ask for")
    draft.slot(one.parameter, {"source": one.source}, visible=False)
    draft.user = "I need you to look something up."
    draft.text("ask_for_slot", "Which {slot_name} is it?", slot=one.parameter)


def _irrelevant(draft: _Draft) -> None:
    draft.slot("request", {"source": "literal:[a weather forecast, a train ticket, a poem]"})
    draft.user = "Could you get me {request}?"
    draft.text("decline", "I am sorry, I cannot help with that here.")


_SHAPES: Final[Mapping[str, Callable[[_Draft], None]]] = {
    "single_turn": _single_turn,
    "multi_tool": _multi_tool,
    "missing_slot": _missing_slot,
    "confirmation": _confirmation,
    "correction": _correction,
    "dependent_call": _dependent_call,
    "negative_path": _negative_path,
    "clarify_only": _clarify_only,
    "irrelevant": _irrelevant,
}
