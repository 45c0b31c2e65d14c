//! One per domain: starts, watches, keeps
