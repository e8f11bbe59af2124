"""`offbeat sign` and `offbeat verify`: a delivery's headers, made and checked without an engine."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

import click

from engine.cli.options import example, instant, output, schedule_name, secrets, tenant_name
from engine.cli.output import show_json
from engine.cli.signatures import judge, sent_s
from engine.clock import SystemClock
from engine.core.identity import (
    WEBHOOK_TOLERANCE_SECONDS,
    Signer,
    format_instant,
    idempotency_key,
    schedule_id,
)
from engine.core.model import DEFAULT_TENANT

_Function = TypeVar("_Function", bound=Callable[..., object])

body: Callable[[_Function], _Function] = click.argument(
    "body", metavar="[BODY]", type=click.File("rb"), default="-"
)


@click.command(
    "sign",
    epilog=example(
        'offbeat sign --secret "$(offbeat secrets)" --name nightly-report'
        " --scheduled-for 2026-11-30T12:00:00Z body.json > headers.txt",
    ),
)
@secrets
@click.option(
    "--name", type=schedule_name, metavar="NAME", required=True, help="The schedule's name."
)
@click.option(
    "--tenant",
    type=tenant_name,
    metavar="NAME",
    default=DEFAULT_TENANT,
    show_default=True,
    help="The schedule's: id and signature depend on it.",
)
@click.option("--scheduled-for", "planned_ms", type=instant, required=True, help="The occurrence.")
@click.option(
    "--timestamp", "sent_ms", type=instant, help="When the attempt is made (default now)."
)
@body
@output
def sign(
    *,
    secrets: tuple[str, ...],
    name: str,
    tenant: str,
    planned_ms: int,
    sent_ms: int | None,
    body: BinaryIO,
    form: str,
) -> None:
    """Print the headers of a delivery of BODY (a file, or - for standard input)."""
    identity = schedule_id(tenant, name)
    planned = format_instant(planned_ms)
    timestamp = (SystemClock().now_ms() if sent_ms is None else sent_ms) // 1000
    key, content = idempotency_key(identity, planned_ms), body.read()
    signer = Signer(_some(secrets))
    headers = {
        "Idempotency-Key": key,
        "X-Scheduled-For": planned,
        "X-Schedule-Id": identity,
        "X-Schedule-Name": name,
        "webhook-id": key,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signer.webhook_signature(key, timestamp, content),
        "X-Scheduler-Signature": signer.scheduler_signature(identity, planned, content),
    }
    if form == "json":
        show_json({"headers": headers})
    else:
        for header, value in headers.items():
            click.echo(f"{header}: {value}")


@click.command(
    "verify",
    epilog=example(
        'offbeat verify --secret "$(offbeat secrets)" -H @headers.txt body.json',
        'offbeat verify --secret "$(offbeat secrets)" -H @headers.txt -o json < body.json',
    ),
)
@secrets
@click.option(
    "-H",
    "--header",
    "lines",
    metavar="LINE",
    multiple=True,
    required=True,
    help="A header as received, or @FILE with one a line.",
)
@click.option("--at", "received_ms", type=instant, help="When it was received (default now).")
@body
@output
def verify(
    *,
    secrets: tuple[str, ...],
    lines: tuple[str, ...],
    received_ms: int | None,
    body: BinaryIO,
    form: str,
) -> int:
    """Check both signatures of a delivery of BODY (a file, or - for standard input).

    Exit code 0 when both hold and the attempt is no older than five minutes, else 1.
    """
    headers = dict(_headers(lines))
    verdicts = judge(_some(secrets), headers, body.read())
    now_s = (SystemClock().now_ms() if received_ms is None else received_ms) // 1000
    sent = sent_s(headers)
    age = None if sent is None else now_s - sent
    fresh = age is not None and abs(age) <= WEBHOOK_TOLERANCE_SECONDS
    found = {
        "webhook_signature": verdicts.webhook,
        "scheduler_signature": verdicts.scheduler,
        "age_seconds": age,
        "fresh": fresh,
    }
    if form == "json":
        show_json(found)
    else:
        for name, value in found.items():
            click.echo(f"{name}: {'unknown' if value is None else str(value).lower()}")
    signed = {verdicts.webhook, verdicts.scheduler}
    holds = "valid" in signed and "invalid" not in signed
    return 0 if holds and (fresh or verdicts.webhook == "absent") else 1


def _headers(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        for header in filter(str.strip, _file(line[1:]) if line.startswith("@") else [line]):
            name, colon, value = header.partition(":")
            if not colon:
                raise click.BadParameter(f"{header!r} is not NAME: VALUE", param_hint="-H")
            yield name.strip().lower(), value.strip()


def _file(path: str) -> list[str]:
    try:
        # Among others that came along there may be one in another coding; ours are ASCII.
        return Path(path).read_text("utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}", param_hint="-H") from None


def _some(secrets: tuple[str, ...]) -> tuple[str, ...]:
    if not secrets:
        raise click.UsageError("--secret is needed; offbeat secrets prints the engine's")
    return secrets
