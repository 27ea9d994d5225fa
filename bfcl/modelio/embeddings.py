"""Which vector does a model give each text? Asked once, recorded, read back exactly. Rule: translation.md §13.5.

Cache lines are those of every role, one a text, so that batches may be cut otherwise and the texts of other rows
change: `input` is `{"text"}`, `response` is `{"dimensions", "float64_le"}`, the latter base64 of the numbers as
little-endian doubles, the very ones that the answer's decimals mean.
"""

from __future__ import annotations

import base64
import binascii
import math
import sys
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_json
from bfcl.errors import ModelError, Problem
from bfcl.modelio.cache import RoleCache
from bfcl.modelio.client import Client, malformed
from bfcl.modelio.request import RoleRequest, prompt_hash

Vector: TypeAlias = "array[float]"
"""Finite doubles, not all zero."""

PATH: Final = "embeddings"
_PROMPT: Final = prompt_hash("bfcl-embedding-v1", "", "")
_OUTPUT: Final[Mapping[str, Json]] = {"type": "array", "items": {"type": "number"}}
_MAX_DIMENSIONS: Final = 65_536


class RecordedEmbeddings:
    """Vectors of one model, of a recorded cache and of a client for what is not there yet."""

    def __init__(self, model: str, cache: RoleCache, client: Client, batch_size: int) -> None:
        """`model` is the name that the configuration gives: the recorded identity, needing no registry to be read."""
        self._model = model
        self._cache = cache
        self._client = client
        self._batch_size = batch_size

    def fill(self, texts: Iterable[str]) -> Digest:
        """Ask for the texts that are not recorded, batch by batch in the order of the texts, and record the answers.

        Returns SHA-256 over the sorted `[request_hash, response_hash]` of all of them: what was answered, whoever
        answered it. Raises: ModelError as the client and the cache do, and `malformed_response`; ConfigError as the
        client does. Whatever passed before stays recorded.
        """
        requests = {text: self._request(text) for text in sorted(set(texts))}
        known = {text: self._cache.response_hash(request) is not None for text, request in requests.items()}
        missing = [text for text, is_known in known.items() if not is_known]
        # All vectors of a model are of one length: the first known one says which.
        example = next((requests[text] for text, is_known in known.items() if is_known), None)
        dimensions = None if example is None else len(self._read(example))
        for start in range(0, len(missing), self._batch_size):
            batch = missing[start : start + self._batch_size]
            dimensions = self._ask({text: requests[text] for text in batch}, dimensions)
        return sha256_json(sorted([one.request_hash, self._cache.response_hash(one)] for one in requests.values()))

    def vectors(self, texts: Sequence[str]) -> Iterator[Vector]:
        """The recorded vectors of texts that were filled in, in their order, all of one length.

        Raises: ModelError `model_io_cache_invalid`.
        """
        dimensions: int | None = None
        for text in texts:
            request = self._request(text)
            vector = self._read(request)
            if dimensions not in (None, len(vector)):
                raise self._unusable(f"vectors of {dimensions} and of {len(vector)} numbers", request)
            dimensions = len(vector)
            yield vector

    def _request(self, text: str) -> RoleRequest:
        return RoleRequest(
            model_canonical=self._model,
            prompt_hash=_PROMPT,
            input={"text": text},
            inference_parameters={},
            output_schema=_OUTPUT,
            seed=0,
        )

    def _ask(self, batch: Mapping[str, RoleRequest], dimensions: int | None) -> int:
        answer = self._client.post(
            PATH, {"input": list(batch)}, sha256_json([request.request_hash for request in batch.values()])
        )
        try:
            vectors = read_answer(answer, len(batch), dimensions)
        except UnusableAnswer as error:
            raise ModelError(malformed(self._model, str(error))) from None
        self._cache.put([(request, packed(vector)) for request, vector in zip(batch.values(), vectors, strict=True)])
        return len(vectors[0])

    def _read(self, request: RoleRequest) -> Vector:
        vector = unpacked(self._cache.reply(request))
        if vector is None:
            raise self._unusable("a response that is no vector", request)
        return vector

    def _unusable(self, what: str, request: RoleRequest) -> ModelError:
        return ModelError(
            Problem(
                code="model_io_cache_invalid",
                path=str(self._cache.path),
                message=f"holds {what} under `{self._model}`, at {request.request_hash}",
                fix="delete the lines of this model, so that all of its vectors are asked for again",
            )
        )


class UnusableAnswer(Exception):
    """A 200 that holds no usable vectors; says why, by counts and places alone."""


def read_answer(answer: Json, count: int, dimensions: int | None) -> list[Vector]:
    """The vectors of an answer by their `index`, one a text, all of `dimensions` numbers where that is known.

    Raises: UnusableAnswer.
    """
    data = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(data, list):
        raise UnusableAnswer("`data` is no list")
    if len(data) != count:
        raise UnusableAnswer(f"{len(data)} vectors for {count} texts")
    found: dict[int, Vector] = {}
    for place, item in enumerate(data):
        index = item.get("index") if isinstance(item, Mapping) else None
        if not isinstance(index, int) or isinstance(index, bool) or index in found or not 0 <= index < count:
            raise UnusableAnswer(f"`data[{place}].index` is no unused number from 0 to {count - 1}")
        assert isinstance(item, Mapping)
        vector = _vector(item.get("embedding"), f"data[{place}].embedding")
        if dimensions not in (None, len(vector)):
            raise UnusableAnswer(f"`data[{place}].embedding` has {len(vector)} numbers, others have {dimensions}")
        dimensions = len(vector)
        found[index] = vector
    return [found[index] for index in range(count)]


def packed(vector: Sequence[float]) -> dict[str, Json]:
    """The form in the cache: exact, and far quicker to write, read and hash than decimals."""
    ordered = array("d", vector)
    if sys.byteorder == "big":
        ordered.byteswap()
    return {"dimensions": len(vector), "float64_le": base64.b64encode(ordered.tobytes()).decode("ascii")}


def unpacked(response: Json) -> Vector | None:
    """The vector of a recorded response, None where it is none."""
    text = response.get("float64_le") if isinstance(response, Mapping) else None
    if not isinstance(response, Mapping) or not isinstance(text, str):
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if not data or len(data) % 8 or len(data) // 8 != response.get("dimensions"):
        return None
    vector = array("d", data)
    if sys.byteorder == "big":
        vector.byteswap()
    return vector if _usable(vector) else None


def _vector(value: Json, place: str) -> Vector:
    if not isinstance(value, list) or not 0 < len(value) <= _MAX_DIMENSIONS:
        raise UnusableAnswer(f"`{place}` is no list of 1 to {_MAX_DIMENSIONS} numbers")
    if not all(isinstance(number, int | float) and not isinstance(number, bool) for number in value):
        raise UnusableAnswer(f"`{place}` holds something that is no number")
    try:
        vector = array("d", value)
    except OverflowError:
        raise UnusableAnswer(f"`{place}` holds a number that is not finite") from None
    if not _usable(vector):
        raise UnusableAnswer(f"`{place}` is all zero, or holds a number that is not finite")
    return vector


def _usable(vector: Collection[float]) -> bool:
    return all(map(math.isfinite, vector)) and any(vector)
