import Foundation
import HubClient
import HubWire
import Samples

/// The stand-in for Exist in a separate process, with one account and a page that shows its data.
final class ExistStandIn: Sendable {
    /// The person of the account.
    let person: String
    /// The exporter's name in `hub.conf`.
    static let instance = "exist"

    private let program: HelperProcess
    private let said: AwaitableValue<(address: String?, hasEnded: Bool)>

    /// Starts the stand-in with its state in a file.
    /// - Throws: ``HubExit/system`` if the program is missing.
    init(for person: String, state: String, clock: String) throws(Failure) {
        let said = AwaitableValue<(address: String?, hasEnded: Bool)>((nil, false))
        program = try HelperProcess(
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

    /// The web service of the stand-in.
    /// - Throws: ``HubExit/system`` if it does not report its address.
    func service() async throws -> LocalService {
        await said.wait(upTo: .seconds(10)) { $0.address != nil || $0.hasEnded }
        guard let service = said.value.address.flatMap(LocalService.init) else {
            throw Failure(.system, "the stand-in for Exist did not begin to listen")
        }
        return service
    }

    func end() async { await program.end() }

    // MARK: - Requests to it

    /// How far its clock is ahead of the hub's, in seconds of real time, because it refuses values of days in its own future.
    private static let lead = 0.25

    /// Sets its clock to the hub's.
    /// - Throws: ``HubExit/system`` if setting it takes too long.
    func follow(_ calendar: DemoCalendar) async throws {
        let service = try await service()
        try await blocking {
            for _ in 0..<20 {
                let begin = ContinuousClock.now
                let clock = calendar.clock(ahead: ExistStandIn.lead)
                _ = try service.send("PUT", "/control/clock", body: "\"\(clock)\"")
                // The setting takes effect on arrival, and is late by the time of the request.
                if ContinuousClock.now - begin < .seconds(ExistStandIn.lead) { return }
            }
            throw Failure(.system, "the stand-in for Exist does not learn the time: the machine is too busy")
        }
    }

    /// Logs the exporter in, like `hub login exist --paste`, with the personal token that the account's page would show.
    ///
    /// Waits until the exporter has started.
    func logIn(_ door: String, patience: Duration) async throws {
        struct Token: Decodable { var access_token: String }
        let service = try await service()
        let order = "{\"user\":\"\(person)\",\"client\":\"hub\"}"
        try await blocking {
            let answer = try service.send("POST", "/control/personal-token", body: order)
            let token = try JSON.decode(Token.self, from: answer).access_token
            let client = try DoorClient(endpoint: door, command: "demo")
            try ExistStandIn.wait(for: ExistStandIn.instance, client, patience)
            var watch = CallCallbacks()
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

    /// The weights at Exist, by day; `nil` if the account has no such attribute.
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
