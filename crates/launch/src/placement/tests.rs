//! Tests of properties that every placement has, and of cases that users meet.

use super::*;
use proptest::prelude::*;

fn room(name: &str, cores: u32, reserved: u32) -> DomainCapacity {
    DomainCapacity { name: name.into(), cores, reserved, site: None }
}

fn threads(i: u32, threads: usize) -> ResourceNeed {
    ResourceNeed {
        name: format!("i[{i}]"),
        instances: vec![InstanceId::new(i)],
        resources: Resources::Threads { threads },
        fixed: None,
        site: None,
        whole: false,
    }
}

fn all(count: u32, cores: usize) -> Vec<ResourceNeed> {
    (0..count).map(|i| threads(i, cores)).collect()
}

fn rooms(count: usize, cores: u32) -> Vec<DomainCapacity> {
    (0..count).map(|i| room(&format!("n{i}"), cores, 0)).collect()
}

fn domains<const N: usize>(numbers: [u32; N]) -> [DomainId; N] {
    numbers.map(DomainId::new)
}

const PACKED: PlacementOptions = PlacementOptions { spread: false, overcommit: false };
const SPREAD: PlacementOptions = PlacementOptions { spread: true, overcommit: false };

#[test]
fn domains_are_filled_one_after_the_other() {
    let placed = place(&all(5, 1), &rooms(3, 2), PACKED).unwrap();
    assert_eq!(placed.domains, domains([0, 0, 1, 1, 2]));
    assert_eq!(placed.cores[3], [(DomainId::new(1), vec![1])]);
}

#[test]
fn spread_gives_each_instance_a_node_of_its_own_while_there_are_some() {
    assert_eq!(place(&all(3, 1), &rooms(3, 2), SPREAD).unwrap().domains, domains([0, 1, 2]));
    assert_eq!(place(&all(4, 1), &rooms(3, 2), SPREAD).unwrap().domains, domains([0, 1, 2, 0]));
}

#[test]
fn what_is_spread_wide_is_moved_together_where_something_large_needs_a_node() {
    let mut needs = all(3, 1);
    needs.push(threads(3, 2));
    assert_eq!(place(&needs, &rooms(3, 2), SPREAD).unwrap().domains, domains([1, 2, 1, 0]));
    let mut needs: Vec<ResourceNeed> = (0..4).map(|i| threads(i, 3)).collect();
    needs.extend((4..6).map(|i| threads(i, 2)));
    place(&needs, &rooms(2, 8), SPREAD).unwrap();
}

#[test]
fn a_model_that_says_nothing_uses_all_domains_and_gives_none_too_much() {
    assert_eq!(PlacementOptions::of(&Default::default()), SPREAD);
}

#[test]
fn one_per_node_and_many_per_node_are_mixed() {
    let mut needs = all(6, 1);
    needs[0] = threads(0, 4);
    needs[3] = threads(3, 4);
    let placed = place(&needs, &rooms(3, 4), PACKED).unwrap();
    assert_eq!(placed.domains, domains([0, 1, 1, 2, 1, 1]));
}

#[test]
fn where_the_order_of_the_model_does_not_fit_the_largest_go_first() {
    let needs = [threads(0, 1), threads(1, 3), threads(2, 4)];
    assert_eq!(place(&needs, &rooms(2, 4), PACKED).unwrap().domains, domains([0, 0, 1]));
    let needs = [threads(0, 2), threads(1, 2), threads(2, 4), threads(3, 2), threads(4, 2)];
    let placed = place(&needs, &[room("a", 4, 0), room("b", 4, 0), room("c", 4, 0)], PACKED).unwrap();
    assert_eq!(placed.domains.len(), 5);
    let needs = [threads(0, 1), threads(1, 4), threads(2, 3), threads(3, 2), threads(4, 2)];
    place(&needs, &rooms(3, 4), PACKED).unwrap();
}

