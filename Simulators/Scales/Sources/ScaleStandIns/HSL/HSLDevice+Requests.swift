import JSON
import Platform
import ScaleProtocols

extension HSLDevice {
    mutating func obey(_ request: HSLRequest) {
        func refuse(_ code: HSLProtocolError, _ text: String) {
            say(.error(HSLMessageError(code, text, ref: request.id)))
        }
        guard isOpen else { return refuse(.badMessage, "there is no session yet") }
        guard let operation = request.operation else { return refuse(.unsupported, "no such operation") }
        switch operation {
        case .listDevices:
            let list = scales.map { scale in
                HSLDeviceInfo(
                    scale.id, name: "iHealth \(scale.id.model.rawValue)", firmware: scale.firmware,
                    hardware: scale.hardware, transport: "sim")
            }
            return say(.result(HSLResult(ref: request.id, status: .done, devices: list)))
        case .stopSession:
            for place in scales.indices { end(place, .cancelled) }
            return say(.result(HSLResult(ref: request.id, status: .done)))
        default: break
        }
        guard let place = scales.firstIndex(where: { $0.id == request.device }) else {
            return refuse(.unknownDevice, "there is no such scale here")
        }
        guard operation.model == scales[place].id.model else {
            return refuse(.unsupported, "the scale has no such operation")
        }
        if let open = scales[place].request {
            // A request of a HS3 that only waits for a person is replaced.
            guard open.operation == .hs3Init, open.isMeasuring else {
                return refuse(.busy, "one request at a time for each scale")
            }
            end(place, .cancelled)
        }
        let serial = request.arguments["user"]?["serialNub"]?.whole.flatMap { UInt32(exactly: $0) }
        scales[place].request = Open(id: request.id, operation: operation, serial: serial)
        carryOut(operation, request.arguments, place)
    }

    mutating func cancelled(_ ref: Int) {
        guard let place = scales.firstIndex(where: { $0.request?.id == ref }) else { return }
        end(place, .cancelled)
    }

    mutating func end(_ place: Int, _ status: HSLResult.Status, error: ScaleError? = nil) {
        guard let open = scales[place].request else { return }
        if let error { tell(error, place) }
        scales[place].request = nil
        say(.result(HSLResult(ref: open.id, status: status, errorCode: error?.code)))
    }

    mutating func tell(_ error: ScaleError, _ place: Int, raw: UInt8? = nil) {
        let data = JSONTree.members([
            "model": .text(error.model.rawValue), "code": error.code.map { JSONTree($0) }, "name": .text(error.name),
            "class": .text(error.errorClass.rawValue), "raw": raw.map { .text([$0].hexadecimal) },
        ])
        let ref = scales[place].request?.id
        tell(ref == nil ? .deviceError : .error, scales[place].id, data, ref: ref)
    }

    private mutating func say(_ name: HSLEventName, _ place: Int, _ data: JSONTree) {
        tell(name, scales[place].id, data, ref: scales[place].request?.id)
    }

    private mutating func carryOut(_ operation: HSLOperation, _ arguments: JSONTree, _ place: Int) {
        let user = arguments["user"] ?? [:]
        if [.hs3Init, .hs4Measure, .hs5Measure].contains(operation) { scales[place].height = user["height"]?.whole }
        switch operation {
        case .listDevices, .stopSession: break
        case .hs3Init:
            guard admits(user, place) else { return }
            guard sendMemory(of: nil, place) else { return }
            scales[place].request?.isMeasuring = true
        case .hs3AutoConnectOff, .hs3AutoConnectOn:
            guard HSLSession.version(scales[place].firmware, isAtLeast: [1, 0, 2]) else {
                let ref = scales[place].request?.id
                scales[place].request = nil
                return say(.error(HSLMessageError(.unsupported, "needs firmware 1.0.2", ref: ref)))
            }
            scales[place].callsByItself = operation == .hs3AutoConnectOn
            finish(true, place)
        case .hs4Measure:
            guard admits(user, place) else { return }
            scales[place].isVerified = true
            scales[place].unit = arguments["unit"]?.whole.flatMap { UInt8(exactly: $0) }.flatMap {
                ScaleDisplayUnit(rawValue: $0)
            }
            scales[place].request?.isMeasuring = true
        case .hs4Memory:
            guard scales[place].isVerified else {
                return end(place, .failed, error: .notVerified(.hs4))
            }
            if sendMemory(of: nil, place) { end(place, .done) }
        case .hs5OpenUsers:
            guard admits(user, place) else { return }
            let serials = scales[place].users.compactMap(\.self)
            if let serial = serials.first {
                say(.serialNub, place, ["serialNub": JSONTree(Int(serial))])
            }
            let list = scales[place].users.enumerated().compactMap { index, serial in
                serial.map { ["serialNumber": JSONTree(Int($0)), "position": JSONTree(index)] as JSONTree }
            }
            say(.userList, place, ["users": .list(list)])
            end(place, .done)
        case .hs5CreateUser, .hs5ModifyUser, .hs5DeleteUser:
            changeUser(operation, arguments, user, place)
        case .hs5Measure:
            guard let serial = scales[place].request?.serial, scales[place].users.contains(serial), !isBusy() else {
                return end(place, .failed, error: .refused(.hs5))
            }
            scales[place].request?.isMeasuring = true
        case .hs5Memory:
            guard let serial = scales[place].request?.serial, scales[place].users.contains(serial) else {
                return finish(false, place)
            }
            say(.result, place, ["ok": true])
            if sendMemory(of: serial, place) { end(place, .done) }
        case .hs5Cloud:
            for weighing in scales[place].cloud { offer(weighing, .cloudRecord, place) }
            end(place, .done)
        }
    }

