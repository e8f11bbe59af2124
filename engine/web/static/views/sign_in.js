// Asking for a key, on an engine that has keys.

import { fill, h } from "../dom.js";

/** `onKey(key)` when one is given. */
export function signIn(place, isWrong, onKey) {
  const input = h("input", {
    id: "key",
    type: "password",
    autocomplete: "off",
    required: true,
    spellcheck: "false",
  });
  const submit = (event) => {
    event.preventDefault();
    onKey(input.value.trim());
  };
  const wrong = "The engine does not know that key, or it was revoked.";
  fill(
    place,
    h("h1", {}, "This engine has keys"),
    h(
      "form",
      { class: "panel stack narrow", onsubmit: submit },
      h(
        "p",
        { class: "lead" },
        "Give one of yours. A key of scope read shows, write changes, admin sees the whole node.",
      ),
      h("div", { class: "field" }, h("label", { for: "key" }, "API key"), input),
      isWrong && h("p", { class: "fault", role: "alert" }, wrong),
      h(
        "p",
        { class: "quiet small" },
        "It is kept in this tab alone, and is gone when the tab closes.",
      ),
      h("div", {}, h("button", { class: "primary" }, "Go on")),
    ),
  );
  input.focus();
}
