"""The words behind a command: checked, typed, all faults at once."""

from __future__ import annotations

import os

import pytest

from bfcl.errors import ConfigError
from bfcl.graph.variables import KNOWN, Variables, check_variables, only_validates, shown_url

FIX = "known variables: `cache=`, `config=`, `executor=`, `jobs=`, `pack=`, `rebuild=`, `replay=`, `skip_until=`"
GENERATE = ("generate",)


def test_nothing_given_means_all_usable_cores_and_stored_results() -> None:
    assert check_variables({}, GENERATE) == Variables(
        jobs=len(os.sched_getaffinity(0)), rebuild=False, replay_full=False
    )


def test_every_variable_is_understood() -> None:
    given = {
        "cache": "s3://bucket/bfcl",
        "config": "x.yaml",
        "executor": "dask:tcp://127.0.0.1:8786",
        "jobs": "3",
        "rebuild": "1",
        "replay": "full",
        "skip_until": "render",
    }
    assert {*given, "pack"} == set(KNOWN)
    assert check_variables(given, GENERATE) == Variables(
        jobs=3,
        rebuild=True,
        replay_full=True,
        skip_until="render",
        dask_address="tcp://127.0.0.1:8786",
        cache="s3://bucket/bfcl",
    )


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
        (
            {"executor": "ray:x"},
            "generation_config_invalid: executor: executor=<str, 5> given; expected dask:<address of a scheduler>",
        ),
        (
            {"executor": "dask:"},
            "generation_config_invalid: executor: executor=<str, 5> given; expected dask:<address of a scheduler>",
        ),
        (
            {"cache": "there"},
            "generation_config_invalid: cache: cache=<str, 5> given; expected a URL, or the absolute path of a "
            "directory",
        ),
        (
            {"cache": "s3://AKIA:SECRETPW@buck et/x"},
            "generation_config_invalid: cache: cache=<str, 28> given; expected a URL, or the absolute path of a "
            "directory",
        ),
    ],
)
def test_malformed_value_is_refused(given: dict[str, str], text: str) -> None:
    (name,) = given
    right = {
        "jobs": "2",
        "rebuild": "1",
        "replay": "full",
        "executor": "dask:127.0.0.1:8786",
        "cache": "s3://bucket/bfcl",
    }[name]
    with pytest.raises(ConfigError) as caught:
        check_variables(given, GENERATE)
    assert str(caught.value) == f"{text}\n  fix: write `{name}={right}` or leave it out"


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("ucx://scheduler:1", "the protocol `ucx://`"),
        ("inproc://10.0.0.1/8/1", "the protocol `inproc://`"),
        ("TCP://scheduler:1", "the protocol `TCP://`"),
        ("://scheduler:1", "the protocol of <str, 14>"),
        ("me:SECRETPW@x://scheduler:1", "the protocol of <str, 27>"),
    ],
)
def test_protocol_that_no_scheduler_is_reached_by_is_refused_with_those_that_are(address: str, seen: str) -> None:
    given = {"executor": f"dask:{address}"}
    with pytest.raises(ConfigError) as caught:
        check_variables(given, GENERATE)
    assert str(caught.value) == (
        f"generation_config_invalid: executor: {seen} is not supported; expected HOST:PORT, alone or behind one of "
        "`tcp://`, `tls://`, `ws://`, `wss://`\n  fix: write `executor=dask:127.0.0.1:8786` or leave it out"
    )


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("workers", FIX),
        ("skip_untill", "did you mean `skip_until`?"),
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


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("replay", "`rebuild=1` runs every check again"),
        ("skip_until", "leave it out: there is no run to resume"),
        ("executor", "leave it out: checks run on this machine"),
        ("cache", "leave it out: a verdict is never taken from a cache"),
    ],
)
def test_validate_refuses_what_means_nothing_to_it(name: str, fix: str) -> None:
    value = {"replay": "full", "skip_until": "render", "executor": "dask:127.0.0.1:1", "cache": "/there"}[name]
    with pytest.raises(ConfigError) as caught:
        check_variables({name: value}, ("validate",))
    assert str(caught.value) == (
        f"unsupported_config_feature: {name}: `doit validate` does not take this variable\n  fix: {fix}"
    )


@pytest.mark.parametrize(
    ("tasks", "named"),
    [(("prepare",), "prepare"), (("render",), "render"), (("generate", "publish"), "generate publish")],
)
def test_resuming_is_refused_on_single_stages(tasks: tuple[str, ...], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_variables({"skip_until": "render"}, tasks)
    assert str(caught.value) == (
        f"unsupported_config_feature: skip_until: `doit {named}` does not take this variable; only `doit generate` and "
        "`doit all` do\n  fix: leave it out, or give it to the command whose run is to be resumed"
    )


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://bucket/bfcl", "s3://bucket/bfcl"),
        ("s3://AKIA:SECRETPW@bucket/x", "s3://bucket/x"),
        ("ftp://user:ab/SECRETPW@host/x", "ftp://host/x"),
        ("s3://k:p@SECRETPW@bk", "s3://bk"),
        ("s3://k:p//SECRETPW@bk/x", "s3://bk/x"),
        ("s3://k:p?SECRETPW@bk/x", "s3://..."),
        ("s3://k:p#SECRETPW@bk/x", "s3://..."),
        ("http://host/x?token=SECRETPW", "http://host/x"),
        ("http://host/x?mail=a@SECRETPW&token=SECRETPW", "http://..."),
        ("http://host/x#SECRETPW", "http://host/x"),
        ("s3://k:SECRETPW\n@bk/x", "s3://bk/x"),
        ("/data/a@b#c?d", "/data/a@b#c?d"),
    ],
)
def test_url_is_shown_without_what_may_be_a_secret(url: str, shown: str) -> None:
    assert shown_url(url) == shown
