"""diff: what a compiled prompt says that another did not."""

from __future__ import annotations

import json
from pathlib import Path

from engine import Workspace
from engine.runs import Run as Generation
from tests.cli.conftest import Run, files_of
from tests.stories import config_file, custom_block, make_story


def write_config(story: Path, branch: str = "main") -> None:
    file = config_file(story, branch=branch)
    file.parent.mkdir(parents=True, exist_ok=True)
    config = {
        "customBlocks": [custom_block("cb-tides1", "High at nine.", name="Tides")],
        "overrides": {"instructions": {"contentMode": "append", "customContent": "港口的灯。"}},
    }
    file.write_text(json.dumps(config), "utf-8")


def test_nothing_is_printed_where_nothing_differs(run: Run, story: Path) -> None:
    done = run("diff", "the-quay")
    assert (done.code, done.out) == (0, b"")
    assert run("diff", "the-quay", "--json").document["same"] is True


def test_against_the_default(run: Run, data: Path, story: Path) -> None:
    write_config(story)
    before = files_of(data)
    done = run("diff", "the-quay", "writer")
    assert done.code == 0
    lines = done.text.splitlines()
    assert lines[0].startswith("~ [system] instructions: +")
    assert "    + 港口的灯。" in lines
    assert any(line.startswith("+ [user] Tides (cb-tides1): +") for line in lines)
    document = run("diff", "the-quay", "writer", "--json").document
    assert (document["against"], document["same"], document["byMessage"]) == ("default", False, False)
    assert [(change["id"], change["change"]) for change in document["changed"]] == [
        ("instructions", "changed"),
        ("cb-tides1", "added"),
    ]
    first = document["changed"][0]
    assert first["lines"][-1] == {"sign": "+", "text": "港口的灯。", "marks": None}
    assert first["tokens"]["after"] - first["tokens"]["before"] > 0
    assert document["tokens"]["after"] > document["tokens"]["before"]
    assert files_of(data) == before


def test_against_another_branch_and_a_direction(run: Run, data: Path) -> None:
    story = make_story(data, branches=("main", "stormy"))
    write_config(story, "stormy")
    changed = run("diff", "the-quay", "--against", "branch:stormy", "--json").document["changed"]
    assert [(change["id"], change["change"]) for change in changed] == [
        ("instructions", "changed"),
        ("cb-tides1", "removed"),
    ]
    assert run("diff", "the-quay", "--branch", "stormy", "--against", "branch:stormy").text == ""
    assert run("diff", "the-quay", "--input", "Let it rain.").text == ""
    for against, code in (("branch:nowhere", 1), ("branch:", 2), ("yesterday", 2)):
        done = run("diff", "the-quay", "--against", against)
        assert done.code == code and len(done.err.splitlines()) == 1 and done.out == b"", against


def test_against_what_was_sent_last(run: Run, data: Path, story: Path, tmp_path: Path) -> None:
    done = run("diff", "the-quay", "--against", "sent")
    assert done.code == 1 and "was sent nothing on branch main yet" in done.err
    workspace = Workspace(data, state=tmp_path / "state", journal=False)
    prompt = workspace.prompt("the-quay")
    generation = Generation(prompt, workspace.wires.of(prompt, words_per_second=0))
    workspace.generate(generation).result(10)
    saved = workspace.passages.keep(generation)
    workspace.close()
    changed = run("diff", "the-quay", "--against", "sent", "--json").document
    assert [change["id"] for change in changed["changed"]] == ["prose-recent"] and changed["at"]
    log = story / "branches/main/generation-logs" / f"{saved.log_id}.json"
    document = json.loads(log.read_text("utf-8"))
    del document["stonehand"]
    log.write_text(json.dumps(document), "utf-8")
    done = run("diff", "the-quay", "--against", "sent")
    assert done.text.startswith("~ [user] user: +") and "whole messages are compared" in done.err


def test_about_a_fragment(run: Run, story: Path) -> None:
    assert run("diff", "the-quay", "librarian.refine", "--target", "kn-mirafa").code == 0
    done = run("diff", "the-quay", "librarian.refine", "--target", "kn-nobody")
    assert done.code == 1 and "there is no fragment kn-nobody" in done.err
