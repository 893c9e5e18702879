//! Networks in memory, and checks of all patterns.

use std::collections::BTreeMap;
use std::path::Path;

use config::{Error, Section};

use super::random::SplitMix;
use super::{Geometry, GridKind, Pattern, PatternContext, RouterGrid, TrafficRandom};

/// A network in memory.
pub struct FakeNetwork {
    links: Vec<Vec<u32>>,
    hosts_per_router: u32,
    routers_per_group: Option<u32>,
    grid: Option<RouterGrid>,
}

impl FakeNetwork {
    pub fn torus(sizes: &[u32], hosts_per_router: u32) -> FakeNetwork {
        FakeNetwork::grid(sizes, hosts_per_router, GridKind::Torus)
    }

    pub fn mesh(sizes: &[u32], hosts_per_router: u32) -> FakeNetwork {
        FakeNetwork::grid(sizes, hosts_per_router, GridKind::Mesh)
    }

    pub fn hyperx(sizes: &[u32], hosts_per_router: u32) -> FakeNetwork {
        FakeNetwork::grid(sizes, hosts_per_router, GridKind::AllToAll)
    }

    fn grid(sizes: &[u32], hosts_per_router: u32, kind: GridKind) -> FakeNetwork {
        let routers: u32 = sizes.iter().product();
        let mut links = vec![Vec::new(); routers as usize];
        let mut stride = 1;
        for size in sizes {
            for router in 0..routers {
                let x = router / stride % size;
                let line = router - x * stride;
                let ends: Vec<u32> = match kind {
                    GridKind::AllToAll => (0..*size).filter(|other| *other != x).collect(),
                    GridKind::Torus if *size > 1 => vec![(x + 1) % size, (x + size - 1) % size],
                    _ => (0..*size).filter(|other| other.abs_diff(x) == 1).collect(),
                };
                links[router as usize].extend(ends.iter().map(|end| line + end * stride));
            }
            stride *= size;
        }
        let grid = RouterGrid {
            sizes: sizes.to_vec(),
            kind,
            hosts_per_router,
        };
        FakeNetwork {
            links,
            hosts_per_router,
            routers_per_group: None,
            grid: Some(grid),
        }
    }

    /// Groups without any links.
    pub fn groups(groups: u32, routers_per_group: u32, hosts_per_router: u32) -> FakeNetwork {
        FakeNetwork {
            links: vec![Vec::new(); (groups * routers_per_group) as usize],
            hosts_per_router,
            routers_per_group: Some(routers_per_group),
            grid: None,
        }
    }

    pub fn graph(edges: &[(u32, u32)], routers: u32, hosts_per_router: u32) -> FakeNetwork {
        let mut links = vec![Vec::new(); routers as usize];
        for (a, b) in edges {
            links[*a as usize].push(*b);
            links[*b as usize].push(*a);
        }
        FakeNetwork {
            links,
            hosts_per_router,
            routers_per_group: None,
            grid: None,
        }
    }

    pub fn linked(&self, a: u32, b: u32) -> bool {
        self.links[a as usize].contains(&b)
    }

    pub fn hosts(&self) -> u32 {
        self.routers() * self.hosts_per_router
    }

    pub fn built(&self, name: &str, parameters: &str) -> Box<dyn Pattern> {
        built(name, parameters, self.hosts(), Some(self), &mut SplitMix(1)).unwrap()
    }

    pub fn error(&self, name: &str, parameters: &str) -> String {
        message(built(
            name,
            parameters,
            self.hosts(),
            Some(self),
            &mut SplitMix(1),
        ))
    }
}

impl Geometry for FakeNetwork {
    fn describe(&self) -> String {
        "network in memory".into()
    }

    fn routers(&self) -> u32 {
        self.links.len() as u32
    }

    fn router(&self, host: u32) -> u32 {
        host / self.hosts_per_router
    }

    fn first_host(&self, router: u32) -> Option<u32> {
        Some(router * self.hosts_per_router)
    }

    fn neighbours(&self, router: u32, each: &mut dyn FnMut(u32)) {
        self.links[router as usize].iter().copied().for_each(each);
    }

    fn hosts_per_router(&self) -> Option<u32> {
        Some(self.hosts_per_router)
    }

    fn hosts_per_group(&self) -> Option<u32> {
        self.routers_per_group
            .map(|routers| routers * self.hosts_per_router)
    }

    fn grid(&self) -> Option<RouterGrid> {
        self.grid.clone()
    }

    fn is_graph(&self) -> bool {
        self.routers_per_group.is_none() && self.grid.is_none()
    }
}

/// A pattern on a network, or on a part of one.
pub fn built(
    name: &str,
    parameters: &str,
    hosts: u32,
    network: Option<&FakeNetwork>,
    random: &mut dyn TrafficRandom,
) -> Result<Box<dyn Pattern>, Error> {
    built_in(Path::new("."), name, parameters, hosts, network, random)
}

