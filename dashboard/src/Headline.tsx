// The state of the run in a few sentences: why it failed, and which instances wait for which others since when.

import type { Instance, Run, State } from "./state";
import { groups, type Group } from "./waits";
import { count, inSeconds, inTime, some } from "./text";

function duration(run: Run, now: number): number {
  return run.duration ?? (now - Date.parse(run.started)) / 1000;
}

function Name({ name, choose }: { name: string; choose: (name: string) => void }) {
  return (
    <button type="button" class="name" onClick={() => choose(name)}>
      {name}
    </button>
  );
}

/** The activity of an instance that others wait for. */
function doing(one: Instance): string {
  if (one.stopped) return "whose process is stopped (by a signal or a debugger)";
  const at =
    one.model_time === null || one.model_time === undefined ? "" : `, at model time ${inTime(one.model_time)}`;
  switch (one.state) {
    case "not started":
      return "which has not been started";
    case "starting":
      return "which has started and not registered yet";
    case "computing":
      return `which computes${at}`;
    case "transferring":
      return `which copies a message${at}`;
    default:
      return `which is ${one.state}`;
  }
}

function Waits({ group, now, choose }: { group: Group; now: number; choose: (name: string) => void }) {
  const { root, ring, waiting } = group;
  const since = inSeconds((now - group.since) / 1000);
  const names = waiting.map((one) => one.name);
  if (root) {
    return (
      <li>
        <strong>{names.length === 1 ? names[0] : count(names.length, "instance")}</strong>{" "}
        {names.length > 1 && <span class="quiet">({some(names)}) </span>}
        {names.length === 1 ? "waits" : "wait"} for <Name name={root.name} choose={choose} />,{" "}
        {doing(root)}.{" "}
        <span class="since">Since {since}.</span>
      </li>
    );
  }
  if (ring.length) {
    return (
      <li class="bad">
        <strong>{some(ring.map((one) => one.name))}</strong> wait for each other:{" "}
        {ring.slice(0, 4).map((one) => `${one.name} for ${one.waits_for}`).join("; ")}.{" "}
        <span class="since">Since {since}.</span>
      </li>
    );
  }
  const first = waiting[0]!;
  return (
    <li>
      <strong>{some(names)}</strong> {names.length === 1 ? "waits" : "wait"} for {first.waits_for ?? "messages"}
      . <span class="since">Since {since}.</span>
    </li>
  );
}

export function Headline({ state, choose }: { state: State; choose: (name: string) => void }) {
  const run = state.run!;
  const view = state.view;
  const lost = view?.state === "lost";
  const word = lost ? "lost" : view?.state === "halted" ? "stands still" : run.state;
  const waits = state.isLive && run.state === "running" ? groups(state.instances, state.now()) : [];
  const stopped = state.instances.filter((one) => one.stopped && run.state === "running");
  const held = state.instances.filter((one) => one.state === "held").map((one) => one.name);
  const dead = run.deadlock ?? [];
  document.title = `${word} · ${run.run} · Ligament`;
  return (
    <div class="headline">
      <h1>
        <span class={`state ${word.replace(" ", "-")}`}>{word}</span> {run.run}{" "}
        <span class="quiet">
          {run.model}, {count(state.instances.length, "instance")}, {inSeconds(duration(run, state.now()))}
        </span>
      </h1>
      <div role="status" aria-live="polite">
        {state.unreached && <p class="bad">{state.unreached}</p>}
        {view?.why && <p class="bad">{view.why}</p>}
        {run.reason && <p class="bad reason">{run.reason}</p>}
      </div>
      {dead.length > 0 && (
        <ul class="waits" aria-label="Who waited for whom in the deadlock">
          {dead.slice(0, 8).map((wait) => (
            <li key={wait.instance}>
              <Name name={wait.instance} choose={choose} /> waited for {wait.lack === "room" ? "room at " : ""}
              <strong>{some(wait.waits_for)}</strong>
              {wait.at.length > 0 && <span class="quiet"> at its {some(wait.at)}</span>}.{" "}
              <span class="since">For {inSeconds(wait.waits_since)}.</span>
            </li>
          ))}
          {dead.length > 8 && <li>… and {dead.length - 8} more</li>}
        </ul>
      )}
      {dead.length === 0 && waits.length > 0 && (
        <ul class="waits" aria-label="Who waits for whom">
          {waits.slice(0, 5).map((group) => (
            <Waits now={state.now()} key={group.waiting[0]!.name} group={group} choose={choose} />
          ))}
          {waits.length > 5 && <li>… and {count(waits.length - 5, "group")} more</li>}
        </ul>
      )}
      {stopped.length > 0 && (
        <p class="bad">Stopped by a signal or a debugger: {some(stopped.map((one) => one.name))}.</p>
      )}
      {run.halt && run.state === "running" && (
        <p>
          The run is told to stand still from model time {inTime(run.halt.at)} on:{" "}
          <a href="#steering">Steering</a>.
        </p>
      )}
      {run.state === "running" && held.length > 0 && (
        <p>
          {some(held)} held by who steers: <a href="#steering">Steering</a>.
        </p>
      )}
      {run.state === "running" &&
        state.isLive &&
        waits.length === 0 &&
        dead.length === 0 &&
        held.length === 0 && <p>Nobody has waited for longer than a second.</p>}
    </div>
  );
}
