// Steering: settings that are changed while the run goes on, and buttons that pause the run, make single steps,
// and continue. A request is agreed on when all instances that it concerns have accepted it. It is in force
// from one model time on.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { PanelProps } from "./App";
import { ask, type Change, type HistoryEntry, type Run, type State, type Steerable } from "./state";
import {
  type SteerAnswer,
  assignment,
  eachOf,
  inWords,
  notHeld,
  type Order,
  send,
  undoable,
  wrong,
  wrongTime,
} from "./steer";
import { count, inSeconds, inTime, some, unitOfTime } from "./text";

/**
 * Maximum number of instances that are offered one by one, and of entries of the history that are shown at a
 * time.
 */
const MAX_INSTANCES_OFFERED = 200;
const HISTORY_PAGE_ENTRIES = 30;
/** The states of a change that is not refused, in their order. */
const STAGES: Change["state"][] = ["asked", "agreed", "in force"];

/** The outcome of a request. */
interface Outcome {
  text: string;
  bad: boolean;
}

/** The answer of the run, in words. */
function answered(order: Order, told: SteerAnswer): string {
  const number = told.change === undefined ? "" : ` ${told.change}`;
  switch (order.what) {
    case "set":
      return `Change${number} is agreed: in force from the first step at ${inTime(told.at)} on.`;
    case "withdraw":
      return `Change${number} is withdrawn.`;
    case "resume":
      return "The run goes on.";
    case "stop":
      return `The run ends when all stand still, from ${inTime(told.at)} on.${notHeld(told.unsteered)}`;
    case "step":
      return "Whoever is furthest behind makes one step.";
    default:
      return `All stand still from ${inTime(told.at ?? told.until)} on.${notHeld(told.unsteered)}`;
  }
}

/** A text field with its error below it. */
function Field({
  id,
  label,
  text,
  problem,
  write,
  ...more
}: { id: string; label: string; text: string; problem: string; write: (text: string) => void } & Omit<
  JSX.InputHTMLAttributes,
  "label"
>) {
  return (
    <span class="field">
      <input
        {...more}
        id={id}
        aria-label={label}
        aria-invalid={problem !== ""}
        aria-describedby={problem ? `${id}-problem` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => write(event.currentTarget.value)}
      />
      {problem && (
        <span id={`${id}-problem`} class="problem bad" role="alert">
          {problem}
        </span>
      )}
    </span>
  );
}

interface SettingProps {
  one: Steerable;
  text: string;
  whom: string;
  each: string[];
  problem: string;
  may: boolean;
  /**
   * The last change of the setting that was agreed on, and the value of the chosen instance, if it has one of
   * its own.
   */
  last?: Change | undefined;
  own?: string | undefined;
  write: (text: string) => void;
  choose: (whom: string) => void;
}

