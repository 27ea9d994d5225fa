"""The executable oracle of a Vietnamese retail bank: what its desk answers, and what its books say afterwards.

Everything an answer depends on comes in through `reset` and `call_tool`. What the bank refuses is an answer
(`{"error": {...}}`); only a bug here would raise. Amounts are whole đồng.
"""

import bank_rules as rules

_COLLECTIONS = (
    "customers",
    "banks",
    "fee_schedule",
    "accounts",
    "cards",
    "transactions",
    "transfers",
    "qr_payments",
    "disputes",
)

# One episode's books. Rows are flat, so a copy of every row is a copy of everything.
_books = {}


def list_tools():
    """The names this oracle implements; `prepare` compares them with tools.json."""
    return list(_TOOLS)


def reset(*, ctx, fixtures=None):
    """Start an episode from the fixtures. New numbers continue those of the rows, so no counter is kept."""
    given = fixtures or {}
    _books.clear()
    _books.update({name: [dict(row) for row in given.get(name, [])] for name in _COLLECTIONS})


def call_tool(name, arguments, *, ctx):
    """Answer one call with a JSON object."""
    tool = _TOOLS.get(name)
    if tool is None:
        return _error("not_found", entity="tool", id=name)
    parameters, answer = tool
    return _argument_error(arguments, parameters) or answer(ctx, **arguments)


def get_state():
    """All books, as a copy the caller may keep."""
    return {name: [dict(row) for row in rows] for name, rows in _books.items()}


# --- tools that only read ---------------------------------------------------------------------------------------------


def _get_account_balance(ctx, account_no):
    account = _row("accounts", "account_no", account_no)
    if account is None:
        return _not_found("account", account_no)
    owner = _row("customers", "customer_id", account["customer_id"])
    shown = rules.pick(account, "account_no", "type", "balance", "currency", "trang_thai")
    return {**shown, "owner_name": owner["full_name"]}


def _get_card_limit(ctx, card_id):
    card = _row("cards", "card_id", card_id)
    if card is None:
        return _not_found("card", card_id)
    shown = rules.pick(card, "card_id", "account_no", "product", "daily_limit", "used_today", "trang_thai")
    return {**shown, "remaining_today": card["daily_limit"] - card["used_today"]}


def _list_recent_transactions(ctx, account_no, limit=5, trang_thai=None):
    rows = [row for row in _books["transactions"] if row["account_no"] == account_no]
    if trang_thai is not None:
        rows = [row for row in rows if row["trang_thai"] == trang_thai]
    names = ("transaction_id", "posted_at", "direction", "amount", "fee", "description", "trang_thai")
    shown = [rules.pick(row, *names) for row in rules.newest_first(rows)[:limit]]
    return {"account_no": account_no, "count": len(shown), "transactions": shown}


def _get_transaction_status(ctx, transaction_id):
    transaction = _row("transactions", "transaction_id", transaction_id)
    return _not_found("transaction", transaction_id) if transaction is None else dict(transaction)


def _quote_transfer_fee(ctx, rail, amount):
    tier = rules.tier_for(_books["fee_schedule"], rail, amount)
    if tier is None:
        return _over_limit(rail, amount)
    return {
        "rail": rail,
        "amount": amount,
        "fee": tier["fee"],
        "total": amount + tier["fee"],
        "tier_id": tier["tier_id"],
    }


def _get_transfer_status(ctx, transfer_id):
    transfer = _row("transfers", "transfer_id", transfer_id)
    return _not_found("transfer", transfer_id) if transfer is None else dict(transfer)


def _get_qr_payment_status(ctx, qr_id):
    payment = _row("qr_payments", "qr_id", qr_id)
    return _not_found("qr_payment", qr_id) if payment is None else dict(payment)


def _get_dispute_status(ctx, dispute_id):
    dispute = _row("disputes", "dispute_id", dispute_id)
    return _not_found("dispute", dispute_id) if dispute is None else dict(dispute)


# --- tools that change the books, each only after a yes ---------------------------------------------------------------


def _create_transfer(ctx, from_account_no, to_account_no, to_bank_code, rail, amount, xac_nhan=False):
    # What cannot be done at all is refused before anybody is asked to confirm it.
    sender = _row("accounts", "account_no", from_account_no)
    if sender is None:
        return _not_found("account", from_account_no)
    if sender["trang_thai"] != "hoat_dong":
        return _error("account_locked", entity="account", id=from_account_no)
    if _row("banks", "bank_code", to_bank_code) is None:
        return _not_found("bank", to_bank_code)
    if (to_bank_code == rules.OWN_BANK) != (rail == "internal"):
        return _error("rail_not_available", entity="bank", id=to_bank_code, rail=rail)
    receiver = None
    if rail == "internal":
        receiver = _row("accounts", "account_no", to_account_no)
        if receiver is None:
            return _not_found("account", to_account_no)
        if receiver is sender:
            return _error("same_account", entity="account", id=to_account_no)
    tier = rules.tier_for(_books["fee_schedule"], rail, amount)
    if tier is None:
        return _over_limit(rail, amount)
    total = amount + tier["fee"]
    if sender["balance"] < total:
        return _error(
            "insufficient_funds",
            entity="account",
            id=from_account_no,
            needed=total,
            available=sender["balance"],
        )
    terms = {
        "from_account_no": from_account_no,
        "to_account_no": to_account_no,
        "to_bank_code": to_bank_code,
        "rail": rail,
        "amount": amount,
        "fee": tier["fee"],
    }
    if not xac_nhan:
        return {"trang_thai": "cho_xac_nhan", **terms, "total": total}
    transfer = {
        "transfer_id": _next_id("transfers", "transfer_id"),
        **terms,
        "note": "Chuyển tiền",
        "created_at": ctx.clock,
        "trang_thai": "hoan_tat",
    }
    _books["transfers"].append(transfer)
    debit = _post(sender, "chuyen_khoan", amount, tier["fee"], transfer)
    sender["balance"] -= total
    if receiver is not None:
        _post(receiver, "nhan_chuyen_khoan", amount, 0, transfer)
        receiver["balance"] += amount
    return {**transfer, "total": total, "transaction_id": debit, "balance_after": sender["balance"]}


