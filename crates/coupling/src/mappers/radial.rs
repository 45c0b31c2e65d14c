//! The settings of the mapper between meshes for radial basis functions.

use crate::mapping::{Constraint, Polynomial, RadialBasis, RadialFunction};
use crate::settings::{self, wrong};
use ligament_catalogue::fault;
use ligament_instance::{Error, Instance};

const RADIUS: &str = "support_radius";
const SHAPE: &str = "shape_parameter";

/// Refuses settings of radial basis functions with another method.
pub(super) fn only_radial(instance: &Instance, method: &str) -> Result<(), Error> {
    if method == "radial" {
        return Ok(());
    }
    for name in ["function", "polynomial"] {
        if settings::text(instance, name)?.is_some() {
            return Err(without_effect(name, method));
        }
    }
    for name in [RADIUS, SHAPE] {
        if settings::number(instance, name)?.is_some() {
            return Err(without_effect(name, method));
        }
    }
    Ok(())
}

fn without_effect(name: &str, method: &str) -> Error {
    wrong(fault!(
        SHIPPED_SETTING_WRONG,
        "\"{name}\" has no effect with \"method: {method}\"; take it out, or set \"method: radial\""
    ))
}

/// Returns the function and the polynomial that the settings name.
pub(super) fn radial_basis(instance: &Instance, constraint: Constraint) -> Result<RadialBasis, Error> {
    let polynomial = match settings::text(instance, "polynomial")?.as_deref() {
        Some("on") => Polynomial::On,
        Some("off") => Polynomial::Off,
        _ => Polynomial::Separate,
    };
    if (polynomial, constraint) == (Polynomial::Off, Constraint::Conservative) {
        return Err(wrong(fault!(
            SHIPPED_SETTING_WRONG,
            "\"polynomial: off\" does not keep the sum that \"constraint: conservative\" promises; take \
             \"separate\" or \"on\""
        )));
    }
    Ok(RadialBasis { function: radial_function(instance)?, polynomial })
}

fn radial_function(instance: &Instance) -> Result<RadialFunction, Error> {
    let name = settings::text(instance, "function")?.ok_or_else(|| {
        wrong(fault!(
            SHIPPED_SETTING_WRONG,
            "\"method: radial\" needs \"function\", for example compact-polynomial-c6 with \"{RADIUS}\""
        ))
    })?;
    let lengths = [length(instance, RADIUS)?, length(instance, SHAPE)?];
    let refused = |text: &str| {
        Err(wrong(fault!(SHIPPED_SETTING_WRONG, "\"function: {name}\" {text}; set these and no others")))
    };
    Ok(match (name.as_str(), lengths) {
        ("gaussian", [Some(radius), None]) => RadialFunction::CutGaussian { radius },
        ("gaussian", [None, Some(shape)]) => RadialFunction::Gaussian { shape },
        ("gaussian", _) => return refused("needs either \"support_radius\" or \"shape_parameter\""),
        ("multiquadrics", [None, Some(shape)]) => RadialFunction::Multiquadrics { shape },
        ("inverse-multiquadrics", [None, Some(shape)]) => RadialFunction::InverseMultiquadrics { shape },
        ("multiquadrics" | "inverse-multiquadrics", _) => return refused("needs \"shape_parameter\""),
        ("thin-plate-splines", [None, None]) => RadialFunction::ThinPlateSpline,
        ("volume-splines", [None, None]) => RadialFunction::VolumeSpline,
        ("thin-plate-splines" | "volume-splines", _) => return refused("has no radius and no shape"),
        ("compact-tps-c2", [Some(radius), None]) => RadialFunction::CompactSpline { radius },
        (compact, [Some(radius), None]) => {
            let smoothness = compact.bytes().last().map_or(0, |digit| digit.wrapping_sub(b'0'));
            RadialFunction::Compact { smoothness, radius }
        }
        _ => return refused("needs \"support_radius\""),
    })
}

/// Returns a length above 0, if it is set.
fn length(instance: &Instance, name: &str) -> Result<Option<f64>, Error> {
    match settings::number(instance, name)? {
        Some(value) if !(value > 0.0 && value.is_finite()) => {
            Err(wrong(fault!(SHIPPED_SETTING_WRONG, "\"{name}\" is {value}, and a number above 0 is wanted")))
        }
        other => Ok(other),
    }
}
