"""The program as a person starts it, on a copy of the sample library, in a pseudo-terminal of its own."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.e2e.place import place

    __all__ = ["place"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "install: builds and unpacks the distribution")
