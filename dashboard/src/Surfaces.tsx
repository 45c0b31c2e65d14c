// The panel of surfaces: grid, field and levels are chosen, and the surfaces are shown at which the field has
// these levels. The run makes them where the data is; the page makes the triangles.

import { useEffect, useRef, useState } from "preact/hooks";
import type { PanelProps } from "./App";
import { fieldsOf, type GridPicture, levelsOf, nextPicture, type SurfaceQuery } from "./grid";
import type { Mesh } from "./Scene";
import { isLost } from "./state";
import { sidesOf, SurfaceView } from "./SurfaceView";
import type { GridRecord } from "./wire";
import { count, inBytes, inCount, inSeconds, inTime } from "./text";

/** Time to the next request after an answer without a picture, and while nobody sees the page, ms. */
const RETRY_INTERVAL_MS = 1000;
const HIDDEN_PAUSE_MS = 5000;
/** Time for which the levels must stay unchanged before they are requested, ms. */
const LEVEL_DELAY_MS = 250;
/** Number of steps of the slider from the smallest to the largest number. */
const SLIDER_STEPS = 500;
const NO_MESHES: Mesh[] = [];

/** A number with as few digits as possible. */
function brief(x: number): string {
  return String(Number(x.toPrecision(4)));
}

/** Processor time, which is short. */
function inCost(ns: number): string {
  return ns < 9.95e6 ? `${brief(Number((ns / 1e6).toPrecision(2)))} ms` : inSeconds(ns / 1e9);
}

/** The reason why a picture shows nothing, or not everything. */
function gaps(picture: GridPicture): string[] {
  const { range, levels, nanPoints, meshes } = picture;
  const found: string[] = [];
  if (!range) found.push("empty: all points are NaN");
  else {
    const data = `the data, which goes from ${range.map(brief).join(" to ")}`;
    levels.forEach((level, i) => {
      if (level > range[1] || level < range[0]) {
        found.push(`empty: the level ${brief(level)} is outside of ${data}`);
      } else if (meshes[i]!.triangles.length === 0) {
        found.push(`empty: no cell is crossed by the level ${brief(level)}`);
      }
    });
  }
  if (nanPoints > 0) {
    found.push(`${count(nanPoints, "point")} ${nanPoints === 1 ? "is" : "are"} NaN; cells at NaN are left out`);
  }
  return found;
}

function size(grid: GridRecord): [number, number, number] {
  // Along a periodic axis, there are cells from the last point to the first.
  return grid.shape.map((points, axis) => points - (grid.periodic.includes("xyz"[axis]!) ? 0 : 1)) as [
    number,
    number,
    number,
  ];
}

/** A level in the middle of the data, so that the first picture shows something. */
function middle([low, high]: [number, number]): number {
  const between = low / 2 + high / 2;
  return Number.isFinite(between) ? Number(between.toPrecision(3)) : 0;
}

/** Pictures of surfaces, one after the other; `why` is the reason if none comes. */
function usePictures(query: SurfaceQuery | null): { picture: GridPicture | null; why: string } {
  const [picture, setPicture] = useState<GridPicture | null>(null);
  const [why, setWhy] = useState("");
  useEffect(() => {
    if (!query) return;
    const stop = new AbortController();
    let has = 0;
    const pause = (long: number) => new Promise((done) => setTimeout(done, long));
    async function look(asked: SurfaceQuery) {
      while (!stop.signal.aborted) {
        try {
          const answer = await nextPicture(asked, has, stop.signal);
          if (stop.signal.aborted) return;
          has = answer.frame;
          setWhy(answer.why ?? "");
          if (answer.over) return;
          if (answer.picture) setPicture(answer.picture);
          else if (answer.why) await pause(RETRY_INTERVAL_MS);
          if (document.hidden) await pause(HIDDEN_PAUSE_MS);
        } catch (error) {
          if (stop.signal.aborted) return;
          setWhy(isLost(error) ? "The page's server does not answer." : String((error as Error).message));
          // Another server may answer at this address, with other numbers of pictures.
          has = 0;
          await pause(RETRY_INTERVAL_MS);
        }
      }
    }
    void look(query);
    return () => stop.abort();
  }, [query]);
  return { picture, why };
}

interface LevelProps {
  range: [number, number] | null;
  level: string;
  choose: (level: string) => void;
}

/** The levels, as a text field; one level is a slider over the field's numbers, too. */
function Level({ range, level, choose }: LevelProps) {
  const [low, high] = range ?? [0, 0];
  const span = high - low;
  const numbers = levelsOf(level);
  const canSlide = Number.isFinite(span) && span > 0 && (numbers === null || numbers.length === 1);
  const isBad = level.trim() !== "" && numbers === null;
  return (
    <>
      <label class="level">
        Level{" "}
        <input
          type="range"
          min={0}
          max={SLIDER_STEPS}
          step={1}
          disabled={!canSlide}
          value={canSlide && numbers ? ((numbers[0]! - low) / span) * SLIDER_STEPS : 0}
          aria-valuetext={level}
          onInput={(event) => {
            const part = Number(event.currentTarget.value) / SLIDER_STEPS;
            choose(String(Number((low + part * span).toPrecision(4))));
          }}
        />
      </label>
      <input
        aria-label="Level, or several levels with blanks or commas between them"
        title="One level, or several with blanks or commas between them"
        size={14}
        inputMode="text"
        value={level}
        aria-invalid={isBad}
        onInput={(event) => choose(event.currentTarget.value)}
      />
      {isBad && <span class="bad">no number</span>}
    </>
  );
}

