import CloudClient
import Foundation
import JSON
import PluginKit

/// The walk-through of SAMI's first tutorial: the user, the devices, the fields of the scale, and its last weights.
struct Walkthrough: Sendable {
    let calls: any ServiceCalls
    let settings: SAMISettings

    /// The lines for the person who asked; text of the service cannot add lines.
    func text() async throws -> String {
        let catalog = Catalog(calls)
        let user = try await catalog.user()
        let devices = try await catalog.devices(of: user.id)
        var lines = [
            "I am \(user.fullName ?? user.id) (\(user.id))."
        ]
        // The account as the service describes it; an app of SAMI shows the same after its log-in.
        if let email = user.email { lines.append("  e-mail        \(email)") }
        if let created = user.createdOn { lines.append("  created       \(created.text)") }
        if let modified = user.modifiedOn { lines.append("  last changed  \(modified.text)") }
        lines.append(
            devices.isEmpty
                ? "I own no devices."
                : devices.count == 1 ? "I own one device:" : "I own \(devices.count) devices:")
        for device in devices {
            lines.append("  \(device.name) (\(device.id)), a \(try await catalog.name(of: device.type))")
        }
        for device in devices where settings.reads(device) {
            let manifest = try await catalog.manifest(device.type, version: nil)
            guard manifest.units["weight"] != nil else { continue }
            lines += try await scale(device, manifest)
            // Only the first scale, as in the tutorial.
            break
        }
        return lines.map(PlainText.escaped).joined(separator: "\n")
    }

    private func scale(_ device: ServiceDevice, _ manifest: ServiceManifest) async throws -> [String] {
        let fields = manifest.units.sorted { $0.key < $1.key }
            .map { $0.value.isEmpty ? $0.key : "\($0.key) (\($0.value))" }
        let answer = try await calls.call(SAMIService.last(20, of: device.id))
        let weights = (answer["data"]?.list ?? []).compactMap { ServiceMessage($0) }
            .compactMap { message in message.data["weight"]?.lenientDouble.map { (message.time, $0) } }
        let unit = manifest.units["weight"] ?? ""
        var lines = ["\(device.name) has the fields \(fields.joined(separator: ", "))."]
        lines.append(weights.isEmpty ? "It has no weights yet." : "Its last weights:")
        for (time, weight) in weights.prefix(10) {
            lines.append("  \(Timestamp(microseconds: time * 1_000, offsetMinutes: 0).text)  \(weight) \(unit)")
        }
        return lines
    }
}
