"""Reference samples: the pinned bytes, where they may lie, and what they may not carry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bfcl.config.reference import FORBIDDEN, reference_samples
from bfcl.digest import sha256_of
from bfcl.errors import ConfigError
from tests.config.builder import GOOD, complaints, edited, load

SAMPLE = {"sample_id": "s1", "language": " EN ", "messages": [{"role": "user", "content": "Hi"}], "tags": ["short"]}


def _configured(project: Path, content: bytes, **pin: Any) -> dict[str, Any]:
    """A configuration pinning `content` as the project's samples, edited by `pin`."""
    path = project / "packs" / "samples.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    pinned = {"name": "real", "samples_path": "../packs/samples.jsonl", "content_hash": sha256_of(content), **pin}
    return edited({"reference_benchmark": pinned})


def _lines(*samples: object) -> bytes:
    return "".join(json.dumps(sample) + "\n" for sample in samples).encode()


def test_reference_samples_are_rows_in_file_order(tmp_path: Path) -> None:
    other = {"sample_id": "s0", "language": "de", "messages": [{"role": "system", "content": ""}]}
    content = b"\n" + _lines(SAMPLE) + b"  \r\n" + _lines(other)
    assert reference_samples(load(tmp_path, _configured(tmp_path, content))) == [
        {
            "sample_id": "s1",
            "language": "en",
            "messages": [{"role": "user", "content": "Hi"}],
            "tags": ["short"],
            "source_hash": "sha256:346eb225052198a7d2f94540bc3cf7ad4c40c968ca301209982def2a72fad67c",
        },
        {
            "sample_id": "s0",
            "language": "de",
            "messages": [{"role": "system", "content": ""}],
            "tags": [],
            "source_hash": "sha256:0a2f37801a267da4f40f2fa8177a197313e8d44c43c10aa0620cbed241491245",
        },
    ]


def test_reference_samples_are_none_without_a_benchmark(tmp_path: Path) -> None:
    assert reference_samples(load(tmp_path, GOOD)) == []


def test_reference_samples_refuse_a_file_changed_after_loading(tmp_path: Path) -> None:
    loaded = load(tmp_path, _configured(tmp_path, _lines(SAMPLE)))
    path = tmp_path / "packs" / "samples.jsonl"
    path.write_bytes(b"{}")
    with pytest.raises(ConfigError) as caught:
        reference_samples(loaded)
    assert str(caught.value) == (
        f"packs/samples.jsonl: reference_benchmark_invalid: hashes to {sha256_of(b'{}')}; "
        f"expected the pinned {sha256_of(_lines(SAMPLE))}\n"
        "  fix: restore the file, or pin it anew"
    )
    path.unlink()
    with pytest.raises(ConfigError) as caught:
        reference_samples(loaded)
    assert str(caught.value) == (
        "packs/samples.jsonl: reference_benchmark_invalid: cannot be read: No such file or directory"
    )


def test_reference_refuses_another_digest_printing_both(tmp_path: Path) -> None:
    pinned = "sha256:" + "0" * 64
    actual = sha256_of(_lines(SAMPLE))
    assert complaints(tmp_path, _configured(tmp_path, _lines(SAMPLE), content_hash=pinned)) == [
        (
            "configs/run.yaml:13: reference_benchmark_invalid: reference_benchmark.content_hash does not fit: the file "
            f"hashes to {actual}; expected the pinned {pinned}\n"
            f"  fix: check the file, then pin `{actual}`"
        )
    ]


def test_reference_refuses_a_file_outside_the_roots_and_opens_it_not(tmp_path: Path) -> None:
    outside = tmp_path / "packs2" / "samples.jsonl"
    outside.parent.mkdir()
    outside.write_text("no sample")
    assert complaints(tmp_path, _configured(tmp_path, b"", samples_path="../packs2/samples.jsonl")) == [
        (
            "configs/run.yaml:12: reference_benchmark_invalid: reference_benchmark.samples_path is "
            "~/packs2/samples.jsonl, outside the allowed roots; expected a file below `~/packs`\n"
            "  fix: move the file, or extend `oracle_runtime.allowed_roots`"
        )
    ]


@pytest.mark.parametrize(
    ("name", "said"), [("none.jsonl", "cannot be read: No such file or directory"), ("sample", "is not a regular file")]
)
def test_reference_refuses_what_is_no_file(tmp_path: Path, name: str, said: str) -> None:
    assert complaints(tmp_path, _configured(tmp_path, b"", samples_path=f"../packs/{name}")) == [
        (
            f"configs/run.yaml:12: reference_benchmark_invalid: reference_benchmark.samples_path names ~/packs/{name}, "
            f"which {said}; expected a JSON Lines file"
        )
    ]


