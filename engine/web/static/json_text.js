// JSON as it is written. JSON.parse puts members whose names are whole numbers before all others, so a body
// that was read and written again is another body; what a receiver gets is shown and copied from the text.

const TOKENS = /"(?:[^"\\]+|\\.)*"|[{}[\],:]/g;

/** The text of a member: memberOf(text, "target", "json"); null where there is none. */
export function memberOf(text, name, ...inner) {
  for (const [key, value] of membersOf(text)) {
    if (key === name) return inner.length ? memberOf(value, ...inner) : value;
  }
  return null;
}

/** An object's members, [name, the value's text]. */
function* membersOf(text) {
  let depth = 0;
  let name = null;
  let from = 0;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if ("{[".includes(token)) depth += 1;
    else if ("}]".includes(token)) depth -= 1;
    else if (depth === 1 && name === null) name = JSON.parse(token);
    else if (depth === 1 && token === ":") from = index + 1;
    const isOver = depth === 0 || (depth === 1 && token === ",");
    if (isOver && name !== null) {
      yield [name, text.slice(from, index)];
      name = null;
    }
  }
}

/** Compact JSON over lines, every member in its place and every number to the digit. */
export function indented(text) {
  let depth = 0;
  const broken = () => `\n${"  ".repeat(depth)}`;
  return text.replace(/"(?:[^"\\]+|\\.)*"|\{\}|\[\]|[{}[\],:]/g, (token) => {
    if (token === ":") return ": ";
    if (token === ",") return token + broken();
    if (token === "{" || token === "[") return (depth += 1), token + broken();
    if (token === "}" || token === "]") return (depth -= 1), broken() + token;
    return token;
  });
}
