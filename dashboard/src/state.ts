// The known state of the run: pictures come from the server, each with what has changed since the one before.
// Asking again only after each answer, the page is never told of what is past.

import type { ConduitRecord, InstanceNews, InstanceUsage, Role, RunNews, ViewNews } from "./wire";
import { countIn } from "./words";

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

interface News {
  picture: number;
  /** Until when the run is known to stand like this, by the clock of its machine: Unix time, ms. */
  at?: number;
  /** What this session may do. */
  role?: Role;
  view?: ViewNews;
  run?: RunNews;
  instances?: Record<string, InstanceNews>;
  conduits?: Record<string, ConduitRecord>;
  usage?: Record<string, InstanceUsage>;
}

/**
 * An answer that has not come after so long will not come, ms; the server answers a question for news within 20
 * s.
 */
const PATIENCE = 30_000;

/** Two samples a rate is reckoned from lie at least so far apart, ms. */
const APART = 1000;
/** Pictures a second, and how often while nobody sees the page, and of a run that is over, ms. */
const OFTEN = 250;
const UNSEEN = 5000;

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
  /** By the names of instances: what those on this server's machine take of it. */
  usage = new Map<string, InstanceUsage>();
  /** Why the server itself does not answer. */
  unreached = "";
  /** Whether the server wants a new link. */
  shut = false;
  /**
   * The time of the picture, by the clock of the run's machine: Unix time, ms. A picture may be old when it
   * comes.
   */
  at = 0;
  /** The clock of the run's machine less that of this one, ms: moments of the run are reckoned from its own. */
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

  /** What the clock of the run's machine shows: Unix time, ms. */
  now(): number {
    return Date.now() + this.ahead;
  }

  take(news: News): void {
    if (news.run && this.run && news.run.started !== this.run.started) {
      // By a new link, another run is served here: nothing of the one before may stay.
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
      // Of the same moment there is one; a clock that was set back makes those before it worthless.
      while (samples.length > 0 && samples[samples.length - 1]!.at >= at) samples.pop();
      samples.push({ at, messages, bytes });
      while (samples.length > 2 && at - samples[1]!.at >= APART) samples.shift();
    });
  }

  /** What passes a conduit in a second; none before that is known, or if nothing comes any more. */
  rate(conduit: number): Rate | null {
    const samples = this.samples[conduit] ?? [];
    const [first, last] = [samples[0], samples[samples.length - 1]];
    if (this.view?.state !== "live" || !first || !last || last.at - first.at < APART / 2) return null;
    // Of what has not changed for a while there is no news.
    if (this.now() - last.at > 2 * APART) return { messages: 0, bytes: 0 };
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
   * Asks for news, but not where a new link is needed. Of a run that is over none come: the server only learns
   * that somebody still looks.
   */
  async follow(): Promise<never> {
    for (;;) {
      let pause = document.hidden || this.view?.state === "over" ? UNSEEN : OFTEN;
      const word = ownWord();
      try {
        const answer = await fetched(`api/news?since=${this.picture}`);
        // Meanwhile the page may have been opened by another link.
        if (word !== ownWord()) continue;
        this.shut = answer.status === 401;
        if (!answer.ok) throw new Error(((await answer.json()) as { why?: string }).why ?? answer.statusText);
        this.take((await answer.json()) as News);
        this.unreached = "";
      } catch (error) {
        this.unreached = isLost(error)
          ? `The page's server does not answer${this.isLive ? "; the run goes on without it" : ""}.`
          : String((error as Error).message);
        // Another server may come at this place, with pictures of its own.
        this.picture = 0;
        pause = 1000;
      }
      this.tell();
      if (this.shut) await new Promise<void>((done) => (this.again = done));
      else await new Promise((done) => setTimeout(done, pause));
    }
  }

  /** Asks anew: there is another link. */
  goOn(): void {
    this.picture = 0;
    this.again?.();
    this.again = null;
  }
}

/** Whether nobody answered, or not in time. */
export function isLost(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof DOMException && error.name === "TimeoutError");
}

/**
 * Where this page keeps the second half of its session. Other than a cookie, no other port of the machine gets
 * it.
 */
function wordKey(): string {
  // Behind a proxy, other pages have the same origin, and other paths.
  return `ligament-word ${location.pathname}`;
}

function ownWord(): string {
  return localStorage.getItem(wordKey()) ?? "none";
}

/** Asks the server; every question proves that it is this page's. With a body, it wants something. */
export function fetched(
  address: string,
  stop?: AbortSignal,
  body?: unknown,
  patience = PATIENCE,
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
 * Makes a session of the secret in the page's link, which disappears from the address; says why not, if not.
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

/** What the server answers at an address. */
export async function ask<T>(address: string, body?: unknown, patience?: number): Promise<T> {
  const answer = await fetched(address, undefined, body, patience);
  const told = (await answer.json()) as T & { why?: string };
  if (!answer.ok) throw new Error(told.why ?? answer.statusText);
  return told;
}
