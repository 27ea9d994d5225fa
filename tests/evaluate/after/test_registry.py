"""Commits of names, asked of a hub on the loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.evaluate.after.registry import commit_of
from tests.evaluate.after.hub import hub
from tests.evaluate.refusals import refused

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PATH = "/api/models/org/kiln-7b/revision/refs%2Fpr%2F1"


def answer(sha: str = COMMIT) -> bytes:
    return f'{{"sha": "{sha}"}}'.encode()


def test_commit_of_asks_for_the_revision_and_returns_its_commit() -> None:
    with hub({PATH: (200, answer())}) as there:
        assert commit_of("org/kiln-7b", "refs/pr/1", hub=there.address + "/") == COMMIT
    assert [path for path, _ in there.asked] == [PATH]


def test_commit_of_sends_no_credential_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password canary\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HF_TOKEN", "canary")
    with hub({PATH: (200, answer())}) as there:
        commit_of("org/kiln-7b", "refs/pr/1", hub=there.address)
    ((_, headers),) = there.asked
    assert "authorization" not in headers
    assert "canary" not in str(headers)


@pytest.mark.parametrize(
    ("answered", "message", "fix"),
    [
        (
            (404, b"{}"),
            "the hub knows no public model with the revision `refs/pr/1`",
            "check name and revision on the hub, or digest downloaded weights with the `local` form",
        ),
        (
            (307, b""),
            "the hub answers 307: the model bears another name now; expected its own",
            "give the name under which the hub shows the model",
        ),
        ((503, b""), "the hub answers 503; expected 200", "try again later"),
        (
            (200, b"<html>"),
            "the hub's answer names no commit under `sha`",
            "check the address given by --hub",
        ),
        (
            (200, answer("main")),
            "the hub's answer names no commit under `sha`",
            "check the address given by --hub",
        ),
    ],
)
def test_commit_of_refuses_an_answer_without_a_commit(answered: tuple[int, bytes], message: str, fix: str) -> None:
    with hub({PATH: answered}) as there:
        (problem,) = refused(lambda: commit_of("org/kiln-7b", "refs/pr/1", hub=there.address))
    assert str(problem) == f"model_identity_unresolved: org/kiln-7b: {message}\n  fix: {fix}"


@pytest.mark.parametrize(
    ("address", "detail"), [("http://127.0.0.1:1", "Connection refused"), ("nowhere", "the address cannot be used")]
)
def test_commit_of_refuses_a_hub_that_is_not_there(address: str, detail: str) -> None:
    (problem,) = refused(lambda: commit_of("org/kiln-7b", "main", hub=address))
    assert str(problem) == (
        f"model_identity_unresolved: org/kiln-7b: the hub cannot be reached: {detail}\n"
        "  fix: check the network and the address given by --hub"
    )
