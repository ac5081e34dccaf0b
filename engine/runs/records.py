"""The runs of a branch as a list: what each generation log says in figures, read again only where a file changed.

A log is a file that anything may have been written to: what is missing or of a wrong type counts as not known. Source:
spec context-blocks, section 1.10, and the normaliser of usage in 10.7.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from engine import disk
from engine.errors import InvalidFile, NotFound, Problem, WrongInput
from engine.runs.log import OWN_KEY, agent_of
from engine.text import Phrase, cut

FOLDER: Final = "generation-logs"
INPUT_KEPT: Final = 400
"""UTF-16 units of an input that are kept for the list."""
NEWEST: Final = "last"
"""What stands for the id of the newest run."""
_AMBIGUOUS_SHOWN: Final = 5

_LARGEST: Final = 2**53
"""No count or duration is larger; an integer of JSON may have thousands of digits."""
_SENT: Final = ("inputTokens", "promptTokens", "prompt_tokens", "input_tokens")
_RECEIVED: Final = ("outputTokens", "completionTokens", "completion_tokens", "output_tokens")
_CACHED: Final = ("cachedTokens", "cachedInputTokens", "cached_tokens")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one run or of many; `cached` are those of the sent that the provider had in its cache, None where it
    did not say.
    """

    sent: int
    received: int
    cached: int | None = None

    @property
    def total(self) -> int:
        return self.sent + self.received


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run, as its log tells it.

    `at` is the time in this place's time, to the minute, or what stands in the log in place of one, and `created_at`
    what stands there; `input` is its beginning; `finish` is the reference's word for why it ended; `error` is what went
    wrong, `fragment_id` the prose it wrote, `seconds` and `tokens` are None where they are not known. `model` was
    asked, `answered_by` is the name under which it answered, where that is another one.
    """

    id: str
    created_at: str
    at: str
    agent: str
    model: str
    provider: str
    input: str
    finish: str
    error: str
    stopped: bool
    steps_exceeded: bool
    steps: int
    calls: int
    retries: int
    seconds: float | None
    tokens: Tokens | None
    fragment_id: str
    answered_by: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.error) or self.finish == "error"


@dataclass(frozen=True, slots=True)
class RunList:
    """The runs of a branch, newest first, and the logs that could not be read."""

    runs: tuple[RunRecord, ...]
    problems: tuple[Problem, ...] = ()


class RunRecords:
    """The logs of one branch. Thread-safe; writes nothing."""

    def __init__(self, content_root: Path) -> None:
        self._root = content_root
        self._lock = threading.Lock()
        self._files = disk.FolderCache(content_root / FOLDER, _parsed, within=content_root)
        self._listed: RunList | None = None

    def all(self) -> RunList:
        """Every run. Waits: at first for every log to be read, then for those that changed."""
        with self._lock:
            if self._files.scan() or self._listed is None:
                self._listed = RunList(_newest_first(self._files.entries.values()), self._files.problems)
            return self._listed

    def newest(self, count: int) -> RunList:
        """About the newest `count` runs, told by the names of their logs; waits for those alone."""
        names = sorted(self._names(), key=lambda name: (len(name), name), reverse=True)[:count]
        found: list[RunRecord] = []
        problems: list[Problem] = []
        for name in names:
            try:
                found.append(record_of(name, self.read(name)))
            except InvalidFile as error:
                problems.append(error.problem)
            except NotFound:
                continue  # deleted meanwhile
        return RunList(_newest_first(found), tuple(problems))

    def read(self, run_id: str) -> Mapping[str, Any]:
        """The log of a run, whole. Waits; raises `NotFound` and `InvalidFile`."""
        return _log_in(disk.child(self._root, FOLDER, f"{run_id}.json"), None)

    def find(self, given: str) -> str:
        """The id of the run that the beginning of an id means, with or without `gen-`, when it means one only; of the
        newest for `last`. Waits; raises `NotFound` and `WrongInput`.
        """
        if given == NEWEST:
            runs = self.all().runs
            if not runs:
                raise NotFound("there is no run yet", file=self._root / FOLDER)
            return runs[0].id
        names = sorted(self._names())
        if given in names:
            return given
        meant = [name for name in names if given and name.startswith((given, f"gen-{given}"))]
        if not meant:
            raise NotFound(Phrase("there is no run {given!r}", given=given), repair="runs list names those there are")
        if len(meant) > 1:
            more = len(meant) - _AMBIGUOUS_SHOWN
            shown = ", ".join(meant[:_AMBIGUOUS_SHOWN])
            if more > 0:
                shown = Phrase("{known} and {more} more", known=shown, more=more)
            raise WrongInput(
                Phrase("{given!r} could be more than one run", given=given),
                repair=Phrase("say which: {shown}", shown=shown),
            )
        return meant[0]

    def _names(self) -> list[str]:
        folder = self._root / FOLDER
        return [path.stem for path in folder.glob("*.json")] if folder.is_dir() else []


def record_of(run_id: str, log: Mapping[str, Any]) -> RunRecord:
    """What a log says of its run, which goes by the name of its file."""
    own = own_part(log)
    calls = log.get("toolCalls")
    planned = log.get("prewriterToolCalls")
    created = text_in(log, "createdAt")
    milliseconds = number_in(log.get("durationMs"))
    return RunRecord(
        id=run_id,
        created_at=created,
        at=local_time(created),
        agent=agent_of(log),
        model=text_in(log, "model"),
        answered_by=text_in(own, "answeredBy"),
        provider=text_in(own, "provider"),
        input=cut(text_in(log, "input"), INPUT_KEPT),
        finish=text_in(log, "finishReason"),
        error=text_in(error_in(log), "message"),
        stopped=log.get("stopped") is True or log.get("finishReason") == "cancelled",
        steps_exceeded=log.get("stepsExceeded") is True,
        steps=int(number_in(log.get("stepCount")) or 1),
        calls=sum(len(part) for part in (planned, calls) if isinstance(part, list)),
        retries=sum(len(part["retries"]) for part in own_parts(log) if isinstance(part.get("retries"), list)),
        seconds=None if milliseconds is None else milliseconds / 1000,
        tokens=tokens_in(log),
        fragment_id=text_in(log, "fragmentId"),
    )


def own_part(log: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a log says that those of the reference do not."""
    own = log.get(OWN_KEY)
    return own if isinstance(own, Mapping) else {}


