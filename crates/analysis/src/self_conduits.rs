//! A warning about conduits that join a component to itself. Such a conduit joins each instance to itself; the
//! author of a divided grid may have meant its neighbours.

use ligament_catalogue::Code;
use ligament_model::{Configuration, FlatModel, ForConduits, Problem};

pub(crate) fn check(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    let mut exchanges = ForConduits::new(&config.ligament.exchange);
    for conduit in &flat.conduits {
        // Under `exchange`, all ranks are joined to all ranks.
        let is_exchange = exchanges.of(flat, conduit).is_some();
        if conduit.from.component != conduit.to.component || is_exchange {
            continue;
        }
        let component = &flat.components[conduit.from.component];
        let name = &component.name;
        let several = match (component.multiplicity.is_empty(), config.ranks_of(name)) {
            (_, Some(_)) => "each rank of ",
            (false, None) => "each instance of ",
            (true, None) => "",
        };
        problems.push(Problem::warning(
            Code::SELF_CONDUIT,
            &conduit.at,
            format!(
                "this conduit joins {several}\"{name}\" to itself: what it sends on \"{}\", it receives \
                 on \"{}\"",
                conduit.from.port, conduit.to.port
            ),
            "if neighbours are meant, make a grid of them: \"grids:\" under \"ligament:\" joins its blocks",
        ));
    }
}
