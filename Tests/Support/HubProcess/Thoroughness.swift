import Foundation

/// The extent of tests that repeat their work for every plugin, client language, page or round.
public enum Thoroughness {
    /// Whether all of it is done, as by `make test-all`; `make test` does one of each.
    public static let isWhole = ProcessInfo.processInfo.environment["HUB_TESTS"] == "all"

    /// All of these with `make test-all`, the first of them with `make test`: seeds that repeat a random test.
    public static func some<Seed>(_ seeds: [Seed]) -> [Seed] { isWhole ? seeds : Array(seeds.prefix(1)) }

    /// As many rounds with `make test-all`, a third of them with `make test`.
    public static func rounds(_ count: Int) -> Int { isWhole ? count : count / 3 }
}
