"""The direction being written outlives the program."""

from __future__ import annotations

from pathlib import Path

from engine.runs import Directions


def test_a_direction_is_kept_for_each_branch_until_it_is_emptied(tmp_path: Path) -> None:
    directions = Directions(tmp_path / "directions")
    main, other = tmp_path / "story" / "main", tmp_path / "story" / "br-tokumi"
    assert directions.read(main) == ""
    directions.write(main, "Let the storm arrive.\r\n☂")
    directions.write(other, "Nothing happens.")
    assert Directions(tmp_path / "directions").read(main) == "Let the storm arrive.\r\n☂"
    directions.write(main, "")
    assert (directions.read(main), directions.read(other)) == ("", "Nothing happens.")


def test_a_lone_surrogate_does_not_stand_in_the_way(tmp_path: Path) -> None:
    directions = Directions(tmp_path)
    directions.write(tmp_path, "half \ud83d")
    assert directions.read(tmp_path) == "half ?"
