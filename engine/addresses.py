"""Keys with which a file of a story would say where a provider is, or with which key it is called.

Nobody reads them: both come from the user's own providers alone. They are found here so that they can be told of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_NAMES: Final = frozenset(
    {
        *("baseurl", "baseuri", "apibase", "apibaseurl", "apiurl", "apihost", "apiserver", "customurl", "serverurl"),
        *("endpoint", "endpoints", "host", "hostname", "proxy", "proxyurl", "proxypassword", "reverseproxy"),
        *("apikey", "apikeys", "xapikey", "apitoken", "accesstoken", "authtoken", "bearertoken", "authorization"),
        *("secret", "password", "headers", "customheaders", "extraheaders", "defaultheaders", "httpheaders"),
    }
)
"""What other programs call these, in small letters and without marks."""
UNUSED: Final = "is not used: where a provider is, and the key for it, come from your own providers alone"
_DEPTH: Final = 8


def address_keys(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of such keys in a JSON value, which stands at `path`; what is below one is part of it."""
    if len(path) > _DEPTH:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            if "".join(filter(str.isalnum, str(key))).casefold() in _NAMES and item not in (None, "", {}, []):
                yield (*path, key)
            else:
                yield from address_keys(item, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from address_keys(item, (*path, index))
