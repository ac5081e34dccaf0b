"""The account of tokens of a story."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import Problem
from engine.runs.usage import FLUSH_SECONDS, TokenUsage


class Account:
    """A story's account, whose writes are done when they are asked for."""

    def __init__(self, story: Path) -> None:
        self.story = story
        self.due: list[tuple[float, Callable[[], None]]] = []
        self.problems: list[Problem] = []
        self.usage = TokenUsage(lambda seconds, call: self.due.append((seconds, call)), self.problems.append)

    def count(self, agent: str, model: str, sent: int, received: int) -> None:
        self.usage.add(self.story, agent, model, sent, received)

    @property
    def file(self) -> Path:
        return self.story / "token-usage.json"

    @property
    def document(self) -> dict[str, object]:
        return json.loads(self.file.read_bytes())


@pytest.fixture
def account(story: Path, state: Path) -> Account:
    return Account(story)


def test_counts_are_written_together(account: Account) -> None:
    account.count("generation.writer", "m-1", 10, 2)
    account.count("generation.writer", "m-1", 5, 1)
    account.count("librarian.chat", "", 1, 0)
    account.count("librarian.chat", "m-1", 0, 0)
    assert [seconds for seconds, _ in account.due] == [FLUSH_SECONDS] and not account.file.exists()
    account.due[0][1]()
    document = account.document
    writer = {"inputTokens": 15, "outputTokens": 3, "calls": 2}
    chat = {"inputTokens": 1, "outputTokens": 0, "calls": 1}
    assert document["sources"] == {
        "generation.writer": {"byModel": {"m-1": writer}, **writer},
        "librarian.chat": {"byModel": {"unknown": chat}, **chat},
    }
    assert document["total"] == {"inputTokens": 16, "outputTokens": 3, "calls": 3}
    assert document["byModel"] == {"m-1": writer, "unknown": chat}
    account.count("librarian.chat", "m-1", 1, 1)
    assert len(account.due) == 2


def test_what_is_on_disk_is_added_to_and_kept(account: Account) -> None:
    old = {
        "sources": {"x": {"inputTokens": 7, "outputTokens": 1, "calls": 1, "mine": True}},
        "total": {"inputTokens": 7},
    }
    account.file.write_text(json.dumps({**old, "future": [1]}), "utf-8")
    account.count("x", "m", 3, 1)
    account.usage.flush()
    document = account.document
    counted = {"inputTokens": 3, "outputTokens": 1, "calls": 1}
    assert document["sources"] == {
        "x": {"inputTokens": 10, "outputTokens": 2, "calls": 2, "mine": True, "byModel": {"m": counted}}
    }
    assert document["future"] == [1] and account.problems == []


@pytest.mark.parametrize("text", ["{not json", "[]", '{"total": 3}', ""])
def test_a_file_of_no_use_is_put_aside_and_told_of(account: Account, text: str) -> None:
    account.file.write_text(text, "utf-8")
    account.count("x", "m", 3, 1)
    account.usage.flush()
    assert (account.story / "token-usage.unreadable-1.json").read_text("utf-8") == text
    assert account.document["total"] == {"inputTokens": 3, "outputTokens": 1, "calls": 1}
    (problem,) = account.problems
    assert "the old one is token-usage.unreadable-1.json now" in problem.message


def test_what_can_not_be_written_is_told_of_and_counted_later(account: Account) -> None:
    meta = account.story / "meta.json"
    kept = meta.read_bytes()
    meta.unlink()
    account.count("x", "m", 3, 1)
    account.usage.flush()
    assert "the story is gone" in account.problems[0].message and not account.file.exists()
    meta.write_bytes(kept)
    account.count("x", "m", 1, 0)
    account.due[1][1]()
    assert account.document["total"] == {"inputTokens": 4, "outputTokens": 1, "calls": 2}


def test_two_programs_count_together(account: Account) -> None:
    other = Account(account.story)
    account.count("x", "m", 3, 1)
    other.count("x", "m", 4, 1)
    account.usage.flush()
    other.usage.flush()
    assert account.document["total"] == {"inputTokens": 7, "outputTokens": 2, "calls": 2}
