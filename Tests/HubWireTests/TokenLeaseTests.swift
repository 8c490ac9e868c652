import HubWire
import Testing

@Suite struct TokenLeaseTests {
    private let key = TokenLeases.Key(instance: "exist", account: "me")
    private let first = SessionReference(peer: [1], serial: 1)
    private let second = SessionReference(peer: [2], serial: 2)

    @Test func `R11.5 a lease expires after its time and not before`() {
        var leases = TokenLeases()
        #expect(leases.take(key, by: first, at: 0) == .leased(60_000))
        #expect(leases.take(key, by: second, at: 59_500) == .held(after: 500))
        #expect(leases.take(key, by: second, at: 10) == .held(after: 1_000), "the holder may be done long before")
        #expect(leases.take(key, by: second, at: 60_000) == .leased(60_000))
        leases.release(key, by: first)
        #expect(leases.take(key, by: first, at: 60_001) == .held(after: 1_000), "another session has the lease now")
    }

    @Test func `R11.5 R11.6 a session's end releases its leases, and asking again gives no second lease`() {
        var leases = TokenLeases()
        let other = TokenLeases.Key(instance: "exist", account: "you")
        _ = leases.take(key, by: first, at: 0)
        #expect(leases.take(key, by: first, at: 10) == .held(after: 1_000))
        #expect(leases.take(other, by: second, at: 10) == .leased(60_000))
        leases.ended(first)
        #expect(leases.take(key, by: second, at: 20) == .leased(60_000))
    }

    @Test func `R11.8 a session has at most eight open token requests`() {
        var table = SessionTable()
        let session = table.hello().session
        for id in 1...8 { _ = table.receive("TOKEN", #"{"id":\#(id),"account":"a","for":"use"}"#) }
        #expect(table.receive("TOKEN", #"{"id":9,"account":"a","for":"use"}"#).error?.code == .busy)
        #expect(table.receive("TOKEN", #"{"id":8,"account":"a","for":"use"}"#).error?.code == .field)
        _ = table.answer(.token(TokenAnswer(id: 1, .stored(version: 0))), to: .token(1), in: session)
        #expect(table.receive("TOKEN-PUT", #"{"id":9,"account":"a","expect":0,"token":{}}"#).error == nil)
    }
}
