"""One warm engine for all tests of the sandbox: that it can be shared is part of what they show."""

from collections.abc import Iterator

import pytest

from engine.scripts import ScriptEngine


@pytest.fixture(scope="session")
def engine() -> Iterator[ScriptEngine]:
    engine = ScriptEngine()
    assert engine.warm() is None
    yield engine
    engine.close()
