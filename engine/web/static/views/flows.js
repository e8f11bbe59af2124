// Flows: what is limited, fair and broken together; by default a tenant's runs to one host and port.

import { get, put, resource } from "../api.js";
import { fill, h } from "../dom.js";
import { count } from "../format.js";
import { refreshing } from "../live.js";
import { mayWrite } from "../status.js";
import { LABELLED, badge, button, empty, pager, panel, table, title } from "../parts.js";

const PAGE = 50;
const DOORS = {
  closed: "closed: lets all through",
  open: "open: the target is down, one probe at a time",
  probing: "probing: one run tries the target",
};

export async function flows({ place, signal }) {
  const [list, said] = [h("div"), h("div", { role: "status" })];
  let cursor = null;
  const refresh = async () => {
    const page = await get("v1/flows", { limit: PAGE, cursor }, { signal });
    fill(
      list,
      page.data.length
        ? listOf(page, said, refresh, (to) => ((cursor = to), refresh()), cursor)
        : nothing(),
    );
  };
  fill(
    place,
    title("Flows"),
    h(
      "p",
      { class: "quiet lead" },
      "A flow is limited, fair and broken together: by default all that goes to one host and port.",
    ),
    said,
    list,
  );
  await refresh();
  refreshing(() => refresh().catch(() => {}), signal);
}

const nothing = () =>
  empty(
    "No flows yet",
    h("p", { class: "quiet" }, "A flow is there from its first run on, and is then limited here."),
  );

function listOf({ data, next_cursor: next }, said, refresh, turn, cursor) {
  const changing = mayWrite() ? ["#Change"] : [];
  const heads = ["Flow", "Breaker", "#Rate", "#Parallel", "#In flight", "#Held", ...changing];
  const row = (flow) => [
    h("code", {}, flow.key),
    [
      badge(flow.breaker, h("span", { title: DOORS[flow.breaker] }, flow.breaker)),
      flow.paused && badge("paused"),
    ],
    rateOf(flow),
    count(flow.parallelism),
    count(flow.inflight),
    count(flow.held),
    ...(mayWrite() ? [button("Limits", () => edit(flow, refresh), said)] : []),
  ];
  return panel(null, table("Flows", heads, data.map(row), LABELLED), pager(cursor, next, turn));
}

function rateOf({ rate, effective_rate: effective }) {
  if (rate === null && effective === null) return h("span", { class: "quiet" }, "no limit");
  const lower = effective !== null && effective !== rate;
  return [
    rate === null ? h("span", { class: "quiet" }, "no limit") : `${count(rate)} /s`,
    lower && h("small", {}, ` now ${count(effective)} /s, as the target asks`),
  ];
}

/** Ask for a flow's limits, and set them. */
async function edit(flow, refresh) {
  const rate = h("input", {
    id: "rate",
    inputmode: "numeric",
    placeholder: "no limit",
    value: flow.rate ?? "",
  });
  const parallelism = h("input", {
    id: "parallelism",
    inputmode: "numeric",
    value: flow.parallelism,
  });
  const paused = h("input", { id: "paused", type: "checkbox", checked: flow.paused });
  const fault = h("p", { class: "fault", role: "alert" });
  const dialog = h("dialog", { "aria-label": `Limits of ${flow.key}` });
  const limits = () => ({
    rate: rate.value ? Number(rate.value) : null,
    parallelism: Number(parallelism.value),
    paused: paused.checked,
  });
  const save = async (event) => {
    event.preventDefault();
    try {
      await put(resource("v1/flows", flow.key), limits(), {
        headers: { "If-Match": `"${flow.revision}"` },
      });
      dialog.close();
      await refresh();
    } catch (error) {
      fill(fault, error.message);
    }
  };
  const labelled = (id, text, control) =>
    h("div", { class: "field" }, h("label", { for: id }, text), control);
  fill(
    dialog,
    h(
      "form",
      { class: "stack", onsubmit: save },
      h("h2", {}, "Limits of ", h("code", {}, flow.key)),
      labelled("rate", "Rate, attempts a second", rate),
      labelled("parallelism", "Attempts under way at most", parallelism),
      h("label", { class: "row" }, paused, "Paused: its runs wait"),
      fault,
      h(
        "div",
        { class: "row" },
        h("button", { class: "primary" }, "Set"),
        h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
      ),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
