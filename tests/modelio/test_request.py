"""Keys of recorded replies are pinned: a release that computed them otherwise would ask for everything again."""

from __future__ import annotations

import dataclasses

import pytest

from bfcl.modelio.request import RoleRequest, prompt_hash

REQUEST = RoleRequest(
    model_canonical="m",
    prompt_hash=prompt_hash("v1", "system", "user"),
    input={"text": "đốt lò"},
    inference_parameters={"temperature": 0},
    output_schema={"type": "string"},
    seed=7,
)


def test_hashes_are_pinned() -> None:
    assert REQUEST.prompt_hash == "sha256:e94a41a6fc91f59d69ec624fbbecdb62b1fc17abcd01b7cc076d2ba1ee46492f"
    assert REQUEST.input_hash == "sha256:19448c6759d9fdcb8eaccb7d755c03fb223027ed734b06dbb1da5fe1ece624a3"
    assert REQUEST.request_hash == "sha256:64d7fff235a5dbec545dbe2ad277e3d580b040405152ddccacd7be8350726ee5"


@pytest.mark.parametrize(
    "change",
    [
        {"model_canonical": "n"},
        {"prompt_hash": prompt_hash("v2", "system", "user")},
        {"input": {"text": ""}},
        {"inference_parameters": {}},
        {"output_schema": {}},
        {"seed": 8},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_part_enters_the_key(change: dict[str, object]) -> None:
    assert dataclasses.replace(REQUEST, **change).request_hash != REQUEST.request_hash  # type: ignore[arg-type]


def test_prompt_hash_tells_its_parts_apart_by_line() -> None:
    assert prompt_hash("v", "a", "b") != prompt_hash("v", "ab", "")
