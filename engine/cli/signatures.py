"""What the signatures of a received delivery are worth, for `verify` and the sink."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.core.identity import verify_scheduler, verify_webhook

Verdict = Literal["valid", "invalid", "absent", "unchecked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Of the attempt's signature and of the occurrence's; `unchecked` without a secret."""

    webhook: Verdict
    scheduler: Verdict


def judge(secrets: Sequence[str], headers: Mapping[str, str], body: bytes) -> Verdicts:
    """Judge a delivery, whatever its age. `headers` have lower-case names."""
    return Verdicts(
        webhook=_webhook(secrets, headers, body), scheduler=_scheduler(secrets, headers, body)
    )


def sent_s(headers: Mapping[str, str]) -> int | None:
    """When the attempt says that it was made, in Unix seconds; None where it says nothing."""
    return small_number(headers.get("webhook-timestamp", ""))


def small_number(text: str) -> int | None:
    """Up to twelve digits as a number, as a Unix time or an attempt has; None for anything else."""
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else None


def _webhook(secrets: Sequence[str], headers: Mapping[str, str], body: bytes) -> Verdict:
    if "webhook-signature" not in headers:
        return "absent"
    if not secrets:
        return "unchecked"
    holds = verify_webhook(
        secrets,
        webhook_id=headers.get("webhook-id", ""),
        timestamp=headers.get("webhook-timestamp", ""),
        body=body,
        signature=headers["webhook-signature"],
        now_s=sent_s(headers) or 0,
    )
    return "valid" if holds else "invalid"


def _scheduler(secrets: Sequence[str], headers: Mapping[str, str], body: bytes) -> Verdict:
    if "x-scheduler-signature" not in headers:
        return "absent"
    if not secrets:
        return "unchecked"
    holds = verify_scheduler(
        secrets,
        schedule_id=headers.get("x-schedule-id", ""),
        scheduled_for=headers.get("x-scheduled-for", ""),
        body=body,
        signature=headers["x-scheduler-signature"],
    )
    return "valid" if holds else "invalid"
