"""The function that finds the secrets of tenants, which a setting names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ebbtide_cli.named import imported

if TYPE_CHECKING:
    from ebbtide_worker.credentials import Lookup


def named_lookup(name: str) -> Lookup | None:
    """Return the function that `module:function` names, None for "". Raises BadParameter for no function."""
    if not name:
        return None
    try:
        lookup: Lookup = imported(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise _wrong(name, str(error)) from None
    if not callable(lookup):
        raise _wrong(name, "it can't be called")
    return lookup


def _wrong(name: str, why: str) -> typer.BadParameter:
    return typer.BadParameter(
        f"--credentials or EBBTIDE_CREDENTIALS: {name!r} gives no secrets, give module:function ({why})"
    )