#[test]
fn cores_that_are_kept_for_the_agent_are_given_to_nobody() {
    let placed = place(&all(3, 1), &[room("a", 2, 1), room("b", 4, 2)], PACKED).unwrap();
    assert_eq!(
        placed.cores,
        [[(DomainId::new(0), vec![1])], [(DomainId::new(1), vec![2])], [(DomainId::new(1), vec![3])]]
    );
    let error = place(&all(1, 2), &[room("a", 2, 1)], PACKED).unwrap_err();
    assert_eq!(
        error.text(),
        "i[0] needs 2 cores on one node, and there is no room for it: a has 1 of 2 left, 1 kept for the \
        agent; give the run more nodes, ask for less under \"resources:\", or let instances share cores with \
        --overcommit"
    );
}

#[test]
fn what_does_not_fit_is_named_with_what_is_left() {
    let error = place(&all(5, 1), &rooms(2, 2), PACKED).unwrap_err();
    assert!(error.starts_with("i[4] needs 1 core on one node"), "{error}");
    assert!(error.contains("n0 has 0 of 2 left; n1 has 0 of 2 left;"), "{error}");
    let error = place(&all(1, 3), &rooms(20, 2), PACKED).unwrap_err();
    assert!(error.contains("and 12 more"), "{error}");
}

#[test]
fn overcommit_shares_the_load_and_says_which_domains_are_too_full() {
    let options = PlacementOptions { spread: false, overcommit: true };
    let placed = place(&all(9, 1), &[room("login", 0, 0), room("a", 1, 0), room("b", 2, 0)], options).unwrap();
    let count = |domain| placed.domains.iter().filter(|d| d.number() == domain).count();
    assert_eq!((count(0), count(1), count(2)), (0, 3, 6));
    assert_eq!(placed.overcommitted, domains([1, 2]));
    assert!(placed.cores.iter().all(Vec::is_empty));
}

#[test]
fn the_users_word_comes_first_and_is_not_refused_for_want_of_cores() {
    let mut needs = all(4, 1);
    for i in [1, 2, 3] {
        needs[i].fixed = Some(DomainId::new(1));
    }
    let placed = place(&needs, &rooms(2, 2), PACKED).unwrap();
    assert_eq!(placed.domains, domains([0, 1, 1, 1]));
    assert_eq!(placed.overcommitted, domains([1]));
    assert_eq!(placed.cores[0], [(DomainId::new(0), vec![0])]);
}

#[test]
fn mpi_processes_go_to_one_node_where_they_fit_and_over_several_where_not() {
    let of = |mpi_processes| ResourceNeed {
        resources: Resources::MpiProcesses { mpi_processes, threads_per_mpi_process: 2 },
        ..threads(0, 1)
    };
    assert_eq!(place(&[of(2)], &rooms(3, 4), PACKED).unwrap().cores[0], [(DomainId::new(0), vec![0, 1, 2, 3])]);
    let placed = place(&[of(5)], &rooms(3, 5), PACKED).unwrap();
    let counts: Vec<_> = placed.cores[0].iter().map(|(domain, cores)| (domain.number(), cores.len())).collect();
    assert_eq!(counts, [(0, 4), (1, 4), (2, 2)]);
    assert!(place(&[of(7)], &rooms(3, 5), PACKED).unwrap_err().contains("7 MPI processes of 2 cores"));
}

#[test]
fn ranks_that_speak_for_themselves_stay_on_one_node() {
    let need = ResourceNeed {
        resources: Resources::MpiProcesses { mpi_processes: 4, threads_per_mpi_process: 1 },
        whole: true,
        ..threads(0, 1)
    };
    let two = rooms(2, 2);
    let error = place(std::slice::from_ref(&need), &two, SPREAD).unwrap_err();
    assert!(
        error.contains("4 MPI processes of 1 core on one node, since each rank speaks for itself, and"),
        "{error}"
    );
    let placed =
        place(std::slice::from_ref(&need), &two, PlacementOptions { spread: true, overcommit: true }).unwrap();
    assert_eq!((placed.domains, placed.processes), (domains([0]).to_vec(), vec![vec![]]));
    let placed = place(&[ResourceNeed { whole: false, ..need }], &two, SPREAD).unwrap();
    assert_eq!(placed.processes[0].len(), 2);
}

#[test]
fn cores_that_nobody_can_count_fill_a_node() {
    let mut needs = all(2, usize::MAX);
    needs.iter_mut().for_each(|need| need.fixed = Some(DomainId::HEAD));
    let placed = place(&needs, &[room("a", 8, 1)], PACKED).unwrap();
    assert_eq!(placed.overcommitted, domains([0]));
}

