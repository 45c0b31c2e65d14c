//! Assigns each instance a domain and cores in that domain, according to the needs of the instances and the
//! capacities of the nodes. The assignment is a pure function. `ligament submit` uses it too, to find the
//! number of nodes that a model needs.

use ligament_catalogue::{fault, Fault};
use ligament_model::{LigamentOptions, ResolvedModel, Resources};
use ligament_wire::{DomainId, InstanceId};
use std::collections::HashMap;
use std::fmt::Write;

/// The capacity of a domain. The number of a domain is its index in a list of capacities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainCapacity {
    /// The machine's name.
    pub name: String,
    /// Number of cores that the run may use on the machine.
    pub cores: u32,
    /// Number of these cores that are reserved for the agent.
    pub reserved: u32,
    /// The site of the machine, in a run over several sites.
    pub site: Option<String>,
}

impl DomainCapacity {
    /// Returns the number of cores for instances.
    pub fn free(&self) -> u32 {
        self.cores.saturating_sub(self.reserved)
    }
}

/// Returns the number of a machine's cores that are reserved for its agent. This is the user's choice.
/// Without a choice, it is one if the machine has four or more cores, and otherwise none.
pub fn reserved(agent_cores: Option<u32>, cores: u32) -> u32 {
    agent_cores.unwrap_or(u32::from(cores >= 4))
}

/// The needs of an instance, or of several instances that share one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceNeed {
    /// The name of the instance, for errors.
    pub name: String,
    pub instances: Vec<InstanceId>,
    pub resources: Resources,
    /// The required domain: the user's choice, or the only domain that can start the instance.
    pub fixed: Option<DomainId>,
    /// The required site, in a run over several sites; ignored if `fixed` is set.
    pub site: Option<String>,
    /// True if all MPI processes must be in one domain, because each rank is a rank of the run and all
    /// ranks of an instance share an agent.
    pub whole: bool,
}

/// Options of the placement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlacementOptions {
    /// Place each instance in the emptiest domain, instead of filling one domain after the other.
    pub spread: bool,
    /// True if a domain may get more instances than it has cores for, when no other domain has room.
    pub overcommit: bool,
}

impl PlacementOptions {
    /// Returns the options of a model. By default, all domains are used, and none is overcommitted.
    pub fn of(options: &LigamentOptions) -> PlacementOptions {
        PlacementOptions {
            spread: options.spread.unwrap_or(true),
            overcommit: options.overcommit.unwrap_or(false),
        }
    }
}

/// A placement of all instances.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// The domain of each instance.
    pub domains: Vec<DomainId>,
    /// The cores of each instance, as lists of core indices by domain; the instance's own domain is first.
    /// An index counts the cores of the domain's process, from 0. A list is empty if the domain has more
    /// instances than cores, so that no instance can be pinned.
    pub cores: Vec<Vec<(DomainId, Vec<u32>)>>,
    /// For an instance whose MPI processes are spread over several domains: the number of processes in each
    /// domain, with the instance's own domain first. Empty for other instances.
    pub processes: Vec<Vec<(DomainId, u32)>>,
    /// Domains that have more instances than cores.
    pub overcommitted: Vec<DomainId>,
}

/// The user's choice of a place for an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PlacementTarget {
    Domain(DomainId),
    Site(String),
}

