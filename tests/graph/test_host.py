"""What of this machine enters keys and manifests."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from bfcl.graph import host
from tests.system.project import REPOSITORY


def test_versions_are_those_of_the_running_interpreter() -> None:
    assert host.python_minor() == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert host.pyarrow_version() == version("pyarrow")


def test_system_is_told_without_starting_a_program() -> None:
    program = (
        "import platform, sys; from bfcl.graph.host import system; began = []; "
        "sys.addaudithook(lambda event, _: began.append(event) if event.startswith('subprocess') else None); "
        "told = system(); print(list(began), told == platform.platform())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == "[] True\n"


def test_hashes_are_published_identities_and_stable() -> None:
    for one in (host.source_hash, host.dependency_lock_hash):
        assert one() == one()
        assert one().startswith("sha256:")
        assert len(one()) == 71


def test_uninstalled_pipeline_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise host.PackageNotFoundError(name)

    monkeypatch.setattr(host, "version", absent)
    assert host.pipeline_version() == "0+source"
    assert host.dependency_lock_hash() == "sha256:0a60fda0a1763de80c6ef435ea7d3d50109f1f90546832b1607f0aef710dd464"


def git(directory: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(directory), *identity, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose top holds the package."""
    root = tmp_path.resolve()
    git(root, "init", "-q")
    (root / "package").mkdir()
    (root / "package" / "a.py").write_text("")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    monkeypatch.setattr(host, "PACKAGE", root / "package")
    return root


def test_revision_is_that_of_the_packages_own_checkout(checkout: Path) -> None:
    sha = git(checkout, "rev-parse", "HEAD")
    assert host.revision() == (sha, False)
    (checkout / "untracked").write_text("")
    assert host.revision() == (sha, False)
    (checkout / "package" / "a.py").write_text("edited")
    assert host.revision() == (sha, True)


def test_git_sees_nothing_of_the_environment_that_may_be_secret(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = checkout / "seen"
    hook = checkout / "hook"
    hook.write_text(f"#!/bin/sh\nenv > {seen}\n")
    hook.chmod(0o755)
    git(checkout, "config", "core.fsmonitor", str(hook))
    monkeypatch.setenv("VENDOR_KEY", "canary-1")
    assert host.revision().sha == git(checkout, "rev-parse", "HEAD")
    assert "PATH=" in seen.read_text()
    assert "canary-1" not in seen.read_text()


def test_package_installed_inside_another_repository_has_no_revision(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "site" / "package").mkdir(parents=True)
    monkeypatch.setattr(host, "PACKAGE", checkout / "site" / "package")
    assert host.revision() == (None, None)


def test_machine_without_git_has_no_revision(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout / "nowhere"))
    assert host.revision() == (None, None)
