// The engine itself: whether it is ready, how busy, what its clock says, what its journal accounts for.

import { Problem, authorization, forgetKey, get, hasKey } from "../api.js";
import { fill, h } from "../dom.js";
import { ahead, instantIn } from "../engine_clock.js";
import { count, duration, instant } from "../format.js";
import { LABELLED, badge, empty, facts, figures, panel, table, title } from "../parts.js";
import { askStatus, isAdmin } from "../status.js";

const REFRESH_MS = 5_000;
const AUDITED_MS = 3_600_000;

export async function system({ place, signal }) {
  const parts = h("div", { class: "screen" });
  const refresh = async () => {
    const [checks, numbers, audit, about] = await Promise.all([
      askStatus(signal),
      metrics(signal),
      auditOfLastHour(signal),
      isAdmin() ? get("v1/system", {}, { signal }) : null,
    ]);
    fill(
      parts,
      load(numbers),
      h(
        "div",
        { class: "columns" },
        readyOf(checks),
        clockOf(ahead(), numbers),
        storeOf(numbers, audit),
        about && versionsOf(about),
      ),
      about ? settingsOf(about.settings) : empty("Settings in force", h("p", { class: "quiet" }, FOR_ADMINS)),
    );
  };
  fill(
    place,
    title(
      "System",
      hasKey() && h("button", { type: "button", onclick: signOut }, "Forget the key"),
    ),
    parts,
  );
  await refresh();
  const timer = setInterval(() => refresh().catch(() => {}), REFRESH_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}

/** Values by name with labels, of the Prometheus text; empty for a key that may not read it. */
async function metrics(signal) {
  const response = await fetch("metrics", { signal, headers: authorization(), cache: "no-store" });
  const lines = response.ok ? (await response.text()).split("\n") : [];
  const samples = lines.map((line) => /^([a-z]\S*) (\S+)$/.exec(line)).filter(Boolean);
  return new Map(samples.map(([, name, value]) => [name, Number(value)]));
}

function auditOfLastHour(signal) {
  return get("v1/audit", { from: instantIn(-AUDITED_MS) }, { signal }).catch(nullIfRefused);
}

function load(numbers) {
  const known = (name, unit, what, write = count) =>
    numbers.has(name) && [write(numbers.get(name)), unit, what];
  const seconds = (value) => duration(value * 1_000);
  return figures(
    [
      known("scheduler_backlog_runs", "runs", "waiting"),
      known("scheduler_oldest_due_age_seconds", null, "the oldest is due for", seconds),
      known("scheduler_inflight", "attempts", "in flight"),
      known("scheduler_concurrency_limit", "attempts", "concurrency limit"),
      known("scheduler_tokens", "tokens", "in the bucket"),
      known("scheduler_planner_lag_seconds", null, "planner lag", seconds),
      known("scheduler_desired_nodes", "of such nodes", "a cluster should have"),
      known("scheduler_clock_jumps_total", "jumps", "of the clock since the start"),
    ].filter(Boolean),
  );
}

function readyOf({ ready, checks }) {
  const row = ({ name, fault }) => [name, fault ? badge("failed") : badge("succeeded", "ok"), fault];
  return panel(
    h(
      "span",
      { class: "row" },
      "Readiness ",
      badge(ready ? "met" : "missed", ready ? "ready" : "not ready"),
    ),
    table("Checks", ["Check", "State", "What is wrong"], checks.map(row)),
  );
}

function clockOf(skew, numbers) {
  const off =
    Math.abs(skew) < 1_500
      ? "agrees with this browser"
      : `${duration(Math.abs(skew))} ${skew > 0 ? "ahead of" : "behind"} this browser`;
  return panel(
    "Clock",
    facts([
      ["Engine", `${instant(instantIn(0)).slice(0, 19)} UTC`],
      ["", off],
      ["Loop lag, mean", meanOf(numbers, "scheduler_loop_lag_seconds")],
    ]),
  );
}

function storeOf(numbers, audit) {
  return panel(
    "Store",
    facts([
      ["Commit, mean", meanOf(numbers, "scheduler_journal_commit_seconds")],
      [
        "Rows a commit, mean",
        meanOf(numbers, "scheduler_journal_batch_rows", (value) => count(value)),
      ],
      ["Accounted for, last hour", audit && accounts(audit)],
      ["History since", audit && since(audit.history_floor)],
    ]),
  );
}

const accounts = ({ owed, runs, counted, pending, unaccounted }) => [
  badge(
    unaccounted ? "failed" : "succeeded",
    unaccounted ? `${count(unaccounted)} lost` : "all of it",
  ),
  ` ${count(owed)} owed = ${count(runs)} runs + ${count(counted)} counted + ${count(pending)} pending`,
];

const since = (floor) => (Date.parse(floor) ? `${instant(floor)} UTC` : "the beginning");

const FOR_ADMINS = "Versions and settings are the whole node's: they need an admin key.";

/** Of an hour that history has not there is no account. */
function nullIfRefused(error) {
  if (error instanceof Problem && error.status === 422) return null;
  throw error;
}

const versionsOf = ({ versions, tenant, keys_required: isKeyed }) =>
  panel(
    "Versions",
    facts([
      ["Offbeat", versions.offbeat],
      ["SQLite", versions.sqlite],
      ["Python", versions.python],
      ["Tenant", tenant],
      ["API keys", isKeyed ? "required" : "none: this machine alone is answered"],
      ["API", h("a", { href: "docs" }, "the reference, served by this engine")],
    ]),
  );

/** The settings in force, after flags, environment, file and defaults. */
function settingsOf(settings) {
  const row = ({ section, key, value, is_default: isDefault, purpose }) => [
    h(
      "div",
      { class: "name" },
      h("code", {}, `${section}.${key}`),
      h("small", { class: "quiet" }, purpose),
    ),
    h("span", { class: isDefault ? null : "changed" }, valueWords(value)),
    isDefault ? h("span", { class: "quiet" }, "default") : "set",
  ];
  return panel(
    "Settings in force",
    table("Settings in force", ["Setting", "Value", "From"], settings.map(row), LABELLED),
  );
}

function valueWords(value) {
  if (value === null || (Array.isArray(value) && !value.length)) return "–";
  if (typeof value === "number") return count(value);
  return Array.isArray(value) ? value.join(", ") : String(value);
}

function meanOf(numbers, name, write = (value) => duration(value * 1_000)) {
  const number = numbers.get(`${name}_count`);
  return number ? write(numbers.get(`${name}_sum`) / number) : null;
}

function signOut() {
  forgetKey();
  location.reload();
}
