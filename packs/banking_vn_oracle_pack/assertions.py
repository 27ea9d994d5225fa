"""What must be true once a conversation is over, whoever made the calls.

Expectations come from two places only: what the user asked for (`task["slots"]`) and the books (`state`). Nothing here
imports the oracle, so a mistake there is not repeated here. Slots are named after what they hold, `account_no`,
`account_no_2` and so on, and that name says which tool looks them up.
"""

import itertools

ASSERTION_CAPABILITIES = {
    "assert_lookups_as_asked": {"trace": True, "category": "path"},
    "assert_statement_as_asked": {"trace": True, "category": "path"},
    "assert_fees_quoted_as_asked": {"trace": True, "category": "path"},
    "assert_chain_as_asked": {"trace": True, "category": "path"},
    "assert_arguments_come_from_results": {"trace": True, "category": "path"},
    "assert_only_corrected_value_used": {"trace": True, "category": "path"},
    "assert_transfer_called_as_asked": {"trace": True, "category": "path"},
    "assert_dispute_called_as_asked": {"trace": True, "category": "path"},
    "assert_no_tool_called": {"trace": True, "category": "path"},
    "assert_answers_match_books": {"trace": True, "category": "result"},
    "assert_transfer_answer_matches_books": {"trace": True, "category": "result"},
    "assert_dispute_answer_matches_books": {"trace": True, "category": "result"},
    "assert_not_found": {"trace": True, "category": "result"},
    "assert_transfer_refused": {"trace": True, "category": "result"},
    "assert_dispute_refused": {"trace": True, "category": "result"},
    "assert_one_transfer_on_books": {"trace": False, "category": "state"},
    "assert_ledger_balances": {"trace": False, "category": "state"},
    "assert_one_dispute_on_books": {"trace": False, "category": "state"},
    "assert_nothing_written": {"trace": True, "category": "state"},
}

OWN_BANK = "SVB"

# The slot names that one lookup answers: slot -> (tool, collection, name of the thing in errors).
LOOKUPS = {
    "account_no": ("get_account_balance", "accounts", "account"),
    "card_id": ("get_card_limit", "cards", "card"),
    "transaction_id": ("get_transaction_status", "transactions", "transaction"),
    "transfer_id": ("get_transfer_status", "transfers", "transfer"),
    "qr_id": ("get_qr_payment_status", "qr_payments", "qr_payment"),
    "dispute_id": ("get_dispute_status", "disputes", "dispute"),
}
KEY_OF_TOOL = {tool: key for key, (tool, _, _) in LOOKUPS.items()} | {"list_recent_transactions": "account_no"}

# What the user means by these wishes, in the words of the tool.
STATUS_OF_INTENT = {"list_pending_transactions": "dang_xu_ly", "list_failed_transactions": "that_bai"}

STATEMENT_FIELDS = ("transaction_id", "posted_at", "direction", "amount", "fee", "description", "trang_thai")
DEFAULT_LIMIT = 5


# --- path: which calls, in which order, with which arguments ----------------------------------------------------------


def assert_lookups_as_asked(*, state, trace, task, ctx):
    """Every number the user named was looked up once with the tool for it, and nothing else was called."""
    wanted = [(LOOKUPS[key][0], {key: value}) for key, value in _named(task["slots"])]
    made = [(call["tool"], call["arguments"]) for call in trace]
    assert _sorted(made) == _sorted(wanted), f"made {made}, expected {wanted}"


def assert_statement_as_asked(*, state, trace, task, ctx):
    """One statement, of the account, with the length and the status that the user asked for."""
    assert [call["tool"] for call in trace] == ["list_recent_transactions"], "expected one statement and nothing else"
    made = {"limit": DEFAULT_LIMIT, "trang_thai": None, **trace[0]["arguments"]}
    wanted = {
        "account_no": task["slots"]["account_no"],
        "limit": task["slots"].get("limit", DEFAULT_LIMIT),
        "trang_thai": STATUS_OF_INTENT.get(task["intent"]),
    }
    assert _same(made, wanted), f"asked for {made}, expected {wanted}"


def assert_fees_quoted_as_asked(*, state, trace, task, ctx):
    """The fee was asked once for each rail the user is about, for the amount named, and nothing else was called."""
    rails = [task["slots"]["rail"]] if "rail" in task["slots"] else ["internal", "napas"]
    wanted = [("quote_transfer_fee", {"rail": rail, "amount": task["slots"]["amount"]}) for rail in rails]
    made = [(call["tool"], call["arguments"]) for call in trace]
    assert _same(_sorted(made), _sorted(wanted)), f"made {made}, expected {wanted}"


