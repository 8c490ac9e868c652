import Foundation
import HubClient
import HubCore
import HubProcess
import HubWire
import Samples
import Synchronization

/// A household's way to Exist: a scale, a hub with its plugins and the stand-in, with one clock that outlives each of these programs.
final class ExistJourney: Sendable {
    let host: HubHost
    let scale: ScaleAtHome?
    private let port: UInt16
    private let redirect: String
    private let faults: [String]
    private let switches: [String]
    private let time: Mutex<HubClock>
    /// The largest delay, in seconds of the clock, with which a program's clock began.
    private let lag = Mutex(0.0)

    /// - Parameters:
    ///   - plugins: tables of `hub.conf`; `BASE` stands for the address of the stand-in, `PROGRAMS` for the folder of the programs,
    ///     `REDIRECT` for the address to which log-ins return, `SCALE` for the link of the scale.
    ///   - memory: the weigh-ins in the scale's memory at the start; `nil`: there is no scale.
    ///   - faults: faults of the stand-in while it runs.
    init(
        at start: String, rate: Double, plugins: String, memory: [ExistJudge.WeighIn]? = nil, faults: [String] = [],
        switches: [String] = []
    ) async throws {
        guard let time = try? Timestamp(parsing: start) else { throw Trouble(lines: ["no clock: \(start)"]) }
        let clock = HubClock(.simulated(start: time, rate: rate))
        (self.faults, self.switches) = (faults, switches)
        self.time = Mutex(clock)
        port = UInt16(clamping: try FreePort.next())
        redirect = "http://127.0.0.1:\(try FreePort.next())/"
        let scalePort = UInt16(clamping: try FreePort.next())
        let tables = plugins.replacing("BASE", with: "http://127.0.0.1:\(port)")
            .replacing("PROGRAMS", with: Programs.folder).replacing("REDIRECT", with: redirect)
            .replacing("SCALE", with: "tcp://127.0.0.1:\(scalePort)")
        let host = try HubHost(hub: "clock = \"\(clock)\"", plugins: tables)
        self.host = host
        if let memory {
            scale = try await ScaleAtHome(port: scalePort, in: host.folder, memory: memory, clock: clock)
        } else {
            scale = nil
        }
    }

    struct Trouble: Error, CustomStringConvertible {
        let lines: [String]
        var description: String { lines.joined(separator: "\n") }
    }

    // MARK: - Programs

    var clock: HubClock { time.withLock { $0 } }

    /// Changes the rate of time for programs that are started from now on.
    func pass(at rate: Double) {
        time.withLock { clock in clock = HubClock(.simulated(start: clock.time, rate: rate)) }
    }

    /// Starts the hub with the current time in its settings, because otherwise its clock would begin again.
    func startHub() async throws -> ChildProcess {
        let text = try String(contentsOfFile: host.configuration, encoding: .utf8)
        let now = "clock = \"\(clock.started(at: clock.now()))\""
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            .map { $0.hasPrefix("clock = ") ? now : $0 }
        try lines.joined(separator: "\n").write(toFile: host.configuration, atomically: true, encoding: .utf8)
        let hub = try await host.start()
        if let time = try? status()?.time, let time = try? Timestamp(parsing: time) { note(time.microseconds) }
        return hub
    }

    /// Starts the stand-in with its port and its file.
    ///
    /// - Parameter seed: decides which calls its faults hit.
    func startServer(seed: UInt64 = 1) async throws -> ChildProcess {
        var arguments = [
            "--listen", "127.0.0.1:\(port)", "--state", "\(host.folder.path)/exist.db", "--clock",
            "\(clock.started(at: clock.now()))", "--user", "mira@Europe/Berlin", "--user", "anna@Europe/Berlin",
            "--client", "hub=shh=\(redirect)", "--seed", "\(seed)",
        ]
        for fault in faults { arguments += ["--fault", fault] }
        for text in switches { arguments += ["--set", text] }
        let server = try ChildProcess("hub-exist-server", arguments)
        guard await server.lines(count: 1).first != nil else { throw Trouble(lines: server.errorLines) }
        struct Clock: Decodable { var microseconds: Int64 }
        note(try JSONDecoder().decode(Clock.self, from: Data(try ask("GET", "/control/clock").utf8)).microseconds)
        return server
    }

    private func note(_ time: Int64) {
        let behind = Double(clock.now() - time) / 1e6
        lag.withLock { $0 = max($0, behind) }
    }

    /// The seconds of the clock by which the clocks of the programs may have differed or jumped.
    var leeway: Double { lag.withLock { $0 } * 2 + 30 }

    /// Kills a plugin of the hub; the hub starts it again.
    ///
    /// - Returns: the time in seconds of the clock; `nil` if the plugin was not running.
    func killPlugin(_ instance: String) async throws -> Double? {
        guard let pid = try? status()?.plugins.first(where: { $0.name == instance })?.pid else { return nil }
        let time = Double(clock.now()) / 1e6
        kill(pid_t(pid), SIGKILL)
        // A person would do this to avoid the wait, or if the plugin is quarantined.
        _ = try await host.command("release", instance)
        return time
    }

    // MARK: - Log-in

