import HubCore
import HubSettings
import Samples
import Synchronization

/// What a demonstration is played on: its folder, what has to be there before the hub, and the hub itself.
struct DemoStage: Sendable {
    let plan: DemoPlan
    let directory: DemoDirectory
    /// Of the simulated month, in one of real time.
    let rate: Double
    /// The HS5.
    let network: ScaleProcess
    let exist: ExistStandIn
    let story: DemoStory
    let networkAddress: String
    let account: DemoDirectory.Account

    /// Writes `hub.conf`.
    ///
    /// - Parameter isOver: scales and Exist are gone.
    func write(clock: String?, hasScales: Bool = true, isOver: Bool = false) throws(Failure) {
        var account = account
        account.isOpen = !isOver
        try directory.write(
            plan.household, clock: clock, network: networkAddress, hasScales: hasScales && !isOver, exist: account)
    }

    /// Plays the month on a hub in this process.
    func play(_ interruption: Interruption) async throws -> DemoScene.End {
        let (running, endpoints) = try await hub()
        let scene = DemoScene(
            plan: plan, directory: directory, rate: rate, endpoints: endpoints, network: network, exist: exist,
            story: story, interruption: interruption)
        let outcome = Mutex<Result<DemoScene.End, any Error>?>(nil)
        try await running.run(interruption) {
        } end: {
            await running.hub.waitUntilReady()
            let result: Result<DemoScene.End, any Error>
            do { result = .success(try await scene.play()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
            interruption.release()
        }
        guard let result = outcome.withLock(\.self) else { throw Failure(.fault, "the demonstration did not begin") }
        return try result.get()
    }

    /// Starts the hub once more, without scales and with a clock that goes as others do, and returns at Ctrl-C.
    func stay(_ calendar: DemoCalendar, _ greeting: DemoGreeting, _ interruption: Interruption) async throws {
        guard interruption.renew() else { return }
        let calendar = calendar.atRest
        try write(clock: calendar.clock, hasScales: false)
        try await exist.follow(calendar)
        let (running, _) = try await hub()
        try await running.run(interruption) {
            await story.say(greeting.staying(calendar.today.text))
        } end: {
            await interruption.wait()
        }
    }

    private func hub() async throws -> (RunningHub, OwnerEndpoints) {
        let checked = await ConfigurationLoader(path: directory.configuration, programPath: Program.path).load(
            asksPlugins: false)
        guard let configuration = checked.loaded.configuration, !checked.loaded.problems.hasErrors,
            checked.faults.isEmpty
        else {
            let report = CheckReport(file: directory.configuration, checked.loaded, faults: checked.faults)
            throw Failure(
                .system, "the demonstration's own hub.conf does not work: \(report.lines.joined(separator: "; "))")
        }
        return (try RunningHub(checked, configuration), OwnerEndpoints(configuration.hub))
    }
}
