"""The words behind a command: checked, typed, all faults at once."""

from __future__ import annotations

import os

import pytest

from bfcl.errors import ConfigError
from bfcl.graph.variables import KNOWN, Variables, check_variables, only_validates

FIX = "known variables: `config=`, `jobs=`, `pack=`, `rebuild=`, `replay=`"
GENERATE = ("generate",)


def test_nothing_given_means_all_usable_cores_and_stored_results() -> None:
    assert check_variables({}, GENERATE) == Variables(
        jobs=len(os.sched_getaffinity(0)), rebuild=False, replay_full=False
    )


def test_every_variable_is_understood() -> None:
    given = {"config": "x.yaml", "jobs": "3", "rebuild": "1", "replay": "full"}
    assert {*given, "pack"} == set(KNOWN)
    assert check_variables(given, GENERATE) == Variables(jobs=3, rebuild=True, replay_full=True)


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
        check_variables(given, GENERATE)
    assert str(caught.value) == f"{text}\n  fix: write `{name}={right}` or leave it out"


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("skip_until", FIX),
        ("packs", "did you mean `pack`?"),
        ("job", "did you mean `jobs`?"),
        ("CONFIG", FIX),
        ("", FIX),
    ],
)
def test_unknown_variable_is_refused(name: str, fix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_variables({name: "x"}, GENERATE)
    assert str(caught.value.problems[0]) == (
        f"unsupported_config_feature: {name}: no command of this release takes this variable\n  fix: {fix}"
    )


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        check_variables({"zeta": "1", "jobs": "x", "alpha": "1", "rebuild": "yes", "replay": "half"}, GENERATE)
    assert [problem.subject for problem in caught.value.problems] == ["alpha", "zeta", "jobs", "rebuild", "replay"]


@pytest.mark.parametrize(
    ("tasks", "alone"),
    [
        (("validate",), True),
        (("config", "validate"), True),
        (("config",), False),
        ((), False),
        (("validate", "generate"), False),
        (("prepare",), False),
    ],
)
def test_validating_alone_is_told_from_the_tasks(tasks: tuple[str, ...], alone: bool) -> None:
    assert only_validates(tasks) is alone


def test_validate_takes_a_pack_and_fresh_results() -> None:
    variables = check_variables({"pack": "packs/mine", "rebuild": "1", "jobs": "2"}, ("validate",))
    assert variables == Variables(jobs=2, rebuild=True, replay_full=False)


@pytest.mark.parametrize(
    ("tasks", "named"),
    [
        (("generate",), "generate"),
        (("prepare",), "prepare"),
        (("all", "validate"), "all"),
        (("config",), "config"),
        (("publish", "expand"), "expand publish"),
    ],
)
def test_pack_is_refused_on_every_other_command(tasks: tuple[str, ...], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_variables({"pack": "packs/mine"}, tasks)
    assert str(caught.value) == (
        f"unsupported_config_feature: pack: `doit {named}` does not take this variable; only `doit validate` does\n"
        "  fix: name a configuration with `config=`: it names the pack"
    )


def test_pack_beside_a_configuration_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        check_variables({"pack": "packs/mine", "config": "configs/tiny.yaml"}, ("validate",))
    assert str(caught.value) == (
        "unsupported_config_feature: pack: given together with `config=`, and a pack is checked under one "
        "configuration\n"
        "  fix: leave `config=` out to use the pack's own `validate.yaml`, or leave `pack=` out"
    )


def test_replay_is_refused_where_nothing_is_replayed_for_a_release() -> None:
    with pytest.raises(ConfigError) as caught:
        check_variables({"replay": "full"}, ("validate",))
    assert str(caught.value) == (
        "unsupported_config_feature: replay: `doit validate` does not take this variable\n"
        "  fix: `rebuild=1` runs every check again"
    )
    assert check_variables({"replay": "full"}, ("validate", "generate")).replay_full
