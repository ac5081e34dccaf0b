"""Which parameters of a request a model is sent, and which are left out because it takes them not. Pure.

What is left out is named: a setting never goes missing without a word.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.models.wire.base import EFFORTS, Effort, Request, Warned
from engine.models.wire.profiles import PARAMETERS, Profile
from engine.text import Phrase


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request's body, and what is not in it as it was asked."""

    body: dict[str, Any]
    warnings: tuple[Warned, ...] = ()


NO_FIELDS: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The parameters that are sent, by our names, without those of thinking, which is `effort`; and what is told."""

    values: Mapping[str, Any]
    effort: Effort | None
    warnings: tuple[Warned, ...]


def choose_parameters(request: Request, profile: Profile, without: Collection[str] = NO_FIELDS) -> Chosen:
    """The parameters of a request that a profile lets through.

    `without` are fields of the body, by the provider's names, that this model was found to refuse.
    """
    warnings: list[Warned] = []
    effort = _effort(request.reasoning, profile, warnings)
    thinks = effort is not None and effort != "none"
    values: dict[str, Any] = {}
    for parameter in PARAMETERS:
        value = None if parameter == "reasoning" else getattr(request, parameter)
        if value is None or value == ():
            continue
        if parameter == "tool_choice" and not request.tools:
            continue
        if not profile.takes(parameter, reasoning=thinks):
            thinking = profile.takes(parameter)
            refused = "{model} does not take it while it thinks" if thinking else "{model} does not take it"
            warnings.append(left_out(parameter, Phrase(refused, model=request.model)))
        elif profile.name_of(parameter) not in without:
            values[parameter] = value
    return Chosen(values, effort, tuple(warnings))


def left_out(parameter: str, because: str) -> Warned:
    """That a parameter is not sent as it was asked for."""
    return Warned(
        Phrase("{parameter} was left out: {because}", parameter=parameter, because=Phrase.of(because)), parameter
    )


def _effort(wanted: Effort | None, profile: Profile, warnings: list[Warned]) -> Effort | None:
    """The effort a model knows that is next to the one wanted, rather less than more."""
    if wanted is None:
        return None
    known = [effort for effort in EFFORTS if effort in profile.efforts]
    if not profile.takes("reasoning") or profile.reasoning == "off" or not known:
        if wanted != "none":
            warnings.append(left_out("reasoning", "this model can't be asked to think"))
        return None
    if wanted in known:
        return wanted
    less = [effort for effort in known if EFFORTS.index(effort) < EFFORTS.index(wanted) and effort != "none"]
    nearest = less[-1] if less else next(effort for effort in known if effort != "none" or len(known) == 1)
    message = Phrase("thinking can't be switched off here")
    if wanted != "none":
        message = Phrase("it knows no reasoning effort {wanted}", wanted=wanted)
    warnings.append(Warned(Phrase("{message}: {nearest} is asked for", message=message, nearest=nearest), "reasoning"))
    return nearest
