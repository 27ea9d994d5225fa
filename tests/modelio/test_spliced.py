"""An object put together of serialized parts is the object serialized."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import Json, canonical_json
from bfcl.modelio.spliced import spliced

_TEXT = st.text(st.characters(codec="utf-8"))
_PART = st.none() | st.integers() | _TEXT | st.lists(st.floats(-1, 1)) | st.dictionaries(_TEXT, _TEXT)


@given(st.dictionaries(_TEXT, _PART))
def test_spliced_parts_are_the_canonical_object(value: dict[str, Json]) -> None:
    assert spliced({name: canonical_json(part) for name, part in value.items()}) == canonical_json(value)
