"""Reading a shell command line just far enough to know whether it is one plain command.

Not a shell: whatever only a running shell can know (expansions, pipes, files) is refused with the
reason, and an importer then takes the line as an opaque command. What is accepted means the same
words in every POSIX shell (IEEE Std 1003.1, "Shell Command Language", 2.2 quoting, 2.7
redirection). Unquoted `?` and `*` stay as they are: a URL matches no file.
"""

import re
from dataclasses import dataclass

_PIECE = re.compile(
    r"""
      (?P<joint> \\\n )
    | (?P<blank> [^\S\n]+ )
    | (?P<comment> (?<![^\s|&;()<>]) \# [^\n]* )
    | (?P<operator> (?: (?<![^\s|&;()<>]) [0-9]+ )? (?: >> | >& | >\| | <<<? | <& | <> | [<>] )
                  | &>> | &> | && | \|\| | \|& | ;; | [|&;()\n] )
    | (?P<single> '[^']*' )
    | (?P<double> "(?: [^"\\] | \\. )*" )
    | (?P<escape> \\. )
    | (?P<plain> [^\s'"\\|&;()<>]+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_EXPANSION = re.compile(r"\$[A-Za-z0-9_{(@*#?$!'\"-]|`")
_REDIRECTION = re.compile(r"[0-9]*[<>]|&>")


class NotPlain(ValueError):
    """Why a command is more than one plain command with literal words."""


class Unclosed(NotPlain):
    """A quotation or a substitution has no end: no shell would run it."""


def read_words(command: str) -> list[str]:
    """The words of one plain command, quotes removed.

    Output thrown away (`>/dev/null 2>&1`), a trailing `&` or `;`, comments and lines without
    anything are dropped.
    Raises `NotPlain`, or `Unclosed` when no shell could read the text at all.
    """
    tokens = _lex(command)
    while tokens and tokens[0].operator == "\n":
        tokens.pop(0)
    while tokens and tokens[-1].operator in ("&", ";", "\n"):
        tokens.pop()
    words: list[str] = []
    rest = iter(tokens)
    for token in rest:
        if _REDIRECTION.match(token.operator):
            _check_redirection(token.operator, next(rest, _Token()).text)
        elif token.operator:
            sign = "a line break" if token.operator == "\n" else f"'{token.operator}'"
            raise NotPlain(f"{sign} joins it to another command")
        elif token.expands:
            raise NotPlain("the shell would expand a '$' or '`' in it")
        else:
            words.append(token.text)
    return words


def check_closed(command: str) -> None:
    """Raises `Unclosed` when a quotation, `$(` or backtick in the command has no end."""
    _lex(command)


@dataclass(slots=True)
class _Token:
    """A word, or an operator when `operator` says which."""

    text: str = ""
    operator: str = ""
    expands: bool = False


def _check_redirection(operator: str, place: str) -> None:
    if operator.endswith(">&") and re.fullmatch(r"[0-9]|-", place):
        return
    if place == "/dev/null":
        return
    direction = "input comes from" if "<" in operator else "output goes to"
    raise NotPlain(f"its {direction} {place or 'nowhere'}")


def _lex(command: str) -> list[_Token]:
    """Words and operators. A word is a run of pieces with nothing between them."""
    tokens: list[_Token] = []
    position, word_end, depth, ticks = 0, -1, 0, 0
    while position < len(command):
        piece = _PIECE.match(command, position)
        if piece is None:
            raise Unclosed("a quotation is not closed")
        kind, text = piece.lastgroup, piece.group()
        following = command[piece.end() : piece.end() + 1] if kind == "plain" else ""
        if kind == "operator":
            tokens.append(_Token(operator=text))
            depth = max(0, depth + (text == "(") - (text == ")"))
        elif kind == "joint":
            word_end = piece.end() if word_end == position else word_end
        elif kind in ("single", "double", "escape", "plain"):
            if word_end != position:
                tokens.append(_Token())
            word_end = piece.end()
            tokens[-1].text += _unquote(text)
            if kind in ("double", "plain"):
                bare = re.sub(r"\\.", "", text, flags=re.DOTALL)
                tokens[-1].expands |= bool(_EXPANSION.search(bare.strip('"') + following))
                depth = max(0, depth + bare.count("$(") - bare.count(")"))
                ticks += bare.count("`")
        position = piece.end()
    if depth or ticks % 2:
        raise Unclosed("a substitution is not closed")
    return tokens


def _unquote(piece: str) -> str:
    if piece.startswith("'"):
        return piece[1:-1]
    if piece.startswith('"'):
        # POSIX 2.2.3: inside double quotes a backslash escapes only these, and joins lines.
        return re.sub(r'\\(?:\n|([$`"\\]))', r"\1", piece[1:-1])
    return piece[1:] if piece.startswith("\\") else piece
