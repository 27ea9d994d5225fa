"""The profile without a profile model."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from bfcl.digest import Digest
from bfcl.stages.reference_profile import profile, sample_rows
from bfcl.tables.columns import COLUMNS

SAMPLES: list[dict[str, Any]] = [
    {
        "sample_id": f"s{number}",
        "language": language,
        "messages": [{"role": "user", "content": text}],
        "tags": tags,
        "source_hash": "sha256:" + str(number) * 64,
    }
    for number, (language, text, tags) in enumerate(
        [("vi", "Chào.", ["formal"]), ("en", "Hello.", []), ("en", "Hi.", [])]
    )
]


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def test_profile_without_samples_is_disabled_and_empty() -> None:
    assert profile() == {
        "profile_version": "1.0",
        "enabled": False,
        "status": "disabled",
        "languages": [],
        "sample_count": 0,
        "style_hints": [],
        "avoid": [],
        "reference_content_hash": None,
        "profile_model_canonical": None,
        "prompt_hash": None,
        "output_hash": "sha256:9d24453f29665c2b41f54729129ee8d6c24808e2b0e3ba2767bd8fbd099469cd",
    }


def test_profile_of_samples_counts_them_and_hashes_the_rest() -> None:
    made = profile(SAMPLES, Digest("sha256:" + "0" * 64))
    assert (made["languages"], made["sample_count"]) == (["en", "vi"], 3)
    assert (made["enabled"], made["status"]) == (False, "disabled")
    assert made["reference_content_hash"] == "sha256:" + "0" * 64
    rest = {key: value for key, value in made.items() if key != "output_hash"}
    assert made["output_hash"] == "sha256:" + hashlib.sha256(canonical(rest)).hexdigest()


def test_sample_rows_have_the_columns_and_hold_messages_as_text() -> None:
    rows = sample_rows(SAMPLES)
    assert [list(row) for row in rows] == [[name for name, _ in COLUMNS["reference_samples"]]] * 3
    assert rows[0] == {
        "sample_id": "s0",
        "language": "vi",
        "messages": '[{"content":"Chào.","role":"user"}]',
        "tags": ["formal"],
        "source_hash": "sha256:" + "0" * 64,
    }
    assert [row["tags"] for row in rows[1:]] == [[], []]
    assert sample_rows([]) == []
