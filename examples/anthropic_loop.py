"""An agent on the Anthropic SDK whose conversation may be longer than the model's context window."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Any, Final

from anthropic import Anthropic, AnthropicError
from anthropic.types import Message

from ebbtide import Pool, Session, Turn, UnfittableRequest
from examples.console import Options, parsed, tell
from examples.workspace import TOOLS, Workspace

REQUEST: Final[dict[str, Any]] = {
    "system": "You answer questions about the files of a folder. Look before you answer; name file and line.",
    "tools": [
        {"name": name, "description": what, "input_schema": schema} for name, (what, schema) in TOOLS.items()
    ],
    "max_tokens": 2_048,
}
"""What is the same in each request. Ebbtide counts it, and never changes it."""


def converse(client: Anthropic, session: Session, options: Options) -> str:
    """Run the loop to the model's answer."""
    workspace = Workspace(options.folder)
    messages: list[Any] = [{"role": "user", "content": options.task}]
    for _ in range(options.turns):
        turn = session.prepare(messages, **REQUEST)
        tell(turn)
        response: Message = client.messages.create(model=options.model, messages=marked(turn), **REQUEST)
        session.observe(response.usage)
        # From here on the buffer is the conversation: after a swap it begins with the summary.
        messages = [*turn.buffer, {"role": "assistant", "content": [b.to_dict() for b in response.content]}]
        results = [
            {"type": "tool_result", "tool_use_id": b.id, "content": workspace.run(b.name, b.input)}
            for b in response.content
            if b.type == "tool_use"
        ]
        if not results:
            return "".join(b.text for b in response.content if b.type == "text")
        messages.append({"role": "user", "content": results})
    return f"No answer after {options.turns} turns."


def marked(turn: Turn) -> list[Any]:
    """Return the messages to send, with the cache mark where the next request will still begin alike.

    The mark goes on a copy, so that no old one stays behind in the buffer.
    """
    messages = list(turn.messages)
    if turn.cache_hint is not None:
        message = messages[turn.cache_hint]
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        blocks[-1] = {**blocks[-1], "cache_control": {"type": "ephemeral"}}
        messages[turn.cache_hint] = {**message, "content": blocks}
    return messages


def main() -> int:
    """Print the answer and return 0; return 1 when there is none, having said why."""
    options = parsed(str(__doc__), model="claude-sonnet-5-5", window=1_000_000)
    try:
        with Anthropic(base_url=options.base_url) as client, Pool(options.state) as pool:
            session = pool.session(
                tenant="examples",
                session_id=options.session,
                model=options.model,
                context_window=options.window,
            )
            with closing(session):
                print(converse(client, session, options))
    except UnfittableRequest as error:
        print(f"Not even the newest message alone fits: {error}", file=sys.stderr)
        return 1
    except AnthropicError as error:
        print(f"The model can't be asked: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
