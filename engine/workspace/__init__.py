"""The door: everything a user interface or a script does with a data folder goes through `Workspace`.

`Workspace` opens stories and configs and makes prompts; what else can be done with them is a part of it by subject,
with a module each: `models`, `wires`, `generation`, `passages`, `analyses`, `changes`, `conversations`, `runs` (in
`history`), `exchange`, `order`, `rescue`, `watching`.
"""

from engine.agents import WRITER
from engine.models import REHEARSAL
from engine.story import FileEdit, Fragment
from engine.story.branches import MAIN
from engine.workspace.door import Workspace
from engine.workspace.jobs import PreviewJob, SaveJob
from engine.workspace.views import (
    AgentSummary,
    Belongings,
    FragmentOrder,
    LeftEdits,
    Reference,
    ReferenceKind,
    Replay,
    RequestBody,
    StorySummary,
)

__all__ = [
    "MAIN",
    "REHEARSAL",
    "WRITER",
    "AgentSummary",
    "Belongings",
    "FileEdit",
    "Fragment",
    "FragmentOrder",
    "LeftEdits",
    "PreviewJob",
    "Reference",
    "ReferenceKind",
    "Replay",
    "RequestBody",
    "SaveJob",
    "StorySummary",
    "Workspace",
]
