"""What does a reader of the Hub have to know of an exported benchmark? Rule: generation.md §7.

Everything is counted or copied from the table; nothing depends on the day. A licence is not known here, so the card
says `unknown`, which the Hub accepts and shows until the publisher writes a better word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

import yaml

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.exports.row import ExportRow, Source
from bfcl.tables.hub import Column, hub_columns

_SIZES: Final = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
)
_LARGEST: Final = "100M<n<1B"

_COUNTED: Final = ("turn_policy", "category", "difficulty", "language")

_MEANINGS: Final[Mapping[str, str]] = {
    "task_id": "identity of the row; the same content has the same id in every run",
    "template_id": "template it was made from",
    "variant_index": "0, or which rewording of `base_task_id` it is",
    "messages": "the conversation: system, user, assistant with calls, tool results",
    "tools": "JSON text: the tools offered, in this order",
    "expected_tool_calls": "the calls expected; each argument's `value` is JSON text",
    "success_assertions": "names of the checks on results and final state that the expected calls pass",
    "fixture_refs": "JSON texts: the records of the world that it is about",
    "intent": "what the user wants",
    "category": "group of templates",
    "difficulty": "as its author judged it",
    "required_tools": "tools that have to be called",
    "required_tools_fingerprint": "JSON text: the same, sorted",
    "tools_present": "names of the tools offered",
    "turn_policy": "shape of the conversation",
    "is_multi_turn": "more than one user message",
    "num_tool_calls": "number of expected calls",
    "call_order": "`strict`, `any` or `prefix`: how much of the order counts",
    "call_order_prefix": "with `prefix`: how many leading `required_tools` keep their order",
    "system_prompt_id": "digest of the system message",
    "tier": "verdict on the oracle pack",
    "gold_eligible": "whether the row may be called Gold",
    "validated_by": "checks that the row passed",
    "pack_id": "oracle pack it comes from",
    "pack_version": "version of that pack",
    "seed": "seed of the row",
    "paraphrase_model": "model that reworded it, if any",
    "paraphrase_model_canonical": "that model's full identity",
    "held_out_hit": "false after a scan for reserved material, null where none is reserved",
    "src": "pack and template",
    "metadata": "JSON text: language, run name, base_task_id, source of the wording, profile hash",
}


class CardFacts:
    """What is counted while the rows stream by."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in _COUNTED}
        self.checks: Counter[str] = Counter()
        self.tools: set[str] = set()
        self.calls = 0
        self.multi_turn = 0
        self.without_calls = 0

    def count(self, row: ExportRow) -> None:
        """Take one row in."""
        published = row.published
        self.counts["turn_policy"][published["turn_policy"]] += 1
        self.counts["category"][published["category"]] += 1
        self.counts["difficulty"][published["difficulty"] or "not stated"] += 1
        self.counts["language"][str(row.metadata["language"])] += 1
        self.checks.update(published["validated_by"])
        self.tools.update(published["tools_present"])
        self.calls += len(row.calls)
        self.multi_turn += published["is_multi_turn"]
        self.without_calls += not row.calls


def dataset_card(source: Source, facts: CardFacts, table: str, content_hash: Digest) -> str:
    """The README of the repository: front matter, then prose. `table` is relative to it."""
    header = yaml.safe_dump(front_matter(source, facts, table), sort_keys=False, allow_unicode=True, width=1_000)
    parts = [
        f"---\n{header}---",
        f"# {_text(source.pack_id)} {_text(source.pack_version)}",
        _text(about(source, facts)),
        _status(source),
        _contents(facts),
        _verification(source, facts),
        _columns(),
        _loading(table),
        _origin(source, table, content_hash),
    ]
    return "\n\n".join(parts) + "\n"


def front_matter(source: Source, facts: CardFacts, table: str) -> dict[str, Json]:
    """The metadata that the Hub indexes, in the order of its documentation."""
    tags = sorted(facts.counts["language"])
    codes = sorted({code for tag in tags if (code := _code(tag)) is not None})
    front: dict[str, Json] = {"pretty_name": f"{source.pack_id} {source.pack_version}"}
    if codes:
        front["language"] = codes
    if any(tag not in codes for tag in tags):
        front["language_bcp47"] = tags
    return {
        **front,
        "license": "unknown",
        "task_categories": ["text-generation"],
        "tags": ["function-calling", "tool-use", "benchmark", "evaluation"],
        "size_categories": [next((name for limit, name in _SIZES if source.rows < limit), _LARGEST)],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": table}]}],
    }


