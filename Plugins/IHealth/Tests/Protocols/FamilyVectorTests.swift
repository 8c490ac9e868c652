import Foundation
import Platform
import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// The vectors of HS4, HS5 and their family, by their numbers.
struct FamilyVectorTests {
    private func vector(_ id: String) throws -> [UInt8] {
        bytes(try #require(VectorTests.all.first { $0.id == id }).hex)
    }

    private func frame(_ id: String, _ origin: FrameOrigin = .scale) throws -> FamilyFrame {
        var scanner = FrameScanner(from: origin)
        let found = try #require(scanner.append(try vector(id)).first.flatMap(FamilyFrame.init))
        #expect(found.bytes == (try vector(id)), "\(id) encodes back")
        return found
    }

    private func message(_ ids: String..., from origin: FrameOrigin = .scale) throws -> FamilyMessage {
        var collector = FragmentCollector()
        for id in ids {
            if case .message(let message) = collector.append(try frame(id, origin)) { return message }
        }
        throw Missing(ids: ids)
    }
    private struct Missing: Error { let ids: [String] }

    private func datagram(_ id: String) throws -> FamilyMessage {
        let wire = try vector(id)
        let datagram = try #require(HS5Datagram(wire))
        if let sender = datagram.sender {
            let message = datagram.message
            let again = HS5Datagram.bytes(
                from: message.origin, message.command, message.data, sequence: message.sequence,
                isAnswer: message.isAnswer, sender: sender)
            #expect(again == wire, "\(id) encodes back")
        }
        return datagram.message
    }

    private func sent(_ message: HS4HostMessage, sequence: UInt8) throws -> [UInt8] {
        let (command, data) = try #require(message.content)
        let frames = try #require(
            FamilyFrame.message(from: .host, product: .hs4, command, data, sequence: sequence, fragmented: false))
        return try #require(frames.first).bytes
    }