/// Returns the needs of a model's instances. `fixed` returns the required domain of an instance that can be
/// started only in that domain. In a run over several sites, an instance without a choice goes to the first
/// site, so that no instance ends up behind a slow link by chance.
///
/// # Errors
/// The model places an instance in a domain that does not exist, or in another domain than the required
/// one.
pub fn needs(
    model: &ResolvedModel,
    rooms: &[DomainCapacity],
    fixed: &dyn Fn(InstanceId) -> Option<DomainId>,
) -> Result<Vec<ResourceNeed>, Fault> {
    let mut word: HashMap<String, PlacementTarget> = HashMap::new();
    for (name, place) in &model.ligament.place {
        let domain = domain_named(&place.domain, rooms)
            .map_err(|why| why.told(|why| format!("{}\"{name}\" is placed in {why}", at_line(&place.at))))?;
        word.insert(name.to_string(), domain);
    }
    let mut needs: Vec<ResourceNeed> = Vec::new();
    let mut light: HashMap<String, usize> = HashMap::new();
    for (i, instance) in model.instances.iter().enumerate() {
        let (i, name) = (InstanceId::at(i), instance.name.to_string());
        let component = model.components[instance.component as usize].name.to_string();
        let (wanted, site) = match word.get(&name).or_else(|| word.get(&component)) {
            Some(PlacementTarget::Domain(domain)) => (Some(*domain), None),
            Some(PlacementTarget::Site(site)) => (None, Some(site.clone())),
            None => (None, None),
        };
        let must = fixed(i);
        if let (Some(site), Some(must)) = (&site, must) {
            return Err(fault!(
                PLACED_APART,
                "{name} is placed at the site {site}, but can only be started in the domain {must}, where the \
                run was begun; take it out of \"place:\""
            ));
        }
        if let (Some(wanted), Some(must)) = (wanted, must) {
            if wanted != must {
                return Err(fault!(
                    PLACED_APART,
                    "{name} is placed in the domain {wanted}, but can only be started in the domain {must}, \
                    where the run was begun; take it out of \"place:\""
                ));
            }
        }
        let (program, resources) = (model.light_program(i.number()), instance.resources);
        if let Some(at) = program.and_then(|program| light.get(&program.to_string())) {
            let need: &mut ResourceNeed = &mut needs[*at];
            let wanted = must.or(wanted);
            let apart = |one: bool, same: bool| one && !same;
            if apart(wanted.is_some() && need.fixed.is_some(), wanted == need.fixed)
                || apart(site.is_some() && need.site.is_some(), site == need.site)
            {
                return Err(fault!(
                    PLACED_APART,
                    "{name} is placed elsewhere than {}, and both are run by one process, since their program \
                    is light; place them together, or take the program out of \"light:\"",
                    need.name
                ));
            }
            need.fixed = need.fixed.or(wanted);
            need.site = need.site.take().or(site);
            need.instances.push(i);
            need.whole |= instance.ranks.is_some();
            if resources.cores_on_node() > need.resources.cores_on_node() {
                need.resources = resources;
            }
            continue;
        }
        if let Some(program) = program {
            light.insert(program.to_string(), needs.len());
        }
        let whole = instance.ranks.is_some();
        needs.push(ResourceNeed { name, instances: vec![i], resources, fixed: must.or(wanted), site, whole });
    }
    if let Some(first) = rooms.iter().find_map(|room| room.site.as_ref()) {
        for need in needs.iter_mut().filter(|need| need.fixed.is_none()) {
            need.site.get_or_insert_with(|| first.clone());
        }
    }
    Ok(needs)
}

fn at_line(at: &ligament_model::At) -> String {
    match at.line {
        0 => String::new(),
        _ => format!("{at}: "),
    }
}

/// Returns the site of this name, or the domain with this number or machine name.
fn domain_named(name: &str, rooms: &[DomainCapacity]) -> Result<PlacementTarget, Fault> {
    if rooms.iter().any(|room| room.site.as_deref() == Some(name)) {
        return Ok(PlacementTarget::Site(name.to_owned()));
    }
    if let Some(number) = name.parse::<usize>().ok().filter(|number| *number < rooms.len()) {
        return Ok(PlacementTarget::Domain(DomainId::at(number)));
    }
    if let Some(found) = rooms.iter().position(|room| room.name == name) {
        return Ok(PlacementTarget::Domain(DomainId::at(found)));
    }
    let known: Vec<String> = rooms.iter().enumerate().map(|(i, room)| format!("{i} ({})", room.name)).collect();
    Err(fault!(DOMAIN_UNKNOWN, "the domain \"{name}\", and there is none; there is {}", known.join(", ")))
}

/// Places all instances. Instances with a required domain come first, then instances that need whole nodes,
/// then the other instances in their order. If that fails, the other instances are placed with the largest
/// first. The same input gives the same result.
///
/// # Errors
/// An instance does not fit. The error has its needs and the capacities.
pub fn place(
    needs: &[ResourceNeed],
    rooms: &[DomainCapacity],
    options: PlacementOptions,
) -> Result<Placement, Fault> {
    if rooms.is_empty() {
        return Err(fault!(NO_ROOM, "there is no domain to place instances in; give at least one host"));
    }
    let order = |need: &ResourceNeed| match need.resources {
        _ if need.fixed.is_some() => 0,
        Resources::MpiNodes { .. } => 1,
        _ => 2,
    };
    let mut in_order: Vec<usize> = (0..needs.len()).collect();
    in_order.sort_by_key(|&i| order(&needs[i]));
    let mut largest_first = in_order.clone();
    largest_first.sort_by_key(|&i| (order(&needs[i]), std::cmp::Reverse(needs[i].resources.cores_on_node())));
    let exact = |spread| PlacementOptions { spread, overcommit: false };
    attempt(needs, rooms, &in_order, exact(options.spread))
        .or_else(|error| attempt(needs, rooms, &largest_first, exact(options.spread)).map_err(|_| error))
        // Spreading small instances widely can leave no room for large ones.
        .or_else(|error| attempt(needs, rooms, &largest_first, exact(false)).map_err(|_| error))
        .or_else(
            |error| if options.overcommit { attempt(needs, rooms, &in_order, options) } else { Err(error) },
        )
}

