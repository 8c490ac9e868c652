import CloudClient
import Foundation
import PluginKit

/// A setting that posts records of the hub to a device that the plugin registers.
struct Post: Sendable, Hashable {
    /// The name in the setting `post`.
    let name: String
    /// The display name of the device type, by which its id is looked up.
    let deviceType: String
    /// Field and unit for each type; a value is sent in that unit.
    let fields: [String: Field]

    struct Field: Sendable, Hashable {
        let name: String
        let unit: String
        var isWhole = false
    }

    static let all = [
        Post(name: "weight", deviceType: "Withings Device", fields: ["weight": Field(name: "weight", unit: "kg")]),
        Post(
            name: "calories", deviceType: "SAMI Example Calorie Tracker",
            fields: ["dietaryEnergyConsumed": Field(name: "calories", unit: "kcal")]),
        Post(
            name: "pedometer", deviceType: "iPhone Pedometer",
            fields: [
                "stepCount": Field(name: "numberOfSteps", unit: "count", isWhole: true),
                "flightsClimbed": Field(name: "floorsAscended", unit: "count", isWhole: true),
                "distanceWalkingRunning": Field(name: "distance", unit: "m"),
            ]),
    ]

    /// The name of the registered device, by which it is found again without saved state.
    func device(_ instance: String) -> String { Self.prefix + "\(instance) \(name)" }

    private static let prefix = "Health hub "

    /// Whether this instance, or one of the same name in another hub, registered the device; its messages came from a hub.
    static func isOwn(_ device: ServiceDevice, _ instance: String) -> Bool {
        all.contains { device.name == $0.device(instance) }
    }

    /// Whether any instance registered the device, also one of another name in another hub.
    static func isOfHub(_ device: ServiceDevice) -> Bool {
        device.name.hasPrefix(prefix) && all.contains { device.name.hasSuffix(" \($0.name)") }
    }
}
