import Foundation

/// The rows of plugin authors: from `hub plugin new` to a record on the feed, with the commands of Docs/Plugins.md.
extension Bench {
    mutating func firstRecord() {
        for language in ["python", "swift", "sh", "ruby", "php", "perl"] {
            let name = "first_record_\(language)_s"
            guard wants(name) else { continue }
            do {
                let measured = try (0..<min(runs, 3)).map { _ in try place.firstRecord(language) }
                add(row(name, "s", measured, .below(60)))
            } catch {
                add(failed(name, "s", error, .below(60)))
            }
        }
    }
}

extension Place {
    /// Returns the seconds that the commands of the document take beside a running hub, including the build of the program.
    func firstRecord(_ language: String) throws -> Double {
        let text = try String(contentsOfFile: source("../Docs/Plugins.md"), encoding: .utf8)
        guard let script = text.firstMatch(of: /<!-- run: first-record.sh -->\n```sh\n((?s:.*?))```\n/)?.1 else {
            throw Trouble("Docs/Plugins.md has no first-record.sh")
        }
        let folder = run.appendingPathComponent("first")
        try renew(folder)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try withHub { _ in
            var environment = ProcessInfo.processInfo.environment
            let python = URL(fileURLWithPath: try python(with: "zmq")).deletingLastPathComponent().path
            let programs = URL(fileURLWithPath: hub).deletingLastPathComponent().path
            environment["PATH"] = "\(programs):\(python):\(environment["PATH"] ?? "/usr/bin:/bin")"
            environment["HUB_CONF"] = configuration
            environment["LANGUAGE"] = language
            let (shell, output) = (Process(), Pipe())
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            shell.arguments = ["-ec", String(script)]
            (shell.environment, shell.currentDirectoryURL) = (environment, folder)
            (shell.standardOutput, shell.standardError) = (output, output)
            shell.standardInput = FileHandle.nullDevice
            let began = ContinuousClock.now
            try shell.run()
            // Ends the shell and all that it started if the commands hang.
            let watchdog = DispatchWorkItem { [shell] in kill(-shell.processIdentifier, SIGKILL) }
            DispatchQueue.global().asyncAfter(deadline: .now() + 600, execute: watchdog)
            let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            shell.waitUntilExit()
            watchdog.cancel()
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            guard shell.terminationStatus == 0, said.contains("  heartRate  ") else {
                throw Trouble(said.split(separator: "\n").suffix(3).joined(separator: "; "))
            }
            return seconds
        }
    }
}
