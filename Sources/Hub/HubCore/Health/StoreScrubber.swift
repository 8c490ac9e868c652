import HubStore
import HubWire

/// Reads the whole store again within a week, a small piece each hour, so that damage is found before the last good backup is gone.
struct StoreScrubber: Sendable {
    /// Pages between two pauses, 4 MiB.
    private static let piece: Int64 = 1_024

    let store: Store
    let clock: HubClock
    /// A hub that has just started serves waiting clients first.
    var beginning = Duration.seconds(60)
    var pause = Duration.milliseconds(200)
    var interval = Duration.seconds(3_600)

    /// Pages to read in an hour: a 168th of the store, and at least 16 MiB.
    static func share(of pages: Int64) -> Int64 { max(4 * piece, pages / 168 + 1) }

    func run(until leaving: Latch) async {
        await leaving.wait(upTo: beginning)
        while !leaving.isRaised {
            var left = Self.share(of: store.checked.pages)
            // The store remembers damage; other read errors are reported by the calls that need the pages.
            while left > 0, !leaving.isRaised, store.damage == nil,
                let check = try? await store.check(pages: Self.piece, now: clock.now()), check.next > 1
            {
                left -= Self.piece
                await leaving.wait(upTo: pause)
            }
            await leaving.wait(upTo: interval)
        }
    }
}
