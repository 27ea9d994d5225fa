"""The bank's own rules: fees, limits, what may be disputed, what is shown of a row. No state lives here."""

import datetime

OWN_BANK = "SVB"
DISPUTE_DAYS = 60
REASONS = (
    "trừ tiền hai lần",
    "sai số tiền",
    "chưa nhận được hàng",
    "không phải tôi thực hiện",
    "máy ATM không nhả tiền",
)
RAILS = ("napas", "internal")
TRANSACTION_STATUSES = ("thanh_cong", "dang_xu_ly", "that_bai")


def tier_for(schedule, rail, amount):
    """The row of the fee schedule that an amount falls in, or None beyond the rail's limits."""
    for row in schedule:
        if row["rail"] == rail and row["min_amount"] <= amount <= row["max_amount"]:
            return row
    return None


def limits_of(schedule, rail):
    """The least and the greatest amount that a rail carries."""
    rows = [row for row in schedule if row["rail"] == rail]
    return min(row["min_amount"] for row in rows), max(row["max_amount"] for row in rows)


def why_not_disputable(transaction, clock):
    """The rule that forbids a dispute, or None. The order is the bank's: the plainest reason first."""
    if transaction["direction"] != "ghi_no":
        return "khong_phai_ghi_no"
    if transaction["trang_thai"] != "thanh_cong":
        return "chua_hoan_tat"
    if transaction["dispute_id"] is not None:
        return "da_co_khieu_nai"
    posted = datetime.datetime.fromisoformat(transaction["posted_at"])
    if datetime.datetime.fromisoformat(clock) - posted > datetime.timedelta(days=DISPUTE_DAYS):
        return "qua_han"
    return None


def newest_first(transactions):
    """The order of an account statement; within one second the later number comes first."""
    return sorted(transactions, key=lambda row: (row["posted_at"], row["transaction_id"]), reverse=True)


def pick(row, *names):
    """Some fields of a row, in this order."""
    return {name: row[name] for name in names}
