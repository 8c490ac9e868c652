import HubWire
import PluginKit
import Samples
import Testing

@Suite struct DialogueSinkTests {
    static func want(_ name: String, records: Int = 100, bytes: Int = 1_048_576) -> String {
        #"{"want":"\#(name)","start":"beginning","credit":{"records":\#(records),"bytes":\#(bytes)}}"#
    }

    static func delivery(_ number: Int64, of want: String = "files") -> HubMessage {
        .deliver(Delivery(want: want, delivery: number, records: RawRecords([#"{"number":1}"#, #"{"number":2}"#])))
    }

    static func wants(_ names: String...) -> ClientWants {
        var wants = ClientWants()
        for name in names {
            wants.add(WantRequest(want: name, start: .now, credit: Credit(records: 10, bytes: 1_048_576)))
        }
        return wants
    }

    /// The handle of the records that this message delivers.
    static func ticket(_ message: HubMessage, _ wants: inout ClientWants) throws -> ClientWants.Ticket {
        guard case .deliver(let ticket, let records)? = wants.receive(message) else { throw NoDelivery() }
        #expect(records.count == 2)
        return ticket
    }

    struct NoDelivery: Error {}

    // MARK: - The hub's side

    @Test func `R10.7 WANT is allowed in the modes run and once, but not in check`() {
        for (mode, code) in [(Hello.Mode.run, nil), (.once, nil), (.check, "forbidden")] as [(Hello.Mode, String?)] {
            var table = SessionTable()
            table.hello(mode: mode)
            let error = table.receive("WANT", Self.want("files")).error
            #expect(error?.code.rawValue == code)
            if code != nil { #expect(error?.closed == false && error?.want == "files") }
        }
    }

    @Test func `R10.11 subscriptions beyond the limit are refused, and the session stays open`() {
        var table = SessionTable()
        table.hello()
        for number in 0..<16 { #expect(table.receive("WANT", Self.want("w\(number)")).error == nil) }
        let error = table.receive("WANT", Self.want("w16")).error
        #expect(error?.code == .limit && error?.closed == false && error?.want == "w16")
        #expect(table.receive("WANT", Self.want("w3")).error == nil)
        #expect(table[[1]]?.state == .open)
    }

    @Test func `R10.14 DONE for a subscription that the session does not have gets the error field`() {
        var table = SessionTable()
        table.hello()
        let body = #"{"want":"files","delivery":7,"results":[],"credit":{"records":0,"bytes":0}}"#
        let error = table.receive("DONE", body).error
        #expect(error?.code == .field && error?.ref == 7 && error?.want == "files" && error?.closed == false)
        _ = table.receive("WANT", Self.want("files"))
        #expect(table.receive("DONE", body).error == nil)
    }

    @Test func `R10.22 after STOP no subscription is opened, and DONE is still accepted`() {
        var table = SessionTable()
        table.hello()
        _ = table.receive("WANT", Self.want("files"))
        _ = table.stop(Stop(reason: "restart", deadline: 1_000))
        #expect(table.receive("WANT", Self.want("more")).error?.code == .stopping)
        let body = #"{"want":"files","delivery":7,"results":[],"credit":{"records":0,"bytes":0}}"#
        #expect(table.receive("DONE", body).error == nil)
    }

    @Test func `R10.1 credit that is too small for the largest record is refused`() {
        var table = SessionTable()
        table.hello()
        for (records, bytes) in [(0, 1_048_576), (1, 131_071)] {
            let error = table.receive("WANT", Self.want("files", records: records, bytes: bytes)).error
            #expect(error?.code == .field && error?.want == "files" && error?.ref == nil)
        }
        #expect(table.receive("WANT", Self.want("files", records: 1, bytes: 131_072)).error == nil)
    }

    // MARK: - The sink's side

    @Test func `R10.8 subscriptions are requested in every session, in the order in which they were added`() {
        var wants = Self.wants("b", "a")
        for _ in 0..<2 {
            let names = wants.opened().map { if case .want(let request) = $0 { request.want } else { "" } }
            #expect(names == ["b", "a"])
            wants.lost()
        }
    }

    @Test func `DONE returns the cost of the delivery once`() throws {
        var wants = Self.wants("files")
        _ = wants.opened()
        let message = Self.delivery(1)
        let ticket = try Self.ticket(message, &wants)
        let done = wants.done(ticket, results: [.delivered, .refused(reason: "no")], pause: 5)
        guard case .done(let report)? = done, case .deliver(let delivery) = message else { throw NoDelivery() }
        #expect(report.credit == delivery.cost && report.delivery == 1 && report.pause == 5)
        #expect(wants.done(ticket, results: [.delivered, .delivered]) == nil)
    }

    @Test func `R10.3 deliveries open at the end of a session or turn are not answered in the next`() throws {
        for isNewTurn in [false, true] {
            var wants = Self.wants("files")
            _ = wants.opened()
            let ticket = try Self.ticket(Self.delivery(1), &wants)
            if isNewTurn {
                _ = wants.again("files")
            } else {
                wants.lost()
                _ = wants.opened()
            }
            _ = wants.receive(Self.delivery(1))
            #expect(wants.done(ticket, results: [.delivered, .delivered]) == nil)
            #expect(wants.openDeliveries == 1)
        }
    }

    @Test func `R10.12 a replaced sink makes no further request in that session`() {
        var wants = Self.wants("files", "other")
        _ = wants.opened()
        let error = WireError(.replaced, "another session", closed: false, want: "files")
        #expect(wants.receive(.error(error)) == .refused("files", error))
        #expect(wants.receive(Self.delivery(1)) == nil)
        #expect(wants.receive(Self.delivery(1, of: "other")) != nil)
        wants.lost()
        #expect(wants.opened().count == 2)
    }

    @Test func `a subscription that the store cannot open now is requested again later`() {
        var wants = Self.wants("files")
        _ = wants.opened()
        let error = WireError(.store, "the disk is full", want: "files", after: 70)
        #expect(wants.receive(.error(error)) == .wait("files", 70))
        #expect(wants.again("files") != nil)
        #expect(wants.receive(Self.delivery(1)) != nil)
    }

    @Test func `a finishing sink accepts no new delivery and answers its open ones`() throws {
        var wants = Self.wants("files")
        _ = wants.opened()
        let ticket = try Self.ticket(Self.delivery(1), &wants)
        wants.finish()
        #expect(wants.receive(Self.delivery(2)) == nil)
        #expect(wants.done(ticket, results: [.delivered, .delivered]) != nil)
        #expect(wants.opened().isEmpty)
    }
}
