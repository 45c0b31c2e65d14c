//! Limits of the memory for messages: an account of the bytes in use, and the amount that the system can
//! spare (the limit of the control group, version 1 or 2, and the available memory). The agent reads the
//! spare amount again for large requests, because beyond the limit the kernel kills processes instead of
//! refusing memory.

use ligament_catalogue::{fault, Fault};
use std::fs;
use std::path::{Path, PathBuf};

/// An account of the memory for messages that is in use, with a limit.
#[derive(Debug, Clone)]
pub struct MemoryLedger {
    limit: u64,
    used: u64,
    origin: String,
}

/// Returns a number of bytes as text for people. Example: `1.5 MiB`.
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (0..UNITS.len() - 1).take_while(|&i| bytes >> (10 * (i + 1)) != 0).count();
    if unit == 0 {
        return format!("{bytes} B");
    }
    format!("{:.1} {}", bytes as f64 / (1u64 << (10 * unit)) as f64, UNITS[unit])
}

impl MemoryLedger {
    /// Makes an empty account with this limit in bytes. Errors name `origin` as the source of the limit.
    pub fn new(limit: u64, origin: impl Into<String>) -> MemoryLedger {
        MemoryLedger { limit, used: 0, origin: origin.into() }
    }

    /// Makes the account of a run. `wanted` is the limit in the model, in bytes. If the model sets no
    /// limit, the limit is 80 % of the memory that the machine can spare now.
    pub fn for_run(wanted: Option<u64>) -> MemoryLedger {
        match wanted {
            Some(bytes) => MemoryLedger::new(bytes, "\"memory:\" under \"ligament:\" in the model"),
            None => {
                let spare = SpareMemory::now();
                MemoryLedger::new(spare.bytes / 10 * 8, format!("80 % of {}", spare.origin))
            }
        }
    }

    /// Returns the number of bytes in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns the limit in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Adds bytes to the bytes in use.
    ///
    /// # Errors
    /// The sum would be above the limit. The error names the limit, its origin, and the bytes in use.
    pub fn take(&mut self, bytes: u64) -> Result<(), Fault> {
        match self.used.checked_add(bytes) {
            Some(sum) if sum <= self.limit => {
                self.used = sum;
                Ok(())
            }
            _ => Err(fault!(
                MEMORY_SPENT,
                "the messages of this run may take {} ({}) and take {} already, so there is no room for {} \
                more; lower the budgets, or raise \"memory:\" under \"ligament:\" in the model",
                format_bytes(self.limit),
                self.origin,
                format_bytes(self.used),
                format_bytes(bytes)
            )),
        }
    }

    /// Subtracts bytes from the bytes in use, because their memory is free again.
    pub fn give_back(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
    }
}

/// The memory for messages that is in use, and its limit, both in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct MessageMemory {
    pub used: u64,
    pub limit: u64,
}

/// The memory that the system can spare, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpareMemory {
    pub bytes: u64,
    /// The source of the number of bytes, for errors.
    pub origin: String,
}

impl SpareMemory {
    /// Returns the smallest of these amounts: the memory available on the machine, and the memory that the
    /// limit of each control group of this process leaves.
    pub fn now() -> SpareMemory {
        let available = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_memory(&text));
        let mut spare = SpareMemory {
            bytes: available.unwrap_or(1 << 30),
            origin: "the memory available on this machine".into(),
        };
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        for (directory, version) in group_directories(&groups) {
            if let Some(left) = room_in_group(&directory, version) {
                if left < spare.bytes {
                    let origin = format!("what the limit of the control group {} leaves", directory.display());
                    spare = SpareMemory { bytes: left, origin };
                }
            }
        }
        spare
    }

    /// Checks that the system can spare this many bytes now.
    ///
    /// # Errors
    /// The system cannot spare the bytes. The error names the source of the limit and the bytes to spare.
    pub fn check(bytes: u64) -> Result<(), Fault> {
        let spare = SpareMemory::now();
        if bytes <= spare.bytes {
            return Ok(());
        }
        Err(fault!(
            MEMORY_OF_MACHINE,
            "{} were asked for, but {} is only {}",
            format_bytes(bytes),
            spare.origin,
            format_bytes(spare.bytes)
        ))
    }
}

fn available_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CgroupVersion {
    V1,
    V2,
}

/// Returns the directories of this process's control groups for memory, and of all groups above these
/// groups. `groups` is the text of `/proc/self/cgroup`.
fn group_directories(groups: &str) -> Vec<(PathBuf, CgroupVersion)> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (root, version) = if controllers.is_empty() {
            (Path::new("/sys/fs/cgroup"), CgroupVersion::V2)
        } else if controllers.split(',').any(|name| name == "memory") {
            (Path::new("/sys/fs/cgroup/memory"), CgroupVersion::V1)
        } else {
            continue;
        };
        let mut relative = Path::new(path.trim_start_matches('/'));
        loop {
            found.push((root.join(relative), version));
            match relative.parent() {
                Some(parent) => relative = parent,
                None => break,
            }
        }
    }
    found
}

fn room_in_group(directory: &Path, version: CgroupVersion) -> Option<u64> {
    let (limit, usage) = match version {
        CgroupVersion::V1 => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        CgroupVersion::V2 => ("memory.max", "memory.current"),
    };
    let number = |name: &str| fs::read_to_string(directory.join(name)).ok()?.trim().parse::<u64>().ok();
    let (limit, usage) = (number(limit)?, number(usage)?);
    // Clean file pages count as usage, but the kernel drops these pages when a process needs memory.
    let cache = fs::read_to_string(directory.join("memory.stat")).map_or(0, |stat| inactive_file(&stat));
    Some(limit.saturating_sub(usage.saturating_sub(cache)))
}

fn inactive_file(stat: &str) -> u64 {
    let value = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value("total_inactive_file ").or_else(|| value("inactive_file ")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_can_be_taken_again_and_no_more() {
        let mut ledger = MemoryLedger::new(100, "the test");
        ledger.take(60).unwrap();
        let error = ledger.take(41).unwrap_err();
        assert!(error.contains("100 B (the test)") && error.contains("60 B"), "{error}");
        assert!(ledger.take(u64::MAX).is_err());
        ledger.give_back(60);
        ledger.take(100).unwrap();
    }

    #[test]
    fn groups_of_both_versions_are_found_with_those_above_them() {
        let v2 = group_directories("0::/user/job7\n");
        let paths: Vec<&str> = v2.iter().map(|(path, _)| path.to_str().unwrap()).collect();
        assert_eq!(paths, ["/sys/fs/cgroup/user/job7", "/sys/fs/cgroup/user", "/sys/fs/cgroup/"]);
        let v1 = group_directories("9:cpu,cpuacct:/a\n4:memory:/b\n");
        assert_eq!(v1[0], (PathBuf::from("/sys/fs/cgroup/memory/b"), CgroupVersion::V1));
        assert_eq!(v1.len(), 2);
    }

    #[test]
    fn available_memory_is_read_in_kilobytes() {
        assert_eq!(available_memory("MemTotal: 9 kB\nMemAvailable:    1024 kB\n"), Some(1 << 20));
        assert_eq!(available_memory("nothing"), None);
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(format_bytes(17), "17 B");
        assert_eq!(format_bytes(3 << 19), "1.5 MiB");
        assert_eq!(format_bytes(64 << 30), "64.0 GiB");
    }
}
