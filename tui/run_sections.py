"""A past run as sections to read: what went wrong, its figures, and what it was given, thought, called and answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.runs.details import value_lines
from engine.text import collapse_space
from tui.language import find, t
from tui.widgets.cells import short_count
from tui.widgets.fold_view import Section
from tui.widgets.run_list import agent_word, end_word

if TYPE_CHECKING:
    from engine.runs.details import LoggedCall, RunDetail


def run_sections(detail: RunDetail) -> list[Section]:
    """The sections of a run in the order things happened; those that are long and seldom read are folded."""
    return [*_sections(detail)]


def _sections(detail: RunDetail) -> Iterator[Section]:
    if detail.record.failed:
        yield Section("error", t("runs.section-error"), _error(detail), alert=True)
    yield Section("figures", _headline(detail), "\n".join(_figures(detail)), folded=True)
    told = [*detail.warnings, *(t("runs.retried", why=why) for why in detail.retries if why)]
    if told:
        yield Section("warnings", t("runs.section-warnings", count=len(told)), "\n".join(told), alert=True)
    yield Section("input", t("runs.section-input" if detail.input.strip() else "runs.no-input"), detail.input)
    if detail.planning_messages:
        text = "\n\n".join(message.content for message in detail.planning_messages)
        yield _part("brief-prompt", text, folded=True)
    if detail.brief_reasoning:
        yield _part("brief-reasoning", detail.brief_reasoning, folded=True)
    for index, call in enumerate(detail.calls):
        if call.planning:
            yield _call(index, call)
    if detail.brief:
        yield _part("brief", detail.brief)
    if detail.directions:
        text = "\n\n".join(f"{title}\n{instruction}".strip() for title, instruction in detail.directions)
        yield Section("directions", t("runs.section-directions", count=len(detail.directions)), text, folded=True)
    if detail.reasoning:
        yield _part("reasoning", detail.reasoning, folded=True)
    for index, call in enumerate(detail.calls):
        if not call.planning:
            yield _call(index, call)
    if detail.answer:
        yield _part("answer", detail.answer)
    else:
        yield Section("answer", t("runs.no-answer"))


def _error(detail: RunDetail) -> str:
    """What went wrong, with all that the provider said of it."""
    told = {str(name): value for name, value in detail.error.items() if name not in ("message", "kind", "type")}
    message = detail.record.error or t("runs.no-error")
    return f"{message}\n{value_lines(told)}" if told else message


def _part(name: str, text: str, *, folded: bool = False) -> Section:
    return Section(name, t(f"runs.section-{name}"), text, folded=folded)


def _call(index: int, call: LoggedCall) -> Section:
    parts = [(t("runs.call-arguments"), value_lines(call.arguments)), (t("runs.call-result"), value_lines(call.result))]
    text = "\n".join(f"{name}\n{_indented(value)}" for name, value in parts if value)
    title = t("runs.call", tool=call.name, did=call.line) if call.name else call.line
    return Section(f"call-{index}", collapse_space(title), text, folded=True, alert=call.failed)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _headline(detail: RunDetail) -> str:
    run = detail.record
    parts = [agent_word(run.agent), run.model]
    if run.tokens is not None:
        parts.append(t("runs.tokens", sent=short_count(run.tokens.sent), received=short_count(run.tokens.received)))
    if run.seconds is not None:
        parts.append(t("runs.seconds", seconds=f"{run.seconds:.1f}"))
    return " · ".join(collapse_space(part) for part in [*parts, end_word(run)] if part)


def _figures(detail: RunDetail) -> Iterator[str]:
    run = detail.record
    yield t("runs.figure-id", id=run.id)
    yield t("runs.figure-at", at=run.at)
    yield t("runs.figure-agent", agent=run.agent)
    yield t("runs.figure-model", model=f"{run.provider} · {run.model}" if run.provider else run.model)
    if run.answered_by:
        yield t("runs.figure-answered", model=run.answered_by)
    if detail.mode:
        yield t("runs.figure-mode", mode=find(f"runs.mode-{detail.mode}") or detail.mode)
    if detail.target:
        yield t("runs.figure-target", target=detail.target)
    yield t("runs.figure-end", end=end_word(run))
    if run.steps_exceeded:
        yield t("runs.figure-exceeded")
    if run.tokens is not None:
        yield t("runs.figure-tokens", sent=f"{run.tokens.sent:,}", received=f"{run.tokens.received:,}")
        if detail.estimated:
            yield t("runs.figure-estimated")
        if run.tokens.cached is not None:
            yield t("runs.figure-cached", cached=f"{run.tokens.cached:,}")
    if detail.reasoning_tokens is not None:
        yield t("runs.figure-reasoning", tokens=f"{detail.reasoning_tokens:,}")
    if detail.cost is not None:
        yield t("runs.figure-cost", cost=f"{detail.cost:.6f}")
    yield t("runs.figure-steps", steps=run.steps)
    if run.retries:
        yield t("runs.figure-retries", retries=run.retries)
    if run.fragment_id:
        yield t("runs.figure-kept", id=run.fragment_id)
    for digest in detail.request_hashes:
        yield t("runs.figure-hash", hash=digest)
