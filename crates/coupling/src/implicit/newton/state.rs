//! A quasi-Newton method at a checkpoint.

use super::super::state::{vector, vector_in, vectors, vectors_of};
use super::{Column, JacobianPart, Newton};
use ligament_wire::fields::{counted, entries, Fields};
use ligament_wire::Value;

/// Lengths of the vectors of a method: of a residual, and of a result.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct VectorLengths {
    pub residual: usize,
    pub result: usize,
}

impl Column {
    fn state(&self) -> Value {
        entries([
            ("residual", vector(&self.residual)),
            ("result", vector(&self.result)),
            ("window", counted(self.window as u64)),
        ])
    }

    fn of_state(state: &Value, lengths: VectorLengths) -> Option<Column> {
        let fields = Fields::of(state)?;
        Some(Column {
            residual: vector_in(&fields, "residual", lengths.residual)?,
            result: vector_in(&fields, "result", lengths.result)?,
            window: fields.index("window")?,
        })
    }
}

impl JacobianPart {
    fn state(&self) -> Value {
        entries([("results", vectors(&self.results)), ("rows", vectors(&self.rows))])
    }

    fn of_state(state: &Value, lengths: VectorLengths) -> Option<JacobianPart> {
        let fields = Fields::of(state)?;
        let results = vectors_of(fields.list("results")?, lengths.result)?;
        let rows = vectors_of(fields.list("rows")?, lengths.residual)?;
        (results.len() == rows.len()).then_some(JacobianPart { results, rows })
    }
}

impl Newton {
    pub fn state(&self) -> Value {
        let last = self.last.as_ref();
        let last = last.map(|(residual, result)| Value::List(vec![vector(residual), vector(result)]));
        entries([
            ("columns", Value::List(self.columns.iter().map(Column::state).collect())),
            ("last", last.unwrap_or_default()),
            ("window", counted(self.window as u64)),
            ("scales", vector(&self.scales)),
            ("share sums", vector(&self.share_sums)),
            ("jacobian", Value::List(self.jacobian.iter().map(JacobianPart::state).collect())),
            ("archive", Value::List(self.archive.iter().map(Column::state).collect())),
        ])
    }

    /// Takes over a state. Returns `None`, and changes nothing, if it is of other data.
    pub fn restore(&mut self, state: &Value, lengths: VectorLengths) -> Option<()> {
        let fields = Fields::of(state)?;
        let blocks = self.blocks.len();
        let columns = |key: &str| {
            let list = fields.list(key)?.iter();
            list.map(|one| Column::of_state(one, lengths)).collect::<Option<Vec<Column>>>()
        };
        let last = match fields.get("last")? {
            Value::List(pair) => match &pair[..] {
                [residual, result] => {
                    let residual = vectors_of(std::slice::from_ref(residual), lengths.residual)?.pop()?;
                    Some((residual, vectors_of(std::slice::from_ref(result), lengths.result)?.pop()?))
                }
                _ => return None,
            },
            _ => None,
        };
        let jacobian = fields.list("jacobian")?.iter();
        let jacobian = jacobian.map(|part| JacobianPart::of_state(part, lengths)).collect::<Option<_>>()?;
        let (newest, archive) = (columns("columns")?, columns("archive")?);
        let window = fields.index("window")?;
        let scales = vector_in(&fields, "scales", blocks)?;
        let share_sums = vector_in(&fields, "share sums", blocks)?;
        (self.last, self.window, self.jacobian) = (last, window, jacobian);
        (self.columns, self.archive) = (newest.into(), archive);
        (self.scales, self.share_sums) = (scales, share_sums);
        // The model may permit fewer columns than before, or another kind of estimate.
        self.columns.truncate(self.options.max_columns);
        if self.options.restart_windows.is_none() {
            self.jacobian.clear();
            self.archive.clear();
        }
        Some(())
    }
}
