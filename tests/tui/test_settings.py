"""What the user has set: the file, the environment over it, and what is ignored with a line that says why."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import StonehandError
from tui.settings import NAMES, Values, read_settings, save_setting, variable, with_value


def settings(folder: Path, text: str = "", **environ: str) -> tuple[Values, list[str]]:
    """The values, and the problems without the folder in front."""
    if text:
        (folder / "settings.toml").write_text(text, "utf-8")
    found = read_settings(environ, folder)
    return found.values, [str(problem).replace(f"{folder}/", "") for problem in found.problems]


def test_nothing_is_set(tmp_path: Path) -> None:
    assert settings(tmp_path) == (Values(), [])
    assert list(tmp_path.iterdir()) == [], "reading writes nothing"


def test_the_file(tmp_path: Path) -> None:
    text = (
        'language = "zh"\ntheme = "nord"\nmouse = false\nfps = 20\nkitty_keys = true\ndiff = false\n'
        "screen_reader = true\n"
    )
    assert settings(tmp_path, text) == (Values("zh", "nord", False, 20, True, False, True), [])


def test_the_environment_goes_first(tmp_path: Path) -> None:
    environ = {variable(name): value for name, value in zip(NAMES, ["en", "", "1", "7", "0", "1", "0"], strict=True)}
    values, problems = settings(tmp_path, 'language = "zh"\ntheme = "nord"\nmouse = false\n', **environ)
    assert values == Values("en", "nord", True, 7, False, True, False), "an empty value counts as none"
    assert problems == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# mine\nfps = 0\n", "settings.toml:2: fps is 0, which is ignored — set it to a whole number from 1 to 120"),
        ("fps = true\n", "settings.toml:1: fps is true, which is ignored"),
        ("fps = 12.5\n", "fps is 12.5, which is ignored"),
        ('mouse = "no"\n', 'settings.toml:1: mouse is "no", which is ignored — set it to true or false'),
        ('language = "fr"\n', 'language is "fr", which is ignored — set it to one of en, zh'),
        ("theme = 1979-05-27\n", 'theme is "1979-05-27", which is ignored'),
        ("\nkity_keys = true\n", "settings.toml:2: there is no setting kity_keys; did you mean kitty_keys?"),
        ("[sound]\nloud = 1\n", "settings.toml:1: there is no setting sound; there are language, theme, mouse"),
        ("fps = \n", "settings.toml is ignored, it is no TOML: Invalid value (at line 1"),
    ],
)
def test_a_wrong_value_is_told_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    values, problems = settings(tmp_path, text)
    assert values == Values()
    assert len(problems) == 1 and problem in problems[0]


@pytest.mark.parametrize(
    ("name", "value"), [("fps", "fast"), ("fps", "0"), ("fps", "121"), ("fps", "٣"), ("mouse", "yes"), ("diff", "on")]
)
def test_a_wrong_value_of_the_environment_leaves_the_files(tmp_path: Path, name: str, value: str) -> None:
    values, problems = settings(tmp_path, "fps = 9\n", **{variable(name): value})
    assert values == Values(fps=9)
    assert len(problems) == 1 and problems[0].startswith(f'{variable(name)} is "{value}", which is ignored — set it')


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_bytes(b"\xff")
    assert "is no TOML" in settings(tmp_path)[1][0]
    (tmp_path / "settings.toml").unlink()
    (tmp_path / "settings.toml").mkdir()
    assert "can't be read" in settings(tmp_path)[1][0]


def test_keeping_a_choice_keeps_all_else(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "settings.toml"
    assert save_setting(file, "theme", "nord")
    assert file.read_text("utf-8") == 'theme = "nord"\n'
    file.write_text('# mine\nfps = 20  # slow link\ntheme = "nord" # dark\n\n[other]\ntheme = 1\n', "utf-8")
    assert save_setting(file, "theme", "textual-light")
    assert save_setting(file, "language", "zh")
    assert file.read_text("utf-8") == (
        '# mine\nfps = 20  # slow link\ntheme = "textual-light" # dark\n\nlanguage = "zh"\n[other]\ntheme = 1\n'
    )


def test_a_value_of_several_lines_is_written_anew_and_told(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('# mine\ntheme = """\nnord"""\nfps = 3\n', "utf-8")
    assert not save_setting(file, "theme", "dracula")
    assert tomllib.loads(file.read_text("utf-8")) == {"theme": "dracula", "fps": 3}


def test_a_file_that_can_not_be_read_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("fps = \n", "utf-8")
    with pytest.raises(StonehandError, match="line 1"):
        save_setting(file, "theme", "nord")
    assert file.read_text("utf-8") == "fps = \n"


KEYS = st.sampled_from(["theme", "fps", "other", "a.theme", '"theme"'])
VALUES = st.sampled_from(['"x"', "'#'", "3", '"""\na\n"""', "[1, 2]", "{ a = 1 }", '"# \\" theme = 1"'])
LINES = st.one_of(
    st.tuples(KEYS, VALUES, st.sampled_from(["", " # theme = 1"])).map(
        lambda parts: f"{parts[0]} = {parts[1]}{parts[2]}"
    ),
    st.sampled_from(["", "# theme = 4", "[table]", "[[array]]", "  [theme.more]"]),
)


@given(st.lists(LINES, max_size=6).map("\n".join))
def test_whatever_the_file_holds_only_the_one_value_changes(text: str) -> None:
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    after, kept = with_value(text, "theme", "nord")
    assert tomllib.loads(after) == {**before, "theme": "nord"}
    if kept:
        assert [line for line in text.split("\n") if line.startswith("#")] == [
            line for line in after.split("\n") if line.startswith("#")
        ]
