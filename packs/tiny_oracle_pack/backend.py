"""The executable oracle: what the lending desk answers, and what it remembers.

Everything an answer depends on comes in through `reset` and `call_tool`: no wall clock, environment, files, network or
randomness. A request the desk refuses is an answer (`{"error": {...}}`); only a bug here would raise.
"""

import copy
import datetime

LOAN_DAYS = 14

# One episode's memory. `reset` fills it anew, so nothing survives from one episode to the next.
_state = {}


def list_tools():
    """The names this oracle implements; `prepare` compares them with tools.json."""
    return list(_TOOLS)


def reset(*, ctx, fixtures=None):
    """Start an episode from the fixtures, with loan numbers counted from one."""
    rows = copy.deepcopy(fixtures or {})
    _state.clear()
    _state.update({name: rows.get(name, []) for name in ("books", "patrons", "loans")}, next_loan=1)


def call_tool(name, arguments, *, ctx):
    """Answer one call with a JSON object."""
    tool = _TOOLS.get(name)
    if tool is None:
        return _error("not_found", entity="tool", id=name)
    types, required, answer = tool
    return _argument_error(arguments, types, required) or answer(arguments, ctx)


def get_state():
    """The whole observable state, as a copy the caller may keep."""
    return copy.deepcopy(_state)


def _get_book_status(arguments, ctx):
    book = _find("books", "book_id", arguments["book_id"])
    if book is None:
        return _error("not_found", entity="book", id=arguments["book_id"])
    return {key: book[key] for key in ("book_id", "title", "author", "status", "due_on")}


def _checkout_book(arguments, ctx):
    patron = _find("patrons", "patron_id", arguments["patron_id"])
    if patron is None:
        return _error("not_found", entity="patron", id=arguments["patron_id"])
    book = _find("books", "book_id", arguments["book_id"])
    if book is None:
        return _error("not_found", entity="book", id=arguments["book_id"])
    due_on = (datetime.datetime.fromisoformat(ctx.clock).date() + datetime.timedelta(days=LOAN_DAYS)).isoformat()
    loan = {"patron_id": patron["patron_id"], "book_id": book["book_id"], "due_on": due_on}
    # Asking comes before availability: a loaned copy may be back by the time the reader says yes.
    if not arguments.get("confirm", False):
        return {"status": "awaiting_confirmation", **loan}
    if book["status"] != "available":
        return {"status": "unavailable", "book_id": book["book_id"], "due_on": book["due_on"]}
    loan = {"loan_id": f"L-{_state['next_loan']:04d}", **loan}
    _state["next_loan"] += 1
    _state["loans"].append(loan)
    book.update(status="on_loan", due_on=due_on)
    return {"status": "checked_out", **loan}


# Name -> (argument types, required arguments, answer). `type(x) is bool` is meant: to JSON, true is not a number.
_TOOLS = {
    "get_book_status": ({"book_id": str}, ("book_id",), _get_book_status),
    "checkout_book": ({"patron_id": str, "book_id": str, "confirm": bool}, ("patron_id", "book_id"), _checkout_book),
}

_JSON_NAMES = {str: "string", bool: "boolean"}


def _argument_error(arguments, types, required):
    """The first argument fault as an error result, or None."""
    for field in required:
        if field not in arguments:
            return _error("invalid_argument", field=field, message="missing")
    for field, value in arguments.items():
        if field not in types:
            return _error("invalid_argument", field=field, message="unknown argument")
        if type(value) is not types[field]:
            return _error("invalid_argument", field=field, message=f"must be a {_JSON_NAMES[types[field]]}")
    return None


def _find(collection, key, value):
    return next((row for row in _state[collection] if row[key] == value), None)


def _error(code, **details):
    return {"error": {"code": code, **details}}