    private func sent(_ message: HS5HostMessage, sequence: UInt8) throws -> [UInt8] {
        let content = try #require(message.content)
        let host = try #require(HS5SenderID([2, 0, 0, 0, 0, 1]))
        return try #require(
            HS5Datagram.bytes(
                from: .host, content.command, content.data, sequence: sequence, isAnswer: content.isAnswer, sender: host
            ))
    }

    @Test func `the messages of the HS4 have their known meanings`() throws {
        let time = try #require(WallTime("2024-03-15 19:05:09"))
        #expect(try sent(.stop, sequence: 1) == vector("H4-1"))
        #expect(HS4ScaleMessage(try message("H4-2")) == .stopped(isIdle: true))
        #expect(try frame("H4-2").acknowledgement.bytes == vector("H4-3"))
        #expect(try frame("H4-3", .host).isAcknowledgement)
        #expect(try sent(.openMemory(time), sequence: 5) == vector("H4-4"))
        #expect(HS4HostMessage(try message("H4-4", from: .host)) == .openMemory(time))
        #expect(HS4ScaleMessage(try message("H4-5")) == .memoryReady(true))
        #expect(HS4ScaleMessage(try message("H4-6")) == .memorySummary(2))
        #expect(try sent(.measure(time, unit: .kilograms, user: 1234), sequence: 5) == vector("H4-8"))
        #expect(
            HS4HostMessage(try message("H4-8", from: .host)) == .measure(time, unit: .kilograms, user: 1234))
        #expect(HS4ScaleMessage(try message("H4-9")) == .measure(accepted: true))
        #expect(HS4ScaleMessage(try message("H4-10")) == .unstableWeight(724))
        #expect(try !frame("H4-10").wantsAcknowledgement)
        #expect(HS4ScaleMessage(try message("H4-11")) == .stableWeight(723))
        #expect(try sent(HS4HostMessage.confirm(.stableWeight), sequence: 0x0D) == vector("H4-12"))
        #expect(HS4ScaleMessage(try message("H4-13")) == .error(0xE1))
        #expect(HS4ScaleMessage(try message("H4-14")) == .error(0xA0))
    }

    @Test func `a record of the HS4's memory comes in two fragments, each acknowledged separately`() throws {
        let record = try #require(HS4Record(message("H4-7a", "H4-7b").data))
        #expect(record.more == 2)
        #expect(record.time == WallTime("2024-03-14 22:01:40"))
        #expect(record.tenthsOfKilogram == 726)
        #expect(record.time.flatMap { HS4Record($0, tenthsOfKilogram: 726, more: 2) } == record)
        #expect(try frame("H4-7a").acknowledgement.bytes == bytes("b0 03 a1 0f a6 56"))
        #expect(try frame("H4-7b").acknowledgement.bytes == bytes("b0 03 a0 11 a6 57"))
        let pieces = FamilyFrame.message(
            from: .scale, product: .hs4, FamilyCommand.memoryRecords.rawValue, record.bytes, sequence: 0x0E,
            fragmented: true)
        #expect(try pieces?.map(\.bytes) == [vector("H4-7a"), vector("H4-7b")])
    }

    @Test func `the HS4 sends its identity in six fragments`() throws {
        let ids = ["H4-15a", "H4-15b", "H4-15c", "H4-15d", "H4-15e", "H4-15f"]
        let whole = try message(ids[0], ids[1], ids[2], ids[3], ids[4], ids[5])
        let identity = ScaleIdentity(
            protocolName: "com.jiuan.BWSV01", name: "Body Scale", firmware: "1.0.1", hardware: "1.0.0",
            manufacturer: "iHealth", model: "HS4 11070")
        #expect(HS4ScaleMessage(whole) == .identity(identity))
        let pieces = FamilyFrame.message(
            from: .scale, product: .hs4, FamilyCommand.identity.rawValue, identity.bytes, sequence: 2, fragmented: true)
        #expect(try pieces?.map(\.bytes) == ids.map(vector))
    }

    @Test func `the datagrams of the HS5 have their known meanings`() throws {
        let time = try #require(WallTime("2024-03-15 19:05:09"))
        #expect(try HS5Datagram.search == vector("H5-1"))
        #expect(HS5HostMessage(try datagram("H5-1")) == .search)
        #expect(try sent(.users(time), sequence: 1) == vector("H5-2"))
        #expect(HS5HostMessage(try datagram("H5-2")) == .users(time))
        var users: [UInt32?] = Array(repeating: nil, count: 20)
        (users[0], users[2]) = (1234, 77001)
        #expect(HS5ScaleMessage(try datagram("H5-3")) == .users(users))
        #expect(HS5ScaleMessage.listData(users) == (try datagram("H5-3")).data)
        let first = try #require(HS5Position(1))
        let profile = try #require(HS5Profile(serial: 88, age: 44, height: 180, isAthlete: false, isMale: true))
        #expect(try sent(.createUser(first, profile), sequence: 3) == vector("H5-4"))
        #expect(HS5HostMessage(try datagram("H5-4")) == .createUser(first, profile))
        #expect(HS5ScaleMessage(try datagram("H5-5")) == .userCreated(true))
        #expect(try sent(.deleteUser(first, serial: 88), sequence: 7) == vector("H5-6"))
        #expect(HS5HostMessage(try datagram("H5-6")) == .deleteUser(first, serial: 88))
        #expect(HS5ScaleMessage(try datagram("H5-7")) == .measure(accepted: true))
        #expect(HS5ScaleMessage(try datagram("H5-8")) == .stableWeight(842))
        #expect(HS5ScaleMessage(try datagram("H5-11")) == .memoryReady(false))
        #expect(HS5ScaleMessage(try datagram("H5-12")) == .error(0xE1))
        #expect(HS5ScaleMessage(try datagram("H5-13")) == .busy)
    }

    @Test func `a record of the HS5 has a date, a weight and a body composition`() throws {
        let body = HS5Record.Composition(
            fat: 477, water: 453, muscle: 413, bone: 22, visceralFat: 8, dailyCalories: 2502)
        let evening = try #require(
            WallTime("2024-03-15 19:06:30").flatMap { HS5Record($0, tenthsOfKilogram: 842, body) })
        #expect(HS5ScaleMessage(try datagram("H5-9")) == .composition(evening))
        #expect(
            (evening.time, evening.tenthsOfKilogram, evening.composition) == (
                WallTime("2024-03-15 19:06:30"), 842, body
            ))
        let leap = try #require(
            WallTime("2024-02-29 06:45:59").flatMap {
                HS5Record(
                    $0, tenthsOfKilogram: 838,
                    .init(fat: 470, water: 455, muscle: 415, bone: 22, visceralFat: 8, dailyCalories: 2490))
            })
        #expect(
            HS5ScaleMessage(try datagram("H5-10"))
                == .memoryPacket([leap, evening], more: false, announced: 2, trailing: 0))
        let shoes = try #require(WallTime("2024-12-31 23:59:59").flatMap { HS5Record($0, tenthsOfKilogram: 1500) })
        #expect(HS5ScaleMessage(try datagram("H5-14")) == .composition(shoes))
    }

    @Test func `real frames of sister products are read`() throws {
        let stream = try frame("G1")
        #expect((stream.state, stream.sequence, stream.product) == (.stream, 152, 0xAC))
        let long = try frame("G2", .host)
        #expect((long.state, long.sequence, long.product, long.content.count) == (.single, 1, 0xA9, 17))
    }

    @Test func `the log-in's cipher and answer have the known values`() throws {
        let key = (0..<16).map { UInt8($0) }
        let data = (16..<32).map { UInt8($0) }
        #expect(XXTEA.encrypt(data, key: key).hexadecimal == "0319c12d4ce73791f02818267c86c54f")
        let challenge = (0x20..<0x50).map { UInt8($0) }
        let answer = try #require(ScaleKey(key)?.answer(to: challenge))
        #expect(answer.hexadecimal == "eadebf5dcf04a39c848e7aa0a6688340")
    }

    @Test func `the log-in's nonce is sent in two fragments`() throws {
        let pieces = FamilyFrame.message(
            from: .host, product: .hs4, FamilyCommand.logInNonce.rawValue, (0..<16).map { UInt8($0) }, sequence: 1,
            fragmented: true)
        #expect(try pieces?.map(\.bytes) == [vector("G5a"), vector("G5b")])
    }
}
