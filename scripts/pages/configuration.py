"""The settings, from their table and their defaults."""

from collections.abc import Iterator

from engine.config import Config
from engine.settings import SETTINGS, Setting, flag_of
from pages.markdown import code, opening, table

PROSE = """\
A flag goes before the environment, that before `offbeat.toml` (or the file of `--config`), and
that before the default. An unknown key or `OFFBEAT_…__…` variable is an error. In the file:

```toml
[delivery]
rate = 200
```"""

HEADINGS = ("key", "value", "default", "variable", "flag", "what it is for")


def page() -> str:
    parts = [opening("Configuration", "the settings (`engine/settings.py`)", PROSE)]
    sections = {setting.place[0] if setting.place else None: None for setting in SETTINGS.values()}
    for section in sorted(sections, key=lambda name: name or "~"):
        known = 0 if section else 1  # What is in no file has no key.
        parts.append(f"## {code(f'[{section}]') if section else 'Of one start'}\n")
        parts.append(table(HEADINGS[known:], (row[known:] for row in _rows(section))))
    return "\n".join(parts)


def _rows(section: str | None) -> Iterator[tuple[str, ...]]:
    for field, setting in SETTINGS.items():
        place = setting.place or (None, "")
        if place[0] == section:
            yield (
                code(place[1]) if place[1] else "",
                setting.kind.words,
                _default(field),
                code(setting.environment) if setting.environment else "",
                _flag(field, setting),
                setting.purpose,
            )


def _default(field: str) -> str:
    value = getattr(Config(), field)
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return code(str(value).lower())
    return code(f"{value:g}" if isinstance(value, float) else value)


def _flag(field: str, setting: Setting) -> str:
    if setting.metavar is None:
        return ""
    return code(f"{flag_of(field)} {setting.metavar}".strip())
