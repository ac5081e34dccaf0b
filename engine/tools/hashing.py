"""`baseHash`: what a fragment said when it was read, in short, so that an edit of something else is noticed.

The reference leaves open how it is made. Ours is the first 16 hexadecimal digits of the SHA-256 of the JSON list
`[name, description, content]`, which are the fields that editing can set.
"""

from __future__ import annotations

import hashlib

from engine.disk import compact_json
from engine.story import Fragment
from engine.story.revising import FragmentState


def base_hash(fragment: Fragment) -> str:
    """The hash of a fragment as it was read."""
    return state_hash(FragmentState.of(fragment))


def state_hash(state: FragmentState) -> str:
    """The hash of a fragment in this state."""
    data = compact_json([state.name, state.description, state.content]).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:16]
