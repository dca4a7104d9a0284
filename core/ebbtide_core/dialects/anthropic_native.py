"""What runs at Anthropic: server tools, MCP, uploads, changes of tools, and the provider's own compaction.

| block                                       | read as                                             |
| ------------------------------------------- | --------------------------------------------------- |
| `server_tool_use`, `mcp_tool_use`           | NATIVE: the tool's name, its input as JSON          |
| `*_tool_result`                             | NATIVE: the words of its content                    |
| `compaction`                                | NATIVE: the summary that it holds; a `Base`         |
| `tool_reference`                            | NATIVE: the tool's name                             |
| `container_upload`, `mcp_tool_listing`,     | NATIVE, without words                               |
| `fallback`, `browser_state`,                |                                                     |
| `tool_addition`, `tool_removal`             |                                                     |

All are carried to the byte and none is a call of the host. A use and its result may stand in two messages:
the turn was paused in between, or the host had to answer a call of its own first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ebbtide_core.dialects.base import NO_TIES, Base, Block, BlockKind, PlainMessage, Ties
from ebbtide_core.dialects.parts import arguments_of, string, type_of
from ebbtide_core.dialects.readable import readable

_USES: Final = frozenset({"server_tool_use", "mcp_tool_use"})
_RESULT: Final = "_tool_result"
_COMPACTION: Final = "compaction"
_WORDLESS: Final = frozenset(
    {"container_upload", "mcp_tool_listing", "fallback", "browser_state", "tool_addition", "tool_removal"}
)
_OTHERS: Final = frozenset({_COMPACTION, "tool_reference"}) | _WORDLESS
_COMMON: Final = frozenset({"text", "thinking", "tool_use", "tool_result", ""})
"""What most messages are made of, looked at first: every new message is asked for its ties."""


def is_native(kind: str) -> bool:
    """Say whether a block of this type is the provider's own doing."""
    return kind in _USES or kind in _OTHERS or kind.endswith(_RESULT)


def native_block(block: PlainMessage) -> Block:
    """Return such a block as a reader needs it."""
    kind = type_of(block)
    if kind in _USES:
        return Block(BlockKind.NATIVE, arguments_of(block.get("input"))[0], string(block, "name"))
    if kind in _WORDLESS:
        return Block(BlockKind.NATIVE)
    words = readable(block if kind == "tool_reference" else block.get("content"))
    return Block(BlockKind.NATIVE, words, is_error=block.get("is_error") is True)


def uses(block: PlainMessage) -> tuple[list[str], list[str]]:
    """Return the id of the provider's tool use that a block begins, and that of the one that it ends."""
    kind = type_of(block)
    begun = [string(block, "id")] if kind in _USES else []
    ended = [string(block, "tool_use_id")] if kind.endswith(_RESULT) else []
    return list(filter(None, begun)), list(filter(None, ended))


def ties(content: Sequence[Any]) -> Ties:
    """Return the tool uses that lack their result in these blocks or their beginning, and the compaction."""
    kinds = [type_of(b) if isinstance(b, dict) else "" for b in content]
    if _COMMON.issuperset(kinds):
        return NO_TIES
    native = [b for b, kind in zip(content, kinds, strict=True) if is_native(kind)]
    if not native:
        return NO_TIES
    begun = dict.fromkeys(name for b in native for name in uses(b)[0])
    ended = dict.fromkeys(name for b in native for name in uses(b)[1])
    return Ties(
        begun=tuple(name for name in begun if name not in ended),
        ended=tuple(name for name in ended if name not in begun),
        base=max(map(_base, native), key=_RANK.index),
    )


_RANK: Final = (Base.NONE, Base.READABLE, Base.SEALED)


def _base(block: PlainMessage) -> Base:
    """A compaction without content is one that failed, and stands for nothing."""
    if type_of(block) != _COMPACTION:
        return Base.NONE
    if readable(block.get("content")):
        return Base.READABLE
    return Base.SEALED if string(block, "encrypted_content") else Base.NONE