#[test]
fn what_is_placed_at_a_site_goes_to_one_of_its_nodes() {
    let at = |name: &str, site: &str| DomainCapacity { site: Some(site.into()), ..room(name, 2, 0) };
    let there = [at("a/n1", "a"), at("a/n2", "a"), at("b/n1", "b")];
    let of = |site: &str, i| ResourceNeed { site: Some(site.into()), ..threads(i, 1) };
    let placed = place(&[of("b", 0), of("a", 1), of("b", 2), of("a", 3)], &there, SPREAD).unwrap();
    assert_eq!(placed.domains, domains([2, 0, 2, 1]));
    let error = place(&[of("b", 0), of("b", 1), of("b", 2)], &there, SPREAD).unwrap_err();
    assert!(error.contains("i[2] needs 1 core") && error.contains("b/n1 has 0 of 2 left"), "{error}");
    assert!(!error.contains("a/n1"), "{error}");
}

#[test]
fn whole_nodes_are_shared_with_nobody() {
    let whole = |i| ResourceNeed {
        resources: Resources::MpiNodes { nodes: 2, mpi_processes_per_node: 1, threads_per_mpi_process: 1 },
        ..threads(i, 1)
    };
    let placed = place(&[threads(0, 1), whole(1), threads(2, 1)], &rooms(3, 4), PACKED).unwrap();
    assert_eq!(placed.domains, domains([2, 0, 2]));
    assert_eq!(placed.cores[1], [(DomainId::new(0), vec![0]), (DomainId::new(1), vec![0])]);
    let error = place(&[whole(0), whole(1)], &rooms(3, 4), PACKED).unwrap_err();
    assert!(error.contains("i[1] needs 2 empty nodes with 1 core each"), "{error}");
}

fn model(extra: &str) -> ResolvedModel {
    let text = format!(
        "ymmsl_version: v0.2
models:
  town:
    components:
      macro: {{implementation: macro, ports: {{o_i: out, s: in}}}}
      micro: {{implementation: micro, multiplicity: 3, ports: {{f_init: init, o_f: final}}}}
    conduits: {{macro.out: micro.init, micro.final: macro.in}}
programs:
  macro: {{executable: python3, ports: {{o_i: out, s: in}}}}
  micro: {{executable: python3, ports: {{f_init: init, o_f: final}}}}
resources:
  town.micro: {{threads: 2}}
{extra}"
    );
    let read = ligament_model::read(&text, "town.ymmsl");
    read.into_result().unwrap().expand().unwrap()
}

fn placed(extra: &str, rooms: &[DomainCapacity]) -> Result<Vec<DomainId>, Fault> {
    let needs = needs(&model(extra), rooms, &|_| None)?;
    Ok(place(&needs, rooms, PACKED)?.domains)
}

#[test]
fn the_models_word_names_components_and_instances_and_domains_by_number_or_machine() {
    let word = "ligament: {place: {1: micro, n2: \"micro[2]\"}}";
    assert_eq!(placed(word, &rooms(3, 4)).unwrap(), domains([0, 1, 1, 2]));
    assert_eq!(placed("", &rooms(3, 4)).unwrap(), domains([0, 0, 1, 1]));
}

#[test]
fn a_domain_that_is_not_there_is_named_with_the_line_and_those_that_are() {
    let error = placed("ligament: {place: {7: micro}}", &rooms(2, 8)).unwrap_err();
    assert!(error.starts_with("town.ymmsl:13:"), "{error}");
    assert!(error.ends_with("the domain \"7\", and there is none; there is 0 (n0), 1 (n1)"), "{error}");
}

#[test]
fn instances_of_a_light_program_stay_together() {
    let light = "ligament: {light: [micro]}";
    assert_eq!(placed(light, &rooms(2, 2)).unwrap(), domains([0, 1, 1, 1]));
    let torn = "ligament: {light: [micro], place: {0: \"micro[0]\", 1: \"micro[1]\"}}";
    assert!(placed(torn, &rooms(2, 2)).unwrap_err().contains("run by one process"));
}

