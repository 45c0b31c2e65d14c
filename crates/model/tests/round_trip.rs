//! A written model reads as the same model, and no text makes the reader panic.

use ligament_model::*;
use proptest::prelude::*;

fn name() -> impl Strategy<Value = Identifier> {
    prop_oneof!["[a-zA-Z_][a-zA-Z0-9_]{0,8}", "true|null|no|y|on|e1|_1"]
        .prop_map(|s| Identifier::new(&s).unwrap())
}

fn path() -> impl Strategy<Value = Reference> {
    prop::collection::vec(name(), 1..3).prop_map(|names| {
        names.iter().skip(1).fold(Reference::from(names[0].clone()), |path, name| path.child(name))
    })
}

/// Texts that are difficult to write as YAML.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ -~]{0,12}",
        "(true|null|~|1|1\\.5|0x1|1:30|- a|a: b|# c|'|\"|\\[|\\{|%|@|`|\\.inf| lead|trail |a\nb\n|\t)",
    ]
}

fn value() -> impl Strategy<Value = SettingValue> {
    prop_oneof![
        text().prop_map(SettingValue::Str),
        any::<i64>().prop_map(SettingValue::Int),
        prop_oneof![
            any::<f64>().prop_filter("NaN is not equal to itself", |x| !x.is_nan()),
            Just(1e300),
            Just(3.0)
        ]
        .prop_map(SettingValue::Float),
        any::<bool>().prop_map(SettingValue::Bool),
        prop::collection::vec(any::<i64>(), 0..4).prop_map(SettingValue::IntList),
        prop::collection::vec(-1e9..1e9f64, 1..4).prop_map(SettingValue::FloatList),
        prop::collection::vec(prop::collection::vec(-1e9..1e9f64, 0..3), 1..3)
            .prop_map(SettingValue::FloatListList),
    ]
}

fn ports() -> impl Strategy<Value = Ports> {
    let operators =
        prop_oneof![Just(Operator::FInit), Just(Operator::OI), Just(Operator::S), Just(Operator::OF)];
    prop::collection::vec((name(), operators, 0..3u8), 0..5).prop_map(|ports| {
        ports
            .into_iter()
            .map(|(name, operator, timeline)| {
                let mut port = Port::new(name.clone(), operator);
                if timeline > 0 && matches!(operator, Operator::OI | Operator::S) {
                    port.timeline = Timeline::new(["", "t", "u:v"][timeline as usize]).unwrap();
                }
                (name, port)
            })
            .collect()
    })
}

fn supported() -> impl Strategy<Value = Vec<SupportedSetting>> {
    let types = prop::sample::select(SettingType::NAMES).prop_map(|n| SettingType::from_name(n).unwrap());
    let setting = (name(), types, text()).prop_map(|(name, setting_type, description)| SupportedSetting {
        name,
        setting_type,
        description,
        at: At::default(),
    });
    prop::collection::vec(setting, 0..3)
}

prop_compose! {
    fn component()(
        name in path(),
        description in text(),
        ports in prop::option::of(ports()),
        implementation in prop::option::of(path()),
        optional in any::<bool>(),
        multiplicity in prop::collection::vec(1..9usize, 0..3),
    ) -> Component {
        let mut component = Component::new(name);
        component.description = description;
        component.ports = ports;
        component.implementation = implementation;
        component.optional = optional;
        component.multiplicity = multiplicity;
        component
    }
}

fn conduit() -> impl Strategy<Value = Conduit> {
    let filters = prop_oneof![
        Just(vec![]),
        Just(vec![ConduitFilter::Last]),
        Just(vec![ConduitFilter::Last, ConduitFilter::Repeat, ConduitFilter::Pad]),
    ];
    (path(), path(), prop::option::of(0..9usize), filters).prop_map(|(sender, receiver, slot, filters)| {
        let receiver = slot.map_or(receiver.clone(), |slot| receiver.indexed(&[slot]));
        Conduit { filters, ..Conduit::new(sender, receiver) }
    })
}

prop_compose! {
    fn model()(
        name in path(),
        description in text(),
        ports in ports(),
        supported in supported(),
        components in prop::collection::vec(component(), 0..4),
        conduits in prop::collection::vec(conduit(), 0..6),
    ) -> Model {
        let mut model = Model::new(name);
        model.description = description;
        model.ports = ports;
        model.supported_settings = supported.into_iter().map(|s| (s.name.clone(), s)).collect();
        model.components = components.into_iter().map(|c| (c.name.clone(), c)).collect();
        model.conduits = conduits;
        model
    }
}

