"""The small pack of `tests.packs`, read in memory as far as the stages need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bfcl.located import parse_json, parse_yaml
from bfcl.pack.manifest import read_manifest
from bfcl.pack.model import Manifest
from bfcl.pack.templates import load_templates
from bfcl.pack.tools import load_tools
from bfcl.records.plan import Outline
from bfcl.records.task import Task
from bfcl.records.template import Template
from bfcl.records.tool import Tool
from bfcl.stages.bindings import Sources
from bfcl.stages.expand import ExpandSettings, expand_template, pool_size
from bfcl.stages.state_machine import outline
from bfcl.stages.wording import Wording, wording_of
from tests.packs import ALL_POLICIES, Draft, Edit


@dataclass(frozen=True, kw_only=True)
class Studio:
    """A loaded pack and what a run derives from it first."""

    manifest: Manifest
    tools: Mapping[str, Tool]
    templates: Mapping[str, Template]
    sources: Sources

    def outline(self, template_id: str) -> Outline:
        return outline(self.templates[template_id], self.tools)

    def tasks(self, template_id: str, limit: int = 50) -> list[Task]:
        """All tasks of a template, at most `limit`."""
        settings = ExpandSettings(
            limit=limit, seed=7, pack_id=self.manifest.pack_id, pack_version=self.manifest.version
        )
        template = self.templates[template_id]
        return expand_template(template, self.sources, settings, range(pool_size(template, self.sources, settings)))

    def wording(self, **fields: Any) -> Wording:
        """English, with the pack's texts, prompt and tool names; `fields` replace."""
        return replace(wording_of(self.manifest, tuple(self.tools.values()), "en", True), **fields)


def studio(*edits: Edit, templates: Sequence[str] = ALL_POLICIES) -> Studio:
    """The pack with edits; the edited files must load."""
    draft = Draft(templates)
    for edit in edits:
        edit(draft)
    fixtures = parse_json(draft.text("fixtures.json").encode(), path="fixtures.json", code="x").value
    tools, tool_problems, _ = load_tools(_json(draft, "tools.json"))
    declared = read_manifest(_yaml(draft, "manifest.yaml"))
    loaded, problems = load_templates(_yaml(draft, "task_templates.yaml"), tools, "task_templates.yaml")
    assert [*tool_problems, *declared.problems, *problems] == []
    assert isinstance(fixtures, dict)
    return Studio(
        manifest=declared.manifest,
        tools={tool.name: tool for tool in tools},
        templates={template.template_id: template for template in loaded},
        sources=Sources(tools, fixtures, declared.manifest),
    )


def _json(draft: Draft, name: str) -> Any:
    return parse_json(draft.text(name).encode(), path=name, code="x")


def _yaml(draft: Draft, name: str) -> Any:
    return parse_yaml(draft.text(name).encode(), path=name, code="x")
