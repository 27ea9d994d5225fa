"""What kind of starter pack is asked for, and may it be? Rule: authoring.md §3, the table of flags."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, Literal

from bfcl.checks.review_markers import REVIEW_MARKER
from bfcl.errors import ConfigError, Problem, raise_all

Transport = Literal["python", "endpoint"]

_PACK_ID: Final = re.compile(r"[a-z][a-z0-9_]*")
_LONGEST: Final = 100
"""Characters of a pack id: it goes into file names and into the name of an environment variable."""
_TAG: Final = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_WHOLE_LETTERS: Final = str.maketrans(
    {"đ": "d", "ð": "d", "ø": "o", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
"""Latin letters that Unicode does not decompose into a letter and a mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterOrder:
    """A starter pack to write; every field is checked."""

    pack_id: str
    transport: Transport
    language: str
    """A language tag, as typed."""
    version: str
    held_out: bool


def read_order(*, domain: str, transport: Transport, language: str, version: str, held_out: bool) -> StarterOrder:
    """The order that the flags make.

    Raises: ConfigError with every problem: `domain_invalid`, `language_invalid`, `version_invalid`.
    """
    pack_id = pack_id_of(domain)
    faults = (_domain_fault(domain, pack_id), _language_fault(language), _version_fault(version))
    raise_all(ConfigError, [fault for fault in faults if fault is not None])
    return StarterOrder(
        pack_id=pack_id, transport=transport, language=language, version=version.strip(), held_out=held_out
    )


def pack_id_of(domain: str) -> str:
    """The domain as an identifier: accents decomposed and dropped, folded, every other run of characters one `_`."""
    # Folding may compose or make new accents (`İ`), so letters are taken apart after it as well.
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", domain).casefold())
    bare = "".join(character for character in folded if not unicodedata.combining(character))
    return re.sub(r"[^a-z0-9]+", "_", bare.translate(_WHOLE_LETTERS)).strip("_")


def _domain_fault(domain: str, pack_id: str) -> Problem | None:
    if _PACK_ID.fullmatch(pack_id) and len(pack_id) <= _LONGEST:
        return None
    if len(pack_id) > _LONGEST:
        message = f"makes a pack id of {len(pack_id)} characters; expected at most {_LONGEST}"
    elif not pack_id:
        message = f"{_quoted(domain)} holds no letter from a to z; expected a name that does"
    else:
        message = f"{_quoted(domain)} makes the pack id `{pack_id}`; expected a letter from a to z first"
    return Problem(code="domain_invalid", subject="--domain", message=message, fix="name it like `order_desk`")


def _language_fault(language: str) -> Problem | None:
    if _TAG.fullmatch(language):
        return None
    message = f"{_quoted(language)} is no language tag; expected one such as `en` or `pt-BR`"
    dashed = language.strip().replace("_", "-")
    fix = f"did you mean `{dashed}`?" if _TAG.fullmatch(dashed) else "use a BCP 47 tag"
    return Problem(code="language_invalid", subject="--language", message=message, fix=fix)


def _version_fault(version: str) -> Problem | None:
    marker = REVIEW_MARKER.decode()
    if version.strip() and version.isprintable() and marker not in version:
        return None
    without = f" without `{marker}`, which marks what nobody has reviewed" if marker in version else ""
    message = f"{_quoted(version)} is no version; expected printable text{without}"
    return Problem(code="version_invalid", subject="--version", message=message, fix="leave it out for `0.1.0`")


def _quoted(text: str) -> str:
    """The text as typed, with what cannot be shown spelt out."""
    return f"`{text}`" if text.isprintable() else ascii(text)
