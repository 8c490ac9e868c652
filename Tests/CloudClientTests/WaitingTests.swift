import CloudClient
import Foundation
import PluginKit
import Synchronization
import Testing

@Suite struct WaitingTests {
    /// A service that gives these answers in turn, and repeats the last one.
    private func service(_ answers: [String], _ fields: [String] = []) throws -> StandIn {
        let left = Mutex(answers)
        return try StandIn { talk, _ in
            while talk.request() != nil {
                let status = left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
                if status.isEmpty { return }
                talk.answer(status, status.hasPrefix("200") ? [] : fields)
            }
        }
    }

    private let busy = "503 Service Unavailable"

    @Test func `Waits grow from failure to failure up to the maximum`() async throws {
        let pace = TestPace()
        let retry = Retry(attempts: 6, backOff: BackOff(first: .seconds(1), factor: 3, longest: .seconds(20)))
        let answer = try await client(service([busy]), pace).send(CloudRequest(.get, "/"), retrying: retry)
        #expect(answer.status == 503)
        #expect(pace.seconds == [1, 3, 9, 20, 20])
    }

    @Test func `Jitter shortens a wait by up to a half`() async throws {
        let pace = TestPace(chance: 0.5)
        _ = try await client(service([busy, "200 OK"]), pace).send(CloudRequest(.get, "/"), retrying: Retry())
        #expect(pace.seconds == [0.75])
    }

    @Test func `After a temporary failure, a later success is the answer`() async throws {
        let pace = TestPace()
        let answer = try await client(service(["", busy, "200 OK"]), pace)
            .send(CloudRequest(.get, "/"), retrying: Retry())
        #expect(answer.status == 200 && pace.seconds == [1, 3])
    }

    @Test(arguments: ["", "500 Internal Server Error", "503 Service Unavailable"])
    func `A request that may have had an effect is not repeated, unless it overwrites`(_ first: String) async throws {
        let pace = TestPace()
        let once = try client(service([first, "200 OK"]), pace)
        var request = try CloudRequest.json("/update/", [1])
        if first.isEmpty {
            #expect(try await failure { try await once.send(request, retrying: Retry()) }.code == .cut)
        } else {
            #expect(try await once.send(request, retrying: Retry()).status == Int(first.prefix(3)))
        }
        #expect(pace.seconds.isEmpty)

        request.isRepeatable = true
        let again = try client(service([first, "200 OK"]), pace)
        #expect(try await again.send(request, retrying: Retry()).status == 200)
        #expect(pace.seconds == [1])
    }

    @Test func `Any request is repeated after 429, because it was not carried out`() async throws {
        let pace = TestPace()
        let answer = try await client(service(["429 Too Many", "200 OK"]), pace)
            .send(CloudRequest(.post, "/increment/"), retrying: Retry())
        #expect(answer.status == 200 && pace.seconds == [1])
    }

    @Test(arguments: ["400 Bad Request", "401 Unauthorized", "404 Not Found"])
    func `An error that a repeat cannot mend is returned at once`(_ status: String) async throws {
        let pace = TestPace()
        let answer = try await client(service([status, "200 OK"]), pace)
            .send(CloudRequest(.get, "/"), retrying: Retry())
        #expect(answer.status == Int(status.prefix(3)) && pace.seconds.isEmpty)
    }

    @Test(arguments: [
        "90", "Sat, 09 Mar 2024 16:01:30 GMT", "Saturday, 09-Mar-24 16:01:30 GMT", "Sat Mar  9 16:01:30 2024",
    ])
    func `Retry-After is read as seconds and as a date of the hub's clock`(_ text: String) async throws {
        let pace = TestPace()  // 2024-03-09T16:00:00Z
        _ = try await client(service([busy, "200 OK"], ["Retry-After: \(text)"]), pace)
            .send(CloudRequest(.get, "/"), retrying: Retry())
        #expect(pace.seconds == [90])
    }

    @Test(arguments: ["Sat, 09 Mar 2024 15:00:00 GMT", "0", "soon", "-3", "Sat, 99 Foo 2024 99:00:00 GMT", ""])
    func `Retry-After in the past or without meaning leaves the back-off as it is`(_ text: String) async throws {
        let pace = TestPace()
        _ = try await client(service([busy, "200 OK"], ["Retry-After: \(text)"]), pace)
            .send(CloudRequest(.get, "/"), retrying: Retry())
        #expect(pace.seconds == [1])
    }