def assert_chain_as_asked(*, state, trace, task, ctx):
    """The tools of the chain in their order, each once, starting from the number that the user named."""
    made = [call["tool"] for call in trace]
    assert made == task["required_tools"], f"called {made}, expected {task['required_tools']}"
    key = KEY_OF_TOOL[made[0]]
    begun = _narrowing(trace[0]["arguments"])
    assert begun == {key: task["slots"][key]}, f"began with {trace[0]['arguments']}"


def assert_arguments_come_from_results(*, state, trace, task, ctx):
    """Provenance: every id after the first call is the one that the call before it answered."""
    assert len(trace) == len(task["required_tools"]) >= 2, f"{len(trace)} calls, expected a chain"
    for before, call in itertools.pairwise(trace):
        key = "transaction_id" if call["tool"] == "open_dispute" else KEY_OF_TOOL.get(call["tool"])
        assert key is not None, f"`{call['tool']}` has no place in a chain"
        answer = before["result"]
        if before["tool"] == "list_recent_transactions":
            rows = answer.get("transactions") or [{}]
            answer = rows[0]
        assert answer.get(key) is not None, f"`{before['tool']}` answered no {key}"
        assert call["arguments"].get(key) == answer[key], f"`{call['tool']}` took another {key} than {answer[key]}"
        extra = set(_narrowing(call["arguments"])) - {key}
        assert call["tool"] == "open_dispute" or not extra, f"`{call['tool']}` was narrowed by {sorted(extra)}"


def assert_only_corrected_value_used(*, state, trace, task, ctx):
    """After the user changed a value, only the new one reached a tool; the old one reached none."""
    changed = [name for name, value in task["slots"].items() if not _same(value, task["slots_initial"][name])]
    assert changed, "nothing was corrected"
    sent = [value for call in trace for value in call["arguments"].values()]
    for name in changed:
        new, old = task["slots"][name], task["slots_initial"][name]
        assert any(_same(new, value) for value in sent), f"the corrected {name} was never used"
        assert not any(_same(old, value) for value in sent), f"the superseded {name} was used"


def assert_transfer_called_as_asked(*, state, trace, task, ctx):
    """The calls of the request in their order, the transfer last, once, agreed to and exactly as the user said."""
    made = [call["tool"] for call in trace]
    assert made == task["required_tools"], f"called {made}, expected {task['required_tools']}"
    assert trace[-1]["tool"] == "create_transfer", "the transfer is not the last call"
    wanted = {**_terms(task), "xac_nhan": True}
    assert _same(trace[-1]["arguments"], wanted), f"transferred {trace[-1]['arguments']}, expected {wanted}"
    before = {
        "quote_transfer_fee": {"rail": wanted["rail"], "amount": wanted["amount"]},
        "get_account_balance": {"account_no": wanted["from_account_no"]},
    }
    for call in trace[:-1]:
        assert _same(call["arguments"], before.get(call["tool"])), f"`{call['tool']}` was asked something else"


def assert_dispute_called_as_asked(*, state, trace, task, ctx):
    """The calls of the request in their order, the dispute last, once, agreed to and for the reason given."""
    made = [call["tool"] for call in trace]
    assert made == task["required_tools"], f"called {made}, expected {task['required_tools']}"
    call = trace[-1]
    assert call["tool"] == "open_dispute", "the dispute is not the last call"
    assert set(call["arguments"]) == {"transaction_id", "reason", "xac_nhan"}, f"sent {sorted(call['arguments'])}"
    assert call["arguments"]["xac_nhan"] is True, "opened without consent"
    assert call["arguments"]["reason"] == task["slots"]["reason"], "another reason than the user gave"
    if "transaction_id" in task["slots"]:
        named = task["slots"]["transaction_id"]
        assert all(one["arguments"].get("transaction_id") == named for one in trace), "another transaction was used"
    else:
        key = KEY_OF_TOOL[trace[0]["tool"]]
        begun = _narrowing(trace[0]["arguments"])
        assert begun == {key: task["slots"][key]}, f"began with {trace[0]['arguments']}"


def assert_no_tool_called(*, state, trace, task, ctx):
    """Asking back and declining mean leaving the tools alone."""
    assert not trace, f"{len(trace)} calls were made, expected none"


# --- result: every field that was answered, against the books ---------------------------------------------------------


