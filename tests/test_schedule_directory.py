"""A directory of schedule files, and what becomes of an engine's schedules; looks are asked for."""

import asyncio
import gc
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from engine.app import Engine
from engine.config import Config
from engine.core.credentials import MASK
from engine.core.errors import ConfigError
from engine.core.fields import FAULTS_MAX
from engine.core.labels import ScheduleFilter
from engine.schedule_directory import (
    BYTES_MAX,
    LOOKS_BEFORE_RETRY,
    PUT_AT_ONCE,
    SCHEDULES_MAX,
    SchedulesDirectory,
    check_directory,
)
from engine.services.log_masks import mask_secrets

TARGET = {"url": "http://127.0.0.1:9/"}
Scene = Callable[[Engine, SchedulesDirectory, Path], Awaitable[None]]


def keep(scene: Scene, tmp_path: Path) -> None:
    """Play a scene with an engine and the directory `files` that it is kept like."""

    async def play() -> None:
        files = tmp_path / "files"
        files.mkdir()
        async with Engine(Config(data_dir=tmp_path / "data")) as engine:
            directory = SchedulesDirectory(
                files,
                engine.schedules,
                tenant=engine.tenant,
                subsecond=engine.subsecond,
                registry=engine.registry,
            )
            await scene(engine, directory, files)

    asyncio.run(play())


def write(path: Path, **every: int) -> None:
    schedules = {name: {"every": seconds, "target": TARGET} for name, seconds in every.items()}
    path.write_text(json.dumps({"schedules": schedules}))


async def stored(engine: Engine) -> dict[str, int]:
    page, _ = await engine.schedules.page(ScheduleFilter(), limit=100, after_name=None)
    return {each.definition.name: each.definition.trigger.every_seconds for each in page}


def ok(engine: Engine) -> float | None:
    return engine.registry.get_sample_value("scheduler_schedules_directory_ok")


def test_files_are_applied_at_the_start_and_when_two_looks_agree_that_they_changed(tmp_path: Path):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        write(files / "a.json", a=60, b=60)
        (files / ".hidden.json").write_text("{")
        (files / "notes.txt").write_text("{")
        await directory.start()
        assert await stored(engine) == {"a": 60, "b": 60}
        write(files / "a.json", a=300)
        await directory.look()
        write(files / "c.json", c=60)
        await directory.look()
        assert await stored(engine) == {"a": 60, "b": 60}
        await directory.look()
        assert await stored(engine) == {"a": 300, "c": 60}
        assert ok(engine) == 1

    keep(scene, tmp_path)


def test_the_swap_of_one_symlink_is_a_change_of_all_files(tmp_path: Path):
    """As the kubelet does it: files are links through `..data`, which is replaced."""

    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        for version, seconds in (("..1", 60), ("..2", 300)):
            (files / version).mkdir()
            write(files / version / "a.json", a=seconds)
        (files / "..data").symlink_to("..1")
        (files / "a.json").symlink_to("..data/a.json")
        await directory.start()
        assert await stored(engine) == {"a": 60}
        (files / "..data_tmp").symlink_to("..2")
        (files / "..data_tmp").replace(files / "..data")
        await directory.start()
        assert await stored(engine) == {"a": 300}

    keep(scene, tmp_path)


def test_bad_files_leave_the_last_good_state_until_they_are_mended(tmp_path: Path):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        write(files / "a.json", a=60)
        await directory.start()
        refused = '{"schedules": {"b": {"every": 0, "target": {"url": "http://h"}}}}'
        for broken in ("{", refused, '{"schedules": ' + "[" * 50_000):
            (files / "b.json").write_text(broken)
            await directory.start()
            assert (await stored(engine), ok(engine)) == ({"a": 60}, 0)
        write(files / "b.json", b=60)
        await directory.start()
        assert (await stored(engine), ok(engine)) == ({"a": 60, "b": 60}, 1)
        (files / "c.json").write_text("{")
        await directory.start()
        assert ok(engine) == 0
        (files / "c.json").unlink()
        await directory.start()
        assert (await stored(engine), ok(engine)) == ({"a": 60, "b": 60}, 1)

    keep(scene, tmp_path)


