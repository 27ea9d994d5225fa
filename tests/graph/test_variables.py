"""The words behind a command: checked, typed, all faults at once."""

from __future__ import annotations

import os

import pytest

from bfcl.errors import ConfigError
from bfcl.graph.variables import KNOWN, Variables, check_variables

FIX = "known variables: `config=`, `jobs=`, `rebuild=`, `replay=`"


def test_nothing_given_means_all_usable_cores_and_stored_results() -> None:
    assert check_variables({}) == Variables(jobs=len(os.sched_getaffinity(0)), rebuild=False, replay_full=False)


def test_every_variable_is_understood() -> None:
    given = {"config": "x.yaml", "jobs": "3", "rebuild": "1", "replay": "full"}
    assert given.keys() == set(KNOWN)
    assert check_variables(given) == Variables(jobs=3, rebuild=True, replay_full=True)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"jobs": "0"}, "generation_config_invalid: jobs: jobs='0' given; expected a whole number from 1 to 9999"),
        ({"jobs": "-1"}, "generation_config_invalid: jobs: jobs='-1' given; expected a whole number from 1 to 9999"),
        ({"jobs": "2.0"}, "generation_config_invalid: jobs: jobs='2.0' given; expected a whole number from 1 to 9999"),
        ({"jobs": ""}, "generation_config_invalid: jobs: jobs='' given; expected a whole number from 1 to 9999"),
        ({"jobs": "٣"}, "generation_config_invalid: jobs: jobs='٣' given; expected a whole number from 1 to 9999"),
        ({"rebuild": "0"}, "generation_config_invalid: rebuild: rebuild='0' given; expected 1"),
        ({"replay": ""}, "generation_config_invalid: replay: replay='' given; expected full"),
    ],
)
def test_malformed_value_is_refused(given: dict[str, str], text: str) -> None:
    (name,) = given
    right = {"jobs": "2", "rebuild": "1", "replay": "full"}[name]
    with pytest.raises(ConfigError) as caught:
        check_variables(given)
    assert str(caught.value) == f"{text}\n  fix: write `{name}={right}` or leave it out"


@pytest.mark.parametrize(
    ("name", "fix"),
    [("skip_until", FIX), ("pack", FIX), ("job", "did you mean `jobs`?"), ("CONFIG", FIX), ("", FIX)],
)
def test_unknown_variable_is_refused(name: str, fix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_variables({name: "x"})
    assert str(caught.value.problems[0]) == (
        f"unsupported_config_feature: {name}: no command of this release takes this variable\n  fix: {fix}"
    )


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        check_variables({"zeta": "1", "jobs": "x", "alpha": "1", "rebuild": "yes", "replay": "half"})
    assert [problem.subject for problem in caught.value.problems] == ["alpha", "zeta", "jobs", "rebuild", "replay"]
