"""Failed runs in groups."""

from engine.core.failures import SCHEDULES_NAMED_MAX, Cause, Failed, Failures, add_failed

REFUSED = Failed(
    url="https://api.example/hook?x=1",
    reason="final",
    outcome="http_error",
    status=422,
    schedule_id="sch_a",
    schedule_name="a",
    runs=1,
    newest_ms=5_000,
    error="status 422",
)


def grouped(*pages: list[Failed]) -> dict[Cause, Failures]:
    groups: dict[Cause, Failures] = {}
    for page in pages:
        add_failed(groups, page)
    return groups


def test_a_group_is_a_host_and_an_end_and_adds_up_over_pages():
    older = REFUSED._replace(runs=7, newest_ms=3_000, error="status 422, of old")
    other = REFUSED._replace(url="https://api.example:443/other", status=410)
    groups = grouped([REFUSED, other], [older])
    assert {cause.status: group.runs for cause, group in groups.items()} == {422: 8, 410: 1}
    assert {cause.host for cause in groups} == {"api.example:443"}
    group = groups[Cause("api.example:443", "final", "http_error", 422)]
    assert (group.error, group.newest_ms) == ("status 422", 5_000)


def test_the_worst_schedules_are_named_whatever_the_order_in_which_they_come():
    names = "fbdaceg"
    page = [
        REFUSED._replace(schedule_id=f"sch_{name}", schedule_name=name, runs=number)
        for number, name in enumerate(names, 1)
    ]
    (group,) = grouped(page, page[:1] * 9).values()
    assert [(part.schedule_name, part.runs) for part in group.worst] == [
        ("f", 10), ("g", 7), ("e", 6), ("c", 5), ("a", 4)
    ]  # fmt: skip
    assert (len(group.by_schedule), len(group.worst)) == (7, SCHEDULES_NAMED_MAX)
