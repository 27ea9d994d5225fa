"""In which language does a run speak, with which system prompt, and which text stands at each turn?

Rule: pack.md §2, §5.2, §5.3; generation.md §3.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bfcl.digest import Digest, sha256_hex, sha256_of
from bfcl.errors import ConfigError, Problem, StageError, did_you_mean
from bfcl.pack.model import Manifest
from bfcl.pack.placeholders import names
from bfcl.records.ids import TEXT_MILESTONES
from bfcl.records.template import Milestone, Template, Texts
from bfcl.records.tool import Tool
from bfcl.stages.reply_links import reply_links

SLOT_NAME = "slot_name"
"""The placeholder that stands for the asked slot's label."""

SMOKE = "smoke_no_publication"

# Frozen: its digest is part of every row that uses it, and a test pins it.
DEFAULT_SYSTEM_PROMPT = """\
You are an assistant that carries out the user's requests with the functions you are given.

- Call a function whenever it can answer the request or do what is asked; never invent a result.
- Take argument values exactly as the user states them, or from results of earlier calls. If a value you need is \
missing, ask for it instead of guessing.
- Where an action has to be confirmed, say what you are about to do and wait for the user's consent before you do it.
- If the user corrects a value, go on with the corrected one only.
- Calls that do not depend on each other may be made together; a call that needs an earlier result waits for it.
- If no function fits the request, say so briefly and call none.
- When a function reports an error, explain it and do not repeat the same call unchanged.

Answer briefly, in the language of the user, and tell only what the results show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What rendering needs beyond the template, the same for a whole run."""

    language: str
    assistant_turn_templates: Mapping[str, Texts]
    """The manifest's block."""
    system_prompt: str
    system_prompt_id: str
    tool_names: tuple[str, ...]
    """Of the whole catalog, in its order."""
    tool_names_exempt: tuple[str, ...] = ()
    prevent_tool_name_leakage: bool = True


def wording_of(manifest: Manifest, tools: Sequence[Tool], language: str, prevent_tool_name_leakage: bool) -> Wording:
    """The wording of a run. `tools` is the whole catalog, `language` what `render_language` chose."""
    prompt = system_prompt(manifest)
    return Wording(
        language=language,
        assistant_turn_templates=manifest.assistant_turn_templates,
        system_prompt=prompt,
        system_prompt_id=system_prompt_id(prompt),
        tool_names=tuple(tool.name for tool in tools),
        tool_names_exempt=manifest.tool_names_exempt,
        prevent_tool_name_leakage=prevent_tool_name_leakage,
    )


def system_prompt(manifest: Manifest) -> str:
    """The pack's own prompt, else the built-in English one; trimmed."""
    return (DEFAULT_SYSTEM_PROMPT if manifest.system_prompt is None else manifest.system_prompt).strip()


def prompt_bundle_hash(text: str) -> Digest:
    """`sha256:<hex>` of the prompt's UTF-8 bytes."""
    return sha256_of(text.encode())


def system_prompt_id(text: str) -> str:
    """`sha256:` and the first 16 hex digits of the prompt's digest."""
    return "sha256:" + sha256_hex(text.encode())[:16]


# --- language -----------------------------------------------------------------------------------------------------


def render_language(config_language: str | None, manifest: Manifest, templates: Sequence[Template]) -> str:
    """The language of every surface: configuration, else the pack's default, else its first that all templates offer.

    A default language that some template lacks is still the choice: `text_problems` then names the gaps, instead of
    the whole benchmark changing its language. Raises ConfigError if the configured language is not offered by every
    template, StageError (`render_language_ambiguous`, `missing_language_text`) if nothing decides.
    """
    offered = _offered(templates)
    if config_language is not None:
        if templates and config_language not in offered:
            raise ConfigError(_not_offered(config_language, templates))
        return config_language
    if manifest.default_language is not None:
        return manifest.default_language
    for language in manifest.languages:
        if language in offered or not templates:
            return language
    if len(offered) == 1:
        return offered[0]
    if len(offered) > 1:
        raise StageError(
            Problem(
                code="render_language_ambiguous",
                subject="surface_generation.language",
                message=f"every template offers {', '.join(offered)} and nothing chooses among them",
                fix="set `default_language` in manifest.yaml, or `surface_generation.language`",
            )
        )
    if not templates:
        return "en"
    return _no_common_language(manifest, templates)


