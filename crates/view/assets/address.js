// The address of a view: what follows # in the address of the page. It has only what differs from the view with which a page opens.

/** The parts of an address: `tab`, `time` in picoseconds or "whole", `colour`, `class`, `result`, and `show`, the name of a thing. */
const PARTS = ["tab", "time", "colour", "class", "result", "show"];

/** The parts that an address has. Unknown ones are left out. */
export function readAddress(hash) {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  return Object.fromEntries(PARTS.filter((name) => query.has(name)).map((name) => [name, query.get(name)]));
}

/** The address with these parts; those that are null or empty are left out. */
export function writeAddress(parts) {
  const query = new URLSearchParams();
  for (const name of PARTS)
    if (parts[name] !== null && parts[name] !== undefined && parts[name] !== "") query.set(name, parts[name]);
  const words = query.toString();
  return words ? `#${words}` : "";
}
