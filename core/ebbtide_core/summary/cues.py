"""Words that show what a sentence is for, in seven languages: a rule, a decision, an outcome, an intention.

A cue is a hint, not grammar: strong ones outrank weak ones where room is short.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ebbtide_core.summary.speech import Sentence
from ebbtide_core.summary.words import phrases, words

STRONG: Final = 2
WEAK: Final = 1


@dataclass(frozen=True, slots=True)
class Cue:
    """Words, phrases (by their longest word) and, for scripts without spaces, signs: any of them is enough.

    The longest word is the rarest, as a rule: few sentences have to be searched for whole phrases.
    """

    words: frozenset[str]
    phrases: Mapping[str, tuple[str, ...]]
    signs: frozenset[str]

    @classmethod
    def of(cls, single: str = "", several: str = "", signs: str = "") -> Cue:
        """Return the cue of tables of words, of phrases, and of signs that may stand anywhere."""
        by_word: dict[str, tuple[str, ...]] = {}
        for phrase in phrases(several):
            word = max(reversed(phrase.split()), key=len)
            by_word[word] = (*by_word.get(word, ()), f" {phrase} ")
        return cls(words(single), by_word, words(signs))

    def within(self, sentence: Sentence) -> bool:
        """Say whether the sentence holds one of the cues."""
        if not self.words.isdisjoint(sentence.words):
            return True
        if not self.phrases.keys().isdisjoint(sentence.words) and self._phrase_within(sentence):
            return True
        return not sentence.folded.isascii() and any(sign in sentence.folded for sign in self.signs)

    def _phrase_within(self, sentence: Sentence) -> bool:
        spaced = f" {' '.join(sentence.words)} "
        found = self.phrases.keys() & sentence.words
        return any(phrase in spaced for word in found for phrase in self.phrases[word])


_RULE_STRONG: Final = Cue.of(
    """
    must mustn't never always forbidden prohibited mandatory
    niemals immer keinesfalls unbedingt verboten muss musst müssen müsst darfst dürfen
    jamais toujours uniquement interdit interdite obligatoire doit dois devez doivent
    nunca siempre jamás únicamente prohibido obligatorio debe debes deben
    никогда всегда нельзя обязательно запрещено запрещается должен должна должно должны
    """,
    """
    please no; under no circumstances; make sure; has to be; have to be; is required; are required;
    not allowed;
    auf keinen fall; bitte keine; bitte kein; bitte nicht;
    il faut; en aucun cas;
    hay que; tienes que; por favor no; de ninguna manera;
    ни в коем случае; не надо; не нужно
    """,
    """
    不要 不能 不得 必须 必須 务必 務必 一定要 总是 總是 永远 永遠 始终 始終 请勿 請勿 禁止 切勿
    绝不 絕不 从不 從不 不可 不许 不許
    しないで ないでください てはいけ てはなら 必ず 常に 絶対 決して なければならない ないこと 使わないで
    """,
)
_RULE_WEAK: Final = Cue.of(
    """
    only prefer preferred preferably avoid should shouldn't ensure without except cannot rather instead
    strictly
    nie nur kein keine keinen keinem keiner nicht bevorzuge bevorzugt vermeide vermeiden
    darf soll sollen sollst ohne ausschließlich
    seulement évite évitez éviter préfère préférez préférer sans
    solo sólo solamente evita evite evitar prefiero prefiere sin
    только избегай избегайте избегать предпочитаю предпочтительно без
    """,
    """
    at most; at least; no more than; no longer than; stick to; has to; have to; needs to; keep it;
    keep the; remember to; remember that; from now on;
    pas de; no más de; не более; как минимум
    """,
    "只能 只用 仅 僅 别 避免 优先 優先 のみ だけ べき 避けて いつも してください",
)
_DONT: Final = re.compile(
    r"\b(?:don't|dont|do not) "
    r"(?!(?:have|know|remember|recall|see|think|understand|believe|mind|worry)\b)\w"
)
_NO: Final = re.compile(
    r"(?:^|[,.;:(]\s?|\b(?:and|but|please|y|favor|with|use) )no "
    r"(?!(?:problem|worries|module|idea|need|issue|matter|thanks|doubt|way|one|longer|se|sé|puedo|tengo|hay)\b)\w"
)
_NE: Final = re.compile(r"\bне \w{2,30}(?:й|йте|ите|ьте|и)\b")
_NE_PAS: Final = re.compile(r"\bn(?:e |')\w{2,30} (?:pas|jamais|plus)\b")
_NEGATED_COMMANDS: Final = {
    "don't": _DONT,
    "dont": _DONT,
    "do": _DONT,
    "no": _NO,
    "не": _NE,
    "pas": _NE_PAS,
    "plus": _NE_PAS,
}
"""Shapes of negated commands, by a word that each of them holds."""

_DECIDED_STRONG: Final = Cue.of(
    """
    decided decision chose chosen opted concluded
    entschieden entscheidung gewählt ursache
    décidé choisi
    decidido decidí elegí
    решил решила решили выбрал выбрали причина причиной
    """,
    """
    root cause; the cause is; caused by; the culprit; the problem is; the issue is; the problem was;
    the issue was; turns out; going with; settled on;
    cause racine; la cause; causa raíz; la causa
    """,
    "决定 決定 选择 選擇 選択 原因 采用 採用 ことにしました",
)
_DECIDED_WEAK: Final = Cue.of(
    "because therefore weil deshalb porque",
    """
    will use; we'll use; i'll use; the reason is; the fix is; the solution is; due to; confirmed that;
    parce que; wir verwenden; vamos a usar; потому что; так как; из за
    """,
    "因为 因為 所以 なぜなら ため",
)
_HEDGED: Final = Cue.of(
    """
    maybe might perhaps hmm possibly probably vielleicht vermutlich wohl peut-être quizás quizá
    возможно наверное
    """,
    "i think; i guess; not sure",
    signs="也许 也許 可能 たぶん かもしれ",
)
_COMPLETED: Final = Cue.of(
    """
    done finished completed implemented fixed resolved merged deployed successfully passed passing
    succeeded
    fertig erledigt abgeschlossen behoben implementiert hinzugefügt erstellt
    terminé terminée fini corrigé ajouté créé
    terminado completado hecho corregido añadido creado listo
    готово сделано завершено завершена исправлено исправил исправила добавил добавила создал создала
    выполнено
    """,
    "all tests pass; tests pass; works now; works as expected; now works",
    """
    完成 已修复 已修復 已添加 已创建 已更新 已经 ✅
    完了 修正しました 追加しました 作成しました 終わりました
    """,
)
_DEEDS: Final = words(
    """
    created added updated removed renamed written refactored replaced moved deleted installed configured
    cancelled canceled booked refunded changed verified sent
    """
)
_DOERS: Final = words("i we i've we've have has been was were")
_NOT_YET: Final = Cue.of(
    """
    not never isn't aren't wasn't weren't hasn't haven't don't doesn't didn't can't couldn't cannot need needs
    should must would could if once until unless unfortunately failed still remaining
    nicht noch kein keine pas encore aún todavía не нет ещё еще
    """,
    signs="未 没有 沒有 まだ ません 尚",
)
_INTENDED: Final = Cue.of(
    "todo werde ensuite далее теперь буду собираюсь",
    """
    i will; i'll; we will; we'll; let me; let's; going to; i need to; we need to; i should; we should;
    next step; next steps; next i; next we; remaining work; still need; still needs;
    als nächstes; nächster schritt; ich muss; je vais; prochaine étape; il reste; voy a; vamos a;
    a continuación; siguiente paso; следующий шаг
    """,
    "接下来 接下來 下一步 我将 我將 我会 我會 次に これから",
)
_COURTESY: Final = Cue.of(several="let me know; i'll be; i will be happy; happy to; feel free; next time")


def rule(sentence: Sentence) -> int:
    """Return how clearly a user's sentence sets a rule: 0, WEAK or STRONG; a question needs a strong cue."""
    if _RULE_STRONG.within(sentence):
        return STRONG
    if sentence.asks:
        return 0
    return WEAK if _RULE_WEAK.within(sentence) or _negated_command(sentence) else 0


