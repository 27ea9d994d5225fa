"""Readers note each fault with its place, and go on with a default of the type."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.digest import sha256_of
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.settings.reading import (
    ALIAS,
    DIGEST,
    SMALLEST,
    Reading,
    Section,
    content_hash,
    led_to,
    meant_word,
    open_file,
)
from tests.evaluate.refusals import refused

CODE, UNREADABLE = "eval_config_invalid", "eval_config_unreadable"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "eval.yaml"


def opened(path: Path, text: str) -> Reading:
    path.write_text(text)
    return open_file(path, code=CODE, unreadable=UNREADABLE)


def section(path: Path, text: str, *keys: str) -> Section:
    """The whole file, all its keys known."""
    reading = opened(path, text)
    return reading.root((), tuple(reading.raw) + keys)


def faults(reading: Reading) -> list[str]:
    """`line: field: message` of each, and its fix."""
    with pytest.raises(EvalError) as refusal:
        reading.raise_all()
    assert not reading.clean
    assert {(one.code, one.path) for one in refusal.value.problems} == {(CODE, "eval.yaml")}
    return [f"{one.line}: {one.field}: {one.message}; {one.fix}" for one in refusal.value.problems]


# --- files --------------------------------------------------------------------------------------------------------


def test_file_that_is_not_there_is_unreadable(path: Path) -> None:
    (problem,) = refused(lambda: open_file(path, code=CODE, unreadable=UNREADABLE))
    assert str(problem) == (
        "eval.yaml: eval_config_unreadable: cannot be read: No such file or directory\n"
        "  fix: give the path of a file that is there and can be read"
    )


def test_file_that_is_no_mapping_shows_only_the_shape_of_what_it_is(path: Path) -> None:
    (problem,) = refused(lambda: opened(path, "canary-71ab"))
    assert str(problem) == (
        "eval.yaml:1: eval_config_invalid: the file is <str len=11>; expected a mapping\n"
        "  fix: write `key: value` lines"
    )


def test_file_without_faults_lets_everything_pass(path: Path) -> None:
    reading = opened(path, "a: 1\n")
    reading.root(("a",))
    assert reading.clean
    reading.raise_all()


def test_template_value_and_credential_are_told_before_anything_is_read(path: Path) -> None:
    reading = opened(path, "a: REPLACE_ME_a\nb: sk-proj-0123456789abcdefghijABCDEFGHIJ0123456789\n")
    with pytest.raises(EvalError) as refusal:
        reading.raise_all()
    assert [(one.code, one.line, one.field) for one in refusal.value.problems] == [
        (CODE, 1, "a"),
        ("secret_in_eval_config", 2, "b"),
    ]
    assert not any("sk-proj" in str(one) for one in refusal.value.problems)
    assert section(path, "a: REPLACE_ME_a\n").text("a", default="x") == "x"


# --- keys ---------------------------------------------------------------------------------------------------------


def test_unknown_and_absent_keys_are_told_with_what_is_known(path: Path) -> None:
    reading = opened(path, "alpha: 1\nzzz: 2\n")
    reading.root(("alpha", "beta"), ("gamma",))
    assert faults(reading) == [
        "1: beta: beta is missing; every key of this file has to be written; add `beta`",
        "2: zzz: zzz is no key of this file; remove it; known here: `alpha`, `beta`, `gamma`",
    ]


def test_misspelt_key_is_one_fault_and_not_an_absent_one_too(path: Path) -> None:
    reading = opened(path, "alhpa: 1\n")
    reading.root(("alpha",))
    assert faults(reading) == ["1: alhpa: alhpa is no key of this file; did you mean `alpha`?"]


def test_key_may_have_a_fix_of_its_own(path: Path) -> None:
    reading = opened(path, "old: 1\n")
    reading.root((), ("new",), fixes={"old": "write `new`"})
    assert faults(reading) == ["1: old: old is no key of this file; write `new`"]


def test_section_that_is_no_mapping_reads_as_an_empty_one_without_further_faults(path: Path) -> None:
    whole = section(path, "limits: [1]\n")
    limits = whole.section("limits", ("least", "most"))
    assert (limits.value("least"), limits.whole("most")) == (None, 0)
    assert faults(whole.reading) == [
        "1: limits: limits is <list len=1>; expected a mapping with `least`, `most`; "
        "set `limits` to a mapping with `least`, `most`"
    ]


def test_faults_of_a_section_are_told_below_its_own_name(path: Path) -> None:
    whole = section(path, "limits:\n  least: x\n  other: 1\n")
    assert whole.section("limits", ("least",)).whole("least") == 0
    assert faults(whole.reading) == [
        "2: limits.least: limits.least is <str len=1>; expected an integer; write the number, without quotes",
        "3: limits.other: limits.other is no key of `limits`; remove it; known here: `least`",
    ]


def test_place_is_sound_as_long_as_nothing_around_or_in_it_is_refused(path: Path) -> None:
    reading = opened(path, "a:\n  b: 1\n  c: 2\nd: 3\n")
    assert reading.is_sound(("a",))
    reading.excuse(("a", "b"))
    assert (reading.is_faulty(("a",)), reading.is_sound(("a",)), reading.is_sound(("a", "c"))) == (False, False, True)
    reading.excuse(("a",))
    assert (reading.is_faulty(("a", "c")), reading.is_sound(("a", "c")), reading.is_sound(("d",))) == (
        True,
        False,
        True,
    )
    assert reading.clean


# --- values -------------------------------------------------------------------------------------------------------

Reader = Callable[[Section], object]
GOOD: list[tuple[str, Reader, object]] = [
    ("' padded '", lambda one: one.text("v"), "padded"),
    ("small", lambda one: one.text("v", pattern=ALIAS), "small"),
    ("null", lambda one: one.text_or_null("v"), None),
    ("x", lambda one: one.text_or_null("v"), "x"),
    ("two", lambda one: one.word("v", ("one", "two")), "two"),
    ("true", lambda one: one.flag("v"), True),
    ("7", lambda one: one.whole("v", least=7), 7),
    ("null", lambda one: one.whole_or_null("v"), None),
    ("3", lambda one: one.whole_or_null("v"), 3),
    ("2", lambda one: one.number("v", expected="x"), 2.0),
    ("[a, b]", lambda one: one.texts("v"), ("a", "b")),
    ("[]", lambda one: one.texts("v"), ()),
]


@pytest.mark.parametrize(("written", "read", "value"), GOOD)
def test_value_is_read(path: Path, written: str, read: Reader, value: object) -> None:
    one = section(path, f"v: {written}\n")
    assert read(one) == value
    assert one.reading.clean


def test_zero_is_spelt_one_way(path: Path) -> None:
    assert math.copysign(1.0, section(path, "v: -0.0\n").number("v", expected="x")) == 1.0


def test_value_that_is_not_there_reads_as_a_default_without_a_fault(path: Path) -> None:
    one = section(path, "a: 1\n", "v")
    assert (one.text("v", default="d"), one.word("v", ("x", "y"), default="y"), one.word("v", ("x", "y"))) == (
        "d",
        "y",
        "x",
    )
    assert (one.flag("v", default=True), one.whole("v", least=4), one.whole("v"), one.texts("v")) == (True, 4, 0, ())
    assert one.number("v", expected="x") == 0.0
    assert one.reading.clean


BAD: list[tuple[str, Reader, object, str]] = [
    (
        "''",
        lambda one: one.text("v", default="d"),
        "d",
        "is <str len=0>; expected non-empty text without control characters; "
        "set `v` to non-empty text without control characters",
    ),
    (
        "12",
        lambda one: one.text("v"),
        "",
        "is 12; expected non-empty text without control characters; quote it to make it text",
    ),
    (
        "Big One",
        lambda one: one.text("v", pattern=ALIAS, expected="an alias"),
        "",
        "is <str len=7>; expected an alias; set `v` to an alias",
    ),
    (
        "tow",
        lambda one: one.word("v", ("one", "two")),
        "one",
        "is <str len=3>; expected `one` or `two`; did you mean `two`?",
    ),
    ("1.1", lambda one: one.word("v", ("1.1", "1.2")), "1.1", 'is 1.1; expected `1.1` or `1.2`; quote it: `"1.1"`'),
    (
        "'true'",
        lambda one: one.flag("v"),
        False,
        "is <str len=4>; expected true or false; write true or false, without quotes",
    ),
    (
        "1",
        lambda one: one.whole("v", least=2),
        2,
        "is 1; expected an integer of at least 2; set `v` to an integer of at least 2",
    ),
    ("true", lambda one: one.whole("v"), 0, "is true; expected an integer; set `v` to an integer"),
    ("1.5", lambda one: one.whole("v"), 0, "is 1.5; expected an integer; set `v` to an integer"),
    (
        "'2'",
        lambda one: one.number("v", expected="a number"),
        0.0,
        "is <str len=1>; expected a number; write the number, without quotes",
    ),
    (
        "0",
        lambda one: one.number("v", expected="above 0", least=SMALLEST),
        0.0,
        "is 0; expected above 0; set `v` to above 0",
    ),
    (
        "[a, a]",
        lambda one: one.texts("v"),
        (),
        "is <list len=2>; expected a list of texts, none of them twice; set `v` to a list of texts, none of them twice",
    ),
]


@pytest.mark.parametrize(("written", "read", "default", "told"), BAD)
def test_value_at_fault_is_told_once_and_reads_as_a_default(
    path: Path, written: str, read: Reader, default: object, told: str
) -> None:
    one = section(path, f"v: {written}\n")
    assert read(one) == default
    assert read(one) == default
    assert faults(one.reading) == [f"1: v: v {told}"]


def test_number_too_large_for_a_float_is_refused(path: Path) -> None:
    one = section(path, f"v: {10**400}\n")
    assert one.number("v", expected="a finite number") == 0.0
    (told,) = faults(one.reading)
    assert told.endswith("; expected a finite number; set `v` to a finite number")


def test_faults_come_in_file_order_whatever_was_read_first(path: Path) -> None:
    one = section(path, "a: x\nb: x\n")
    one.whole("b")
    one.whole("a")
    assert [told.split(":")[0] for told in faults(one.reading)] == ["1", "2"]


# --- words and paths ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("exec", "did you mean `executable`?"),
        ("TRACE", "did you mean `trace`?"),
        ("ex", None),
        ("nothing_like_it", None),
        (3, None),
    ],
)
def test_word_that_is_cut_short_or_misspelt_is_guessed(value: str | int, fix: str | None) -> None:
    assert meant_word(value, ("trace", "executable")) == fix


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [(ALIAS, "a.b-c_1", "A"), (ALIAS, "a" * 64, "a" * 65), (DIGEST, sha256_of(b""), "sha256:0")],
)
def test_patterns_take_a_whole_value(pattern: re.Pattern[str], good: str, bad: str) -> None:
    assert pattern.fullmatch(good) is not None
    assert pattern.fullmatch(bad) is None


def test_paths_count_from_the_file_and_a_link_at_their_end_stays(path: Path, tmp_path: Path) -> None:
    reading = opened(path, "a: 1\n")
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_bytes(b"x")
    (tmp_path / "way").symlink_to("real")
    (tmp_path / "link").symlink_to("real/file")
    assert reading.resolved("way/file") == tmp_path / "real" / "file"
    assert reading.resolved("link") == tmp_path / "link"
    assert reading.resolved("real/..") == tmp_path


def test_path_is_told_as_far_as_it_is_there(path: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert led_to(tmp_path / "run") == "it leads to `run`"
    assert led_to(tmp_path / "run" / "a" / "b.py") == "it leads to `run`, and `a/b.py` is not in it"
    assert led_to(tmp_path / "run" / "a" / "b") == "it leads to `run`, and `a/b` is not in it"
    assert led_to(tmp_path / "run" / "a", "run/a") == "it leads to `run`, and `a` is not in it"


@pytest.mark.parametrize(
    "name", ["pass-phrase", "a\tb.py", "https:/x/y.py", f"sk-{'x' * 20}.py", f"a/hf_{'x' * 20}", "n" * 201]
)
def test_missing_part_that_may_be_no_path_is_told_by_its_length(path: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "run").mkdir()
    assert led_to(tmp_path / "run" / name) == f"it leads to `run`, and <str len={len(name)}> is not in it"


def test_content_hash_is_of_a_regular_file_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    assert content_hash(tmp_path / "file") == sha256_of(b"x")
    assert content_hash(tmp_path) is None
    assert content_hash(tmp_path / "absent") is None


def test_section_tells_what_it_has_and_where(path: Path) -> None:
    one = section(path, "a: 1\nb: x\n")
    assert (one.at("a", 0), one.has("a"), one.has("c"), one.sound("a", "b")) == (("a", 0), True, False, True)
    one.wrong("b", "a number", "mend it", code="other_code")
    assert (one.has("b"), one.sound("a", "b")) == (False, False)
    (problem,) = refused(one.reading.raise_all)
    assert problem == Problem(
        code="other_code",
        path="eval.yaml",
        line=2,
        column=1,
        field="b",
        message="b is <str len=1>; expected a number",
        fix="mend it",
    )
