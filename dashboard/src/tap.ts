// Values of a port, as the server pushes them: a line of JSON, and after it the elements of an array.

import { fetched } from "./state";

/** The view of a port that is requested. */
export interface TapQuery {
  port: string;
  slice: string;
  thin: number;
  /** Bars of a histogram; 0 for the elements. */
  bars: number;
  key: string;
  /** Interval between two values, ms. */
  every: number;
}

/** A value. */
export interface Frame {
  kind: "number" | "array" | "large" | "text" | "none" | "same";
  frame: number;
  timestamp?: number | null;
  slot?: number | null;
  message?: number;
  dtype?: string;
  shape?: number[];
  unit?: string | null;
  text?: string;
  histogram?: boolean;
  value?: { least: number | null; greatest: number | null; counts: number[]; others: number } | null;
  /** The reason why there is no value, and if there will be none. */
  why?: string;
  over?: boolean;
}

/** A value with the numbers of its array or histogram. */
export interface TapValue {
  head: Frame;
  elements: Float64Array;
}

/** The next value after `has`. */
export async function next(query: TapQuery, has: number, stop: AbortSignal): Promise<TapValue> {
  const asked = new URLSearchParams({
    port: query.port,
    slice: query.slice,
    thin: String(query.thin),
    bars: String(query.bars),
    key: query.key,
    every: String(query.every),
    has: String(has),
  });
  const answer = await fetched(`api/tap?${asked}`, stop);
  const bytes = await answer.arrayBuffer();
  const all = new Uint8Array(bytes);
  const line = all.indexOf(10) < 0 ? all.length : all.indexOf(10);
  const head = JSON.parse(new TextDecoder().decode(all.subarray(0, line))) as Frame;
  // The request makes no sense, and repeating it would not help. Other errors, such as a session that is over,
  // can be mended.
  if (!answer.ok)
    return {
      head: { ...head, kind: "none", frame: has, over: answer.status === 400 },
      elements: new Float64Array(),
    };
  // Doubles may begin at any byte in the answer; an array of doubles may not.
  const elements = new Float64Array(bytes.slice(Math.min(line + 1, bytes.byteLength)));
  return { head, elements };
}

/** The smallest and the largest of the finite numbers. */
export function range(elements: ArrayLike<number>): [number, number] | null {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < elements.length; i += 1) {
    const x = elements[i]!;
    if (x < low && x > -Infinity) low = x;
    if (x > high && x < Infinity) high = x;
  }
  return low <= high ? [low, high] : null;
}
