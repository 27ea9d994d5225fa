"""When does a conversation say a value, a tool name, a phrase?"""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bfcl.canonical import Json
from bfcl.records.surface import Violation
from bfcl.records.task import SlotDelivery, Task
from bfcl.records.template import Paraphrase
from bfcl.stages.mentions import guards, violations
from tests.packs import ROW_LINKS, put_template
from tests.stages.mentioned import mentions
from tests.stages.studio import studio

SEPARATORS = [".", ",", " ", "\u00a0", "\u202f"]
STUDIO = studio()


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("pay 200000đ now", "200000", True),
        ("pay 200.000đ now", "200000", True),
        ("pay 200,000 now", "200000", True),
        ("pay 200 000 now", "200000", True),
        ("pay 200\u00a0000 now", "200000", True),
        ("pay 200\u202f000 now", "200000", True),
        ("pay 1.200.000 now", "1200000", True),
        ("pay 200000.", "200000", True),
        ("pay 200000, please", "200000", True),
        ("No.5", "5", True),
        ("from 200.000.", "200000", True),
        ("no 4 and no 1 200", "1200", True),
        ("pay 400000", "4", False),
        ("pay 4.5", "4", False),
        ("pay 4.5", "5", False),
        ("pay 4,5", "5", False),
        ("pay 4.5", "4.5", True),
        ("1, 2, 3", "123", False),
        ("1,2,3", "123", False),
        ("12 3", "123", False),
        ("pay 20.0000", "200000", False),
        ("pay 200.000,5", "200000", False),
        ("pay 1.200.000", "200000", False),
        ("pay 1 200 000", "200000", False),
        ("pay 200 000 000", "200000", False),
        ("pay 1.200,000", "1200000", False),
        ("pay 200 000.50", "200000", False),
        ("2024 200 000", "200000", True),
        ("status", "us", False),
        ("of us_all", "us", False),
        ("of us2", "us", False),
        ("(us)", "us", True),
        ("us-them", "us", True),
        ("US", "us", False),
        ("BK-12", "BK-1", False),
        ("BK-1x", "BK-1", True),
        ("kiln_1", "1", True),
        ("a+b+c", "+b+", True),
        ("it is true.", "true", True),
        ("café", "cafe\u0301", True),
        ("cafe", "cafe\u0301", False),
        ("\u0915\u093f", "\u0915", False),
        ("anything", "", False),
    ],
)
def test_mentions_finds_whole_tokens_only(text: str, value: str, said: bool) -> None:
    assert mentions(text, value) is said


@given(st.integers(1000, 10**15), st.sampled_from(SEPARATORS), st.sampled_from(["", "đ", ".", " now"]))
def test_mentions_grouped_number_with_every_separator(number: int, separator: str, behind: str) -> None:
    assert mentions(f"pay {number:,}".replace(",", separator) + behind, str(number))


@given(st.integers(10**6, 10**15), st.sampled_from(SEPARATORS))
def test_mentions_no_tail_and_no_head_of_a_grouped_number(number: int, separator: str) -> None:
    groups = f"{number:,}".split(",")
    text = separator.join(groups)
    assume(len(groups) > 2)
    assert not mentions(text, "".join(groups[1:]))
    assert not mentions(text, "".join(groups[:-1]))


@given(st.text("0123456789", min_size=1), st.sampled_from("0123456789"))
def test_mentions_no_number_that_touches_a_digit(value: str, digit: str) -> None:
    assert not mentions(digit + value, value)
    assert not mentions(value + digit, value)


@given(st.text("abzéđ_", min_size=1), st.sampled_from("aé_7"))
def test_mentions_no_word_that_touches_a_word_character(value: str, beside: str) -> None:
    assert not mentions(beside + value, value)
    assert not mentions(value + beside, value)


@given(st.text(min_size=1), st.sampled_from(["", " ", "(", '"']))
def test_mentions_every_value_that_stands_apart(value: str, beside: str) -> None:
    value = unicodedata.normalize("NFC", value)
    assume(unicodedata.combining(value[0]) == 0 and unicodedata.category(value[0])[0] != "M")
    assert mentions(beside + value + beside, value)


