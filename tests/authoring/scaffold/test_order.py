"""Flags to an order: what a domain becomes, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.scaffold.order import StarterOrder, pack_id_of, read_order
from bfcl.errors import ConfigError


def refused(**flags: str) -> list[str]:
    given = {"domain": "desk", "language": "en", "version": "0.1.0", **flags}
    with pytest.raises(ConfigError) as caught:
        read_order(transport="python", held_out=False, **given)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("domain", "pack_id"),
    [
        ("order_desk", "order_desk"),
        ("Order Desk", "order_desk"),
        ("  --Order//Desk!!  ", "order_desk"),
        ("Ngân hàng", "ngan_hang"),
        ("Nga\u0302n ha\u0300ng", "ngan_hang"),
        ("Đặt vé", "dat_ve"),
        ("Straße 7", "strasse_7"),
        ("Łódź, Ærø", "lodz_aero"),
        ("İstanbul ılık", "istanbul_ilik"),
        ("ﬁle № 3", "file_no_3"),
        ("a" * 100, "a" * 100),
    ],
)
def test_domain_becomes_an_identifier_with_its_accents_dropped(domain: str, pack_id: str) -> None:
    assert pack_id_of(domain) == pack_id


@given(st.text())
def test_pack_id_holds_lower_case_words_only_and_is_its_own_pack_id(domain: str) -> None:
    pack_id = pack_id_of(domain)
    assert re.fullmatch(r"([a-z0-9]+(_[a-z0-9]+)*)?", pack_id)
    assert pack_id_of(pack_id) == pack_id


def test_order_holds_what_was_asked_for() -> None:
    order = read_order(domain="Order Desk", transport="endpoint", language="pt-BR", version=" 2 ", held_out=True)
    assert order == StarterOrder(
        pack_id="order_desk", transport="endpoint", language="pt-BR", version="2", held_out=True
    )


@pytest.mark.parametrize(
    ("domain", "seen"),
    [
        ("", "`` holds no letter from a to z; expected a name that does"),
        ("予約", "`予約` holds no letter from a to z; expected a name that does"),
        ("24 hours", "`24 hours` makes the pack id `24_hours`; expected a letter from a to z first"),
        ("7\n", "'7\\n' makes the pack id `7`; expected a letter from a to z first"),
        ("a" * 101, "makes a pack id of 101 characters; expected at most 100"),
    ],
)
def test_domain_without_an_identifier_in_it_is_refused(domain: str, seen: str) -> None:
    assert refused(domain=domain) == [f"domain_invalid: --domain: {seen}\n  fix: name it like `order_desk`"]


@pytest.mark.parametrize(
    ("language", "seen", "fix"),
    [
        ("pt_BR", "`pt_BR`", "did you mean `pt-BR`?"),
        ("", "``", "use a BCP 47 tag"),
        ("e", "`e`", "use a BCP 47 tag"),
        ("en-", "`en-`", "use a BCP 47 tag"),
        ("tiếng Việt", "`tiếng Việt`", "use a BCP 47 tag"),
        ("en\n", "'en\\n'", "did you mean `en`?"),
    ],
)
def test_language_that_is_no_tag_is_refused(language: str, seen: str, fix: str) -> None:
    assert refused(language=language) == [
        f"language_invalid: --language: {seen} is no language tag; expected one such as `en` or `pt-BR`\n  fix: {fix}"
    ]


@pytest.mark.parametrize(
    ("version", "seen"), [("", "``"), ("  ", "`  `"), ("1\n2", "'1\\n2'"), ("\ud800", "'\\ud800'")]
)
def test_version_that_is_empty_or_cannot_be_printed_is_refused(version: str, seen: str) -> None:
    assert refused(version=version) == [
        f"version_invalid: --version: {seen} is no version; expected printable text\n  fix: leave it out for `0.1.0`"
    ]


def test_every_flag_at_fault_is_named_at_once() -> None:
    codes = [line.split(":")[0] for line in refused(domain="", language="", version="")]
    assert codes == ["domain_invalid", "language_invalid", "version_invalid"]


def test_version_that_would_mark_the_pack_as_not_reviewed_is_refused() -> None:
    assert refused(version="1-BFCL-TODO") == [
        "version_invalid: --version: `1-BFCL-TODO` is no version; expected printable text without `BFCL-TODO`, which "
        "marks what nobody has reviewed\n  fix: leave it out for `0.1.0`"
    ]
