"""An agent on the OpenAI SDK (Chat Completions) whose conversation may be longer than the context window."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import Any, Final

from openai import OpenAI, OpenAIError
from openai.types.chat import ChatCompletion

from ebbtide import Pool, Session, UnfittableRequest
from examples.console import Options, parsed, tell
from examples.workspace import TOOLS, Workspace

SYSTEM: Final = (
    "You answer questions about the files of a folder. Look before you answer; name file and line."
)
FUNCTIONS: Final[list[Any]] = [
    {"type": "function", "function": {"name": name, "description": what, "parameters": schema}}
    for name, (what, schema) in TOOLS.items()
]
MAX_TOKENS: Final = 2_048


def converse(client: OpenAI, session: Session, options: Options) -> str:
    """Run the loop to the model's answer."""
    workspace = Workspace(options.folder)
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": options.task}]
    for _ in range(options.turns):
        turn = session.prepare(messages, tools=FUNCTIONS, max_tokens=MAX_TOKENS)
        tell(turn)
        # OpenAI caches what begins alike by itself: no mark is needed, the key keeps a session together.
        response: ChatCompletion = client.chat.completions.create(
            model=options.model,
            messages=turn.messages,
            tools=FUNCTIONS,
            max_completion_tokens=MAX_TOKENS,
            prompt_cache_key=options.session,
        )
        session.observe(response.usage)
        answer = response.choices[0].message
        # From here on the buffer is the conversation: after a swap a summary stands for its older part.
        messages = [*turn.buffer, answer.to_dict(exclude_none=True)]
        if not answer.tool_calls:
            return answer.content or answer.refusal or ""
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": called(workspace, call)}
            for call in answer.tool_calls
        ]
    return f"No answer after {options.turns} turns."


def called(workspace: Workspace, call: Any) -> str:
    """Return what a call finds; the model may write arguments that are no JSON."""
    try:
        arguments = json.loads(call.function.arguments)
    except ValueError as error:
        return f"Error: the arguments are no JSON: {error}"
    return workspace.run(call.function.name, arguments)


def main() -> int:
    """Print the answer and return 0; return 1 when there is none, having said why."""
    options = parsed(str(__doc__), model="gpt-6-sol", window=400_000)
    try:
        with OpenAI(base_url=options.base_url) as client, Pool(options.state) as pool:
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
    except OpenAIError as error:
        print(f"The model can't be asked: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