def _offered(templates: Sequence[Template]) -> list[str]:
    """Languages whose first user turn every template has, sorted."""
    sets = [set(template.user_turn_templates) for template in templates]
    return sorted(set.intersection(*sets)) if sets else []


def _not_offered(language: str, templates: Sequence[Template]) -> Problem:
    lacking = [template.template_id for template in templates if language not in template.user_turn_templates]
    shown = ", ".join(lacking[:5]) + (f" and {len(lacking) - 5} more" if len(lacking) > 5 else "")
    return Problem(
        code="generation_config_invalid",
        subject="surface_generation.language",
        message=f"`{language}` is not offered by every template; without it: {shown}",
        fix=did_you_mean(language, _offered(templates))
        or f"add `{language}` texts to these templates, or choose another language",
    )


def _no_common_language(manifest: Manifest, templates: Sequence[Template]) -> str:
    """No language is common to all: the pack's first, else the most offered one is chosen or shown as the gap."""
    if manifest.languages:
        return manifest.languages[0]
    counts = Counter(language for template in templates for language in sorted(template.user_turn_templates))
    widest = min(counts, key=lambda language: (-counts[language], language), default="en")
    raise StageError(
        _missing_language(template.template_id, "user_turn_templates", widest, template.user_turn_templates)
        for template in templates
        if widest not in template.user_turn_templates
    )


# --- texts --------------------------------------------------------------------------------------------------------


def milestone_text(template: Template, milestone: Milestone, blocks: Mapping[str, Texts], language: str) -> str | None:
    """The text of a milestone: its own, else its template's block, else the manifest's; None where none has it."""
    for texts in _sources(template, milestone, blocks):
        if language in texts:
            return texts[language]
    return None


def asked_slot(template: Template, milestone: Milestone | None) -> str | None:
    """The slot `{slot_name}` speaks of: the milestone's, else the only hidden one, else None."""
    if milestone is not None and milestone.slot is not None:
        return milestone.slot
    hidden = [name for name, slot in template.slots.items() if slot.visible_in_first_turn is False]
    return hidden[0] if len(hidden) == 1 else None


def slot_label(template: Template, slot: str, language: str) -> str:
    """How a slot is called in a language: its label there, else its name."""
    declared = template.slots.get(slot)
    return slot if declared is None else declared.label.get(language, slot)


