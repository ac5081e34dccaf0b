"""The request a prompt becomes: the body that is sent, message by message, as its provider and model take it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui.actions import Place, bar_keys
from tui.bindings import bindings_for
from tui.clipboard import copy
from tui.language import find, of_engine, t
from tui.safe_text import visible
from tui.screens.base import WorkingScreen
from tui.widgets.bars import KeyBar, TopBar
from tui.widgets.fold_view import FoldView, Section

if TYPE_CHECKING:
    from engine.workspace import RequestBody


class RequestScreen(WorkingScreen[None]):
    """Reads and copies a request; it is only shown."""

    places: tuple[Place, ...] = ("request",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("request"),
        Binding("question_mark", "help", "Help", show=False),
    ]

    def __init__(self, request: RequestBody) -> None:
        super().__init__()
        self._request = request

    def compose(self) -> ComposeResult:
        yield TopBar(id="top")
        yield FoldView(id="request")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        self.query_one("#top", TopBar).show(t("request.title"), "", visible(self._request.address))
        view = self.query_one("#request", FoldView)
        view.show([*request_sections(self._request)])
        view.focus()
        self.say_again()

    def say_again(self) -> None:
        self.query_one("#keys", KeyBar).show(bar_keys(self.stonehand.keys, "request"))

    def action_request_fold(self) -> None:
        self.query_one("#request", FoldView).toggle()

    def action_request_copy(self) -> None:
        self.say(copy(self.app, pretty(self._request.body)).message)

    def action_request_back(self) -> None:
        self.dismiss(None)


def request_sections(request: RequestBody) -> Iterator[Section]:
    """A body as sections to read: where it goes, its messages in order, its tools, and every other field."""
    rest = dict(request.body)
    facts = [t("request.address", address=request.address), t("request.hash", hash=request.hash)]
    yield Section("where", t("request.where"), "\n".join(facts))
    if request.warnings:
        told = "\n".join(of_engine(warning) for warning in request.warnings)
        yield Section("warnings", t("request.left-out", count=len(request.warnings)), told, alert=True)
    if (system := rest.pop("system", None)) is not None:  # Anthropic's place for it
        yield Section("system", t("request.message", role=_role("system")), content_text(system))
    for number, message in enumerate(rest.pop("messages", ())):
        others = {name: value for name, value in message.items() if name not in ("role", "content")}
        text = content_text(message.get("content"))
        text = "\n".join(part for part in (text, pretty(others) if others else "") if part)
        yield Section(f"message-{number}", t("request.message", role=_role(str(message.get("role", "")))), text)
    if tools := rest.pop("tools", None):
        yield Section("tools", t("request.tools", count=len(tools)), pretty(tools), folded=True)
    if rest:
        yield Section("rest", t("request.rest"), pretty(rest))


def content_text(content: Any) -> str:
    """What a message says: its text, parts below each other; what is no plain text (a cache mark too) as JSON."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else pretty(content)
    said = []
    for part in content:
        if isinstance(part, Mapping) and isinstance(part.get("text"), str):
            others = {name: value for name, value in part.items() if name not in ("type", "text")}
            said.append(part["text"] + (f"\n{json.dumps(others, ensure_ascii=False)}" if others else ""))
        else:
            said.append(pretty(part))
    return "\n".join(said)


def pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=dict)


def _role(role: str) -> str:
    return find(f"reader.role.{role}") or role
