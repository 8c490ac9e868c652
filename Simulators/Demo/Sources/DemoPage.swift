import Foundation
import HealthText
import HubClient
import HubWire
import Samples
import Synchronization

/// The page of the demonstration's hub: how it comes to be there, the link to it, and what it says in the end.
final class DemoPage: Sendable {
    /// The plugin in `hub.conf`.
    static let instance = "web"
    static let program = "hub-web"

    /// Where browsers come, the same through all starts of the hub.
    private let port: UInt16
    /// What of the owner's it asks for; nil while there is no page.
    private let owner = Mutex<[String]?>(nil)

    init() throws(Failure) { port = try LocalService.freePort() }

    var isOpen: Bool { owner.withLock { $0 != nil } }

    /// Has the next hub have a page.
    ///
    /// - Throws: ``HubExit/system`` when there is no such program.
    func open() async throws {
        struct Manifest: Decodable { var owner: [String] }
        let said = Watched((text: "", hasEnded: false))
        let program = try CompanionProcess(Self.program, ["--describe"]) { line in
            said.change { said in
                if let line { said.text += line } else { said.hasEnded = true }
            }
        }
        await said.wait(upTo: .seconds(10)) { $0.hasEnded }
        await program.end()
        let words = try JSON.decode(Manifest.self, from: said.value.text.utf8).owner
        owner.withLock { $0 = words }
    }

    /// Its section of `hub.conf`, if it has one.
    var section: String {
        guard let words = owner.withLock(\.self) else { return "" }
        return """

            [plugin.\(Self.instance)]
            listen = "127.0.0.1:\(port)"
            grants = { owner = [\(words.map { "\"\($0)\"" }.joined(separator: ", "))] }

            """
    }

    /// A link for one log-in, as soon as the page is there.
    ///
    /// - Throws: ``HubExit/system`` when it does not come.
    func link(_ hub: DemoHub) async throws -> String {
        struct Link: Decodable { var url: String }
        let door = hub.endpoints.door
        let request = CommandRequest(
            id: 0, instance: Self.instance, command: "link", arguments: .emptyObject, deadline: 10_000)
        let end = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < end {
            let outcome = try await blocking { try DoorClient(endpoint: door, command: "demo").call(request) }
            if case .done(let result?) = outcome { return try JSON.answer(Link.self, result).url }
            // The plugin does not tell when it is there: it is asked.
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Failure(.system, "the page is not there within 30 s; hub logs \(Self.instance)")
    }

    /// What does not stand on the page as it stands in the store.
    ///
    /// - Parameter records: all that the store holds.
    func problems(_ hub: DemoHub, _ plan: DemoPlan, _ records: [StoredRecord]) async throws -> [String] {
        guard isOpen, let service = LocalService("http://127.0.0.1:\(port)") else { return [] }
        let link = try await link(hub)
        return try await blocking {
            let secret = link.split(separator: "/").last ?? ""
            let visit = try service.logIn("/login", form: "link=\(secret)")
            return try plan.household.compactMap { person in
                guard let latest = Self.latest(of: person.name, plan, records) else { return nil }
                let answer = try service.send("GET", "/types/weight?person=\(person.name)", cookie: visit)
                let text = ValueText.text(latest, for: Reader())
                return String(decoding: answer, as: UTF8.self).contains(text)
                    ? nil : "the page does not have the last weight of \(person.name), \(text)"
            }
        }
    }

    /// The last that a scale has weighed, not one that is carried.
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