/// The cores that have been assigned so far.
struct CoreUsage<'a> {
    rooms: &'a [DomainCapacity],
    /// For each domain, the number of assigned cores.
    used: Vec<u32>,
}

impl CoreUsage<'_> {
    fn left(&self, domain: usize) -> u32 {
        self.rooms[domain].free().saturating_sub(self.used[domain])
    }

    /// Assigns cores of a domain. Returns their indices, or none if there are too few.
    fn take(&mut self, domain: usize, cores: u32) -> (DomainId, Vec<u32>) {
        let room = &self.rooms[domain];
        let first = room.reserved.min(room.cores).saturating_add(self.used[domain]);
        let given = if cores <= self.left(domain) { (first..first + cores).collect() } else { Vec::new() };
        self.used[domain] = self.used[domain].saturating_add(cores);
        (DomainId::at(domain), given)
    }

    /// Returns the domains in which an instance may be placed.
    fn allowed<'s>(&'s self, need: &'s ResourceNeed) -> impl DoubleEndedIterator<Item = usize> + 's {
        (0..self.rooms.len()).filter(|&domain| need.site.is_none() || need.site == self.rooms[domain].site)
    }

    /// Returns the first domain that has room or, if `spread`, the domain with the most room.
    fn choose(&self, need: &ResourceNeed, cores: u32, spread: bool) -> Option<usize> {
        let mut fitting = self.allowed(need).filter(|&domain| self.left(domain) >= cores);
        if spread {
            return fitting.max_by_key(|&domain| (self.left(domain), std::cmp::Reverse(domain)));
        }
        fitting.next()
    }

    /// Returns the domain with the smallest fraction of assigned cores. A domain without cores gets no
    /// instances.
    fn least_loaded(&self, need: &ResourceNeed) -> Option<usize> {
        let load = |domain: usize| f64::from(self.used[domain]) / f64::from(self.rooms[domain].free());
        self.allowed(need)
            .filter(|&domain| self.rooms[domain].free() > 0)
            .min_by(|&a, &b| load(a).total_cmp(&load(b)))
    }
}

fn attempt(
    needs: &[ResourceNeed],
    rooms: &[DomainCapacity],
    order: &[usize],
    options: PlacementOptions,
) -> Result<Placement, Fault> {
    let count = needs.iter().flat_map(|need| &need.instances).max().map_or(0, |last| last.index() + 1);
    let mut placement = Placement {
        domains: vec![DomainId::HEAD; count],
        cores: vec![Vec::new(); count],
        processes: vec![Vec::new(); count],
        overcommitted: Vec::new(),
    };
    let mut taken = CoreUsage { rooms, used: vec![0; rooms.len()] };
    for &i in order {
        let need = &needs[i];
        let given = allocate_cores(need, &mut taken, options).ok_or_else(|| does_not_fit(need, &taken))?;
        for &instance in &need.instances {
            placement.domains[instance.index()] = given[0].0;
            placement.cores[instance.index()] = given.clone();
            placement.processes[instance.index()] = spread(need.resources, &given);
        }
    }
    placement.overcommitted =
        DomainId::first(rooms.len()).filter(|d| taken.used[d.index()] > rooms[d.index()].free()).collect();
    for cores in placement.cores.iter_mut() {
        if cores.iter().any(|(domain, _)| placement.overcommitted.contains(domain)) {
            cores.clear();
        }
    }
    Ok(placement)
}

/// Returns the number of MPI processes in each domain, for these assigned cores.
fn spread(resources: Resources, given: &[(DomainId, Vec<u32>)]) -> Vec<(DomainId, u32)> {
    let (Resources::MpiProcesses { threads_per_mpi_process, .. }
    | Resources::MpiNodes { threads_per_mpi_process, .. }) = resources
    else {
        return Vec::new();
    };
    let processes = |cores: &Vec<u32>| (cores.len() / threads_per_mpi_process.max(1)) as u32;
    match given.len() {
        0 | 1 => Vec::new(),
        _ => given.iter().map(|(domain, cores)| (*domain, processes(cores))).collect(),
    }
}

