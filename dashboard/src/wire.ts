// The types of the server's answers.
// Made from the sources: LIGAMENT_WRITE_PAGES=1 cargo test -p ligament-live --test page_types

/** The type of a setting. */
export type SettingType =
  | "str"
  | "int"
  | "float"
  | "bool"
  | "[int]"
  | "[float]"
  | "[[float]]";

/** The memory for messages that is in use, and its limit, both in bytes. */
export interface MessageMemory {
  used: number;
  limit: number;
}

/** The moment at which a code reads a setting. */
export type ReadingMoment =
  | "step"
  | "restart";

/** A setting that can be steered. */
export interface SteerableRecord {
  /** Full name of the setting, without indices, such as `macro.D`. */
  name: string;
  /** Type of the setting's values, as in yMMSL. */
  type: SettingType;
  min?: number;
  max?: number;
  unit?: string;
  apply: ReadingMoment;
  /** Present value, or the value that was agreed for a later time. `None` if the setting has no value, so
   *  that the code uses its default. */
  value?: string;
}

/** A change of the value of one setting. */
export interface SettingAssignment {
  name: string;
  /** Previous value. `None` if the setting had no value. */
  from?: string;
  to: string;
}

/** The state of a run. */
export type RunState =
  | "running"
  | "done"
  | "failed"
  | "stopped"
  | "interrupted";

/** The kind of a request to steer. */
export type SteeringVerb =
  | "set"
  | "pause"
  | "step"
  | "until"
  | "resume"
  | "stop"
  | "withdraw"
  | "checkpoint";

/** The progress of a change. */
export type ChangeState =
  | "asked"
  | "agreed"
  | "in force"
  | "refused";

/** A change that takes effect at a model time, and the progress of the change. */
export interface SteeringRecord {
  /** Number of the change. */
  change: number;
  who: string;
  /** Time of the request, RFC 3339, UTC. */
  asked: string;
  what: SteeringVerb;
  /** Settings that change. */
  settings?: SettingAssignment[];
  /** Model time from which on the change holds, in s: the requested time, or the time on which all ranks
   *  have agreed. */
  model_time?: number;
  /** Unit of the model time, if the model declares the unit. */
  time_unit?: string;
  /** True if the change holds from the next pass of the reuse loop on. False if the change holds from the
   *  next step on. */
  restart?: boolean;
  state: ChangeState;
  /** Reason of the refusal, if the change was refused. */
  reason?: string;
  /** Number of the checkpoint that was asked for, when it is whole. */
  checkpoint?: number;
}

/** A checkpoint of a run. */
export interface SavedCheckpoint {
  number: number;
  /** Its model time, in s. Absent if it was saved at the end. */
  model_time?: number;
  /** Time at which it was whole, RFC 3339, UTC. */
  saved: string;
}

/** The halt of a run. */
export interface HaltRecord {
  change: number;
  /** Model time of the halt, in s. */
  at: number;
  /** True if the run ends when all instances have halted. */
  stops?: boolean;
  /** Names of the instances that have halted. */
  held: string[];
  /** Names of the instances that have never called `steer(t)`, and therefore do not halt. */
  unsteered?: string[];
}

/** A wait that is part of a deadlock. */
export interface WaitRecord {
  instance: string;
  /** Awaited resource: `message`, `room` (room in a conduit, to send) or `memory`. */
  lack: string;
  /** Ports of the waiting instance, such as `micro.init`. */
  at: string[];
  /** Ports at the other ends of the conduits, in the same order. For a wait for memory: the instances
   *  that could free memory. */
  waits_for: string[];
  /** Instances to which the ports in `waits_for` belong, each listed once. */
  waits_on: string[];
  /** Duration of the wait so far, in s. */
  waits_since: number;
}

/** A domain of a run. */
export interface DomainRecord {
  /** Name of the domain, for people. */
  name: string;
  /** Name of the domain's machine. */
  host: string;
  /** Number of cores that the domain's instances may use. */
  cores: number;
  /** Process number of the domain's agent. */
  pid: number;
  /** Directory of the files of the domain's instances, if the run directory is not visible on the
   *  domain's machine. */
  scratch?: string;
  /** True if the domain's agent was lost before the run ended. */
  lost?: boolean;
}

