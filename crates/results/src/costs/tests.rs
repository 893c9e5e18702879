//! Bills by hand, the choice of entries, and wrong tables.

use super::*;

const GBPS: u64 = 1_000_000_000;

const COSTS: &str = r#"
currency = "EUR"
[[switch]]
ports = 8
cost = 100
[[switch]]
ports = 16
cost = 150
[[switch]]
name = "big one"
kind = "spine"
cost = 10
per_port = 20
[[cable]]
kind = "electrical"
up_to = "3 m"
cost = 5
per_metre = 1
[[cable]]
kind = "optical"
cost = 50
per_metre = 0.5
per_gbps = 0.1
per_gbps_metre = 0.01
[length]
host = "2 m"
far = "1000 cm"
latency_per_metre = "5 ns"
[nic]
cost = 7
per_gbps = 0.5
[host]
cost = 1000
"#;

fn cables(class: &str, count: f64) -> CableCount {
    CableCount {
        class: class.into(),
        bandwidth_bits_per_s: 100 * GBPS,
        latency_ps: 10_000,
        count,
    }
}

fn routers(kind: &str, ports: u64, gbps: Option<u64>, count: f64) -> RouterCount {
    RouterCount {
        kind: kind.into(),
        ports,
        bandwidth_bits_per_s: gbps.map(|gbps| gbps * GBPS),
        count,
    }
}

fn network() -> Inventory {
    Inventory {
        hosts: 10,
        cables: vec![cables("host", 20.0), cables("near", 4.0), cables("far", 2.0)],
        routers: vec![
            routers("leaf", 8, None, 3.0),
            routers("leaf", 9, None, 1.0),
            routers("spine", 4, None, 2.0),
        ],
    }
}

fn table(text: &str) -> CostTable {
    CostTable::from_toml(text, "costs.toml").unwrap()
}

fn each(table: &CostTable, parts: &Inventory) -> Vec<f64> {
    table.bill(parts).unwrap().iter().map(|item| item.each).collect()
}

#[test]
fn a_bill_takes_the_cheapest_entry_of_each_part() {
    let table = table(COSTS);
    let by_hand = [
        100.0,
        150.0,
        10.0 + 20.0 * 4.0,
        5.0 + 2.0,
        // 10 ns are 2 m.
        5.0 + 2.0,
        50.0 + 0.5 * 10.0 + (0.1 + 0.01 * 10.0) * 100.0,
        7.0 + 0.5 * 100.0,
        1000.0,
    ];
    assert_eq!(each(&table, &network()), by_hand);
    let sum = 300.0 + 150.0 + 180.0 + 140.0 + 28.0 + 150.0 + 1140.0 + 10_000.0;
    assert_eq!(table.cost(&network()).unwrap(), sum);
    assert_eq!(table.amount(sum), "12,088 EUR");
    assert_eq!(table.amount(12.345), "12.35 EUR");
    let names: Vec<String> = table
        .bill(&network())
        .unwrap()
        .into_iter()
        .map(|item| item.name)
        .collect();
    assert_eq!(
        names[2..5],
        [
            "big one as spine with 4 ports",
            "electrical cable: host, 2 m",
            "electrical cable: near, 2 m"
        ]
    );
}

#[test]
fn a_switch_with_a_bandwidth_has_no_faster_port() {
    let text = r#"
[[switch]]
bandwidth = "100 Gbps"
cost = 1
[[switch]]
bandwidth = "400 Gbps"
cost = 3
[[switch]]
kind = "core"
cost = 9
[[cable]]
cost = 0
"#;
    let table = table(text);
    assert_eq!(table.bandwidth_steps(), [100 * GBPS, 400 * GBPS]);
    let of = |kind: &str, gbps: Option<u64>| {
        let parts = Inventory {
            hosts: 0,
            cables: vec![],
            routers: vec![routers(kind, 4, gbps, 1.0)],
        };
        table.cost(&parts).map_err(|error| error.to_string())
    };
    assert_eq!(of("leaf", Some(50)), Ok(1.0));
    assert_eq!(of("leaf", Some(100)), Ok(1.0));
    assert_eq!(of("leaf", Some(101)), Ok(3.0));
    assert_eq!(of("core", Some(800)), Ok(9.0));
    let missing = "costs.toml: no [[switch]] for routers of kind 'leaf' with 4 ports in use";
    assert_eq!(of("leaf", Some(401)), Err(format!("{missing} of up to 401 Gbps")));
    assert_eq!(of("leaf", None), Err(missing.to_string()));
}

