// The boxes and arrows of the model. They are drawn once; later, only the changed ones are drawn again, and
// words only where they are large enough to be read.

import type { VNode } from "preact";
import { memo } from "preact/compat";
import { useMemo, useState } from "preact/hooks";
import type { PanelProps } from "./App";
import type { Conduit, Instance, Rate } from "./state";
import { isWaiting, knot } from "./waits";
import { componentOf, count, inBytes, inCount, inRate, inSeconds, some, withoutIndices } from "./text";

interface Node {
  name: string;
  implementation: string | null;
  instances: number;
  x: number;
  y: number;
  width: number;
  height: number;
  tile: number;
  per_row: number;
}

interface Link {
  from: string;
  to: string;
  filters: string[];
  points: [number, number][];
}

export interface Plan {
  nodes: Node[];
  links: Link[];
  width?: number;
  height?: number;
  why?: string;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Scale, in pixels for each unit of the drawing, from which on words can be read: they are 11 units high. */
const MIN_TEXT_SCALE = 0.2;

function meet(one: Box, other: Box): boolean {
  return (
    one.x <= other.x + other.width &&
    other.x <= one.x + one.width &&
    one.y <= other.y + other.height &&
    other.y <= one.y + one.height
  );
}

/** A curve through the points, horizontal at each of them. */
function curve(points: [number, number][]): string {
  let path = `M${points[0]!.join(" ")}`;
  for (let i = 1; i < points.length; i++) {
    const [[x, y], [to, height]] = [points[i - 1]!, points[i]!];
    const out = Math.max(Math.abs(to - x) / 2, 24) * (i === 1 && to < x ? -1 : Math.sign(to - x) || 1);
    path += `C${x + out} ${y} ${to - out} ${height} ${to} ${height}`;
  }
  return path;
}

/** The class of a tile: the activity of its instance. */
function kind(one: Instance | undefined): string {
  if (!one) return "none";
  if (one.stopped && one.state !== "stopped") return "halted";
  return one.state.startsWith("waiting") ? "waiting" : one.state.replace(" ", "-");
}

/** The activities of a box's instances in words: `18 computing, 2 waiting`. */
function summary(all: Instance[]): string {
  const sums = new Map<string, number>();
  for (const one of all)
    sums.set(kind(one).replace("-", " "), (sums.get(kind(one).replace("-", " ")) ?? 0) + 1);
  const parts = [...sums].sort((one, other) => other[1] - one[1]);
  return parts.map(([word, number]) => (all.length === 1 ? word : `${number} ${word}`)).join(", ");
}

interface TilesProps {
  node: Node;
  /** The classes of the tiles, joined. If this text is the same, the tiles are not drawn again. */
  kinds: string;
  /** Empty if the tiles are too small to be pointed at. */
  names: string[] | null;
}

const Tiles = memo(
  function Tiles({ node, kinds, names }: TilesProps) {
    const gap = node.tile > 10 ? 3 : 1;
    return (
      <g>
        {kinds.split(",").map((kind, i) => (
          <rect
            key={i}
            class={`tile ${kind}`}
            x={8 + (i % node.per_row) * node.tile}
            y={44 + Math.floor(i / node.per_row) * node.tile}
            width={node.tile - gap}
            height={node.tile - gap}
            rx={gap > 1 ? 2 : 0}
          >
            {names && <title>{`${names[i]}: ${kind.replace("found", "").replace("-", " ").trim()}`}</title>}
          </rect>
        ))}
      </g>
    );
  },
  (one, other) =>
    one.node === other.node && one.kinds === other.kinds && (one.names === null) === (other.names === null),
);

interface NodeProps {
  at: number;
  node: Node;
  instances: Instance[];
  kinds: string;
  inKnot: boolean;
  chosen: boolean;
  legible: boolean;
  choose: (name: string) => void;
}

function NodeBox({ at, node, instances, kinds, inKnot, chosen, legible, choose }: NodeProps) {
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(node.name);
  };
  const words = summary(instances);
  const room = node.instances > 1 ? 23 - ` × ${node.instances}`.length : 23;
  const label = node.name.length > room ? `${node.name.slice(0, room - 1)}…` : node.name;
  return (
    <g
      class={`node${inKnot ? " knot" : ""}${chosen ? " chosen" : ""}`}
      transform={`translate(${node.x} ${node.y})`}
      tabindex={0}
      role="button"
      aria-pressed={chosen}
      aria-label={`${node.name}, ${count(node.instances, "instance")}: ${words}`}
      data-at={`node ${at}`}
      onClick={() => choose(node.name)}
      onKeyDown={press}
    >
      <rect class="box" width={node.width} height={node.height} rx={6} />
      {legible && (
        <text class="title" x={10} y={19}>
          {label}
          {node.instances > 1 && <tspan class="many"> × {node.instances}</tspan>}
        </text>
      )}
      {legible && (
        <text class="words" x={10} y={35}>
          {words.length > 32 ? `${words.slice(0, 31)}…` : words}
        </text>
      )}
      <Tiles node={node} kinds={kinds} names={legible ? instances.map((one) => one.name) : null} />
    </g>
  );
}

