import JSON
import Platform
import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// The vectors of the HS4 and the fragments of its log-in, in the words of the notes.
enum VectorHS4 {
    static func meaning(of vector: VectorTests.Vector) throws -> [String: JSONTree] {
        var scanner = FrameScanner(from: vector.origin)
        let frame = try #require(scanner.append(bytes(vector.hex)).first.flatMap(FamilyFrame.init))
        #expect(frame.bytes == bytes(vector.hex))
        var meaning: [String: JSONTree] = [
            "seq": JSONTree(Int(frame.sequence)), "state": .text([frame.state.byte].hexadecimal),
        ]
        if frame.isAcknowledgement {
            meaning["cmd"] = "ack"
        } else if case .fragment(let remaining, let count) = frame.state {
            meaning["fragment"] = .text("\(count - remaining) of \(count)")
            meaning.merge(try whole(vector, isLast: remaining == 0)) { $1 }
        } else {
            let message = try #require(FamilyMessage(frame))
            meaning.merge(vector.origin == .host ? host(message) : scale(message)) { $1 }
            guard vector.origin == .host else { return meaning }
            let content = try #require(HS4HostMessage(message).content)
            let again = FamilyFrame.message(
                from: .host, product: .hs4, content.command, content.data, sequence: message.sequence)
            #expect(again?.map(\.bytes) == [bytes(vector.hex)])
        }
        return meaning
    }

    /// The message that consists of the fragments up to this one.
    private static func whole(_ vector: VectorTests.Vector, isLast: Bool) throws -> [String: JSONTree] {
        let name = vector.id.dropLast()
        let parts = VectorTests.all.filter { $0.id.dropLast() == name && $0.id.count == vector.id.count }
        var collector = FragmentCollector()
        var found: FamilyMessage?
        var first: UInt8?
        for part in parts {
            var scanner = FrameScanner(from: part.origin)
            let frame = try #require(scanner.append(bytes(part.hex)).first.flatMap(FamilyFrame.init))
            first = first ?? frame.sequence
            if case .message(let message) = collector.append(frame) { found = message }
        }
        let message = try #require(found)
        let again = FamilyFrame.message(
            from: vector.origin, product: .hs4, message.command, message.data, sequence: try #require(first),
            fragmented: true)
        #expect(again?.map(\.bytes) == parts.map { bytes($0.hex) })
        var meaning = message.origin == .host ? host(message) : scale(message)
        if isLast { meaning["whole"] = JSONTree(meaning) }
        return meaning
    }

    private static func host(_ message: FamilyMessage) -> [String: JSONTree] {
        switch HS4HostMessage(message) {
        case .stop: return ["cmd": "stop"]
        case .openMemory(let time): return ["cmd": "open-memory", "local": .text("\(time)")]
        case .measure(let time, let unit, let user):
            let name: JSONTree = unit == .kilograms ? "kg" : unit == .pounds ? "lb" : "st"
            return ["cmd": "open-measure", "local": .text("\(time)"), "unit": name, "user": JSONTree(Int(user))]
        case .confirm(.stableWeight): return ["cmd": "stable-confirm"]
        case .logInNonce(let nonce):
            #expect(nonce == (0..<16).map { UInt8($0) })
            return ["cmd": "login-1"]
        default: return [:]
        }
    }

    private static func scale(_ message: FamilyMessage) -> [String: JSONTree] {
        func weight(_ name: String, _ tenths: Int) -> [String: JSONTree] {
            ["cmd": .text(name), "kg": JSONTree(Double(tenths) / 10)]
        }
        switch HS4ScaleMessage(message) {
        case .stopped(isIdle: true): return ["cmd": "idle"]
        case .memoryReady(true): return ["cmd": "memory-ready"]
        case .memorySummary(let count): return ["cmd": "memory-summary", "count": JSONTree(Int(count))]
        case .measure(accepted: true): return ["cmd": "measure-accepted"]
        case .unstableWeight(let tenths): return weight("unstable", tenths)
        case .stableWeight(let tenths): return weight("stable", tenths)
        case .error(let raw):
            var meaning: [String: JSONTree] = ["cmd": "error", "raw": .text([raw].hexadecimal)]
            meaning["sdk"] = ScaleError.sent(raw, by: .hs4).code.map { JSONTree($0) }
            return meaning
        case .memoryRecord(let record):
            let tenths = record.tenthsOfKilogram
            #expect(record.time.flatMap { HS4Record($0, tenthsOfKilogram: tenths, more: record.more) } == record)
            var meaning = weight("memory-record", tenths)
            meaning["more"] = JSONTree(Int(record.more))
            meaning["local"] = record.time.map { .text("\($0)") }
            return meaning
        case .identity(let identity):
            #expect(identity.bytes == message.data)
            return [
                "cmd": "idps", "protocol": .text(identity.protocolName), "name": .text(identity.name),
                "firmware": .text(identity.firmware), "hardware": .text(identity.hardware),
                "manufacturer": .text(identity.manufacturer), "model": .text(identity.model),
            ]
        default: return [:]
        }
    }
}

