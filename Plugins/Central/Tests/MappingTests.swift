import Foundation
import HubSettings
import JSON
import PluginKit
import PostgreSQL
import Samples
import Testing

@testable import Central

/// The parts of a record that go to the centre, and those that stay.
@Suite struct MappingTests {
    private let consent = Consent(
        study: "heart", person: "6f1c2a9e5b7d4c30", name: "me", types: ["weight"], since: "2024-01-01",
        until: "2024-12-31", wordsDigest: [], ordinal: 1, given: "2024-01-01T00:00:00Z")

    /// A record as the hub writes it.
    private func stored(_ members: String) throws -> StoredRecord {
        let text = #"{\#(members),"person":"me","personId":"6f1c2a9e5b7d4c30","number":7,"seq":9}"#
        var decoder = StoredRecordDecoder()
        return try Array(text.utf8).withUnsafeBytes { try decoder.record($0) }
    }

    private func wire(_ members: String) throws -> WireRecord {
        guard case .goes(let record) = WireRecord.passage(of: try stored(members), under: consent) else {
            throw PluginFailure(.failed, "it stays")
        }
        return record
    }

    private func body(of record: WireRecord) throws -> JSONTree {
        let text = try #require(record[.b])
        return try #require(JSONTree(Array(text.utf8)))
    }

    private let head = #""type":"weight","start":"2024-03-15T07:30:05.25+01:00","end":"2024-03-15T07:30:05.25+01:00""#
    private let tail =
        #""source":{"plugin":"scale","device":"020000003001","account":"anna"},"key":"k","provenance":"measured""#

    @Test func `a quantity keeps each number exactly, and has no name of device, account or key`() throws {
        let record = try wire(
            #""kind":"quantity",\#(head),"value":72.30000000000001,"unit":"kg","original":{"value":159.4,"unit":"lb"},"zone":"Europe/Berlin",\#(tail),"metadata":{"note":"after lunch","wasUserEntered":true,"deviceName":"Anna's"},"edited":["value"],"implausible":["start"]"#
        )
        // Its first version was the seventh; by that number the hub names it after an erasure.
        #expect(record[.n] == "7")
        #expect(record[.s] == "9" && record[.k] == "q" && record[.p] == "6f1c2a9e5b7d4c30" && record[.t] == "weight")
        #expect(record[.a] == "2024-03-15T06:30:05.25Z" && record[.e] == nil && record[.o] == "60")
        #expect(record[.v] == "72.30000000000001" && record[.f] == "9")
        let body = try body(of: record)
        #expect(body["plugin"] == "scale" && body["original"] == ["value": .number("159.4"), "unit": "lb"])
        #expect(body["metadata"] == ["wasUserEntered": true] && body["zone"] == "Europe/Berlin")
        for word in ["020000003001", "anna", "Anna", "lunch", "\"me\""] {
            #expect(!WireRecord.Column.allCases.contains { record[$0]?.contains(word) == true }, "\(word)")
        }
    }

    @Test func `a day, a retraction and an erasure have different kinds`() throws {
        let day = try wire(
            #""kind":"day","type":"weight","value":71,"unit":"kg","series":"mean30","date":"2024-03-14","method":"carried","observedOn":"2024-03-12","age":2,"basis":[3],"source":{"plugin":"gap-filler"}"#
        )
        #expect(day[.k] == "d" && day[.a] == "2024-03-14T00:00:00Z" && day[.o] == "0" && day[.f] == "6")
        let said = try body(of: day)
        #expect(said["series"] == "mean30" && said["observedOn"] == "2024-03-12" && said["age"] == .number("2"))
        let sample = try wire(#""kind":"quantity",\#(head),"value":72,"unit":"kg",\#(tail)"#)
        let source = #""source":{"plugin":"scale","device":"020000003001","account":"anna"}"#
        let back = try wire(#""kind":"retraction","type":"weight",\#(source),"key":"k","by":"source""#)
        #expect(back[.k] == "r" && back[.i] == sample[.i] && back[.v] == nil && back[.p] == nil && back[.t] == nil)
        let erased = try wire(
            #""kind":"retraction","type":"weight",\#(source),"key":"k","by":"person","reason":"erased""#)
        #expect(erased[.k] == "x" && erased[.i] == sample[.i])
    }

    @Test func `a record outside the agreed days stays, and is retracted if an earlier version was inside`() throws {
        let early =
            #""kind":"quantity","type":"weight","start":"2024-01-01T00:30:00+01:00","end":"2024-01-01T00:30:00+01:00","value":72,"unit":"kg",\#(tail)"#
        // By its local clock it is the first of January.
        #expect(try wire(early)[.k] == "q")
        let later = early.replacing("2024-01-01T00:30", with: "2025-01-01T00:30")
        // A later version than the first: the centre may have an earlier one.
        #expect(try wire(later)[.k] == "r")
        var first = try stored(later)
        first.sequence = first.number
        #expect(
            WireRecord.passage(of: first, under: consent)
                == .stays("not agreed to: heart gets records from 2024-01-01 to 2024-12-31"))
    }

    @Test func `the digest of a record equals the centre's`() throws {
        // As PostgreSQL computes it: left(encode(sha256('01234567-89ab-cdef-0123-456789abcdef 42'), 'hex'), 16).
        let identity = try #require(UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF"))
        let record = WireRecord(identity: identity, sequence: 42, kind: "q")
        #expect(String(UInt64(bitPattern: record.digest), radix: 16) == "79236840d3bd6939")
    }

    @Test func `the line of an invitation is parsed whole or refused`() throws {
        let line = "central://db1,db2:5433,[::1]:5434/central?invite=3fa9c1d2.Qm1vQm1vQm1vQm1v"
        let invitation = try #require(Invitation(" \(line)\n"))
        #expect(invitation.hosts.map(\.description) == ["db1:5434", "db2:5433", "[::1]:5434"])
        #expect(invitation.database == "central" && invitation.role == "invite_3fa9c1d2")
        #expect(Invitation(invitation.text)?.hosts == invitation.hosts)
        for wrong in [
            "", "https://db1/central?invite=a.b", "central:///central?invite=3fa9c1d2.Qm1vQm1vQm1vQm1v",
            "central://db1:99999/central?invite=3fa9c1d2.Qm1vQm1vQm1vQm1v", line + " and more",
            "central://db1/central?invite=3fa9c1d2.short",
        ] {
            #expect(Invitation(wrong) == nil, "\(wrong)")
        }
    }

    @Test func `the manifest is sound, and sample.conf matches it`() throws {
        #expect(Central.fullManifest.faults == [])
        let rendered = SampleConfiguration.render(instance: "central", declarations: Central.manifest.settings)
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../sample.conf")
            .standardizedFileURL
        #expect(try String(contentsOf: file, encoding: .utf8) == rendered)
    }
}
