"""The picture of the live view is what the code draws."""

from __future__ import annotations

import html
import re

from tests.cli.picture import PICTURE, drawn

TEXT = re.compile(r"<text[^>]*>([^<]*)</text>")


def test_the_picture_says_what_the_live_view_says() -> None:
    """Else draw it anew:  python -m tests.cli.picture"""
    kept, fresh = (TEXT.findall(html.unescape(svg)) for svg in (PICTURE.read_text(), drawn()))
    assert kept == fresh
    assert "".join(kept).count("┃") == 2


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    """No font, script or image of another address is loaded to look at it."""
    picture = PICTURE.read_text()
    assert set(re.findall(r"[a-z]+://[^\"'\s<>)]*", picture)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in picture
    assert not re.findall(r"href=|src=|@import|@font-face", picture)
