"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The program is started some two hundred times, and read anew by every worker: what is compiled is kept, also where
# the machine is set up to keep nothing.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# So is the machine code of the script engine, which takes a second of the processor, for every home a test makes up.
os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))
# What a shell starts in the background ignores interrupts, and so would every program that a test starts to stop it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from hypothesis import HealthCheck, settings  # noqa: E402

from tests.mock_provider.serving import Serve, serving  # noqa: E402
from tests.thorough import times  # noqa: E402

# Hundreds of editors come and go in a process that has loaded everything: looking for garbage as often as Python does
# by itself takes a quarter of the time of their tests.
gc.set_threshold(100_000, 20, 20)

# How fast a machine is today decides nothing: no deadlines.
settings.register_profile(
    "stonehand",
    deadline=None,
    max_examples=times(50, 1000),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.load_profile("stonehand")


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a mock provider on a thread of its own: `serve(script, …)`."""
    with serving() as start:
        yield start
