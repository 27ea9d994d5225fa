"""A second, plain reading of how a pool is made: generation.md §3.1 and §3.9, listing everything."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def permuted(items: list[Any], material: Any) -> list[Any]:
    n = len(items)
    if n == 1:
        return items
    digest = hashlib.sha256(canonical(material)).digest()
    start = int.from_bytes(digest[0:8], "big") % n
    step = int.from_bytes(digest[8:16], "big") % n
    if step == 0:
        step = 1
    while math.gcd(step, n) != 1:
        step = (step + 1) % n
        if step == 0:
            step = 1
    return [items[(start + k * step) % n] for k in range(n)]


def plain_pool(keys: list[tuple[list[Any], int | None]], limit: int, seed: int, template_id: str) -> list[list[int]]:
    """keys: candidate values, and for a correction the index of the key it replaces."""
    combinations: list[list[int]] = [[]]
    for position, (values, base) in enumerate(keys):
        lists = []
        for combination in combinations:
            offered = list(range(len(values)))
            if base is not None:
                in_force = canonical(keys[base][0][combination[base]])
                different = [index for index in offered if canonical(values[index]) != in_force]
                offered = different or offered
            lists.append(offered)
        if sum(map(len, lists)) <= limit:
            combinations = [[*c, index] for c, offered in zip(combinations, lists, strict=True) for index in offered]
            continue
        material = {"template_id": template_id, "seed": seed, "position": position}
        order = permuted(list(range(len(combinations))), {"seed": material, "kind": "combinations"})
        shuffled = {
            index: permuted(lists[index], {"seed": material, "kind": "candidates", "combination": index})
            for index in order
        }
        taken: list[list[int]] = []
        for turn in range(max(map(len, lists))):
            taken += [[*combinations[index], shuffled[index][turn]] for index in order if turn < len(shuffled[index])]
        combinations = taken[:limit]
    corrections = [(index, base) for index, (_, base) in enumerate(keys) if base is not None]
    if not corrections:
        return combinations

    def changes(c: list[int]) -> bool:
        return any(canonical(keys[i][0][c[i]]) != canonical(keys[b][0][c[b]]) for i, b in corrections)

    return [c for c in combinations if changes(c)]
