"""What images, documents and audio cost: a fixed amount each, never the text of their base64.

| part                           | fixed tokens                              | emptied                   |
| ------------------------------ | ----------------------------------------- | ------------------------- |
| `image`, `image_url`           | `IMAGE_TOKENS`                            | data; data URL past comma |
| `document` (base64, URL, file) | `DOCUMENT_TOKENS` a page, once if unknown | data                      |
| `document` (text)              | none: its text counts                     | nothing                   |
| `document` (content)           | those of the blocks inside                | as the blocks inside      |
| `file`                         | `DOCUMENT_TOKENS` a page, once if unknown | file_data past comma      |
| `input_audio`, `audio`         | `DOCUMENT_TOKENS`                         | data                      |
| `input_image`, screenshot      | `IMAGE_TOKENS`                            | data URL past comma       |
| `input_file`                   | `DOCUMENT_TOKENS` a page, once if unknown | file_data past comma      |
| `image_generation_call`        | `IMAGE_TOKENS`                            | result                    |

An ordinary URL counts as text on top. Parts are found wherever a content may hold blocks, at any depth, and
in the outputs of items.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable
from typing import Any, Final

from ebbtide_core.dialects.base import PlainMessage, Weight
from ebbtide_core.dialects.parts import string, type_of, unmarked
from ebbtide_core.jsonio import compact
from ebbtide_core.policy import DOCUMENT_TOKENS, IMAGE_TOKENS

_PDF_IN_BASE64: Final = "JVBERi"
_PAGE_OBJECT: Final = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PAGES_IN_HEADER: Final = re.compile(rb"/Linearized[^>]{0,200}?/N\s+(\d{1,6})")
_SCHEME_WITHIN: Final = 32
_DATA_HEADER_WITHIN: Final = 200


def weigh(message: PlainMessage) -> Weight:
    """Return the weight of a message: it is rebuilt only along the way to a payload."""
    light, fixed = _light_holder(unmarked(message))
    return Weight(compact(light), fixed)


def weigh_item(item: PlainMessage) -> Weight:
    """Return the weight of an item of the Responses format, whose outputs hold parts as a content does."""
    light, fixed = _light(unmarked(item))
    for key in ("output", "outputs"):
        inside, cost = _light_content(light.get(key))
        if cost:
            light, fixed = {**light, key: inside}, fixed + cost
    return Weight(compact(light), fixed)


def pdf_pages(data: str) -> int:
    """Return the number of pages of a PDF in base64, 1 when that can't be told without decompressing it."""
    if not data.startswith(_PDF_IN_BASE64):
        return 1
    try:
        raw = a2b_base64(data)
    except ValueError:
        return 1
    header = _PAGES_IN_HEADER.search(raw)
    objects = sum(1 for _ in _PAGE_OBJECT.finditer(raw))
    return max(1, objects, int(header.group(1)) if header else 0)


def _light(block: PlainMessage) -> tuple[PlainMessage, int]:
    """Return the block without payloads, and their cost; the same object when it has none."""
    return _READERS.get(type_of(block), _light_holder)(block)


def _light_holder(block: PlainMessage) -> tuple[PlainMessage, int]:
    """Return what holds a content, or an answer's audio, without the payloads in it, and their cost."""
    light, fixed = _light_content(block.get("content"))
    audio = block.get("audio")
    if isinstance(audio, dict) and "data" in audio:
        block, fixed = _emptied(block, "audio"), fixed + DOCUMENT_TOKENS
    return ({**block, "content": light} if light is not block.get("content") else block), fixed


def _light_content(content: Any) -> tuple[Any, int]:
    if isinstance(content, dict):
        return _light(content)
    if not isinstance(content, list):
        return content, 0
    pairs = [_light(b) if isinstance(b, dict) else (b, 0) for b in content]
    fixed = sum(cost for _, cost in pairs)
    return ([block for block, _ in pairs] if fixed else content), fixed


def _image(block: PlainMessage) -> tuple[PlainMessage, int]:
    block = {**block, "data": ""} if "data" in block else block
    block = {**block, "url": _link(block["url"])} if isinstance(block.get("url"), str) else block
    return _emptied(block, "source"), IMAGE_TOKENS


def _document(block: PlainMessage) -> tuple[PlainMessage, int]:
    source = block.get("source")
    kind = type_of(source) if isinstance(source, dict) else ""
    if kind == "text":
        return block, 0
    if kind == "content" and isinstance(source, dict):
        light, fixed = _light(source)
        return ({**block, "source": light} if fixed else block), fixed
    pages = pdf_pages(string(source, "data")) if isinstance(source, dict) else 1
    return _emptied(block, "source"), DOCUMENT_TOKENS * pages


def _image_url(block: PlainMessage) -> tuple[PlainMessage, int]:
    return _emptied(block, "image_url"), IMAGE_TOKENS


def _file(block: PlainMessage) -> tuple[PlainMessage, int]:
    file = block.get("file")
    data = string(file, "file_data") if isinstance(file, dict) else ""
    pages = pdf_pages(data[len(_data_header(data)) :])
    return _emptied(block, "file"), DOCUMENT_TOKENS * pages


def _audio(block: PlainMessage) -> tuple[PlainMessage, int]:
    return _emptied(block, "input_audio"), DOCUMENT_TOKENS


def _input_file(block: PlainMessage) -> tuple[PlainMessage, int]:
    data = string(block, "file_data")
    header = _data_header(data)
    light = {**block, "file_data": header} if data else block
    return light, DOCUMENT_TOKENS * pdf_pages(data[len(header) :])


def _generated(item: PlainMessage) -> tuple[PlainMessage, int]:
    return ({**item, "result": ""}, IMAGE_TOKENS) if string(item, "result") else (item, 0)


_READERS: Final[dict[str, Callable[[PlainMessage], tuple[PlainMessage, int]]]] = {
    "image": _image,
    "document": _document,
    "image_url": _image_url,
    "file": _file,
    "input_audio": _audio,
    "input_image": _image_url,
    "computer_screenshot": _image_url,
    "input_file": _input_file,
    "image_generation_call": _generated,
}


def _emptied(block: PlainMessage, key: str) -> PlainMessage:
    """Return the block with the payload below a key emptied: an object with its data, or a bare URL."""
    holder = block.get(key)
    if isinstance(holder, str):
        return {**block, key: _link(holder)}
    if not isinstance(holder, dict):
        return block
    return {**block, key: {name: _kept(name, value) for name, value in holder.items()}}


def _kept(name: str, value: Any) -> Any:
    if name == "data":
        return ""
    if not isinstance(value, str):
        return "" if name == "file_data" else value
    if name == "file_data":
        return _data_header(value)
    return _link(value) if name == "url" else value


def _link(url: str) -> str:
    """Return an ordinary URL whole, a data URL's header, and nothing of a bare payload."""
    header = _data_header(url)
    return header if header or "://" not in url[:_SCHEME_WITHIN] else url


def _data_header(url: str) -> str:
    """Return a data URL up to its comma, "" when it is none."""
    head = url[:_DATA_HEADER_WITHIN]
    if head[:5].lower() != "data:":
        return ""
    before, comma, _ = head.partition(",")
    return before + comma if comma else head[:5]
