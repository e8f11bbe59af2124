// The first screen: the last minutes as they happened, joined to the forecast of the next hour.

import { Problem, get } from "../api.js";
import { chart } from "../chart.js";
import { fill, h } from "../dom.js";
import { count, counted, duration, instant } from "../format.js";
import { on } from "../live.js";
import { badge, bars, figures, panel, table, title } from "../parts.js";
import { whatIf } from "./what_if.js";

const PAST_SECONDS = 900;
const AHEAD_SECONDS = 3_600;
const BIN_SECONDS = 10;
const REFRESH_MS = 30_000; // With a million schedules a forecast takes half a second of a core.
const CURVES = [
  { name: "demand", color: "--demand", fill: true },
  { name: "served", color: "--served", fill: true },
  { name: "planned", color: "--planned" },
  { name: "what-if", color: "--what-if", dash: [4, 3] },
];

export async function herd({ place, signal }) {
  const parts = {
    words: h("section", { class: "panel stack" }),
    numbers: h("div"),
    records: h("div"),
  };
  const top = h("div", { class: "columns" });
  const curves = chart(CURVES, signal);
  const sight = { monitor: null, forecast: null, then: null };
  const draw = () => curves.draw(columns(sight), seconds(sight.forecast.from), sentenceOf(sight));
  const slider = whatIf(signal, (then) => ((sight.then = then), draw()));
  fill(
    place,
    title("Herd"),
    parts.words,
    parts.numbers,
    panel("The last 15 minutes and the next hour", curves.element),
  );
  place.append(slider.element, top, parts.records);

  const refresh = async () => {
    Object.assign(sight, await look(signal));
    draw();
    fill(parts.words, words(sight));
    fill(parts.numbers, numbers(sight));
    fill(top, topOf(sight.forecast.top));
    fill(parts.records, sight.monitor && recordsOf(sight.monitor.records));
  };
  await refresh();
  const quietly = () => refresh().catch(() => {}); // The line at the side says that nothing is heard.
  const timer = setInterval(quietly, REFRESH_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  on("herd", (second) => showNow(parts.numbers, second), signal);
}

async function look(signal) {
  const to = new Date(Date.now() + AHEAD_SECONDS * 1_000).toISOString();
  const [monitor, forecast] = await Promise.all([
    get("v1/herd/monitor", { limit: 10 }, { signal }).catch(nullIfForbidden),
    get("v1/herd/forecast", { to, bin: BIN_SECONDS }, { signal }),
  ]);
  return { monitor, forecast };
}

/** What happened is the node's, and for administrators; other keys see the forecast alone. */
function nullIfForbidden(error) {
  if (error instanceof Problem && error.status === 403) return null;
  throw error;
}

function words({ monitor, forecast }) {
  const now = monitor && line(monitor.verdict.name, "Now", monitor.verdict);
  return [
    now ??
      h("p", { class: "quiet" }, "What happens now is the whole node's: it needs an admin key."),
    line(forecast.verdict, "Next hour", forecast),
  ];
}

const line = (verdict, span, { sentence, advice }) =>
  h(
    "div",
    { class: "verdict" },
    badge(verdict),
    h("p", {}, h("strong", {}, `${span}: `), readable(sentence)),
    h("p", { class: "quiet" }, h("strong", {}, "What to do: "), readable(advice)),
  );

/** Instants within a sentence, without what is the same today. */
const readable = (text) => text.replace(/\d{4}-\d\d-\d\dT(\d\d:\d\d):\d\d(\.\d+)?Z/g, "$1 UTC");

function numbers({ monitor, forecast }) {
  const { busiest, worst_minute: worst } = forecast;
  const served = monitor?.window.stages.served;
  return figures(
    [
      [h("span", { class: "backlog" }, "–"), "runs", "waiting now"],
      [h("span", { class: "tokens" }, "–"), `of ${count(forecast.burst)}`, "tokens now"],
      [count(forecast.runs), "runs", "in the next hour"],
      [count(busiest.demand), "runs/s", "asked for, busiest second"],
      [count(busiest.planned), "runs/s", "after jitter"],
      [count(forecast.rate), "runs/s", "can leave at most"],
      [
        worst ? duration(worst.p99_ms) : "–",
        worst && `of ${duration(worst.limit_ms)}`,
        "worst minute, p99 late",
      ],
      served && [
        count(served.amplification),
        `noise ${count(served.noise_floor)}`,
        "amplification, now",
      ],
    ].filter(Boolean),
  );
}

function showNow(place, { backlog, tokens }) {
  for (const [name, value] of Object.entries({ backlog, tokens })) {
    const found = place.querySelector(`.${name}`);
    if (found) found.textContent = count(value);
  }
}

/** uPlot's columns: seconds, then each curve's busiest second by bin; what-if is of the future only. */
function columns({ monitor, forecast, then }) {
  const past = monitor ? pastOf(monitor.hour) : { at: [], demand: [], planned: [], served: [] };
  const from = seconds(forecast.from);
  const ahead = forecast.curves.demand.peak.map((_, bin) => from + bin * BIN_SECONDS);
  const joined = (name) => [...past[name], ...forecast.curves[name].peak];
  return [
    [...past.at, ...ahead],
    then ? [...past.at, ...ahead].map(() => null) : joined("demand"), // It would dwarf the others.
    joined("served"),
    joined("planned"),
    [...past.at.map(() => null), ...ahead.map((at) => then && peakAt(then, at))],
  ];
}

function pastOf(hour) {
  const from = seconds(hour.from) + hour.seconds - PAST_SECONDS;
  const bins = Array.from({ length: PAST_SECONDS / BIN_SECONDS }, (_, bin) => bin * BIN_SECONDS);
  const peaks = (name) => {
    const curve = hour.by_second[name].slice(-PAST_SECONDS);
    return bins.map((start) => Math.max(0, ...curve.slice(start, start + BIN_SECONDS)));
  };
  const [demand, planned, served] = ["demand", "planned", "served"].map(peaks);
  return { at: bins.map((start) => from + start), demand, planned, served };
}

const peakAt = (then, at) =>
  then.curves.planned.peak[Math.floor((at - seconds(then.from)) / then.bin_seconds)] ?? null;

const seconds = (text) => Math.floor(Date.parse(text) / 1_000);

const sentenceOf = ({ forecast: { busiest } }) =>
  "Runs a second over time. In the next hour the busiest second " +
  `is asked for ${counted(busiest.demand, "run")}, ` +
  `has ${count(busiest.planned)} planned after jitter, and ${count(busiest.served)} are served.`;

function topOf({ timetables, hosts, tenants }) {
  const list = (name, of, shares) =>
    shares.length > 0 && panel(name, bars(shares.slice(0, 6).map(of), "runs"));
  return [
    list("Timetables that bring the most", (top) => [top.timetable, top.runs], timetables),
    list("Hosts that get the most", (top) => [top.host, top.runs], hosts),
    tenants.length > 1 && list("Tenants", (top) => [top.tenant, top.runs], tenants),
  ];
}

function recordsOf(records) {
  if (!records.length) {
    const text =
      "A herd is a second that more runs share than leave in one burst. Each is kept here.";
    return panel("Herds that were recorded", h("p", { class: "quiet" }, "None yet. ", text));
  }
  const heads = [
    "Instant",
    "#Runs",
    "#Busiest asked",
    "#Planned",
    "#Served",
    "#Amplification",
    "Verdict",
  ];
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
    "Herds that were recorded",
    table("Herds that were recorded", heads, records.map(row)),
  );
}
