import Foundation
import HubClient
import HubWire
import Samples

/// Exist, for the demonstration: the stand-in as a process of its own, with one account and a page that shows what it holds.
final class ExistStandIn: Sendable {
    /// Whose account it is.
    let person: String
    /// The exporter in `hub.conf`.
    static let instance = "exist"

    private let program: CompanionProcess
    private let said: Watched<(address: String?, hasEnded: Bool)>

    /// Starts it, with its state in a file.
    /// - Throws: ``HubExit/system`` when there is no such program.
    init(for person: String, state: String, clock: String) throws(Failure) {
        let said = Watched<(address: String?, hasEnded: Bool)>((nil, false))
        program = try CompanionProcess(
            "hub-exist-server",
            [
                "--listen", "127.0.0.1:0", "--state", state, "--clock", clock, "--until-eof",
                "--user", "\(person)@\(DemoCalendar.zone)",
            ], zone: DemoCalendar.zone
        ) { line in
            said.change { said in
                if let line { said.address = said.address ?? line } else { said.hasEnded = true }
            }
        }
        (self.person, self.said) = (person, said)
    }

    /// Where it can be reached.
    /// - Throws: ``HubExit/system`` when it does not say so.
    func service() async throws -> LocalService {
        await said.wait(upTo: .seconds(10)) { $0.address != nil || $0.hasEnded }
        guard let service = said.value.address.flatMap(LocalService.init) else {
            throw Failure(.system, "the stand-in for Exist did not begin to listen")
        }
        return service
    }

    func end() async { await program.end() }

    // MARK: - What is asked of it

    /// Seconds of real time that it is ahead of the hub: it refuses values of days that have not come where it is.
    private static let lead = 0.25

    /// Has it follow the hub's clock.
    /// - Throws: ``HubExit/system`` when it takes too long to be told.
    func follow(_ calendar: DemoCalendar) async throws {
        let service = try await service()
        try await blocking {
            for _ in 0..<20 {
                let begin = ContinuousClock.now
                let clock = calendar.clock(ahead: ExistStandIn.lead)
                _ = try service.send("PUT", "/control/clock", body: "\"\(clock)\"")
                // It takes effect on arrival, and is late by as long as that took.
                if ContinuousClock.now - begin < .seconds(ExistStandIn.lead) { return }
            }
            throw Failure(.system, "the stand-in for Exist does not get to know the time: the machine is too busy")
        }
    }

    /// Logs the exporter in, as `hub login exist --paste` does, with the personal token that the account's page would show.
    ///
    /// Waits until the exporter is there.
    func logIn(_ door: String, patience: Duration) async throws {
        struct Token: Decodable { var access_token: String }
        let service = try await service()
        let order = "{\"user\":\"\(person)\",\"client\":\"hub\"}"
        try await blocking {
            let answer = try service.send("POST", "/control/personal-token", body: order)
            let token = try JSON.decode(Token.self, from: answer).access_token
            let client = try DoorClient(endpoint: door, command: "demo")
            try ExistStandIn.wait(for: ExistStandIn.instance, client, patience)
            var watch = CallWatch()
            watch.ask = { _ in { .string(token) } }
            let request = CommandRequest(id: 0, instance: ExistStandIn.instance, command: "login", deadline: 20_000)
            let outcome = try client.call(request, watch)
            guard case .done = outcome else {
                throw Failure(.system, "the exporter cannot be logged in to Exist: \(outcome)")
            }
        }
    }

    private static func wait(for instance: String, _ client: DoorClient, _ patience: Duration) throws {
        let end = ContinuousClock.now + patience
        while true {
            let plugins = try JSON.answer(DemoHub.Status.self, try client.ask(.status)).plugins
            if plugins.contains(where: { $0.name == instance && $0.alive }) { return }
            guard ContinuousClock.now < end else { throw Failure(.system, "\(instance) does not run") }
            Thread.sleep(forTimeInterval: 0.05)
        }
    }

    /// The weights that it holds, by day; `nil` while the account has no such attribute.
    func weights() async throws -> [LocalDate: Double]? {
        struct State: Decodable {
            struct User: Decodable {
                var name: String
                var attributes: [Attribute]
            }
            struct Attribute: Decodable {
                var name: String
                var values: [String: Double]
            }
            var users: [User]
        }
        let service = try await service()
        let state = try await blocking {
            try JSON.decode(State.self, from: try service.send("GET", "/control/state"))
        }
        let attributes = state.users.first { $0.name == person }?.attributes
        guard let values = attributes?.first(where: { $0.name == "weight" })?.values else { return nil }
        return try Dictionary(
            uniqueKeysWithValues: values.map { text, value in
                guard let date = LocalDate(text) else { throw Failure(.system, "Exist has a value of no day: \(text)") }
                return (date, value)
            })
    }
}
