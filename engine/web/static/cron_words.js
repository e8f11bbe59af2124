// A cron in words where words say exactly what it does; null where they would not.
//
// A field is read, as the engine reads it (core/cron_fields.py), into the numbers that it matches, and
// words are made of those: */7 is at :00, :07, … :56 and nothing that comes every 7 minutes.

const NAMED_MAX = 10; // So many times or days are named one by one; more read worse than the cron.
const NAMES = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const WEEK = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** "every 5 minutes", "at 09:00 on Monday to Friday"; null: not in words. */
export function cronWords(cron) {
  const [minute, hour, day, month, weekday, more] = cron.split(/\s+/);
  if (weekday === undefined || more !== undefined || !isAny(month)) return null;
  const times = timeWords(numbers(minute, 0, 59), numbers(hour, 0, 23));
  const days = dayWords(day, weekday);
  if (times === null || days === null) return null;
  return times.startsWith("at ") && days === "" ? `every day ${times}` : `${times}${days}`;
}

const isAny = (text) => text === "*" || text === "?";

/** The numbers that a field matches, in order; null for what is no number (L, W, #). */
function numbers(text, low, high) {
  const ranges = text.split(",").map((item) => range(item, low, high));
  return ranges.includes(null) ? null : [...new Set(ranges.flat())].sort((a, b) => a - b);
}

function range(item, low, high) {
  const found = /^(?:[*?]|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(item);
  if (!found) return null;
  const [, first, last, step] = found;
  const from = Number(first ?? low);
  const to = Number(last ?? (first !== undefined && step === undefined ? first : high));
  const by = Number(step ?? 1);
  if (from > to || by === 0) return null; // The engine refuses it.
  return Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, place) => from + place * by);
}

function timeWords(minutes, hours) {
  if (!minutes || !hours) return null;
  if (hours.length === 24) return minuteWords(minutes);
  return minutes.length === 1 ? hourWords(minutes[0], hours) : null;
}

function minuteWords(minutes) {
  const step = stepOf(minutes, 60);
  if (step) return step === 1 ? "every minute" : `every ${step} minutes`;
  if (minutes.length > NAMED_MAX) return null;
  return `every hour at ${listed(minutes.map((minute) => `:${two(minute)}`))}`;
}

function hourWords(minute, hours) {
  const at = (hour) => `${two(hour)}:${two(minute)}`;
  const step = stepOf(hours, 24);
  if (step) return `every ${step} hours from ${at(0)}`;
  const [first, last] = [hours[0], hours.at(-1)];
  const isSpan = hours.length > 3 && last - first === hours.length - 1;
  if (isSpan) return `every hour from ${at(first)} to ${at(last)}`;
  return hours.length <= NAMED_MAX ? `at ${listed(hours.map(at))}` : null;
}

/** The step at which numbers go round `size` without a shorter one at its end; null: they do not. */
function stepOf(found, size) {
  const step = size / found.length;
  return found.length > 1 && found.every((number, place) => number === place * step) ? step : null;
}

/** "" every day; null: not in words. A day beside a weekday is another rule (either may match). */
function dayWords(day, weekday) {
  if (isAny(day)) return weekdayWords(weekday);
  return isAny(weekday) ? monthdayWords(numbers(day, 1, 31)) : null;
}

function weekdayWords(text) {
  const digits = text.replace(/\b[a-z]{3}\b/gi, (name) => NAMES.indexOf(name.toLowerCase()));
  const found = numbers(digits, 0, 7);
  if (!found) return null;
  const days = [...new Set(found.map((day) => (day + 6) % 7))].sort(); // Monday is 0.
  if (days.length === 7) return "";
  const [first, last] = [days[0], days.at(-1)];
  const isSpan = days.length > 2 && last - first === days.length - 1;
  return ` on ${isSpan ? `${WEEK[first]} to ${WEEK[last]}` : listed(days.map((day) => WEEK[day]))}`;
}

function monthdayWords(days) {
  if (!days) return null;
  if (days.length === 31) return "";
  const isInAll = days.at(-1) <= 28;
  if (days.length === 1) return ` on day ${days[0]} of each month${isInAll ? "" : " that has one"}`;
  return isInAll && days.length <= NAMED_MAX ? ` on days ${listed(days)} of each month` : null;
}

const listed = (items) =>
  items.length === 1 ? `${items[0]}` : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
const two = (number) => String(number).padStart(2, "0");
