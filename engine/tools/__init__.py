"""The tools of the agents: what a model may call, what a call does, and what comes back.

The modules are loaded when a name of theirs is first used: the models of the inputs are slow to make.
"""

from typing import TYPE_CHECKING

from engine.lazy import names_of

if TYPE_CHECKING:
    from engine.tools.analyzing import save_analysis
    from engine.tools.applying import ACCEPTED, AUTOMATIC, Applied, Written, apply, take_back
    from engine.tools.collected import Analysis, Direction, Mention, Option, Proposal, Question
    from engine.tools.editing import WhenApplied, apply_now, put_aside, when_applied
    from engine.tools.host import Collected, Host, RunLogs, Settle, Settled
    from engine.tools.invoking import Calls, Invocation, Invoked, calls_of
    from engine.tools.offering import offered, shadowing
    from engine.tools.older import current_name, describe_call
    from engine.tools.plan import FragmentChange, Outcome, Plan
    from engine.tools.proposals import accept_proposal, mark_proposal, plan_proposal, proposals_of
    from engine.tools.schema import ToolInput, WrongCall
    from engine.tools.tool import Tool, ToolResult, logged_arguments, run_call
    from engine.tools.transforming import OPERATIONS, Span

__all__ = [
    "ACCEPTED",
    "AUTOMATIC",
    "OPERATIONS",
    "Analysis",
    "Applied",
    "Calls",
    "Collected",
    "Direction",
    "FragmentChange",
    "Host",
    "Invocation",
    "Invoked",
    "Mention",
    "Option",
    "Outcome",
    "Plan",
    "Proposal",
    "Question",
    "RunLogs",
    "Settle",
    "Settled",
    "Span",
    "Tool",
    "ToolInput",
    "ToolResult",
    "WhenApplied",
    "Written",
    "WrongCall",
    "accept_proposal",
    "apply",
    "apply_now",
    "calls_of",
    "current_name",
    "describe_call",
    "logged_arguments",
    "mark_proposal",
    "offered",
    "plan_proposal",
    "proposals_of",
    "put_aside",
    "run_call",
    "save_analysis",
    "shadowing",
    "take_back",
    "when_applied",
]

__getattr__ = names_of(
    __name__,
    {
        "analyzing": ("save_analysis",),
        "collected": ("Analysis", "Direction", "Mention", "Option", "Proposal", "Question"),
        "applying": ("ACCEPTED", "AUTOMATIC", "Applied", "Written", "apply", "take_back"),
        "editing": ("WhenApplied", "apply_now", "put_aside", "when_applied"),
        "host": ("Collected", "Host", "RunLogs", "Settle", "Settled"),
        "invoking": ("Calls", "Invocation", "Invoked", "calls_of"),
        "offering": ("offered", "shadowing"),
        "older": ("current_name", "describe_call"),
        "plan": ("FragmentChange", "Outcome", "Plan"),
        "proposals": ("accept_proposal", "mark_proposal", "plan_proposal", "proposals_of"),
        "schema": ("ToolInput", "WrongCall"),
        "tool": ("Tool", "ToolResult", "logged_arguments", "run_call"),
        "transforming": ("OPERATIONS", "Span"),
    },
)
