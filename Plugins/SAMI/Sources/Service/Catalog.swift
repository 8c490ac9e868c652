import JSON
import PluginKit

/// Caches device types and manifests.
actor Catalog {
    private let calls: any ServiceCalls
    private var names: [String: String] = [:]
    private var manifests: [Key: ServiceManifest] = [:]

    private struct Key: Hashable {
        let type: String
        let version: Int64?
    }

    init(_ calls: any ServiceCalls) { self.calls = calls }

    /// The display name, such as `Withings Device`.
    func name(of type: String) async throws -> String {
        if let name = names[type] { return name }
        let name = try await calls.call(SAMIService.deviceType(type))["data"]?["name"]?.text ?? type
        names[type] = name
        return name
    }

    /// - Parameter version: nil for the latest, which is fetched again after `forgetLatest()`.
    func manifest(_ type: String, version: Int64?) async throws -> ServiceManifest {
        let key = Key(type: type, version: version)
        if let manifest = manifests[key] { return manifest }
        let manifest = ServiceManifest(try await calls.call(SAMIService.manifest(type, version: version))["data"])
        manifests[key] = manifest
        return manifest
    }

    /// Forgets the latest manifests, because newer versions may exist.
    func forgetLatest() { manifests = manifests.filter { $0.key.version != nil } }

    func user() async throws -> ServiceUser {
        guard let user = ServiceUser(try await calls.call(SAMIService.user)["data"]) else {
            throw CommandFailure("service", "the service does not name the logged-in user")
        }
        return user
    }

    /// All devices of the user, read page by page.
    func devices(of user: String) async throws -> [ServiceDevice] {
        var devices: [ServiceDevice] = []
        var offset = 0
        while true {
            let answer = try await calls.call(SAMIService.devices(of: user, from: offset))
            let page = answer["data"]?["devices"]?.list ?? []
            devices += page.compactMap { ServiceDevice($0) }
            if SAMIService.isLast(answer, offset: offset, objects: page.count) { return devices }
            offset += page.count
        }
    }
}