@given(st.text("a1é. ,ộ"), st.text("a1éộ", min_size=1))
def test_mentions_whatever_the_composition(text: str, value: str) -> None:
    decomposed = [unicodedata.normalize("NFD", part) for part in (text, value)]
    assert mentions(*decomposed) is mentions(text, value)


@given(st.text("ab1., "), st.text("ab1", min_size=1))
def test_mentions_only_what_is_there(text: str, value: str) -> None:
    if mentions(text, value):
        assert value in "".join(character for character in text if character not in ",. ")


@pytest.mark.parametrize(
    ("text", "word", "said"),
    [
        ("please get_kiln now", "get_kiln", True),
        ("Get_Kiln!", "get_kiln", True),
        ("get_kilns", "get_kiln", False),
        ("get_kiln_status", "get_kiln", False),
        ("xget_kiln", "get_kiln", False),
        ("get2", "get2", True),
        ("get2x", "get2", False),
        ("a-b", "b", True),
        ("STRASSE", "straße", True),
    ],
)
def test_violations_find_tool_names_whatever_the_case_as_whole_words(text: str, word: str, said: bool) -> None:
    assert _unmentionable(text, tools=(word,)) is said


@pytest.mark.parametrize(
    ("text", "phrase", "said"),
    [
        ("the KILN is hot", "kiln is", True),
        ("firings", "firing", True),
        ("CAFE\u0301", "café", True),
        ("kiln", "kilns", False),
        ("kiln", "", False),
    ],
)
def test_violations_find_phrases_whatever_the_case(text: str, phrase: str, said: bool) -> None:
    assert _unmentionable(text, phrases=(phrase,)) is said


def _unmentionable(text: str, *, tools: tuple[str, ...] = (), phrases: tuple[str, ...] = ()) -> bool:
    """Whether a user turn breaks a guard on tool names or phrases."""
    template = replace(STUDIO.templates["kiln_status"], paraphrase=Paraphrase(must_not_mention=phrases))
    found = violations(guards(template, tools), _task("kiln_status"), [text])
    return any(one.guard == "must_not_mention" for one in found)


def _task(template_id: str, number: int = 0) -> Task:
    return STUDIO.tasks(template_id)[number]


def _broken(
    template_id: str, *turns: str, task: Task | None = None, paraphrase: Paraphrase | None = None
) -> list[dict[str, Json]]:
    template = STUDIO.templates[template_id]
    if paraphrase is not None:
        template = replace(template, paraphrase=paraphrase)
    rules = guards(template, tuple(STUDIO.tools))
    return [dict(one.to_json()) for one in violations(rules, task or _task(template_id), turns)]


def test_violations_name_a_visible_slot_missing_from_the_first_turn() -> None:
    assert _broken("kiln_status", "Is my kiln free?", "I mean K-1.") == [{"guard": "must_preserve", "slot": "kiln_id"}]


def test_violations_name_a_hidden_slot_said_in_the_first_turn_only() -> None:
    task = _task("kiln_unnamed")
    value = task.slots["kiln_id"]
    assert _broken("kiln_unnamed", f"Is {value} free?", f"It is {value}.", task=task) == [
        {"guard": "must_omit", "slot": "kiln_id"}
    ]
    assert _broken("kiln_unnamed", "Is it free?", f"It is {value}.", task=task) == []


def test_violations_want_the_initial_value_first_and_the_corrected_one_anywhere() -> None:
    task = _task("cone_corrected")
    old, new, kiln = task.slots_initial["cone"], task.slots["cone"], task.slots["kiln_id"]
    assert old != new
    assert _broken("cone_corrected", f"Fire {kiln} at {old}.", f"No, {new}.", "Yes.", task=task) == []
    assert _broken("cone_corrected", f"Fire {kiln} at {old}.", "No.", "Yes.", task=task) == [
        {"guard": "must_preserve", "slot": "cone"}
    ]
    assert _broken("cone_corrected", f"Fire {kiln} at {new}.", f"No, {new}.", "Yes.", task=task) == [
        {"guard": "must_preserve", "slot": "cone"}
    ]


