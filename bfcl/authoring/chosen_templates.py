"""Which templates does an author mean by their ids?"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bfcl.errors import ConfigError, Problem, did_you_mean, raise_all
from bfcl.records.template import Template

_LISTED = 12


def chosen_templates(templates: Sequence[Template], ids: Collection[str]) -> list[Template]:
    """The templates of these ids in pack order; all where none is given. Raises: ConfigError `unknown_template`."""
    known = [str(template.template_id) for template in templates]
    raise_all(
        ConfigError,
        [
            Problem(
                code="unknown_template",
                subject=name,
                message=f"the pack has no such template; it has {len(known)}",
                fix=did_you_mean(name, known) or f"use one of {', '.join(known[:_LISTED])}",
            )
            for name in ids
            if name not in known
        ],
    )
    return [template for template in templates if not ids or template.template_id in ids]
