// The model time of each component: how far it is, when it will end, and its course since the page was opened.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { PanelProps } from "./App";
import { Pace, RunningClock, type Sample, ThinnedSeries } from "./course";
import { point, useMoment } from "./cursor";
import type { Instance, State } from "./state";
import { inSeconds, inTime, unitOfTime, withoutIndices } from "./text";

/** A picture takes its colours from the style sheet at the moment in which it is made. */
const DARK_SCHEME = matchMedia("(prefers-color-scheme: dark)");

interface Line {
  name: string;
  /** The smallest model time of the component's instances. */
  time: number | null;
  end: number | null;
  done: number;
  instances: number;
}

/** Maximum number of samples of a component's model time. */
const MAX_SAMPLES = 1000;
/** Maximum number of lines in the picture. */
const MAX_LINES = 8;
/** The colours and dashes of the lines. */
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

/** Returns true if an instance is paused or stopped: the others go on only until they wait for it. */
function isPaused(state: State): boolean {
  return state.instances.some((one) => one.state === "held" || (one.stopped && one.state !== "stopped"));
}

interface Course {
  samples: ThinnedSeries<Sample>;
  pace: Pace;
  clock: RunningClock;
  time: number | null;
}

/** The model time of each component at each news from the server. */
class Courses {
  readonly byName = new Map<string, Course>();
  private last = -Infinity;

  note(state: State): void {
    if (!state.isLive || !state.run || state.at === this.last) return;
    this.last = state.at;
    const at = (state.at - Date.parse(state.run.started)) / 1000;
    const paused = isPaused(state);
    for (const { name, time } of lines(state.instances)) {
      if (time === null) continue;
      const course = this.byName.get(name) ?? {
        samples: new ThinnedSeries<Sample>(MAX_SAMPLES),
        pace: new Pace(),
        clock: new RunningClock(),
        time: null,
      };
      course.samples.push({ at, time });
      // Some instances go on for a while after others are paused.
      course.clock.note(at, paused && time === course.time);
      course.time = time;
      course.pace.note(course.clock.at(at), time);
      this.byName.set(name, course);
    }
  }
}

/** The time at which a component will end, in words. */
function forecast(state: State, courses: Courses, line: Line): string {
  if (line.done === line.instances) return "done";
  if (!state.isLive || line.end === null) return "";
  const course = courses.byName.get(line.name);
  if (!course) return "";
  if (course.clock.stands) return "paused";
  const now = (state.now() - Date.parse(state.run!.started)) / 1000;
  const left = course.pace.left(line.end, course.clock.at(now));
  if (left === null) return "";
  return `about ${inSeconds(left)} left, until ${new Date(Date.now() + left * 1000).toLocaleTimeString()}`;
}

export function Progress({ state, search }: PanelProps) {
  const courses = useRef(new Courses()).current;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const moment = useMoment();
  const [dark, setDark] = useState(DARK_SCHEME.matches);
  useEffect(() => {
    const change = () => setDark(DARK_SCHEME.matches);
    DARK_SCHEME.addEventListener("change", change);
    return () => DARK_SCHEME.removeEventListener("change", change);
  }, []);
  const all = lines(state.instances);
  courses.note(state);
  // Samples are taken out of sight, too: otherwise the picture and the pace would lack that time.
  useEffect(() => state.listen(() => courses.note(state)), [state]);
  const drawn = [...courses.byName]
    .map(([name, { samples }]) => [name, samples.items] as const)
    .filter(([, known]) => known.length > 2)
    .slice(0, MAX_LINES);
  const names = drawn.map(([name]) => name).join(" ");
  useEffect(() => {
    if (!place.current || names === "") return;
    const style = getComputedStyle(place.current);
    const ink = (name: string) => style.getPropertyValue(name).trim();
    const axis = {
      stroke: ink("--ink"),
      grid: { stroke: ink("--line"), width: 1 },
      ticks: { stroke: ink("--line"), width: 1 },
    };
    const made = new uPlot(
      {
        width: place.current.clientWidth || 600,
        height: 200,
        scales: { x: { time: false } },
        axes: [
          { ...axis, label: "s since the run began" },
          { ...axis, label: `model time${unitOfTime() && `,${unitOfTime()}`}`, size: 70 },
        ],
        series: [
          { label: "after, s" },
          ...names.split(" ").map((label, i) => ({
            label,
            stroke: ink(INKS[i % INKS.length]!),
            width: 2,
            spanGaps: true,
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
    const moments = [...new Set(drawn.flatMap(([, known]) => known.map(({ at }) => at)))].sort(
      (one, other) => one - other,
    );
    const columns = drawn.map(([, known]) => {
      const values = new Map(known.map(({ at, time }) => [at, time]));
      return moments.map((at) => values.get(at) ?? null);
    });
    plot.current.setData([moments, ...columns]);
    // The position of the cursor, in this or another panel.
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
            const over = line.done === line.instances;
            return (
              <li key={line.name} data-component={line.name}>
                <span class="what">{line.name}</span>
                {line.end !== null && line.time !== null && (
                  <progress
                    aria-label={`Model time of ${line.name}`}
                    max={line.end}
                    value={over ? line.end : Math.max(line.time, 0)}
                  />
                )}
                <span class="number">
                  {inTime(line.time)}
                  {line.end !== null && ` of ${inTime(line.end)}`}
                </span>
                <span class="quiet">
                  {forecast(state, courses, line)}
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
