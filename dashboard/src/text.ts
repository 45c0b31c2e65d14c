// Numbers and names in words.

/** The unit of model times, with a blank before it; empty if the model says none. */
let unit = "";

/** `1234.5` s → `20 min 34 s`. */
export function inSeconds(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 0.0995) return `${(seconds * 1000).toFixed(0)} ms`;
  if (seconds < 59.95) return `${seconds < 9.95 ? seconds.toFixed(1) : seconds.toFixed(0)} s`;
  const whole = Math.round(seconds);
  const [days, hours, minutes] = [
    Math.floor(whole / 86400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return `${minutes} min ${whole % 60} s`;
}

/** `1536` → `1.5 KiB`. */
export function inBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    unit += 1;
  }
  return `${unit === 0 || bytes >= 100 ? bytes.toFixed(0) : bytes.toFixed(1)} ${units[unit]}`;
}

/** A number with thin spaces between thousands. */
export function inCount(count: number): string {
  return Math.round(count).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A rate with as many digits as it needs. */
export function inRate(rate: number): string {
  return rate > 0 && rate < 9.95 ? rate.toFixed(1) : inCount(rate);
}

/** A model time, in the shortest form that tells it from its neighbours. */
export function inTime(time: number | null | undefined): string {
  return time === null || time === undefined ? "–" : `${withoutUnit(time)}${unit}`;
}

/** A number of an axis that has the unit of model times, or none. */
export function withoutUnit(number: number | undefined): string {
  return number === undefined ? "–" : String(Number(number.toPrecision(12)));
}

/** Sets the unit of model times, as the model gives it. */
export function countIn(timeUnit: string | undefined): void {
  unit = timeUnit ? ` ${timeUnit}` : "";
}

/** The unit, for the text behind a field that takes a model time. */
export function unitOfTime(): string {
  return unit;
}

/** `micro[3].init[2]` → `micro.init`. */
export function withoutIndices(name: string): string {
  return name.replace(/\[[^\]]*\]/g, "");
}

/** The component whose port this is: `micro[3].init` → `micro`. */
export function componentOf(port: string): string {
  return withoutIndices(port.slice(0, Math.max(port.lastIndexOf("."), 0)));
}

/**
 * The first names of a list, and the number of the others; `all` is the number of all names, if the list is not
 * complete.
 */
export function some(names: string[], most = 3, all = names.length): string {
  const shown = names.slice(0, most).join(", ");
  const more = all - Math.min(names.length, most);
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** `1 instance`, `2 instances`. */
export function count(number: number, one: string): string {
  return `${inCount(number)} ${number === 1 ? one : `${one}s`}`;
}
