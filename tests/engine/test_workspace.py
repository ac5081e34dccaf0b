"""The door: stories and agents, saving beside other programs, the old layout, watching, closing."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine import disk
from engine.agents.sources import Planning, Sources
from engine.document import SaveState
from engine.errors import Conflict, InvalidFile, NotFound, StonehandError, WrongInput
from engine.prompt import assemble
from engine.runs import Run
from engine.scripts import Limits
from engine.session import Session
from engine.workspace import Workspace
from tests.engine.conftest import STORY, WRITER
from tests.engine.story_builder import tree
from tests.stories import config_file, custom_block, fragment, make_story

Open = Callable[..., Workspace]


def loaded(workspace: Workspace, branch: str | None = None) -> Session:
    session = workspace.session(STORY, WRITER, branch)
    session.install(session.load())
    return session


def until(condition: Callable[[], object], seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.02)


def overrides(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_bytes())["overrides"])


# -- stories and agents


@pytest.mark.skipif(os.name != "posix", reason="file modes as on Unix")
def test_a_direction_being_written_is_the_users_own(workspace: Workspace, story: Path) -> None:
    workspace.passages.remember_direction(STORY, "main", "She opens the door.")
    assert stat.S_IMODE((workspace.state / "directions").stat().st_mode) == 0o700
    assert workspace.passages.direction(STORY, "main") == "She opens the door."


def test_stories_and_agents(data: Path, opened: Open) -> None:
    make_story(data, branches=("main", "br-two"), active="br-two", configs={WRITER: {"disabledTools": ["x"]}})
    broken = make_story(data, "broken")
    (broken / "meta.json").write_text("{", "utf-8")
    (data / "stories" / "no-story").mkdir()
    workspace = opened()
    damaged, quay = workspace.stories()
    assert damaged.id == "broken"
    assert damaged.problem is not None
    assert damaged.problem.file == broken / "meta.json"
    assert (quay.name, quay.active_branch) == ("The Quay", "br-two")
    assert [(branch.id, branch.name) for branch in quay.branches] == [("main", "Main"), ("br-two", "Br-Two")]
    agents = workspace.agents(STORY)
    assert len(agents) == 9
    assert [agent.name for agent in agents if agent.customised] == [WRITER]


@pytest.mark.parametrize("story", ["../the-quay", "..", "", "a/b", "/etc", "a\0b", "\ud800"])
def test_story_ids_lead_nowhere_else(workspace: Workspace, story: str) -> None:
    with pytest.raises(WrongInput):
        workspace.story(story)


def test_what_is_not_there_is_named_with_what_is(workspace: Workspace) -> None:
    with pytest.raises(NotFound, match="no story 'nowhere' — stories: the-quay"):
        workspace.story("nowhere")
    with pytest.raises(NotFound, match="no branch 'br-none' — branches: main"):
        workspace.session(STORY, WRITER, "br-none")
    for name in ("../../evil", "generation.nobody"):
        with pytest.raises(NotFound, match=r"no agent '.*' — .*agents: generation\.writer"):
            workspace.document(STORY, name)
    prompt = workspace.prompt(STORY)
    for provider in ("gpt", "replay:gen-none", "replay:../../meta"):
        with pytest.raises((NotFound, WrongInput)):
            workspace.wires.of(prompt, provider)


def test_ids_in_files_never_lead_out_of_the_story(story: Path, opened: Open) -> None:
    index = json.loads((story / "branches.json").read_text())
    index["branches"] += [{"id": "../../x", "name": "Out"}, {"id": "..", "name": "Up"}]
    (story / "branches.json").write_text(json.dumps(index), "utf-8")
    odd = {**fragment("../../evil", "knowledge", "odd"), "sticky": True}
    (story / "branches/main/fragments/kn-odd123.json").write_text(json.dumps(odd), "utf-8")
    before = tree(story.parents[2])
    workspace = opened()
    assert workspace.story(STORY).branches().ids == ("main",)
    for branch in ("../../x", ".."):
        with pytest.raises(NotFound):
            workspace.session(STORY, WRITER, branch)
    assert "kn-odd123" in {item.id for item in workspace.fragments(STORY)}
    prompt = workspace.prompt(STORY, author_input="Go.")
    run = Run(prompt, workspace.wires.of(prompt, words_per_second=0))
    workspace.generate(run).result(20)
    workspace.passages.keep(run)
    made = {name for name in tree(story.parents[2]) if name not in before}
    assert {Path(name).parts[:4] for name in made if "state" not in name} == {("data", "stories", STORY, "branches")}


# -- saving


def test_a_save_is_done_on_another_thread_and_taken_in_by_the_owner(story: Path, workspace: Workspace) -> None:
    session = loaded(workspace)
    assert workspace.save(session) is None
    session.toggle("tools")
    job = workspace.save(session)
    assert job is not None
    assert job.finish() is None
    assert job.finish() is None
    assert session.document.state is SaveState.SAVED
    assert overrides(config_file(story)) == {"tools": {"enabled": False}}


def slow_saves(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    go = threading.Event()
    replace = disk._replace

    def waiting(temp: Path, target: Path) -> None:
        assert go.wait(20)
        replace(temp, target)

    monkeypatch.setattr(disk, "_replace", waiting)
    return go


def test_edits_made_while_a_save_is_under_way_are_saved_after_it(
    story: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = slow_saves(monkeypatch)
    session = loaded(workspace)
    session.toggle("tools")
    first = workspace.save(session)
    assert workspace.save(session) is None
    assert session.document.saving
    session.toggle("story-info")
    second = workspace.save(session)
    session.toggle("instructions")
    assert first is not None
    assert second is not None
    go.set()
    # Told late, in the wrong order.
    assert second.finish() is None
    assert first.finish() is None
    assert session.document.state is SaveState.UNSAVED
    workspace.save_now(session)
    assert session.document.state is SaveState.SAVED
    assert set(overrides(config_file(story))) == {"tools", "story-info", "instructions"}


def test_going_back_while_a_save_is_under_way_is_written_too(
    story: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = slow_saves(monkeypatch)
    session = loaded(workspace)
    session.toggle("tools")
    workspace.save(session)
    session.undo()
    go.set()
    workspace.save_now(session)
    assert not config_file(story).exists()
    assert session.document.state is SaveState.SAVED


def test_save_now_waits_for_the_save_under_way(
    story: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = slow_saves(monkeypatch)
    session = loaded(workspace)
    session.toggle("tools")
    workspace.save(session)
    threading.Timer(0.1, go.set).start()
    workspace.save_now(session)
    assert session.document.state is SaveState.SAVED
    assert overrides(config_file(story)) == {"tools": {"enabled": False}}


def test_a_failed_save_keeps_the_edits_and_the_next_one_writes_them(
    story: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    session = loaded(workspace)
    session.toggle("tools")
    with monkeypatch.context() as patch:
        patch.setattr(disk, "_write", full)
        with pytest.raises(StonehandError, match=r"generation\.writer\.json: can't be written: no space left"):
            workspace.save_now(session)
        session.toggle("story-info")
        first = workspace.save(session)
        session.toggle("instructions")
        second = workspace.save(session)
        assert [type(job.finish()) for job in (first, second) if job is not None] == [StonehandError] * 2
    assert session.document.state is SaveState.UNSAVED
    assert not config_file(story).exists()
    workspace.save_now(session)
    assert len(overrides(config_file(story))) == 3


def test_two_editors_of_one_agent_lose_nothing(story: Path, opened: Open) -> None:
    one, two = opened(), opened()
    first, second = loaded(one), loaded(two)
    first.toggle("tools")
    one.save_now(first)
    second.toggle("story-info")
    with pytest.raises(Conflict, match="was created by another program; nothing was overwritten"):
        two.save_now(second)
    assert overrides(config_file(story)) == {"tools": {"enabled": False}}
    assert second.document.state is SaveState.CONFLICT
    assert two.save(second) is None
    second.document.merge()
    two.save_now(second)
    assert set(overrides(config_file(story))) == {"tools", "story-info"}
    assert first.document.check_file()
    assert {row.id for row in first.rows if not row.enabled} == {"tools", "story-info"}


def test_unsaved_edits_of_a_running_editor_are_not_taken_over(story: Path, opened: Open) -> None:
    one = opened()
    first = loaded(one)
    first.toggle("tools")
    assert one.journal.flush()
    second = loaded(opened())
    assert not second.document.recovered
    assert second.row("tools").enabled
    second.toggle("story-info")
    one.close()
    third = loaded(opened())
    assert third.document.recovered
    assert [row.id for row in third.rows if not row.enabled] == ["tools"]


def test_an_edit_as_one_step(story: Path, workspace: Workspace) -> None:
    file = config_file(story)
    assert workspace.edit(STORY, WRITER, None, lambda session: session.add("A", "user", "simple")).startswith("cb-")
    data = file.read_bytes()

    def fail(session: Session) -> None:
        session.toggle("tools")
        session.move("nobody", 1)

    with pytest.raises(NotFound):
        workspace.edit(STORY, WRITER, None, fail)
    assert file.read_bytes() == data
    document = workspace.document(STORY, WRITER)
    assert (document.state, document.undo_label) == (SaveState.SAVED, "added A")
    assert document.config.overrides == {}

    # What another program wrote meanwhile is edited, not what was read first.
    file.write_bytes(data.replace(b'"name": "A"', b'"name": "B"'))
    workspace.edit(STORY, WRITER, None, lambda session: session.toggle("tools"))
    assert json.loads(file.read_bytes())["customBlocks"][0]["name"] == "B"
    assert overrides(file) == {"tools": {"enabled": False}}


def test_edits_of_many_threads_are_all_there(story: Path, opened: Open) -> None:
    workspaces = [opened(journal=False) for _ in range(4)]
    jobs = [
        workspace.start(
            lambda workspace=workspace, n=n: workspace.edit(  # type: ignore[misc]
                STORY, WRITER, None, lambda session: session.add(f"N{n}", "user", "simple")
            )
        )
        for n, workspace in enumerate(workspaces * 3)
    ]
    ids = {job.result(30) for job in jobs}
    blocks = json.loads(config_file(story).read_bytes())["customBlocks"]
    assert len(ids) == 12
    assert {block["name"] for block in blocks} == {f"N{n}" for n in range(12)}


def test_an_edit_whose_file_is_changed_in_its_midst_is_refused_whole(story: Path, workspace: Workspace) -> None:
    file = config_file(story)

    def change(session: Session) -> None:
        session.toggle("tools")
        file.parent.mkdir(exist_ok=True)
        file.write_text('{"blockOrder": ["tools"]}', "utf-8")

    with pytest.raises(Conflict):
        workspace.edit(STORY, WRITER, None, change)
    assert file.read_text() == '{"blockOrder": ["tools"]}'
    document = workspace.document(STORY, WRITER)
    document.check_file()
    assert (document.state, document.config.blockOrder) == (SaveState.SAVED, ("tools",))


def test_an_edit_of_an_invalid_config_writes_nothing(story: Path, workspace: Workspace) -> None:
    file = config_file(story)
    file.parent.mkdir()
    file.write_text('{"blockOrder": "tools"}', "utf-8")
    with pytest.raises(InvalidFile):
        workspace.edit(STORY, WRITER, None, lambda session: session.toggle("tools"))
    assert file.read_text() == '{"blockOrder": "tools"}'


# -- the old layout


def entries(folder: Path) -> dict[str, object]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in (folder, *folder.rglob("*"))
    }


def test_opening_and_reading_writes_nothing(data: Path, opened: Open) -> None:
    script = custom_block("cb-count", "return String(ctx.proseFragments.length)", type="script")
    make_story(data, configs={WRITER: {"customBlocks": [script]}})
    make_story(data, "old", legacy=True, configs={WRITER: {"customBlocks": [script]}})
    before = entries(data)
    workspace = opened(watch=True)
    for story in ("old", STORY):
        workspace.agents(story)
        assert workspace.prompt(story, author_input="x").blocks
        session = workspace.session(story, WRITER)
        session.install(session.load())
        session.toggle("tools")
        session.undo()
        assert workspace.save(session) is None
        workspace.fragments(story)
        workspace.wires.names(story)
        assert [finding.message for finding in workspace.doctor(story)] == [
            "the story has the layout from before there were branches"
        ] * (story == "old")
        with pytest.raises(NotFound):
            workspace.edit(story, WRITER, None, lambda session: session.toggle("nobody"))
    workspace.close()
    assert entries(data) == before


def test_the_first_save_gives_an_old_story_its_branches(data: Path, opened: Open) -> None:
    prewriter = "generation.prewriter"
    story = make_story(
        data, legacy=True, configs={WRITER: {"blockOrder": ["tools"]}, prewriter: {"disabledTools": ["a"]}}
    )
    contents = {name: content for name, (content, _) in tree(story).items() if name != "meta.json"}
    workspace = opened()
    session = loaded(workspace)
    other = workspace.document(STORY, prewriter)
    assert session.document.file == story / "agent-blocks" / f"{WRITER}.json"
    session.toggle("tools")
    workspace.save_now(session)
    assert session.document.file == config_file(story)
    after = {name: content for name, (content, _) in tree(story).items()}
    for name, content in contents.items():
        if WRITER not in name:
            assert after[f"branches/main/{name}"] == content
    assert not (story / "fragments").exists()
    assert overrides(config_file(story)) == {"tools": {"enabled": False}}
    # The other open config has moved with the rest: nobody has changed it.
    assert not other.check_file()
    assert (other.config.disabledTools, other.file) == (("a",), config_file(story, prewriter))
    session.toggle("story-info")
    workspace.save_now(session)
    assert set(overrides(config_file(story))) == {"tools", "story-info"}


def test_unsaved_edits_of_an_old_story_are_found_after_another_program_gave_it_branches(
    data: Path, opened: Open
) -> None:
    story = make_story(data, legacy=True, configs={WRITER: {"blockOrder": ["tools"]}})
    one = opened()
    loaded(one).toggle("tools")
    one.close()
    opened(journal=False).edit(
        STORY, "generation.prewriter", None, lambda session: session.set_tool("a", False, ("a",))
    )
    assert config_file(story).exists()
    session = loaded(opened())
    assert session.document.recovered
    assert session.document.state is SaveState.UNSAVED
    assert not session.row("tools").enabled


# -- watching


@contextmanager
def disk_accesses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What this thread does with files, as a list that grows."""
    seen: list[str] = []
    here = threading.get_ident()

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == here:
                seen.append(name)
            return real(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for module, names in ((os, ("stat", "lstat", "scandir", "listdir", "open", "read")), (io, ("open",))):
            for name in names:
                patch.setattr(module, name, counted(name, getattr(module, name)))
        patch.setattr("builtins.open", counted("open", open))
        yield seen


def test_the_counter_of_disk_accesses_counts(
    story: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.base(STORY, WRITER)
    with disk_accesses(monkeypatch) as seen:
        workspace.base(STORY, WRITER)
    assert {"stat", "scandir"} <= set(seen)


def test_each_file_is_read_once_from_the_list_of_stories_to_the_prompt(
    data: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = make_story(data, configs={WRITER: {"blockOrder": ["tools"]}})
    for file in story.rglob("*.json"):
        os.utime(
            file, (1_600_000_000, 1_600_000_000)
        )  # one just written is read again, for it may be written once more
    read: list[str] = []
    real = disk._read

    def counted(path: str, size: int) -> bytes:
        read.append(str(path))
        return real(path, size)

    monkeypatch.setattr(disk, "_read", counted)
    workspace = opened()
    workspace.stories()
    for definition in workspace.definitions():
        if definition.subject is None:
            before = len(read)
            workspace.prompt(STORY, definition.name)
            built = read[before:]
            assert len(set(built)) == len(built), f"{definition.name} reads no file twice"
            if before and definition.name != WRITER:
                # The prewriter's blocks show the writer's, whose config is looked at as it is on disk.
                assert {Path(name).name for name in built} <= {f"{WRITER}.json"}, "what others read is known"
    assert any(name.endswith(f"{WRITER}.json") for name in read)
    assert sum(name.endswith("meta.json") for name in read) == 1


def test_while_watched_an_unchanged_story_costs_no_disk_access(
    story: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = opened(watch=True)
    session = loaded(workspace)
    until(lambda: workspace.story(STORY)._watched)
    base = workspace.base(STORY, WRITER)
    session.install(session.load())
    for _ in range(3):
        with disk_accesses(monkeypatch) as seen:
            assert workspace.base(STORY, WRITER) is base
            session.install(session.load())
            session.toggle("tools")
            assert session.prompt().blocks
        assert seen == []
        time.sleep(0.25)


def test_while_watched_a_changed_fragment_is_seen(story: Path, opened: Open) -> None:
    workspace = opened(watch=True)
    heard: list[tuple[str, frozenset[Path]]] = []
    workspace.watching.listen(lambda story_id, files: heard.append((story_id, files)))
    workspace.base(STORY, WRITER)
    until(lambda: workspace.story(STORY)._watched)
    before = workspace.base(STORY, WRITER)
    file = story / "branches/main/fragments/kn-mirafa.json"
    file.write_text(json.dumps(fragment("kn-mirafa", "knowledge", "Ten berths now.", sticky=True)), "utf-8")

    def seen() -> bool:
        base = workspace.base(STORY, WRITER)
        return base is not before and "Ten berths now." in "".join(block.content for block in base.blocks)

    until(seen)
    until(lambda: any(file in files for story_id, files in heard if story_id == STORY))
    (story / "branches/main/fragments/kn-mirafa.json").unlink()
    until(lambda: workspace.base(STORY, WRITER).snapshot.get("kn-mirafa") is None)


def test_own_saves_seen_by_the_watch_are_no_conflict(story: Path, opened: Open) -> None:
    workspace = opened(watch=True)
    session = loaded(workspace)
    document = session.document
    heard: list[frozenset[Path]] = []
    workspace.watching.listen(lambda _, files: heard.append(files))
    until(lambda: workspace.story(STORY)._watched)
    for n in range(5):
        session.toggle("tools")
        job = workspace.save(session)
        assert job is not None
        job.future.result(10)
        # The watch can be faster than whoever waits for the save, and the next edit faster than both.
        assert not document.check_file()
        session.type_text("story-info", f"{n}")
        assert not document.check_file()
        assert job.finish() is None
        assert not document.check_file()
    until(lambda: any(document.file in files for files in heard))
    assert document.state is SaveState.UNSAVED
    workspace.save_now(session)
    assert not document.check_file()
    assert document.state is SaveState.SAVED


def test_without_a_watch_stamps_are_looked_at(story: Path, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    import watchfiles

    async def no_watch(*_: Any, **__: Any) -> Any:
        raise OSError(28, "inotify watch limit reached")
        yield

    monkeypatch.setattr(watchfiles, "awatch", no_watch)
    workspace = opened(watch=True)
    before = workspace.base(STORY, WRITER)
    file = story / "branches/main/fragments/kn-mirafa.json"
    file.write_text(json.dumps(fragment("kn-mirafa", "knowledge", "Eleven berths.")), "utf-8")
    assert workspace.base(STORY, WRITER) is not before


# -- closing


def engine_threads(before: set[threading.Thread]) -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread not in before and thread.is_alive()}


def test_closing_ends_whatever_goes_on(data: Path, state: Path) -> None:
    endless = custom_block("cb-endless", "for (;;);", type="script")
    more = custom_block("cb-more", "for (;;) 1;", type="script")
    story = make_story(data, configs={WRITER: {"customBlocks": [endless, more]}})
    before = set(threading.enumerate())
    workspace = Workspace(data, state=state, watch=True)
    workspace.scripts.warm()
    session = workspace.session(STORY, WRITER)
    run_prompt = workspace.prompt(make_story(data, "quiet").name)
    run = Run(run_prompt, workspace.wires.of(run_prompt, words_per_second=0.5))
    running = workspace.generate(run)
    loading = workspace.start(session.load)
    preview = workspace.preview(workspace.base(STORY, WRITER), "for (;;) 2;", Limits(seconds=60))
    session.document.apply("x", lambda config: config.model_copy(update={"blockOrder": ("tools",)}))
    job = workspace.save(session)
    until(lambda: workspace.scripts._running is not None)
    assert not run.view().finished
    begun = time.monotonic()
    workspace.close()
    workspace.close()
    assert time.monotonic() - begun < 20
    until(lambda: running.done() and loading.done() and preview.future.done())
    assert job is not None
    assert job.finish() is None
    assert config_file(story).exists()
    until(lambda: not engine_threads(before))
    with pytest.raises(RuntimeError):
        workspace.start(session.load)
    session.document.apply("y", lambda config: config.model_copy(update={"blockOrder": ()}))
    with pytest.raises(StonehandError, match="the program is closing"):
        workspace.save(session)
    workspace.journal.close()


def test_a_workspace_that_was_only_looked_at_has_no_threads_to_end(story: Path, data: Path, state: Path) -> None:
    before = set(threading.enumerate())
    workspace = Workspace(data, state=state, journal=False)
    workspace.prompt(STORY)
    assert engine_threads(before) == set()
    workspace.close()
    assert not state.exists() or not any(state.rglob("*.jsonl"))


def test_a_story_that_is_gone_is_not_made_anew_by_a_save(data: Path, opened: Open) -> None:
    story = make_story(data)
    workspace = opened()
    session = loaded(workspace)
    story.rename(data / "elsewhere")
    session.toggle("tools")
    with pytest.raises(NotFound, match="the story is gone"):
        workspace.save_now(session)
    assert not story.exists()
    (data / "elsewhere").rename(story)
    workspace.save_now(session)
    assert overrides(config_file(story, WRITER)) == {"tools": {"enabled": False}}


# -- edits whose branch is gone


def left_behind(opened: Open, *branches: str) -> Workspace:
    """A workspace of a program that ends with an unsaved edit on each of some branches."""
    first = opened()
    for branch in branches:
        loaded(first, branch).toggle("story-info")
    first.close()
    return opened()


def overrides_of_bundle(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_bytes())["config"]["overrides"])


def test_edits_of_a_branch_that_was_deleted_meanwhile_are_found_and_written_to_a_file(data: Path, opened: Open) -> None:
    make_story(data, branches=("main", "stormy"))
    workspace = left_behind(opened, "main", "stormy")
    assert workspace.rescue.left() == [], "what has a place comes back there"
    workspace.story(STORY).delete_branch("stormy")
    (left,) = workspace.rescue.left()
    assert (left.story, left.branch, left.agent) == (STORY, "stormy", WRITER)
    file = workspace.rescue.write_left(left)
    assert workspace.exchange.plan_import(STORY, file.read_bytes(), file, WRITER).agents
    assert overrides_of_bundle(file) == {"story-info": {"enabled": False}}
    assert workspace.rescue.left() == [] and not left.journal.exists()
    assert loaded(workspace).document.recovered, "the others are not touched"


def test_edits_without_a_place_stay_until_they_are_dropped(data: Path, opened: Open) -> None:
    make_story(data, branches=("main", "stormy"))
    workspace = left_behind(opened, "stormy")
    workspace.story(STORY).delete_branch("stormy")
    assert workspace.rescue.left() == workspace.rescue.left() != []
    workspace.rescue.drop_left(workspace.rescue.left()[0])
    assert workspace.rescue.left() == []


def test_edits_of_a_program_that_runs_are_its_own(data: Path, opened: Open) -> None:
    make_story(data, branches=("main", "stormy"))
    running = opened()
    loaded(running, "stormy").toggle("story-info")
    running.flush()
    workspace = opened()
    workspace.story(STORY).delete_branch("stormy")
    assert workspace.rescue.left() == []
    running.close()
    assert len(workspace.rescue.left()) == 1


def test_a_story_of_the_old_layout_is_not_gone(data: Path, opened: Open) -> None:
    make_story(data, legacy=True)
    assert left_behind(opened, "main").rescue.left() == []


def test_left_edits_that_nothing_can_be_made_of_are_kept(data: Path, opened: Open) -> None:
    make_story(data, branches=("main", "stormy"))
    workspace = left_behind(opened, "stormy")
    workspace.story(STORY).delete_branch("stormy")
    (left,) = workspace.rescue.left()
    left.journal.write_bytes(left.journal.read_bytes().partition(b"\n")[0] + b"\n")
    with pytest.raises(InvalidFile):
        workspace.rescue.write_left(left)
    (left.journal.parent / "zz.broken.jsonl").write_bytes(b"[]")
    assert workspace.rescue.left() == [left]


# -- the watch


def test_a_story_that_goes_away_and_comes_back_is_followed_again(
    story: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.workspace.watching.LOOKED_EVERY", 0.05)
    workspace = opened(watch=True)
    seen: list[frozenset[Path]] = []
    workspace.watching.listen(lambda _, paths: seen.append(paths))
    until(lambda: workspace.story(STORY)._watched, 30)
    copy = story.with_name("elsewhere")
    shutil.copytree(story, copy)
    shutil.rmtree(story)
    until(lambda: not workspace.story(STORY)._watched)
    with pytest.raises(NotFound):
        workspace.prompt(STORY)
    copy.rename(story)  # another folder under the same name
    until(lambda: workspace.story(STORY)._watched)
    assert workspace.prompt(STORY).messages
    seen.clear()
    section = story / "branches/main/fragments/kn-mirafa.json"
    section.write_text(section.read_text("utf-8").replace("Nine berths", "Ten berths"), "utf-8")
    until(lambda: any(section in paths for paths in seen))
    assert workspace.story(STORY).snapshot().fragments["kn-mirafa"].content.startswith("Ten berths")


def test_without_a_watch_changes_are_looked_for(story: Path, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    import watchfiles

    real = watchfiles.awatch

    def refused(*folders: Any, **how: Any) -> Any:
        if not how["force_polling"]:
            raise OSError(28, "No space left on device")  # what Linux says when there are too many watches
        return real(*folders, **how)

    monkeypatch.setattr("engine.workspace.watching.LOOKED_EVERY", 0.1)
    monkeypatch.setattr(watchfiles, "awatch", refused)
    workspace = opened(watch=True)
    seen: list[frozenset[Path]] = []
    lost: list[tuple[str, str]] = []
    workspace.watching.listen(lambda _, paths: seen.append(paths))
    workspace.watching.listen_for_loss(lambda *told: lost.append(told))
    workspace.story(STORY)
    until(lambda: lost)
    until(lambda: frozenset() in seen)  # the first look
    time.sleep(1.1)  # times are compared by the second
    section = story / "branches/main/fragments/kn-mirafa.json"
    section.write_text(section.read_text("utf-8").replace("Nine berths", "Eleven berths"), "utf-8")
    until(lambda: any(section in paths for paths in seen))
    assert lost == [(STORY, "No space left on device")] and not workspace.story(STORY)._watched
    assert workspace.story(STORY).snapshot().fragments["kn-mirafa"].content.startswith("Eleven berths")


def test_a_listener_that_fails_does_not_end_the_watch(story: Path, opened: Open) -> None:
    workspace = opened(watch=True)
    seen: list[str] = []
    lost: list[str] = []

    def fails(_: str, paths: frozenset[Path]) -> None:
        raise ZeroDivisionError("a fault in the program")

    workspace.watching.listen(fails)
    workspace.watching.listen(lambda _, paths: seen.extend(path.stem for path in paths))
    workspace.watching.listen_for_loss(lambda _, reason: lost.append(reason))
    until(lambda: workspace.story(STORY)._watched, 30)
    for name in ("first", "second"):
        (story / "branches/main/fragments" / f"{name}.json").write_text("{}")
        until(partial(seen.__contains__, name))
    assert lost == [] and workspace.story(STORY)._watched


def test_the_prewriters_overrides_count_in_a_run_as_in_the_preview(data: Path, opened: Open) -> None:
    """Spec, section 15, bug 24."""
    overrides = {
        "full-context": {"contentMode": "prepend", "customContent": "Mind the tide tables."},
        "planning-request": {"enabled": False},
        "reasoning-length": {"contentMode": "override", "customContent": "Be brief."},
    }
    make_story(
        data, settings={"generationMode": "prewriter"}, configs={"generation.prewriter": {"overrides": overrides}}
    )
    workspace = opened()
    config = workspace.document(STORY, "generation.prewriter").config
    preview = workspace.prompt(STORY, "generation.prewriter", author_input="Go on.")
    run = Sources(planning=Planning("regenerate", (("Whose scene?", "Tam's."),), 1))
    base = workspace.base(STORY, "generation.prewriter", None, "Go on.", config, sources=run)
    sent = assemble(base, config, workspace.evaluate(base, config))
    for prompt in (preview, sent):
        texts = {block.id: block.content for block in prompt.blocks}
        assert "planning-request" not in texts
        assert texts["reasoning-length"].endswith("Be brief.")
        assert "Mind the tide tables." in texts["full-context"].split("[@block=story-info]")[0]
        assert "[@block=story-info]" in texts["full-context"]
