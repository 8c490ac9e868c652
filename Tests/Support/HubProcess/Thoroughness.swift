import Foundation

/// The extent of tests that repeat their work for every plugin, client language, page or round.
public enum Thoroughness {
    /// Whether all of it is done, as by `make test-all`; `make test` does one of each.
    public static let isWhole = ProcessInfo.processInfo.environment["HUB_TESTS"] == "all"
}
