// The slider: the next hour planned again with another jitter. Nothing is saved.

import { post } from "../api.js";
import { fill, h } from "../dom.js";
import { instantIn } from "../engine_clock.js";
import { count, duration } from "../format.js";
import { badge, panel, table } from "../parts.js";

const JITTERS = [0, 5, 10, 15, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900];
const BEGINNING = JITTERS.indexOf(60); // The most that the default gives.
const SETTLED_MS = 250; // Nobody wants the answers of what was slid past.
const AHEAD_MS = 3_600_000;

/** `onAnswer(then)` gets the curves as they would be, null when the slider is let go. */
export function whatIf(signal, onAnswer) {
  const answer = h("div", { role: "status" }, h("p", { class: "quiet small" }, HINT));
  const value = h("output", { for: "jitter", class: "number" }, "as it is");
  const clear = h("button", { type: "button", disabled: true, onclick: () => reset() }, "As it is");
  const slider = h("input", {
    id: "jitter",
    type: "range",
    min: "0",
    max: String(JITTERS.length - 1),
    value: String(BEGINNING),
    "aria-valuetext": "as it is",
  });
  let timer = 0;
  let asked = 0; // Of several answers on their way, the last one counts.
  const plan = async () => {
    const mine = ++asked;
    const body = {
      jitter_seconds: JITTERS[slider.value],
      to: instantIn(AHEAD_MS),
      bin: 1,
    };
    const found = await post("v1/herd/what-if", body, { signal });
    if (mine !== asked) return;
    onAnswer(found.then);
    fill(answer, compared(found));
  };
  const say = (error) => signal.aborted || fill(answer, h("p", { class: "fault" }, error.message));
  const named = (text) => {
    fill(value, text);
    slider.setAttribute("aria-valuetext", text);
  };
  const reset = () => {
    clearTimeout(timer);
    asked += 1;
    clear.disabled = true;
    slider.value = String(BEGINNING);
    named("as it is");
    fill(answer, h("p", { class: "quiet small" }, HINT));
    onAnswer(null);
    slider.focus();
  };
  slider.addEventListener("input", () => {
    const jitter = JITTERS[slider.value];
    clear.disabled = false;
    named(jitter ? `0 to ${duration(jitter * 1_000)}` : "none: all at :00");
    clearTimeout(timer);
    timer = setTimeout(() => plan().catch(say), SETTLED_MS);
  });
  const label = h("label", { for: "jitter" }, "Jitter");
  const row = h("div", { class: "slider" }, label, value, slider, clear);
  return {
    element: panel(
      "What if the schedules at :00 had another jitter?",
      h("div", { class: "stack" }, row, answer),
    ),
  };
}

const HINT =
  "Slide, or use the arrow keys: the next hour is planned again, as the dashed curve in both " +
  "charts. Nothing is saved.";

function compared({ now, then, least_jitter_seconds: jitter, least_rate: rate, ...found }) {
  const p99 = ({ worst_minute: worst }) => (worst ? duration(worst.p99_ms) : "–");
  const rows = [
    ["Busiest second after jitter", ...[now, then].map((of) => `${count(of.busiest.planned)} /s`)],
    ["Worst minute, p99 late", ...[now, then].map(p99)],
    ["Minutes over the objective", ...[now, then].map((of) => count(of.minutes_missed))],
    ["Verdict", badge(now.verdict), badge(then.verdict)],
  ];
  return h(
    "div",
    { class: "stack" },
    table("Now and then", ["Next hour", "#As it is", "#What if"], rows),
    h("p", {}, `${count(found.selected_schedules)} schedules would change. `, least(jitter, rate)),
    h("p", { class: "quiet small" }, "To make it so, write jitter_seconds in these schedules."),
  );
}

function least(jitter, rate) {
  let spread = "The objective is met without jitter";
  if (jitter === null) spread = "No jitter meets the objective";
  if (jitter) spread = `A jitter of ${duration(jitter * 1_000)} or more meets the objective`;
  return `${spread}; ${rate === null ? "no rate" : `a rate of ${count(rate)}/s or more`} is enough.`;
}
