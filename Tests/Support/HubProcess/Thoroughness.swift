import Foundation

/// How much the tests do whose work grows with what they cover: every plugin, client language, page or round.
public enum Thoroughness {
    /// Whether all of it is done, as by `make test-all`; `make test` does one of each.
    public static let isWhole = ProcessInfo.processInfo.environment["HUB_TESTS"] == "all"
}
