"""The metrics, as a new engine shows them: each is there before it has counted anything."""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog
from prometheus_client import Metric

from engine.app import Engine
from engine.config import Config
from pages.markdown import code, opening, table

PROSE = """\
`GET /metrics` in the Prometheus text format; [how to graph and alert](../how-to-prometheus.md). No
label grows with the number of schedules. A counter is written with `_total`, a histogram with
`_bucket`, `_sum` and `_count`."""


def page() -> str:
    families = sorted(asyncio.run(_families()), key=lambda family: family.name)
    rows = (
        (code(_name(family)), family.type, _labels(family), family.documentation)
        for family in families
    )
    return "\n".join(
        [
            opening("Metrics", "the catalogue (`engine/services/metrics.py`)", PROSE),
            table(("metric", "type", "labels", "meaning"), rows),
        ]
    )


async def _families() -> Iterable[Metric]:
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    with TemporaryDirectory() as directory:
        async with Engine(Config(data_dir=Path(directory))) as engine:
            return list(engine.registry.collect())


def _name(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else str(family.name)


def _labels(family: Metric) -> str:
    return "; ".join(f"{code(name)}: {values}" for name, values in _values(family))


def _values(family: Metric) -> Iterator[tuple[str, str]]:
    names = {name: None for sample in family.samples for name in sample.labels if name != "le"}
    for name in names:
        values = {sample.labels[name]: None for sample in family.samples}
        yield name, ", ".join(map(code, values))
