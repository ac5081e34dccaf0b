"""The catalogues: every text that is asked for is there, and both languages say the same with the same fields."""

import ast
import errno
import importlib
import os
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.screen import ModalScreen

import engine
import tui
from engine.agents import agents
from engine.agents.tools import describe
from engine.budget import OverBudget
from engine.disk import parse_json, write_atomic
from engine.errors import InvalidFile, StonehandError, WrongInput
from engine.models.wire.failures import Caller, explained, failure_of_response
from engine.text import Phrase
from tui import language
from tui.actions import ACTIONS, FIXED, PLACES
from tui.language import ENGLISH, LANGUAGES, catalogue, of_locale, t
from tui.screens.base import WorkingScreen

TUI = Path(tui.__file__).parent
AREAS = sorted(file.stem for file in (TUI / "language" / ENGLISH).glob("*.json"))


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    language.use(ENGLISH)


def test_a_text_is_said_in_the_language_in_use_with_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        ("en", "area"): {
            "plain": "plain",
            "named": "moved {name}",
            "blocks": "{count} blocks",
            "blocks.one": "one block",
        },
        ("zh", "area"): {"named": "已移动 {name}", "blocks": "{count} 个块"},
    }
    monkeypatch.setattr(language, "catalogue", lambda code, area: texts.get((code, area), {}))
    assert (t("area.plain"), t("area.named", name="{x}")) == ("plain", "moved {x}")
    assert (t("area.blocks", count=1), t("area.blocks", count=2)) == ("one block", "2 blocks")
    language.use("zh")
    assert (t("area.plain"), t("area.named", name="x")) == ("plain", "已移动 x")
    assert t("area.blocks", count=1) == "1 个块"
    assert t("area.missing") == "area.missing"


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_GB.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW"}, "zh"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_locale_chooses_the_language(environ: dict[str, str], code: str) -> None:
    assert of_locale(environ) == code


def test_a_language_there_is_not_is_refused() -> None:
    with pytest.raises(WrongInput, match="'fr'"):
        language.use("fr")


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != ENGLISH])
def test_languages_have_the_same_texts_with_the_same_fields(code: str, area: str) -> None:
    english, other = catalogue(ENGLISH, area), catalogue(code, area)
    assert {key for key in english if not key.endswith(".one")} == {key for key in other if not key.endswith(".one")}
    for key, text in other.items():
        assert _fields(text) <= _fields(english[key]), key


def test_every_text_asked_for_is_there_and_every_one_there_is_asked_for() -> None:
    asked, mentioned, begun = _keys_in_code()
    there = {f"{area}.{key.removesuffix('.one')}" for area in AREAS for key in catalogue(ENGLISH, area)}
    assert asked - there == set()
    assert {key for key in there - mentioned if not key.startswith(tuple(begun))} == set()


def test_every_action_has_its_texts_and_the_texts_have_their_actions() -> None:
    ids = {action.id for action in ACTIONS}
    for code in LANGUAGES:
        texts = catalogue(code, "action")
        assert {f"{name}.title" for name in ids} | {f"place.{place}" for place in PLACES} <= set(texts), code
        assert {key.rpartition(".")[0] for key in texts} <= ids | {"place"} | {action.id for action in FIXED}, code


