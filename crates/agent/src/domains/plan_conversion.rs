//! Converts the plan of a run, and the programs of its instances, to the types of the protocol between domains,
//! and back.

use crate::plan::{PlannedInstance, PlannedPort, RunPlan};
use ligament_catalogue::{fault, Fault};
use ligament_launch::NodeShare;
use ligament_model::{BaseEnv, ExecutionModel, Operator, Program, Reference, ResolvedModel, Resources};
use ligament_wire::control::CheckpointPlan;
use ligament_wire::domains as wire;
use ligament_wire::{DomainId, InstanceId};
use std::collections::HashMap;
use std::sync::Arc;

fn operator_name(operator: Operator) -> &'static str {
    match operator {
        Operator::None => "NONE",
        known => known.name(),
    }
}

/// The domains, directories and nodes where the instances of a run are started.
#[derive(Debug, Clone, Copy)]
pub struct Distribution<'a> {
    /// The domain of each instance.
    pub placement: &'a [DomainId],
    /// The directory of each instance's process, below the run directory.
    pub homes: &'a [String],
    /// For each instance that is spread over several nodes: these nodes.
    pub nodes: &'a HashMap<InstanceId, Vec<NodeShare>>,
}

/// Converts a run's plan to the types of the protocol. `model` is the model from which the plan was made.
pub fn plan_to_wire(plan: &RunPlan, model: &ResolvedModel, distribution: &Distribution<'_>) -> wire::RunPlan {
    let &Distribution { placement, homes, nodes } = distribution;
    let mut lists: HashMap<*const PlannedPort, u32> = HashMap::new();
    let mut ports = Vec::new();
    let mut instances = Vec::with_capacity(plan.instances.len());
    for (i, instance) in plan.instances.iter().enumerate() {
        let list = *lists.entry(instance.ports.as_ptr()).or_insert_with(|| {
            ports.push(instance.ports.iter().map(port_to_wire).collect());
            ports.len() as u32 - 1
        });
        instances.push(wire::Instance {
            name: instance.name.clone(),
            domain: placement[i],
            ports: list,
            program: model.instances[i].program,
            resources: resources_to_wire(model.instances[i].resources),
            shares: instance.shares,
            log_level: instance.log_level,
            by_hand: instance.by_hand,
            home: homes[i].clone(),
            ranks: instance.ranks,
            nodes: nodes.get(&InstanceId::at(i)).map(|nodes| nodes.iter().map(node_to_wire).collect()),
            may_fail: instance.may_fail.then_some(true),
            clock: instance.clock,
            grid: instance.grid.clone(),
            is_saved: instance.checkpoints.is_some().then_some(true),
            resume: instance.checkpoints.as_ref().and_then(|checkpoints| checkpoints.resume.clone()),
            had_ended: None,
        });
    }
    wire::RunPlan {
        run: plan.run.clone(),
        instances,
        ports,
        channels: plan.channels.clone(),
        programs: model.programs.iter().map(program_to_wire).collect(),
        settings: plan.settings.clone(),
        memory: plan.memory,
        pinned_limit: plan.pinned_limit,
        timeline: plan.timeline,
        schedule: (!plan.schedule.is_empty()).then(|| plan.schedule.clone()),
        filters: (!plan.filters.is_empty()).then(|| plan.filters.clone()),
        checkpoints: plan
            .instances
            .iter()
            .find_map(|instance| instance.checkpoints.as_ref())
            .map(|checkpoints| CheckpointPlan { resume: None, ..checkpoints.clone() }),
    }
}

/// Converts a plan that the protocol has checked. Returns the plan and the domain of each instance.
pub fn plan_from_wire(told: &wire::RunPlan) -> (RunPlan, Vec<DomainId>) {
    let lists: Vec<Arc<[PlannedPort]>> =
        told.ports.iter().map(|ports| ports.iter().map(port_from_wire).collect()).collect();
    let is_mpi = |program: Option<u32>| {
        let program = program.and_then(|program| told.programs.get(program as usize));
        program
            .and_then(|program| ExecutionModel::from_name(&program.execution_model))
            .is_some_and(ExecutionModel::is_mpi)
    };
    let instance = |instance: &wire::Instance| PlannedInstance {
        name: instance.name.clone(),
        ports: lists[instance.ports as usize].clone(),
        by_hand: instance.by_hand,
        shares: instance.shares,
        elsewhere: false,
        log_level: instance.log_level,
        cores: resources_from_wire(instance.resources).cores_on_node(),
        ranks: instance.ranks,
        together: instance.ranks.is_some() && is_mpi(instance.program),
        may_fail: instance.may_fail == Some(true),
        clock: instance.clock,
        grid: instance.grid.clone(),
        checkpoints: checkpoints_of(told, instance),
        // Recordings of several domains are refused when the run begins.
        recording: None,
        had_ended: false,
    };
    let plan = RunPlan {
        run: told.run.clone(),
        instances: told.instances.iter().map(instance).collect(),
        channels: told.channels.clone(),
        settings: told.settings.clone(),
        memory: told.memory,
        pinned_limit: told.pinned_limit,
        timeline: told.timeline,
        schedule: told.schedule.clone().unwrap_or_default(),
        filters: told.filters.clone().unwrap_or_default(),
    };
    (plan, told.instances.iter().map(|instance| instance.domain).collect())
}

