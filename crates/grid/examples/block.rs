//! A block of the wave of `tests/grid/wave_model.py` in Rust, with the settings of `block.py`. It is for grids
//! of two axes in row-major order.

use ligament_grid::{Domain, Field, FieldData};
use ligament_instance::{DType, Error, Instance, SettingValue};
use std::io::Write;

/// A block and its ghosts.
struct Block {
    rows: usize,
    columns: usize,
    ghosts: usize,
}

impl Block {
    fn place(&self, i: usize, j: usize) -> usize {
        i * (self.columns + 2 * self.ghosts) + j
    }

    /// Returns the own points, and the place of each in an array.
    fn own_points(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let point = move |i: usize, j: usize| (i, j, self.place(i + self.ghosts, j + self.ghosts));
        (0..self.rows).flat_map(move |i| (0..self.columns).map(move |j| point(i, j)))
    }

    /// Returns the next state of all points that are at least `margin` points away from the end of the arrays.
    fn step(&self, u: &[f64], v: &[f32], margin: usize) -> (Vec<f64>, Vec<f32>) {
        let (mut new_u, mut new_v) = (u.to_vec(), v.to_vec());
        for i in margin..self.rows + 2 * self.ghosts - margin {
            for j in margin..self.columns + 2 * self.ghosts - margin {
                let mut around = 0.0;
                for x in 0..3 {
                    for y in 0..3 {
                        let at = self.place(i + x - 1, j + y - 1);
                        let offset = (x + y) as f64 - 2.0;
                        around += u[at] * (1.0 + 0.1 * offset) + f64::from(v[at] * 0.01);
                    }
                }
                let at = self.place(i, j);
                new_u[at] = u[at] * 0.5 + around / 9.0 * 0.49;
                new_v[at] = (f64::from(v[at] * 0.9) + u[at] * 0.05) as f32;
            }
        }
        (new_u, new_v)
    }
}

fn bytes<T: Copy>(numbers: &[T], each: impl Fn(T) -> Vec<u8>) -> Vec<u8> {
    numbers.iter().flat_map(|number| each(*number)).collect()
}

fn pass(instance: &mut Instance) -> Result<(), Box<dyn std::error::Error>> {
    let number = |instance: &mut Instance, name: &str| match instance.get_setting(name, None) {
        Ok(SettingValue::Int(number)) => Ok(number as usize),
        _ => Err(Error::Own(format!("the setting {name} is no number"))),
    };
    let (ghosts, steps) = (number(instance, "ghosts")?, number(instance, "steps")?);
    let split = instance.get_setting("split", None)? == SettingValue::Bool(true);
    let SettingValue::Str(folder) = instance.get_setting("out", None)? else { return Err("no folder".into()) };
    let mut domain = Domain::new(instance)?;
    let (range, shape) = (domain.range().to_vec(), domain.shape().to_vec());
    let length = |axis: usize| (range[axis].1 - range[axis].0) as usize;
    let block = Block { rows: length(0), columns: length(1), ghosts };
    let u_field = domain.add_field(Field::new("u").with_ghosts(ghosts).with_unit("m"))?;
    let v_field = domain.add_field(Field::new("v").with_ghosts(ghosts).with_dtype(DType::Float32))?;
    let count = domain.elements(u_field);
    let (mut u, mut v) = (vec![0f64; count], vec![0f32; count]);
    for (i, j, at) in block.own_points() {
        let number = (range[0].0 + i as u64) * shape[1] + range[1].0 + j as u64;
        u[at] = (number.wrapping_mul(2_654_435_761) & 0xffff_ffff) as f64 / 4_294_967_296.0 - 0.5;
        v[at] = (((number.wrapping_mul(40_503) + 7) & 0xffff) as f64 / 65_536.0 - 0.5) as f32;
    }
    for number in (0..steps).step_by(ghosts) {
        let (u_bytes, v_bytes) = (bytemuck::cast_slice_mut(&mut u), bytemuck::cast_slice_mut(&mut v));
        let mut fields =
            [FieldData { field: u_field, bytes: u_bytes }, FieldData { field: v_field, bytes: v_bytes }];
        if split {
            domain.begin(instance, number as f64, &mut fields)?;
            domain.end(instance, &mut fields)?;
        } else {
            domain.exchange(instance, number as f64, &mut fields)?;
        }
        domain.publish(instance, u_field, fields[0].bytes)?;
        for margin in 1..=ghosts {
            (u, v) = block.step(&u, &v, margin);
        }
        // The ghosts beyond open edges must be 0.
        let (mut clean_u, mut clean_v) = (vec![0f64; count], vec![0f32; count]);
        block.own_points().for_each(|(_, _, at)| (clean_u[at], clean_v[at]) = (u[at], v[at]));
        (u, v) = (clean_u, clean_v);
    }
    let own_u: Vec<f64> = block.own_points().map(|(_, _, at)| u[at]).collect();
    let own_v: Vec<f32> = block.own_points().map(|(_, _, at)| v[at]).collect();
    let wide_v: Vec<f64> = own_v.iter().map(|number| f64::from(*number)).collect();
    let totals = [domain.sum(instance, &own_u)?, domain.min(instance, &own_u)?, domain.max(instance, &wide_v)?];
    let header = [2, range[0].0, range[1].0, range[0].1, range[1].1];
    let mut file = std::fs::File::create(format!("{folder}/{}.bin", domain.block()))?;
    file.write_all(&bytes(&header, |number| number.to_ne_bytes().to_vec()))?;
    file.write_all(&bytes(&totals, |number| number.to_ne_bytes().to_vec()))?;
    file.write_all(&bytes(&own_u, |number| number.to_ne_bytes().to_vec()))?;
    file.write_all(&bytes(&own_v, |number| number.to_ne_bytes().to_vec()))?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut instance = Instance::new(None)?;
    while instance.reuse_instance()? {
        pass(&mut instance)?;
    }
    Ok(())
}
