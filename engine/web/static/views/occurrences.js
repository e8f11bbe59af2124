// The next occurrences of a schedule, each from its instant to when it fires, and why then.

import { h } from "../dom.js";
import { clock, counted, instant, offset } from "../format.js";
import { LABELLED, badge, empty, panel, table, when } from "../parts.js";
import { offsetReason, wallClock } from "../trigger.js";

export function nextOf(found, occurrences) {
  if (!occurrences.length) {
    return empty(
      "It fires no more",
      h("p", { class: "quiet" }, "Its trigger has no occurrence to come. Edit it to give it one."),
    );
  }
  const local = wallClock(found);
  const row = ({ scheduled_for: due, fire_after: fire, owed }) => [
    local && h("time", { class: "instant" }, local(due)),
    h("time", { class: "instant" }, instant(due)),
    h("time", { class: "instant" }, clock(fire)),
    due === fire ? "exact" : offset(due, fire),
    owed ? when(fire) : badge("not owed"),
  ];
  const heads = ["scheduled_for (UTC)", "→ fire_after (UTC)", "#Offset", "#From now"];
  const shown = (cells) => (local ? cells : cells.slice(1));
  return panel(
    `Next ${counted(occurrences.length, "occurrence")}`,
    h("p", { class: "quiet lead" }, offsetReason(found)),
    found.paused && h("p", { class: "lead" }, "While it is paused they are skipped, and counted."),
    occurrences.some(({ owed }) => !owed) && h("p", { class: "lead" }, owedWords(found)),
    table(
      "Next occurrences",
      shown([`In ${found.timezone}`, ...heads]),
      occurrences.map(row).map(shown),
      LABELLED,
    ),
  );
}

const owedWords = ({ owed_after: after }) =>
  `Its rules begin at ${instant(after)} UTC: of what is not later it owes nothing, and sends nothing.`;