def test_what_the_engine_says_is_translated_where_it_still_says_so() -> None:
    said = {
        node.value
        for file in Path(engine.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    for code in LANGUAGES:
        for english, other in catalogue(code, "engine").items():
            assert english in said, f"the engine does not say this any more: {english}"
            assert _fields(other) <= _fields(english), english


def test_texts_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    label = Phrase("undone: {label}", label=Phrase("deleted {name}", name=Phrase("{count} blocks", count=3)))
    assert language.of_engine(label) == label == "undone: deleted 3 blocks"
    language.use("zh")
    assert language.of_engine(label) == "已撤销：已删除 3 个块"
    assert language.of_engine(Phrase("edited {name}", name="nothing is pinned {x}")) == "已编辑 nothing is pinned {x}"
    assert language.of_engine("nothing is pinned") == "没有置顶的内容"
    assert language.of_engine(Phrase("no such {thing}", thing="words")) == "no such words"


def test_failures_are_told_in_the_language_in_use_and_the_providers_words_are_cited(tmp_path: Path) -> None:
    caller = Caller("Nova", "https://llm.example/v1", "nova-1", "NOVA_KEY")
    said = b'{"error": {"message": "You {exceeded} your current quota", "type": "insufficient_quota"}}'
    failure = explained(failure_of_response(429, {}, said, 0), caller)
    file = tmp_path / "writer.json"
    with pytest.raises(InvalidFile) as invalid:
        parse_json(b'{"a": 1,\n b}', file)
    with pytest.raises(StonehandError) as missing:
        write_atomic(tmp_path, b"")
    assert language.of_error(invalid.value) == str(invalid.value)
    language.use("zh")
    assert language.of_engine(failure.message) == (
        "Nova：在该提供方处的余额已用完，或已达到消费上限（HTTP 429, insufficient_quota）。"
        "提供方的原话：“You {exceeded} your current quota” — 请向提供方充值或提高上限，或选择其他提供方"
    )
    assert language.of_error(invalid.value) == (
        f"{file}:2：不是有效的 JSON：第 2 列，应为双引号中的属性名 — 请用文本编辑器修复"
    )
    assert language.of_error(missing.value) == f"{tmp_path}：无法写入：是文件夹"
    assert language.of_error(OverBudget("an unknown text")) == "an unknown text"
    assert language.of_error(ValueError("x")) == "ValueError: x"


def test_what_the_system_and_the_decoder_say_is_translated() -> None:
    reasons = {os.strerror(number) for number in errno.errorcode}
    said = {reason[:1].lower() + reason[1:] for reason in reasons}
    for text in ('{"a"', "{a}", "[", "[1 2]", "{} {}", '"a', '"\t"', '"\\q"', '"\\uZ"', "[1,]", '{"a": 1,}'):
        with pytest.raises(InvalidFile) as invalid:
            parse_json(text.encode(), Path("writer.json"))
        assert isinstance(invalid.value.problem.message, Phrase)
        reason = str(invalid.value.problem.message.values["what"])
        assert reason in catalogue("zh", "system")
        said.add(reason)
    newer = {text for text in catalogue("zh", "system") if text.startswith("illegal trailing comma")}  # Python 3.13
    assert set(catalogue("zh", "system")) - said == newer


def test_every_agent_has_a_name_in_every_language() -> None:
    for code in LANGUAGES:
        if code != ENGLISH:
            texts = catalogue(code, "engine")
            for agent in agents():
                assert {agent.display_name, agent.group} <= set(texts), (code, agent.name)


FAILURES = ("NotFound", "InvalidFile", "Conflict", "WrongInput", "StonehandError", "Problem", "Warned")
"""What tells of failures."""
UNSEEN = {"doctor", "tools", "library.py", "instruction_sets.py"}
"""Parts whose failures the editor does not show: tools tell theirs to models, the others belong to the command line."""


def test_everything_that_the_editor_shows_of_the_engine_is_translated() -> None:
    """Labels of changes, reasons of blocks that are absent, what is wrong with a block, what tools do."""
    said = {describe(tool) for agent in agents() for tool in agent.tools}
    for file in Path(engine.__file__).parent.rglob("*.py"):
        tree = ast.parse(file.read_text("utf-8"))
        if file.match("engine/text.py"):
            continue  # puts phrases together, and says none
        slots = file.parent.name == "agents" and "BlockSlot(" in file.read_text("utf-8")
        module = importlib.import_module(f"engine.agents.{file.stem}") if slots else None
        scopes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for scope, call in ((function, node) for function in scopes for node in ast.walk(function)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
                if call.func.id == "Phrase":
                    said |= _texts(call.args[0])
                elif call.func.id in FAILURES and not UNSEEN & {file.parent.name, file.name}:
                    repairs = [keyword.value for keyword in call.keywords if keyword.arg == "repair"]
                    said |= {text for given in (call.args[0], *repairs) for text in _constant(given)}
                elif call.func.id == "BlockSlot" and len(call.args) > 3:
                    said |= _reasons(call.args[3], scope, vars(module))
                elif call.func.id.endswith("_slots"):
                    said |= _texts(call)
        if file.match("blocks/rows.py"):
            documented = {ast.get_docstring(scope, clean=False) for scope in scopes}
            said |= {text for scope in scopes for text in _texts(scope) - documented if " " in text}
    said = {text.template if isinstance(text, Phrase) else text for text in said}
    assert len(said) > 65
    for code in LANGUAGES:
        if code != ENGLISH:
            assert said - {""} - set(catalogue(code, "engine")) == set()


WHOLLY = (
    "blocks/bundles", "blocks/changes", "blocks/config", "budget", "chat/store", "disk", "document/document",
    "hooks", "json_text", "models/provider_files", "models/providers", "models/resolution", "models/wire/profiles",
    "prompt", "runs/run", "runs/turn", "scripts/outcome", "scripts/sandbox", "session", "story/meta",
    "workspace/analyses", "workspace/conversations", "workspace/exchange", "workspace/generation", "workspace/history",
)  # fmt: skip
"""Modules whose texts the editor shows, however they come to be given: as a value, a reason, a noun in another text."""
NOT_SHOWN = {
    "(summary of a conversation)", "(The call of {names} was cut off at the limit of the answer's length and not "
    "carried out.)", "Go on from where you were interrupted.", "Value error, ", "Rehearsal (no model)", "out of memory",
    " starting at", " (at line ",
    "a host function of a script can't wait for another script",
}  # fmt: skip
"""What is said to models, to programmers, or kept in files; names of providers; what is looked for, not said."""


@pytest.mark.parametrize("module", WHOLLY)
def test_nothing_is_said_in_passing_that_is_not_translated(module: str) -> None:
    tree = ast.parse((Path(engine.__file__).parent / f"{module}.py").read_text("utf-8"))
    apart: set[ast.AST] = set()
    for node in ast.walk(tree):
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            apart.add(node.value)  # what documents
        elif isinstance(node, ast.JoinedStr) or name in ("ValueError", "TypeError", "GuestFault", "ToolResult"):
            apart |= set(ast.walk(node)) - {node}
    put_together = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr) and node not in apart and _is_prose(_template(node))
    ]
    assert [text for text in put_together if "return '';" not in text] == [], "these are to be Phrases"
    said = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in apart
    }
    said = {text for text in said if _is_prose(text)} - NOT_SHOWN
    for code in LANGUAGES:
        if code != ENGLISH:
            assert said - set(catalogue(code, "engine")) == set()