/** The picture in words, below the drawing and for screen readers. */
function words(picture: GridPicture, { grid, field }: SurfaceQuery): string {
  const { levels, meshes, unit } = picture;
  const counts = meshes.map(({ triangles }) => triangles.length / 3);
  const last = count(counts.at(-1)!, "triangle");
  const triangles = [...counts.slice(0, -1).map(inCount), last].join(", ");
  const level = `${levels.map(brief).join(", ")}${unit ? ` ${unit}` : ""}`;
  return `${grid}.${field} = ${level} at model time ${inTime(picture.timestamp)}: ${triangles}`;
}

/** The colour of each surface, if there are several. */
function Legend({ levels }: { levels: number[] }) {
  return (
    <span class="legend">
      {levels.map((level, i) => (
        <span key={level}>
          {[...new Set(sidesOf(i))].map((name) => (
            <i key={name} style={{ background: `var(${name})` }} />
          ))}{" "}
          {brief(level)}
        </span>
      ))}
    </span>
  );
}

export function Surfaces({ state, grids }: PanelProps & { grids: GridRecord[] }) {
  const [chosenGrid, setGrid] = useState("");
  const [chosenField, setField] = useState("");
  /** The text of the levels. */
  const [level, setLevel] = useState("");
  const [query, setQuery] = useState<SurfaceQuery | null>(null);
  const [isPaused, pause] = useState(false);
  /** The range of all numbers that the field has had, so that the slider does not move by itself. */
  const range = useRef<[number, number] | null>(null);
  /** True if the user has chosen the levels. Then no picture changes them. */
  const isChosen = useRef(false);
  const grid = grids.find(({ component }) => component === chosenGrid) ?? grids[0]!;
  const fields = fieldsOf(grid, state.instances);
  const field = fields.includes(chosenField) ? chosenField : (fields[0] ?? "");
  const of = `${grid.component}.${field}`;
  const { picture, why } = usePictures(isPaused || !state.isLive ? null : query);
  const [shownOf, setShownOf] = useState("");
  useEffect(() => {
    range.current = null;
    setLevel("");
    isChosen.current = false;
    const { component, shape } = grid;
    setQuery(field && shape.length === 3 ? { grid: component, shape, field, levels: [0] } : null);
  }, [of]);
  useEffect(() => {
    const levels = levelsOf(level);
    if (!levels || !query || String(levels) === String(query.levels)) return;
    const timer = setTimeout(() => setQuery({ ...query, levels }), LEVEL_DELAY_MS);
    return () => clearTimeout(timer);
  }, [level, query]);
  useEffect(() => {
    if (!picture || !query) return;
    setShownOf(of);
    const [low, high] = range.current ?? [Infinity, -Infinity];
    if (!picture.range) return;
    range.current = [Math.min(low, picture.range[0]), Math.max(high, picture.range[1])];
    if (isChosen.current || picture.range[0] === picture.range[1]) return;
    isChosen.current = true;
    const first = middle(picture.range);
    setLevel(String(first));
    setQuery({ ...query, levels: [first] });
  }, [picture]);
  const choose = (text: string) => {
    isChosen.current = true;
    setLevel(text);
  };
  const isShown = picture !== null && query !== null && shownOf === of;
  const said = isShown ? words(picture, query) : "No surface yet.";
  return (
    <section id="surfaces" aria-labelledby="surfaces-title" data-frame={isShown ? picture.timestamp : ""}>
      <div class="bar">
        <h2 id="surfaces-title">Surfaces</h2>
        <p class="quiet">
          Where a field of a grid has a level, or several. Axes count points. Nobody waits for whoever looks.
        </p>
      </div>
      <div class="looks">
        <label>
          Grid{" "}
          <select value={grid.component} onChange={(event) => setGrid(event.currentTarget.value)}>
            {grids.map(({ component }) => (
              <option key={component}>{component}</option>
            ))}
          </select>
        </label>
        <label>
          Field{" "}
          <select value={field} onChange={(event) => setField(event.currentTarget.value)}>
            {fields.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <Level range={range.current} level={level} choose={choose} />
        <button type="button" aria-pressed={isPaused} onClick={() => pause(!isPaused)}>
          {isPaused ? "Go on" : "Hold the picture"}
        </button>
      </div>
      {grid.shape.length !== 3 && <p>{grid.component} has fewer than three axes, which a surface needs.</p>}
      {!field && <p class="quiet">{grid.component} has published no field yet.</p>}
      {grid.shape.length === 3 && field && (
        <SurfaceView meshes={isShown ? picture.meshes : NO_MESHES} size={size(grid)} label={`${said}.`} />
      )}
      <p class="number" data-words>
        {isShown && (
          <>
            {said}, {inBytes(picture.bytes)} in {count(picture.blocks, "block")}, made in{" "}
            {inCost(picture.cost_ns)} of a block's processor time at most,{" "}
            {inSeconds(Math.max(state.now() - picture.at, 0) / 1000)} old
            {picture.levels.length > 1 && <Legend levels={picture.levels} />}
          </>
        )}
      </p>
      <p role="status" class="quiet">
        {isShown && gaps(picture).join("; ")}
        {why && <span> {why}</span>}
        {!isShown && !why && query && "Waiting for the next picture …"}
      </p>
    </section>
  );
}
