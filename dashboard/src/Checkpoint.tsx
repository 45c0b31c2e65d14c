// The last checkpoint of the run, and the button that asks for one. The run does not stand still for it.

import type { Run, State } from "./state";
import type { Order } from "./steer";
import { inTime } from "./text";

/** The last checkpoint in words; empty if there is none. */
function last(run: Run): string {
  const saved = run.last_checkpoint;
  if (!saved) return "";
  const when =
    saved.model_time === undefined ? "at the end of the run" : `at model time ${inTime(saved.model_time)}`;
  return `Last checkpoint: ${saved.number}, ${when}, saved ${new Date(saved.saved).toLocaleTimeString()}.`;
}

export function Checkpoint({
  state,
  may,
  wants,
}: {
  state: State;
  may: boolean;
  wants: (order: Order) => Promise<boolean>;
}) {
  const run = state.run!;
  const text = last(run);
  if (!may && text === "") return null;
  return (
    <div
      class="looks"
      role="group"
      aria-label="Checkpoints"
      data-checkpoint={run.last_checkpoint?.number ?? ""}
    >
      {may && (
        <button type="button" onClick={() => void wants({ what: "checkpoint" })}>
          Save a checkpoint
        </button>
      )}
      <span class="quiet" role="status">
        {text || "No checkpoint is saved yet."}
      </span>
    </div>
  );
}