def test_reference_refuses_a_file_without_samples(tmp_path: Path) -> None:
    assert complaints(tmp_path, _configured(tmp_path, b" \n\n")) == [
        (
            "configs/run.yaml:12: reference_benchmark_invalid: reference_benchmark.samples_path names "
            "~/packs/samples.jsonl, which holds no sample; expected at least one"
        )
    ]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        pytest.param({"sample_id": " "}, 'sample_id is " "; expected non-empty text', id="blank-id"),
        pytest.param({"language": None}, "language is null; expected non-empty text", id="null-language"),
        pytest.param(
            {"messages": []}, "messages is an empty list; expected a non-empty list of messages", id="no-messages"
        ),
        pytest.param(
            {"messages": {}}, "messages is an object; expected a non-empty list of messages", id="messages-object"
        ),
        pytest.param(
            {"messages": ["Hi"]},
            'messages[0] is "Hi"; expected an object with `role` and `content`',
            id="message-text",
        ),
        pytest.param(
            {"messages": [{"role": "tool", "content": ""}]},
            'messages[0].role is "tool"; expected one of `system`, `user`, `assistant`',
            id="message-role",
        ),
        pytest.param(
            {"messages": [{"role": "user"}]}, "messages[0].content is missing; expected text", id="message-content"
        ),
        pytest.param(
            {"messages": [{"role": "user", "content": "", "name": "x"}]},
            "messages[0].name is not a key of a message; expected `role` and `content`\n  fix: remove the key",
            id="message-key",
        ),
        pytest.param(
            {"tags": ["a", ""]}, "tags is not a list of non-empty texts; expected one, or no `tags` at all", id="tags"
        ),
        pytest.param(
            {"notes": [{"tool_calls": []}]},
            "notes[0].tool_calls would carry oracle truth into wording; expected wording alone\n  fix: remove the key",
            id="oracle-truth",
        ),
    ],
)
def test_reference_refuses_a_misshapen_sample(tmp_path: Path, edit: dict[str, Any], message: str) -> None:
    content = b"\n" + _lines({**SAMPLE, **edit})
    expected = [f"packs/samples.jsonl:2: reference_benchmark_invalid: {message}"]
    assert complaints(tmp_path, _configured(tmp_path, content)) == expected


def test_reference_reports_every_line_at_once(tmp_path: Path) -> None:
    content = _lines(SAMPLE) + b"{\n" + _lines([1], SAMPLE) + b'{"sample_id": "a", "sample_id": "b"}\n\xff\n'
    assert complaints(tmp_path, _configured(tmp_path, content)) == [
        (
            "packs/samples.jsonl:2: reference_benchmark_invalid: not JSON: "
            "Expecting property name enclosed in double quotes"
        ),
        (
            "packs/samples.jsonl:3: reference_benchmark_invalid: the line is a list; "
            "expected an object with `sample_id`, `language` and `messages`"
        ),
        (
            'packs/samples.jsonl:4: reference_benchmark_invalid: sample_id is "s1", taken by line 1; '
            "expected a different id per sample"
        ),
        (
            "packs/samples.jsonl:5: reference_benchmark_invalid: key 'sample_id' is given twice in one object\n"
            "  fix: keep one of the two"
        ),
        "packs/samples.jsonl:6: reference_benchmark_invalid: byte 0xff is not UTF-8\n  fix: save the file as UTF-8",
    ]


@pytest.mark.parametrize("key", sorted(FORBIDDEN))
def test_reference_refuses_each_key_that_carries_truth(tmp_path: Path, key: str) -> None:
    [message] = complaints(tmp_path, _configured(tmp_path, _lines({**SAMPLE, "x": {key: None}})))
    assert message.startswith(f"packs/samples.jsonl:1: reference_benchmark_invalid: x.{key} would carry oracle truth")


def test_reference_refuses_a_name_no_file_can_have(tmp_path: Path) -> None:
    name = "a" * 300
    assert complaints(tmp_path, _configured(tmp_path, b"", samples_path=f"../packs/{name}")) == [
        (
            "configs/run.yaml:12: generation_config_invalid: reference_benchmark.samples_path has a name of 300 bytes, "
            "above the 255 a file name may have; expected a path a file system can hold"
        ),
        (
            f"configs/run.yaml:12: reference_benchmark_invalid: reference_benchmark.samples_path names ~/packs/{name}, "
            "which cannot be read: File name too long; expected a JSON Lines file"
        ),
    ]
