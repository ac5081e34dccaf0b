"""`doctor`: what is wrong with the files, and repairs for those who ask for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from engine.errors import WrongInput
from tui.commands.frame import Command, with_workspace
from tui.output import DONE, FAILED, PROGRAM, message, one_line, write, write_json

if TYPE_CHECKING:
    from engine.doctor import Finding, Repaired
    from engine.workspace import Workspace

ALL = "all"


@click.command(cls=Command)
@click.argument("story", required=False)
@click.option(
    "--repair",
    "wanted",
    metavar="[KIND|NUMBER]",
    multiple=True,
    is_flag=False,
    flag_value=ALL,
    help="Repair what can be; with a kind or a number of the list only that. May be given several times.",
)
@click.option("--dry-run", is_flag=True, help="Tell what --repair would do, and change nothing.")
@click.option("--yes", is_flag=True, help="Repair without asking.")
@with_workspace
def doctor(
    workspace: Workspace, story: str | None, wanted: tuple[str, ...], dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Report what is wrong with the files.

    Every problem of the data folder, or of one story, with its file and what to do about it. Nothing is changed unless
    --repair asks for it: then each touched file is copied to the state folder first, and the place is told. What only
    comes to light by these repairs is listed with them, found on a copy of the files, and repaired in turn, unless
    single numbers were named; what was not listed is not touched. The exit code is 1 when problems were found, or are
    left.

    \b
    Examples:
      stonehand doctor
      stonehand doctor my-story --json
      stonehand doctor my-story --repair --dry-run
      stonehand doctor my-story --repair old-id --repair 3
    """
    found = workspace.doctor(story)
    if not wanted:
        if dry_run or yes:
            raise WrongInput(f"--{'dry-run' if dry_run else 'yes'} goes with --repair")
        if as_json:
            write_json([_document(finding) for finding in found])
        else:
            _list(found, range(1, len(found) + 1))
            _sum_up(found, story)
        return FAILED if found else DONE
    chosen = _chosen(found, wanted, workspace.repair_kinds)
    kinds = set(workspace.repair_kinds) if ALL in wanted else set(wanted) & set(workspace.repair_kinds)
    ahead = workspace.repairs_ahead([found[index] for index in chosen], kinds)
    if not as_json:
        _list([found[index] for index in chosen], [index + 1 for index in chosen])
        _list_ahead(ahead)
    rounds: list[Repaired] = []
    left = found
    if chosen and not dry_run:
        if not yes:
            _ask(len(chosen) + len(ahead), as_json)
        rounds.append(workspace.repair(found[index] for index in chosen))
        left = workspace.doctor(story)
        while more := _come_to_light(left, ahead, rounds):
            rounds.append(workspace.repair(more))
            left = workspace.doctor(story)
    if as_json:
        write_json(_outcome(rounds, [found[index] for index in chosen], ahead, left))
    else:
        _tell(rounds, len(chosen) + len(ahead), left)
    return FAILED if left or any(repaired.failed for repaired in rounds) else DONE


def _come_to_light(left: Sequence[Finding], ahead: Sequence[Finding], rounds: Sequence[Repaired]) -> list[Finding]:
    """What can be repaired only now, and was listed. What was tried once is not tried again."""
    listed = {(item.file, item.kind, item.description) for finding in ahead if (item := finding.offered) is not None}
    tried = {(item.file, item.kind, item.description) for repaired in rounds for item in repaired.done}
    failed = {problem.file for repaired in rounds for problem in repaired.failed}
    return [
        finding
        for finding in left
        if (offered := finding.offered) is not None
        and offered.file not in failed
        and (offered.file, offered.kind, offered.description) in listed - tried
    ]