interface ArrowProps {
  at: number;
  arrow: Arrow;
  waited: boolean;
  inKnot: boolean;
  /** Empty if the words are too small to be read. */
  words: { text: string; waits: string; label: string } | null;
}

function ArrowLine({ at, arrow: { name, path, x, y }, waited, inKnot, words }: ArrowProps) {
  return (
    <g
      class={`link${waited ? " waited" : ""}${inKnot ? " knot" : ""}`}
      role="img"
      aria-label={words?.label ?? name}
      data-at={`link ${at}`}
    >
      {words && <title>{words.label}</title>}
      <path d={path} marker-end="url(#head)" />
      {words && (
        <text x={x} y={y - 5} text-anchor="middle">
          {words.text}
        </text>
      )}
      {words?.waits && (
        <text class="waits" x={x} y={y + 13} text-anchor="middle">
          {words.waits}
        </text>
      )}
    </g>
  );
}

/** The traffic of a conduit, in few letters. */
function brief(one: Conduit, rate: Rate | null): string {
  if (rate && rate.messages > 0) return `${inRate(rate.messages)}/s ${inBytes(rate.bytes)}/s`;
  return `${inCount(one.messages)} msg ${inBytes(one.bytes)}`;
}

function told(one: Conduit, rate: Rate | null): string {
  const now = rate ? `, ${inRate(rate.messages)} messages and ${inBytes(rate.bytes)} a second` : "";
  const traffic = `${count(one.messages, "message")}, ${inBytes(one.bytes)}${now}`;
  return `${one.from} to ${one.to}: ${traffic}; ${inCount(one.under_way)} under way`;
}

/** An arrow as it is drawn, with the keys by which its waits are found. Nothing of this changes. */
interface Arrow {
  name: string;
  key: string;
  path: string;
  bounds: Box;
  /** The position of its words. */
  x: number;
  y: number;
  receives: string;
  sends: string;
}

function arrowOf({ from, to, points }: Link): Arrow {
  const middle = points.length / 2;
  const [one, other] = [points[Math.floor(middle - 0.5)]!, points[Math.ceil(middle - 0.5)]!];
  const [across, down] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [x, y] = [Math.min(...across), Math.min(...down)];
  return {
    name: `${from} to ${to}`,
    key: `${from} ${to}`,
    path: curve(points),
    bounds: { x, y, width: Math.max(...across) - x, height: Math.max(...down) - y },
    x: (one[0] + other[0]) / 2,
    y: (one[1] + other[1]) / 2,
    receives: `${from} by ${componentOf(to)}`,
    sends: `${to} by ${componentOf(from)}`,
  };
}

/** Elements that are made again only when their content has changed. Preact skips all others. */
class ElementCache {
  private marks: string[] = [];
  private elements: VNode[] = [];
  private whole: VNode | undefined;

  /** For each element, a mark with all that it shows, and a function that makes it. */
  drawn(many: number, shown: (at: number) => [mark: string, make: () => VNode]): VNode {
    let changed = this.whole === undefined;
    for (let at = 0; at < many; at++) {
      const [mark, make] = shown(at);
      if (this.marks[at] === mark) continue;
      this.marks[at] = mark;
      this.elements[at] = make();
      changed = true;
    }
    if (changed) this.whole = <g>{this.elements.slice()}</g>;
    return this.whole!;
  }
}

interface Props extends PanelProps {
  plan: Plan;
  seen: Box;
  /** Pixels for each unit of the drawing. */
  scale: number;
}