def _negated_command(sentence: Sentence) -> bool:
    shapes = {_NEGATED_COMMANDS[word] for word in _NEGATED_COMMANDS.keys() & sentence.words}
    return any(shape.search(sentence.folded) for shape in shapes)


def decision(sentence: Sentence) -> int:
    """Return how clearly a sentence says what was decided or found, and why: 0, WEAK or STRONG."""
    if sentence.asks or sentence.announces:
        return 0
    if _DECIDED_STRONG.within(sentence):
        return 0 if _HEDGED.within(sentence) else STRONG
    return WEAK if _DECIDED_WEAK.within(sentence) and not _HEDGED.within(sentence) else 0


def intention(sentence: Sentence) -> bool:
    """Say whether a sentence announces what its speaker does next."""
    return not sentence.asks and _INTENDED.within(sentence) and not _COURTESY.within(sentence)


def completion(sentence: Sentence) -> bool:
    """Say whether a sentence reports finished work."""
    if sentence.asks or sentence.announces or not (_COMPLETED.within(sentence) or _deed(sentence)):
        return False
    return not any(cue.within(sentence) for cue in (_NOT_YET, _INTENDED, _HEDGED))


def _deed(sentence: Sentence) -> bool:
    """A verb of doing in the past, first in the sentence or with somebody who did it."""
    if _DEEDS.isdisjoint(sentence.words):
        return False
    return sentence.words[0] in _DEEDS or not _DOERS.isdisjoint(sentence.words)


def strength(field: str, item: str) -> int:
    """Return how much an item weighs against the others of its list where room is short."""
    if field == "user_constraints":
        return rule(Sentence.of(item))
    return decision(Sentence.of(item)) if field == "decisions" else 0
