// Failed runs, all of them, by target and error, to send again together.

import { get, post } from "../api.js";
import { fill, h, link } from "../dom.js";
import { count, counted, instant } from "../format.js";
import { on } from "../live.js";
import { badge, button, confirmed, empty, panel, scheduleLink, table, title, when } from "../parts.js";
import { mayWrite } from "../status.js";
import { outcomeWords, reasonWords } from "./run.js";

const REFRESH_MS = 1_000;
const ALIKE = { class: "alike" }; // Columns below each other from group to group.
const REST = 20; // Times as long as the last answer took: very many take half a second to group.

export async function failed({ place, signal }) {
  const [list, said] = [h("div", { class: "screen" }), h("div", { role: "status" })];
  let isStale = false;
  let restsUntil = 0;
  const refresh = async () => {
    isStale = false;
    const began = performance.now();
    const found = await get("v1/failures", {}, { signal });
    restsUntil = performance.now() + REST * (performance.now() - began);
    if (!found.data.length) return fill(list, nothing());
    const cards = found.data.map((group) => card(group, said, refresh));
    return fill(list, summary(found), cards);
  };
  fill(place, title("Failed runs"), said, list);
  await refresh();
  const stale = () => (isStale = true);
  on("run", ({ state }) => state === "failed" && stale(), signal);
  for (const name of ["reset", "dropped", "poll"]) on(name, stale, signal);
  const isDue = () => isStale && performance.now() > restsUntil;
  const timer = setInterval(() => isDue() && refresh().catch(() => {}), REFRESH_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}

const nothing = () =>
  empty(
    "No run has failed",
    h(
      "p",
      { class: "lead quiet" },
      "A run fails when its attempts, its time or its deadline are used up, or when the ",
      "target's answer is final. It waits here until it is replayed or its history ends.",
    ),
  );

function summary({ runs, groups, complete, data }) {
  const which = complete ? "" : "The newest ";
  const shown = data.length < groups ? `; the ${count(data.length)} largest are here` : "";
  return h(
    "p",
    { class: "quiet" },
    `${which}${counted(runs, "failed run")}, by target and error in ${counted(groups, "group")}${shown}.`,
  );
}

function card(group, said, refresh) {
  const heads = ["Schedule", "#Runs", "#Newest"];
  const row = ({ name, runs, newest }) => [
    scheduleLink(name),
    count(runs),
    link(["runs", newest], when(newest.slice(newest.indexOf("@") + 1))),
  ];
  const more = group.schedules - group.worst.length;
  const replaying = () => replay(group, said, refresh);
  return panel(
    null,
    h(
      "div",
      { class: "title" },
      h(
        "h2",
        { class: "row" },
        h("code", {}, group.host),
        badge("failed", errorWords(group)),
        h("span", { class: "quiet small" }, counted(group.runs, "run")),
      ),
      mayWrite() && button("Replay these", replaying, said),
    ),
    h("p", { class: "quiet small" }, whyWords(group)),
    table(`Failed runs of ${group.host}, ${errorWords(group)}`, heads, group.worst.map(row), ALIKE),
    more > 0 && h("p", { class: "quiet small after" }, `and ${counted(more, "schedule")} more`),
  );
}

const errorWords = (group) =>
  group.outcome === "none" ? "never attempted" : outcomeWords(group);

/** Why they failed, and what the newest one was told, where the status does not say it already. */
function whyWords({ reason, error, outcome }) {
  const why = reasonWords(reason);
  const capital = why.charAt(0).toUpperCase() + why.slice(1);
  return outcome === "http_error" || !error ? `${capital}.` : [`${capital}: `, h("bdi", {}, error), "."];
}

/** Send a group again: how many that are is counted first, and said. */
async function replay(group, said, refresh) {
  const { host, reason, outcome, status } = group;
  const which = { host, reason, outcome, status };
  const dry = await post("v1/runs:replay", { ...which, dry_run: true });
  const passed = dry.passed_over
    ? ` ${count(dry.passed_over)} more cannot be sent: past their deadline, or their schedule is gone.`
    : "";
  const about =
    `They are sent to ${host} again, spread over a while, with the same keys and bytes. ` +
    `They failed with: ${errorWords(group)}.${passed}`;
  if (!(await confirmed(`Replay ${counted(dry.count, "failed run")}?`, about, "Replay"))) return;
  const done = await post("v1/runs:replay", which);
  const until = done.spread_until ? `, all due by ${instant(done.spread_until)} UTC.` : ".";
  fill(said, h("p", {}, `${counted(done.count, "run")} on the way${until}`));
  await refresh();
}
