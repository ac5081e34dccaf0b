"""The Stonehand engine: prompts made of blocks, in plain files. It never imports a user interface.

The door is `engine.Workspace`; everything else a caller needs is a type that `Workspace` hands out.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Workspace", "__version__"]

if TYPE_CHECKING:
    from engine.workspace import Workspace


def __getattr__(name: str) -> Any:
    # Lazy, so that `import engine.text` or `--version` does not load pydantic and the rest.
    if name == "Workspace":
        from engine.workspace import Workspace

        return Workspace
    raise AttributeError(f"module 'engine' has no attribute {name!r}")
