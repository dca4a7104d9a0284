"""The codec of data at rest that a setting names."""

from __future__ import annotations

from types import FunctionType

import typer

from ebbtide_cli.named import imported
from ebbtide_core.store.codec import PLAIN, Codec


def named_codec(name: str) -> Codec:
    """Return the object that `module:object` names, the plain codec for "".

    A class or a function is called without arguments for the codec. Raises BadParameter when there is none.
    """
    if not name:
        return PLAIN
    try:
        found = imported(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise _wrong(name, str(error)) from None
    try:
        codec: Codec = found() if isinstance(found, type | FunctionType) else found
    except Exception as error:  # noqa: BLE001  such code may raise anything, and its words may repeat a key
        raise _wrong(name, f"making it failed: {type(error).__name__}") from None
    if not all(callable(getattr(codec, method, None)) for method in ("encode", "decode")):
        raise _wrong(name, "it has no methods `encode` and `decode`")
    return codec


def _wrong(name: str, why: str) -> typer.BadParameter:
    return typer.BadParameter(f"--codec or EBBTIDE_CODEC: {name!r} is no codec, give module:object ({why})")
