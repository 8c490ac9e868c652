import HubClient
import HubWire
import Samples

/// The setting of a demonstration: its folder, the programs that start before the hub, and the hub.
struct DemoSetup: Sendable {
    let plan: DemoPlan
    let directory: DemoDirectory
    /// Seconds of the simulated month per second of real time.
    let rate: Double
    /// The HS5, which starts before the hub, because `hub.conf` contains its address.
    let network: ScaleProcess
    let story: DemoStory
    let page: DemoPage
    /// The build that provides the page during the month; `nil` if the page exists from the beginning.
    let build: DemoBuild?
    /// The destination of days; `nil` until it has started.
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
    /// - Returns: the address of its page.
    mutating func openExist(_ clock: String) async throws -> String {
        let exist = try ExistStandIn(for: plan.year.person, state: directory.existState, clock: clock)
        self.exist = exist
        return try await exist.service().address
    }

    /// Writes `hub.conf`.
    ///
    /// - Parameter isOver: whether scales and Exist have ended.
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
    /// - Parameter greeting: printed first, after the link to the page if the page is already open.
    func play(_ interruption: Interruption, greeting: [String]) async throws -> DemoScene.End {
        try await withHub(interruption) { hub in
            // The scales do not wait for the page, but the story does.
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
            // The error that delays the story is reported at the end; the story continues until then.
            await story.begin(greeting)
            throw error
        }
    }

    /// Starts the hub again without scales, for a person looking around until Exist's programs are built.
    ///
    /// - Returns: false after an `interruption`.
    func wait(
        for build: DemoBuild, _ calendar: DemoCalendar, _ interruption: Interruption
    ) async throws -> Bool {
        try await write(clock: calendar.clock, hasScales: false)
        return try await withHub(interruption) { _ in try await build.wait(story, interruption) }
    }

    /// Starts the hub again without scales, and makes the exporter send all days.
    ///
    /// The clock runs fast, because the exporter sends later data only within the hour after its first visit.
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

    /// Starts the hub again without scales and with a clock at normal speed, and returns at Ctrl-C.
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

    /// Runs a hub until `body` is done; a hub that ends earlier releases `interruption`.
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

    /// Opens the page as soon as its program is built.
    private func openWhenBuilt(_ hub: DemoHub, _ interruption: Interruption) async throws {
        guard let build, !page.isOpen, await build.wait(for: DemoPage.program, interruption) else { return }
        try await page.open()
        try directory.add(page.section)
        _ = try await hub.lines(of: "apply")
        await story.say(DemoTour.beginning(try await page.link(hub)))
        await story.show()
    }
}
