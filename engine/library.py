"""Which data folder to open, and the sample library that fills a new one (design, "The command line")."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from engine.errors import NotFound, StonehandError
from engine.folders import APP

DATA_VARIABLE = "STONEHAND_DATA"
_STORY_PARTS = ("meta.json", "branches", "branches.json", "fragments")
"""What a story's folder holds, one of which tells it from any other (spec, section 1.4)."""


def sample_library() -> Path:
    """The packaged `stories` folder; never edited, only copied."""
    package = Path(__file__).resolve().parent
    inside = package / "sample" / "stories"
    return inside if inside.is_dir() else package.parent / "stories"


def write_config(file: Path, data: bytes, *, expected: bytes | None) -> None:
    """Replace a file of the config folder, whole or not at all; `expected` is what it held, None for a new one.

    Raises `Conflict` when another program has changed it, `StonehandError` when it can't be written.
    """
    from engine.disk import write_atomic  # not needed to start

    write_atomic(file, data, expected=expected)


def find_data(given: Path | None, environ: Mapping[str, str] = os.environ, here: Path | None = None) -> Path:
    """The data folder: the one given, else `STONEHAND_DATA`, else here, else the user's own.

    Here counts when its `stories/` holds a story, be it damaged or not readable, and it is not the program's own: a
    command must not change a story of the same id elsewhere. The user's own folder is filled with the sample library on
    first use. Raises `NotFound` for a given folder without `stories/`, `StonehandError` when the user's own can't be
    made.
    """
    if given is not None:
        return _given(given)
    if environ.get(DATA_VARIABLE):
        return _given(Path(environ[DATA_VARIABLE]), f"{DATA_VARIABLE} names it: ")
    here = here or Path.cwd()
    if _has_story(here) and not _is_own(here):
        return here
    own = Path(platformdirs.user_data_dir(APP, appauthor=False))
    if not (own / "stories").is_dir():
        install_sample(own)
    return own


def install_sample(data: Path) -> None:
    """Copy the sample library into a data folder that has no `stories` yet; whole or not at all.

    Raises `StonehandError` when it can't be copied.
    """
    try:
        data.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".stories-", dir=data))
        try:
            copy = scratch / "stories"
            ignored = shutil.ignore_patterns("__pycache__", ".*")
            shutil.copytree(sample_library(), copy, ignore=ignored, copy_function=shutil.copyfile)
            for folder in (copy, *(item for item in copy.rglob("*") if item.is_dir())):
                folder.chmod(0o755)  # the packaged one may be read-only
            try:
                copy.rename(data / "stories")
            except OSError:
                if not (data / "stories").is_dir():  # another start of the program was first
                    raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        reason = _reason(error)
        raise StonehandError(
            f"the sample library can't be put here: {reason[:1].lower()}{reason[1:]}",
            file=data,
            repair=f"name another data folder with --data or {DATA_VARIABLE}",
        ) from None


def _reason(error: OSError) -> str:
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        # A list of source, target and reason of every file; the reasons are the text of an OSError.
        return str(error.args[0][0][2]).partition("] ")[2].partition(":")[0] or "files can't be copied"
    return error.strerror or str(error)


def _given(folder: Path, why: str = "") -> Path:
    if (folder / "stories").is_dir():
        return folder
    hint = "give the folder that holds stories/"
    if (folder / "meta.json").is_file() and folder.absolute().parent.name == "stories":
        hint = f"this is a story; give {folder.absolute().parent.parent}"
    elif folder.name == "stories":
        hint = f"give {folder.absolute().parent}"
    if folder.is_dir():
        what = "there is no stories folder here"
    else:
        what = "is not a folder" if folder.exists() else "there is no such folder"
    raise NotFound(why + what, file=folder, repair=hint)


def _is_own(folder: Path) -> bool:
    """Whether a folder's stories are the packaged sample: in the program's source, installed from it or not, too."""
    if (folder / "engine" / "workspace" / "__init__.py").is_file() and (folder / "pyproject.toml").is_file():
        return True
    return os.path.realpath(folder / "stories") == os.path.realpath(sample_library())


def _has_story(folder: Path) -> bool:
    try:
        return any(_is_story(child) for child in (folder / "stories").iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # whoever opens it is told why it can't be read


def _is_story(folder: Path) -> bool:
    return folder.is_dir() and any(os.path.lexists(folder / part) for part in _STORY_PARTS)
