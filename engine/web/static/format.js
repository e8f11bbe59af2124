// How figures are written: thousands apart, a unit beside each, and instants by how far they are.

import { now } from "./engine_clock.js";

const numbers = new Intl.NumberFormat("en", {
  maximumFractionDigits: 0,
  maximumSignificantDigits: 3, // Of these two, the one that rounds less.
  roundingPriority: "morePrecision",
});
const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
];

/** 12,345, 28.6 or 1.04 */
export const count = (value) => numbers.format(value);

/** "1 run", "12,345 runs" */
export const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** 7 ms, 1.2 s, 3 min 20 s, 2 d 4 h */
export function duration(ms) {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Math.round(ms / 100) / 10} s`;
  const first = UNITS.findIndex(([, size]) => ms >= size);
  const [unit, size] = UNITS[first];
  const [lesser, lesserSize] = UNITS[first + 1];
  const rest = Math.floor((ms % size) / lesserSize);
  return `${Math.floor(ms / size)} ${unit}${rest ? ` ${rest} ${lesser}` : ""}`;
}

/** "in 3 min", "20 s ago", "now": by the engine's clock */
export function relative(instant, from = now()) {
  const ms = Date.parse(instant) - from;
  if (Math.abs(ms) < 1_000) return "now";
  const [unit, size] = UNITS.find(([, bound]) => Math.abs(ms) >= bound);
  const text = `${Math.round(Math.abs(ms) / size)} ${unit}`;
  return ms > 0 ? `in ${text}` : `${text} ago`;
}

/** 30 Nov 17:02:05.533, in UTC as the engine counts; milliseconds where there are some. */
export function instant(text) {
  const [day, time] = new Date(text).toISOString().slice(0, -1).split("T");
  return `${day} ${time.replace(/\.000$/, "")}`;
}

/** 17:02:05 or 17:02:05.533 */
export const clock = (text) => instant(text).slice(11);

/** The delay from one instant to another, signed: +12.3 s */
export const offset = (from, to) => `+${duration(Math.max(0, Date.parse(to) - Date.parse(from)))}`;
