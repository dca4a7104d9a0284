"""Routes: which hops serve a job, whose account each of them is, and how keys stay apart."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.contract.record import Usage
from ebbtide_core.contract.tenant import Hop, TenantPolicy
from ebbtide_core.economy.rates import TABLE, Rates
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.retry import Following
from ebbtide_worker.routes import FREE, Route, RouteHop, account_id, price, route_of
from ebbtide_worker.summarisers.anthropic import MODEL, WINDOW, Anthropic
from ebbtide_worker.summarisers.registry import Summarisers, UnknownSummariser
from tests.worker.paying import hop_of
from tests.worker.scripted import Scripted

CONFIG = WorkerConfig("u://", "u://", summariser="anthropic", model="m-own", key_env="OWN_KEY")
SMALL, LARGE = Hop(model="claude-haiku-5-5"), Hop(model="claude-sonnet-5-5", window=1_000_000)


def resolved(*hops: Hop, wanted: str = "", tenant: str = "acme", config: WorkerConfig = CONFIG) -> Route:
    """The route of a tenant's job."""
    policy = TenantPolicy(route=hops)
    return route_of(policy, wanted, tenant, Summarisers(config), config)


def models(route: Route) -> list[str]:
    """The models of a route, in order."""
    return [hop.summariser.model for hop in route.hops]


def test_a_route_is_tried_in_the_order_of_the_policy() -> None:
    """Each hop with its own model, window and rates; what it leaves out is the worker's, or the model's."""
    route = resolved(SMALL, LARGE, Hop(rates=Rates(7.0, 7.0, 7.0, 7.0)), Hop(summariser="extractive"))
    assert models(route) == ["claude-haiku-5-5", "claude-sonnet-5-5", "m-own", ""]
    assert [hop.window for hop in route.hops[:3]] == [WINDOW, 1_000_000, WINDOW]
    assert [hop.rates for hop in route.hops[:2]] == [TABLE["claude-haiku-5-5"], TABLE["claude-sonnet-5-5"]]
    assert route.hops[2].rates.input == 7.0
    assert (route.hops[3].rates, route.hops[3].account) == (FREE, "")


def test_without_a_route_the_worker_s_own_settings_serve() -> None:
    """As before there were routes; the default model where the settings name none."""
    assert models(resolved()) == ["m-own"]
    assert models(resolved(config=replace(CONFIG, model=""))) == [MODEL]


def test_a_wanted_summariser_is_served_by_its_hops() -> None:
    """Hops of others are left out; where the route has none of it, the worker's settings serve."""
    hops = (Hop(summariser="extractive"), SMALL, LARGE)
    assert models(resolved(*hops, wanted="anthropic")) == ["claude-haiku-5-5", "claude-sonnet-5-5"]
    assert models(resolved(*hops, wanted="extractive")) == [""]
    assert models(resolved(SMALL, wanted="extractive")) == [""]
    with pytest.raises(UnknownSummariser):
        resolved(*hops, wanted="nobody")
    with pytest.raises(UnknownSummariser):
        resolved(Hop(summariser="nobody"))


def test_a_hop_s_summariser_is_made_once() -> None:
    """All jobs of a process share it."""
    summarisers = Summarisers(CONFIG)
    assert summarisers.at(SMALL) is summarisers.at(SMALL.model_copy())
    assert summarisers.at(SMALL) is not summarisers.at(LARGE)
    assert isinstance(summarisers.at(SMALL), Anthropic)
    assert summarisers.at(Hop(summariser="extractive")) is summarisers.get("extractive")


REFERENCES = st.sampled_from(["", "env:A", "env:B", "file:/a", "call:a"])
HOPS = st.builds(
    Hop,
    summariser=st.sampled_from(["", "anthropic", "other"]),
    model=st.sampled_from(["", "m"]),
    base_url=st.sampled_from(["", "http://x", "http://y"]),
    credentials=REFERENCES,
    window=st.none() | st.just(5),
)


@given(HOPS, HOPS, st.sampled_from(["acme", "rival"]), st.sampled_from(["acme", "rival"]))
def test_an_account_is_summariser_endpoint_and_reference(one: Hop, two: Hop, first: str, second: str) -> None:
    """Model and window share it; what a callable gives is each tenant's own."""

    def whose(hop: Hop, tenant: str) -> tuple[str, ...]:
        own = tenant if hop.credentials.startswith("call:") else ""
        return hop.summariser or "anthropic", hop.base_url, hop.credentials, own

    same = account_id(one, CONFIG, first) == account_id(two, CONFIG, second)
    assert same == (whose(one, first) == whose(two, second))


def test_an_account_s_name_holds_no_secret() -> None:
    """Base URLs may hold a password, and somebody may take a key for a reference."""
    hop = Hop(base_url="https://user:hunter2@x", credentials="sk-ant-secret")
    named = account_id(hop, CONFIG, "acme")
    assert named.startswith("anthropic-")
    assert not any(word in named for word in ("hunter2", "secret", "user", "OWN_KEY"))
    assert account_id(Hop(), CONFIG, "acme") == account_id(Hop(credentials="env:OWN_KEY"), CONFIG, "x")


def test_what_follows_a_hop_fits_the_piece() -> None:
    """By account, by window, in the order of the route."""
    made = Scripted()
    windows = (("a", 1_000), ("a", 1_000), ("b", 400), ("a", 9_000), ("b", 1_000))
    route = Route(tuple(hop_of(made, account, window) for account, window in windows))
    assert route.following(0, 500) == Following(any=1, other_account=4, wider=3)
    assert route.following(0, 100) == Following(any=1, other_account=2, wider=3)
    assert route.following(0, 4_000) == Following(any=3, wider=3)
    assert route.following(4, 1) == Following()


@given(st.builds(Usage, **{name: st.integers(0, 10**6) for name in Usage.model_fields}))
def test_a_price_is_the_sum_of_its_parts(usage: Usage) -> None:
    """By the rates that a prompt of that length is billed by; nothing where there is no provider."""
    rates = TABLE["claude-haiku-5-5"]
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    by = rates if prompt <= 100_000 else rates.long
    assert by is not None
    parts = (
        usage.input_tokens * by.input,
        usage.output_tokens * by.output,
        usage.cache_read_tokens * by.cache_read,
        usage.cache_write_tokens * by.cache_write,
    )
    assert price(usage, rates) == pytest.approx(sum(parts) / 1_000_000)
    assert price(usage, FREE) == 0.0


def test_a_hop_holds_half_of_its_window() -> None:
    """The other half is for the answer and for what estimates miss."""
    hop = RouteHop(Scripted(), 1_000, FREE, "a")
    assert hop.holds(500)
    assert not hop.holds(501)
