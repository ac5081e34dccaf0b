"""What can be put in at the cursor of a text: members of `ctx`, ids and tags of fragments, `<@` references. Pure.

Nothing is guessed: a variable is known for a fragment, or a list of them, when the script says so in plain words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

MOST = 50
"""How many are offered: typing narrows them down."""

FRAGMENT_FIELDS = (
    "id", "type", "name", "description", "content", "tags", "refs", "sticky", "placement", "createdAt", "updatedAt",
    "order", "meta", "archived", "version", "versions",
)  # fmt: skip
"""What a fragment has, as a script sees it."""

_FRAGMENT, _FRAGMENTS, _GROUPS, _GROUP = "fragment", "fragments", "groups", "group"
_STORY, _SUMMARIES, _SUMMARY = "story", "summaries", "summary"
KINDS = {
    "story": _STORY,
    "proseFragments": _FRAGMENTS,
    "chapterSummaries": _SUMMARIES,
    "stickyGuidelines": _FRAGMENTS,
    "stickyKnowledge": _FRAGMENTS,
    "stickyCharacters": _FRAGMENTS,
    "stickyCustomFragments": _GROUPS,
    "recentCharacters": _FRAGMENTS,
    "recentKnowledge": _FRAGMENTS,
    "recentCustomFragments": _GROUPS,
    "guidelineCatalog": _FRAGMENTS,
    "knowledgeCatalog": _FRAGMENTS,
    "characterCatalog": _FRAGMENTS,
    "customFragmentCatalogs": _GROUPS,
    "systemPromptFragments": _FRAGMENTS,
    "allCharacters": _FRAGMENTS,
    "allKnowledge": _FRAGMENTS,
    "targetFragment": _FRAGMENT,
    "character": _FRAGMENT,
}
"""What the fields of `ctx` hold that have members of their own."""
ITEMS = {_FRAGMENTS: _FRAGMENT, _GROUPS: _GROUP, _SUMMARIES: _SUMMARY}
MEMBERS = {
    _FRAGMENT: FRAGMENT_FIELDS,
    _GROUP: ("type", "name", "fragments"),
    _SUMMARY: ("markerId", "name", "summary"),
    _STORY: ("id", "name", "description", "summary", "coverImage", "createdAt", "updatedAt", "settings"),
}
"""The members of each kind of thing."""
SIGNATURES = {
    "getFragment": "(id)",
    "getFragments": "(type?)",
    "getFragmentByTag": "(tag)",
    "getFragmentsByTag": "(tag)",
}
"""The functions of `ctx`; each must be awaited."""
_RETURNS = {
    "getFragment": _FRAGMENT,
    "getFragmentByTag": _FRAGMENT,
    "getFragments": _FRAGMENTS,
    "getFragmentsByTag": _FRAGMENTS,
}
_ARGUMENT = re.compile(rf"\b({'|'.join(_RETURNS)})\(\s*(['\"`])([^'\"`]*)$")
_OLD_NAME = "Shortlist"


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is put in, and what is shown for it: `label`, and `detail` beside it."""

    insert: str
    label: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """Candidates for the part of a line from column `start` to the cursor, of which there is at least one."""

    start: int
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Sources:
    """What there is to complete with.

    `names` are the fields and functions of `ctx`, `fragments` (id, type, name) of each fragment. `describe` gives the
    line shown beside a member of `ctx`, by its name.
    """

    names: Sequence[str] = ()
    fragments: Sequence[tuple[str, str, str]] = ()
    tags: Sequence[str] = ()
    describe: Callable[[str], str] = field(default=lambda name: "")

    @cached_property
    def folded(self) -> list[tuple[str, str]]:
        """Id and name of each fragment, for comparing."""
        return [(id.casefold(), name.casefold()) for id, _, name in self.fragments]

    @cached_property
    def types(self) -> list[str]:
        return sorted({type for _, type, _ in self.fragments})


def complete_text(line: str, sources: Sources) -> Completion | None:
    """For a text: references to fragments, behind `<@`. `line` is the line up to the cursor."""
    found = re.search(r"<@([^<>\n]{0,60})$", line)
    if found is None:
        return None
    return _completion(found.start(), _fragments(found[1], sources, "<@{}>"))


def complete_script(line: str, script: Callable[[], str], sources: Sources) -> Completion | None:
    """For a script: `line` is the line up to the cursor, `script` gives the whole, which is read when it matters."""
    if found := _ARGUMENT.search(line):
        function, start, typed = found[1], found.start(3), found[3]
        if function == "getFragment":
            return _completion(start, _fragments(typed, sources, "{}"))
        offered = sources.types if function == "getFragments" else sources.tags
        return _completion(start, _matching(typed, (Candidate(name, name) for name in offered)))
    found = re.search(r"([\w$)\]]+(?:\([^()]*\)|\[[^\[\]]*\])?)\??\.([\w$]*)$", line)
    if found is None or (quoted := _in_quotes(line)) is None or quoted:
        return None
    typed = found[2]
    if re.search(r"(?<![\w$.])ctx\??\.[\w$]*$", line):
        return _completion(found.start(2), _matching(typed, _members_of_ctx(sources)))
    kind = _kind_of(line[: found.start(2)].rstrip(".").rstrip("?"), script)
    members = MEMBERS.get(kind or "", ())
    return _completion(found.start(2), _matching(typed, (Candidate(name, name) for name in members)))


