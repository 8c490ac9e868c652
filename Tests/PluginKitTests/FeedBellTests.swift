import Foundation
import PluginTesting
import Testing

@testable import PluginKit

/// The feed as a bell, for who follows.
@Suite(.timeLimit(.minutes(1))) struct FeedBellTests {
    @Test func `who waits is woken by a ring, also after a wait in vain, and waits again where there was none`()
        async throws
    {
        let scene = try await Scene()
        let run = PluginRun(
            ScriptedSource { hub in
                let bell = FeedBell(beside: hub.link)
                let pause = Duration.milliseconds(50)
                for _ in 0..<3 {
                    let start = ContinuousClock.now
                    await bell.next(within: pause)
                    // A bell that is over rings without end.
                    #expect(ContinuousClock.now - start >= pause)
                }
                async let heard: Void = bell.next(within: .seconds(600))
                bell.ring()
                await heard
                bell.ring()
                await bell.next(within: .seconds(600))
                let start = ContinuousClock.now
                await bell.next(within: pause)
                #expect(ContinuousClock.now - start >= pause)
            }, at: scene.place)
        #expect(await run.end() == .done)
        try await scene.end(run)
    }
}