/// A pattern with a folder for its files.
pub fn built_in(
    folder: &Path,
    name: &str,
    parameters: &str,
    hosts: u32,
    network: Option<&FakeNetwork>,
    random: &mut dyn TrafficRandom,
) -> Result<Box<dyn Pattern>, Error> {
    let parameters = parameters.trim().replace('\n', ", ");
    let comma = if parameters.is_empty() { "" } else { ", " };
    let text = format!("traffic = {{ pattern = \"{name}\"{comma}{parameters} }}");
    let file = Section::from_toml(&text, "x.toml")?;
    let section = file.section("traffic")?;
    let mut place = PatternContext {
        hosts,
        network: network.map(|network| network as &dyn Geometry),
        folder,
        random,
    };
    let pattern = super::pattern(section, &mut place)?;
    file.finish()?;
    Ok(pattern)
}

/// A pattern of a job on so many hosts that are a part of the network.
pub fn pattern(name: &str, parameters: &str, hosts: u32) -> Box<dyn Pattern> {
    built(name, parameters, hosts, None, &mut SplitMix(1)).unwrap()
}

fn message(built: Result<Box<dyn Pattern>, Error>) -> String {
    match built {
        Ok(_) => panic!("it was built"),
        Err(error) => error.to_string(),
    }
}

/// The error of a pattern on so many hosts of a part of the network.
pub fn error(name: &str, parameters: &str, hosts: u32) -> String {
    message(built(name, parameters, hosts, None, &mut SplitMix(1)))
}

/// The partners of all hosts, for a pattern without random numbers whose shares agree.
pub fn partners_of(pattern: &dyn Pattern, hosts: u32) -> Vec<Option<u32>> {
    let nothing = &mut super::random::tests::ScriptedRandom(vec![]);
    (0..hosts)
        .map(|source| {
            let partner = pattern.destination(source, hosts, 0, nothing);
            assert_eq!(partner, pattern.destination(source, hosts, 77, nothing));
            let share: Vec<(u32, f64)> = partner.into_iter().map(|partner| (partner, 1.0)).collect();
            assert_eq!(shares(pattern, source, hosts), share);
            partner
        })
        .collect()
}

/// The partners on a part of the network. They must be a permutation, except for incasts.
pub fn partners(name: &str, parameters: &str, hosts: u32) -> Vec<Option<u32>> {
    let partners = partners_of(pattern(name, parameters, hosts).as_ref(), hosts);
    assert!(name == "incast" || is_permutation(&partners), "{partners:?}");
    partners
}

/// The partners on a network.
pub fn partners_on(name: &str, parameters: &str, network: &FakeNetwork) -> Vec<Option<u32>> {
    let partners = partners_of(network.built(name, parameters).as_ref(), network.hosts());
    assert!(is_permutation(&partners), "{partners:?}");
    partners
}

/// Whether every host has one source; silent hosts are their own.
pub fn is_permutation(partners: &[Option<u32>]) -> bool {
    let mut reached: Vec<u32> = (0u32..)
        .zip(partners)
        .map(|(host, partner)| partner.unwrap_or(host))
        .collect();
    reached.sort_unstable();
    reached.into_iter().eq(0..partners.len() as u32)
}

/// The shares of a source by destination.
pub fn shares(pattern: &dyn Pattern, source: u32, hosts: u32) -> Vec<(u32, f64)> {
    let mut shares = BTreeMap::new();
    pattern.shares(source, hosts, &mut |host, share| {
        *shares.entry(host).or_insert(0.0) += share
    });
    shares.into_iter().collect()
}

/// Checks that the choices of each source agree with its shares, which add up to 1.
pub fn check_shares(pattern: &dyn Pattern, hosts: u32) {
    const MESSAGES: u32 = 5040;
    for source in 0..hosts {
        let shares = shares(pattern, source, hosts);
        let mut random = SplitMix(source.into());
        let mut counts = vec![0u32; hosts as usize];
        for index in 0..MESSAGES {
            let to = pattern.destination(source, hosts, index.into(), &mut random);
            assert_eq!(
                to.is_none(),
                shares.is_empty(),
                "a silent source is always silent"
            );
            to.into_iter().for_each(|to| counts[to as usize] += 1);
        }
        if shares.is_empty() {
            continue;
        }
        let total: f64 = shares.iter().map(|(_, share)| share).sum();
        assert!((total - 1.0).abs() < 1e-9, "shares of {source} add up to {total}");
        let counted: u32 = shares.iter().map(|(host, _)| counts[*host as usize]).sum();
        assert_eq!(counted, MESSAGES, "{source} sends where it has no share");
        let (mut chi2, mut cells) = (0.0, 0.0);
        for (host, share) in shares
            .iter()
            .filter(|(_, share)| share * f64::from(MESSAGES) >= 5.0)
        {
            let expected = share * f64::from(MESSAGES);
            chi2 += (f64::from(counts[*host as usize]) - expected).powi(2) / expected;
            cells += 1.0;
        }
        // Far beyond the 99.99 % quantile for any number of cells: sources are many, and the seed is fixed.
        let limit = cells + 5.0 * (2.0f64 * cells).sqrt() + 10.0;
        assert!(chi2 < limit, "{source}: chi-square {chi2} of {cells} cells");
    }
}