def _completion(start: int, candidates: Iterable[Candidate]) -> Completion | None:
    offered = tuple(candidates)[:MOST]
    return Completion(start, offered) if offered else None


def _members_of_ctx(sources: Sources) -> Iterator[Candidate]:
    for name in sorted(sources.names, key=lambda name: (name in SIGNATURES, name)):
        if name in SIGNATURES:
            yield Candidate(f"{name}(", f"{name}{SIGNATURES[name]}", sources.describe(name))
        elif not name.endswith(_OLD_NAME):
            yield Candidate(name, name, sources.describe(name))


def _matching(typed: str, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those that begin with what was typed, then those that hold it."""
    folded = typed.casefold()
    begin, hold = [], []
    for candidate in candidates:
        name = candidate.insert.casefold()
        if name.startswith(folded):
            begin.append(candidate)
        elif folded in name:
            hold.append(candidate)
    return begin + hold


def _fragments(typed: str, sources: Sources, form: str) -> list[Candidate]:
    """Fragments by id or name: what begins with the letters typed, holds them together, holds them in their order."""
    folded = typed.casefold().strip()
    ranked: tuple[list[int], list[int], list[int]] = ([], [], [])
    for index, (id, name) in enumerate(sources.folded):
        if id.startswith(folded) or name.startswith(folded):
            ranked[0].append(index)
            if len(ranked[0]) >= MOST:
                break
        elif folded in id or folded in name:
            ranked[1].append(index)
        elif len(ranked[2]) < MOST and _holds(name, folded):
            ranked[2].append(index)
    chosen = [*ranked[0], *ranked[1], *ranked[2]][:MOST]
    fragments = [sources.fragments[index] for index in chosen]
    return [Candidate(form.format(id), name or id, id) for id, _, name in fragments]


def _holds(name: str, letters: str) -> bool:
    at = 0
    for letter in letters:
        at = name.find(letter, at) + 1
        if not at:
            return False
    return True


def _in_quotes(line: str) -> str | None:
    """The quote a line ends inside of, empty outside; None behind the start of a comment. `${` opens code again."""
    quote = ""
    index = 0
    while index < len(line):
        char = line[index]
        if char == "\\":
            index += 1
        elif quote == "`" and line.startswith("${", index):
            closing = line.find("}", index)
            if closing < 0:
                return ""
            index = closing
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote = char
        elif line.startswith("//", index):
            return None
        index += 1
    return quote


_EXPRESSION = re.compile(
    r"(?:(?<![\w$.])(?P<name>[A-Za-z_$][\w$]*)|(?<![\w$.])ctx\??\.(?P<field>\w+)|ctx\.(?P<call>\w+)\([^()]*\)\)?)"
    r"(?P<at>\[[^\[\]]*\]|\??\.at\([^()]*\))?(?P<inner>\??\.fragments(?P<inner_at>\[[^\[\]]*\]|\??\.at\([^()]*\))?)?$"
)
_THROUGH = "map|filter|find|findLast|forEach|some|every|flatMap"
_SAME_KIND = re.compile(r"(?:\.(?:filter|slice|toSorted|sort|toReversed|reverse|concat)\(.*\))+;?\s*$")


def _kind_of(expression: str, script: Callable[[], str], depth: int = 0) -> str | None:
    """What an expression gives, as far as the script says so; None when it does not."""
    found = _EXPRESSION.search(expression.rstrip())
    if found is None or depth > 4:
        return None
    if found["field"]:
        kind = KINDS.get(found["field"])
    elif found["call"]:
        kind = _RETURNS.get(found["call"])
    else:
        kind = _kind_of_variable(found["name"], script, depth)
    if found["at"]:
        kind = ITEMS.get(kind or "")
    if found["inner"]:
        kind = _FRAGMENTS if kind == _GROUP else None
        if found["inner_at"]:
            kind = ITEMS.get(kind or "")
    return kind


def _kind_of_variable(name: str, script: Callable[[], str], depth: int) -> str | None:
    text, variable = script(), re.escape(name)
    for found in re.finditer(rf"\b(?:const|let|var)\s+{variable}\s*=\s*\(?(?:await\s+)?(.+)", text):
        value = _SAME_KIND.sub("", found[1].strip().rstrip(";"))
        if not re.search(rf"(?<![\w$]){variable}(?![\w$])", value):
            return _kind_of(value, script, depth + 1)
    through = re.search(rf"\b(?:const|let|var)\s+{variable}\s+of\s+(?:await\s+)?([^()\n]+(?:\([^()\n]*\))?)\)", text)
    if through is None:
        # The parameter of a function that goes through a list.
        through = re.search(rf"([^\n=;{{}}]+?)\??\.(?:{_THROUGH})\(\s*(?:async\s*)?\(?\s*{variable}\s*[,)=]", text)
    if through is None:
        return None
    return ITEMS.get(_kind_of(_SAME_KIND.sub("", through[1].strip()), script, depth + 1) or "")
