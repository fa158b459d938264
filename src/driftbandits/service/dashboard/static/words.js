// Formats numbers for people, and makes elements with text. Text is never parsed as HTML.

export const NOTHING = "–";

export function number(value, digits = 3) {
  if (value === null || value === undefined) return NOTHING;
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return value.toLocaleString("en");
  if (size >= 1e6 || (size < 1e-3 && size > 0)) return value.toExponential(2);
  return value.toLocaleString("en", { maximumSignificantDigits: Math.max(digits, 1) });
}

export function percent(value) {
  return value === null || value === undefined ? NOTHING : `${number(100 * value)} %`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NOTHING;
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1], ["ms", 1e-3]]) {
    if (seconds >= length) return `${number(seconds / length)} ${unit}`;
  }
  return seconds === 0 ? "0 s" : `${number(seconds * 1e6)} µs`;
}

export function element(tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name !== undefined) made.className = name;
  return made;
}

// A list of [name, value] as tiles.
export function tiles(target, pairs) {
  target.replaceChildren(...pairs.map(([name, value]) => {
    const tile = element("div");
    tile.append(element("dt", name), element("dd", value));
    return tile;
  }));
}

// A list of [name, share, text] as bars; the longest bar has the full width.
export function bars(target, rows) {
  const longest = Math.max(...rows.map(([, share]) => share), Number.MIN_VALUE);
  target.replaceChildren(...rows.map(([name, share, text]) => {
    const row = element("li"), label = element("span", name, "name");
    const bar = element("span", undefined, "bar");
    label.title = name;
    bar.style.width = `${(100 * share) / longest}%`;
    row.append(label, bar, element("span", text, "value"));
    return row;
  }));
}

// Rows of texts as a table; the first row is the head.
export function table(target, [head, ...rows]) {
  const cells = (row, tag) => {
    const line = element("tr");
    line.append(...row.map((text, place) => element(place === 0 ? "th" : tag, text)));
    return line;
  };
  target.replaceChildren(cells(head, "th"), ...rows.map((row) => cells(row, "td")));
}
