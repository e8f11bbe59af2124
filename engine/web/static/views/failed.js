// Failed runs, by target and error, to send again together.
//
// The journal lists runs without their targets and errors, so one run of each schedule and reason is
// asked for both, and stands for the others; the groups say of how many runs they are.

import { get, post, resource } from "../api.js";
import { fill, h, link } from "../dom.js";
import { count, counted, instant, relative } from "../format.js";
import { refreshing } from "../live.js";
import {
  badge,
  button,
  confirmed,
  empty,
  pager,
  panel,
  scheduleLink,
  table,
  title,
} from "../parts.js";
import { outcomeWords, reasonWords } from "./run.js";

const PAGE = 200;
const SAMPLES_MAX = 40;
const ASKED_AT_ONCE = 4;
const NAMED_MAX = 5;

export async function failed({ place, signal }) {
  const [list, said] = [h("div", { class: "screen" }), h("div", { role: "status" })];
  let cursor = null;
  const refresh = async () => {
    const page = await get("v1/runs", { state: "failed", limit: PAGE, cursor }, { signal });
    const turn = (to) => ((cursor = to), refresh());
    if (!page.data.length) return fill(list, nothing());
    const groups = await grouped(page.data, signal);
    const cards = groups.map((group) => card(group, said, refresh));
    return fill(list, summary(page, groups), cards, pager(cursor, page.next_cursor, turn));
  };
  fill(place, title("Failed runs"), said, list);
  await refresh();
  refreshing(
    () => refresh().catch(() => {}),
    signal,
    ({ state }) => state === "failed",
  );
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

const summary = ({ data, next_cursor: next }, groups) =>
  h(
    "p",
    { class: "quiet" },
    `The newest ${counted(data.length, "failed run")}${next ? ", and there are more" : ""}, `,
    `in ${counted(groups.length, "group")}.`,
  );

/** [{host, error, kinds: [{name, reason, runs}]}], the largest first. */
async function grouped(runs, signal) {
  const kinds = new Map();
  for (const run of runs) {
    const key = `${run.schedule_id} ${run.reason}`;
    const kind = kinds.get(key) ?? { name: run.schedule_name, reason: run.reason, runs: [] };
    kind.runs.push(run);
    kinds.set(key, kind);
  }
  const all = [...kinds.values()];
  await explain(all.slice(0, SAMPLES_MAX), signal);
  const groups = new Map();
  for (const kind of all) {
    const key = `${kind.host ?? ""} ${kind.error ?? ""}`;
    const group = groups.get(key) ?? {
      host: kind.host ?? "other targets",
      error: kind.error ?? "not asked for",
      kinds: [],
    };
    group.kinds.push(kind);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => sizeOf(b) - sizeOf(a));
}

/** Ask for one run of each kind, and for its schedule's target. */
async function explain(kinds, signal) {
  const waiting = [...kinds];
  const worker = async () => {
    for (let kind = waiting.pop(); kind; kind = waiting.pop()) {
      const run = await get(resource("v1/runs", kind.runs[0].id), {}, { signal });
      const schedule = await get(resource("v1/schedules", kind.name), {}, { signal }).catch(
        () => null,
      );
      const last = run.attempts.at(-1);
      kind.host = schedule ? hostOf(schedule.target.url) : "deleted schedules";
      kind.error = last?.outcome ? outcomeWords(last) : reasonWords(kind.reason);
      kind.detail = last?.error;
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, worker));
}

function card(group, said, refresh) {
  const runs = group.kinds.flatMap((kind) => kind.runs);
  const detail = group.kinds.find((kind) => kind.detail)?.detail;
  const row = (kind) => [
    scheduleLink(kind.name),
    reasonWords(kind.reason),
    count(kind.runs.length),
    link(["runs", kind.runs[0].id], relative(kind.runs[0].ended_at), {
      title: instant(kind.runs[0].ended_at),
    }),
  ];
  const more = group.kinds.length - NAMED_MAX;
  const heads = ["Schedule", "Why it failed", "#Runs", "#Newest"];
  return h(
    "section",
    { class: "panel" },
    h(
      "div",
      { class: "title" },
      h(
        "h2",
        { class: "row" },
        h("code", {}, group.host),
        badge("failed", group.error),
        h("span", { class: "quiet small" }, counted(runs.length, "run")),
      ),
      button("Replay these", () => replay(group, said, refresh), said),
    ),
    detail && !/^status \d+$/.test(detail) && h("p", { class: "quiet small" }, detail),
    table(`Failed runs of ${group.host}`, heads, group.kinds.slice(0, NAMED_MAX).map(row)),
    more > 0 && h("p", { class: "quiet small after" }, `and ${counted(more, "schedule")} more`),
  );
}

/** All failed runs of the group's schedules, for the same reason: also those beyond this page. */
async function replay({ host, error, kinds }, said, refresh) {
  const meant = kinds.map(({ name, reason }) => ({ schedule: name, reason }));
  const total = (answers) => answers.reduce((sum, { count: number }) => sum + number, 0);
  const dry = total(
    await oneByOne(meant, (which) => post("v1/runs:replay", { ...which, dry_run: true })),
  );
  const about =
    `They are sent to ${host} again, spread over a while, with the same keys and bytes. ` +
    `They failed with: ${error}.`;
  if (!(await confirmed(`Replay ${counted(dry, "failed run")}?`, about, "Replay"))) return;
  const answers = await oneByOne(meant, (which) => post("v1/runs:replay", which));
  const until = answers
    .map((answer) => answer.spread_until)
    .filter(Boolean)
    .sort()
    .at(-1);
  fill(
    said,
    h(
      "p",
      {},
      `${counted(total(answers), "run")} on the way`,
      until ? `, all due by ${instant(until)} UTC.` : ".",
    ),
  );
  await refresh();
}

async function oneByOne(items, act) {
  const answers = [];
  for (const item of items) answers.push(await act(item));
  return answers;
}

const sizeOf = ({ kinds }) => kinds.reduce((sum, { runs }) => sum + runs.length, 0);

function hostOf(url) {
  return URL.canParse(url) ? new URL(url).host : url;
}
