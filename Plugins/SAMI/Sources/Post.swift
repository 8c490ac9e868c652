import CloudClient
import Foundation
import PluginKit

/// What of the hub's records is posted to a device of our own.
struct Post: Sendable, Hashable {
    /// As the setting `post` names it.
    let name: String
    /// The device type's display name, by which its id is found.
    let deviceType: String
    /// Field and unit of each type; a value is sent in that unit.
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

    /// The name of the device that we register: known again without a state of ours.
    func device(_ instance: String) -> String { Self.prefix + "\(instance) \(name)" }

    private static let prefix = "Health hub "

    /// Whether a device is one that this instance, or any other hub's, has registered: nothing goes back to where it came from.
    static func isOwn(_ device: ServiceDevice, _ instance: String) -> Bool {
        all.contains { device.name == $0.device(instance) }
    }
}
