//! The table that is printed.

use std::fs;

use super::measured::Cost;

/// A row: a pair of costs.
struct Row {
    name: String,
    size: String,
    ghyll: Cost,
    peer: Cost,
    reach: Reach,
}

/// What the row is to reach.
#[derive(Debug, Clone, Copy)]
pub enum Reach {
    /// At most so many times the peer.
    Times(f64),
    /// Nothing is set.
    Open,
}

/// All rows, in the order they were measured.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Runs both sides in turn, and keeps the median of each.
    ///
    /// # Errors
    /// Those of the two.
    pub fn pair(
        &mut self,
        (name, size): (&str, &str),
        reach: Reach,
        reps: usize,
        mut ghyll: impl FnMut() -> Result<Cost, String>,
        mut peer: impl FnMut() -> Result<Cost, String>,
    ) -> Result<(), String> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..reps {
            ours.push(ghyll()?);
            theirs.push(peer()?);
        }
        self.add(
            name,
            size,
            reach,
            Cost::median(&ours),
            Cost::median(&theirs),
        );
        Ok(())
    }

    /// Adds a row.
    pub fn add(&mut self, name: &str, size: &str, reach: Reach, ghyll: Cost, peer: Cost) {
        let row = Row {
            name: name.to_owned(),
            size: size.to_owned(),
            ghyll,
            peer,
            reach,
        };
        // Seen as it goes on, for the largest projects take long.
        eprintln!("{}", row.line());
        self.rows.push(row);
    }

    /// Prints it, row by row and size by size.
    pub fn print(&self) {
        println!("| what / beside what | records | ghyll | peer | times | to reach | peak |");
        println!("|---|---:|---:|---:|---:|---:|---:|");
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.name.as_str()) {
                names.push(&row.name);
            }
        }
        for name in names {
            for row in self.rows.iter().filter(|row| row.name == name) {
                println!("{}", row.line());
            }
        }
    }
}

impl Row {
    fn line(&self) -> String {
        let (a, b) = (self.ghyll.elapsed, self.peer.elapsed);
        let times = a.as_secs_f64() / b.as_secs_f64().max(1e-9);
        let reach = match self.reach {
            Reach::Times(most) => format!("{most}×{}", if times <= most { "" } else { " ✗" }),
            Reach::Open => String::new(),
        };
        let peak = match self.ghyll.kib {
            0 => String::new(),
            kib => format!("{} MB", kib >> 10),
        };
        format!(
            "| {} | {} | {} | {} | {} | {reach} | {peak} |",
            self.name,
            self.size,
            time(self.ghyll.elapsed.as_secs_f64()),
            time(self.peer.elapsed.as_secs_f64()),
            if times < 10.0 {
                format!("{times:.2}")
            } else {
                format!("{times:.0}")
            },
        )
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// Says when this is and on what.
pub fn machine() {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let memory = read("/proc/meminfo");
    let memory = memory.lines().next().unwrap_or_default();
    let load = read("/proc/loadavg");
    println!(
        "{}; {cores} cores, {model}; {memory}; Linux {}; load {}\n",
        today(),
        read("/proc/sys/kernel/osrelease").trim(),
        load.split(' ').next().unwrap_or_default()
    );
}

fn today() -> String {
    let now = ghyll::clock::rfc3339(jiff::Timestamp::now());
    now.get(..10).unwrap_or_default().to_owned()
}
