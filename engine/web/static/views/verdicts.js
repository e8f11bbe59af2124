// The herd in sentences: whether anything is sent at all, what goes on, what comes, and what to do.

import { h, link } from "../dom.js";
import { badge, bars, empty, tone } from "../parts.js";
import { faultsOf, mayWrite } from "../status.js";

const OF_TIMETABLES = new Set(["alignment", "volume"]); // The others are not theirs to mend.

export function verdicts({ monitor, forecast, status }) {
  const coming = status.ready ? "Next hour" : "Next hour, once it is ready";
  return h(
    "div",
    { class: "columns" },
    status.ready ? nowOf(monitor) : notReady(status),
    verdictOf(coming, forecast.verdict, forecast),
  );
}

/** What stands where there is no schedule, and so no herd. */
export const noSchedules = () =>
  empty(
    "No schedules yet",
    h(
      "p",
      { class: "lead quiet" },
      "A herd is the runs that share an instant: where a thousand schedules say “every hour”, a ",
      "thousand requests want to leave at :00. Here you see herds come, how far jitter spreads them, ",
      "and what was sent.",
    ),
    mayWrite() && link(["new"], "Make the first schedule", { class: "button primary" }),
    h("p", { class: "quiet" }, "Or from a shell: ", h("code", {}, "offbeat apply schedules.toml")),
  );

const nowOf = (monitor) =>
  monitor
    ? verdictOf("Now", monitor.verdict.name, monitor.verdict)
    : h("section", { class: "verdict calm" }, h("h2", {}, "Now"), h("p", { class: "quiet" }, FOR_ADMINS));

const FOR_ADMINS = "What happens now is the whole node's: it needs an admin key.";

const notReady = (status) =>
  h(
    "section",
    { class: "verdict bad" },
    h("h2", { class: "row" }, "Now: ", badge("failed", "not ready")),
    h("p", {}, "Runs are not sent as planned. ", faultsOf(status), "."),
    toDo("mend that first; ", link(["system"], "System"), " lists every check."),
  );

const verdictOf = (span, verdict, { sentence, advice, timetables = [] }) =>
  h(
    "section",
    { class: `verdict ${tone(verdict)}` },
    h("h2", { class: "row" }, `${span}: `, badge(verdict)),
    h("p", {}, readable(sentence)),
    toDo(readable(advice)),
    OF_TIMETABLES.has(verdict) && timetables.length > 0 && named(timetables),
  );

const toDo = (...words) =>
  h("p", { class: "advice" }, h("strong", {}, "What to do: "), words);

/** Which timetables the verdict is about, the largest first. */
const named = (timetables) => [
  h("strong", {}, "Timetables"),
  bars(timetables.map(({ timetable, runs }) => [timetable, runs])),
];

/** Instants within a sentence, without what is the same today. */
const readable = (text) => text.replace(/\d{4}-\d\d-\d\dT(\d\d:\d\d):\d\d(\.\d+)?Z/g, "$1 UTC");
