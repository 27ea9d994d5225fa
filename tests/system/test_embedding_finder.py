"""Selection by a model over a real connection: recorded once, replayed without a network, secret to the end."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bfcl.release.verify import verify_release
from tests.embedding_server import DIMENSIONS, Server, echoing, embeddings, refusing, saying, serving, well
from tests.packs import ALL_POLICIES
from tests.system.project import Ended, Project, write_project

SECRET = "sentinel-4f9a8b7c6d5e"
SELECTION: dict[str, Any] = {
    "ndd_batch_size": 5,
    "surface_quality_validation": {"enabled": True},
    "semantic_deduplication_config": {
        "enabled": True,
        "model_identifier": "endpoint:vendor/org/e5",
        "n_clusters": 3,
        "eps": 0.05,
        "remove_duplicates": False,
        "unmet_target_policy": "publish_non_gold",
    },
    "task_generation__tasks_per_category": 8,
    "task_generation__candidate_tasks_per_category": 16,
    "task_generation__target_published_tasks": 12,
}
OF_BALANCING = ("stage_cache/balanced_tasks.parquet", "stage_cache/dedup_balancing_report.json")


class Studio(NamedTuple):
    """A project and the machine that it runs on."""

    project: Project
    home: Path
    """Of the registry."""

    @property
    def cache(self) -> Path:
        return self.project.run_dir / "stage_cache" / "embedding_io_cache.jsonl"

    def generate(self, **environment: str) -> Ended:
        ended = self.project.doit("generate", env=environment)
        assert SECRET not in ended.out + ended.err
        return ended

    def live(self) -> Ended:
        """On the machine that knows the provider."""
        return self.generate(BFCL_MODEL_HOME=str(self.home), VENDOR_KEY=SECRET)

    def selected(self) -> dict[str, bytes]:
        return {**self.project.tables(), **{name: (self.project.run_dir / name).read_bytes() for name in OF_BALANCING}}

    def secret_free(self) -> bool:
        places = (self.project.root, self.project.temporary)
        files = [path for place in places for path in place.rglob("*") if path.is_file()]
        return bool(files) and not any(SECRET.encode() in path.read_bytes() for path in files)

    def copy(self, root: Path) -> Studio:
        return Studio(self.project.copy(root), self.home)


def studio(tmp_path: Path, server: Server) -> Studio:
    home = tmp_path / "home"
    home.mkdir()
    (home / "model_providers.yaml").write_text(
        f"providers:\n"
        f"  - {{name: vendor, endpoint: '{server.url}', provider_type: openai, api_key: VENDOR_KEY}}\n"
        f"  - {{name: other, endpoint: '{server.url}/other'}}\n"
    )
    return Studio(write_project(tmp_path / "project", templates=ALL_POLICIES, **SELECTION), home)


def forget_results(project: Project) -> None:
    """All of `build/` but the run trees: what a fresh checkout with its publications has."""
    for path in project.build.iterdir():
        if path.name != "runs":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Studio, Server]]:
    with serving(refusing(429, retry_after="0"), well) as server:
        one = studio(tmp_path_factory.mktemp("embedding"), server)
        ended = one.live()
        assert ended.status == 0, ended.out + ended.err
        yield one, server


def test_each_text_is_asked_once_in_batches_with_the_credential(published: tuple[Studio, Server]) -> None:
    one, server = published
    first, *rest = server.seen
    assert first.body == rest[0].body
    texts = [text for seen in rest for text in seen.texts]
    assert len(texts) == len(set(texts)) == len(one.cache.read_bytes().splitlines())
    assert [len(seen.texts) for seen in rest[:-1]] == [5] * (len(rest) - 1)
    assert {(seen.path, seen.headers["authorization"]) for seen in server.seen} == {
        ("/v1/embeddings", f"Bearer {SECRET}")
    }
    assert {json.loads(seen.body)["model"] for seen in server.seen} == {"org/e5"}
    assert all(text.startswith("[user] ") for text in texts)


def test_release_verifies_and_neither_it_nor_any_file_holds_the_secret_or_a_text(
    published: tuple[Studio, Server],
) -> None:
    one, server = published
    verify_release(one.project.run_dir)
    found = one.project.manifest()["semantic_deduplication"]
    assert found["embedding_signature"].startswith("sha256:")
    assert one.secret_free()
    recorded = one.cache.read_text(encoding="utf-8")
    assert not any(text in recorded for seen in server.seen for text in seen.texts)


def test_second_run_has_nothing_to_do(published: tuple[Studio, Server]) -> None:
    one, server = published
    before = len(server.seen)
    ended = one.live()
    assert (ended.status, "up to date" in ended.out) == (0, True)
    assert len(server.seen) == before


def test_rerun_without_network_registry_and_credential_gives_the_same_bytes(
    published: tuple[Studio, Server], tmp_path: Path
) -> None:
    one, server = published
    replayed = one.copy(tmp_path / "replayed")
    forget_results(replayed.project)
    before = len(server.seen)
    ended = replayed.generate()
    assert ended.status == 0, ended.out + ended.err
    assert replayed.selected() == one.selected()
    assert replayed.cache.read_bytes() == one.cache.read_bytes()
    assert len(server.seen) == before


def test_damaged_answer_is_refused_by_its_line(published: tuple[Studio, Server], tmp_path: Path) -> None:
    one, _ = published
    damaged = one.copy(tmp_path / "damaged")
    lines = damaged.cache.read_bytes().splitlines(keepends=True)
    at = lines[1].index(b'"float64_le":"') + 20
    lines[1] = lines[1][:at] + bytes([lines[1][at] ^ 1]) + lines[1][at + 1 :]
    damaged.cache.write_bytes(b"".join(lines))
    ended = damaged.generate()
    assert ended.status == 1
    assert ended.blocks == [
        f"{damaged.cache}:2: model_io_cache_invalid: `response_hash` is not that of the response\n"
        "  fix: restore the file from a copy, or delete the line to have it asked for again"
    ]


def test_answer_that_is_gone_is_asked_for_again_and_another_one_is_another_result(
    published: tuple[Studio, Server], tmp_path: Path
) -> None:
    one, server = published
    other = one.copy(tmp_path / "other")
    lines = other.cache.read_bytes().splitlines(keepends=True)
    other.cache.write_bytes(b"".join(lines[1:]))
    ended = other.generate()
    assert (ended.status, ended.blocks[-1]) == (
        1,
        "model_provider_invalid: semantic_deduplication_config.model_identifier: `vendor/org/e5` is to be asked, but "
        "BFCL_MODEL_HOME and DATA_DESIGNER_HOME name no directory\n"
        "  fix: write `model_providers.yaml` into a directory and export BFCL_MODEL_HOME with its path",
    )
    before = len(server.seen)
    server.manners = [saying(embeddings([[1.0] * DIMENSIONS]))]
    try:
        ended = other.live()
    finally:
        server.manners = [well]
    assert ended.status == 0, ended.out + ended.err
    assert [len(seen.texts) for seen in server.seen[before:]] == [1]
    assert other.project.merges("computed") == ["dedup_balancing", "final_output"]
    found, was = (each.project.manifest()["semantic_deduplication"]["embedding_signature"] for each in (other, one))
    assert found != was
    assert "up to date" in other.generate().out


def test_missing_registry_or_credential_ends_the_run_before_any_stage(
    published: tuple[Studio, Server], tmp_path: Path
) -> None:
    one, server = published
    fresh = Studio(write_project(tmp_path / "fresh", templates=ALL_POLICIES, **SELECTION), one.home)
    before = len(server.seen)
    ended = fresh.generate()
    assert (ended.status, len(ended.blocks)) == (1, 1)
    assert ended.blocks[0].startswith("model_provider_invalid: semantic_deduplication_config.model_identifier: ")
    ended = fresh.generate(BFCL_MODEL_HOME=str(one.home))
    assert (ended.status, len(ended.blocks)) == (1, 1)
    assert ended.blocks[0].startswith("model_credential_missing: VENDOR_KEY: ")
    assert not (fresh.project.build / "refs").exists()
    assert len(server.seen) == before


def test_refused_credential_stops_the_run_at_once_and_shows_nothing(tmp_path: Path) -> None:
    with serving(echoing(401)) as server:
        one = studio(tmp_path, server)
        ended = one.live()
    assert ended.status == 1
    assert ended.blocks[-1].startswith("authentication_failed: vendor/org/e5: answered HTTP 401 (")
    assert "[user]" not in ended.out + ended.err
    assert len(server.seen) == 1
    assert not one.cache.exists()
    assert one.project.published() == []
    assert one.secret_free()


def test_run_that_failed_in_the_middle_asks_only_for_the_rest(tmp_path: Path) -> None:
    with serving(well, refusing(400), well) as server:
        one = studio(tmp_path, server)
        ended = one.live()
        assert ended.blocks[-1].startswith("provider_rejected: vendor/org/e5: answered HTTP 400 (2 bytes, sha256:")
        assert len(one.cache.read_bytes().splitlines()) == 5
        ended = one.live()
        assert ended.status == 0, ended.out + ended.err
    first, failed, *rest = server.seen
    asked = [text for seen in (first, *rest) for text in seen.texts]
    assert len(asked) == len(set(asked)) == len(one.cache.read_bytes().splitlines())
    assert failed.texts == rest[0].texts


def one_task_a_category(root: Path, templates: tuple[str, ...]) -> Project:
    asked = {
        **SELECTION,
        "task_generation__tasks_per_category": 1,
        "task_generation__candidate_tasks_per_category": 1,
        "task_generation__target_published_tasks": 1,
    }
    return write_project(root, templates=templates, **asked)


def test_single_row_is_published_without_registry_credential_or_request(tmp_path: Path) -> None:
    project = one_task_a_category(tmp_path / "project", ("kiln_status",))
    ended = project.doit("generate")
    assert ended.status == 0, ended.out + ended.err
    assert len(project.rows()) == 1
    assert project.manifest()["semantic_deduplication"]["embedding_signature"] is None


def test_missing_registry_is_told_when_two_rows_are_to_be_compared_where_that_was_not_sure(tmp_path: Path) -> None:
    project = one_task_a_category(tmp_path / "project", ("kiln_status", "out_of_scope"))
    ended = project.doit("generate")
    assert (ended.status, ended.blocks[-1]) == (
        1,
        "model_provider_invalid: semantic_deduplication_config.model_identifier: `vendor/org/e5` is to be asked, but "
        "BFCL_MODEL_HOME and DATA_DESIGNER_HOME name no directory\n"
        "  fix: write `model_providers.yaml` into a directory and export BFCL_MODEL_HOME with its path",
    )
    assert project.published() == []
