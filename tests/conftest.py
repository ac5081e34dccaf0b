"""What all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How fast a machine is today decides nothing: no deadlines.
settings.register_profile(
    "stonehand", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors]
)
settings.load_profile("stonehand")