/// Assigns cores to one instance, its own domain first. Returns `None` if the instance does not fit.
fn allocate_cores(
    need: &ResourceNeed,
    taken: &mut CoreUsage<'_>,
    options: PlacementOptions,
) -> Option<Vec<(DomainId, Vec<u32>)>> {
    if let Some(domain) = need.fixed {
        return Some(vec![taken.take(domain.index(), need.resources.cores_on_node())]);
    }
    match need.resources {
        Resources::MpiNodes { nodes, .. } => {
            let each = need.resources.cores_on_node();
            let is_empty = |&d: &usize| taken.used[d] == 0 && taken.left(d) >= each;
            let empty: Vec<usize> = taken.allowed(need).filter(is_empty).take(nodes).collect();
            // The instance gets whole nodes: other instances do not get the remaining cores of these nodes.
            (empty.len() == nodes && nodes > 0).then(|| {
                let given = empty.iter().map(|&domain| taken.take(domain, each)).collect();
                empty.iter().for_each(|&domain| taken.used[domain] = taken.rooms[domain].free());
                given
            })
        }
        Resources::MpiProcesses { mpi_processes, threads_per_mpi_process } => {
            let whole = need.resources.cores_on_node();
            if let Some(domain) = taken.choose(need, whole, options.spread) {
                return Some(vec![taken.take(domain, whole)]);
            }
            // In another domain, the ranks of the instance could not reach their agent.
            let most = if need.whole { 0 } else { taken.rooms.len() };
            let each = u32::try_from(threads_per_mpi_process.max(1)).unwrap_or(u32::MAX);
            let mut left = mpi_processes;
            let parts: Vec<(usize, u32)> = taken
                .allowed(need)
                .take(most)
                .filter_map(|domain| {
                    let here = ((taken.left(domain) / each) as usize).min(left);
                    left -= here;
                    (here > 0).then_some((domain, here as u32 * each))
                })
                .collect();
            (left == 0).then(|| parts.into_iter().map(|(domain, cores)| taken.take(domain, cores)).collect())
        }
        Resources::Threads { .. } => {
            let cores = need.resources.cores_on_node();
            taken.choose(need, cores, options.spread).map(|domain| vec![taken.take(domain, cores)])
        }
    }
    .or_else(|| {
        let domain = taken.least_loaded(need).filter(|_| options.overcommit)?;
        Some(vec![taken.take(domain, need.resources.cores_on_node())])
    })
}

fn does_not_fit(need: &ResourceNeed, taken: &CoreUsage<'_>) -> Fault {
    let cores = |n: u32| format!("{n} core{}", if n == 1 { "" } else { "s" });
    let wants = match need.resources {
        Resources::Threads { .. } => format!("{} on one node", cores(need.resources.cores_on_node())),
        Resources::MpiProcesses { mpi_processes, threads_per_mpi_process } => {
            let place = if need.whole { " on one node, since each rank speaks for itself" } else { "" };
            format!("{mpi_processes} MPI processes of {}{place}", cores(threads_per_mpi_process as u32))
        }
        Resources::MpiNodes { nodes, .. } => {
            format!("{nodes} empty nodes with {} each", cores(need.resources.cores_on_node()))
        }
    };
    const MAX_NAMED_DOMAINS: usize = 8;
    let mut there = String::new();
    let allowed: Vec<usize> = taken.allowed(need).collect();
    for &i in allowed.iter().take(MAX_NAMED_DOMAINS) {
        let room = &taken.rooms[i];
        let kept = match room.reserved.min(room.cores) {
            0 => String::new(),
            n => format!(", {n} kept for the agent"),
        };
        let separator = if there.is_empty() { "" } else { "; " };
        let _ = write!(there, "{separator}{} has {} of {} left{kept}", room.name, taken.left(i), room.cores);
    }
    if allowed.len() > MAX_NAMED_DOMAINS {
        let _ = write!(there, "; and {} more", allowed.len() - MAX_NAMED_DOMAINS);
    }
    fault!(
        NO_ROOM,
        "{} needs {wants}, and there is no room for it: {there}; give the run more nodes, ask for less under \
         \"resources:\", or let instances share cores with --overcommit",
        need.name
    )
}

#[cfg(test)]
mod tests;
