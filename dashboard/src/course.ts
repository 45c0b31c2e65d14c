// The course of a number from its beginning, in bounded memory, and the time of its end by its pace.

/**
 * A series from its beginning. When it is full, every second item is removed, and the distance between items
 * doubles. The last item is always kept.
 */
export class ThinnedSeries<T> {
  items: T[] = [];
  private many = 0;
  private stride = 1;
  /** True if the last item will be removed when the next one comes. */
  private isLoose = false;

  constructor(private readonly limit: number) {}

  push(one: T): void {
    if (this.isLoose) this.items.pop();
    this.items.push(one);
    if (this.items.length > this.limit) {
      this.items = this.items.filter((_, i) => i % 2 === 0);
      this.stride *= 2;
      if (this.many % this.stride !== 0 && this.items[this.items.length - 1] !== one) this.items.push(one);
    }
    this.isLoose = this.many % this.stride !== 0;
    this.many += 1;
  }
}

export interface Sample {
  /** s since the run began. */
  at: number;
  time: number;
}

/** The pace is measured over this time, and is unknown before the second time has passed, s. */
const PACE_WINDOW_S = 30;
const MIN_PACE_SPAN_S = 2;
const MAX_CHANGES = 400;

/** The pace of a model time. Pauses do not count, so a paused run is not slow. */
export class Pace {
  /** Moments at which the time changed, by the run's own clock, which leaves pauses out. */
  private changes: Sample[] = [];

  note(at: number, time: number): void {
    const last = this.changes[this.changes.length - 1];
    // A new run of the model begins at its first time again.
    if (last && (time < last.time || at < last.at)) this.changes = [];
    if (!last || time !== last.time) this.changes.push({ at, time });
    if (this.changes.length > MAX_CHANGES) this.changes.shift();
  }

  /** The time from `now` to the end, s; none if it is unknown. */
  left(end: number, now: number): number | null {
    const all = this.changes;
    const last = all[all.length - 1];
    if (!last || all.length < 2 || end <= last.time) return null;
    const recent = all.findIndex((one) => last.at - one.at <= PACE_WINDOW_S);
    const from = Math.min(recent, all.length - 2);
    const first = all[from]!;
    let gap = 0;
    for (let i = from + 1; i < all.length; i += 1) gap = Math.max(gap, all[i]!.at - all[i - 1]!.at);
    // A step that takes longer than earlier ones makes the pace slower.
    const until = Math.max(last.at, now - gap);
    if (until - first.at < MIN_PACE_SPAN_S) return null;
    const pace = (last.time - first.time) / (until - first.at);
    return Math.max((end - last.time) / pace - Math.max(now - until, 0), 0);
  }
}

/** A clock that stops while a component is paused: s since the run began, without the pauses. */
export class RunningClock {
  private paused = 0;
  private last: number | null = null;
  private isPaused = false;

  /** Notes if the component is paused at a moment of the run. */
  note(at: number, isPaused: boolean): void {
    if (this.last !== null && this.isPaused) this.paused += Math.max(at - this.last, 0);
    this.last = at;
    this.isPaused = isPaused;
  }

  /** True if the clock stands still. */
  get stands(): boolean {
    return this.isPaused;
  }

  at(now: number): number {
    return (this.isPaused && this.last !== null ? this.last : now) - this.paused;
  }
}
