// Values of ports: the latest value of each port, as a number and its course, a series, a histogram or a
// picture.

import { memo } from "preact/compat";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PanelProps } from "./App";
import { MAPS, type MapName, rangeFor } from "./colours";
import { ThinnedSeries } from "./course";
import { Histogram, Picture, Series } from "./Plots";
import { next, range, type TapQuery, type TapValue } from "./tap";
import { count, inCount, inTime, unitOfTime } from "./text";

/** Maximum number of ports that are viewed at a time, and of names that are offered. */
const MAX_PORTS = 5;
const MAX_PORT_NAMES = 500;
/** Values a second. */
const RATES = [1, 4, 20];
/** Maximum number of values in the course of a number: from the first value on, thinned out. */
const MAX_COURSE_ITEMS = 2000;
const NO_ELEMENTS = new Float64Array();
/** Interval between two tries to view a port that cannot be viewed yet, ms. */
const RETRY_INTERVAL_MS = 1000;

/** The factor by which an array must be thinned out further, if it was too large for the page. */
function thinner(shape: number[], thin: number): number {
  const elements = shape.reduce((all, extent) => all * extent, 1);
  return Math.max(1, thin) * Math.max(2, Math.ceil((elements / 60_000) ** (1 / Math.max(shape.length, 1))));
}

/** A port that is viewed. */
interface PortView {
  id: number;
  query: TapQuery;
}

/** The two numbers, if they are a range. */
function heldRange(held: [string, string] | null): [number, number] | null {
  const [low, high] = (held ?? ["", ""]).map((text) => (text.trim() === "" ? NaN : Number(text))) as [
    number,
    number,
  ];
  return Number.isFinite(low) && Number.isFinite(high) && low < high ? [low, high] : null;
}

interface RangeProps {
  held: [string, string] | null;
  hold: (range: [string, string] | null) => void;
  /** The range of the value that is shown now. */
  now: () => [number, number];
}

/** Keeps the range of colours, so that consecutive pictures can be compared. */
function ColourRange({ held, hold, now }: RangeProps) {
  return (
    <div class="held-range">
      <label>
        <input
          type="checkbox"
          checked={held !== null}
          onChange={(event) =>
            hold(event.currentTarget.checked ? (now().map(String) as [string, string]) : null)
          }
        />{" "}
        Hold the range of colours
      </label>
      {held && (
        <>
          <input
            aria-label="Least"
            size={9}
            inputMode="decimal"
            value={held[0]}
            onInput={(event) => hold([event.currentTarget.value, held[1]])}
          />
          <input
            aria-label="Greatest"
            size={9}
            inputMode="decimal"
            value={held[1]}
            onInput={(event) => hold([held[0], event.currentTarget.value])}
          />
          {!heldRange(held) && <span class="bad">no range</span>}
        </>
      )}
    </div>
  );
}

interface ValueProps {
  view: PortView;
  map: MapName;
  /** The user wants another view of the port, or none. */
  replace: (id: number, query: TapQuery | null) => void;
}

/** Rendered when a value comes, not at each news of the run. */
const Value = memo(function Value({ view: { id, query }, map, replace }: ValueProps) {
  const [shown, setShown] = useState<TapValue | null>(null);
  const [note, setNote] = useState("");
  const [point, setPoint] = useState("");
  const course = useRef(new ThinnedSeries<[number, number]>(MAX_COURSE_ITEMS));
  /** The range of colours that is kept. While the user writes it, the text may be no range. */
  const [held, hold] = useState<[string, string] | null>(null);
  const thin = (by: number) => replace(id, { ...query, thin: by });
  useEffect(() => {
    const stop = new AbortController();
    let has = 0;
    course.current = new ThinnedSeries(MAX_COURSE_ITEMS);
    async function look() {
      while (!stop.signal.aborted) {
        try {
          const came = await next(query, has, stop.signal);
          if (stop.signal.aborted) return;
          has = came.head.frame;
          if (came.head.kind === "same") continue;
          setNote(came.head.why ?? "");
          if (came.head.kind === "none") {
            if (came.head.over) return;
            await new Promise((done) => setTimeout(done, RETRY_INTERVAL_MS));
            continue;
          }
          if (came.head.kind === "large" && came.head.shape) return thin(thinner(came.head.shape, query.thin));
          if (came.head.kind === "number") {
            course.current.push([came.head.timestamp ?? NaN, came.elements[0] ?? NaN]);
          }
          setShown(came);
          if (document.hidden) await new Promise((done) => setTimeout(done, 5000));
        } catch (error) {
          if (stop.signal.aborted) return;
          setNote(String((error as Error).message));
          await new Promise((done) => setTimeout(done, RETRY_INTERVAL_MS));
        }
      }
    }
    void look();
    return () => stop.abort();
  }, [query]);
  const head = shown?.head;
  // The cursor's place is gone with the drawing.
  useEffect(() => setPoint(""), [head?.kind, head?.shape?.length]);
  const elements = shown?.elements ?? NO_ELEMENTS;
  const indices = useMemo(() => Float64Array.from(elements, (_, i) => i), [elements.length]);
  const [times, numbers] = useMemo(
    () => [course.current.items.map(([time]) => time), course.current.items.map(([, value]) => value)],
    [shown],
  );
  const shape = head?.shape ?? [];
  const isPicture = head?.kind === "array" && elements.length > 1 && shape.length === 2;
  const parts = [query.key, query.slice && `[${query.slice}]`, query.thin > 1 && `every ${query.thin}th`]
    .filter(Boolean)
    .join(" ");
  return (
    <article
      class="value"
      data-port={query.port}
      data-message={head?.message ?? ""}
      data-time={head?.timestamp ?? ""}
    >
      <div class="bar">
        <h3>
          {query.port} {parts && <span class="quiet">{parts}</span>}
        </h3>
        <button type="button" aria-label={`Look at ${query.port} no more`} onClick={() => replace(id, null)}>
          ✕
        </button>
      </div>
      <p class="quiet">
        {head && `At model time ${inTime(head.timestamp)}, message ${inCount(head.message ?? 0)}`}
        {head && head.slot !== null && head.slot !== undefined && `, slot ${head.slot}`}
        {head?.kind === "array" &&
          `: ${head.dtype} ${shape.join(" × ") || "0-d"}${head.unit ? ` ${head.unit}` : ""}`}
        {!head && !note && "Waiting for what it sends next …"}
        {note && <span role="status"> {note}</span>}
      </p>
      {head?.kind === "number" && <output class="large">{head.text}</output>}
      {head?.kind === "number" && numbers.length > 1 && (
        <Series
          x={times}
          y={numbers}
          along={`model time${unitOfTime() && `,${unitOfTime()}`}`}
          say={setPoint}
        />
      )}
      {head?.kind === "text" && !head.histogram && <pre>{head.text}</pre>}
      {head?.histogram && head.value && <Histogram value={head.value} say={setPoint} />}
      {head?.kind === "array" && elements.length === 1 && <output class="large">{String(elements[0])}</output>}
      {head?.kind === "array" && elements.length > 1 && shape.length === 1 && (
        <Series x={indices} y={elements} along="index" say={setPoint} />
      )}
      {isPicture && (
        <>
          <Picture
            rows={shape[0]!}
            columns={shape[1]!}
            elements={elements}
            map={map}
            held={heldRange(held)}
            say={setPoint}
          />
          <ColourRange held={held} hold={hold} now={() => rangeFor(map, ...(range(elements) ?? [0, 1]))} />
        </>
      )}
      {head?.kind === "array" && shape.length > 2 && elements.length > 1 && (
        <p>
          It has {shape.length} axes: take a slice, such as{" "}
          {shape
            .slice(2)
            .map(() => "0")
            .join(", ")}
          .
        </p>
      )}
      <p class="point" aria-live="polite">
        {point || "\u00a0"}
      </p>
    </article>
  );
});

