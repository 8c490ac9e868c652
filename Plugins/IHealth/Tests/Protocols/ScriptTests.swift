import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// The scripts of the notes for HS4 and HS5: every line has its known meaning, and is written identically.
struct ScriptTests {
    private func lines(_ name: String) throws -> [(isFromHost: Bool, bytes: [UInt8])] {
        try resource("Sessions/\(name).txt").split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let run = #"<68 × ff>"#
            let ff = Array(repeating: "ff", count: 68).joined(separator: " ")
            let text = line.split(separator: run, omittingEmptySubsequences: false).joined(separator: ff)
            return (line.hasPrefix(">"), bytes(String(text.dropFirst())))
        }
    }

    @Test func `the lines of the HS4's script have their known meanings`() throws {
        let time = try #require(WallTime("2024-03-15 19:05:09"))
        var (host, scale): ([HS4HostMessage], [HS4ScaleMessage]) = ([], [])
        for line in try lines("hs4-measure") {
            var scanner = FrameScanner(from: line.isFromHost ? .host : .scale)
            let frame = try #require(scanner.append(line.bytes).first.flatMap(FamilyFrame.init))
            #expect(frame.bytes == line.bytes)
            guard !frame.isAcknowledgement else { continue }
            let message = try #require(FamilyMessage(frame))
            if line.isFromHost { host.append(HS4HostMessage(message)) } else { scale.append(HS4ScaleMessage(message)) }
        }
        #expect(host == [.stop, .measure(time, unit: .kilograms, user: 1234), .confirm(.stableWeight)])
        #expect(
            scale == [.stopped(isIdle: true), .measure(accepted: true), .unstableWeight(724), .stableWeight(723)])
    }

    @Test func `the lines of the HS5's script have their known meanings`() throws {
        let time = try #require(WallTime("2024-03-15 19:05:09"))
        let place = try #require(HS5Position(0))
        var (host, scale): ([HS5HostMessage], [HS5ScaleMessage]) = ([], [])
        for line in try lines("hs5-measure") {
            let datagram = try #require(HS5Datagram(line.bytes))
            let (message, sender) = (datagram.message, try #require(datagram.sender))
            #expect(
                HS5Datagram.bytes(
                    from: message.origin, message.command, message.data, sequence: message.sequence,
                    isAnswer: message.isAnswer, sender: sender) == line.bytes)
            if line.isFromHost { host.append(HS5HostMessage(message)) } else { scale.append(HS5ScaleMessage(message)) }
        }
        #expect(
            host == [
                .users(time), .measure(place, serial: 1234), .confirm(.stableWeight), .confirm(.impedanceWeight),
                .confirm(.composition), .confirm(.end),
            ])
        var users: [UInt32?] = Array(repeating: nil, count: 20)
        (users[0], users[2]) = (1234, 77001)
        let record = try #require(
            WallTime("2024-03-15 19:06:30").flatMap { HS5Record($0, tenthsOfKilogram: 842, SDKStage.body) })
        #expect(
            scale == [
                .users(users), .measure(accepted: true), .unstableWeight(842), .stableWeight(842),
                .impedanceWeight(842), .composition(record), .ended,
            ])
    }
}
