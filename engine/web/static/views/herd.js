// The first screen: the last minutes as they happened, joined to the forecast of the next hour.

import { get } from "../api.js";
import { chart } from "../chart.js";
import { fill, h } from "../dom.js";
import { instantIn } from "../engine_clock.js";
import { clock, count, counted, duration, instant, relative } from "../format.js";
import { busiestOf, closeUp, happened, herdInstant, joined, overview } from "../herd_curves.js";
import { on } from "../live.js";
import { LABELLED, badge, bars, figures, panel, table, title } from "../parts.js";
import { isAdmin, onStatus } from "../status.js";
import { noSchedules, verdicts } from "./verdicts.js";
import { whatIf } from "./what_if.js";

const AHEAD_MS = 3_600_000;
const FORECAST_MS = 30_000; // With a million schedules it takes half a second of a core.
const MONITOR_MS = 5_000;
const CURVES = [
  { name: "demand", color: "--demand", fill: true, isCut: true },
  { name: "served", color: "--served", fill: true },
  { name: "planned", color: "--planned" },
  { name: "what-if", color: "--what-if", dash: [4, 3], width: 2 },
];

export async function herd({ place, signal }) {
  const [numbers, records, about] = [h("div"), h("div"), h("p")];
  const words = h("div", { class: "screen" });
  const top = h("div", { class: "columns" });
  const all = chart(CURVES, signal, { unit: "Runs a second, the busiest of each 10 s", at: minute });
  const near = chart(CURVES, signal, { unit: "Runs a second", at: second });
  const sight = { monitor: null, forecast: null, line: null, then: null, now: null, herd: null };
  const draw = () => drawBoth(sight, all, near, about);
  const slider = whatIf(signal, (then) => ((sight.then = then), draw()));
  const herdPanel = panel("The herd", h("div", { class: "stack" }, about, near.element));
  const closer = h("div", { class: "columns wide-first" }, herdPanel, slider.element);
  fill(
    place,
    title("Herd"),
    words,
    numbers,
    panel("The last 15 minutes and the next hour", all.element),
    closer,
    top,
    records,
  );

  const say = () => fill(words, sight.isEmpty && noSchedules(), verdicts(sight));
  onStatus((status) => ((sight.status = status), sight.forecast && say()), signal);
  const show = (news) => {
    Object.assign(sight, news);
    sight.line = joined(sight);
    closer.hidden = sight.isEmpty;
    draw();
    say();
    fill(numbers, numbersOf(sight));
    fill(top, topOf(sight.forecast.top));
    fill(records, sight.monitor && recordsOf(sight.monitor.records));
  };
  show(await look(signal));
  every(FORECAST_MS, async () => show(await look(signal)), signal);
  if (sight.monitor) every(MONITOR_MS, async () => show({ monitor: await monitorNow(signal) }), signal);
  on("herd", (figures) => follow(sight, numbers, figures) || draw(), signal);
}