#[test]
fn costs_depend_on_the_bandwidth_of_classes_that_are_there() {
    let flat = "[[switch]]\ncost = 1\n[[cable]]\ncost = 1\n";
    assert!(!table(flat).depends_on_bandwidth(["local"]));
    for (more, depends) in [
        ("[[cable]]\nclass = \"host\"\nper_gbps = 1", false),
        ("[[cable]]\nclass = [\"host\", \"local\"]\nper_gbps = 1", true),
        ("[[cable]]\nper_gbps_metre = 1", true),
        ("[[cable]]\nbandwidth = \"1 Gbps\"", true),
        ("[[switch]]\nbandwidth = \"1 Gbps\"", true),
        ("[nic]\nper_gbps = 1", false),
    ] {
        let table = table(&format!("{flat}{more}"));
        assert_eq!(table.depends_on_bandwidth(["local"]), depends, "{more}");
    }
}

#[test]
fn kinds_of_routers_are_the_last_names_of_their_coordinates() {
    for (coordinates, kind) in [
        ("pod 0, leaf 3", "leaf"),
        ("group 3, router 1", "router"),
        ("(0, 1)", "router"),
        ("row-leaf 12", "row-leaf"),
        ("- 12", "router"),
        ("leaf", "router"),
        ("leaf3", "router"),
        ("", "router"),
        ("Ärger 3", "rger"),
    ] {
        assert_eq!(router_kind(coordinates), kind, "{coordinates}");
    }
}

#[test]
fn electricity_is_power_over_time() {
    let with = |text: &str| {
        table(&format!("{COSTS}[electricity]\n{text}"))
            .electricity(2500.0)
            .unwrap()
    };
    let item = with("price_per_kwh = 0.2\nyears = 5\npue = 1.1");
    assert_eq!(item.name, "electricity (kWh): 2,500 W for 43,800 h, PUE 1.1");
    assert!((item.cost() - 24_090.0).abs() < 1e-6);
    assert_eq!(with("price_per_kwh = 1\nhours = 2").cost(), 5.0);
    assert!(!table(COSTS).has_electricity() && table(COSTS).electricity(1.0).is_none());
}

#[test]
fn wrong_tables_name_file_line_and_key() {
    for (text, found) in [
        (
            "[[cable]]\ncost = 1",
            "costs.toml: switch: missing; expected at least one [[switch]]",
        ),
        (
            "[[switch]]\nport = 1",
            "costs.toml:2: switch.0.port: unknown key 'port'; did you mean 'ports'?",
        ),
        (
            "[[switch]]\nports = 0",
            "costs.toml:2: switch.0.ports: expected at least 1 and at most 1,000,000,000, found 0",
        ),
        (
            "[[switch]]\nbandwidth = 100",
            "costs.toml:2: switch.0.bandwidth: 100 has no unit; expected a data rate",
        ),
        (
            "[[switch]]\ncost = '1'",
            "costs.toml:2: switch.0.cost: expected a number, found \"1\"",
        ),
        (
            "[[switch]]\ncost = nan",
            "costs.toml:2: switch.0.cost: expected a number from -1e+30 to 1e+30, found nan",
        ),
        (
            "[[cable]]\nup_to = '3 ns'",
            "costs.toml:2: cable.0.up_to: \"3 ns\" has the unknown unit 'ns'",
        ),
        (
            "[[cable]]\nclass = 3",
            "costs.toml:2: cable.0.class: 3 is not a link class, or a list of them",
        ),
        (
            "[[cable]]\nkind = 'optic'",
            "costs.toml:2: cable.0.kind: unknown name 'optic'; did you mean 'optical'?",
        ),
        (
            "[length]\nx = 3",
            "costs.toml:2: length.x: 3 has no unit; expected a length",
        ),
        (
            "[length]\nlatency_per_metre = '0 ns'",
            "costs.toml:2: length.latency_per_metre: expected more than nothing",
        ),
        (
            "[nics]\ncost = 3",
            "costs.toml:1: nics: unknown key 'nics'; did you mean 'nic'?",
        ),
        (
            "[electricity]\nyears = 5",
            "costs.toml:1: electricity.price_per_kwh: missing; expected a number",
        ),
        (
            "[electricity]\nprice_per_kwh = 1",
            "costs.toml:1: electricity.years: expected one of the keys",
        ),
        ("a = ", "costs.toml:1: not valid TOML: "),
    ] {
        let error = CostTable::from_toml(text, "costs.toml").unwrap_err().to_string();
        assert!(error.starts_with(found), "{error}");
    }
    let gone = CostTable::load(Path::new("no/costs.toml"))
        .unwrap_err()
        .to_string();
    assert!(gone.starts_with("no/costs.toml: cannot be read: "), "{gone}");
    let folder = CostTable::load(Path::new(".")).unwrap_err().to_string();
    assert!(
        folder.starts_with(".: cannot be read: it is a folder; expected a regular file"),
        "{folder}"
    );
}
