"""The benches work and their table has its form; how fast anything is, no test says."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.bench.__main__ import BENCHES, COLUMNS, main, measure, row
from tests.bench.generate import write_story
from tests.bench.measure import Bench, Measurement, Samples, Target, counted_file_access, failed
from tests.engine.story_builder import tree

LIKE_OTHERS = ("list.move", "list.page", "typing.script", "idle", "chat.streaming", "soak")
"""Benches that drive the editor as another one does: they take long, and break with it."""


@pytest.mark.parametrize("name", [name for name in BENCHES if name not in LIKE_OTHERS])
def test_every_bench_gives_lines_of_the_table(name: str) -> None:
    shown: list[Measurement] = []
    with Bench(quick=True) as bench:
        lines = measure([name], bench, shown.append)
        folder = bench.folder
    assert lines == shown
    assert lines
    assert len({line.name for line in lines}) == len(lines)
    for line in lines:
        assert not math.isnan(line.value), line.note
        assert line.name.startswith(name)
        assert line.unit
        assert line.met is None or line.target is not None
        document = line.document()
        assert set(document) >= set(COLUMNS)
        assert document["value"] is not None
    assert not folder.exists()


def test_names_choose_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--json", "compile.warm.30", "script.stop.loop"]) == 0
    assert [line["name"] for line in json.loads(capsys.readouterr().out)] == ["compile.warm.30", "script.stop.loop"]


def test_an_unknown_name_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compiel"])
    assert ended.value.code == 2
    assert "compile.warm" in capsys.readouterr().err


def test_a_bench_that_fails_is_a_line_and_only_strict_minds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(bench: Bench) -> list[Measurement]:
        raise RuntimeError("no paper\nin the tray")

    monkeypatch.setitem(BENCHES, "broken", broken)
    assert main(["--quick", "broken"]) == 0
    assert main(["--quick", "--strict", "broken"]) == 1
    header, line, *_ = capsys.readouterr().out.splitlines()
    assert header.split() == list(COLUMNS)
    assert line.startswith("broken")
    assert line.endswith("failed: RuntimeError: no paper")


def test_a_target_is_met_by_the_value_or_the_ratio() -> None:
    assert Measurement("a", 1024, "B", target=Target(1024)).met is True
    assert Measurement("a", 1025, "B", target=Target(1024)).met is False
    assert Measurement("a", 9000, "ms", 1.4, Target(1.5, "ratio")).met is True
    assert Measurement("a", 0.1, "ms", 1.6, Target(1.5, "ratio")).met is False
    assert Measurement("a", 9000, "ms").met is None
    assert failed("a", ValueError("b")).met is False


def test_a_line_shows_value_ratio_target_and_whether_it_is_met() -> None:
    line = Samples([0.004, 0.002, 0.003], [0.001, 0.002, 0.004]).measurement("a", "ms", 1000, 3, "against b")
    assert (line.value, line.low) == (3, 2)
    assert (line.ratio, line.ratio_low) == (1.5, 2)
    assert row(line).split() == ["a", "3", "ms", "1.50×", "≤", "3×", "yes", "against", "b"]


def test_a_story_is_the_same_each_time_and_as_large_as_asked(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_story(tmp_path / name / "tide", 90, 12, True)
    one, two = tree(tmp_path / "one"), tree(tmp_path / "two")
    assert one == two
    fragments = [name for name in one if "/fragments/" in name.replace("\\", "/")]
    assert len(fragments) == 90
    config = json.loads((tmp_path / "one/tide/branches/main/agent-blocks/generation.writer.json").read_bytes())
    assert [block["type"] for block in config["customBlocks"]] == ["script"] + ["simple"] * 11


def test_file_accesses_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "a"
    with counted_file_access() as touched:
        file.exists()
        file.write_bytes(b"")
        list(tmp_path.iterdir())
    assert touched == ["stat", "open", "listdir"]
    file.exists()
    assert len(touched) == 3