def assert_answers_match_books(*, state, trace, task, ctx):
    """Every answer of a reading tool says, field by field, what the books said when it was asked."""
    reading = [call for call in trace if call["tool"] not in ("create_transfer", "open_dispute")]
    assert reading, "nothing was looked up"
    # Nothing but the last call writes, so what was read is what the books held before this episode wrote.
    books = _before(state, ctx)
    for call in reading:
        wanted = _answer(books, call["tool"], call["arguments"])
        assert _same(call["result"], wanted), f"`{call['tool']}` answered {call['result']}, the books say {wanted}"


def assert_transfer_answer_matches_books(*, state, trace, task, ctx):
    """The answer to the transfer is the transfer on the books, with its fee, its total and the balance it left."""
    answers = [call["result"] for call in trace if call["tool"] == "create_transfer"]
    assert len(answers) == 1, f"{len(answers)} transfers were made, expected one"
    rows = [row for row in state["transfers"] if row["created_at"] == ctx.clock]
    assert len(rows) == 1, f"{len(rows)} transfers on the books, expected one"
    terms = _terms(task)
    sender = _row(state, "accounts", "account_no", terms["from_account_no"])
    debits = [row for row in state["transactions"] if row["transfer_id"] == rows[0]["transfer_id"]]
    debit = [row["transaction_id"] for row in debits if row["account_no"] == terms["from_account_no"]]
    assert len(debit) == 1, f"{len(debit)} debits of the sender, expected one"
    wanted = {
        **rows[0],
        "total": terms["amount"] + _fee(state, terms["rail"], terms["amount"]),
        "transaction_id": debit[0],
        "balance_after": sender["balance"],
    }
    assert _same(answers[0], wanted), f"answered {answers[0]}, the books say {wanted}"


def assert_dispute_answer_matches_books(*, state, trace, task, ctx):
    """The answer to the dispute is the dispute on the books, for the transaction that was sent."""
    calls = [call for call in trace if call["tool"] == "open_dispute"]
    assert len(calls) == 1, f"{len(calls)} disputes were opened, expected one"
    assert calls[0]["result"] in state["disputes"], "the books hold no such dispute"
    told = calls[0]["result"]["transaction_id"]
    assert told == calls[0]["arguments"].get("transaction_id"), "the dispute is about another transaction"


def assert_not_found(*, state, trace, task, ctx):
    """The refusal: the number that nobody has was asked for once, and the answer says so about that very number."""
    named = list(_named(task["slots"]))
    if "from_account_no" in task["slots"]:
        named = [("account_no", task["slots"]["from_account_no"])]
    assert len(named) == 1, f"the user named {named}"
    key, value = named[0]
    assert [call["tool"] for call in trace] == task["required_tools"], "expected one call, of the tool for it"
    sent = trace[0]["arguments"].get("from_account_no" if "from_account_no" in task["slots"] else key)
    assert sent == value, f"asked for {sent}, expected {value}"
    wanted = {"error": {"code": "not_found", "entity": LOOKUPS[key][2], "id": value}}
    assert trace[0]["result"] == wanted, f"answered {trace[0]['result']}, expected {wanted}"


def assert_transfer_refused(*, state, trace, task, ctx):
    """The refusal names the rule that was broken, and its figures are those of the books."""
    terms = _terms(task)
    sender = _row(state, "accounts", "account_no", terms["from_account_no"])
    total = terms["amount"] + _fee(state, terms["rail"], terms["amount"])
    wanted = {"code": "account_locked", "entity": "account", "id": terms["from_account_no"]}
    if sender["trang_thai"] == "hoat_dong":
        assert sender["balance"] < total, "the books would have covered it"
        wanted |= {"code": "insufficient_funds", "needed": total, "available": sender["balance"]}
    answers = [call["result"] for call in trace if call["tool"] == "create_transfer"]
    assert _same(answers, [{"error": wanted}]), f"answered {answers}, expected {wanted}"


def assert_dispute_refused(*, state, trace, task, ctx):
    """The refusal names the transaction and the cause, which the books confirm."""
    answers = [call["result"] for call in trace if call["tool"] == "open_dispute"]
    transaction = _row(state, "transactions", "transaction_id", task["slots"]["transaction_id"])
    if transaction["direction"] == "ghi_co":
        cause = "khong_phai_ghi_no"
    elif transaction["trang_thai"] != "thanh_cong":
        cause = "chua_hoan_tat"
    else:
        cause = "qua_han" if transaction["dispute_id"] is None else "da_co_khieu_nai"
    wanted = {
        "code": "dispute_not_allowed",
        "entity": "transaction",
        "id": transaction["transaction_id"],
        "cause": cause,
    }
    assert _same(answers, [{"error": wanted}]), f"answered {answers}, expected {wanted}"