    @Test func `A wait that exceeds the patience is left to the caller`() async throws {
        let pace = TestPace()
        let answer = try await client(service(["429 Too Many"], ["Retry-After: 99999999999999999999"]), pace)
            .send(CloudRequest(.get, "/"), retrying: Retry())
        #expect(answer.status == 429 && pace.seconds.isEmpty)
        #expect(try #require(answer.retryAfter(at: 0)) > .seconds(86_400))
    }

    @Test func `Cancelling ends a wait`() async throws {
        let pace = TestPace()
        let (waits, waiting) = AsyncStream<Void>.makeStream()
        let endless = ClientClock(
            now: pace.pace.now, steady: pace.pace.steady,
            pause: { _ in
                waiting.yield()
                try await Task.sleep(for: .seconds(86_400))
            }, chance: { 0 })
        let closed = try DeafPort()
        let address = try ServiceAddress("http://127.0.0.1:\(closed.port)")
        let task = Task {
            try await CloudClient(address, pace: endless).send(CloudRequest(.get, "/"), retrying: Retry())
        }
        for await _ in waits { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `A day of a simulated hub clock passes in an instant`() async throws {
        let clock = HubClock(.simulated(start: Timestamp(microseconds: 0), rate: 10_000_000))
        let pace = ClientClock { clock }
        let start = pace.now()
        try await pace.wait(.seconds(86_400))
        #expect(pace.now() - start >= 86_400_000_000)
    }
}

@Suite struct RateLimiterTests {
    private func always(_ fields: [String] = [], status: String = "200 OK") throws -> StandIn {
        try StandIn { talk, _ in
            while talk.request() != nil { talk.answer(status, fields) }
        }
    }

    @Test func `In no window are there more requests than the budget allows`() async throws {
        let (pace, service) = (TestPace(), try always())
        let limiter = RateLimiter(.init(3, per: .seconds(60)), .init(5, per: .seconds(600)), patience: .seconds(3_600))
        let client = try client(service, pace, limiter: limiter)
        var times: [Int64] = []
        for _ in 0..<12 {
            _ = try await client.send(CloudRequest(.get, "/"))
            times.append(pace.time.withLock { $0 })
            pace.time.withLock { $0 += 1_000_000 }
        }
        for (index, time) in times.enumerated() {
            #expect(times[..<index].filter { time - $0 < 60_000_000 }.count < 3)
            #expect(times[..<index].filter { time - $0 < 600_000_000 }.count < 5)
        }
        // And no fewer: the fourth comes a minute after the first, the sixth ten minutes after it.
        #expect(times[3] - times[0] == 60_000_000 && times[5] - times[0] == 600_000_000)
    }

    @Test func `Requests at the same time share the budget`() async throws {
        let (pace, service) = (TestPace(), try always())
        let limiter = RateLimiter(.init(5, per: .seconds(60)), patience: .seconds(3_600))
        let client = try client(service, pace, limiter: limiter)
        let start = pace.pace.now()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<15 { group.addTask { _ = try await client.send(CloudRequest(.get, "/")) } }
            try await group.waitForAll()
        }
        #expect(pace.pace.now() - start >= 120_000_000)
    }

    @Test func `A request fails at once if it would exceed its patience, and says when to retry`() async throws {
        let (pace, service) = (TestPace(), try always())
        let limiter = RateLimiter(.init(1, per: .seconds(3_600)))
        let client = try client(service, pace, limiter: limiter)
        _ = try await client.send(CloudRequest(.get, "/"))
        let error = try await failure { try await client.send(secretRequest(.post)) }
        #expect(error.code == .throttled && !error.mayHaveHadEffect && error.retryAfter == .seconds(3_600))
        #expect(error.message.contains("used up") && !error.message.contains(hidden))
        #expect(pace.seconds.isEmpty)
    }

    @Test(arguments: [
        (["X-Rate-Limit-Remaining: 0/997", "X-Rate-Limit-Reset: 1710000045/1710028800"], 45.0),
        (["X-Rate-Limit-Remaining: 7/0", "X-Rate-Limit-Reset: 1710000045/1710000100"], 100),
        (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 30"], 30),
        (["RateLimit-Remaining: 0", "RateLimit-Reset: 1709999999"], 1),
        (["Retry-After: 20"], nil),
        (["X-RateLimit-Remaining: 5", "X-RateLimit-Reset: 30"], nil),
        (["X-RateLimit-Remaining: none", "X-RateLimit-Reset: soon"], nil),
    ])
    func `The remaining budget that the service reports holds for the next request`(_ fields: [String], _ wait: Double?)
        async throws
    {
        let (pace, service) = (TestPace(), try always(fields))
        let client = try client(service, pace, limiter: RateLimiter(.init(1_000, per: .seconds(60))))
        _ = try await client.send(CloudRequest(.get, "/"))
        #expect(pace.seconds.isEmpty)
        _ = try await client.send(CloudRequest(.get, "/"))
        #expect(pace.seconds == (wait.map { [$0] } ?? []))
    }

    /// An impossible time counts as at most a day, and never crashes the process.
    @Test(
        arguments: [
            ("1710000030000", 30), ("9223372036855", 86_400), ("9223372036854775807", 86_400),
            ("-9223372036854775808", 1),
        ] as [(String, Double)])
    func `A reset may be a date in milliseconds, and any number is accepted`(_ reset: String, _ wait: Double)
        async throws
    {
        let (pace, service) = (TestPace(), try always(["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: \(reset)"]))
        let limiter = RateLimiter(.init(1_000, per: .seconds(60)), patience: .seconds(100_000))
        let client = try client(service, pace, limiter: limiter)
        for _ in 1...2 { _ = try await client.send(CloudRequest(.get, "/")) }
        #expect(pace.seconds == [wait])
    }

    @Test func `A refusal with Retry-After holds for all clients that share the budget`() async throws {
        let pace = TestPace()
        let limiter = RateLimiter(.init(1_000, per: .seconds(60)))
        _ = try await client(always(["Retry-After: 20"], status: "429 Too Many"), pace, limiter: limiter)
            .send(CloudRequest(.get, "/"))
        _ = try await client(always(), pace, limiter: limiter).send(CloudRequest(.get, "/"))
        #expect(pace.seconds == [20])
    }

    private static let year: Int64 = 31_536_000

    @Test(arguments: [-year, year])
    func `A clock that is set by a year neither lengthens nor opens a window`(_ jump: Int64) async throws {
        let (pace, service) = (TestPace(), try always())
        let client = try client(service, pace, limiter: RateLimiter(.init(1, per: .seconds(60))))
        _ = try await client.send(CloudRequest(.get, "/"))
        pace.jump(seconds: jump)
        _ = try await client.send(CloudRequest(.get, "/"))
        #expect(pace.seconds == [60])
    }

    @Test(arguments: [-year, year])
    func `A clock that is set by a year does not change the wait that the service requested`(_ jump: Int64) async throws
    {
        let pace = TestPace()
        let limiter = RateLimiter(.init(1_000, per: .seconds(60)))
        _ = try await client(always(["Retry-After: 20"], status: "429 Too Many"), pace, limiter: limiter)
            .send(CloudRequest(.get, "/"))
        pace.jump(seconds: jump)
        #expect(limiter.closing(pace.pace) == .seconds(20))
        _ = try await client(always(), pace, limiter: limiter).send(CloudRequest(.get, "/"))
        #expect(pace.seconds == [20] && limiter.closing(pace.pace) == .zero)
    }

    @Test(arguments: [-year, year])
    func `The rest after failures grows, and setting the clock makes it neither longer nor shorter`(_ jump: Int64) {
        let pace = TestPace()
        var rest = RetryDelay(BackOff(first: .seconds(2), factor: 2, longest: .seconds(300)))
        #expect(rest.isOver(pace.pace))
        for wait in [2, 4, 8] as [Int64] {
            rest.begin(pace.pace)
            pace.jump(seconds: jump)
            pace.time.withLock { $0 += wait * 1_000_000 - 1 }
            #expect(!rest.isOver(pace.pace))
            pace.time.withLock { $0 += 1 }
            #expect(rest.isOver(pace.pace))
        }
        rest.begin(pace.pace)
        rest.reset()
        #expect(rest.isOver(pace.pace))
    }

    @Test(arguments: [-year, year]) func `A session with another hub and its other clock makes no request wait longer`(
        _ jump: Int64
    ) async throws {
        let pace = TestPace()
        let limiter = RateLimiter(.init(1, per: .seconds(60)))
        _ = try await client(always(["Retry-After: 20"], status: "429 Too Many"), pace, limiter: limiter)
            .send(CloudRequest(.get, "/"))
        pace.time.withLock { $0 += jump * 1_000_000 }
        _ = try await client(always(), pace, limiter: limiter).send(CloudRequest(.get, "/"))
        #expect(pace.seconds.allSatisfy { $0 <= 60 } && (jump > 0 || pace.seconds == [60]))
        #expect(limiter.closing(pace.pace) == .zero)
        var rest = RetryDelay(BackOff(first: .seconds(2), factor: 2, longest: .seconds(300)))
        rest.begin(pace.pace)
        pace.time.withLock { $0 += jump * 1_000_000 }
        #expect(rest.isOver(pace.pace))
    }
}
