"""One guest: a fresh QuickJS in WebAssembly, and the few calls between it and the host.

The guest is `_guest.wasm` of the quickjs-rs wheel, whose exports are no public API: the sandbox admits tested versions
only. Handles are small integers into the guest's table of values. Source: spec scripts, section 6.
"""

from __future__ import annotations

import inspect
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.scripts.outcome import CONSOLE_LENGTH, CONSOLE_LINES, ERROR_TEXT, Limits

Fields = Mapping[str, Sequence[str] | Callable[[], Sequence[str]]]
"""Data of ctx: JSON texts by name; several are the chunks of one array. A callable is called when they are needed."""

Functions = Mapping[str, Callable[..., str | None]]
"""Functions of ctx: JSON values in, JSON text out (None is null)."""

_PRELUDE = Path(__file__).with_name("prelude.js")
_REQUEST_BYTES = 4_000_000  # the prelude refuses more than a million characters
_JOBS = 100_000  # that many jobs the guest runs in one go
_UNDEFINED_FIELD = "null"


class GuestFault(Exception):
    """The guest did not do what its interface says."""


class TooManyCalls(Exception):
    """The script spent its host calls."""


class Guest:
    """One instance in one store; used for one script and thrown away.

    `interrupt` ends the running WebAssembly code at its next check. Whatever goes wrong in a host call is kept in
    `fault` and ends the evaluation that way: an exception raised through wasmtime would pass through a global of it.
    """

    def __init__(
        self,
        exports: Any,
        store: Any,
        fields: Fields,
        functions: Functions,
        limits: Limits,
        console: list[str],
        interrupt: Callable[[], None],
    ) -> None:
        self._exports, self._store, self._memory = exports, store, exports["memory"]
        self._fields, self._functions, self._limits = fields, functions, limits
        self._chunks: dict[str, Sequence[str]] = {}
        self._calls_left = limits.host_calls
        self._console = console
        self._interrupt = interrupt
        self._slot = self._export("qjs_alloc", 16)
        self.fault: Exception | None = None

    def run(self, body: str) -> str:
        """Evaluate a script to the prelude's word for what came of it: a letter and a text.

        `s` the string · `t` the type of another value · `L` the length of a string that is too long · `y` syntax
        error, `e` error: a JSON array of name, message, stack, value · `n` null was thrown · nothing: it never settled.
        Raises GuestFault or MemoryError, and what wasmtime raises when the guest is stopped.
        """
        self._export("set_memory_limit", self._limits.memory)
        name = b"__host"
        at = self._put(name)
        self._export(
            "set_prop", self._export("global_object"), at, len(name), self._export("new_function", at, len(name))
        )
        prelude = self._eval(_prelude())
        run, take = self._item(prelude, 0), self._item(prelude, 1)
        settings = [self._limits.output, ERROR_TEXT, CONSOLE_LINES, CONSOLE_LENGTH]
        given = self._eval("(" + json.dumps([list(self._fields), list(self._functions), settings]) + ")")
        self._call(run, self.string(body), *(self._item(given, index) for index in range(3)))
        while self._export("execute_pending_jobs") >= _JOBS:
            pass
        return self._text(self._call(take), 4 * self._limits.output + 64 * ERROR_TEXT)

    def memory(self) -> int:
        """Bytes of linear memory; it never shrinks."""
        return int(self._memory.data_len(self._store))

    def is_full(self) -> bool:
        """Whether so much memory is in use that a failure is one of memory."""
        return self.memory() > self._limits.memory * 0.9

    def host_call(self, argument_count: int, arguments: int) -> int:
        """Answer one request of the prelude; the handle of a string, or -1 when the evaluation is over."""
        try:
            if argument_count != 1:
                raise GuestFault("a host call without its one argument")
            request = self._text(self._integer(arguments), _REQUEST_BYTES)
            return self.string(self._answer(*request.split(" ", 1)))
        except Exception as error:
            self.fault = self.fault or error
            self._interrupt()
            return -1

    def _answer(self, name: str, arguments: str) -> str:
        given = json.loads(arguments)
        if name == "#log":
            self._log(given)
            return "null"
        self._calls_left -= 1
        if self._calls_left < 0:
            raise TooManyCalls
        if name == "#field":
            name, index = given
            try:
                return self._chunk(name, index)
            except Exception as error:
                return f"!ctx.{name} can't be read ({type(error).__name__})"
        try:
            function = self._functions[name]
            return function(*fit_arguments(function, given)) or "null"
        except Exception as error:  # its text may hold paths and names: no business of the script
            return f"!ctx.{name} failed ({type(error).__name__})"

    def _chunk(self, name: str, index: int) -> str:
        if name not in self._chunks:
            given = self._fields[name]
            chunks = given() if callable(given) else given
            self._chunks[name] = [chunks] if isinstance(chunks, str) else chunks
        chunks = self._chunks[name]
        if not chunks:
            return _UNDEFINED_FIELD
        return (" " if index + 1 < len(chunks) else "") + chunks[index].lstrip()

    def _log(self, line: str) -> None:
        if len(self._console) < CONSOLE_LINES:
            self._console.append(line if len(line) <= CONSOLE_LENGTH else line[:CONSOLE_LENGTH] + "…")
        elif len(self._console) == CONSOLE_LINES:
            self._console.append(f"… (only the first {CONSOLE_LINES} lines are kept)")

    # -- the guest's interface

    def _export(self, name: str, *arguments: int) -> int:
        result = self._exports[name](self._store, *arguments)
        return int(result) if result is not None else 0

    def _put(self, data: bytes) -> int:
        """Copy bytes into the guest; their address."""
        at = self._export("qjs_alloc", len(data) or 1) & 0xFFFFFFFF
        if not at:
            raise MemoryError
        self._memory.write(self._store, bytearray(data), at)
        return at

    def _get(self, at: int, length: int) -> bytes:
        at &= 0xFFFFFFFF
        if at + length > self.memory():
            raise GuestFault("an address outside the guest's memory")
        return bytes(self._memory.read(self._store, at, at + length)) if length else b""

    def _integer(self, at: int) -> int:
        return int(struct.unpack("<i", self._get(at, 4))[0])

    def string(self, text: str) -> int:
        """The handle of a JavaScript string."""
        data = utf8(text)
        at = self._put(data)
        handle = self._export("new_string", at, len(data))
        self._export("qjs_free", at, len(data) or 1)
        if not handle:
            raise MemoryError
        return handle

    def _text(self, handle: int, most: int) -> str:
        if self._export("get_string", handle):
            raise MemoryError if self.is_full() else GuestFault("no string where one was expected")
        length = self._export("qjs_last_len") & 0xFFFFFFFF
        if length > most:
            raise GuestFault("a string longer than the prelude lets through")
        data = self._get(self._export("qjs_last_ptr"), length)
        self._export("qjs_result_free")
        return data.decode("utf-8", "replace")

    def _handle(self, status: int) -> int:
        if status:
            raise MemoryError if self.is_full() else GuestFault(f"status {status}")
        return self._integer(self._slot)

    def _item(self, array: int, index: int) -> int:
        return self._handle(self._export("get_index", array, index, self._slot))

    def _eval(self, source: str) -> int:
        data = utf8(source)
        at = self._put(data)
        try:
            return self._handle(self._export("eval_code", at, len(data), self._slot))
        finally:
            self._export("qjs_free", at, len(data) or 1)

    def _call(self, function: int, *arguments: int) -> int:
        at = self._put(struct.pack(f"<{max(1, len(arguments))}i", *(arguments or (0,))))
        this = self._export("new_undefined")
        return self._handle(self._export("call_function", function, this, at, len(arguments), self._slot))


def utf8(text: str) -> bytes:
    """UTF-8 of any string: surrogate pairs become their character, a lone surrogate U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def fit_arguments(function: Callable[..., object], given: Sequence[Any]) -> list[Any]:
    """Arguments as JavaScript passes them: too many are dropped, missing ones are None (unless they have a default)."""
    kinds = inspect.Parameter
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is kinds.VAR_POSITIONAL for parameter in parameters):
        most = len(given)
    else:
        most = sum(p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD) for p in parameters)
    least = sum(
        p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD) and p.default is kinds.empty for p in parameters
    )
    fitted = list(given[:most])
    return fitted + [None] * (least - len(fitted))


def _prelude() -> str:
    global _prelude_text
    if not _prelude_text:
        _prelude_text = _PRELUDE.read_text(encoding="utf-8")
    return _prelude_text


_prelude_text = ""
