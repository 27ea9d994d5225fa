"""Every digest recipe, pinned: a change here strands every published release or every stored result."""

from __future__ import annotations

import os
from pathlib import Path

from bfcl import digest

VALUE = {"b": [1, 1.0, "é"], "a": None}
EMPTY_SHA = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
ABC_SHA = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
ABC_BLAKE3 = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"
EMPTY_BLAKE3 = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
VALUE_SHA = "588ae6ca48bdaae78d7b557dd683e1a041a63bffcb18a0cccbb1fde57e341823"
VALUE_BLAKE3 = "08412aafd81153831b1b9b96b88a0472385f17a29030de8c9ed9433a16c88c0d"


def test_sha256_forms_are_pinned() -> None:
    assert digest.sha256_hex(b"abc") == ABC_SHA
    assert digest.sha256_bytes(b"abc") == bytes.fromhex(ABC_SHA)
    assert digest.sha256_of(b"abc") == f"sha256:{ABC_SHA}"
    assert digest.sha256_of(b"") == f"sha256:{EMPTY_SHA}"
    assert digest.sha256_json(VALUE) == f"sha256:{VALUE_SHA}"


def test_blake3_forms_are_pinned() -> None:
    assert digest.blake3_of(b"abc") == ABC_BLAKE3
    assert digest.blake3_of(b"") == EMPTY_BLAKE3
    assert digest.blake3_json(VALUE) == VALUE_BLAKE3


def test_stream_equals_the_whole() -> None:
    stream = digest.Sha256Stream()
    assert stream.digest() == f"sha256:{EMPTY_SHA}"
    for part in (b"a", b"", b"bc"):
        stream.update(part)
    assert stream.digest() == f"sha256:{ABC_SHA}"


def test_digests_of_files_are_those_of_their_bytes_small_and_large(tmp_path: Path) -> None:
    for size in (0, 3, (1 << 20) - 1, 1 << 20, (1 << 20) + 1):
        path = tmp_path / str(size)
        data = os.urandom(size)
        path.write_bytes(data)
        assert digest.sha256_file(path) == digest.sha256_of(data)
        assert digest.blake3_file(path) == digest.blake3_of(data)
