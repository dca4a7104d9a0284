"""What all contract models share."""

from __future__ import annotations

import json
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, ValidationError, WithJsonSchema

from ebbtide_core.errors import ContractError
from ebbtide_core.jsonio import canonical_bytes
from ebbtide_core.lineage.chain import Position
from ebbtide_core.names import CONTRACT_MAJOR


def _position(value: Any) -> Position:
    if isinstance(value, Position):
        return value
    if not isinstance(value, str):
        raise ValueError("not a position")
    return Position.parse(value)


PositionField = Annotated[
    Position,
    BeforeValidator(_position),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^\d+:[0-9a-f]{32}$"}),
]
"""A position, on the wire `count:digest in hex`."""


class Contract(BaseModel):
    """A frozen document. Building one with an unknown field is an error; reading one ignores it."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)

    def to_json(self) -> bytes:
        """Return the document as canonical JSON, marked with the contract's major version."""
        return canonical_bytes({"major": CONTRACT_MAJOR, **self.model_dump(mode="json")})

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Return the document. Raises ContractError for another major version or a damaged document."""
        try:
            document = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ContractError(f"{cls.__name__}: not JSON: {error}") from error
        major = document.pop("major", None) if isinstance(document, dict) else None
        if major != CONTRACT_MAJOR:
            raise ContractError(
                f"{cls.__name__}: contract major {major!r}, this side speaks {CONTRACT_MAJOR}"
            )
        try:
            return cls.model_validate(document, extra="ignore")
        except ValidationError as error:
            raise ContractError(f"{cls.__name__}: {_fields(error)}") from error


def _fields(error: ValidationError) -> str:
    """Name the wrong fields without their values, which may be content."""
    return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False))