/** A row of the form. */
function Setting({ one, text, whom, each, problem, may, last, own, write, choose }: SettingProps) {
  const { min, max } = one;
  const range =
    min !== undefined && max !== undefined
      ? `, ${min} to ${max}`
      : min !== undefined
        ? `, at least ${min}`
        : max !== undefined
          ? `, at most ${max}`
          : "";
  const id = `setting-${one.name}`;
  const label = `New value of ${one.name}${one.unit ? `, ${one.unit}` : ""}`;
  return (
    <tr data-setting={one.name} data-value={one.value ?? ""}>
      <th scope="row">{one.name}</th>
      <td class="number">
        {own ?? one.value ?? "not set"}
        {one.unit && <span class="quiet"> {one.unit}</span>}
        {last?.state === "agreed" && <span class="quiet"> from {inTime(last.model_time)} on</span>}
      </td>
      <td class="quiet">
        {one.type}
        {range}
        {one.apply === "restart" && ", read once a pass"}
      </td>
      {may && (
        <td>
          {one.type === "bool" ? (
            <select aria-label={label} value={text} onChange={(event) => write(event.currentTarget.value)}>
              <option value="">as it is</option>
              <option value="true">true</option>
              <option value="false">false</option>
            </select>
          ) : (
            <Field
              id={id}
              label={label}
              text={text}
              problem={problem}
              write={write}
              placeholder="as it is"
              inputMode={one.type === "int" || one.type === "float" ? "decimal" : "text"}
            />
          )}
          {each.length > 1 && each.length <= MAX_INSTANCES_OFFERED && " "}
          {each.length > 1 && each.length <= MAX_INSTANCES_OFFERED && (
            <select
              aria-label={`Whose ${one.name}`}
              value={whom}
              onChange={(event) => choose(event.currentTarget.value)}
            >
              <option value="">of all {each.length}</option>
              {each.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </td>
      )}
    </tr>
  );
}

/** The form of all settings. Several can be changed together. */
function Settings({
  state,
  may,
  wants,
}: {
  state: State;
  may: boolean;
  wants: (order: Order) => Promise<boolean>;
}) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [whose, setWhose] = useState<Record<string, string>>({});
  const [at, setAt] = useState("");
  // While a request is neither agreed on nor refused, no second one can be made.
  const [busy, setBusy] = useState(false);
  const all = state.run?.steerable ?? [];
  const filled = all.filter(({ name }) => (texts[name] ?? "").trim() !== "");
  const problems = new Map(filled.map((one) => [one.name, wrong(one, texts[one.name]!)]));
  const late = at.trim() === "" ? "" : wrongTime(at, state.instances);
  const ready =
    !busy && filled.length > 0 && late === "" && [...problems.values()].every((problem) => problem === "");
  if (all.length === 0) {
    return (
      <p class="quiet">
        No setting of this run can be steered. A model says which can, under <code>ligament: steerable:</code>,
        or a code does.
      </p>
    );
  }
  const set = (wanted: string) =>
    (state.run?.steering ?? [])
      .filter(
        (one) =>
          (one.state === "agreed" || one.state === "in force") &&
          one.settings?.some(({ name }) => name === wanted),
      )
      .pop();
  async function submit(event: Event) {
    event.preventDefault();
    if (!ready) return;
    const settings = filled.map(({ name, type }) => assignment(whose[name] || name, type, texts[name]!));
    const order: Order = { what: "set", settings };
    if (at.trim() !== "") order.at = Number(at);
    setBusy(true);
    const done = await wants(order);
    setBusy(false);
    if (done) {
      // Texts that the user has written meanwhile stay.
      setTexts((now) => Object.fromEntries(Object.entries(now).filter(([name, text]) => text !== texts[name])));
      setAt("");
    }
  }
  return (
    <form onSubmit={submit} aria-label="Settings">
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">Value</th>
              <th scope="col">Type and range</th>
              {may && <th scope="col">New value</th>}
            </tr>
          </thead>
          <tbody>
            {all.map((one) => (
              <Setting
                key={one.name}
                one={one}
                text={texts[one.name] ?? ""}
                whom={whose[one.name] ?? ""}
                each={eachOf(one, state.instances)}
                problem={problems.get(one.name) ?? ""}
                may={may}
                last={set(whose[one.name] || one.name)}
                own={
                  whose[one.name]
                    ? set(whose[one.name]!)?.settings?.find(({ name }) => name === whose[one.name])?.to
                    : undefined
                }
                write={(text) => setTexts((now) => ({ ...now, [one.name]: text }))}
                choose={(whom) => setWhose((now) => ({ ...now, [one.name]: whom }))}
              />
            ))}
          </tbody>
        </table>
      </div>
      {may && (
        <div class="looks">
          <label for="steer-at">From model time</label>
          <Field
            id="steer-at"
            label={`From model time${unitOfTime() && `,${unitOfTime()}`}`}
            text={at}
            problem={late}
            write={setAt}
            size={10}
            placeholder="soon"
            inputMode="decimal"
          />
          {unitOfTime()}
          <button type="submit" class="main" disabled={!ready}>
            Change{" "}
            {filled.length > 1
              ? `${filled.length} settings together`
              : filled.length === 1
                ? filled[0]!.name
                : ""}
          </button>
        </div>
      )}
    </form>
  );
}

/** The buttons to pause, to make single steps, to continue, and to end the run. */
function Halts({ state, wants }: { state: State; wants: (order: Order) => Promise<boolean> }) {
  const [until, setUntil] = useState("");
  const asks = useRef<HTMLDialogElement>(null);
  const halt = state.run?.halt;
  const late = until.trim() === "" ? "" : wrongTime(until, state.instances);
  async function goOn(event: Event) {
    event.preventDefault();
    if (until.trim() === "" || late) return;
    if (await wants({ what: "until", at: Number(until) })) setUntil("");
  }
  return (
    <div class="looks" role="group" aria-label="Stand still, go on, and end">
      {halt ? (
        <>
          <button type="button" onClick={() => void wants({ what: "resume" })}>
            Go on
          </button>
          <button type="button" disabled={halt.held.length === 0} onClick={() => void wants({ what: "step" })}>
            One step
          </button>
        </>
      ) : (
        <button type="button" onClick={() => void wants({ what: "pause" })}>
          Pause
        </button>
      )}
      <form class="looks" onSubmit={goOn} aria-label="Run until">
        <label for="steer-until">Run until model time</label>
        <Field
          id="steer-until"
          label={`Run until model time${unitOfTime() && `,${unitOfTime()}`}`}
          text={until}
          problem={late}
          write={setUntil}
          size={10}
          inputMode="decimal"
        />
        {unitOfTime()}
        <button type="submit" disabled={until.trim() === "" || late !== ""}>
          Run until
        </button>
      </form>
      <button type="button" class="danger" onClick={() => asks.current?.showModal()}>
        Stop …
      </button>
      <dialog ref={asks} aria-labelledby="stop-title">
        <form method="dialog">
          <h3 id="stop-title">End the run {state.run?.run}?</h3>
          <p>All stand still at one model time, and the run ends. It cannot go on after that.</p>
          <div class="looks">
            <button type="submit" autofocus>
              No, it goes on
            </button>
            <button type="submit" class="danger" onClick={() => void wants({ what: "stop" })}>
              End the run
            </button>
          </div>
        </form>
      </dialog>
    </div>
  );
}

/** The instances that have not accepted a change yet. */
function lacking(run: Run, change: number): string {
  const now = run.agreeing;
  if (!now || now.change !== change) return "others are agreed on before it";
  if (now.lacks === 0) return "all have accepted it";
  return `${some(now.names, 3, now.lacks)} ${now.lacks === 1 ? "has" : "have"} not accepted it yet`;
}

/** Changes on their way: requested, agreed on, and the model time from which on they are in force. */
function OnTheirWay({
  state,
  may,
  wants,
}: {
  state: State;
  may: boolean;
  wants: (order: Order) => Promise<boolean>;
}) {
  const run = state.run!;
  const open = (run.steering ?? []).filter(
    (one) => one.state === "asked" || (one.state === "agreed" && (one.settings ?? []).length > 0),
  );
  const held = state.instances.filter((one) => one.state === "held").map((one) => one.name);
  if (open.length === 0) return null;
  return (
    <ul class="changes" aria-label="Changes on their way">
      {open.map((one) => (
        <li key={one.change} data-change={one.change} data-state={one.state}>
          <div>
            <strong>{inWords(one)}</strong>{" "}
            <span class="quiet">
              change {one.change}, by {one.who}
            </span>
          </div>
          <ol class="stages">
            {STAGES.map((stage) => (
              <li
                key={stage}
                class={stage === one.state ? "now" : ""}
                aria-current={stage === one.state ? "step" : undefined}
              >
                <span>{stage}</span>
                {stage === "in force" && one.model_time !== undefined && ` from ${inTime(one.model_time)} on`}
              </li>
            ))}
          </ol>
          {one.state === "asked" && (
            <p class="quiet">
              {lacking(run, one.change)}
              {held.length > 0 && `; ${some(held)} ${held.length === 1 ? "waits" : "wait"}`}
            </p>
          )}
          {one.state === "asked" && may && (
            <button type="button" onClick={() => void wants({ what: "withdraw", change: one.change })}>
              Withdraw
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

/** A row of the history: a change with the moments of its states, or a request to pause or to continue. */
interface Row {
  key: string;
  after: number;
  change?: Change;
  order?: string;
  who: string;
}

/** A request as the journal has it: `resume, by alice@host: go on`. */
function told(order: string): { order: string; who: string } {
  const [by, end] = [order.indexOf(", by "), order.lastIndexOf(": ")];
  if (by < 0 || end < by) return { order, who: "" };
  return { order: order.slice(end + 2), who: order.slice(by + 5, end) };
}

/** The entries of the journal: each change once, the newest first. */
function rows(entries: HistoryEntry[]): Row[] {
  const found = new Map<string, Row>();
  entries.forEach(({ after, change, order }, i) => {
    const key = change ? `change ${change.change}` : `order ${i}`;
    const known = found.get(key);
    if (known && change) known.change = change;
    else if (change) found.set(key, { key, after, change, who: change.who });
    else found.set(key, { key, after, ...told(order ?? "") });
  });
  return [...found.values()].reverse();
}

function History({
  state,
  may,
  wants,
}: {
  state: State;
  may: boolean;
  wants: (order: Order) => Promise<boolean>;
}) {
  const [entries, setEntries] = useState<HistoryEntry[]>([]);
  const [note, setNote] = useState("");
  const [most, setMost] = useState(HISTORY_PAGE_ENTRIES);
  const run = state.run!;
  // The journal is read again after each change, which it then has.
  const mark = JSON.stringify([run.steering, run.halt, state.view?.state, state.role]);
  useEffect(() => {
    let ended = false;
    const take = (told: { history: HistoryEntry[] }) => {
      if (ended) return;
      setEntries(told.history);
      setNote("");
    };
    ask<{ history: HistoryEntry[] }>("api/steering").then(
      take,
      (error: Error) => !ended && setNote(error.message),
    );
    return () => {
      ended = true;
    };
  }, [mark]);
  const all = rows(entries);
  const can = may ? undoable(run.steering ?? []) : new Set<number>();
  return (
    <>
      <h3 id="history-title">History</h3>
      {note && <p class="bad">{note}</p>}
      {all.length === 0 && <p class="quiet">Nobody has steered this run.</p>}
      {all.length > 0 && (
        <div class="scroll">
          <table aria-labelledby="history-title">
            <thead>
              <tr>
                <th scope="col">After</th>
                <th scope="col">What</th>
                <th scope="col">Model time</th>
                <th scope="col">State</th>
                <th scope="col">Who</th>
                {may && <th scope="col">Undo</th>}
              </tr>
            </thead>
            <tbody>
              {all.slice(0, most).map(({ key, after, change, order, who }) => (
                <tr key={key} data-history={key} data-state={change?.state ?? "order"}>
                  <td class="number">{inSeconds(after)}</td>
                  <th scope="row" class="wraps">
                    {change ? inWords(change) : order}
                  </th>
                  <td class="number">{change ? inTime(change.model_time) : ""}</td>
                  <td class="wraps">
                    {change && (
                      <span class={`badge ${change.state.replace(" ", "-")}`}>{change.state}</span>
                    )}{" "}
                    {change?.reason}
                  </td>
                  <td class="quiet wraps">{who}</td>
                  {may && (
                    <td>
                      {change && can.has(change.change) && (
                        <button
                          type="button"
                          aria-label={`Undo change ${change.change}`}
                          onClick={() =>
                            void wants({
                              what: "set",
                              settings: change.settings!.map(({ name, from }) => `${name}=${from}`),
                            })
                          }
                        >
                          Undo
                        </button>
                      )}
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
          {all.length > most && (
            <button type="button" onClick={() => setMost(most + HISTORY_PAGE_ENTRIES)}>
              {all.length - most} more
            </button>
          )}
        </div>
      )}
    </>
  );
}

/** The model time at which the run is paused, or will be. */
function standing(run: Run): string {
  const halt = run.halt;
  if (!halt) return "";
  const who =
    halt.held.length === 0
      ? "nobody has come there yet"
      : `${some(halt.held, 4)} ${halt.held.length === 1 ? "stands" : "stand"} there`;
  const ends = halt.stops ? ", and ends then" : "";
  return `The run stands still from model time ${inTime(halt.at)} on${ends}: ${who}.${notHeld(halt.unsteered)}`;
}

export function Steering({ state }: PanelProps) {
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [asking, setAsking] = useState(0);
  const run = state.run!;
  const goesOn = run.state === "running" && state.view?.state === "live";
  const may = goesOn && state.role === "steer";
  async function wants(order: Order): Promise<boolean> {
    setAsking((now) => now + 1);
    setOutcome(null);
    try {
      setOutcome({ text: answered(order, await send(order)), bad: false });
      return true;
    } catch (error) {
      const late = error instanceof DOMException && error.name === "TimeoutError";
      setOutcome({
        text: late
          ? "No answer has come yet; the history below tells what becomes of it."
          : `Refused: ${(error as Error).message}`,
        bad: !late,
      });
      return false;
    } finally {
      setAsking((now) => now - 1);
    }
  }
  return (
    <section id="steering" aria-labelledby="steering-title">
      <div class="bar">
        <h2 id="steering-title">Steering</h2>
        <p class="quiet">
          {run.state !== "running"
            ? "The run is over: nothing changes any more."
            : !goesOn
              ? "The run cannot be asked from here at the moment."
              : state.role === "look"
                ? "This page is for looking. “ligament view RUN --link steer” makes a link for steering."
                : `${count((run.steerable ?? []).length, "setting")} can be changed, ` +
                  "for all whom it concerns from one model time on, or for nobody."}
        </p>
      </div>
      {run.halt && run.state === "running" && (
        <p class="standing" role="status">
          {standing(run)}
        </p>
      )}
      {may && <Halts state={state} wants={wants} />}
      {(goesOn || (run.steerable ?? []).length > 0) && <Settings state={state} may={may} wants={wants} />}
      <p class={`outcome${outcome?.bad ? " bad" : ""}`} role="status" aria-live="polite">
        {outcome?.text || (asking > 0 ? "Asked; all whom it concerns are to accept it …" : "\u00a0")}
      </p>
      <OnTheirWay state={state} may={may} wants={wants} />
      <History state={state} may={may} wants={wants} />
    </section>
  );
}
