// Model time against its end, and when that will be; and how model time went by since the page was opened.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Shared } from "./App";
import { point, useMoment } from "./cursor";
import type { Instance, State } from "./state";
import { inSeconds, inTime, withoutIndices } from "./words";

/** The picture's colours are those of the moment in which it is made. */
const DARK = matchMedia("(prefers-color-scheme: dark)");

interface Sample {
  at: number;
  time: number;
}

interface Line {
  name: string;
  /** The least model time of its instances. */
  time: number | null;
  end: number | null;
  done: number;
  instances: number;
}

/** Samples of each component's model time: as many, at least so far apart, s. */
const MOST_SAMPLES = 600;
const APART = 0.5;
/** Lines of the picture. */
const MOST_LINES = 8;
/** Colours and dashes tell lines apart. */
const INKS = ["--computing", "--waiting", "--send", "--receive", "--failed", "--ink"];

function lines(instances: Instance[]): Line[] {
  const found = new Map<string, Line>();
  for (const one of instances) {
    const name = withoutIndices(one.name);
    const line = found.get(name) ?? { name, time: null, end: null, done: 0, instances: 0 };
    line.instances += 1;
    line.done += one.state === "done" ? 1 : 0;
    const time = one.model_time ?? null;
    if (time !== null) line.time = line.time === null ? time : Math.min(line.time, time);
    if (one.model_end !== undefined) line.end = Math.max(line.end ?? -Infinity, one.model_end);
    found.set(name, line);
  }
  return [...found.values()];
}

/** How long it will take at the pace of the samples, s. */
function left(samples: Sample[], line: Line): number | null {
  const [first, last] = [samples[Math.max(0, samples.length - 60)], samples[samples.length - 1]];
  if (!first || !last || line.end === null || last.at - first.at < 2) return null;
  const pace = (last.time - first.time) / (last.at - first.at);
  return pace > 0 && line.end > last.time ? (line.end - last.time) / pace : null;
}

/** Notes how far each component is. */
function sample(state: State, all: Line[], samples: Map<string, Sample[]>): void {
  if (!state.isLive || !state.run) return;
  const now = (state.now() - Date.parse(state.run.started)) / 1000;
  for (const line of all) {
    if (line.time === null) continue;
    const known = samples.get(line.name) ?? [];
    const last = known[known.length - 1];
    if (last && now - last.at < APART) continue;
    known.push({ at: now, time: line.time });
    if (known.length > MOST_SAMPLES) known.shift();
    samples.set(line.name, known);
  }
}

export function Progress({ state, search }: Shared) {
  const samples = useRef(new Map<string, Sample[]>());
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const moment = useMoment();
  const [dark, setDark] = useState(DARK.matches);
  useEffect(() => {
    const change = () => setDark(DARK.matches);
    DARK.addEventListener("change", change);
    return () => DARK.removeEventListener("change", change);
  }, []);
  const all = lines(state.instances);
  sample(state, all, samples.current);
  // Out of sight, too: else neither the picture nor the pace would know of that time.
  useEffect(() => state.listen(() => sample(state, lines(state.instances), samples.current)), [state]);
  const drawn = [...samples.current].filter(([, known]) => known.length > 2).slice(0, MOST_LINES);
  const names = drawn.map(([name]) => name).join(" ");
  useEffect(() => {
    if (!place.current || names === "") return;
    const style = getComputedStyle(place.current);
    const ink = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: ink("--ink"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line"), width: 1 } };
    const made = new uPlot(
      {
        width: place.current.clientWidth || 600,
        height: 200,
        scales: { x: { time: false } },
        axes: [
          { ...axis, label: "s since the run began" },
          { ...axis, label: "model time, s", size: 70 },
        ],
        series: [
          { label: "after, s" },
          ...names.split(" ").map((label, i) => ({
            label,
            stroke: ink(INKS[i % INKS.length]!),
            width: 2,
            dash: i < INKS.length ? [] : [6, 4],
          })),
        ],
      },
      [[]],
      place.current,
    );
    plot.current = made;
    made.over.addEventListener("mousemove", (event) => {
      const at = made.posToVal(event.offsetX, "x");
      if (Number.isFinite(at)) point(Math.max(at, 0));
    });
    made.over.addEventListener("mouseleave", () => point(null));
    const resize = () => place.current && made.setSize({ width: place.current.clientWidth, height: 200 });
    window.addEventListener("resize", resize);
    return () => {
      window.removeEventListener("resize", resize);
      made.destroy();
      plot.current = null;
    };
  }, [names, dark]);
  useEffect(() => {
    if (!plot.current || drawn.length === 0) return;
    const moments = [...new Set(drawn.flatMap(([, known]) => known.map(({ at }) => at)))].sort((one, other) => one - other);
    const columns = drawn.map(([, known]) => {
      const values = new Map(known.map(({ at, time }) => [at, time]));
      return moments.map((at) => values.get(at) ?? null);
    });
    plot.current.setData([moments, ...columns]);
    // Where somebody points, here or in another panel.
    const left = moment === null ? NaN : plot.current.valToPos(moment, "x");
    plot.current.setCursor(left >= 0 ? { left, top: 0 } : { left: -10, top: -10 }, false);
  });
  return (
    <section id="progress" aria-labelledby="progress-title">
      <div class="bar">
        <h2 id="progress-title">Model time</h2>
      </div>
      <ul class="progress">
        {all
          .filter((line) => line.name.includes(withoutIndices(search)))
          .map((line) => {
            const wait = state.isLive ? left(samples.current.get(line.name) ?? [], line) : null;
            const over = line.done === line.instances;
            return (
              <li key={line.name} data-component={line.name}>
                <span class="what">{line.name}</span>
                {line.end !== null && line.time !== null && (
                  <progress aria-label={`Model time of ${line.name}`} max={line.end} value={over ? line.end : Math.max(line.time, 0)} />
                )}
                <span class="number">
                  {inTime(line.time)}
                  {line.end !== null && ` of ${inTime(line.end)}`}
                </span>
                <span class="quiet">
                  {over ? "done" : wait !== null ? `about ${inSeconds(wait)} left, until ${new Date(Date.now() + wait * 1000).toLocaleTimeString()}` : ""}
                  {!over && line.instances > 1 && ` the last of ${line.instances}`}
                </span>
              </li>
            );
          })}
      </ul>
      <div ref={place} class="plot" aria-hidden="true" />
    </section>
  );
}