/** The record of an instance. All durations and model times are in s. */
export interface InstanceRecord {
  name: string;
  state: string;
  /** Number of the instance's domain, if the run has several domains. The next field has the domain's
   *  name. */
  domain?: number;
  on?: string;
  pid: number | null;
  /** Cores of the instance, such as `0-3`. `None` if the instance shares all cores with other instances. */
  cores?: string;
  /** Description of the end of the instance's process. */
  exit: string | null;
  model_time: number | null;
  /** Model time at which the instance will be done, if the settings of the instance show this time. Only
   *  present while the run goes on. */
  model_end?: number;
  iterations: number;
  total: number;
  computing: number;
  waiting: number;
  transferring: number;
  sent_messages: number;
  sent_bytes: number;
  received_messages: number;
  received_bytes: number;
  /** Port for which the instance waits, such as `micro.final`, or another cause of the wait. */
  waits_for?: string;
  /** Duration of the present wait so far, in s. */
  waits_since?: number;
  /** Instances that could end the wait. Empty if any instance could end the wait. */
  waits_on?: string[];
  /** True if the wait has a time-out. */
  waits_with_timeout?: boolean;
  /** True if the instance's process is stopped by a signal or a debugger. */
  stopped?: boolean;
  /** Description of the rank of an MPI program that lags behind the other ranks. The next field has the
   *  duration of this lag, in s. */
  ranks?: string;
  ranks_since?: number;
}

/** A conduit and the traffic of all its channels. The names of the two ports have no indices. */
export interface ConduitRecord {
  from: string;
  to: string;
  /** Number of channels. */
  channels: number;
  /** Number of messages sent; the next field has the size of their bodies, in bytes. */
  messages: number;
  bytes: number;
  /** Latest timestamp that was sent, in s. */
  model_time: number | null;
  /** Number of messages received; the next two fields have their size in bytes and their latest timestamp
   *  in s. */
  received_messages: number;
  received_bytes: number;
  received_time: number | null;
  /** Number of messages that were sent and have not been received yet. */
  under_way: number;
}

/** A grid, and its component. */
export interface GridRecord {
  /** The component; the instance, if the blocks are its ranks. */
  component: string;
  /** Number of points along each axis. */
  shape: number[];
  /** Number of blocks along each axis. */
  blocks: number[];
  /** Names of the axes along which the grid goes on at its opposite edge. */
  periodic: string[];
  /** Names of the instances or ranks that are the blocks. The last axis runs fastest. */
  names: string[];
}

/** A conduit and the number of its messages that were not received. The names of the two ports have no
 *  indices. */
export interface UnreceivedRecord {
  from: string;
  to: string;
  messages: number;
}

/** A setting that no instance asked for. */
export interface UnusedSettingRecord {
  name: string;
  /** Name that the user perhaps meant. An instance has asked for a setting with this name. */
  meant?: string;
  /** True if the user gave the setting for this run. False if the setting is in the model. */
  given: boolean;
}

/** Names of ports by the name of their operator, such as `o_i: [call]`. */
export type PortsByOperator = Record<string, string[]>;

/** An entry of the log whose level is a warning or worse. */
export interface WarningRecord {
  /** Source of the entry: the name of an instance, `run` or `agent`. */
  who: string;
  text: string;
  /** Number of times that the entry was logged. */
  times: number;
}

/** The record of a run. */
export interface RunRecord {
  /** Version of this format, at present 1. */
  version: number;
  /** Version of Ligament that made the record. */
  ligament: string;
  /** Name of the run. */
  run: string;
  /** Name of the model. */
  model: string;
  /** Files from which the model was read. */
  model_files: string[];
  state: RunState;
  /** Reason of the failure, if the run has failed. */
  reason: string | null;
  /** Error code that belongs to the reason. */
  code?: string;
  /** Name of the instance that failed first. */
  failed?: string;
  /** Program of the instance that failed first, with its arguments, in the syntax of a shell. */
  failed_command?: string;
  /** Process number of the head, which is both manager and agent. */
  pid: number;
  /** Address of the agent's socket, in the form of `LIGAMENT_AGENT`. */
  agent: string | null;
  /** Name of the head's machine. */
  host: string;
  /** Number of cores of that machine that the run may use. 0 in the record of an older version. */
  cores: number;
  /** Unit of model times, if the model declares the unit. */
  time_unit?: string;
  /** Time at which the run began, in RFC 3339, UTC. */
  started: string;
  ended: string | null;
  /** Duration of the run, in s. */
  duration: number | null;
  /** Waits that form the deadlock. Empty if there was no deadlock. */
  deadlock?: WaitRecord[];
  /** Domains of the run by number, beginning with the head's domain. Empty if the run has only one
   *  domain. */
  domains?: DomainRecord[];
  /** Settings that can be steered. */
  steerable?: SteerableRecord[];
  /** Changes that clients have requested, in the order of the requests. */
  steering?: SteeringRecord[];
  /** Checkpoint from which the run resumed, such as `model-20261128@3`. */
  resumed_from?: string;
  /** The last checkpoint that is whole. */
  last_checkpoint?: SavedCheckpoint;
  /** True if the command that makes the run begins another one if this one fails. */
  may_be_continued?: boolean;
  /** Directory of the run that goes on from a checkpoint of this one, because this one failed. */
  continued_by?: string;
  /** Halt at which the instances have stopped, or will stop. */
  halt?: HaltRecord;
  /** Grids of the model. */
  grids?: GridRecord[];
  instances: InstanceRecord[];
  /** Traffic of each conduit. */
  conduits?: ConduitRecord[];
  /** Conduits of a successful run with messages that were sent and not received. */
  unreceived?: UnreceivedRecord[];
  /** Settings of a successful run that no instance asked for. */
  unasked_settings?: UnusedSettingRecord[];
  /** Ports that the code of a component declares, by component, for components whose ports the model does
   *  not declare. The ports have the form of a model file. */
  declared_ports?: Record<string, PortsByOperator>;
  /** Warnings of the log. Each text is stored once, up to a maximum number of different texts. */
  warnings?: WarningRecord[];
  /** Number of further warnings, whose texts are not stored. */
  more_warnings?: number;
}

