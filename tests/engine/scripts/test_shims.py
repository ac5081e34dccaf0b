"""What scripts written for other runtimes expect: console, structuredClone, grouped numbers."""

import pytest

from engine.scripts import Limits, ScriptEngine


def test_console_lines_are_kept_with_every_outcome(engine: ScriptEngine) -> None:
    body = """
        console.log('words', 12, {a: [1]}, null, undefined, true, 10n, Symbol('s'));
        console.info(new TypeError('bad')); console.warn(); console.error(['x']); console.debug('a\\nb\\ud800');
    """
    lines = ('words 12 {"a":[1]} null undefined true 10n Symbol(s)', "TypeError: bad", "", '["x"]', "a\nb\ufffd")
    for end, kind in (
        ("return 'x'", "ok"),
        ("return 1", "not_string"),
        ("throw 1", "error"),
        ("for (;;);", "timeout"),
        ("(function f() { f() + 1 })()", "stack"),
    ):
        outcome = engine.evaluate(body + end, {}, {}, Limits(seconds=0.3))
        assert (outcome.kind, outcome.console) == (kind, lines)
    assert engine.evaluate("return 'x'", {}, {}).console == ()


def test_console_is_bounded(engine: ScriptEngine) -> None:
    outcome = engine.evaluate("for (let i = 0; i < 200; i++) console.log(i); return 'x'", {}, {})
    assert outcome.console == tuple(map(str, range(200)))
    outcome = engine.evaluate("for (let i = 0; i < 1e4; i++) console.log(i); return 'x'", {}, {}, Limits(host_calls=0))
    assert outcome.kind == "ok"
    assert outcome.console == (*map(str, range(200)), "… (only the first 200 lines are kept)")
    outcome = engine.evaluate("console.log('x'.repeat(4000)); console.log('y'.repeat(5e6)); return 'x'", {}, {})
    assert outcome.console == ("x" * 4000, "y" * 4000 + "…")


def test_what_console_is_given_cannot_hurt(engine: ScriptEngine) -> None:
    body = """
        const loop = {}; loop.loop = loop;
        console.log(loop, {toString() { throw 1 }, toJSON() { throw 1 }}, {n: 1n});
        return 'x'
    """
    outcome = engine.evaluate(body, {}, {})
    assert (outcome.kind, outcome.console) == ("ok", ("[object Object] ? [object Object]",))


def test_a_script_may_use_the_names_itself(engine: ScriptEngine) -> None:
    body = "const console = {log: x => x}; const structuredClone = x => x + 1; return console.log(structuredClone('a'))"
    assert engine.evaluate(body, {}, {}).text == "a1"


def test_structured_clone(engine: ScriptEngine) -> None:
    body = """
        const self = {}; self.self = self;
        const from = {
          list: [1, , 'x'], date: new Date(5), map: new Map([[{k: 1}, new Set([2])]]), none: undefined, pattern: /a/gi,
          error: new RangeError('far'), bytes: new Uint8Array([7, 8]), boxed: new String('s'), self,
        };
        const to = structuredClone(from);
        const [[key, items]] = to.map;
        return JSON.stringify([
          to !== from && to.list !== from.list && to.self.self === to.self && to.self !== self,
          to.list.length, 1 in to.list, to.date.getTime(), key, [...items], 'none' in to, String(to.pattern),
          String(to.error), [...to.bytes], typeof to.boxed, structuredClone() === undefined,
          structuredClone(4),
        ])
    """
    outcome = engine.evaluate(body, {}, {})
    expected = '[true,3,false,5,{"k":1},[2],true,"/a/gi","RangeError: far",[7,8],"object",true,4]'
    assert outcome.text == expected, outcome


@pytest.mark.parametrize("value", ["() => 1", "{deep: [Symbol('s')]}", "Promise.resolve(1)"])
def test_structured_clone_refuses_what_cannot_be_cloned(engine: ScriptEngine, value: str) -> None:
    outcome = engine.evaluate(f"structuredClone({value})", {}, {})
    assert (outcome.kind, outcome.name) == ("error", "DataCloneError")
    assert outcome.message.endswith("could not be cloned.")


# As `toLocaleString('en-US')` answers where ICU is at hand.
@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("(1234567.89).toLocaleString()", "1,234,567.89"),
        ("(-1234.5).toLocaleString()", "-1,234.5"),
        ("(999).toLocaleString()", "999"),
        ("(1000).toLocaleString()", "1,000"),
        ("(0).toLocaleString()", "0"),
        ("(-0).toLocaleString()", "-0"),
        ("(0.0005).toLocaleString()", "0.001"),
        ("(0.0004).toLocaleString()", "0"),
        ("(1.0005).toLocaleString()", "1.001"),
        ("(999.9996).toLocaleString()", "1,000"),
        ("(12345.6789).toLocaleString()", "12,345.679"),
        ("(5e-324).toLocaleString()", "0"),
        ("(1e21).toLocaleString()", "1,000,000,000,000,000,000,000"),
        ("(1.5e22).toLocaleString()", "15,000,000,000,000,000,000,000"),
        ("NaN.toLocaleString()", "NaN"),
        ("Infinity.toLocaleString()", "∞"),
        ("(-Infinity).toLocaleString()", "-∞"),
        ("123n.toLocaleString()", "123"),
        ("(-1234567n).toLocaleString()", "-1,234,567"),
        ("[1234, 5.5].toLocaleString()", "1,234,5.5"),
        ("(1234.5).toLocaleString('en-US', {minimumFractionDigits: 2})", "1,234.50"),
        ("(1234.56).toLocaleString('en-US', {maximumFractionDigits: 0})", "1,235"),
        ("(0.125).toLocaleString(undefined, {minimumFractionDigits: 1, maximumFractionDigits: 2})", "0.13"),
    ],
)
def test_numbers_are_grouped(engine: ScriptEngine, call: str, text: str) -> None:
    assert engine.evaluate(f"return {call}", {}, {}).text == text


def test_to_locale_string_wants_a_number(engine: ScriptEngine) -> None:
    assert engine.evaluate("return Number.prototype.toLocaleString.call('x')", {}, {}).name == "TypeError"
