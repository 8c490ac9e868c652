import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// The vectors of the HS4, and the fragments of its log-in, in the words of the notes.
enum VectorHS4 {
    static func meaning(of vector: AllVectorsTests.Vector) throws -> [String: HSLJSON] {
        var scanner = FrameScanner(from: vector.origin)
        let frame = try #require(scanner.append(bytes(vector.hex)).first.flatMap(FamilyFrame.init))
        #expect(frame.bytes == bytes(vector.hex))
        var meaning: [String: HSLJSON] = [
            "seq": .int(Int(frame.sequence)), "state": .string([frame.state.byte].hex),
        ]
        if frame.isAcknowledgement {
            meaning["cmd"] = "ack"
        } else if case .fragment(let remaining, let count) = frame.state {
            meaning["fragment"] = .string("\(count - remaining) of \(count)")
            meaning.merge(try whole(vector, isLast: remaining == 0)) { $1 }
        } else {
            let message = try #require(FamilyMessage(frame))
            meaning.merge(vector.origin == .host ? host(message) : scale(message)) { $1 }
        }
        return meaning
    }

    /// The message that the fragments up to this one are of.
    private static func whole(_ vector: AllVectorsTests.Vector, isLast: Bool) throws -> [String: HSLJSON] {
        let name = vector.id.dropLast()
        let parts = AllVectorsTests.all.filter { $0.id.dropLast() == name && $0.id.count == vector.id.count }
        var collector = FragmentCollector()
        var found: FamilyMessage?
        for part in parts {
            var scanner = FrameScanner(from: part.origin)
            let frame = try #require(scanner.append(bytes(part.hex)).first.flatMap(FamilyFrame.init))
            if case .message(let message) = collector.append(frame) { found = message }
        }
        let message = try #require(found)
        var meaning = message.origin == .host ? host(message) : scale(message)
        if isLast { meaning["whole"] = .object(meaning) }
        return meaning
    }

    private static func host(_ message: FamilyMessage) -> [String: HSLJSON] {
        switch HS4HostMessage(message) {
        case .stop: return ["cmd": "stop"]
        case .openMemory(let time): return ["cmd": "open-memory", "local": .string("\(time)")]
        case .measure(let time, let unit, let user):
            let name: HSLJSON = unit == .kilograms ? "kg" : unit == .pounds ? "lb" : "st"
            return ["cmd": "open-measure", "local": .string("\(time)"), "unit": name, "user": .int(Int(user))]
        case .confirm(.stableWeight): return ["cmd": "stable-confirm"]
        case .logInNonce: return ["cmd": "login-1"]
        default: return [:]
        }
    }

    private static func scale(_ message: FamilyMessage) -> [String: HSLJSON] {
        func weight(_ name: String, _ tenths: Int) -> [String: HSLJSON] {
            ["cmd": .string(name), "kg": .number(Double(tenths) / 10)]
        }
        switch HS4ScaleMessage(message) {
        case .stopped(isIdle: true): return ["cmd": "idle"]
        case .memoryReady(true): return ["cmd": "memory-ready"]
        case .memorySummary(let count): return ["cmd": "memory-summary", "count": .int(Int(count))]
        case .measure(accepted: true): return ["cmd": "measure-accepted"]
        case .unstableWeight(let tenths): return weight("unstable", tenths)
        case .stableWeight(let tenths): return weight("stable", tenths)
        case .error(let raw):
            var meaning: [String: HSLJSON] = ["cmd": "error", "raw": .string([raw].hex)]
            meaning["sdk"] = ScaleError.sent(raw, by: .hs4).code.map { .int($0) }
            return meaning
        case .memoryRecord(let record):
            var meaning = weight("memory-record", record.tenthsOfKilogram)
            meaning["more"] = .int(Int(record.more))
            meaning["local"] = record.time.map { .string("\($0)") }
            return meaning
        case .identity(let identity):
            return [
                "cmd": "idps", "protocol": .string(identity.protocolName), "name": .string(identity.name),
                "firmware": .string(identity.firmware), "hardware": .string(identity.hardware),
                "manufacturer": .string(identity.manufacturer), "model": .string(identity.model),
            ]
        default: return [:]
        }
    }
}

/// The vectors of the HS5 in the words of the notes.
enum VectorHS5 {
    static func meaning(of vector: AllVectorsTests.Vector) throws -> [String: HSLJSON] {
        let datagram = try #require(HS5Datagram(bytes(vector.hex)))
        let message = datagram.message
        if vector.origin == .host { return host(message) }
        var meaning = scale(message)
        meaning["state"] = message.isAnswer ? "a0" : "00"
        return meaning
    }

    private static func host(_ message: FamilyMessage) -> [String: HSLJSON] {
        switch HS5HostMessage(message) {
        case .search: return ["cmd": "search", "to": "255.255.255.255:10000"]
        case .users(let time): return ["cmd": "open-users", "local": .string("\(time)")]
        case .createUser(let position, let profile):
            return [
                "cmd": "create-user", "position": .int(Int(position.index)), "serialNub": .int(Int(profile.serial)),
                "age": .int(Int(profile.age)), "height": .int(Int(profile.height)),
                "athlete": .int(profile.isAthlete ? 1 : 0), "sex": .int(profile.isMale ? 1 : 0),
            ]
        case .deleteUser(let position, let serial):
            return [
                "cmd": "delete-user", "position": .int(Int(position.index)), "serialNub": .int(Int(serial)),
            ]
        default: return [:]
        }
    }

    private static func scale(_ message: FamilyMessage) -> [String: HSLJSON] {
        switch HS5ScaleMessage(message) {
        case .users(let users):
            let list = users.enumerated().compactMap { position, serial in
                serial.map { ["serialNumber": .int(Int($0)), "position": .int(position)] as HSLJSON }
            }
            var meaning: [String: HSLJSON] = ["cmd": "user-list", "users": .array(list)]
            meaning["first_free"] = users.firstIndex { $0 == nil }.map { .int($0) }
            return meaning
        case .userCreated(let isDone): return ["cmd": "create-user-result", "ok": .bool(isDone)]
        case .measure(accepted: true): return ["cmd": "measure-accepted"]
        case .stableWeight(let tenths): return ["cmd": "stable", "kg": .number(Double(tenths) / 10)]
        case .composition(let record): return ["cmd": "body"].merging(read(record)) { $1 }
        case .memoryPacket(let records, let more, let announced, _):
            return [
                "cmd": "memory", "n": .int(announced), "more": .int(more ? 1 : 0),
                "records": .array(records.map { .object(read($0)) }),
            ]
        case .memoryReady(false): return ["cmd": "memory-open", "result": "user not on scale"]
        case .error(let raw):
            var meaning: [String: HSLJSON] = ["cmd": "error", "raw": .string([raw].hex)]
            meaning["sdk_default"] = ScaleError.sent(raw, by: .hs5).code.map { .int($0) }
            return meaning
        case .busy: return ["cmd": "busy", "sdk": .int(ScaleError.refused(.hs5).code ?? -1)]
        default: return [:]
        }
    }

    private static func read(_ record: HS5Record) -> [String: HSLJSON] {
        let body = record.composition
        var meaning: [String: HSLJSON] = [
            "kg": .number(Double(record.tenthsOfKilogram) / 10), "fat": .number(Double(body.fat) / 10),
            "water": .number(Double(body.water) / 10), "muscle": .number(Double(body.muscle) / 10),
            "bone": .number(Double(body.bone) / 10), "visceral": .int(body.visceralFat),
            "dci": .int(body.dailyCalories),
        ]
        meaning["local"] = record.time.map { .string("\($0)") }
        return meaning
    }
}
