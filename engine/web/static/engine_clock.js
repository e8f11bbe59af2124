// The engine's clock, as its answers tell it. A browser's own may be minutes off, and an engine's may be
// set apart (`--clock-start`): what is asked, and how far an instant is, goes by the engine's.
//
// An answer's Date is the engine's second at some instant between question and answer. That bounds how
// far the two clocks are apart, and each answer can narrow the bounds; one that contradicts them tells
// of a clock that was set, and they begin anew.

const DATE_MS = 1_000; // What a Date leaves open.
let least = -Infinity; // Engine minus browser, in milliseconds.
let most = Infinity;

/** fetch, with the clock taken from what answers. */
export async function fetchTimed(path, options) {
  const asked = Date.now();
  const response = await fetch(path, options);
  const told = Date.parse(response.headers.get("Date"));
  if (!Number.isNaN(told)) narrow(told - Date.now(), told + DATE_MS - asked);
  return response;
}

function narrow(low, high) {
  const agrees = low <= most && high >= least;
  [least, most] = agrees ? [Math.max(low, least), Math.min(high, most)] : [low, high];
}

/** Milliseconds that the engine is ahead of this browser; 0 until it has answered. */
export const ahead = () => (Number.isFinite(least) ? Math.round((least + most) / 2) : 0);

/** The engine's instant, in milliseconds since the epoch. */
export const now = () => Date.now() + ahead();

/** The instant so many milliseconds from the engine's now, as the API takes it. */
export const instantIn = (ms) => new Date(now() + ms).toISOString();
