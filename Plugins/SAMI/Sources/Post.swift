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

/// Posts records, each once.
actor Poster {
    private let hub: PluginContext
    private let account: Account
    private let importer: Importer
    private var devices: [String: String] = [:]

    init(_ hub: PluginContext, _ account: Account, _ importer: Importer) {
        (self.hub, self.account, self.importer) = (hub, account, importer)
    }

    /// - Throws: ``DeliveryFailure``.
    func deliver(_ records: [DeliveredRecord], _ post: Post) async throws -> [DeliveryResult] {
        do {
            let device = try await device(post)
            var there = try await present(records, on: device)
            var results: [DeliveryResult] = []
            for record in records { results.append(try await deliver(record, post, device, &there)) }
            return results
        } catch let error as TokenError where error.needsLogIn {
            throw DeliveryFailure.unauthorized(error.message)
        } catch let error as CommandFailure where ["login", "permission"].contains(error.code) {
            throw DeliveryFailure.unauthorized(error.message)
        } catch let error as CloudError {
            throw DeliveryFailure.retry(error.message)
        }
    }

    /// One value at one time of a device.
    private struct Fact: Hashable {
        let time: Int64
        let field: String
        let value: Double
    }

    /// The values that the device has already: an answer that got lost on the way must not become a second message.
    private func present(_ records: [DeliveredRecord], on device: String) async throws -> Set<Fact> {
        let times = records.compactMap { record -> Int64? in
            if case .sample(let sample) = record.record { sample.start.microseconds / 1_000 } else { nil }
        }
        guard let first = times.min(), let last = times.max() else { return [] }
        var facts: Set<Fact> = []
        var cursor: String?
        repeat {
            let page = MessagePage(
                try await account.call(account.service.messages(of: device, from: first, to: last, after: cursor)))
            for message in page.messages {
                for (field, value) in message.data {
                    if let value = value.double { facts.insert(Fact(time: message.time, field: field, value: value)) }
                }
            }
            cursor = page.next
        } while cursor != nil
        return facts
    }

    private func deliver(
        _ record: DeliveredRecord, _ post: Post, _ device: String, _ there: inout Set<Fact>
    ) async throws -> DeliveryResult {
        guard case .sample(let sample) = record.record, let field = post.fields[sample.type.rawValue],
            case .quantity(let value, let unit) = sample.value
        else { return .refused(reason: "SAMI takes single values here, and cannot take anything back") }
        let number: Double
        do {
            number = try HealthUnit(unit).convert(value, to: try HealthUnit(field.unit))
        } catch {
            return .refused(reason: "the value does not convert to \(field.unit)")
        }
        if field.isWhole, number.rounded() != number {
            return .refused(reason: "\(field.name) takes whole numbers only")
        }
        let fact = Fact(time: sample.start.microseconds / 1_000, field: field.name, value: number)
        if there.contains(fact) { return .delivered }
        let data: ServiceValue = field.isWhole ? .whole(Int64(number)) : .number(number)
        let answer = try await account.call(
            SAMIService.post([field.name: data], at: fact.time, device: device))
        there.insert(fact)
        return .delivered(receipt: answer["data"]?["mid"]?.string)
    }

    /// The device that is posted to: found by its name, or registered.
    private func device(_ post: Post) async throws -> String {
        if let known = devices[post.name] { return known }
        let user = try await importer.whoever()
        let name = post.device(hub.instance)
        let catalog = Catalog(account)
        if let found = try await catalog.devices(of: user.id).first(where: { $0.name == name }) {
            devices[post.name] = found.id
            return found.id
        }
        let types = try await account.call(SAMIService.deviceTypes(named: post.deviceType))
        guard let type = types["data"]?["deviceTypes"]?.list?.first?["id"]?.string else {
            throw CommandFailure("service", "the service has no device type \"\(post.deviceType)\"")
        }
        let made = try await account.call(try SAMIService.addDevice(name, type: type, user: user.id))
        guard let id = made["data"]?["id"]?.string else {
            throw CommandFailure("service", "the service did not say which device it has made")
        }
        hub.logger.notice("a device was registered", metadata: ["name": "\(name)"])
        devices[post.name] = id
        return id
    }
}
