// The slider: the next hour planned again with another jitter. Nothing is saved.

import { post } from "../api.js";
import { fill, h } from "../dom.js";
import { count, duration } from "../format.js";
import { badge, panel, table } from "../parts.js";

const JITTERS = [0, 5, 10, 15, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900];
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
    value: "6",
  });
  let timer = 0;
  let asked = 0; // Of several answers on their way, the last one counts.
  const plan = async () => {
    const mine = ++asked;
    const jitter = JITTERS[slider.value];
    const to = new Date(Date.now() + AHEAD_MS).toISOString();
    const found = await post("v1/herd/what-if", { jitter_seconds: jitter, to }, { signal });
    if (mine !== asked) return;
    onAnswer(found.then);
    fill(answer, compared(found));
  };
  const say = (error) => signal.aborted || fill(answer, h("p", { class: "fault" }, error.message));
  const reset = () => {
    clearTimeout(timer);
    asked += 1;
    clear.disabled = true;
    fill(value, "as it is");
    fill(answer, h("p", { class: "quiet small" }, HINT));
    onAnswer(null);
  };
  slider.addEventListener("input", () => {
    clear.disabled = false;
    fill(
      value,
      JITTERS[slider.value]
        ? `0 to ${duration(JITTERS[slider.value] * 1_000)}`
        : "none: all at :00",
    );
    slider.setAttribute("aria-valuetext", value.textContent);
    clearTimeout(timer);
    timer = setTimeout(() => plan().catch(say), SETTLED_MS);
  });
  const row = h(
    "div",
    { class: "slider" },
    h("label", { for: "jitter" }, "Jitter"),
    slider,
    value,
    clear,
  );
  return {
    element: panel(
      "What if the schedules at :00 had another jitter?",
      h("div", { class: "stack" }, row, answer),
    ),
  };
}

const HINT = "Slide to plan the next hour again, as the dashed curve. Nothing is saved.";

function compared({
  now,
  then,
  least_jitter_seconds: jitter,
  least_rate: rate,
  selected_schedules: selected,
}) {
  const p99 = ({ worst_minute: worst }) => (worst ? duration(worst.p99_ms) : "–");
  const rows = [
    ["Busiest second, planned", ...[now, then].map((of) => `${count(of.busiest.planned)} runs/s`)],
    ["Worst minute, p99 late", ...[now, then].map(p99)],
    ["Minutes that miss the objective", ...[now, then].map((of) => count(of.minutes_missed))],
    ["Verdict", badge(now.verdict), badge(then.verdict)],
  ];
  const needs = [
    jitter === null
      ? "No jitter meets the objective"
      : `The least jitter that meets the objective is ${jitter ? duration(jitter * 1_000) : "none"}`,
    rate === null ? "no rate does." : `the least rate ${count(rate)} runs/s.`,
  ];
  return h(
    "div",
    { class: "stack" },
    h("p", {}, `${count(selected)} schedules would change. ${needs.join("; ")}`),
    table("Now and then", ["Next hour", "#As it is", "#What if"], rows),
  );
}
