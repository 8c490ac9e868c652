import WebFaults
/// The content of a new state file, so that the article's walk-through works immediately.
public enum Fixtures {
    public static let user = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    public static let userName = "ada"
    public static let password = "withings"
    public static let application = "a11ce0000000000000000000000000aa"
    public static let secret = "5ec2e70000000000000000000000005a"
    /// The address at which `hub login` listens.
    public static let redirect = "http://127.0.0.1:8737/"
    public static let scale = "c0ffee00112233445566778899aabbcc"
    public static let withings = "dt00112233445566778899aabbccddeeff"
    public static let pedometer = "dt11112233445566778899aabbccddeeff"
    public static let calories = "dt22112233445566778899aabbccddeeff"

    struct DeviceType: Sendable {
        let id, name, uniqueName, description: String
        let properties: JSONTree
        var undeclared: JSONTree = [:]
    }

    static let deviceTypes = [
        DeviceType(
            id: withings, name: "Withings Device", uniqueName: "com.withings.device",
            description: "A scale, a blood pressure monitor or an activity tracker",
            properties: [
                "actions": [:],
                "fields": [
                    "groupId": leaf("Integer"), "category": leaf("Integer"), "attrib": leaf("Integer"),
                    "weight": leaf("Double", "kg"), "height": leaf("Double", "m"),
                    "fatFreeMass": leaf("Double", "kg"), "muscleMass": leaf("Double", "kg"),
                    "boneMass": leaf("Double", "kg"), "hydration": leaf("Double"),
                    "diastolicBloodPressure": leaf("Integer", "mmHg"),
                    "systolicBloodPressure": leaf("Integer", "mmHg"), "heartRate": leaf("Integer", "b/min"),
                    "temperature": leaf("Double", "\u{2103}"), "bodyTemperature": leaf("Double", "\u{2103}"),
                    "skinTemperature": leaf("Double", "\u{2103}"), "bloodOxygenLevel": leaf("Integer"),
                    "pulseWaveVelocity": leaf("Double", "m/s"), "steps": leaf("Integer"),
                    "distance": leaf("Double", "m"), "calories": leaf("Double", "J*4.184"),
                    "elevation": leaf("Double", "m"), "softActivityDuration": leaf("Integer", "s"),
                    "moderateActivityDuration": leaf("Integer", "s"), "intenseActivityDuration": leaf("Integer", "s"),
                    "sleep": [
                        "startDate": leaf("Long", "s"), "state": leaf("Integer"), "endDate": leaf("Long", "s"),
                    ],
                ],
            ],
            // The real manifest emitted these two without declaring them (reference §3.3).
            undeclared: ["fatRatio": "Double", "fatMassWeight": "Double"]),
        DeviceType(
            id: pedometer, name: "iPhone Pedometer", uniqueName: "io.samsungsami.example.iPhonePedometer",
            description: "Steps and floors of a phone",
            properties: [
                "actions": [:],
                "fields": [
                    "numberOfSteps": leaf("Integer"), "floorsAscended": leaf("Integer"),
                    "floorsDescended": leaf("Integer"), "distance": leaf("Float", "m"),
                ],
            ]),
        DeviceType(
            id: calories, name: "SAMI Example Calorie Tracker", uniqueName: "io.samsungsami.example.calorietracker",
            description: "What was eaten",
            properties: [
                "actions": ["setOn": ["description": "Begins to count", "parameters": [:]]],
                "fields": ["calories": leaf("Double", "J*4.184"), "comments": leaf("String")],
            ]),
    ]

    static func leaf(_ type: String, _ unit: String = "") -> JSONTree {
        ["type": .text(type), "unit": .text(unit), "isCollection": false, "description": ""]
    }
}
