import Foundation

/// Describes the machine and the versions, without which a figure says little, and reads the processor time of a process.
enum Machine {
    static func facts(_ place: Place) -> [String] {
        let cpu = line(of: "/proc/cpuinfo", "model name")?.components(separatedBy: ": ").last ?? "?"
        let memory = (line(of: "/proc/meminfo", "MemTotal")?.split(separator: " ").dropFirst().first).flatMap {
            Double($0)
        }
        let load = (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8))?.split(separator: " ").first ?? "?"
        return [
            "machine   \(cpu), \(ProcessInfo.processInfo.activeProcessorCount) cores, \(Int((memory ?? 0) / 1_048_576)) GiB, load \(load) at the start",
            "system    \(said("uname", "-sr")), data on \(said("stat", "-f", "-c", "%T", place.data.path)) (\(place.data.path))",
            "peers     \(place.find("mosquitto").map { _ in said("dpkg-query", "-W", "-f", "${Package} ${Version}", "mosquitto") } ?? "no mosquitto") · \(place.find("nats-server").map { said($0, "--version") } ?? "no nats-server")",
            "mosquitto \(Place.mosquittoSettings.replacing("\n", with: ", ")); a Unix socket, 100 messages under way, a subscriber with a persistent session",
            "jetstream one stream, file storage, default sync_interval (2 min: not each message is fsynced); 127.0.0.1, 10,000 messages under way",
            "hub       synchronous=FULL, WAL, each STORED after the fsync of its commit; credit 10,000 records",
        ]
    }

    private static func line(of file: String, _ start: String) -> String? {
        (try? String(contentsOfFile: file, encoding: .utf8))?.split(separator: "\n").first { $0.hasPrefix(start) }
            .map(String.init)
    }

    /// The output of a command, such as its version, in one line.
    private static func said(_ words: String...) -> String {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return "?" }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: "\n").joined(separator: " ")
    }

    /// The processor time that all threads of a process have used so far.
    static func busyNanoseconds(of process: Int32) throws -> Int {
        let tasks = "/proc/\(process)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).reduce(0) { sum, task in
            let text = try String(contentsOfFile: "\(tasks)/\(task)/schedstat", encoding: .utf8)
            return sum + (text.split(separator: " ").first.flatMap { Int($0) } ?? 0)
        }
    }

    static func residentMiB(of process: Int32) throws -> Double {
        guard let line = line(of: "/proc/\(process)/status", "VmRSS"),
            let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) })
        else { throw Trouble("no memory figure for process \(process)") }
        return kibibytes / 1_024
    }
}
