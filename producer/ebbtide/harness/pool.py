"""The compactor that takes what an Ebbtide pool prepared in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebbtide.harness.contract import CompactionRequest, CompactionResult, output_cap, unchanged
from ebbtide.harness.errors import CompactionError, ContextOverflowError
from ebbtide.harness.installed import installed
from ebbtide.harness.items import ItemTest, is_ephemeral_message, is_internal_message, read_item
from ebbtide.harness.outgoing import without_marks
from ebbtide.harness.render import render_request_messages
from ebbtide_core.dialects.openai_chat import OpenAIChat
from ebbtide_core.errors import EbbtideError, InputError, UnfittableRequest
from ebbtide_core.jsonio import equal

if TYPE_CHECKING:
    from ebbtide.aio import AsyncSession
    from ebbtide.turn import Turn


class PoolCompactor:
    """Prepares each turn with a session of a pool, and installs the swap when there is one.

    The session must speak the OpenAI Chat dialect (`pool.session(…, dialect="openai")`) and belong to one
    run. `tools` are the tool schemas that each request carries, to be measured. The shim must call at every
    turn (`trigger_tokens=1`, `failures_to_pause=None`): the pool asks for a summary long before it needs one,
    and has a breaker of its own. `is_ephemeral` and `is_internal` tell those items of a framework that has
    marks of its own. Raises InputError for a session of another dialect.
    """

    def __init__(
        self,
        session: AsyncSession,
        *,
        tools: Any = None,
        is_ephemeral: ItemTest = is_ephemeral_message,
        is_internal: ItemTest = is_internal_message,
    ) -> None:
        if session.dialect != OpenAIChat.name:
            raise InputError('must speak OpenAI Chat: pool.session(…, dialect="openai")', path="session")
        self._session = session
        self._tools = tools
        self._is_ephemeral = is_ephemeral
        self._is_internal = is_internal
        self._turn: Turn | None = None

    @property
    def turn(self) -> Turn | None:
        """The turn prepared last, with its report; None before the first."""
        return self._turn

    async def compact(self, request: CompactionRequest) -> CompactionResult:
        """Return the history with the pool's summary swapped in, or the same while there is none to swap.

        What the pool sends otherwise than it keeps it, such as a degraded turn, is the result's one-turn
        `view`. Raises ContextOverflowError when no view fits, CompactionError for a history that is no
        conversation, ValueError for one that can't be rendered.
        """
        items = [read_item(value, self._is_ephemeral, self._is_internal) for value in request.history]
        messages = [item.marked() for item in items]
        turn = self._turn = await self._prepare(request, [m for rendered in messages for m in rendered])
        result = unchanged(request.history)
        if turn.swap is not None:
            result = installed(turn.buffer, turn.swap.summary_message, request.history, messages)
        if not equal(turn.messages, without_marks(turn.buffer)):
            result.view = turn.messages
        return result

    async def _prepare(self, request: CompactionRequest, messages: list[Any]) -> Turn:
        system = render_request_messages(request.instructions, ())
        try:
            return await self._session.prepare(
                messages,
                system=system or None,
                tools=self._tools,
                max_tokens=output_cap(request.model_args) or None,
            )
        except UnfittableRequest as error:
            self._turn = error.turn
            raise ContextOverflowError(str(error)) from error
        except EbbtideError as error:
            raise CompactionError(str(error)) from error