def test_violations_want_every_delivered_value_not_only_the_last() -> None:
    task = _task("cone_corrected")
    deliveries = tuple(
        SlotDelivery(entry_index=index, values={"cone": cone}, aliases={}) for index, cone in ((0, 8), (1, 9))
    )
    task = replace(task, slot_updates=deliveries, slots={**task.slots, "cone": 9})
    kiln, old = task.slots["kiln_id"], task.slots_initial["cone"]
    assert _broken("cone_corrected", f"Fire {kiln} at {old}.", "No, 8.", "No, 9.", task=task) == []
    assert _broken("cone_corrected", f"Fire {kiln} at {old}.", "No.", "No, 9.", task=task) == [
        {"guard": "must_preserve", "slot": "cone"}
    ]


def test_violations_add_the_paraphrase_lists() -> None:
    task = _task("kiln_and_firing")
    kiln, firing = task.slots["kiln_id"], task.slots["firing_id"]
    asked = Paraphrase(must_preserve=("kiln_id",), must_omit=("firing_id",), must_not_mention=("Quickly", "tool_names"))
    turn = f"QUICKLY look at {kiln} and {firing} with Get_Firing."
    assert _broken("kiln_and_firing", turn, task=task, paraphrase=asked) == [
        {"guard": "must_omit", "slot": "firing_id"},
        {"guard": "must_not_mention", "tool": "get_firing"},
        {"guard": "must_not_mention", "phrase": "Quickly"},
    ]


def test_violations_read_each_guard_once_and_in_later_turns_too() -> None:
    task = _task("kiln_status")
    asked = Paraphrase(must_preserve=("kiln_id",), must_not_mention=("hot",))
    assert _broken("kiln_status", "Is it free?", "It is hot.", task=task, paraphrase=asked) == [
        {"guard": "must_preserve", "slot": "kiln_id"},
        {"guard": "must_not_mention", "phrase": "hot"},
    ]


def test_violations_join_no_phrase_across_turns() -> None:
    asked = Paraphrase(must_not_mention=("kiln start",))
    task = _task("kiln_status")
    kiln = task.slots["kiln_id"]
    assert _broken("kiln_status", f"{kiln} is a kiln", "start it", task=task, paraphrase=asked) == []


def test_guards_without_tool_names_forbid_none() -> None:
    task = _task("kiln_status")
    rules = guards(STUDIO.templates["kiln_status"], ())
    assert violations(rules, task, [f"get_kiln {task.slots['kiln_id']}"]) == ()
    with_names = guards(STUDIO.templates["kiln_status"], tuple(STUDIO.tools))
    assert violations(with_names, task, [f"get_kiln {task.slots['kiln_id']}"]) == (
        Violation(guard="must_not_mention", key="tool", value="get_kiln"),
    )


def test_violations_want_what_a_corrected_row_gives_a_slot_and_not_what_it_gives_an_argument() -> None:
    pack = studio(templates=ROW_LINKS)
    rules = guards(pack.templates["firing_corrected"], ())
    task = pack.tasks("firing_corrected")[0]
    assert (task.slots_initial, task.slots) == (
        {"firing_id": "F-10", "cone": 4, "firing_id.kiln_id": "K-3"},
        {"firing_id": "F-11", "cone": 6, "firing_id.kiln_id": "K-1"},
    )
    assert violations(rules, task, ["F-10, at 4", "F-11, at 6"]) == ()
    assert violations(rules, task, ["F-10, at 4", "F-11"]) == (
        Violation(guard="must_preserve", key="slot", value="cone"),
    )


def test_violations_name_a_withheld_follower_said_in_the_first_turn() -> None:
    pack = studio(put_template("kiln_in_zone", ("slots", "zone", "visible_in_first_turn"), False), templates=ROW_LINKS)
    rules, task = guards(pack.templates["kiln_in_zone"], ()), pack.tasks("kiln_in_zone")[0]
    assert violations(rules, task, ["K-1 in the north"]) == (Violation(guard="must_omit", key="slot", value="zone"),)
    assert violations(rules, task, ["K-1"]) == ()
