"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.mock_provider.serving import Serve, serving

# How fast a machine is today decides nothing: no deadlines.
settings.register_profile(
    "stonehand", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors]
)
settings.load_profile("stonehand")


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a mock provider on a thread of its own: `serve(script, …)`."""
    with serving() as start:
        yield start