def test_all_or_nothing_is_put_when_the_engine_refuses_one(tmp_path: Path):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        write(files / "a.json", a=60)
        metadata = {"every": 60, "target": {"url": "http://169.254.169.254/"}}
        (files / "z.json").write_text(json.dumps({"schedules": {"z": metadata}}))
        await directory.start()
        assert (await stored(engine), ok(engine)) == ({}, 0)

    keep(scene, tmp_path)


def test_a_directory_without_schedules_deletes_nothing_and_others_are_never_deleted(tmp_path: Path):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        await engine.schedules.put({"name": "by-hand", "every": 60, "target": TARGET})
        write(files / "a.json", a=60)
        write(files / "b.json", b=60)
        await directory.start()
        (files / "b.json").unlink()
        await directory.start()
        assert await stored(engine) == {"a": 60, "by-hand": 60}
        (files / "a.json").unlink()
        await directory.start()
        await asyncio.to_thread(files.rmdir)
        await directory.start()
        assert (await stored(engine), ok(engine)) == ({"a": 60, "by-hand": 60}, 0)

    keep(scene, tmp_path)


def test_what_is_no_directory_is_refused_before_an_engine_starts(tmp_path: Path):
    check_directory(tmp_path)
    (tmp_path / "file").touch()
    for name, reason in (("gone", "No such file or directory"), ("file", "Not a directory")):
        with pytest.raises(ConfigError) as refused:
            check_directory(tmp_path / name)
        assert str(refused.value).startswith(f"--schedules {tmp_path / name}: {reason}; ")


async def refusal(directory: SchedulesDirectory) -> str:
    with capture_logs() as lines:
        await directory.start()
    [line] = [line for line in lines if line["event"] == "schedules_not_applied"]
    return str(line["reason"])


def test_more_than_an_engine_follows_is_refused(tmp_path: Path):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        write(files / "a.json", a=60)
        await directory.start()
        (files / "b.json").write_text('{"schedules": {}}' + " " * BYTES_MAX)
        said = f"a directory that is followed has {BYTES_MAX:,} at most, and offbeat apply takes"
        assert said in await refusal(directory)
        write(files / "b.json", **{f"b{number}": 60 for number in range(SCHEDULES_MAX)})
        assert f"{SCHEDULES_MAX + 1:,} schedules; a directory that" in await refusal(directory)
        assert (await stored(engine), ok(engine)) == ({"a": 60}, 0)

    keep(scene, tmp_path)


def test_more_than_one_commit_is_put_whole_or_not_at_all(tmp_path: Path):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        many = {f"a{number}": 60 for number in range(PUT_AT_ONCE + 1)}
        write(files / "a.json", **many, z=0)
        assert "z/every: " in await refusal(directory)
        assert await stored(engine) == {}
        write(files / "a.json", **many)
        await directory.start()
        assert await stored(engine) == many

    keep(scene, tmp_path)


def test_the_faults_of_all_files_are_told_at_once_up_to_a_bound(tmp_path: Path):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        write(files / "a.json", no_seconds=0, fine=60)
        (files / "b.json").write_text(
            '{"schedules": {"metadata": {"every": 60, "target": {"url": "http://169.254.169.254/"}},'
            ' "half": {"every": 60, "target": {"url": "http://h.example/", "body": "\\ud800"}}}}'
        )
        said = await refusal(directory)
        for place in ("no_seconds/every: ", "metadata/target/url: ", "half: \\ud800 is half"):
            assert place in said
        write(files / "a.json", **{f"a{number}": 0 for number in range(FAULTS_MAX + 1)})
        assert (await refusal(directory)).count("; ") == FAULTS_MAX - 1

    keep(scene, tmp_path)


def test_why_a_header_is_refused_is_in_the_log_and_its_value_is_not(tmp_path: Path):
    target = "a/target/headers/"

    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        for headers, reasons in (
            ({"Authorization": MASK}, ["Authorization: the mask keeps a stored value"]),
            (
                {"Authorization": "Bearer c4nary\u00e9", "X-Api-Key": "c4nary\n", "TE": "c4nary"},
                [
                    "Authorization: a header value is visible ASCII",
                    "X-Api-Key: a header value is visible ASCII",
                    "TE: the engine or HTTP itself sets this header",
                ],
            ),
            ({"Set-Cookie": {"c4nary": "c4nary"}}, ["Set-Cookie: write the value as text"]),
        ):
            schedule = {"every": 60, "target": {**TARGET, "headers": headers}}
            (files / "a.json").write_text(json.dumps({"schedules": {"a": schedule}}))
            event = {"event": "schedules_not_applied", "reason": await refusal(directory)}
            said = mask_secrets(None, "warning", event)["reason"]
            assert [target + reason in said for reason in reasons] == [True] * len(reasons), said
            assert "c4nary" not in said

    keep(scene, tmp_path)