fn checkpoints_of(told: &wire::RunPlan, instance: &wire::Instance) -> Option<CheckpointPlan> {
    let plan = told.checkpoints.as_ref().filter(|_| instance.is_saved == Some(true))?;
    Some(CheckpointPlan { resume: instance.resume.clone(), ..plan.clone() })
}

fn port_to_wire(port: &PlannedPort) -> wire::Port {
    wire::Port {
        name: port.name.to_string(),
        operator: operator_name(port.operator).to_owned(),
        sends: port.sends,
        vector: port.vector,
        length: port.length,
        connected: port.connected,
        resizable: port.resizable,
        implicit: port.implicit,
        array: port.array.as_deref().map(<[u64]>::to_vec),
        clock: port.clock,
    }
}

fn port_from_wire(port: &wire::Port) -> PlannedPort {
    PlannedPort {
        name: port.name.as_str().into(),
        operator: Operator::from_name(&port.operator).unwrap_or(Operator::None),
        sends: port.sends,
        vector: port.vector,
        length: port.length,
        connected: port.connected,
        resizable: port.resizable,
        implicit: port.implicit,
        array: port.array.as_deref().map(Arc::from),
        clock: port.clock,
    }
}

fn program_to_wire(program: &Program) -> wire::Program {
    let file = program.at.file.as_deref().map(|file| {
        let full = std::path::absolute(file).unwrap_or_else(|_| file.into());
        full.to_string_lossy().into_owned()
    });
    wire::Program {
        name: program.name.to_string(),
        base_env: program.base_env.name().to_owned(),
        modules: program.modules.clone(),
        virtual_env: program.virtual_env.clone(),
        environment: program.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        execution_model: program.execution_model.name().to_owned(),
        executable: program.executable.clone(),
        arguments: program.args.clone(),
        script: program.script.clone(),
        file,
        mpirun: program.mpirun.clone(),
    }
}

/// Converts the program of an instance.
///
/// # Errors
/// Returns an error if the program contains words that this version does not know.
pub fn program_from_wire(told: &wire::Program) -> Result<Program, Fault> {
    let unknown = |what: &str, word: &str| {
        fault!(
            OTHER_VERSION_ELSEWHERE,
            "the program {} has the {what} \"{word}\", which this Ligament ({}) does not know; install \
                the same version everywhere",
            told.name,
            env!("CARGO_PKG_VERSION")
        )
    };
    let name = Reference::new(&told.name).map_err(|error| {
        fault!(OTHER_VERSION_ELSEWHERE, "a program of the run cannot be called {:?}: {error}", told.name)
    })?;
    let mut program = Program::new(name);
    program.base_env = BaseEnv::from_name(&told.base_env).ok_or_else(|| unknown("base_env", &told.base_env))?;
    program.execution_model = ExecutionModel::from_name(&told.execution_model)
        .ok_or_else(|| unknown("execution_model", &told.execution_model))?;
    program.modules.clone_from(&told.modules);
    program.virtual_env.clone_from(&told.virtual_env);
    program.env = told.environment.iter().cloned().collect();
    program.executable.clone_from(&told.executable);
    program.args.clone_from(&told.arguments);
    program.script.clone_from(&told.script);
    program.mpirun.clone_from(&told.mpirun);
    program.at.file = told.file.as_deref().map(Into::into);
    Ok(program)
}

fn node_to_wire(node: &NodeShare) -> (String, u32) {
    (node.name.clone(), node.processes)
}

/// Returns the nodes over which an instance's MPI processes are spread.
pub fn nodes_from_wire(told: &wire::Instance) -> Vec<NodeShare> {
    let node = |(name, processes): &(String, u32)| NodeShare { name: name.clone(), processes: *processes };
    told.nodes.iter().flatten().map(node).collect()
}

fn resources_to_wire(resources: Resources) -> wire::Resources {
    match resources {
        Resources::Threads { threads } => wire::Resources::Threads(threads as u64),
        Resources::MpiProcesses { mpi_processes, threads_per_mpi_process } => {
            wire::Resources::MpiProcesses(mpi_processes as u64, threads_per_mpi_process as u64)
        }
        Resources::MpiNodes { nodes, mpi_processes_per_node, threads_per_mpi_process } => {
            wire::Resources::MpiNodes(
                nodes as u64,
                mpi_processes_per_node as u64,
                threads_per_mpi_process as u64,
            )
        }
    }
}

/// Converts the number of cores that an instance needs.
pub fn resources_from_wire(told: wire::Resources) -> Resources {
    let number = |told: u64| usize::try_from(told).unwrap_or(usize::MAX);
    match told {
        wire::Resources::Threads(threads) => Resources::Threads { threads: number(threads) },
        wire::Resources::MpiProcesses(processes, threads) => Resources::MpiProcesses {
            mpi_processes: number(processes),
            threads_per_mpi_process: number(threads),
        },
        wire::Resources::MpiNodes(nodes, processes, threads) => Resources::MpiNodes {
            nodes: number(nodes),
            mpi_processes_per_node: number(processes),
            threads_per_mpi_process: number(threads),
        },
    }
}
