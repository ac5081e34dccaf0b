"""The Stonehand engine: prompts made of blocks, in plain files. It never imports a user interface.

The door is `engine.Workspace`; everything else a caller needs is a type that `Workspace` hands out.
"""

from typing import TYPE_CHECKING

from engine.lazy import names_of

__version__ = "0.1.0"
__all__ = ["Workspace", "__version__"]

if TYPE_CHECKING:
    from engine.workspace import Workspace


__getattr__ = names_of(__name__, {"workspace": ("Workspace",)})