    private mutating func isBusy() -> Bool {
        guard faults.busy > 0 else { return false }
        faults.busy -= 1
        return true
    }

    private mutating func finish(_ isDone: Bool, _ place: Int, error: ScaleError? = nil) {
        say(.result, place, ["ok": .truth(isDone)])
        end(place, isDone ? .done : .failed, error: error)
    }

    /// Checks the person; the request ends if the check fails.
    private mutating func admits(_ user: JSONTree, _ place: Int) -> Bool {
        guard !faults.ignoresAuthentication else { return false }
        let model = scales[place].id.model
        let result = profile.account.result(for: model, at: now.wall)
        // The credentials of a program are not sent back.
        let data = JSONTree.members([
            "code": JSONTree(result.rawValue), "name": .text(result.name), "userID": user["userID"],
            "height": user["height"],
        ])
        say(.authentication, place, data)
        guard result.allowsMeasuring(on: model) else {
            end(place, .failed, error: .notVerified(model))
            return false
        }
        return true
    }

    private mutating func changeUser(_ operation: HSLOperation, _ arguments: JSONTree, _ user: JSONTree, _ place: Int) {
        let users = scales[place].users
        let position = arguments["position"]?.whole.flatMap { HS5Position($0) }
        guard let serial = scales[place].request?.serial, HS5Profile.isSerial(serial),
            operation != .hs5CreateUser || position != nil,
            operation == .hs5DeleteUser || Self.isPerson(user, at: now.wall)
        else {
            let ref = scales[place].request?.id
            scales[place].request = nil
            return say(.error(HSLMessageError(.invalidArgument, "a position is 0 to 19, a height 81 to 219", ref: ref)))
        }
        guard !faults.refusesUsers else { return finish(false, place) }
        let there = users.firstIndex { $0 == serial }
        switch (operation, position) {
        case (.hs5CreateUser, let position?):
            guard users.contains(nil) else { return finish(false, place, error: .noPlace) }
            guard users[Int(position.index)] == nil, there == nil else {
                return finish(false, place, error: .userExists)
            }
            scales[place].users[Int(position.index)] = serial
        case (.hs5DeleteUser, _):
            guard let there else { return finish(false, place) }
            scales[place].users[there] = nil
            scales[place].memory.removeAll { $0.user == serial }
        default: guard there != nil else { return finish(false, place) }
        }
        finish(true, place)
    }

    /// Whether the scale's formulas accept the person.
    private static func isPerson(_ user: JSONTree, at today: WallTime) -> Bool {
        guard let serial = user["serialNub"]?.whole.flatMap({ UInt32(exactly: $0) }),
            let height = user["height"]?.whole,
            let sex = user["sex"]?.whole, (0...1).contains(sex),
            let athlete = HSLFields.member("isAthlete", of: user)?.whole, (0...1).contains(athlete)
        else { return false }
        if let birthday = user["birthday"]?.text.flatMap({ WallTime($0) }) {
            return HS5Profile(
                serial: serial, birthday: birthday, today: today, height: height, isAthlete: athlete == 1,
                isMale: sex == 1) != nil
        }
        return user["age"]?.whole.flatMap {
            HS5Profile(serial: serial, age: $0, height: height, isAthlete: athlete == 1, isMale: sex == 1)
        } != nil
    }

    /// Sends the memory, or one user's, with all events around it; returns false if the request has failed.
    private mutating func sendMemory(of user: UInt32?, _ place: Int) -> Bool {
        let model = scales[place].id.model
        guard !faults.refusesMemory else {
            say(.memoryStart, place, ["ok": false])
            end(place, .failed, error: .noAnswer(model))
            return false
        }
        var records = scales[place].memory
        if model == .hs3 { records.reverse() }
        if let user { records = records.filter { $0.user == user } }
        report(.transferStarted(records.count))
        say(.memoryStart, place, ["ok": true])
        let announced = faults.announcedCount ?? records.count
        say(.memoryCount, place, ["count": JSONTree(announced)])
        for (index, record) in records.enumerated() {
            offer(record, .memoryRecord, place)
            let done = Double(index + 1) / Double(records.count)
            say(.memoryProgress, place, ["progress": JSONTree(done)])
        }
        say(.memoryFinish, place, ["records": JSONTree(records.count)])
        if records.isEmpty { tell(.noMemory(model), place) }
        return true
    }
}