# --- state: what is on the books at the end ---------------------------------------------------------------------------


def assert_one_transfer_on_books(*, state, trace, task, ctx):
    """One transfer was written as asked, with the fee of the schedule; one debit, and a credit where it stays here."""
    terms = _terms(task)
    fee = _fee(state, terms["rail"], terms["amount"])
    rows = [row for row in state["transfers"] if row["created_at"] == ctx.clock]
    assert len(rows) == 1, f"{len(rows)} transfers were written, expected one"
    wanted = {**terms, "fee": fee, "created_at": ctx.clock, "trang_thai": "hoan_tat"}
    written = {name: rows[0].get(name) for name in wanted}
    assert _same(written, wanted), f"wrote {written}, expected {wanted}"
    lines = {("ghi_no", terms["from_account_no"]): fee}
    if terms["rail"] == "internal":
        lines["ghi_co", terms["to_account_no"]] = 0
    written = [row for row in state["transactions"] if row["posted_at"] == ctx.clock]
    assert sorted((row["direction"], row["account_no"]) for row in written) == sorted(lines), (
        "other lines than expected"
    )
    for row in written:
        figures = [row["amount"], row["fee"], row["trang_thai"], row["transfer_id"], row["dispute_id"]]
        owed = [terms["amount"], lines[row["direction"], row["account_no"]], "thanh_cong", rows[0]["transfer_id"], None]
        assert _same(figures, owed), f"the line says {figures}, expected {owed}"
    assert not _opened(state, ctx), "a dispute was opened as well"


def assert_ledger_balances(*, state, trace, task, ctx):
    """Every balance is its opening balance and what went through since: amount and fee off, credits on."""
    totals = {account["account_no"]: account["opening_balance"] for account in state["accounts"]}
    for row in state["transactions"]:
        totals[row["account_no"]] += _settled(row)
    wrong = [row["account_no"] for row in state["accounts"] if row["balance"] != totals[row["account_no"]]]
    assert not wrong, f"balances of {wrong} differ from their statements"
    assert any(row["posted_at"] == ctx.clock for row in state["transactions"]), "nothing was booked"


def assert_one_dispute_on_books(*, state, trace, task, ctx):
    """One dispute was written, open, for the reason given, and its transaction points back at it."""
    rows = _opened(state, ctx)
    assert len(rows) == 1, f"{len(rows)} disputes were written, expected one"
    row = rows[0]
    if "transaction_id" in task["slots"]:
        about = task["slots"]["transaction_id"]
    else:
        about = _row(state, "qr_payments", "qr_id", task["slots"]["qr_id"])["transaction_id"]
    figures = [row["transaction_id"], row["reason"], row["trang_thai"], row["closed_at"]]
    assert figures == [about, task["slots"]["reason"], "dang_xem_xet", None], f"the dispute says {figures}"
    links = [one["transaction_id"] for one in state["transactions"] if one["dispute_id"] == row["dispute_id"]]
    assert links == [about], f"the dispute is linked from {links}, expected {about}"
    assert all(one["created_at"] != ctx.clock for one in state["transfers"]), "money was moved as well"


def assert_nothing_written(*, state, trace, task, ctx):
    """A refusal leaves the books alone: one call, agreed to and as asked, and no line of today."""
    assert [call["tool"] for call in trace] == task["required_tools"], "expected one call"
    if trace[-1]["tool"] == "create_transfer":
        wanted = {**_terms(task), "xac_nhan": True}
    else:
        wanted = {name: task["slots"][name] for name in ("transaction_id", "reason")} | {"xac_nhan": True}
    assert _same(trace[-1]["arguments"], wanted), f"sent {trace[-1]['arguments']}, expected {wanted}"
    today = [row["transfer_id"] for row in state["transfers"] if row["created_at"] == ctx.clock]
    today += [row["dispute_id"] for row in _opened(state, ctx)]
    assert not today, f"{today} were written"


# --- the books, read independently of the oracle ----------------------------------------------------------------------


def _named(slots):
    """The looked-up key and value of every slot that names something, in the order of the slots."""
    for name, value in slots.items():
        key = name.rstrip("_0123456789")
        if key in LOOKUPS:
            yield key, value