    /// Logs an instance in, with the browser of `user`.
    func logIn(_ instance: String, as user: String) async throws {
        _ = try ask("PUT", "/control/switches", #"{"signed_in":"\#(user)"}"#)
        let (login, url) = try await host.beginLogIn(instance)
        defer { login.signal(SIGKILL) }
        let visit = try ScriptedBrowser().open(url)
        guard visit.addresses.count > 1 else { throw Trouble(lines: ["Exist shows \(visit.page.status)"]) }
        guard await login.waitForExit() == 0 else { throw Trouble(lines: login.errorLines) }
    }

    /// Logs in, and tries again if the service fails meanwhile; each try may take any time.
    func logInUntilDone(_ instance: String, as user: String) async throws {
        for attempt in 1... {
            do { return try await logIn(instance, as: user) } catch {
                if attempt == 30 { throw error }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    /// Whether a person has to log in.
    func needsLogIn(_ instance: String) -> Bool {
        let tokens = (try? status())?.plugins.first { $0.name == instance }?.tokens
        return tokens?.contains(where: \.needsLogIn) ?? false
    }

    // MARK: - State of the programs

    /// Sends a request to the stand-in.
    func ask(_ method: String, _ path: String, _ body: String = "") throws -> String {
        try ScriptedBrowser().send(method, "http://127.0.0.1:\(port)\(path)", body: body).body
    }

    /// The values that Exist has of a user, by date.
    func held(_ attribute: String = "weight", by user: String = "mira") throws -> [String: Double] {
        struct State: Decodable {
            struct User: Decodable {
                struct Attribute: Decodable { var name: String, values: [String: Double] }
                var name: String, attributes: [Attribute]
            }
            var users: [User]
        }
        let state = try JSONDecoder().decode(State.self, from: Data(try ask("GET", "/control/state").utf8))
        let mine = state.users.first { $0.name == user }?.attributes ?? []
        return mine.first { $0.name == attribute }?.values ?? [:]
    }

    func diary() throws -> [ExistJudge.Call] {
        try JSONDecoder().decode([ExistJudge.Call].self, from: Data(try ask("GET", "/control/calls").utf8))
    }

    private func door() throws -> DoorClient { try DoorClient(endpoint: host.door, command: "test") }

    /// The hub's status; `nil` while no hub answers.
    func status() throws -> HubStatus? {
        guard let answer = try? door().ask(.status) else { return nil }
        return try? JSONDecoder().decode(HubStatus.self, from: Data(answer.bytes))
    }

    /// The account of an instance's subscription.
    func account(_ instance: String) throws -> SinkStatus? {
        try status()?.sinks.first { $0.instance == instance }
    }

    /// The subscriptions of an instance in which something has no answer yet.
    func open(_ instance: String) throws -> [String] {
        guard let sinks = try status()?.sinks.filter({ $0.instance == instance }), !sinks.isEmpty else {
            return ["\(instance) has no subscription"]
        }
        return sinks.filter { sink in
            sink.pending + sink.retrying > 0
                || sink.wanted != sink.delivered + sink.refused + sink.superseded + sink.skipped
        }.map { "\($0)" }
    }

    private func records(_ kind: QueryRequest.Kind, of person: String) throws -> [StoredRecord] {
        var filter = QueryRequest.Filter()
        (filter.types, filter.kinds, filter.persons) = (["weight"], [kind], [person])
        var records: [StoredRecord] = []
        var reader = RecordReader()
        try door().pages(QueryRequest(id: 0, filter: filter)) { page, _ in
            for bytes in page { records.append(try reader.record(bytes)) }
        }
        return records
    }

    /// The weigh-ins in the hub with their numbers, in the local time of the place.
    func weighIns(of person: String = "me") throws -> [(number: Int64, time: String, tenths: Int)] {
        try records(.quantity, of: person).compactMap { stored in
            guard case .sample(let sample) = stored.record, case .quantity(let value, _) = sample.value else {
                return nil
            }
            return (stored.number, String(sample.start.text.prefix(19)), Int((value * 10).rounded()))
        }
    }

    /// The days in the hub, and their deliveries to all sinks.
    func ledger(of person: String = "me") throws -> [(date: String, deliveries: [ExistJudge.Delivery])] {
        struct Trace: Decodable { var deliveries: [ExistJudge.Delivery] }
        return try records(.day, of: person).compactMap { stored in
            guard case .day(let day) = stored.record else { return nil }
            let story = try door().ask(.trace, number: stored.number)
            return (day.date.text, try JSONDecoder().decode(Trace.self, from: Data(story.bytes)).deliveries)
        }
    }

    /// The current day at the place, by the hub's clock, as days since 1970.
    func today() throws -> Int {
        let time = try status().flatMap { try? Timestamp(parsing: $0.time) } ?? clock.time
        // Berlin is two hours ahead in May.
        return Int((time.microseconds / 1_000_000 + 7_200) / 86_400)
    }

    /// Waits until there are no faults, and returns those that are left.
    static func untilRight(
        within limit: Duration = .seconds(60), _ faults: () async throws -> [String]
    ) async throws -> [String] {
        let end = ContinuousClock.now + limit
        while true {
            let found = try await faults()
            if found.isEmpty || ContinuousClock.now > end { return found }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Ends the hub as its service manager does.
    func end(_ hub: ChildProcess) async -> Int {
        hub.signal(SIGTERM)
        return await hub.waitForExit()
    }
}
