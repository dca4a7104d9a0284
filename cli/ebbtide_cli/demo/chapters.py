"""What happens in the demo's session: the user's requests, and what the agent finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Chapter:
    """One request, the modules read for it, the test that fails, the cause, the change, and the last word."""

    request: str
    modules: tuple[str, ...]
    word: str
    test: str
    error: str
    cause: str
    old: str
    new: str
    closing: str


CHAPTERS: Final = (
    Chapter(
        request=(
            "The nightly price import loses rows when a supplier's name holds a comma: 1,204 of 88,310 rows "
            "were missing on 2026-03-02. Find out why, fix it, and add a test. Rules for the whole day: "
            "never touch anything under migrations/, keep the signature of pricing.import_file as it is, "
            "and do not add dependencies."
        ),
        modules=("pricing/import_csv.py", "pricing/rounding.py", "pricing/suppliers.py", "jobs/nightly.py"),
        word="delimiter",
        test="test_supplier_name_with_comma",
        error='AssertionError: assert 2 == 3  (row "Hansen, Sons & Co" is missing)',
        cause=(
            "import_file splits lines with str.split(',') instead of the csv module, so a quoted comma ends "
            "a field"
        ),
        old='fields = line.rstrip("\\n").split(",")',
        new="fields = next(csv.reader([line]))",
        closing=(
            "Rows with quoted commas are read now; the test covers names with a comma, with quotes and with "
            "both."
        ),
    ),
    Chapter(
        request=(
            "Good. Next: two orders that arrive together reserve the same pallet, and stock goes to -1 "
            "(ticket ST-4471). It happens only under load. Please don't solve it with a table lock."
        ),
        modules=("stock/reserve.py", "stock/count.py", "orders/allocate.py", "orders/returns.py"),
        word="with_for_update",
        test="test_two_orders_one_pallet",
        error="AssertionError: assert -1 == 0",
        cause="reserve() reads the count and writes it back in two statements; both orders read 1",
        old="row.quantity = row.quantity - wanted",
        new="session.execute(update(Stock).where(Stock.id == row.id, Stock.quantity >= wanted).values(...))",
        closing=(
            "The reservation is one guarded UPDATE now; the loser gets OutOfStock and the API answers 409."
        ),
    ),
    Chapter(
        request=(
            "Now the labels: the carrier rejects parcels over 31.5 kg with code E-207 since Monday, and we "
            "only see it the next morning. Check before printing, and say in the log which parcel it was, "
            "by its id, not by its address."
        ),
        modules=("shipping/labels.py", "shipping/slots.py", "shipping/carriers.py", "api/handlers.py"),
        word="weight_g",
        test="test_heavy_parcel_is_refused_before_printing",
        error="Failed: DID NOT RAISE <class 'shipping.labels.TooHeavy'>",
        cause=(
            "print_label trusts weight_g from the order, which is the weight of one item and not of the "
            "parcel"
        ),
        old='weight = order.items[0]["weight_g"]',
        new='weight = sum(i["weight_g"] * i["quantity"] for i in order.items) + BOX_WEIGHT_G',
        closing=(
            "Parcels over 31,500 g raise TooHeavy before anything is printed; the log line holds the "
            "parcel's id only."
        ),
    ),
    Chapter(
        request=(
            "One more: GET /v2/stock answers in 4 s for warehouse HAM-3, in 90 ms for the others. Our "
            "partner's time-out is 2 s. What is different there?"
        ),
        modules=("api/stock_view.py", "api/auth.py", "stock/history.py", "stock/warehouses.py"),
        word="history",
        test="test_stock_view_reads_history_once",
        error="AssertionError: assert 1731 == 2  (queries)",
        cause="the view loads the history of each pallet by itself, and HAM-3 has 1,730 open pallets",
        old="history = [load_history(p.id) for p in pallets]",
        new="history = load_histories(session, [p.id for p in pallets])",
        closing=(
            "Two queries instead of 1,731; HAM-3 answers in 110 ms here. Nothing under migrations/ was "
            "touched."
        ),
    ),
)
