// Whether the engine does its work, check by check, as /readyz lists it. The frame asks every few seconds,
// and whoever shows it is told.

import { fetchTimed } from "./engine_clock.js";
import { on, tell } from "./live.js";

let known = { isReady: true, checks: [] };

/** Ask: {isReady, checks}, each check [name, what is wrong or ""]. */
export async function readiness(signal) {
  const response = await fetchTimed("readyz?verbose", { signal, cache: "no-store" });
  const lines = (await response.text())
    .split("\n")
    .map((line) => /^\[[+-]\](\S+) (?:ok|failed: (.*))$/.exec(line));
  const checks = lines.filter(Boolean).map(([, name, fault]) => [name, fault ?? ""]);
  known = { isReady: response.ok, checks };
  tell("readiness", known);
  return known;
}

/** Call `heard(readiness)` now, and each time it was asked for until the signal aborts. */
export function onReadiness(heard, signal) {
  heard(known);
  on("readiness", heard, signal);
}

/** What is wrong, by check; "" when nothing is. */
export const faultsOf = ({ checks }) =>
  checks
    .filter(([, fault]) => fault)
    .map(([name, fault]) => `${name}: ${fault}`)
    .join("; ");
