// Plugins that misbehave in ways that a hub has to survive. The name under which this program is started selects one.

import CLinux
import Foundation
import ZeroMQ

@main enum Zoo {
    static func main() throws {
        // The name is a link to this program, such as `zoo-crash`.
        let name = URL(filePath: CommandLine.arguments[0]).lastPathComponent
        guard let animal = Animal(rawValue: String(name.drop { $0 != "-" }.dropFirst())) else {
            FileHandle.standardError.write(Data("start me as zoo-ANIMAL: \(Animal.allCases.map(\.rawValue))\n".utf8))
            exit(64)
        }
        if CommandLine.arguments.contains("--describe") {
            print(animal == .garbled ? "{\"name\":" : animal.manifest)
            exit(0)
        }
        try animal.live()
    }
}

enum Animal: String, CaseIterable {
    /// Ends with an error before it sends anything.
    case crash
    /// Never sends HELLO.
    case hang
    /// Ends successfully before it sends anything.
    case nothing
    /// Prints an invalid manifest.
    case garbled
    /// Sends records and ignores its credit.
    case flood
    /// Allocates more and more memory.
    case leak
    /// Fills more and more memory in files that it has not mapped.
    case hoard
    /// Fills more and more memory in sockets that have no reader.
    case clog
    /// Ignores STOP, the end of stdin and SIGTERM.
    case deaf
    /// Prints endlessly without a line break.
    case loud
    /// Leaves children behind, inside and outside its process group, and crashes.
    case parent
    /// Does not read its stdin.
    case rude
    /// Stops itself with a signal.
    case frozen
    /// Reports its settings as wrong.
    case picky

    var manifest: String {
        """
        {"name":"zoo-\(rawValue)","summary":"Misbehaves.","version":"1","protocol":[1],"reads":[],"writes":["weight"],\
        "declares":[],"settings":[],"commands":[]}
        """
    }

    func live() throws {
        switch self {
        case .crash: exit(3)
        case .nothing, .garbled: exit(0)
        case .picky: exit(78)
        case .hang, .rude: while true { sleep(1_000) }
        case .parent:
            for program in [["sleep", "1000"], ["setsid", "sleep", "1000"]] {
                let child = Process()
                child.executableURL = URL(filePath: "/usr/bin/env")
                child.arguments = program
                try child.run()
            }
            print("children are left")
            exit(1)
        case .flood: try Session(self).flood()
        case .leak: try Session(self).leak()
        case .hoard: try Session(self).hoard()
        case .clog: try Session(self).clog()
        case .deaf:
            signal(SIGTERM, SIG_IGN)
            try Session(self).idle()
        case .loud: try Session(self).shout()
        case .frozen:
            try Session(self)
            kill(getpid(), SIGSTOP)
            while true { sleep(1_000) }
        }
    }
}

/// The part of a plugin's dialogue that these plugins need.
final class Session {
    private let context: Context
    private let socket: Socket
    private let instance: String

    /// Greets the hub and returns after its answer.
    @discardableResult init(_ animal: Animal) throws {
        let environment = ProcessInfo.processInfo.environment
        guard let door = environment["HUB_DOOR"], let instance = environment["HUB_INSTANCE"], let token = readLine()
        else { exit(64) }
        self.instance = instance
        context = try Context()
        socket = try Socket(.dealer, in: context)
        try socket.set(.plainUsername, to: instance)
        try socket.set(.plainPassword, to: token)
        try socket.set(.sendHighWaterMark, to: 100)
        try socket.connect(door)
        try send(
            "HELLO", #"{"protocol":[1],"instance":"\#(instance)","plugin":"zoo-\#(animal.rawValue)","version":"1"}"#)
        while try receive() != "WELCOME" {}
    }

    /// - Returns: whether libzmq accepted the message.
    @discardableResult private func send(_ verb: String, _ body: String) throws -> Bool {
        var message = Multipart()
        message.append(verb)
        message.append(body)
        return try socket.sendMultipart(&message) == .sent
    }

    /// Waits for a message; answers a PING.
    private func receive() throws -> String? {
        guard try socket.wait(for: .readable, upTo: .milliseconds(200)).contains(.readable) else { return nil }
        var message = Multipart()
        guard case .complete = try socket.receiveMultipart(into: &message) else { return nil }
        if message.text(of: 0) == "PING" { try send("PONG", message.text(of: 1) ?? "{}") }
        return message.text(of: 0)
    }

    func idle() throws -> Never {
        while true {
            try send("PING", "{}")
            while try receive() != nil {}
        }
    }

    func flood() throws -> Never {
        let time = "2024-03-15T07:30:05Z"
        let records = (0..<1_000).map { #"{"type":"weight","value":72,"unit":"kg","start":"\#(time)","key":"\#($0)"}"# }
        let body = "\"records\":[\(records.joined(separator: ","))]}"
        var batch = 0
        while true {
            batch += 1
            if try !send("SAMPLES", "{\"batch\":\(batch),\(body)") { usleep(1_000) }
        }
    }

    func leak() throws -> Never {
        var held: [[UInt8]] = []
        while true {
            // Enough for the hub to notice, but bounded, in case the machine sets no limit.
            if held.count < 64 { held.append([UInt8](repeating: 1, count: 8 << 20)) }
            try send("PING", "{}")
            _ = try receive()
        }
    }

    func hoard() throws -> Never {
        let piece = [UInt8](repeating: 1, count: 1 << 20)
        let file = memfd_create("hoard", 0)
        // Enough for the hub to notice, but bounded, in case the machine sets no limit.
        for _ in 0..<256 { _ = piece.withUnsafeBytes { write(file, $0.baseAddress, $0.count) } }
        try idle()
    }

    func clog() throws -> Never {
        let piece = [UInt8](repeating: 1, count: 1 << 16)
        for _ in 0..<1_500 {
            var pair: [CInt] = [0, 0]
            let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
            guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else { break }
            while piece.withUnsafeBytes({ write(pair[0], $0.baseAddress, $0.count) }) > 0 {}
        }
        try idle()
    }

    func shout() throws -> Never {
        let noise = Data(repeating: UInt8(ascii: "x"), count: 1 << 20)
        Thread { while true { FileHandle.standardOutput.write(noise) } }.start()
        try idle()
    }
}
