"""Loading the engine: late, guarded, in the right order, and explained when it fails."""

import importlib.metadata
import importlib.util
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.scripts import ScriptEngine, available, sandbox


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def test_importing_loads_no_engine() -> None:
    done = run_python(
        "import sys, engine.scripts as s; s.ScriptEngine(); s.available()\n"
        "print({'wasmtime', 'quickjs_rs', 'asyncio'} & set(sys.modules))"
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")


@pytest.mark.parametrize("again", ["", "faulthandler.enable(); "])
def test_a_stack_overflow_leaves_the_process_alive(again: str) -> None:
    # In a process without a fault handler: enabled after wasmtime's own handlers it would end the process here.
    done = run_python(
        "import faulthandler; faulthandler.disable()\n"
        "from engine.scripts import ScriptEngine\n"
        f"engine = ScriptEngine(); assert engine.warm() is None; {again}\n"
        "assert faulthandler.is_enabled()\n"
        "print(engine.evaluate('function f() { return f() + 1 } f()', {}, {}).kind)\n"
        "print(engine.evaluate('return 1 + \"\"', {}, {}).text)\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "stack\n1\n", "")


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_the_crash_log_is_the_users_own(tmp_path: Path) -> None:
    log = tmp_path / "crash.log"
    done = run_python(
        "import faulthandler; faulthandler.disable()\n"
        f"from engine.scripts import ScriptEngine; print(ScriptEngine({str(log)!r}).warm())"
    )
    assert (done.stdout, stat.S_IMODE(log.stat().st_mode)) == ("None\n", 0o600)


def test_an_engine_left_running_does_not_keep_the_process(tmp_path: Path) -> None:
    log = tmp_path / "missing" / "crash.log"  # can't be opened: no reason not to run scripts
    done = run_python(
        "from engine.scripts import ScriptEngine, Limits\n"
        f"engine = ScriptEngine({str(log)!r})\n"
        "print(engine.evaluate('return \"x\"', {}, {}).text)\n"
        "engine.submit('for (;;) {}', {}, {}, Limits(seconds=0.5))\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "x\n", "")


def test_the_engine_is_available_here() -> None:
    assert available() is None


@pytest.mark.parametrize("missing", ["wasmtime", "quickjs_rs"])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    find = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> Any:
        return None if name == missing else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    reason = f"scripts can't run here: the package {missing.replace('_', '-')} is not installed"
    assert available() == reason
    engine = ScriptEngine()
    assert engine.warm() == reason
    outcome = engine.evaluate("return 'x'", {}, {})
    assert (outcome.kind, outcome.message, outcome.describe()) == ("engine", reason, reason)
    engine.close()


def test_an_untested_guest_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "9.9.9")
    reason = available()
    assert reason == "scripts can't run here: quickjs-rs 9.9.9 is not a tested version (tested: 0.2.6)"
    engine = ScriptEngine()
    assert engine.evaluate("return 'x'", {}, {}).message == reason
    engine.close()


def test_a_guest_that_asks_for_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_IMPORTS", sandbox._IMPORTS - {("wasi_snapshot_preview1", "fd_write")})
    engine = ScriptEngine()
    outcome = engine.evaluate("return 'x'", {}, {})
    assert outcome.kind == "engine"
    assert "fd_write" in outcome.message
    engine.close()
