// How the engine stands, and how far the key of this tab goes. The frame asks every few seconds, whoever
// shows it is told, and nothing is asked that the key cannot have.

import { get } from "./api.js";
import { on, tell } from "./live.js";

let known = { ready: true, checks: [], scope: undefined, schedules: null };

/** Ask: {ready, checks, scope, schedules}; the scope is null while no key is given that it knows. */
export async function askStatus(signal) {
  known = await get("v1/status", {}, { signal });
  tell("status", known);
  return known;
}

/** Call `heard(status)` now, and each time it was asked for until the signal aborts. */
export function onStatus(heard, signal) {
  heard(known);
  on("status", heard, signal);
}

export const isUnknown = () => known.scope === null;
export const isAdmin = () => known.scope === "admin";
export const mayWrite = () => known.scope !== "read";

/** How many schedules the tenant has. */
export const schedulesInAll = () => known.schedules;

/** What is wrong, by check; "" when nothing is. */
export const faultsOf = ({ checks }) =>
  checks
    .filter(({ fault }) => fault)
    .map(({ name, fault }) => `${name}: ${fault}`)
    .join("; ");
