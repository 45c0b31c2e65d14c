// The state of the run, as far as the page knows it. The server sends news: each has the changes since the one
// before. The page asks again only after each answer, so it gets no news that are out of date.

import type { ConduitRecord, InstanceNews, InstanceUsage, Role, RunNews, ViewNews } from "./wire";
import { countIn } from "./text";

// The page's names for the types of the server's answers.
export type {
  ConduitRecord as Conduit,
  HistoryEntry,
  InstanceNews as Instance,
  InstanceUsage as Usage,
  Role,
  RunNews as Run,
  SteerableRecord as Steerable,
  SteeringRecord as Change,
  SteeringVerb,
  ViewNews as View,
  WaitRecord as Wait,
} from "./wire";

export interface Rate {
  messages: number;
  bytes: number;
}

interface StateUpdate {
  picture: number;
  /** The time of the news, by the clock of the run's machine: Unix time, ms. The state holds until then. */
  at?: number;
  /** The rights of this session. */
  role?: Role;
  view?: ViewNews;
  run?: RunNews;
  instances?: Record<string, InstanceNews>;
  conduits?: Record<string, ConduitRecord>;
  usage?: Record<string, InstanceUsage>;
}

/** Timeout for an answer, ms. The server answers a question for news within 20 s. */
const ANSWER_TIMEOUT_MS = 30_000;

/** Minimum distance of two samples for a rate, ms. */
const MIN_RATE_SPAN_MS = 1000;
/**
 * Interval between two questions for news, and the same while the page is hidden or after the run's end, ms.
 */
const POLL_INTERVAL_MS = 250;
const HIDDEN_POLL_INTERVAL_MS = 5000;

interface Sample {
  at: number;
  messages: number;
  bytes: number;
}

/** The run as this page knows it. */
export class State {
  picture = 0;
  view: ViewNews | null = null;
  run: RunNews | null = null;
  role: Role = "look";
  instances: InstanceNews[] = [];
  conduits: ConduitRecord[] = [];
  /** The use of this server's machine by each instance, by its name. */
  usage = new Map<string, InstanceUsage>();
  /** The reason why the server does not answer. */
  unreached = "";
  /** True if the server wants a new link. */
  shut = false;
  /**
   * The time of the picture, by the clock of the run's machine: Unix time, ms. A picture may be old when it
   * comes.
   */
  at = 0;
  /** The clock of the run's machine minus that of this machine, ms. Moments of the run are by its own clock. */
  private ahead = 0;
  private again: (() => void) | null = null;
  private samples: Sample[][] = [];
  private listeners = new Set<() => void>();

  listen(heard: () => void): () => void {
    this.listeners.add(heard);
    return () => this.listeners.delete(heard);
  }

  tell(): void {
    for (const heard of this.listeners) heard();
  }

  /** The present time by the clock of the run's machine: Unix time, ms. */
  now(): number {
    return Date.now() + this.ahead;
  }

  take(news: StateUpdate): void {
    if (news.run && this.run && news.run.started !== this.run.started) {
      // After a new link, the server may serve another run, so the state of the old run is dropped.
      location.reload();
      return;
    }
    this.picture = news.picture;
    if (news.at !== undefined) {
      this.at = news.at;
      this.ahead = news.at - Date.now();
    }
    if (news.role) this.role = news.role;
    if (news.view) this.view = news.view;
    if (news.run) {
      this.run = news.run;
      countIn(news.run.time_unit);
    }
    for (const [key, one] of Object.entries(news.instances ?? {})) this.instances[Number(key)] = one;
    for (const [key, one] of Object.entries(news.conduits ?? {})) this.conduits[Number(key)] = one;
    for (const [key, one] of Object.entries(news.usage ?? {})) {
      const name = this.instances[Number(key)]?.name;
      if (name) this.usage.set(name, one);
    }
    this.conduits.forEach(({ messages, bytes }, i) => {
      const samples = (this.samples[i] ??= []);
      const at = this.at;
      // There is one sample of each moment. If the clock was set back, earlier samples are useless.
      while (samples.length > 0 && samples[samples.length - 1]!.at >= at) samples.pop();
      samples.push({ at, messages, bytes });
      while (samples.length > 2 && at - samples[1]!.at >= MIN_RATE_SPAN_MS) samples.shift();
    });
  }