def own_parts(log: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """What `own_part` says of the prewriter's turn, if there was one, and of the agent's."""
    own = own_part(log)
    planner = own.get("prewriter")
    return (planner, own) if isinstance(planner, Mapping) else (own,)


def text_in(values: Mapping[str, Any], key: str) -> str:
    """A text of a log; empty where there is none."""
    value = values.get(key)
    return value if isinstance(value, str) else ""


def error_in(log: Mapping[str, Any]) -> Mapping[str, Any]:
    """What went wrong in a run, as its log tells it: `message` in a line, and what else is known; empty when nothing
    did.
    """
    for values in (own_part(log), log):
        error = values.get("error")
        if isinstance(error, str) and error.strip():
            return {"message": error}
        if isinstance(error, Mapping) and text_in(error, "message").strip():
            return error
    return {}


def tokens_in(log: Mapping[str, Any]) -> Tokens | None:
    """The tokens of a run, those of its prewriter included; None where none are told."""
    writer, planner = usage_of(log.get("totalUsage")), usage_of(log.get("prewriterUsage"))
    own = own_part(log).get("usage")
    if writer is None:
        writer = usage_of(own)
    if writer is not None and writer.cached is None and isinstance(own, Mapping):
        writer = Tokens(writer.sent, writer.received, _first(own, _CACHED))
    if writer is None or planner is None:
        return writer or planner
    counts = [count for count in (writer.cached, planner.cached) if count is not None]
    return Tokens(writer.sent + planner.sent, writer.received + planner.received, sum(counts) if counts else None)


def usage_of(value: Any) -> Tokens | None:
    """Tokens under any of the names that services have for them, at the top or under `usage`; None without any."""
    if not isinstance(value, Mapping):
        return None
    for values in (value, value.get("usage")):
        if isinstance(values, Mapping):
            sent, received = _first(values, _SENT), _first(values, _RECEIVED)
            if sent is not None or received is not None:
                return Tokens(sent or 0, received or 0, _first(values, _CACHED))
    return None


def local_time(stamp: str) -> str:
    """A time of a log (ISO 8601) in this place's time, to the minute; as it stands there where it is no time."""
    try:
        return f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return stamp


def _first(values: Mapping[str, Any], names: Iterable[str]) -> int | None:
    found = (number_in(values.get(name)) for name in names)
    return next((int(number) for number in found if number is not None), None)


def number_in(value: Any) -> float | None:
    """A value of a log as a count or a duration; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= _LARGEST else None


def _newest_first(runs: Iterable[RunRecord]) -> tuple[RunRecord, ...]:
    return tuple(sorted(runs, key=lambda run: (run.created_at, run.id), reverse=True))


def _parsed(path: Path, data: bytes) -> tuple[RunRecord | None, tuple[Problem, ...]]:
    return record_of(path.stem, _log_in(path, data)), ()


def _log_in(path: Path, data: bytes | None) -> Mapping[str, Any]:
    log = disk.read_json(path) if data is None else disk.parse_json(data, path)
    if log is None and data is None and not path.exists():
        raise NotFound(Phrase("there is no run {stem}", stem=path.stem), file=path)
    if not isinstance(log, Mapping):
        raise InvalidFile("a generation log must be an object", file=path)
    return log
