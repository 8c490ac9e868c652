import Foundation
import HealthText
import HubClient
import HubWire
import Samples
import Synchronization

/// The page of the demonstration's hub: its start, the link to it, and its final content.
final class DemoPage: Sendable {
    /// The plugin in `hub.conf`.
    static let instance = "web"
    static let program = "hub-web"

    /// The page's port, the same for all starts of the hub.
    private let port: UInt16
    /// The owner's rights that the page requests; `nil` while there is no page.
    private let owner = Mutex<[String]?>(nil)

    init() throws(Failure) { port = try LocalService.freePort() }

    var isOpen: Bool { owner.withLock { $0 != nil } }

    /// Adds the page to the next hub configuration.
    ///
    /// - Throws: ``HubExit/system`` if the program is missing.
    func open() async throws {
        struct Manifest: Decodable { var owner: [String] }
        let said = AwaitableValue((text: "", hasEnded: false))
        let program = try HelperProcess(Self.program, ["--describe"]) { line in
            said.change { said in
                if let line { said.text += line } else { said.hasEnded = true }
            }
        }
        await said.wait(upTo: .seconds(10)) { $0.hasEnded }
        await program.end()
        let words = try JSON.decode(Manifest.self, from: said.value.text.utf8).owner
        owner.withLock { $0 = words }
    }

    /// The page's section of `hub.conf`, if there is a page.
    var section: String {
        guard let words = owner.withLock(\.self) else { return "" }
        return """

            [plugin.\(Self.instance)]
            listen = "127.0.0.1:\(port)"
            grants = { owner = [\(words.map { "\"\($0)\"" }.joined(separator: ", "))] }

            """
    }

    /// Waits for the page and returns a link for one log-in.
    ///
    /// - Throws: ``HubExit/system`` if the page does not start.
    func link(_ hub: DemoHub) async throws -> String {
        struct Link: Decodable { var url: String }
        let door = hub.endpoints.door
        let request = CommandRequest(
            id: 0, instance: Self.instance, command: "link", arguments: .emptyObject, deadline: 10_000)
        let end = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < end {
            let outcome = try await blocking { try DoorClient(endpoint: door, command: "demo").call(request) }
            if case .done(let result?) = outcome { return try JSON.answer(Link.self, result).url }
            // The plugin sends no event when the page is ready, so this polls.
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Failure(.system, "the page did not start within 30 s; see its log: hub logs \(Self.instance)")
    }

    /// The differences between the page and the store.
    ///
    /// - Parameter records: all records in the store.
    func problems(_ hub: DemoHub, _ plan: DemoPlan, _ records: [StoredRecord]) async throws -> [String] {
        guard isOpen, let service = LocalService("http://127.0.0.1:\(port)") else { return [] }
        let link = try await link(hub)
        return try await blocking {
            let secret = link.split(separator: "/").last ?? ""
            let visit = try service.logIn("/login", form: "link=\(secret)")
            return try plan.household.compactMap { person in
                guard let latest = Self.latest(of: person.name, plan, records) else { return nil }
                let answer = try service.send("GET", "/types/weight?person=\(person.name)", cookie: visit)
                let text = ValueText.text(latest, for: DisplayPreferences())
                return String(decoding: answer, as: UTF8.self).contains(text)
                    ? nil : "the page does not have the last weight of \(person.name), \(text)"
            }
        }
    }

    /// The last weight that a scale measured, without carried values.
    private static func latest(of person: String, _ plan: DemoPlan, _ records: [StoredRecord]) -> StoredRecord? {
        let planned = Set(plan.weighings.map(\.place))
        let own = records.compactMap { stored -> (Int64, StoredRecord)? in
            guard case .sample(let sample) = stored.record, stored.assignment.person?.name == person,
                let place = DemoWeighing.Place(stored), planned.contains(place)
            else { return nil }
            return (sample.start.microseconds, stored)
        }
        return own.max { $0.0 < $1.0 }?.1
    }
}
