// All instances and conduits as tables, with the content of the picture, for reading, searching and screen
// readers.

import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import type { PanelProps } from "./App";
import { Sight } from "./Sight";
import type { Conduit, Instance, State, Usage } from "./state";
import { isWaiting } from "./waits";
import { inBytes, inCount, inRate, inSeconds, inTime, withoutIndices } from "./text";

/** Maximum number of rows that are shown at a time. */
const PAGE_ROWS = 100;

/** States in which an instance has no process any more. */
const ENDED_STATES = ["not started", "done", "failed", "stopped"];

/** A number that sorts instances by urgency: failed ones first, then those that wait longest. */
function urgency(one: Instance): number {
  if (one.state === "failed") return -1e15;
  if (one.stopped) return -1e14;
  return isWaiting(one) ? one.waits_from! - 1e13 : 0;
}

function waitsFor(one: Instance): string {
  if (one.state === "held") return one.waits_for ?? "";
  if (!isWaiting(one) || !one.waits_for) return "";
  return one.state === "waiting to send" ? `room at ${one.waits_for}` : one.waits_for;
}

const InstanceRow = memo(function InstanceRow({
  one,
  since,
  usage,
}: {
  one: Instance;
  since: string;
  usage: Usage | undefined;
}) {
  return (
    <tr data-instance={one.name}>
      <th scope="row">{one.name}</th>
      <td class={`word ${one.stopped && one.state !== "stopped" ? "halted" : one.state.replace(/ .*/, "")}`}>
        {one.stopped && one.state !== "stopped" ? `${one.state}; its process is stopped` : one.state}
        {one.state === "failed" && one.exit && `: ${one.exit}`}
      </td>
      <td>{waitsFor(one)}</td>
      <td>{since}</td>
      <td class="number">{inTime(one.model_time)}</td>
      <td class="number" data-sent={one.sent_messages}>
        {inCount(one.sent_messages)}, {inBytes(one.sent_bytes)}
      </td>
      <td class="number" data-received={one.received_messages}>
        {inCount(one.received_messages)}, {inBytes(one.received_bytes)}
      </td>
      <td class="number" data-cores={usage?.cores ?? ""}>
        {usage && usage.cores !== null ? usage.cores.toFixed(2) : ""}
      </td>
      <td class="number" data-memory={usage?.memory ?? ""}>
        {usage ? inBytes(usage.memory) : ""}
      </td>
      <td class="quiet">
        {one.on ? `${one.on} ` : ""}
        {one.pid ? `process ${one.pid}` : ""}
      </td>
    </tr>
  );
});

/** The rates of a row, as texts that can be compared. */
const ConduitRow = memo(function ConduitRow({
  one,
  messages,
  bytes,
}: {
  one: Conduit;
  messages: string;
  bytes: string;
}) {
  return (
    <tr data-conduit={`${one.from} ${one.to}`}>
      <th scope="row">{one.from}</th>
      <td>{one.to}</td>
      <td class="number" data-messages={one.messages}>
        {inCount(one.messages)}
      </td>
      <td class="number">{messages}</td>
      <td class="number" data-bytes={one.bytes}>
        {inBytes(one.bytes)}
      </td>
      <td class="number">{bytes}</td>
      <td class="number" data-under-way={one.under_way}>
        {inCount(one.under_way)}
      </td>
      <td class="number">{inTime(one.model_time)}</td>
    </tr>
  );
});

function Instances({ state, search, chosen, choose }: PanelProps) {
  const [most, setMost] = useState(PAGE_ROWS);
  const component = withoutIndices(chosen);
  const found = state.instances
    .filter((one) => one.name.includes(search))
    .filter(
      (one) =>
        !chosen || one.name === chosen || (chosen === component && withoutIndices(one.name) === component),
    )
    .sort((one, other) => urgency(one) - urgency(other));
  const now = state.now();
  const since = (one: Instance) =>
    isWaiting(one) || (one.state === "held" && one.waits_from) ? inSeconds((now - one.waits_from!) / 1000) : "";
  // An instance that has ended uses nothing.
  const usageOf = (one: Instance) =>
    state.isLive && !ENDED_STATES.includes(one.state) ? state.usage.get(one.name) : undefined;
  return (
    <>
      <div class="bar">
        <h2 id="tables-title">Instances</h2>
        <p role="status" class="quiet">
          {inCount(found.length)} of {inCount(state.instances.length)}
          {chosen && `, of ${chosen}`}
        </p>
        {chosen && (
          <button type="button" onClick={() => choose("")}>
            Show all
          </button>
        )}
      </div>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Instance</th>
              <th scope="col">State</th>
              <th scope="col">Waits for</th>
              <th scope="col">Since</th>
              <th scope="col">Model time</th>
              <th scope="col">Sent</th>
              <th scope="col">Received</th>
              <th scope="col" title="Cores that its process and all that it has started use">
                Cores
              </th>
              <th scope="col" title="Memory of these, shared parts counted for each">
                Memory
              </th>
              <th scope="col">Where</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, most).map((one) => (
              <InstanceRow key={one.name} one={one} since={since(one)} usage={usageOf(one)} />
            ))}
          </tbody>
        </table>
        <More left={found.length - most} show={() => setMost(most + PAGE_ROWS)} />
      </div>
    </>
  );
}

function Conduits({ state }: { state: State }) {
  const [most, setMost] = useState(PAGE_ROWS);
  return (
    <>
      <h3 id="conduits-title">Conduits</h3>
      <div class="scroll">
        <table aria-labelledby="conduits-title">
          <thead>
            <tr>
              <th scope="col">From</th>
              <th scope="col">To</th>
              <th scope="col">Messages</th>
              <th scope="col">a second</th>
              <th scope="col">Bytes</th>
              <th scope="col">a second</th>
              <th scope="col">Under way</th>
              <th scope="col">Last timestamp</th>
            </tr>
          </thead>
          <tbody>
            {state.conduits.slice(0, most).map((one, i) => {
              const rate = state.rate(i);
              return (
                <ConduitRow
                  key={i}
                  one={one}
                  messages={rate ? inRate(rate.messages) : "–"}
                  bytes={rate ? inBytes(rate.bytes) : "–"}
                />
              );
            })}
          </tbody>
        </table>
        <More left={state.conduits.length - most} show={() => setMost(most + PAGE_ROWS)} />
      </div>
    </>
  );
}

function More({ left, show }: { left: number; show: () => void }) {
  if (left <= 0) return null;
  return (
    <button type="button" onClick={show}>
      {inCount(left)} more
    </button>
  );
}

export function Tables(shared: PanelProps) {
  const { state, search, chosen } = shared;
  return (
    <section id="tables" aria-labelledby="tables-title">
      <Sight state={state} asked={[search, chosen]}>
        <Instances {...shared} />
      </Sight>
      <Sight state={state} asked={[]}>
        <Conduits state={state} />
      </Sight>
    </section>
  );
}
