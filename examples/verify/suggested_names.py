"""Names of agents that the message of a decision suggests (docs/formats.md, "Deciding again from exports")."""

import re

SUGGESTION = re.compile(r'; did you mean ((?:"[^"]*"(?: or )?)+)\?\Z')
# Only this many code points at the end of a message are searched, so that a hostile message cannot make the search slow. The service
# suggests at most three names, which need fewer.
SEARCHED_LENGTH = 1000
SHOWN_LENGTH_MAX = 60


def names_in(message):
    """The suggested names, as the message shows them."""
    found = SUGGESTION.search(message[-SEARCHED_LENGTH:]) if isinstance(message, str) else None
    return re.findall('"([^"]*)"', found.group(1)) if found else []


def can_show(suggested, known):
    """Whether a message can show the known name as `suggested`.

    A message shows ' instead of ", shortens long names, and leaves out invisible characters. Any character beyond ASCII may be left out,
    because versions of Unicode differ in which characters are invisible.
    """
    is_shortened = len(suggested) == SHOWN_LENGTH_MAX and suggested.endswith('\u2026')
    wanted = suggested[:-1] if is_shortened else suggested
    at = 0
    for character in known.replace('"', "'"):
        if is_shortened and at == len(wanted):
            return True
        if wanted[at : at + 1] == character:
            at += 1
        elif ' ' <= character <= '~':
            return False
    return at == len(wanted)
