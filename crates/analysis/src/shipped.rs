//! A check that shipped components have the settings that they need, and ports that they can use.

use ligament_catalogue::Code;
use ligament_model::{
    nearest, Configuration, FlatComponent, FlatModel, Identifier, Problem, Reference, ReferencePart,
    SettingValue, ShippedComponent, ShippedSetting,
};

pub(crate) fn check(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    for component in &flat.components {
        let program = component.implementation.as_ref().and_then(|name| config.programs.get(name));
        let Some(shipped) = program.and_then(|program| program.shipped()) else { continue };
        check_ports(component, shipped, problems);
        for setting in shipped.settings {
            check_setting(config, component, shipped, setting, problems);
        }
    }
}

/// Checks the ports of a shipped component that takes ports of any name. Such a component has one operator at
/// which it receives, and one at which it sends.
fn check_ports(component: &FlatComponent, shipped: &ShippedComponent, problems: &mut Vec<Problem>) {
    let (receiving, sending) = shipped.free_operators();
    for port in component.ports.values().filter(|_| shipped.ports.is_empty()) {
        if ![receiving, sending].contains(&port.operator) || !port.timeline.is_empty() {
            problems.push(Problem::error(
                Code::PORT_DIFFERS,
                &port.at,
                format!(
                    "the port \"{}\" of \"{}\" is one of {}, and {} receives at {receiving} and sends at \
                     {sending}",
                    port.name, component.name, port.operator, shipped.name
                ),
                "declare it so, or leave the ports out",
            ));
        }
    }
}

fn check_setting(
    config: &Configuration,
    component: &FlatComponent,
    shipped: &ShippedComponent,
    setting: &ShippedSetting,
    problems: &mut Vec<Problem>,
) {
    let Ok(name) = Identifier::new(setting.name) else { return };
    let found = config.settings.get(&component.name, &Reference::from(name.clone()));
    let wrong = match found {
        Some((whole, SettingValue::Str(text)))
            if !setting.words.is_empty() && !setting.words.contains(&&**text) =>
        {
            let advice = match nearest(text, setting.words.iter().copied()) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("use one of: {}", setting.words.join(", ")),
            };
            let at = config.settings.at(whole).cloned().unwrap_or_default();
            (at, format!("the setting \"{whole}\" cannot be \"{text}\" for {}", shipped.name), advice)
        }
        None if setting.required && !of_single_instances(config, component, &name) => (
            component.at.clone(),
            format!("\"{}\" ({}) needs the setting \"{}\"", component.name, shipped.name, setting.name),
            format!("add \"{}.{}: …\" to the settings", component.name, setting.name),
        ),
        _ => return,
    };
    let (at, message, advice) = wrong;
    problems.push(Problem::error(Code::SHIPPED_SETTING, &at, message, advice));
}

/// Returns true if the setting is set for single instances of a component, as in `micro[3].function`.
fn of_single_instances(config: &Configuration, component: &FlatComponent, name: &Identifier) -> bool {
    let path = component.name.parts();
    config.settings.iter().any(|(whole, _)| match whole.parts().split_last() {
        Some((ReferencePart::Name(last), prefix)) => {
            last == name && prefix.len() > path.len() && prefix.starts_with(path)
        }
        _ => false,
    })
}