def about(source: Source, facts: CardFacts) -> str:
    """One line of plain text: what this is, in numbers."""
    return (
        f"Function-calling benchmark of the oracle pack {source.pack_id} {source.pack_version}, run "
        f"{source.expt_name}. Conversations: {source.rows} ({facts.multi_turn} with several user turns, "
        f"{facts.without_calls} with no call expected). Expected tool calls: {facts.calls}. Tools: {len(facts.tools)}."
    )


def _code(tag: str) -> str | None:
    """The language of a tag such as `pt-BR` as ISO 639, None where it does not look like one."""
    match = re.match(r"([A-Za-z]{2,3})(?:[-_]|\Z)", tag)
    return match[1].lower() if match else None


def _status(source: Source) -> str:
    if source.gold_eligible:
        return f"Tier of the pack: `{source.tier}`. The rows are Gold."
    return (
        f"Tier of the pack: `{source.tier}`. **The rows are not Gold: do not publish scores on them as if they were.** "
        "Why is said by `gold_ineligibility_reasons` in the `run_manifest.json` of the run, which is not part of this "
        "dataset."
    )


def _contents(facts: CardFacts) -> str:
    lines = ["## Contents", "", "| | value | rows |", "|---|---|---:|"]
    for name in _COUNTED:
        ranked = sorted(facts.counts[name].items(), key=lambda item: (-item[1], item[0]))
        lines += [f"| {name.replace('_', ' ')} | {_text(value)} | {count} |" for value, count in ranked]
    return "\n".join(lines)


def _verification(source: Source, facts: CardFacts) -> str:
    return f"""\
## How the rows were verified

- schema, {facts.checks["schema"]} of {source.rows} rows: every expected call satisfies its tool's schema.
- replay, {facts.checks["replay"]} of {source.rows} rows: the pack's oracle executed all expected calls twice, each time
  from a fresh state, with the same results and the same final state. The tool messages are those results.
- assertions, {facts.checks["assertions"]} of {source.rows} rows: the checks named in `success_assertions` ran on the
  results and the state of both executions and passed.

What this does not say: other ways to the same end may exist, and nobody judged the wording for this card."""


def _columns() -> str:
    lines = ["## Columns", "", "| column | type | meaning |", "|---|---|---|"]
    lines += [f"| `{one.name}` | {_type(one)} | {_MEANINGS[one.name]} |" for one in hub_columns()]
    return "\n".join(lines)


def _type(column: Column) -> str:
    inner: str = column.type
    if column.fields:
        inner = "{" + ", ".join(f"{field.name}: {_type(field)}" for field in column.fields) + "}"
    return f"list of {inner}" if column.repeated else inner


def _loading(table: str) -> str:
    return f"""\
## How to load it

`DIRECTORY` is this directory, or on the Hub the name of the dataset.

```python
import json
from datasets import load_dataset

row = load_dataset("DIRECTORY", split="test")[0]
tools = json.loads(row["tools"])
calls = [
    (call["function_name"], {{one["name"]: json.loads(one["value"]) for one in call["arguments"]}})
    for call in row["expected_tool_calls"]
]
```

```python
import pandas

rows = pandas.read_parquet("DIRECTORY/{table}")
```

```sql
-- DuckDB; `language` is inside `metadata`
SELECT turn_policy, json_extract_string(metadata, '$.language') AS language, count(*)
FROM 'DIRECTORY/{table}' GROUP BY ALL;
```"""


def _origin(source: Source, table: str, content_hash: Digest) -> str:
    return f"""\
## Origin

| | |
|---|---|
| pack | {_text(source.pack_id)} {_text(source.pack_version)} |
| run | {_text(source.expt_name)} |
| published table | `{source.file}`, {source.rows} rows, `{source.content_hash}` |
| this table | `{table}`, {source.rows} rows, `{content_hash}` |

This table holds the rows of the published one in the same order. One type differs: the arguments of an expected call
are a list of `name` and `value` here and a map there, since `datasets` knows no maps. `croissant.json` describes this
table in Croissant 1.1.

License, citation and date of publication are not known to the program that wrote this card. State them above and in
`croissant.json` before others use the dataset."""


def _text(value: str) -> str:
    """A value in the running text or a table cell of Markdown."""
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", " ".join(value.split()))
