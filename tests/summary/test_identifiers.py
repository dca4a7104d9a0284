"""The identifier ledger."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.summary.talk import call, message, result, talk, text

from ebbtide_core.summary import identifiers as module
from ebbtide_core.summary.extractive import extract
from ebbtide_core.summary.identifiers import Ledger, Lexicon, Voice, identifiers

NAMED = [
    "/var/log/app/error.log",
    "./scripts/run.sh",
    "~/notes",
    "src/app/main.py:42",
    "README.md",
    "C:\\Users\\me\\a.txt",
    "https://example.org/a/b?c=1&d=2#e",
    "redis://localhost:6379/0",
    "localhost:8080",
    "db.internal:5432",
    "10.0.0.12",
    "TS2307",
    "ENOENT",
    "E501",
    "ValueError",
    "v1.2",
    "2.14.0",
    "1.0.0-rc.1",
    "lodash@4.17.21",
    "550e8400-e29b-41d4-a716-446655440000",
    "9f86d081884c7d65",
    "0x7ffee3",
    "toolu_01FRAfmhusux",
    "mia_li_3668",
    "#4711",
    "7661609223",
    "2024-05-20",
    "compute_total",
    "getUserName",
    "OrderService",
    "MAX_RETRIES",
    "os.path.join",
    "std::vector",
    "port 8443",
]
PLAIN = [
    "and/or",
    "hello",
    "Hello",
    "e.g.",
    "i.e.",
    "10px",
    "24h",
    "1/2",
    "--",
    "...",
    "well-known",
    "(yes)",
    "\\.py",
]


@pytest.mark.parametrize("name", NAMED)
def test_identifiers_are_kept_verbatim(name: str) -> None:
    """Paths, addresses, codes, versions, ids and names are found, without the punctuation around them."""
    for sentence in (f"see {name} here", f"See `{name}`.", f"({name})", f'"{name}", then', name):
        assert [found.text for found in identifiers(sentence)] == [name]


@pytest.mark.parametrize("word", PLAIN)
def test_plain_words_are_no_identifiers(word: str) -> None:
    """Words, abbreviations, quantities and fractions are not listed."""
    assert identifiers(f"it is {word} now") == []


@pytest.mark.parametrize(
    "secret",
    [
        "API_KEY=sk-test-000000000000000000000000",
        "sk-test-000000000000000000000000",
        "token: abc123def456",
        'password="hunter2hunter2"',
        "Authorization: Bearer abc123def456",
        "postgres://u:pa55w0rd@db/x",
        "ghp_0123456789abcdefABCDEF",
    ],
)
def test_credentials_are_passed_over(secret: str) -> None:
    """The ledger does not carry secrets on by itself."""
    listed = " ".join(found.text for found in identifiers(f"env says {secret} and src/a.py"))
    assert listed in ("src/a.py", "API_KEY src/a.py")


@given(st.text())
def test_identifiers_occur_in_their_text(noise: str) -> None:
    """Whatever the text, what is listed stands in it word for word."""
    assert all(found.text in noise for found in identifiers(noise))


@given(st.lists(st.one_of(st.sampled_from(NAMED + PLAIN), st.text()), max_size=5), st.booleans())
def test_what_a_lexicon_knows_changes_nothing(texts: list[str], names: bool) -> None:
    """Texts read after others give what they give alone, with and without names."""
    lexicon = Lexicon()
    for each in [*texts, *texts]:
        assert lexicon.identifiers(each, names=names) == identifiers(each, names=names)


def test_a_token_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a session repeats its words, the rules run once for each different one."""
    judged: list[str] = []
    real = module._kind

    def kind(token: str) -> str:
        judged.append(token)
        return real(token)

    monkeypatch.setattr(module, "_kind", kind)
    lexicon = Lexicon()
    words = " ".join(["see", "src/a.py", "and", "order_total"] * 50)

    found = [lexicon.identifiers(words) for _ in range(50)]

    assert sorted(judged) == ["and", "order_total", "see", "src/a.py"]
    assert {tuple(item.text for item in each) for each in found} == {("src/a.py", "order_total")}


def test_a_lexicon_forgets_before_it_grows_without_end() -> None:
    """A session of ever new words is read right, and no more of them is kept than a fixed number."""
    lexicon = Lexicon()
    for start in range(0, 50_000, 5_000):
        names = [f"id_{number}" for number in range(start, start + 300)]
        other = " ".join(f"w{number}" for number in range(start, start + 5_000))
        assert [item.text for item in lexicon.identifiers(" ".join(names))] == names
        lexicon.identifiers(other)
    assert len(lexicon._judged) <= module.MAX_JUDGED


def test_both_ends_of_a_long_text_are_read() -> None:
    """A megabyte is read at its ends."""
    found = [item.text for item in identifiers("first_name " + "x " * 500_000 + " last_name")]
    assert found == ["first_name", "last_name"]


def test_the_ledger_ranks_by_use_and_lists_by_recency() -> None:
    """What is used often and by people outranks what a listing printed once; the last used comes last."""
    ledger = Ledger()
    ledger.add(identifiers(" ".join(f"/tmp/listed/{i}.txt" for i in range(100))), Voice.RESULT)
    ledger.add(identifiers("fix order_total in src/shop.py"), Voice.USER)
    ledger.add(identifiers("order_total is called in src/cart.py"), Voice.ASSISTANT)
    assert ledger.best(size=3) == ["src/shop.py", "order_total", "src/cart.py"]


def test_files_touched_are_not_listed_twice() -> None:
    """A file that calls touched stands in files_touched only."""
    source = [
        *talk(("user", "Fix src/a.py and src/b.py.")),
        message("assistant", text("Reading src/a.py."), call("t1", "Read", file_path="src/a.py")),
        *talk(("tool", result("t1", "def compute_total(): raise E1234"))),
    ]
    found = extract(source)
    assert found.files_touched == ("src/a.py",)
    assert found.identifiers == ("src/b.py", "E1234")