def _narrowing(arguments):
    """Arguments without the length of a list: where the user named none, the default does, spelt out or not, and so
    does any other, as the newest comes first."""
    return {name: value for name, value in arguments.items() if name != "limit"}


def _terms(task):
    """What the user wants transferred. A template that leaves rail and bank to the assistant says so by its slots."""
    slots = task["slots"]
    terms = {name: slots[name] for name in ("from_account_no", "to_account_no", "amount")}
    terms["to_bank_code"] = slots.get("to_bank_code", OWN_BANK)
    terms["rail"] = "internal" if terms["to_bank_code"] == OWN_BANK else "napas"
    return terms


def _fee(state, rail, amount):
    rows = [row for row in state["fee_schedule"] if row["rail"] == rail]
    return next(row["fee"] for row in rows if row["min_amount"] <= amount <= row["max_amount"])


def _row(state, collection, key, value):
    row = next((row for row in state[collection] if row[key] == value), None)
    assert row is not None, f"the books hold no {key} {value}"
    return row


def _opened(state, ctx):
    """Disputes of this episode: it lives in one moment, and every row of the fixtures is older."""
    return [row for row in state["disputes"] if row["opened_at"] == ctx.clock]


def _settled(row):
    """What a line of a statement moves."""
    if row["trang_thai"] != "thanh_cong":
        return 0
    return row["amount"] if row["direction"] == "ghi_co" else -row["amount"] - row["fee"]


def _before(state, ctx):
    """The books without what this episode wrote."""
    moved = {}
    for row in state["transactions"]:
        if row["posted_at"] == ctx.clock:
            moved[row["account_no"]] = moved.get(row["account_no"], 0) + _settled(row)
    opened = {row["dispute_id"] for row in _opened(state, ctx)}
    kept = [row for row in state["transactions"] if row["posted_at"] != ctx.clock]
    return {
        **state,
        "accounts": [{**row, "balance": row["balance"] - moved.get(row["account_no"], 0)} for row in state["accounts"]],
        "transactions": [{**row, "dispute_id": None} if row["dispute_id"] in opened else row for row in kept],
        "transfers": [row for row in state["transfers"] if row["created_at"] != ctx.clock],
        "disputes": [row for row in state["disputes"] if row["dispute_id"] not in opened],
    }


def _answer(books, tool, arguments):
    """What a reading tool has to answer."""
    if tool == "quote_transfer_fee":
        rail, amount = arguments.get("rail"), arguments.get("amount")
        assert type(amount) is int, f"a fee was asked for {amount}"
        tiers = [row for row in books["fee_schedule"] if row["rail"] == rail]
        tier = next((row for row in tiers if row["min_amount"] <= amount <= row["max_amount"]), None)
        assert tier is not None, f"no fee for {amount} by {rail}"
        total = amount + tier["fee"]
        return {"rail": rail, "amount": amount, "fee": tier["fee"], "total": total, "tier_id": tier["tier_id"]}
    if tool == "list_recent_transactions":
        status, length = arguments.get("trang_thai"), arguments.get("limit", DEFAULT_LIMIT)
        assert type(length) is int, f"a statement of length {length} was asked for"
        rows = [row for row in books["transactions"] if row["account_no"] == arguments.get("account_no")]
        rows = [row for row in rows if status in (None, row["trang_thai"])]
        rows.sort(key=lambda row: (row["posted_at"], row["transaction_id"]), reverse=True)
        shown = [{name: row[name] for name in STATEMENT_FIELDS} for row in rows[:length]]
        return {"account_no": arguments.get("account_no"), "count": len(shown), "transactions": shown}
    key = KEY_OF_TOOL[tool]
    row = _row(books, LOOKUPS[key][1], key, arguments.get(key))
    if tool == "get_account_balance":
        owner = _row(books, "customers", "customer_id", row["customer_id"])
        shown = {name: row[name] for name in ("account_no", "type", "balance", "currency", "trang_thai")}
        return {**shown, "owner_name": owner["full_name"]}
    if tool == "get_card_limit":
        shown = {name: value for name, value in row.items() if name != "expires_on"}
        return {**shown, "remaining_today": row["daily_limit"] - row["used_today"]}
    return row


def _same(left, right):
    """Equality of JSON: unlike Python, it tells true from 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(_same(one, other) for one, other in zip(left, right, strict=True))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _sorted(calls):
    """Calls in an order of their own, since parallel ones have none."""
    return sorted(calls, key=lambda call: (call[0], sorted((name, str(value)) for name, value in call[1].items())))