def _is_prose(text: str) -> bool:
    """Whether a text is words one after the other; a pattern, a script or a template for a model is none."""
    return re.search(r"[a-z],? [a-z{]|[a-z]: [a-z]", text) is not None and not re.search(r"\n|\(\?|[\[\\]", text)


def _template(text: ast.JoinedStr) -> str:
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in text.values)


def _constant(given: ast.expr) -> set[str]:
    """The text that is given, or those of which one is; a text put together in place can't be translated."""
    if isinstance(given, ast.IfExp):
        return _constant(given.body) | _constant(given.orelse)
    assert not isinstance(given, ast.JoinedStr), f"this is to be a Phrase: {ast.unparse(given)}"
    return {given.value} if isinstance(given, ast.Constant) else set()


def _texts(tree: ast.AST) -> set[str]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _reasons(given: ast.expr, tree: ast.FunctionDef, names: dict[str, object]) -> set[str]:
    """What an expression can be: a text, a constant of the module, or what a function there gives that name."""
    if isinstance(given, ast.IfExp):
        return _reasons(given.body, tree, names) | _reasons(given.orelse, tree, names)
    if isinstance(given, ast.Constant | ast.Attribute) or ast.unparse(given) in names:
        return {eval(ast.unparse(given), names)}
    assigned = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == ast.unparse(given) for target in node.targets)
    ]
    assert assigned or ast.unparse(given) in [argument.arg for argument in tree.args.args], ast.unparse(given)
    return {text for value in assigned for text in _reasons(value, tree, names)}


def test_every_screen_can_say_everything_again() -> None:
    for module in (TUI / "screens").glob("*.py"):
        importlib.import_module(f"tui.screens.{module.stem}")
    # A dialog is not on the screen while the palette is; the parts of the main screen are none themselves.
    screens = [
        cls for cls in _below(WorkingScreen) if not issubclass(cls, ModalScreen) and cls.__name__.endswith("Screen")
    ]
    assert len(screens) >= 5
    assert [cls.__name__ for cls in screens if cls.say_again is WorkingScreen.say_again] == []


def _below(cls: type[WorkingScreen[object]]) -> list[type[WorkingScreen[object]]]:
    return [found for child in cls.__subclasses__() for found in (child, *_below(child))]


def _fields(text: str) -> set[str]:
    """The fields of a text; one for a key together with the action whose key it is."""
    parsed = string.Formatter().parse(text)
    return {f"{field}:{spec}" if field == "key" else field for _, field, spec, _ in parsed if field is not None}


def _keys_in_code() -> tuple[set[str], set[str], set[str]]:
    """Keys in calls of `t`, `find` and `LazyText`; all that may be a key; the beginnings of those put together."""
    keys, mentioned, begun = set[str](), set[str](), {"\0"}
    for file in TUI.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                mentioned.add(node.value)
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                continue
            if node.func.id in ("t", "find", "LazyText"):
                for value in ast.walk(node.args[0]):
                    if isinstance(value, ast.JoinedStr) and isinstance(value.values[0], ast.Constant):
                        begun.add(str(value.values[0].value))
                        break
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        keys.add(value.value)
    return keys, mentioned, begun
