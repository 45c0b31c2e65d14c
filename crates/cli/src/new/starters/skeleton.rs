//! ABOUT Made by `ligament new`: put your own code where it says "compute".
#![allow(unused)]

use ligament_instance::{
    Array, ArrayOrder, ErrorKind, Instance, Operator, Outgoing, Ports, SettingType, SettingValue, Value,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ports = Ports::new()PORTS;
    let mut instance = Instance::new(Some(&ports))?;
    while instance.reuse_instance()? {
        let (mut t, dt) = (0.0, 1.0);
        let state = Value::Array(Array::from_slice(&[0.0; 3], &[3], ArrayOrder::RowMajor)?);
BODY
    }
    Ok(())
}
