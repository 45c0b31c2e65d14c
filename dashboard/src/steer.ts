// Requests to steer the run, and checks of values before a request. The server checks everything again.

import { ask, type Change, type Instance, type Steerable, type SteeringVerb } from "./state";
import { inTime, some, withoutIndices } from "./text";

/** A request to the server. */
export interface Order {
  what: SteeringVerb;
  settings?: string[];
  at?: number;
  change?: number;
}

/** The answer when all instances have agreed. */
export interface SteerAnswer {
  change?: number;
  at?: number | null;
  until?: number | null;
  /** Instances that have never called `steer(t)`, and so cannot be paused. */
  unsteered?: string[];
}

/** Timeout of a request, ms. The instances have 10 s to agree, and 10 s more for each earlier change. */
const STEER_TIMEOUT_MS = 90_000;
/** Maximum length of an assignment, bytes. */
const MAX_ASSIGNMENT_BYTES = 4096;

/** Sends a request, and returns when it is agreed on. */
export function send(order: Order): Promise<SteerAnswer> {
  return ask<SteerAnswer>("api/steer", order, STEER_TIMEOUT_MS);
}

const INTEGER = /^[+-]?\d+$/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/** The numbers in a list, or in a list of lists; none if the text is neither. */
function listed(text: string, type: string): number[] | null {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(read)) return null;
  const rows: unknown[] = type === "[[float]]" ? read : [read];
  if (!rows.every(Array.isArray)) return null;
  const all = (rows as unknown[][]).flat();
  const fit = (one: unknown) => typeof one === "number" && (type !== "[int]" || Number.isInteger(one));
  return all.every(fit) ? (all as number[]) : null;
}

const EXAMPLES: Record<Steerable["type"], string> = {
  str: "a text",
  int: "a whole number, such as 3",
  float: "a number, such as 0.25 or 1e-3",
  bool: "true or false",
  "[int]": "a list of whole numbers, such as [1, 2]",
  "[float]": "a list of numbers, such as [0.5, 1.0]",
  "[[float]]": "a list of lists of numbers, such as [[0.5, 1.0], [2.0]]",
};

/** The error of a value for a setting; empty if there is none. */
export function wrong(one: Steerable, text: string): string {
  const value = text.trim();
  const length = new TextEncoder().encode(`${one.name}=${value}`).length;
  if (length > MAX_ASSIGNMENT_BYTES)
    return `this is ${length} bytes long, where ${MAX_ASSIGNMENT_BYTES} are the most`;
  let numbers: number[] | null = [];
  if (one.type === "int") numbers = INTEGER.test(value) ? [Number(value)] : null;
  else if (one.type === "float") numbers = NUMBER.test(value) ? [Number(value)] : null;
  else if (one.type === "bool") numbers = value === "true" || value === "false" ? [] : null;
  else if (one.type !== "str") numbers = listed(value, one.type);
  if (numbers === null) return `it is of type ${one.type}: ${EXAMPLES[one.type]}`;
  const unit = one.unit ? ` ${one.unit}` : "";
  for (const number of numbers) {
    if (!Number.isFinite(number)) return "it must be finite";
    if (one.min !== undefined && number < one.min)
      return `${number} is out of range: ${one.min}${unit} is the least`;
    if (one.max !== undefined && number > one.max)
      return `${number} is out of range: ${one.max}${unit} is the most`;
  }
  return "";
}

/** The error of a model time for a request; empty if there is none. */
export function wrongTime(text: string, instances: Instance[]): string {
  const value = text.trim();
  if (!NUMBER.test(value) || !Number.isFinite(Number(value))) return "a model time is a number";
  const on = instances.filter(
    (one) => one.state !== "done" && one.model_time !== null && one.model_time !== undefined,
  );
  const first = on.sort((one, other) => one.model_time! - other.model_time!)[0];
  // Only the run knows if the other instances have passed the time.
  if (first && Number(value) < first.model_time!)
    return `all have passed ${inTime(Number(value))}: ${first.name} is at ${inTime(first.model_time)}`;
  return "";
}

/** `name=value`, as a model file would write it. */
export function assignment(name: string, type: Steerable["type"], text: string): string {
  const value = text.trim();
  return `${name}=${type === "str" ? JSON.stringify(value) : value}`;
}

/** The names of a setting for each single instance, if its component has several. */
export function eachOf(one: Steerable, instances: Instance[]): string[] {
  const own = instances.filter(
    ({ name }) => name !== withoutIndices(name) && one.name.startsWith(`${withoutIndices(name)}.`),
  );
  return own.map(({ name }) => name + one.name.slice(withoutIndices(name).length));
}

/**
 * The changes that can be undone by setting the earlier values. They are in force, and no later change of the
 * same settings was requested, or is for a later model time.
 */
export function undoable(changes: Change[]): Set<number> {
  const counted = changes.filter((one) => one.state !== "refused" && (one.settings ?? []).length > 0);
  const [number, time] = [new Map<string, number>(), new Map<string, number>()];
  for (const one of counted) {
    for (const { name } of one.settings!) {
      number.set(name, Math.max(number.get(name) ?? 0, one.change));
      time.set(name, Math.max(time.get(name) ?? -Infinity, one.model_time ?? Infinity));
    }
  }
  const isLast = (one: Change) =>
    one.settings!.every(
      ({ name, from }) =>
        from !== undefined && number.get(name) === one.change && time.get(name) === one.model_time,
    );
  return new Set(counted.filter((one) => one.state === "in force" && isLast(one)).map((one) => one.change));
}

/** The notice about instances that cannot be paused by themselves; empty if there are none. */
export function notHeld(unsteered: string[] = []): string {
  if (unsteered.length === 0) return "";
  const [have, go] = unsteered.length === 1 ? ["has", "it goes"] : ["have", "they go"];
  const waits = unsteered.length === 1 ? "it waits" : "they wait";
  return ` ${some(unsteered, 4)} ${have} never called steer(t): ${go} on until ${waits} for others.`;
}

/** A change in few words. */
export function inWords(one: Change): string {
  const settings = (one.settings ?? []).map(({ name, from, to }) => `${name}: ${from ?? "not set"} → ${to}`);
  const words: Record<string, string> = {
    pause: "stand still",
    step: "one step",
    until: "go on, and stand still",
    stop: "end the run",
  };
  return settings.join(", ") || (words[one.what] ?? one.what);
}
