"""The sandbox: user scripts in QuickJS, compiled to WebAssembly, run by wasmtime on one thread of its own.

* `Store.set_limits` caps the guest's linear memory (QuickJS' own limit does not bind on WASI).
* Epoch interruption also ends native loops (normalize, indexOf, JSON, splice …).
* An empty `WasiConfig`: no files, environment, arguments or standard streams; nothing else is imported.
* A fresh store per evaluation: nothing survives from one script to the next.
* Only wasmtime's public interface is used, and nothing of quickjs-rs but its guest is loaded.

Source: spec scripts, sections 1, 6, 7 and the pitfalls of 8.
"""

from __future__ import annotations

import importlib.util
import json
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.scripts.guest import Fields, Functions, Guest, GuestFault, TooManyCalls
from engine.scripts.lines import error_line, syntax_line
from engine.scripts.outcome import PREVIEW_LIMITS, Kind, Limits, Outcome
from engine.text import Phrase

TESTED_GUESTS = frozenset({"0.2.6"})
"""Versions of quickjs-rs whose guest this module was tested with."""

_WASM_STACK = 2 << 20  # above 2 MB wasmtime aborts the process
_THREAD_STACK = 8 << 20  # must be well above it: a thread's default can be 128 KB, and overflowing it is a crash
_WASI = "wasi_snapshot_preview1"
_IMPORTS = frozenset(
    [
        *(("env", name) for name in ("host_call", "host_interrupt", "host_module_normalize", "host_module_load")),
        *((_WASI, name) for name in ("random_get", "environ_get", "environ_sizes_get", "clock_time_get", "proc_exit")),
        *((_WASI, name) for name in ("fd_close", "fd_fdstat_get", "fd_seek", "fd_write")),
    ]
)


def available() -> str | None:
    """Why no script can be evaluated here, in one line; None if the engine can be loaded. Loads nothing heavy."""
    for package in ("wasmtime", "quickjs_rs"):
        if importlib.util.find_spec(package) is None:
            return Phrase(
                "scripts can't run here: the package {package} is not installed", package=package.replace("_", "-")
            )
    from importlib.metadata import version as installed

    version = installed("quickjs-rs")
    if version not in TESTED_GUESTS:
        tested = ", ".join(sorted(TESTED_GUESTS))
        return Phrase(
            "scripts can't run here: quickjs-rs {version} is not a tested version (tested: {tested})",
            version=version,
            tested=tested,
        )
    if not _guest_file().is_file():
        return Phrase("scripts can't run here: quickjs-rs {version} came without its guest", version=version)
    return None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _guest_file() -> Path:
    spec = importlib.util.find_spec("quickjs_rs")  # found, not imported
    return Path(spec.origin if spec and spec.origin else "").with_name("_guest.wasm")


class _Evaluation(Future[Outcome]):
    """One evaluation, queued or running; cancelling it reaches no other."""

    def __init__(self, stop: Callable[[_Evaluation, Kind], None]) -> None:
        super().__init__()
        self._stop = stop
        self.stopped: Kind | None = None

    def cancel(self) -> bool:
        """Drop it while it is queued (True); stop it when it is running (False: its outcome is `cancelled`)."""
        if super().cancel():
            return True
        self._stop(self, "cancelled")
        return False


