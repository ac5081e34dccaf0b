"""What stays is not searched for garbage, by a process that asked for that and by no other."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tui import collector


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(collector, "_ours", False)
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    gc.enable()


class Ring:
    """Garbage, once it has no name, that only the collector finds."""

    def __init__(self) -> None:
        self.ring = self


class Page(Ring):
    pass


def searched() -> set[int]:
    """The objects that a full collection looks at, by identity."""
    return {id(thing) for thing in gc.get_objects()}


def test_what_was_loaded_while_it_was_held_is_passed_over() -> None:
    collector.hold()
    assert not gc.isenabled()
    loaded = Ring()
    collector.release()
    assert gc.isenabled()
    assert id(loaded) not in searched()


def test_an_opened_story_is_passed_over_and_garbage_is_not_kept() -> None:
    collector.hold()
    collector.release()
    story = Page()
    Page()
    collector.keep()
    assert id(story) not in searched()
    gc.unfreeze()
    assert [thing for thing in gc.get_objects() if isinstance(thing, Page)] == [story]


def test_nothing_happens_in_a_process_that_never_held_it() -> None:
    thresholds, frozen = gc.get_threshold(), gc.get_freeze_count()
    story = Ring()
    collector.release()
    collector.keep()
    assert id(story) in searched()
    assert (gc.get_threshold(), gc.get_freeze_count()) == (thresholds, frozen)
