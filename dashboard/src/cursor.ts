// One moment of the run at which all panels over wall time point: s since it began.

import { useEffect, useReducer } from "preact/hooks";

let moment: number | null = null;
const listeners = new Set<() => void>();

/** Points at a moment, or at none. */
export function point(at: number | null): void {
  if (at === moment) return;
  moment = at;
  for (const heard of listeners) heard();
}

/**
 * The moment at which somebody points; who asks is told of others. The rest of the page is not drawn again for
 * that.
 */
export function useMoment(): number | null {
  const [, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const heard = () => again(0);
    listeners.add(heard);
    return () => void listeners.delete(heard);
  }, []);
  return moment;
}
