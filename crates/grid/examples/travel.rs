//! Fields that travel up and down a grid of one axis, and a direction that the grid does not have.

use ligament_grid::{Domain, Field, FieldData};
use ligament_instance::Instance;

fn pass(instance: &mut Instance) -> Result<(), Box<dyn std::error::Error>> {
    let mut domain = Domain::new(instance)?;
    let ((first, last), whole) = (domain.range()[0], domain.shape()[0]);
    let own: Vec<f64> = (first..last).map(|point| point as f64).collect();
    let mut up = [&[-1.0], &own[..], &[-1.0]].concat();
    let mut down = up.clone();
    let ids = [
        domain.add_field(Field::new("up").with_ghosts(1))?,
        domain.add_field(Field::new("down").with_ghosts(1))?,
    ];
    domain.set_direction(ids[0], &[1])?;
    domain.set_direction(ids[1], &[-1])?;
    if domain.set_direction(ids[1], &[1, 0]).is_ok() {
        return Err("a direction of two axes was taken".into());
    }
    let mut fields = [
        FieldData { field: ids[0], bytes: bytemuck::cast_slice_mut(&mut up) },
        FieldData { field: ids[1], bytes: bytemuck::cast_slice_mut(&mut down) },
    ];
    domain.exchange(instance, 0.0, &mut fields)?;
    let before = (first + whole - 1) % whole;
    let end = own.len() + 1;
    if [up[0], up[end], down[0], down[end]] != [before as f64, -1.0, -1.0, (last % whole) as f64] {
        return Err(format!("the ghosts are {:?}", [up[0], up[end], down[0], down[end]]).into());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut instance = Instance::new(None)?;
    while instance.reuse_instance()? {
        pass(&mut instance)?;
    }
    Ok(())
}
