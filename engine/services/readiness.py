"""Whether an engine can do its work, check by check: what `/readyz` lists."""

from typing import Protocol


class Plan(Protocol):
    """The planner."""

    trouble: str | None

    def stall(self, now_ms: int) -> str | None:
        """Why nothing is claimed, if that is since the planner takes too long over a step."""
        ...


class Writing(Protocol):
    """The journal's writer."""

    trouble: str | None
    is_full: bool


def checks_of(state: str, plan: Plan, writing: Writing, now_ms: int) -> dict[str, str | None]:
    """What an engine needs to do its work, and why it has it not right now, or None.

    Causes before effects: without its journal or a sane clock nothing is planned.
    """
    return {
        "engine": None if state == "running" else state,
        "clock": plan.trouble,
        "journal": None if writing.is_full else writing.trouble,
        "disk": writing.trouble if writing.is_full else None,
        "planner": plan.stall(now_ms),
    }