class ScriptEngine:
    """Evaluates scripts, one at a time, off the caller's thread.

    The first use loads wasmtime and compiles the guest: about a second once per machine, some 20 ms after that; see
    `warm`. `crash_log` is where Python's fault handler writes if nothing else has enabled it (default: nowhere).
    """

    def __init__(self, crash_log: str | os.PathLike[str] | None = None) -> None:
        self._crash_log = crash_log
        self._gate = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._thread: int | None = None
        self._closed = False
        self._running: _Evaluation | None = None
        self._guest: Guest | None = None
        self._wasmtime: Any = None
        self._engine: Any = None
        self._linker: Any = None
        self._module: Any = None
        self._reason: str | None = None

    # -- for callers, from any thread

    def warm(self) -> str | None:
        """Load the engine now and wait for it; why it can't be loaded, or None. Call it in the background."""
        pool = self._ensure_pool()
        return pool.submit(self._load).result() if pool is not None else _CLOSED

    def evaluate(self, body: str, fields: Fields, functions: Functions, limits: Limits = PREVIEW_LIMITS) -> Outcome:
        """Evaluate `body` as the body of `async function (ctx)` and wait for what comes of it.

        `fields` are the data of ctx: a name and its JSON text in one or several chunks (several must each be an
        array; they are joined), or a callable that gives them, called when the script first reads the field.
        `functions` are the async functions of ctx: each gets the script's arguments as JSON values of any type,
        returns JSON text or None (null), and runs in the engine's thread. Whatever the script does, this returns.
        """
        if threading.get_ident() == self._thread:
            raise RuntimeError("a host function of a script can't wait for another script")
        evaluation = self.submit(body, fields, functions, limits)
        try:
            return evaluation.result()
        except BaseException:
            evaluation.cancel()
            raise

    def check(self, body: str, limits: Limits = PREVIEW_LIMITS) -> Outcome:
        """Compile a script and run nothing of it: of kind `ok`, or what stands in the way, with its line."""
        # The whole body is compiled before its first statement runs, which is this one.
        return self.evaluate(f"return '';{body}", {}, {}, limits)

    async def run(self, body: str, fields: Fields, functions: Functions, limits: Limits = PREVIEW_LIMITS) -> Outcome:
        """`evaluate` for an event loop; cancelling the task stops this evaluation and no other."""
        import asyncio

        return await asyncio.wrap_future(self.submit(body, fields, functions, limits))

    def submit(
        self, body: str, fields: Fields, functions: Functions, limits: Limits = PREVIEW_LIMITS
    ) -> Future[Outcome]:
        """Queue an evaluation. Cancelling the future drops it while it waits; running, it ends as `cancelled`."""
        evaluation = _Evaluation(self._stop)
        pool = self._ensure_pool()
        try:
            if pool is None:
                raise RuntimeError
            work = pool.submit(self._work, evaluation, body, fields, functions, limits)
        except RuntimeError:
            evaluation.set_result(Outcome("engine", _CLOSED))
            return evaluation

        def drop(work: Future[None]) -> None:
            if work.cancelled() and evaluation.set_running_or_notify_cancel():
                evaluation.set_result(_CANCELLED)

        work.add_done_callback(drop)
        return evaluation

    def cancel(self) -> None:
        """Stop the evaluation in progress, if there is one; its outcome is `cancelled`. What is queued goes on."""
        running = self._running
        if running is not None:
            self._stop(running, "cancelled")

    def close(self) -> None:
        """Stop the evaluation in progress, drop what is queued, end the thread. Does not wait."""
        with self._gate:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
        self.cancel()

    # -- starting

    def _ensure_pool(self) -> ThreadPoolExecutor | None:
        with self._gate:
            if self._pool is None and not self._closed:
                usual = threading.stack_size(_THREAD_STACK)
                try:
                    self._pool = ThreadPoolExecutor(1, "stonehand-scripts")
                    self._thread = self._pool.submit(threading.get_ident).result()
                finally:
                    threading.stack_size(usual)
            return self._pool

    def _load(self) -> str | None:
        if self._module is None and self._reason is None:
            self._reason = available()
            if self._reason is None:
                try:
                    self._load_guest()
                except Exception as error:  # a wheel without its library, a forbidden JIT …
                    detail = (str(error).strip().splitlines() or [""])[0]
                    self._reason = Phrase(
                        "scripts can't run here: {kind}: {detail}", kind=type(error).__name__, detail=detail[:200]
                    )
        return self._reason

    def _load_guest(self) -> None:
        self._enable_faulthandler()
        import wasmtime

        config = wasmtime.Config()
        config.epoch_interruption = True
        config.max_wasm_stack = _WASM_STACK
        with suppress(wasmtime.WasmtimeError):  # no cache folder: compiled anew on each start
            config.cache = True
        engine = wasmtime.Engine(config)
        module = wasmtime.Module(engine, _guest_file().read_bytes())
        unknown = {(item.module, item.name) for item in module.imports} - _IMPORTS
        if unknown:
            raise GuestFault(f"the guest asks for more than it should: {sorted(map(str, unknown))}")
        linker = wasmtime.Linker(engine)
        linker.define_wasi()
        i32 = wasmtime.ValType.i32

        def host(name: str, arguments: int, function: Callable[..., int]) -> None:
            linker.define_func("env", name, wasmtime.FuncType([i32()] * arguments, [i32()]), function)

        host("host_call", 5, self._host_call)
        host("host_interrupt", 0, lambda: 0)
        host("host_module_normalize", 5, lambda *_: 0)  # no module is ever found
        host("host_module_load", 3, lambda *_: 0)
        self._wasmtime, self._engine, self._linker, self._module = wasmtime, engine, linker, module

    def _enable_faulthandler(self) -> None:
        # Enabled after wasmtime's own trap handlers it replaces them, and a script's stack overflow kills the app.
        import faulthandler

        if faulthandler.is_enabled():
            return
        for file in (self._crash_log, os.devnull):
            if file is not None:
                with suppress(OSError):
                    faulthandler.enable(open(file, "a", opener=_private))  # noqa: SIM115 - written to in a crash, so never closed
                    return

    def _host_call(self, _name: int, _length: int, _this: int, count: int, arguments: int) -> int:
        return self._guest.host_call(count, arguments) if self._guest is not None else -1

    # -- evaluating, in the engine's thread

    def _work(self, evaluation: _Evaluation, body: str, fields: Fields, functions: Functions, limits: Limits) -> None:
        if not evaluation.set_running_or_notify_cancel():
            return
        try:
            outcome = self._evaluate(evaluation, body, fields, functions, limits)
        except BaseException as error:
            evaluation.set_exception(error)
        else:
            evaluation.set_result(outcome)

    def _evaluate(
        self, evaluation: _Evaluation, body: str, fields: Fields, functions: Functions, limits: Limits
    ) -> Outcome:
        size = len(body.encode("utf-8", "replace"))
        if size > limits.body:
            said = Phrase("the script is {size:,} bytes long; the limit is {limit:,}", size=size, limit=limits.body)
            return Outcome("too_long", said)
        reason = self._load()
        if reason is not None:
            return Outcome("engine", reason)
        console: list[str] = []
        store = self._wasmtime.Store(self._engine)
        watchdog = threading.Timer(limits.seconds, self._stop, (evaluation, "timeout"))
        watchdog.daemon = True
        started = time.perf_counter()
        try:
            store.set_limits(memory_size=limits.memory, instances=1, memories=1, tables=1)
            store.set_wasi(self._wasmtime.WasiConfig())
            store.set_epoch_deadline(1)
            with self._gate:
                # From here on a stop reaches this store; one that came earlier has only left its mark.
                self._running = evaluation
                if self._closed or evaluation.stopped is not None:
                    return _CANCELLED
            watchdog.start()
            outcome = self._attempt(evaluation, store, body, fields, functions, limits, console)
            memory = self._guest.memory() if self._guest is not None else 0
        finally:
            with self._gate:
                self._running = None
            watchdog.cancel()
            self._guest = None
            store.close()
        milliseconds = (time.perf_counter() - started) * 1000
        return replace(outcome, milliseconds=milliseconds, console=tuple(console), memory=memory)

    def _attempt(
        self,
        evaluation: _Evaluation,
        store: Any,
        body: str,
        fields: Fields,
        functions: Functions,
        limits: Limits,
        console: list[str],
    ) -> Outcome:
        guest = None
        try:
            exports = self._linker.instantiate(store, self._module).exports(store)
            guest = Guest(exports, store, fields, functions, limits, console, self._engine.increment_epoch)
            self._guest = guest
            answer = guest.run(body)
        except (self._wasmtime.Trap, self._wasmtime.WasmtimeError, GuestFault, MemoryError) as error:
            return self._stopped(evaluation, guest, error, limits)
        if guest.fault is not None:
            return self._stopped(evaluation, guest, guest.fault, limits)
        return _read(answer, body, guest.is_full(), limits)

    def _stopped(self, evaluation: _Evaluation, guest: Guest | None, error: Exception, limits: Limits) -> Outcome:
        """What ended an evaluation from outside the script."""
        codes = self._wasmtime.TrapCode
        code = getattr(error, "trap_code", None)
        fault = guest.fault if guest is not None else None
        if isinstance(fault, TooManyCalls):
            said = Phrase("called functions and fields of ctx more than {limit:,} times", limit=limits.host_calls)
            return Outcome("error", said)
        if evaluation.stopped == "cancelled":
            return _CANCELLED
        if evaluation.stopped == "timeout" and code in (codes.INTERRUPT, None):
            return Outcome("timeout", Phrase("stopped after {seconds:g} s", seconds=limits.seconds))
        if code in (codes.STACK_OVERFLOW, codes.MEMORY_OUT_OF_BOUNDS):
            return _STACK
        if isinstance(error, MemoryError) or isinstance(fault, MemoryError) or (guest is not None and guest.is_full()):
            return _out_of_memory(limits)
        lines = str(fault or error).strip().splitlines() or [type(error).__name__]
        return Outcome("engine", Phrase("the script engine failed: {detail}", detail=lines[-1][:200]))

    def _stop(self, evaluation: _Evaluation, kind: Kind) -> None:
        with self._gate:
            if evaluation.stopped is None and not evaluation.done():
                evaluation.stopped = kind
                if evaluation is self._running:
                    self._engine.increment_epoch()  # ends every store of this engine: hence one at a time


