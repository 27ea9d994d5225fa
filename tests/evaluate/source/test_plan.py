"""Gate fifteen: who gets which tasks, and what is refused."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import pytest

from bfcl.digest import sha256_json, sha256_of
from bfcl.evaluate.settings.model import Candidate, EvalSettings
from bfcl.evaluate.source.plan import Plan, check_plan, plan_of, verdicts_of
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.evaluate.source.verify import verify_source
from tests.evaluate.refusals import refused
from tests.evaluate.source.builder import Site, candidate, exposed, site_of
from tests.system.project import Project

GATE = " (gate fifteen, contamination)\n  fix: "
LEAVE = "leave the candidate out, or set `contamination.on_violation: exclude_row`, which bars publication"
PIN = "pin `weights_digest` or `revision` in `model_identity`, or set `publication.requested: false`"
NO_ROWS = "leave out the candidate that had a hand in these rows, or measure on another benchmark"
DERIVED = "start the evaluation again; a plan is derived and never written by hand"
PROSE = "hub:org/prose@provider_managed"
JUDGE = "hub:org/judge@provider_managed"

PROSER = candidate("proser", model="org/prose")
"""Worded three rows."""
JUDGING = candidate("judging", model="org/judge")
"""Judged every row."""
UNSURE = candidate("unsure", model="mirror/prose", provider="another")
"""May be the one that worded three rows."""
CLEAN = candidate("clean", model="org/clean")


class Ground(NamedTuple):
    """A verified source, and the settings to vary."""

    site: Site
    verified: VerifiedSource

    @property
    def ids(self) -> tuple[str, ...]:
        return self.verified.task_ids

    def settings(self, *candidates: Candidate, **edits: Any) -> EvalSettings:
        return self.site.settings(*candidates, trace_only=True, **edits)

    def plan(self, *candidates: Candidate, **edits: Any) -> Plan:
        return plan_of(self.settings(*candidates, **edits), self.verified)

    def refusal(self, *candidates: Candidate, **edits: Any) -> list[str]:
        return [str(one) for one in refused(lambda: self.plan(*candidates, **edits))]


@pytest.fixture(scope="module")
def ground(release: Project, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """A benchmark that two models had a hand in."""
    site = site_of(release, tmp_path_factory.mktemp("plan") / "site")
    verified = verify_source(site.settings(trace_only=True), probe_oracle=False)
    worded = exposed("paraphrase", "org/prose", verified.task_ids[:3])
    judged = exposed("surface_judge", "org/judge", verified.task_ids)
    return Ground(site, dataclasses.replace(verified, exposures=(worded, judged)))


def test_a_clean_candidate_gets_every_task(ground: Ground) -> None:
    plan = ground.plan(CLEAN)
    (tasks,) = plan.candidates
    assert (tasks.alias, tasks.canonical_id, tasks.excluded) == ("clean", "hub:org/clean@provider_managed", 0)
    assert plan.task_ids("clean") == ground.ids
    assert tasks.task_ids_hash == sha256_json(ground.ids)
    assert plan.comparison_set.to_json() == {
        "policy": "common_intersection",
        "task_count": len(ground.ids),
        "task_ids_hash": sha256_json(ground.ids),
    }
    assert [one.answer for one in plan.verdicts] == ["different", "different"]
    assert (plan.violations, plan.reasons, plan.allowed) == ((), (), True)
    with pytest.raises(KeyError):
        plan.tasks_of("nobody")


# --- the situations of the table ------------------------------------------------------------------------------------


def test_fail_run_names_every_candidate_that_was_exposed(ground: Ground) -> None:
    told = "is a model that the benchmark was made with:"
    size = len(ground.ids)
    assert ground.refusal(PROSER, JUDGING, CLEAN) == [
        f"eval_contamination_candidate_exposed: judging: {told} `{JUDGE}` as surface_judge of {size} tasks "
        f"(by canonical_id); expected another model{GATE}{LEAVE}",
        f"eval_contamination_candidate_exposed: proser: {told} `{PROSE}` as paraphrase of 3 tasks "
        f"(by canonical_id); expected another model{GATE}{LEAVE}",
    ]


def test_an_unknown_candidate_is_refused_where_publication_is_requested(ground: Ground) -> None:
    assert ground.refusal(UNSURE, CLEAN, publication_requested=True) == [
        f"eval_contamination_unresolved: unsure: cannot be told from a model that the benchmark was made with: "
        f"`{PROSE}` as paraphrase of 3 tasks (by name); expected proof{GATE}{PIN}"
    ]


def test_matches_and_unknowns_are_told_together(ground: Ground) -> None:
    codes = [one.split(": ")[:2] for one in ground.refusal(UNSURE, PROSER, publication_requested=True)]
    assert codes == [["eval_contamination_candidate_exposed", "proser"], ["eval_contamination_unresolved", "unsure"]]


def test_an_unknown_candidate_bars_publication_where_none_is_requested(ground: Ground) -> None:
    plan = ground.plan(UNSURE, CLEAN)
    assert plan.reasons == ("contamination.unresolved:unsure",)
    assert not plan.allowed
    assert plan.task_ids("unsure") == ground.ids


@pytest.mark.parametrize(
    ("policy", "kept_by_clean"), [("common_intersection", slice(3, None)), ("per_candidate", slice(None))]
)
def test_exclude_row_takes_exactly_the_exposed_rows(policy: str, kept_by_clean: slice, ground: Ground) -> None:
    plan = ground.plan(PROSER, CLEAN, UNSURE, policy=("exclude_row", policy))
    assert plan.task_ids("proser") == ground.ids[3:]
    assert plan.task_ids("clean") == plan.task_ids("unsure") == ground.ids[kept_by_clean]
    assert {one.alias: one.excluded for one in plan.candidates} == {"clean": 0, "proser": 3, "unsure": 0}
    assert plan.comparison_set.to_json() == {
        "policy": policy,
        "task_count": len(ground.ids) - 3,
        "task_ids_hash": sha256_json(ground.ids[3:]),
    }
    assert [(one.alias, one.role) for one in plan.violations] == [("proser", "paraphrase")]
    assert plan.reasons == ("contamination.excluded_rows:proser", "contamination.unresolved:unsure")


def test_exclusion_may_not_empty_the_intersection(ground: Ground) -> None:
    assert ground.refusal(JUDGING, CLEAN, policy=("exclude_row", "common_intersection")) == [
        f"eval_contamination_empty_task_set: the common task set: none of {len(ground.ids)} tasks is left for all "
        f"candidates; expected at least one{GATE}{NO_ROWS}"
    ]


def test_exclusion_may_not_empty_a_candidate(ground: Ground) -> None:
    assert ground.refusal(JUDGING, CLEAN, policy=("exclude_row", "per_candidate")) == [
        f"eval_contamination_empty_task_set: judging: none of {len(ground.ids)} tasks is left for this candidate; "
        f"expected at least one{GATE}{NO_ROWS}"
    ]


def test_exclusions_that_only_together_take_all_empty_the_intersection_alone(ground: Ground) -> None:
    rest = exposed("surface_judge", "org/judge", ground.ids[3:])
    split = ground._replace(
        verified=dataclasses.replace(ground.verified, exposures=(ground.verified.exposures[0], rest))
    )
    both = (PROSER, JUDGING)
    plan = split.plan(*both, policy=("exclude_row", "per_candidate"))
    assert (plan.task_ids("proser"), plan.task_ids("judging")) == (ground.ids[3:], ground.ids[:3])
    assert plan.comparison_set.task_count == 0
    (told,) = split.refusal(*both, policy=("exclude_row", "common_intersection"))
    assert told.startswith("eval_contamination_empty_task_set: the common task set: ")


def test_without_enforcement_verdicts_are_recorded_and_nothing_is_done(ground: Ground) -> None:
    candidates = (PROSER, UNSURE, CLEAN)
    for on_violation in ("fail_run", "exclude_row"):
        plan = ground.plan(
            *candidates, enforce=False, publication_requested=True, policy=(on_violation, "common_intersection")
        )
        assert {plan.task_ids(one.alias) for one in candidates} == {ground.ids}
        assert [(one.alias, one.role) for one in plan.violations] == [("proser", "paraphrase")]
        assert plan.reasons == ("contamination.exposed:proser", "contamination.unresolved:unsure")


# --- plans that nobody derived --------------------------------------------------------------------------------------


def test_check_plan_accepts_the_plan_derived(ground: Ground) -> None:
    settings = ground.settings(PROSER, CLEAN, policy=("exclude_row", "per_candidate"))
    check_plan(settings, ground.verified, plan_of(settings, ground.verified))


def by_hand(ground: Ground, settings: EvalSettings, **edits: Any) -> list[str]:
    """What is said of the derived plan with its first candidate edited."""
    plan = plan_of(settings, ground.verified)
    first, *others = plan.candidates
    made = dataclasses.replace(plan, candidates=(dataclasses.replace(first, **edits), *others))
    return [str(one) for one in refused(lambda: check_plan(settings, ground.verified, made))]


def test_check_plan_refuses_tasks_in_another_order(ground: Ground) -> None:
    backwards = ground.ids[::-1]
    edits = {"task_ids": backwards, "task_ids_hash": sha256_json(backwards)}
    assert by_hand(ground, ground.settings(CLEAN), **edits) == [
        "eval_contamination_task_set_inconsistent: clean: holds tasks that are not published, or not in publication "
        f"order{GATE}{DERIVED}"
    ]


def test_check_plan_refuses_tasks_that_are_not_published(ground: Ground) -> None:
    (told,) = by_hand(ground, ground.settings(CLEAN), task_ids=(*ground.ids, "another"))
    assert told.startswith("eval_contamination_task_set_inconsistent: clean: holds tasks that are not published")


def test_check_plan_refuses_another_digest(ground: Ground) -> None:
    assert by_hand(ground, ground.settings(CLEAN), task_ids_hash=sha256_of(b"")) == [
        f"eval_contamination_task_set_inconsistent: clean: the task ids have {sha256_json(ground.ids)}, the plan says "
        f"{sha256_of(b'')}{GATE}{DERIVED}"
    ]


def test_check_plan_refuses_a_candidate_with_a_set_of_its_own(ground: Ground) -> None:
    fewer = ground.ids[1:]
    assert by_hand(ground, ground.settings(CLEAN), task_ids=fewer, task_ids_hash=sha256_json(fewer)) == [
        f"eval_contamination_task_set_inconsistent: clean: the task ids have {sha256_json(fewer)}, the set shared by "
        f"all {sha256_json(ground.ids)}{GATE}{DERIVED}"
    ]


def test_check_plan_refuses_a_plan_for_others(ground: Ground) -> None:
    plan = ground.plan(CLEAN)
    settings = ground.settings(CLEAN, UNSURE)
    assert [str(one) for one in refused(lambda: check_plan(settings, ground.verified, plan))] == [
        f"eval_contamination_task_set_inconsistent: the plan: is for clean; expected clean, unsure{GATE}{DERIVED}"
    ]


@pytest.mark.parametrize("edit", [{"reasons": ("contamination.exposed:clean",)}, {"plan_identity": sha256_of(b"")}])
def test_check_plan_refuses_a_plan_that_drifted(edit: dict[str, Any], ground: Ground) -> None:
    settings = ground.settings(CLEAN)
    plan = plan_of(settings, ground.verified)
    made = dataclasses.replace(plan, **edit)
    assert [str(one) for one in refused(lambda: check_plan(settings, ground.verified, made))] == [
        f"eval_contamination_plan_drift: the plan: the plan is {made.plan_identity}, source and configuration give "
        f"{plan.plan_identity}{GATE}{DERIVED}"
    ]


# --- identity -------------------------------------------------------------------------------------------------------


def test_plan_identity_depends_on_everything_that_decides(ground: Ground) -> None:
    excluding = ("exclude_row", "per_candidate")
    other = dataclasses.replace(ground.verified, verification_identity=sha256_of(b"other"))
    unexposed = dataclasses.replace(ground.verified, exposures=ground.verified.exposures[:1])
    plans = [
        ground.plan(CLEAN),
        ground.plan(CLEAN, UNSURE),
        ground.plan(candidate("clean", model="org/clean", revision="1" * 40)),
        ground.plan(CLEAN, enforce=False),
        ground.plan(CLEAN, policy=("exclude_row", "common_intersection")),
        ground.plan(CLEAN, policy=excluding),
        ground.plan(CLEAN, publication_requested=True),
        ground.plan(PROSER, policy=excluding),
        ground._replace(verified=other).plan(CLEAN),
        ground._replace(verified=unexposed).plan(CLEAN),
    ]
    assert len({plan.plan_identity for plan in plans}) == len(plans)


def test_plan_identity_is_the_same_wherever_results_go(ground: Ground, tmp_path: Any) -> None:
    settings = ground.settings(CLEAN, UNSURE)
    elsewhere = dataclasses.replace(settings, outputs=dataclasses.replace(settings.outputs, output_dir=tmp_path))
    assert plan_of(settings, ground.verified) == plan_of(elsewhere, ground.verified)


def test_verdicts_stand_by_candidate_then_by_role(ground: Ground) -> None:
    found = verdicts_of(ground.settings(PROSER, CLEAN), ground.verified)
    roles = ("paraphrase", "surface_judge")
    assert [(one.alias, one.role) for one in found] == [(who, role) for who in ("clean", "proser") for role in roles]
