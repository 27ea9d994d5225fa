"""Packs in Vietnamese, Arabic and Japanese: Gold, worded exactly as written, guarded by what a reader sees."""

from __future__ import annotations

import dataclasses
import unicodedata
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bfcl.authoring.preview import Previewed, Wanted, preview
from bfcl.authoring.workbench import workbench
from bfcl.checks.validate import validate_pack
from tests.packs import Draft, Edit, put, put_template, replace, write_pack


class Speech(NamedTuple):
    """What the studio's people say in one language; `kilns` replace the kiln ids K-1, K-2, K-3."""

    language: str
    kilns: tuple[str, str, str]
    prompt: str
    ask: str
    confirm: str
    decline: str
    answer: str
    status: str
    start: str
    both: str
    topic: str
    yes: str


VIETNAMESE = Speech(
    language="vi",
    kilns=("Lò Bát Tràng 🏺", "Lò Phù Lãng", "Lò Đông Triều"),
    prompt="Bạn giúp khách của một xưởng gốm.",
    ask="Bạn hỏi về {slot_name} nào?",
    confirm="Tôi bắt đầu nung nhé?",
    decline="Rất tiếc, tôi chỉ giúp được về lò và mẻ nung.",
    answer="Xong rồi, kết quả ở trên.",
    status="{kiln_id} bây giờ có trống không?",
    start="Nhờ bạn nung {kiln_id} ở nhiệt {cone}đ giúp mình.",
    both="{kiln_id} thế nào rồi, và mẻ {firing_id} ra sao?",
    topic="Bạn cho mình {topic} được không?",
    yes="Vâng, làm đi.",
)
ARABIC = Speech(
    language="ar",
    kilns=("فرن ١", "فرن الشمال", "فرن 🔥"),
    prompt="أنت تساعد ضيوف مشغل للفخار.",
    ask="أي {slot_name} تقصد؟",
    confirm="هل أبدأ الحرق؟",
    decline="عذرًا، لا أستطيع المساعدة إلا في الأفران.",
    answer="تم، وهذه هي النتيجة.",
    status="هل {kiln_id} متاح الآن؟",
    start="من فضلك احرق {kiln_id} بدرجة {cone}.",
    both="كيف حال {kiln_id}؟ وماذا عن الدفعة {firing_id}؟",
    topic="هل يمكنك أن تعطيني {topic}؟",
    yes="نعم، تفضل.",
)
JAPANESE = Speech(
    language="ja",
    kilns=("一号窯", "二号窯", "三号窯🍵"),
    prompt="あなたは陶芸工房のお客様を手伝います。",
    ask="どの{slot_name}ですか。",
    confirm="焼成を始めてよろしいですか。",
    decline="申し訳ありませんが、窯のことしかお手伝いできません。",
    answer="はい、以上の結果です。",
    status="「{kiln_id}」は今空いていますか。",
    start="「{kiln_id}」をコーン{cone}で焼いてください。",
    both="「{kiln_id}」の様子と、焼成「{firing_id}」の結果を教えてください。",
    topic="「{topic}」を教えてもらえますか。",
    yes="はい、お願いします。",
)
SPEECHES = (VIETNAMESE, ARABIC, JAPANESE)


def spoken(speech: Speech) -> Edit:
    """The studio in another language: its texts, and its kilns' names wherever they stand in data."""

    def edit(draft: Draft) -> None:
        manifest = draft.data["manifest.yaml"]
        manifest.update(languages=[speech.language], default_language=speech.language, system_prompt=speech.prompt)
        said = (speech.ask, speech.confirm, speech.decline, speech.answer)
        for kind, text in zip(("ask_for_slot", "ask_confirm", "decline", "final_answer"), said, strict=True):
            manifest["assistant_turn_templates"][kind] = {speech.language: text}
        for template, text in zip(
            draft.data["task_templates.yaml"], (speech.status, speech.start, speech.both, speech.topic), strict=True
        ):
            template["user_turn_templates"] = {speech.language: text}
            for milestone in template["assistant_milestones"]:
                milestone.pop("content_template", None)
            for turn in template.get("user_simulator_turns", ()):
                turn["content_template"] = {speech.language: speech.yes}
        names = dict(zip(("K-1", "K-2", "K-3"), speech.kilns, strict=True))
        for file in ("fixtures.json", "validation_cases.yaml"):
            draft.data[file] = renamed(draft.data[file], names)

    return edit


def renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def shown(root: Path, template: str, count: int = 50) -> Previewed:
    with workbench(root, jobs=1) as bench:
        budget = dataclasses.replace(bench.config.task_generation, candidate_tasks_per_category=count)
        wide = dataclasses.replace(bench, config=dataclasses.replace(bench.config, task_generation=budget))
        [found] = preview(wide, Wanted(templates=(template,), count=count))
    return found


@pytest.mark.parametrize("speech", SPEECHES, ids=lambda speech: speech.language)
def test_pack_of_another_language_is_gold(tmp_path: Path, speech: Speech) -> None:
    with workbench(write_pack(tmp_path / "pack", spoken(speech))) as bench:
        verdict = validate_pack(bench.pack, bench.config, bench.oracle)
    assert (verdict.tier, verdict.reasons) == ("gold", ())
    warned = {finding.code for check in verdict.checks for finding in check.warnings}
    assert warned == {"unused_assertion"}


@pytest.mark.parametrize("speech", SPEECHES, ids=lambda speech: speech.language)
def test_every_kiln_is_named_verbatim_in_its_conversation(tmp_path: Path, speech: Speech) -> None:
    found = shown(write_pack(tmp_path / "pack", spoken(speech)), "kiln_status")
    assert found.good
    assert found.language == speech.language
    said = {one.surface.turns[0].content for one in found.shown if one.surface is not None}
    assert said == {speech.status.replace("{kiln_id}", kiln) for kiln in speech.kilns}


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def test_value_in_decomposed_form_is_found_in_composed_text(tmp_path: Path) -> None:
    """The hidden kiln's name leaks although its letters are spelt with combining marks in one of the two places."""
    name = VIETNAMESE.kilns[1]
    assert nfd(name) != name
    hidden = {"source": f'literal:["{nfd(name)}"]', "visible_in_first_turn": False, "label": {"vi": "lò"}}
    template = {
        "turn_policy": "missing_slot",
        "slots": {"kiln_id": hidden},
        "user_turn_templates": {"vi": f"Mình hỏi về {name} nhé."},
        "assistant_milestones": [{"type": "ask_for_slot"}, {"type": "tool_call", "tool": "get_kiln"}],
        "user_simulator_turns": [{"after": "ask_for_slot", "content_template": {"vi": "Là {kiln_id}."}}],
    }
    edits = [put_template("kiln_status", [key], value) for key, value in template.items()]
    found = shown(write_pack(tmp_path / "pack", spoken(VIETNAMESE), *edits), "kiln_status")
    assert [one.surface.guard_violations[0].guard for one in found.shown if one.surface is not None] == ["must_omit"]


@pytest.mark.parametrize(
    ("text", "value", "seen"),
    [
        ("Nung ở 400000 độ, lò {kiln_id}.", 4, False),
        ("Chuyển {cone}đ cho lò {kiln_id}.", 200000, True),
        ("Lò {kiln_id}, 4.", 4, True),
        ("Lò {kiln_id}, 4,5.", 4, False),
        ("「{kiln_id}」をコーン4で。", 4, True),
        ("فرن {kiln_id} بدرجة 4؟", 4, True),
    ],
)
def test_number_counts_as_said_only_as_a_whole_token(tmp_path: Path, text: str, value: int, seen: bool) -> None:
    cone = {"source": f"literal:[{value}]", "visible_in_first_turn": True}
    wide = {"type": "integer", "minimum": 1, "maximum": 999999}
    root = write_pack(
        tmp_path / "pack",
        put_template("start_confirmed", ["user_turn_templates", "en"], text),
        put_template("start_confirmed", ["slots", "cone"], cone),
        put("tools.json", [2, "function", "parameters", "properties", "cone"], wide),
        replace("backend.py", "1 <= cone <= 10", "1 <= cone"),
    )
    [one] = shown(root, "start_confirmed", 1).shown
    assert one.surface is not None
    assert one.surface.accepted is seen
