import Foundation
import PluginTesting
import Testing

@testable import PluginKit

/// The feed as a bell that wakes followers.
@Suite(.timeLimit(.minutes(1))) struct FeedNotifierTests {
    @Test func `a ring wakes a waiting follower, also after a wait that timed out, and without a ring it waits again`()
        async throws
    {
        let scene = try await Scene()
        let run = PluginRun(
            ScriptedSource { hub in
                let bell = FeedNotifier(beside: hub.link)
                let pause = Duration.milliseconds(50)
                for _ in 0..<3 {
                    let start = ContinuousClock.now
                    await bell.next(within: pause)
                    // A bell whose stream has ended would ring without pause.
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
