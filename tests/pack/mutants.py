"""Good documents of every pack file, and hypothesis strategies that damage them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from bfcl.canonical import Json
from tests.packs import ALL_POLICIES, CASES, FIXTURES, MANIFEST, TEMPLATES, TOOLS

HELD_OUT: dict[str, Any] = {
    "version": "1",
    "fixtures": {"kilns": ["K-1"], "firings": []},
    "templates": ["kiln_status"],
    "policy": {"fixtures_in_backend_state": True, "seed": 3},
}
FULL_MANIFEST: dict[str, Any] = {
    **MANIFEST,
    "paths": {"tools": "tools.json"},
    "clock": "2026-01-01T00:00:00+00:00",
    "system_prompt_path": "prompt.txt",
    "confirmation": {"parameter": "confirm", "status_field": "status", "pending_status": "waiting"},
    "surface_guards": {"tool_names_exempt": ["get_kiln"]},
    "held_out": "held_out.yaml",
    "x-owner": {"name": "studio"},
}
GOOD: dict[str, Json] = {
    "manifest": FULL_MANIFEST,
    "tools": TOOLS,
    "fixtures": FIXTURES,
    "task_templates": [
        {
            "template_id": name,
            "paraphrase": {"allowed": True, "max_variants": 2, "must_preserve": ["kiln_id"], "must_not_mention": []},
            "call_order_prefix": 1,
            "tools_present": ["get_kiln"],
            "assistant_turn_templates": {"decline": {"en": "No."}},
            "edge_signatures": ["rare"],
            **TEMPLATES[name],
        }
        for name in ALL_POLICIES
    ],
    "validation_cases": CASES,
    "held_out": HELD_OUT,
}


def _places(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield at
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in children:
        yield from _places(item, (*at, key))


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from(
        [1.0, 0.5, "", " ", "\n", "a", "a ", " a", "a\n", "é", "a/b", ".", "..", "3", "\x1c", "\x85", "en"]
    ),
    st.sampled_from(["strict", "negative", "success", "tool_call", "function", "decline", "single_turn", "x-a"]),
    st.sampled_from([[], {}, ["a", "a"], ["a", 1], [1, 1.0], [True, 1], [None], {"en": ""}, {"": "x"}, {"en": None}]),
).map(copy.deepcopy)  # later edits must not reach into what is drawn again


@st.composite
def mutants(draw: st.DrawFn, name: str) -> Json:
    """A good document with one to three edits: a value replaced, a key added, renamed or removed."""
    value = copy.deepcopy(GOOD[name])
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(list(_places(value))))
        if not place:
            value = draw(st.one_of(st.just(value), ODD)) if draw(st.integers(0, 9)) == 0 else value
            continue
        holder: Any = value
        for part in place[:-1]:
            holder = holder[part]
        key: Any = place[-1]
        match draw(st.sampled_from(["put", "put", "drop", "add", "swap"])):
            case "put":
                holder[key] = draw(ODD)
            case "drop":
                del holder[key]
            case "add" if isinstance(holder, dict):
                holder[draw(st.sampled_from(["x-new", "new", "slot", "id", "type", "", "x", "9", "en"]))] = draw(ODD)
            case "swap" if isinstance(holder, dict):
                holder[f"{key}x"] = holder.pop(key)
    return value


SNIPPETS = (
    *(
        b"\x00",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\n",
        b"\r",
        b"\t",
        b"  ",
        b"- ",
        b": ",
        b"? ",
        b"#",
        b"|",
        b">",
        b"%",
        b"@",
        b"`",
    ),
    *(b"[", b"]", b"{", b"}", b",", b'"', b"'", b"\\", b"\\ud800", b"[" * 300, b"{a: " * 300, b"- " * 300),
    *(
        b"&a [*a]",
        b"*a",
        b"&a ",
        b"<<: ",
        b"!!python/object:os.system x",
        b"!!set {a}",
        b"!!binary x",
        b"---\n",
        b"...\n",
    ),
    *(b"1e999", b"-.inf", b"NaN", b"9" * 5000, b"0x1F", b"null", b"true", b"~", b"fixture:kilns.kiln_id", b"{kiln_id}"),
    *(
        "\u2028".encode(),
        "\u0085".encode(),
        "é".encode(),
        "\U0001f600".encode(),
        b"\xed\xa0\x80",
        b"enum:",
        b"range:{",
        b"BFCL-TODO",
    ),
    *(
        b"def f(:",
        b"def reset(\n",
        b"return (" * 120,
        b"from x import *\n",
        b"ASSERTIONS = {}\n",
        b"lambda: " * 50,
        b"async ",
    ),
)


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes with one to four stretches removed, doubled, moved or overwritten by something nasty."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + draw(st.sampled_from([0, 1, 3, 40, 400])))))
        middle = draw(
            st.one_of(st.sampled_from(SNIPPETS), st.just(b""), st.just(data[start:end] * 2), st.binary(max_size=8))
        )
        data = data[:start] + middle + data[end:]
    return data
