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

/** Memory for messages, bytes. */
export interface MessageMemory {
  used: number;
  limit: number;
}

/** The moments at which a code reads a setting. */
export type ReadingMoment =
  | "step"
  | "restart";

/** A setting that can be steered. */
export interface SteerableRecord {
  /** Its full name, without indices, such as `macro.D`. */
  name: string;
  /** The type of its values, as in yMMSL. */
  type: SettingType;
  min?: number;
  max?: number;
  unit?: string;
  apply: ReadingMoment;
  /** The present value, or the agreed future one; `None`: the setting is not set, and the code uses its
   *  default. */
  value?: string;
}

/** A setting that changes. */
export interface SettingAssignment {
  name: string;
  /** `None`: it was not set. */
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

/** The word for a request to steer. */
export type SteeringVerb =
  | "set"
  | "pause"
  | "step"
  | "until"
  | "resume"
  | "stop"
  | "withdraw";

/** The progress of a change. */
export type ChangeState =
  | "asked"
  | "agreed"
  | "in force"
  | "refused";

/** A change at a model time, and its progress. */
export interface SteeringRecord {
  /** The number of the change. */
  change: number;
  who: string;
  /** Time of the request, RFC 3339, UTC. */
  asked: string;
  what: SteeringVerb;
  /** The settings that change. */
  settings?: SettingAssignment[];
  /** The model time from which on it holds: as requested, or as all ranks have agreed. */
  model_time?: number;
  /** The unit of the model time, if the model declares it. */
  time_unit?: string;
  /** True if it holds from the next pass of the reuse loop on, instead of the next step. */
  restart?: boolean;
  state: ChangeState;
  /** The reason of a refusal. */
  reason?: string;
}

/** The halt of a run. */
export interface HaltRecord {
  change: number;
  /** The model time, s. */
  at: number;
  /** True if the run ends when all instances have halted. */
  stops?: boolean;
  /** The instances that have halted. */
  held: string[];
  /** The instances that have never called `steer(t)`, and so do not halt. */
  unsteered?: string[];
}

/** A wait in a deadlock. */
export interface WaitRecord {
  instance: string;
  /** The awaited resource: `message`, `room` (to send) or `memory`. */
  lack: string;
  /** The instance's own ports, such as `micro.init`. */
  at: string[];
  /** The ports at the other ends, in the same order; for memory, the instances that could free some. */
  waits_for: string[];
  /** The instances of those ports, each once. */
  waits_on: string[];
  /** Duration so far, s. */
  waits_since: number;
}

/** A domain of a run. */
export interface DomainRecord {
  /** The domain's name, for people. */
  name: string;
  /** The machine's name. */
  host: string;
  /** Number of cores that its instances may use. */
  cores: number;
  /** The process of its agent. */
  pid: number;
  /** The directory of its instances' files, if the run directory was not visible there. */
  scratch?: string;
}

/** An instance in the record. Times in s. */
export interface InstanceRecord {
  name: string;
  state: string;
  /** The number and the name of its domain, if the run has several. */
  domain?: number;
  on?: string;
  pid: number | null;
  /** Its own cores, such as `0-3`; `None` if it shares all of them with others. */
  cores?: string;
  /** A description of its process's end. */
  exit: string | null;
  model_time: number | null;
  /** The model time at which it will be done, if its settings say that; only while the run goes on. */
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
  /** The port for which it waits, such as `micro.final`, or another cause of the wait. */
  waits_for?: string;
  /** Duration of the wait so far, s. */
  waits_since?: number;
  /** The instances that could end the wait; empty if any could. */
  waits_on?: string[];
  /** True if the wait has a time-out. */
  waits_with_timeout?: boolean;
  /** True if its process is stopped, by a signal or a debugger. */
  stopped?: boolean;
  /** Of an MPI program, a description of the rank that lags behind, and for how long, s. */
  ranks?: string;
  ranks_since?: number;
}

/** A conduit, from port to port without indices, and the traffic of all of its channels. */
export interface ConduitRecord {
  from: string;
  to: string;
  /** Number of channels. */
  channels: number;
  /** Messages sent, and the size of their bodies in bytes. */
  messages: number;
  bytes: number;
  /** The latest timestamp that was sent, s. */
  model_time: number | null;
  /** Messages received, their size, and their latest timestamp. */
  received_messages: number;
  received_bytes: number;
  received_time: number | null;
  /** Messages that were sent and are not received yet. */
  under_way: number;
}

/** A conduit, from port to port without indices, and the number of its messages that were not received. */
export interface UnreceivedRecord {
  from: string;
  to: string;
  messages: number;
}

/** A setting that no instance asked for. */
export interface UnusedSettingRecord {
  name: string;
  /** The name that was perhaps meant: an instance asked for it. */
  meant?: string;
  /** True if the setting was given for this run, instead of in the model. */
  given: boolean;
}

/** Names of ports by the names of their operators, such as `o_i: [call]`. */
export type PortsByOperator = Record<string, string[]>;

/** A warning, or worse, in the log. */
export interface WarningRecord {
  /** An instance, `run` or `agent`. */
  who: string;
  text: string;
  /** Number of times that it was logged. */
  times: number;
}

/** The record of a run. */
export interface RunRecord {
  /** Version of this format: 1. */
  version: number;
  /** The version of Ligament. */
  ligament: string;
  /** The run's name. */
  run: string;
  /** The name of the model. */
  model: string;
  /** The files from which the model was read. */
  model_files: string[];
  state: RunState;
  /** The reason of a failure. */
  reason: string | null;
  /** The error code that explains the reason. */
  code?: string;
  /** The instance that failed first. */
  failed?: string;
  /** The program of that instance, with its arguments, in the syntax of a shell. */
  failed_command?: string;
  /** The process of manager and agent. */
  pid: number;
  /** The agent's socket, in the form of `LIGAMENT_AGENT`. */
  agent: string | null;
  /** The machine's name. */
  host: string;
  /** Number of its cores that the run may use; 0 in the record of an older version. */
  cores: number;
  /** The unit of model times, if the model declares it. */
  time_unit?: string;
  /** RFC 3339, UTC. */
  started: string;
  ended: string | null;
  /** s */
  duration: number | null;
  /** The waits of a deadlock; empty if there was none. */
  deadlock?: WaitRecord[];
  /** The domains of the run by number, the head's first; empty if there is one only. */
  domains?: DomainRecord[];
  /** The settings that can be steered. */
  steerable?: SteerableRecord[];
  /** The changes that were asked for, in the order of the requests. */
  steering?: SteeringRecord[];
  /** The halt at which the run stands still, or will. */
  halt?: HaltRecord;
  instances: InstanceRecord[];
  /** The traffic of each conduit. */
  conduits?: ConduitRecord[];
  /** Of a successful run, messages that were sent and not received. */
  unreceived?: UnreceivedRecord[];
  /** Of a successful run, settings that no instance asked for. */
  unasked_settings?: UnusedSettingRecord[];
  /** For components whose ports the model does not declare, the ports that their code declares, in the form
   *  of a model file. */
  declared_ports?: Record<string, PortsByOperator>;
  /** The warnings of the log, each text once; the first ones only. */
  warnings?: WarningRecord[];
  /** Number of further warnings. */
  more_warnings?: number;
}

/** A run, without its instances and conduits, which are told one by one. */
export interface RunNews extends RunRecord {
  /** The memory of messages, while the run goes on. */
  memory?: MessageMemory;
  /** The change that is being agreed on, while the run goes on. */
  agreeing?: OpenChange | null;
}

/** A change that is being agreed on. */
export interface OpenChange {
  change: number;
  /** Number of ranks that have not accepted it. */
  lacks: number;
  /** The first of those ranks. */
  names: string[];
}

/** The news of an instance beside its record. Moments are Unix times, ms. */
export interface InstanceMoments {
  /** The ports on which it sends, once it takes part. */
  sends?: string[];
  /** The beginning of its present wait. */
  waits_from?: number;
  ranks_from?: number;
  /** The beginning of its work. */
  began?: number;
  /** Duration of all waits but the present one, s. */
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

/** The state of the view, and the reason if nothing new comes. */
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
  /** `None` until two observations show it. */
  cores: number | null;
  /** Resident, bytes. */
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
  /** Evaluations with an answer, and those that failed. */
  answered: number;
  failed: number;
  instances: number;
  /** Instances that have not ended. */
  instances_left: number;
  /** Time until all are answered, s; `None` before the first answer. */
  remains?: number;
  /** The names of the parameters, in the order of an answer's `point`. */
  parameters: string[];
  /** The first failures. */
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
  /** The instance that makes it. */
  instance: string;
  state: ProgressRecord;
  /** The latest answers, the oldest first. */
  answers: AnswerEntry[];
}

/** The news of an instance: its record, in which durations that grow are there only if it is over. */
export interface InstanceNews
  extends Omit<InstanceRecord, "total" | "computing" | "waiting">,
    Partial<Pick<InstanceRecord, "total" | "computing" | "waiting">>,
    InstanceMoments {}
