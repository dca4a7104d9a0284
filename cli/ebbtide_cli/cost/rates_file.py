"""The file of `--rates`: prices of further models, or other prices of known ones."""

from __future__ import annotations

from pathlib import Path

import typer
from pydantic import TypeAdapter, ValidationError

from ebbtide_core.economy.rates import Rates

_TABLE = TypeAdapter(dict[str, Rates])


def read_rates(path: Path | None) -> dict[str, Rates]:
    """Return rates by the beginning of a model's name. Raises BadParameter, naming what is wrong."""
    if path is None:
        return {}
    try:
        return _TABLE.validate_json(path.read_bytes())
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror or error}", param_hint="--rates") from None
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)
        told = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'the file'}: {e['msg']}" for e in wrong)
        raise typer.BadParameter(f"{path}: {told}", param_hint="--rates") from None