def _chosen(found: Sequence[Finding], wanted: Sequence[str], kinds: Sequence[str]) -> list[int]:
    """Indexes of the findings whose repair is asked for. Raises `WrongInput` for what names none."""
    chosen: set[int] = set()
    offered = [index for index, finding in enumerate(found) if finding.offered is not None]
    for item in wanted:
        if item == ALL:
            chosen.update(offered)
        elif item in kinds:
            chosen.update(index for index in offered if _kind(found[index]) == item)
        elif item.isascii() and item.isdigit():
            index = int(item) - 1
            if not 0 <= index < len(found):
                raise WrongInput(f"there is no problem {item}", repair=f"there are {len(found)}")
            if index not in offered:
                raise WrongInput(f"for problem {item} there is no repair", repair=found[index].repair)
            chosen.add(index)
        else:
            raise WrongInput(
                f"there is no repair {item!r}", repair=f"kinds: {', '.join(kinds)}; a story is named before --repair"
            )
    return sorted(chosen)


def _kind(finding: Finding) -> str:
    return "" if finding.offered is None else finding.offered.kind.value


def _list(found: Sequence[Finding], numbers: Sequence[int]) -> None:
    text = ""
    for number, finding in zip(numbers, found, strict=True):
        text += f"{number}. {one_line(str(finding))}\n"
        if finding.offered is not None:
            text += f"   --repair {_kind(finding)}: {one_line(finding.offered.description)}\n"
    if text:
        write(text)


def _list_ahead(ahead: Sequence[Finding]) -> None:
    """What comes to light by the repairs that are listed before; it has no numbers, as it can't be asked for yet."""
    text = "then, as it comes to light by these repairs:\n" if ahead else ""
    for finding in ahead:
        assert finding.offered is not None
        text += f"-  {one_line(str(finding))}\n   --repair {_kind(finding)}: {one_line(finding.offered.description)}\n"
    if text:
        write(text)


def _sum_up(found: Sequence[Finding], story: str | None) -> None:
    if not found:
        message("no problems found")
        return
    mendable = sum(finding.offered is not None for finding in found)
    if mendable:
        target = f"{story} " if story is not None else ""
        message(f"{_count(len(found))}, of which {mendable} can be repaired: {PROGRAM} doctor {target}--repair")


def _ask(count: int, as_json: bool) -> None:
    if as_json or sys.stdin is None or not sys.stdin.isatty():
        raise WrongInput("nothing was changed: files would be repaired", repair="say --yes if it is meant")
    click.confirm(f"Repair {'this' if count == 1 else f'these {count}'}?", abort=True, err=True)


def _tell(rounds: Sequence[Repaired], count: int, left: Sequence[Finding]) -> None:
    if not rounds:
        message(f"{count} would be repaired" if count else "nothing can be repaired here")
        return
    for repaired in rounds[1:]:
        for item in repaired.done:
            message(f"repaired, as it came to light: {item.file}: {one_line(item.description)}")
    for repaired in rounds:
        for failure in repaired.failed:
            message(f"not repaired: {failure}")
    for number, repaired in enumerate(rounds):
        if repaired.backup is not None:
            message(f"the files as they were{' in between' if number else ''}: {repaired.backup}")
    message(f"repaired: {sum(len(repaired.done) for repaired in rounds)}; left: {_count(len(left))}")


def _count(number: int) -> str:
    return "1 problem" if number == 1 else f"{number} problems"


def _document(finding: Finding) -> dict[str, Any]:
    offered = finding.offered
    return {
        "message": finding.message,
        "file": None if finding.file is None else str(finding.file),
        "field": finding.field,
        "line": finding.line,
        "repair": finding.repair,
        "offered": None if offered is None else {"kind": offered.kind.value, "description": offered.description},
    }


def _outcome(
    rounds: Sequence[Repaired], chosen: Sequence[Finding], ahead: Sequence[Finding], left: Sequence[Finding]
) -> dict[str, Any]:
    done = [item for repaired in rounds for item in repaired.done]
    backups = [str(repaired.backup) for repaired in rounds if repaired.backup is not None]
    return {
        "changed": bool(done),
        "backup": backups[0] if backups else None,
        "backups": backups,
        "chosen": [_document(finding) for finding in chosen],
        "ahead": [_document(finding) for finding in ahead],
        "repaired": [
            {"kind": item.kind.value, "file": str(item.file), "description": item.description} for item in done
        ],
        "failed": [str(failure) for repaired in rounds for failure in repaired.failed],
        "left": [_document(finding) for finding in left],
    }