/// The vectors of the HS5 in the words of the notes.
enum VectorHS5 {
    static func meaning(of vector: VectorTests.Vector) throws -> [String: JSONTree] {
        let datagram = try #require(HS5Datagram(bytes(vector.hex)))
        let message = datagram.message
        if let sender = datagram.sender {
            let expected: [UInt8] = vector.origin == .host ? [2, 0, 0, 0, 0, 1] : [2, 0, 0, 0, 0x50, 1]
            #expect(sender.bytes == expected)
            let again = HS5Datagram.bytes(
                from: vector.origin, message.command, message.data, sequence: message.sequence,
                isAnswer: message.isAnswer, sender: sender)
            #expect(again == bytes(vector.hex))
        } else {
            #expect(HS5Datagram.search == bytes(vector.hex))
        }
        if vector.origin == .host {
            let content = try #require(HS5HostMessage(message).content)
            #expect(content.command == message.command && content.data == message.data)
            #expect(content.isAnswer == message.isAnswer)
            return host(message)
        }
        var meaning = scale(message)
        meaning["state"] = message.isAnswer ? "a0" : "00"
        return meaning
    }

    private static func host(_ message: FamilyMessage) -> [String: JSONTree] {
        switch HS5HostMessage(message) {
        case .search: return ["cmd": "search", "to": "255.255.255.255:10000"]
        case .users(let time): return ["cmd": "open-users", "local": .text("\(time)")]
        case .createUser(let position, let profile):
            return [
                "cmd": "create-user", "position": JSONTree(Int(position.index)),
                "serialNub": JSONTree(Int(profile.serial)),
                "age": JSONTree(Int(profile.age)), "height": JSONTree(Int(profile.height)),
                "athlete": JSONTree(profile.isAthlete ? 1 : 0), "sex": JSONTree(profile.isMale ? 1 : 0),
            ]
        case .deleteUser(let position, let serial):
            return [
                "cmd": "delete-user", "position": JSONTree(Int(position.index)), "serialNub": JSONTree(Int(serial)),
            ]
        default: return [:]
        }
    }

    private static func scale(_ message: FamilyMessage) -> [String: JSONTree] {
        switch HS5ScaleMessage(message) {
        case .users(let users):
            #expect(HS5ScaleMessage.listData(users) == message.data)
            let list = users.enumerated().compactMap { position, serial in
                serial.map { ["serialNumber": JSONTree(Int($0)), "position": JSONTree(position)] as JSONTree }
            }
            var meaning: [String: JSONTree] = ["cmd": "user-list", "users": .list(list)]
            meaning["first_free"] = users.firstIndex { $0 == nil }.map { JSONTree($0) }
            return meaning
        case .userCreated(let isDone): return ["cmd": "create-user-result", "ok": .truth(isDone)]
        case .measure(accepted: true): return ["cmd": "measure-accepted"]
        case .stableWeight(let tenths): return ["cmd": "stable", "kg": JSONTree(Double(tenths) / 10)]
        case .composition(let record): return ["cmd": "body"].merging(read(record)) { $1 }
        case .memoryPacket(let records, let more, let announced, let trailing):
            #expect(trailing == 0)
            return [
                "cmd": "memory", "n": JSONTree(announced), "more": JSONTree(more ? 1 : 0),
                "records": .list(records.map { JSONTree(read($0)) }),
            ]
        case .memoryReady(false): return ["cmd": "memory-open", "result": "user not on scale"]
        case .error(let raw):
            var meaning: [String: JSONTree] = ["cmd": "error", "raw": .text([raw].hexadecimal)]
            meaning["sdk_default"] = ScaleError.sent(raw, by: .hs5).code.map { JSONTree($0) }
            return meaning
        case .busy: return ["cmd": "busy", "sdk": JSONTree(ScaleError.refused(.hs5).code ?? -1)]
        default: return [:]
        }
    }

    private static func read(_ record: HS5Record) -> [String: JSONTree] {
        let body = record.composition
        let again = record.time.flatMap { HS5Record($0, tenthsOfKilogram: record.tenthsOfKilogram, body) }
        #expect(again == record)
        var meaning: [String: JSONTree] = [
            "kg": JSONTree(Double(record.tenthsOfKilogram) / 10), "fat": JSONTree(Double(body.fat) / 10),
            "water": JSONTree(Double(body.water) / 10), "muscle": JSONTree(Double(body.muscle) / 10),
            "bone": JSONTree(Double(body.bone) / 10), "visceral": JSONTree(body.visceralFat),
            "dci": JSONTree(body.dailyCalories),
        ]
        meaning["local"] = record.time.map { .text("\($0)") }
        return meaning
    }
}