#[test]
fn what_only_one_domain_can_start_is_placed_there_and_not_elsewhere_by_word() {
    let rooms = rooms(2, 8);
    let only_here = |i: InstanceId| (i.index() == 0).then_some(DomainId::HEAD);
    let free = needs(&model(""), &rooms, &only_here).unwrap();
    assert_eq!(free[0].fixed, Some(DomainId::HEAD));
    let error = needs(&model("ligament: {place: {1: macro}}"), &rooms, &only_here).unwrap_err();
    assert!(error.contains("macro is placed in the domain 1, but can only"), "{error}");
}

prop_compose! {
    fn any_need()(
        kind in 0..4u8, a in 1..5usize, b in 1..4usize, fixed in proptest::option::weighted(0.2, 0..5u32)
    ) -> (Resources, Option<u32>)
    {
        let resources = match kind {
            0 => Resources::MpiProcesses { mpi_processes: a, threads_per_mpi_process: b },
            1 => Resources::MpiNodes { nodes: b, mpi_processes_per_node: a, threads_per_mpi_process: 1 },
            _ => Resources::Threads { threads: a },
        };
        (resources, fixed)
    }
}

proptest! {
    #[test]
    fn nobody_shares_a_core_unless_the_user_says_so_and_everybody_has_what_it_needs(
        wanted in proptest::collection::vec(any_need(), 0..12),
        cores in proptest::collection::vec((0..9u32, 0..2u32), 1..6),
        spread: bool,
        overcommit: bool,
    ) {
        let rooms: Vec<DomainCapacity> =
            cores.iter().enumerate().map(|(i, (cores, kept))| room(&format!("n{i}"), *cores, *kept)).collect();
        let needs: Vec<ResourceNeed> = wanted
            .iter()
            .enumerate()
            .map(|(i, (resources, fixed))| ResourceNeed {
                resources: *resources,
                fixed: fixed.map(DomainId::new).filter(|domain| domain.index() < rooms.len()),
                site: None,
                ..threads(i as u32, 1)
            })
            .collect();
        let options = PlacementOptions { spread, overcommit };
        match place(&needs, &rooms, options) {
            Err(error) => {
                prop_assert!(error.contains("there is no room"), "{error}");
                prop_assert!(!overcommit || rooms.iter().all(|room| room.free() == 0), "{error}");
            }
            Ok(placement) => {
                prop_assert_eq!(&place(&needs, &rooms, options).unwrap(), &placement);
                let mut owners = HashMap::new();
                for (i, need) in needs.iter().enumerate() {
                    let domain = placement.domains[i];
                    prop_assert!(domain.index() < rooms.len());
                    if let Some(fixed) = need.fixed {
                        prop_assert_eq!(domain, fixed);
                    }
                    let given = &placement.cores[i];
                    if given.is_empty() {
                        prop_assert!(!placement.overcommitted.is_empty());
                        prop_assert!(overcommit || needs.iter().any(|need| need.fixed.is_some()));
                        continue;
                    }
                    prop_assert_eq!(given[0].0, domain);
                    let total: usize = given.iter().map(|(_, cores)| cores.len()).sum();
                    let needed = match need.resources {
                        Resources::MpiNodes { nodes, .. } if need.fixed.is_none() && given.len() > 1 => {
                            nodes as u32 * need.resources.cores_on_node()
                        }
                        resources => resources.cores_on_node(),
                    };
                    prop_assert_eq!(total as u32, needed);
                    for (domain, cores) in given {
                        for core in cores {
                            let room = &rooms[domain.index()];
                            prop_assert!(*core >= room.reserved && *core < room.cores);
                            prop_assert_eq!(owners.insert((*domain, *core), i), None);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn single_cores_fit_if_and_only_if_there_are_as_many(
        count in 0..40u32, cores in proptest::collection::vec(0..9u32, 1..6)
    ) {
        let rooms: Vec<DomainCapacity> =
            cores.iter().enumerate().map(|(i, cores)| room(&format!("n{i}"), *cores, 0)).collect();
        let fits = cores.iter().sum::<u32>() >= count;
        for options in [PACKED, SPREAD] {
            prop_assert_eq!(place(&all(count, 1), &rooms, options).is_ok(), fits);
        }
    }
}
