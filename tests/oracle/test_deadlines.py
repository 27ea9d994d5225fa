"""How long is waited before somebody looks at an episode again."""

from __future__ import annotations

from typing import Any

import pytest

from bfcl.oracle.protocol import Episode, PlannedCall
from tests.oracle.conftest import Packs

CALL = (PlannedCall(tool="act", arguments={"n": 1}),)


@pytest.mark.parametrize("limit_s", [1e10, 1e300])
@pytest.mark.parametrize("fork", [True, False])
def test_limit_beyond_every_timer_is_kept(packs: Packs, fork: bool, limit_s: float) -> None:
    limits: dict[str, Any] = dict.fromkeys(("tool_s", "assertion_s", "import_s", "reset_s", "episode_s"), limit_s)
    oracle = packs.troubled(fork=fork, **limits)
    (result,) = oracle.run([Episode(task_id="t", seed=0, calls=CALL)])
    assert result.breakdown is None