def test_an_instant_that_is_past_stands_in_nobodys_way_unless_it_would_change_a_schedule(
    tmp_path: Path,
):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        past = {"at": "2020-01-01T00:00:00Z", "target": TARGET}
        write(files / "a.json", a=60)
        (files / "b.json").write_text(json.dumps({"schedules": {"b": past}}))
        with capture_logs() as lines:
            await directory.start()
        assert (await stored(engine), ok(engine)) == ({"a": 60}, 1)
        assert [line["past"] for line in lines] == [1]
        (files / "b.json").write_text(json.dumps({"schedules": {"b": past, "a": past}}))
        (files / "a.json").unlink()
        assert "a/at: is more than ten seconds past" in await refusal(directory)
        metadata = {**past, "target": {"url": "http://169.254.169.254/"}}
        (files / "b.json").write_text(json.dumps({"schedules": {"b": metadata}}))
        assert "b/target/url: " in await refusal(directory)

    keep(scene, tmp_path)


def test_a_fault_is_told_with_its_file_and_line(tmp_path: Path):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        (files / "a.yaml").write_text("schedules:\n  fine: {every: 1, target: {url: http://h}}\n")
        (files / "b.yaml").write_text(
            "schedules:\n  # b\n  b: {evry: 1, target: {url: http://h}}\n"
        )
        said = await refusal(directory)
        assert said.startswith(f"{files / 'b.yaml'}:3: b/evry: unknown field; did you mean")
        (files / "b.yaml").write_text("- a\n")
        assert (await refusal(directory)).startswith(f"{files / 'b.yaml'}: it declares nothing")

    keep(scene, tmp_path)


def test_a_pipe_is_never_read_and_said_to_be_none_of_the_files(tmp_path: Path):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        write(files / "a.json", a=60)
        os.mkfifo(files / "b.json")
        assert await refusal(directory) == f"{files / 'b.json'}: only regular files are read"
        (files / "b.json").unlink()
        await directory.start()
        assert (await stored(engine), ok(engine)) == ({"a": 60}, 1)

    keep(scene, tmp_path)


def test_a_file_of_the_same_size_is_another_by_its_inode_or_its_time(tmp_path: Path):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        path, swapped = files / "a.json", files / "a.json.new"
        write(path, a=60)
        written = path.stat().st_mtime_ns
        await directory.start()
        write(swapped, a=70)
        os.utime(swapped, ns=(written, written))
        swapped.replace(path)
        await directory.start()
        assert await stored(engine) == {"a": 70}
        write(path, a=80)
        os.utime(path, ns=(written + 1, written + 1))
        await directory.start()
        assert await stored(engine) == {"a": 80}

    keep(scene, tmp_path)


def test_the_collector_works_again_whatever_became_of_the_files(tmp_path: Path):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        for content in ("{", '{"schedules": {}}'):
            (files / "a.json").write_text(content)
            await directory.start()
            assert gc.isenabled()

    keep(scene, tmp_path)


def test_what_the_files_do_not_explain_is_tried_again(tmp_path: Path):
    async def scene(engine: Engine, directory: SchedulesDirectory, files: Path) -> None:
        theirs = {"name": "a", "every": 9, "labels": {"offbeat/set": "web"}, "target": TARGET}
        await engine.schedules.put(theirs)
        write(files / "a.json", a=60)
        await directory.start()
        await engine.schedules.delete("a")
        for _ in range(LOOKS_BEFORE_RETRY - 1):
            await directory.look()
        assert (await stored(engine), ok(engine)) == ({}, 0)
        await directory.look()
        assert (await stored(engine), ok(engine)) == ({"a": 60}, 1)

    keep(scene, tmp_path)