  /** The traffic of a conduit in a second; none while it is unknown, and if no more news come. */
  rate(conduit: number): Rate | null {
    const samples = this.samples[conduit] ?? [];
    const [first, last] = [samples[0], samples[samples.length - 1]];
    if (this.view?.state !== "live" || !first || !last) return null;
    if (last.at - first.at < MIN_RATE_SPAN_MS / 2) return null;
    // The server sends no news about a conduit without changes.
    if (this.now() - last.at > 2 * MIN_RATE_SPAN_MS) return { messages: 0, bytes: 0 };
    const seconds = (last.at - first.at) / 1000;
    return {
      messages: (last.messages - first.messages) / seconds,
      bytes: (last.bytes - first.bytes) / seconds,
    };
  }

  get isLive(): boolean {
    return this.view?.state === "live" || this.view?.state === "elsewhere";
  }

  /**
   * Asks for news, unless a new link is needed. After the run's end, no news come; the questions only tell the
   * server that the page is still open.
   */
  async follow(): Promise<never> {
    for (;;) {
      let pause = document.hidden || this.view?.state === "over" ? HIDDEN_POLL_INTERVAL_MS : POLL_INTERVAL_MS;
      const word = ownWord();
      try {
        const answer = await fetched(`api/news?since=${this.picture}`);
        // Meanwhile the user may have opened the page with another link.
        if (word !== ownWord()) continue;
        this.shut = answer.status === 401;
        if (!answer.ok) throw new Error(((await answer.json()) as { why?: string }).why ?? answer.statusText);
        this.take((await answer.json()) as StateUpdate);
        this.unreached = "";
      } catch (error) {
        this.unreached = isLost(error)
          ? `The page's server does not answer${this.isLive ? "; the run goes on without it" : ""}.`
          : String((error as Error).message);
        // Another server may answer at this address, with other numbers of news.
        this.picture = 0;
        pause = 1000;
      }
      this.tell();
      if (this.shut) await new Promise<void>((done) => (this.again = done));
      else await new Promise((done) => setTimeout(done, pause));
    }
  }

  /** Asks again, with a new link. */
  goOn(): void {
    this.picture = 0;
    this.again?.();
    this.again = null;
  }
}

/** True if no answer came in time. */
export function isLost(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof DOMException && error.name === "TimeoutError");
}

/**
 * The key under which the browser keeps the second half of the session. A cookie would also be sent to other
 * ports of the machine; this storage is not.
 */
function wordKey(): string {
  // Behind a proxy, other pages may have the same origin, with other paths.
  return `ligament-word ${location.pathname}`;
}

function ownWord(): string {
  return localStorage.getItem(wordKey()) ?? "none";
}

/**
 * Sends a question to the server, with a proof that it comes from this page. With a body, it is a request to
 * change something.
 */
export function fetched(
  address: string,
  stop?: AbortSignal,
  body?: unknown,
  patience = ANSWER_TIMEOUT_MS,
): Promise<Response> {
  const late = AbortSignal.timeout(patience);
  const signal = stop ? AbortSignal.any([stop, late]) : late;
  const headers: Record<string, string> = { "X-Ligament": ownWord() };
  if (body === undefined) return fetch(address, { cache: "no-store", signal, headers });
  headers["Content-Type"] = "application/json";
  return fetch(address, { method: "POST", signal, headers, body: JSON.stringify(body) });
}

/** The secret in the page's link, if it has one. */
export function secretOf(fragment: string): string | undefined {
  return /^#(?:look|steer)=([0-9a-f]+)$/.exec(fragment)?.[1];
}

/**
 * Makes a session of the secret in the page's link, and removes the secret from the address. Returns the reason
 * if that fails.
 */
export async function openSession(state: State): Promise<string> {
  const secret = secretOf(location.hash);
  if (!secret) return "";
  history.replaceState(null, "", location.pathname);
  const answer = await fetched("api/session", undefined, { secret });
  const told = (await answer.json()) as { why?: string; word?: string; role?: Role };
  if (!answer.ok || !told.word) return told.why ?? "this link does not open the page";
  localStorage.setItem(wordKey(), told.word);
  if (told.role) state.role = told.role;
  return "";
}

/** Returns the server's answer at an address. */
export async function ask<T>(address: string, body?: unknown, patience?: number): Promise<T> {
  const answer = await fetched(address, undefined, body, patience);
  const told = (await answer.json()) as T & { why?: string };
  if (!answer.ok) throw new Error(told.why ?? answer.statusText);
  return told;
}