def _sources(template: Template, milestone: Milestone, blocks: Mapping[str, Texts]) -> tuple[Texts, ...]:
    own = template.assistant_turn_templates.get(milestone.type, {})
    return (milestone.content_template, own, blocks.get(milestone.type, {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Speech:
    """A text of a template in the chosen language, where it stands, and what may be filled in there."""

    field: str
    text: str | None
    languages: Sequence[str]
    """In which it exists at all."""
    of_assistant: str | None
    """Milestone type of an assistant text."""
    bound: frozenset[str]


def text_problems(
    templates: Sequence[Template], manifest: Manifest, language: str, policy: str
) -> tuple[list[Problem], list[Problem]]:
    """Every gap in the wording of all templates, and warnings; `policy` is `lineage.policy`.

    Problems in template order, then conversation order; the system prompt's first. Rule: pack.md §2, §5.2, §5.3.
    """
    problems: list[Problem] = []
    warnings: list[Problem] = []
    english = language.replace("_", "-").split("-")[0].casefold() == "en"
    if manifest.system_prompt is None and not english:
        (warnings if policy == SMOKE else problems).append(
            Problem(
                code="system_prompt_language_mismatch",
                subject="manifest.yaml",
                message=f"surfaces speak `{language}` but the built-in system prompt is English",
                fix="set `system_prompt` or `system_prompt_path` in manifest.yaml",
            )
        )
    for template in templates:
        problems += template_text_problems(template, manifest.assistant_turn_templates, language)
    return problems, warnings


def template_text_problems(template: Template, blocks: Mapping[str, Texts], language: str) -> list[Problem]:
    """Every gap in one template's wording: missing texts, empty ones, placeholders bound by nothing."""
    problems: list[Problem] = []
    for speech in _speeches(template, blocks, language):
        if speech.text is None:
            problems.append(_missing(template, speech, language))
        elif not speech.text.strip():
            problems.append(empty_turn(template, f"{speech.field} is empty"))
        else:
            problems += [
                _unbound(template, speech, name)
                for name in dict.fromkeys(names(speech.text))
                if name not in speech.bound
            ]
    return problems


def empty_turn(template: Template, message: str) -> Problem:
    """A turn that would say nothing."""
    return Problem(
        code="empty_turn", subject=template.template_id, message=message, fix="write what is said in this turn"
    )


def _speeches(template: Template, blocks: Mapping[str, Texts], language: str) -> Iterator[_Speech]:
    """Every text in conversation order; a reply that follows no milestone comes last (check 1 reports it)."""
    bound = set(template.slots)
    replies = reply_links(template).replies

    def user(texts: Texts, field: str, milestone: Milestone | None) -> _Speech:
        named = {SLOT_NAME} if asked_slot(template, milestone) is not None else set()
        return _Speech(
            field=field,
            text=texts.get(language),
            languages=sorted(texts),
            of_assistant=None,
            bound=frozenset(bound | named),
        )

    def reply(index: int, milestone: Milestone | None) -> _Speech:
        turn = template.user_simulator_turns[index]
        bound.update(update.bind_as for update in turn.slot_updates if update.bind_as is not None)
        return user(turn.content_template, f"user_simulator_turns.{index}.content_template", milestone)

    yield user(template.user_turn_templates, "user_turn_templates", None)
    for index, milestone in enumerate(template.assistant_milestones):
        if milestone.type not in TEXT_MILESTONES:
            continue
        languages = {known for texts in _sources(template, milestone, blocks) for known in texts}
        named = {SLOT_NAME} if asked_slot(template, milestone) is not None else set()
        yield _Speech(
            field=f"assistant_milestones.{index}.content_template",
            text=milestone_text(template, milestone, blocks, language),
            languages=sorted(languages),
            of_assistant=milestone.type,
            bound=frozenset(bound | named),
        )
        if index in replies:
            yield reply(replies[index], milestone)
    for index in range(len(template.user_simulator_turns)):
        if index not in replies.values():
            yield reply(index, None)


def _missing(template: Template, speech: _Speech, language: str) -> Problem:
    if speech.of_assistant is None or speech.languages:
        return _missing_language(template.template_id, speech.field, language, speech.languages)
    kind = speech.of_assistant
    return Problem(
        code="missing_assistant_turn_templates",
        subject=template.template_id,
        field=speech.field,
        message=f"{speech.field.removesuffix('.content_template')} ({kind}) has no text of its own, "
        f"and neither the template nor the manifest has one for `{kind}`",
        fix=f"add `assistant_turn_templates.{kind}.{language}` to manifest.yaml or to the template",
    )


def _missing_language(template_id: str, field: str, language: str, offered: Sequence[str] | Texts) -> Problem:
    return Problem(
        code="missing_language_text",
        subject=template_id,
        field=f"{field}.{language}",
        message=f"{field} has no `{language}` text; it has {', '.join(sorted(offered)) or 'none'}",
        fix=f"add `{field}.{language}`",
    )


def _unbound(template: Template, speech: _Speech, name: str) -> Problem:
    if name == SLOT_NAME:
        hidden = sum(slot.visible_in_first_turn is False for slot in template.slots.values())
        return Problem(
            code="ask_for_slot_without_a_named_slot",
            subject=template.template_id,
            field=speech.field,
            message=f"{speech.field} says {{slot_name}} but names no slot, and {hidden} slots are hidden; expected one",
            fix="add `slot: <name>` to the milestone",
        )
    return Problem(
        code="unbound_placeholder",
        subject=template.template_id,
        field=speech.field,
        message=f"{speech.field} says {{{name}}}, which nothing binds at this turn",
        fix=did_you_mean(name, speech.bound) or f"declare slot `{name}`, or correct the name",
    )
