import FoundationEssentials
public import HubWire
import Subprocess
import SystemPackage

extension Isolation {
    /// - Parameter programPath: the path of the hub.
    public static func look(programPath: String) async -> Isolation {
        await look(
            ExecutableFinder(
                programPath: programPath, searchPath: ProcessInfo.processInfo.environment["PATH"] ?? ""))
    }

    /// Finds `hub-confine` as plugins are found, and runs its probe.
    static func look(_ finder: ExecutableFinder) async -> Isolation {
        guard case .found(let path) = finder.find(program) else {
            return Isolation(
                fault:
                    "the hub's own program \(program) is not beside the hub or in PATH, without which no plugin starts: install it there (make build makes it)"
            )
        }
        do {
            let result = try await run(
                .path(FilePath(path)), arguments: ["--probe"], environment: .custom([:] as [Environment.Key: String]),
                output: .discarded, error: .string(limit: 4_096))
            let lines = result.standardError.split(separator: "\n").map(String.init)
            guard result.terminationStatus.isSuccess,
                let line = lines.first(where: { $0.hasPrefix("\(program): process ") })
            else {
                return Isolation(fault: "\(path) does not work here: \(lines.last ?? "\(result.terminationStatus)")")
            }
            return Isolation(launcher: path, line: line)
        } catch {
            return Isolation(fault: "\(path) cannot be run: \(error)")
        }
    }
}
