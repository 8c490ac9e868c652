import ExistSimulation
import Foundation
import HubWire
import PluginKit
import PluginTesting
import Samples
import Testing
import WebFaults

@testable import Exist

import FoundationNetworking

/// The exporter between a fake hub and a simulated Exist on a socket; all three share one clock.
final class ExistScene: Sendable {
    let standIn: StandIn<ExistSimulation.SimulatedExist>
    let base: String
    let hub: FakeHub
    let place: TestPlace
    let rate: Double
    private let serving: Task<Void, any Error>
    let settings: PluginSettings

    static let person = Person(uid: "6f1c2a9e5b7d4c30", name: "me")

    /// - Parameter settings: added to settings that let calls out at once.
    init(
        _ settings: [String: SettingValue] = [:], switches: [String: String] = [:], faults: [String] = [],
        at time: String = "2024-05-20T12:00:00Z", rate: Double = 1, zone: String = "Europe/Berlin"
    ) async throws {
        self.rate = rate
        let clock = try SettableClock("\(time)@\(rate)")
        var set = ExistSwitches()
        for (name, value) in switches { try set.set(name, value) }
        let service = try ExistSimulation.SimulatedExist(path: nil, clock: clock, switches: set)
        try service.register(
            [ExistUser("mira", password: "x", zone: zone), ExistUser("tane", password: "x", zone: zone)],
            [
                ExistClient("hub", secret: "shh", label: "My hub", redirects: ["http://127.0.0.1:8737/"]),
                ExistClient("other", secret: "shh", label: "Other", redirects: []),
            ])
        let forms = ExistSimulation.SimulatedExist.forms
        let queue = FaultQueue(try faults.map { try Fault($0, forms: forms) }, forms: forms)
        let standIn = StandIn(service, faults: queue, clock: clock)
        let (ports, tell) = AsyncStream<Int>.makeStream()
        serving = Task { try await standIn.run(host: "127.0.0.1", port: 0) { tell.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        base = "http://127.0.0.1:\(try #require(await iterator.next()))"
        self.standIn = standIn
        place = try TestPlace()
        hub = try FakeHub(door: place.door, context: place.context)
        await hub.change { $0.clock = "\(time)@\(rate)" }
        try await hub.start()
        var values: [String: SettingValue] = [
            "base": .string(base), "login": .string("browser"), "client_id": .string("hub"),
            "client_secret": .string("shh"), "redirect": .string("http://127.0.0.1:8737/"),
            "attributes": .list([.string("weight")]), "days": .integer(30), "regular_days": .integer(2),
            "carried": .string("window"), "interval": .string("0s"),
            "gather": .string("0s"), "calls_per_hour": .integer(60),
            "reacquire": .string("once"), "dry_run": .boolean(false), "plain_http": .boolean(false),
        ]
        for (name, value) in settings { values[name] = value }
        self.settings = PluginSettings(values)
    }

    deinit { serving.cancel() }

    // MARK: - The exporter

    func start() -> PluginRun { PluginRun(Exist(), at: place, instance: "exist", settings: settings) }

    /// Starts the plugin and logs in as a person's browser does.
    func loggedIn() async throws -> PluginRun {
        let run = start()
        await hub.wants("days")
        try await logIn()
        return run
    }

    @discardableResult func logIn() async throws -> CommandOutcome.Content {
        let call = await hub.begin("login")
        guard case .ask(let question) = await hub.outcome(of: call) else {
            Issue.record("nothing was asked")
            return .cancelled
        }
        let page = try await send("GET", url: try #require(question.url))
        await hub.answer(call, RawJSON(trusted: Array(#""\#(page.fields["location"] ?? "")""#.utf8)))
        return await hub.outcome(of: call)
    }

    /// Starts the plugin again, as another process with the same state.
    func startAgain() async throws -> PluginRun {
        await hub.forgetSessions()
        let run = start()
        while await hub.wants["days"] == nil { try await Task.sleep(for: .milliseconds(5)) }
        return run
    }

    /// Sets the clock of the simulated Exist, and the clock of each later session.
    func set(clock time: String) async throws {
        try await control("clock", #""\#(time)@\#(rate)""#, method: "PUT")
        await hub.change { [rate] in $0.clock = "\(time)@\(rate)" }
    }

    /// Stops the plugin and checks that it followed the protocol.
    func end(_ run: PluginRun) async {
        run.stop()
        #expect(await run.end() == .done)
        #expect(await hub.violations == [])
    }

    /// Runs a command, which must succeed, and returns its result.
    @discardableResult func done(
        _ command: String, _ arguments: RawJSON = .emptyObject, isDryRun: Bool = false
    ) async throws -> RawJSON {
        let outcome = await hub.command(command, arguments, isDryRun: isDryRun)
        guard case .done(let result) = outcome else { throw Unexpected(outcome: outcome) }
        return result ?? .emptyObject
    }

    struct Unexpected: Error { let outcome: CommandOutcome.Content }

    // MARK: - Days

    static func day(
        _ date: String, _ value: Double, type: TypeID = .weight, unit: String = "kg", series: String = "mean30",
        observedOn: String? = nil
    ) throws -> Record {
        let date = try #require(LocalDate(date))
        let observed = observedOn.flatMap { LocalDate($0) }
        return .day(
            DayValue(
                source: Source(plugin: "gap-filler"), person: person.uid, type: type, series: series, date: date,
                value: value, unit: unit, method: observed == nil ? "mean" : "carried", observedOn: observed,
                age: observed.map { date.daysSinceEpoch - $0.daysSinceEpoch }, basis: []))
    }

    static func retraction(_ date: String) throws -> Record {
        .retraction(
            Retraction(
                identity: .day(
                    person: person.uid, type: .weight, series: "mean30", date: try #require(LocalDate(date))),
                source: Source(plugin: "gap-filler"), author: .source))
    }

    /// The last days up to 2024-05-20, each with a different value.
    static func days(
        _ count: Int, type: TypeID = .weight, unit: String = "kg", series: String = "mean30", from value: Double = 80
    ) throws -> [Record] {
        let last = try #require(LocalDate("2024-05-20"))
        return try (0..<count).map { place in
            try day(
                last.adding(days: place + 1 - count).text, value + Double(place) / 100, type: type, unit: unit,
                series: series)
        }
    }

    /// Adds days to the hub and delivers them.
    @discardableResult func deliver(_ records: [Record], of person: Person = person) async throws -> [DeliveryResult] {
        let stored = await hub.hold(days: records, of: person)
        return try await redeliver(stored)
    }

    func redeliver(_ stored: [StoredRecord]) async throws -> [DeliveryResult] {
        let place = try #require(await hub.deliver(stored, to: "days"))
        return try #require(await hub.report(of: place)).results
    }

    /// Delivers as the hub does, with retries after the requested waits.
    func settle(_ records: [Record]) async throws -> [DeliveryResult] {
        let stored = await hub.hold(days: records)
        while true {
            let results = try await redeliver(stored)
            let waits = results.compactMap { if case .retry(let after, _) = $0 { after } else { nil } }
            guard let wait = waits.max() else { return results }
            try await Task.sleep(for: .milliseconds(Double(wait) / rate + 1))
        }
    }

    // MARK: - The simulated Exist

    struct Answer: Sendable {
        let status: Int
        let fields: [String: String]
        let json: JSONTree?
    }

    /// Sends one request.
    func send(_ method: String, url: String, json: String? = nil, token: String? = nil) async throws -> Answer {
        var request = URLRequest(url: try #require(URL(string: url)), timeoutInterval: 20)
        request.httpMethod = method
        request.httpBody = json.map { Data($0.utf8) }
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        let session = URLSession(configuration: .ephemeral, delegate: Still(), delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        let (body, response) = try await session.data(for: request)
        let http = try #require(response as? HTTPURLResponse)
        let fields = http.allHeaderFields.compactMap { name, value in
            (name as? String).map { ($0.lowercased(), "\(value)") }
        }
        return Answer(
            status: http.statusCode, fields: Dictionary(fields, uniquingKeysWith: { first, _ in first }),
            json: JSONTree(Array(body)))
    }

    private final class Still: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
        ) { completionHandler(nil) }
    }

    func control(_ action: String, _ json: String, method: String = "POST") async throws {
        let answer = try await send(method, url: "\(base)/control/\(action)", json: json)
        #expect(answer.status == 200, "\(action): \(answer.json?.json ?? "")")
    }

    /// The exporter's calls, as `update 30` (with the number of objects) or `accounts/profile`.
    func calls(after number: Int = 0) async throws -> [String] {
        let diary = try await send("GET", url: "\(base)/control/calls").json?.list ?? []
        return diary.dropFirst(number).compactMap { call in
            guard let path = call["path"]?.text else { return nil }
            let name = path.replacing("/api/2/", with: "").replacing("attributes/", with: "").trimmingSuffix("/")
            return name + (call["body"]?.list.map { " \($0.count)" } ?? "")
        }
    }

    /// Bodies of the updates, as received.
    func bodies() async throws -> [String] {
        let diary = try await send("GET", url: "\(base)/control/calls").json?.list ?? []
        return diary.filter { $0["path"]?.text?.hasSuffix("/update/") == true }.compactMap { $0["body"]?.json }
    }

    /// Exist's values of an attribute, by date.
    func values(_ attribute: String = "weight", of user: String = "mira") async throws -> [String: String] {
        let users = try await send("GET", url: "\(base)/control/state").json?["users"]?.list
        let mine = users?.first { $0["name"]?.text == user }?["attributes"]?.list
        let members = mine?.first { $0["name"]?.text == attribute }?["values"]?.members ?? []
        return Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value.json) })
    }
}

extension String {
    func trimmingSuffix(_ suffix: String) -> String { hasSuffix(suffix) ? String(dropLast(suffix.count)) : self }
}

extension [DeliveryResult] {
    var areDelivered: Bool { allSatisfy { if case .delivered = $0 { true } else { false } } }
    /// The reason of the first result that is neither delivered nor waiting.
    var refusal: String? {
        compactMap { result in
            switch result {
            case .refused(let reason), .unauthorized(let reason): reason
            default: nil
            }
        }.first
    }
    /// The longest requested wait, in milliseconds.
    var wait: Int64? { compactMap { if case .retry(let after, _) = $0 { after } else { nil } }.max() }
}

extension CommandOutcome.Content {
    var isDone: Bool { if case .done = self { true } else { false } }
}
