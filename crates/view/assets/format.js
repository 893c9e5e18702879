// Numbers for readers.

const TIMES = [
  ["s", 1e12],
  ["ms", 1e9],
  ["us", 1e6],
  ["ns", 1e3],
  ["ps", 1],
];

/** The best unit for a time in picoseconds: its name and length. */
export function timeUnit(ps) {
  return TIMES.find(([, length]) => Math.abs(ps) >= length) ?? TIMES.at(-1);
}

/** A time in picoseconds. `like` is a time that decides the unit; times that are `step` apart differ. */
export function time(ps, like = ps, step = Infinity) {
  const [unit, length] = timeUnit(like);
  const value = ps / length;
  const digits = Math.ceil(Math.log10(length / step));
  return digits > 3
    ? `${value.toLocaleString("en", { maximumFractionDigits: digits })} ${unit}`
    : `${number(value)} ${unit}`;
}

/** A number with about four digits. */
export function number(value) {
  if (!Number.isFinite(value)) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const digits = Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

export function percent(share) {
  return `${number(100 * share)} %`;
}

/** A share with one digit after the point, for tables and lists. */
export function share(value) {
  return Number.isFinite(value) ? `${(100 * value).toFixed(1)} %` : "–";
}

export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (value >= 1000 && unit + 1 < units.length) [value, unit] = [value / 1000, unit + 1];
  return `${number(value)} ${units[unit]}`;
}

export function bandwidth(bits) {
  return bits >= 1e12
    ? `${number(bits / 1e12)} Tbps`
    : bits >= 1e9
      ? `${number(bits / 1e9)} Gbps`
      : `${number(bits / 1e6)} Mbps`;
}

/** Round times from `from` to `to` for an axis of so many pixels: the step between them, and the times. */
export function ticks(from, to, width) {
  const rough = (to - from) / Math.max(2, Math.floor(width / 110));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const first = Math.ceil(from / step);
  return { step, at: Array.from({ length: Math.floor(to / step) - first + 1 }, (_, i) => (first + i) * step) };
}
