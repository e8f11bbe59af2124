"""A trigger in words says what the engine does, or shows the cron itself."""

from playwright.sync_api import Browser

from engine.web.dashboard import read_dashboard
from tests.dashboard.conftest import screen_of
from tests.end_to_end.processes import Engine

CRONS = {
    "* * * * *": "every minute",
    "*/1 * * * *": "every minute",
    "*/5 * * * *": "every 5 minutes",
    "0,30 * * * *": "every 30 minutes",
    "*/7 * * * *": "every hour at :00, :07, :14, :21, :28, :35, :42, :49 and :56",
    "*/45 * * * *": "every hour at :00 and :45",
    "*/60 * * * *": "every hour at :00",
    "*/90 * * * *": "every hour at :00",
    "0 * * * *": "every hour at :00",
    "5 * * * *": "every hour at :05",
    "5/20 * * * *": "every hour at :05, :25 and :45",
    "10-12 * * * *": "every hour at :10, :11 and :12",
    "0 */6 * * *": "every 6 hours from 00:00",
    "30 */2 * * *": "every 2 hours from 00:30",
    "0 */5 * * *": "every day at 00:00, 05:00, 10:00, 15:00 and 20:00",
    "0 */24 * * *": "every day at 00:00",
    "0 */36 * * *": "every day at 00:00",
    "30 2 * * *": "every day at 02:30",
    "30 2 ? * ?": "every day at 02:30",
    "15 8,20 * * *": "every day at 08:15 and 20:15",
    "0 9-17 * * 1-5": "every hour from 09:00 to 17:00 on Monday to Friday",
    "0 9 * * MON-FRI": "at 09:00 on Monday to Friday",
    "0 9 * * 1": "at 09:00 on Monday",
    "0 9 * * 2": "at 09:00 on Tuesday",
    "0 9 * * wed": "at 09:00 on Wednesday",
    "0 9 * * 4": "at 09:00 on Thursday",
    "0 9 * * 5": "at 09:00 on Friday",
    "0 9 * * 6": "at 09:00 on Saturday",
    "0 9 * * 0": "at 09:00 on Sunday",
    "0 9 * * 7": "at 09:00 on Sunday",
    "0 9 * * sat,sun": "at 09:00 on Saturday and Sunday",
    "0 9 * * 5-7": "at 09:00 on Friday to Sunday",
    "0 9 * * 0-2": "at 09:00 on Monday, Tuesday and Sunday",
    "0 9 * * */2": "at 09:00 on Tuesday, Thursday, Saturday and Sunday",
    "0 9 * * 1/2": "at 09:00 on Monday, Wednesday, Friday and Sunday",
    "0 0 * * 0-7": "every day at 00:00",
    "*/5 * * * 6": "every 5 minutes on Saturday",
    "0 0 1 * *": "at 00:00 on day 1 of each month",
    "0 0 1,15 * *": "at 00:00 on days 1 and 15 of each month",
    "0 0 31 * *": "at 00:00 on day 31 of each month that has one",
    "0 0 1-31 * *": "every day at 00:00",
}
AS_WRITTEN = (
    "0 0 1 * 1",  # Either day may match, which no words of ours say.
    "0 0 1-31 * 1",
    "0 0 1,31 * *",
    "0 0 */2 * *",
    "0 0 1 1 *",
    "0 0 L * *",
    "0 0 LW * *",
    "0 0 15W * *",
    "0 0 * * 1L",
    "0 0 * * 1#2",
    "0 0 * * monL",
    "*/2,3 * * * *",
    "0,30 9-17 * * *",
    "30 0 0 * * *",
    "30 0 0 ? * *",
)


def words_of(browser: Browser, engine: Engine, schedules: list[dict[str, object]]) -> list[str]:
    """What the page's own module says of them."""
    module = f"/static/{read_dashboard().digest}/trigger.js"
    asked = f"(all) => import('{module}').then(({{triggerWords}}) => all.map(triggerWords))"
    with screen_of(browser, engine) as screen:
        said: list[str] = screen.show("new", "New schedule").evaluate(asked, schedules)
    return said


def test_a_cron_is_said_in_words_that_are_true_or_as_it_is_written(
    browser: Browser, empty_engine: Engine
):
    right = CRONS | {cron: f"as the cron {cron} says" for cron in AS_WRITTEN}
    # That the engine takes each of them makes the table one of crons.
    target = {"url": "http://127.0.0.1:9/"}
    schedules = []
    for cron in right:
        document = {"cron": cron, "target": target}
        preview = empty_engine.ask("POST", "/v1/schedules:preview", document)
        assert preview.status == 200, (cron, preview.document)
        schedules.append(preview.document["schedule"])
    said = words_of(browser, empty_engine, schedules)
    assert dict(zip(right, said, strict=True)) == right


def test_the_other_triggers_are_said_to_the_second(browser: Browser, empty_engine: Engine):
    berlin = {"cron": "H 9 * * *", "cron_resolved": "17 9 * * *", "timezone": "Europe/Berlin"}
    right = {
        "every 1 s": {"every": 1, "phase": 0},
        "every 1 min 30 s": {"every": 90, "phase": 0},
        "every 1 d 1 h 1 min 1 s": {"every": 90_061, "phase": 0},
        "every 365 d": {"every": 31_536_000, "phase": 0},
        "every 1 h, with a phase of 1 min 30 s": {"every": 3_600, "phase": 90},
        "once, 2027-01-01 09:00:00 UTC": {"at": "2027-01-01T09:00:00Z"},
        "every day at 09:17, Europe/Berlin": berlin,
    }
    assert words_of(browser, empty_engine, list(right.values())) == list(right)
