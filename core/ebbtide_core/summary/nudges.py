"""User turns that ask for nothing new: greetings, thanks, and words that only tell the agent to go on."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from ebbtide_core.summary.text import normalised
from ebbtide_core.summary.words import phrases

_MAX_CHARS: Final = 40
_GO_ON: Final = frozenset(
    phrases(
        """
        continue; please continue; go on; go ahead; proceed; please proceed; carry on; keep going; go; next;
        resume; yes; yes please; yep; yeah; sure; ok go; do it; retry; try again; weiter; mach weiter; bitte
        weiter; ja; continuer; continuez; vas-y; oui; continúa; continua; sigue; sí; si; adelante;
        продолжай; продолжи; продолжайте; дальше; закончи; да; 继续; 繼續; 请继续; 好的继续; 是; 是的;
        続けて; 続けてください; はい
        """
    )
)
_COURTESY: Final = frozenset(
    phrases(
        """
        hi; hello; hey; hi there; hello there; good morning; thanks; thank you; thanks a lot; thx; ok; okay;
        great; good; nice; cool; perfect; hallo; danke; gut; bonjour; merci; hola; gracias; vale; привет;
        спасибо; хорошо; ок; 你好; 谢谢; 謝謝; 好; 好的; こんにちは; ありがとう; ありがとうございます; 了解
        """
    )
)


class Nudge(StrEnum):
    """What a short turn does to the request before it: nothing, or it opens it again."""

    COURTESY = "courtesy"
    GO_ON = "go_on"


def nudge(text: str) -> Nudge | None:
    """Return the nudge that a user's words are, or None when they ask for something."""
    if len(text) > _MAX_CHARS:
        return None
    said = normalised(text)
    if said in _GO_ON:
        return Nudge.GO_ON
    return Nudge.COURTESY if said in _COURTESY else None
