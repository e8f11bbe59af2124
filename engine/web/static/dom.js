// Elements, made so that no text can become markup: strings end as text nodes, styles go through the
// CSSOM (the policy allows no style attribute), and a link leads nowhere but into this page. Nor can a text
// look like another: what would turn its order round or hide in it is written out, `\u202e`.

const UNSEEN = /(?![\t\n]|\r\n)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\u200b\u2060\ufeff]/gu;

/**
 * An element. `attributes` may hold listeners (`onclick`), `style` as an object, and booleans.
 * Children: nodes, texts, numbers, arrays of them; null and false are left out.
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  element.append(...children.flat(Infinity).filter(isShown).map(asNode));
  return element;
}

/** Put `children` where the element's old ones were. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(isShown).map(asNode));
  return element;
}

/** A link to a screen; `parts` are encoded, so a name can hold anything. */
export function link(parts, text, attributes = {}) {
  return h("a", { ...attributes, href: pathTo(...parts) }, text);
}

/** The address of a screen: pathTo("runs", id). */
export function pathTo(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "style") setStyles(element, value);
  else if (name === "value") element.value = value;
  else if (name === "href" && !/^(#|docs$)/.test(value)) throw new Error(`no link to ${value}`);
  else element.setAttribute(name, value === true ? "" : visible(value));
}

function setStyles(element, styles) {
  for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, value);
}

const isShown = (child) => child !== null && child !== undefined && child !== false;
const asNode = (child) => (child instanceof Node ? child : document.createTextNode(visible(child)));
const visible = (text) =>
  String(text).replace(UNSEEN, (unit) => `\\u${unit.charCodeAt().toString(16).padStart(4, "0")}`);
