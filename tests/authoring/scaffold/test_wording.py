"""Texts of a starter pack: which language a tag gets, and that every shipped one is complete."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from bfcl.authoring.scaffold import wording
from bfcl.authoring.scaffold.wording import SHIPPED, shipped_language, words_for
from bfcl.pack.placeholders import names


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en", "en"),
        ("EN-gb", "en"),
        ("vi-Latn-VN", "vi"),
        ("de-1996", "de"),
        ("ja-JP", "ja"),
        ("ja-Latn", None),
        ("zh", "zh"),
        ("zh-Hans-SG", "zh"),
        ("zh-CN", "zh"),
        ("zh-Hant", None),
        ("zh-TW", None),
        ("zh-hk", None),
        ("pt-BR", None),
        ("eng", None),
        ("x-en", None),
    ],
)
def test_tag_gets_the_shipped_language_its_readers_read(tag: str, language: str | None) -> None:
    assert shipped_language(tag) == language


def test_every_text_file_is_of_a_shipped_language() -> None:
    assert sorted(path.stem for path in (Path(wording.__file__).parent / "texts").iterdir()) == sorted(SHIPPED)


@pytest.mark.parametrize("language", SHIPPED)
def test_shipped_language_has_every_text_with_the_same_placeholders(language: str) -> None:
    english, words = words_for("en"), words_for(language)
    assert words.fitting
    assert len(words.system_prompt) == len(english.system_prompt)
    assert {key: set(names(text)) for key, text in words.texts.items()} == {
        key: set(names(text)) for key, text in english.texts.items()
    }


@pytest.mark.parametrize("language", SHIPPED)
def test_shipped_texts_are_composed_and_printable(language: str) -> None:
    words = words_for(language)
    for text in (*words.system_prompt, *words.texts.values()):
        assert unicodedata.is_normalized("NFC", text)
        assert text.isprintable()
        assert text == text.strip()


@pytest.mark.parametrize("language", [language for language in SHIPPED if language != "en"])
def test_shipped_language_leaves_nothing_in_english(language: str) -> None:
    english, words = words_for("en"), words_for(language)
    assert not set(english.system_prompt) & set(words.system_prompt)
    assert not set(english.texts.values()) & set(words.texts.values())


def test_language_without_texts_gets_the_english_ones_and_is_told_so() -> None:
    english, words = words_for("en"), words_for("pt-BR")
    assert (words.texts, words.system_prompt, words.fitting) == (english.texts, english.system_prompt, False)
