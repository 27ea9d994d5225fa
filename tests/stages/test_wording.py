"""Language, system prompt, and every gap in the wording of templates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bfcl.errors import ConfigError, StageError
from bfcl.pack.model import Manifest
from bfcl.records.ids import TemplateId
from bfcl.records.template import Template
from bfcl.stages.wording import (
    DEFAULT_SYSTEM_PROMPT,
    Wording,
    asked_slot,
    prompt_bundle_hash,
    render_language,
    slot_label,
    system_prompt,
    system_prompt_id,
    text_problems,
    wording_of,
)
from tests.packs import Edit, drop, drop_template, put, put_template
from tests.stages.studio import studio

STUDIO = studio()


def test_wording_of_takes_texts_prompt_and_names_from_the_pack() -> None:
    manifest = replace(STUDIO.manifest, system_prompt=" Be brief.\n", tool_names_exempt=("get_kiln",))
    assert wording_of(manifest, tuple(STUDIO.tools.values()), "vi", False) == Wording(
        language="vi",
        assistant_turn_templates=manifest.assistant_turn_templates,
        system_prompt="Be brief.",
        system_prompt_id=system_prompt_id("Be brief."),
        tool_names=("get_kiln", "get_firing", "start_firing"),
        tool_names_exempt=("get_kiln",),
        prevent_tool_name_leakage=False,
    )


def _template(**texts: str) -> Template:
    return replace(STUDIO.templates["kiln_status"], user_turn_templates=texts)


def _manifest(**fields: Any) -> Manifest:
    return replace(STUDIO.manifest, **{"languages": (), "default_language": None, **fields})


def _problems(*edits: Edit, language: str = "en", policy: str = "strict_separation") -> list[str]:
    pack = studio(*edits)
    problems, warnings = text_problems(list(pack.templates.values()), pack.manifest, language, policy)
    assert warnings == []
    return [str(problem) for problem in problems]


# --- system prompt ------------------------------------------------------------------------------------------------


def test_default_system_prompt_is_frozen() -> None:
    assert (
        prompt_bundle_hash(DEFAULT_SYSTEM_PROMPT)
        == "sha256:5682960018974b485e17e3492652a7f4da9722b1d7a05283c29f88e5a19a4ac8"
    )
    assert system_prompt_id(DEFAULT_SYSTEM_PROMPT) == "sha256:5682960018974b48"


def test_system_prompt_is_the_packs_own_trimmed_else_the_default() -> None:
    assert system_prompt(_manifest(system_prompt="  Help.\n")) == "Help."
    assert system_prompt(_manifest(system_prompt=None)) == DEFAULT_SYSTEM_PROMPT.strip()


def test_system_prompt_in_english_is_refused_under_another_language() -> None:
    manifest = _manifest(system_prompt=None)
    problems, warnings = text_problems([_template(vi="Lò {kiln_id}?")], manifest, "vi", "strict_separation")
    assert warnings == []
    assert str(problems[0]) == (
        "system_prompt_language_mismatch: manifest.yaml: surfaces speak `vi` but the built-in system prompt is "
        "English\n"
        "  fix: set `system_prompt` or `system_prompt_path` in manifest.yaml"
    )


def test_system_prompt_in_english_is_a_warning_for_a_smoke_run() -> None:
    manifest = _manifest(system_prompt=None)
    problems, warnings = text_problems([], manifest, "vi", "smoke_no_publication")
    assert [problem.code for problem in problems] == []
    assert [problem.code for problem in warnings] == ["system_prompt_language_mismatch"]


@pytest.mark.parametrize("language", ["en", "en-GB", "en_US"])
def test_system_prompt_suits_every_english(language: str) -> None:
    assert text_problems([], _manifest(system_prompt=None), language, "strict_separation") == ([], [])


# --- language -----------------------------------------------------------------------------------------------------


def test_render_language_takes_the_configured_one_first() -> None:
    manifest = _manifest(languages=("en", "vi"), default_language="en")
    assert render_language("vi", manifest, [_template(en="a", vi="b")]) == "vi"


def test_render_language_refuses_a_configured_one_that_a_template_lacks() -> None:
    with pytest.raises(ConfigError) as caught:
        render_language("vi", _manifest(), [_template(en="a", vi="b"), _template(en="a")])
    assert str(caught.value) == (
        "generation_config_invalid: surface_generation.language: `vi` is not offered by every template; "
        "without it: kiln_status\n  fix: add `vi` texts to these templates, or choose another language"
    )


def test_render_language_names_five_templates_that_lack_it() -> None:
    lacking = [replace(_template(en="a"), template_id=TemplateId(f"t{number}")) for number in range(7)]
    with pytest.raises(ConfigError) as caught:
        render_language("vi", _manifest(), [_template(vi="b"), *lacking])
    assert caught.value.problems[0].message == (
        "`vi` is not offered by every template; without it: t0, t1, t2, t3, t4 and 2 more"
    )
    with pytest.raises(ConfigError) as caught:
        render_language("vi", _manifest(), lacking[:5])
    assert caught.value.problems[0].message.endswith("without it: t0, t1, t2, t3, t4")


def test_render_language_suggests_the_language_that_was_meant() -> None:
    with pytest.raises(ConfigError) as caught:
        render_language("en-us", _manifest(), [_template(**{"en-US": "a"})])
    assert caught.value.problems[0].fix == "did you mean `en-US`?"


def test_render_language_then_takes_the_default_then_the_first_offered_then_the_only_one() -> None:
    both = [_template(en="a", vi="b", fr="c"), _template(en="a", vi="b")]
    assert render_language(None, _manifest(languages=("fr", "vi", "en"), default_language="en"), both) == "en"
    assert render_language(None, _manifest(languages=("fr", "vi", "en")), both) == "vi"
    assert render_language(None, _manifest(), [_template(en="a", vi="b"), _template(vi="b")]) == "vi"


def test_render_language_keeps_a_default_that_some_template_lacks() -> None:
    manifest = _manifest(default_language="vi")
    assert render_language(None, manifest, [_template(en="a", vi="b"), _template(en="a")]) == "vi"


def test_render_language_refuses_to_guess_among_several() -> None:
    with pytest.raises(StageError) as caught:
        render_language(None, _manifest(), [_template(vi="b", en="a")])
    assert str(caught.value) == (
        "render_language_ambiguous: surface_generation.language: every template offers en, vi and nothing chooses "
        "among them\n  fix: set `default_language` in manifest.yaml, or `surface_generation.language`"
    )


def test_render_language_names_templates_outside_the_widest_language() -> None:
    with pytest.raises(StageError) as caught:
        render_language(None, _manifest(), [_template(en="a"), _template(en="a"), _template(vi="b")])
    assert str(caught.value) == (
        "missing_language_text: kiln_status: user_turn_templates has no `en` text; it has vi\n"
        "  fix: add `user_turn_templates.en`"
    )


def test_render_language_keeps_the_packs_first_where_templates_share_none() -> None:
    manifest = _manifest(languages=("vi", "en"))
    assert render_language(None, manifest, [_template(en="a"), _template(vi="b")]) == "vi"


def test_render_language_without_templates_follows_the_manifest() -> None:
    assert render_language(None, _manifest(languages=("vi", "en")), []) == "vi"
    assert render_language(None, _manifest(), []) == "en"


# --- texts --------------------------------------------------------------------------------------------------------


def test_text_problems_are_none_for_the_good_pack() -> None:
    assert _problems() == []


def test_text_problems_name_every_gap_of_a_language_in_every_template() -> None:
    messages = _problems(
        put_template("kiln_status", ("user_turn_templates",), {"vi": "Lò {kiln_id}?"}),
        put_template("kiln_unnamed", ("user_simulator_turns", 0, "content_template"), {"vi": "{kiln_id}", "fr": "a"}),
        put_template("start_confirmed", ("assistant_milestones", 0, "content_template"), {"vi": "?"}),
        put("manifest.yaml", ("assistant_turn_templates", "ask_confirm"), {"vi": "?"}),
        put("manifest.yaml", ("assistant_turn_templates", "decline"), {"fr": "non"}),
    )
    assert messages == [
        (
            "missing_language_text: kiln_status: user_turn_templates has no `en` text; it has vi\n"
            "  fix: add `user_turn_templates.en`"
        ),
        (
            "missing_language_text: start_confirmed: assistant_milestones.0.content_template has no `en` text; "
            "it has vi\n  fix: add `assistant_milestones.0.content_template.en`"
        ),
        (
            "missing_language_text: out_of_scope: assistant_milestones.0.content_template has no `en` text; it has fr\n"
            "  fix: add `assistant_milestones.0.content_template.en`"
        ),
        (
            "missing_language_text: kiln_unnamed: user_simulator_turns.0.content_template has no `en` text; "
            "it has fr, vi\n  fix: add `user_simulator_turns.0.content_template.en`"
        ),
    ]


def test_text_problems_name_a_milestone_without_any_text() -> None:
    assert _problems(drop("manifest.yaml", ("assistant_turn_templates", "decline"))) == [
        (
            "missing_assistant_turn_templates: out_of_scope: assistant_milestones.0 (decline) has no text of its own, "
            "and neither the template nor the manifest has one for `decline`\n"
            "  fix: add `assistant_turn_templates.decline.en` to manifest.yaml or to the template"
        )
    ]


def test_text_problems_accept_wording_from_the_template_block() -> None:
    assert (
        _problems(
            drop("manifest.yaml", ("assistant_turn_templates", "decline")),
            put_template("out_of_scope", ("assistant_turn_templates",), {"decline": {"en": "Sorry, no."}}),
        )
        == []
    )


def test_text_problems_name_an_empty_text() -> None:
    assert (
        _problems(put_template("kiln_status", ("assistant_milestones", 1, "content_template"), {"en": "{kiln_id}"}))
        == []
    )
    template = replace(STUDIO.templates["kiln_status"], user_turn_templates={"en": " \n"})
    problems, _ = text_problems([template], STUDIO.manifest, "en", "strict_separation")
    assert [str(problem) for problem in problems] == [
        "empty_turn: kiln_status: user_turn_templates is empty\n  fix: write what is said in this turn"
    ]


def test_text_problems_name_placeholders_that_nothing_binds() -> None:
    assert _problems(
        put_template("kiln_status", ("user_turn_templates", "en"), "Is {kilnid} free, {kiln_id}, {}, {9}?"),
        put_template("kiln_corrected", ("assistant_milestones", 0, "content_template", "en"), "{right_kiln}?"),
    ) == [
        (
            "unbound_placeholder: kiln_status: user_turn_templates says {kilnid}, which nothing binds at this turn\n"
            "  fix: did you mean `kiln_id`?"
        ),
        (
            "unbound_placeholder: kiln_corrected: assistant_milestones.0.content_template says {right_kiln}, "
            "which nothing binds at this turn\n  fix: declare slot `right_kiln`, or correct the name"
        ),
    ]


def test_text_problems_let_an_alias_be_said_from_its_correction_on() -> None:
    late = put_template("kiln_corrected", ("assistant_milestones", 2, "content_template"), {"en": "So {right_kiln}."})
    assert _problems(late) == []


def test_text_problems_name_a_question_whose_slot_is_not_clear() -> None:
    slot = {"source": "fixture:kilns.zone", "visible_in_first_turn": False}
    assert _problems(put_template("kiln_unclear", ("slots", "zone"), slot)) == [
        (
            "ask_for_slot_without_a_named_slot: kiln_unclear: assistant_milestones.0.content_template says {slot_name} "
            "but names no slot, and 2 slots are hidden; expected one\n  fix: add `slot: <name>` to the milestone"
        )
    ]
    shown = put_template("kiln_unclear", ("slots", "kiln_id", "visible_in_first_turn"), True)
    assert "and 0 slots are hidden" in _problems(shown)[0]


def test_text_problems_accept_a_question_that_says_no_slot_name() -> None:
    slot = {"source": "fixture:kilns.zone", "visible_in_first_turn": False}
    text = put_template("kiln_unclear", ("assistant_milestones", 0, "content_template"), {"en": "Which kiln?"})
    assert _problems(put_template("kiln_unclear", ("slots", "zone"), slot), text) == []


def test_text_problems_bind_the_slot_name_in_user_turns_where_one_slot_is_hidden() -> None:
    asks = put_template("kiln_unnamed", ("user_turn_templates", "en"), "I forgot my {slot_name}.")
    assert _problems(asks) == []
    asks = put_template("kiln_status", ("user_turn_templates", "en"), "I forgot the {slot_name} of {kiln_id}.")
    assert [text.split(":")[0] for text in _problems(asks)] == ["ask_for_slot_without_a_named_slot"]


def test_text_problems_let_a_reply_follow_a_type_only_where_it_occurs_once() -> None:
    late = put_template("kiln_corrected", ("assistant_milestones", 2, "content_template"), {"en": "So {right_kiln}."})
    vague = put_template("kiln_corrected", ("user_simulator_turns", 0, "after"), "final_answer")
    assert [text.split(":")[0] for text in _problems(late, vague)] == ["unbound_placeholder"]


def test_text_problems_read_replies_that_follow_nothing() -> None:
    assert _problems(
        put_template("kiln_unnamed", ("user_simulator_turns", 0, "after"), "ask"),
        put_template("kiln_unnamed", ("user_simulator_turns", 0, "content_template"), {"vi": "a"}),
    ) == [
        (
            "missing_language_text: kiln_unnamed: user_simulator_turns.0.content_template has no `en` text; it has vi\n"
            "  fix: add `user_simulator_turns.0.content_template.en`"
        )
    ]


def test_slot_label_is_the_declared_one_in_the_language_else_the_name() -> None:
    template = STUDIO.templates["kiln_unnamed"]
    assert asked_slot(template, template.assistant_milestones[0]) == "kiln_id"
    assert slot_label(template, "kiln_id", "en") == "kiln number"
    assert slot_label(template, "kiln_id", "vi") == "kiln_id"
    nameless = studio(drop_template("kiln_unnamed", ("assistant_milestones", 0, "slot"))).templates["kiln_unnamed"]
    assert asked_slot(nameless, nameless.assistant_milestones[0]) == "kiln_id"
