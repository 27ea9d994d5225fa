"""Does a text say a value, by the guards of a template that asks for nothing else?"""

from __future__ import annotations

from dataclasses import replace

from bfcl.stages.mentions import Guards, violations
from tests.stages.studio import studio

_SLOT = "kiln_id"
_TASK = studio().tasks("kiln_status")[0]
_SAYS_IT = Guards(first_turn=(), anywhere=(_SLOT,), omitted=(), tools=(), phrases=())


def mentions(text: str, value: str) -> bool:
    """Whether a user turn that is this text keeps a slot that has this value."""
    task = replace(_TASK, slots_initial={_SLOT: value}, slots={_SLOT: value}, slot_updates=())
    return not violations(_SAYS_IT, task, [text])
