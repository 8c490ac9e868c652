import Foundation

/// The extent of tests that repeat their work for every plugin, client language, page or round.
public enum Thoroughness {
    /// Whether the tests do all of it, as with `make test-all`; with `make test` they do one of each, and a tenth of the
    /// seeds and rounds.
    public static let isWhole = ProcessInfo.processInfo.environment["HUB_TESTS"] == "all"

    /// The seeds or variants of a repeated test: all of them with `make test-all`, the first with `make test`.
    public static func some<Variant>(_ variants: [Variant]) -> [Variant] {
        isWhole ? variants : Array(variants.prefix(1))
    }

    /// The seeds of a repeated random test: from 1 to `count` with `make test-all`, a tenth of them with `make test`.
    public static func seeds(_ count: UInt64) -> [UInt64] { Array(1...(isWhole ? count : max(1, count / 10))) }

    /// The number of rounds: all with `make test-all`, a tenth with `make test`.
    public static func rounds(_ count: Int) -> Int { isWhole ? count : count / 10 }

    /// The seed of a random test: another each time with `make test-all`, always this one with `make test`.
    public static func seed(_ usual: UInt64) -> UInt64 { isWhole ? .random(in: .min ... .max) : usual }
}
