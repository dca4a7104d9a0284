"""Files that calls touched: paths in arguments, in patches and in shell commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ebbtide_core.summary.model import MAX_ITEM_CHARS
from ebbtide_core.summary.source import strings
from ebbtide_core.summary.text import head_tail
from ebbtide_core.summary.words import words

COMMAND_HEAD_CHARS: Final = 8_000
COMMAND_TAIL_CHARS: Final = 2_000

_FILE_KEYS: Final = words(
    """
    file_path filepath filename file_name file target_file notebook_path relative_workspace_path absolute_path
    old_path new_path source_path destination_path files file_paths
    """
)
_PATH_KEYS: Final = words("path paths target")
_COMMAND_KEYS: Final = words("command cmd commands script shell_command")
_EXTENSIONS: Final = words(
    """
    adoc asm astro avif bash bat bazel bib bin bmp c cc cfg cjs clj cljs cmake cmd conf config cpp cs css
    csv cxx dart db diff dll doc docx ejs elm erl ex exs fish fs gif go gql gradle graphql groovy gz h hbs
    hcl hh hpp hs htm html ico idx ini ipynb jar java jpeg jpg js json json5 jsonc jsonl jsx jl kt kts less
    lhs lock log lua m md mdx mjs mk ml mm mod nix out parquet patch pb pdf php pkl pl plist png po pom ppt
    pptx prisma properties proto ps1 psd py pyc pyi pyx r rb rej rest rkt rs rst s sass scala scss sh so
    spec sql sqlite sqlite3 sum svelte svg swift tar templ tex tf tfvars tgz toml ts tsv tsx txt vb vue wasm
    webp woff woff2 xls xlsx xml yaml yml zig zip zsh
    """
)
_NAMES: Final = words(
    """
    makefile dockerfile license readme gemfile rakefile procfile jenkinsfile
    .env .gitignore .dockerignore .npmrc .editorconfig .eslintrc .prettierrc .bashrc .zshrc .gitattributes
    """
)
_NO_FILES: Final = words(
    """
    console.log math.log np.log np.diff node.js next.js vue.js react.js nuxt.js express.js three.js d3.js
    """
)
_LINE: Final = re.compile(r"(?::[0-9]+){1,2}$")
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")
_ODD: Final = re.compile(r"[*?{}<>|$\"'`\n\r\0()\[\]=;&,^]")
_PATCH: Final = re.compile(
    r"^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): |\+\+\+ (?:b/)?|--- (?:a/)?)([^\t\n]{1,500})",
    re.MULTILINE,
)
_PATCH_SIGNS: Final = ("*** Add", "*** Update", "*** Delete", "\n+++ ")
_ARGUMENT: Final = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s|&;<>()\"'`]+")
_HEREDOC: Final = re.compile(r"<<-?[ ]?[\"']?([A-Za-z_]{1,40})[\"']?")


def has_file_name(token: str) -> bool:
    """Say whether a token's last part is a file's name: a known extension, or a name such as Makefile."""
    path = _LINE.sub("", token) if ":" in token else token
    last = path.replace("\\", "/").rpartition("/")[2].lower()
    stem, _, extension = last.rpartition(".")
    if last not in _NAMES and (not stem or extension not in _EXTENSIONS or last in _NO_FILES):
        return False
    return not _is_odd(path) and "\\." not in path and (":" not in path or bool(_DRIVE.match(path)))


def _is_odd(path: str) -> bool:
    """Say whether a text holds a character that patterns and code have, paths hardly ever."""
    return _ODD.search(path) is not None


def touched(arguments: Mapping[str, Any] | None) -> list[str]:
    """Return the files that a call's arguments name, in order, each once; verbatim, without line numbers."""
    return list(dict.fromkeys(path for name, text in strings(arguments) for path in _named(name, text)))


def _named(name: str, text: str) -> Iterator[str]:
    if name in _COMMAND_KEYS:
        yield from in_command(text)
    elif _is_one_path(text) and (name in _FILE_KEYS or (name in _PATH_KEYS and has_file_name(text))):
        yield text
    else:
        yield from in_patch(text)


def _is_one_path(text: str) -> bool:
    return 0 < len(text) <= MAX_ITEM_CHARS and not text.isspace() and not _is_odd(text) and "://" not in text


def in_patch(text: str) -> Iterator[str]:
    """Yield the files that a patch changes (unified diff or `*** Update File:` form)."""
    if any(sign in text for sign in _PATCH_SIGNS):
        for match in _PATCH.finditer(text):
            path = match[1].strip()
            if path != "/dev/null" and _is_one_path(path):
                yield path


def in_command(text: str) -> Iterator[str]:
    """Yield the arguments of a shell command that look like files, and the files of patches inside it.

    Bodies of here-documents are read for patches only. A long command is read at both ends.
    """
    text = head_tail(text, COMMAND_HEAD_CHARS, COMMAND_TAIL_CHARS)
    yield from in_patch(text)
    for argument in _ARGUMENT.findall(_without_heredocs(text)):
        token = argument.strip("\"'")
        if has_file_name(token) and _is_one_path(token) and " " not in token and token[0] != "-":
            yield _LINE.sub("", token)


def _without_heredocs(text: str) -> str:
    parts: list[str] = []
    start = 0
    while (match := _HEREDOC.search(text, start)) is not None:
        line_end = text.find("\n", match.end())
        end = text.find(f"\n{match[1]}", line_end) if line_end >= 0 else -1
        if end < 0:
            break
        parts.append(text[start:line_end])
        start = end + 1 + len(match[1])
    return "\n".join([*parts, text[start:]])


def distinct(paths: Iterable[str]) -> list[str]:
    """Return the paths by their last use, each once; one that is the end of a longer one goes into that."""
    ordered = list(dict.fromkeys(reversed(list(paths))))
    endings = {path[at + 1 :] for path in ordered for at in _slashes(path)}
    return [path for path in reversed(ordered) if path.removeprefix("./") not in endings]


def _slashes(path: str) -> list[int]:
    return [at for at, char in enumerate(path) if char == "/"]
