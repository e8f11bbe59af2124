// The curves of the herd's charts: what happened, second by second, joined to what is forecast. What
// was served lies as an area below the line of what was planned, which it mostly follows.

const PAST_SECONDS = 900;
const BIN_SECONDS = 10;
const LEAD_SECONDS = 5; // Before a herd's instant.
const HERD_SECONDS = [20, 900]; // Of a herd's chart, at least and at most.
const GONE_SECONDS = 15; // So long hardly anything is due or sent: the herd has left.
const FEW = 2; // Runs a second, of a herd that is small.
const JUST_NOW_SECONDS = 90; // So long a herd that has come is looked at, and not the next one.
const NAMES = ["demand", "served", "planned"];

export const seconds = (text) => Math.floor(Date.parse(text) / 1_000);

/**
 * {from, now, demand, planned, served}: runs a second, the last minutes and the next hour in one.
 * `monitor` is null for those who may not see it; they see the hour alone. It counts a run when that
 * is planned, seconds before it is due; what a herd under way will have asked for the forecast knows.
 */
export function joined({ monitor, forecast }) {
  const begun = seconds(forecast.from);
  const now = monitor ? Math.max(begun, seconds(monitor.at)) : begun;
  const from = monitor ? now - PAST_SECONDS : now;
  const curve = (name) => [
    ...past(monitor, name, now),
    ...forecast.curves[name].peak.slice(now - begun),
  ];
  const line = { from, now, ...Object.fromEntries(NAMES.map((name) => [name, curve(name)])) };
  const ask = (at, runs) => {
    if (line.demand[at - from] < runs) line.demand[at - from] = runs;
  };
  forecast.under_way.forEach(({ instant, runs }) => ask(seconds(instant), runs));
  forecast.curves.demand.peak.slice(0, now - begun).forEach((runs, place) => ask(begun + place, runs));
  if (monitor && now === begun) putBack(line, forecast);
  return line;
}

/** Put in a second as it happened, over what was forecast for it; its demand may still be coming. */
export function happened(line, { at, ...figures }) {
  const place = seconds(at) - 1 - line.from;
  line.now = line.from + place + 1;
  if (line.demand[place] === undefined) return;
  for (const name of NAMES) {
    line[name][place] = name === "demand" ? Math.max(line.demand[place], figures.demand) : figures[name];
  }
}

/** uPlot's columns of everything: of each ten seconds, the busiest one. */
export function overview(line, then) {
  const bins = Math.floor(line.demand.length / BIN_SECONDS);
  const starts = Array.from({ length: bins }, (_, bin) => bin * BIN_SECONDS);
  const peaks = (curve) =>
    starts.map((start) => greatest(curve.slice(start, start + BIN_SECONDS)));
  return [starts.map((start) => line.from + start), ...columns(line, then, peaks)];
}

/** uPlot's columns around one instant, second by second, until its runs have left. */
export function closeUp(line, then, instant) {
  const first = instant - LEAD_SECONDS - line.from;
  const start = Math.max(0, first);
  const length = tail(line, then, instant - line.from);
  const part = (curve) => curve.slice(start, first + length);
  const at = part(line.demand).map((_, place) => line.from + start + place);
  return [at, ...columns(line, then, part)];
}

/**
 * {at, runs}, the instant to look at: the busiest of the next hour, or one that came just now and was
 * as large; `shown`, once it has come, for a while. A what-if is of what comes. Null: nothing does.
 */
export function herdInstant(line, shown, then) {
  const place = line.now - line.from;
  const since = shown ? line.now - shown.at : -1;
  if (then) return found(line, busiest(line.demand, place, line.demand.length));
  if (since >= 0 && since < JUST_NOW_SECONDS) {
    return { at: shown.at, runs: line.demand[place - since] ?? shown.runs };
  }
  const justNow = busiest(line.demand, Math.max(0, place - JUST_NOW_SECONDS), place);
  const next = busiest(line.demand, place, line.demand.length);
  return found(line, justNow && (!next || justNow.runs * 2 > next.runs) ? justNow : next);
}

const found = (line, peak) => peak && { at: line.from + peak.place, runs: peak.runs };

/** The busiest second's runs by curve, of what a chart shows. */
export const busiestOf = ([, ...data]) => data.map(greatest);

function columns(line, then, reduce) {
  const dashed = then && thenOf(line, then);
  return [...NAMES.map((name) => reduce(line[name])), dashed ? reduce(dashed) : null].map(
    (column, _, [demand]) => column ?? demand.map(() => null),
  );
}

/** The planned curve as it would be, on the line's seconds; nothing before now. */
function thenOf(line, then) {
  const before = Math.max(0, seconds(then.from) - line.from);
  return [...Array(before).fill(null), ...then.curves.planned.peak].slice(0, line.demand.length);
}

/**
 * A forecast begins with the next whole second, and what is due before it is sent in that. Where
 * nobody waits it is sent in the second that goes on, of which the monitor has seen a part.
 */
function putBack({ from, now, served }, { curves, backlog }) {
  const early = Math.max(0, curves.served.peak[0] - curves.planned.peak[0]);
  if (backlog[0] > 0) return;
  served[now - from] -= early;
  served[now - from - 1] += early;
}

function past(monitor, name, now) {
  if (!monitor) return [];
  const { from, by_second: curves } = monitor.hour;
  const first = now - PAST_SECONDS - seconds(from);
  return Array.from({ length: PAST_SECONDS }, (_, place) => curves[name][first + place] ?? 0);
}

/** Seconds from the chart's beginning until what began at a place has left, or would have. */
function tail(line, then, place) {
  const [least, most] = HERD_SECONDS;
  const demand = line.demand.slice(place, place + most);
  const curves = [line.planned, line.served, ...(then ? [thenOf(line, then)] : [])];
  const last = greatest(curves.map((curve) => lastOf(demand, curve.slice(place, place + most))));
  return LEAD_SECONDS + Math.max(least, Math.ceil(last * 1.2) + LEAD_SECONDS);
}

/**
 * The last second of a herd. While fewer have come than asked, some of a small one are still to come,
 * however thin they are spread; a large one is there, too, while much of it comes beside all else.
 */
function lastOf(demand, curve) {
  const few = Math.max(FEW, greatest(curve) / 3);
  let last = 0;
  let owed = 0;
  for (let after = 0; after < curve.length && after - last < GONE_SECONDS; after += 1) {
    if ((owed > 0 && few === FEW) || curve[after] > few) last = after;
    owed += demand[after] - curve[after];
  }
  return last;
}

function busiest(curve, from, to) {
  let place = from;
  for (let at = from; at < to; at += 1) if (curve[at] > curve[place]) place = at;
  return curve[place] > 1 && place < to ? { place, runs: curve[place] } : null;
}

const greatest = (curve) => curve.reduce((top, n) => (n > top ? n : top), 0);