export function Drawing({ state, search, chosen, choose, plan, seen, scale }: Props) {
  // The browser shows the title of the element under the pointer, however small the element is.
  const [pointed, setPointed] = useState("");
  const arrows = useMemo(() => plan.links.map(arrowOf), [plan]);
  const [lines, boxes] = useMemo(() => [new ElementCache(), new ElementCache()], [plan]);
  // The indices of instances and conduits do not change.
  const places = useMemo(
    () => new Map(state.conduits.map((one, at) => [`${one.from} ${one.to}`, at])),
    [state.conduits.length],
  );
  const members = useMemo(() => {
    const found = new Map<string, number[]>();
    state.instances.forEach((one, at) => {
      const name = withoutIndices(one.name);
      const known = found.get(name);
      if (known) known.push(at);
      else found.set(name, [at]);
    });
    return found;
  }, [state.instances.length]);
  const waits = useMemo(() => {
    const found = new Map<string, { names: string[]; since: number }>();
    for (const one of state.instances.filter(isWaiting)) {
      // A port may have several conduits: only the one of the waiting instance is meant.
      const direction = one.state === "waiting to send" ? "to" : "from";
      const key = `${direction} ${withoutIndices(one.waits_for ?? "")} by ${withoutIndices(one.name)}`;
      const known = found.get(key) ?? { names: [], since: one.waits_from! };
      known.names.push(one.name);
      known.since = Math.min(known.since, one.waits_from!);
      found.set(key, known);
    }
    return found;
  }, [state.picture]);
  const knotted = knot(state.run);
  const dead = new Set(
    (state.run?.deadlock ?? []).flatMap((wait) =>
      wait.waits_for.map((port) => `${withoutIndices(port)} by ${withoutIndices(wait.instance)}`),
    ),
  );
  const now = state.now();
  const isLegible = (bounds: Box, what: string) =>
    (scale >= MIN_TEXT_SCALE && meet(bounds, seen)) || pointed === what;

  const shownArrow = (i: number): [string, () => VNode] => {
    const arrow = arrows[i]!;
    const waiting =
      waits.size > 0 ? (waits.get(`from ${arrow.receives}`) ?? waits.get(`to ${arrow.sends}`)) : undefined;
    const seconds = waiting ? (now - waiting.since) / 1000 : 0;
    const waited = waiting !== undefined && state.isLive && seconds >= 1;
    const inKnot = dead.size > 0 && (dead.has(arrow.receives) || dead.has(arrow.sends));
    const flags = `${waited} ${inKnot}`;
    if (!isLegible(arrow.bounds, `link ${i}`))
      return [
        flags,
        () => <ArrowLine key={i} at={i} arrow={arrow} waited={waited} inKnot={inKnot} words={null} />,
      ];
    const at = places.get(arrow.key);
    const conduit = at === undefined ? undefined : state.conduits[at];
    const rate = at === undefined ? null : state.rate(at);
    const who = waited
      ? waiting.names.length === 1
        ? waiting.names[0]
        : count(waiting.names.length, "instance")
      : "";
    const words = {
      text: conduit ? brief(conduit, rate) : "",
      waits: waited ? `${who} ${waiting.names.length === 1 ? "waits" : "wait"}, ${inSeconds(seconds)}` : "",
      label:
        (conduit ? told(conduit, rate) : arrow.name) +
        (waited ? `; ${some(waiting.names)} waiting for ${inSeconds(seconds)}` : ""),
    };
    return [
      `${flags} ${words.text};${words.waits};${words.label}`,
      () => <ArrowLine key={i} at={i} arrow={arrow} waited={waited} inKnot={inKnot} words={words} />,
    ];
  };
  const shownNode = (i: number): [string, () => VNode] => {
    const node = plan.nodes[i]!;
    const own = (members.get(node.name) ?? []).map((at) => state.instances[at]!);
    const matches = (one: Instance) => (search && one.name.includes(search) ? " found" : "");
    const kinds = own.map((one) => `${kind(one)}${matches(one)}`).join(",");
    const flags = {
      inKnot: knotted.size > 0 && own.some((one) => knotted.has(one.name)),
      chosen: chosen !== "" && withoutIndices(chosen) === node.name,
      legible: isLegible(node, `node ${i}`),
    };
    return [
      `${flags.inKnot} ${flags.chosen} ${flags.legible} ${kinds}`,
      () => <NodeBox key={i} at={i} node={node} instances={own} kinds={kinds} choose={choose} {...flags} />,
    ];
  };
  return (
    <g
      onPointerOver={(event) =>
        setPointed((event.target as Element).closest<SVGElement>("[data-at]")?.dataset.at ?? "")
      }
    >
      {lines.drawn(arrows.length, shownArrow)}
      {boxes.drawn(plan.nodes.length, shownNode)}
    </g>
  );
}
