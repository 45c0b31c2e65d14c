// The cursor: one moment of the run that all panels with a time axis show, in s since the run began.

import { useEffect, useReducer } from "preact/hooks";

let moment: number | null = null;
const listeners = new Set<() => void>();

/** Sets the cursor to a moment, or to none. */
export function point(at: number | null): void {
  if (at === moment) return;
  moment = at;
  for (const heard of listeners) heard();
}

/**
 * The moment of the cursor. A component that uses it is rendered when the cursor moves; the rest of the page is
 * not.
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