/** The state of a run without its instances and conduits, which are sent one by one. */
export interface RunNews extends RunRecord {
  /** Memory for messages. Only present while the run goes on. */
  memory?: MessageMemory;
  /** The change on which ranks are being asked to agree. Only present while the run goes on. */
  agreeing?: OpenChange | null;
}

/** A change on which ranks are being asked to agree. */
export interface OpenChange {
  change: number;
  /** Number of ranks that have not accepted the change. */
  lacks: number;
  /** Names of the first of these ranks. */
  names: string[];
}

/** The news of an instance in addition to its record. Points in time are Unix times, in ms. */
export interface InstanceMoments {
  /** Ports on which the instance sends. Present from the time at which the instance has registered. */
  sends?: string[];
  /** Fields of a grid that the instance publishes; they are among the ports of `sends`. */
  publishes?: string[];
  /** Time at which the present wait of the instance began. */
  waits_from?: number;
  ranks_from?: number;
  /** Time at which the instance began its work. */
  began?: number;
  /** Duration of all waits except the present wait, in s. */
  waited?: number;
}

/** The states of a view. */
export type ViewState =
  | "beginning"
  | "live"
  | "over"
  | "lost"
  | "halted"
  | "silent"
  | "elsewhere"
  | "unreadable";

/** The state of the view, and the reason if no news come. */
export interface ViewNews {
  state: ViewState;
  why: string | null;
}

/** The role of a session. */
export type Role =
  | "look"
  | "steer";

/** The use of the machine by the process of an instance and by all that it has started. */
export interface InstanceUsage {
  /** Number of cores in use. `None` until there are two measurements. */
  cores: number | null;
  /** Resident memory, in bytes. */
  memory: number;
}

/** An entry of the journal about steering: a change, or another order. */
export interface HistoryEntry {
  /** RFC 3339, UTC. */
  at: string;
  /** Time since the run began, s. */
  after: number;
  change?: SteeringRecord;
  order?: string;
}

/** An evaluation that failed. */
export interface FailureRecord {
  evaluation: number;
  /** Its settings, such as `rate = 0.1`. */
  settings: string;
  why: string;
}

/** The state of a study. */
export interface ProgressRecord {
  format: string;
  evaluations: number;
  /** Evaluations with an answer, including failed ones. */
  answered: number;
  failed: number;
  instances: number;
  /** Instances that have not ended. */
  instances_left: number;
  /** Estimated time until all evaluations are answered, in s. `None` before the first answer. */
  remains?: number;
  /** Names of the parameters, in the order of `AnswerEntry::point`. */
  parameters: string[];
  /** Failures, up to a maximum number. */
  failures: FailureRecord[];
}

/** One answer: numbers in row-major order, and their shape (`[]` for a single number). */
export interface AnswerEntry {
  evaluation: number;
  /** Values of the parameters, as a table of points has them. */
  point: string[];
  shape: number[];
  values: number[];
}

/** A study of the run. */
export interface StudyView {
  /** The instance that runs the study. */
  instance: string;
  state: ProgressRecord;
  /** The latest answers, the oldest first. */
  answers: AnswerEntry[];
}

/** A picture of a surface. The bytes of the blocks follow after the answer. */
export interface SurfacePicture {
  /** Model time of all blocks. */
  timestamp: number | null;
  /** Time at which the picture was whole, by the clock of this machine: Unix time, in ms. */
  at: number;
  /** Unit of the field. */
  unit: string | null;
  /** Longest processor time that a block took for the picture, in ns. */
  cost_ns: number;
  /** Length of each block's bytes: of all blocks at the first level, then at the next level, and so on. */
  block_bytes: number[];
}

/** The answer to a browser that asks for a surface. */
export interface SurfaceAnswer {
  /** Number of the picture, which the browser sends with its next request. */
  frame: number;
  /** The reason why there is no picture. */
  why?: string;
  /** True if no picture will come any more. */
  over: boolean;
  picture?: SurfacePicture;
}

/** The news of an instance: its record, in which durations that grow are there only if it is over. */
export interface InstanceNews
  extends Omit<InstanceRecord, "total" | "computing" | "waiting">,
    Partial<Pick<InstanceRecord, "total" | "computing" | "waiting">>,
    InstanceMoments {}