export function Values({ state, search }: PanelProps) {
  const [all, setAll] = useState<PortView[]>([]);
  const last = useRef(0);
  const [port, setPort] = useState("");
  const [slot, setSlot] = useState("");
  const [slice, setSlice] = useState("");
  const [key, setKey] = useState("");
  const [bars, setBars] = useState(0);
  const [rate, setRate] = useState(4);
  const [map, setMap] = useState<MapName>("cividis");
  const names = state.instances
    .filter((one) => one.name.includes(search))
    .flatMap((one) => (one.sends ?? []).map((name) => `${one.name}.${name}`));
  const add = (event: Event) => {
    event.preventDefault();
    const of = slot.trim() === "" ? port.trim() : `${port.trim()}[${slot.trim()}]`;
    const query = { port: of, slice: slice.trim(), thin: 1, bars, key: key.trim(), every: 1000 / rate };
    last.current += 1;
    if (query.port && all.length < MAX_PORTS) setAll([...all, { id: last.current, query }]);
  };
  const replace = useCallback(
    (id: number, query: TapQuery | null) =>
      setAll((now) => now.flatMap((one) => (one.id !== id ? [one] : query ? [{ id, query }] : []))),
    [],
  );
  return (
    <section id="values" aria-labelledby="values-title">
      <div class="bar">
        <h2 id="values-title">Values</h2>
        <p class="quiet">
          {count(names.length, "port")} to look at: whatever is sent, connected or not. Nobody waits for whoever
          looks.
        </p>
      </div>
      <form class="looks" onSubmit={add}>
        <label>
          Port{" "}
          <input
            list="ports"
            value={port}
            placeholder="instance.port"
            onInput={(event) => setPort(event.currentTarget.value)}
          />
        </label>
        <datalist id="ports">
          {names.slice(0, MAX_PORT_NAMES).map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <label title="Of a port with slots: 0 for the first; empty for whichever is sent on next">
          Slot{" "}
          <input
            size={4}
            inputMode="numeric"
            value={slot}
            placeholder="any"
            onInput={(event) => setSlot(event.currentTarget.value)}
          />
        </label>
        <label>
          Slice{" "}
          <input
            size={10}
            value={slice}
            placeholder="0, ::2"
            onInput={(event) => setSlice(event.currentTarget.value)}
          />
        </label>
        <label>
          Key <input size={8} value={key} onInput={(event) => setKey(event.currentTarget.value)} />
        </label>
        <label>
          As{" "}
          <select value={bars} onChange={(event) => setBars(Number(event.currentTarget.value))}>
            <option value={0}>values</option>
            <option value={20}>histogram, 20 bars</option>
            <option value={100}>histogram, 100 bars</option>
          </select>
        </label>
        <label>
          A second{" "}
          <select value={rate} onChange={(event) => setRate(Number(event.currentTarget.value))}>
            {RATES.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <label>
          Colours{" "}
          <select value={map} onChange={(event) => setMap(event.currentTarget.value as MapName)}>
            {Object.keys(MAPS).map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" disabled={!port || all.length >= MAX_PORTS || !state.isLive}>
          Look
        </button>
      </form>
      <div class="values">
        {all.map((one) => (
          <Value key={one.id} view={one} map={map} replace={replace} />
        ))}
      </div>
    </section>
  );
}
