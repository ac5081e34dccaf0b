"""What comes of a script: results, errors, limits; that scripts are isolated and nothing leaks."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from engine.scripts import PREVIEW_LIMITS, RUN_LIMITS, Limits, Outcome, ScriptEngine
from tests.thorough import times


def evaluate(engine: ScriptEngine, body: str, /, **limits: float) -> Outcome:
    return engine.evaluate(body, {}, {}, Limits(**limits))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("return 'x'.repeat(3) + (0.1 + 0.2)", "xxx0.30000000000000004"),
        ("return ''", ""),
        ("return '  padded\\n'", "  padded\n"),
        ("return Promise.resolve('from promise')", "from promise"),
        ("return [...'héllo'].reverse().join('')", "olléh"),
        ("return '\\ud83d\\ude00'.length + ' units'", "2 units"),
        ("return 'a\\u0000b\\r\\n\\u2028'", "a\0b\r\n\u2028"),
        ("return 'x' // the last line is a comment", "x"),
        ("return /(?<y>\\d{4})/.exec('in 1999').groups.y", "1999"),
    ],
)
def test_a_string_comes_back_as_it_is(engine: ScriptEngine, body: str, text: str) -> None:
    outcome = evaluate(engine, body)
    assert (outcome.kind, outcome.text) == ("ok", text)
    assert outcome.milliseconds > 0
    assert outcome.message == outcome.describe() == ""


@pytest.mark.parametrize(
    ("body", "kind", "described"),
    [
        ("", "undefined", "returned nothing"),
        ("return null", "null", "returned null"),
        ("return ['a']", "array", "returned an array, not a string"),
        ("return new String('boxed')", "object", "returned an object, not a string"),
        ("return 42", "number", "returned a value of type number, not a string"),
        ("return 10n", "bigint", "returned a value of type bigint, not a string"),
        ("return () => 1", "function", "returned a value of type function, not a string"),
    ],
)
def test_what_is_no_string_is_named(engine: ScriptEngine, body: str, kind: str, described: str) -> None:
    outcome = evaluate(engine, body)
    assert (outcome.kind, outcome.text, outcome.message) == ("not_string", kind, "")
    assert outcome.describe() == described


@pytest.mark.parametrize(
    ("body", "name", "message", "line", "described"),
    [
        ("throw new Error('boom')", "Error", "boom", 1, "Error: boom (line 1)"),
        ("await Promise.reject(new TypeError('rejected'))", "TypeError", "rejected", 1, "TypeError: rejected (line 1)"),
        ("throw 'bare string'", "", "bare string", None, "bare string"),
        ("throw null", "", "null", None, "null"),
        ("throw undefined", "", "undefined", None, "undefined"),
        ("throw {code: 5}", "", "[object Object]", None, '{"code":5}'),
        ("throw {message: 'no Error'}", "", "[object Object]", None, '{"message":"no Error"}'),
        ("throw [1, 'two']", "", "1,two", None, '[1,"two"]'),
        ("const o = {}; o.o = o; throw o", "", "[object Object]", None, "[object Object]"),
        ("throw {toJSON() { throw 1 }}", "", "[object Object]", None, "[object Object]"),
        ("throw {toString() { return 'text' }}", "", "text", None, "text"),
        ("class Mine extends Error {} throw new Mine('own')", "Mine", "own", 1, "Mine: own (line 1)"),
        ("class Mine extends TypeError {} throw new Mine('own')", "TypeError", "own", 1, "TypeError: own (line 1)"),
        ("const e = new Error('x'); e.constructor = null; throw e", "Error", "x", 1, "Error: x (line 1)"),
        ("throw new Error('')", "Error", "", 1, "Error (line 1)"),
        ("class Mine extends Error { name = 'Mine' } throw new Mine('own')", "Mine", "own", 1, "Mine: own (line 1)"),
        ("const a = 1\nnull.x", "TypeError", "cannot read property 'x' of null", 2, None),
        ("throw {toString() { throw 1 }}", "", "?", None, "?"),
        ("throw Object.defineProperty(new Error(), 'message', {get() { throw 1 }})", "Error", "?", 1, None),
    ],
)
def test_errors(
    engine: ScriptEngine, body: str, name: str, message: str, line: int | None, described: str | None
) -> None:
    outcome = evaluate(engine, body)
    assert (outcome.kind, outcome.name, outcome.message, outcome.line) == ("error", name, message, line)
    if described is not None:
        assert outcome.describe() == described


def test_a_syntax_error_has_its_line(engine: ScriptEngine) -> None:
    outcome = evaluate(engine, "const a = 1;\nlet x = ;\nreturn ''")
    assert (outcome.kind, outcome.name, outcome.line) == ("syntax", "SyntaxError", 2)
    assert outcome.message


@pytest.mark.parametrize("body", ["if (true) {", "return 'x' }", "return ctx.a(", "const x = `abc\nreturn x"])
def test_unbalanced_scripts_say_so(engine: ScriptEngine, body: str) -> None:
    outcome = evaluate(engine, body)
    assert outcome.kind == "syntax"
    assert outcome.message == "the script ends too early or closes a bracket too many"


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("return missing", 1),
        ("\n\nreturn missing", 3),
        ("const a = 1;\nreturn ctx.nope.field", 2),
        ("String('x');\n\nreturn ctx.nope.field", 3),
        ("function f(x) {\n  const y = 1;\n  return x.foo.bar\n}\nreturn f({})", 3),
        ("const x = 1\nreturn `\n${missing}`", 3),
        ("await null;\n\nthrow new Error('late')", 3),
        ("eval('\\n\\n\\nmissing()')", 1),
        ("'first'\n\nnew Function('\\n\\n\\n\\nx.y')()", 3),
        ("return ctx.a.b.c + ctx.a.b.c;\nctx.a.b.c", None),
    ],
)
def test_line_numbers_are_those_of_the_script(engine: ScriptEngine, body: str, line: int | None) -> None:
    outcome = evaluate(engine, body)
    assert (outcome.kind, outcome.line) == ("error", line)


def test_a_script_that_waits_for_nothing_ends(engine: ScriptEngine) -> None:
    outcome = evaluate(engine, "await new Promise(() => {})")
    assert (outcome.kind, outcome.message) == ("error", "waits for a promise that never settles")


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("while (true) {}", "timeout", "stopped after 0.2 s"),
        ("const s = 'é'.repeat(1e6); for (;;) s.normalize('NFD')", "timeout", "stopped after 0.2 s"),
        ("for (;;) await null", "timeout", "stopped after 0.2 s"),
        ("const e = new Error(); Object.defineProperty(e, 'message', {get() { for (;;); }}); throw e", "timeout", None),
        ("function f() { return f() + 1 } f()", "stack", "calls itself too deeply"),
    ],
)
def test_endless_scripts_end(engine: ScriptEngine, body: str, kind: str, message: str | None) -> None:
    outcome = evaluate(engine, body, seconds=0.2)
    assert outcome.kind == kind
    assert message is None or outcome.message == message
    assert outcome.memory > 0


def test_memory_is_bounded(engine: ScriptEngine) -> None:
    outcome = evaluate(engine, "const a = []; for (;;) a.push(new Array(1e6).fill(0))", seconds=20, memory=32 << 20)
    assert (outcome.kind, outcome.message) == ("memory", "needed more than 32 MB of memory")
    assert outcome.memory <= 32 << 20


def test_a_long_result_is_refused_and_one_at_the_limit_is_not(engine: ScriptEngine) -> None:
    outcome = evaluate(engine, "return 'x'.repeat(1001)", output=1000)
    assert (outcome.kind, outcome.message) == ("too_long", "returned 1,001 characters; the limit is 1,000")
    assert evaluate(engine, "return '😀'.repeat(500)", output=1000).text == "😀" * 500


def test_a_long_script_is_refused(engine: ScriptEngine) -> None:
    body = "return 'x' //é"
    size = len(body.encode())
    assert evaluate(engine, body, body=size).kind == "ok"
    outcome = evaluate(engine, body, body=size - 1)
    assert (outcome.kind, outcome.message) == ("too_long", f"the script is {size} bytes long; the limit is {size - 1}")


def test_a_long_error_is_cut(engine: ScriptEngine) -> None:
    outcome = evaluate(engine, "throw new Error('x'.repeat(1e6))")
    assert (outcome.kind, outcome.message) == ("error", "x" * 4000)
    outcome = evaluate(engine, "throw {x: 'x'.repeat(1e6)}")
    assert (outcome.kind, outcome.describe()) == ("error", '{"x":"' + "x" * 3994)


def test_the_limits_of_the_spec() -> None:
    assert Limits(1.0, 128 << 20, 1_000_000, 10_000, 256 << 10) == PREVIEW_LIMITS
    assert Limits(5.0, 128 << 20, 1_000_000, 10_000, 256 << 10) == RUN_LIMITS


def test_lone_surrogates_become_replacement_characters(engine: ScriptEngine) -> None:
    assert evaluate(engine, "return '\\ude00x'").text == "\ufffdx"
    assert evaluate(engine, "return '\ude00x' + '\ud83d\ude00'").text == "\ufffdx😀"
    outcome = engine.evaluate("return ctx.a + ctx.b", {"a": ['"\ud800"'], "b": ['"\\ud800"']}, {})
    assert outcome.text == "\ufffd\ufffd"


def test_scripts_share_nothing(engine: ScriptEngine) -> None:
    fields = {"story": ['{"name": "The Vault"}']}
    first = "ctx.story.name = ctx.extra = globalThis.kept = 'changed'; JSON.parse = null; Array.prototype.map = null"
    assert engine.evaluate(first, fields, {}).kind == "not_string"
    second = "return [ctx.story.name, ctx.extra, typeof kept, typeof JSON.parse, typeof [].map].join()"
    assert engine.evaluate(second, fields, {}).text == "The Vault,,undefined,function,function"


def test_a_script_that_overwrites_built_ins_harms_only_itself(engine: ScriptEngine) -> None:
    spoil = """
        Promise.prototype.constructor = 5; Promise.prototype.then = null;
        Object.prototype.get = Object.prototype.value = Object.prototype.toJSON = 1;
        Array.prototype.toJSON = () => { throw 1 };
        JSON.parse = JSON.stringify = Object.defineProperty = Array.isArray = String = undefined;
    """
    assert evaluate(engine, spoil + "return 'still'").text == "still"
    outcome = evaluate(engine, spoil + "throw new TypeError('thrown')")
    assert (outcome.kind, outcome.name, outcome.message) == ("error", "TypeError", "thrown")
    outcome = engine.evaluate(spoil + "return ctx.a", {"a": ['"field"']}, {})
    assert (outcome.kind, outcome.text) == ("ok", "field")


def test_nothing_of_the_host_is_in_reach(engine: ScriptEngine) -> None:
    names = "require process std os fetch Worker setTimeout setInterval print WebAssembly Deno __host"
    body = f"return '{names}'.split(' ').filter(name => typeof globalThis[name] !== 'undefined').join()"
    assert evaluate(engine, body).text == ""
    for module in ("fs", "std", "/etc/passwd"):
        assert evaluate(engine, f"await import('{module}'); return 'LEAK'").kind == "error"


def test_many_evaluations_leave_nothing_behind(engine: ScriptEngine) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")

    def once() -> None:
        body = "return (await ctx.getFragment('ch-1')).name + ctx.story.name"
        outcome = engine.evaluate(
            body, {"story": ['{"name": "V"}']}, {"getFragment": lambda identifier: '{"name": "M"}'}
        )
        assert outcome.text == "MV"

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    for _ in range(50):
        once()
    threads, files, memory = threading.active_count(), open_files(), resident()
    for _ in range(times(200, 2000)):
        once()
    deadline = time.monotonic() + 10
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)  # a cancelled timer's thread takes a moment to end
    assert threading.active_count() <= threads
    assert open_files() <= files
    assert resident() - memory < 8 << 20  # one store kept per evaluation would be 260 MB