def _post(account, kind, amount, fee, transfer):
    """Write one line of an account's statement, and say its number."""
    number = _next_id("transactions", "transaction_id")
    _books["transactions"].append(
        {
            "transaction_id": number,
            "account_no": account["account_no"],
            "direction": "ghi_no" if kind == "chuyen_khoan" else "ghi_co",
            "kind": kind,
            "amount": amount,
            "fee": fee,
            "description": transfer["note"],
            "posted_at": transfer["created_at"],
            "trang_thai": "thanh_cong",
            "card_id": None,
            "transfer_id": transfer["transfer_id"],
            "dispute_id": None,
        }
    )
    return number


def _open_dispute(ctx, transaction_id, reason, xac_nhan=False):
    transaction = _row("transactions", "transaction_id", transaction_id)
    if transaction is None:
        return _not_found("transaction", transaction_id)
    why_not = rules.why_not_disputable(transaction, ctx.clock)
    if why_not is not None:
        return _error("dispute_not_allowed", entity="transaction", id=transaction_id, cause=why_not)
    if not xac_nhan:
        return {"trang_thai": "cho_xac_nhan", "transaction_id": transaction_id, "reason": reason}
    dispute = {
        "dispute_id": _next_id("disputes", "dispute_id"),
        "transaction_id": transaction_id,
        "reason": reason,
        "opened_at": ctx.clock,
        "closed_at": None,
        "trang_thai": "dang_xem_xet",
    }
    _books["disputes"].append(dispute)
    transaction["dispute_id"] = dispute["dispute_id"]
    return dict(dispute)


# --- arguments --------------------------------------------------------------------------------------------------------

# Parameter -> (type, required, allowed values or least and greatest). `type(x) is`: to JSON, true is no number.
_TEXT = (str, True, None)
_AMOUNT = (int, True, (1_000, 1_000_000_000))
_CONSENT = (bool, False, None)

_TOOLS = {
    "get_account_balance": ({"account_no": _TEXT}, _get_account_balance),
    "get_card_limit": ({"card_id": _TEXT}, _get_card_limit),
    "list_recent_transactions": (
        {
            "account_no": _TEXT,
            "limit": (int, False, (1, 20)),
            "trang_thai": (str, False, rules.TRANSACTION_STATUSES),
        },
        _list_recent_transactions,
    ),
    "get_transaction_status": ({"transaction_id": _TEXT}, _get_transaction_status),
    "quote_transfer_fee": ({"rail": (str, True, rules.RAILS), "amount": _AMOUNT}, _quote_transfer_fee),
    "create_transfer": (
        {
            "from_account_no": _TEXT,
            "to_account_no": _TEXT,
            "to_bank_code": _TEXT,
            "rail": (str, True, rules.RAILS),
            "amount": _AMOUNT,
            "xac_nhan": _CONSENT,
        },
        _create_transfer,
    ),
    "get_transfer_status": ({"transfer_id": _TEXT}, _get_transfer_status),
    "get_qr_payment_status": ({"qr_id": _TEXT}, _get_qr_payment_status),
    "get_dispute_status": ({"dispute_id": _TEXT}, _get_dispute_status),
    "open_dispute": (
        {"transaction_id": _TEXT, "reason": (str, True, rules.REASONS), "xac_nhan": _CONSENT},
        _open_dispute,
    ),
}


def _argument_error(arguments, parameters):
    """The first argument fault as an error result, or None."""
    for name, (_, required, _) in parameters.items():
        if required and name not in arguments:
            return _error("invalid_argument", field=name, problem="missing")
    for name, value in arguments.items():
        if name not in parameters:
            return _error("invalid_argument", field=name, problem="unknown")
        kind, _, allowed = parameters[name]
        if type(value) is not kind:
            return _error("invalid_argument", field=name, problem="wrong_type")
        if allowed is None:
            continue
        if kind is int and not allowed[0] <= value <= allowed[1]:
            return _error("invalid_argument", field=name, problem="out_of_range")
        if kind is str and value not in allowed:
            return _error("invalid_argument", field=name, problem="not_in_list")
    return None


def _row(collection, key, value):
    return next((row for row in _books[collection] if row[key] == value), None)


def _next_id(collection, key):
    """One more than the greatest number so far, with the same prefix."""
    prefix = _books[collection][0][key].partition("-")[0]
    return f"{prefix}-{max(int(row[key].partition('-')[2]) for row in _books[collection]) + 1}"


def _over_limit(rail, amount):
    least, greatest = rules.limits_of(_books["fee_schedule"], rail)
    return _error("amount_outside_limits", field="amount", rail=rail, least=least, greatest=greatest)


def _not_found(entity, value):
    return _error("not_found", entity=entity, id=value)


def _error(code, **details):
    return {"error": {"code": code, **details}}
