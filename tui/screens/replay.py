"""A past run once more, at the pace of a stream: nothing is sent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from engine.runs.replaying import TEXTS, ReplayStep, pause_before, replay_steps
from engine.text import collapse_space
from tui.actions import Place, bar_keys
from tui.bindings import bindings_for
from tui.language import t
from tui.safe_text import visible
from tui.screen_reader import is_spoken
from tui.screens.base import WorkingScreen
from tui.widgets.bars import KeyBar, TopBar
from tui.widgets.run_list import agent_word
from tui.widgets.stream_view import StreamView

if TYPE_CHECKING:
    from engine.runs.details import RunDetail

STREAM_RATE = 10
"""Looks at what is due a second; a terminal behind a slow link has a lower rate of its own."""
PACES = (3.0, 6.0, 12.0, 25.0, 50.0, 100.0, 200.0)
"""Words a second."""
USUAL_PACE = 2
_HEADINGS = {"reasoning": "section-reasoning", "prewriter-text": "section-brief", "text": "section-answer"}


class ReplayScreen(WorkingScreen[None]):
    """Streams a run's reasoning, calls, brief and answer, each where it came."""

    places: tuple[Place, ...] = ("replay",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("replay"),
        Binding("question_mark", "help", "Help", show=False),
    ]

    def __init__(self, branch: str, detail: RunDetail) -> None:
        super().__init__()
        self._branch, self._detail = branch, detail
        self._steps: Iterator[ReplayStep] = iter(())
        self._next: ReplayStep | None = None
        self._due = 0.0
        self._kind = ""
        self._pace = USUAL_PACE
        self._paused = False
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield TopBar(id="top")
        yield Static(id="status", classes="label", markup=False)
        yield StreamView(id="stream")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        self.say_again()
        self.query_one("#stream").focus()
        self.action_replay_restart()

    def say_again(self) -> None:
        record = self._detail.record
        self.query_one("#keys", KeyBar).show(bar_keys(self.stonehand.keys, "replay"))
        states = (f"{agent_word(record.agent)} · {record.model} · {record.at}", record.at)
        self.query_one("#top", TopBar).show(t("runs.replay-title"), self.branch_name(self._branch), *states)
        self._show_status()

    def _show_status(self) -> None:
        if self._next is None:
            text = t("runs.replay-done")
        else:
            pace = t("runs.replay-pace", pace=round(PACES[self._pace]))
            text = f"{t('runs.replay-paused')} · {pace}" if self._paused else pace
        self.query_one("#status", Static).update(Content(visible(text)))

    # -- streaming

    def _advance(self) -> None:
        """Show what is due by now."""
        now = time.monotonic()
        due: list[str] = []
        while self._next is not None and self._due <= now:
            due.append(self._shown(self._next))
            self._step()
        self._append("".join(due))
        if self._next is None:
            self._finish()

    def _step(self) -> None:
        """Go to the next event, and set the time when it is due."""
        self._next = next(self._steps, None)
        if self._next is not None:
            self._due += pause_before(self._next, PACES[self._pace])

    def _shown(self, step: ReplayStep) -> str:
        """What an event puts on the screen: the pieces of a text joined are the text, under a heading."""
        if step.type in TEXTS:
            heading = ""
            if self._kind != step.type:
                heading = f"{self._gap()}{self._signs[0]}{t(f'runs.{_HEADINGS[step.type]}')}\n"
            self._kind = step.type
            return heading + step.text
        said = ""
        if step.type == "tool-call" and step.call is not None:
            said = t("runs.replay-call", tool=step.call.name)
        elif step.type == "tool-result" and step.call is not None:
            said = step.call.line
        elif step.type == "error":
            said = t("runs.replay-error", error=collapse_space(self._detail.record.error))
        if not said:
            return ""
        gap = "\n" if self._kind == "call" else self._gap()
        self._kind = "call"
        return f"{gap}{self._signs[1]}{said}"

    @property
    def _signs(self) -> tuple[str, str]:
        """What stands before a heading and before a call."""
        return ("", "") if is_spoken(self) else ("── ", "▪ ")

    def _gap(self) -> str:
        return "\n\n" if self._kind else ""

    def _append(self, text: str) -> None:
        self.query_one("#stream", StreamView).append(text)

    def _finish(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._show_status()

    # -- what the keys do

    def action_replay_restart(self) -> None:
        """From the start."""
        self._steps = replay_steps(self._detail)
        self._kind, self._paused, self._due = "", False, time.monotonic()
        self._step()
        self.query_one("#stream", StreamView).clear()
        if self._timer is None:
            profile = self.stonehand.profile
            self._timer = self.set_interval(
                1 / (STREAM_RATE if profile is None else profile.stream_rate), self._advance
            )
        self._timer.resume()
        self._show_status()

    def action_replay_pause(self) -> None:
        """Stand still, or go on."""
        if self._timer is None:
            return
        self._paused = not self._paused
        if self._paused:
            self._timer.pause()
        else:
            self._due = time.monotonic()
            self._timer.resume()
        self._show_status()

    def action_replay_slower(self) -> None:
        self._set_pace(-1)

    def action_replay_faster(self) -> None:
        self._set_pace(1)

    def _set_pace(self, step: int) -> None:
        self._pace = max(0, min(self._pace + step, len(PACES) - 1))
        self._due = min(self._due, time.monotonic() + 1 / PACES[self._pace])
        self._show_status()

    def action_replay_end(self) -> None:
        """Show all of it at once."""
        rest: list[str] = []
        while self._next is not None:
            rest.append(self._shown(self._next))
            self._step()
        self._append("".join(rest))
        self._finish()

    def action_help(self) -> None:
        self.stonehand.action_keys()

    def action_replay_back(self) -> None:
        self.dismiss(None)