/** Again and again, quietly: the line at the side says when nothing is heard. */
function every(ms, act, signal) {
  const timer = setInterval(() => act().catch(() => {}), ms);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function follow(sight, place, figures) {
  sight.now = figures;
  showNow(place, figures);
  happened(sight.line, figures);
}

function drawBoth(sight, all, near, about) {
  const { line, forecast, then } = sight;
  const { now } = line;
  const { rate } = forecast;
  const of = (data, span) => ({ now, rate, sentence: sentenceOf(span, busiestOf(data)) });
  const whole = overview(line, then);
  all.draw(whole, of(whole, "The last 15 minutes and the next hour"));
  const found = herdInstant(line, sight.herd, then);
  if (!then) sight.herd = found;
  const part = closeUp(line, then, found ? found.at : now);
  near.draw(part, of(part, "Around the busiest second"));
  fill(about, found ? herdWords(found, now, busiestOf(part)) : noHerdWords(forecast.runs));
}

/** "20:00:00 UTC, in 12 min: 7,541 runs ask for one second, 181 a second at most after jitter." */
function herdWords({ at, runs }, now, [, served, planned]) {
  const text = new Date(at * 1_000).toISOString();
  return [
    h("strong", {}, `${clock(text)} UTC`),
    `, ${relative(text, now * 1_000)}: ${counted(runs, "run")} at one second; `,
    `${count(planned)} a second at most after jitter, ${count(served)} served.`,
  ];
}

/** Runs that each have a second of their own are no herd. */
function noHerdWords(runs) {
  if (!runs) return "Nothing falls due within the hour.";
  const fall = runs === 1 ? "falls" : "fall";
  return `${counted(runs, "run")} ${fall} due within the hour, and no second has two: no herd.`;
}

async function look(signal) {
  const [monitor, forecast] = await Promise.all([
    monitorNow(signal),
    get("v1/herd/forecast", { to: instantIn(AHEAD_MS), bin: 1 }, { signal }),
  ]);
  return { monitor, forecast, isEmpty: !forecast.runs && (await hasNone(signal)) };
}

async function hasNone(signal) {
  const { data } = await get("v1/schedules", { limit: 1 }, { signal });
  return !data.length;
}

/** What happened is the node's, and for administrators; other keys see the forecast alone. */
const monitorNow = (signal) =>
  isAdmin() ? get("v1/herd/monitor", { limit: 10 }, { signal }) : null;

function numbersOf({ monitor, forecast, now }) {
  const { busiest, worst_minute: worst } = forecast;
  const { planned, served } = monitor?.window.stages ?? {};
  const nowOr = (name) => (now ? count(now[name]) : "–");
  const p99 = worst ? duration(worst.p99_ms).replaceAll(" ", "\u00a0") : "–";
  const late = [p99, worst && `of ${duration(worst.limit_ms)}`];
  return figures(
    [
      monitor && [h("span", { class: "backlog" }, nowOr("backlog")), "runs", "waiting now"],
      monitor && [
        h("span", { class: "tokens" }, nowOr("tokens")),
        `of ${count(forecast.burst)}`,
        "tokens now",
      ],
      monitor && [
        `${count(planned.amplification)}\u00a0×`,
        "the mean",
        `busiest second now, as planned; ${count(served.amplification)}\u00a0× as sent`,
      ],
      [count(forecast.runs), forecast.runs === 1 ? "run" : "runs", "in the next hour"],
      [count(busiest.demand), "runs/s", "asked for, busiest second"],
      [count(busiest.planned), "runs/s", "after jitter, busiest second"],
      [count(forecast.rate), "runs/s", "can leave at most"],
      [...late, "worst minute, p99 late"],
    ].filter(Boolean),
  );
}

function showNow(place, { backlog, tokens }) {
  for (const [name, value] of Object.entries({ backlog, tokens })) {
    const found = place.querySelector(`.${name}`);
    if (found) found.textContent = count(value);
  }
}

const minute = (at) => new Date(at * 1_000).toISOString().slice(11, 16);
const second = (at) => new Date(at * 1_000).toISOString().slice(11, 19);

const sentenceOf = (span, [demand, served, planned]) =>
  `Runs a second over time. ${span}: in the busiest second ${counted(demand, "run")} asked for, ` +
  `${count(planned)} planned after jitter, ${count(served)} served.`;

function topOf({ timetables, hosts, tenants }) {
  const list = (name, of, shares) =>
    shares.length > 0 && panel(name, bars(shares.slice(0, 6).map(of)));
  return [
    list("Timetables that bring the most", (top) => [top.timetable, top.runs], timetables),
    list("Hosts that get the most", (top) => [top.host, top.runs], hosts),
    tenants.length > 1 && list("Tenants", (top) => [top.tenant, top.runs], tenants),
  ];
}

const RECORD_WORDS =
  "Asked, planned and served: runs in the busiest second. Amplification: as planned, over the mean / " +
  "that of a perfect spread.";

function recordsOf(records) {
  const name = "Herds that were recorded";
  if (!records.length) {
    const text =
      "A herd is a second that more runs share than leave in one burst. Each is kept here.";
    return panel(name, h("p", { class: "quiet" }, "None yet. ", text));
  }
  const heads = ["Instant (UTC)", "#Runs", "#Asked", "#Planned", "#Served", "#Amplification"];
  const row = (record) => [
    h("time", { class: "instant" }, instant(record.instant)),
    count(record.runs),
    count(record.busiest_demand),
    count(record.busiest_planned),
    count(record.busiest_served),
    [count(record.amplification), h("small", {}, ` / ${count(record.noise_floor)}`)],
    h("span", { title: record.sentence }, badge(record.verdict)),
  ];
  return panel(
    name,
    h("p", { class: "quiet small" }, RECORD_WORDS),
    table(name, [...heads, "Verdict"], records.map(row), LABELLED),
  );
}
