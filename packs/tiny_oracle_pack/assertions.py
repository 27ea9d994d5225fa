"""What must be true once a conversation is over, whoever made the calls.

Each assertion sees the final state, the calls with their results, and the task's bound values. It passes by returning
None and fails by `assert`. None of them may pass for a candidate that did nothing, except where doing nothing is right.
"""

ASSERTION_CAPABILITIES = {
    "assert_each_copy_looked_up_once": {"trace": True, "executable": True, "category": "path"},
    "assert_answers_match_catalogue": {"trace": True, "executable": True, "category": "result"},
    "assert_checked_out_once": {"trace": True, "executable": True, "category": "path"},
    "assert_loan_created": {"trace": False, "executable": True, "category": "state"},
    "assert_copy_on_loan": {"trace": False, "executable": True, "category": "state"},
    "assert_no_tool_called": {"trace": True, "executable": True, "category": "path"},
}


def assert_each_copy_looked_up_once(*, state, trace, task, ctx):
    """Exactly the copies the reader named were looked up, in any order, and nothing else was called."""
    assert all(call["tool"] == "get_book_status" for call in trace), "something other than a lookup was called"
    wanted = sorted(task["slots"].values())
    # A candidate may leave the id out or send a number: that is a wrong call, and must not break the comparison.
    seen = sorted(str(call["arguments"].get("book_id")) for call in trace)
    assert seen == wanted, f"looked up {seen}, expected {wanted}"


def assert_answers_match_catalogue(*, state, trace, task, ctx):
    """Every copy the reader named got an answer, and it says what the catalogue says."""
    answers = {call["result"].get("book_id"): call["result"] for call in trace}
    for book_id in task["slots"].values():
        assert book_id in answers, f"no answer about {book_id}"
        book = _book(state, book_id)
        for key in ("status", "due_on"):
            assert answers[book_id][key] == book[key], f"{key} of {book_id} differs from the catalogue"


def assert_checked_out_once(*, state, trace, task, ctx):
    """Among the calls, one loan was made."""
    made = [call for call in trace if call["tool"] == "checkout_book" and call["result"].get("status") == "checked_out"]
    assert len(made) == 1, f"{len(made)} loans were made, expected one"


def assert_loan_created(*, state, trace, task, ctx):
    """The desk's books hold exactly one loan: this copy, to this reader."""
    loans = [(loan["patron_id"], loan["book_id"]) for loan in state["loans"]]
    wanted = (task["slots"]["patron_id"], task["slots"]["book_id"])
    assert loans == [wanted], f"loans are {loans}, expected only {wanted}"


def assert_copy_on_loan(*, state, trace, task, ctx):
    """The copy is marked as lent, due when its loan says."""
    book = _book(state, task["slots"]["book_id"])
    due = [loan["due_on"] for loan in state["loans"] if loan["book_id"] == book["book_id"]]
    assert book["status"] == "on_loan", f"{book['book_id']} is {book['status']}"
    assert due == [book["due_on"]], f"{book['book_id']} is due on {book['due_on']}, its loans on {due}"


def assert_no_tool_called(*, state, trace, task, ctx):
    """Declining means leaving the tools alone."""
    assert not trace, f"{len(trace)} calls were made, expected none"


def _book(state, book_id):
    return next(book for book in state["books"] if book["book_id"] == book_id)
