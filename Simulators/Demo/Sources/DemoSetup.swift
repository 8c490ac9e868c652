import HubClient
import HubWire
import Samples

/// What a demonstration is played on: its folder, what has to be there before the hub, and the hub.
struct DemoSetup: Sendable {
    let plan: DemoPlan
    let directory: DemoDirectory
    /// Of the simulated month, in one of real time.
    let rate: Double
    /// The HS5, which is there before the hub, because `hub.conf` says where.
    let network: ScaleProcess
    let story: DemoStory
    let page: DemoPage
    /// By which the page comes while the month passes; nil where it is there from the beginning.
    let build: DemoBuild?
    /// Where days go; nil until there is one.
    private(set) var exist: ExistStandIn?

    init(
        _ plan: DemoPlan, _ directory: DemoDirectory, rate: Double, network: ScaleProcess, story: DemoStory,
        page: DemoPage, build: DemoBuild?
    ) {
        (self.plan, self.directory, self.rate) = (plan, directory, rate)
        (self.network, self.story, self.page, self.build) = (network, story, page, build)
    }

    /// Starts the stand-in for Exist.
    ///
    /// - Returns: its page.
    mutating func openExist(_ clock: String) async throws -> String {
        let exist = try ExistStandIn(for: plan.year.person, state: directory.existState, clock: clock)
        self.exist = exist
        return try await exist.service().address
    }

    /// Writes `hub.conf`.
    ///
    /// - Parameter isOver: scales and Exist are gone.
    func write(clock: String?, hasScales: Bool = true, isOver: Bool = false) async throws {
        var account: DemoDirectory.Account?
        if let exist {
            account = .init(address: try await exist.service().address, person: exist.person, isOpen: !isOver)
        }
        try directory.write(
            plan.household, clock: clock, network: try await network.address(), hasScales: hasScales && !isOver,
            exist: account, page: page.section)
    }

    /// Plays the month.
    ///
    /// - Parameter greeting: said first, after the link to the page if that is there already.
    func play(_ interruption: Interruption, greeting: [String]) async throws -> DemoScene.End {
        try await withHub(interruption) { hub in
            // The scales do not wait for the page; the story does.
            async let isGreeted: Void = greet(hub, greeting)
            let scene = DemoScene(
                plan: plan, directory: directory, rate: rate, hub: hub, network: network, exist: exist, story: story,
                interruption: interruption, page: page)
            let end = try await scene.play()
            try await isGreeted
            return end
        }
    }

    private func greet(_ hub: DemoHub, _ greeting: [String]) async throws {
        guard page.isOpen else { return await story.begin(greeting) }
        await story.show()
        do {
            let link = try await page.link(hub)
            await story.begin(DemoTour.beginning(link) + greeting)
        } catch {
            // What holds the story back is told at the end; until then it goes on.
            await story.begin(greeting)
            throw error
        }
    }

    /// Starts the hub once more, without scales, for who looks around until Exist's part is built.
    ///
    /// - Returns: false when `interruption` came before.
    func wait(
        for build: DemoBuild, _ calendar: DemoCalendar, _ interruption: Interruption
    ) async throws -> Bool {
        try await write(clock: calendar.clock, hasScales: false)
        return try await withHub(interruption) { _ in try await build.wait(story, interruption) }
    }

    /// Starts the hub once more, without scales, and has the exporter send all days that there are.
    ///
    /// The clock is faster than others, for the exporter sends what comes after its first visit within the hour.
    func send(_ records: [StoredRecord], from calendar: DemoCalendar, _ interruption: Interruption) async throws
        -> DemoDays?
    {
        guard let exist else { return nil }
        let calendar = calendar.going(at: 600)
        try await write(clock: calendar.clock, hasScales: false)
        return try await withHub(interruption) { hub in
            let exporter = DemoExporter(plan: plan, exist: exist, door: hub.endpoints.door, story: story)
            try await exporter.logIn(calendar)
            return try await exporter.days(records, on: calendar)
        }
    }

    /// Starts the hub once more, without scales and with a clock that goes as others do, and returns at Ctrl-C.
    func stay(_ calendar: DemoCalendar, _ greeting: DemoGreeting, _ interruption: Interruption) async throws {
        guard interruption.renew() else { return }
        let calendar = calendar.going(at: 1)
        try await write(clock: calendar.clock, hasScales: false)
        try await exist?.follow(calendar)
        try await withHub(interruption) { _ in
            await story.say(greeting.staying(calendar.today.text))
            await interruption.wait()
        }
    }

    /// Runs a hub until `body` is done; one that ends before that releases `interruption`.
    private func withHub<Value>(
        _ interruption: Interruption, _ body: (DemoHub) async throws -> Value
    ) async throws -> Value {
        let hub = try await DemoHub(directory) { interruption.release() }
        let opening = Task { try await openWhenBuilt(hub, interruption) }
        let result: Result<Value, any Error>
        do { result = .success(try await body(hub)) } catch { result = .failure(error) }
        opening.cancel()
        let opened = await opening.result
        await hub.end()
        if case .failure(let error) = opened, !(error is CancellationError) { throw error }
        return try result.get()
    }

    /// The page, as soon as its program is there.
    private func openWhenBuilt(_ hub: DemoHub, _ interruption: Interruption) async throws {
        guard let build, !page.isOpen, await build.wait(for: DemoPage.program, interruption) else { return }
        try await page.open()
        try directory.add(page.section)
        _ = try await hub.lines(of: "apply")
        await story.say(DemoTour.beginning(try await page.link(hub)))
        await story.show()
    }
}
