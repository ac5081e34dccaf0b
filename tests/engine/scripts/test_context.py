"""What ctx offers: fields read when touched, functions, the old names."""

import json
from collections.abc import Sequence

from engine.scripts import Limits, ScriptEngine
from engine.scripts.guest import fit_arguments


class Chunks:
    """A lazily read field that counts how often it is read."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.calls = 0

    def __call__(self) -> Sequence[str]:
        self.calls += 1
        return self.texts


def test_a_field_is_read_when_it_is_touched_and_once(engine: ScriptEngine) -> None:
    touched, untouched = Chunks('{"name": "The Vault"}'), Chunks("[]")
    fields = {"story": touched, "proseFragments": untouched}
    outcome = engine.evaluate("const {story} = ctx; return story.name + ctx.story.name", fields, {})
    assert outcome.text == "The VaultThe Vault"
    assert (touched.calls, untouched.calls) == (1, 0)


def test_an_array_may_come_in_chunks(engine: ScriptEngine) -> None:
    prose = Chunks("[1, 2]", "[]", " [3]", "\n[4]")
    outcome = engine.evaluate("return JSON.stringify(ctx.prose)", {"prose": prose}, {})
    assert (outcome.text, prose.calls) == ("[1,2,3,4]", 1)
    fields = {"plain": '["one text"]', "none": (), "spaced": [" [1]"]}
    outcome = engine.evaluate("return JSON.stringify(ctx)", fields, {})
    assert json.loads(outcome.text) == {"plain": ["one text"], "none": None, "spaced": [1]}


def test_a_field_can_be_replaced_without_being_read(engine: ScriptEngine) -> None:
    story = Chunks("{}")
    outcome = engine.evaluate("ctx.story = 'mine'; return ctx.story + Object.keys(ctx)", {"story": story}, {})
    assert (outcome.text, story.calls) == ("minestory", 0)


def test_json_stays_data(engine: ScriptEngine) -> None:
    fields = {"story": ['{"__proto__": {"polluted": true}, "name": "</script>`${1}`"}']}
    outcome = engine.evaluate("return ctx.story.name + typeof ({}).polluted + typeof ctx.story.polluted", fields, {})
    assert outcome.text == "</script>`${1}`undefinedundefined"


def test_old_names_are_aliases_of_the_catalogs(engine: ScriptEngine) -> None:
    catalogs = {f"{kind}Catalog": Chunks(f'["{kind}"]') for kind in ("guideline", "knowledge", "character")}
    body = """
        return ['guideline', 'knowledge', 'character']
          .map(kind => ctx[kind + 'Shortlist'][0] + (ctx[kind + 'Shortlist'] === ctx[kind + 'Catalog']))
          .join() + Object.keys(ctx).length
    """
    assert engine.evaluate(body, catalogs, {}).text == "guidelinetrue,knowledgetrue,charactertrue3"
    assert [catalog.calls for catalog in catalogs.values()] == [1, 1, 1]
    assert engine.evaluate("return typeof ctx.guidelineShortlist", {}, {}).text == "undefined"
    own = {"guidelineShortlist": ['"own"'], "guidelineCatalog": ['"catalog"']}
    assert engine.evaluate("return ctx.guidelineShortlist", own, {}).text == "own"


def test_functions_get_json_values_and_give_json_text(engine: ScriptEngine) -> None:
    seen: list[object] = []

    def get_fragment(*arguments: object) -> str | None:
        seen.append(arguments)
        return None if arguments[0] == "ch-zzzzzz" else '{"name": "Mira"}'

    body = """
        const none = await ctx.getFragment('ch-zzzzzz', 1.5, [null], {a: true}, undefined);
        return String(none) + (await ctx.getFragment('ch-abcdef')).name
    """
    assert engine.evaluate(body, {}, {"getFragment": get_fragment}).text == "nullMira"
    assert seen == [("ch-zzzzzz", 1.5, [None], {"a": True}, None), ("ch-abcdef",)]


def test_any_number_of_arguments_fits() -> None:
    assert fit_arguments(lambda a: None, [1, 2, 3]) == [1]
    assert fit_arguments(lambda a, b: None, [1]) == [1, None]
    assert fit_arguments(lambda a=5: None, []) == []
    assert fit_arguments(lambda *a: None, [1, 2]) == [1, 2]
    assert fit_arguments(lambda a, *b: None, []) == [None]
    assert fit_arguments(lambda *, a=1: None, [1]) == []


def test_what_fails_in_the_host_shows_no_path(engine: ScriptEngine) -> None:
    def fail(*_: object) -> str:
        raise FileNotFoundError(2, "No such file", "/home/someone/stories/x.json")

    outcome = engine.evaluate("\nreturn await ctx.getFragment('x')", {}, {"getFragment": fail})
    assert (outcome.kind, outcome.message) == ("error", "ctx.getFragment failed (FileNotFoundError)")
    assert outcome.line == 2
    outcome = engine.evaluate("const a = 1\nreturn ctx.story.name", {"story": fail}, {})
    assert (outcome.kind, outcome.message) == ("error", "ctx.story can't be read (FileNotFoundError)")
    assert outcome.line == 2
    caught = "try { await ctx.getFragment() } catch (e) { return e.message + e.stack }"
    text = engine.evaluate(caught, {}, {"getFragment": fail}).text
    assert text.startswith("ctx.getFragment failed (FileNotFoundError)")
    assert "/home" not in text


def test_odd_arguments_are_the_scripts_problem(engine: ScriptEngine) -> None:
    functions = {"f": lambda value=None: "1"}
    outcome = engine.evaluate("await ctx.f({a: 1n})", {}, functions)
    assert (outcome.kind, outcome.name) == ("error", "TypeError")
    outcome = engine.evaluate("await ctx.f('x'.repeat(1e6))", {}, functions)
    assert outcome.message == "the arguments of ctx.f are longer than 1000000 characters"
    assert engine.evaluate("return String(await ctx.f('é'.repeat(9e5)))", {}, functions).text == "1"


def test_host_calls_are_counted(engine: ScriptEngine) -> None:
    calls: list[int] = []
    functions = {"f": lambda number: calls.append(number)}
    body = "for (let i = 0; i < LAST; i++) { try { await ctx.f(i) } catch {} } return ctx.a"
    limits = Limits(seconds=10, host_calls=20)
    outcome = engine.evaluate(body.replace("LAST", "19"), {"a": ['"a"']}, functions, limits)
    assert (outcome.kind, len(calls)) == ("ok", 19)
    outcome = engine.evaluate(body.replace("LAST", "20"), {"a": ['"a"']}, functions, limits)
    assert (outcome.kind, outcome.message) == ("error", "called functions and fields of ctx more than 20 times")
    calls.clear()
    outcome = engine.evaluate(body.replace("LAST", "Infinity"), {}, functions, limits)
    assert (outcome.kind, calls) == ("error", list(range(20)))


def test_more_data_than_memory_is_an_outcome(engine: ScriptEngine) -> None:
    outcome = engine.evaluate("return ctx.big", {"big": ['"' + "x" * (9 << 20) + '"']}, {}, Limits(memory=8 << 20))
    assert outcome.kind == "memory"
