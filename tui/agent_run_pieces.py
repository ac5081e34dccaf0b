"""A run of an agent, and what it found or changed, as the pieces that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from tui.chat_pieces import SPACE, answer_pieces
from tui.language import of_engine, t
from tui.screens.plan import plan_pieces
from tui.widgets.chat_view import Piece

if TYPE_CHECKING:
    from engine.runs import RunView
    from engine.runs.view import PlanView
    from engine.tools import Applied
    from engine.workspace.analyses import FoundAnalysis


def run_pieces(view: RunView, *, thoughts: bool, spoken: bool, is_taken_back: Callable[[Applied], bool]) -> list[Piece]:
    """A run as it stands: thoughts, calls, text, what went wrong, and its changes with what became of them, in words
    alone where they are `spoken`.
    """
    pieces = answer_pieces(view, thoughts=thoughts)
    pieces += (Piece("note", of_engine(warning)) for warning in view.warnings)
    if view.failure:
        told = (of_engine(view.failure), of_engine(view.error.advice) if view.error is not None else "")
        pieces.append(Piece("note", "\n".join(filter(None, told))))
    for plan in view.plans:
        became = "taken-back" if plan.applied is not None and is_taken_back(plan.applied) else plan.decision
        pieces += (SPACE, *_plan(plan, became, spoken))
    return pieces


def _plan(plan: PlanView, became: str, spoken: bool) -> Iterator[Piece]:
    yield Piece("agent" if became == "applied" else "note", t(f"agent.plan.{became}"))
    yield from plan_pieces(plan.plan, spoken=spoken)
    for problem in plan.applied.problems if plan.applied is not None else ():
        yield Piece("note", of_engine(problem.told()))


def analysis_pieces(found: FoundAnalysis) -> list[Piece]:
    """What the librarian noted of a passage, and what it proposes."""
    findings = found.findings
    names = {fragment_id: f"{name} ({fragment_id})" for fragment_id, name in found.names.items()}

    def named(fragment_id: str) -> str:
        return names.get(fragment_id, fragment_id)

    pieces = [Piece("call", t("agent.analysis", id=found.id))]
    if findings.summary:
        pieces += [SPACE, Piece("text", findings.summary)]
    listed: tuple[tuple[str, Iterable[str]], ...] = (
        ("events", findings.events),
        ("changes", findings.state_changes),
        ("threads", findings.open_threads),
        ("mentions", [f"{named(item.fragment_id)}: {item.text}" for item in findings.mentions]),
        (
            "contradictions",
            [" · ".join((item.description, *map(named, item.fragment_ids))) for item in findings.contradictions],
        ),
        ("timeline", [f"{t(f'agent.when.{item.position}')}: {item.event}" for item in findings.timeline]),
        ("directions", [f"{item.title}: {item.instruction}" for item in findings.directions]),
        (
            "proposals",
            [
                f"{item.title or t('agent.untitled')} · {t(f'agent.proposal.{item.status}')}"
                for item in found.proposals
                if item is not None
            ],
        ),
    )
    for heading, lines in listed:
        shown = [Piece("text", f"  {line}") for line in lines]
        if shown:
            pieces += [SPACE, Piece("agent", t(f"agent.found.{heading}")), *shown]
    if found.open_proposals:
        pieces += [SPACE, Piece("note", t("agent.proposals-wait", count=len(found.open_proposals)))]
    return pieces
