// The waits of the run, which explain a run that stands still.

import type { Instance, Run } from "./state";

/** Instances that wait, directly or not, for the same one, or for each other. */
export interface Group {
  /** The instance that could go on; none if all wait for each other. */
  root: Instance | null;
  /** The instances that wait for each other in a ring, if there is one. */
  ring: Instance[];
  waiting: Instance[];
  /** Begin of the longest wait: Unix time, ms. */
  since: number;
}

/** Waits up to this length are normal, ms. */
const MAX_NORMAL_WAIT_MS = 1000;

export function isWaiting(one: Instance): boolean {
  return one.waits_from !== undefined && one.state.startsWith("waiting");
}

/** The groups, the longest wait first. */
export function groups(instances: Instance[], now: number): Group[] {
  const byName = new Map(instances.map((one) => [one.name, one]));
  const found = new Map<string, Group>();
  for (const one of instances) {
    if (!one || !isWaiting(one) || now - one.waits_from! < MAX_NORMAL_WAIT_MS) continue;
    const path: Instance[] = [one];
    const seen = new Set([one.name]);
    let root: Instance | null = null;
    let ring: Instance[] = [];
    for (let at = one; ; ) {
      const on = (at.waits_on ?? []).map((name) => byName.get(name)).filter((other) => other !== undefined);
      // If several instances could end the wait, one that does not wait itself is taken.
      const next = on.find((other) => !isWaiting(other)) ?? on[0];
      if (next === undefined) break;
      if (!isWaiting(next)) {
        root = next;
        break;
      }
      if (seen.has(next.name)) {
        ring = path.slice(path.findIndex((other) => other.name === next.name));
        break;
      }
      seen.add(next.name);
      path.push(next);
      at = next;
    }
    const key = root
      ? root.name
      : ring.length
        ? `ring ${ring.map((other) => other.name).sort()[0]}`
        : `${one.waits_for}`;
    const group = found.get(key) ?? { root, ring, waiting: [], since: one.waits_from! };
    group.waiting.push(one);
    group.since = Math.min(group.since, one.waits_from!);
    found.set(key, group);
  }
  return [...found.values()].sort((one, other) => one.since - other.since);
}

/** The names of the instances in a deadlock, and of those that wait for them. */
export function knot(run: Run | null): Set<string> {
  return new Set((run?.deadlock ?? []).map((wait) => wait.instance));
}
