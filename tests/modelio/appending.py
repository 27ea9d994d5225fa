"""A process that appends replies: `appending.py FILE OWN COUNT`; it is killed in a write where OWN is `killed`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from bfcl.modelio.cache import RoleCache
from bfcl.modelio.request import RoleRequest

KILLED = "killed"


def request(text: str) -> RoleRequest:
    return RoleRequest(
        model_canonical="m", prompt_hash="sha256:0", input=text, inference_parameters={}, output_schema={}, seed=0
    )  # type: ignore[arg-type]


def main(path: Path, own: str, count: int) -> None:
    cache = RoleCache(path)
    if own == KILLED:
        write = os.write

        def part(descriptor: int, data: bytes) -> int:
            write(descriptor, data[: len(data) // 3])
            os.kill(os.getpid(), signal.SIGKILL)
            raise AssertionError

        os.write = part  # type: ignore[assignment]
    for number in range(count):
        cache.put([(request(f"{own} {number}"), {"of": own}), (request(f"both {number}"), {"of": "both"})])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