def _read(answer: str, body: str, full: bool, limits: Limits) -> Outcome:
    """The prelude's answer as an outcome."""
    kind, text = answer[:1], answer[1:]
    if kind == "s":
        return Outcome("ok", text)
    if kind == "t":
        return Outcome("not_string", text)
    if kind == "L":
        said = Phrase("returned {size:,} characters; the limit is {limit:,}", size=int(text), limit=limits.output)
        return Outcome("too_long", said)
    if kind not in ("y", "e"):
        # QuickJS throws null when it has not even the memory for an Error, and may fail to note that much.
        if full:
            return _out_of_memory(limits)
        return Outcome("error", "null" if kind == "n" else Phrase("waits for a promise that never settles"))
    name, message, stack, value = json.loads(text)
    if name == "InternalError" and message == "out of memory":
        return _out_of_memory(limits)
    if kind == "e":
        return Outcome("error", message, error_line(body, message, stack), name=name, thrown=value)
    line, unfinished = syntax_line(body, stack)
    if unfinished:
        message = Phrase("the script ends too early or closes a bracket too many")
    return Outcome("syntax", message, line, name=name)


def _out_of_memory(limits: Limits) -> Outcome:
    return Outcome("memory", Phrase("needed more than {size:g} MB of memory", size=limits.memory / (1 << 20)))


_STACK = Outcome("stack", Phrase("calls itself too deeply"))
_CANCELLED = Outcome("cancelled", Phrase("stopped"))
_CLOSED = Phrase("the script engine is closed")
