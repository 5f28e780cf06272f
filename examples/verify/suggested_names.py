"""Names of agents that the message of a decision suggests (docs/formats.md, "Deciding again from exports")."""

import re

SUGGESTION = re.compile(r'; did you mean ((?:"[^"]*"(?: or )?)+)\?\Z')
# Only this many code points at the end of a message are searched, so that a hostile message cannot make the search slow. Three suggested
# names are shorter.
SEARCHED_LENGTH = 1000
SHOWN_LENGTH_MAX = 60


def names_in(message):
    """The suggested names, as the message shows them."""
    found = SUGGESTION.search(message[-SEARCHED_LENGTH:]) if isinstance(message, str) else None
    return re.findall('"([^"]*)"', found.group(1)) if found else []


def shows(shown, known):
    """Whether a message can show a known name as `shown`.

    It shows ' for ", shortens long names, and leaves out invisible characters. Any character beyond ASCII may be left out, because versions
    of Unicode differ in which characters are invisible.
    """
    shortened = len(shown) == SHOWN_LENGTH_MAX and shown.endswith('\u2026')
    wanted = shown[:-1] if shortened else shown
    at = 0
    for character in known.replace('"', "'"):
        if shortened and at == len(wanted):
            return True
        if wanted[at : at + 1] == character:
            at += 1
        elif ' ' <= character <= '~':
            return False
    return at == len(wanted)
