"""State URLs: what they name, what is refused, and that no password is shown."""

from __future__ import annotations

import pytest

from ebbtide_core.errors import InputError
from ebbtide_core.store.address import Address


@pytest.mark.parametrize("url", ["redis://h:1/0", "rediss://u:p@h:1/2?ssl_ca_certs=/ca", "unix:///s?db=1"])
def test_a_single_server_is_left_as_it_is(url: str) -> None:
    """Its URL is redis-py's own."""
    assert Address.read(url) == Address(url)


@pytest.mark.parametrize(
    ("url", "first", "seeds"),
    [
        ("redis+cluster://h", "redis://h:6379", [("h", 6379)]),
        ("redis+cluster://u:p%40@a:1,b,[::1]:3/0", "redis://u:p%40@a:1", [("a", 1), ("b", 6379), ("::1", 3)]),
        ("rediss+cluster://a:1/?ssl_ca_certs=/ca", "rediss://a:1?ssl_ca_certs=/ca", [("a", 1)]),
    ],
)
def test_a_cluster_names_one_or_more_nodes(url: str, first: str, seeds: list[tuple[str, int]]) -> None:
    """All with the same user and options."""
    address = Address.read(url)
    assert (address.url, address.seeds) == (first, tuple(seeds))


def test_every_node_has_a_url() -> None:
    """With user, password and options of the URL that was given."""
    address = Address.read("rediss+cluster://u:p%40@a:1?ssl_ca_certs=/ca")
    assert address.of(("b", 2)) == "rediss://u:p%40@b:2?ssl_ca_certs=/ca"
    assert address.of(("::1", 2)) == "rediss://u:p%40@[::1]:2?ssl_ca_certs=/ca"


@pytest.mark.parametrize(
    "url",
    [
        "amqp://tide:hunter2@h//",
        "redis+cluster://tide:hunter2@h:1/3",
        "redis+cluster://tide:hunter2@",
        "unix+cluster://tide:hunter2@h",
        "redis+cluster://tide:hunter2@h:port",
        "redis://tide:hunter2@h/0?ssl_ca_cert=/typo",
        "rediss://tide:hunter2@h/0?ssl_cert_reqs=maybe",
        "redis://tide:hunter2@[/0",
    ],
)
def test_another_url_is_refused_without_showing_it(url: str) -> None:
    """When it is given, and not at the first turn."""
    with pytest.raises(InputError, match="not a state URL") as caught:
        Address.read(url)
    assert "hunter2" not in repr(caught.value)


def test_an_address_hides_its_password() -> None:
    """From its own text, and from what a server says."""
    address = Address.read("redis+cluster://tide:hunter%402@h:1")
    assert "hunter" not in repr(address)
    assert address.masked("tide with hunter@2 or hunter%402") == "tide with *** or ***"