prop_compose! {
    fn program()(
        name in path(),
        description in text(),
        ports in ports(),
        supported in supported(),
        modules in prop::option::of(prop::collection::vec(text(), 0..3)),
        virtual_env in prop::option::of(text()),
        env in prop::collection::vec((name(), text()), 0..3),
        how in 0..3u8,
        executable in text(),
        args in prop::option::of(prop::collection::vec(text(), 0..3)),
        can_share_resources in any::<bool>(),
    ) -> Program {
        let mut program = Program::new(name);
        program.description = description;
        program.ports = ports;
        program.supported_settings = supported.into_iter().map(|s| (s.name.clone(), s)).collect();
        program.can_share_resources = can_share_resources;
        let states = [KeepsState::No, KeepsState::Necessary, KeepsState::Helpful];
        program.keeps_state_for_next_use = states[how as usize];
        if how == 0 {
            program.script = Some(executable);
        } else {
            program.base_env = BaseEnv::Login;
            program.execution_model = ExecutionModel::OpenMpi;
            program.executable = Some(executable);
            program.modules = modules;
            program.virtual_env = virtual_env;
            program.env = env.into_iter().map(|(k, v)| (k.to_string(), v)).collect();
            program.args = args;
        }
        program
    }
}

prop_compose! {
    fn configuration()(
        description in text(),
        models in prop::collection::vec(model(), 0..3),
        programs in prop::collection::vec(program(), 0..3),
        settings in prop::collection::vec((path(), value()), 0..5),
        resume in prop::collection::vec((path(), text()), 0..2),
        threads in prop::collection::vec((path(), 1..64usize), 0..3),
        at_end in any::<bool>(),
        moments in prop::collection::vec(-1e6..1e6f64, 0..3),
        budget in prop::option::of(0..(1u64 << 60)),
    ) -> Configuration {
        let mut config = Configuration { description, ..Configuration::default() };
        config.models = models.into_iter().map(|m| (m.name.clone(), m)).collect();
        config.programs = programs.into_iter().map(|p| (p.name.clone(), p)).collect();
        for (name, value) in settings {
            config.settings.set(name, value);
        }
        let resume = resume.into_iter().map(|(name, file)| (name, Resume { file, at: At::default() }));
        config.resume = resume.collect();
        config.resources = threads
            .into_iter()
            .map(|(name, threads)| {
                let resources = Resources::Threads { threads };
                (name.clone(), ResourceRequirements { name, resources, at: At::default() })
            })
            .collect();
        config.checkpoints.at_end = at_end;
        let mut moments = moments;
        moments.sort_by(f64::total_cmp);
        config.checkpoints.simulation_time.push(CheckpointRule::At(moments));
        let range = CheckpointRule::Range { start: None, stop: Some(1.5), every: 1e-3 };
        config.checkpoints.wallclock_time.push(range);
        config.ligament.budget = budget;
        config.ligament.wait = Some(WaitMode::Park);
        config
    }
}

/// Returns the configuration with its ports in the order in which a file groups them: by timeline, then by
/// operator.
fn grouped(mut config: Configuration) -> Configuration {
    fn group(ports: &mut Ports) {
        let mut timelines: Vec<String> = Vec::new();
        let mut operators: Vec<(String, Operator)> = Vec::new();
        for port in ports.values() {
            let timeline = port.timeline.to_string();
            if !timelines.contains(&timeline) {
                timelines.push(timeline.clone());
            }
            if !operators.contains(&(timeline.clone(), port.operator)) {
                operators.push((timeline, port.operator));
            }
        }
        let place = |port: &Port| {
            let timeline = port.timeline.to_string();
            (
                timelines.iter().position(|t| *t == timeline),
                operators.iter().position(|o| *o == (timeline.clone(), port.operator)),
            )
        };
        ports.sort_by(|_, a, _, b| place(a).cmp(&place(b)));
    }
    for model in config.models.values_mut() {
        group(&mut model.ports);
        model.components.values_mut().filter_map(|c| c.ports.as_mut()).for_each(group);
    }
    config.programs.values_mut().for_each(|p| group(&mut p.ports));
    config
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_as_the_same(config in configuration()) {
        let written = config.to_yaml();
        let read = Configuration::from_yaml(&written, "written")
            .map_err(|e| TestCaseError::fail(format!("{e}\n{written}")))?;
        prop_assert_eq!(grouped(read), grouped(config), "{}", written);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        let _ = read(&text, "any");
    }

    #[test]
    fn no_text_that_looks_like_yaml_makes_the_reader_panic(
        text in "(ymmsl_version: v0.[12]\n)?([ \
                 ]{0,6}(model|models|components|conduits|a.b|ports|o_i|s|programs|settings|name|- |<<)[:]?[ \
                 ]?(\\[|\\]|\\{|\\}|&a|\\*a|a.b|[0-9]|\"|'|\\||>|!!str|~)?[ ,:]{0,2}\n){0,12}"
    ) {
        let mut result = read(&text, "any");
        result.configuration.resolve_imports(&NoModules);
        let _ = result.configuration.expand();
    }

    #[test]
    fn an_assignment_of_a_written_value_sets_that_value(value in value()) {
        let (_, read) = parse_assignment(&format!("a.b={value}")).unwrap();
        prop_assert_eq!(read, value);
    }
}
