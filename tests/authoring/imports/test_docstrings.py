"""Three styles of docstrings say the same."""

from __future__ import annotations

import pytest

from bfcl.authoring.imports.docstrings import read_docstring

GOOGLE = """Rent a bike.

    It is taken out
    at once.

    Args:
        bike_id (str): Which bike,
            as on its frame.
        days (int, optional): How long: at most a week.
        *rest: Others.

    Returns:
        rider: Nobody's parameter.
    """
NUMPY = """Rent a bike.

    It is taken out
    at once.

    Parameters
    ----------
    bike_id : str
        Which bike,
        as on its frame.
    days : int, optional
        How long: at most a week.
    *rest
        Others.

    Returns
    -------
    rider
        Nobody's parameter.
    """
REST = """Rent a bike.

    It is taken out
    at once.

    :param str bike_id: Which bike,
        as on its frame.
    :param days: How long: at most a week.
    :type days: int
    :param \\*rest: Others.
    :returns: rider
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_every_style_gives_description_and_parameters(text: str) -> None:
    found = read_docstring(text)
    assert found.description == "Rent a bike.\n\nIt is taken out at once."
    assert found.parameters == {
        "bike_id": "Which bike, as on its frame.",
        "days": "How long: at most a week.",
        "rest": "Others.",
    }


def test_numpy_names_that_share_a_line_share_the_words() -> None:
    text = "Move.\n\nParameters\n----------\nx, y : float\n    Where to.\n"
    assert read_docstring(text).parameters == {"x": "Where to.", "y": "Where to."}


def test_prose_that_ends_in_a_colon_is_no_section() -> None:
    found = read_docstring("Do it.\n\nMind this:\n  a: b\n")
    assert found.description == "Do it.\n\nMind this: a: b"
    assert found.parameters == {}


@pytest.mark.parametrize("text", [None, "", "   \n "])
def test_absent_docstring_says_nothing(text: str | None) -> None:
    found = read_docstring(text)
    assert (found.description, found.parameters) == ("", {})


def test_section_without_entries_and_field_without_name_say_nothing() -> None:
    assert read_docstring("Do.\n\nArgs:\n").parameters == {}
    assert read_docstring("Do.\n\n:param: nothing\n:raises ValueError: never\n").parameters == {}
