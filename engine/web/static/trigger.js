// A trigger in words: the common shapes of a cron as a person says them, the rest as it is written.

import { duration, instant } from "./format.js";

const NAMES = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const DAYS = [
  "Sunday",
  "Monday",
  "Tuesday",
  "Wednesday",
  "Thursday",
  "Friday",
  "Saturday",
  "Sunday",
];

/** "every 5 minutes", "at 09:00 on Monday to Friday, Europe/Berlin" */
export function triggerWords(schedule) {
  if (schedule.every) return `every ${duration(schedule.every * 1_000)}`;
  if (schedule.at) return `once, ${instant(schedule.at)} UTC`;
  const cron = schedule.cron_resolved ?? schedule.cron;
  const zone = schedule.timezone && schedule.timezone !== "UTC" ? `, ${schedule.timezone}` : "";
  return `${cronWords(cron) ?? cron}${zone}`;
}

/** What was written, for beside the words. */
export function triggerText(schedule) {
  return schedule.cron ?? (schedule.every ? `every ${schedule.every} s` : schedule.at);
}

/** Why an occurrence fires when it does. */
export function offsetReason({ jitter_seconds: jitter, jitter_source: source, offset_ms: offset }) {
  if (!jitter) {
    return `It fires at its very instant: ${source === "explicit" ? "jitter_seconds is 0" : unjittered}.`;
  }
  const whence =
    source === "explicit" ? "as the schedule asks" : "the default of a schedule that lands on :00";
  return (
    `It fires ${duration(offset)} after each instant: ` +
    `its own place within ${duration(jitter * 1_000)} (${whence}), ` +
    "computed from its id. The same at every occurrence, on every node, after every restart."
  );
}

const unjittered =
  "by default only what lands on :00 has a jitter, of a tenth of its interval and 60 s at most";

/** Instants on the wall clock of a schedule's zone; null in UTC, or where the browser has no such zone. */
export function wallClock({ timezone }) {
  if (!timezone || timezone === "UTC") return null;
  try {
    const format = new Intl.DateTimeFormat("en-GB", {
      timeZone: timezone,
      weekday: "short",
      day: "numeric",
      month: "short",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    return (text) => format.format(new Date(text));
  } catch {
    return null;
  }
}

function cronWords(cron) {
  const fields = cron.split(/\s+/);
  if (fields.length !== 5) return null;
  const [minute, hour, day, month, weekday] = fields;
  const days = dayWords(day, month, weekday);
  if (days === null) return null;
  return timeWords(minute, hour, days !== "") && `${timeWords(minute, hour, days !== "")}${days}`;
}

function timeWords(minute, hour, hasDays) {
  const step = /^\*\/(\d+)$/.exec(minute);
  if (hour === "*" && minute === "*") return "every minute";
  if (hour === "*" && step) return `every ${step[1]} minutes`;
  if (hour === "*" && isNumber(minute))
    return minute === "0" ? "every hour" : `every hour at :${two(minute)}`;
  const hours = /^\*\/(\d+)$/.exec(hour);
  if (hours && isNumber(minute)) return `every ${hours[1]} hours at :${two(minute)}`;
  if (!isNumber(minute) || !isNumber(hour)) return null;
  return `${hasDays ? "" : "every day "}at ${two(hour)}:${two(minute)}`;
}

/** "" every day; null: not in these words. */
function dayWords(day, month, weekday) {
  if (month !== "*") return null;
  if (day === "*" && weekday === "*") return "";
  if (weekday === "*") return isNumber(day) ? ` on day ${day} of each month` : null;
  const numbered = weekday.replace(/[a-z]{3}/gi, (name) => NAMES.indexOf(name.toLowerCase()));
  const span = /^(\d)(?:-(\d))?$/.exec(numbered);
  if (day !== "*" || !span || span[1] > 7 || span[2] > 7) return null;
  return ` on ${DAYS[span[1]]}${span[2] ? ` to ${DAYS[span[2]]}` : ""}`;
}

const isNumber = (text) => /^\d+$/.test(text);
const two = (text) => text.padStart(2, "0");
