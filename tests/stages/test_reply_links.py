"""Who answers whom, where every stage asks the same."""

from __future__ import annotations

from dataclasses import replace

from bfcl.records.template import Milestone, SimulatorTurn, Template
from bfcl.stages.render import render
from bfcl.stages.reply_links import reply_links
from bfcl.stages.state_machine import delivery_order, outline
from bfcl.stages.wording import text_problems
from tests.stages.studio import studio

STUDIO = studio()
CALL = Milestone(type="tool_call", id="call", tool="get_kiln")


def says(type_: str, id_: str, text: str = "?", slot: str | None = None) -> Milestone:
    return Milestone(type=type_, id=id_, content_template={"en": text}, slot=slot)


def conversation(*milestones: Milestone, after: tuple[str, ...], said: dict[str, str] | None = None) -> Template:
    """Replies to milestones in entry order; `said` gives the text of some, others say yes."""
    texts = said or {}
    return replace(
        STUDIO.templates["kiln_status"],
        turn_policy="negative_path",
        assistant_milestones=milestones,
        user_simulator_turns=tuple(
            SimulatorTurn(after=each, content_template={"en": texts.get(each, "Yes.")}) for each in after
        ),
    )


def test_reply_links_follow_an_id_before_a_type() -> None:
    drawn = conversation(
        says("ask_confirm", "first"), says("final_answer", "ask_confirm"), CALL, after=("ask_confirm", "first")
    )
    links = reply_links(drawn)
    assert (links.replies, links.answered(), links.problems) == ({1: 0, 0: 1}, {0: 1, 1: 0}, [])


def test_reply_links_follow_a_type_that_occurs_once() -> None:
    drawn = conversation(says("ask_confirm", "sure"), CALL, after=("ask_confirm",))
    assert reply_links(drawn).replies == {0: 0}


def test_reply_links_give_an_entry_that_does_not_resolve_to_nobody() -> None:
    drawn = conversation(
        says("ask_confirm", "a"), says("ask_confirm", "b"), CALL, after=("ask_confirm", "a", "a", "call", "sure")
    )
    links = reply_links(drawn)
    assert links.replies == {0: 1}
    assert [(problem.field, str(problem)) for problem in links.problems] == [
        (
            "user_simulator_turns.0.after",
            "simulator_after_unresolved: kiln_status: `ask_confirm` names 2 milestones; expected exactly one",
        ),
        (
            "user_simulator_turns.2.after",
            "simulator_after_unresolved: kiln_status: entries 1 and 2 both follow `a`; expected one reply a milestone",
        ),
        (
            "user_simulator_turns.3.after",
            "simulator_after_unresolved: kiln_status: `call` names a tool call; expected a text milestone",
        ),
        (
            "user_simulator_turns.4.after",
            "simulator_after_unresolved: kiln_status: "
            "`sure` is neither a milestone id nor a milestone type of this template",
        ),
    ]


def test_order_wording_and_surfaces_agree_on_who_is_answered() -> None:
    # The id of the second question is the type of the first.
    questions = (
        says("ask_confirm", "sure", "Now?"),
        says("ask_for_slot", "ask_confirm", "Which {slot_name}?", slot="kiln_id"),
    )
    said = {"ask_confirm": "{slot_name} {kiln_id}"}
    drawn = conversation(*questions, CALL, after=("ask_confirm", "sure"), said=said)
    assert delivery_order(drawn) == (1, 0)
    assert text_problems([drawn], STUDIO.manifest, "en", "strict_separation") == ([], [])
    task = STUDIO.tasks("kiln_status")[0]
    surface = render(drawn, outline(drawn), [task], STUDIO.wording())[0]
    kiln = task.slots["kiln_id"]
    assert [turn.content for turn in surface.turns if turn.kind == "user"][1:] == ["Yes.", f"kiln_id {kiln}"]
